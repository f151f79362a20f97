package ui

import (
	"strings"

	"aipscope/follow"
	"aipscope/model"
	"aipscope/model/safe"

	"github.com/charmbracelet/x/ansi"
)

// Look is how the console is drawn.
type Look struct {
	ASCII, NoColor, PlainScreen bool
}

type plainDoc struct {
	src string
	w   int
}

func (d *plainDoc) Append(s string) { d.src += s }
func (d *plainDoc) Finish()         {}
func (d *plainDoc) SetWidth(w int)  { d.w = w }
func (d *plainDoc) all() []string {
	if d.src == "" {
		return nil
	}
	return strings.Split(ansi.Wrap(strings.ReplaceAll(safe.Text(d.src), "\t", "    "), d.w, ""), "\n")
}
func (d *plainDoc) Height() int             { return len(d.all()) }
func (d *plainDoc) Lines(a, b int) []string { return d.all()[a:b] }

func (l Look) document(faint bool) document { return &plainDoc{} }

func newStyles(l Look) styles {
	i := func(s string) ink { return ink{"\x1b[" + s + "m", reset} }
	s := styles{plain: l.PlainScreen, ascii: l.ASCII, lines: unicodeLines, glyphs: unicodeMarks,
		text: i("38;5;252"), dim: i("38;5;244"), accent: i("38;5;110"), key: i("38;5;110"), border: i("38;5;238"), borderFocus: i("38;5;110"),
		title: i("38;5;250"), titleFocus: i("1;38;5;110"), selected: i("7"), alarm: i("1;38;5;203"), cursor: i("7"), good: i("32"), bad: i("31"), doubt: i("36"),
		words:      map[model.Word]ink{model.Accepted: i("32"), model.Failed: i("31"), model.Unconfirmed: i("36")},
		wordGlyphs: map[model.Word]string{"pending": "◌", "awaiting_approval": "⏸", "accepted": "✓", "unconfirmed": "◐", "partial": "◑", "failed": "✗", "cancelled": "⊘", "incomplete": "?", "contradicted": "≠"},
		tools:      map[model.ToolStatus]ink{model.ToolRunning: i("34"), model.ToolFailed: i("31"), model.ToolCompleted: i("32")},
		links:      map[follow.LinkState]ink{follow.Live: i("32")},
	}
	s.between = " " + s.lines.horizontal + " "
	if s.plain {
		s.between = ", "
		s.lines = lineGlyphs{" ", " ", " ", " ", " ", " "}
		s.glyphs.cursor, s.glyphs.mark = "", "--"
	}
	return s
}
