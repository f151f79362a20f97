package ui

import (
	"aipscope/follow"
	"aipscope/model"
	"aipscope/ui/markdown"

	"github.com/charmbracelet/glamour/ansi"
	glamour "github.com/charmbracelet/glamour/styles"
	"github.com/muesli/termenv"
)

// Look is how the console is drawn.
type Look struct {
	ASCII, NoColor, PlainScreen bool
}

func (l Look) document(faint bool) document {
	style := glamour.DarkStyleConfig
	if faint {
		style = ansi.StyleConfig{Document: ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Faint: new(true)}}}
	}
	return markdown.New(markdown.Options{Width: 80, Style: style, Profile: termenv.ANSI256})
}

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
