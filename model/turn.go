package model

import (
	"encoding/json"
	"strings"
	"time"

	"aipscope/model/aip"
)

// SegmentKind says what a stretch of the turn is.
type SegmentKind int

const (
	SegmentText       SegmentKind = iota // the assistant's own words
	SegmentThinking                      // reasoning, or the repeat of visible text that Hermes sends as such
	SegmentCommentary                    // said beside the answer
	SegmentTools                         // a tool ran here
	SegmentWaiting                       // an approval or a question, and its answer
	SegmentClosing                       // closing text that differs from what was streamed
)

// Segment is a stretch of the turn in the order of its chunks. Text of one
// message that a tool interrupts is two segments with the same Message.
type Segment struct {
	Kind    SegmentKind
	Message string   // provider's message or output item; segments of different messages never merge
	Tools   []string // keys, for SegmentTools
	First   uint64   // sequence of the first chunk in it
	Last    uint64
	text    strings.Builder
}

// Text is the provider's text as it came: unsafe for a terminal. It only grows,
// and costs nothing to take.
func (s *Segment) Text() string { return s.text.String() }

// ToolStatus is where a tool stands.
type ToolStatus string

const (
	ToolRunning   ToolStatus = "running"
	ToolCompleted ToolStatus = "completed" // ended; on chat a failed tool ends so too
	ToolFailed    ToolStatus = "failed"
	ToolUnended   ToolStatus = "unended" // the turn ended, the tool never did
	ToolOrphan    ToolStatus = "orphan"  // an end without a start
)

// Tool is one call, keyed by its correlation ID, or name#n where the stream has
// none.
type Tool struct {
	Key        string
	Correlated bool // Key is the provider's own
	Name       string
	Label      string
	Status     ToolStatus
	Arguments  string // JSON or text, as sent; private
	Result     string // private
	Started    uint64 // sequence of the start; meaningless for an orphan
	Ended      uint64 // sequence of the end, when HasEnd
	HasStart   bool
	HasEnd     bool
	StartedAt  time.Time     // the start event's time, zero if unknown
	EndedAt    time.Time     // likewise
	Duration   time.Duration // as the provider reported it, else from the events' times; 0 if unknown
	Row        int64         // journal row of its last change
}

// Entry is one line of the chunk inspector.
type Entry struct {
	Row       int64 // journal row; 0 never
	Sequence  uint64
	Kind      aip.ChunkKind
	Frame     string // family.event
	Event     string // the provider's event name, or ""; unsafe for a terminal
	Size      int    // bytes of the chunk's JSON
	At        time.Time
	Recovered bool   // from the aggregate: its chunk never came
	Conflict  bool   // other content came under the same sequence
	Tool      string // key of the tool row that it changed
	Segment   int    // index of the segment that it made or grew, or -1
}

// Gap is a range of sequences, both ends included, between received chunks that never came.
type Gap struct{ First, Last uint64 }

// Waiting is an approval or a question that the turn waits for.
type Waiting struct {
	Kind  string // approval, clarify
	Since uint64 // sequence of the request
}

// Usage is the provider's token count.
type Usage struct {
	Present bool
	Input   int64
	Output  int64
	Total   int64
	Raw     json.RawMessage
}

// Turn is what the chunks and results of one action add up to. The zero Turn is
// not ready; use NewTurn.
type Turn struct {
	action string
}

// NewTurn returns the turn of an action of which nothing is known yet.
func NewTurn(action string) *Turn { return &Turn{action: action} }

// Apply folds rows in. Rows may come in batches of any size; those already
// applied change nothing.
func (t *Turn) Apply(rows []Row) {}

// Revision changes whenever something that is shown may have changed.
func (t *Turn) Revision() int { return 0 }

// Action is the action's ID.
func (t *Turn) Action() string { return t.action }

// Capability is the action's capability ID, or "" while it is unknown.
func (t *Turn) Capability() string { return "" }

// Operation is the Hermes operation: from the capability, else from the result,
// else from the frames; "" while unknown or not Hermes.
func (t *Turn) Operation() string { return "" }

// Segments are the stretches of the turn in order. The slice and what it points
// to belong to the turn, and are good until the next Apply.
func (t *Turn) Segments() []*Segment { return nil }

// Tools are the tool rows in the order of their first chunk, under the same
// terms.
func (t *Turn) Tools() []*Tool { return nil }

// Entries are the chunks in the order of their sequence, recovered events
// between them, under the same terms.
func (t *Turn) Entries() []Entry { return nil }

// Text is the assistant's answer: messages joined by a blank line.
func (t *Turn) Text() string { return "" }

// Chunks counts the chunks of the journal.
func (t *Turn) Chunks() int { return 0 }

// Gaps are the sequences that never came, between those that did.
func (t *Turn) Gaps() []Gap { return nil }

// Conflicts are the sequences under which other content came.
func (t *Turn) Conflicts() []uint64 { return nil }

// Waiting is the approval or question that the turn waits for, or nil.
func (t *Turn) Waiting() *Waiting { return nil }

// Usage is the last token count that the provider reported.
func (t *Turn) Usage() Usage { return Usage{} }

// FinishReason is the provider's own word for its end, or "".
func (t *Turn) FinishReason() string { return "" }

// ResponseID is the stored Responses object's ID, or "".
func (t *Turn) ResponseID() string { return "" }

// SessionID is the Hermes session's ID as last reported; it may rotate during a turn.
func (t *Turn) SessionID() string { return "" }

// Model is the model that the provider named, or "".
func (t *Turn) Model() string { return "" }

// Settled reports whether the action has its outcome.
func (t *Turn) Settled() bool { return false }

// Successor is the action to judge instead of this one, and why: a result that
// is another action's, or a key that another action holds. It is "" for most.
func (t *Turn) Successor() (action, why string) { return "", "" }

// Span is the time of the first and of the last thing known of the turn.
func (t *Turn) Span() (first, last time.Time) { return }

// Verdict says what may be believed of the turn as it stands.
func (t *Turn) Verdict() Verdict { return Verdict{} }
