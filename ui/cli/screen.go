package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"aipscope/ui"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/term"
	"github.com/muesli/termenv"
)

// screen is the terminal while a console has it. However the console ends, the
// terminal is given back: raw mode left, the cursor shown, the alternate screen gone.
type screen struct {
	in, out *os.File
	before  *term.State
	mouse   bool
	painter *painter // nil where lines are printed and no frames drawn
	keeper  *keeper
	lost    func(error)
	ours    *term.State // what the terminal was when it was taken; nil while it is somebody else's
	given   atomic.Bool // for good: write nothing
}

// write is the painter's, and what a plain screen prints.
func (s *screen) write(p []byte) error {
	if s.given.Load() {
		return nil
	}
	_, err := s.out.Write(p)
	if err != nil {
		s.lost(err)
	}
	return err
}

// send writes between two frames, never within one.
func (s *screen) send(text string) error {
	if s.painter == nil {
		return s.write([]byte(text))
	}
	return s.painter.heard(s.painter.say(text, goOn), 0)
}

// What a keeper is told, a byte each: whose the terminal is.
const (
	terminalOurs   = 't'
	terminalTheirs = 'r'
	terminalDone   = 'd'
)

// begins turns on what a console needs. On a terminal without an alternate screen
// the frames begin on an empty one.
func (s *screen) begins() string {
	all := "\x1b[?1049h\x1b[2J\x1b[H\x1b[?25l\x1b[?2004h"
	if s.mouse {
		all += "\x1b[?1002h\x1b[?1006h"
	}
	return all
}

// take makes the terminal ours.
func (s *screen) take() error {
	var err error
	if s.ours, err = term.MakeRaw(s.in.Fd()); err != nil {
		return fmt.Errorf("set the terminal: %w", err)
	}
	s.keeper.tell(terminalOurs)
	if s.painter != nil {
		s.painter.say(s.begins(), drawAnew)
	}
	return nil
}

// give makes the terminal what it was, and reports whether it has taken that. One
// that takes nothing is not waited for.
func (s *screen) give() (taken bool) {
	if s.ours == nil {
		return true
	}
	taken = s.painter == nil || s.painter.heard(s.painter.say(s.ends(), drawNoMore), giveTime) == nil
	_ = term.Restore(s.in.Fd(), s.ours) // it may be gone
	s.ours = nil
	s.keeper.tell(terminalTheirs)
	return taken
}

// giveTime is long enough for the rest of a frame on a slow line.
const giveTime = time.Second

// size is the message that tells it, or nil.
func (s *screen) size() tea.Msg {
	w, h, err := term.GetSize(s.out.Fd())
	if err != nil {
		return nil // a terminal that is gone says so elsewhere
	}
	return tea.WindowSizeMsg{Width: w, Height: h}
}

// endModes ends everything that a console turns on.
const endModes = "\x1b[?1002l\x1b[?1006l\x1b[?2026l\x1b[?7h\x1b[?2004l\x1b[0m\x1b[?25h"

// rescue gives the terminal back past the painter, which may hang in a write.
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

// ends is what ends all that the console turned on, and its frame: where there is no
// alternate screen, its last line makes room.
func (s *screen) ends() string {
	if s.painter == nil {
		return "\r\n"
	}
	return endModes + "\x1b[2K\r\x1b[?1049l"
}

// runScreen runs a model on the terminal until it quits, ctx ends, or timeout
// (0 for none) is over.
func (a *app) runScreen(ctx context.Context, m tea.Model, in, out *os.File, timeout time.Duration) error {
	before, err := term.GetState(in.Fd())
	if err != nil {
		return fmt.Errorf("read the terminal's state: %w", err)
	}
	s := &screen{
		in: in, out: out, before: before, mouse: a.set.Mouse,
		lost: func(error) { a.end(nil) }, // nobody sees the screen any more
	}
	if !a.plainScreen() {
		s.painter = newPainter(s.write)
	}
	if a.keeps {
		if s.keeper, err = startKeeper(s, a.spawn); err != nil {
			a.log.Warn("no keeper", "error", err) // a killed console leaves its terminal as it is, then
		}
		defer s.keeper.letGo()
	}
	a.screen.Store(s)
	defer a.screen.Store(nil)
	// Windows wants to be told that sequences are meant.
	restore, err := termenv.EnableVirtualTerminalProcessing(termenv.NewOutput(out))
	if err != nil {
		return fmt.Errorf("set the terminal: %w", err)
	}
	defer restore()
	if err := s.take(); err != nil {
		return err
	}
	done := make(chan struct{})
	defer close(done)
	if s.painter != nil {
		a.spawn(func() { s.painter.run(done) })
	}
	model := &guardedModel{inner: m, broke: a.broke, screen: s}
	jobs := newJobs(ctx, s)
	late := &lateAnswer{due: &a.late}
	filter := func(m tea.Model, msg tea.Msg) tea.Msg {
		if msg = late.filter(msg); msg == nil {
			return nil
		}
		return jobs.filter(m, msg)
	}
	// Signals and panics are ours (see untilSignal, guardedModel), and so is the terminal;
	// the context ends the program by a message, so that it can conceal what it shows.
	options := []tea.ProgramOption{
		tea.WithoutCatchPanics(), tea.WithoutSignalHandler(), tea.WithoutRenderer(), tea.WithFilter(filter), tea.WithInput(in),
	}
	if s.mouse && s.painter != nil {
		options = append(options, tea.WithMouseCellMotion()) // for Windows, where it is the reader's to ask
	}
	program := tea.NewProgram(model, options...)
	a.spawn(func() { jobs.watch(program, done) })
	a.spawn(func() {
		select {
		case <-after(timeout):
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
	if !s.give() {
		s.rescue()
		signalled(a.stuck)
	}
	if cause := context.Cause(ctx); stackOf(cause) != nil {
		return cause
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("run the console: %w", err)
	}
	return nil
}
