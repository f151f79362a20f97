package ui

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// framed is what a pane says on its border.
type framed struct {
	title   string // top left
	note    string // top right: counts and states
	alarm   bool   // the note must not be overlooked
	aside   bool   // the note says that what is shown is not what is now
	footer  string // bottom right
	focused bool
	x       int // column of the left edge on the screen
}

// column moves to a column, counted from 0, if the line before it might not end
// there: terminals differ over the width of some clusters, and a frame must not
// shift with them.
func column(line string, x int) string {
	for _, r := range line {
		if !steady(r) {
			return fmt.Sprintf("\x1b[%dG", x+1)
		}
	}
	return ""
}

// steady reports whether a rune takes one cell on every terminal: Latin letters,
// punctuation, arrows, mathematics, lines and blocks, and the marks of the glyph sets.
func steady(r rune) bool {
	switch {
	case r < 0x300, 0x2010 <= r && r < 0x2300, 0x2500 <= r && r < 0x25fd:
		return true
	}
	return r == '✓' || r == '✗'
}

// moves are what column writes.
var moves = regexp.MustCompile("\x1b\\[[0-9]+G")

// box draws lines into a frame of w by h cells: w-2 by h-2 remain inside. On a
// plain screen the frame is a heading line, so that nothing is drawn that a
// screen reader would spell out.
func (s *styles) box(f framed, lines []string, w, h int) []string {
	if w < 2 || h < 2 {
		return block(nil, w, h)
	}
	out := make([]string, 0, h)
	edge := s.border
	if f.focused {
		edge = s.borderFocus
	}
	if s.plain {
		head := f.title
		if f.note != "" {
			head += ": " + f.note
		}
		out = append(out, fill(head, w))
		for _, line := range block(lines, w-2, h-2) {
			out = append(out, " "+line+" ")
		}
		return append(out, fill(f.footer, w))
	}
	g := s.glyphs.Border
	out = append(out, edge.in(g.TopLeft)+s.rule(edge, f.title, f.note, f.focused, s.note(f), w-2)+edge.in(g.TopRight))
	side := edge.in(g.Left)
	for _, line := range block(lines, w-2, h-2) {
		out = append(out, side+line+column(line, f.x+w-1)+side)
	}
	return append(out, edge.in(g.BottomLeft)+s.rule(edge, "", f.footer, false, s.note(f), w-2)+edge.in(g.BottomRight))
}

// note is the ink of what stands at the right of a frame's edges.
func (s *styles) note(f framed) ink {
	switch {
	case f.alarm:
		return s.alarm
	case f.aside:
		return s.aside
	}
	return s.dim
}

// rule draws a horizontal line of w cells with a title near its left end and a
// note near its right end.
func (s *styles) rule(edge ink, title, note string, focused bool, n ink, w int) string {
	h := s.glyphs.Rule
	// The note says what the pane does not show, so the title gives way to it.
	if note != "" {
		if note = cut(note, w-5); note != "" {
			note = " " + note + " "
		}
	}
	if title != "" {
		if title = cut(title, w-4-ansi.StringWidth(note)); title != "" {
			title = " " + title + " "
		}
	}
	// A note ends one cell before the corner, so that the line is seen to go on.
	end := 0
	if note != "" {
		end = 1
	}
	gap := w - ansi.StringWidth(title) - ansi.StringWidth(note) - end
	if gap < 0 {
		return edge.in(strings.Repeat(h, max(w, 0)))
	}
	t := s.title
	if focused {
		t = s.titleFocus
	}
	return t.in(title) + edge.in(strings.Repeat(h, gap)) + n.in(note) + edge.in(strings.Repeat(h, end))
}

// block makes of lines exactly h lines of exactly w cells.
func block(lines []string, w, h int) []string {
	out := make([]string, max(h, 0))
	for i := range out {
		if i < len(lines) {
			out[i] = fill(lines[i], w)
		} else {
			out[i] = strings.Repeat(" ", max(w, 0))
		}
	}
	return out
}

// beside joins two blocks of the same height.
func beside(left, right []string) []string {
	out := make([]string, len(left))
	for i := range left {
		out[i] = left[i]
		if i < len(right) {
			out[i] += right[i]
		}
	}
	return out
}

// over lays top upon the middle of base, which is w cells wide.
func over(base, top []string, w int) []string {
	top = lower(top, len(base))
	if len(top) == 0 {
		return base
	}
	beside := ""
	if ansi.StringWidth(top[0])+2 <= w {
		beside = " " // what is below ends before the frame
	}
	tw := ansi.StringWidth(beside + top[0] + beside)
	x, y := max(0, (w-tw)/2), (len(base)-len(top))/2
	for i, line := range top {
		line = beside + line + beside
		under := moves.ReplaceAllString(base[y+i], "")
		left := fill(truncate(under, x, ""), x)
		right := leftCut(under, x+tw, w)
		line = moves.ReplaceAllString(line, "")
		base[y+i] = left + reset + line + reset + column(left+line, x+tw) + right
	}
	return base
}

// lower makes a frame at most h lines high: its blank lines go first, then the
// last ones before its lower edge.
func lower(frame []string, h int) []string {
	for i := len(frame) - 2; i > 0 && len(frame) > h; i-- {
		inside := ansi.Strip(moves.ReplaceAllString(frame[i], ""))
		if strings.Trim(inside, " │|") == "" {
			frame = slices.Delete(frame, i, i+1)
		}
	}
	if len(frame) > h && h > 0 {
		frame = append(frame[:h-1:h-1], frame[len(frame)-1])
	}
	return frame[:min(len(frame), h)]
}

// leftCut is what stands on a line of w cells from cell x on. A wide cluster that x
// would cut in two becomes a space.
func leftCut(line string, x, w int) string {
	s := ending(line, x)
	return strings.Repeat(" ", max(0, w-x-ansi.StringWidth(s))) + s
}
