package ui

import (
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// text is a long, safe text in lines of a width. It knows where each line
// starts, so only the lines in sight are ever cut out of it, and a frame of many
// megabytes scrolls like a small one.
type text struct {
	s      string
	width  int
	starts []int // byte offset of each line
	hangs  []int // of each line before it is wrapped: cells by which what is wrapped stands further in; nil for none
	pads   []int // of each line, from those
	height int
	top    int
}

// newText returns the text wrapped at width. s must have passed package safe.
func newText(s string, width int) *text { return newHanging(s, nil, width) }

// newHanging is newText with further lines that hang.
func newHanging(s string, hangs []int, width int) *text {
	t := &text{s: strings.ReplaceAll(s, "\t", "    "), hangs: hangs}
	t.wrap(width)
	return t
}

// resize wraps the text anew when its width changed, and keeps the top line's
// place in the text.
func (t *text) resize(width, height int) {
	t.height = max(height, 1)
	if width != t.width {
		at := 0
		if t.top < len(t.starts) {
			at = t.starts[t.top]
		}
		t.wrap(width)
		t.top = 0
		for t.top+1 < len(t.starts) && t.starts[t.top+1] <= at {
			t.top++
		}
	}
	t.top = max(0, min(t.top, len(t.starts)-t.height))
}

func (t *text) wrap(width int) {
	t.width = max(width, 1)
	t.starts, t.pads = append(t.starts[:0], 0), t.pads[:0]
	line, pad := 0, t.hang(0)
	if t.hangs != nil {
		t.pads = append(t.pads, 0)
	}
	cells := 0
	for i := 0; i < len(t.s); {
		c := t.s[i]
		if c == '\n' {
			i++
			cells = 0
			if i < len(t.s) {
				t.starts = append(t.starts, i)
				if t.hangs != nil {
					line++
					pad = t.hang(line)
					t.pads = append(t.pads, 0)
				}
			}
			continue
		}
		n, w := 1, 1
		// A byte below 0x80 may still begin a cluster with what follows it.
		if c >= 0x80 || i+1 < len(t.s) && t.s[i+1] >= 0x80 {
			cluster, cw := ansi.FirstGraphemeCluster(t.s[i:min(len(t.s), i+256)], ansi.GraphemeWidth)
			n, w = max(len(cluster), 1), cw
		}
		if cells > 0 && cells+w > t.width {
			t.starts = append(t.starts, i)
			cells = pad
			if t.hangs != nil {
				t.pads = append(t.pads, pad)
			}
		}
		cells += w
		i += n
	}
}

// hang is how far in the wrapped rest of a line stands: at most in the middle.
func (t *text) hang(line int) int {
	if line < len(t.hangs) {
		return min(t.hangs[line], t.width/2, max(0, t.width-2))
	}
	return 0
}

func (t *text) move(m motion) {
	t.top = m.apply(t.top, max(0, len(t.starts)-t.height), t.height)
}

// line returns line i and whether it starts a line of the unwrapped text.
func (t *text) line(i int) (s string, starts bool) {
	from, to := t.starts[i], len(t.s)
	if i+1 < len(t.starts) {
		to = t.starts[i+1]
	}
	s = strings.TrimSuffix(t.s[from:to], "\n")
	if t.pads != nil {
		s = strings.Repeat(" ", t.pads[i]) + s
	}
	return s, from == 0 || t.s[from-1] == '\n'
}

// view returns the lines in sight, JSON keys and what was searched for set apart.
func (t *text) view(s *styles, marks *regexp.Regexp) []string {
	var out []string
	for i := t.top; i < min(len(t.starts), t.top+t.height); i++ {
		line, starts := t.line(i)
		if marks != nil && marks.MatchString(line) {
			out = append(out, s.marked(line, s.text, marks))
			continue
		}
		out = append(out, s.json(line, starts))
	}
	return out
}

// json sets apart the key that a line of indented JSON starts with.
func (s *styles) json(line string, starts bool) string {
	if !starts {
		return s.text.in(line)
	}
	body := strings.TrimLeft(line, " ")
	if !strings.HasPrefix(body, `"`) {
		return s.text.in(line)
	}
	end := strings.Index(body, `": `)
	if end < 0 {
		return s.text.in(line)
	}
	indent := line[:len(line)-len(body)]
	return indent + s.key.in(body[:end+2]) + s.text.in(body[end+2:])
}

// position says which part of the text is in sight, or "" when all of it is.
func (t *text) position() string {
	n := len(t.starts)
	if n <= t.height {
		return ""
	}
	return "lines " + number(t.top+1) + " to " + number(min(n, t.top+t.height)) + " of " + number(n)
}
