package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"aipscope/ui"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/term"
)

// screen is the terminal while a console has it. However the console ends, the
// terminal is given back: raw mode left, the cursor shown, the alternate screen gone.
type screen struct {
	*ui.SyncOutput
	in, out *os.File
	before  *term.State
	plain   bool // lines are printed, and no frames drawn
	keeper  *keeper
	broke   func(stack []byte)
	lost    func(error)
	direct  atomic.Bool // the frames' writer broke down: write past it
	given   atomic.Bool // the terminal is somebody else's again: write nothing
}

// Write is called in a goroutine of bubbletea's.
func (s *screen) Write(p []byte) (n int, err error) {
	if s.plain {
		return len(p), nil // there is no frame, and modes are nothing to print
	}
	return s.send(p)
}

// send writes between two frames, never within one.
func (s *screen) send(p []byte) (n int, err error) {
	if s.given.Load() {
		return len(p), nil
	}
	if s.plain || s.direct.Load() {
		if n, err = s.out.Write(p); err != nil {
			s.lost(err)
		}
		return n, err
	}
	defer func() {
		if recover() != nil {
			s.direct.Store(true)
			s.broke(debug.Stack())
			n, err = len(p), nil
		}
	}()
	if n, err = s.SyncOutput.Write(p); err != nil {
		s.lost(err)
	}
	return n, err
}

// endModes ends everything that a console turns on.
const endModes = "\x1b[?1002l\x1b[?1006l\x1b[?2026l\x1b[?7h\x1b[?2004l\x1b[0m\x1b[?25h"

// rescue gives the terminal back past bubbletea, which may hang in a write.
func (s *screen) rescue() {
	s.given.Store(true)
	_ = term.Restore(s.in.Fd(), s.before)
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.WriteString(s.out, s.ends()) // a terminal that takes nothing is no reason to stay
	}()
	select {
	case <-done:
	case <-time.After(200 * time.Millisecond):
	}
	s.keeper.letGo()
}

// ends is what ends all that the console turned on, and its frame.
func (s *screen) ends() string {
	if s.plain {
		return "\r\n"
	}
	return endModes + "\x1b[?1049l"
}

// runScreen runs a model on the terminal until it quits, ctx ends, or timeout
// (0 for none) is over.
func (a *app) runScreen(ctx context.Context, m tea.Model, in, out *os.File, timeout time.Duration) error {
	before, err := term.GetState(in.Fd())
	if err != nil {
		return fmt.Errorf("read the terminal's state: %w", err)
	}
	s := &screen{
		SyncOutput: ui.NewSyncOutput(out), in: in, out: out, before: before, plain: a.plainScreen(), broke: a.broke,
		lost: func(error) { a.end(nil) }, // nobody sees the screen any more
	}
	if a.keeps {
		if s.keeper, err = startKeeper(s, a.spawn); err != nil {
			a.log.Warn("no keeper", "error", err) // a killed console leaves its terminal as it is, then
		}
		defer s.keeper.letGo()
	}
	a.screen.Store(s)
	defer a.screen.Store(nil)
	model := &guardedModel{inner: m, broke: a.broke}
	jobs := newJobs(ctx, in, s.keeper)
	late := &lateAnswer{due: &a.late}
	filter := func(m tea.Model, msg tea.Msg) tea.Msg {
		if msg = late.filter(msg); msg == nil {
			return nil
		}
		return jobs.filter(m, msg)
	}
	// Signals and panics are ours (see untilSignal, guardedModel); the context ends the
	// program by a message, so that it can conceal what it shows.
	options := []tea.ProgramOption{
		tea.WithoutCatchPanics(), tea.WithoutSignalHandler(), tea.WithFilter(filter), tea.WithInput(in), tea.WithOutput(s),
		tea.WithFPS(120), // a key waits for the renderer's next turn: 8 ms at most
	}
	if !s.plain {
		options = append(options, tea.WithAltScreen())
	}
	if a.set.Mouse && !s.plain {
		options = append(options, tea.WithMouseCellMotion())
	}
	program := tea.NewProgram(model, options...)
	done := make(chan struct{})
	defer close(done)
	a.spawn(func() { jobs.watch(program, done) })
	a.spawn(func() {
		var over <-chan time.Time
		if timeout > 0 {
			t := time.NewTimer(timeout)
			defer t.Stop()
			over = t.C
		}
		select {
		case <-over:
		case <-ctx.Done():
		case <-done:
			return
		}
		program.Send(ui.LeaveMsg{})
	})
	err = guarded(func() error {
		_, err := program.Run()
		return err
	})
	if stackOf(err) != nil { // a panic of bubbletea's own, out of its loop
		program.Kill()
		s.rescue()
		return err
	}
	if cause := context.Cause(ctx); stackOf(cause) != nil {
		return cause
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("run the console: %w", err)
	}
	return nil
}
