package hermes

import (
	"encoding/json"
	"math"
	"time"

	"aipscope/model/aip"
)

// Session is one row of the provider's sessions (seed 002, "List sessions"). All
// texts are from outside, and private.
type Session struct {
	ID           string
	Source       string
	Title        string
	Model        string
	Preview      string
	Parent       string // of a branch, a continuation or a delegate's child
	Root         string // the first of a compressed chain whose latest is shown, or ""
	EndReason    string // "" while it is open
	MessageCount int
	Started      time.Time
	Ended        time.Time
	Active       time.Time
	Raw          json.RawMessage
}

// Open reports whether nobody has ended the session. The provider lets an ended
// one go on all the same.
func (s Session) Open() bool { return s.EndReason == "" && s.Ended.IsZero() }

type sessionRow struct {
	ID           string          `json:"id"`
	Source       string          `json:"source"`
	Title        string          `json:"title"`
	Model        string          `json:"model"`
	Preview      string          `json:"preview"`
	Parent       string          `json:"parent_session_id"`
	Root         string          `json:"_lineage_root_id"`
	EndReason    string          `json:"end_reason"`
	MessageCount int             `json:"message_count"`
	Started      json.RawMessage `json:"started_at"`
	Ended        json.RawMessage `json:"ended_at"`
	Active       json.RawMessage `json:"last_active"`
}

// SessionOf reads one row of a list, or the session of another reply.
func SessionOf(raw json.RawMessage) Session {
	var r sessionRow
	_ = aip.UnmarshalLast(raw, &r) // a member of another type leaves the rest
	return Session{
		ID: r.ID, Source: r.Source, Title: r.Title, Model: r.Model, Preview: r.Preview, Parent: r.Parent, Root: r.Root, EndReason: r.EndReason,
		MessageCount: r.MessageCount, Started: seconds(r.Started), Ended: seconds(r.Ended), Active: seconds(r.Active), Raw: raw,
	}
}

// seconds reads a time in seconds since 1970.
func seconds(raw json.RawMessage) time.Time {
	var f float64
	if json.Unmarshal(raw, &f) != nil || f <= 0 || f > 1e11 {
		return time.Time{}
	}
	whole, part := math.Modf(f)
	return time.Unix(int64(whole), int64(part*1e9)).UTC()
}

// ReadSession reads the output of session_create, session_get, session_patch and
// session_fork; false where it holds no session.
func ReadSession(output json.RawMessage) (Session, bool) {
	var o struct {
		Session json.RawMessage `json:"session"`
	}
	_ = aip.UnmarshalLast(output, &o)
	s := SessionOf(o.Session)
	return s, s.ID != ""
}

// array splits a JSON array; false for what is none.
func array(raw json.RawMessage) (items []json.RawMessage, ok bool) {
	err := json.Unmarshal(raw, &items)
	return items, err == nil && items != nil
}

// SessionPage is one answer of sessions_list.
type SessionPage struct {
	Sessions []Session
	Limit    int
	Offset   int
	HasMore  bool // only that the page was full (seed 002, "List sessions")
}

// ReadSessions reads the output of sessions_list; false where it is no list.
func ReadSessions(output json.RawMessage) (SessionPage, bool) {
	var l struct {
		Data    json.RawMessage `json:"data"`
		Limit   int             `json:"limit"`
		Offset  int             `json:"offset"`
		HasMore bool            `json:"has_more"`
	}
	_ = aip.UnmarshalLast(output, &l)
	rows, ok := array(l.Data)
	if !ok {
		return SessionPage{}, false
	}
	p := SessionPage{Limit: l.Limit, Offset: l.Offset, HasMore: l.HasMore}
	for _, raw := range rows {
		p.Sessions = append(p.Sessions, SessionOf(raw))
	}
	return p, true
}

// SessionMessage is one row of a transcript.
type SessionMessage struct {
	ID        string // a number, or whatever the provider has
	SessionID string
	Role      string
	Text      string
	ToolName  string
	Calls     []ToolChange // of an assistant that called tools
	CallID    string       // of a tool's result
	Finish    string
	At        time.Time
	Raw       json.RawMessage
}

// Transcript is the output of session_messages. SessionID is the session that
// was read, which may be a later one of the chain that was asked for.
type Transcript struct {
	SessionID string
	Messages  []SessionMessage
}

// ReadTranscript reads the output of session_messages; false where it is none.
func ReadTranscript(output json.RawMessage) (Transcript, bool) {
	var l struct {
		SessionID string          `json:"session_id"`
		Data      json.RawMessage `json:"data"`
	}
	_ = aip.UnmarshalLast(output, &l)
	rows, ok := array(l.Data)
	if !ok {
		return Transcript{}, false
	}
	t := Transcript{SessionID: l.SessionID}
	for _, raw := range rows {
		t.Messages = append(t.Messages, MessageOf(raw))
	}
	return t, true
}

// MessageOf reads one row of a transcript.
func MessageOf(raw json.RawMessage) SessionMessage {
	var m struct {
		ID        json.RawMessage `json:"id"`
		SessionID string          `json:"session_id"`
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		ToolName  string          `json:"tool_name"`
		CallID    string          `json:"tool_call_id"`
		Calls     json.RawMessage `json:"tool_calls"`
		Finish    string          `json:"finish_reason"`
		At        json.RawMessage `json:"timestamp"`
	}
	_ = aip.UnmarshalLast(raw, &m)
	out := SessionMessage{ID: text(m.ID), SessionID: m.SessionID, Role: m.Role, Text: partsText(m.Content), ToolName: m.ToolName, CallID: m.CallID,
		Finish: m.Finish, At: seconds(m.At), Raw: raw}
	var calls []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	}
	if s, ok := str(m.Calls); ok { // a database column may come as it is stored
		m.Calls = json.RawMessage(s)
	}
	_ = aip.UnmarshalLast(m.Calls, &calls)
	for _, c := range calls {
		out.Calls = append(out.Calls, ToolChange{Key: c.ID, Name: c.Function.Name, Arguments: text(c.Function.Arguments)})
	}
	return out
}

// Deletion is the output of response_delete and session_delete.
type Deletion struct {
	ID      string `json:"id"`
	Deleted bool   `json:"deleted"`
}

// ReadDeletion reads a deletion's output; false where it is none.
func ReadDeletion(output json.RawMessage) (Deletion, bool) {
	var d Deletion
	err := aip.UnmarshalLast(output, &d)
	return d, err == nil && d.ID != ""
}

// Field is a string that a request's input holds at its top or in its body, or
// "".
func Field(input json.RawMessage, name string) string {
	var top map[string]json.RawMessage
	_ = json.Unmarshal(input, &top)
	if s, _ := str(top[name]); s != "" {
		return s
	}
	var body map[string]json.RawMessage
	_ = json.Unmarshal(top["body"], &body)
	s, _ := str(body[name])
	return s
}

// Target is the object that a request is about: the ID in its input that the
// operation's path names, or "".
func Target(op Operation, input json.RawMessage) string {
	if field := op.TargetField(); field != "" {
		return Field(input, field)
	}
	return ""
}

// Asked is the text of what a request asks in its turn, or "" where it is no
// plain text.
func Asked(op Operation, input json.RawMessage) string {
	var top map[string]json.RawMessage
	_ = json.Unmarshal(input, &top)
	if b := object(top["body"]); b != nil && op != OpChat && op != OpChatStream {
		top = nil
		_ = json.Unmarshal(b, &top)
	}
	for _, name := range []string{"message", "input", "prompt", "query"} {
		if s := partsText(top[name]); s != "" {
			return s
		}
	}
	var messages []struct {
		Content json.RawMessage `json:"content"`
	}
	_ = aip.UnmarshalLast(top["messages"], &messages)
	if n := len(messages); n > 0 {
		return partsText(messages[n-1].Content)
	}
	return ""
}

// Unstored reports whether a Responses request asked that nothing be stored.
func Unstored(input json.RawMessage) bool {
	type fields struct {
		Store *bool `json:"store"`
	}
	var in struct {
		fields
		Body *fields `json:"body"`
	}
	_ = aip.UnmarshalLast(input, &in)
	if in.Body != nil {
		in.fields = *in.Body
	}
	return in.Store != nil && !*in.Store
}
