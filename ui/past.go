package ui

import (
	"aipscope/model"

	tea "github.com/charmbracelet/bubbletea"
)

// past is the turn as it was at a chunk. The panes show it instead of the turn as
// it is; the header and the verdict stay those of now.
type past struct {
	turn  *model.Turn
	entry int // index among all entries
}

// shown is the turn that the panes show.
func (c *Console) shown() *model.Turn {
	if c.past != nil {
		return c.past.turn
	}
	return c.turn
}

// travel steps to the chunk before or behind the moment in view. From now it
// goes to the selected chunk first, if that is not the last.
func (c *Console) travel(do intent) tea.Cmd {
	p := &c.chunks
	i := p.list.selected
	switch {
	case c.past == nil && i < p.len()-1 && do == doEarlier && p.list.paused:
	case do == doEarlier:
		i--
	case c.past != nil:
		i++
	default:
		return nil
	}
	if i < 0 || i >= p.len() {
		return nil
	}
	p.choose(i)
	c.lookBack()
	return c.finding()
}

// lookBack shows the turn as it was at the selected chunk.
func (c *Console) lookBack() {
	i := c.chunks.selectedEntry()
	if i < 0 {
		return
	}
	c.past = &past{turn: c.turn.UpTo(i + 1), entry: i}
	c.chunks.at = i
	c.chunks.pin(true)
	c.showTurn()
}

// follow keeps the moment at the selected chunk, while the past is in view.
func (c *Console) follow() {
	if c.past != nil && c.past.entry != c.chunks.selectedEntry() {
		c.lookBack()
	}
}

// toNow shows the turn as it is.
func (c *Console) toNow() {
	c.past, c.chunks.at = nil, -1
	c.chunks.pin(false)
	c.chunks.move(moveBottom)
	c.showTurn()
}

// showTurn gives the panes the turn that is in view.
func (c *Console) showTurn() {
	if c.past != nil {
		c.assistant.lookBack(c.past.turn)
	} else {
		c.assistant.update(c.turn)
	}
	c.tools.update(c.shown())
}

// pastText says that the panes show the past, and where it is.
func (c *Console) pastText() string {
	e := c.chunks.entries.Entry(c.past.entry)
	return "as of chunk " + sequence(e.Sequence) + ", " + number(c.past.entry+1) + " of " + number(c.chunks.entries.Len())
}

func (c *Console) mayTravel() bool { return c.past == nil && c.chunks.entries.Len() > 1 }
func (c *Console) traveling() bool { return c.past != nil }
func (c *Console) mayGoOn() bool   { return c.past != nil && c.past.entry < c.chunks.entries.Len()-1 }
