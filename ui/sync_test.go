package ui

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

// terminal is a file that keeps what is written to it.
type terminal struct {
	bytes.Buffer
	writes int
}

func (f *terminal) Write(p []byte) (int, error) { f.writes++; return f.Buffer.Write(p) }
func (f *terminal) Close() error                { return nil }
func (f *terminal) Fd() uintptr                 { return 99 }

func TestEveryWriteIsOneSynchronisedFrame(t *testing.T) {
	var f terminal
	o := NewSyncOutput(&f)
	for _, frame := range []string{"frame one", "", "frame two"} {
		if n, err := o.Write([]byte(frame)); n != len(frame) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	want := "\x1b[?2026h\x1b[?7lframe one\x1b[?7h\x1b[?2026l\x1b[?2026h\x1b[?7lframe two\x1b[?7h\x1b[?2026l"
	if f.String() != want || f.writes != 2 || o.Fd() != 99 {
		t.Errorf("%d writes: %q", f.writes, f.String())
	}
}

// rendered is what the renderer writes to go from one frame to the next; from
// "" it draws everything.
func rendered(was, want string, w int) []byte {
	var b bytes.Buffer
	b.WriteString(ansi.CursorHomePosition)
	old, lines := strings.Split(was, "\n"), strings.Split(want, "\n")
	for i, line := range lines {
		if len(old) > i && old[i] == line && was != "" {
			if i < len(lines)-1 {
				b.WriteByte('\n')
			}
			continue
		}
		if i == 0 && was == "" {
			b.WriteByte('\r')
		}
		b.WriteString(line)
		if ansi.StringWidth(line) < w {
			b.WriteString(ansi.EraseLineRight)
		}
		if i < len(lines)-1 {
			b.WriteString("\r\n")
		}
	}
	b.WriteString(ansi.CursorPosition(0, len(lines)))
	return b.Bytes()
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
		var f terminal
		out := NewSyncOutput(&f)
		got, want := vt.NewEmulator(w, h), vt.NewEmulator(w, h)
		lines := make([]string, h)
		before := ""
		for range 12 {
			for i := range lines {
				if r.IntN(2) == 0 {
					lines[i] = line()
				}
			}
			frame := strings.Join(lines, "\n")
			if r.IntN(5) == 0 {
				before = "" // drawn again
				for _, term := range []*vt.Emulator{got, want} {
					term.Write([]byte("\x1b[2J\x1b[Hgarbage"))
				}
			}
			p := rendered(before, frame, w)
			out.Write(p)
			got.Write(f.Next(f.Len()))
			want.Write(p)
			before = frame
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
