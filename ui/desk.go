package ui

import (
	"context"
	"slices"
	"time"

	"aipscope/model"
	"aipscope/model/safe"

	tea "github.com/charmbracelet/bubbletea"
)

// Listed is an action as journal and daemon know it. Its texts come from outside.
type Listed struct {
	Action, URL, Capability string
	State                   string     // the daemon's word, "" when it was not asked or does not know it
	Verdict                 model.Word // as last worked out here, "" when it is not known
	Held                    bool       // the journal has something of it
	Chunks                  int        // in the journal
	Last                    time.Time  // when anything was last heard of it
}

// DeskConfig is what a desk may do. Functions are called inside commands only.
type DeskConfig struct {
	// List returns the actions, the last touched first, and what could not be read:
	// the journal's may be there although the daemon does not answer.
	List func(ctx context.Context) ([]Listed, error)
	// Judge works out the verdict of an action of the journal, for the list.
	Judge func(ctx context.Context, which Listed) (model.Word, error)
	// Open begins to watch an action.
	Open func(ctx context.Context, which Listed) (Config, error)

	// Office is what can be done at the desk's daemon, or nil.
	Office *Office

	Printer  *Printer // as of Config, and for all consoles
	Suspends bool     // as of Config
	Endpoint string   // for the list's header
	Keys     Keymap
	Look     Look
	Clock    func() time.Time // time.Now when nil
}

// Desk is the screen of several actions: one console for each that is watched,
// and the list of all. Consoles that are not in sight keep reading.
type Desk struct {
	cfg     DeskConfig
	ctx     context.Context
	watched []*Console
	home    *Console // shows the list
	library *Console // shows sessions; nil before it was asked for
	draft   *form    // of a submission, that was left
	shown   *Console
	before  *Console // shown before the list
	w, h    int
}

// consoleMsg is a message for one of the desk's consoles.
type consoleMsg struct {
	to  *Console
	msg tea.Msg
}

// openedMsg brings what a console needs to watch an action.
type openedMsg struct {
	which Listed
	cfg   Config
	err   error
}

// NewDesk returns a desk that watches the given actions, the first in sight; of
// none, it shows the list. The context ends its commands.
func NewDesk(ctx context.Context, cfg DeskConfig, watch ...Config) *Desk {
	d := &Desk{cfg: cfg, ctx: ctx}
	d.home = New(ctx, Config{Look: cfg.Look, Keys: cfg.Keys, Suspends: cfg.Suspends, Clock: cfg.Clock, Office: cfg.Office, Printer: cfg.Printer})
	d.home.desk = d
	d.home.done = true // no watch of its own
	d.home.actions = newActionsPane(&d.home.styles)
	for _, w := range watch {
		d.add(w)
	}
	d.shown = d.home
	if len(d.watched) > 0 {
		d.shown = d.watched[0]
	}
	return d
}

func (d *Desk) add(cfg Config) *Console {
	cfg.Printer = d.cfg.Printer
	c := New(d.ctx, cfg)
	c.desk = d
	d.watched = append(d.watched, c)
	return c
}

// Watched are the consoles, in the order in which they were opened.
func (d *Desk) Watched() []*Console { return d.watched }

// Source says which action a console shows.
func (c *Console) Source() (url, action string) { return c.cfg.URL, c.turn.Action() }

// Shown is the console in sight, or that was before the list.
func (d *Desk) Shown() *Console {
	if !d.shown.own() {
		return d.before
	}
	return d.shown
}

// Rest is what a plain screen said last and did not print yet.
func (d *Desk) Rest() string {
	if d.cfg.Printer == nil {
		return ""
	}
	return d.cfg.Printer.Rest()
}

// Close ends the commands that still run.
func (d *Desk) Close() {
	for _, c := range d.all() {
		c.Close()
	}
}

func (d *Desk) all() []*Console {
	all := append(slices.Clone(d.watched), d.home)
	if d.library != nil {
		all = append(all, d.library)
	}
	return all
}

// Init starts the consoles.
func (d *Desk) Init() tea.Cmd {
	var cmds []tea.Cmd
	for _, c := range d.watched {
		cmds = append(cmds, d.of(c, c.Init()))
	}
	if d.shown == d.home {
		cmds = append(cmds, d.reload())
	}
	return tea.Batch(cmds...)
}

// View is the frame of the console in sight.
func (d *Desk) View() string { return d.shown.View() }

// Update hands a message to the console that it is for: keys and sizes to the one
// in sight.
func (d *Desk) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if d.cfg.Printer == nil {
		return d.update(msg)
	}
	d.shown.listen(msg)
	was := d.shown
	_, cmd := d.update(msg)
	if to, ok := msg.(consoleMsg); ok {
		if msg = to.msg; to.to != d.shown {
			return d, cmd
		}
	}
	if d.shown != was {
		d.shown.said.begun, d.shown.said.lines = false, nil // say where we are
	}
	return d, tea.Batch(cmd, d.shown.tellAll(msg))
}

func (d *Desk) update(msg tea.Msg) (tea.Model, tea.Cmd) {
	c := d.shown
	switch m := msg.(type) {
	case tea.WindowSizeMsg:
		d.w, d.h = m.Width, m.Height
	case openedMsg:
		return d, d.opened(m)
	case LeaveMsg:
		return d, d.quit()
	case consoleMsg:
		c, msg = m.to, m.msg
		if _, ok := msg.(tickMsg); ok && c != d.shown {
			c.ticking = false // nothing moves that is not in sight
			return d, nil
		}
	}
	was := c.told
	_, cmd := c.Update(msg)
	cmd = tea.Batch(cmd, d.followOwner(c))
	if _, ok := msg.(batchMsg); ok && !was && c.told && c.turn.Settled() && c != d.shown {
		d.shown.notice(shortID(c.turn.Action())+" has its outcome: "+wordText(c.verdict.Word), c.styles.word(c.verdict.Word))
		d.shown.dirty = true
	}
	if d.shown == d.home && c != d.home {
		d.home.sift() // the list tells of all
		d.home.dirty = true
	}
	return d, d.of(c, cmd)
}

// followOwner watches the action whose result a submission of this console was
// answered with, because its key is that one's.
func (d *Desk) followOwner(c *Console) tea.Cmd {
	next, _ := c.turn.Successor()
	if next == "" || c.cfg.Posted == nil || c.moved || d.cfg.Open == nil {
		return nil
	}
	c.moved = true
	if d.shown != c {
		return nil
	}
	cmd := d.open(Listed{Action: next, URL: c.cfg.URL})
	c.notice("Its key is another action's, which is watched instead.", c.styles.word(model.Unconfirmed))
	return cmd
}

// of makes what a console's command brings a message for that console.
func (d *Desk) of(c *Console, cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		switch m := cmd().(type) {
		case nil:
			return nil
		case tea.BatchMsg:
			for i := range m {
				m[i] = d.of(c, m[i])
			}
			return m
		case consoleMsg, openedMsg, tea.QuitMsg, tea.SuspendMsg:
			return m
		default:
			return consoleMsg{c, m}
		}
	}
}

// show brings a console into sight.
func (d *Desk) show(c *Console) tea.Cmd {
	if d.shown.own() {
		d.before = d.shown
	}
	if d.library != nil && c != d.library {
		d.library.maskSessions() // they are revealed for as long as they are open
	}
	d.shown = c
	c.dirty = true
	if d.w > 0 && (c.width != d.w || c.height != d.h) {
		c.width, c.height = d.w, d.h
		c.layout()
	}
	if c == d.home {
		return d.reload()
	}
	return d.of(c, tea.Batch(c.tick(), c.layTranscript()))
}

// cycle shows a neighbour among the watched actions.
func (d *Desk) cycle(step int) tea.Cmd {
	n := len(d.watched)
	i := slices.Index(d.watched, d.shown)
	return d.show(d.watched[(i+step+n)%n])
}

// open shows the console of an action, and begins to watch it if nobody does.
func (d *Desk) open(which Listed) tea.Cmd {
	if c := d.console(which); c != nil {
		return d.show(c)
	}
	d.home.notice("opening "+shortID(which.Action)+"…", d.home.styles.text)
	ctx, open := d.ctx, d.cfg.Open
	return func() tea.Msg {
		cfg, err := open(ctx, which)
		return openedMsg{which, cfg, err}
	}
}

// console finds the one that watches an action.
func (d *Desk) console(which Listed) *Console {
	for _, c := range d.watched {
		if c.turn.Action() == which.Action && (c.cfg.URL == "" || which.URL == "" || c.cfg.URL == which.URL) {
			return c
		}
	}
	return nil
}

func (d *Desk) opened(m openedMsg) tea.Cmd {
	d.home.dirty = true
	if m.err != nil {
		d.home.notice("It cannot be opened: "+safe.Line(m.err.Error()), d.home.styles.word(model.Failed))
		return nil
	}
	d.home.notice("", ink{})
	if c := d.console(m.which); c != nil {
		return d.show(c) // asked for twice
	}
	c := d.add(m.cfg)
	return tea.Batch(d.show(c), d.of(c, c.Init()))
}

// leave ends every console, as its operator leaves.
func (d *Desk) leave() tea.Cmd {
	for _, c := range d.all() {
		c.left = true
	}
	return d.quit()
}

func (d *Desk) quit() tea.Cmd {
	for _, c := range d.all() {
		c.quit()
	}
	return tea.Quit
}

// goingOn counts the watched actions that leaving would not see the end of.
func (d *Desk) goingOn() int {
	n := 0
	for _, c := range d.watched {
		if !c.over() {
			n++
		}
	}
	return n
}

// reload reads the list again.
func (d *Desk) reload() tea.Cmd {
	p := d.home.actions
	p.loading = true
	p.id++
	ctx, list, id := d.ctx, d.cfg.List, p.id
	return d.of(d.home, func() tea.Msg {
		found, err := list(ctx)
		return listMsg{id, found, err}
	})
}

// later reads the list again after a while, as long as it is in sight and
// something in it moves.
func (d *Desk) later() tea.Cmd {
	id := d.home.actions.id
	if d.shown != d.home || !d.home.actions.moving() {
		return nil
	}
	ctx := d.ctx
	return d.of(d.home, func() tea.Msg {
		t := time.NewTimer(relist)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		return relistMsg{id}
	})
}

// relist is how often a list with actions in flight is read again.
const relist = 5 * time.Second

// relistMsg asks for that.
type relistMsg struct{ id int }

// The desk's abilities, for the key table: a console may be alone.

func (c *Console) mayList() bool { return c.desk != nil && c.desk.cfg.List != nil && c.actions == nil }
func (c *Console) maySwitch() bool {
	return c.desk != nil && len(c.desk.watched) > 1 && c.actions == nil
}
func (c *Console) mayReturn() bool {
	return c.actions != nil && c.desk.before != nil && !c.mayClear()
}
func (c *Console) mayWatch() bool {
	return c.actions.selected() != nil && (c.desk.cfg.Open != nil || c.desk.console(*c.actions.selected()) != nil)
}

// goingOn counts the actions that go on when the console is left.
func (c *Console) goingOn() int {
	switch {
	case c.desk != nil:
		return c.desk.goingOn()
	case c.over():
		return 0
	}
	return 1
}
