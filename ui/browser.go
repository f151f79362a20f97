package ui

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"aipscope/follow/act"
	"aipscope/model/hermes"

	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
)

// browser shows the sessions that an endpoint stores, and one's messages. Both are
// private, and masked until the operator asks.
type browser struct {
	st       *styles
	from     *Console // where the operator came from
	endpoint string
	task     *task // reads the list
	problem  string
	read     time.Time // when the list was last read, zero before
	rows     []sessionRow
	next     int // offset behind the last page
	more     bool
	repeated int
	lines    []sessionLine
	filter   textinput.Model
	typing   bool
	source   string // that was asked for
	tree     bool   // forks and continuations below what they come from
	revealed bool
	id       string // of the selected session: the list may change under it
	list     list

	transcript *transcript // that is open, or nil
}

// sessionRow is a session, and what of it may be seen unasked.
type sessionRow struct{ is, masked hermes.Session }

// sessionLine is a row of the list, so deep in the tree.
type sessionLine struct{ row, depth int }

// sessions shows the sessions of an endpoint, "" for the only one; with a session,
// its messages.
func (d *Desk) sessions(from *Console, endpoint, session string) tea.Cmd {
	l := d.library
	if l == nil {
		l = New(d.ctx, Config{Look: d.cfg.Look, Keys: d.cfg.Keys, Suspends: d.cfg.Suspends, Clock: d.cfg.Clock, Office: from.cfg.Office, Mask: from.cfg.Office.Mask, Printer: d.cfg.Printer})
		l.desk, l.done = d, true // no watch of its own
		l.browser = &browser{st: &l.styles, filter: newInput()}
		d.library = l
	}
	b := l.browser
	if from != l {
		b.from = from
	}
	if endpoint != "" && endpoint != b.endpoint {
		b.task.abandon()
		*b = browser{st: b.st, from: b.from, endpoint: endpoint, filter: newInput(), revealed: b.revealed}
	}
	shown := d.show(l)
	switch {
	case b.endpoint == "":
		return tea.Batch(shown, d.of(l, l.findEndpoint(session)))
	case session != "":
		return tea.Batch(shown, d.of(l, l.openTranscript(session)))
	case b.read.IsZero() && !b.task.running():
		return tea.Batch(shown, d.of(l, l.readSessions(true)))
	}
	return shown
}

// findEndpoint asks which endpoints there are, and the operator where there are
// several.
func (c *Console) findEndpoint(session string) tea.Cmd {
	b, office := c.browser, c.cfg.Office
	b.task.abandon()
	var cmd tea.Cmd
	b.task, cmd = c.begin(func(ctx context.Context, _ func(act.Notice)) func() tea.Cmd {
		found, err := office.Offers(ctx)
		problem := ""
		endpoints := act.Endpoints(found)
		switch {
		case err != nil:
			problem = office.explain(err)
		case len(endpoints) == 0:
			problem = act.ErrNoEndpoint.Error()
		}
		return func() tea.Cmd {
			b.problem = problem
			switch len(endpoints) {
			case 0:
				return nil
			case 1:
				return c.desk.sessions(c, endpoints[0], session)
			}
			if c.window == nil {
				c.window = newChoice(&c.styles, "Endpoint", endpoints, func(c *Console, e string) tea.Cmd { return c.desk.sessions(c, e, session) })
			}
			return nil
		}
	})
	return cmd
}

// readSessions reads the first page anew, or the next one. The tree's pages are
// larger, and with the children; each page is asked for by a key, for it is an action.
func (c *Console) readSessions(anew bool) tea.Cmd {
	b, office, mask := c.browser, c.cfg.Office, c.mask
	if b.endpoint == "" {
		return c.findEndpoint("")
	}
	b.task.abandon()
	b.source = b.asksSource()
	o := act.ListOptions{Source: b.source, Children: b.tree}
	if b.tree {
		o.Limit = act.MaxPage
	}
	if !anew {
		o.Offset = b.next
	}
	endpoint := b.endpoint
	var cmd tea.Cmd
	b.task, cmd = c.begin(func(ctx context.Context, tell func(act.Notice)) func() tea.Cmd {
		got, err := office.At(endpoint, tell).Sessions(ctx, o)
		problem := ""
		if err != nil {
			problem = office.explain(err)
		}
		rows := make([]sessionRow, 0, len(got.Sessions))
		for _, s := range got.Sessions {
			rows = append(rows, sessionRow{s, hermes.SessionOf(mask(s.Raw))})
		}
		return func() tea.Cmd {
			b.problem = problem
			if err != nil && len(rows) == 0 {
				return nil
			}
			if anew {
				b.rows, b.repeated = nil, 0
			}
			b.add(rows)
			b.read, b.next, b.more = c.now(), got.Next, got.More
			b.repeated += got.Repeated
			b.sift()
			return nil
		}
	})
	return cmd
}

// add keeps each session once: rows move between the pages while they are read.
func (b *browser) add(rows []sessionRow) {
	seen := map[string]bool{}
	for _, r := range b.rows {
		seen[r.is.ID] = true
	}
	for _, r := range rows {
		if seen[r.is.ID] {
			b.repeated++
			continue
		}
		seen[r.is.ID] = true
		b.rows = append(b.rows, r)
	}
}

// The filter is words, each of which must be part of what is shown of a session,
// and source:NAME, which the provider filters by.
func (b *browser) words() (words []string, source string) {
	for _, w := range strings.Fields(b.filter.Value()) {
		if s, ok := strings.CutPrefix(w, "source:"); ok {
			source = s
			continue
		}
		words = append(words, strings.ToLower(w))
	}
	return words, source
}

func (b *browser) asksSource() string {
	_, source := b.words()
	return source
}

// shown is what of a row may be seen.
func (b *browser) shown(r sessionRow) hermes.Session {
	if b.revealed {
		return r.is
	}
	return r.masked
}

// sift lists what the filter lets through.
func (b *browser) sift() {
	words, _ := b.words()
	b.lines = b.lines[:0:0]
	for _, l := range b.ordered() {
		s := b.shown(b.rows[l.row])
		hay := strings.ToLower(strings.Join([]string{s.ID, s.Title, s.Source, s.Model, s.Preview, s.EndReason}, " "))
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(hay, w) }) {
			b.lines = append(b.lines, l)
		}
	}
	b.list.grow(len(b.lines))
	b.list.choose(max(0, slices.IndexFunc(b.lines, func(l sessionLine) bool { return b.rows[l.row].is.ID == b.id })))
	b.remember()
}

// ordered are the rows in the list's order, or each below the one that it came
// from: a fork, a continuation, a delegate's child.
func (b *browser) ordered() []sessionLine {
	out := make([]sessionLine, 0, len(b.rows))
	if !b.tree {
		for i := range b.rows {
			out = append(out, sessionLine{row: i})
		}
		return out
	}
	at := map[string]bool{}
	for _, r := range b.rows {
		at[r.is.ID] = true
	}
	below := map[string][]int{}
	for i, r := range b.rows {
		parent := r.is.Parent
		if !at[parent] || parent == r.is.ID {
			parent = ""
		}
		below[parent] = append(below[parent], i)
	}
	done := make([]bool, len(b.rows))
	var walk func(rows []int, depth int)
	walk = func(rows []int, depth int) {
		for _, i := range rows {
			if done[i] {
				continue
			}
			done[i] = true
			out = append(out, sessionLine{i, depth})
			if id := b.rows[i].is.ID; id != "" {
				walk(below[id], depth+1)
			}
		}
	}
	walk(below[""], 0)
	for i := range b.rows { // what names itself as its own ancestor
		walk([]int{i}, 0)
	}
	return out
}

func (b *browser) selected() *sessionRow {
	if i := b.list.selected; i >= 0 && i < len(b.lines) {
		return &b.rows[b.lines[i].row]
	}
	return nil
}

func (b *browser) move(m motion) {
	b.list.move(m)
	b.remember()
}

func (b *browser) remember() {
	b.id = ""
	if r := b.selected(); r != nil {
		b.id = r.is.ID
	}
}

// about is the session that keys are about: the one whose messages are open, else
// the selected one.
func (b *browser) about() string {
	if t := b.transcript; t != nil {
		return cmp.Or(t.got.SessionID, t.id)
	}
	return b.id
}

// shownID is a session's ID as it may be seen.
func (c *Console) shownSession(id string) string {
	return c.private("session_id", id, c.browser.revealed)
}

// actSessions does what a key asks for among the sessions.
func (c *Console) actSessions(do intent) tea.Cmd {
	b := c.browser
	switch do {
	case doFilterList:
		b.typing = true
	case doReload:
		if b.transcript != nil {
			return c.openTranscript(b.transcript.id)
		}
		return c.readSessions(true)
	case doSessions:
		b.endpoint = ""
		return c.findEndpoint("")
	case doMore:
		return c.readSessions(false)
	case doTree:
		b.tree = !b.tree
		return c.readSessions(true)
	case doReveal:
		b.revealed = !b.revealed
		b.sift()
		return c.layTranscript()
	case doOpen:
		return c.openTranscript(b.id)
	case doAccept: // of the filter
		b.typing = false
		if b.asksSource() != b.source {
			return c.readSessions(true)
		}
	case doMessage:
		return c.continueSession(b.about())
	case doFork:
		c.askFork(b.about())
	case doPatch:
		c.askPatch(b.about())
	case doDelete:
		c.askDeleteSession(b.about())
	case doCreate:
		c.askCreate()
	case doBack:
		return c.backSessions()
	}
	return nil
}

func (c *Console) backSessions() tea.Cmd {
	b := c.browser
	switch {
	case b.transcript != nil:
		b.transcript.task.abandon()
		b.transcript.laying.abandon()
		b.transcript = nil
		if b.read.IsZero() && !b.task.running() {
			return c.readSessions(true)
		}
	case b.typing || b.filter.Value() != "":
		b.typing = false
		b.filter.Reset()
		b.sift()
		if b.source != "" {
			return c.readSessions(true)
		}
	default:
		return c.desk.show(cmp.Or(b.from, c.desk.home))
	}
	return nil
}

// maskSessions hides what was revealed.
func (c *Console) maskSessions() {
	b := c.browser
	if b == nil || !b.revealed {
		return
	}
	b.revealed = false
	b.sift()
	if b.transcript != nil {
		b.transcript.lines = nil // it is laid out anew
	}
}

// ofSessions reports whether an intent is the browser's own.
func (i intent) ofSessions() bool {
	switch i {
	case doSessions, doFilterList, doReload, doMore, doTree, doReveal, doOpen, doAccept, doMessage, doFork, doPatch, doDelete, doCreate, doBack:
		return true
	}
	return false
}

// sessionIDs names the session of the watched turn: the one that it was written to,
// else the one that was asked for.
func (c *Console) turnSession() string {
	var input json.RawMessage
	if r := c.turn.Request(); r != nil {
		input = r.Input
	}
	return cmp.Or(c.turn.SessionID(), hermes.Field(input, "session_id"))
}

// The browser's abilities, for the key table.

func (c *Console) mayBrowse() bool { return c.hasOffice() && c.desk != nil && c.browser == nil }
func (c *Console) mayReadSession() bool {
	return c.mayBrowse() && c.own() && c.turn.Endpoint() != "" && c.turnSession() != ""
}
func (c *Console) onSession() bool      { return c.browser.about() != "" }
func (c *Console) mayMore() bool        { return c.browser.more && !c.browser.task.running() }
func (c *Console) asTree() bool         { return c.browser.tree }
func (c *Console) asList() bool         { return !c.browser.tree }
func (c *Console) browseMasked() bool   { return !c.browser.revealed }
func (c *Console) browseRevealed() bool { return c.browser.revealed }
func (c *Console) sessionsFiltered() bool {
	return c.browser.filter.Value() != ""
}
func (c *Console) sessionsPlain() bool { return c.browser.filter.Value() == "" }

// choice chooses one of a few words.
type choice struct {
	st    *styles
	title string
	words []string
	list  list
	do    func(*Console, string) tea.Cmd
}

func newChoice(st *styles, title string, words []string, do func(*Console, string) tea.Cmd) *choice {
	d := &choice{st: st, title: title, words: words, do: do}
	d.list.grow(len(words))
	return d
}

func (d *choice) place() place              { return inChoice }
func (d *choice) typed(tea.KeyMsg)          {}
func (d *choice) toggle()                   {}
func (d *choice) move(m motion)             { d.list.move(m) }
func (d *choice) mayAccept() bool           { return true }
func (d *choice) accept(c *Console) tea.Cmd { return d.do(c, d.words[d.list.selected]) }

func (d *choice) view(w, h int) []string {
	st := d.st
	w = min(w-4, 66)
	d.list.resize(max(1, min(len(d.words), h-4)))
	var lines []string
	from, to := d.list.window()
	for i := from; i < to; i++ {
		if text := brief(d.words[i]); i == d.list.selected {
			lines = append(lines, st.selected.in(fill(st.glyphs.Chosen+" "+text, w-2)))
		} else {
			lines = append(lines, "  "+st.text.in(cut(text, w-4)))
		}
	}
	return st.box(framed{title: d.title, focused: true}, lines, w, len(lines)+2)
}
