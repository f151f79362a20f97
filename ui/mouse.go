package ui

import tea "github.com/charmbracelet/bubbletea"

// wheelLines is how far a notch of the wheel moves.
const wheelLines = 3

// mouse takes what a mouse does, where a user has asked for one: the wheel moves
// through the pane under it or the view in sight, a click focuses a pane.
func (c *Console) mouse(m tea.MouseMsg) {
	if m.Action != tea.MouseActionPress || c.place()&(inPanes|inChunk|inTool|inVerdict|inIdentity|inHelp|inActions) == 0 {
		return
	}
	if c.place() == inPanes {
		if p, ok := c.paneAt(m.X, m.Y); ok && p != c.focus {
			c.focusOn(p)
		}
	}
	wheel := func(dir motion) {
		c.dirty = true
		for range wheelLines {
			c.move(dir)
		}
	}
	switch m.Button {
	case tea.MouseButtonWheelUp:
		wheel(moveUp)
	case tea.MouseButtonWheelDown:
		wheel(moveDown)
	}
}

// paneAt is the pane under a cell, where panes stand side by side.
func (c *Console) paneAt(x, y int) (paneID, bool) {
	if !c.twoColumns() || c.zoomed || y < 1 || y > c.bodyHeight() {
		return 0, false
	}
	left, _ := c.sides()
	switch {
	case x < left:
		return paneAssistant, true
	case y-1 < c.split():
		return paneTools, true
	}
	return paneChunks, true
}
