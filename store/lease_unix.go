//go:build unix

package store

import (
	"errors"
	"os"
	"syscall"
)

// lockFile opens and locks a file, without waiting. The lock goes with the last
// copy of the descriptor, and so with the process.
func lockFile(name string, alone bool) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX
	}
	if err := flock(f, how); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// unlockFile gives the lock up, and removes the file if nobody else has it.
func unlockFile(f *os.File, name string) {
	if flock(f, syscall.LOCK_EX) == nil && current(f, name) {
		_ = os.Remove(name) // it means nothing without a lock
	}
	f.Close()
}

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errHeld
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
		return nil
	}
}
