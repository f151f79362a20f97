package ui

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"aipscope/follow/act"
	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/safe"

	tea "github.com/charmbracelet/bubbletea"
)

// act does what a key asks for.
func (c *Console) act(do intent) tea.Cmd {
	if m, ok := do.motion(); ok {
		c.move(m)
		if c.actions != nil {
			return c.desk.judge() // others may be in sight
		}
		return nil
	}
	if c.place()&(inActions|inFilterList) != 0 && do.ofList() {
		return c.actActions(do)
	}
	if c.place()&(inSessions|inSessionFilter|inTranscript) != 0 && do.ofSessions() {
		return c.actSessions(do)
	}
	switch do {
	case doSubmit:
		return c.askSubmit()
	case doAnswer:
		return c.answerApproval()
	case doSessions:
		return c.desk.sessions(c, c.turn.Endpoint(), "")
	case doTranscript:
		return c.desk.sessions(c, c.turn.Endpoint(), c.turnSession())
	case doReconcile:
		return c.reconcile()
	case doResponse:
		return c.readResponse()
	case doDelete:
		c.askDeleteResponse()
	case doIdentity:
		c.verdictTop = 0
		c.push(inIdentity)
	case doPalette:
		c.window = newPalette(c)
	case doCopy:
		c.window = newCopyDialog(c)
	case doSave:
		c.saveCopy()
	case doExport:
		c.askExport()
	case doActions:
		return c.desk.show(c.desk.home)
	case doNextAction:
		return c.desk.cycle(1)
	case doPrevAction:
		return c.desk.cycle(-1)
	case doNextPane:
		c.focusOn((c.focus + 1) % panes)
	case doPrevPane:
		c.focusOn((c.focus + panes - 1) % panes)
	case doPane1, doPane2, doPane3:
		c.focusOn(paneID(do - doPane1))
	case doZoom:
		c.zoomed = !c.zoomed
		c.layout()
	case doFold:
		c.assistant.fold()
		return c.finding()
	case doFreeze:
		if c.frozen {
			return tea.Batch(c.thaw(), c.refreshSheet())
		}
		c.frozen, c.frozenAt = true, c.now()
	case doOpen:
		return c.open()
	case doEarlier, doLater:
		if c.place() == inPanes {
			return c.travel(do)
		}
		return c.step(do)
	case doPick:
		c.assistant.point()
	case doUnpick:
		c.assistant.stopPointing()
	case doNow:
		c.toNow()
		return c.finding()
	case doSearch, doFilter:
		c.askFor(do == doFilter)
	case doNextHit, doPrevHit:
		if c.inText() {
			c.nextText(do == doNextHit)
			return nil
		}
		return c.nextHit(do == doNextHit)
	case doNoSearch:
		if f := &c.assistant.find; f.phrase != "" && (c.inText() || c.chunks.hunt.search.query == nil) {
			return c.startFind("", nil)
		}
		c.chunks.hunt.search = scan{}
	case doNoFilter:
		c.chunks.hunt.filter = scan{}
		c.chunks.refresh()
	case doNextView:
		c.sheet.nextView(1)
	case doPrevView:
		c.sheet.nextView(-1)
	case doFoldNode:
		c.sheet.toggleFold()
	case doReveal:
		switch c.place() {
		case inIdentity:
			c.identityRevealed = !c.identityRevealed
			return nil
		case inReport, inNews:
			c.revealReport()
			return nil
		}
		c.sheet.revealed = !c.sheet.revealed
		c.reveal()
		return tea.Batch(c.load(), c.scanning())
	case doRaw:
		c.sheet.raw = !c.sheet.raw
		return c.load()
	case doVerdict:
		c.verdictTop = 0
		c.push(inVerdict)
	case doHelp:
		c.helping = true
	case doBack:
		return c.back()
	case doCancel:
		return c.askCancel()
	case doConfirm:
		c.confirming = newConfirmDialog(&c.styles, c.turn)
	case doToggle:
		if c.window != nil {
			c.window.toggle()
			return nil
		}
		c.confirming.toggle()
	case doAccept:
		if w := c.window; w != nil {
			c.window = nil
			return w.accept(c)
		}
		switch {
		case c.cancelling != nil:
			return c.sendCancel()
		case c.prompt != nil:
			return c.answered()
		}
		return c.sendConfirm()
	case doSuspend:
		return c.suspend()
	case doLeave, doInterrupt:
		return c.leave(do)
	}
	return nil
}

func (c *Console) move(m motion) {
	switch c.place() {
	case inConfirm:
		c.confirming.list.move(m)
	case inPrompt:
		c.prompt.recall(m, c.chunks.hunt.asked)
	case inPalette, inCopy, inAsk, inOffers, inForm, inReview, inChoice:
		c.window.move(m)
	case inReport, inNews:
		h := max(1, c.height-chromeColumns-2)
		c.verdictTop = m.apply(c.verdictTop, max(0, c.reportLength()-h), h)
	case inVerdict, inIdentity, inHelp:
		lines := len(c.overlayLines())
		c.verdictTop = m.apply(c.verdictTop, max(0, lines-c.bodyHeight()+2), c.bodyHeight())
	case inChunk, inTool:
		c.sheet.move(m)
	case inActions, inFilterList:
		c.actions.move(m)
	case inSessions, inSessionFilter:
		c.browser.move(m)
	case inTranscript:
		c.browser.transcript.move(m, max(1, c.height-chromeColumns-2))
	default:
		switch c.focus {
		case paneAssistant:
			c.assistant.move(m)
		case paneTools:
			c.tools.move(m)
		case paneChunks:
			c.chunks.move(m)
			c.follow()
		}
	}
}

func (c *Console) focusOn(p paneID) {
	c.focus = p
	c.layout()
}

// push opens a view over the one in sight; a view that is open already comes
// back to the top.
func (c *Console) push(v place) {
	c.views = slices.DeleteFunc(c.views, func(o place) bool { return o == v })
	c.views = append(c.views, v)
}

// back leaves a dialog, the help or the view in sight. What was revealed is
// masked again with the sheet that showed it.
func (c *Console) back() tea.Cmd {
	switch {
	case c.cancelling != nil:
		c.cancelling = nil
	case c.confirming != nil:
		c.confirming = nil
	case c.prompt != nil:
		c.prompt = nil
	case c.window != nil:
		if w, ok := c.window.(interface{ back(*Console) bool }); !ok || !w.back(c) {
			c.window = nil
		}
	case c.helping:
		c.helping = false
	case len(c.views) > 0:
		c.identityRevealed = false
		if c.views[len(c.views)-1]&(inReport|inNews) != 0 {
			c.closeReport()
		}
		c.views = c.views[:len(c.views)-1]
		if n := len(c.views); n > 0 && c.views[n-1]&(inChunk|inTool) != 0 {
			c.closeSheet()
			c.layout()
			return tea.Batch(c.load(), c.scanning())
		}
		if len(c.views) == 0 {
			c.closeSheet()
			c.chunks.pin(c.past != nil)
			return c.scanning()
		}
	}
	return nil
}

// closeSheet forgets the sheet: nothing revealed stays in memory or comes back.
func (c *Console) closeSheet() {
	c.sheet = sheet{st: &c.styles, id: c.sheet.id + 1, at: c.sheet.at, folds: c.sheet.folds}
	c.reveal()
}

// leaving reports whether leaving was asked for and not yet confirmed.
func (c *Console) leaving() bool { return c.asked }

// leave ends the console at once when nothing is lost by it, or when asked
// twice; a first time it says that the action goes on.
func (c *Console) leave(do intent) tea.Cmd {
	n := c.goingOn()
	if n == 0 || c.asked {
		if c.desk != nil {
			return c.desk.leave()
		}
		c.left = true
		return c.quit()
	}
	c.asked = true
	key := "q"
	if do == doInterrupt {
		key = "ctrl+c"
	}
	say := "The action goes on without this console. "
	if n > 1 || c.over() {
		say = counted(n, "watched action goes", "watched actions go") + " on without this console. "
	}
	if c.cancelPending() {
		say = "The cancellation has no answer yet. "
	}
	c.notice(say+key+" again leaves.", c.styles.alarm)
	return nil
}

// The panes' own abilities, for the key table.

func (c *Console) mayOpen() bool {
	switch c.focus {
	case paneTools:
		return c.tools.selected() != nil
	case paneChunks:
		return c.cfg.Row != nil && c.chunks.selected() != nil
	}
	return false
}

func (c *Console) hasViews() bool { return len(c.sheet.views) > 0 }

func (c *Console) mayOpenChunk() bool {
	t := c.tools.selected()
	return c.cfg.Row != nil && t != nil && (t.HasStart || t.HasEnd)
}

func (c *Console) hasFolds() bool  { return c.assistant.folds() }
func (c *Console) mayZoom() bool   { return c.twoColumns() }
func (c *Console) mayFreeze() bool { return !c.frozen && !c.done }
func (c *Console) isFrozen() bool  { return c.frozen }
func (c *Console) masked() bool    { return !c.sheet.revealed }
func (c *Console) revealed() bool  { return c.sheet.revealed }
func (c *Console) pretty() bool    { return !c.sheet.raw }
func (c *Console) rawShown() bool  { return c.sheet.raw }
func (c *Console) mayCancel() bool {
	return c.cfg.Cancel != nil && !c.cancelPending() && !c.turn.Settled()
}
func (c *Console) mayCancelNothing() bool {
	return c.cfg.Cancel != nil && !c.cancelPending() && c.turn.Settled()
}

func (c *Console) mayAskCancel() bool { return !c.turn.Settled() }

func (c *Console) mayConfirm() bool {
	return c.cfg.Confirm != nil && c.turn.Settled() && c.verdict.Word == model.Unconfirmed
}

func (c *Console) confirmMarked() bool { return c.confirming.any() }

// open opens what is selected: a tool or a chunk.
func (c *Console) open() tea.Cmd {
	switch c.place() {
	case inChunk:
		return c.openMade()
	case inTool:
		t := c.tools.selected()
		seq := t.Started
		if !t.HasStart {
			seq = t.Ended
		}
		if !c.chunks.chooseSequence(seq) {
			return nil
		}
		return c.openView(inChunk)
	}
	switch c.focus {
	case paneAssistant:
		return c.toChunk()
	case paneTools:
		return c.openView(inTool)
	}
	return c.openView(inChunk)
}

// openView opens a sheet anew, masked.
func (c *Console) openView(v place) tea.Cmd {
	c.closeSheet()
	c.push(v)
	// What is open stays open, whatever comes in behind it.
	c.chunks.pin(true)
	c.layout()
	return tea.Batch(c.load(), c.scanning())
}

// step goes to the neighbour of the chunk that is open.
func (c *Console) step(do intent) tea.Cmd {
	m := moveUp
	if do == doLater {
		m = moveDown
	}
	before := c.chunks.list.selected
	c.chunks.move(m)
	if c.chunks.list.selected == before {
		return nil
	}
	c.follow()
	if c.sheet.body != nil {
		c.sheet.body.top = 0
	}
	return c.load()
}

// load returns the command that builds the sheet in sight.
func (c *Console) load() tea.Cmd {
	s := &c.sheet
	s.id++
	s.loading = true
	ctx := c.ctx
	bw, _ := s.bodySize()
	switch c.underHelp() {
	case inChunk:
		e := c.chunks.selected()
		if e == nil {
			return nil
		}
		s.title, s.goes = c.chunkTitle(e), c.madeText(e)
		q := chunkRequest{
			id: s.id, entry: *e, revealed: s.revealed, raw: s.raw, w: bw, row: c.cfg.Row, mask: c.mask,
			result: c.turn.Result(), zone: c.now().Location(), signs: [2]string{c.styles.glyphs.Open, c.styles.glyphs.Chosen},
		}
		c.resultShown, c.othersShown = q.result, len(c.turn.OtherRows(e.Sequence))
		if e.Conflict && !e.Recovered {
			q.others = c.turn.OtherRows(e.Sequence)
		}
		if i := c.chunks.selectedEntry(); i > 0 {
			q.before = c.chunks.entries.Entry(i - 1).At
		}
		return func() tea.Msg { return q.load(ctx) }
	case inTool:
		t := c.tools.selected()
		if t == nil {
			return nil
		}
		c.toolShown = t.Row
		s.title, s.goes = "Tool "+toolName(t), ""
		if c.mayOpenChunk() {
			s.goes = "enter goes to its first chunk"
		}
		q := toolRequest{id: s.id, tool: *t, revealed: s.revealed, w: bw, mask: c.mask}
		return q.load
	}
	return nil
}

// refreshSheet builds the sheet in sight again when what it shows has changed: the
// tool, the result, or other content under the chunk's sequence.
func (c *Console) refreshSheet() tea.Cmd {
	switch c.underHelp() {
	case inTool:
		if t := c.tools.selected(); t != nil && t.Row != c.toolShown {
			return c.load()
		}
	case inChunk:
		e := c.chunks.selected()
		if e != nil && (c.turn.Result() != c.resultShown || len(c.turn.OtherRows(e.Sequence)) != c.othersShown) {
			return c.load()
		}
	}
	return nil
}

// mask is the configured mask; without one nothing private is shown at all.
func (c *Console) mask(raw json.RawMessage) json.RawMessage {
	if c.cfg.Mask == nil {
		return json.RawMessage(`"‹` + size(len(raw)) + `›"`)
	}
	return c.cfg.Mask(raw)
}

func (c *Console) chunkTitle(e *model.Entry) string {
	s := "Chunk " + sequence(e.Sequence) + ", " + number(c.chunks.selectedEntry()+1) + " of " + number(c.chunks.entries.Len())
	if e.Kind != "" {
		s += c.styles.between + brief(string(e.Kind))
	}
	s += c.styles.between + frameName(e)
	if e.Recovered {
		s += c.styles.between + "its chunk never came"
	}
	if e.Conflict {
		s += c.styles.between + "other content came too"
	}
	return s
}

// askCancel opens the dialog, or says that there is nothing to cancel.
func (c *Console) askCancel() tea.Cmd {
	if c.turn.Settled() {
		c.notice("Nothing to cancel: the action has its outcome, "+wordText(c.verdict.Word)+".", c.styles.text)
		return nil
	}
	c.cancelling = newCancelDialog(&c.styles)
	return nil
}

func (c *Console) sendCancel() tea.Cmd {
	reason := c.cancelling.reason()
	c.cancelling = nil
	c.cancelSent, c.cancelSentAt, c.cancelOutcome = true, c.now(), nil
	c.notice("", ink{})
	ctx, cancel := c.ctx, c.cfg.Cancel
	return tea.Batch(c.tick(), func() tea.Msg {
		out, err := cancel(ctx, reason)
		return cancelMsg{out, err}
	})
}

// cancelled takes the outcome in. Only the turn settles: where it says
// otherwise, the turn is right.
func (c *Console) cancelled(m cancelMsg) {
	c.dirty = true
	if m.err != nil {
		c.cancelSent = false
		if !errors.Is(m.err, context.Canceled) {
			c.notice("The cancellation could not be sent: "+brief(m.err.Error()), c.styles.word(model.Failed))
		}
		return
	}
	c.cancelOutcome = &m.outcome
}

// cancelText says how the cancellation stands, or "".
func (c *Console) cancelText(now time.Time) (string, ink) {
	st := &c.styles
	switch {
	case !c.cancelSent:
		return "", ink{}
	case c.cancelOutcome == nil:
		s := "cancelling"
		if d := now.Sub(c.cancelSentAt); d >= 3*time.Second {
			s += ", no answer for " + number(int(d/time.Second)) + " s"
		}
		return s + "…", st.word(model.AwaitingApproval)
	}
	o := *c.cancelOutcome
	switch o.End {
	case act.EndRefused:
		if o.Code == "" {
			return "the cancellation was refused", st.word(model.Failed)
		}
		return "the cancellation was refused: " + brief(o.Code), st.word(model.Failed)
	case act.EndFinished:
		return "it finished before the cancellation: " + brief(o.State), st.text
	case act.EndGoesOn:
		if c.turn.Settled() {
			return "", ink{}
		}
		return "the daemon accepted the cancellation, the action has not ended yet", st.word(model.Unconfirmed)
	case act.EndLost:
		if c.turn.Settled() {
			return "", ink{}
		}
		return "the answer to the cancellation was lost: whether the daemon took it is not known", st.word(model.Unconfirmed)
	}
	if r := c.turn.Result(); r != nil && r.Status != aip.ResultCancelled && c.verdict.Word != model.Cancelled {
		return "it finished before the cancellation: " + safe.Line(string(r.Status)), st.text
	}
	if !c.turn.Settled() {
		return "the daemon says cancelled, the outcome follows", st.word(model.Cancelled)
	}
	return "cancelled", st.word(model.Cancelled)
}

func (c *Console) sendConfirm() tea.Cmd {
	said := c.confirming.said()
	c.confirming = nil
	return c.keepWord(said)
}

// keepWord journals what the operator says of all that was shown until now.
func (c *Console) keepWord(said model.Confirmation) tea.Cmd {
	said.Through = c.turn.Applied()
	ctx, confirm := c.ctx, c.cfg.Confirm
	return func() tea.Msg {
		rows, err := confirm(ctx, said)
		return confirmMsg{rows, err}
	}
}

// confirmBefore journals what the operator confirmed beforehand, once there is
// an outcome to confirm.
func (c *Console) confirmBefore() tea.Cmd {
	if c.saidBefore || !c.cfg.SaidEffects && !c.cfg.SaidAnswer || !c.mayConfirm() {
		return nil
	}
	c.saidBefore = true
	said := model.Confirmation{Answer: c.cfg.SaidAnswer}
	if c.cfg.SaidEffects {
		said.Tools = c.turn.ToolKeys()
	}
	return c.keepWord(said)
}

func (c *Console) confirmed(m confirmMsg) {
	c.dirty = true
	if m.err != nil {
		c.notice("The confirmation was not kept: "+brief(m.err.Error()), c.styles.word(model.Failed))
		return
	}
	c.apply(m.rows)
	c.notice("Confirmed, and kept in the journal.", c.styles.word(model.Accepted))
}
