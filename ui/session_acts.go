package ui

import (
	"context"
	"strings"

	"aipscope/follow/act"
	"aipscope/model"
	"aipscope/model/hermes"

	tea "github.com/charmbracelet/bubbletea"
)

// wrong says what a request's check finds, or "".
func wrong(found []hermes.Finding) string {
	lines := make([]string, len(found))
	for i, n := range found {
		lines[i] = brief(n.String())
	}
	return strings.Join(lines, "; ")
}

// askFork asks for a child's ID and title.
func (c *Console) askFork(id string) {
	typed := func(v []string) act.Fork {
		return act.Fork{ID: id, Child: strings.TrimSpace(v[0]), Title: strings.TrimSpace(v[1])}
	}
	c.window = &ask{
		st: &c.styles, title: "Fork the session", verb: "forks",
		lines: []string{"Copies the active messages of " + c.shownSession(id) + " to a child."},
		fields: []askField{
			newAskField("child's ID", "one is made when empty, so that the child can be looked up", ""),
			newAskField("title", "the source's, numbered, when empty; one that is taken fails half-way", ""),
		},
		warns: []string{"A fork is not atomic: it ends an open source and writes the child before it looks at the title. Both are looked up afterwards, whatever it answers."},
		allow: func(v []string) string { return wrong(typed(v).Check()) },
		do:    func(c *Console, v []string) tea.Cmd { return c.fork(typed(v)) },
	}
}

func (c *Console) fork(f act.Fork) tea.Cmd {
	office, endpoint := c.cfg.Office, c.browser.endpoint
	r := &report{title: "Fork", doing: "Forking, then looking at the source and at the child.", changes: true}
	return c.reportOn(r, func(ctx context.Context, tell func(act.Notice)) (func(*report) tea.Cmd, error) {
		got, err := office.At(endpoint, tell).ForkSession(ctx, f)
		if got.Source.ID == "" { // nothing was sent, or it was stopped
			return nil, err
		}
		source, child := c.foundObjects(got.Source), c.foundObjects(got.Child)
		return func(r *report) tea.Cmd {
			r.objects = append(source("the source"), child("the child")...)
			r.head = func(w int) []string { return c.forkedLines(&got, err, w) }
			return c.readSessions(true)
		}, err
	})
}

// foundObjects makes the object of a session that was looked up.
func (c *Console) foundObjects(f act.Found) func(name string) []heldObject {
	if f.Session == nil {
		return func(string) []heldObject { return nil }
	}
	o := objectOf("", f.Session.Raw, c.mask)
	return func(name string) []heldObject {
		o.name = name
		return []heldObject{o}
	}
}

func (c *Console) forkedLines(got *act.Forked, failed error, w int) []string {
	st := &c.styles
	var out []string
	shown := c.shownOf("session_id")
	for _, x := range []struct {
		is string
		act.Found
	}{{"source", got.Source}, {"child", got.Child}} {
		says, more := "not there", "ID "+shown(x.ID)
		switch {
		case x.Err != nil:
			says, more = "not read", more+", "+c.cfg.Office.explain(x.Err)
		case x.Session != nil:
			says = "open"
			if !x.Session.Open() {
				says = "ended"
				if x.Session.EndReason == "branched" {
					says = "ended: branched"
				}
			}
			more += ", " + counted(x.Session.MessageCount, "message", "messages")
			switch x.Session.Parent {
			case "":
			case got.Source.ID:
				more += ", its parent is the source"
			default:
				more += ", its parent is another session"
			}
		}
		out = append(out, c.reportRow(x.is, says, more, w)...)
	}
	if got.Action != "" {
		out = append(out, c.reportRow("action", wordsOf(got.Verdict.Word), got.Action, w)...)
	}
	switch s := got.Source.Session; {
	case failed != nil:
		out = append(append(out, ""), hang("   ", st.text, "Something may have been written all the same: look at both before anything else. Nothing is sent again.", w)...)
	case s != nil && s.EndReason != "branched":
		out = append(append(out, ""), hang("   ", st.text, "The source had ended for another reason: lists may not show the child. Keep its ID; t lists it with the children.", w)...)
	}
	return out
}

// askPatch asks for a title and an end reason.
func (c *Console) askPatch(id string) {
	title := ""
	if r := c.browser.selected(); r != nil && r.is.ID == id && c.browser.revealed {
		title = r.is.Title
	}
	typed := func(v []string) act.Patch {
		p := act.Patch{ID: id, EndReason: strings.TrimSpace(v[1])}
		if t := strings.TrimSpace(v[0]); t == "-" {
			p.Title = new(string)
		} else if t != "" {
			p.Title = &t
		}
		return p
	}
	c.window = &ask{
		st: &c.styles, title: "Change the session", verb: "changes it",
		lines: []string{"Session " + c.shownSession(id)},
		fields: []askField{
			newAskField("title", "left as it is when empty; - clears it", title),
			newAskField("end reason", "closes an open session; the first reason stays. An ended session still takes turns.", ""),
		},
		allow: func(v []string) string {
			if strings.TrimSpace(v[0]) == "" && strings.TrimSpace(v[1]) == "" {
				return "nothing would change"
			}
			return wrong(typed(v).Check())
		},
		do: func(c *Console, v []string) tea.Cmd {
			p := typed(v)
			return c.sessionCall("Change the session", "Changing the session.", func(ctx context.Context, a Acts) (act.SessionReply, error) { return a.PatchSession(ctx, p) })
		},
	}
}

// askCreate asks what a new session is made of.
func (c *Console) askCreate() {
	typed := func(v []string) act.NewSession {
		return act.NewSession{ID: strings.TrimSpace(v[0]), Title: strings.TrimSpace(v[1])}
	}
	c.window = &ask{
		st: &c.styles, title: "Make a session", verb: "makes it",
		fields: []askField{
			newAskField("ID", "the provider makes one when empty", ""),
			newAskField("title", "unique in the endpoint's database, at most 100 characters", ""),
		},
		allow: func(v []string) string { return wrong(typed(v).Check()) },
		do: func(c *Console, v []string) tea.Cmd {
			n := typed(v)
			return c.sessionCall("Make a session", "Making the session.", func(ctx context.Context, a Acts) (act.SessionReply, error) { return a.CreateSession(ctx, n) })
		},
	}
}

// sessionCall makes a call that answers with a session, and shows it.
func (c *Console) sessionCall(title, doing string, call func(context.Context, Acts) (act.SessionReply, error)) tea.Cmd {
	office, endpoint, mask := c.cfg.Office, c.browser.endpoint, c.mask
	r := &report{title: title, doing: doing, changes: true}
	return c.reportOn(r, func(ctx context.Context, tell func(act.Notice)) (func(*report) tea.Cmd, error) {
		got, err := call(ctx, office.At(endpoint, tell))
		if err != nil {
			return nil, err
		}
		whole := objectOf("the session", got.Session.Raw, mask)
		return func(r *report) tea.Cmd {
			r.objects = []heldObject{whole}
			r.head = func(w int) []string {
				out := c.reportRow("session", map[bool]string{true: "open", false: "ended"}[got.Session.Open()], "ID "+c.shownOf("session_id")(got.Session.ID), w)
				out = append(out, c.reportRow("action", wordsOf(got.Verdict.Word), got.Action, w)...)
				return append(out, c.reportRow("", "", "key "+got.Key, w)...)
			}
			c.browser.id = got.Session.ID
			return c.readSessions(true)
		}, nil
	})
}

// askDeleteSession asks before a session is deleted.
func (c *Console) askDeleteSession(id string) {
	c.window = &ask{
		st: &c.styles, title: "Delete the session", verb: "asks for it",
		lines: []string{"Session " + c.shownSession(id)},
		warns: []string{
			"Somebody must approve it first: until then it waits, and nothing runs.",
			"The row, its messages and delegates' children go. Branches and continuations stay, as do transcript and dump files, memory, stored responses and external effects.",
			"Where it was asked for before, that result is read and nothing is sent.",
		},
		do: func(c *Console, _ []string) tea.Cmd { return c.deleteSession(id) },
	}
}

func (c *Console) deleteSession(id string) tea.Cmd {
	office, endpoint := c.cfg.Office, c.browser.endpoint
	r := &report{title: "Delete the session", doing: "Asking for the delete, and following it to its outcome.", changes: true}
	return c.reportOn(r, func(ctx context.Context, tell func(act.Notice)) (func(*report) tea.Cmd, error) {
		got, err := office.At(endpoint, tell).DeleteSession(ctx, act.Deletion{ID: id})
		if err != nil {
			return nil, err
		}
		show := c.deleted(got, "session", "session_id", id, "Its row, its messages and delegates' children are deleted; branches and continuations stay, as do files, memory, stored responses and external effects.")
		return func(r *report) tea.Cmd {
			show(r)
			c.browser.transcript = nil
			return c.readSessions(true)
		}, nil
	})
}

// continueSession opens the form of a session's next turn: in the session that the
// last turn returned, which compression may have made new.
func (c *Console) continueSession(id string) tea.Cmd {
	office, endpoint := c.cfg.Office, c.browser.endpoint
	c.notice("looking at the session…", c.styles.text)
	_, cmd := c.begin(func(ctx context.Context, tell func(act.Notice)) func() tea.Cmd {
		acts := office.At(endpoint, tell)
		now, err := acts.Current(ctx, id)
		notes := []string{"An accepted turn proves neither that earlier history was loaded nor that the turn was stored: the messages show what is there."}
		if err == nil && now != id {
			notes = append(notes, "It goes on in another session, which the last turn returned and which is used.")
		}
		var problem string
		if err == nil {
			var r act.SessionReply
			r, err = acts.Session(ctx, now)
			switch {
			case act.Absent(err):
				problem = "no turn can be sent: " + office.explain(err)
			case err != nil && ctx.Err() == nil:
				notes = append(notes, "The session could not be looked at first: "+office.explain(err))
				err = nil
			case err == nil && !r.Session.Open():
				notes = append(notes, "The session has ended, and takes turns all the same.")
			}
		}
		if err != nil && problem == "" {
			problem = office.explain(err)
		}
		return func() tea.Cmd {
			if problem != "" {
				c.notice(problem, c.styles.word(model.Failed))
				return nil
			}
			return c.writeTo(endpoint, []hermes.Operation{hermes.OpSessionChatStream, hermes.OpSessionChat}, map[string]string{"session_id": now}, notes...)
		}
	})
	return cmd
}
