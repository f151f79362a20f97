package ui

import tea "github.com/charmbracelet/bubbletea"

// LeaveMsg ends the console from outside: a signal came, or a time is over. It
// does not count as the operator's leaving.
type LeaveMsg struct{}

// quit ends the console. The frame that is drawn last may stay on the screen and
// in the scrollback, so nothing revealed is in it.
func (c *Console) quit() tea.Cmd {
	if c.past != nil {
		c.toNow()
	}
	if c.frozen {
		c.thaw() // what was held counts
	}
	c.conceal()
	c.window = nil
	c.stop()
	return tea.Quit
}

// suspend gives the terminal back, with nothing revealed on it. What was open
// comes back masked.
func (c *Console) suspend() tea.Cmd {
	open := c.views
	c.conceal()
	c.views = open
	c.layout()
	return tea.Batch(c.load(), c.layTranscript(), tea.Suspend)
}

// conceal closes what was opened, at once and not only when a load comes back.
func (c *Console) conceal() {
	c.views = nil
	c.closeSheet()
	c.identityRevealed = false
	if c.report != nil && c.report.revealed {
		c.revealReport()
	}
	c.maskSessions()
	c.dirty = true
}

func (c *Console) maySuspend() bool { return c.cfg.Suspends }
