// Package aip holds AIP's own types as they stand on the wire, and their
// decoding. A daemon is read leniently: an unknown field, kind or state is kept
// and shown, never refused, and an optional field may be absent or null.
//
// An action is one governed invocation. While it runs, the daemon records what
// the provider sends as numbered chunks and what happens to the action as
// events; a follow stream delivers both. Only a result, or a terminal state,
// settles the action.
package aip

import (
	"encoding/json"
	"strings"
	"time"
)

// ChunkKind is AIP's own class of a chunk. It says little about the provider
// frame inside: chat tools arrive as data, reasoning may too.
type ChunkKind string

const (
	KindData            ChunkKind = "data"
	KindProgress        ChunkKind = "progress"
	KindTool            ChunkKind = "tool"
	KindThought         ChunkKind = "thought"
	KindPreview         ChunkKind = "preview"
	KindPendingApproval ChunkKind = "pending_approval"
	KindError           ChunkKind = "error"
	KindDone            ChunkKind = "done"
)

// Ends reports whether the daemon accepts no chunk after one of this kind. It
// does not mean that the action ended.
func (k ChunkKind) Ends() bool { return k == KindDone || k == KindError }

// Chunk is one recorded provider frame, ordered by Sequence. Sequences may
// start anywhere and have gaps.
type Chunk struct {
	ActionID string          `json:"action_id"`
	Sequence uint64          `json:"sequence"`
	Kind     ChunkKind       `json:"kind"`
	Data     json.RawMessage `json:"data,omitempty"`
	Part     *Part           `json:"part,omitempty"`
}

// Part is AIP's MessagePart; only the fields that a Hermes turn uses are named.
type Part struct {
	Type   string          `json:"type"`
	Text   string          `json:"text,omitempty"`
	Format string          `json:"format,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
}

// Names of follow frames that are never stored as events.
const (
	FrameCursor   = "aip.stream.cursor"
	FrameTerminal = "aip.stream.terminal"
	FrameError    = "aip.error"
)

// Kinds of events that the console looks into. The set is open.
const (
	EventChunk     = "aip.stream.chunk"
	EventResult    = "aip.action.result"
	EventCancelled = "aip.action.cancelled"
)

// Event is something that happened to an action. The event of kind
// aip.stream.chunk is the metadata of a chunk; it shares its name with the
// follow frame that carries the chunk itself.
type Event struct {
	ID            string          `json:"id"`
	Kind          string          `json:"kind"`
	OccurredAt    Time            `json:"occurred_at"`
	SessionID     string          `json:"session_id,omitempty"`
	ActionID      string          `json:"action_id,omitempty"`
	CorrelationID string          `json:"correlation_id,omitempty"`
	Actor         json.RawMessage `json:"actor,omitempty"`
	Data          json.RawMessage `json:"data,omitempty"`
}

// ChunkSequence returns the sequence of the chunk that a metadata event
// describes.
func (e Event) ChunkSequence() (uint64, bool) {
	if e.Kind != EventChunk {
		return 0, false
	}
	var d struct {
		Sequence *uint64 `json:"sequence"`
	}
	if Unmarshal(e.Data, &d) != nil || d.Sequence == nil {
		return 0, false
	}
	return *d.Sequence, true
}

// State is the daemon's word for where an action stands. The set is open.
type State string

const (
	StateUnknown         State = "unknown"
	StateQueued          State = "queued"
	StateRunning         State = "running"
	StateStreaming       State = "streaming"
	StatePendingApproval State = "pending_approval"
	StateCancelled       State = "cancelled"
	StateCompleted       State = "completed"
	StateFailed          State = "failed"
	StateExpired         State = "expired"
	StateDeadLettered    State = "dead_lettered"
)

// Terminal reports whether the state is one that an action does not leave.
func (s State) Terminal() bool {
	switch s {
	case StateCancelled, StateCompleted, StateFailed, StateExpired, StateDeadLettered:
		return true
	}
	return false
}

// Status is AIP's ActionStatus. An ID that the daemon does not know answers
// with StateUnknown, as does a live sync or streaming action.
type Status struct {
	ActionID      string          `json:"action_id"`
	CapabilityID  string          `json:"capability_id,omitempty"`
	SessionID     string          `json:"session_id,omitempty"`
	CorrelationID string          `json:"correlation_id,omitempty"`
	State         State           `json:"state"`
	QueuedState   string          `json:"queued_state,omitempty"`
	ResultStatus  string          `json:"result_status,omitempty"`
	ApprovalID    string          `json:"approval_id,omitempty"`
	StartedAt     Time            `json:"started_at,omitzero"`
	UpdatedAt     Time            `json:"updated_at,omitzero"`
	CompletedAt   Time            `json:"completed_at,omitzero"`
	Retry         json.RawMessage `json:"retry,omitempty"`
}

// ResultStatus is the outcome that a result names.
type ResultStatus string

const (
	ResultCompleted       ResultStatus = "completed"
	ResultFailed          ResultStatus = "failed"
	ResultCancelled       ResultStatus = "cancelled"
	ResultPendingApproval ResultStatus = "pending_approval"
	ResultRequiresHuman   ResultStatus = "requires_human"
)

// Settles reports whether a result of this status ends the action. A stored
// result that waits for approval is delivered like any other and settles
// nothing.
func (s ResultStatus) Settles() bool {
	return s == ResultCompleted || s == ResultFailed || s == ResultCancelled
}

// Result is AIP's ActionResult. ReadResult fills it without the events of a
// stream's aggregate, which the output and the message both repeat.
type Result struct {
	ActionID string          `json:"action_id"`
	Status   ResultStatus    `json:"status"`
	Output   json.RawMessage `json:"output,omitempty"`
	Message  json.RawMessage `json:"message,omitempty"`
	Usage    json.RawMessage `json:"usage,omitempty"`
	Receipt  json.RawMessage `json:"receipt,omitempty"`
	Error    *Error          `json:"error,omitempty"`
}

// Error is AIP's ProtocolError. Decisions rest on Code, Category and typed
// details, never on Message.
type Error struct {
	Code         string          `json:"code"`
	Message      string          `json:"message"`
	Category     string          `json:"category"`
	Retryable    bool            `json:"retryable,omitempty"`
	RetryAfterMS int64           `json:"retry_after_ms,omitempty"`
	Details      json.RawMessage `json:"details,omitempty"`
	Source       json.RawMessage `json:"source,omitempty"`
}

func (e *Error) Error() string { return e.Code }

// Uncertain reports whether the work may have happened although it failed.
func (e *Error) Uncertain() bool {
	var d struct {
		Uncertain bool `json:"uncertain_outcome"`
	}
	return UnmarshalLast(e.Details, &d) == nil && d.Uncertain
}

// RemoteStatus is the HTTP status that the provider answered with, or 0.
func (e *Error) RemoteStatus() int {
	var d struct {
		Status int `json:"remote_status"`
	}
	if UnmarshalLast(e.Details, &d) != nil {
		return 0
	}
	return d.Status
}

// Detail returns a string member of the error's details, or "".
func (e *Error) Detail(name string) string {
	var d map[string]json.RawMessage
	var s string
	if json.Unmarshal(e.Details, &d) != nil || json.Unmarshal(d[name], &s) != nil {
		return ""
	}
	return s
}

// Redacted reports whether a value was taken out by the daemon, which leaves
// {"redacted":true} in its place (wire/aip.md section 6).
func Redacted(raw json.RawMessage) bool {
	var v struct {
		Redacted bool `json:"redacted"`
	}
	return len(raw) > 0 && raw[0] == '{' && UnmarshalLast(raw, &v) == nil && v.Redacted
}

// Time is a time as AIP writes it: RFC 3339, or an array of nine integers
// (year, day of the year, hour, minute, second, nanosecond, and the offset's
// hours, minutes, seconds), or a redacted value. What cannot be read is the
// zero time, not an error.
type Time struct{ time.Time }

func (t *Time) UnmarshalJSON(b []byte) error {
	t.Time = time.Time{}
	var s string
	if unmarshal(b, &s, false) == nil {
		if at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(s)); err == nil {
			t.Time = at
		}
		return nil
	}
	var n []int
	if json.Unmarshal(b, &n) == nil && len(n) == 9 {
		off := n[6]*3600 + n[7]*60 + n[8]
		t.Time = time.Date(n[0], 1, n[1], n[2], n[3], n[4], n[5], time.FixedZone("", off)).UTC()
	}
	return nil
}

func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(t.UTC().Format(time.RFC3339Nano))
}
