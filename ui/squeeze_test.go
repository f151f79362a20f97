package ui

import (
	"math/rand/v2"
	"strings"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/vt"
)

// sameCell reports whether two cells look the same.
func sameCell(a, b *uv.Cell) bool {
	if a == nil || b == nil {
		return a == b
	}
	blank := func(c *uv.Cell) bool { return c.Content == " " || c.Content == "" && c.Width <= 1 }
	if blank(a) && blank(b) {
		as, bs := a.Style, b.Style
		as.Fg, bs.Fg = nil, nil
		as.Attrs, bs.Attrs = as.Attrs&^3, bs.Attrs&^3 // bold and faint do not show on a space
		return as.Equal(&bs)
	}
	return a.Equal(b)
}

// Whatever is taken out, every cell looks as it did.
func TestSqueezingChangesNoCell(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	pieces := []string{
		"\x1b[38;5;110m", "\x1b[38;2;1;2;3m", "\x1b[0m", "\x1b[m", "\x1b[7m", "\x1b[1;38;5;203m", "\x1b[4m", "\x1b[48;5;7m", "\x1b[2m", "\x1b[0;31m", "\x1b[39m",
		"a", "│", "  ", " ", "word", "漢", "   ", "              ",
	}
	for range 200 {
		var b strings.Builder
		for range r.IntN(14) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		line := b.String()
		if width(line) > 58 {
			continue
		}
		var q squeezer
		short := q.line(line)
		var q2 squeezer
		short = string(q2.blanks(nil, short))
		one, two := vt.NewEmulator(60, 1), vt.NewEmulator(60, 1)
		one.Write([]byte(line + reset + "."))
		two.Write([]byte(short + "."))
		for x := range 60 {
			if a, b := one.CellAt(x, 0), two.CellAt(x, 0); !sameCell(a, b) {
				t.Fatalf("%q became %q: cell %d is %+v, was %+v", line, short, x, b, a)
			}
		}
	}
}
