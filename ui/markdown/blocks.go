package markdown

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/charmbracelet/glamour/ansi"
	xansi "github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
	"github.com/yuin/goldmark/ast"
	astext "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"aipscope/model/safe"
)

const (
	// maxDepth bounds the nesting of quotes and lists that is drawn as such.
	maxDepth = 12
	// minInner is the least width that indentation leaves to the text.
	minInner = 12
)

// blocks renders parsed blocks in one style. Containers (lists, quotes) and code
// are laid out here; paragraphs, headings, tables and rules are glamour's, which
// renders them unwrapped and unpadded, and are broken into lines here.
//
// What glamour's own layout does not do: indent the lines of a list item below its
// text, keep the paragraphs of an item apart, break lines of CJK text, and render a
// list without rendering all items before.
type blocks struct {
	style   ansi.StyleConfig
	profile termenv.Profile
	links   bool

	base, quote, item, number, task, markup, link pen
	code                                          palette
	margin                                        int

	glamour map[int]renderer.Renderer // by width
	out     bytes.Buffer
	writer  *bufio.Writer
}

func newBlocks(o Options) *blocks {
	s := o.Style
	b := &blocks{profile: o.Profile, links: o.Hyperlinks, glamour: make(map[int]renderer.Renderer), writer: bufio.NewWriter(nil)}
	b.base = penOf(s.Document.StylePrimitive, o.Profile)
	pen := func(p ansi.StylePrimitive) pen { return penOf(p, o.Profile).over(b.base) }
	b.quote, b.item, b.number, b.task = pen(s.BlockQuote.StylePrimitive), pen(s.Item), pen(s.Enumeration), pen(s.Task.StylePrimitive)
	b.markup, b.link = pen(s.HTMLBlock.StylePrimitive), pen(s.Link)
	b.code = newPalette(s.CodeBlock, b.base, o.Profile)
	if m := s.CodeBlock.Margin; m != nil {
		b.margin = int(min(*m, 4))
	}

	// The document's own look is laid under everything when the runs are read.
	b.style = s
	b.style.Document = ansi.StyleBlock{}
	b.style.Paragraph = ansi.StyleBlock{StylePrimitive: s.Paragraph.StylePrimitive}
	b.style.Table.Margin, b.style.Table.Indent = nil, nil
	for _, h := range []*ansi.StyleBlock{&b.style.Heading, &b.style.H1, &b.style.H2, &b.style.H3, &b.style.H4, &b.style.H5, &b.style.H6} {
		h.Margin, h.Indent = nil, nil
	}
	return b
}

// frame is the room that a block has and the look that it inherits.
type frame struct {
	width int
	depth int
	base  pen
}

func (b *blocks) frame(width int) frame { return frame{width: width, base: b.base} }

// startOf is where a block begins in the source, or -1.
func startOf(n ast.Node) int {
	if n.Kind() == astext.KindTable && n.FirstChild() != nil {
		return n.FirstChild().Pos() // the table's own is its paragraph's
	}
	return n.Pos()
}

// children renders the blocks inside n. Compact leaves no more room between them
// than the source does.
func (b *blocks) children(src *source, n ast.Node, f frame, compact bool) []string {
	var lines []string
	var prev ast.Node
	for c := n.FirstChild(); c != nil; {
		next := c.NextSibling()
		gap := !compact
		if compact || isDefinition(c) && prev != nil && isDefinition(prev) {
			gap = src.blankBefore(c)
		}
		got := b.block(src, c, f)
		if len(got) > 0 {
			if gap && len(lines) > 0 {
				lines = append(lines, "")
			}
			if lines == nil {
				lines = got
			} else {
				lines = append(lines, got...)
			}
		}
		prev, c = c, next
	}
	return lines
}

func isDefinition(n ast.Node) bool { return n.Kind() == ast.KindLinkReferenceDefinition }

// block renders one block. Text that makes a library fail is shown as it was
// written.
func (b *blocks) block(src *source, n ast.Node, f frame) (lines []string) {
	defer func() {
		if recover() != nil {
			clear(b.glamour) // its stack of blocks is in an unknown state
			lines = b.verbatim(rawBlock(n, src), f, b.base)
		}
	}()
	if f.depth > maxDepth {
		return b.verbatim(rawBlock(n, src), f, f.base)
	}
	switch n := n.(type) {
	case *ast.List:
		return b.list(src, n, f)
	case *ast.Blockquote:
		return b.blockquote(src, n, f)
	case *ast.FencedCodeBlock:
		return b.codeBlock(codeOf(n, src), string(n.Language(src.buf)), f)
	case *ast.CodeBlock:
		return b.codeBlock(codeOf(n, src), "", f)
	case *ast.HTMLBlock, *ast.LinkReferenceDefinition:
		return b.verbatim(rawBlock(n, src), f, b.markup)
	case *ast.ThematicBreak:
		return b.leaf(src, n, f, nil)
	case *ast.Heading:
		in := &inliner{src: src, oneLine: true}
		in.prepare(n, 0)
		return b.leaf(src, n, f, in.addresses)
	case *ast.Paragraph, *ast.TextBlock:
		p := ast.NewParagraph()
		for c := n.FirstChild(); c != nil; {
			next := c.NextSibling()
			p.AppendChild(p, c)
			c = next
		}
		in := &inliner{src: src}
		in.prepare(p, 0)
		return b.leaf(src, p, f, in.addresses)
	case *astext.Table:
		return b.table(src, n, f)
	}
	return b.verbatim(rawBlock(n, src), f, f.base)
}

// leaf renders one block without wrapping and breaks its lines.
func (b *blocks) leaf(src *source, n ast.Node, f frame, addresses []string) []string {
	lines := b.render(src, n, 0, f.base)
	if b.links {
		linked(lines, addresses)
	}
	var out []string
	for _, line := range lines {
		out = wrap(out, trimLeft(line), f.width, words)
	}
	return out
}

func trimLeft(line []run) []run {
	for len(line) > 0 && !line[0].pen.inks() {
		t := strings.TrimLeft(line[0].text, " ")
		if t != "" {
			if len(t) < len(line[0].text) {
				line[0].text = t
			}
			break
		}
		line = line[1:]
	}
	return line
}

// render has glamour render one block at a width, 0 for no bound.
func (b *blocks) render(src *source, n ast.Node, width int, base pen) [][]run {
	g := b.glamour[width]
	if g == nil {
		g = renderer.NewRenderer(renderer.WithNodeRenderers(util.Prioritized(ansi.NewRenderer(ansi.Options{
			WordWrap: width, PreserveNewLines: true, ColorProfile: b.profile, Styles: b.style,
		}), 1000)))
		b.glamour[width] = g
	}
	doc := ast.NewDocument()
	doc.AppendChild(doc, n)
	b.out.Reset()
	b.writer.Reset(&b.out)
	if err := g.Render(b.writer, src.buf, doc); err != nil {
		panic(err) // block shows the source instead
	}
	return trimBlank(runsOf(safe.Filter(undisguised(b.out.String())), base))
}

// table renders a table at its natural width if that fits, else squeezed; its
// links are listed below it.
func (b *blocks) table(src *source, n *astext.Table, f frame) []string {
	in := &inliner{src: src, oneLine: true, table: true}
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			in.prepare(cell, 0)
		}
	}
	lines := b.render(src, n, 0, f.base)
	if widest(lines) > f.width {
		lines = b.render(src, n, f.width, f.base)
	}
	var out []string
	for _, line := range lines {
		out = wrap(out, line, f.width, hard)
	}
	for i, address := range in.addresses {
		p := b.link
		if b.links && safe.Linkable(address) {
			p.link = address
		}
		if i == 0 {
			out = append(out, "")
		}
		out = wrap(out, []run{{footnote(i) + " ", f.base}, {address, p}}, f.width, words)
	}
	return out
}

func footnote(i int) string { return "[" + strconv.Itoa(i+1) + "]" }

func widest(lines [][]run) int {
	most := 0
	for _, line := range lines {
		w := 0
		for _, r := range line {
			w += xansi.StringWidth(r.text)
		}
		most = max(most, w)
	}
	return most
}

// list renders a list, its items numbered from its start.
func (b *blocks) list(src *source, n *ast.List, f frame) []string {
	var lines []string
	number := n.Start
	for c := n.FirstChild(); c != nil; {
		next := c.NextSibling()
		if len(lines) > 0 && src.blankBefore(c) {
			lines = append(lines, "")
		}
		marker := run{or(b.style.Item.BlockPrefix, "• "), b.item}
		if n.IsOrdered() {
			marker = run{strconv.Itoa(number) + or(b.style.Enumeration.BlockPrefix, ". "), b.number}
			number++
		}
		if checked, ok := takeCheckBox(c); ok {
			marker = run{or(b.style.Task.Unticked, "[ ] "), b.task}
			if checked {
				marker.text = or(b.style.Task.Ticked, "[x] ")
			}
		}
		lines = append(lines, b.indented(src, c, f, marker, strings.Repeat(" ", xansi.StringWidth(marker.text)), true)...)
		c = next
	}
	return lines
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// takeCheckBox removes the check box that an item starts with.
func takeCheckBox(item ast.Node) (checked, ok bool) {
	first := item.FirstChild()
	if first == nil || first.FirstChild() == nil {
		return false, false
	}
	box, ok := first.FirstChild().(*astext.TaskCheckBox)
	if !ok {
		return false, false
	}
	first.RemoveChild(first, box)
	return box.IsChecked, true
}

func (b *blocks) blockquote(src *source, n *ast.Blockquote, f frame) []string {
	token := "│ "
	if t := b.style.BlockQuote.IndentToken; t != nil {
		token = *t
	}
	f.base = b.quote.over(f.base)
	bar := run{token, b.quote}
	return b.indented(src, n, f, bar, prefix(bar), false)
}

// prefix is r as it stands before a line, with its space.
func prefix(r run) string {
	return paint([]run{r}, 0, len(r.text)) + r.text[len(strings.TrimRight(r.text, " ")):]
}

// indented renders the blocks inside n to the right of a first prefix and of
// another for the lines after it.
func (b *blocks) indented(src *source, n ast.Node, f frame, first run, rest string, compact bool) []string {
	w := xansi.StringWidth(first.text)
	inner := f
	inner.depth++
	if f.width-w < min(minInner, f.width/2) || w >= f.width {
		// Too narrow to indent: the marker stands alone, the text below it.
		lines := wrap(nil, []run{first}, f.width, hard)
		return append(lines, b.children(src, n, inner, compact)...)
	}
	inner.width -= w
	lines := b.children(src, n, inner, compact)
	if len(lines) == 0 {
		return []string{strings.TrimRight(prefix(first), " ")}
	}
	head := prefix(first)
	for i, line := range lines {
		switch {
		case i == 0:
			lines[i] = head + line
		case line == "":
			lines[i] = strings.TrimRight(rest, " ")
		default:
			lines[i] = rest + line
		}
	}
	return lines
}

// codeBlock renders code, in its own columns.
func (b *blocks) codeBlock(code, language string, f frame) []string {
	if code == "" {
		code = "\n"
	}
	return b.codeLines(nil, b.code.highlight(code, language), f)
}

func (b *blocks) codeLines(dst []string, lines [][]run, f frame) []string {
	margin := min(b.margin, max(0, f.width-minInner))
	from := len(dst)
	for _, line := range lines {
		dst = wrap(dst, line, f.width-margin, hard)
	}
	for i, line := range dst[from:] {
		if line != "" && margin > 0 {
			dst[from+i] = strings.Repeat(" ", margin) + line
		}
	}
	return dst
}

// verbatim renders source text as it is.
func (b *blocks) verbatim(text string, f frame, p pen) []string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		out = wrap(out, untabbed([]run{{line, p}}), f.width, hard)
	}
	return out
}

// codeOf is the text of a code block.
func codeOf(n ast.Node, src *source) string {
	var b strings.Builder
	lines := n.Lines()
	for i := range lines.Len() {
		seg := lines.At(i)
		b.Write(seg.Value(src.buf))
	}
	return b.String()
}

// rawBlock is the source of a block, as far as its nodes know it.
func rawBlock(n ast.Node, src *source) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		if n.Type() == ast.TypeInline {
			return ast.WalkSkipChildren, nil
		}
		lines := n.Lines()
		for i := range lines.Len() {
			seg := lines.At(i)
			fmt.Fprintf(&b, "%s\n", bytes.TrimRight(seg.Value(src.buf), "\n"))
		}
		if h, ok := n.(*ast.HTMLBlock); ok && h.HasClosure() {
			b.Write(h.ClosureLine.Value(src.buf))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}
