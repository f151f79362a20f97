package store

import (
	"errors"
	"os"
	"syscall"
)

// errSharing is ERROR_SHARING_VIOLATION: the file is open in another way.
const errSharing = syscall.Errno(32)

// lockFile opens a file so that others can open it in the same way only, or not
// at all. That ends with the handle, and so with the process.
func lockFile(name string, alone bool) (*os.File, error) {
	path, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	share := uint32(syscall.FILE_SHARE_READ)
	if alone {
		share = 0
	}
	h, err := syscall.CreateFile(path, syscall.GENERIC_READ, share, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	switch {
	case errors.Is(err, errSharing):
		return nil, errHeld
	case err != nil:
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(h), name), nil
}

// unlockFile gives the lock up, and removes the file if nobody else has it.
func unlockFile(f *os.File, name string) {
	f.Close()
	_ = os.Remove(name) // it fails while others have it open
}
