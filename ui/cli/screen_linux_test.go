package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aipscope/ui"
	"aipscope/ui/ptytest"

	tea "github.com/charmbracelet/bubbletea"
	xterm "github.com/charmbracelet/x/term"
)

const private = "a-private-word"

// breaking is a model that panics at one place, with content in the panic's
// value, once its first frame was drawn.
type breaking struct{ at string }

type breakMsg struct{}

func (b breaking) Init() tea.Cmd {
	if b.at == "init" {
		panic(private)
	}
	return func() tea.Msg { return breakMsg{} }
}

func (b breaking) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if _, ok := msg.(ui.LeaveMsg); ok {
		return b, tea.Quit
	}
	if _, ok := msg.(breakMsg); !ok {
		return b, nil
	}
	broken := func() tea.Msg { panic(private) }
	switch b.at {
	case "update":
		panic(private)
	case "view":
		return breaking{"now"}, nil
	case "command":
		return b, broken
	case "command of a batch":
		return b, tea.Batch(func() tea.Msg { return nil }, tea.Batch(broken, broken))
	case "loop":
		return b, tea.Exec(errand(func() { panic(private) }), nil) // bubbletea runs it in its own loop
	}
	return b, nil
}

func (b breaking) View() string {
	if b.at == "now" {
		panic(private)
	}
	return strings.Repeat("a frame\n", 39)
}

func TestAFaultGivesTheTerminalBackAndTellsNoContent(t *testing.T) {
	for _, plain := range []bool{false, true} {
		for _, at := range []string{"init", "update", "view", "command", "command of a batch", "goroutine"} {
			term := ptytest.Open(t)
			before := term.State(t)
			a := &app{set: settings{PlainScreen: plain}}
			ctx, stop := a.untilSignal(context.Background())
			if at == "goroutine" {
				a.spawn(func() { panic(private) })
			}
			err := a.runScreen(ctx, breaking{at}, term.TTY, term.TTY, 0)
			stop()
			stack := string(stackOf(err))
			if stack == "" || exitOfError(ctx, err) != exitFailed {
				t.Errorf("%s: %v, exit code %d", at, err, exitOfError(ctx, err))
			}
			if strings.Contains(stack, private) || strings.Contains(explain(err), private) || strings.Contains(term.Written(), private) {
				t.Errorf("%s: content is in the report", at)
			}
			if at != "goroutine" && !strings.Contains(stack, "screen_linux_test.go") {
				t.Errorf("%s: the stack does not lead to the fault:\n%s", at, stack)
			}
			givenBack(t, at, term, before, !plain)
		}
	}
}

// givenBack checks a terminal's modes, and that what was turned on is off.
func givenBack(t *testing.T, name string, term *ptytest.Terminal, before any, alternate bool) {
	t.Helper()
	if term.State(t) != before {
		t.Errorf("%s: the terminal's modes are not what they were", name)
	}
	term.Mark(t)
	all := term.Written()
	for on, off := range map[string]string{"\x1b[?25l": "\x1b[?25h", "\x1b[?1049h": "\x1b[?1049l", "\x1b[?2004h": "\x1b[?2004l", "\x1b[?7l": "\x1b[?7h", "\x1b[?2026h": "\x1b[?2026l"} {
		if strings.LastIndex(all, on) > strings.LastIndex(all, off) {
			t.Errorf("%s: %q was not undone", name, on)
		}
	}
	if alternate != strings.Contains(all, "\x1b[?1049h") {
		t.Errorf("%s: alternate screen: %v", name, !alternate)
	}
}

func TestAFaultOfTheLoopGivesTheTerminalBack(t *testing.T) {
	term := ptytest.Open(t)
	before := term.State(t)
	a := &app{}
	ctx, stop := a.untilSignal(context.Background())
	defer stop()
	err := a.runScreen(ctx, breaking{"loop"}, term.TTY, term.TTY, 0)
	if stackOf(err) == nil {
		t.Errorf("%v", err)
	}
	givenBack(t, "loop", term, before, true)
}

func TestAPainterThatBreaksDownIsWrittenPast(t *testing.T) {
	term := ptytest.Open(t)
	before := term.State(t)
	state, err := xterm.GetState(term.TTY.Fd())
	if err != nil {
		t.Fatal(err)
	}
	broke := make(chan error, 1)
	a := &app{end: func(err error) { broke <- err }}
	s := &screen{in: term.TTY, out: term.TTY, before: state}
	s.painter = newPainter(func([]byte) error { panic(private) })
	a.spawn(func() { s.painter.run(nil) })
	if err := s.take(); err != nil {
		t.Fatal(err)
	}
	if err := <-broke; stackOf(err) == nil {
		t.Errorf("%v", err)
	}
	if s.give() {
		t.Error("it is said to be given back")
	}
	s.rescue()
	givenBack(t, "painter", term, before, false)
}

// A terminal that is gone ends the console, even where no signal says so.
func TestATerminalThatIsGoneEndsTheConsole(t *testing.T) {
	term := ptytest.Open(t)
	a := &app{}
	ctx, stop := a.untilSignal(context.Background())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- a.runScreen(ctx, ticking{}, term.TTY, term.TTY, 0) }()
	term.Wait(t, 0, "tick")
	term.Vanish()
	if err := <-done; err != nil && ctx.Err() == nil {
		t.Errorf("%v", err)
	}
}

// A terminal that takes nothing holds up neither keys nor leaving.
func TestATerminalThatTakesNothingIsLeft(t *testing.T) {
	term := ptytest.Open(t)
	before := term.State(t)
	a := &app{}
	ctx, stop := a.untilSignal(context.Background())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- a.runScreen(ctx, typed{}, term.TTY, term.TTY, 0) }()
	term.Wait(t, 0, "keys ")
	term.Stop(t)
	for range 100 {
		term.Type(t, "x")
	}
	term.Type(t, "q")
	if err := <-done; err != nil {
		t.Error(err)
	}
	if term.State(t) != before {
		t.Error("the terminal's modes are not what they were")
	}
}

// ticking draws a new frame all the time.
type ticking struct{ n int }

func (m ticking) Init() tea.Cmd { return func() tea.Msg { return breakMsg{} } }
func (m ticking) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if _, ok := msg.(ui.LeaveMsg); ok {
		return m, tea.Quit
	}
	m.n++
	return m, m.Init()
}
func (m ticking) View() string { return strings.Repeat("tick", 1+m.n%20) }

func TestTheLogIsPrivate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	a := &app{set: settings{LogFile: path}}
	if err := a.openLog(); err != nil {
		t.Fatal(err)
	}
	a.closers[0]()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.Symlink("log", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	a.set.LogFile = filepath.Join(dir, "link")
	if err := a.openLog(); err == nil || exitOfError(t.Context(), err) != exitFailed || strings.Contains(explain(err), "--journal") {
		t.Errorf("%v", err)
	}
}

func TestAReaderWhoLeftIsToldFromABrokenConnection(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	_, err = (&output{w}).Write([]byte("x"))
	if !readerLeft(err) {
		t.Errorf("%v", err)
	}
	if _, bare := w.Write([]byte("x")); readerLeft(bare) || readerLeft(errors.New("x")) {
		t.Errorf("any broken pipe counts as the reader's: %v", bare)
	}
}
