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

// jobs stops and continues a program that has the terminal.
type jobs struct {
	ctx     context.Context // ended: the program is leaving
	tty     *os.File
	keeper  *keeper
	resumed atomic.Bool // a SIGCONT is on its way that suspend knows of
}

func newJobs(ctx context.Context, tty *os.File, k *keeper) *jobs {
	return &jobs{ctx: ctx, tty: tty, keeper: k}
}

// watch takes the terminal again whenever the process was stopped from outside,
// until done. SIGTSTP is not caught: the runtime would not give its effect back.
func (j *jobs) watch(program *tea.Program, done <-chan struct{}) {
	came := make(chan os.Signal, 4)
	signal.Notify(came, syscall.SIGCONT)
	defer signal.Stop(came)
	for {
		select {
		case <-came:
			if j.resumed.CompareAndSwap(true, false) {
				continue
			}
			// It had the terminal in its hands when it was stopped: whoever had it
			// since may have changed it.
			program.Send(tea.Exec(retake{}, nil)())
		case <-done:
			return
		}
	}
}

// filter makes bubbletea stop as we do: its own way waits for ever where
// nothing can continue the process.
func (j *jobs) filter(_ tea.Model, msg tea.Msg) tea.Msg {
	if _, ok := msg.(tea.SuspendMsg); ok {
		return tea.Exec(suspend{j}, nil)()
	}
	return msg
}

// retake is a command that does nothing while the terminal is given back and
// taken again.
type retake struct{}

func (retake) Run() error          { return nil }
func (retake) SetStdin(io.Reader)  {}
func (retake) SetStdout(io.Writer) {}
func (retake) SetStderr(io.Writer) {}

// suspend is the command that stops the process, while the terminal is given
// back.
type suspend struct{ *jobs }

func (suspend) SetStdin(io.Reader)  {}
func (suspend) SetStdout(io.Writer) {}
func (suspend) SetStderr(io.Writer) {}

// unstopped is how long a process that was told to stop may be seen to run. One
// that no shell controls is not stopped at all.
const unstopped = 300 * time.Millisecond

func (s suspend) Run() error {
	cont := make(chan os.Signal, 1)
	signal.Notify(cont, syscall.SIGCONT)
	defer signal.Stop(cont)
	s.keeper.tell(terminalTheirs)
	defer s.keeper.tell(terminalOurs)
	for {
		s.resumed.Store(true)
		// The whole group, as the terminal would at ctrl+z.
		_ = syscall.Kill(0, syscall.SIGTSTP) // our own group: it cannot fail
		select {
		case <-cont:
		case <-time.After(unstopped):
			s.resumed.Store(false)
		}
		// A shell that ends a stopped job sends the signal first and then
		// continues it: give the signal its turn. In the background there is no
		// terminal to take.
		select {
		case <-s.ctx.Done():
			return nil
		case <-time.After(20 * time.Millisecond):
		}
		if foreground(s.tty) {
			return nil
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
