package ui

import (
	"context"
	"errors"
	"time"

	"aipscope/follow/act"
	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/safe"

	tea "github.com/charmbracelet/bubbletea"
)

func (c *Console) mayCancel() bool {
	return c.cfg.Cancel != nil && !c.cancelPending() && !c.turn.Settled()
}

func (c *Console) mayCancelNothing() bool {
	return c.cfg.Cancel != nil && !c.cancelPending() && c.turn.Settled()
}

func (c *Console) mayAskCancel() bool { return !c.turn.Settled() }

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
