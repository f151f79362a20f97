package ui

import (
	"context"
	"encoding/json"
	"errors"

	"aipscope/follow/act"
	"aipscope/model"
	"aipscope/model/safe"

	tea "github.com/charmbracelet/bubbletea"
)

// Office is what the consoles of one daemon may do beside watching. Its functions
// are called inside commands only.
type Office struct {
	// Offers returns what the daemon offers.
	Offers func(ctx context.Context) ([]act.Offer, error)
	// At returns what acts at an endpoint, "" for where any will do. tell hears what
	// its calls meet on their way.
	At func(endpoint string, tell func(act.Notice)) Acts
	// NewAction makes the ID of an action.
	NewAction func() (string, error)
	// KeyUse says which earlier request of the journal has the same key, or "".
	KeyUse func(ctx context.Context, action string, req model.Request) (string, error)
	// Submit journals a checked request, sends it once and begins to watch it. With
	// act.ErrKnown nothing was sent, and the action that is known already is watched.
	Submit func(ctx context.Context, action string, req model.Request) (Config, error)
	// ReadFile reads a file that a form names.
	ReadFile func(path string) ([]byte, error)
	// Explain puts an error into the user's words.
	Explain func(error) string
	// Mask makes private JSON fit to be shown unasked. Several goroutines may call it.
	Mask func(json.RawMessage) json.RawMessage
}

// Acts is what can be done at an endpoint; an act.Caller does it.
type Acts interface {
	Reconcile(ctx context.Context, action string) (act.Reconciled, error)
	Response(ctx context.Context, id string) (act.Reply, error)
	DeleteResponse(ctx context.Context, d act.Deletion) (act.Deleted, error)
	Sessions(ctx context.Context, o act.ListOptions) (act.SessionList, error)
	Session(ctx context.Context, id string) (act.SessionReply, error)
	Messages(ctx context.Context, id string) (act.Transcript, error)
	Current(ctx context.Context, id string) (string, error)
	CreateSession(ctx context.Context, n act.NewSession) (act.SessionReply, error)
	PatchSession(ctx context.Context, p act.Patch) (act.SessionReply, error)
	ForkSession(ctx context.Context, f act.Fork) (act.Forked, error)
	DeleteSession(ctx context.Context, d act.Deletion) (act.Deleted, error)
}

// task is work that runs in a command, and what it has met so far.
type task struct {
	notes []act.Notice
	news  chan act.Notice
	stop  context.CancelFunc
	over  bool
}

// noteMsg is what a task met, and endMsg its end: then takes in what it brought.
type (
	noteMsg struct {
		task *task
		note act.Notice
	}
	endMsg struct {
		task *task
		then func() tea.Cmd
	}
)

// begin returns the command that works, and its task. What work returns is called
// in Update, unless the task was stopped before.
func (c *Console) begin(work func(ctx context.Context, tell func(act.Notice)) func() tea.Cmd) (*task, tea.Cmd) {
	ctx, stop := context.WithCancel(c.ctx)
	t := &task{news: make(chan act.Notice), stop: stop}
	tell := func(n act.Notice) {
		select {
		case t.news <- n:
		case <-ctx.Done():
		}
	}
	run := func() tea.Msg {
		defer stop() // what was held for the work is released
		defer close(t.news)
		return endMsg{t, work(ctx, tell)}
	}
	return t, tea.Batch(run, t.listen)
}

// listen waits for the next notice.
func (t *task) listen() tea.Msg {
	n, ok := <-t.news
	if !ok {
		return nil
	}
	return noteMsg{t, n}
}

// running reports whether the end of a task is awaited.
func (t *task) running() bool { return t != nil && !t.over }

// abandon ends the waiting. What the task had sent goes on.
func (t *task) abandon() {
	if t.running() {
		t.over = true
		t.stop()
	}
}

func (c *Console) takeNote(m noteMsg) tea.Cmd {
	if m.task.running() {
		m.task.notes = append(m.task.notes, m.note)
		c.dirty = true
	}
	return m.task.listen
}

func (c *Console) takeEnd(m endMsg) tea.Cmd {
	if m.task.over {
		return nil
	}
	m.task.over = true
	c.dirty = true
	return m.then()
}

// noteLines are what a task met: the last ones, where there are more than most.
func (c *Console) noteLines(t *task, most, w int) []string {
	st := &c.styles
	var out []string
	for _, n := range t.notes[max(0, len(t.notes)-most):] {
		k := st.dim
		switch n.Kind {
		case act.NoticeWaiting:
			k = st.word(model.AwaitingApproval)
		case act.NoticeWarning:
			k = st.word(model.Unconfirmed)
		}
		out = append(out, hang("   "+st.accent.in(st.glyphs.Chosen)+" ", k, brief(n.Text), w)...)
	}
	return out
}

// waits reports whether the last that a task met is a pending approval.
func (t *task) waits() bool {
	return t.running() && len(t.notes) > 0 && t.notes[len(t.notes)-1].Kind == act.NoticeWaiting
}

// explain is an error in the user's words.
func (o *Office) explain(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "it was stopped"
	case o.Explain != nil:
		return safe.Line(o.Explain(err))
	}
	return brief(err.Error())
}

// The office's abilities, for the key table.

func (c *Console) hasOffice() bool { return c.cfg.Office != nil }
func (c *Console) mayReconcile() bool {
	return c.hasOffice() && c.own() && !(c.place() == inReport && c.report.task.running())
}

// shouldReconcile reports whether the verdict leaves open what happened.
func (c *Console) shouldReconcile() bool {
	return c.mayReconcile() && (c.verdict.Word == model.Incomplete || c.verdict.Word == model.Contradicted)
}

// own reports whether the console shows an action of its own.
func (c *Console) own() bool { return c.actions == nil && c.browser == nil }
