package ui

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/hermes"
	"aipscope/model/safe"

	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// actionsPane lists actions: what journal and daemon know, and what a console of
// this desk knows better.
type actionsPane struct {
	st      *styles
	all     []Listed
	lines   []Listed // those that the filter lets through
	filter  textinput.Model
	typing  bool
	id      int // of the load that is awaited
	loading bool
	read    time.Time // when the list was last read, zero before
	problem string
	judging bool
	judged  map[string]judgedMsg // by key
	key     string               // of the selected action: the list may change under it
	list    list
}

// listMsg brings the list; an error leaves what could be read.
type listMsg struct {
	id    int
	found []Listed
	err   error
}

func newActionsPane(st *styles) *actionsPane {
	return &actionsPane{st: st, filter: newInput(), judged: map[string]judgedMsg{}}
}

func (l Listed) key() string { return l.URL + " " + l.Action }

// take shows what was read.
func (c *Console) takeList(m listMsg) tea.Cmd {
	p := c.actions
	if m.id != p.id {
		return nil
	}
	c.dirty = true
	p.loading, p.read, p.problem = false, c.now(), ""
	if m.err != nil {
		p.problem = safe.Line(m.err.Error())
	}
	if m.err == nil || len(m.found) > 0 {
		p.all = m.found
	}
	c.sift()
	return tea.Batch(c.desk.later(), c.desk.judge())
}

// judgedMsg brings the verdict of an action of the list, as of when it was last
// heard of; "" where it cannot be worked out.
type judgedMsg struct {
	key  string
	last time.Time
	word model.Word
}

// mostJudged is how many chunks an action may have whose verdict is worked out for
// the list: more take seconds.
const mostJudged = 100_000

// unjudged reports whether the verdict of an action can be worked out, and was not.
func (p *actionsPane) unjudged(l *Listed) bool {
	j, ok := p.judged[l.key()]
	return l.Held && l.Verdict == "" && l.Chunks <= mostJudged && !(ok && j.last.Equal(l.Last))
}

// judge works out the verdict of the first action in sight of which the journal
// keeps none: one at a time, while the list is in sight.
func (d *Desk) judge() tea.Cmd {
	p := d.home.actions
	if p.judging || d.cfg.Judge == nil || d.shown != d.home {
		return nil
	}
	from, to := p.list.window()
	to = max(to, min(from+1, len(p.lines))) // it may not have been drawn yet
	at := slices.IndexFunc(p.lines[from:to], func(l Listed) bool { return d.console(l) == nil && p.unjudged(&l) })
	if at < 0 {
		return nil
	}
	p.judging = true
	ctx, judge, l := d.ctx, d.cfg.Judge, p.lines[from+at]
	return d.of(d.home, func() tea.Msg {
		word, err := judge(ctx, l)
		if err != nil {
			word = ""
		}
		return judgedMsg{l.key(), l.Last, word}
	})
}

func (c *Console) takeJudged(m judgedMsg) tea.Cmd {
	p := c.actions
	p.judging, p.judged[m.key] = false, m
	c.dirty = true
	c.sift()
	return c.desk.judge()
}

// verdictText is the list's word for an action's verdict.
func (p *actionsPane) verdictText(l *Listed) (string, ink) {
	switch {
	case l.Verdict != "":
		return prefix(p.st.wordGlyph(l.Verdict)) + wordsOf(l.Verdict), p.st.word(l.Verdict)
	case !l.Held:
		return "not opened", p.st.dim
	case l.Chunks > mostJudged:
		return "open to judge", p.st.dim
	case p.unjudged(l):
		return "…", p.st.dim
	}
	return "", p.st.dim
}

// listed is a watched action as the list has it.
func (c *Console) listed() Listed {
	_, last := c.turn.Span()
	state := string(c.turn.State())
	if r := c.turn.Result(); r != nil {
		state = string(r.Status)
	}
	return Listed{
		Action: c.turn.Action(), URL: c.cfg.URL, Capability: cmp.Or(c.turn.Capability(), c.cfg.Capability), State: state,
		Verdict: c.verdict.Word, Held: true, Chunks: c.turn.Chunks(), Last: last,
	}
}

// moving reports whether an action of the list has no outcome yet.
func (p *actionsPane) moving() bool {
	return slices.ContainsFunc(p.all, func(l Listed) bool { return l.State != "" && !aip.State(l.State).Terminal() })
}

// sift lists what is known now of all that the filter lets through: each of its
// words must be part of a line. What is watched is listed although neither journal
// nor daemon may know it yet.
func (c *Console) sift() {
	p := c.actions
	for _, w := range c.desk.watched {
		l := w.listed()
		at := slices.IndexFunc(p.all, func(o Listed) bool { return c.desk.console(o) == w })
		if at < 0 {
			p.all = append([]Listed{l}, p.all...)
			continue
		}
		was := p.all[at]
		l.Capability, l.Chunks = cmp.Or(l.Capability, was.Capability), max(l.Chunks, was.Chunks)
		if !w.turn.Settled() {
			l.State = cmp.Or(was.State, l.State) // the daemon's word is newer
		}
		if l.Last.Before(was.Last) {
			l.Last = was.Last
		}
		p.all[at] = l
	}
	for i := range p.all {
		l := &p.all[i]
		if j := p.judged[l.key()]; l.Verdict == "" && j.last.Equal(l.Last) {
			l.Verdict = j.word
		}
	}
	words := strings.Fields(strings.ToLower(p.filter.Value()))
	p.lines = p.lines[:0:0]
	for _, l := range p.all {
		hay := strings.ToLower(strings.Join([]string{l.Action, operationAt(l.Capability), l.State, wordsOf(l.Verdict), l.URL}, " "))
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(hay, w) }) {
			p.lines = append(p.lines, l)
		}
	}
	p.list.grow(len(p.lines))
	at := slices.IndexFunc(p.lines, func(l Listed) bool { return l.key() == p.key })
	p.list.choose(max(0, at))
	p.remember()
}

func (p *actionsPane) selected() *Listed {
	if i := p.list.selected; i >= 0 && i < len(p.lines) {
		return &p.lines[i]
	}
	return nil
}

func (p *actionsPane) move(m motion) {
	p.list.move(m)
	p.remember()
}

func (p *actionsPane) remember() {
	p.key = ""
	if l := p.selected(); l != nil {
		p.key = l.key()
	}
}

// operationAt names what runs and where, as a header does.
func operationAt(capability string) string {
	if endpoint, op, ok := hermes.ParseCapability(capability); ok {
		return string(op) + " @ " + endpoint
	}
	return capability
}

func wordsOf(w model.Word) string { return strings.ReplaceAll(string(w), "_", " ") }

// age is how long ago a time was, in its largest unit.
func age(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	switch d := max(0, now.Sub(t)); {
	case d < time.Minute:
		return number(int(d.Seconds())) + " s"
	case d < time.Hour:
		return number(int(d.Minutes())) + " min"
	case d < 48*time.Hour:
		return number(int(d.Hours())) + " h"
	default:
		return number(int(d.Hours()/24)) + " days"
	}
}

// drawActions builds the lines of the list's screen, without the hints.
func (c *Console) drawActions(now time.Time) []string {
	st, p, w := &c.styles, c.actions, c.width
	count := counted(len(p.lines), "action", "actions")
	if len(p.lines) != len(p.all) {
		count = number(len(p.lines)) + " of " + counted(len(p.all), "action", "actions")
	}
	if p.loading && p.read.IsZero() {
		count = "reading"
	}
	left := " " + st.accent.in("aipscope") + "   " + st.title.in("actions")
	if e := safe.Line(c.desk.cfg.Endpoint); e != "" && w >= 80 {
		left += "   " + st.dim.in(cut(e, w/3))
	}
	out := []string{columns(left, st.text.in(count)+" ", w)}
	h := c.height - chromeColumns
	f := framed{title: "Actions", focused: true}
	switch {
	case p.typing:
		f.note = "filter"
	case p.filter.Value() != "":
		f.note = "filter: " + safe.Line(p.filter.Value()) + ", hides " + number(len(p.all)-len(p.lines))
	}
	if n := len(c.desk.watched); n > 0 {
		f.footer = number(n) + " watched"
	}
	var body []string
	if p.problem != "" {
		said := hang(" ", st.word(model.Failed), "not all could be read: "+p.problem, w-2)
		body = append(said[:min(len(said), 3)], "")
	}
	if p.typing {
		body = append(body, " "+st.dim.in("filter ")+st.field(p.filter, max(1, w-12)), "")
	}
	body = append(body, p.head(w-2)...)
	p.list.resize(max(1, h-2-len(body)))
	body = append(body, c.actionLines(now, w-2)...)
	out = append(out, c.windows(st.box(f, body, w, h), h)...)
	return append(out, c.actionBar())
}

// actionBar is the line under the list: the selected action whole.
func (c *Console) actionBar() string {
	st, p, w := &c.styles, c.actions, c.width
	l := p.selected()
	if l == nil {
		return fill("", w)
	}
	return columns(" "+st.text.in(brief(l.Action)), st.dim.in(cut(brief(l.URL), max(0, w-44)))+" ", w)
}

// verdictCells holds the longest verdict with its glyph.
const verdictCells = 20

// The columns of the list: what a line has room for.
type actionColumns struct{ id, op, state, chunks, age int }

func actionColumnsOf(w int) actionColumns {
	rest := w - 3 - 16 - 1 - verdictCells // marks, ID, verdict
	k := actionColumns{id: 16 + min(0, rest)}
	rest-- // on the right
	take := func(n int) int {
		if rest <= n {
			return 0
		}
		rest -= n + 1
		return n
	}
	k.age = take(9)
	k.op, k.state, k.chunks = take(18), take(11), take(8)
	grow := func(n *int, most int) {
		if *n > 0 {
			by := max(0, min(most-*n, rest))
			*n += by
			rest -= by
		}
	}
	grow(&k.op, 30)
	grow(&k.state, 16)
	grow(&k.id, 36) // the line below the list has it whole
	grow(&k.op, 48)
	return k
}

func (p *actionsPane) head(w int) []string {
	k := actionColumnsOf(w)
	return []string{p.st.dim.in(fill("   "+p.cells(k, "action", "operation", "state", "verdict", "chunks", "age"), w))}
}

func (p *actionsPane) cells(k actionColumns, id, op, state, verdict, chunks, old string) string {
	s := fill(id, k.id) + " "
	if k.op > 0 {
		s += fill(op, k.op) + " "
	}
	if k.state > 0 {
		s += fill(state, k.state) + " "
	}
	s += fill(verdict, verdictCells)
	if k.chunks > 0 {
		s += fillLeft(chunks, k.chunks) + " "
	}
	return s + fillLeft(old, k.age)
}

func (c *Console) actionLines(now time.Time, w int) []string {
	st, p := &c.styles, c.actions
	if len(p.lines) == 0 {
		say := "neither journal nor daemon knows an action yet"
		switch {
		case p.read.IsZero():
			say = "reading journal and daemon"
		case len(p.all) > 0:
			say = "the filter hides every action"
		}
		return []string{" " + st.dim.in(say)}
	}
	k := actionColumnsOf(w)
	var out []string
	from, to := p.list.window()
	for i := from; i < to; i++ {
		l := p.lines[i]
		mark := " "
		if watched := c.desk.console(l); watched != nil {
			mark = cmp.Or(st.linkGlyph(watched.link.State), "*")
		}
		verdict, tone := p.verdictText(&l)
		id, op, state := middle(brief(l.Action), k.id), brief(operationAt(l.Capability)), brief(l.State)
		chunks, old := "", age(l.Last, now)
		if l.Chunks > 0 {
			chunks = number(l.Chunks)
		}
		in, chosen := st.row(i == p.list.selected), " "
		if i == p.list.selected {
			chosen = st.glyphs.Chosen
		}
		line := in(st.text, chosen) + in(st.accent, mark) + in(st.text, " "+fill(id, k.id)+" ")
		if k.op > 0 {
			line += in(st.text, fill(op, k.op)+" ")
		}
		if k.state > 0 {
			line += in(st.dim, fill(state, k.state)+" ")
		}
		verdict = cut(verdict, verdictCells)
		line += in(tone, verdict) + in(st.dim, strings.Repeat(" ", verdictCells-ansi.StringWidth(verdict)))
		if k.chunks > 0 {
			line += in(st.dim, fillLeft(chunks, k.chunks)+" ")
		}
		line += in(st.dim, fillLeft(old, k.age))
		out = append(out, line+in(st.dim, strings.Repeat(" ", max(0, w-ansi.StringWidth(line)))))
	}
	return out
}

// ofList reports whether an intent is the list's own where the list is shown.
func (i intent) ofList() bool {
	return i == doFilterList || i == doReload || i == doOpen || i == doAccept || i == doBack
}

// actActions does what a key asks for in the list.
func (c *Console) actActions(do intent) tea.Cmd {
	p, d := c.actions, c.desk
	switch do {
	case doFilterList:
		p.typing = true
	case doReload:
		return d.reload()
	case doOpen, doAccept:
		p.typing = false
		return d.open(*p.selected())
	case doBack:
		switch {
		case p.typing || p.filter.Value() != "":
			p.typing = false
			p.filter.Reset()
			c.sift()
		case d.before != nil:
			return d.show(d.before)
		}
	}
	return nil
}

func (c *Console) mayClear() bool { return c.actions.filter.Value() != "" }

// shortID is an action's ID where a sentence names it.
func shortID(action string) string { return middle(brief(action), 26) }
