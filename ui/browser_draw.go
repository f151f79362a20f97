package ui

import (
	"cmp"
	"strings"
	"time"

	"aipscope/model"
	"aipscope/model/hermes"

	"github.com/charmbracelet/x/ansi"
)

// drawBrowser builds the lines of the sessions' screen, without the hints.
func (c *Console) drawBrowser(now time.Time) []string {
	st, b, w := &c.styles, c.browser, c.width
	h := c.height - chromeColumns
	var body []string
	switch c.underHelp() {
	case inNews:
		body = c.reportView(h)
	case inTranscript:
		body = c.transcriptView(h)
	default:
		body = c.sessionsView(now, h)
	}
	count := counted(len(b.rows), "session", "sessions")
	if len(b.lines) != len(b.rows) {
		count = number(len(b.lines)) + " of " + count
	}
	if b.more {
		count += " or more"
	}
	switch {
	case b.task.running():
		count = "reading"
	case b.read.IsZero():
		count = ""
	default:
		count += ", read " + age(b.read, now) + " ago"
	}
	left := " " + st.accent.in("aipscope") + "   " + st.title.in("sessions")
	if b.endpoint != "" {
		left += st.dim.in(" @ " + brief(b.endpoint))
	}
	out := []string{columns(left, st.text.in(count)+" ", w)}
	out = append(out, c.windows(block(body, w, h), h)...)
	return append(out, c.sessionBar())
}

// sessionBar is the line under the list: the session that keys are about.
func (c *Console) sessionBar() string {
	st, b, w := &c.styles, c.browser, c.width
	id := b.about()
	if id == "" {
		return fill("", w)
	}
	right := ""
	if r := b.selected(); r != nil && r.is.ID == id {
		right = brief(b.shown(*r).Preview)
	}
	id = c.shownSession(id)
	return columns(" "+st.text.in(cut(id, w-2)), st.dim.in(cut(right, max(0, w-ansi.StringWidth(id)-4)))+" ", w)
}

// The columns of the list: what a line has room for.
type sessionColumns struct{ id, title, source, messages, active, state, kind int }

func sessionColumnsOf(w int) sessionColumns {
	k := sessionColumns{id: 22, title: 16, messages: 9, active: 9, state: 14}
	rest := w - 2 - k.id - k.title - k.messages - k.active - k.state - 5
	for _, n := range []*int{&k.state, &k.messages, &k.active} { // what a narrow window does without
		if rest < -1 { // the last column may reach the frame
			rest += *n + 1
			*n = 0
		}
	}
	k.title += min(0, rest+1)
	if rest > 16 {
		k.source = 12
		rest -= 13
	}
	if rest > 22 {
		k.kind = 22 // "child of id_masked-99"
		rest -= 23
	}
	id := min(14, max(0, rest))
	k.id += id
	k.title += max(0, rest-id)
	return k
}

func (k sessionColumns) cells(id, title, source, messages, active, state, kind string) string {
	s := fill(id, k.id) + " " + fill(title, k.title) + " "
	if k.source > 0 {
		s += fill(source, k.source) + " "
	}
	if k.messages > 0 {
		s += fillLeft(messages, k.messages) + " "
	}
	s += fillLeft(active, k.active)
	if k.state > 0 {
		s += "  " + fill(state, k.state)
	}
	if k.kind > 0 {
		s += " " + fill(kind, k.kind)
	}
	return s
}

func (c *Console) sessionsView(now time.Time, h int) []string {
	st, b, w := &c.styles, c.browser, c.width
	f := framed{title: "Sessions", note: st.masked(), focused: true}
	if b.tree {
		f.title = "Sessions as a tree, with their children"
	}
	if b.revealed {
		f.note, f.alarm = "REVEALED, r masks", true
	}
	switch {
	case b.filter.Value() != "" && !b.typing:
		f.footer = "filter: " + brief(b.filter.Value())
	case b.more:
		f.footer = "the last page was full: n reads the next"
	case b.repeated > 0:
		f.footer = counted(b.repeated, "row came again", "rows came again") + ", shown once"
	}
	var body []string
	if b.problem != "" {
		said := hang(" ", st.word(model.Failed), b.problem, w-2)
		body = append(said[:min(len(said), 4)], "")
	}
	if b.typing {
		body = append(body, " "+st.dim.in("filter ")+st.field(b.filter, max(1, w-12)), hang(" ", st.dim, "words of what is shown; source:NAME asks the provider", w-2)[0], "")
	}
	k := sessionColumnsOf(w - 4)
	body = append(body, st.dim.in(fill("  "+k.cells("session", "title", "source", "messages", "active", "state", "kind"), w-2)))
	b.list.resize(max(1, h-2-len(body)))
	if len(b.lines) == 0 {
		say := "the endpoint lists no session"
		switch {
		case b.task.running():
			say = "reading the sessions"
			if b.endpoint == "" {
				say = "asking which endpoints there are"
			}
		case len(b.rows) > 0:
			say = "the filter hides every session"
		case b.read.IsZero():
			say = "nothing was read"
		}
		return st.box(f, append(body, " "+st.dim.in(say)), w, h)
	}
	from, to := b.list.window()
	for i := from; i < to; i++ {
		body = append(body, c.sessionLine(b.lines[i], k, now, i == b.list.selected))
	}
	return st.box(f, body, w, h)
}

func (c *Console) sessionLine(l sessionLine, k sessionColumns, now time.Time, selected bool) string {
	st, b := &c.styles, c.browser
	r := b.rows[l.row]
	s := b.shown(r)
	lead := ""
	if l.depth > 0 {
		branch := "└ "
		if st.ascii || st.plain {
			branch = "+ "
		}
		lead = strings.Repeat("  ", min(l.depth, 6)-1) + branch
	}
	state := "open"
	if !r.is.Open() {
		state = "ended"
		if s.EndReason != "" && b.revealed {
			state = brief(s.EndReason)
		}
	}
	id := lead + middle(brief(s.ID), max(4, k.id-ansi.StringWidth(lead)))
	line := k.cells(id, brief(s.Title), brief(s.Source), number(r.is.MessageCount), age(r.is.Active, now), state, sessionKind(r, s))
	if selected {
		return st.selected.in(fill(st.glyphs.Chosen+" "+line, c.width-2))
	}
	ink := st.text
	if !r.is.Open() {
		ink = st.dim
	}
	return "  " + ink.in(line)
}

// sessionKind says where a session comes from: is for what it is, shown for the
// words.
func sessionKind(r sessionRow, shown hermes.Session) string {
	switch {
	case r.is.Root != "":
		return "latest of " + cmp.Or(brief(shown.Root), "a chain")
	case r.is.Parent != "":
		return "child of " + cmp.Or(brief(shown.Parent), "another")
	}
	return ""
}
