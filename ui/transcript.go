package ui

import (
	"cmp"
	"context"
	"strings"
	"time"

	"aipscope/follow/act"
	"aipscope/model"
	"aipscope/model/hermes"
	"aipscope/model/safe"
	"aipscope/ui/markdown"

	tea "github.com/charmbracelet/bubbletea"
)

// transcript is a session's latest messages, rendered.
type transcript struct {
	id      string // that was asked for
	task    *task  // reads it
	laying  *task  // lays it out
	problem string
	got     act.Transcript
	masked  []hermes.SessionMessage
	read    bool
	lines   []string
	top     int
}

// openTranscript reads a session's messages, and shows them.
func (c *Console) openTranscript(id string) tea.Cmd {
	b, office, mask := c.browser, c.cfg.Office, c.mask
	t := &transcript{id: id}
	if old := b.transcript; old != nil {
		old.task.abandon()
		old.laying.abandon()
	}
	b.transcript = t
	endpoint := b.endpoint
	var cmd tea.Cmd
	t.task, cmd = c.begin(func(ctx context.Context, tell func(act.Notice)) func() tea.Cmd {
		got, err := office.At(endpoint, tell).Messages(ctx, id)
		problem := ""
		if err != nil {
			problem = office.explain(err)
		}
		masked := make([]hermes.SessionMessage, 0, len(got.Messages))
		for _, m := range got.Messages {
			masked = append(masked, hermes.MessageOf(mask(m.Raw)))
		}
		return func() tea.Cmd {
			t.problem, t.got, t.masked, t.read = problem, got, masked, err == nil
			t.top = 1 << 30 // the last words first
			return c.layTranscript()
		}
	})
	return cmd
}

// layTranscript lays the open transcript out for the window and for what may be seen.
func (c *Console) layTranscript() tea.Cmd {
	if c.browser == nil || c.browser.transcript == nil || !c.browser.transcript.read || c.width < 1 {
		return nil
	}
	t := c.browser.transcript
	t.laying.abandon()
	q := layout{st: c.styles, document: c.cfg.Look.documents(), messages: t.got.Messages, masked: t.masked, revealed: c.browser.revealed,
		width: max(20, min(c.width-6, textMeasure)), zone: c.now().Location()}
	var cmd tea.Cmd
	t.laying, cmd = c.begin(func(ctx context.Context, _ func(act.Notice)) func() tea.Cmd {
		lines := q.lay(ctx)
		return func() tea.Cmd {
			t.lines = lines
			return nil
		}
	})
	return cmd
}

// layout is all that rendering messages needs.
type layout struct {
	st               styles
	document         func(faint bool) *markdown.Document
	messages, masked []hermes.SessionMessage
	revealed         bool
	width            int
	zone             *time.Location
}

// mostToolLines is how much of a tool's result stands in a transcript; its action's
// result in the journal has all.
const mostToolLines = 8

func (q layout) lay(ctx context.Context) []string {
	st := &q.st
	var out []string
	for i, m := range q.messages {
		if ctx.Err() != nil {
			return out
		}
		shown := m
		if !q.revealed {
			shown = q.masked[i]
		}
		tool := m.Role == "tool"
		head := st.title.in(brief(cmp.Or(m.Role, "no role")))
		if tool {
			head = st.dim.in(st.glyphs.Ran + " " + cmp.Or(brief(m.ToolName), "tool") + " answered")
		}
		if !m.At.IsZero() {
			head += "  " + st.dim.in(m.At.In(q.zone).Format("2006-01-02 15:04:05"))
		}
		if m.Finish != "" && m.Finish != "stop" && m.Finish != "tool_calls" {
			head += "  " + st.word(model.Partial).in("finish "+brief(m.Finish))
		}
		out = append(out, "  "+head)
		out = append(out, q.body(shown, tool)...)
		for n, call := range m.Calls {
			args := ""
			if n < len(shown.Calls) {
				args = brief(shown.Calls[n].Arguments)
			}
			out = append(out, "  "+st.dim.in(cut(st.glyphs.Ran+" calls "+brief(call.Name)+"  "+args, q.width)))
		}
		out = append(out, "")
	}
	return out
}

// body renders what a message says: the words of people and models as markdown, once
// they are revealed.
func (q layout) body(m hermes.SessionMessage, tool bool) []string {
	st := &q.st
	if strings.TrimSpace(m.Text) == "" {
		return nil
	}
	var out []string
	if !q.revealed || tool {
		said := newText(safe.Text(strings.TrimRight(m.Text, "\n")), q.width)
		for i := range said.starts {
			if left := len(said.starts) - i; i == mostToolLines && left > 1 {
				return append(out, "  "+st.dim.in("… "+counted(left, "more line", "more lines")))
			}
			line, _ := said.line(i)
			out = append(out, "  "+st.dim.in(line))
		}
		return out
	}
	doc := q.document(false)
	doc.SetWidth(q.width)
	doc.Append(m.Text)
	doc.Finish()
	for _, l := range doc.Lines(0, doc.Height()) {
		out = append(out, "  "+l)
	}
	return out
}

func (t *transcript) move(m motion, h int) { t.top = m.apply(t.top, max(0, len(t.lines)-h), h) }

// transcriptView draws the messages into a body of h lines.
func (c *Console) transcriptView(h int) []string {
	st, b, t := &c.styles, c.browser, c.browser.transcript
	f := framed{title: "Messages of " + c.shownSession(t.id), focused: true}
	if is := t.got.SessionID; is != "" && is != t.id {
		f.title += ", which goes on in " + c.shownSession(is)
	}
	var body []string
	switch {
	case t.task.running():
		body = append([]string{"", "  " + st.dim.in("reading the messages")}, c.noteLines(t.task, 8, c.width-2)...)
	case t.problem != "":
		body = append([]string{""}, hang("  ", st.word(model.Failed), t.problem, c.width-2)...)
	default:
		count := "an unknown number"
		if t.got.Count >= 0 {
			count = number(t.got.Count)
		}
		masked := st.masked()
		if b.revealed {
			masked, f.alarm = "REVEALED, r masks", true
		}
		f.note = number(len(t.got.Messages)) + " returned of " + count + ", " + masked
		if len(t.got.Messages) == 0 {
			body = []string{"", "  " + st.dim.in("no active messages")}
		}
		room := h - 2
		t.top = max(0, min(t.top, len(t.lines)-room))
		if n := len(t.lines); n > room {
			f.footer = "lines " + number(t.top+1) + " to " + number(min(n, t.top+room)) + " of " + number(n)
		}
		body = append(body, t.lines[t.top:min(len(t.lines), t.top+room)]...)
	}
	return st.box(f, body, c.width, h)
}
