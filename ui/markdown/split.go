package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	astext "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

var grammar = goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()

// definitions are the link reference definitions of the text before, for the
// text behind it; the first of a label counts.
type definitions map[string]parser.Reference

// context is a parse that knows earlier definitions and notes the labels that
// nobody has defined yet.
type context struct {
	parser.Context
	known  definitions
	missed map[string]bool
}

func (c *context) Reference(label string) (parser.Reference, bool) {
	if r, ok := c.known[label]; ok {
		return r, true
	}
	r, ok := c.Context.Reference(label)
	if !ok && c.missed != nil {
		c.missed[label] = true
	}
	return r, ok
}

// parse returns the blocks of src. Text that makes the parser fail has none, and
// ok is false.
func parse(src []byte, known definitions, missed map[string]bool) (doc ast.Node, own []parser.Reference, ok bool) {
	defer func() {
		if recover() != nil {
			doc, own, ok = ast.NewDocument(), nil, false
		}
	}()
	c := &context{Context: parser.NewContext(), known: known, missed: missed}
	doc = grammar.Parse(text.NewReader(src), parser.WithContext(c))
	return doc, c.Context.References(), true
}

// define adds the definitions of a text and returns the labels that are new.
func (d definitions) define(refs []parser.Reference) []string {
	var labels []string
	for _, r := range refs {
		label := util.ToLinkReference(r.Label())
		if _, ok := d[label]; ok {
			continue
		}
		// The reference points into the text that it was parsed from.
		d[label] = parser.NewReference(bytes.Clone(r.Label()), bytes.Clone(r.Destination()), bytes.Clone(r.Title()))
		labels = append(labels, label)
	}
	return labels
}

// listGoesOn says that a text begins with a further item of the list before it.
type listGoesOn struct {
	on      bool
	ordered bool
	number  int  // of the first item
	blank   bool // an empty line stands between
}

// cut finds the last place where src, whole lines of which come on, may be
// divided: what stands before is complete, and each part parsed alone gives the
// blocks that it gives in the whole. It is 0 where there is none.
//
// A block that has begun on a whole line closes those before it for good, with
// two exceptions: paragraph lines may still be found to be the heading of a
// table or of a section, or definitions. So a cut needs an empty line before it, or a block that begins
// in any case. Within the last list any item but the first is such a place,
// unless an empty item stands before it, which changes what follows.
func cut(src []byte, known definitions, before listGoesOn) (int, listGoesOn) {
	doc, _, ok := parse(src, known, nil)
	if !ok {
		return 0, listGoesOn{}
	}
	s := &source{buf: src, end: len(src)}
	last := doc.LastChild()
	if list, ok := last.(*ast.List); ok {
		if at, goesOn := cutList(s, list, list.PreviousSibling() == nil, before); at > 0 {
			return at, goesOn
		}
	}
	if last != nil && endsAtEmptyLine(last) && emptyLineBefore(src, len(src), "") {
		return len(src), listGoesOn{}
	}
	for n := last; n != nil && n.PreviousSibling() != nil; n = n.PreviousSibling() {
		at := startOf(n)
		if at <= 0 || at >= len(src) {
			continue
		}
		at = s.lineStart(at)
		if at > 0 && (emptyLineBefore(src, at, "") || begins(src[at:], n)) {
			return at, listGoesOn{}
		}
	}
	return 0, listGoesOn{}
}

// endsAtEmptyLine reports whether n is of a kind that an empty line closes.
func endsAtEmptyLine(n ast.Node) bool {
	switch n.Kind() {
	case ast.KindParagraph, ast.KindHeading, ast.KindThematicBreak, ast.KindBlockquote, ast.KindLinkReferenceDefinition, astext.KindTable:
		return true
	}
	return false
}

func cutList(s *source, list *ast.List, first bool, before listGoesOn) (int, listGoesOn) {
	goesOn := listGoesOn{on: true, ordered: list.IsOrdered(), number: list.Start}
	if first && before.on {
		goesOn.number = before.number
	}
	item := list.FirstChild()
	for ; item != nil; item = item.NextSibling() {
		if item.ChildCount() == 0 {
			return 0, listGoesOn{}
		}
		if item.NextSibling() == nil {
			break
		}
		goesOn.number++
	}
	if item == nil || item.PreviousSibling() == nil || item.Pos() <= 0 {
		return 0, listGoesOn{}
	}
	at := s.lineStart(item.Pos())
	goesOn.blank = emptyLineBefore(s.buf, at, "")
	return at, goesOn
}

// emptyLineBefore reports whether there is a line that ends at at and holds
// nothing but space and marks.
func emptyLineBefore(src []byte, at int, marks string) bool {
	if at == 0 {
		return false
	}
	line := src[:at-1]
	line = line[bytes.LastIndexByte(line, '\n')+1:]
	return len(bytes.TrimLeft(line, " \t"+marks)) == 0
}

// begins reports whether block n, at the start of src, is of a kind that ends a
// paragraph before it. A line that might have been the underline of a heading
// is not taken: it makes the parser look at the paragraph in another way.
func begins(src []byte, n ast.Node) bool {
	line, _, _ := bytes.Cut(src, []byte("\n"))
	if len(bytes.Trim(line, "-= \t")) == 0 {
		return false
	}
	switch n.Kind() {
	case ast.KindHeading:
		return bytes.HasPrefix(bytes.TrimLeft(src, " "), []byte("#"))
	case ast.KindFencedCodeBlock, ast.KindThematicBreak, ast.KindBlockquote, ast.KindList:
		return true
	}
	return false
}

// fence is an open code fence.
type fence struct {
	char   byte
	length int
	indent int
}

// openFence reports whether src begins with the whole first line of a code fence, and how long
// that line is.
func openFence(src []byte) (f fence, size int, ok bool) {
	end := bytes.IndexByte(src, '\n')
	if end < 0 {
		return fence{}, 0, false
	}
	line := src[:end]
	rest := bytes.TrimLeft(line, " ")
	f.indent = len(line) - len(rest)
	if f.indent > 3 || len(rest) == 0 || rest[0] != '`' && rest[0] != '~' {
		return fence{}, 0, false
	}
	f.char = rest[0]
	info := bytes.TrimLeft(rest, string(f.char))
	f.length = len(rest) - len(info)
	if f.length < 3 || f.char == '`' && bytes.IndexByte(info, '`') >= 0 {
		return fence{}, 0, false
	}
	return f, end + 1, true
}

// closes reports whether line ends the fence.
func (f fence) closes(line []byte) bool {
	line = bytes.TrimSuffix(line, []byte("\n"))
	rest := bytes.TrimLeft(line, " ")
	if len(line)-len(rest) > 3 {
		return false
	}
	tail := bytes.TrimLeft(rest, string(f.char))
	return len(rest)-len(tail) >= f.length && len(bytes.Trim(tail, " \t")) == 0
}

// content is a line of the fence without the indentation that the fence itself has.
func (f fence) content(line string) string {
	n := 0
	for n < f.indent && n < len(line) && line[n] == ' ' {
		n++
	}
	return line[n:]
}

// hesitates reports whether an unfinished line may still become anything: a rule, a
// heading's underline, a fence, a list. It is not shown before it is decided.
func hesitates(line string) bool {
	return strings.Trim(line, "-=`~*_+#>|: \t") == ""
}

// hesitatesFence reports whether an unfinished line of code may still close the
// fence.
func hesitatesFence(f fence, line []byte) bool {
	return len(line) > 0 && len(bytes.Trim(line, " "+string(f.char))) == 0
}
