package ui

import (
	"context"
	"strings"
	"testing"

	"aipscope/follow/act"
	"aipscope/model"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// What is typed or chosen in a dialog is in sight in the smallest window too.
func TestDialogsFitTheSmallestWindow(t *testing.T) {
	for name, test := range map[string]struct {
		rows int
		keys []string
		want []string
	}{
		"cancel":  {60, typed("cwhy"), []string{"Ask the daemon", "reason why"}},
		"confirm": {0, []string{"e", "j", " "}, []string{"Mark what", "[✓] search_files"}},
		"export":  {0, []string{"x"}, []string{"masked", "path "}},
		"copy":    {0, []string{"y"}, []string{"the assistant's text"}},
		"palette": {0, typed(":verd"), []string{"verd", "v"}},
		"search":  {0, typed("/tool"), []string{"tool"}},
		"help":    {60, []string{"?"}, []string{"Keys", "cancel", "lines 1 to 7"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, "chat_tools", minWidth, minHeight, func(c *Config) {
				cancelling(act.Cancelled{}, nil)(c)
				c.Confirm = noConfirm
				c.Terminal = func(string) error { return nil }
				c.Export = func(context.Context, string, bool) error { return nil }
			}, func(d *driver, rows []model.Row) {
				if test.rows > 0 {
					d.play(rows[:test.rows])
				} else {
					d.finish(rows)
				}
				d.press(test.keys...)
				d.shows(test.want...)
			})
		})
	}
}

func TestAFrameTooHighLosesItsBlankLinesFirst(t *testing.T) {
	frame := []string{"╭──╮", "│  │", "│a │", "│  │", "│b │", "│c │", "╰──╯"}
	for h, want := range []string{"", "╰──╯", "╭──╮╰──╯", "╭──╮│a │╰──╯", "╭──╮│a ││b │╰──╯", "╭──╮│a ││b ││c │╰──╯", "╭──╮│  ││a ││b ││c │╰──╯", strings.Join(frame, "")} {
		if got := strings.Join(lower(append([]string(nil), frame...), h), ""); got != want {
			t.Errorf("%d lines: %s, want %s", h, got, want)
		}
	}
}

// However much else works, the last line says where all keys are, and the way out.
func TestTheWayOutIsAlwaysHintedAt(t *testing.T) {
	bubble(t, "chat_tools", 120, 40, func(c *Config) {
		cancelling(act.Cancelled{}, nil)(c)
		c.Confirm = noConfirm
	}, func(d *driver, rows []model.Row) {
		for _, settled := range []bool{false, true} {
			if settled {
				d.finish(rows[60:])
			} else {
				d.play(rows[:60])
			}
			for _, w := range []int{minWidth, 60, 80, 100, 120, 160} {
				d.send(tea.WindowSizeMsg{Width: w, Height: 24})
				for _, keys := range [][]string{{"1"}, {"2"}, {"3"}, {"3", "["}, {"3", "enter"}, {"v"}, {"i"}} {
					d.press(keys...)
					lines := strings.Split(ansi.Strip(d.m.View()), "\n")
					if last := lines[len(lines)-1]; !strings.Contains(last, "? help  ") || !strings.Contains(last, "q leave") {
						t.Errorf("%d columns, keys %v: %q", w, keys, last)
					}
					d.press("esc", "esc")
				}
			}
		}
	})
}

// A chosen row does not hide the state of what it names.
func TestTheChosenRowKeepsItsState(t *testing.T) {
	bubble(t, "chat_tools", 120, 40, nil, func(d *driver, rows []model.Row) {
		d.play(rows[:37])
		d.press("2")
		st := &d.c.styles
		line := strings.Split(d.c.View(), "\n")[2]
		in, _, _ := strings.Cut(line[strings.Index(line, st.glyphs.Chosen):], "read_file")
		if !strings.Contains(in, strings.Trim(st.tool(model.ToolRunning).on, "\x1b[m")) {
			t.Errorf("the chosen row is %q", in)
		}
		if !strings.Contains(line, strings.Trim(st.selected.on, "\x1b[m")) {
			t.Errorf("the chosen row has no background: %q", line)
		}
	})
}
