package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// RowKind says what a journal row holds.
type RowKind string

const (
	RowRequest   RowKind = "request"   // what this console submitted
	RowEvent     RowKind = "event"     // an AIP event
	RowChunk     RowKind = "chunk"     // an AIP chunk, the first under its sequence
	RowConflict  RowKind = "conflict"  // an AIP chunk with other content under a known sequence
	RowRecovered RowKind = "recovered" // an event of the aggregate whose chunk never came
	RowStatus    RowKind = "status"    // the daemon's word for the action's state
	RowError     RowKind = "error"     // an error that the daemon answered while the action was followed
	RowResult    RowKind = "result"    // a result of this action
	RowReplay    RowKind = "replay"    // a result that carries another action's ID
	RowSettled   RowKind = "settled"   // a terminal state without a result in time, or a submission that was refused
	RowCancel    RowKind = "cancel"    // a cancellation that this console asked for, or its answer
	RowConfirm   RowKind = "confirm"   // what the operator says was verified
)

// Row is one entry of an action's journal, in the order of commits. Raw is the
// thing as it came; exactly one of the decoded fields is set, by Kind.
type Row struct {
	Number int64 // from 1, ascending within an action, with gaps; 0 before the commit
	Kind   RowKind
	At     time.Time // when this console received or made it
	Raw    json.RawMessage

	Request   *Request
	Event     *aip.Event
	Chunk     *aip.Chunk // RowChunk and RowConflict
	Recovered *Recovered
	Status    *aip.Status
	Error     *aip.Error
	Result    *Result // RowResult and RowReplay
	Settled   *Settled
	Cancel    *Cancellation
	Confirm   *Confirmation

	content *content // of the chunk, read once for all who need it
}

type content struct {
	of *aip.Chunk
	hermes.Content
}

// Content is what the row's chunk holds.
func (r *Row) Content() *hermes.Content {
	c := r.content
	if c == nil || c.of != r.Chunk {
		c = &content{r.Chunk, hermes.ReadContent(r.Chunk.Data)}
	}
	return &c.Content
}

// Request is what a submission was, kept before its first byte is sent (seed
// 000, section 2).
type Request struct {
	Capability     string          `json:"capability"`
	Mode           string          `json:"mode,omitempty"`
	IdempotencyKey string          `json:"idempotency_key,omitempty"`
	AIPSession     string          `json:"aip_session,omitempty"`
	Tenant         string          `json:"tenant,omitempty"`
	Principal      string          `json:"principal,omitempty"`
	Input          json.RawMessage `json:"input,omitempty"`
	TimeoutMS      int64           `json:"timeout_ms,omitempty"`
}

// Recovered is an event record of a result's aggregate whose chunk this console
// never received. It stands behind the chunk of sequence After (or before all
// chunks when First), in the order of Index.
type Recovered struct {
	First  bool          `json:"first,omitempty"`
	After  uint64        `json:"after"`
	Index  int           `json:"index"` // in the aggregate, from 0
	Record hermes.Record `json:"record"`
}

// Result is a result without its aggregate's events, and how those compare with
// the chunks of the journal.
type Result struct {
	aip.Result
	Aggregate *Match `json:"aggregate,omitempty"` // nil when the output holds no events
}

// encode writes the result with its output as it is, and returns it with the output
// in there: that of a long turn is tens of megabytes, and is held once.
func (r *Result) encode() (*Result, []byte, error) {
	same, rest := *r, *r
	rest.Output = nil
	raw, err := json.Marshal(rest)
	if err != nil || len(r.Output) == 0 {
		return &same, raw, err
	}
	const output = `{"output":`
	out := make([]byte, 0, len(output)+len(r.Output)+len(raw))
	out = append(append(out, output...), r.Output...)
	same.Output = slices.Clip(out[len(output):])
	return &same, append(append(out, ','), raw[1:]...), nil
}

// codeInProgress looks like a failure, and says that another action holds the
// key and still runs (wire/aip.md 8.4).
const codeInProgress = "idempotency.in_progress"

// InProgress reports whether the result only says that another action, its
// owner, holds the idempotency key and still runs.
func (r *Result) InProgress() bool { return r.Error != nil && r.Error.Code == codeInProgress }

// Settles reports whether the result is the action's outcome.
func (r *Result) Settles() bool { return r.Status.Settles() && !r.InProgress() }

// Match says how the events of an aggregate compare with the journal's chunks,
// in order, by their raw data.
type Match struct {
	Events  int      `json:"events"`
	Matched int      `json:"matched"`
	Missing int      `json:"missing"`          // events whose chunk never came
	Unlike  []uint64 `json:"unlike,omitempty"` // chunks that the aggregate does not hold
	Unread  int      `json:"unread,omitempty"` // events that were redacted: nothing is missing or unlike then
}

// CodeNotSent says that no connection came to be over which the action could have
// been submitted.
const CodeNotSent = "console.not_sent"

// Settled stands in for a result: a terminal state, or the code with which the
// daemon refused the submission, so that there is no action.
type Settled struct {
	State    aip.State `json:"state,omitempty"`
	WaitedMS int64     `json:"waited_ms,omitempty"`
	Code     string    `json:"code,omitempty"`
}

// Cancellation is one step of a cancel: asked (with a reason), or answered by
// the daemon with a result's status or an error code. A daemon answers
// "cancelled" for finished actions too, so none of this settles the action.
type Cancellation struct {
	Step   string `json:"step"` // asked answered refused
	Reason string `json:"reason,omitempty"`
	Status string `json:"status,omitempty"`
	Code   string `json:"code,omitempty"`
}

// Confirmation is the operator's word. Tools lists the keys of the tools whose
// effects were verified; Answer says that the answer was read and stands. Through is the
// journal row up to which the operator had seen: later tools and text are not covered.
type Confirmation struct {
	Tools   []string `json:"tools,omitempty"`
	Answer  bool     `json:"answer,omitempty"`
	Through int64    `json:"through"`
}

// NewRow encodes body as the row's Raw and keeps it decoded. body is a pointer
// to the type that kind calls for.
func NewRow(kind RowKind, at time.Time, body any) (Row, error) {
	if r, ok := body.(*Result); ok {
		same, raw, err := r.encode()
		if err != nil {
			return Row{}, fmt.Errorf("encode %s row: %w", kind, err)
		}
		return Row{Kind: kind, At: at, Raw: raw, Result: same}, nil
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return Row{}, fmt.Errorf("encode %s row: %w", kind, err)
	}
	return DecodeRow(kind, at, raw)
}

// DecodeRow makes a row of raw bytes. An unknown kind is kept undecoded.
func DecodeRow(kind RowKind, at time.Time, raw []byte) (Row, error) {
	r := Row{Kind: kind, At: at, Raw: raw}
	var err error
	switch kind {
	case RowRequest:
		r.Request, err = decode[Request](raw)
	case RowEvent:
		r.Event, err = decode[aip.Event](raw)
	case RowChunk, RowConflict:
		if r.Chunk, err = decode[aip.Chunk](raw); err == nil {
			r.content = &content{r.Chunk, hermes.ReadContent(r.Chunk.Data)}
		}
	case RowRecovered:
		r.Recovered, err = decode[Recovered](raw)
	case RowStatus:
		r.Status, err = decode[aip.Status](raw)
	case RowError:
		r.Error, err = decode[aip.Error](raw)
	case RowResult, RowReplay:
		r.Result, err = decode[Result](raw)
	case RowSettled:
		r.Settled, err = decode[Settled](raw)
	case RowCancel:
		r.Cancel, err = decode[Cancellation](raw)
	case RowConfirm:
		r.Confirm, err = decode[Confirmation](raw)
	}
	if err != nil {
		return Row{}, fmt.Errorf("decode %s row: %w", kind, err)
	}
	return r, nil
}

func decode[T any](raw []byte) (*T, error) {
	v := new(T)
	if err := aip.Unmarshal(raw, v); err != nil {
		return nil, err
	}
	return v, nil
}
