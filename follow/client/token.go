package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
)

// maxToken is the largest token that a file may hold, in bytes (wire/aip.md 12).
const maxToken = 16384

// Token gives the bearer token. It is asked once, and again when the daemon
// refuses what it gave.
type Token func() ([]byte, error)

// TokenFile reads the token from a file.
func TokenFile(path string) Token {
	return func() ([]byte, error) { return ReadTokenFile(path) }
}

// TokenError says why a token file cannot be used, and what to do about it.
type TokenError struct {
	Path string
	Why  string
	Err  error // of the file system, or nil
}

func (e *TokenError) Error() string {
	return fmt.Sprintf("token file %q: %s", e.Path, e.Why)
}

func (e *TokenError) Unwrap() error { return e.Err }

// ReadTokenFile reads a bearer token: a regular file, no symbolic link, that its
// owner alone can read, of 1 to 16384 bytes. A line end and blanks behind the
// token are dropped. Errors are *TokenError and never show what the file holds.
func ReadTokenFile(path string) ([]byte, error) {
	fail := func(err error, format string, args ...any) ([]byte, error) {
		return nil, &TokenError{Path: path, Why: fmt.Sprintf(format, args...), Err: err}
	}
	named, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail(err, "there is no such file")
	case errors.Is(err, fs.ErrPermission):
		return fail(err, "it cannot be reached: permission denied")
	case err != nil:
		return fail(err, "it cannot be reached")
	case named.Mode()&fs.ModeSymlink != 0:
		return fail(nil, "it is a symbolic link; name the file itself")
	case !named.Mode().IsRegular():
		return fail(nil, "it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return fail(err, "it cannot be opened: %v", plain(err))
	}
	defer f.Close()
	opened, err := f.Stat()
	switch {
	case err != nil:
		return fail(err, "it cannot be read")
	case !os.SameFile(named, opened):
		return fail(nil, "it was replaced while it was opened; try again")
	case runtime.GOOS != "windows" && opened.Mode().Perm()&0o077 != 0:
		return fail(nil, "others can read or change it (mode %04o); run: chmod 600 %q", opened.Mode().Perm(), path)
	}
	token, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	switch {
	case err != nil:
		return fail(err, "it cannot be read")
	case len(token) > maxToken:
		return fail(nil, "it is larger than %d bytes; it should hold the token alone", maxToken)
	}
	if token = bytes.TrimRight(token, " \t\r\n"); len(token) == 0 {
		return fail(nil, "it is empty; it should hold the token")
	}
	if bytes.ContainsFunc(token, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fail(nil, "it holds more than one line or control characters; it should hold the token alone")
	}
	return token, nil
}

// plain is the bare reason of a file system's error.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
