package ui

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"aipscope/follow/act"
	"aipscope/model"
	"aipscope/model/hermes"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// report is how far an act is, or what it brought. It lies over the panes until it
// is left; the objects in it are private, and masked until the operator asks.
type report struct {
	title    string
	doing    string // while the task runs
	changes  bool   // what is asked for changes something: it goes on when nobody waits
	task     *task
	problem  string
	head     func(w int) []string // what it brought
	objects  []heldObject
	body     *text // of the objects, as they are shown
	revealed bool
	response string // the stored response that it shows, or ""
}

// heldObject is private JSON as it is shown, masked and revealed.
type heldObject struct{ name, masked, open string }

// objectOf makes both forms of JSON. It takes its time with a large one.
func objectOf(name string, raw json.RawMessage, mask func(json.RawMessage) json.RawMessage) heldObject {
	return heldObject{name, contentText(raw, false, false, mask), contentText(raw, true, false, mask)}
}

// reportOn opens a report on work, which returns what to show of its end.
func (c *Console) reportOn(r *report, work func(ctx context.Context, tell func(act.Notice)) (func(*report) tea.Cmd, error)) tea.Cmd {
	if c.report != nil {
		c.report.task.abandon()
	}
	c.report, c.verdictTop = r, 0
	if c.own() {
		c.push(inReport)
	} else {
		c.push(inNews)
	}
	office := c.cfg.Office
	var cmd tea.Cmd
	r.task, cmd = c.begin(func(ctx context.Context, tell func(act.Notice)) func() tea.Cmd {
		show, err := work(ctx, tell)
		problem := ""
		if err != nil {
			problem = office.explain(err)
		}
		return func() tea.Cmd {
			r.problem = problem
			if show == nil {
				return nil
			}
			cmd := show(r)
			r.fill()
			return cmd
		}
	})
	return cmd
}

// fill makes the text of the objects as they may be seen.
func (r *report) fill() {
	if len(r.objects) == 0 {
		r.body = nil
		return
	}
	var b strings.Builder
	for i, o := range r.objects {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(o.name + "\n")
		if r.revealed {
			b.WriteString(o.open)
		} else {
			b.WriteString(o.masked)
		}
	}
	width := 1
	if r.body != nil {
		width = r.body.width
	}
	r.body = newText(b.String(), width)
}

// reportHead are the report's lines above its objects.
func (c *Console) reportHead(w int) []string {
	st, r := &c.styles, c.report
	out := []string{""}
	if r.task.running() {
		out = append(out, hang("   ", st.text, r.doing, w)...)
		if len(r.task.notes) > 0 {
			out = append(append(out, ""), c.noteLines(r.task, 20, w)...)
		}
		say := "esc stops waiting."
		if r.changes {
			say = "esc stops waiting; what was asked for goes on without this console."
		}
		return append(append(out, ""), hang("   ", st.dim, say, w)...)
	}
	if r.problem != "" {
		out = append(out, hang("   ", st.word(model.Failed), r.problem, w)...)
		out = append(out, "")
	}
	if r.head != nil {
		out = append(append(out, r.head(w)...), "")
	}
	if notes := c.noteLines(r.task, 8, w); len(notes) > 0 {
		out = append(append(append(out, "   "+st.dim.in("on the way")), notes...), "")
	}
	return out
}

// reportRow is a line of who, its word, and more of it.
func (c *Console) reportRow(who, says, more string, w int) []string {
	st := &c.styles
	head := "   " + st.dim.in(fill(who, 9)) + st.title.in(fill(brief(says), 17)) + " "
	if w < 70 && more != "" {
		return append([]string{strings.TrimRight(head, " ")}, hang(strings.Repeat(" ", 12), st.text, brief(more), w)...)
	}
	return hang(head, st.text, brief(more), w)
}

// reportView draws the report over a body of h lines.
func (c *Console) reportView(h int) []string {
	r := c.report
	f := framed{title: r.title, focused: true}
	switch {
	case r.task.running():
		f.note = "reading"
		if r.changes {
			f.note = "waiting for its outcome"
		}
		if r.task.waits() {
			f.note = "an approval is pending"
		}
	case r.revealed:
		f.note, f.alarm = "REVEALED, r masks", true
	case c.mayReveal():
		f.note = c.styles.masked()
	}
	w := c.width - 2
	lines, rows := c.reportHead(w), 0
	if r.body != nil {
		r.body.resize(w-4, max(1, h-2))
		rows = len(r.body.starts)
	}
	total := len(lines) + rows
	c.verdictTop = max(0, min(c.verdictTop, total-(h-2)))
	if total > h-2 {
		f.footer = "lines " + number(c.verdictTop+1) + " to " + number(min(total, c.verdictTop+h-2)) + " of " + number(total)
	}
	var out []string
	for i := c.verdictTop; i < min(total, c.verdictTop+h-2); i++ {
		if i < len(lines) {
			out = append(out, lines[i])
			continue
		}
		line, starts := r.body.line(i - len(lines))
		out = append(out, "   "+c.styles.json(line, starts))
	}
	return c.styles.box(f, out, c.width, h)
}

// reportLength is how many lines the report has.
func (c *Console) reportLength() int {
	n := len(c.reportHead(c.width - 2))
	if c.report.body != nil {
		n += len(c.report.body.starts)
	}
	return n
}

// reportSource is the report as text, as it is shown.
func (c *Console) reportSource() string {
	s := strings.TrimSpace(ansi.Strip(strings.Join(c.reportHead(textMeasure), "\n")))
	if b := c.report.body; b != nil {
		s += "\n\n" + b.s
	}
	return s
}

// closeReport forgets it: nothing revealed stays in memory.
func (c *Console) closeReport() {
	if c.report != nil {
		c.report.task.abandon()
		c.report = nil
	}
}

// revealReport shows what was masked, or masks it again.
func (c *Console) revealReport() {
	c.report.revealed = !c.report.revealed
	c.report.fill()
}

// shownOf is a provider's ID in the report: a pseudonym until it is revealed.
func (c *Console) shownOf(field string) func(string) string {
	return func(id string) string { return c.private(field, id, c.report.revealed) }
}

// reconcile reads what the action and its stored provider state say now. It
// proposes no new submission, and makes none.
func (c *Console) reconcile() tea.Cmd {
	office, action, rows, through, mask := c.cfg.Office, c.turn.Action(), c.cfg.Rows, c.turn.Applied(), c.mask
	r := &report{title: "Reconcile", doing: "Reading the original action's status and result again, then once what its provider stored. Nothing is sent again."}
	return c.reportOn(r, func(ctx context.Context, tell func(act.Notice)) (func(*report) tea.Cmd, error) {
		got, err := office.At("", tell).Reconcile(ctx, action)
		if err != nil {
			return nil, err
		}
		var fresh []model.Row
		if rows != nil {
			// What the daemon says now is in the journal: the console's own turn is
			// judged by it too. A watch brings it in any case.
			fresh, _ = rows(ctx, through)
		}
		var objects []heldObject
		for _, e := range got.Evidence {
			if len(e.Output) > 0 {
				objects = append(objects, objectOf(e.Is+", as the provider holds it", e.Output, mask))
			}
		}
		return func(r *report) tea.Cmd {
			if c.frozen {
				c.hold(fresh)
			} else {
				c.apply(fresh)
			}
			r.objects = objects
			r.head = func(w int) []string { return c.reconciledLines(&got, w) }
			return nil
		}, nil
	})
}

func (c *Console) reconciledLines(got *act.Reconciled, w int) []string {
	st := &c.styles
	out := hang("   ", st.title, brief(got.Action)+"  "+brief(operationAt(got.Turn.Capability())), w)
	for _, l := range got.Lines(c.shownOf("id")) {
		out = append(out, c.reportRow(l.Who, l.Says, l.More, w)...)
	}
	k := st.text
	if got.Escalate {
		k = st.alarm
	}
	out = append(append(out, ""), hang("   ", k, brief(got.Finding), w)...)
	for _, s := range got.Advice {
		out = append(out, hang("   "+st.accent.in(st.glyphs.Chosen)+" ", st.text, brief(s), w)...)
	}
	return out
}

// response reads the stored response that the turn named.
func (c *Console) readResponse() tea.Cmd {
	office, endpoint, id, mask := c.cfg.Office, c.turn.Endpoint(), c.turn.ResponseID(), c.mask
	r := &report{title: "Stored response", doing: "Reading the stored response that the turn named."}
	return c.reportOn(r, func(ctx context.Context, tell func(act.Notice)) (func(*report) tea.Cmd, error) {
		got, err := office.At(endpoint, tell).Response(ctx, id)
		if err != nil {
			return nil, err
		}
		reply := hermes.ReadReply(hermes.OpResponses, got.Result.Output)
		calls := 0
		for _, o := range reply.Output {
			if o.Type == "function_call" {
				calls++
			}
		}
		whole := objectOf("the response", got.Result.Output, mask)
		return func(r *report) tea.Cmd {
			r.objects, r.response = []heldObject{whole}, id
			r.head = func(w int) []string {
				out := c.reportRow("response", cmp.Or(reply.Finish, "no status"), "ID "+c.shownOf("response_id")(id), w)
				out = append(out, c.reportRow("", "", counted(utf8.RuneCountInString(reply.Text), "character", "characters")+", "+counted(calls, "tool call", "tool calls"), w)...)
				return append(out, c.reportRow("read by", wordsOf(got.Verdict.Word), got.Action, w)...)
			}
			return nil
		}, nil
	})
}

// askDelete asks before a response is deleted.
func (c *Console) askDeleteResponse() {
	id := c.turn.ResponseID()
	c.window = &ask{st: &c.styles, title: "Delete the stored response", verb: "delete",
		lines: []string{"ID " + c.private("response_id", id, c.identityRevealed)},
		warns: []string{
			"Somebody must approve it first: until then it waits, and nothing runs.",
			"Model calls, tool effects, memory and session history stay. Where it was asked for before, that result is read and nothing is sent.",
		},
		do: func(c *Console, _ []string) tea.Cmd { return c.deleteResponse(id) },
	}
}

func (c *Console) deleteResponse(id string) tea.Cmd {
	office, endpoint := c.cfg.Office, c.turn.Endpoint()
	r := &report{title: "Delete the stored response", doing: "Asking for the delete, and following it to its outcome.", changes: true}
	return c.reportOn(r, func(ctx context.Context, tell func(act.Notice)) (func(*report) tea.Cmd, error) {
		got, err := office.At(endpoint, tell).DeleteResponse(ctx, act.Deletion{ID: id})
		if err != nil {
			return nil, err
		}
		return c.deleted(got, "response", "response_id", id,
			"The stored record and a conversation's pointer to it are deleted; model calls, tool effects, memory and session history stay."), nil
	})
}

// deleted shows a deletion's outcome.
func (c *Console) deleted(got act.Deleted, what, field, id, stays string) func(*report) tea.Cmd {
	done, _ := hermes.ReadDeletion(got.Result.Output)
	return func(r *report) tea.Cmd {
		r.head = func(w int) []string {
			says := "deleted"
			if !done.Deleted {
				says, stays = "not said", "The answer does not say that it was deleted: reconcile its action."
			}
			out := c.reportRow(what, says, "ID "+c.shownOf(field)(id), w)
			out = append(out, c.reportRow("action", wordsOf(got.Verdict.Word), got.Action, w)...)
			if got.Original {
				out = append(out, c.reportRow("", "", "asked before: this is the original action's result, and nothing was sent now", w)...)
			}
			return append(append(out, ""), hang("   ", c.styles.text, stays, w)...)
		}
		return nil
	}
}

// The report's abilities, for the key table.

func (c *Console) mayReveal() bool {
	return c.report != nil && !c.report.task.running() && !c.report.revealed && (c.report.head != nil || c.report.body != nil)
}
func (c *Console) reportRuns() bool   { return c.report.task.running() }
func (c *Console) reportStands() bool { return !c.report.task.running() }
func (c *Console) mayMask() bool      { return c.report != nil && c.report.revealed }

func (c *Console) mayReadResponse() bool {
	return c.hasOffice() && c.own() && c.turn.ResponseID() != "" && c.turn.Endpoint() != ""
}

func (c *Console) mayDeleteResponse() bool {
	return c.mayReadResponse() && (c.place() == inIdentity || c.report != nil && c.report.response != "")
}
