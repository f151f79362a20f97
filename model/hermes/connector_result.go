package hermes

import (
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"

	"aipscope/model/aip"
)

// Pieces are the bytes of a JSON text in order. A result with a hundred
// thousand events is written from where its records already are, not copied
// together.
type Pieces = iter.Seq[[]byte]

// Result is an ActionResult that is not laid out yet.
type Result struct {
	ActionID string
	Status   aip.ResultStatus
	Output   Pieces // nil without an output
	Message  bool   // there is a message, which repeats the output (wire/hermes.md A.8)
	Text     string // the text part of the message, left out when blank
	Error    *aip.Error
}

// Pieces lays the result out.
func (r Result) Pieces() Pieces { return r.pieces(false) }

// Replayed lays the result out as a daemon answers it to a repeated idempotency
// key: the output is marked, and lost when it is not an object (wire/aip.md
// 8.4).
func (r Result) Replayed() Pieces { return r.pieces(true) }

func (r Result) pieces(replayed bool) Pieces {
	return func(yield func([]byte) bool) {
		head := append([]byte(`{"action_id":`), appendString(nil, r.ActionID)...)
		head = append(head, `,"status":"`+string(r.Status)+`"`...)
		ok := yield(head)
		switch {
		case replayed:
			ok = ok && yield([]byte(`,"output":`)) && marked(r.Output, yield)
		case r.Output != nil:
			ok = ok && yield([]byte(`,"output":`)) && forward(r.Output, yield)
		}
		if ok && r.Message {
			part := []byte(`,"message":[`)
			if strings.TrimSpace(r.Text) != "" {
				part = append(part, `{"type":"text","text":`...)
				part = append(appendString(part, r.Text), `},`...)
			}
			part = append(part, `{"type":"json","data":`...)
			ok = yield(part) && forward(r.Output, yield) && yield([]byte(`}]`))
		}
		if !ok {
			return
		}
		var tail []byte
		if r.Error != nil {
			tail = append(tail, `,"error":`...)
			tail = append(tail, EncodeError(r.Error)...)
		}
		yield(append(tail, '}'))
	}
}

func forward(p Pieces, yield func([]byte) bool) bool {
	for b := range p {
		if !yield(b) {
			return false
		}
	}
	return true
}

func marked(output Pieces, yield func([]byte) bool) bool {
	const mark = `{"idempotent_replay":true`
	if output == nil {
		return yield([]byte(mark + "}"))
	}
	begun := false
	for b := range output {
		if begun {
			if !yield(b) {
				return false
			}
			continue
		}
		if begun = true; b[0] != '{' {
			return yield([]byte(mark + "}"))
		}
		open := mark
		if len(b) == 1 || b[1] != '}' {
			open += ","
		}
		if !yield([]byte(open)) || !yield(b[1:]) {
			return false
		}
	}
	return true
}

// Whole is the result in one piece.
func (r Result) Whole() (aip.Result, error) {
	var whole aip.Result
	err := json.Unmarshal(slices.Concat(slices.Collect(r.Pieces())...), &whole)
	return whole, err
}

// JSONPieces is a JSON text that is in one piece already.
func JSONPieces(b []byte) Pieces { return func(yield func([]byte) bool) { yield(b) } }

// EncodeError encodes a protocol error as a daemon writes it.
func EncodeError(e *aip.Error) []byte {
	b := append([]byte(`{"code":`), appendString(nil, e.Code)...)
	b = append(b, `,"message":`...)
	b = appendString(b, e.Message)
	b = append(b, `,"category":`...)
	b = appendString(b, e.Category)
	b = append(b, `,"retryable":`...)
	b = strconv.AppendBool(b, e.Retryable)
	if e.RetryAfterMS > 0 {
		b = append(b, `,"retry_after_ms":`...)
		b = strconv.AppendInt(b, e.RetryAfterMS, 10)
	}
	if e.Details != nil {
		b = append(b, `,"details":`...)
		b = append(b, e.Details...)
	}
	if e.Source != nil {
		b = append(b, `,"source":`...)
		b = append(b, e.Source...)
	}
	return append(b, '}')
}

// Outcome is how the connector classifies what it collected. A chat stream that
// ends with an error or a cut answer is completed all the same.
func (a *Aggregate) Outcome() (aip.ResultStatus, *aip.Error) {
	about := append([]byte(`{"operation":`), appendString(nil, string(a.op))...)
	about = append(about, '}')
	switch {
	case a.truncated:
		return aip.ResultFailed, streamError("stream_truncated", "the stream was cut off at its event limit", about)
	case !a.terminal:
		return aip.ResultFailed, streamError("stream_incomplete", "the provider closed the stream without a terminal event", about)
	}
	switch a.lastName {
	case "run.cancelled":
		return aip.ResultCancelled, nil
	case "run.failed", "response.failed", "response.incomplete", "error":
		return aip.ResultFailed, streamError("stream_failed", "the provider ended the stream with a failure", a.lastData)
	}
	return aip.ResultCompleted, nil
}

func streamError(code, message string, details json.RawMessage) *aip.Error {
	return &aip.Error{Code: errorPrefix + code, Message: message, Category: "connector",
		Details: details, Source: json.RawMessage(`{"connector":"hermes-agent"}`)}
}

// Result is the action's result.
func (a *Aggregate) Result() Result {
	status, err := a.Outcome()
	return Result{ActionID: a.action, Status: status, Output: a.output(), Message: true, Text: a.Text(), Error: err}
}

func (a *Aggregate) output() Pieces {
	head := append([]byte(`{"endpoint_id":`), appendString(nil, a.endpoint)...)
	head = append(head, `,"operation":`...)
	head = appendString(head, string(a.op))
	head = append(head, `,"http_status":200,"events":[`...)
	tail := append([]byte(`],"text":`), appendString(nil, a.Text())...)
	tail = append(tail, `,"terminal":`...)
	tail = strconv.AppendBool(tail, a.terminal)
	tail = append(tail, `,"truncated":`...)
	tail = append(strconv.AppendBool(tail, a.truncated), '}')
	comma := []byte{','}
	return func(yield func([]byte) bool) {
		if !yield(head) {
			return
		}
		for i, r := range a.records {
			if i > 0 && !yield(comma) || !yield(r) {
				return
			}
		}
		yield(tail)
	}
}

// ReplyResult is the completed result of an operation that does not stream: the
// provider's JSON is the output, and its answer's text the message's text.
func ReplyResult(actionID string, body []byte) Result {
	output := readData(string(body))
	message, ok := member(output, "message")
	if choices, found := member(output, "choices"); found && !ok {
		choice, _ := first(choices)
		message, _ = member(choice, "message")
	}
	text, _ := stringMember(message, "content")
	return Result{ActionID: actionID, Status: aip.ResultCompleted, Output: JSONPieces(output), Message: true, Text: text}
}
