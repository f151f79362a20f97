package ui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Mode 2026: a terminal that knows it shows everything between the two at once;
// others ignore it. Mode 7 off: a line that a terminal finds wider than the
// console did (they differ over clusters of some scripts) stops at the edge,
// where it would go on in the next line and push the whole frame up.
const (
	syncBegin = "\x1b[?2026h\x1b[?7l"
	syncEnd   = "\x1b[?7h\x1b[?2026l"
)

// Canvas is what stands on a terminal's screen. Of a frame that comes next only the
// cells that changed are sent, where that is shorter than their line.
type Canvas struct {
	width, height int
	lines         []string // as they stand there, nil where that is not known
	buf           []byte
	a, b          []glyph
	squeezer
}

// Forget is for a screen that somebody else has had: all of the next frame is sent.
func (c *Canvas) Forget() { c.lines = nil }

// Paint returns what makes the screen show a frame, at once and with the cursor in
// the last line, or nothing where the screen shows it. Lines begin and end without
// colours; what has no room is left out, lines from the top. What is returned holds until the
// next call.
func (c *Canvas) Paint(frame string, width, height int) []byte {
	if width != c.width || height != c.height {
		c.width, c.height, c.lines = width, height, nil
	}
	lines := strings.Split(frame, "\n")
	lines = lines[max(0, len(lines)-height):]
	known := c.lines != nil
	if !known {
		c.lines = make([]string, height)
	}
	c.buf = append(c.buf[:0], syncBegin...)
	for y := range height {
		want := ""
		if y < len(lines) {
			want = lines[y]
		}
		if known && want == c.lines[y] {
			continue
		}
		c.buf = fmt.Appendf(c.buf, "\x1b[%dH", y+1)
		c.line(c.lines[y], want, known)
		c.lines[y] = want
	}
	if len(c.buf) == len(syncBegin) {
		return nil
	}
	c.buf = fmt.Appendf(c.buf, "\x1b[%dH"+syncEnd, height)
	return c.buf
}

// line appends what makes the line that was, if that is known, into the one that is
// wanted, from its first cell on.
func (c *Canvas) line(was, want string, known bool) {
	var steady bool
	c.b, steady = glyphs(c.b[:0], want)
	cells := len(c.b)
	if !steady {
		cells = ansi.StringWidth(want)
	}
	if cells > c.width {
		want, steady = truncate(want, c.width, ""), false
	}
	from := len(c.buf)
	if known && steady && c.changes(was) && len(c.buf)-from < len(want) {
		return
	}
	c.buf = c.buf[:from]
	if !steady { // a terminal that finds it narrower would leave the end of what stands there
		c.buf = append(c.buf, ansi.EraseEntireLine...)
	}
	if c.buf = c.blanks(c.buf, want); steady && cells < c.width {
		c.buf = append(c.buf, ansi.EraseLineRight...)
	}
}

// glyph is a cell with the colours it is drawn in.
type glyph struct {
	r     rune
	state string
}

// glyphs appends the cells of a line, if each of its runes takes one cell for
// certain.
func glyphs(out []glyph, line string) ([]glyph, bool) {
	state := ""
	for len(line) > 0 {
		if line[0] == '\x1b' {
			seq, ok := cutSGR(line)
			if !ok {
				return out, false
			}
			state = after(state, seq)
			line = line[len(seq):]
			continue
		}
		n := strings.IndexByte(line, '\x1b')
		if n < 0 {
			n = len(line)
		}
		for _, r := range line[:n] {
			if r < ' ' || !steady(r) {
				return out, false
			}
			out = append(out, glyph{r, state})
		}
		line = line[n:]
	}
	return out, true
}

// padded is a line with what is blank behind it.
func (c *Canvas) padded(cells []glyph) []glyph {
	for len(cells) < c.width {
		cells = append(cells, glyph{' ', ""})
	}
	return cells
}

// gapCells is how many unchanged cells between two changes are written again
// rather than jumped over.
const gapCells = 6

// changes appends the cells that differ between the line that was and the one whose
// cells were read; it reports false where that cannot be told.
func (c *Canvas) changes(was string) bool {
	var ok bool
	if c.a, ok = glyphs(c.a[:0], was); !ok || len(c.a) > c.width {
		return false
	}
	c.a, c.b = c.padded(c.a), c.padded(c.b)
	a, b := c.a, c.b
	state := ""
	for i := 0; i < len(b); {
		if a[i] == b[i] {
			i++
			continue
		}
		end := i + 1
		for j := end; j < len(b) && j-end <= gapCells; j++ {
			if a[j] != b[j] {
				end = j + 1
			}
		}
		c.buf = fmt.Appendf(c.buf, "\x1b[%dG", i+1)
		var run strings.Builder
		for ; i < end; i++ {
			if g := b[i]; g.state != state && (g.r != ' ' || c.shows(g.state) || c.shows(state)) {
				run.WriteString(change(state, g.state))
				state = g.state
			}
			run.WriteRune(b[i].r)
		}
		if i < len(b) || c.shows(state) {
			// What follows may be jumped to: nothing is left in force.
			run.WriteString(change(state, ""))
			state = ""
		}
		c.buf = c.blanks(c.buf, run.String())
	}
	if state != "" {
		c.buf = append(c.buf, reset...)
	}
	return true
}

// blankRun is the number of spaces from which on erasing them is shorter than
// writing them.
const blankRun = 12

// blanks appends s to dst, with runs of spaces erased and jumped over instead.
func (q *squeezer) blanks(dst []byte, s string) []byte {
	state := ""
	for len(s) > 0 {
		switch s[0] {
		case '\x1b':
			seq, ok := cutSGR(s)
			if !ok {
				seq = s[:1]
			} else {
				state = after(state, seq)
			}
			dst = append(dst, seq...)
			s = s[len(seq):]
		case ' ':
			n := len(s) - len(strings.TrimLeft(s, " "))
			if n >= blankRun && !q.shows(state) {
				dst = fmt.Appendf(dst, "\x1b[%dX\x1b[%dC", n, n)
			} else {
				dst = append(dst, s[:n]...)
			}
			s = s[n:]
		default:
			n := strings.IndexAny(s, "\x1b ")
			if n < 0 {
				n = len(s)
			}
			dst = append(dst, s[:n]...)
			s = s[n:]
		}
	}
	return dst
}
