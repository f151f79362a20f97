package ui

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Below this size there is only a notice; from columnsWidth on, and with enough
// lines, the panes stand side by side.
const (
	minWidth      = 40
	minHeight     = 12
	columnsWidth  = 100
	columnsHeight = 16
)

// chrome is the lines that are not body: header, verdict bar, hints; one pane
// at a time adds its row of names and two rules.
const (
	chromeColumns = 3
	chromeSingle  = 6
)

// twoColumns reports whether the panes stand side by side.
func (c *Console) twoColumns() bool {
	return c.width >= columnsWidth && c.height >= columnsHeight && !c.styles.plain
}

func (c *Console) bodyHeight() int {
	if c.twoColumns() {
		return max(1, c.height-chromeColumns)
	}
	return max(1, c.height-chromeSingle)
}

// sides are the widths of the two columns.
func (c *Console) sides() (left, right int) {
	right = max(44, min(c.width*2/5, 72))
	return c.width - right, right
}

// split is the height of the tools above the chunks: what they need, with their
// bars if those fit, at most half.
func (c *Console) split() int {
	n, most := len(c.tools.tools), c.bodyHeight()/2
	if bars := 2*n + 3; n > 0 && bars <= most {
		return max(4, bars)
	}
	return max(4, min(n+2, most))
}

// layout gives every part its size.
func (c *Console) layout() {
	c.dirty = true
	if c.width < 1 || c.height < 1 {
		return
	}
	h := c.bodyHeight()
	switch {
	case c.twoColumns() && !c.zoomed:
		left, right := c.sides()
		tools := c.split()
		c.assistant.resize(left-2, h-2)
		c.tools.resize(right-2, tools-2)
		c.chunks.resize(right-2, h-tools-2)
	case c.twoColumns():
		c.assistant.resize(c.width-2, h-2)
		c.tools.resize(c.width-2, h-2)
		c.chunks.resize(c.width-2, h-2)
	default:
		c.assistant.resize(c.width, h)
		c.tools.resize(c.width, h)
		c.chunks.resize(c.width, h)
	}
	sw, sh := c.width, h
	if !c.twoColumns() {
		sh += 3
	}
	c.sheet.resize(sw, sh)
}

// draw builds the frame: exactly height lines of at most width cells.
func (c *Console) draw() string {
	if c.width < 1 || c.height < 1 {
		return ""
	}
	if c.width < minWidth || c.height < minHeight {
		return strings.Join(c.tooSmall(), "\n")
	}
	// The tools' pane grows with its tools.
	c.layout()
	now := c.now()
	lines := make([]string, 0, c.height)
	switch {
	case c.browser != nil:
		lines = append(lines, c.drawBrowser(now)...)
	case c.actions != nil:
		lines = append(lines, c.drawActions(now)...)
	default:
		lines = append(lines, c.header(now))
		lines = append(lines, c.body(now)...)
		lines = append(lines, c.verdictBar())
	}
	lines = append(lines, c.hints(now))
	for i := range lines {
		if c.styles.ascii {
			lines[i] = strings.ReplaceAll(lines[i], "…", c.styles.glyphs.Ellipsis) // of what was cut; one cell as well
		}
		lines[i] = c.squeeze.line(lines[i])
	}
	return strings.Join(lines[:c.height], "\n")
}

func (c *Console) tooSmall() []string {
	st := &c.styles
	word := st.wordTag(c.verdict.Word)
	if !c.own() {
		word = st.accent.in("aipscope")
	}
	say := []string{
		word,
		st.text.in("too small a window"),
		st.dim.in(number(c.width) + "x" + number(c.height) + ", needs " + number(minWidth) + "x" + number(minHeight)),
	}
	return block(say, c.width, c.height)
}

// body is everything between the header and the verdict bar.
func (c *Console) body(now time.Time) []string {
	h := c.height - chromeColumns
	var out []string
	switch c.underHelp() {
	case inChunk, inTool:
		c.sheet.marks, c.sheet.note = nil, ""
		if q := c.chunks.hunt.search.query; q != nil && c.underHelp() == inChunk {
			c.sheet.marks, c.sheet.note = q.marks, c.chunks.hunt.found(c.chunks.selectedEntry(), c.chunks.entries.Len())
		}
		out = c.sheet.view()
	case inVerdict:
		out = c.overlay(framed{title: "Verdict"}, h)
	case inIdentity:
		f := framed{title: "Identity", note: c.styles.masked(), alarm: c.identityRevealed}
		if c.identityRevealed {
			f.note = "REVEALED, r masks"
		}
		out = c.overlay(f, h)
	case inReport:
		out = c.reportView(h)
	default:
		switch {
		case c.past != nil:
			now = c.chunks.entries.Entry(c.past.entry).At
		case c.frozen:
			now = c.frozenAt
		}
		out = c.panes(now, h)
	}
	return c.windows(block(out, c.width, h), h)
}

// windows lays what is open over everything upon a body of h lines.
func (c *Console) windows(out []string, h int) []string {
	over := over
	if c.styles.plain {
		over = func(_, top []string, w int) []string { return block(top, w, h) } // one thing at a time
	}
	switch {
	case c.cancelling != nil:
		out = over(out, c.cancelling.view(c.turn.Action(), c.turn.Settled(), c.width), c.width)
	case c.confirming != nil:
		out = over(out, c.confirming.view(c.width, h), c.width)
	case c.window != nil:
		out = over(out, c.window.view(c.width, h), c.width)
	case c.helping:
		out = c.overlay(framed{title: "Keys"}, h)
	}
	return out
}

// overlayLines are the lines of the verdict, the identity or the help.
func (c *Console) overlayLines() []string {
	if c.helping {
		return c.helpLines(c.width - 2)
	}
	if c.underHelp() == inIdentity {
		return c.identityLines(c.width - 2)
	}
	return c.verdictLines(c.width-2, true)
}

// overlay draws the verdict, the identity or the help over the whole body.
func (c *Console) overlay(f framed, h int) []string {
	lines := c.overlayLines()
	f.focused = true
	if inner := h - 2; len(lines) > inner {
		c.verdictTop = max(0, min(c.verdictTop, len(lines)-inner))
		f.footer = "lines " + number(c.verdictTop+1) + " to " + number(c.verdictTop+inner) + " of " + number(len(lines))
		lines = lines[c.verdictTop : c.verdictTop+inner]
	}
	return c.styles.box(f, lines, c.width, h)
}

func (c *Console) panes(now time.Time, h int) []string {
	if !c.twoColumns() {
		return c.single(now, h)
	}
	if c.zoomed {
		return c.pane(c.focus, now, 0, c.width, h)
	}
	left, right := c.sides()
	tools := c.split()
	side := append(c.pane(paneTools, now, left, right, tools), c.pane(paneChunks, now, left, right, h-tools)...)
	return beside(c.pane(paneAssistant, now, 0, left, h), side)
}

// paneLines are the lines inside a pane, and what its border says.
func (c *Console) paneLines(p paneID, now time.Time) ([]string, framed) {
	focused := c.focus == p
	when, aside := "", c.past != nil
	if aside {
		when, _, _ = strings.Cut(c.pastText(), ",") // the header has it whole
	}
	switch p {
	case paneTools:
		note := c.tools.note()
		if aside {
			note += ", " + when
		}
		return c.tools.view(now, focused), framed{title: "Tools", note: note, aside: aside, focused: focused}
	case paneChunks:
		return c.chunks.view(focused), framed{title: "Chunks", note: c.chunks.note(), footer: c.chunks.footer(), focused: focused}
	}
	return c.assistant.view(), framed{title: "Assistant", note: when, aside: aside, footer: c.assistant.footer(), focused: focused}
}

func (c *Console) pane(p paneID, now time.Time, x, w, h int) []string {
	lines, f := c.paneLines(p, now)
	f.x = x
	return c.styles.box(f, lines, w, h)
}

// single shows one pane, and the others as a row of counts.
func (c *Console) single(now time.Time, h int) []string {
	st := &c.styles
	lines, f := c.paneLines(c.focus, now)
	row := " "
	for p, label := range []string{"1 Assistant", "2 Tools " + c.tools.shortNote(c.width >= 60), "3 Chunks " + c.chunks.shortNote()} {
		if paneID(p) == c.focus {
			row += st.titleFocus.in("["+label+"]") + " "
		} else {
			row += " " + st.dim.in(label) + "  "
		}
	}
	rule := ""
	if !st.plain {
		rule = st.rule(st.border, "", "", false, st.dim, c.width)
	}
	under := rule
	if f.footer != "" {
		under = st.rule(st.border, "", f.footer, false, st.dim, c.width)
		if st.plain {
			under = f.footer
		}
	}
	out := append(make([]string, 0, h), strings.TrimRight(row, " "), rule)
	out = append(out, block(lines, c.width, h-3)...)
	return append(out, under)
}

// shortNote is the note in the row of counts, with the filter.
func (p *chunksPane) shortNote() string {
	s := number(p.entries.Len())
	if p.hunt.filtering() {
		s = number(p.len()) + " of " + s
	}
	return s
}

// shortNote is the note in the row of counts.
func (p *toolsPane) shortNote(room bool) string {
	s := number(len(p.tools))
	if n := p.running(); n > 0 && room {
		s += " (" + number(n) + " running)"
	}
	return s
}

// Final is what stays in the scrollback after leaving: the action, the end of
// its text and the verdict. Nothing that was revealed is part of it.
func (c *Console) Final() string {
	if c.printer != nil {
		return c.lastWords()
	}
	w := c.width
	if w < minWidth {
		w = 80
	}
	was := c.width
	c.width = w
	defer func() { c.width = was }()

	if c.past != nil {
		c.toNow()
	}
	c.assistant.pick = pick{}
	out := []string{c.header(c.now())}
	p := &c.assistant
	if pw, ph, top, paused, settled := p.w, p.h, p.top, p.paused, p.settled; p.total() > 0 {
		p.paused, p.settled = false, true // the end of the text, and no cursor
		p.resize(w-2, max(c.height, 24)-8)
		out = append(out, "")
		text := p.view()
		for len(text) > 0 && text[len(text)-1] == "" {
			text = text[:len(text)-1]
		}
		out = append(out, text...)
		p.paused, p.settled = paused, settled
		p.resize(pw, ph)
		p.top = top
		p.settle()
	}
	out = append(out, c.verdictLines(w, false)...)
	for i, line := range out {
		if ansi.StringWidth(line) > w {
			line = truncate(line, w, "…")
		}
		out[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(out, "\n") + "\n"
}
