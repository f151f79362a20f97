//go:build unix && !linux

package cli

import "syscall"

func moveDescriptor(from, to int) error { return syscall.Dup2(from, to) }
