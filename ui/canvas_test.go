package ui

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

func TestEveryFrameIsOneSynchronisedUpdate(t *testing.T) {
	var c Canvas
	const begin, end = "\x1b[?2026h\x1b[?7l", "\x1b[3H\x1b[?7h\x1b[?2026l"
	for _, step := range []struct{ frame, want string }{
		{"frame one\nmore", begin + "\x1b[1Hframe one\x1b[K\x1b[2Hmore\x1b[K\x1b[3H\x1b[K" + end},
		{"frame one\nmore", ""},
		{"frame two", begin + "\x1b[1H\x1b[7Gtwo\x1b[2H\x1b[K" + end},
		{"left out\na\nb\nand this is too wide", begin + "\x1b[1Ha\x1b[K\x1b[2Hb\x1b[K\x1b[3H\x1b[2Kand this is" + end},
		{"a\nb\nand wider 1️⃣", begin + "\x1b[3H\x1b[2Kand wider " + end},
		{"", begin + "\x1b[1H\x1b[K\x1b[2H\x1b[K\x1b[3H\x1b[K" + end},
		{"漢", begin + "\x1b[1H\x1b[2K漢" + end},
	} {
		if got := string(c.Paint(step.frame, 11, 3)); got != step.want {
			t.Errorf("%q: %q, want %q", step.frame, got, step.want)
		}
	}
	if c.Forget(); len(c.Paint("", 11, 3)) == 0 {
		t.Error("what somebody else left on the screen stays there")
	}
	if got := c.Paint("nowhere", 0, 0); got != nil {
		t.Errorf("without a size: %q", got)
	}
}

// whole is a frame as a terminal gets it that takes all of every line.
func whole(frame string, w int) string {
	var b strings.Builder
	for i, line := range strings.Split(frame, "\n") {
		fmt.Fprintf(&b, "\x1b[%dH\x1b[2K%s", i+1, ansi.Truncate(line, w, ""))
	}
	return b.String()
}

// Whatever the frames are, the screen is that of a terminal that got them whole.
func TestChangedCellsMakeTheSameScreen(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	pieces := []string{
		"\x1b[38;5;110m", "\x1b[38;2;1;2;3m", "\x1b[0m", "\x1b[7m", "\x1b[1;38;5;203m", "\x1b[48;5;7m", "a", "b", "│", "  ", " ", "word", "漢", "✓", "              ",
	}
	const w, h = 40, 6
	line := func() string {
		var b strings.Builder
		for range r.IntN(16) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		s := ansi.Truncate(b.String(), w, "") + reset
		if r.IntN(4) > 0 {
			s += strings.Repeat(" ", w-width(s))
		}
		return s
	}
	for range 30 {
		var c Canvas
		got, want := vt.NewEmulator(w, h), vt.NewEmulator(w, h)
		lines := make([]string, h)
		for range 12 {
			for i := range lines {
				if r.IntN(2) == 0 {
					lines[i] = line()
				}
			}
			if r.IntN(5) == 0 {
				c.Forget()
				got.WriteString("\x1b[2J\x1b[Hgarbage")
			}
			frame := strings.Join(lines[r.IntN(2)*r.IntN(h):], "\n") // one may be shorter
			got.Write(c.Paint(frame, w, h))
			want.WriteString("\x1b[2J" + whole(frame, w))
			for y := range h {
				for x := range w {
					if a, b := want.CellAt(x, y), got.CellAt(x, y); !sameCell(a, b) {
						t.Fatalf("cell %d,%d is %+v, want %+v\nline %q", x, y, b, a, lines[y])
					}
				}
			}
		}
	}
}
