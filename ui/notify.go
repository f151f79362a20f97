package ui

import (
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// Notify is what the terminal is asked to do when an outcome comes.
type Notify int

const (
	NotifyNone    Notify = iota
	NotifyBell           // BEL
	NotifyDesktop        // a desktop notification, OSC 9, which some terminals have
)

// tell notifies once that the outcome is there, unless it was when the console
// began to look.
func (c *Console) tell(history bool) tea.Cmd {
	if c.told || !c.turn.Settled() && !c.held.outcome {
		return nil
	}
	c.told = true
	if history || c.cfg.Terminal == nil || c.cfg.Notify == NotifyNone {
		return nil
	}
	seq := "\a"
	if c.cfg.Notify == NotifyDesktop {
		// Which verdict it is can only be said of what the screen shows, too.
		say := "has its outcome"
		if c.turn.Settled() {
			say = wordsOf(c.verdict.Word)
		}
		seq = ansi.Notify("aipscope: " + shortID(c.turn.Action()) + " " + say)
	}
	tell := c.cfg.Terminal
	return func() tea.Msg {
		if err := tell(seq); err != nil {
			return doneMsg{err: err}
		}
		return nil
	}
}
