package aipd

import (
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// Limits of a page (wire/aip.md 4.2).
const (
	defaultLimit = 100
	maxLimit     = 1000
	maxPageBytes = 4 << 20 // of events; chunks have no such limit
)

// pageQuery says which page of an action is wanted.
type pageQuery struct {
	action string
	cursor string
	limit  int             // of events and chunks together
	kinds  map[string]bool // of events; nil is all
	chunks bool
	follow bool // it is a page of a follow stream
}

// page is a stretch of an action's events and chunks. Events come first; chunks
// get what they leave of the limit.
type page struct {
	events   []event
	chunks   []aip.Chunk
	next     cursor
	terminal bool // the action was terminal when the page had been read
	more     bool // the page does not reach the end
}

func (p page) empty() bool { return len(p.events) == 0 && len(p.chunks) == 0 }

// page reads a page. An action that was never seen has empty pages.
func (s *Server) page(q pageQuery) (page, *aip.Error) {
	s.opt.Faults.query(&q)
	at, err := parseCursor(q.cursor)
	if err != nil {
		return page{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.event > len(s.feed) {
		return page{}, with(failure("stream.cursor_expired", permanent, "the cursor is beyond what is retained"),
			"cursor", q.cursor, "available_events", len(s.feed))
	}
	a := s.actions[q.action]
	p := page{next: at}
	if a != nil {
		s.readEvents(&p, a, at, q)
		s.readChunks(&p, a, at, q)
	} else {
		p.next.event = len(s.feed)
	}
	p.terminal = a.state(false).Terminal()
	s.opt.Faults.page(s, q, at, &p)
	return p, nil
}

func (s *Server) readEvents(p *page, a *action, at cursor, q pageQuery) {
	size := 0
	for _, offset := range a.events[sort.SearchInts(a.events, at.event):] {
		e := s.feed[offset]
		if q.kinds != nil && !q.kinds[e.kind] {
			continue
		}
		if len(p.events) == q.limit || size+len(e.body) > maxPageBytes && len(p.events) > 0 {
			p.more = true
			return
		}
		p.events = append(p.events, e)
		p.next.event = offset + 1
		size += len(e.body)
	}
	p.next.event = len(s.feed)
}

func (s *Server) readChunks(p *page, a *action, at cursor, q pageQuery) {
	if !q.chunks {
		return
	}
	from := 0
	if at.hasChunk {
		from = sort.Search(len(a.chunks), func(i int) bool { return a.chunks[i].Sequence > at.chunk })
	}
	to := min(len(a.chunks), from+q.limit-len(p.events))
	p.more = p.more || to < len(a.chunks)
	if p.chunks = a.chunks[from:to:to]; from < to {
		p.next.chunk, p.next.hasChunk = a.chunks[to-1].Sequence, true
	}
}

// pieces lays the page out as the body of a plain answer (wire/aip.md 4.5).
func (p page) pieces(id string) hermes.Pieces {
	return func(yield func([]byte) bool) {
		head := append([]byte(`{"action_events":{"action_id":`), encode(id)...)
		if !yield(append(head, `,"events":[`...)) {
			return
		}
		for i, e := range p.events {
			if i > 0 && !yield([]byte{','}) || !yield(e.body) {
				return
			}
		}
		if !yield([]byte{']'}) {
			return
		}
		var buf []byte
		for i, c := range p.chunks {
			buf = append(buf[:0], ',')
			if i == 0 {
				buf = append(buf, `"chunks":[`...)
			}
			if !yield(hermes.AppendChunk(buf, c)) {
				return
			}
		}
		tail := `,"cursor":"` + p.next.String() + `","terminal":` + strconv.FormatBool(p.terminal) + `}}`
		if len(p.chunks) > 0 {
			tail = "]" + tail
		}
		yield([]byte(tail))
	}
}

func (s *Server) events(w http.ResponseWriter, r *http.Request, id string) {
	s.deliver(w, r, id, false)
}

func (s *Server) chunks(w http.ResponseWriter, r *http.Request, id string) {
	s.deliver(w, r, id, true)
}

// deliver answers the events and the chunks route: one page, or a follow
// stream.
func (s *Server) deliver(w http.ResponseWriter, r *http.Request, id string, chunksOnly bool) {
	v, ok := readQuery(w, r)
	if !ok {
		return
	}
	q := pageQuery{action: id, cursor: v.text("cursor"), limit: defaultLimit}
	q.chunks = v.flag("include_chunks")
	q.follow = v.flag("follow")
	if n, ok := v.number("limit"); ok {
		q.limit = int(min(max(n, 1), maxLimit))
	}
	if kinds := v.text("kinds") + "," + v.text("kind"); kinds != "," {
		q.kinds = map[string]bool{}
		for k := range strings.SplitSeq(kinds, ",") {
			q.kinds[strings.TrimSpace(k)] = true
		}
	}
	if chunksOnly {
		q.kinds, q.chunks = map[string]bool{aip.EventChunk: true}, true
	}
	if q.cursor == "" {
		q.cursor = strings.TrimSpace(r.Header.Get("Last-Event-ID"))
	}
	if v.refused(w) {
		return
	}
	if err := checkID(id); err != nil {
		writeError(w, s.now(), err)
		return
	}
	denied := s.authorize("action:read")
	if denied == nil && v.text("tenant_id") != "" {
		denied = errTenant()
	}
	if q.follow {
		s.follow(w, r, q, denied)
		return
	}
	var p page
	if denied == nil {
		p, denied = s.page(q)
	}
	if denied != nil {
		writeError(w, s.now(), denied)
		return
	}
	writePieces(w, "", p.pieces(id), "")
}

func checkID(id string) *aip.Error {
	if strings.HasPrefix(id, "act_") && len(id) > len("act_") {
		return nil
	}
	return failure("query.invalid", permanent, "the action ID must begin with act_")
}

// query is a request's query as the web framework reads it: a value that cannot
// be read refuses the request in plain text.
type query struct {
	values map[string][]string
	bad    string
}

func readQuery(w http.ResponseWriter, r *http.Request) (*query, bool) {
	q := &query{values: r.URL.Query()}
	for name, values := range q.values {
		if len(values) > 1 {
			q.bad = "duplicate field `" + name + "`"
		}
	}
	return q, !q.refused(w)
}

func (q *query) refused(w http.ResponseWriter) bool {
	if q.bad != "" {
		refuse(w, http.StatusBadRequest, "Failed to deserialize query string: "+q.bad)
	}
	return q.bad != ""
}

func (q *query) text(name string) string {
	if v := q.values[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

func (q *query) flag(name string) bool {
	if v, ok := q.values[name]; ok && !slices.Contains([]string{"true", "false"}, v[0]) {
		q.bad = name + ": provided string was not `true` or `false`"
	}
	return q.text(name) == "true"
}

func (q *query) number(name string) (uint64, bool) {
	if _, ok := q.values[name]; !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(q.text(name), 10, 32)
	if err != nil {
		q.bad = name + ": invalid digit found in string"
	}
	return n, err == nil
}
