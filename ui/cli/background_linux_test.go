package cli

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"aipscope/ui"
	"aipscope/ui/ptytest"

	tea "github.com/charmbracelet/bubbletea"
)

func TestTheBackgroundIsAskedForAndNotWaitedForLong(t *testing.T) {
	term := ptytest.Open(t)
	before := term.State(t)
	a := &app{in: term.TTY, tty: term.TTY, getenv: noEnvironment}
	if !a.darkBackground() || a.late.Load() {
		t.Error("a black background is not dark, or its answer is still due")
	}
	if term.State(t) != before {
		t.Error("the terminal's modes are not what they were")
	}

	term = ptytest.OpenSilent(t)
	before = term.State(t)
	a.in, a.tty = term.TTY, term.TTY
	if !a.darkBackground() || !a.late.Load() {
		t.Error("without an answer it is dark, and the answer is due")
	}
	if term.State(t) != before {
		t.Error("silent: the terminal's modes are not what they were")
	}
	a.getenv = func(name string) string { return map[string]string{"COLORFGBG": "0;15"}[name] }
	if a.darkBackground() {
		t.Error("COLORFGBG says that it is light")
	}
}

func TestLuminance(t *testing.T) {
	for answer, dark := range map[string]bool{
		"\x1b]11;rgb:ffff/ffff/ffff\x1b\\": false, "\x1b]11;rgb:fd/f6/e3\x07": false, "\x1b]11;rgba:0000/2b2b/3636/ffff\x1b\\": true, "\x1b]11;rgb:0/0/0\x07": true,
	} {
		m := backgroundAnswer.FindStringSubmatch(answer)
		if m == nil || luminance([]byte(m[1]), []byte(m[2]), []byte(m[3])) < 0.5 != dark {
			t.Errorf("%q: %v", answer, m)
		}
	}
}

// typed is a model that shows what keys came, and ends at q.
type typed struct{ keys string }

func (typed) Init() tea.Cmd { return nil }
func (m typed) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		m.keys += "<" + msg.String() + ">"
		if strings.HasSuffix(msg.String(), "q") {
			return m, tea.Quit
		}
	case ui.LeaveMsg:
		return m, tea.Quit
	}
	return m, nil
}
func (m typed) View() string { return "keys " + m.keys }

func TestAnAnswerThatComesLateIsNotTakenForKeys(t *testing.T) {
	for _, late := range []string{"\x1b]11;rgb:1c1c/1c1c/1c1c\x1b\\\x1b[?62;22c", "\x1b]11;rgb:1c1c/1c1c/1c1c\x07\x1b[?62;22c"} {
		term := ptytest.OpenSilent(t)
		a := &app{}
		a.late.Store(true)
		ctx, stop := a.untilSignal(context.Background())
		done := make(chan error, 1)
		go func() { done <- a.runScreen(ctx, typed{}, term.TTY, term.TTY, 0) }()
		term.Wait(t, 0, "keys ")
		term.Type(t, "x"+late)
		term.Wait(t, 0, "<x>")
		term.Type(t, "y")
		term.Wait(t, 0, "<y>")
		if all := term.Written(); strings.Count(all, "<") != 2 {
			t.Errorf("other keys are shown: %q", all)
		}
		term.Type(t, "q")
		if err := <-done; err != nil {
			t.Error(err)
		}
		stop()
	}
}

func TestKeysThatOnlyBeginLikeAnAnswerAreNotLost(t *testing.T) {
	a := &app{}
	a.late.Store(true)
	l := lateAnswer{due: &a.late}
	var got string
	for _, k := range []tea.KeyMsg{{Type: tea.KeyRunes, Runes: []rune("]"), Alt: true}, {Type: tea.KeyRunes, Runes: []rune("j")}, {Type: tea.KeyRunes, Runes: []rune("c")}} {
		if m, ok := l.filter(k).(tea.KeyMsg); ok {
			got += m.String()
		}
	}
	if got != "jc" {
		t.Errorf("%q", got)
	}
}

// Every command would wait for an answer that does not come.
func TestLoadingTheProgramAsksTheTerminalNothing(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	term := ptytest.OpenSilent(t)
	cmd := exec.CommandContext(t.Context(), exe, "-test.run", "^$")
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "GORACE=atexit_sleep_ms=0")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = term.TTY, term.TTY, term.TTY
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	term.Mark(t)
	if all := term.Written(); strings.Contains(all, "\x1b]") || strings.Contains(all, "\x1b[6n") || !strings.Contains(all, "PASS") {
		t.Errorf("it wrote %q", all)
	}
}
