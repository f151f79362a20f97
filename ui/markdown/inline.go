package markdown

import (
	"html"
	"net/url"
	"strings"

	"github.com/yuin/goldmark/ast"
	astext "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"aipscope/model/safe"
)

// glamour unescapes what it is given, once or several times: backslashes before
// punctuation, and character references, in code spans too. So that text appears
// as it was written, escapes are resolved here, once, and the two characters
// that glamour would touch travel under other names. safe.Text lets no
// noncharacter through, so nothing else can bear these names.
const (
	backslash = "\uFDD0"
	ampersand = "\uFDD1"
)

var (
	disguise = strings.NewReplacer(`\`, backslash, "&", ampersand, "\t", " ", "\n", " ")
	undo     = strings.NewReplacer(backslash, `\`, ampersand, "&")
)

func disguised(s string) string {
	if !strings.ContainsAny(s, "\\&\t\n") {
		return s
	}
	return disguise.Replace(s)
}

func undisguised(s string) string {
	if !strings.Contains(s, backslash[:2]) {
		return s
	}
	return undo.Replace(s)
}

// source is a text that was parsed, and room behind it for text that nodes show
// instead of their own.
type source struct {
	buf []byte
	end int // of the parsed text
}

func (s *source) add(shown string) text.Segment {
	start := len(s.buf)
	s.buf = append(s.buf, shown...)
	return text.NewSegment(start, len(s.buf))
}

// blankBefore reports whether an empty line stands before a block; in a quote its
// marks do not count.
func (s *source) blankBefore(n ast.Node) bool {
	at := startOf(n)
	if at <= 0 || at > s.end {
		return false
	}
	marks := ""
	for p := n.Parent(); p != nil; p = p.Parent() {
		if p.Kind() == ast.KindBlockquote {
			marks = ">"
		}
	}
	return emptyLineBefore(s.buf, s.lineStart(at), marks)
}

// lineStart is where the line that holds at begins.
func (s *source) lineStart(at int) int {
	for at > 0 && s.buf[at-1] != '\n' {
		at--
	}
	return at
}

// maxEmphasis bounds how deep emphasis nests.
const maxEmphasis = 8

// inliner prepares the inline nodes of one block for glamour.
type inliner struct {
	src     *source
	oneLine bool // hard breaks become spaces
	table   bool // links are numbered and listed below

	addresses []string // of the links, in order
}

// prepare makes the children of n say exactly what is to be seen: escapes are
// resolved and made safe, HTML is text, every link shows where it leads, and only
// addresses that are safe to open are links.
func (in *inliner) prepare(n ast.Node, depth int) {
	for c := n.FirstChild(); c != nil; {
		next := c.NextSibling()
		switch c := c.(type) {
		case *ast.Text:
			in.text(c)
		case *ast.CodeSpan:
			in.replaceChildren(c, rawText(c, in.src.buf))
		case *ast.Emphasis, *astext.Strikethrough:
			in.prepare(c, depth+1)
			if depth >= maxEmphasis {
				n.ReplaceChild(n, c, in.asIs(textOf(c, in.src.buf)))
			}
		case *ast.Link:
			in.prepare(c, depth+1)
			in.link(n, c, resolve(string(c.Destination)))
		case *ast.Image:
			in.prepare(c, depth+1)
			in.image(n, c, resolve(string(c.Destination)))
		case *ast.AutoLink:
			in.autoLink(n, c)
		case *ast.RawHTML:
			in.rawHTML(n, c)
		case *ast.String:
			n.ReplaceChild(n, c, in.shown(string(c.Value)))
		default:
			// Nothing else reaches glamour, which would print a warning over the screen.
			n.RemoveChild(n, c)
		}
		c = next
	}
}

// shown is a text node that shows s.
func (in *inliner) shown(s string) *ast.Text { return in.asIs(disguised(s)) }

// asIs is a text node for text that is disguised already.
func (in *inliner) asIs(s string) *ast.Text { return ast.NewTextSegment(in.src.add(s)) }

func (in *inliner) replaceChildren(n ast.Node, s string) {
	n.RemoveChildren(n)
	n.AppendChild(n, in.shown(s))
}

func (in *inliner) text(n *ast.Text) {
	value := string(n.Segment.Value(in.src.buf))
	changed := value
	if n.IsRaw() {
		changed = disguised(value)
	} else {
		changed = disguised(resolve(value))
	}
	if in.oneLine && n.HardLineBreak() {
		n.SetHardLineBreak(false)
		changed += " "
	}
	if n.SoftLineBreak() {
		n.SetSoftLineBreak(false)
		if !n.HardLineBreak() {
			changed += " "
		}
	}
	if changed != value {
		n.Segment = in.src.add(changed)
	}
}

// resolve returns text with its backslash escapes and character references
// replaced by what they stand for, made safe.
func resolve(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && util.IsPunct(s[i+1]):
			i++
			b.WriteByte(s[i])
		case s[i] == '&':
			end := strings.IndexByte(s[i:min(len(s), i+40)], ';')
			if end < 0 {
				b.WriteByte('&')
				break
			}
			ref := s[i : i+end+1]
			if ch := html.UnescapeString(ref); ch != ref && !strings.HasSuffix(ch, ";") {
				b.WriteString(safe.Line(ch))
				i += end
			} else {
				b.WriteByte('&')
			}
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// rawText is the text of a code span.
func rawText(n ast.Node, src []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(src))
		}
	}
	return b.String()
}

// textOf is the text of prepared nodes, still disguised.
func textOf(n ast.Node, src []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(src))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// link shows where a link leads: as a link where that may be opened, else as
// text.
func (in *inliner) link(parent ast.Node, n *ast.Link, address string) {
	if in.table {
		in.unwrap(parent, n, in.mention(address))
		return
	}
	if !glamourLink(address) {
		in.unwrap(parent, n, aside(address))
		return
	}
	if undisguised(textOf(n, in.src.buf)) == address {
		parent.ReplaceChild(parent, n, in.address(address))
		return
	}
	in.addresses = append(in.addresses, address)
	n.Destination = []byte(disguised(address))
}

func (in *inliner) image(parent ast.Node, n *ast.Image, address string) {
	switch {
	case in.table:
		in.unwrap(parent, n, in.mention(address))
	case !glamourLink(address):
		in.unwrap(parent, n, aside(address))
	default:
		in.addresses = append(in.addresses, address)
		n.Destination = []byte(disguised(address))
	}
}

func (in *inliner) autoLink(parent ast.Node, n *ast.AutoLink) {
	address, label := string(n.URL(in.src.buf)), string(n.Label(in.src.buf))
	switch {
	case n.AutoLinkType == ast.AutoLinkEmail || !safe.Linkable(address) || !glamourLink(address):
		parent.ReplaceChild(parent, n, in.shown(label))
	case in.table:
		parent.ReplaceChild(parent, n, in.shown(label))
	default:
		parent.ReplaceChild(parent, n, in.address(address))
	}
}

// address is a link that shows nothing but its address.
func (in *inliner) address(address string) ast.Node {
	in.addresses = append(in.addresses, address)
	return ast.NewAutoLink(ast.AutoLinkURL, in.shown(address))
}

// glamourLink reports whether glamour will show the address: it leaves out what it cannot
// parse.
func glamourLink(address string) bool {
	if !safe.Linkable(address) {
		return false
	}
	_, err := url.Parse(disguised(address))
	return err == nil
}

func aside(address string) string {
	if address == "" {
		return ""
	}
	return " (" + address + ")"
}

// mention lists an address below the table and returns its number.
func (in *inliner) mention(address string) string {
	if address == "" {
		return ""
	}
	for i, a := range in.addresses {
		if a == address {
			return footnote(i)
		}
	}
	in.addresses = append(in.addresses, address)
	return footnote(len(in.addresses) - 1)
}

// unwrap puts the children of n in its place, and suffix behind them.
func (in *inliner) unwrap(parent, n ast.Node, suffix string) {
	for c := n.FirstChild(); c != nil; {
		next := c.NextSibling()
		parent.InsertBefore(parent, n, c)
		c = next
	}
	if suffix != "" {
		parent.InsertBefore(parent, n, in.shown(suffix))
	}
	parent.RemoveChild(parent, n)
}

// rawHTML shows a tag as the text that it is; only a line break is one.
func (in *inliner) rawHTML(parent ast.Node, n *ast.RawHTML) {
	var b strings.Builder
	for i := range n.Segments.Len() {
		seg := n.Segments.At(i)
		b.Write(seg.Value(in.src.buf))
	}
	tag := b.String()
	if name := strings.TrimRight(strings.ToLower(tag), " />"); name == "<br" {
		if !in.oneLine {
			br := in.asIs("")
			br.SetHardLineBreak(true)
			parent.ReplaceChild(parent, n, br)
			return
		}
		if in.table {
			// A cell may have several lines; a newline inside it is glamour's way to say so.
			parent.ReplaceChild(parent, n, in.asIs("\n"))
			return
		}
	}
	parent.ReplaceChild(parent, n, in.shown(tag))
}
