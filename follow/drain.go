package follow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"aipscope/follow/client"
	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/hermes"
)

const (
	pageLimit  = 1000                   // events and chunks of a page at most (wire/aip.md 4.2)
	pollFirst  = 250 * time.Millisecond // between two questions for the result, doubling
	pollMost   = 2 * time.Second
	maxNowhere = 3
	maxLosses  = 8
	maxEvents  = 4 << 20         // of a result: a connector keeps 100,000 at most (wire/hermes.md A.4)
	resultTime = 5 * time.Second // a terminal state that gave no result for so long stands alone
)

// drain reads what a terminal frame left behind (wire/aip.md 4.4), then asks for
// the result.
func (f *follower) drain(ctx context.Context) step {
	f.attempts++
	link := Link{State: Draining, Attempt: f.attempts, Cursor: f.cursor}
	if f.stuck() {
		link.Reason = "the daemon refuses its own cursors: the rest is taken from the result"
	}
	f.show(link)
	if err := f.readPages(ctx); err != nil {
		return f.failed(ctx, err, f.drain)
	}
	if f.early {
		return f.finish(nil)
	}
	return f.result
}

// stuck reports whether the daemon refuses every cursor that it gives. Then a page
// from the start is all that can be had, and what is behind it stands in the
// result alone.
func (f *follower) stuck() bool { return f.losses >= maxLosses }

// readPages reads plain pages behind the cursor until one is empty. Pages that
// bring nothing new and lead nowhere, several in a row, end it too, and so does a
// daemon that would refuse the cursor of what follows.
func (f *follower) readPages(ctx context.Context) error {
	if f.stuck() && f.cursor != "" {
		return nil
	}
	var content maphash.Hash // of a page: one that comes again leads nowhere, whatever its cursor is
	var before uint64
	for nowhere := 0; ; {
		count, taken, cursor, duplicates := 0, 0, f.cursor, f.duplicates
		content.Reset()
		each := func(what string, decode func([]byte, time.Time) (frame, bool)) func(json.RawMessage) error {
			return func(raw json.RawMessage) error {
				count++
				content.Write(raw)
				if len(raw) > f.cfg.MaxEvent {
					return &TooLargeError{Cursor: f.cursor, Size: len(raw), Limit: f.cfg.MaxEvent}
				}
				fr, ok := decode(raw, time.Now())
				switch {
				case !ok:
					return f.note(ctx, CodeUndecodable, what, raw)
				case fr.action != "" && fr.action != f.action:
					return f.note(ctx, CodeAnotherAction, what, raw)
				}
				taken++
				return f.take(ctx, *fr.row)
			}
		}
		page, err := f.cfg.Client.Page(ctx, f.action, f.cursor, pageLimit, each("page.event", decodeEvent), each("page.chunk", decodeChunk))
		if err == nil {
			f.understood()
			if count > 0 {
				f.next = page.Cursor
			}
		}
		if err := errors.Join(err, f.flush(ctx)); err != nil {
			return err
		}
		again := content.Sum64() == before
		before = content.Sum64()
		if f.cursor != cursor && !again || taken > f.duplicates-duplicates {
			nowhere = 0
		} else if nowhere++; nowhere == maxNowhere {
			return nil
		}
		if count == 0 || f.stuck() {
			return nil
		}
	}
}

// result asks for the result until there is one, or until a terminal state has
// stood without one for long enough. An action that is not over after all is
// followed again.
func (f *follower) result(ctx context.Context) step {
	var since time.Time // when the state was first seen terminal, without a result
	for wait := pollFirst; ; wait = min(2*wait, pollMost) {
		if f.early {
			return f.drain
		}
		matcher, res, err := f.readResult(ctx)
		kind := client.KindOf(err)
		none := err != nil && (kind == client.NoResult || kind == client.NotFound)
		if err == nil || none {
			f.understood()
		}
		switch {
		case err == nil && res.ActionID == "":
			f.attempts++
			return f.retry(ctx, "the daemon's result does not say whose it is", 0, f.result)
		case err == nil && res.ActionID != f.action:
			if err := f.add(ctx, model.RowReplay, &model.Result{Result: res}); err != nil {
				return f.failed(ctx, err, f.result)
			}
			return f.finish(nil)
		case err == nil && (&model.Result{Result: res}).Settles():
			if err := f.settle(ctx, matcher, res); err != nil {
				return f.failed(ctx, err, f.result)
			}
			return f.finish(nil)
		case err == nil:
			if err := f.waiting(ctx, res); err != nil {
				return f.failed(ctx, err, f.result)
			}
		case none && f.once:
			return f.finish(nil)
		case none:
		default:
			f.attempts++
			return f.failed(ctx, err, f.result)
		}
		s, raw, err := f.cfg.Client.Status(ctx, f.action)
		if err == nil {
			f.understood()
			err = f.status(ctx, s, raw)
		} else {
			f.attempts++
		}
		if err != nil {
			return f.failed(ctx, err, f.result)
		}
		if !f.over {
			f.state = Retrying
			return f.retry(ctx, "the action goes on, although the daemon said terminal", 0, f.connect)
		}
		now := time.Now()
		if since.IsZero() {
			since = now
		}
		waited := now.Sub(since)
		if waited >= resultTime {
			if err := f.add(ctx, model.RowSettled, &model.Settled{State: s.State, WaitedMS: waited.Milliseconds()}); err != nil {
				return f.failed(ctx, err, f.result)
			}
			return f.finish(nil)
		}
		if err := f.sleep(ctx, min(wait, resultTime-waited)); err != nil {
			return f.failed(ctx, err, f.result)
		}
	}
}

// sleep waits while statuses are taken in; none of them ends it.
func (f *follower) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		if _, err := f.wait(ctx, nil, timer.C); !errors.Is(err, errState) {
			return err
		}
	}
}

// readResult reads the result, its events as digests.
func (f *follower) readResult(ctx context.Context) (*model.Matcher, aip.Result, error) {
	m := model.NewMatcher(&f.held)
	res, err := f.cfg.Client.Result(ctx, f.action, func(index int, raw json.RawMessage) error {
		if index >= maxEvents {
			return fmt.Errorf("%w: a result of more than %d events", aip.ErrTooLarge, maxEvents)
		}
		if rec, ok := recordOf(raw); ok {
			m.Event(rec.Digest())
		} else {
			m.Unread()
		}
		return nil
	})
	return m, res, err
}

// settle commits the result, compared with the chunks, and before it what it
// tells of chunks that never came.
func (f *follower) settle(ctx context.Context, m *model.Matcher, res aip.Result) error {
	// Events may have landed between the last page and the result.
	if err := f.readPages(ctx); err != nil {
		return err
	}
	if f.lastStatus == nil { // all went so fast that the capability is not known yet
		if s, raw, err := f.cfg.Client.Status(ctx, f.action); err == nil {
			if err := f.status(ctx, s, raw); err != nil {
				return err
			}
		}
	}
	out := &model.Result{Result: res}
	if isAggregate, hidden := aggregate(res.Output); isAggregate {
		if hidden || m.Empty() && f.held.Len() > 0 {
			m.Unread() // there is no list to compare with
		}
		match := m.Match()
		out.Aggregate = &match
		if match.Missing > 0 {
			if err := f.recover(ctx, m); err != nil {
				return err
			}
		}
	}
	return f.add(ctx, model.RowResult, out)
}

// recover reads the result once more, for the records whose chunks are missing:
// they were not held, as there may be more of them than fit in memory.
func (f *follower) recover(ctx context.Context, m *model.Matcher) error {
	_, err := f.cfg.Client.Result(ctx, f.action, func(index int, raw json.RawMessage) error {
		rec, ok := recordOf(raw)
		back, missing := m.Recover(index, rec)
		if !ok || !missing {
			return nil
		}
		row, err := model.NewRow(model.RowRecovered, time.Now(), &back)
		if err != nil {
			return err
		}
		f.pending = append(f.pending, row)
		if len(f.pending) >= batchFrames {
			return f.flush(ctx)
		}
		return nil
	})
	return err
}

// recordOf reads one event of a result; it is false for one that was redacted.
// What is no record stands for itself.
func recordOf(raw json.RawMessage) (r hermes.Record, ok bool) {
	if aip.UnmarshalLast(raw, &r) != nil {
		var hidden struct {
			RawData json.RawMessage `json:"raw_data"`
		}
		_ = aip.UnmarshalLast(raw, &hidden) // of another shape, it is not redacted
		return hermes.Record{Data: slices.Clone(raw)}, !aip.Redacted(hidden.RawData)
	}
	return r, r.RawData != nil || !aip.Redacted(r.Data) && !aip.Redacted(raw)
}

// aggregate reports whether an output is a connector's account of a stream
// (wire/hermes.md A.8), and not another's with events of its own; hidden tells
// that something else than a list stands in the place of its events.
func aggregate(output json.RawMessage) (yes, hidden bool) {
	var a struct {
		Operation json.RawMessage `json:"operation"` // redacted, perhaps
		Terminal  *bool           `json:"terminal"`
		Events    json.RawMessage `json:"events"` // the list itself is not kept
	}
	return aip.UnmarshalLast(output, &a) == nil && a.Operation != nil && a.Terminal != nil, a.Events != nil
}
