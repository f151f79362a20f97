package markdown

import (
	"slices"
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/charmbracelet/glamour/ansi"
	"github.com/muesli/termenv"
)

// maxHighlight bounds the code that is coloured, in bytes: a longer block is
// text, so that closing it does not stop the screen.
const maxHighlight = 8 << 10

// tabWidth is the distance of tab stops in code.
const tabWidth = 4

// aliases finds a lexer by name or alias. The registry's own search goes on to
// match the word against every lexer's file names, which costs more than the
// rest of a block does.
var aliases = sync.OnceValue(func() map[string]chroma.Lexer {
	m := make(map[string]chroma.Lexer)
	for _, l := range lexers.GlobalLexerRegistry.Lexers {
		c := l.Config()
		m[strings.ToLower(c.Name)] = l
		for _, a := range c.Aliases {
			m[strings.ToLower(a)] = l
		}
	}
	for _, plain := range []string{"plaintext", "text", "txt", "plain", "no-highlight"} {
		delete(m, plain)
	}
	return m
})

// palette is the pen of each kind of token.
type palette struct {
	pens map[chroma.TokenType]pen
	base pen
}

func newPalette(block ansi.StyleCodeBlock, base pen, profile termenv.Profile) palette {
	p := palette{base: penOf(block.StylePrimitive, profile).over(base)}
	c := block.Chroma
	if c == nil {
		return p
	}
	p.pens = make(map[chroma.TokenType]pen)
	for t, s := range map[chroma.TokenType]ansi.StylePrimitive{
		chroma.Text: c.Text, chroma.Error: c.Error, chroma.Comment: c.Comment, chroma.CommentPreproc: c.CommentPreproc,
		chroma.Keyword: c.Keyword, chroma.KeywordReserved: c.KeywordReserved, chroma.KeywordNamespace: c.KeywordNamespace, chroma.KeywordType: c.KeywordType,
		chroma.Operator: c.Operator, chroma.Punctuation: c.Punctuation, chroma.Name: c.Name, chroma.NameBuiltin: c.NameBuiltin,
		chroma.NameTag: c.NameTag, chroma.NameAttribute: c.NameAttribute, chroma.NameClass: c.NameClass, chroma.NameConstant: c.NameConstant,
		chroma.NameDecorator: c.NameDecorator, chroma.NameException: c.NameException, chroma.NameFunction: c.NameFunction, chroma.NameOther: c.NameOther,
		chroma.Literal: c.Literal, chroma.LiteralNumber: c.LiteralNumber, chroma.LiteralDate: c.LiteralDate, chroma.LiteralString: c.LiteralString,
		chroma.LiteralStringEscape: c.LiteralStringEscape, chroma.GenericDeleted: c.GenericDeleted, chroma.GenericEmph: c.GenericEmph,
		chroma.GenericInserted: c.GenericInserted, chroma.GenericStrong: c.GenericStrong, chroma.GenericSubheading: c.GenericSubheading,
	} {
		if q := penOf(s, profile); q != (pen{}) {
			p.pens[t] = q.over(p.base)
		}
	}
	return p
}

func (p palette) of(t chroma.TokenType) pen {
	for _, u := range []chroma.TokenType{t, t.SubCategory(), t.Category(), chroma.Text} {
		if q, ok := p.pens[u]; ok {
			return q
		}
	}
	return p.base
}

// highlight returns the lines of code in its colours.
func (p palette) highlight(code, language string) [][]run {
	lexer := aliases()[strings.ToLower(language)]
	if lexer == nil || p.pens == nil || len(code) > maxHighlight {
		return p.text(code)
	}
	best, errs := p.colour(lexer, code)
	// The lexers' expressions give up after a quarter of a second of wall time, and what
	// they gave up on counts as an error of the code. A busy machine must not show.
	for range 2 {
		if errs == 0 {
			break
		}
		again, n := p.colour(lexer, code)
		if n == errs {
			break
		}
		if n < errs {
			best, errs = again, n
		}
	}
	if best == nil {
		return p.text(code)
	}
	for i := range best {
		best[i] = untabbed(best[i])
	}
	return best
}

// colour has a lexer cut code into tokens, and counts the bytes that it could make
// nothing of. It returns no lines if the lexer fails, or loses text.
func (p palette) colour(lexer chroma.Lexer, code string) (lines [][]run, errs int) {
	tokens, err := chroma.Coalesce(lexer).Tokenise(nil, code)
	if err != nil {
		return nil, 0
	}
	lines = [][]run{nil}
	seen := 0
	for token := range tokens.Stdlib() {
		q := p.of(token.Type)
		value := token.Value[:min(len(token.Value), len(code)-seen)] // a lexer may add a newline of its own
		seen += len(value)
		if token.Type == chroma.Error {
			errs += len(value)
		}
		for i, part := range strings.Split(value, "\n") {
			if i > 0 {
				lines = append(lines, nil)
			}
			if part != "" {
				lines[len(lines)-1] = append(lines[len(lines)-1], run{part, q})
			}
		}
	}
	if seen != len(code) {
		return nil, 0
	}
	if n := len(lines); len(lines[n-1]) == 0 {
		lines = lines[:n-1]
	}
	return lines, errs
}

// text returns the lines of code without colours.
func (p palette) text(code string) [][]run {
	var lines [][]run
	for line := range strings.SplitSeq(strings.TrimSuffix(code, "\n"), "\n") {
		lines = append(lines, untabbed([]run{{line, p.base}}))
	}
	return lines
}

// untabbed puts spaces for tabs: a terminal's tab stops are not the pane's.
func untabbed(line []run) []run {
	if !slices.ContainsFunc(line, func(r run) bool { return strings.Contains(r.text, "\t") }) {
		return line
	}
	col := 0
	for i, r := range line {
		var b strings.Builder
		for s := r.text; s != ""; {
			if s[0] == '\t' {
				n := tabWidth - col%tabWidth
				b.WriteString("    "[:n])
				col, s = col+n, s[1:]
				continue
			}
			size, w := cluster(s)
			b.WriteString(s[:size])
			col, s = col+w, s[size:]
		}
		line[i].text = b.String()
	}
	return line
}
