package follow

import (
	"context"
	"time"

	"aipscope/model"
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
	// Rows reads at most limit rows numbered above after, in order.
	Rows(ctx context.Context, after int64, limit int) ([]model.Row, error)
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

// Batch is what a consumer sees at once: rows that are on disk, and the links
// that changed meanwhile, in order.
type Batch struct {
	Rows       []model.Row
	Links      []Link
	History    bool  // the rows were in the journal when the watch began
	Duplicates int   // chunks and events delivered again, in this run so far
	Reconnects int   // in this run so far
	Done       bool  // nothing follows
	Err        error // why the watch ended without a settled action; nil otherwise
}
