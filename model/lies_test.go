package model_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/hermes"
	"aipscope/model/turntest"
)

// changedRows are the rows of a recording whose bytes were changed, under a result
// that says completed whatever came of it.
func changedRows(t *testing.T, name, from, to string) []model.Row {
	t.Helper()
	rec := turntest.Named(t, name)
	body, err := os.ReadFile(rec.Path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.ReplaceAll(string(body), from, to)
	if changed == string(body) {
		t.Fatalf("%s: nothing was changed", name)
	}
	rows := turntest.Rows(t, rec.Operation, []byte(changed))
	last := *rows[len(rows)-1].Result
	last.Status, last.Error = aip.ResultCompleted, nil
	last.Output = json.RawMessage(strings.ReplaceAll(string(last.Output), `"terminal":false`, `"terminal":true`))
	rows[len(rows)-1].Result = &last
	return rows
}

const (
	chatDone  = "data: [DONE]\n\n"
	finished  = "event: response.completed"
	usageOpen = `"usage": {`
)

// A failure, a tool or an end counts wherever a stream tells of it.
func TestWhatAStreamTellsInOddPlacesIsNotAccepted(t *testing.T) {
	before := func(place, frame string) (from, to string) { return place, frame + "\n\n" + place }
	named := func(event, data string) string {
		return "event: " + event + "\ndata: {\"type\":\"" + event + "\"," + data + "}"
	}
	for _, c := range []struct {
		name, recording, place, frame string // before the place
		want                          model.Word
	}{
		{"another stream's cancelled end", "chat_ok", chatDone, `data: {"event":"run.cancelled"}`, model.Contradicted},
		{"another stream's end that is not complete", "chat_ok", chatDone, `data: {"event":"run.completed","completed":false}`, model.Contradicted},
		{"another stream's interrupted end", "chat_ok", chatDone, `data: {"event":"run.interrupted"}`, model.Contradicted},
		{"another stream's interrupted answer", "chat_ok", chatDone, "event: assistant.completed\ndata: {\"interrupted\":true}", model.Contradicted},
		{"a chat's cut end in a Responses stream", "responses_ok", finished, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`, model.Contradicted},
		{"an error on an unknown event", "chat_ok", chatDone, "event: vendor.x\ndata: {\"error\":{\"message\":\"x\"}}", model.Contradicted},
		{"an error on an unknown Responses event", "responses_ok", finished, named("response.x", `"error":{"message":"x"}`), model.Contradicted},
		{"another agent's error", "runs_ok_events", `data: {"event": "run.completed"`, `data: {"event":"subagent.complete","error":"x"}`, model.Accepted},
		{"a call that only its arguments tell of", "responses_ok", finished, named("response.function_call_arguments.delta", `"item_id":"fc_1","delta":"{"`), model.Unconfirmed},
		{"a call that only its progress tells of", "responses_ok", finished, named("response.web_search_call.searching", `"item_id":"ws_1"`), model.Unconfirmed},
		{"an item of an unknown kind", "responses_ok", finished, named("response.output_item.added", `"item":{"id":"i","type":"mcp_approval_request"}`), model.Unconfirmed},
		{"an item that was redacted", "responses_ok", finished, named("response.output_item.added", `"item":{"redacted":true}`), model.Unconfirmed},
		{"a reasoning item", "responses_ok", finished, named("response.output_item.added", `"item":{"id":"i","type":"reasoning"}`), model.Accepted},
		{"a call in another choice", "chat_ok", chatDone, `data: {"choices":[{"index":0,"delta":{}},{"index":1,"delta":{"tool_calls":[{"id":"c","function":{"name":"rm"}}]}}]}`, model.Unconfirmed},
		{"a call in a whole message", "chat_ok", chatDone, `data: {"choices":[{"index":0,"message":{"tool_calls":[{"id":"c","function":{"name":"rm"}}]}}]}`, model.Unconfirmed},
		{"a piece of a call that never began", "chat_ok", chatDone, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}`, model.Unconfirmed},
	} {
		from, to := before(c.place, c.frame)
		if v := turnOf(changedRows(t, c.recording, from, to)).Verdict(); v.Word != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, v.Word, v.Reason, c.want)
		}
	}
	for _, c := range []struct {
		name, recording, from, to string
		want                      model.Word
	}{
		{"a failed event around a completed object", "responses_ok", finished, "event: response.failed", model.Contradicted},
		{"a type that says failed", "responses_ok", `"type": "response.completed"`, `"type": "response.failed"`, model.Contradicted},
		{"an inner event that says error", "responses_ok", `"type": "response.completed"`, `"event": "error", "type": "response.completed"`, model.Contradicted},
		{"an object that lacks something", "responses_ok", usageOpen, `"incomplete_details":{"reason":"max_output_tokens"},` + usageOpen, model.Contradicted},
		{"an error on the opening object", "responses_ok", `"status": "in_progress"`, `"error":{"message":"x"},"status": "in_progress"`, model.Contradicted},
		{"an error on a Responses delta", "responses_ok", `"logprobs": []`, `"error":{"message":"x"},"logprobs": []`, model.Contradicted},
		{"an error on a session delta", "session_stream_ok", `"delta": `, `"error":{"message":"x"},"delta": `, model.Contradicted},
		{"a failed hermes object on a session delta", "session_stream_ok", `"delta": `, `"hermes":{"failed":true},"delta": `, model.Contradicted},
		{"an error on a session message's opening", "session_stream_ok", `"message": {`, `"error":{"message":"x"},"message": {`, model.Contradicted},
		{"no error on a session delta", "session_stream_ok", `"delta": `, `"error":false,"hermes":{},"delta": `, model.Accepted},
		{"a status of another type", "runs_ok_events", `"event": "run.completed"`, `"event": "run.completed", "status": 1`, model.Incomplete},
		{"a redacted status", "runs_ok_events", `"event": "run.completed"`, `"event": "run.completed", "status": {"redacted":true}`, model.Incomplete},
		{"a negative count of tokens", "chat_ok", `"total_tokens": `, `"total_tokens": -`, model.Unconfirmed},
		{"a row with a function call", "session_stream_ok", `"role": "assistant", "content"`, `"function_call":{"name":"rm"},"role": "assistant", "content"`, model.Unconfirmed},
	} {
		if v := turnOf(changedRows(t, c.recording, c.from, c.to)).Verdict(); v.Word != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, v.Word, v.Reason, c.want)
		}
	}
}

func TestCallsArePairedByWhateverNamesThem(t *testing.T) {
	item := func(what, item string) string {
		return "event: response.output_item." + what + "\ndata: {\"type\":\"response.output_item." + what + "\",\"item\":" + item + "}\n\n"
	}
	args := func(id string) string {
		return "event: response.function_call_arguments.delta\ndata: {\"type\":\"response.function_call_arguments.delta\",\"item_id\":\"" + id + "\",\"delta\":\"{\"}\n\n"
	}
	const call = `{"id":"fc_1","type":"function_call","name":"rm","call_id":"call_1"}`
	progress := func(id, tool, status string) string {
		return "event: hermes.tool.progress\ndata: {\"tool\":\"" + tool + "\",\"toolCallId\":\"" + id + "\",\"status\":\"" + status + "\"}\n\n"
	}
	for _, c := range []struct{ name, recording, place, frames, want string }{
		{"an item, then its arguments", "responses_ok", finished, item("added", call) + args("fc_1") + item("done", call), "call_1 rm completed"},
		{"arguments, then the item", "responses_ok", finished, args("fc_1") + item("done", call), "fc_1 rm completed"},
		{"arguments of two items", "responses_ok", finished, args("fc_1") + args("fc_1") + args("fc_2"), "fc_1 function unended, fc_2 function unended"},
		{"an ID that comes again", "chat_ok", chatDone,
			progress("call_0", "read", "running") + progress("call_0", "read", "completed") + progress("call_0", "rm", "running"),
			"call_0 read completed, call_0#2 rm unended"},
		{"an ID that comes again, and ends", "chat_ok", chatDone,
			progress("call_0", "read", "running") + progress("call_0", "read", "completed") + progress("call_0", "rm", "running") + progress("call_0", "rm", "completed"),
			"call_0 read completed, call_0#2 rm completed"},
		{"an ID like a key of ours", "chat_ok", chatDone,
			"event: hermes.tool.progress\ndata: {\"tool\":\"rm\"}\n\n" + progress("rm#1", "read", "running") + progress("rm#1", "read", "completed"),
			"rm#1 rm unended, rm#1#2 read completed"},
		{"a start that is told twice", "chat_ok", chatDone, progress("call_0", "read", "running") + progress("call_0", "read", "running"), "call_0 read unended"},
	} {
		turn := turnOf(changedRows(t, c.recording, c.place, c.frames+c.place))
		var got []string
		for _, tool := range turn.Tools() {
			got = append(got, tool.Key+" "+tool.Name+" "+string(tool.Status))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
}

// A result that tells nothing of what it collected leaves room for lost chunks.
func TestAResultThatNothingIsComparedWithIsNotAccepted(t *testing.T) {
	rows := turntest.Named(t, "chat_ok").Rows(t)
	last := *rows[len(rows)-1].Result
	last.Aggregate = nil
	rows[len(rows)-1].Result = &last
	lost := append(append([]model.Row{}, rows[:5]...), rows[7:]...)
	for name, rows := range map[string][]model.Row{"all chunks": rows, "one lost": lost} {
		if v := turnOf(rows).Verdict(); v.Word != model.Incomplete || v.Because != model.CondIntegrity {
			t.Errorf("%s: %s (%s)", name, v.Word, v.Reason)
		}
	}
}

func TestTwoResultsThatDifferContradict(t *testing.T) {
	reply := func(status, text, more string) model.Result {
		return result("completed", `{"status":"`+status+`","output":[{"type":"message","content":"`+text+`"}]`+more+`}`)
	}
	account := func(events, unread int, unlike ...uint64) model.Result {
		r := result("completed", `{"operation":"chat_stream","terminal":true,"truncated":false}`)
		r.Aggregate = &model.Match{Events: events, Unlike: unlike, Unread: unread}
		return r
	}
	for _, c := range []struct {
		name          string
		op            hermes.Operation
		first, second model.Result
		same          bool
	}{
		{"the same reply", hermes.OpResponses, reply("completed", "hi", ""), reply("completed", "hi", `,"idempotent_replay":true`), true},
		{"a reply that is redacted later", hermes.OpResponses, reply("completed", "hi", ""), result("completed", `{"redacted":true}`), true},
		{"another status", hermes.OpResponses, reply("completed", "hi", ""), reply("incomplete", "hi", ""), false},
		{"another text", hermes.OpResponses, reply("completed", "hi", ""), reply("completed", "ho", ""), false},
		{"an error later", hermes.OpResponses, reply("completed", "hi", ""), reply("completed", "hi", `,"error":{"code":"x"}`), false},
		{"the same account", hermes.OpChatStream, account(3, 0), account(3, 0), true},
		{"an account of more events", hermes.OpChatStream, account(3, 0), account(4, 0), false},
		{"an account that lacks a chunk", hermes.OpChatStream, account(3, 0), account(3, 0, 1), false},
		{"an account that hides events", hermes.OpChatStream, account(3, 0), account(1, 1), true},
	} {
		b := turntest.Builder{TB: t}
		b.Add(model.RowRequest, &model.Request{Capability: c.op.Capability("demo")})
		for _, r := range []model.Result{c.first, c.second} {
			r.ActionID = turntest.Action
			b.Add(model.RowResult, &r)
		}
		if v := turnOf(b.Rows).Verdict(); (v.Condition(model.CondIntegrity).Mark == model.Fail) == c.same {
			t.Errorf("%s: %s (%s)", c.name, v.Word, v.Reason)
		}
	}
}

// Words that only the Responses object holds are shown, and no others twice.
func TestWordsThatNoDeltaSaidAreShown(t *testing.T) {
	const place = `"output": [{"type": "message"`
	rows := changedRows(t, "responses_ok", place, `"output": [{"type":"message","content":[{"type":"output_text","text":"Not so."}]}, {"type": "message"`)
	turn := turnOf(rows)
	last := turn.Segments()[len(turn.Segments())-1]
	if last.Kind != model.SegmentClosing || last.Text() != "Not so." || strings.Contains(turn.Text(), "Not so.") {
		t.Errorf("closing %q, answer %q", last.Text(), turn.Text())
	}
}

func TestAFrameThatIsAStringIsNoEnd(t *testing.T) {
	rec := turntest.Named(t, "chat_ok")
	body, err := os.ReadFile(rec.Path)
	if err != nil {
		t.Fatal(err)
	}
	for frame := range strings.SplitSeq(string(body), "\n\n") {
		data := strings.TrimPrefix(frame, "data: ")
		if !strings.Contains(data, `"finish_reason": "stop"`) {
			continue
		}
		quoted, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		if v := turnOf(changedRows(t, "chat_ok", data, string(quoted))).Verdict(); v.Word != model.Incomplete {
			t.Errorf("%s (%s)", v.Word, v.Reason)
		}
		return
	}
	t.Error("no end to change")
}

func TestAnotherOperationsAccountContradicts(t *testing.T) {
	rows := turntest.Named(t, "chat_ok").Rows(t)
	last := *rows[len(rows)-1].Result
	last.Output = json.RawMessage(strings.ReplaceAll(string(last.Output), `"chat_stream"`, `"run_events"`))
	rows[len(rows)-1].Result = &last
	if v := turnOf(rows).Verdict(); v.Word != model.Contradicted || v.Because != model.CondIntegrity {
		t.Errorf("%s (%s)", v.Word, v.Reason)
	}
}

// A turn is one run, or one response: an end of another one's is not its own.
func TestTheEndOfAnotherTurnContradicts(t *testing.T) {
	for name, c := range map[string]struct{ id, end string }{
		"session_stream_ok": {`"run_id": "run_`, "event: run.completed"},
		"runs_ok_events":    {`"run_id": "run_`, `data: {"event": "run.completed"`},
		"responses_ok":      {`"id": "resp_`, finished},
	} {
		rec := turntest.Named(t, name)
		body, err := os.ReadFile(rec.Path)
		if err != nil {
			t.Fatal(err)
		}
		_, end, _ := strings.Cut(string(body), c.end)
		other := strings.ReplaceAll(end, c.id, c.id+"other_")
		v := turnOf(changedRows(t, name, end, other)).Verdict()
		if v.Word != model.Contradicted || v.Because != model.CondIntegrity {
			t.Errorf("%s: %s (%s)", name, v.Word, v.Reason)
		}
	}
}
