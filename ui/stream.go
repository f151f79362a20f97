package ui

import (
	"context"
	"errors"
	"time"

	"aipscope/follow"
	"aipscope/model"

	tea "github.com/charmbracelet/bubbletea"
)

const (
	frameTime = time.Second / 30 // the stream is drawn no more often than this
	plainTime = time.Second      // and a plain screen no more often than this: what changes is read aloud
	batchRows = 4096             // and no more than this is folded between two keys
	heldRows  = 50_000           // a frozen screen stops asking here; the watch reads the rest from the journal
)

// batchMsg is what one wait brought.
type batchMsg struct {
	follow.Batch
	end  error     // the source failed
	took time.Time // when the wait ended
}

// next waits for a batch, then for what else comes until a frame's time after
// the last one has passed: so a stream of any rate makes at most thirty messages a
// second, and a batch that comes alone is shown at once. There is never more than
// one wait, for commands have no order.
func next(ctx context.Context, batches func(context.Context) (follow.Batch, error), last time.Time) tea.Cmd {
	return func() tea.Msg {
		m := batchMsg{}
		b, err := batches(ctx)
		if err != nil {
			return batchMsg{end: err, took: time.Now()}
		}
		m.Batch = b
		until, cancel := context.WithDeadline(ctx, last.Add(frameTime))
		defer cancel()
		for until.Err() == nil && !m.Done && len(m.Rows) < batchRows {
			b, err := batches(until)
			if err != nil {
				if until.Err() == nil {
					m.end = err
				}
				break
			}
			m.Rows = append(m.Rows, b.Rows...)
			m.Links = append(m.Links, b.Links...)
			m.History, m.Duplicates, m.Reconnects = b.History, b.Duplicates, b.Reconnects
			m.Done, m.Err = b.Done, b.Err
		}
		m.took = time.Now()
		return m
	}
}

// held is what came in while the screen was frozen.
type held struct {
	rows    []model.Row
	chunks  int
	outcome bool
	more    bool // no wait is outstanding: it holds all that it may
}

// take takes in a batch: the link at once, the rows unless the screen is frozen.
func (c *Console) take(m batchMsg) tea.Cmd {
	c.lastBatch = m.took
	for _, l := range m.Links {
		c.link, c.linkAt = l, c.now()
	}
	c.duplicates, c.reconnects = m.Duplicates, m.Reconnects
	c.history = m.History
	c.done = m.Done || m.end != nil
	if m.Err != nil {
		c.err = m.Err
	}
	if m.end != nil && !errors.Is(m.end, context.Canceled) {
		c.err = m.end
	}
	c.dirty = true
	if !c.frozen {
		c.apply(m.Rows)
		c.lag = 0
		if n := len(m.Rows); n > 0 && !m.History {
			c.lag = max(0, c.now().Sub(m.Rows[n-1].At))
		}
	} else {
		c.hold(m.Rows)
	}
	return tea.Batch(c.ask(), c.confirmBefore(), c.tell(m.History))
}

// ask returns the next wait, unless nothing will come or nothing more can be
// held.
func (c *Console) ask() tea.Cmd {
	if c.done {
		return nil
	}
	if c.frozen && len(c.held.rows) >= heldRows {
		c.held.more = true
		return nil
	}
	last := c.lastBatch
	if c.styles.plain {
		last = last.Add(plainTime - frameTime)
	}
	return next(c.ctx, c.cfg.Batches, last)
}

func (c *Console) hold(rows []model.Row) {
	c.held.rows = append(c.held.rows, rows...)
	for i := range rows {
		switch rows[i].Kind {
		case model.RowChunk:
			c.held.chunks++
		case model.RowResult, model.RowSettled:
			c.held.outcome = true
		}
	}
}

// thaw shows what was held, and asks again if the asking had stopped.
func (c *Console) thaw() tea.Cmd {
	h := c.held
	c.held, c.frozen = held{}, false
	c.apply(h.rows)
	if h.more {
		return c.ask()
	}
	return nil
}

// apply folds rows into the turn and shows them to the panes.
func (c *Console) apply(rows []model.Row) {
	c.dirty = true
	if len(rows) == 0 {
		return
	}
	before, restarts := c.turn.Revision(), c.turn.Restarts()
	c.turn.Apply(rows)
	if c.turn.Revision() == before {
		return
	}
	c.verdict = c.turn.Verdict()
	c.chunks.update(c.turn)
	switch {
	case c.past == nil:
		c.showTurn()
	case c.turn.Restarts() != restarts:
		c.lookBack() // chunks came before that moment
	}
}
