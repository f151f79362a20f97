// Package ptytest gives tests a terminal: a pseudo-terminal that remembers what
// was written to it.
package ptytest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// Terminal is a terminal of 120 by 40 cells.
type Terminal struct {
	TTY    *os.File // the program's end
	master *os.File
	ended  chan struct{}
	silent bool

	mu      sync.Mutex
	written bytes.Buffer
	more    chan struct{}
}

// Open makes a terminal that lives until the test ends. It answers when it is asked for its
// background, which is dark.
func Open(t testing.TB) *Terminal { return open(t, false) }

// OpenSilent makes a terminal that answers nothing.
func OpenSilent(t testing.TB) *Terminal { return open(t, true) }

func open(t testing.TB, silent bool) *Terminal {
	t.Helper()
	term, err := start(silent)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(term.Vanish)
	return term
}

// New makes a terminal as Open does, which lives until it vanishes.
func New() (*Terminal, error) { return start(false) }

func start(silent bool) (*Terminal, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	var unlock, number int32
	size := [4]uint16{40, 120}
	err = errors.Join(
		ioctl(master, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock)),
		ioctl(master, syscall.TIOCGPTN, unsafe.Pointer(&number)),
		ioctl(master, syscall.TIOCSWINSZ, unsafe.Pointer(&size)),
	)
	if err != nil {
		return nil, err
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	kept.Lock()
	kept.files = append(kept.files, tty)
	kept.Unlock()
	term := &Terminal{TTY: tty, master: master, ended: make(chan struct{}), more: make(chan struct{}), silent: silent}
	go term.read()
	return term, nil
}

// kept are the programs' ends. They are not closed: bubbletea does not wait for
// its goroutine that asks for the size.
var kept struct {
	sync.Mutex
	files []*os.File
}

// ioctl does not ask for f's descriptor: that would make its reads block even a
// close.
func ioctl(f *os.File, request uintptr, arg unsafe.Pointer) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var errno syscall.Errno
	if err = conn.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(arg))
	}); err != nil {
		return err
	}
	if errno != 0 {
		return fmt.Errorf("ioctl %#x: %w", request, errno)
	}
	return nil
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
		if !t.silent && bytes.Contains(p[:n], []byte("\x1b]11;?")) {
			io.WriteString(t.master, "\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?62c")
		}
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

// Take returns what was written since it was last called, and drops it. It waits for
// something, for so long at most.
func (t *Terminal) Take(most time.Duration) string {
	t.Await(most, func(all string) bool { return all != "" })
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.written.String()
	t.written.Reset()
	return all
}

// Wait stays until text was written behind the first from bytes.
func (t *Terminal) Wait(tb testing.TB, from int, text string) {
	tb.Helper()
	t.Until(tb, text, func(all string) bool { return strings.Contains(all[min(from, len(all)):], text) })
}

// Until stays until what was written is good, and fails the test after a minute.
func (t *Terminal) Until(tb testing.TB, what string, good func(written string) bool) {
	tb.Helper()
	if !t.Await(time.Minute, good) {
		all := t.Written()
		tb.Fatalf("%q was not written to the terminal; the last that it got is\n%q", what, all[max(0, len(all)-4000):])
	}
}

// Await stays until what was written is good, for so long at most.
func (t *Terminal) Await(most time.Duration, good func(written string) bool) bool {
	late := time.After(most)
	for {
		t.mu.Lock()
		all, more := t.written.String(), t.more
		t.mu.Unlock()
		if good(all) {
			return true
		}
		select {
		case <-more:
		case <-late:
			return false
		}
	}
}

// Press sends keys.
func (t *Terminal) Press(keys string) error {
	_, err := t.master.WriteString(keys)
	return err
}

// Type sends keys.
func (t *Terminal) Type(tb testing.TB, keys string) {
	tb.Helper()
	if err := t.Press(keys); err != nil {
		tb.Fatal(err)
	}
}

// State is the terminal's modes, to be compared.
func (t *Terminal) State(tb testing.TB) syscall.Termios {
	tb.Helper()
	var state syscall.Termios
	if err := ioctl(t.TTY, syscall.TCGETS, unsafe.Pointer(&state)); err != nil {
		tb.Fatal(err)
	}
	return state
}

// Mark writes something to the terminal and stays until it was read, and with it
// all that was written before.
func (t *Terminal) Mark(tb testing.TB) {
	tb.Helper()
	from := len(t.Written())
	const mark = "\x1b[m\x1b[m\x1b[m"
	if _, err := t.TTY.WriteString(mark); err != nil {
		tb.Fatal(err)
	}
	t.Wait(tb, from, mark)
}

// Stop makes the terminal take nothing more, as ctrl+s does. Reading what was
// written stops, too.
func (t *Terminal) Stop(tb testing.TB) {
	tb.Helper()
	if err := ioctl(t.TTY, tcxonc, tcooff); err != nil {
		tb.Fatalf("stop the terminal: %v", err)
	}
}

// TCXONC and TCOOFF of the kernel's terminal interface; the second is a number, 0.
const tcxonc = 0x540a

var tcooff unsafe.Pointer

// Vanish takes the terminal away, as when its window is closed.
func (t *Terminal) Vanish() {
	t.master.Close()
	<-t.ended
}
