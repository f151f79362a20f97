package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// What can be wrong with a journal. Errors of this package wrap one of these
// where it applies; each is a whole sentence's worth for the user.
var (
	ErrNotDirectory = errors.New("it is not a directory")
	ErrPermission   = errors.New("permission denied")
	ErrUnsafe       = errors.New("it is not private")
	ErrNotJournal   = errors.New("it is not an aipscope journal")
	ErrNewer        = errors.New("it was made by a newer aipscope")
	ErrDamaged      = errors.New("the file is damaged")
	ErrLocked       = errors.New("another process holds the journal")
	ErrFull         = errors.New("the disk is full")
	ErrDisk         = errors.New("its disk cannot be read or written")

	ErrNoAction = errors.New("the journal does not know this action")
	ErrNoRow    = errors.New("the journal has no such row")
	ErrInUse    = errors.New("another console has this action open")
)

// explain adds to an error of SQLite or of the file system which of this
// package's errors it is. Others pass unchanged.
func explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var kind error
	s, fromSQLite := errors.AsType[*sqlite.Error](err)
	switch {
	case fromSQLite:
		switch s.Code() & 0xff { // the rest is the extended code
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			kind = ErrLocked
		case sqlite3.SQLITE_FULL:
			kind = ErrFull
		case sqlite3.SQLITE_IOERR:
			kind = ErrDisk
		case sqlite3.SQLITE_NOTADB:
			kind = ErrNotJournal
		case sqlite3.SQLITE_CORRUPT:
			kind = ErrDamaged
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
			kind = ErrPermission
		}
	case errors.Is(err, syscall.ENOTDIR):
		kind = ErrNotDirectory
	case errors.Is(err, syscall.ENOSPC):
		kind = ErrFull
	case errors.Is(err, syscall.EIO), errors.Is(err, syscall.EFBIG):
		kind = ErrDisk
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		kind = ErrPermission
	}
	if kind == nil || errors.Is(err, kind) {
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}
