package ui

import (
	"aipscope/follow"
	"aipscope/model"
)

const reset = "\x1b[0m"

// ink is a style as the bytes that begin and end it. Frames are built of many
// short strings, and the bytes never change while a theme is in use.
type ink struct{ on, off string }

func (k ink) in(s string) string {
	if s == "" {
		return ""
	}
	return k.on + s + k.off
}

// lineGlyphs draw the frames.
type lineGlyphs struct {
	horizontal, vertical, topLeft, topRight, bottomLeft, bottomRight string
}

// markGlyphs are the other signs of the screen.
type markGlyphs struct {
	pointer, mark, dot, cursor, down        string
	recovered, gap, marked, unmarked        string
	full, empty                             string
	pass, fail, pending, none, unknown      string
	connecting, live, retrying, settled, no string
	running, ended, failed, unended, orphan string
}

// styles are a theme made ready for drawing.
type styles struct {
	plain bool
	ascii bool

	lines   lineGlyphs
	between string // sets parts of a title apart
	glyphs  markGlyphs

	text, dim, accent, key  ink
	border, borderFocus     ink
	title, titleFocus       ink
	selected, alarm, cursor ink
	good, bad, doubt        ink
	words                   map[model.Word]ink
	wordGlyphs              map[model.Word]string
	tools                   map[model.ToolStatus]ink
	links                   map[follow.LinkState]ink
}

var unicodeLines = lineGlyphs{"─", "│", "╭", "╮", "╰", "╯"}
var asciiLines = lineGlyphs{"-", "|", "+", "+", "+", "+"}

var unicodeMarks = markGlyphs{
	pointer: "▸", mark: "┄", dot: "·", cursor: "▌", down: "▾",
	recovered: "↺", gap: "┊", marked: "[✓]", unmarked: "[ ]",
	full: "█", empty: "░",
	pass: "✓", fail: "✗", pending: "·", none: "–", unknown: "◐",
	connecting: "◌", live: "●", retrying: "◌", settled: "■", no: "✗",
	running: "●", ended: "✓", failed: "✗", unended: "○", orphan: "◌",
}

var asciiMarks = markGlyphs{
	pointer: ">", mark: "--", dot: ",", cursor: "_", down: "v",
	recovered: "@", gap: ":", marked: "[x]", unmarked: "[ ]",
	full: "#", empty: ".",
	pass: "+", fail: "x", pending: ".", none: "-", unknown: "~",
	connecting: ".", live: "*", retrying: ".", settled: "=", no: "x",
	running: "*", ended: "+", failed: "x", unended: "o", orphan: "?",
}

func (s *styles) word(w model.Word) ink {
	if k, ok := s.words[w]; ok {
		return k
	}
	return s.dim
}

func (s *styles) wordGlyph(w model.Word) string {
	if w == "" {
		w = model.Pending
	}
	return s.wordGlyphs[w]
}

func (s *styles) mark(m model.Mark) ink {
	switch m {
	case model.Pass:
		return s.good
	case model.Fail:
		return s.bad
	case model.Unknown:
		return s.doubt
	}
	return s.dim
}

// markName is the ink of a condition's name: what is open stays quiet.
func (s *styles) markName(m model.Mark) ink {
	if m == model.MarkPending || m == model.NotApplicable {
		return s.dim
	}
	return s.text
}

func (s *styles) markGlyph(m model.Mark) string {
	switch m {
	case model.Pass:
		return s.glyphs.pass
	case model.Fail:
		return s.glyphs.fail
	case model.NotApplicable:
		return s.glyphs.none
	case model.Unknown:
		return s.glyphs.unknown
	}
	return s.glyphs.pending
}

func (s *styles) tool(t model.ToolStatus) ink {
	if k, ok := s.tools[t]; ok {
		return k
	}
	return s.dim
}

func (s *styles) toolGlyph(t model.ToolStatus) string {
	switch t {
	case model.ToolRunning:
		return s.glyphs.running
	case model.ToolCompleted:
		return s.glyphs.ended
	case model.ToolFailed:
		return s.glyphs.failed
	case model.ToolUnended:
		return s.glyphs.unended
	}
	return s.glyphs.orphan
}

func (s *styles) link(l follow.LinkState) ink {
	if k, ok := s.links[l]; ok {
		return k
	}
	return s.dim
}

func (s *styles) linkGlyph(l follow.LinkState) string {
	switch l {
	case follow.Live, follow.Draining:
		return s.glyphs.live
	case follow.Retrying:
		return s.glyphs.retrying
	case follow.Settled:
		return s.glyphs.settled
	case follow.Refused:
		return s.glyphs.no
	}
	return s.glyphs.connecting
}

// paused is what a border says while its pane does not follow.
func (s *styles) paused(fresh int) string {
	if fresh <= 0 {
		return "paused, G follows"
	}
	return "paused, +" + number(fresh) + " new " + s.glyphs.down
}
