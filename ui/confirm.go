package ui

import (
	"aipscope/model"

	tea "github.com/charmbracelet/bubbletea"
)

func (c *Console) mayConfirm() bool {
	return c.cfg.Confirm != nil && c.turn.Settled() && c.verdict.Word == model.Unconfirmed
}

func (c *Console) confirmMarked() bool { return c.confirming.any() }

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
