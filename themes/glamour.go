package themes

import (
	"cmp"
	"strings"

	"github.com/charmbracelet/glamour/ansi"
)

// Glamour is the markdown style in the theme's colours and in glyphs.
func (t Theme) Glamour(g Glyphs) ansi.StyleConfig {
	col := func(table, key string) *string {
		if c := string(t.color(table, key)); c != "" {
			return &c
		}
		return nil
	}
	prim := func(table, key string) ansi.StylePrimitive { return ansi.StylePrimitive{Color: col(table, key)} }
	md := func(key string) ansi.StylePrimitive { return prim("markdown", key) }
	code := func(key string) ansi.StylePrimitive { return prim("code", key) }
	on := true
	ptr := func(s string) *string { return &s }
	var codeMargin uint = 2

	heading := func(prefix string) ansi.StyleBlock {
		return ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Prefix: prefix}}
	}
	link, linkText := md("link"), ansi.StylePrimitive{Bold: &on}
	link.Underline = &on
	quote := md("quote")
	quote.Italic = &on
	head := md("heading")
	head.Bold = &on
	comment := code("comment")
	comment.Italic = &on
	// Where there is no colour to tell code from words, its own marks do.
	span := md("code")
	if span.Color == nil {
		span.Prefix, span.Suffix = "`", "`"
	}

	return ansi.StyleConfig{
		Document:      ansi.StyleBlock{StylePrimitive: prim("colors", string(Text))},
		BlockQuote:    ansi.StyleBlock{StylePrimitive: quote, IndentToken: ptr(cmp.Or(g.Bar, "|") + " ")},
		Heading:       ansi.StyleBlock{StylePrimitive: head},
		H1:            ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Underline: &on}},
		H3:            heading("### "),
		H4:            heading("#### "),
		H5:            heading("##### "),
		H6:            heading("###### "),
		Strikethrough: ansi.StylePrimitive{CrossedOut: &on},
		Emph:          ansi.StylePrimitive{Italic: &on},
		Strong:        ansi.StylePrimitive{Bold: &on},
		HorizontalRule: ansi.StylePrimitive{
			Color: col("colors", string(Border)), Format: "\n" + strings.Repeat(cmp.Or(g.Rule, "-"), 24) + "\n",
		},
		Item:        ansi.StylePrimitive{BlockPrefix: cmp.Or(g.Bullet, "-") + " ", Color: col("colors", string(Dim))},
		Enumeration: ansi.StylePrimitive{BlockPrefix: ". ", Color: col("colors", string(Dim))},
		Task: ansi.StyleTask{
			StylePrimitive: prim("colors", string(Dim)),
			Ticked:         "[" + cmp.Or(g.Ticked, "x") + "] ", Unticked: "[" + cmp.Or(g.Unticked, " ") + "] ",
		},
		Link:      link,
		LinkText:  linkText,
		Image:     link,
		ImageText: ansi.StylePrimitive{Bold: &on},
		Code:      ansi.StyleBlock{StylePrimitive: span},
		HTMLBlock: ansi.StyleBlock{StylePrimitive: md("markup")},
		HTMLSpan:  ansi.StyleBlock{StylePrimitive: md("markup")},
		Table: ansi.StyleTable{
			CenterSeparator: ptr(cross(g)), ColumnSeparator: ptr(cmp.Or(g.Bar, "|")), RowSeparator: ptr(cmp.Or(g.Rule, "-")),
		},
		CodeBlock: ansi.StyleCodeBlock{
			StyleBlock: ansi.StyleBlock{Margin: &codeMargin},
			Chroma: &ansi.Chroma{
				Comment: comment, CommentPreproc: code("keyword"),
				Keyword: code("keyword"), KeywordType: code("type"), KeywordNamespace: code("keyword"), KeywordReserved: code("keyword"),
				Operator: code("operator"), Punctuation: code("operator"),
				NameBuiltin: code("type"), NameClass: code("type"), NameTag: code("keyword"), NameAttribute: code("function"),
				NameDecorator: code("function"), NameException: code("type"), NameFunction: code("function"), NameConstant: code("number"),
				LiteralNumber: code("number"), LiteralDate: code("number"), LiteralString: code("string"), LiteralStringEscape: code("number"),
				GenericInserted: code("inserted"), GenericDeleted: code("deleted"), GenericSubheading: comment,
				GenericEmph: ansi.StylePrimitive{Italic: &on}, GenericStrong: ansi.StylePrimitive{Bold: &on},
			},
		},
	}
}

// cross is where the lines of a table meet.
func cross(g Glyphs) string {
	if g.Rule == "─" {
		return "┼"
	}
	return "+"
}
