// Package markdown renders markdown that is still being written.
//
// A Document takes the text as it comes, in pieces cut anywhere, and gives the
// lines of it that the screen wants. What is complete is rendered once and kept;
// only the block that is still open is rendered again, and never more than a few
// kilobytes of it, so an update costs the same at the end of a long text as at its
// beginning. Whatever the pieces were, the finished lines are those of the whole
// text rendered at once.
//
// The text goes through safe.Text before it is parsed and through safe.Filter
// after it is rendered, so that nothing in it can drive a terminal; and nothing in
// it disappears: HTML and link definitions are shown as text, links with where
// they lead.
package markdown

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/glamour/ansi"
	"github.com/muesli/termenv"
	"github.com/yuin/goldmark/ast"
	astext "github.com/yuin/goldmark/extension/ast"

	"aipscope/model/safe"
)

const (
	// maxLive bounds the open block that is rendered as markdown, in bytes. What is
	// longer is shown plain from there on until the block closes.
	maxLive = 4 << 10
	// maxOpen bounds a block, in bytes; longer ones (code fences apart) are cut and
	// stay plain. A parser's worst case grows with the square of it.
	maxOpen = 32 << 10
	// window is how much text is parsed at first to find where it may be cut.
	window = 8 << 10
)

// Options are how a document is drawn.
type Options struct {
	Width      int              // in cells, at least 1
	Style      ansi.StyleConfig // margins are ignored but for the code block's
	Profile    termenv.Profile  // TrueColor by default; Ascii leaves bold and its like, and no colour
	Hyperlinks bool             // addresses become OSC 8 hyperlinks
}

// Document is a text and its lines. It is for one goroutine. Nothing is rendered before
// it is asked for.
type Document struct {
	options Options
	blocks  *blocks

	raw    string
	pieces strings.Builder // of which raw was made, if it was
	read   int             // bytes of raw that were looked at
	stream safe.Stream

	closed  []segment
	offsets []int            // of each closed segment's first line; as far as they are right
	known   definitions      // of the closed segments
	waiting map[string][]int // segments that look for a label
	found   []found          // labels that were looked for before they were defined
	marks   []mark
	spacing int  // bytes from one to the next, at least
	undrawn int  // closed segments that are not rendered
	rest    tail // what is open
	changed bool // text has come since the last drawing
	whole   bool // no more text comes
	ended   bool // and all of it was looked at
}

// segment is a part of the text that is complete: blocks that are parsed alone.
type segment struct {
	text    string
	plain   bool
	goesOn  listGoesOn
	against bool // no empty line before it
	drawn   bool
	lines   []string
	height  int // number of lines; until it is drawn about so many
}

// tail is the open end of the text.
type tail struct {
	text    []byte
	goesOn  listGoesOn
	against bool
	tried   int // length up to which no cut was found

	fence   fence
	fenced  bool
	opener  int // length of the fence's first line
	scanned int // length up to which no closing fence was found

	lines []string
	head  []string // of the part that is rendered, once text is longer than maxLive
	size  int      // of that part
	plain plainLines
}

// New returns an empty document.
func New(o Options) *Document {
	o.Width = max(o.Width, 1)
	return &Document{options: o, known: make(definitions), waiting: make(map[string][]int), spacing: markSpacing}
}

// Like returns an empty document that is drawn as d is. What a look costs to make
// ready is shared, so both are for the same goroutine; it matters where a turn has a
// hundred thousand messages.
func (d *Document) Like() *Document {
	if d.blocks == nil {
		d.blocks = newBlocks(d.options)
	}
	n := New(d.options)
	n.blocks = d.blocks
	return n
}

// Render returns the lines of a whole text.
func Render(text string, o Options) []string {
	d := New(o)
	d.Append(text)
	d.Finish()
	return d.Lines(0, d.Height())
}

// Append adds text, as it came: it may be cut anywhere, and hold anything.
func (d *Document) Append(delta string) {
	if d.whole || delta == "" {
		return
	}
	if d.pieces.Len() != len(d.raw) {
		d.pieces.Reset()
		d.pieces.WriteString(d.raw)
	}
	d.pieces.WriteString(delta)
	d.Grow(d.pieces.String())
}

// Grow is Append for who holds the whole text: it begins with what came before, and
// is not copied.
func (d *Document) Grow(text string) {
	if d.whole || len(text) == len(d.raw) {
		return
	}
	d.raw, d.changed = text, true
}

// Finish says that the text is complete. Text that comes after it is ignored.
func (d *Document) Finish() {
	if d.whole {
		return
	}
	d.whole, d.changed = true, true
}

// Source is the text as it came: unsafe for a terminal.
func (d *Document) Source() string { return d.raw }

// SetWidth sets the width in cells for the next drawing.
func (d *Document) SetWidth(width int) {
	if width = max(width, 1); width != d.options.Width {
		d.options.Width = width
		d.redraw()
	}
}

// SetStyle sets the look for the next drawing.
func (d *Document) SetStyle(s ansi.StyleConfig, p termenv.Profile) {
	d.options.Style, d.options.Profile = s, p
	d.blocks = nil
	d.redraw()
}

func (d *Document) redraw() {
	for i := range d.closed {
		d.forget(i)
	}
	d.rest.forget()
	for i := range d.marks {
		d.marks[i].rest.forget()
	}
	d.changed = true
}

// forget drops what was drawn of the tail.
func (t *tail) forget() {
	t.lines, t.head, t.size, t.plain = nil, nil, 0, plainLines{}
}

// Height is the number of lines. All of the text is rendered for it; see Extent.
func (d *Document) Height() int {
	d.update()
	for i := 0; i < len(d.closed) && d.undrawn > 0; i++ {
		d.draw(i)
	}
	return d.Extent()
}

// Lines returns the lines from one number up to, not including, another; as many
// of them as there are. Each is at most as wide as the document, and looks the same
// wherever it is put.
func (d *Document) Lines(from, to int) []string {
	d.Show(from, to)
	height := d.Extent()
	from, to = max(from, 0), min(to, height)
	if from >= to {
		return nil
	}
	out := make([]string, 0, to-from)
	add := func(at int, lines []string) {
		for len(out) < min(at, to)-from {
			out = append(out, "")
		}
		out = append(out, lines[min(max(from-at, 0), len(lines)):max(min(to-at, len(lines)), 0)]...)
	}
	for i := d.segmentAt(from); i < len(d.closed) && d.offsets[i] < to; i++ {
		add(d.offsets[i], d.closed[i].lines)
	}
	if at := height - len(d.rest.lines); at < to {
		add(at, d.rest.lines)
	}
	return out
}

// gap is the number of empty lines before a part of the text.
func (d *Document) gap(at int, goesOn listGoesOn, against bool) int {
	if at == 0 || against || goesOn.on && !goesOn.blank {
		return 0
	}
	return 1
}

// update brings the lines up to date with the text, but for rendering what was
// closed.
func (d *Document) update() {
	if d.changed {
		d.changed = false
		if d.blocks == nil {
			d.blocks = newBlocks(d.options)
		}
		d.take()
		d.drawTail()
	}
}

// take looks at the text that has come, in pieces.
func (d *Document) take() {
	for d.read < len(d.raw) {
		piece := d.raw[d.read:min(len(d.raw), d.read+d.spacing)]
		d.read += len(piece)
		d.rest.text = append(d.rest.text, d.stream.Write(piece)...)
		if d.read == len(d.raw) && d.whole {
			break
		}
		d.divide()
		d.keepMark()
	}
	if d.whole && !d.ended {
		d.rest.text = append(d.rest.text, d.stream.Flush()...)
		d.ended = true
		d.divide()
	}
}

// divide closes what is complete of the tail.
func (d *Document) divide() {
	for {
		t := &d.rest
		t.text = withoutEmptyLines(t.text)
		if len(t.text) == 0 {
			return
		}
		if d.divideFence() {
			continue
		}
		if t.fenced {
			return
		}
		whole := bytes.LastIndexByte(t.text, '\n') + 1
		if d.ended {
			whole = len(t.text)
		}
		over := len(t.text) > maxOpen
		if !over && !d.ended && !t.worthTrying(whole) {
			return
		}
		at, goesOn, found := d.search(whole)
		switch {
		case found:
			d.close(at, false)
			d.rest.goesOn = goesOn
		case over:
			d.close(at, true)
			d.rest.against = true
		case d.ended:
			d.close(len(t.text), false)
		default:
			t.tried = whole
			return
		}
	}
}

// worthTrying reports whether more whole lines may have brought a cut. In a block that is long
// already they are looked at when they have an empty line among them or are many.
func (t *tail) worthTrying(whole int) bool {
	if whole <= t.tried || t.tried <= maxLive {
		return whole > t.tried
	}
	return whole > t.tried+t.tried/8 || bytes.Contains(t.text[t.tried-1:whole], []byte("\n\n"))
}

// withoutEmptyLines drops the empty lines that text begins with.
func withoutEmptyLines(text []byte) []byte {
	for i, c := range text {
		switch c {
		case ' ', '\t':
		case '\n':
			return withoutEmptyLines(text[i+1:])
		default:
			return text
		}
	}
	return text
}

// search looks for a cut in growing prefixes of the tail's whole lines. Where it
// finds none in maxOpen bytes, at is the place to cut by force: the end of the last
// whole line in them, or a place within an endless line.
func (d *Document) search(whole int) (at int, goesOn listGoesOn, found bool) {
	t := &d.rest
	for size := window; ; size *= 2 {
		size = min(size, maxOpen)
		end := whole
		if end > size {
			end = bytes.LastIndexByte(t.text[:size], '\n') + 1
		}
		if end > 0 {
			if at, goesOn = cut(t.text[:end], d.known, t.goesOn); at > 0 {
				return at, goesOn, true
			}
		}
		if size < maxOpen && end < whole {
			continue
		}
		if end == 0 && len(t.text) > maxOpen {
			for end = maxOpen; !utf8.RuneStart(t.text[end]); {
				end--
			}
		}
		return end, listGoesOn{}, false
	}
}

// divideFence closes a code fence that stands at the start of the tail; it reports
// whether it did.
func (d *Document) divideFence() bool {
	t := &d.rest
	if !t.fenced {
		f, size, ok := openFence(t.text)
		if !ok {
			return false
		}
		t.fence, t.fenced, t.opener, t.scanned = f, true, size, size
		t.forget()
	}
	for t.scanned < len(t.text) {
		end := bytes.IndexByte(t.text[t.scanned:], '\n') + 1
		if end == 0 && !d.ended {
			return false
		}
		if end == 0 {
			end = len(t.text) - t.scanned
		}
		line := t.text[t.scanned : t.scanned+end]
		t.scanned += end
		if t.fence.closes(line) {
			d.close(t.scanned, false)
			return true
		}
	}
	if d.ended {
		d.close(len(t.text), false)
		return true
	}
	return false
}

// close makes the first bytes of the tail a segment.
func (d *Document) close(size int, plain bool) {
	t := &d.rest
	d.closed = append(d.closed, segment{text: string(t.text[:size]), plain: plain, goesOn: t.goesOn, against: t.against})
	d.rest = tail{text: t.text[size:]}
	if !plain {
		d.learn(len(d.closed) - 1)
	}
	d.undrawn++
	s := &d.closed[len(d.closed)-1]
	s.height = d.estimate(s.text)
}

// learn adds the definitions of a segment, and has those segments rendered again
// that looked for one.
func (d *Document) learn(i int) {
	missed := make(map[string]bool)
	_, refs, _ := parse([]byte(d.closed[i].text), d.known, missed)
	for label := range missed {
		d.waiting[label] = append(d.waiting[label], i)
	}
	for _, label := range d.known.define(refs) {
		for _, j := range d.waiting[label] {
			d.forget(j)
		}
		d.found = append(d.found, found{label, i, d.waiting[label]})
		delete(d.waiting, label)
	}
}

// render renders text that is parsed alone.
func (d *Document) render(text []byte, goesOn listGoesOn) []string {
	f := d.blocks.frame(d.options.Width)
	doc, _, ok := parse(text, d.known, nil)
	if !ok {
		return d.blocks.verbatim(string(text), f, f.base)
	}
	if list, ok := doc.FirstChild().(*ast.List); ok && goesOn.on && list.IsOrdered() {
		list.Start = goesOn.number
	}
	return d.blocks.children(&source{buf: text, end: len(text)}, doc, f, false)
}

// drawTail renders what is open.
func (d *Document) drawTail() {
	t := &d.rest
	f := d.blocks.frame(d.options.Width)
	switch {
	case len(t.text) == 0:
		t.lines = nil
	case t.fenced:
		code := t.text[t.opener:]
		if last := code[bytes.LastIndexByte(code, '\n')+1:]; hesitatesFence(t.fence, last) {
			code = code[:len(code)-len(last)]
		}
		t.lines = t.plain.grow(code, func(dst []string, line string) []string {
			return d.blocks.codeLines(dst, d.blocks.code.text(t.fence.content(line)), f)
		})
	case len(t.text) <= maxLive:
		t.lines = d.render(d.live(), t.goesOn)
	default:
		if t.size == 0 {
			t.size = bytes.LastIndexByte(t.text[:maxLive], '\n') + 1
			if t.size > 0 {
				t.head = d.render(bytes.Clone(t.text[:t.size]), t.goesOn)
			}
			t.plain = plainLines{rows: slices.Clip(t.head), done: len(t.head)}
		}
		t.lines = t.plain.grow(t.text[t.size:], func(dst []string, line string) []string {
			return append(dst, d.blocks.verbatim(line, f, f.base)...)
		})
	}
}

// live is the open text as far as it is to be seen.
func (d *Document) live() []byte {
	text := bytes.Clone(d.rest.text)
	at := bytes.LastIndexByte(text, '\n') + 1
	last := string(text[at:])
	if at == 0 || last == "" {
		return text
	}
	if hesitates(last) {
		return text[:at]
	}
	// The last row of a table is held until it is whole, or the columns would
	// move with each character.
	if strings.Contains(last, "|") || strings.HasPrefix(strings.TrimLeft(last, " "), "|") {
		if doc, _, ok := parse(text[:at], d.known, nil); ok && doc.LastChild() != nil && doc.LastChild().Kind() == astext.KindTable {
			return text[:at]
		}
	}
	return text
}

// plainLines are the rows of lines that only come to more.
type plainLines struct {
	rows []string
	done int // rows of whole lines
	read int // bytes of them
}

// grow returns the rows of text, of which only new lines and the last one are
// looked at.
func (p *plainLines) grow(text []byte, row func(dst []string, line string) []string) []string {
	p.rows = p.rows[:p.done]
	for {
		end := bytes.IndexByte(text[p.read:], '\n')
		if end < 0 {
			break
		}
		p.rows = row(p.rows, string(text[p.read:p.read+end]))
		p.read += end + 1
		p.done = len(p.rows)
	}
	if p.read < len(text) {
		p.rows = row(p.rows, string(text[p.read:]))
	}
	return p.rows
}
