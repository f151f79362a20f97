//go:build terminal

package main

import (
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"aipscope/follow/aipd"
	"aipscope/ui/ptytest"

	"github.com/charmbracelet/x/vt"
)

const (
	altOn, altOff       = "\x1b[?1049h", "\x1b[?1049l"
	hideCursor, showsIt = "\x1b[?25l", "\x1b[?25h"
)

// onTerminal starts a command in a session of its own on a terminal.
func (p *place) onTerminal(term *ptytest.Terminal, cmd *exec.Cmd) *exec.Cmd {
	p.t.Helper()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = term.TTY, term.TTY, term.TTY
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	return cmd
}

// watchesSlow is a console on a terminal that watches an action which goes on for
// long, and what the terminal was before.
func watchesSlow(t *testing.T) (p *place, term *ptytest.Terminal, before syscall.Termios, cmd *exec.Cmd) {
	t.Helper()
	p = newPlace(t, startDaemon(t, aipd.Options{Speed: 1}))
	p.submit("act_slow", "chat_large")
	term = ptytest.Open(t)
	before = term.State(t)
	cmd = p.onTerminal(term, p.command("watch", "act_slow", "--theme", "dark"))
	term.Wait(t, 0, " live ")
	return p, term, before, cmd
}

// given fails unless the terminal is as it was, with everything turned off that
// was turned on.
func given(t *testing.T, name string, term *ptytest.Terminal, before syscall.Termios) {
	t.Helper()
	if term.State(t) != before {
		t.Errorf("%s: the terminal's modes are not what they were", name)
	}
	term.Mark(t)
	all := term.Written()
	for on, off := range map[string]string{altOn: altOff, hideCursor: showsIt, "\x1b[?2004h": "\x1b[?2004l"} {
		if strings.LastIndex(all, on) > strings.LastIndex(all, off) {
			t.Errorf("%s: %q was not undone", name, on)
		}
	}
}

// sees stays until a terminal shows a text.
func sees(t *testing.T, term *ptytest.Terminal, text string) {
	t.Helper()
	term.Until(t, text, func(written string) bool { return strings.Contains(linesOf(written), text) })
}

// lines are all lines that a terminal shows or has scrolled away.
func lines(t *testing.T, term *ptytest.Terminal) string {
	t.Helper()
	term.Mark(t) // what a process wrote before its end may not have been read
	return linesOf(term.Written())
}

func linesOf(written string) string {
	screen := vt.NewEmulator(120, 40)
	go io.Copy(io.Discard, screen) // its answers to queries; closing it would race with this
	screen.WriteString(written)
	var all strings.Builder
	for _, line := range screen.Scrollback().Lines() {
		for _, cell := range line {
			all.WriteString(cell.Content)
		}
		all.WriteByte('\n')
	}
	all.WriteString(screen.String())
	return all.String()
}

func TestASignalGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	p := newPlace(t, startDaemon(t, aipd.Options{Speed: 1}))
	p.submit("act_slow", "chat_large")
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		for _, args := range [][]string{nil, {"--plain-screen"}} {
			term := ptytest.Open(t)
			before := term.State(t)
			cmd := p.onTerminal(term, p.command(append([]string{"watch", "act_slow", "--theme", "dark"}, args...)...))
			term.Wait(t, 0, " live")
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if code := exitCode(t, cmd); code != 130 {
				t.Errorf("%v %v: exit code %d", signal, args, code)
			}
			given(t, signal.String(), term, before)
			if all := lines(t, term); !strings.Contains(all, "PENDING") || strings.Contains(all, "╭ Chunks") {
				t.Errorf("%v %v: what stays is not the last word alone:\n%s", signal, args, all)
			}
		}
	}
	p.sound()
}

func TestATerminalThatClosesEndsTheConsole(t *testing.T) {
	t.Parallel()
	p, term, _, cmd := watchesSlow(t)
	term.Vanish()
	if code := exitCode(t, cmd); code != 130 {
		t.Errorf("exit code %d", code)
	}
	p.sound()
}

// A shell with job control stops the console at ctrl+z, and continues it.
func TestCtrlZStopsAndFgGoesOn(t *testing.T) {
	t.Parallel()
	p := newPlace(t, startDaemon(t, aipd.Options{Speed: 1}))
	p.submit("act_slow", "chat_large")
	term := ptytest.Open(t)
	before := term.State(t)
	script := `set -m; "$0" "$@"; echo "STOPPED $?"; read go; fg; echo "ENDED $?"`
	cmd := p.onTerminal(term, p.run("bash", append([]string{"-c", script, p.exe}, p.args("watch", "act_slow", "--theme", "dark")...)...))
	term.Wait(t, 0, " live ")
	if term.State(t) == before {
		t.Error("the console has not set the terminal")
	}
	term.Type(t, "\x1a")
	term.Wait(t, 0, "STOPPED 148") // 128 and SIGTSTP
	given(t, "stopped", term, before)
	from := len(term.Written())
	term.Type(t, "\n")
	term.Wait(t, from, altOn)
	term.Wait(t, from, " live ")
	term.Type(t, "q")
	term.Wait(t, from, "again leaves")
	term.Type(t, "q")
	term.Wait(t, from, "ENDED 130")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	given(t, "ended", term, before)
	p.sound()
}

// Where no shell could continue it, ctrl+z does not stop the console.
func TestCtrlZWithoutAShellGoesOn(t *testing.T) {
	t.Parallel()
	_, term, before, cmd := watchesSlow(t)
	from := len(term.Written())
	term.Type(t, "\x1a")
	term.Wait(t, from, altOff)
	term.Wait(t, from, altOn)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, cmd); code != 130 {
		t.Errorf("exit code %d", code)
	}
	given(t, "ended", term, before)
}

// A second signal does not wait for a terminal that takes no more.
func TestASecondSignalLeavesAStuckTerminal(t *testing.T) {
	t.Parallel()
	p, term, before, cmd := watchesSlow(t)
	term.Stop(t)
	ended := make(chan struct{})
	go func() {
		// Two that come at once are one to the process.
		for cmd.Process.Signal(syscall.SIGTERM) == nil {
			select {
			case <-ended:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	code := exitCode(t, cmd)
	close(ended)
	if code != 130 {
		t.Errorf("exit code %d", code)
	}
	if term.State(t) != before {
		t.Error("the terminal's modes are not what they were")
	}
	p.sound()
}

// Neither does a key: the verdict that is printed last is not waited for without end.
func TestAKeyLeavesAStuckTerminal(t *testing.T) {
	t.Parallel()
	p, term, before, cmd := watchesSlow(t)
	term.Stop(t)
	for range 100 { // each has its frame, until there is no room for one
		term.Type(t, "?")
	}
	term.Type(t, "\x03")
	term.Type(t, "\x03")
	if code := exitCode(t, cmd); code != 130 {
		t.Errorf("exit code %d", code)
	}
	if term.State(t) != before {
		t.Error("the terminal's modes are not what they were")
	}
	p.sound()
}

// What was revealed is not part of what stays behind, however the console is left:
// by key, by a signal, or for a while.
func TestNothingRevealedStaysOnTheTerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t, startDaemon(t, aipd.Options{Speed: 1}))
	p.submit("act_slow", "chat_large")
	const secret = "hermes-agent" // of every frame, masked unless revealed
	for _, screen := range []string{"--plain-screen=false", "--plain-screen"} {
		for _, way := range []string{"q", "TERM", "timeout", "ctrl+z"} {
			t.Run(way+screen, func(t *testing.T) {
				t.Parallel()
				term := ptytest.Open(t)
				args := []string{"watch", "act_slow", "--theme", "dark", screen}
				if way == "timeout" {
					args = append(args, "--timeout", "4s")
				}
				cmd := p.command(args...)
				if way == "ctrl+z" {
					cmd = p.run("bash", append([]string{"-c", `set -m; "$0" "$@"; echo "STOPPED"; kill %1; fg`, p.exe}, cmd.Args[1:]...)...)
				}
				p.onTerminal(term, cmd)
				sees(t, term, " live")
				if screen == "--plain-screen" {
					sees(t, term, "Shift log") // it lists the chunks that are there, once
				}
				term.Type(t, "3")
				sees(t, term, "chat.delta")
				term.Type(t, "\r")
				sees(t, term, "masked")
				if strings.Contains(lines(t, term), secret) {
					t.Fatal("it is shown before it is revealed")
				}
				term.Type(t, "r")
				if screen == "--plain-screen" {
					// It would stay: the key does nothing there.
					term.Type(t, "b")
					sees(t, term, "raw, masked")
				} else {
					sees(t, term, secret)
					sees(t, term, "REVEALED")
				}
				switch way {
				case "q":
					term.Type(t, "q")
					sees(t, term, "again leaves")
					term.Type(t, "q")
				case "TERM":
					if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
						t.Fatal(err)
					}
				case "ctrl+z":
					term.Type(t, "\x1a")
					sees(t, term, "STOPPED")
					if all := lines(t, term); strings.Contains(all, secret) || strings.Contains(all, "REVEALED") {
						t.Errorf("stopped, %s: what stays is\n%s", screen, all)
					}
				}
				want := 130
				if way == "timeout" {
					want = 124
				}
				if code := exitCode(t, cmd); code != want && way != "ctrl+z" {
					t.Errorf("%s: exit code %d", way, code)
				}
				if all := lines(t, term); strings.Contains(all, secret) || strings.Contains(all, "REVEALED") || !strings.Contains(all, "PENDING") {
					t.Errorf("%s %s: what stays is\n%s", way, screen, all)
				}
			})
		}
	}
}
