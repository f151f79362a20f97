package store

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// leaseDir holds an empty file for each action that a console has open. Its name
// is a digest, and says nothing. What counts is a lock on it, which the system drops with the
// process, however that ends; a file without a lock means nothing.
const leaseDir = "open"

// errHeld says that a lock is held in a way that excludes the one asked for.
var errHeld = errors.New("the lock is held")

// Hold marks the action as open in this process, until release is called or the
// process ends: meanwhile nobody removes it. Several consoles may hold one
// action. The error wraps ErrInUse while somebody is removing it.
func (l *Log) Hold() (release func(), err error) {
	release, err = l.lease(false)
	if err != nil {
		return nil, fmt.Errorf("open the action's journal: %w", err)
	}
	return release, nil
}

// lease takes the action's lock, shared or alone.
func (l *Log) lease(alone bool) (release func(), err error) {
	if l.j.path == "" {
		return func() {}, nil // no other process has this journal
	}
	name := filepath.Join(l.j.dir(), leaseDir, fmt.Sprintf("%x", sha256.Sum256([]byte(l.src.URL+"\x00"+l.src.Action))))
	for {
		f, err := lockFile(name, alone)
		switch {
		case errors.Is(err, errHeld):
			return nil, ErrInUse
		case err != nil:
			return nil, explain(err)
		}
		// Who held it before may have removed the file between the opening and
		// the lock: then the lock is on a file that nobody else will find.
		if current(f, name) {
			return func() { unlockFile(f, name) }, nil
		}
		f.Close()
	}
}

func current(f *os.File, name string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(name)
	return err == nil && os.SameFile(mine, named)
}
