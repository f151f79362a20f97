package cli

import "syscall"

func moveDescriptor(from, to int) error { return syscall.Dup3(from, to, 0) }
