package markdown

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/charmbracelet/glamour/ansi"
	"github.com/muesli/termenv"
)

// What is coloured, so that closing a block does not stop the screen. Lexers are
// made for files that people wrote: over a long line, or a long stretch of nothing, the
// expressions of most take time that grows with its square, and some take it over
// words without punctuation. Code beyond these bounds is text.
const (
	maxHighlight = 8 << 10 // bytes
	maxCodeLine  = 400     // bytes of a line
	maxBlanks    = 12      // lines in a row that show nothing
	// maxTired is how many languages may take longer before all code is text.
	maxTired = 3
)

// maxColour is what a block may take; a usual one takes a few milliseconds. Tests
// wait longer: they run on machines that have other things to do.
var maxColour = 300 * time.Millisecond

// tired are the lexers that took too long once. They are not asked again: what
// a turn holds one of, it may hold a thousand of.
var tired = struct {
	sync.Mutex
	lexers map[chroma.Lexer]bool
}{lexers: map[chroma.Lexer]bool{}}

func isTired(l chroma.Lexer) bool {
	tired.Lock()
	defer tired.Unlock()
	return tired.lexers[l] || len(tired.lexers) >= maxTired
}

func tire(l chroma.Lexer) {
	tired.Lock()
	defer tired.Unlock()
	tired.lexers[l] = true
}

// colourable reports whether code is within the bounds.
func colourable(code string) bool {
	if len(code) > maxHighlight {
		return false
	}
	blanks := 0
	for line := range strings.Lines(code) {
		switch {
		case len(line) > maxCodeLine:
			return false
		case strings.TrimSpace(line) != "":
			blanks = 0
		default:
			if blanks++; blanks > maxBlanks {
				return false
			}
		}
	}
	return true
}

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
	if lexer == nil || p.pens == nil || !colourable(code) || isTired(lexer) {
		return p.text(code)
	}
	until := time.Now().Add(maxColour)
	best, errs := p.colour(lexer, code, until)
	// The lexers' expressions give up after a quarter of a second of wall time, and what
	// they gave up on counts as an error of the code. A busy machine must not show.
	for range 2 {
		if errs == 0 {
			break
		}
		again, n := p.colour(lexer, code, until)
		if n == errs {
			break
		}
		if n < errs {
			best, errs = again, n
		}
	}
	if time.Now().After(until) {
		tire(lexer)
		return p.text(code)
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
// nothing of. It returns no lines if the lexer fails, loses text, or is not done in time.
func (p palette) colour(lexer chroma.Lexer, code string, until time.Time) (lines [][]run, errs int) {
	tokens, err := chroma.Coalesce(timed{lexer, until}).Tokenise(nil, code)
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

// timed is a lexer that stops in time.
type timed struct {
	chroma.Lexer
	until time.Time
}

func (l timed) Tokenise(o *chroma.TokeniseOptions, code string) (chroma.Iterator, error) {
	next, err := l.Lexer.Tokenise(o, code)
	if err != nil {
		return nil, err
	}
	return func() chroma.Token {
		if time.Now().After(l.until) {
			return chroma.EOF
		}
		return next()
	}, nil
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
