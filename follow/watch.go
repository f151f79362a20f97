// Package follow turns a daemon's follow stream and the journal into one ordered
// stream of committed batches: a Watch.
//
// One goroutine reads, and nothing that it reads is seen before the commit that
// holds it. It connects behind the journal's cursor, commits what comes, connects
// again after every cut, and believes nobody that the action ended: after a
// terminal frame or state it reads what is left page by page, then asks for the
// result. Only a settled result, or a terminal state that stays without one, ends
// a watch well. What no further attempt could change ends it as a Refusal.
//
// A consumer pulls. However slow it is, reading goes on: rows that do not fit in
// memory are left to the journal and read from there when their turn comes.
package follow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"aipscope/model"
	"aipscope/model/aip"
)

// LinkState is where the follow connection stands. It says nothing about the
// action.
type LinkState string

const (
	Connecting LinkState = "connecting"
	Live       LinkState = "live"
	Retrying   LinkState = "retrying"
	Draining   LinkState = "draining" // the daemon said terminal; reading what is left, then the result
	Settled    LinkState = "settled"
	Refused    LinkState = "refused" // wrong credential or request: trying again would change nothing
)

// Link is one state of the follow connection, as it is shown.
type Link struct {
	State   LinkState
	Attempt int           // from 1, counted since the last progress
	Cursor  string        // the cursor that the attempt resumed from, or ""
	Reason  string        // why the link is retrying or refused: safe text, in the user's words
	Wait    time.Duration // until the next attempt, when retrying
}

// Source names what is followed, and under which conditions its cursor holds.
type Source struct {
	URL        string // the daemon's, without a trailing slash
	Action     string
	Route      string // the path and query that the cursor was issued for
	Credential string // the journal's tag of the credentials in use
}

// Log is the journal of one action, as the follower needs it. It is safe for
// use by several goroutines, and several consoles may hold one.
type Log interface {
	// Commit stores rows, and the cursor unless it is "", in one transaction, and
	// returns every row numbered above after: those of other consoles too.
	//
	// A chunk, event or result that the journal holds already is not stored again and counts as a duplicate.
	// A chunk with other content under a known sequence is stored as a RowConflict.
	Commit(ctx context.Context, after int64, rows []model.Row, cursor string) (Committed, error)
	// Brief reads at most limit rows numbered above after, in order. Chunks and events may
	// come in brief (model.Briefs).
	Brief(ctx context.Context, after int64, limit int) ([]model.Row, error)
	// Cursor returns the cursor stored for the source, or "".
	Cursor(ctx context.Context) (string, error)
	// DropCursor forgets the cursor, because the daemon no longer knows it.
	DropCursor(ctx context.Context) error
}

// Committed is what a commit did.
type Committed struct {
	Rows       []model.Row // numbered above the caller's after, ascending
	Duplicates int
}

// Client is what the follower asks a daemon; package client implements it and
// says what each call does.
type Client interface {
	Follow(ctx context.Context, action, cursor string) (io.ReadCloser, error)
	Page(ctx context.Context, action, cursor string, limit int, event, chunk func(json.RawMessage) error) (aip.Page, error)
	Status(ctx context.Context, action string) (aip.Status, json.RawMessage, error)
	Result(ctx context.Context, action string, event func(index int, raw json.RawMessage) error) (aip.Result, error)
	Reload() (changed bool, err error)
}

// Batch is what a consumer sees at once: rows that are on disk, in order, then
// the links that followed them.
type Batch struct {
	Rows       []model.Row
	Links      []Link // changes behind Rows, in order
	History    bool   // the rows were in the journal when the watch began
	Duplicates int    // chunks and events delivered again, in this run so far
	Reconnects int    // in this run so far
	Done       bool   // nothing follows
	Err        error  // why the watch ended without a settled action; nil otherwise
}

// Config says what to watch and with what. Log and Client are required.
type Config struct {
	Source Source
	Log    Log
	Client Client

	MaxEvent int            // bytes of one follow frame, or of one event or chunk of a page; 0 for 16 MiB
	Queue    int            // rows kept in memory for a consumer that is behind; 0 for 8192
	Rand     func() float64 // for the jitter of the backoff, in [0,1); nil for math/rand
	Logger   *slog.Logger   // states, counts and codes only; nil for none
}

// Refusal ends a watch that no further attempt could help.
type Refusal struct {
	Reason string // safe text, in the user's words
	Err    error  // what it rests on
}

func (r *Refusal) Error() string { return r.Reason }
func (r *Refusal) Unwrap() error { return r.Err }

// TooLargeError says that the daemon sent more in one piece than may be held.
type TooLargeError struct {
	Cursor string // behind which it stands, "" for the start
	Size   int    // bytes of it that were seen
	Limit  int
}

func (e *TooLargeError) Error() string {
	where := "at the start"
	if e.Cursor != "" {
		where = fmt.Sprintf("behind the cursor %+.80q", e.Cursor) // a cursor is a daemon's, of any length
	}
	return fmt.Sprintf("an event %s is larger than %d bytes (%d seen)", where, e.Limit, e.Size)
}

// PanicError is a fault of ours in one of the watch's goroutines. It holds the
// stack and not the value, which might be content.
type PanicError struct{ Stack []byte }

func (e *PanicError) Error() string { return "the follower broke down (a fault of aipscope)" }

// Watch is one action's journal and its follow stream as one stream of batches.
type Watch struct {
	log    Log
	out    *outbox
	cancel context.CancelCauseFunc
	pokes  chan struct{}
	ended  chan struct{}
}

// Start begins to watch. The watch lives until it is done, ctx ends, or Close.
func Start(ctx context.Context, cfg Config) *Watch {
	if cfg.MaxEvent <= 0 {
		cfg.MaxEvent = 16 << 20
	}
	if cfg.Queue <= 0 {
		cfg.Queue = 8192
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Float64
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	w := &Watch{log: cfg.Log, out: newOutbox(cfg.Queue), cancel: cancel, pokes: make(chan struct{}, 1), ended: make(chan struct{})}
	f := newFollower(cfg, w)
	go func() {
		defer close(w.ended)
		var err error
		defer func() {
			if recover() != nil {
				err = &PanicError{debug.Stack()}
			}
			cancel(nil)
			f.helpers.Wait()
			w.out.finish(err)
		}()
		err = f.run(ctx)
	}()
	return w
}

// Next waits for the next batch: history first, then what is committed live, in
// row order, each row once. It is for one caller at a time. The error is ctx's;
// how the watch ended stands in the last batch, which is Done, and is returned
// again by every later call.
func (w *Watch) Next(ctx context.Context) (Batch, error) { return w.out.next(ctx, w.log) }

// Poke reads the action's status at once, and what follows from it: for when
// something was done that should end it.
func (w *Watch) Poke() {
	select {
	case w.pokes <- struct{}{}:
	default:
	}
}

// ErrClosed is why a watch ended that was closed before the action settled.
var ErrClosed = errors.New("the watch was closed")

// Close ends the watch and waits for its goroutines. The action goes on.
func (w *Watch) Close() {
	w.cancel(ErrClosed)
	<-w.ended
}

// spawn runs fn in a goroutine that ends with the watch; a fault in it ends the
// watch.
func (f *follower) spawn(fn func()) {
	f.helpers.Add(1)
	go func() {
		defer f.helpers.Done()
		defer func() {
			if recover() != nil {
				f.cancel(&PanicError{debug.Stack()})
			}
		}()
		fn()
	}()
}
