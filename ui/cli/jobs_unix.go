//go:build unix

package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	tea "github.com/charmbracelet/bubbletea"
)

// hasJobs says that the system can stop and continue a process.
const hasJobs = true

var writeSignals = []os.Signal{syscall.SIGPIPE, syscall.SIGXFSZ}

// leaveBackground lets a process that is not in the foreground set the terminal
// back, which would stop it.
func leaveBackground() { signal.Ignore(syscall.SIGTTOU) }

// jobs stops and continues a program that has the terminal, and tells it the
// terminal's size.
type jobs struct {
	ctx     context.Context // ended: the program is leaving
	screen  *screen
	came    chan os.Signal
	resumed atomic.Bool // a SIGCONT is on its way that suspend knows of
}

// newJobs listens from now on: the program asks for the terminal's size once, and any
// other one must be told.
func newJobs(ctx context.Context, s *screen) *jobs {
	j := &jobs{ctx: ctx, screen: s, came: make(chan os.Signal, 4)}
	signal.Notify(j.came, syscall.SIGCONT, syscall.SIGWINCH)
	return j
}

// watch takes the terminal again whenever the process was stopped from outside,
// until done. SIGTSTP is not caught: the runtime would not give its effect back.
func (j *jobs) watch(program *tea.Program, done <-chan struct{}) {
	defer signal.Stop(j.came)
	for {
		select {
		case s := <-j.came:
			switch {
			case s == syscall.SIGWINCH:
				program.Send(j.screen.size())
			case j.resumed.CompareAndSwap(true, false):
			default:
				// It had the terminal in its hands when it was stopped: whoever had it
				// since may have changed it.
				program.Send(j.away(func() {}))
			}
		case <-done:
			return
		}
	}
}

// filter makes bubbletea stop as we do: its own way waits for ever where
// nothing can continue the process.
func (j *jobs) filter(_ tea.Model, msg tea.Msg) tea.Msg {
	if _, ok := msg.(tea.SuspendMsg); ok {
		return j.away(j.suspend)
	}
	return msg
}

// away is the message that has bubbletea read no keys while the terminal is given
// back, something is done, and the terminal is taken again. Its size may be another one then.
func (j *jobs) away(do func()) tea.Msg {
	return tea.Exec(errand(func() {
		j.screen.give()
		do()
		if j.ctx.Err() != nil {
			return // it leaves, and may be in the background
		}
		if err := j.screen.take(); err != nil {
			j.screen.lost(err)
		}
	}), func(error) tea.Msg { return j.screen.size() })()
}

// errand is a command of our own.
type errand func()

func (e errand) Run() error        { e(); return nil }
func (errand) SetStdin(io.Reader)  {}
func (errand) SetStdout(io.Writer) {}
func (errand) SetStderr(io.Writer) {}

// unstopped is how long a process that was told to stop may be seen to run. One
// that no shell controls is not stopped at all.
const unstopped = 300 * time.Millisecond

// suspend stops the process, and returns when it goes on in the foreground.
func (j *jobs) suspend() {
	cont := make(chan os.Signal, 1)
	signal.Notify(cont, syscall.SIGCONT)
	defer signal.Stop(cont)
	for {
		j.resumed.Store(true)
		// The whole group, as the terminal would at ctrl+z.
		_ = syscall.Kill(0, syscall.SIGTSTP) // our own group: it cannot fail
		select {
		case <-cont:
		case <-time.After(unstopped):
			j.resumed.Store(false)
		}
		// A shell that ends a stopped job sends the signal first and then
		// continues it: give the signal its turn. In the background there is no
		// terminal to take.
		select {
		case <-j.ctx.Done():
			return
		case <-time.After(20 * time.Millisecond):
		}
		if foreground(j.screen.in) {
			return
		}
	}
}

// foreground reports whether the terminal is ours to change. Where that cannot
// be told it is said to be: the system stops us if it is not.
func foreground(tty *os.File) bool {
	var group int32
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, tty.Fd(), syscall.TIOCGPGRP, uintptr(unsafe.Pointer(&group)))
	return errno != 0 || int(group) == syscall.Getpgrp()
}
