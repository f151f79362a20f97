package follow

import (
	"context"
	"math"
	"sync"

	"aipscope/model"
)

const (
	batchRows  = 1024     // rows of one batch at most
	logPage    = 512      // rows read from the journal at once
	queueBytes = 32 << 20 // of the JSON of queued rows at most
)

// outbox stands between the follower, which never waits, and the consumer. It
// holds the newest rows; older ones that did not fit are read from the journal.
//
// Invariant: every published row above floor that is not delivered is in rows.
type outbox struct {
	max  int
	wake chan struct{}

	mu         sync.Mutex
	rows       []model.Row
	bytes      int
	floor      int64       // published rows up to here are in the journal alone
	backlog    []model.Row // read from there, at most up to floor
	top        int64       // number of the last published row
	history    int64       // rows up to here were there when the watch began
	links      []mark
	delivered  int64
	duplicates int
	reconnects int
	done       bool
	broken     bool // the journal could not be read: nothing more is said
	err        error
}

// mark is a link with the row that it follows.
type mark struct {
	link  Link
	after int64
}

func newOutbox(rows int) *outbox {
	return &outbox{max: rows, wake: make(chan struct{}, 1), history: math.MaxInt64}
}

func (o *outbox) change(fn func()) {
	o.mu.Lock()
	if !o.broken {
		fn()
	}
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// publish makes committed rows known, in ascending order. They are the outbox's
// from then on.
func (o *outbox) publish(rows []model.Row) {
	if len(rows) == 0 {
		return
	}
	o.change(func() {
		for i := range rows {
			o.bytes += rows[i].Size() // what is told in brief is held, too
		}
		if len(o.rows) == 0 {
			o.rows = rows
		} else {
			o.rows = append(o.rows, rows...)
		}
		o.top = rows[len(rows)-1].Number
		if len(o.rows) > o.max || o.bytes > queueBytes {
			o.rows, o.bytes, o.floor = nil, 0, o.top
		}
	})
}

func (o *outbox) link(l Link) { o.change(func() { o.links = append(o.links, mark{l, o.top}) }) }

func (o *outbox) historyEnds() { o.change(func() { o.history = o.top }) }

func (o *outbox) count(duplicates, reconnects int) {
	o.change(func() { o.duplicates, o.reconnects = duplicates, reconnects })
}

func (o *outbox) finish(err error) { o.change(func() { o.done, o.err = true, err }) }

func (o *outbox) next(ctx context.Context, log Log) (Batch, error) {
	for {
		b, behind, ok := o.take()
		switch {
		case ok:
			return b, nil
		case behind:
			if err := o.read(ctx, log); err != nil {
				return Batch{}, err
			}
		default:
			select {
			case <-o.wake:
			case <-ctx.Done():
				return Batch{}, context.Cause(ctx)
			}
		}
	}
}

// read fetches what comes next from the journal, where the rows are that did
// not fit. A journal that cannot be read ends the watch for the consumer.
func (o *outbox) read(ctx context.Context, log Log) error {
	rows, err := log.Brief(ctx, o.delivered, logPage)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.done, o.broken, o.err = true, true, journalError(err)
		o.rows, o.links, o.backlog, o.floor, o.top = nil, nil, nil, o.delivered, o.delivered
		return nil
	}
	for i, r := range rows {
		if r.Number > o.floor {
			rows = rows[:i]
			break
		}
	}
	if len(rows) == 0 {
		o.delivered = o.floor
	}
	o.backlog = rows
	return nil
}

// take cuts the next batch: rows up to the end of history or to the next link,
// then the links that follow them.
func (o *outbox) take() (b Batch, behind, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	from := &o.backlog
	if len(o.backlog) == 0 {
		from = &o.rows
		behind = o.delivered < o.floor
	}
	stop := int64(math.MaxInt64)
	if o.delivered < o.history {
		stop = o.history
	}
	if len(o.links) > 0 {
		stop = min(stop, o.links[0].after)
	}
	if !behind {
		n := 0
		for n < len(*from) && n < batchRows && (*from)[n].Number <= stop {
			o.delivered = (*from)[n].Number
			n++
		}
		b.Rows = (*from)[:n:n]
		b.History = n > 0 && o.delivered <= o.history
		*from = (*from)[n:]
		if from == &o.rows {
			for i := range b.Rows {
				o.bytes -= b.Rows[i].Size()
			}
			if len(o.rows) == 0 {
				o.rows = nil
			}
		}
	}
	for len(o.links) > 0 && o.links[0].after <= o.delivered {
		b.Links = append(b.Links, o.links[0].link)
		o.links = o.links[1:]
	}
	b.Duplicates, b.Reconnects = o.duplicates, o.reconnects
	if o.done && o.delivered >= o.top && len(o.links) == 0 {
		b.Done, b.Err = true, o.err
	}
	return b, behind, len(b.Rows) > 0 || len(b.Links) > 0 || b.Done
}
