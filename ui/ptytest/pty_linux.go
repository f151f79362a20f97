// Package ptytest gives tests a terminal: a pseudo-terminal that remembers what
// was written to it.
package ptytest

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// Terminal is a terminal of 120 by 40 cells. It answers no queries.
type Terminal struct {
	TTY    *os.File // the program's end
	master *os.File
	ended  chan struct{}

	mu      sync.Mutex
	written bytes.Buffer
	more    chan struct{}
}

// Open makes a terminal that lives until the test ends.
func Open(t testing.TB) *Terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	var unlock, number int32
	ioctl(t, master, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	ioctl(t, master, syscall.TIOCGPTN, unsafe.Pointer(&number))
	size := [4]uint16{40, 120}
	ioctl(t, master, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	kept.Lock()
	kept.files = append(kept.files, tty)
	kept.Unlock()
	term := &Terminal{TTY: tty, master: master, ended: make(chan struct{}), more: make(chan struct{})}
	go term.read()
	t.Cleanup(term.Vanish)
	return term
}

// kept are the programs' ends. They are not closed: bubbletea does not wait for
// its goroutine that asks for the size.
var kept struct {
	sync.Mutex
	files []*os.File
}

// ioctl does not ask for f's descriptor: that would make its reads block even a
// close.
func ioctl(t testing.TB, f *os.File, request uintptr, arg unsafe.Pointer) {
	t.Helper()
	conn, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var errno syscall.Errno
	err = conn.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(arg))
	})
	if err != nil || errno != 0 {
		t.Fatalf("ioctl %#x: %v, %v", request, err, errno)
	}
}

func (t *Terminal) read() {
	defer close(t.ended)
	p := make([]byte, 32<<10)
	for {
		n, err := t.master.Read(p)
		t.mu.Lock()
		t.written.Write(p[:n])
		close(t.more)
		t.more = make(chan struct{})
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Written is all that was written to the terminal.
func (t *Terminal) Written() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.written.String()
}

// Wait stays until text was written behind the first from bytes, and fails the
// test after a minute.
func (t *Terminal) Wait(tb testing.TB, from int, text string) {
	tb.Helper()
	late := time.After(time.Minute)
	for {
		t.mu.Lock()
		all, more := t.written.String(), t.more
		t.mu.Unlock()
		if strings.Contains(all[min(from, len(all)):], text) {
			return
		}
		select {
		case <-more:
		case <-late:
			tb.Fatalf("%q was not written to the terminal; it got\n%q", text, all)
		}
	}
}

// Type sends keys.
func (t *Terminal) Type(tb testing.TB, keys string) {
	tb.Helper()
	if _, err := t.master.WriteString(keys); err != nil {
		tb.Fatal(err)
	}
}

// State is the terminal's modes, to be compared.
func (t *Terminal) State(tb testing.TB) syscall.Termios {
	tb.Helper()
	var state syscall.Termios
	ioctl(tb, t.TTY, syscall.TCGETS, unsafe.Pointer(&state))
	return state
}

// Vanish takes the terminal away, as when its window is closed.
func (t *Terminal) Vanish() {
	t.master.Close()
	<-t.ended
}
