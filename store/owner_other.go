//go:build !unix

package store

import "io/fs"

// owned cannot be told from a mode here; the file system's own rules stand.
func owned(fs.FileInfo) bool { return true }

// noFollow has no counterpart here.
const noFollow = 0
