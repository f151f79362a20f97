package model_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/hermes"
	"aipscope/model/turntest"
)

// settledTurn is a turn of one capability with a result and no chunk.
func settledTurn(t testing.TB, capability string, r model.Result) *model.Turn {
	b := turntest.Builder{TB: t}
	b.Add(model.RowRequest, &model.Request{Capability: capability})
	r.ActionID = turntest.Action
	b.Add(model.RowResult, &r)
	return turnOf(b.Rows)
}

func result(status aip.ResultStatus, output string) model.Result {
	return model.Result{Result: aip.Result{Status: status, Output: json.RawMessage(output)}}
}

func failedWith(code, details string) model.Result {
	r := result(aip.ResultFailed, "")
	r.Error = &aip.Error{Code: code, Category: "connector", Details: json.RawMessage(details)}
	return r
}

func TestVerdictOfFamiliesWithoutAStream(t *testing.T) {
	const chat = `{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":%q}],"usage":{"total_tokens":%d}}`
	for _, c := range []struct {
		name   string
		op     hermes.Operation
		result model.Result
		want   model.Word
	}{
		{"chat that stopped cannot show its tools", hermes.OpChat, result("completed", fmt.Sprintf(chat, "stop", 3)), model.Unconfirmed},
		{"chat cut at its length", hermes.OpChat, result("completed", fmt.Sprintf(chat, "length", 3)), model.Partial},
		{"chat with an error", hermes.OpChat, result("completed", fmt.Sprintf(chat, "error", 3)), model.Failed},
		{"chat with another finish", hermes.OpChat, result("completed", fmt.Sprintf(chat, "content_filter", 3)), model.Incomplete},
		{"chat without a finish", hermes.OpChat, result("completed", `{"choices":[]}`), model.Incomplete},
		{"chat that stopped, with a failed hermes object", hermes.OpChat,
			result("completed", `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"hermes":{"failed":true}}`), model.Contradicted},
		{"chat without an output", hermes.OpChat, result("completed", ``), model.Incomplete},
		{"chat with a redacted output", hermes.OpChat, result("completed", `{"redacted":true}`), model.Incomplete},
		{"chat whose output a replay replaced", hermes.OpChat, result("completed", `{"idempotent_replay":true}`), model.Incomplete},
		{"responses that completed without tools", hermes.OpResponses,
			result("completed", `{"id":"resp_1","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}],"usage":{"total_tokens":4}}`), model.Accepted},
		{"responses that used a tool", hermes.OpResponses,
			result("completed", `{"status":"completed","output":[{"type":"function_call","call_id":"call_1","name":"terminal"},{"type":"message","content":"hi"}]}`), model.Unconfirmed},
		{"responses with zero usage", hermes.OpResponses,
			result("completed", `{"status":"completed","output":[{"type":"message","content":"hi"}],"usage":{"total_tokens":0}}`), model.Unconfirmed},
		{"responses whose object is incomplete", hermes.OpResponses, result("completed", `{"status":"incomplete","output":[]}`), model.Contradicted},
		{"session chat", hermes.OpSessionChat, result("completed", `{"session_id":"s","message":{"content":"hi"},"usage":{"total_tokens":2}}`), model.Unconfirmed},
		{"session chat without an answer", hermes.OpSessionChat, result("completed", `{"session_id":"s"}`), model.Unconfirmed},
		{"operator", hermes.OpOperator, result("completed", `{"status":"completed"}`), model.Unconfirmed},
		{"operator that failed", hermes.OpOperator, result("completed", `{"status":"failed"}`), model.Failed},
		{"operator that was cancelled", hermes.OpOperator, result("completed", `{"status":"cancelled"}`), model.Cancelled},
		{"operator that was interrupted", hermes.OpOperator, result("completed", `{"status":"interrupted"}`), model.Partial},
		{"operator with no status", hermes.OpOperator, result("completed", `{"run_id":"r"}`), model.Incomplete},
		{"a read", hermes.OpSessionGet, result("completed", `{"object":"hermes.session"}`), model.Accepted},
		{"a read without an output", hermes.OpHealth, result("completed", ``), model.Accepted},
		{"a run action", hermes.OpRunStop, result("completed", `{"status":"stopping"}`), model.Accepted},
		{"a failed read", hermes.OpResponseGet, failedWith("connector.hermes_agent.remote_rejected", ""), model.Failed},
		{"a fork that failed may have written", hermes.OpSessionFork, failedWith("connector.hermes_agent.remote_rejected", ""), model.Incomplete},
		{"a stream without an aggregate", hermes.OpChatStream, result("completed", ``), model.Incomplete},
		{"a stream with a redacted aggregate", hermes.OpSessionChatStream, result("completed", `{"redacted":true}`), model.Incomplete},
		{"a stream whose aggregate a replay replaced", hermes.OpResponsesStream, result("completed", `{"idempotent_replay":true}`), model.Incomplete},
		{"a stream that is truncated and completed", hermes.OpChatStream, result("completed", `{"terminal":true,"truncated":true}`), model.Contradicted},
		{"a stream that is not terminal and completed", hermes.OpRunEvents, result("completed", `{"terminal":false}`), model.Contradicted},
		{"a stream without any frame", hermes.OpChatStream, result("completed", `{"terminal":true}`), model.Incomplete},
	} {
		v := settledTurn(t, c.op.Capability("demo"), c.result).Verdict()
		if v.Word != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, v.Word, v.Reason, c.want)
		}
	}
	v := settledTurn(t, "cap:other:echo", result("completed", `{"text":"hi"}`)).Verdict()
	if v.Word != model.Unconfirmed || v.Reason != "no rules for this capability" {
		t.Errorf("not Hermes: %s (%s)", v.Word, v.Reason)
	}
}

func TestVerdictOfFailures(t *testing.T) {
	const c = "connector.hermes_agent."
	for _, x := range []struct {
		op      hermes.Operation
		code    string
		details string
		want    model.Word
	}{
		{hermes.OpChatStream, c + "stream_truncated", ``, model.Partial},
		{hermes.OpChatStream, c + "stream_incomplete", ``, model.Incomplete},
		{hermes.OpChatStream, c + "stream_failed", ``, model.Failed},
		{hermes.OpChatStream, c + "cancelled", `{"uncertain_outcome":true}`, model.Cancelled},
		{hermes.OpChatStream, c + "transport", `{"uncertain_outcome":true}`, model.Incomplete},
		{hermes.OpChatStream, c + "authentication", `{"uncertain_outcome":false}`, model.Failed},
		{hermes.OpChatStream, c + "deadline_exceeded", ``, model.Incomplete},
		{hermes.OpChatStream, "sla.timeout_exceeded", `{"timeout_ms":300000}`, model.Incomplete},
		{hermes.OpRunEvents, c + "transport", ``, model.Incomplete},
		{hermes.OpRunEvents, c + "remote_temporary", ``, model.Incomplete},
		{hermes.OpRunEvents, c + "invalid_response", ``, model.Incomplete},
		{hermes.OpRunEvents, c + "remote_rejected", ``, model.Failed},
		{hermes.OpSessionGet, c + "transport", ``, model.Failed},
		{hermes.OpChatStream, "idempotency.required", ``, model.Failed},
		{hermes.OpOperator, c + "operator_outcome_unknown", ``, model.Incomplete},
	} {
		if v := settledTurn(t, x.op.Capability("demo"), failedWith(x.code, x.details)).Verdict(); v.Word != x.want {
			t.Errorf("%s %s: %s, want %s", x.op, x.code, v.Word, x.want)
		}
	}
}

func TestVerdictOfStatesWithoutAResult(t *testing.T) {
	for state, want := range map[aip.State]model.Word{
		aip.StateCancelled: model.Cancelled, aip.StateCompleted: model.Incomplete, aip.StateFailed: model.Failed,
		aip.StateExpired: model.Failed, aip.StateDeadLettered: model.Failed,
	} {
		b := turntest.Builder{TB: t}
		b.Add(model.RowStatus, &aip.Status{ActionID: turntest.Action, State: state, CapabilityID: hermes.OpChatStream.Capability("demo")})
		if v := turnOf(b.Rows).Verdict(); v.Word != model.Pending {
			t.Errorf("state %s alone: %s", state, v.Word)
		}
		b.Add(model.RowSettled, &model.Settled{State: state, WaitedMS: 5000})
		if v := turnOf(b.Rows).Verdict(); v.Word != want {
			t.Errorf("state %s, no result: %s, want %s", state, v.Word, want)
		}
	}
}

func TestWhatSettlesNothing(t *testing.T) {
	capability := hermes.OpChatStream.Capability("demo")
	for name, c := range map[string]struct {
		rows func(b *turntest.Builder)
		want model.Word
		next string
	}{
		"a result that waits for approval": {func(b *turntest.Builder) {
			b.Add(model.RowResult, &model.Result{Result: aip.Result{ActionID: turntest.Action, Status: aip.ResultPendingApproval}})
		}, model.AwaitingApproval, ""},
		"a result that requires a human": {func(b *turntest.Builder) {
			b.Add(model.RowResult, &model.Result{Result: aip.Result{ActionID: turntest.Action, Status: aip.ResultRequiresHuman}})
		}, model.AwaitingApproval, ""},
		"the state pending_approval": {func(b *turntest.Builder) {
			b.Add(model.RowStatus, &aip.Status{State: aip.StatePendingApproval})
		}, model.AwaitingApproval, ""},
		"an approval that came": {func(b *turntest.Builder) {
			b.Add(model.RowStatus, &aip.Status{State: aip.StatePendingApproval})
			b.Add(model.RowStatus, &aip.Status{State: aip.StateRunning})
		}, model.Pending, ""},
		"a key that another action holds": {func(b *turntest.Builder) {
			r := failedWith("idempotency.in_progress", `{"owner_action_id":"act_owner"}`)
			r.ActionID = turntest.Action
			b.Add(model.RowResult, &r)
		}, model.Pending, "act_owner"},
		"another action's result": {func(b *turntest.Builder) {
			b.Add(model.RowReplay, &model.Result{Result: aip.Result{ActionID: "act_first", Status: aip.ResultCompleted}})
		}, model.Pending, "act_first"},
		"a daemon that claims a cancel": {func(b *turntest.Builder) {
			b.Add(model.RowCancel, &model.Cancellation{Step: "answered", Status: "cancelled"})
		}, model.Pending, ""},
		"events that tell of a result": {func(b *turntest.Builder) {
			b.Add(model.RowEvent, &aip.Event{ID: "evt_1", Kind: aip.EventResult, Data: json.RawMessage(`{"status":"completed"}`)})
		}, model.Pending, ""},
	} {
		b := turntest.Builder{TB: t}
		b.Add(model.RowRequest, &model.Request{Capability: capability})
		c.rows(&b)
		turn := turnOf(b.Rows)
		next, _ := turn.Successor()
		if v := turn.Verdict(); v.Word != c.want || next != c.next {
			t.Errorf("%s: %s, next %q; want %s, %q", name, v.Word, next, c.want, c.next)
		}
	}
}

func TestBrokenIntegrityContradicts(t *testing.T) {
	rec := turntest.Named(t, "chat_ok")
	for name, change := range map[string]func(rows []model.Row) []model.Row{
		"a conflicting chunk": func(rows []model.Row) []model.Row {
			return append(rows, model.Row{Number: 1000, Kind: model.RowConflict, Chunk: rows[4].Chunk})
		},
		"a chunk after the closing chunk": func(rows []model.Row) []model.Row {
			late := *rows[4].Chunk
			late.Sequence = 5000
			return append(rows, model.Row{Number: 1000, Kind: model.RowChunk, Chunk: &late})
		},
		"another settled result": func(rows []model.Row) []model.Row {
			r := result("cancelled", "")
			r.ActionID = turntest.Action
			return append(rows, model.Row{Number: 1000, Kind: model.RowResult, Result: &r})
		},
		"chunks unlike the aggregate": func(rows []model.Row) []model.Row {
			r := *rows[len(rows)-1].Result
			r.Aggregate = &model.Match{Unlike: []uint64{3}}
			rows[len(rows)-1].Result = &r
			return rows
		},
		"two different ends": func(rows []model.Row) []model.Row {
			end := rows[len(rows)-4] // the finish chunk: event, chunk, event, chunk, result
			if end.Chunk == nil || !strings.Contains(string(end.Chunk.Data), "finish_reason") {
				t.Fatal("not the finish chunk")
			}
			c := *end.Chunk
			c.Data = json.RawMessage(strings.ReplaceAll(string(c.Data), "stop", "length"))
			c.Sequence = rows[2].Chunk.Sequence
			rows[2].Chunk = &c
			return rows
		},
	} {
		rows := change(rec.Rows(t))
		if v := turnOf(rows).Verdict(); v.Word != model.Contradicted || v.Because != model.CondIntegrity {
			t.Errorf("%s: %s (%s)", name, v.Word, v.Reason)
		}
	}
	same := rec.Rows(t)
	again := same[len(same)-1]
	again.Number = 1000
	if v := turnOf(append(same, again)).Verdict(); v.Word != model.Accepted {
		t.Errorf("the same result again: %s (%s)", v.Word, v.Reason)
	}
}

func TestDoneTextUnlikeItsDeltasContradicts(t *testing.T) {
	rec := turntest.Named(t, "responses_ok")
	rows := rec.Rows(t)
	changed := 0
	for i, r := range rows {
		if r.Kind == model.RowChunk && strings.Contains(string(r.Chunk.Data), "response.output_text.done") {
			c := *r.Chunk
			c.Data = json.RawMessage(strings.ReplaceAll(string(c.Data), "09:26", "09:27"))
			rows[i].Chunk = &c
			changed++
		}
	}
	if v := turnOf(rows).Verdict(); changed != 1 || v.Word != model.Contradicted {
		t.Errorf("%d changed: %s (%s)", changed, v.Word, v.Reason)
	}
}

func TestNewTextAndNewToolsVoidAConfirmation(t *testing.T) {
	rec := turntest.Named(t, "chat_tools")
	b := turntest.Builder{TB: t, Rows: rec.Rows(t)}
	b.Confirm(turnOf(b.Rows))
	if v := turnOf(b.Rows).Verdict(); v.Word != model.Accepted {
		t.Fatalf("confirmed: %s", v.Word)
	}
	late := model.Recovered{After: 40, Index: 41}
	raw := `{"tool":"terminal","toolCallId":"call_late","status":"running"}`
	late.Record = hermes.Record{Event: new(string), Data: json.RawMessage(raw)}
	*late.Record.Event = "hermes.tool.progress"
	b.Add(model.RowRecovered, &late)
	if v := turnOf(b.Rows).Verdict(); v.Word != model.Unconfirmed || v.Because != model.CondEffects {
		t.Errorf("after a new tool: %s (%s)", v.Word, v.Reason)
	}

	rec = turntest.Named(t, "responses_length") // zero usage: the answer must be confirmed
	b = turntest.Builder{TB: t, Rows: rec.Rows(t)}
	b.Confirm(turnOf(b.Rows))
	b.Add(model.RowRecovered, &model.Recovered{After: 3, Index: 4, Record: hermes.Record{
		Data: json.RawMessage(`{"type":"response.output_text.delta","item_id":"msg_other","delta":"more"}`),
	}})
	if v := turnOf(b.Rows).Verdict(); v.Word != model.Unconfirmed {
		t.Errorf("after new text: %s (%s)", v.Word, v.Reason)
	}
}

// TestOnlyTheLastLineAccepts drives the verdict of chat streams with generated
// evidence against an oracle that is written from the design's table, not from
// the code.
func TestOnlyTheLastLineAccepts(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	accepted := 0
	for range 8000 {
		var (
			status    = pick("completed", "completed", "completed", "completed", "failed", "cancelled", "pending_approval", "")
			code      = pick("x.stream_truncated", "x.stream_incomplete", "x.stream_failed", "x.cancelled", "sla.timeout_exceeded")
			aggregate = pick("absent", "redacted", "truncated", "open", "terminal", "terminal", "terminal", "terminal")
			finish    = pick("", "stop", "stop", "stop", "stop", "length", "error", "content_filter")
			usage     = pick("none", "zero", "some", "some")
			text      = pick("", " ", "hi", "hi", "hi")
			hermesErr = r.IntN(8) == 0
			conflict  = r.IntN(10) == 0
			unlike    = r.IntN(10) == 0
			tool      = r.IntN(2) == 0
			effects   = r.IntN(2) == 0
			answer    = r.IntN(2) == 0
		)
		b := turntest.Builder{TB: t}
		b.Add(model.RowRequest, &model.Request{Capability: hermes.OpChatStream.Capability("demo")})
		seq := uint64(0)
		chunk := func(kind aip.ChunkKind, event, data string) {
			rec := hermes.Record{Data: json.RawMessage(data), RawData: &data}
			if event != "" {
				rec.Event = &event
			}
			raw, err := json.Marshal(map[string]any{"hermes_sse": rec})
			if err != nil {
				t.Fatal(err)
			}
			b.Add(model.RowChunk, &aip.Chunk{ActionID: turntest.Action, Sequence: seq, Kind: kind, Data: raw})
			seq++
		}
		chunk(aip.KindData, "", fmt.Sprintf(`{"choices":[{"delta":{"content":%q}}]}`, text))
		if tool {
			chunk(aip.KindData, "hermes.tool.progress", `{"tool":"t","toolCallId":"c","status":"running"}`)
		}
		if finish != "" {
			more := map[string]string{"none": "", "zero": `,"usage":{"total_tokens":0}`, "some": `,"usage":{"total_tokens":9}`}[usage]
			if hermesErr {
				more += `,"hermes":{"completed":false}`
			}
			chunk(aip.KindData, "", fmt.Sprintf(`{"choices":[{"delta":{},"finish_reason":%q}]%s}`, finish, more))
		}
		chunk(aip.KindDone, "", `"[DONE]"`)
		if conflict {
			b.Add(model.RowConflict, &aip.Chunk{ActionID: turntest.Action, Sequence: 0, Kind: aip.KindData})
		}
		if status != "" {
			out := map[string]string{"absent": "", "redacted": `{"redacted":true}`, "truncated": `{"terminal":true,"truncated":true}`,
				"open": `{"terminal":false,"truncated":false}`, "terminal": `{"terminal":true,"truncated":false}`}[aggregate]
			res := result(aip.ResultStatus(status), out)
			res.ActionID = turntest.Action
			if status == "failed" {
				res.Error = &aip.Error{Code: code}
			}
			if res.Aggregate = new(model.Match); unlike {
				res.Aggregate.Unlike = []uint64{0}
			}
			b.Add(model.RowResult, &res)
		}
		turn := turnOf(b.Rows)
		confirm := model.Confirmation{Answer: answer, Through: turn.Applied()}
		if effects {
			confirm.Tools = []string{"c"}
		}
		b.Add(model.RowConfirm, &confirm)

		// The oracle.
		usageKnown := finish != "" && usage == "some" || finish == "" || usage == "none"
		var want model.Word
		switch {
		case status == "":
			want = model.Pending
		case status == "pending_approval":
			want = model.AwaitingApproval
		case conflict || unlike:
			want = model.Contradicted
		case status == "cancelled" || status == "failed" && code == "x.cancelled":
			want = model.Cancelled
		case status == "failed":
			want = map[string]model.Word{"x.stream_truncated": model.Partial, "x.stream_incomplete": model.Incomplete,
				"x.stream_failed": model.Failed, "sla.timeout_exceeded": model.Incomplete}[code]
		case aggregate == "absent" || aggregate == "redacted":
			want = model.Incomplete
		case aggregate == "truncated" || aggregate == "open":
			want = model.Contradicted
		case finish == "":
			want = model.Incomplete
		case finish == "length":
			want = model.Partial
		case finish == "error":
			want = model.Failed
		case finish != "stop":
			want = model.Incomplete
		case hermesErr:
			want = model.Contradicted
		case (!usageKnown || strings.TrimSpace(text) == "") && !answer:
			want = model.Unconfirmed
		case tool && !effects:
			want = model.Unconfirmed
		default:
			want = model.Accepted
			accepted++
		}
		v := turnOf(b.Rows).Verdict()
		if v.Word != want {
			t.Fatalf("status %q code %q aggregate %q finish %q usage %q text %q hermes %t conflict %t unlike %t tool %t effects %t answer %t:\n%s (%s), want %s",
				status, code, aggregate, finish, usage, text, hermesErr, conflict, unlike, tool, effects, answer, v.Word, v.Reason, want)
		}
		if v.Word == model.Accepted && v.Because != "" {
			t.Fatal("accepted by another line than the last")
		}
		if len(v.Conditions) != len(model.ConditionNames) {
			t.Fatal("conditions are missing")
		}
	}
	if accepted < 100 {
		t.Fatalf("only %d generated cases are accepted: the generator is too narrow", accepted)
	}
}
