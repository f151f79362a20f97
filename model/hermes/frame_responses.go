package hermes

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"aipscope/model/aip"
)

// response is a Responses object, in a frame or as a whole reply.
type response struct {
	ID     string          `json:"id"`
	Status string          `json:"status"`
	Model  string          `json:"model"`
	Output json.RawMessage `json:"output"`
	Usage  json.RawMessage `json:"usage"`
	Error  json.RawMessage `json:"error"`
	Hermes json.RawMessage `json:"hermes"`
	Lacks  json.RawMessage `json:"incomplete_details"`
}

// failed reports whether the object tells of a failure, or says completed and yet
// what it lacks.
func (r response) failed() (bool, string) {
	bad, code := failed(r.Error, r.Hermes)
	return bad || r.Status == "completed" && !isNull(r.Lacks), code
}

// item is an output item. Hermes sends a call's output as a list of parts in a
// stream and as a string in a whole reply.
type item struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Status    string          `json:"status"`
	Name      string          `json:"name"`
	CallID    string          `json:"call_id"`
	Arguments json.RawMessage `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	Content   json.RawMessage `json:"content"`
}

// decodeResponses reads the frames of a Responses stream (wire/hermes.md B.3).
func decodeResponses(f Frame, ev *event, rec Record) Frame {
	f.Family = FamilyResponses
	switch f.Name {
	case "response.output_text.delta":
		f.Kind = KindDelta
		f.Text, _ = str(ev.Delta)
		f.Message = contentKey(ev)
	case "response.output_text.done":
		f.Kind = KindText
		f.Text, _ = str(ev.Text)
		f.Message = contentKey(ev)
	case "response.created", "response.in_progress", "response.queued":
		r := readResponse(ev.Response)
		f.Kind, f.More = KindStarted, &More{ResponseID: r.ID, Model: r.Model}
		f.More.Failure, f.More.ErrorCode = r.failed()
	case "response.completed", "response.failed", "response.incomplete", "response.cancelled":
		r := readResponse(ev.Response)
		more := &More{ResponseID: r.ID, Model: r.Model, Usage: bytes.Clone(object(r.Usage)), Output: OutputItems(r.Output)}
		more.Failure, more.ErrorCode = r.failed()
		more.Failure = more.Failure || r.Status == "completed" && f.Name != "response.completed"
		// The object's own status decides, not the name of the event that carries it.
		more.Finish = &Finish{Reason: cmp.Or(r.Status, "absent"), Digest: rec.Digest()}
		f.Kind, f.More = KindFinish, more
	case "response.output_item.added", "response.output_item.done":
		var it item
		_ = aip.UnmarshalLast(ev.Item, &it)
		f.Kind, f.Message = KindItem, it.ID
		if t, ok := itemTool(it, strings.HasSuffix(f.Name, ".done")); ok && !isNull(ev.Item) {
			f.Kind, f.Message, f.More = KindTool, "", &More{Tools: []ToolChange{t}}
		}
	default:
		if name, ok := callEvent(f.Name); ok {
			f.Kind, f.More = KindTool, &More{Tools: []ToolChange{{Phase: ToolUpdate, Key: ev.CallID, Item: ev.ItemID, Name: name}}}
		}
	}
	return f
}

// callEvent reports whether an event tells of a call, as
// response.function_call_arguments.delta and response.web_search_call.searching
// do, and of what kind. Hermes sends none of them.
func callEvent(event string) (kind string, ok bool) {
	part, _, _ := strings.Cut(strings.TrimPrefix(event, "response."), ".")
	kind, rest, ok := strings.Cut(part, "_call")
	return kind, ok && (rest == "" || rest[0] == '_') || strings.HasPrefix(part, "mcp_")
}

// contentKey names one content of one output item, so that several never merge.
func contentKey(ev *event) string {
	key := ev.ItemID
	if key == "" && ev.OutputIndex != nil {
		key = "#" + strconv.Itoa(*ev.OutputIndex)
	}
	if ev.ContentIndex != 0 {
		key += "/" + strconv.Itoa(ev.ContentIndex)
	}
	return key
}

// itemTool reads a function call or its output. Hermes closes a call's item
// when the tool has ended, with the output right behind it.
// What is neither of them and no words is taken for a call of an unknown kind.
func itemTool(it item, done bool) (ToolChange, bool) {
	switch {
	case it.Type == "message" || it.Type == "reasoning":
	case !strings.HasSuffix(it.Type, "_call_output"): // function_call, and the kinds that Hermes does not send
		t := ToolChange{Key: cmp.Or(it.CallID, it.ID), Item: it.ID, Name: cmp.Or(it.Name, strings.TrimSuffix(it.Type, "_call"), "unknown"), Arguments: text(it.Arguments)}
		if done {
			t.Phase = ToolEnd
			t.Failed = it.Status == "failed" || it.Status == "incomplete"
		}
		return t, true
	default:
		return ToolChange{Phase: ToolEnd, Key: cmp.Or(it.CallID, it.ID), Name: it.Name, Result: partsText(it.Output)}, true
	}
	return ToolChange{}, false
}

func readResponse(raw json.RawMessage) response {
	var r response
	_ = aip.UnmarshalLast(raw, &r)
	return r
}

// OutputItems reads a Responses object's output: messages and function calls.
func OutputItems(raw json.RawMessage) []OutputItem {
	var list []item
	_ = aip.UnmarshalLast(raw, &list)
	out := make([]OutputItem, 0, len(list))
	for _, it := range list {
		o := OutputItem{Type: it.Type}
		if t, ok := itemTool(it, false); ok {
			o.Tool = t
		} else if it.Type == "message" {
			o.Text = partsText(it.Content)
		}
		out = append(out, o)
	}
	return out
}

// Reply is a whole, unstreamed answer of chat, responses, session_chat or
// operator.
type Reply struct {
	Finish    string // chat finish_reason, a Responses object's or operator's status
	Text      string
	Model     string
	ID        string // of a Responses object
	SessionID string
	Usage     json.RawMessage
	Output    []OutputItem
	Failure   bool
	ErrorCode string
}

// ReadReply reads the output of an action that did not stream (wire/hermes.md
// B.2 to B.4 and A.10).
func ReadReply(op Operation, output json.RawMessage) Reply {
	var m struct {
		response
		Choices []struct {
			Message struct {
				Content json.RawMessage `json:"content"`
			} `json:"message"`
			FinishReason string `json:"finish_reason"`
		} `json:"choices"`
		Message struct {
			Content json.RawMessage `json:"content"`
		} `json:"message"`
		SessionID string `json:"session_id"`
	}
	_ = aip.UnmarshalLast(output, &m)
	r := Reply{Model: m.Model, Usage: object(m.Usage)}
	r.Failure, r.ErrorCode = m.failed()
	switch op {
	case OpChat:
		if len(m.Choices) > 0 {
			r.Finish = m.Choices[0].FinishReason
			r.Text = partsText(m.Choices[0].Message.Content)
		}
	case OpResponses:
		r.Finish, r.ID = m.Status, m.ID
		r.Output = OutputItems(m.response.Output)
		for _, o := range r.Output {
			r.Text += o.Text
		}
	case OpSessionChat:
		r.SessionID, r.Text = m.SessionID, partsText(m.Message.Content)
	case OpOperator:
		r.Finish, r.SessionID = m.Status, m.SessionID
		r.Text, _ = str(m.response.Output)
	}
	return r
}
