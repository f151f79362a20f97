package ui

import (
	"strings"

	"aipscope/themes"
	"aipscope/ui/markdown"

	"github.com/charmbracelet/glamour/ansi"
	"github.com/muesli/termenv"
)

// Look is how the console is drawn.
type Look struct {
	Theme       themes.Theme
	Profile     termenv.Profile // the colours that the terminal has; Ascii is no escapes at all
	NoColor     bool            // weight and reversal stay
	ASCII       bool
	PlainScreen bool // no boxes and no colours, words in place of marks
}

func (l Look) theme() themes.Theme {
	if l.NoColor || l.PlainScreen {
		return l.Theme.NoColor()
	}
	switch l.Profile {
	case termenv.ANSI:
		return l.Theme.Sixteen()
	case termenv.ANSI256:
		return l.Theme.Fixed()
	}
	return l.Theme
}

func (l Look) glyphs() themes.Glyphs {
	if l.ASCII {
		return themes.ASCII()
	}
	return themes.Unicode()
}

// documents returns what makes new documents; those for thinking and for what is
// said beside the answer are faint.
func (l Look) documents() func(faint bool) *markdown.Document {
	plain, faint := l.document(false), l.document(true)
	return func(isFaint bool) *markdown.Document {
		if isFaint {
			return faint.Like()
		}
		return plain.Like()
	}
}

func (l Look) document(faint bool) *markdown.Document {
	t := l.theme()
	o := markdown.Options{Width: textMeasure, Style: t.Glamour(l.glyphs()), Profile: l.Profile}
	if faint {
		o.Style = t.NoColor().Glamour(l.glyphs())
		o.Style.Document.StylePrimitive = ansi.StylePrimitive{}
		if dim := string(t.Role(themes.Dim)); dim != "" {
			o.Style.Document.Color = &dim
		} else {
			o.Style.Document.Faint = new(true)
		}
	}
	return markdown.New(o)
}

// ink is a colour with its attributes, as SGR codes, for the terminal at hand.
func (l Look) ink(c themes.Color, codes ...string) ink {
	if l.Profile == termenv.Ascii {
		return ink{}
	}
	if c != "" {
		if color := l.Profile.Color(string(c)); color != nil {
			codes = append(codes, color.Sequence(false))
		}
	}
	return inkOf(codes)
}

func inkOf(codes []string) ink {
	if len(codes) == 0 {
		return ink{}
	}
	return ink{"\x1b[" + strings.Join(codes, ";") + "m", reset}
}

func (l Look) tone(t themes.Tone) ink {
	var codes []string
	if t.Bold {
		codes = append(codes, bold)
	}
	if t.Reverse {
		codes = append(codes, reverse)
	}
	return l.ink(t.Color, codes...)
}

// dim is for what is not the point: a colour, or faint where there are none.
func (l Look) dim(t themes.Theme) ink {
	if c := t.Role(themes.Dim); c != "" {
		return l.ink(c)
	}
	return l.ink("", faint)
}

// border is for lines that are not the point: a colour, or faint where there is none.
func (l Look) border(t themes.Theme) ink {
	if c := t.Role(themes.Border); c != "" {
		return l.ink(c)
	}
	return l.ink("", faint)
}

// background sets the chosen row or a match apart: its background, or reversed
// where there are no colours.
func (l Look) background(t themes.Theme, role themes.Role) ink {
	if l.Profile == termenv.Ascii {
		return ink{}
	}
	if c := t.Role(role); c != "" {
		if color := l.Profile.Color(string(c)); color != nil {
			return inkOf([]string{bold, color.Sequence(true)})
		}
	}
	return inkOf([]string{reverse})
}
