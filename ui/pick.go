package ui

import (
	"slices"
	"sort"

	"aipscope/model"
	"aipscope/ui/markdown"

	tea "github.com/charmbracelet/bubbletea"
)

// pick is the line of the text that the operator points at.
type pick struct {
	on   bool
	line int
}

// point starts pointing, at the line nearest to where the eye is: the last one
// while the text is followed, else the first in sight.
func (p *assistantPane) point() {
	line := p.top
	if !p.paused {
		line = min(p.top+p.h, p.total()) - 1
	}
	p.pointAt(line)
}

func (p *assistantPane) pointAt(line int) {
	if !p.paused {
		p.pausedAt, p.paused = p.total(), true
	}
	p.pick = pick{on: true, line: max(0, min(line, p.total()-1))}
	p.top = max(min(p.top, p.pick.line), p.pick.line-p.h+1)
	p.settle()
}

// stopPointing follows again if the end is in sight.
func (p *assistantPane) stopPointing() {
	p.pick = pick{}
	p.paused = p.top < max(0, p.total()-p.h)
}

// picked is the stretch at the line and the line of its document, or -1 where it
// is no document's.
func (p *assistantPane) picked() (stretch, line int) {
	i := sort.SearchInts(p.ends, p.pick.line+1)
	if i >= len(p.stretches) {
		return -1, -1
	}
	line = p.pick.line
	if i > 0 {
		line -= p.ends[i-1]
	}
	s := p.stretches[i]
	if s.marked {
		line--
	}
	if s.doc == nil {
		return i, -1
	}
	return i, min(line, s.height-1)
}

// lineIn is the line of the pane on which a line of a stretch's document stands.
func (p *assistantPane) lineIn(stretch, line int) int {
	s := p.stretches[stretch]
	if s.doc == nil {
		return p.ends[stretch] - s.lines()
	}
	return p.start(stretch) + max(0, min(line, s.height-1))
}

// lineBehind is the line of the pane on which the first n bytes of a stretch's text
// end.
func (p *assistantPane) lineBehind(stretch, n int) int {
	s := p.stretches[stretch]
	if s.doc == nil {
		return p.lineIn(stretch, 0)
	}
	again := p.keep()
	line := s.doc.UpTo(n).Extent() - 1
	again() // what stands there was rendered
	return p.lineIn(stretch, line)
}

// pointer draws the mark before the line pointed at.
func (p *assistantPane) pointer(out []string) []string {
	i := p.pick.line - p.top
	if !p.pick.on || i < 0 || i >= len(out) {
		return out
	}
	rest := ""
	if len(out[i]) > 2 {
		rest = out[i][2:]
	}
	out[i] = p.st.chosen + p.st.accent.in(p.st.glyphs.Chosen) + " " + rest
	return out
}

// traced is the chunks of one stretch of text, to find which of them made a line
// or on which line one of them stands. Text is laid out again for it, so it is
// done in a command.
type traced struct {
	id      int
	doc     *markdown.Document // its own; nil where the stretch has none
	segment int
	ends    []int // of the text that each chunk made, in bytes
	entries []traceEntry
}

type traceEntry struct {
	row int64
	seq uint64
}

// traceMsg answers: the chunk of a line, or the line of a chunk.
type traceMsg struct {
	id      int
	toText  bool
	segment int
	end     int // of the chunk's words in the text of the segment
	entry   traceEntry
}

// chunkOf finds the chunk whose words begin a line.
func (q traced) chunkOf(line int) tea.Msg {
	place := q.doc.Place(line) // looking moves lines
	at := sort.Search(len(q.ends)-1, func(i int) bool { return q.doc.UpTo(q.ends[i]).Extent() > q.doc.LineOf(place) })
	return traceMsg{id: q.id, entry: q.entries[at]}
}

// trace collects the chunks of a stretch.
func (c *Console) trace(segment int) traced {
	c.traceID++
	q := traced{id: c.traceID, segment: segment}
	segs, entries := c.shown().Segments(), c.chunks.entries
	if segment < 0 || segment >= len(segs) {
		return q
	}
	if shown := c.assistant.stretches; segment < len(shown) && shown[segment].doc != nil {
		q.doc = shown[segment].doc.Alone()
	}
	s, end := segs[segment], 0
	for i := entries.Search(s.First); i < entries.Len() && entries.Sequence(i) <= s.Last; i++ {
		if e := entries.Entry(i); e.Segment == segment {
			q.entries = append(q.entries, traceEntry{e.Row, e.Sequence})
			end += e.Added()
			q.ends = append(q.ends, end)
		}
	}
	return q
}

// toChunk opens the chunk that made the line pointed at.
func (c *Console) toChunk() tea.Cmd {
	segment, line := c.assistant.picked()
	q := c.trace(segment)
	if len(q.entries) == 0 {
		c.notice("No chunk made this line.", c.styles.text)
		return nil
	}
	if line < 0 || q.doc == nil {
		return c.tracedTo(traceMsg{id: q.id, entry: q.entries[0]})
	}
	return func() tea.Msg { return q.chunkOf(line) }
}

// tracedTo goes where a trace leads; an answer to an older question is dropped.
func (c *Console) tracedTo(m traceMsg) tea.Cmd {
	if m.id != c.traceID {
		return nil
	}
	c.dirty = true
	if m.toText {
		if m.segment < len(c.assistant.stretches) {
			c.assistant.pointAt(c.assistant.lineBehind(m.segment, m.end))
		}
		return nil
	}
	p := &c.chunks
	for i := p.entries.Search(m.entry.seq); i < p.entries.Len() && p.entries.Sequence(i) == m.entry.seq; i++ {
		if p.entries.Row(i) == m.entry.row {
			p.chooseEntry(i)
			return c.openView(inChunk)
		}
	}
	return nil
}

// madeText says what a chunk did, and where enter leads.
func (c *Console) madeText(e *model.Entry) string {
	did := didText(e, c.turn)
	switch {
	case e.Tool != "":
		return did + ": enter opens the tool"
	case e.Segment >= 0:
		return did + ": enter goes to it in the text"
	case did == "":
		return "changes nothing that is shown"
	}
	return did
}

func (c *Console) mayOpenMade() bool {
	e := c.chunks.selected()
	return e != nil && (e.Tool != "" || e.Segment >= 0)
}

// openMade goes to what the open chunk made: its tool, or its words. A past in
// which they had not come yet is left.
func (c *Console) openMade() tea.Cmd {
	e := *c.chunks.selected()
	if e.Tool != "" {
		if c.past != nil && c.past.turn.Tool(e.Tool) == nil {
			c.toNow()
		}
		if !c.tools.choose(e.Tool) {
			return nil
		}
		return c.openView(inTool)
	}
	c.views = nil
	c.closeSheet()
	c.chunks.pin(c.past != nil)
	c.focusOn(paneAssistant)
	if c.past != nil && e.Segment >= len(c.past.turn.Segments()) {
		c.toNow()
	}
	q := c.trace(e.Segment)
	at := slices.Index(q.entries, traceEntry{e.Row, e.Sequence})
	if at < 0 || q.doc == nil {
		return tea.Batch(c.scanning(), c.tracedTo(traceMsg{id: q.id, toText: true, segment: e.Segment}))
	}
	return tea.Batch(c.scanning(), c.tracedTo(traceMsg{id: q.id, toText: true, segment: e.Segment, end: q.ends[at]}))
}

func (c *Console) picking() bool { return c.focus == paneAssistant && c.assistant.pick.on }
func (c *Console) mayPick() bool {
	return c.focus == paneAssistant && !c.assistant.pick.on && c.cfg.Row != nil && c.assistant.total() > 0 && c.chunks.entries.Len() > 0
}

// escape is what esc does in the panes: one thing at a time, the nearest first.
func (c *Console) escape() intent {
	switch {
	case c.asked:
		return doBack
	case c.picking():
		return doUnpick
	case c.past != nil:
		return doNow
	case c.chunks.hunt.search.query != nil, c.assistant.find.phrase != "":
		return doNoSearch
	case c.chunks.hunt.filtering():
		return doNoFilter
	}
	return doNothing
}

func (c *Console) mayUnpick() bool    { return c.escape() == doUnpick }
func (c *Console) lookingBack() bool  { return c.escape() == doNow }
func (c *Console) searched() bool     { return c.escape() == doNoSearch }
func (c *Console) filteredOnly() bool { return c.escape() == doNoFilter }
