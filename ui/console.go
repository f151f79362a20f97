package ui

import (
	"context"
	"encoding/json"
	"time"

	"aipscope/follow"
	"aipscope/follow/act"
	"aipscope/model"

	tea "github.com/charmbracelet/bubbletea"
)

// Config is what a console shows and may do. Functions are called inside
// commands only; one that is nil is an ability that this console does not have,
// and its key does not work.
type Config struct {
	Action     string
	Capability string // as asked for; the turn's own wins once it is known
	Endpoint   string // for the header
	URL        string // the daemon's, to tell actions of the same ID apart

	// Batches returns the next batch, as (*follow.Watch).Next does. When its
	// context ends it returns an error and loses nothing.
	Batches func(ctx context.Context) (follow.Batch, error)
	// Row reads one row of the journal.
	Row func(ctx context.Context, number int64) (model.Row, error)
	// Cancel asks for cancellation and stays until its outcome can be told, as
	// act.Actor's does.
	Cancel func(ctx context.Context, reason string) (act.Cancelled, error)
	// Confirm journals the operator's word, and returns the journal's rows above
	// said.Through, its own among them.
	Confirm func(ctx context.Context, said model.Confirmation) ([]model.Row, error)
	// What the operator confirmed beforehand, of every tool and of the answer: it
	// is journaled once the action has settled.
	SaidEffects, SaidAnswer bool
	// Rows reads the journal's rows above a number, or is nil.
	Rows func(ctx context.Context, after int64) ([]model.Row, error)
	// Office is what can be done at the action's daemon beside watching, or nil.
	Office *Office
	// Posted waits for the answer to the action's submission, where this console made
	// it; its error is why the daemon did not take it.
	Posted func(ctx context.Context) error
	// Mask makes private JSON fit to be shown unasked. Several goroutines may call it.
	Mask func(json.RawMessage) json.RawMessage

	// Export writes the action's journal to a new file, masked unless revealed, and
	// Save a text.
	Export func(ctx context.Context, path string, reveal bool) error
	Save   func(ctx context.Context, path string, text []byte) error
	// Terminal writes a sequence that draws nothing: the clipboard, a bell.
	Terminal func(sequence string) error
	Tmux     bool   // the terminal is tmux, which passes on less
	Notify   Notify // when an outcome comes

	// Printer takes what a plain screen says; without one it is drawn in frames.
	Printer *Printer

	Keys     Keymap
	Suspends bool // the system has job control: ctrl+z works

	Look  Look
	Clock func() time.Time // time.Now when nil
}

type paneID int

const (
	paneAssistant paneID = iota
	paneTools
	paneChunks
	panes
)

// Console is the screen of one action.
type Console struct {
	cfg    Config
	ctx    context.Context
	stop   context.CancelFunc
	styles styles

	turn    *model.Turn
	verdict model.Verdict

	link       follow.Link
	linkAt     time.Time
	duplicates int
	reconnects int
	lag        time.Duration
	lastBatch  time.Time
	history    bool // what came last was in the journal before
	done       bool // the watch ended
	err        error

	frozen   bool
	frozenAt time.Time
	held     held

	width, height int
	focus         paneID
	zoomed        bool
	assistant     assistantPane
	tools         toolsPane
	chunks        chunksPane

	views       []place // opened over the panes, the last one in sight
	sheet       sheet
	toolShown   int64         // row of the open tool when it was shown
	resultShown *model.Result // of the open chunk's sheet
	othersShown int           // other content that it shows
	verdictTop  int
	helping     bool
	prompt      *prompt
	past        *past
	traceID     int // of the trace that is awaited
	cancelling  *cancelDialog
	confirming  *confirmDialog
	window      window // a dialog, or nil
	told        bool   // that the outcome is there

	identityRevealed bool
	report           *report

	moved      bool // the action that holds the key was opened
	saidBefore bool // what was confirmed beforehand is on its way

	cancelSent    bool
	cancelSentAt  time.Time
	cancelOutcome *act.Cancelled

	asked     bool // whether to leave
	noticed   string
	noticeInk ink
	left      bool
	ticking   bool

	desk    *Desk        // nil for a console alone
	actions *actionsPane // nil but in the console that shows the list
	browser *browser     // nil but in the console that shows sessions

	printer *Printer // nil where frames are drawn
	said    said

	frame   string
	dirty   bool
	squeeze squeezer
}

// New returns the console of an action. The context ends its commands.
func New(ctx context.Context, cfg Config) *Console {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	c := &Console{cfg: cfg, turn: model.NewTurn(cfg.Action), dirty: true}
	c.ctx, c.stop = context.WithCancel(ctx)
	c.styles = newStyles(cfg.Look)
	if cfg.Look.PlainScreen && cfg.Printer != nil {
		c.printer = cfg.Printer
		c.styles.speak()
	}
	c.verdict = c.turn.Verdict()
	c.assistant = assistantPane{st: &c.styles, document: cfg.Look.documents()}
	c.tools = toolsPane{st: &c.styles}
	c.chunks = newChunksPane(&c.styles)
	c.sheet.st = &c.styles
	c.assistant.update(c.turn)
	return c
}

// Turn is what is known of the action.
func (c *Console) Turn() *model.Turn { return c.turn }

// Left reports whether the operator left before the verdict.
func (c *Console) Left() bool { return c.left && !c.turn.Settled() }

// Err is why the watch ended without an outcome, or nil.
func (c *Console) Err() error { return c.err }

// Close ends the commands that still run.
func (c *Console) Close() { c.stop() }

func (c *Console) now() time.Time { return c.cfg.Clock() }

// over reports whether there is nothing to wait for: leaving loses nothing.
func (c *Console) over() bool { return c.turn.Settled() || c.done || c.held.outcome }

// Init starts the one wait for batches and the clock.
func (c *Console) Init() tea.Cmd { return tea.Batch(c.ask(), c.tick(), c.awaitPosted()) }

// tickMsg moves the times on the screen.
type tickMsg struct{}

// tick wakes the console once a second while a time on the screen moves.
func (c *Console) tick() tea.Cmd {
	if c.ticking || (c.done || c.styles.plain) && !c.cancelPending() {
		return nil
	}
	c.ticking = true
	ctx := c.ctx
	return func() tea.Msg {
		t := time.NewTimer(time.Second)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		return tickMsg{}
	}
}

func (c *Console) cancelPending() bool { return c.cancelSent && c.cancelOutcome == nil }

// Update takes in one message. It starts commands and does no I/O.
func (c *Console) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if c.desk != nil || c.printer == nil {
		return c.update(msg)
	}
	c.listen(msg)
	_, cmd := c.update(msg)
	return c, tea.Batch(cmd, c.tellAll(msg))
}

func (c *Console) update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		c.width, c.height = msg.Width, msg.Height
		if c.printer != nil { // what is said needs no room
			c.width, c.height = max(c.width, minWidth), max(c.height, minHeight)
		}
		c.layout()
		return c, c.layTranscript()
	case batchMsg:
		return c, tea.Batch(c.take(msg), c.refreshSheet(), c.scanning())
	case tickMsg:
		c.ticking = false
		if c.ctx.Err() != nil {
			return c, nil
		}
		c.dirty = true
		return c, c.tick()
	case scanMsg:
		return c, c.scanned(msg)
	case findMsg:
		return c, c.takeFound(msg)
	case traceMsg:
		return c, c.tracedTo(msg)
	case sheetMsg:
		c.dirty = c.sheet.take(msg) || c.dirty
	case cancelMsg:
		c.cancelled(msg)
	case confirmMsg:
		c.confirmed(msg)
	case doneMsg:
		c.takeDone(msg)
	case postedMsg:
		c.posted(msg)
	case noteMsg:
		return c, c.takeNote(msg)
	case endMsg:
		return c, c.takeEnd(msg)
	case tea.MouseMsg:
		c.mouse(msg)
	case listMsg:
		return c, c.takeList(msg)
	case judgedMsg:
		return c, c.takeJudged(msg)
	case relistMsg:
		if c.desk.shown == c && msg.id == c.actions.id {
			return c, c.desk.reload()
		}
	case LeaveMsg:
		return c, c.quit()
	case tea.KeyMsg:
		if msg.Type == tea.KeyRunes && len(msg.Runes) > 1 && !msg.Paste && c.place()&inTyping == 0 {
			return c, c.burst(msg.Runes)
		}
		return c, c.key(msg)
	}
	return c, nil
}

// key resolves a key and acts on it. While a reason is typed, keys that mean
// nothing else are part of it.
func (c *Console) key(msg tea.KeyMsg) tea.Cmd {
	do := c.intentOf(msg)
	c.dirty = true
	if do == doNothing {
		c.typed(msg)
		return nil
	}
	c.notice("", ink{})
	c.traceID++ // whatever a trace finds, the operator has gone on
	c.asked = c.asked && (do == doLeave || do == doInterrupt)
	return c.act(do)
}

// typed gives a key to what is typed in, if anything is.
func (c *Console) typed(msg tea.KeyMsg) {
	switch c.place() {
	case inCancel:
		c.cancelling.typed(msg)
	case inPrompt:
		c.prompt.typed(msg)
	case inPalette, inFile, inExport, inAsk, inOffers, inForm:
		c.window.typed(msg)
	case inSessionFilter:
		c.browser.filter, _ = c.browser.filter.Update(msg)
		c.browser.sift()
	case inFilterList:
		c.actions.filter, _ = c.actions.filter.Update(msg)
		c.sift()
	}
}

// burst acts on keys that came at once: a key held down over a slow line. It
// may also be a text pasted by accident, so nothing that reaches beyond the screen is
// done by it.
func (c *Console) burst(runes []rune) tea.Cmd {
	var cmds []tea.Cmd
	for _, r := range runes {
		msg := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}}
		switch c.intentOf(msg) {
		case doCancel, doConfirm, doAccept, doToggle, doReveal, doLeave, doCopy, doSave, doExport, doSuspend, doReconcile, doResponse, doDelete,
			doSubmit, doAnswer, doSessions, doTranscript, doMore, doTree, doMessage, doFork, doPatch, doCreate:
		default:
			cmds = append(cmds, c.key(msg))
		}
	}
	return tea.Batch(cmds...)
}

// View returns the frame; it is built only after something changed.
func (c *Console) View() string {
	if c.printer != nil {
		return ""
	}
	if c.dirty {
		c.frame = c.draw()
		c.dirty = false
	}
	return c.frame
}

// place is where keys go: a dialog, the help, or the view in sight.
func (c *Console) place() place {
	switch {
	case c.cancelling != nil:
		return inCancel
	case c.confirming != nil:
		return inConfirm
	case c.prompt != nil:
		return inPrompt
	case c.window != nil:
		return c.window.place()
	case c.helping:
		return inHelp
	}
	return c.underHelp()
}

// underHelp is the view in sight, or the one that the help covers.
func (c *Console) underHelp() place {
	if n := len(c.views); n > 0 {
		return c.views[n-1]
	}
	switch {
	case c.browser != nil && c.browser.typing:
		return inSessionFilter
	case c.browser != nil && c.browser.transcript != nil:
		return inTranscript
	case c.browser != nil:
		return inSessions
	case c.actions == nil:
		return inPanes
	case c.actions.typing:
		return inFilterList
	}
	return inActions
}

func (c *Console) notice(s string, k ink) { c.noticed, c.noticeInk = s, k }
