package store

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// securePlace makes sure that dir and the journal's files in it are this user's
// alone, before SQLite opens them. It makes what is missing, so that SQLite
// never makes a file under the umask; -wal and -shm take the mode of the file.
func securePlace(dir string) error {
	path := filepath.Join(dir, FileName)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("journal directory %s: %w", dir, explain(err))
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("journal directory %s: %w", dir, explain(err))
	}
	if !owned(info) {
		return fmt.Errorf("journal directory %s: %w: it belongs to another user", dir, ErrUnsafe)
	}
	// The files come first: in a directory of others, a journal.db of others must
	// not be the reason to believe that the directory is ours to change.
	known := false
	for _, name := range []string{path, path + "-wal", path + "-shm", path + "-journal"} {
		found, err := secureFile(name)
		if err != nil {
			return fmt.Errorf("journal file %s: %w", name, err)
		}
		known = known || found
	}
	if err := secureDir(dir, info, known); err != nil {
		return fmt.Errorf("journal directory %s: %w", dir, err)
	}
	if err := secureLeases(filepath.Join(dir, leaseDir)); err != nil {
		return fmt.Errorf("journal directory %s: %w", filepath.Join(dir, leaseDir), err)
	}
	// The file is never opened and closed where it exists: closing it would end
	// the locks that this process's other handles have on it.
	if f, err := openNew(path); err == nil {
		f.Close()
	} else if !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("journal file %s: %w", path, explain(err))
	}
	return nil
}

// secureDir closes a directory to others, if it is the journal's own: empty, or
// known to hold a journal already. A home directory that was named by mistake
// is refused, not changed.
func secureDir(dir string, info fs.FileInfo, known bool) error {
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if !known {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return explain(err)
		}
		known = len(entries) == 0
	}
	if !known || info.Mode()&fs.ModeSticky != 0 {
		return fmt.Errorf("%w: others may enter it (mode %04o) and it holds other files: name a directory of its own, or chmod 700 it",
			ErrUnsafe, info.Mode().Perm())
	}
	return secureMode(dir, 0o700)
}

// secureLeases makes the directory of locks, or closes it to others. A link for
// it is refused.
func secureLeases(dir string) error {
	if err := os.Mkdir(dir, 0o700); err == nil || !errors.Is(err, fs.ErrExist) {
		return explain(err)
	}
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return explain(err)
	case !info.IsDir():
		return fmt.Errorf("%w: it is not a directory", ErrUnsafe)
	case !owned(info):
		return fmt.Errorf("%w: it belongs to another user", ErrUnsafe)
	case info.Mode().Perm()&0o077 == 0:
		return nil
	}
	return secureMode(dir, 0o700)
}

// secureFile closes an existing file to others and reports whether there is
// one. Links, and files of other users, are refused.
func secureFile(name string) (bool, error) {
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, explain(err)
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%w: it is not a regular file", ErrUnsafe)
	case !owned(info):
		return false, fmt.Errorf("%w: it belongs to another user", ErrUnsafe)
	case info.Mode().Perm() == 0o600:
		return true, nil
	}
	return true, secureMode(name, 0o600)
}

func secureMode(name string, mode fs.FileMode) error {
	if err := os.Chmod(name, mode); err != nil {
		return fmt.Errorf("%w: it cannot be closed to others: %w", ErrUnsafe, err)
	}
	info, err := os.Stat(name)
	if err != nil {
		return explain(err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%w: its file system keeps it open to others (mode %04o)", ErrUnsafe, info.Mode().Perm())
	}
	return nil
}

func openNew(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// AppendPrivate opens a file that only this user may read (0600) to append to it.
// One that is there already is closed to others first. What is not a regular file of
// this user's, a symbolic link for one, is refused.
func AppendPrivate(path string) (f *os.File, err error) {
	defer func() {
		if err != nil {
			if f != nil {
				f.Close()
			}
			f, err = nil, fmt.Errorf("open %s: %w", path, explain(err))
		}
	}()
	// A pipe would hold up the opening, and a link would lead elsewhere.
	if named, err := os.Lstat(path); err == nil && !named.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: it is not a regular file", ErrUnsafe)
	}
	if f, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY|noFollow, 0o600); err != nil {
		return nil, err
	}
	// What counts is what was opened.
	info, err := f.Stat()
	switch {
	case err != nil:
		return f, err
	case !info.Mode().IsRegular():
		return f, fmt.Errorf("%w: it is not a regular file", ErrUnsafe)
	case !owned(info):
		return f, fmt.Errorf("%w: it belongs to another user", ErrUnsafe)
	case info.Mode().Perm() == 0o600:
		return f, nil
	}
	if err := f.Chmod(0o600); err != nil {
		return f, fmt.Errorf("%w: it cannot be closed to others: %w", ErrUnsafe, err)
	}
	return f, nil
}

// WritePrivate writes a file that only this user may read (0600). It appears
// whole or not at all: write fills a new file beside it, which then takes its
// place. Where path is there already and is not a regular file, a symbolic link
// for one, it is refused.
func WritePrivate(path string, write func(io.Writer) error) (err error) {
	info, err := os.Lstat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("write %s: %w: it is there already and is not a regular file", path, ErrUnsafe)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("write %s: %w", path, explain(err))
	}
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*") // 0600, never an existing file
	if err != nil {
		return fmt.Errorf("write %s: %w", path, explain(err))
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("write %s: %w", path, explain(err))
		}
	}()
	w := bufio.NewWriterSize(f, 64<<10)
	if err := write(w); err != nil {
		return err
	}
	if err := errors.Join(w.Flush(), f.Sync()); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
