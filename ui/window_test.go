package ui

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"aipscope/follow"
	"aipscope/follow/act"
	"aipscope/model"
	"aipscope/model/turntest"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/golden"
)

// wrote records what a console wrote outside the screen.
type wrote struct {
	terminal []string
	files    map[string]string
	revealed bool
}

func (w *wrote) configure(c *Config) {
	cancelling(act.Cancelled{}, nil)(c)
	w.files = map[string]string{}
	c.Terminal = func(seq string) error {
		w.terminal = append(w.terminal, seq)
		return nil
	}
	c.Save = func(_ context.Context, path string, text []byte) error {
		if _, ok := w.files[path]; ok {
			return errors.New("it is there already")
		}
		w.files[path] = string(text)
		return nil
	}
	c.Export = func(_ context.Context, path string, reveal bool) error {
		w.files[path], w.revealed = "export", reveal
		return nil
	}
}

// clipboard is what the sequence puts into it.
func clipboard(t *testing.T, seq string) string {
	t.Helper()
	rest, ok := strings.CutPrefix(seq, "\x1b]52;c;")
	text, err := base64.StdEncoding.DecodeString(strings.TrimRight(rest, "\x07\x1b\\"))
	if !ok || err != nil {
		t.Fatalf("%q", seq)
	}
	return string(text)
}

func requested(t *testing.T, input string) model.Row {
	t.Helper()
	row, err := model.NewRow(model.RowRequest, turntest.Epoch, &model.Request{
		Capability: "cap:hermes_agent:demo:responses_stream", IdempotencyKey: "key-1\x1b[2J", AIPSession: "ses-aip", Input: json.RawMessage(input),
	})
	if err != nil {
		t.Fatal(err)
	}
	row.Number = 1
	return row
}

func TestTheIdentityKeepsTheIdentifiersApartAndMasksThePrivateOnes(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		t.Run(number(size[0]), func(t *testing.T) {
			var screen string
			bubble(t, "responses_tools", size[0], size[1], nil, func(d *driver, rows []model.Row) {
				q := requested(t, `{"session_id":"incident-214","session_key":"support:secret","body":{"conversation":"weekly"}}`)
				for i := range rows {
					if rows[i].Request != nil {
						q.Number, rows[i] = rows[i].Number, q
					}
				}
				d.finish(rows)
				d.press("i")
				screen = d.screen()
				d.hides("incident-214", "support:secret", "weekly", d.c.turn.ResponseID())
				d.press("r")
				d.shows("REVEALED", "incident-214", "support:secret")
				d.press("i", "i")
				d.hides("incident-214", "support:secret")
			})
			golden.RequireEqual(t, []byte(screen))
		})
	}
}

func TestAnUnknownRequestIsNotTakenForOneWithoutIdentifiers(t *testing.T) {
	bubble(t, "chat_ok", 120, 40, nil, func(d *driver, rows []model.Row) {
		without := rows[:0:0]
		for _, r := range rows {
			if r.Request == nil {
				without = append(without, r)
			}
		}
		d.finish(without)
		d.press("i")
		d.shows("not known here", "none seen")
	})
}

func TestThePaletteNamesEveryActionAndDoesWhatWorks(t *testing.T) {
	bubble(t, "chat_tools", 120, 50, new(wrote).configure, func(d *driver, rows []model.Row) {
		d.play(rows[:60])
		names := map[string]bool{}
		for _, cmd := range newPalette(d.c).all {
			names[cmd.name] = true
		}
		for i, name := range actionNames {
			if !names[name] && i != doPalette {
				t.Errorf("%s is missing", name)
			}
		}
		d.press(":", "v", "e", "r", "d")
		d.shows("verdict")
		d.hides("previous-pane")
		d.press("enter")
		d.shows("╭ Verdict ")
		d.press("esc", ":", "c", "o", "n", "f", "i", "r", "m")
		d.shows("confirm, not now")
		d.press("enter")
		d.shows(": confirm")
		d.press("esc")
		d.hides("not now")
	})
}

func TestCopyTakesTheSourceAndOnlyWhatIsShown(t *testing.T) {
	w := &wrote{}
	bubble(t, "chat_markdown", 80, 24, w.configure, func(d *driver, rows []model.Row) {
		d.finish(rows)
		d.press("y")
		d.shows("the assistant's text, as markdown", "A file always works")
		d.press("enter")
		d.shows("It does not say whether it took them")
		if got := clipboard(t, w.terminal[0]); got != d.c.turn.Text() {
			t.Errorf("%q", got)
		}
		d.press("3", "g", "enter", "y")
		d.shows("what is open, masked")
		d.press("enter")
		if got := clipboard(t, w.terminal[1]); !strings.Contains(got, "‹") || strings.Contains(got, "assistant") {
			t.Errorf("masked: %q", got)
		}
		d.press("r", "y", "f", "enter")
		d.shows("for you alone to read")
		file := w.files[turntest.Action+".txt"]
		if !strings.Contains(file, `"assistant"`) {
			t.Errorf("revealed: %q", file)
		}
		d.press("y", "f", "enter")
		d.shows("it is there already")
	})
}

func TestWhatIsPastedCannotActOnATerminal(t *testing.T) {
	w := &wrote{}
	bubble(t, "chat_ok", 80, 24, w.configure, func(d *driver, rows []model.Row) {
		d.c.window = &copyDialog{st: &d.c.styles, items: []copied{{"x", "a\x1b[201~rm -rf\r", "txt"}}, clip: true}
		d.press("enter")
		if got := clipboard(t, w.terminal[0]); strings.ContainsAny(got, "\x1b\r") {
			t.Errorf("%q", got)
		}
	})
}

func TestExportSaysItsScopeAndPath(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		w := &wrote{}
		t.Run(number(size[0]), func(t *testing.T) {
			var screen string
			bubble(t, "chat_tools", size[0], size[1], w.configure, func(d *driver, rows []model.Row) {
				d.play(rows[:60])
				d.press("x")
				screen = d.screen()
				d.press("esc", "x", "enter")
				if w.files[turntest.Action+".jsonl"] != "export" || w.revealed {
					t.Errorf("%v, revealed %v", w.files, w.revealed)
				}
				d.press("x", "tab", "backspace", "x", "enter")
				d.shows("Written to " + turntest.Action + ".jsonx")
				if !w.revealed {
					t.Error("not revealed")
				}
			})
			golden.RequireEqual(t, []byte(screen))
		})
	}
}

func TestTheOutcomeIsToldOnceAndOnlyLive(t *testing.T) {
	for _, test := range []struct {
		notify  Notify
		history bool
		want    string
	}{
		{NotifyNone, false, ""}, {NotifyBell, false, "\a"}, {NotifyBell, true, ""},
		{NotifyDesktop, false, "\x1b]9;aipscope: act_0198b0d2c41e7000a…0001 accepted\a"},
	} {
		w := &wrote{}
		bubble(t, "chat_ok", 80, 24, func(c *Config) { w.configure(c); c.Notify = test.notify }, func(d *driver, rows []model.Row) {
			if test.history {
				d.feed(follow.Batch{Rows: rows, History: true, Done: true})
			} else {
				d.play(rows[:8])
				d.play(rows)
				d.finish(nil)
			}
			if got := strings.Join(w.terminal, ""); got != test.want {
				t.Errorf("%v: %q, want %q", test.notify, got, test.want)
			}
		})
	}
}

func TestTheWheelMovesThePaneUnderItAndAClickFocuses(t *testing.T) {
	bubble(t, "chat_markdown", 120, 40, new(wrote).configure, func(d *driver, rows []model.Row) {
		d.finish(rows)
		d.send(tea.MouseMsg{X: 100, Y: 30, Action: tea.MouseActionPress, Button: tea.MouseButtonWheelUp})
		if s := d.c.chunks.list; d.c.focus != paneChunks || s.selected != s.n-1-wheelLines {
			t.Errorf("pane %d, selected %d of %d", d.c.focus, s.selected, s.n)
		}
		d.send(tea.MouseMsg{X: 10, Y: 10, Action: tea.MouseActionPress, Button: tea.MouseButtonLeft})
		d.send(tea.MouseMsg{X: 100, Y: 10, Action: tea.MouseActionRelease, Button: tea.MouseButtonLeft})
		if d.c.focus != paneAssistant {
			t.Errorf("pane %d", d.c.focus)
		}
		d.press("x")
		d.send(tea.MouseMsg{X: 100, Y: 30, Action: tea.MouseActionPress, Button: tea.MouseButtonWheelUp})
		if d.c.focus != paneAssistant {
			t.Error("a dialog let the mouse through")
		}
	})
}

func TestWindowsAreInSightOnTheSmallestScreen(t *testing.T) {
	for _, plain := range []bool{false, true} {
		bubble(t, "chat_tools", minWidth, minHeight, func(c *Config) { new(wrote).configure(c); c.Look.PlainScreen = plain }, func(d *driver, rows []model.Row) {
			d.finish(rows)
			for key, want := range map[string]string{"x": "01.jsonl", "y": "the verdict in a line", ":": "actions", "i": "action ID", "?": "ctrl+c"} {
				d.press(key)
				if key == ":" {
					d.press("h", "e", "l", "p")
					want = "help"
				}
				d.shows(want)
				d.press("esc")
			}
			d.press("y", "f")
			d.shows("01.md")
		})
	}
}
