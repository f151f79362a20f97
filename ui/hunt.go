package ui

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"aipscope/model"
	"aipscope/model/safe"

	tea "github.com/charmbracelet/bubbletea"
)

// A scan goes through the chunks in pieces: so many, or for so long, whichever
// is less, and what was found by then is shown.
const (
	scanPiece = 1024
	scanTime  = 60 * time.Millisecond
)

// scan is one query on its way through the chunks.
type scan struct {
	query    *query
	id       int
	hits     []int // indexes of entries, ascending
	next     int   // entries before it were looked at
	busy     bool
	seeking  bool // the selection waits for a hit
	from     int  // the entry from which it looks
	revealed bool
	unread   int // chunks that could not be read, or on which the expression failed
	problem  string
}

// hunt is what the chunks are searched for, and what they are filtered by.
type hunt struct {
	search, filter scan
	restarts       int // of the turn: entries have moved
	ids            int
	asked          []string // what was asked before, the last one last
}

func newHunt() *hunt { return &hunt{} }

func (h *hunt) filtering() bool { return h.filter.query != nil }

// start begins a scan with a query; nil is none.
func (h *hunt) start(s *scan, q *query, revealed bool) {
	h.ids++
	*s = scan{query: q, id: h.ids, revealed: revealed}
}

// again begins a scan anew.
func (h *hunt) again(s *scan, revealed bool) {
	if s.query != nil {
		h.start(s, s.query, revealed)
	}
}

// check begins both anew if entries have moved.
func (h *hunt) check(turn *model.Turn) {
	if turn.Restarts() != h.restarts {
		h.restarts = turn.Restarts()
		h.again(&h.search, h.search.revealed)
		h.again(&h.filter, h.filter.revealed)
	}
}

// hit reports whether the search found an entry.
func (h *hunt) hit(entry int) bool {
	_, ok := slices.BinarySearch(h.search.hits, entry)
	return ok
}

// note says on the border what the filter hides and the search found.
func (h *hunt) note(shown, all int) string {
	if !h.filtering() {
		return ""
	}
	s := number(all-shown) + " hidden by " + safe.Line(h.filter.query.source)
	if h.filter.next < all {
		s = number(shown) + " of " + number(h.filter.next) + " so far, " + s
	}
	return s
}

// found says what the search found: which of its hits is selected, and of how
// many.
func (h *hunt) found(selected, all int) string {
	s := &h.search
	if s.query == nil {
		return ""
	}
	out := "/" + safe.Line(s.query.source) + "  "
	switch i, on := slices.BinarySearch(s.hits, selected); {
	case len(s.hits) == 0 && s.next < all:
		out += "searching"
	case len(s.hits) == 0:
		out += "not found"
	case on:
		out += number(i+1) + " of " + number(len(s.hits))
	default:
		out += number(len(s.hits)) + " found"
	}
	if len(s.hits) > 0 && s.next < all {
		out += " so far"
	}
	return out
}

// scanRequest is a piece of a scan. It runs in a command.
type scanRequest struct {
	id       int
	query    *query
	from     int
	pieces   []candidate
	revealed bool
	row      func(context.Context, int64) (model.Row, error)
	mask     func(json.RawMessage) json.RawMessage
}

// scanMsg is what came of it.
type scanMsg struct {
	id      int
	from    int
	next    int
	hits    []int
	unread  int
	problem string
}

func (q scanRequest) run(ctx context.Context) tea.Msg {
	m := scanMsg{id: q.id, from: q.from, next: q.from}
	until := time.Now().Add(scanTime)
	for i := range q.pieces {
		if i > 0 && !time.Now().Before(until) || ctx.Err() != nil {
			break
		}
		c := &q.pieces[i]
		m.next++
		ok, err := q.look(ctx, c)
		switch {
		case errors.Is(err, errSlow):
			m.problem = err.Error()
			return m
		case err != nil:
			m.unread++
		case ok:
			m.hits = append(m.hits, q.from+i)
		}
		c.content = nil
	}
	return m
}

func (q scanRequest) look(ctx context.Context, c *candidate) (bool, error) {
	if q.query.reads() && q.row != nil {
		row, err := q.row(ctx, c.entry.Row)
		if err != nil {
			return false, err
		}
		c.content = row.Raw
		if !q.revealed {
			c.content = q.mask(row.Raw)
		}
	}
	return q.query.fits(ctx, c)
}

// scanning returns the commands that go on with what is being looked for.
func (c *Console) scanning() tea.Cmd {
	h := c.chunks.hunt
	return tea.Batch(c.scanPiece(&h.search), c.scanPiece(&h.filter), c.finding())
}

func (c *Console) scanPiece(s *scan) tea.Cmd {
	p := &c.chunks
	if s.query == nil || s.busy || s.problem != "" || s.next >= p.entries.Len() {
		return nil
	}
	s.busy = true
	q := scanRequest{id: s.id, query: s.query, from: s.next, revealed: s.revealed, row: c.cfg.Row, mask: c.mask}
	for i := s.next; i < min(p.entries.Len(), s.next+scanPiece); i++ {
		one := candidate{entry: p.entries.Entry(i)}
		one.did = didText(&one.entry, p.turn)
		if t := p.turn.Tool(one.entry.Tool); t != nil {
			one.tool = toolName(t)
		}
		q.pieces = append(q.pieces, one)
	}
	ctx := c.ctx
	return func() tea.Msg { return q.run(ctx) }
}

// scanned takes in what a piece brought; one that belongs to an older question is
// dropped.
func (c *Console) scanned(m scanMsg) tea.Cmd {
	p, h := &c.chunks, c.chunks.hunt
	s := &h.search
	if m.id == h.filter.id {
		s = &h.filter
	}
	if m.id != s.id || m.from != s.next || c.ctx.Err() != nil {
		return nil
	}
	s.busy, s.next = false, m.next
	s.hits = append(s.hits, m.hits...)
	s.unread += m.unread
	s.problem = m.problem
	c.dirty = true
	switch {
	case s.problem != "":
		s.seeking = false
		c.notice(safe.Line(s.query.source)+": "+s.problem, c.styles.alarm)
	case s.unread > 0 && s.next >= p.entries.Len() && m.unread > 0:
		why := ": the journal cannot be read."
		if s.query.code != nil {
			why = ": the expression fails on them."
		}
		c.notice(counted(s.unread, "chunk", "chunks")+" could not be judged"+why, c.styles.alarm)
	}
	if s == &h.filter {
		p.refresh()
	}
	return tea.Batch(c.seek(), c.scanning())
}

// seek selects the first hit of a new search: from where the selection was, or,
// once there is none behind it, from the top.
func (c *Console) seek() tea.Cmd {
	p := &c.chunks
	s := &p.hunt.search
	if !s.seeking {
		return nil
	}
	i, _ := slices.BinarySearch(s.hits, s.from)
	for _, hit := range s.hits[i:] {
		if _, shown := p.lineOf(hit); shown {
			return c.goTo(hit)
		}
	}
	if s.next < p.entries.Len() || p.hunt.filter.query != nil && p.hunt.filter.next < p.entries.Len() {
		return nil
	}
	for _, hit := range s.hits {
		if _, shown := p.lineOf(hit); shown {
			return c.goTo(hit)
		}
	}
	s.seeking = false
	switch {
	case len(s.hits) > 0:
		c.notice("All that was found is hidden by the filter.", c.styles.alarm)
	case s.problem == "":
		say := "Not found: " + safe.Line(s.query.source)
		if !s.revealed && s.query.reads() {
			say += " (what is masked is not searched)"
		}
		c.notice(say, c.styles.text)
	}
	return nil
}

// goTo selects an entry, in the sheet, too, if one is open.
func (c *Console) goTo(entry int) tea.Cmd {
	p := &c.chunks
	p.hunt.search.seeking = false
	line, _ := p.lineOf(entry)
	p.choose(line)
	c.follow()
	if c.underHelp() == inChunk {
		return c.load()
	}
	return nil
}

// nextHit goes to the hit before or behind the selection, around the end.
func (c *Console) nextHit(forward bool) tea.Cmd {
	p := &c.chunks
	hits := p.hunt.search.hits
	at, on := slices.BinarySearch(hits, p.selectedEntry())
	n := len(hits)
	for k := range n {
		i := at - 1 - k
		if forward {
			i = at + k
			if on {
				i++
			}
		}
		wrapped := i < 0 || i >= n
		hit := hits[((i%n)+n)%n]
		if _, shown := p.lineOf(hit); !shown {
			continue
		}
		if wrapped {
			c.notice("Around the end.", c.styles.dim)
		}
		return c.goTo(hit)
	}
	return nil
}

// reveals reports whether what is masked is open to search and filter: only
// while a revealed chunk is in view.
func (c *Console) reveals() bool { return c.underHelp() == inChunk && c.sheet.revealed }

// reveal begins scans anew that saw more than may be seen now, or less.
func (c *Console) reveal() {
	h := c.chunks.hunt
	for _, s := range []*scan{&h.search, &h.filter} {
		if s.query != nil && s.query.reads() && s.revealed != c.reveals() {
			h.again(s, c.reveals())
		}
	}
	c.chunks.refresh()
}

func (c *Console) mayFilter() bool { return c.chunks.entries.Len() > 0 }
func (c *Console) maySearch() bool {
	return c.chunks.entries.Len() > 0 && !c.inText() || c.inText() && c.assistant.hasText()
}
func (c *Console) mayGoToHit() bool {
	if c.inText() {
		return len(c.assistant.find.hits) > 0
	}
	return len(c.chunks.hunt.search.hits) > 0
}
