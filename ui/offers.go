package ui

import (
	"context"
	"errors"
	"slices"
	"strings"

	"aipscope/follow/act"
	"aipscope/model"
	"aipscope/model/hermes"

	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
)

// offers chooses one of the capabilities that the daemon offers.
type offers struct {
	st      *styles
	task    *task
	problem string
	all     []act.Offer
	found   []act.Offer
	prefer  string // the capability that is chosen at first
	input   textinput.Model
	list    list
	action  string // of the request that will be written
	key     string
}

// askSubmit opens the choice of a capability.
func (c *Console) askSubmit() tea.Cmd {
	d := &offers{st: &c.styles, input: newInput(), prefer: c.turn.Capability()}
	c.window = d
	cmd := c.offered(func(found []act.Offer, action, key, problem string) tea.Cmd {
		d.all, d.action, d.key, d.problem = found, action, key, problem
		d.sift()
		return nil
	}, &d.task)
	return cmd
}

// offered reads what the daemon offers, and makes the IDs of a new request.
func (c *Console) offered(then func(found []act.Offer, action, key, problem string) tea.Cmd, at **task) tea.Cmd {
	office := c.cfg.Office
	t, cmd := c.begin(func(ctx context.Context, _ func(act.Notice)) func() tea.Cmd {
		found, err := office.Offers(ctx)
		action, failed := office.NewAction()
		err = errors.Join(err, failed)
		key, problem := act.NewKey(), ""
		switch {
		case err != nil:
			problem = office.explain(err)
		case len(found) == 0:
			problem = "the daemon names no capability"
		}
		return func() tea.Cmd { return then(found, action, key, problem) }
	})
	*at = t
	return cmd
}

// sift lists the offers whose ID or terms have every word that was typed.
func (d *offers) sift() {
	words := strings.Fields(strings.ToLower(d.input.Value()))
	d.found = nil
	for _, o := range d.all {
		hay := strings.ToLower(o.ID + " " + o.Terms())
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(hay, w) }) {
			d.found = append(d.found, o)
		}
	}
	if id := strings.TrimSpace(d.input.Value()); len(d.all) == 0 && strings.HasPrefix(id, "cap:") && !d.task.running() && d.action != "" {
		// A daemon whose manifest cannot be read may take it all the same.
		o := act.Offer{}
		o.ID = id
		o.Endpoint, o.Operation, _ = hermes.ParseCapability(id)
		d.found = append(d.found, o)
	}
	d.list.grow(len(d.found))
	best := 0
	if len(words) == 0 {
		best = slices.IndexFunc(d.found, func(o act.Offer) bool { return o.ID == d.prefer })
		if best < 0 {
			best = slices.IndexFunc(d.found, func(o act.Offer) bool { return o.Operation == hermes.OpChatStream })
		}
	}
	d.list.choose(max(0, best))
}

func (d *offers) place() place { return inOffers }
func (d *offers) typed(msg tea.KeyMsg) {
	before := d.input.Value()
	if d.input, _ = d.input.Update(msg); d.input.Value() != before {
		d.sift()
	}
}
func (d *offers) move(m motion)   { d.list.move(m) }
func (d *offers) toggle()         {}
func (d *offers) mayAccept() bool { return len(d.found) > 0 }
func (d *offers) back(*Console) bool {
	d.task.abandon()
	return false
}

// accept opens the form of what is chosen; one that was left is there again.
func (d *offers) accept(c *Console) tea.Cmd {
	o := d.found[d.list.selected]
	if f := c.desk.draft; f != nil && f.offer.ID == o.ID {
		f.st = &c.styles
		c.window = f
		return nil
	}
	c.window = newForm(&c.styles, o, d.action, keyFor(o, d.key), nil)
	return nil
}

// keyFor is the key of a new request, where one is required.
func keyFor(o act.Offer, key string) string {
	if spec, _ := o.Operation.Spec(); o.Key == "required" || spec.NeedsKey {
		return key
	}
	return ""
}

func (d *offers) view(w, h int) []string {
	st := d.st
	w = min(w-4, 96)
	lines := []string{" " + st.dim.in("capability ") + st.field(d.input, max(1, w-16)), ""}
	rows := max(1, h-9)
	switch {
	case d.task.running():
		lines = append(lines, " "+st.dim.in("asking the daemon what it offers"))
		rows = 1
	case d.problem != "":
		lines = append(lines, hang(" ", st.word(model.Failed), d.problem+"; a capability's whole ID can be named", w-2)...)
	case len(d.found) == 0:
		lines = append(lines, " "+st.dim.in("nothing matches"))
	}
	d.list.resize(rows)
	from, to := d.list.window()
	for i := from; i < to; i++ {
		text := brief(d.found[i].ID)
		if i == d.list.selected {
			lines = append(lines, st.selected.in(fill(st.glyphs.Chosen+" "+text, w-2)))
			continue
		}
		lines = append(lines, "  "+st.text.in(cut(text, w-4)))
	}
	if d.mayAccept() {
		lines = append(append(lines, ""), hang(" ", st.text, d.found[d.list.selected].Terms(), w-2)...)
	}
	f := framed{title: "Submit", note: number(len(d.found)) + " of " + number(len(d.all)), focused: true}
	if len(d.all) > 0 {
		f.footer = "type to narrow the list"
	}
	return st.box(f, lines, w, min(h, len(lines)+2))
}

// writeTo opens the form of an operation at an endpoint, with some fields filled.
func (c *Console) writeTo(endpoint string, ops []hermes.Operation, set map[string]string, notes ...string) tea.Cmd {
	var t *task
	c.notice("asking the daemon what it offers…", c.styles.text)
	return c.offered(func(found []act.Offer, action, key, problem string) tea.Cmd {
		c.notice("", ink{})
		for _, op := range ops {
			if o, ok := act.Find(found, op.Capability(endpoint)); ok && problem == "" && c.window == nil && c.desk.shown == c {
				f := c.desk.draft
				if f == nil || f.offer.ID != o.ID || !f.holds(set) {
					f = newForm(&c.styles, o, action, keyFor(o, key), set)
				}
				f.st, f.notes = &c.styles, notes
				c.window = f
				return nil
			}
		}
		if problem == "" {
			problem = "the daemon does not offer " + string(ops[0]) + " at " + brief(endpoint)
		}
		c.notice(problem, c.styles.word(model.Failed))
		return nil
	}, &t)
}

// runAsking is the run whose approval is asked for, or "". The approvals of other
// streams cannot be answered through the daemon.
func (c *Console) runAsking() string {
	if wait, r := c.turn.Waiting(), c.turn.Request(); wait != nil && wait.Kind == "approval" && r != nil && c.turn.Operation() == hermes.OpRunEvents && !c.over() {
		return hermes.Target(hermes.OpRunEvents, r.Input)
	}
	return ""
}

// answerApproval opens the form of the answer.
func (c *Console) answerApproval() tea.Cmd {
	return c.writeTo(c.turn.Endpoint(), []hermes.Operation{hermes.OpRunApproval}, map[string]string{"run_id": c.runAsking()},
		"The answer lets the run's tool go on, or stops it. It needs an approval of its own.")
}

func (c *Console) mayAnswer() bool { return c.maySubmit() && c.own() && c.runAsking() != "" }
func (c *Console) maySubmit() bool { return c.hasOffice() && c.desk != nil }
