package hermes

import (
	"bytes"
	"cmp"
	"encoding/json"

	"aipscope/model/aip"
)

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
	for _, any := range choices {
		more.Tools = append(more.Tools, any.tools()...)
	}
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
		calls
	} `json:"delta"`
	Message      calls  `json:"message"`
	FinishReason string `json:"finish_reason"`
}

// calls are the members of a message, or of a delta of one, that ask for tools.
type calls struct {
	ToolCalls json.RawMessage `json:"tool_calls"`
	Call      json.RawMessage `json:"function_call"`
}

func (c choice) tools() []ToolChange {
	var all []ToolChange
	for _, m := range []calls{c.Delta.calls, c.Message} {
		all = append(append(all, callsOf(m.ToolCalls)...), oneCall(m.Call)...)
	}
	return all
}

// oneCall reads a function_call, as messages had it before tool_calls.
func oneCall(raw json.RawMessage) []ToolChange {
	var one struct {
		Name string `json:"name"`
	}
	switch {
	case isNull(raw):
		return nil
	case aip.UnmarshalLast(raw, &one) != nil || one.Name != "":
		return []ToolChange{{Phase: ToolStart, Name: one.Name}}
	}
	return []ToolChange{{Phase: ToolPiece}}
}

// callsOf reads a list of tool calls as chat messages have them. What stands
// there and is no list is a call of an unknown tool; a piece of a call that an
// earlier delta began has no ID and no name.
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
		} else {
			calls = append(calls, ToolChange{Phase: ToolPiece})
		}
	}
	return calls
}

// decodeChatTool reads tool progress beside a chat stream. Servers before
// mid-2026 sent a start only, without an ID or status.
func decodeChatTool(f Frame, ev *event) Frame {
	f.Family, f.Kind = FamilyChat, KindTool
	t := ToolChange{Key: ev.ToolCallID, Name: ev.Tool, Label: ev.Label}
	switch status, _ := str(ev.Status); status {
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
