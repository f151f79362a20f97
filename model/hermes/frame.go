package hermes

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"aipscope/model/aip"
)

// Kind is what a provider frame does to a turn.
type Kind uint8

const (
	KindOther      Kind = iota // kept and shown, changes nothing
	KindRole                   // opens an assistant message
	KindDelta                  // grows the assistant's text
	KindText                   // repeats a content item's whole text, to be checked against its deltas
	KindContent                // repeats the turn's whole text, or its last part
	KindItem                   // opens or closes an output item
	KindTool                   // a tool starts, ends, or says more about itself
	KindThinking               // reasoning, or what the provider calls so
	KindCommentary             // said beside the answer
	KindWaiting                // asks for an approval or an answer
	KindAnswered               // the approval or answer came
	KindStarted                // names the run, response or message
	KindFinish                 // the provider's own end of the turn
	KindError                  // an event named error
	KindDone                   // the end of the provider's stream
	KindClosed                 // the connector's word that the provider's stream stopped without an end
)

// Frame is a provider frame, read for what it means. Only fields that its Kind
// calls for are set. All text is the provider's and unsafe for a terminal.
type Frame struct {
	Family  Family
	Kind    Kind
	Name    string // the event's name: the event line, else "event", else "type" in the data
	Text    string // of a delta, a repeat, thinking or commentary
	Message string // the message or content item that Text belongs to
	More    *More  // what only few frames carry
}

// More is the part of a frame that text deltas do not have.
type More struct {
	Tools      []ToolChange
	Finish     *Finish
	Waiting    string // approval or clarify
	Interact   string // ID of the question, shared by its two events
	ResponseID string
	SessionID  string
	Model      string
	Usage      json.RawMessage
	Output     []OutputItem // of a terminal Responses object
	Failure    bool         // a non-null error, or a hermes object that tells of one
	ErrorCode  string       // hermes.error_code, error.code or error.type
	Null       bool         // whole text that was sent as null
	TwoThings  bool         // the frame's data is not what its raw data says
}

// ToolPhase says what a frame reports of a tool.
type ToolPhase uint8

const (
	ToolStart ToolPhase = iota
	ToolEnd
	ToolUpdate // says more, changes no state
)

// ToolChange is what a frame says of one tool call.
type ToolChange struct {
	Phase     ToolPhase
	Key       string // correlation ID, or "" where the stream has none
	Name      string
	Label     string
	Arguments string
	Result    string
	Failed    bool
	Duration  time.Duration
}

// Finish is the provider's own end of a turn.
type Finish struct {
	Reason      string // chat finish_reason; a Responses object's status; completed, failed, cancelled or interrupted of a run
	NotComplete bool   // completed:false
	Partial     bool
	Interrupted bool
	Rows        *Rows // of a session turn
	Digest      Digest
}

// Rows is what matters of the messages that end a session turn.
type Rows struct {
	Count  int
	Role   string // of the closing row
	Finish string // of the closing row
	Tools  []ToolChange
}

// OutputItem is one item of a Responses object's output.
type OutputItem struct {
	Type string
	Text string // of a message
	Tool ToolChange
}

// event holds the members of all generations' frames that the console reads.
type event struct {
	Event   json.RawMessage `json:"event"`
	Type    json.RawMessage `json:"type"`
	Choices json.RawMessage `json:"choices"`

	Model     string          `json:"model"`
	Usage     json.RawMessage `json:"usage"`
	Error     json.RawMessage `json:"error"`
	Hermes    json.RawMessage `json:"hermes"`
	SessionID string          `json:"session_id"`
	MessageID string          `json:"message_id"`
	Delta     json.RawMessage `json:"delta"`
	Text      json.RawMessage `json:"text"`
	Content   json.RawMessage `json:"content"`
	Output    json.RawMessage `json:"output"`
	Streamed  bool            `json:"already_streamed"`

	Tool       string          `json:"tool"`
	ToolName   string          `json:"tool_name"`
	Label      string          `json:"label"`
	Preview    json.RawMessage `json:"preview"`
	Args       json.RawMessage `json:"args"`
	Result     json.RawMessage `json:"result"`
	Status     string          `json:"status"`
	ToolCallID string          `json:"toolCallId"`
	SnakeID    string          `json:"tool_call_id"`
	CallID     string          `json:"call_id"`
	Duration   float64         `json:"duration"`
	IsError    bool            `json:"is_error"`

	Kind          string          `json:"kind"`
	InteractionID string          `json:"interaction_id"`
	ApprovalID    string          `json:"approval_id"`
	Completed     json.RawMessage `json:"completed"`
	Partial       json.RawMessage `json:"partial"`
	Interrupted   json.RawMessage `json:"interrupted"`
	Failed        json.RawMessage `json:"failed"`
	Redacted      json.RawMessage `json:"redacted"`
	Messages      json.RawMessage `json:"messages"`

	Response     json.RawMessage `json:"response"`
	Item         json.RawMessage `json:"item"`
	ItemID       string          `json:"item_id"`
	OutputIndex  *int            `json:"output_index"`
	ContentIndex int             `json:"content_index"`
}

// events are empty; one is a kilobyte, and each frame is read into one.
var events = sync.Pool{New: func() any { return new(event) }}

// Decode reads a record. The operation, where it is known, settles what names
// shared by session and run streams mean; without it the event line does, which
// only session streams have. It never fails: what cannot be read is of kind
// KindOther.
func Decode(rec Record, op Operation) Frame {
	ev := events.Get().(*event)
	defer func() { *ev = event{}; events.Put(ev) }()
	came, data := rec, rec.Data
	if s, ok := str(data); ok {
		if strings.TrimSpace(s) == "[DONE]" {
			return Frame{Family: FamilyChat, Kind: KindDone}
		}
		// A lone surrogate makes a frame unreadable to the connector, which then
		// keeps it as a string; Go's decoder reads it with U+FFFD in its place.
		data = json.RawMessage(s)
		rec.Data = data
	}
	// A member of an unexpected type leaves its field empty and the others whole.
	_ = aip.UnmarshalLast(data, ev)

	f := Frame{}
	if rec.Event != nil {
		f.Name = *rec.Event
	}
	if f.Name == "" {
		f.Name, _ = str(ev.Event)
	}
	if f.Name == "" {
		f.Name, _ = str(ev.Type)
	}
	switch {
	case f.Name == "hermes.tool.progress":
		f = decodeChatTool(f, ev)
	case strings.HasPrefix(f.Name, "response."):
		f = decodeResponses(f, ev, rec)
	case f.Name != "":
		f = decodeEvent(f, ev, rec, op)
	default:
		f = decodeChat(f, ev, rec)
	}
	if f.decides() && came.saysTwoThings() {
		if f.More == nil {
			f.More = &More{}
		}
		f.More.TwoThings = true
	}
	return f
}

// decides reports whether a verdict may rest on the frame alone.
func (f Frame) decides() bool {
	switch f.Kind {
	case KindFinish, KindContent, KindText, KindError:
		return true
	}
	return false
}

// decodeChat reads a chat completion chunk, which has no event name
// (wire/hermes.md B.2).
func decodeChat(f Frame, ev *event, rec Record) Frame {
	var choices []choice
	_ = aip.UnmarshalLast(ev.Choices, &choices)
	failure, code := failed(ev.Error, ev.Hermes)
	if ev.Choices == nil && !failure {
		return f
	}
	f.Family = FamilyChat
	more := &More{Model: ev.Model, Usage: bytes.Clone(object(ev.Usage)), Failure: failure, ErrorCode: code}
	if len(choices) == 0 {
		f.More = more
		return f
	}
	c := choices[0]
	for _, other := range choices {
		if other.Index == 0 {
			c = other // one choice is all that Hermes answers, and the first is the answer
			break
		}
	}
	f.Text, _ = str(c.Delta.Content)
	more.Tools = c.tools()
	switch {
	case c.FinishReason != "":
		f.Kind = KindFinish
		more.Finish = &Finish{Reason: c.FinishReason, Digest: rec.Digest()}
	case c.Delta.Content != nil:
		f.Kind = KindDelta
		if more.Usage == nil && !failure && more.Tools == nil {
			more = nil
		}
	case c.Delta.Reasoning != "":
		f.Kind, f.Text = KindThinking, c.Delta.Reasoning
	case c.Delta.Role != "":
		f.Kind = KindRole
	}
	f.More = more
	return f
}

// choice is one of a chunk's choices. Hermes runs its tools itself and sends no
// calls in a delta; another provider's are seen all the same.
type choice struct {
	Index int `json:"index"`
	Delta struct {
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		Reasoning string          `json:"reasoning_content"`
		ToolCalls json.RawMessage `json:"tool_calls"`
		Call      json.RawMessage `json:"function_call"`
	} `json:"delta"`
	FinishReason string `json:"finish_reason"`
}

func (c choice) tools() []ToolChange {
	calls := callsOf(c.Delta.ToolCalls)
	var one struct {
		Name string `json:"name"`
	}
	if !isNull(c.Delta.Call) && (aip.UnmarshalLast(c.Delta.Call, &one) != nil || one.Name != "") {
		calls = append(calls, ToolChange{Phase: ToolStart, Name: one.Name})
	}
	return calls
}

// callsOf reads a list of tool calls as chat messages have them. What stands
// there and is no list is a call of an unknown tool; a piece of a call that an
// earlier delta began has no ID and is none.
func callsOf(raw json.RawMessage) []ToolChange {
	if isNull(raw) {
		return nil
	}
	var list []struct {
		ID       string `json:"id"`
		CallID   string `json:"call_id"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	}
	if err := aip.UnmarshalLast(raw, &list); err != nil && list == nil {
		return []ToolChange{{Phase: ToolStart, Name: "unknown"}}
	}
	var calls []ToolChange
	for _, c := range list {
		if key := cmp.Or(c.CallID, c.ID); key != "" || c.Function.Name != "" {
			calls = append(calls, ToolChange{Phase: ToolStart, Key: key, Name: c.Function.Name, Arguments: text(c.Function.Arguments)})
		}
	}
	return calls
}

// decodeChatTool reads tool progress beside a chat stream. Servers before
// mid-2026 sent a start only, without an ID or status.
func decodeChatTool(f Frame, ev *event) Frame {
	f.Family, f.Kind = FamilyChat, KindTool
	t := ToolChange{Key: ev.ToolCallID, Name: ev.Tool, Label: ev.Label}
	switch ev.Status {
	case "running", "":
	case "completed":
		t.Phase = ToolEnd
	case "failed", "error":
		t.Phase, t.Failed = ToolEnd, true
	default:
		t.Phase = ToolUpdate
	}
	f.More = &More{Tools: []ToolChange{t}}
	return f
}

// decodeEvent reads the frames of session and run streams, which share most of
// their names (wire/hermes.md B.4, B.5).
func decodeEvent(f Frame, ev *event, rec Record, op Operation) Frame {
	f.Family = op.Family()
	if f.Family != FamilySession && f.Family != FamilyRun && f.Family != FamilyOperator {
		f.Family = FamilyRun
		if rec.Event != nil && *rec.Event != "" {
			f.Family = FamilySession
		}
	}
	f.Message = ev.MessageID
	more := &More{SessionID: ev.SessionID, Model: ev.Model, Usage: bytes.Clone(object(ev.Usage))}
	f.More = more
	if f.Family == FamilyRun || f.Family == FamilyOperator {
		more.SessionID = "" // a run repeats its own ID there
	}
	switch f.Name {
	case "assistant.delta", "message.delta":
		f.Kind, f.More = KindDelta, nil
		f.Text, _ = str(ev.Delta)
	case "tool.started", "tool.completed", "tool.failed":
		f.Kind = KindTool
		more.Tools = []ToolChange{eventTool(f.Name, ev)}
	case "tool.progress", "reasoning.available":
		f.Kind = KindThinking
		f.Text = firstText(ev.Delta, ev.Text)
		if t := eventTool(f.Name, ev); t.Name != "" && t.Name[0] != '_' {
			more.Tools = []ToolChange{t} // a real tool that is at work
		}
	case "assistant.commentary", "message.interim":
		f.Kind = KindCommentary
		if !ev.Streamed {
			f.Text = firstText(ev.Text, ev.Content)
		}
	case "approval.request", "clarify.request", "interaction.request":
		f.Kind, more.Waiting = KindWaiting, "clarify"
		if f.Name == "approval.request" || ev.Kind == "approval" {
			more.Waiting = "approval"
		}
		more.Interact = cmp.Or(ev.InteractionID, ev.ApprovalID)
	case "approval.responded", "clarify.responded", "interaction.responded":
		f.Kind, more.Interact = KindAnswered, cmp.Or(ev.InteractionID, ev.ApprovalID)
	case "run.started", "message.started":
		f.Kind = KindStarted
	case "assistant.completed":
		f.Kind = KindContent
		f.Text, _ = str(ev.Content)
		more.Null = isNull(ev.Content)
		more.Finish = &Finish{NotComplete: denied(ev.Completed) || raised(ev.Failed), Partial: raised(ev.Partial), Interrupted: raised(ev.Interrupted)}
		more.Failure, more.ErrorCode = failed(ev.Error, ev.Hermes)
	case "run.completed", "run.failed", "run.cancelled", "run.interrupted":
		f.Kind = KindFinish
		f.Text, _ = str(ev.Output)
		more.Failure, more.ErrorCode = failed(ev.Error, ev.Hermes)
		more.Finish = runEnd(f.Name, ev, rec)
	case "error":
		f.Kind, more.Failure = KindError, true
		_, more.ErrorCode = failed(ev.Error, ev.Hermes)
	case "done":
		f.Kind = KindDone
	default:
		if strings.HasPrefix(f.Name, "tool.") { // of a generation to come
			f.Kind, more.Tools = KindTool, []ToolChange{eventTool(f.Name, ev)}
		}
	}
	if inner, _ := str(ev.Event); inner != f.Name && endsBadly(inner) {
		more.Failure = true // the frame's two names contradict each other
	}
	return f
}

// runEnd reads the end of a session turn or a run. Newer servers repeat it in a
// status; one that cannot be read is no evidence of a good end.
func runEnd(name string, ev *event, rec Record) *Finish {
	f := &Finish{
		Reason:      strings.TrimPrefix(name, "run."),
		NotComplete: denied(ev.Completed) || raised(ev.Failed),
		Partial:     raised(ev.Partial),
		Interrupted: raised(ev.Interrupted) || name == "run.interrupted",
		Rows:        rows(ev.Messages),
		Digest:      rec.Digest(),
	}
	switch {
	case f.Reason != "completed":
	case raised(ev.Redacted) || object(rec.Data) == nil:
		f.Reason = "unreadable"
	case ev.Status != "" && ev.Status != "success":
		f.Reason = ev.Status
	}
	return f
}

// endsBadly reports whether an event's name tells of an end that is no success.
func endsBadly(name string) bool {
	switch name {
	case "error", "run.failed", "run.cancelled", "run.interrupted", "response.failed", "response.incomplete":
		return true
	}
	return false
}

func eventTool(name string, ev *event) ToolChange {
	t := ToolChange{
		Key:      cmp.Or(ev.SnakeID, ev.ToolCallID, ev.CallID),
		Name:     cmp.Or(ev.ToolName, ev.Tool),
		Duration: time.Duration(ev.Duration * float64(time.Second)),
	}
	switch name {
	case "tool.completed", "tool.failed":
	case "tool.started":
		t.Label, _ = str(ev.Preview)
		t.Arguments = text(ev.Args)
		return t
	default:
		t.Phase = ToolUpdate
		return t
	}
	var flag bool
	_ = json.Unmarshal(ev.Error, &flag)
	t.Phase = ToolEnd
	t.Failed = flag || ev.IsError || name == "tool.failed"
	t.Result = cmp.Or(text(ev.Result), text(ev.Preview))
	return t
}

// rows reads the messages of a finished session turn: the closing row decides
// whether the answer is whole, and tool rows tell of tools that no event did.
func rows(raw json.RawMessage) *Rows {
	var list []struct {
		Role         string          `json:"role"`
		Content      json.RawMessage `json:"content"`
		FinishReason string          `json:"finish_reason"`
		ToolCallID   string          `json:"tool_call_id"`
		ToolName     string          `json:"tool_name"`
		ToolCalls    json.RawMessage `json:"tool_calls"`
	}
	if isNull(raw) || aip.UnmarshalLast(raw, &list) != nil && list == nil {
		return nil
	}
	r := &Rows{Count: len(list)}
	for _, m := range list {
		r.Role, r.Finish = m.Role, m.FinishReason
		r.Tools = append(r.Tools, callsOf(m.ToolCalls)...)
		if m.Role == "tool" {
			r.Tools = append(r.Tools, ToolChange{Phase: ToolUpdate, Key: m.ToolCallID, Name: m.ToolName, Result: text(m.Content)})
		}
	}
	return r
}

// failed reports whether an error or hermes member tells of a failure, and its
// code. What stands there but cannot be read tells of one.
func failed(errObj, hermes json.RawMessage) (bool, string) {
	if isNull(errObj) && isNull(hermes) {
		return false, ""
	}
	var e struct {
		Code string `json:"code"`
		Type string `json:"type"`
	}
	var h struct {
		Completed json.RawMessage `json:"completed"`
		Partial   json.RawMessage `json:"partial"`
		Failed    json.RawMessage `json:"failed"`
		Redacted  json.RawMessage `json:"redacted"`
		Error     json.RawMessage `json:"error"`
		ErrorCode string          `json:"error_code"`
	}
	_ = aip.UnmarshalLast(errObj, &e)
	_ = aip.UnmarshalLast(hermes, &h)
	bad := !isNull(errObj) || !isNull(hermes) && object(hermes) == nil ||
		denied(h.Completed) || raised(h.Partial) || raised(h.Failed) || raised(h.Redacted) || !isNull(h.Error) || h.ErrorCode != ""
	return bad, cmp.Or(h.ErrorCode, e.Code, e.Type)
}

// raised reports whether a flag of a failure is up: only false and null are not.
func raised(flag json.RawMessage) bool { return !isNull(flag) && string(flag) != "false" }

// denied reports whether a flag of success is there and not up.
func denied(flag json.RawMessage) bool { return !isNull(flag) && string(flag) != "true" }

// Label names the frame as family.event in lower case, or other.
func (f Frame) Label() string {
	if f.Kind == KindClosed {
		return "connector.closed"
	}
	if f.Family == FamilyNone || f.Kind == KindOther && f.Name == "" {
		return "other"
	}
	return labels[f.Family][f.Kind]
}

var labels = func() map[Family]map[Kind]string {
	words := map[Kind]string{
		KindOther: "other", KindRole: "role", KindDelta: "delta", KindText: "text_done", KindContent: "content", KindItem: "item",
		KindTool: "tool", KindThinking: "thinking", KindCommentary: "commentary", KindWaiting: "waiting", KindAnswered: "answered",
		KindStarted: "started", KindFinish: "finish", KindError: "error", KindDone: "done",
	}
	m := map[Family]map[Kind]string{}
	for _, fam := range []Family{FamilyChat, FamilyResponses, FamilySession, FamilyRun, FamilyOperator} {
		m[fam] = map[Kind]string{}
		for k, w := range words {
			m[fam][k] = string(fam) + "." + w
		}
	}
	m[FamilyResponses][KindStarted] = "responses.created"
	m[FamilyResponses][KindDelta] = "responses.text"
	return m
}()

// Content is what a chunk's data holds, read as far as it goes without the
// operation. The zero Content is another connector's, which is FamilyNone.
type Content struct {
	holds  holds
	record Record
	digest Digest
}

type holds uint8

const (
	holdsOther holds = iota
	holdsFrame
	holdsOperator // an operator's event
	holdsClosed   // the connector's closing error
)

// ReadContent reads a chunk's data: a provider frame, an operator event, the
// connector's closing error, or another connector's content.
func ReadContent(data json.RawMessage) Content {
	var d struct {
		SSE      *Record         `json:"hermes_sse"`
		Operator json.RawMessage `json:"hermes_operator"`
		Reason   string          `json:"reason"`
	}
	_ = aip.UnmarshalLast(data, &d)
	switch {
	case d.SSE != nil:
		return Content{holdsFrame, *d.SSE, d.SSE.Digest()}
	case d.Operator != nil:
		rec := Record{Data: d.Operator}
		return Content{holdsOperator, rec, rec.Digest()}
	case d.Reason == ClosedEarly:
		return Content{holds: holdsClosed}
	}
	return Content{}
}

// Frame reads the content for what it means.
func (c *Content) Frame(op Operation) Frame {
	switch c.holds {
	case holdsFrame:
		return Decode(c.record, op)
	case holdsOperator:
		return Decode(c.record, OpOperator)
	case holdsClosed:
		return Frame{Kind: KindClosed}
	}
	return Frame{}
}

// Record is the provider frame, false where there is none.
func (c *Content) Record() (Record, bool) { return c.record, c.holds == holdsFrame }

// Digest identifies the content; it is zero where there is no frame or event.
func (c *Content) Digest() Digest { return c.digest }

// Unframed reports whether the content holds no provider frame by design: the
// connector's closing error, or an operator's event.
func (c *Content) Unframed() bool { return c.holds == holdsClosed || c.holds == holdsOperator }
