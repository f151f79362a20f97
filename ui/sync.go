package ui

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// Mode 2026: a terminal that knows it shows everything between the two at once;
// others ignore it. Mode 7 off: a line that a terminal finds wider than the
// console did (they differ over clusters of some scripts) stops at the edge,
// where it would go on in the next line and push the whole frame up.
const (
	syncBegin = "\x1b[?2026h\x1b[?7l"
	syncEnd   = "\x1b[?7h\x1b[?2026l"
)

// SyncOutput is a terminal on which every write appears at once: the renderer
// writes a frame with one call, so no half-drawn frame is ever seen. Of a line that
// changed only the cells that changed are sent, where that is shorter: the renderer
// sends whole lines, and two panes share them.
type SyncOutput struct {
	term.File
	mu    sync.Mutex
	buf   []byte
	lines []string // as they stand on the screen, "" where that is not known
	squeezer
}

// NewSyncOutput wraps the terminal; give it to tea.WithOutput.
func NewSyncOutput(f term.File) *SyncOutput { return &SyncOutput{File: f} }

// Write writes p between the sequences, in one call to the terminal.
func (o *SyncOutput) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf = append(o.buf[:0], syncBegin...)
	if frame, ok := bytes.CutPrefix(p, []byte(ansi.CursorHomePosition)); ok {
		o.frame(string(frame))
	} else {
		o.lines = nil // it may have changed anything
		o.buf = append(o.buf, p...)
	}
	o.buf = append(o.buf, syncEnd...)
	if _, err := o.File.Write(o.buf); err != nil {
		o.lines = nil
		return 0, err
	}
	return len(p), nil
}

// frame appends a frame as the renderer writes it: from the top, every line that
// changed with a carriage return behind it, nothing for one that did not, and line
// feeds between them. Where it draws everything again it begins with a carriage
// return.
func (o *SyncOutput) frame(s string) {
	o.buf = append(o.buf, ansi.CursorHomePosition...)
	if strings.HasPrefix(s, "\r") {
		o.lines = nil
	}
	lines := strings.Split(s, "\n")
	if len(lines) != len(o.lines) {
		o.lines = make([]string, len(lines))
	}
	for i, line := range lines {
		if i > 0 {
			o.buf = append(o.buf, '\n')
		}
		if line == "" {
			continue
		}
		if text, ok := strings.CutSuffix(line, "\r"); ok {
			o.line(o.lines[i], text)
			o.buf = append(o.buf, '\r')
			o.lines[i] = text
			continue
		}
		// The last line, and where the cursor goes from there.
		o.buf = o.blanks(o.buf, line)
		o.lines[i] = ""
	}
}

// line appends what makes the line that was into the one that is wanted.
func (o *SyncOutput) line(was, want string) {
	from := len(o.buf)
	if o.changes(was, want) && len(o.buf)-from < len(want) {
		return
	}
	o.buf = o.blanks(o.buf[:from], want)
}

// glyph is a cell with the colours it is drawn in.
type glyph struct {
	r     rune
	state string
}

// glyphs reads the cells of a line, if each of its runes takes one cell for
// certain.
func glyphs(line string) ([]glyph, bool) {
	var out []glyph
	state := ""
	for len(line) > 0 {
		if line[0] == '\x1b' {
			seq, ok := cutSGR(line)
			if !ok {
				return nil, false
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
				return nil, false
			}
			out = append(out, glyph{r, state})
		}
		line = line[n:]
	}
	return out, true
}

// gapCells is how many unchanged cells between two changes are written again
// rather than jumped over.
const gapCells = 6

// changes appends the cells that differ between two lines; it reports false
// where that cannot be told.
func (o *SyncOutput) changes(was, want string) bool {
	if was == "" {
		return false
	}
	a, ok := glyphs(was)
	if !ok {
		return false
	}
	b, ok := glyphs(want)
	if !ok || len(a) != len(b) {
		return false
	}
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
		o.buf = fmt.Appendf(o.buf, "\x1b[%dG", i+1)
		var run strings.Builder
		for ; i < end; i++ {
			if g := b[i]; g.state != state && (g.r != ' ' || o.shows(g.state) || o.shows(state)) {
				run.WriteString(change(state, g.state))
				state = g.state
			}
			run.WriteRune(b[i].r)
		}
		if i < len(b) || o.shows(state) {
			// What follows may be jumped to: nothing is left in force.
			run.WriteString(change(state, ""))
			state = ""
		}
		o.buf = o.blanks(o.buf, run.String())
	}
	if state != "" {
		o.buf = append(o.buf, reset...)
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
