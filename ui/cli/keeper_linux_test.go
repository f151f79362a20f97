package cli

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	"aipscope/model/turntest"
	"aipscope/ui"
	"aipscope/ui/ptytest"

	tea "github.com/charmbracelet/bubbletea"
)

// dying is a model whose process ends by what no code of ours can stop.
type dying struct{ how string }

func (dying) Init() tea.Cmd { return func() tea.Msg { return breakMsg{} } }

func (m dying) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg.(type) {
	case breakMsg:
		if m.how == "library" {
			go panic(private) // as one of a library's goroutines would
		}
	case ui.LeaveMsg, tea.KeyMsg:
		return m, tea.Quit
	}
	return m, nil
}

func (dying) View() string { return strings.Repeat("a frame\n", 39) }

// die is a process that has a console with a keeper on its terminal.
func die(how string) {
	a := &app{log: slog.New(slog.DiscardHandler), keeps: true, set: settings{PlainScreen: os.Getenv(dyingPlain) != ""}}
	ctx, stop := a.untilSignal(context.Background())
	defer stop()
	if err := a.runScreen(ctx, dying{how}, os.Stdin, os.Stdout, 0); err != nil {
		panic(err)
	}
	os.Stderr.WriteString("it ended in order\n")
}

// The test's own program is both processes.
func init() {
	if len(os.Args) == 2 && os.Args[1] == keepCommand {
		os.Exit(keepTerminal())
	}
	if how := os.Getenv(dyingHow); how != "" {
		die(how)
		os.Exit(0)
	}
}

const dyingHow, dyingPlain = "AIPSCOPE_TEST_DIES", "AIPSCOPE_TEST_PLAIN"

func TestAKeeperGivesTheTerminalBack(t *testing.T) {
	for _, how := range []string{"library", "killed", "left"} {
		for _, plain := range []bool{false, true} {
			if plain && (turntest.Racing || how != "library") {
				continue // a process costs much there, and a plain screen has no frame to wait for
			}
			term := ptytest.Open(t)
			before := term.State(t)
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), dyingHow+"="+how, "GORACE=atexit_sleep_ms=0")
			if plain {
				cmd.Env = append(cmd.Env, dyingPlain+"=1")
			}
			var said bytes.Buffer // to its end, which the keeper's is
			cmd.Stdin, cmd.Stdout, cmd.Stderr = term.TTY, term.TTY, &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if how != "library" {
				term.Wait(t, 0, "a frame")
			}
			switch how {
			case "killed":
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			case "left":
				term.Type(t, "q")
			}
			err := cmd.Wait()
			if (err == nil) != (how == "left") {
				t.Errorf("%s: %v", how, err)
			}
			givenBack(t, how, term, before, !plain)
			if strings.Contains(said.String()+term.Written(), private) {
				t.Errorf("%s: content was told: %s", how, &said)
			}
			switch want := map[string]string{"library": "aipscope: " + (&fault{}).Error() + "\n\ngoroutine ", "killed": "", "left": "it ended in order\n"}[how]; {
			case how == "library" && strings.HasPrefix(said.String(), want) && strings.Contains(said.String(), "keeper_linux_test.go"):
			case said.String() != want:
				t.Errorf("%s: it said %q", how, &said)
			}
		}
	}
}
