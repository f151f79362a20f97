package follow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"aipscope/model"
)

// What is read gets into the journal here, in its order.

// flight is a commit, under way or done.
type flight struct {
	frames int // events and chunks in it
	cursor string
	done   chan struct{}
	got    Committed
	err    error
}

// push commits what is pending while the next frames are read. One commit is under
// way at most, so they keep their order; what it did is seen when it is awaited.
func (f *follower) push(ctx context.Context) error {
	if err := f.land(ctx); err != nil || len(f.pending) == 0 && f.next == "" {
		return err
	}
	rows, stored, c := f.depart()
	f.flying = c
	after := f.seen
	f.spawn(func() {
		defer close(c.done)
		c.err = errUnknown // unless it comes back
		c.got, c.err = f.cfg.Log.Commit(ctx, after, rows, stored)
	})
	return nil
}

// aloft reports whether a commit is under way and has not come back.
func (f *follower) aloft() bool {
	if f.flying == nil {
		return false
	}
	select {
	case <-f.flying.done:
		return false
	default:
		return true
	}
}

// depart takes what is pending, and the cursor that may be stored with it.
func (f *follower) depart() (rows []model.Row, stored string, c *flight) {
	rows, c = f.pending, &flight{frames: f.frames, cursor: f.next, done: make(chan struct{})}
	f.pending, f.frames, f.next = nil, 0, ""
	f.room = min(len(rows)+1, aheadFrames)
	if f.keepCursor {
		stored = c.cursor
	}
	return rows, stored, c
}

// land waits for the commit that is under way, and takes in what it did.
func (f *follower) land(ctx context.Context) error {
	c := f.flying
	if c == nil {
		return f.broken
	}
	f.flying = nil
	<-c.done
	if errors.Is(c.err, errUnknown) {
		<-ctx.Done() // it broke down, and that ends the watch
	}
	return f.landed(c)
}

func (f *follower) landed(c *flight) error {
	if c.err != nil {
		f.broken = journalError(c.err)
		return f.broken
	}
	f.observe(c.got.Rows)
	if c.cursor != "" {
		f.cursor = c.cursor
	}
	if c.got.Duplicates > 0 {
		f.duplicates += c.got.Duplicates
		f.count()
	}
	if c.frames > c.got.Duplicates { // something new: the link works
		f.attempts, f.losses, f.lastCode, f.lastNews = 0, 0, "", time.Now()
	}
	return nil
}

// flush commits what is pending, the cursor behind it in the same transaction.
func (f *follower) flush(ctx context.Context) error {
	if err := f.land(ctx); err != nil {
		return err
	}
	if len(f.pending) == 0 && f.next == "" {
		return nil
	}
	rows, stored, c := f.depart()
	c.got, c.err = f.cfg.Log.Commit(ctx, f.seen, rows, stored)
	return f.landed(c)
}

// overtaken ends what the follower is at when the journal holds an outcome that
// it did not write itself.
func (f *follower) overtaken() error {
	switch {
	case !f.settled || f.early:
		return nil
	case f.whole:
		return errSettled
	}
	f.early = true
	return errState
}

// absorb takes in what others of this console wrote to the journal: the answer
// to a submission may settle the action before its chunks were read.
func (f *follower) absorb(ctx context.Context) error {
	if err := f.commit(ctx, nil); err != nil {
		return err
	}
	return f.overtaken()
}

// commit commits rows that are no frames, and takes in what others wrote.
func (f *follower) commit(ctx context.Context, rows []model.Row) error {
	if err := f.land(ctx); err != nil {
		return err
	}
	got, err := f.cfg.Log.Commit(ctx, f.seen, rows, "")
	if err != nil {
		f.broken = journalError(err)
		return f.broken
	}
	f.observe(got.Rows)
	return nil
}

// add commits one row that is no frame, behind everything pending.
func (f *follower) add(ctx context.Context, kind model.RowKind, body any) error {
	row, err := model.NewRow(kind, time.Now(), body)
	if err != nil {
		return err
	}
	return f.addRow(ctx, row)
}

func (f *follower) addRow(ctx context.Context, row model.Row) error {
	if err := f.flush(ctx); err != nil {
		return err
	}
	return f.commit(ctx, []model.Row{row})
}

// ReadTurn reads the turn that a journal holds of an action. tell, if it is not nil,
// is told the number of the last row now and then.
func ReadTurn(ctx context.Context, log Log, action string, tell func(row int64)) (*model.Turn, error) {
	turn := model.NewTurn(action)
	for {
		rows, err := log.Brief(ctx, turn.Applied(), logPage)
		if err != nil {
			return nil, fmt.Errorf("read journal: %w", err)
		}
		turn.Apply(rows)
		if tell != nil {
			tell(turn.Applied())
		}
		if len(rows) < logPage {
			return turn, nil
		}
	}
}
