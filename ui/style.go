package ui

import (
	"cmp"

	"aipscope/follow"
	"aipscope/model"
	"aipscope/themes"

	"github.com/charmbracelet/lipgloss"
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

// The attributes that are no colours.
const (
	bold    = "1"
	faint   = "2"
	reverse = "7"
)

// signs are glyphs of the chunk list and of the marks in the text.
type signs struct {
	dot       string // between names
	recovered string // taken from the aggregate
	gap       string // sequences before it never came
	times     string
	later     string // has not come at the moment that is looked at
}

// styles are a look made ready for drawing.
type styles struct {
	plain     bool
	ascii     bool
	glyphs    themes.Glyphs
	signs     signs
	inverts   bool   // the chosen row is reversed: it has no background of its own
	markWidth int    // cells of a mark in a column
	between   string // sets parts of a title apart

	text, dim, accent, key ink
	border, borderFocus    ink
	title, titleFocus      ink
	selected, cursor       ink
	match                  ink    // what a search found
	here, chosen           string // marks for what is said, or ""
	alarm                  ink    // what must not be overlooked
	aside                  ink    // what is shown is not what is now

	words map[model.Word]ink
	marks map[model.Mark]ink
	tools map[model.ToolStatus]ink
	links map[follow.LinkState]ink
}

func newStyles(l Look) styles {
	t, g := l.theme(), l.glyphs()
	s := styles{
		plain: l.PlainScreen, inverts: t.Role(themes.Selection) == "", markWidth: 1, ascii: l.ASCII, glyphs: g, signs: signs{"·", "↺", "┊", "×", "›"},
		text: l.ink(t.Role(themes.Text)), dim: l.dim(t), accent: l.ink(t.Role(themes.Accent)), key: l.ink(t.Role(themes.Accent)),
		border: l.border(t), borderFocus: l.ink(t.Role(themes.BorderFocus)),
		title: l.ink(t.Role(themes.Title)), titleFocus: l.ink(t.Role(themes.Accent), bold),
		selected: l.background(t, themes.Selection), match: l.background(t, themes.Match), cursor: l.ink("", reverse),
		alarm: l.tone(t.Verdict(model.Failed)), aside: l.tone(t.Verdict(model.Partial)),
		words: map[model.Word]ink{}, marks: map[model.Mark]ink{}, tools: map[model.ToolStatus]ink{}, links: map[follow.LinkState]ink{},
	}
	for w := range g.Verdicts {
		s.words[w] = l.tone(t.Verdict(w))
	}
	for m := range g.Marks {
		s.marks[m] = l.tone(t.Mark(m))
	}
	for status := range g.Tools {
		s.tools[status] = l.tone(t.Tool(status))
	}
	for state := range g.Links {
		s.links[state] = l.tone(t.Link(state))
	}
	if s.ascii {
		s.signs = signs{"|", "@", ":", "x", "'"}
	}
	s.between = " " + g.Rule + " "
	if s.plain {
		s.between = ", "
		s.glyphs.Rule, s.glyphs.Border = "", lipgloss.HiddenBorder()
		s.glyphs.Cursor, s.glyphs.Ran, s.glyphs.Chosen = "", "--", ">"
		// What is read aloud is words. Verdicts and links are words already.
		s.glyphs.Verdicts, s.glyphs.Links = nil, nil
		s.glyphs.Marks = map[model.Mark]string{
			model.Pass: "passed", model.Fail: "FAILED", model.MarkPending: "open", model.NotApplicable: "n/a", model.Unknown: "unclear",
		}
		s.markWidth = len("unclear")
		s.glyphs.Tools = map[model.ToolStatus]string{
			model.ToolRunning: "running", model.ToolCompleted: "ended", model.ToolFailed: "FAILED", model.ToolUnended: "never ended", model.ToolOrphan: "no start",
		}
	}
	return s
}

// speak makes the styles those of lines that are said, not seen.
func (s *styles) speak() {
	s.here, s.chosen = markHere, markChosen
	s.selected = ink{markChosen, ""}
}

// masked is what is said where content is masked.
func (s *styles) masked() string {
	if s.here != "" {
		return "masked" // and stays so
	}
	return "masked, r reveals"
}

// The inks and glyphs of states. One that is not known is dim, and has the glyph
// of the usual beginning.

func (s *styles) word(w model.Word) ink {
	if k, ok := s.words[w]; ok {
		return k
	}
	return s.dim
}

func (s *styles) wordGlyph(w model.Word) string {
	return cmp.Or(s.glyphs.Verdicts[w], s.glyphs.Verdicts[model.Pending])
}

func (s *styles) mark(m model.Mark) ink {
	if k, ok := s.marks[m]; ok {
		return k
	}
	return s.dim
}

func (s *styles) markGlyph(m model.Mark) string {
	return cmp.Or(s.glyphs.Marks[m], s.glyphs.Marks[model.MarkPending])
}

// prefix sets a glyph before a word.
func prefix(glyph string) string {
	if glyph == "" {
		return ""
	}
	return glyph + " "
}

// markName is the ink of a condition's name: what is open stays quiet.
func (s *styles) markName(m model.Mark) ink {
	if m == model.MarkPending || m == model.NotApplicable {
		return s.dim
	}
	return s.text
}

func (s *styles) tool(t model.ToolStatus) ink {
	if k, ok := s.tools[t]; ok {
		return k
	}
	return s.dim
}

func (s *styles) toolGlyph(t model.ToolStatus) string {
	return cmp.Or(s.glyphs.Tools[t], s.glyphs.Tools[model.ToolOrphan])
}

func (s *styles) link(l follow.LinkState) ink {
	if k, ok := s.links[l]; ok {
		return k
	}
	return s.dim
}

func (s *styles) linkGlyph(l follow.LinkState) string {
	return cmp.Or(s.glyphs.Links[l], s.glyphs.Links[follow.Connecting])
}

// row returns what inks the pieces of a list's row. Upon the chosen one's own
// background a state keeps its colour, and nothing is dim.
func (s *styles) row(chosen bool) func(k ink, text string) string {
	if !chosen {
		return ink.in
	}
	if s.inverts {
		return func(_ ink, text string) string { return s.selected.in(text) } // a state would colour the background
	}
	return func(k ink, text string) string {
		if k == s.dim {
			k = s.text
		}
		return ink{s.selected.on + k.on, cmp.Or(s.selected.off, k.off)}.in(text)
	}
}

// paused is what a border says while its pane does not follow.
func (s *styles) paused(fresh int) string {
	if fresh <= 0 {
		return "paused, G follows"
	}
	return "paused, +" + number(fresh) + " new " + s.glyphs.Below
}
