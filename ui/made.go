package ui

import (
	"aipscope/model"

	tea "github.com/charmbracelet/bubbletea"
)

// madeText says what a chunk did, and where enter leads.
func (c *Console) madeText(e *model.Entry) string {
	did := didText(e, c.turn)
	switch {
	case e.Tool != "":
		return did + ": enter opens the tool"
	case e.Segment >= 0:
		return did + ": enter goes to it in the text"
	case did == "":
		return "changes nothing that is shown"
	}
	return did
}

func (c *Console) mayOpenMade() bool {
	e := c.chunks.selected()
	return e != nil && (e.Tool != "" || e.Segment >= 0)
}

// openMade goes to what the open chunk made: its tool, or its words.
func (c *Console) openMade() tea.Cmd {
	e := c.chunks.selected()
	if e.Tool != "" {
		if c.past != nil && c.past.turn.Tool(e.Tool) == nil {
			c.toNow()
		}
		if !c.tools.choose(e.Tool) {
			return nil
		}
		return c.openView(inTool)
	}
	return nil
}
