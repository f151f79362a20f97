package hermes

import (
	"cmp"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"aipscope/model/aip"
)

// Kind is what a provider frame does to a turn. Journals keep its numbers in brief:
// where one changes its meaning, so do the rules (model.RulesVersion).
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
	RunID      string
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
	ToolPiece  // goes on with a call that began, which it does not name
)

// ToolChange is what a frame says of one tool call.
type ToolChange struct {
	Phase     ToolPhase
	Key       string // correlation ID, or "" where the stream has none
	Item      string // the Responses output item that the call is; all that some frames name
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
	RunID     string          `json:"run_id"`
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
	Status     json.RawMessage `json:"status"`
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
		if raw := rec.RawData; raw == nil || !strings.HasPrefix(strings.TrimSpace(*raw), `"`) {
			data = json.RawMessage(s) // unless the provider itself sent a string
			rec.Data = data
		}
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
	f.tellOfFailure(ev)
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

// tellOfFailure marks a failure that any frame may carry, whatever else it says: an
// error or hermes member, or a second name that contradicts the one that counts. What
// a tool or another agent says of itself is no failure of the turn.
func (f *Frame) tellOfFailure(ev *event) {
	if f.Kind == KindTool || f.Kind == KindItem || strings.HasPrefix(f.Name, "subagent.") {
		return
	}
	says, of := ev.Error, object(ev.Hermes)
	switch string(says) {
	case "false", `""`, "{}", "[]": // as some say none, away from an end
		says = nil
	}
	bad, code := failed(says, of)
	for _, other := range []json.RawMessage{ev.Event, ev.Type} {
		if name, _ := str(other); name != f.Name && endsBadly(name) {
			bad = true
		}
	}
	if !bad || f.More != nil && f.More.Failure {
		return
	}
	more := More{}
	if f.More != nil {
		more = *f.More
	}
	more.Failure, more.ErrorCode = true, cmp.Or(more.ErrorCode, code)
	f.More = &more
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
