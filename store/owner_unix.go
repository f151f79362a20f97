//go:build unix

package store

import (
	"io/fs"
	"os"
	"syscall"
)

// owned reports whether a file belongs to the user that this process runs as.
func owned(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

// noFollow makes the opening of a symbolic link fail.
const noFollow = syscall.O_NOFOLLOW
