package ui

import (
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"aipscope/follow"
	"aipscope/follow/act"
	"aipscope/model"
	"aipscope/model/turntest"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

// watched is a terminal of which a test sees whatever it is made to do beside
// printing.
type watched struct {
	*vt.Emulator
	t    testing.TB
	w, h int
}

func watch(t testing.TB, w, h int) *watched {
	s := &watched{vt.NewEmulator(w, h), t, w, h}
	go io.Copy(io.Discard, s.Emulator) // what it answers
	// Closing the emulator itself would race with the reading of its answers.
	t.Cleanup(func() { s.InputPipe().(io.Closer).Close() })
	ours := func(m ansi.Mode) bool {
		return m.Mode() == 2026 || m.Mode() == 7
	}
	s.SetCallbacks(vt.Callbacks{
		Bell:             func() { t.Error("the bell rings") },
		Title:            func(v string) { t.Errorf("the title is %q", v) },
		IconName:         func(v string) { t.Errorf("the icon's name is %q", v) },
		AltScreen:        func(bool) { t.Error("the alternate screen is switched") },
		WorkingDirectory: func(v string) { t.Errorf("the directory is %q", v) },
		CursorVisibility: func(bool) { t.Error("the cursor is shown or hidden") },
		EnableMode: func(m ansi.Mode) {
			if !ours(m) {
				t.Errorf("mode %v is on", m)
			}
		},
		DisableMode: func(m ansi.Mode) {
			if !ours(m) {
				t.Errorf("mode %v is off", m)
			}
		},
	})
	return s
}

// text is what the cells of the screen show.
func (s *watched) text() string {
	var b strings.Builder
	for y := range s.h {
		for x := 0; x < s.w; {
			cell := s.CellAt(x, y)
			if cell == nil || cell.Content == "" {
				b.WriteByte(' ')
				x++
				continue
			}
			b.WriteString(cell.Content)
			x += max(1, cell.Width)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// shows draws a frame behind another one and checks that the cells hold its text and
// nothing else.
func (s *watched) shows(was, frame string) {
	s.t.Helper()
	var c Canvas
	if was != "" {
		s.Write(c.Paint(was, s.w, s.h))
	}
	s.Write(c.Paint(frame, s.w, s.h))
	want := ""
	for line := range strings.SplitSeq(frame, "\n") {
		line = ansi.Strip(line)
		want += line + strings.Repeat(" ", max(0, s.w-ansi.StringWidth(line))) + "\n"
	}
	if got := s.text(); got != want {
		g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
		for i := range g {
			if i >= len(w) || g[i] != w[i] {
				s.t.Fatalf("line %d shows\n%+q, want\n%+q", i, g[i], w[i])
			}
		}
	}
}

// hostileTurn are the rows of some recordings, poisoned, as one turn.
func hostileTurn(t testing.TB, hostile string, r *rand.Rand) []model.Row {
	names := []string{"chat_tools", "responses_tools", "session_stream_tools", "runs_approval_events", "session_stream_failing_after_text", "chat_error_partial"}
	rows := turntest.Poison(t, turntest.Named(t, names[r.IntN(len(names))]).Rows(t), hostile, r)
	if r.IntN(2) == 0 { // and what only some turns have
		last := rows[len(rows)-1]
		b := turntest.Builder{TB: t, Rows: rows[:len(rows)-1]}
		b.Rows = append(b.Rows, turntest.Poison(t, hostileRows(t, hostile)[1:3], hostile, r)...)
		for i := range b.Rows {
			b.Rows[i].Number = int64(i + 1)
		}
		last.Number = int64(len(b.Rows) + 1)
		rows = append(b.Rows, last)
	}
	return rows
}

func TestHostileStringsOnlyTakeUpRoom(t *testing.T) {
	all := turntest.Hostile()
	for n, name := range slices.Sorted(maps.Keys(all)) {
		hostile := all[name]
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(n), 11))
				rounds, every := 2, 1
				switch {
				case len(hostile) > 1000: // each frame costs what its string does
					rounds, every = 1, 4
					if turntest.Racing {
						every = 16
					}
				case turntest.Racing:
					rounds, every = 1, 3
				}
				for round := range rounds {
					rows := hostileTurn(t, hostile, r)
					d := drive(t, 120, 40, func(c *Config) {
						c.Action, c.Endpoint, c.Capability = hostile, hostile, hostile
						c.Look.ASCII, c.Look.PlainScreen = round == 1 && r.IntN(2) == 0, round == 1 && r.IntN(2) == 0
						cancelling(act.Cancelled{End: act.EndFinished, Code: hostile, State: hostile}, nil)(c)
					})
					half := len(rows) / 2
					d.feed(follow.Batch{Rows: rows[:half], Links: []follow.Link{{State: follow.Retrying, Reason: hostile}}})
					was := ""
					check := func() {
						t.Helper()
						frame := d.c.View()
						harmless(t, frame)
						fits(t, frame, d.c.width, d.c.height)
						watch(t, d.c.width, d.c.height).shows(was, frame)
						was = frame
					}
					for _, settled := range []bool{false, true} {
						if settled {
							d.finish(rows[half:])
						}
						size := [][2]int{{120, 40}, {80, 24}, {41, 13}}[r.IntN(3)]
						d.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
						was = ""
						for i, keys := range views {
							d.press(keys...)
							if i%every == 0 {
								check()
							}
						}
						if !settled {
							d.press("c")
							d.press("enter")
							check()
						}
					}
					harmless(t, d.c.Final())
				}
			})
		})
	}
}
