package follow

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tmaxmax/go-sse"

	"aipscope/model"
	"aipscope/model/aip"
)

const (
	batchFrames = 256                    // frames of one commit at most
	batchTime   = 20 * time.Millisecond  // how long a frame may wait for its commit
	silenceTime = 15 * time.Second       // without news, then the status is read
	lullTime    = time.Second            // without news behind a terminal state, then draining begins
	lookTime    = 100 * time.Millisecond // between two looks at what is due beside a stream that never rests
	backoffBase = 250 * time.Millisecond // of the first wait, before jitter
	backoffCap  = 30 * time.Second
	maxWait     = 5 * time.Minute // at most, whatever the daemon asks for
	maxWrong    = 5               // answers in a row that are not AIP's
)

var (
	errCut      = errors.New("the stream ended without a terminal frame")
	errTerminal = errors.New("the daemon said terminal")
	errState    = errors.New("the action's state is terminal")
	errSettled  = errors.New("another console read all and the outcome")
	errUnknown  = errors.New("nobody knows whether it was committed")
)

// fatal ends the watch: the journal failed.
type fatal struct{ error }

func (e fatal) Unwrap() error { return e.error }

func journalError(err error) error { return fatal{fmt.Errorf("journal: %w", err)} }

// follower is the state of the goroutine that reads. Nothing else touches it.
type follower struct {
	cfg     Config
	action  string
	out     *outbox
	pokes   <-chan struct{}
	cancel  context.CancelCauseFunc
	helpers sync.WaitGroup

	seen       int64  // number of the last row known
	cursor     string // behind which all is committed
	keepCursor bool   // the cursor may be stored: it was issued under the source's credential

	pending []model.Row // not committed
	next    string      // the cursor behind pending, or ""
	frames  int         // events and chunks in pending
	room    int         // that the last commit took: the next one is like it
	since   time.Time   // of the oldest in pending
	flying  *flight     // the commit under way, or nil
	broken  error       // a commit failed: what came behind it must not be committed

	held       model.Frames        // provider frames of the journal, for the match
	noted      map[string]struct{} // digests of what was kept and not applied
	settled    bool
	resulted   bool   // by a result
	whole      bool   // settled by a follower, which reads all chunks first
	stands     bool   // the journal began with a terminal state in a result's place
	refused    bool   // the daemon refused the submission, and nothing of the action was seen
	signed     bool   // something of it was seen
	followed   bool   // the journal holds an event or a chunk
	once       bool   // the journal held the outcome: the first trouble ends the asking
	early      bool   // settled by the answer to a submission: chunks may still have to be read
	lastStatus []byte // what the last status row said, without its time
	lastResult []byte // the last result that settled nothing

	state      LinkState
	attempts   int  // since the last progress
	wrong      int  // answers in a row that were not AIP's
	reloaded   bool // the token was read again since it last worked
	lives      int  // connections that stood
	duplicates int
	lastCode   string // of the last error row, since the last progress
	lost       bool   // the daemon lost the cursor, and has sent nothing since
	losses     int    // cursors that it lost while the rest was read, since the last progress

	probing  bool // a status is being asked for
	again    bool // once more when it is answered
	probes   chan probe
	silence  *time.Timer
	opened   time.Time // the stream
	lastNews time.Time // the last frame that was not known, or the last status that was asked for
	lastLook time.Time // at what is due beside the stream
	over     bool      // the state was terminal when last asked for

	err error // why the watch ends, nil when settled
}

// step is one state of the follower: it does its part and says what comes next,
// nil for the end.
type step func(ctx context.Context) step

func newFollower(cfg Config, w *Watch) *follower {
	return &follower{
		cfg: cfg, action: cfg.Source.Action, out: w.out, pokes: w.pokes, cancel: w.cancel,
		keepCursor: true, noted: map[string]struct{}{}, probes: make(chan probe, 1),
	}
}

// run follows until the action settled (nil), or says why not.
func (f *follower) run(ctx context.Context) error {
	if err := f.readHistory(ctx); err != nil {
		return f.because(ctx, err)
	}
	start := step(f.connect)
	switch {
	case f.settled && (f.followed || f.cursor != ""):
		f.show(Link{State: Settled, Cursor: f.cursor})
		return nil
	case f.settled:
		// The answer to a submission settled it before anything was followed.
		f.once, f.early, start = true, true, f.drain
	case f.refused:
		f.once, start = true, f.knows
	case f.stands:
		// A result may have come since, and it wins over the state.
		f.once, start = true, f.result
	}
	f.silence = time.NewTimer(silenceTime)
	defer f.silence.Stop()
	f.probe(ctx) // the capability is known soon
	for next := start; next != nil; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		next = next(ctx)
	}
	return f.because(ctx, f.err)
}

// knows asks once whether the daemon knows an action whose submission it refused:
// something else may have brought it there, and then it is followed.
func (f *follower) knows(ctx context.Context) step {
	s, raw, err := f.cfg.Client.Status(ctx, f.action)
	if err != nil || s.State == aip.StateUnknown || s.State == "" {
		return f.finish(nil)
	}
	if err := f.status(ctx, s, raw); err != nil {
		return f.failed(ctx, err, f.knows)
	}
	f.once = false
	return f.connect
}

// sign notes that something of the action was seen: if its submission was refused,
// something else took it.
func (f *follower) sign() {
	f.signed = true
	if f.refused {
		f.refused, f.stands, f.settled, f.whole = false, false, false, false
	}
}

func (f *follower) because(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// readHistory makes known what the journal holds, and learns from it where to
// go on.
func (f *follower) readHistory(ctx context.Context) error {
	for {
		rows, err := f.cfg.Log.Rows(ctx, f.seen, logPage)
		if err != nil {
			return journalError(err)
		}
		f.observe(rows)
		if len(rows) < logPage {
			break
		}
	}
	if f.settled && !f.resulted {
		f.stands, f.settled = true, false
	}
	f.refused = f.refused && f.stands
	f.out.historyEnds()
	var err error
	if f.cursor, err = f.cfg.Log.Cursor(ctx); err != nil {
		return journalError(err)
	}
	return nil
}

// observe takes in rows that are in the journal, ours and other consoles', and
// passes them on.
func (f *follower) observe(rows []model.Row) {
	for _, r := range rows {
		f.seen = r.Number
		switch {
		case r.Kind == model.RowEvent:
			f.followed = true
			f.sign()
		case r.Kind == model.RowChunk && r.Chunk != nil:
			f.followed = true
			f.sign()
			f.held.Add(&r)
		case r.Kind == model.RowResult && r.Result != nil:
			if r.Result.Settles() {
				f.settled, f.resulted, f.whole = true, true, f.whole || r.Result.Aggregate != nil
			} else {
				f.sign()
			}
		case r.Kind == model.RowSettled && r.Settled != nil && r.Settled.Code != "":
			if !f.signed {
				f.refused, f.settled, f.whole = true, true, true
			}
		case r.Kind == model.RowSettled:
			f.refused, f.settled, f.whole = false, true, true
		case r.Kind == model.RowStatus && r.Status != nil:
			f.lastStatus = gist(*r.Status)
			if r.Status.State != aip.StateUnknown {
				f.sign()
			}
		case r.Kind == model.RowError && r.Error != nil:
			if d := r.Error.Detail("digest"); d != "" {
				f.noted[d] = struct{}{}
			}
		}
	}
	f.out.publish(rows)
}

// show makes a state of the link known.
func (f *follower) show(l Link) {
	f.state = l.State
	f.out.link(l)
	f.cfg.Logger.Info("link", "action", f.action, "state", string(l.State), "attempt", l.Attempt, "reason", l.Reason, "wait", l.Wait)
}

// connect opens the follow stream behind the cursor.
func (f *follower) connect(ctx context.Context) step {
	f.attempts++
	f.show(Link{State: Connecting, Attempt: f.attempts, Cursor: f.cursor})
	body, err := f.cfg.Client.Follow(ctx, f.action, f.cursor)
	if err != nil {
		return f.failed(ctx, err, f.connect)
	}
	f.understood()
	f.lives++
	f.count()
	f.show(Link{State: Live, Attempt: f.attempts, Cursor: f.cursor})
	s := f.open(ctx, body)
	defer s.close()
	return f.follow(ctx, s)
}

// follow reads the stream to its end, whatever that is.
func (f *follower) follow(ctx context.Context, s *stream) step {
	f.opened = time.Now()
	end := errCut
	for ev, err := range sse.Read(s, &sse.ReadConfig{MaxEventSize: f.cfg.MaxEvent}) {
		if err == nil && ev.Data != "" {
			if err = f.frame(ctx, ev.Type, []byte(ev.Data)); err == nil {
				err = f.overtaken()
			}
		}
		if err != nil {
			end = err
			break
		}
	}
	s.close()
	if err := f.flush(ctx); err != nil {
		end = err
	}
	var large *TooLargeError
	if errors.Is(end, bufio.ErrTooLong) {
		end = &TooLargeError{Size: f.cfg.MaxEvent, Limit: f.cfg.MaxEvent}
	}
	if errors.As(end, &large) {
		large.Cursor = f.cursor
	}
	switch {
	case errors.Is(end, errSettled):
		return f.finish(nil)
	case errors.Is(end, errTerminal), errors.Is(end, errState):
		return f.drain
	}
	return f.failed(ctx, end, f.connect)
}

// frame takes in one follow frame.
func (f *follower) frame(ctx context.Context, name string, data []byte) error {
	now := time.Now()
	fr := decodeFrame(name, data, now)
	switch {
	case fr.action != "" && fr.action != f.action:
		return f.note(ctx, CodeAnotherAction, name, data)
	case fr.row != nil:
		return f.take(ctx, *fr.row)
	case fr.cursor != "":
		f.next = fr.cursor
		return nil
	case fr.terminal:
		return errTerminal
	case fr.err != nil:
		return fr.err
	}
	return f.note(ctx, CodeUndecodable, name, data)
}

// take puts an event or a chunk up for the next commit.
func (f *follower) take(ctx context.Context, r model.Row) error {
	f.lost = false
	if len(f.pending) == 0 {
		f.since = r.At
	}
	if cap(f.pending) == 0 {
		f.pending = make([]model.Row, 0, f.room)
	}
	f.pending = append(f.pending, r)
	f.frames++
	if f.frames >= batchFrames || r.At.Sub(f.since) >= batchTime {
		return f.push(ctx)
	}
	return nil
}

// note keeps what cannot be applied, once.
func (f *follower) note(ctx context.Context, code, name string, data []byte) error {
	row, digest, err := oddity(code, name, data, time.Now())
	if err != nil {
		return err
	}
	if _, known := f.noted[digest]; known {
		return nil
	}
	f.noted[digest] = struct{}{}
	f.cfg.Logger.Warn("frame kept and not applied", "action", f.action, "code", code, "size", len(data))
	f.pending = append(f.pending, row)
	if len(f.pending) >= 2*batchFrames {
		return f.flush(ctx)
	}
	return nil
}

// understood notes that the daemon answered as one does.
func (f *follower) understood() { f.wrong, f.reloaded = 0, false }

func (f *follower) count() { f.out.count(f.duplicates, max(0, f.lives-1)) }

// wait waits for a piece of the stream or for the timeout, and meanwhile does
// what else is due: statuses, pokes. Its error ends what the follower is at.
func (f *follower) wait(ctx context.Context, in <-chan piece, timeout <-chan time.Time) (piece, error) {
	for {
		f.lastLook = time.Now()
		var lull <-chan time.Time
		var timer *time.Timer
		if f.over && in != nil {
			timer = time.NewTimer(f.untilLull())
			lull = timer.C
		}
		var landed <-chan struct{}
		if f.flying != nil {
			landed = f.flying.done
		}
		var p piece
		var done bool
		var err error
		select {
		case p = <-in:
			done = true
		case <-landed:
			if err = f.land(ctx); err == nil {
				err = f.overtaken()
			}
		case <-timeout:
			done = true
		case <-lull:
			err = errState
		case r := <-f.probes:
			err = f.told(ctx, r, in != nil)
		case <-f.silence.C:
			f.silent(ctx)
		case <-f.pokes:
			err = f.poked(ctx)
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if timer != nil {
			timer.Stop()
		}
		if done || err != nil {
			return p, err
		}
	}
}

// look does what is due beside a stream that always has more to read: one may
// repeat itself for ever.
func (f *follower) look(ctx context.Context) error {
	if time.Since(f.lastLook) < lookTime {
		return nil
	}
	f.lastLook = time.Now()
	if f.over && f.untilLull() <= 0 {
		return errState
	}
	select {
	case r := <-f.probes:
		return f.told(ctx, r, true)
	case <-f.silence.C:
		f.silent(ctx)
	case <-f.pokes:
		return f.poked(ctx)
	default:
	}
	return context.Cause(ctx)
}

// untilLull is how long a stream may still go without news of an action that is
// over.
func (f *follower) untilLull() time.Duration {
	return lullTime - min(time.Since(f.opened), time.Since(f.lastNews))
}

// told takes in a status. A stream may end by itself behind a terminal one,
// unless it has nothing to say.
func (f *follower) told(ctx context.Context, r probe, streams bool) error {
	if err := f.probed(ctx, r); err != nil && !(streams && errors.Is(err, errState)) {
		return err
	}
	return f.overtaken()
}

// silent asks for the status when there was no news for long. A link that is cut
// again and again, or repeats itself, is as silent as one without a frame.
func (f *follower) silent(ctx context.Context) {
	rest := silenceTime - time.Since(f.lastNews)
	if rest <= 0 {
		f.probe(ctx)
		rest = silenceTime
	}
	f.silence.Reset(rest)
}

func (f *follower) poked(ctx context.Context) error {
	err := f.absorb(ctx)
	if err == nil {
		f.probe(ctx)
	}
	return err
}

// retry waits and tries again; while it follows, a terminal state ends the wait.
func (f *follower) retry(ctx context.Context, reason string, atLeast time.Duration, again step) step {
	if f.once {
		return f.finish(nil)
	}
	wait := max(f.backoff(), min(atLeast, maxWait))
	link := Link{State: Retrying, Attempt: f.attempts, Cursor: f.cursor, Reason: reason, Wait: wait}
	draining := f.state == Draining
	if draining {
		link.State = Draining
	}
	f.show(link)
	if f.over && !draining { // there is nothing to connect for
		return f.drain
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		_, err := f.wait(ctx, nil, timer.C)
		switch {
		case err == nil:
			return again
		case errors.Is(err, errState) && draining:
		case errors.Is(err, errState):
			return f.drain
		default:
			return f.failed(ctx, err, again)
		}
	}
}

// backoff is the next wait: full jitter under a bound that doubles until the cap,
// and starts over only after progress.
func (f *follower) backoff() time.Duration {
	bound := backoffCap
	if n := max(0, f.attempts-1); n < 16 {
		bound = min(bound, backoffBase<<n)
	}
	return time.Duration(f.cfg.Rand() * float64(bound))
}

func (f *follower) finish(err error) step {
	f.err = err
	if err == nil {
		f.show(Link{State: Settled, Cursor: f.cursor})
	}
	return nil
}

func (f *follower) refuse(reason string, err error) step {
	if f.once {
		return f.finish(nil)
	}
	f.show(Link{State: Refused, Attempt: f.attempts, Cursor: f.cursor, Reason: reason})
	return f.finish(&Refusal{Reason: reason, Err: err})
}
