package hermes

import (
	"encoding/json"
	"strconv"
	"strings"

	"aipscope/model/aip"
)

// Limits of the frames that one stream action may collect (wire/hermes.md A.1).
const (
	DefaultMaxEvents = 4096
	MaxMaxEvents     = 100_000
)

// ClosedEarly is the reason in the data of the chunk that the connector adds
// when the provider closes without a terminal event.
const ClosedEarly = "upstream_stream_closed_without_terminal_event"

// AppendJSON appends the record as the connector writes it.
func (r Record) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"event":`...)
	dst = appendOptional(dst, r.Event)
	dst = append(dst, `,"id":`...)
	dst = appendOptional(dst, r.ID)
	dst = append(dst, `,"data":`...)
	dst = append(dst, r.Data...)
	if r.RawData != nil {
		dst = append(dst, `,"raw_data":`...)
		dst = appendString(dst, *r.RawData)
	}
	dst = append(dst, `,"terminal":`...)
	dst = strconv.AppendBool(dst, r.Terminal)
	return append(dst, '}')
}

func appendOptional(dst []byte, s *string) []byte {
	if s == nil {
		return append(dst, "null"...)
	}
	return appendString(dst, *s)
}

// sseKey begins the data of every chunk that holds a provider frame.
const sseKey = `{"hermes_sse":`

// ChunkOf is the chunk in which the connector publishes a provider frame
// (wire/hermes.md A.6).
func ChunkOf(actionID string, sequence uint64, r Record) aip.Chunk {
	size := len(sseKey) + len(r.Data) + 64
	if r.RawData != nil {
		size += len(*r.RawData) + len(*r.RawData)/8
	}
	data := append(make([]byte, 0, size), sseKey...)
	data = append(r.AppendJSON(data), '}')
	return aip.Chunk{ActionID: actionID, Sequence: sequence, Kind: kindOf(r), Data: data, Part: partOf(r.Data)}
}

func kindOf(r Record) aip.ChunkKind {
	name, _ := r.Name()
	switch name {
	case "run.failed", "response.failed", "response.incomplete", "error":
		return aip.KindError
	case "tool.started", "tool.completed", "tool.failed":
		return aip.KindTool
	case "approval.request":
		return aip.KindPendingApproval
	case "reasoning.available":
		return aip.KindThought
	}
	if r.Terminal {
		return aip.KindDone
	}
	return aip.KindData
}

// partOf takes the text at delta, else at text, else at output: the first of
// the keys that is there decides.
func partOf(data json.RawMessage) *aip.Part {
	for _, key := range []string{"delta", "text", "output"} {
		value, ok := member(data, key)
		if !ok {
			continue
		}
		if text, ok := stringOf(value); ok && text != "" {
			return &aip.Part{Type: "text", Text: text, Format: "plain"}
		}
		return nil
	}
	return nil
}

// AppendChunk appends a chunk's JSON as a daemon writes it. Data must be
// compact JSON.
func AppendChunk(dst []byte, c aip.Chunk) []byte {
	dst = append(dst, `{"action_id":`...)
	dst = appendString(dst, c.ActionID)
	dst = append(dst, `,"sequence":`...)
	dst = strconv.AppendUint(dst, c.Sequence, 10)
	dst = append(dst, `,"kind":"`...)
	dst = append(dst, c.Kind...)
	dst = append(dst, '"')
	if c.Data != nil {
		dst = append(dst, `,"data":`...)
		dst = append(dst, c.Data...)
	}
	if c.Part != nil {
		dst = append(dst, `,"part":{"type":`...)
		dst = appendString(dst, c.Part.Type)
		dst = append(dst, `,"text":`...)
		dst = appendString(dst, c.Part.Text)
		dst = append(dst, `,"format":`...)
		dst = appendString(dst, c.Part.Format)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// Aggregate is one stream action as the connector runs it: records go in,
// chunks come out, and what was collected decides the outcome (wire/hermes.md
// A.6 to A.8).
type Aggregate struct {
	action    string
	endpoint  string
	op        Operation
	max       int
	records   []json.RawMessage // inside the data of the chunks
	text      strings.Builder
	terminal  bool
	truncated bool
	lastName  string
	lastData  json.RawMessage // of the last event that has a name
}

// NewAggregate returns an aggregate that collects at most maxEvents records; 0
// means no limit.
func NewAggregate(actionID, endpoint string, op Operation, maxEvents int) *Aggregate {
	return &Aggregate{action: actionID, endpoint: endpoint, op: op, max: maxEvents}
}

// Add takes a record in and returns its chunk, and whether the connector reads
// on. The limit is looked at before the end: a stream whose terminal event is
// the last one allowed is truncated, not terminal.
func (a *Aggregate) Add(r Record) (chunk aip.Chunk, more bool) {
	chunk = a.take(r)
	switch {
	case a.max > 0 && len(a.records) >= a.max:
		a.truncated = true
	case r.Terminal:
		a.terminal = true
	default:
		return chunk, true
	}
	return chunk, false
}

// AddLast takes in what the provider left without a blank line when it closed.
// The limit does not count for it.
func (a *Aggregate) AddLast(r Record) aip.Chunk {
	a.terminal = r.Terminal
	return a.take(r)
}

func (a *Aggregate) take(r Record) aip.Chunk {
	chunk := ChunkOf(a.action, uint64(len(a.records)), r)
	a.records = append(a.records, chunk.Data[len(sseKey):len(chunk.Data)-1])
	a.text.WriteString(textOf(r, a.text.Len() == 0))
	if name, ok := r.Name(); ok {
		a.lastName, a.lastData = name, r.Data
	}
	return chunk
}

// textOf is what a record adds to the aggregate's text. It mixes answer,
// reasoning and repeats.
func textOf(r Record, empty bool) string {
	if choices, ok := member(r.Data, "choices"); ok {
		choice, _ := first(choices)
		delta, _ := member(choice, "delta")
		if text, ok := stringMember(delta, "content"); ok {
			return text
		}
	}
	if text, ok := stringMember(r.Data, "delta"); ok {
		return text
	}
	if r.Event != nil && *r.Event == "response.output_text.delta" {
		if text, ok := stringMember(r.Data, "text"); ok {
			return text
		}
	}
	if empty {
		for _, key := range []string{"content", "output"} {
			if text, ok := stringMember(r.Data, key); ok {
				return text
			}
		}
	}
	return ""
}

// Closing is the error chunk that the connector adds when the provider closed;
// false when the stream ended as it should, or was cut off at its limit.
func (a *Aggregate) Closing() (aip.Chunk, bool) {
	if a.terminal || a.truncated {
		return aip.Chunk{}, false
	}
	data := append([]byte(`{"operation":`), appendString(nil, string(a.op))...)
	data = append(data, `,"reason":"`+ClosedEarly+`"}`...)
	return aip.Chunk{ActionID: a.action, Sequence: uint64(len(a.records)), Kind: aip.KindError, Data: data}, true
}

// Events counts the records.
func (a *Aggregate) Events() int { return len(a.records) }

// Text is the aggregate's text so far.
func (a *Aggregate) Text() string { return a.text.String() }
