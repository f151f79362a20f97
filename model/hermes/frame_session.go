package hermes

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"aipscope/model/aip"
)

// familyOf settles the family of a frame with a name that session and run streams
// share: the operation does, where it has such frames.
func familyOf(op Operation, otherwise Family) Family {
	switch f := op.Family(); f {
	case FamilySession, FamilyRun, FamilyOperator:
		return f
	}
	return otherwise
}

// decodeEvent reads the frames of session and run streams, which share most of
// their names (wire/hermes.md B.4, B.5).
func decodeEvent(f Frame, ev *event, rec Record, op Operation) Frame {
	f.Family = FamilyRun
	if rec.Event != nil && *rec.Event != "" {
		f.Family = FamilySession
	}
	f.Family = familyOf(op, f.Family)
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
	if f.Kind != KindOther && f.Family != FamilyOperator {
		more.RunID = ev.RunID
	}
	if inner, _ := str(ev.Event); f.Kind == KindTool && inner != f.Name && endsBadly(inner) {
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
	case !isNull(ev.Status):
		switch s, ok := str(ev.Status); {
		case !ok:
			f.Reason = "unreadable"
		case s != "" && s != "success":
			f.Reason = s
		}
	}
	return f
}

// endsBadly reports whether an event's name tells of an end that is no success.
func endsBadly(name string) bool {
	switch name {
	case "error", "run.failed", "run.cancelled", "run.interrupted", "response.failed", "response.incomplete", "response.cancelled":
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
		Call         json.RawMessage `json:"function_call"`
	}
	if isNull(raw) || aip.UnmarshalLast(raw, &list) != nil && list == nil {
		return nil
	}
	r := &Rows{Count: len(list)}
	for _, m := range list {
		r.Role, r.Finish = m.Role, m.FinishReason
		r.Tools = append(append(r.Tools, callsOf(m.ToolCalls)...), oneCall(m.Call)...)
		if m.Role == "tool" || m.Role == "function" {
			r.Tools = append(r.Tools, ToolChange{Phase: ToolUpdate, Key: m.ToolCallID, Name: m.ToolName, Result: text(m.Content)})
		}
	}
	return r
}
