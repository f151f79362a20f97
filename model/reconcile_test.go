package model_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/hermes"
	"aipscope/model/turntest"
)

// askedTurn is a turn of a request with a result.
func askedTurn(t testing.TB, op hermes.Operation, input string, r model.Result) *model.Turn {
	b := turntest.Builder{TB: t}
	b.Add(model.RowRequest, &model.Request{Capability: op.Capability("demo"), Input: json.RawMessage(input)})
	if r.Status != "" {
		r.ActionID = turntest.Action
		b.Add(model.RowResult, &r)
	}
	return turnOf(b.Rows)
}

func TestReadsAreOfIDsThatWereSeenOrGiven(t *testing.T) {
	lost := failedWith("connector.hermes_agent.transport", `{"uncertain_outcome":true}`)
	for _, c := range []struct {
		name  string
		op    hermes.Operation
		input string
		res   model.Result
		want  []model.Read
		why   string
	}{
		{"a response that was seen", hermes.OpResponses, `{"body":{"input":"x"}}`, result("completed", `{"id":"resp_1","status":"completed","output":[]}`),
			[]model.Read{{hermes.OpResponseGet, "resp_1", "response"}}, ""},
		{"a response that was never seen", hermes.OpResponsesStream, `{"body":{"input":"x"}}`, lost, nil, "no response ID was ever seen"},
		{"an earlier response is not this turn's", hermes.OpResponsesStream, `{"body":{"input":"x","previous_response_id":"resp_0"}}`, lost, nil, "no response ID was ever seen"},
		{"store false", hermes.OpResponses, `{"body":{"input":"x","store":false}}`, result("completed", `{"id":"resp_1","status":"completed","output":[]}`), nil, "store: false"},
		{"store false without a body", hermes.OpResponses, `{"input":"x","store":false}`, result("completed", `{"id":"resp_1","status":"completed","output":[]}`), nil, "store: false"},
		{"a chat with a session", hermes.OpChatStream, `{"prompt":"x","session_id":"s"}`, lost, []model.Read{{hermes.OpSessionMessages, "s", "session"}}, ""},
		{"a chat without one", hermes.OpChat, `{"prompt":"x"}`, lost, nil, "named no session"},
		{"a session's turn", hermes.OpSessionChatStream, `{"session_id":"s","message":"x"}`, lost, []model.Read{{hermes.OpSessionMessages, "s", "session"}}, ""},
		{"a session that rotated", hermes.OpSessionChat, `{"session_id":"s","message":"x"}`, result("completed", `{"session_id":"s-2","message":{"content":"hi"}}`),
			[]model.Read{{hermes.OpSessionMessages, "s-2", "session"}}, ""},
		{"a deletion", hermes.OpResponseDelete, `{"response_id":"resp_1"}`, lost, []model.Read{{hermes.OpResponseGet, "resp_1", "response"}}, ""},
		{"a fork", hermes.OpSessionFork, `{"session_id":"s","body":{"id":"c"}}`, failedWith("connector.hermes_agent.remote_rejected", ""),
			[]model.Read{{hermes.OpSessionGet, "s", "source"}, {hermes.OpSessionGet, "c", "child"}}, ""},
		{"a session that was to be made", hermes.OpSessionCreate, `{"body":{"id":"n"}}`, lost, []model.Read{{hermes.OpSessionGet, "n", "session"}}, ""},
		{"one whose ID the provider makes", hermes.OpSessionCreate, `{"body":{}}`, lost, nil, "named no ID"},
		{"a run's events", hermes.OpRunEvents, `{"run_id":"run_1"}`, lost, []model.Read{{hermes.OpRunStatus, "run_1", "run"}}, ""},
		{"a run that never began", hermes.OpRunStart, `{"body":{"input":"x"}}`, lost, nil, "no provider ID was ever seen"},
		{"a read", hermes.OpSessionGet, `{"session_id":"s"}`, lost, nil, "only read"},
		{"an approval", hermes.OpSessionDelete, `{"session_id":"s"}`, result(aip.ResultPendingApproval, `{}`), nil, "waits for an approval"},
		{"a denial", hermes.OpSessionDelete, `{"session_id":"s"}`, failedWith("policy.approval_denied", ""), nil, "nothing ran"},
	} {
		reads, why := askedTurn(t, c.op, c.input, c.res).Reads()
		if !reflect.DeepEqual(reads, c.want) || c.why == "" && why != "" || !strings.Contains(why, c.why) {
			t.Errorf("%s: %+v, %q", c.name, reads, why)
		}
	}
}

const stored = `{"id":"resp_1","object":"response","status":%q,"output":[{"type":"function_call","call_id":"c","name":"terminal"},
	{"type":"message","role":"assistant","content":[{"type":"output_text","text":%q}]}]}`

func TestStoredResponsesAreReadAsTheSeedsDo(t *testing.T) {
	b := turntest.Builder{TB: t}
	b.Add(model.RowRequest, &model.Request{Capability: hermes.OpResponsesStream.Capability("demo"), Input: json.RawMessage(`{"body":{"input":"x"}}`)})
	for i, frame := range []struct{ name, data string }{
		{"response.created", `{"response":{"id":"resp_1","status":"in_progress","output":[]}}`},
		{"response.output_text.delta", `{"item_id":"m","delta":"Three findings"}`},
	} {
		b.Chunk(hermes.ChunkOf(turntest.Action, uint64(i), hermes.Record{Event: &frame.name, Data: json.RawMessage(frame.data), RawData: &frame.data}))
	}
	r := failedWith("connector.hermes_agent.stream_incomplete", "")
	r.ActionID = turntest.Action
	b.Add(model.RowResult, &r)
	turn := turnOf(b.Rows)
	reads, _ := turn.Reads()
	if len(reads) != 1 || reads[0].ID != "resp_1" {
		t.Fatalf("%+v", reads)
	}
	read := func(status, text string) aip.Result {
		return aip.Result{ActionID: "act_read", Status: aip.ResultCompleted, Output: fmt.Appendf(nil, stored, status, text)}
	}
	failed := func(status int) aip.Result {
		return aip.Result{ActionID: "act_read", Status: aip.ResultFailed, Error: hermes.StatusFailure(hermes.OpResponseGet, status)}
	}
	for _, c := range []struct {
		name     string
		res      aip.Result
		state    model.ProviderState
		text     model.Likeness
		finding  string
		advice   string
		escalate bool
	}{
		{"completed", read("completed", "Three findings are ready."), model.ProviderCompleted, model.LikeLonger, "a completed response", "review the stored response", false},
		{"failed", read("failed", ""), model.ProviderFailed, model.LikeNone, "a failed response", "failure state", false},
		{"incomplete", read("incomplete", "Three \n findings"), model.ProviderIncomplete, model.LikeSame, "an incomplete response", "partial output", false},
		{"in progress", read("in_progress", "Three"), model.ProviderInProgress, model.LikeShorter, "still says in_progress", "read it again later", true},
		{"another text", read("completed", "Nothing."), model.ProviderCompleted, model.LikeUnlike, "a completed response", "review", false},
		{"404", failed(404), model.ProviderAbsent, model.LikeNone, "holds nothing", "store, the instance and the action's result", true},
		{"a read that may be repeated", failed(503), model.ProviderUnread, model.LikeNone, "could not be read now", "reconcile once more", true},
		{"429", failed(429), model.ProviderUnread, model.LikeNone, "could not be read now", "reconcile once more", true},
		{"a wrong credential", failed(401), model.ProviderUnread, model.LikeNone, "could not be read", "credential was rejected", true},
		{"a status of tomorrow", read("paused", ""), model.ProviderUnreadable, model.LikeNone, "cannot be read", "--reveal", true},
		{"a status that is no word", read("\x1b[2J", ""), model.ProviderUnreadable, model.LikeNone, "cannot be read", "--reveal", true},
		{"no object", aip.Result{Status: aip.ResultCompleted, Output: json.RawMessage(`"x"`)}, model.ProviderUnreadable, model.LikeNone, "cannot be read", "--reveal", true},
	} {
		e := turn.ReadEvidence(reads[0], c.res)
		rec := turn.Reconcile(turn.Verdict(), []model.Evidence{e}, "")
		all := strings.Join(rec.Advice, "; ")
		if e.State != c.state || e.Text != c.text || !strings.Contains(rec.Finding, c.finding) || !strings.Contains(all, c.advice) || rec.Escalate != c.escalate {
			t.Errorf("%s: %s %q, %q, escalate %v: %s", c.name, e.State, e.Text, rec.Finding, rec.Escalate, all)
		}
		if rec.Verdict.Word != model.Incomplete {
			t.Errorf("%s: the verdict became %s", c.name, rec.Verdict.Word)
		}
		if strings.Contains(all, "stored provider state") || !strings.Contains(all, "nothing is sent again") {
			t.Errorf("%s: %s", c.name, all)
		}
		if strings.ContainsAny(e.Says()+rec.Finding+all, "\x1b\n") {
			t.Errorf("%s: control characters in %q", c.name, e.Says())
		}
	}
}

func TestTranscriptsShowWhetherATurnWasStored(t *testing.T) {
	turn := askedTurn(t, hermes.OpSessionChat, `{"session_id":"s","message":"What is left?"}`, failedWith("connector.hermes_agent.transport", `{"uncertain_outcome":true}`))
	row := func(role, content, finish string) string {
		return fmt.Sprintf(`{"id":1,"role":%q,"content":%q,"finish_reason":%q}`, role, content, finish)
	}
	for _, c := range []struct {
		name    string
		rows    []string
		finding string
		open    bool
	}{
		{"with its answer", []string{row("user", "What is left?", ""), row("assistant", "Two things.", "stop")}, "the turn and its answer", false},
		{"asked twice, answered once", []string{row("user", "What is left?", ""), row("assistant", "Two things.", "stop"), row("user", "What  is left?", "")}, "without a closing answer", true},
		{"merged behind an unanswered one", []string{row("user", "Earlier.\n\nWhat is left?", ""), row("assistant", "Two.", "stop")}, "the turn and its answer", false},
		{"cut", []string{row("user", "What is left?", ""), row("assistant", "Two", "length")}, "does not end with stop", false},
		{"ended with a tool", []string{row("user", "What is left?", ""), row("assistant", "", "tool_calls"), row("tool", "x", "")}, "without a closing answer", true},
		{"of another question", []string{row("user", "Who?", ""), row("assistant", "You.", "stop")}, "does not show the request", true},
		{"empty", nil, "does not show the request", true},
	} {
		output := json.RawMessage(`{"object":"list","session_id":"s","data":[` + strings.Join(c.rows, ",") + `]}`)
		reads, _ := turn.Reads()
		e := turn.ReadEvidence(reads[0], aip.Result{Status: aip.ResultCompleted, Output: output})
		rec := turn.Reconcile(turn.Verdict(), []model.Evidence{e}, "")
		if !strings.Contains(rec.Finding, c.finding) || rec.Escalate != c.open || e.Messages != len(c.rows) {
			t.Errorf("%s: %q, escalate %v, %+v", c.name, rec.Finding, rec.Escalate, e)
		}
	}
}

func TestAnEarlierTurnThatAskedTheSameIsNotTakenForThisOne(t *testing.T) {
	asked := turntest.Epoch
	lost := failedWith("connector.hermes_agent.transport", `{"uncertain_outcome":true}`)
	for _, c := range []struct {
		name     string
		streamed string
		wrote    time.Time // by the provider's clock
		stored   string
		earlier  bool
	}{
		{"written before the request", "", asked.Add(-time.Minute), "Two things.", true},
		{"written after it", "", asked.Add(time.Second), "Two things.", false},
		{"at an unknown time", "", time.Time{}, "Two things.", false},
		{"the text that was streamed, by a clock that is behind", "Two things.", asked.Add(-time.Minute), "Two things.", false},
		{"its beginning was streamed", "Two", asked.Add(-time.Minute), "Two things.", false},
		{"another text than was streamed", "Three things.", asked.Add(-time.Minute), "Two things.", true},
	} {
		b := turntest.Builder{TB: t}
		b.Add(model.RowRequest, &model.Request{Capability: hermes.OpChatStream.Capability("demo"), Input: json.RawMessage(`{"prompt":"What is left?","session_id":"s"}`)})
		if c.streamed != "" {
			data := fmt.Sprintf(`{"object":"chat.completion.chunk","choices":[{"delta":{"content":%q}}]}`, c.streamed)
			b.Chunk(hermes.ChunkOf(turntest.Action, 0, hermes.Record{Data: json.RawMessage(data), RawData: &data}))
		}
		r := lost
		r.ActionID = turntest.Action
		b.Add(model.RowResult, &r)
		turn := turnOf(b.Rows)
		at := ""
		if !c.wrote.IsZero() {
			at = fmt.Sprintf(`,"timestamp":%d`, c.wrote.Unix())
		}
		output := fmt.Appendf(nil, `{"session_id":"s","data":[{"role":"user","content":"What is left?"%s},{"role":"assistant","content":%q,"finish_reason":"stop"}]}`, at, c.stored)
		reads, _ := turn.Reads()
		e := turn.ReadEvidence(reads[0], aip.Result{Status: aip.ResultCompleted, Output: output})
		rec := turn.Reconcile(turn.Verdict(), []model.Evidence{e}, "")
		if e.Earlier != c.earlier || rec.Escalate != c.earlier || strings.Contains(rec.Finding, "earlier turn") != c.earlier || strings.Contains(e.Says(), "older than the request") != c.earlier {
			t.Errorf("%s: %+v, %q, %q", c.name, e, e.Says(), rec.Finding)
		}
	}
}

func TestARefusedSubmissionIsAnOutcomeUntilTheActionShowsItself(t *testing.T) {
	refused := func(more func(*turntest.Builder)) *model.Turn {
		b := turntest.Builder{TB: t}
		b.Add(model.RowRequest, &model.Request{Capability: hermes.OpChatStream.Capability("demo"), Input: json.RawMessage(`{"prompt":"x","session_id":"s"}`)})
		b.Add(model.RowStatus, &aip.Status{ActionID: turntest.Action, State: aip.StateUnknown})
		b.Add(model.RowSettled, &model.Settled{Code: "policy.denied"})
		more(&b)
		return turnOf(b.Rows)
	}
	turn := refused(func(*turntest.Builder) {})
	v := turn.Verdict()
	reads, why := turn.Reads()
	rec := turn.Reconcile(v, nil, why)
	all := strings.Join(append(rec.Advice, v.Advice...), ";")
	if v.Word != model.Failed || v.Reason != "the daemon refused the submission with policy.denied: nothing ran" || len(reads) != 0 || rec.Escalate ||
		!strings.Contains(rec.Finding, "refused the submission") || strings.Contains(all, "verify external effects") || strings.Contains(all, "may have written") {
		t.Errorf("%+v, %v %q, %+v", v, reads, why, rec)
	}
	for name, c := range map[string]struct {
		more func(*turntest.Builder)
		want model.Word
	}{
		"a state": {func(b *turntest.Builder) {
			b.Add(model.RowStatus, &aip.Status{ActionID: turntest.Action, State: aip.StateRunning})
		}, model.Pending},
		"a chunk": {func(b *turntest.Builder) {
			data := `{"choices":[{"delta":{"content":"hi"}}]}`
			b.Chunk(hermes.ChunkOf(turntest.Action, 0, hermes.Record{Data: json.RawMessage(data), RawData: &data}))
		}, model.Pending},
		"an approval that is awaited": {func(b *turntest.Builder) {
			b.Add(model.RowResult, &model.Result{Result: aip.Result{ActionID: turntest.Action, Status: aip.ResultPendingApproval}})
		}, model.AwaitingApproval},
		"a result": {func(b *turntest.Builder) {
			b.Add(model.RowResult, &model.Result{Result: aip.Result{ActionID: turntest.Action, Status: aip.ResultCancelled}})
		}, model.Cancelled},
		"a state that stands alone": {func(b *turntest.Builder) {
			b.Add(model.RowSettled, &model.Settled{State: aip.StateCancelled, WaitedMS: 5000})
		}, model.Cancelled},
	} {
		if turn := refused(c.more); turn.Refused() != "" || turn.Verdict().Word != c.want {
			t.Errorf("%s: %q, %+v", name, turn.Refused(), turn.Verdict())
		}
	}
}

// What was refused before it began has nothing to look up, and no effects.
func TestNothingIsVerifiedOutsideOfWhatNeverBegan(t *testing.T) {
	const c = "connector.hermes_agent."
	for _, x := range []struct {
		op     hermes.Operation
		code   string
		began  bool
		lookup bool
	}{
		{hermes.OpChatStream, "execution.mode_unsupported", false, false},
		{hermes.OpChatStream, "idempotency.conflict", false, false},
		{hermes.OpChatStream, "action.input_schema_invalid", false, false},
		{hermes.OpChatStream, c + "authentication", false, false},
		{hermes.OpChatStream, c + "tenant_mismatch", false, false},
		{hermes.OpChatStream, c + "remote_rejected", false, true},
		{hermes.OpSessionFork, c + "remote_rejected", true, true},
		{hermes.OpSessionFork, "idempotency.conflict", true, true},
		{hermes.OpSessionPatch, c + "remote_rejected", true, true},
		{hermes.OpChatStream, c + "stream_failed", true, true},
	} {
		turn := askedTurn(t, x.op, `{"prompt":"x","session_id":"s"}`, failedWith(x.code, `{"uncertain_outcome":false}`))
		reads, why := turn.Reads()
		rec := turn.Reconcile(turn.Verdict(), nil, why)
		verify := strings.Contains(strings.Join(rec.Advice, ";"), "verify external effects")
		warns := strings.Contains(strings.Join(turn.Verdict().Advice, ";"), "may have written")
		if verify != x.began || warns != x.began || len(reads) > 0 != x.lookup || !x.lookup && !strings.HasPrefix(why, "nothing ran") {
			t.Errorf("%s %s: verify %v, warns %v, %v %q", x.op, x.code, verify, warns, reads, why)
		}
	}
	began := askedTurn(t, hermes.OpOperator, `{"objective":"x"}`, failedWith(c+"configuration_or_input", ""))
	if advice := began.Verdict().Advice; !strings.Contains(strings.Join(advice, ";"), "may have written") {
		t.Errorf("an operator's run may have begun: %q", advice)
	}
}

func TestNothingToAskIsSaidAndEscalated(t *testing.T) {
	turn := askedTurn(t, hermes.OpChat, `{"prompt":"x"}`, failedWith("connector.hermes_agent.transport", `{"uncertain_outcome":true}`))
	_, why := turn.Reads()
	rec := turn.Reconcile(turn.Verdict(), nil, why)
	if !rec.Escalate || !strings.Contains(rec.Finding, "stays unknown") || !strings.Contains(strings.Join(rec.Advice, ";"), "escalate") {
		t.Errorf("%+v", rec)
	}
	rec = model.NewTurn("act_x").Reconcile(model.Verdict{}, nil, "nobody knows it")
	if rec.Escalate || rec.Finding != "nobody knows it" || len(rec.Advice) != 1 {
		t.Errorf("%+v", rec)
	}
	// In flight, or lost by the daemon.
	b := turntest.Builder{TB: t}
	b.Add(model.RowRequest, &model.Request{Capability: hermes.OpResponsesStream.Capability("demo"), Input: json.RawMessage(`{"body":{"input":"x"}}`)})
	b.Add(model.RowStatus, &aip.Status{ActionID: turntest.Action, State: aip.StateUnknown})
	turn = turnOf(b.Rows)
	_, why = turn.Reads()
	if rec := turn.Reconcile(turn.Verdict(), nil, why); rec.Escalate || rec.Finding != "no response ID was ever seen" || !strings.Contains(strings.Join(rec.Advice, ";"), "if that stays so, escalate") {
		t.Errorf("%+v", rec)
	}
	// A lost delete is judged by what is there.
	turn = askedTurn(t, hermes.OpSessionDelete, `{"session_id":"s"}`, failedWith("connector.hermes_agent.transport", `{"uncertain_outcome":true}`))
	reads, _ := turn.Reads()
	gone := turn.ReadEvidence(reads[0], aip.Result{Status: aip.ResultFailed, Error: hermes.StatusFailure(hermes.OpSessionGet, 404)})
	if rec := turn.Reconcile(turn.Verdict(), []model.Evidence{gone}, ""); rec.Escalate || !strings.Contains(rec.Finding, "deleted, or in another store") {
		t.Errorf("%+v", rec)
	}
}

// Of every recording: a reconciliation never proposes that a turn be sent again.
func TestNoReconciliationProposesANewSubmission(t *testing.T) {
	for _, rec := range turntest.Recordings(t) {
		turn := turnOf(rec.Rows(t))
		reads, why := turn.Reads()
		for _, res := range []aip.Result{
			{Status: aip.ResultFailed, Error: hermes.StatusFailure(hermes.OpResponseGet, 404)},
			{Status: aip.ResultFailed, Error: hermes.StatusFailure(hermes.OpResponseGet, 503)},
			{Status: aip.ResultCompleted, Output: fmt.Appendf(nil, stored, "incomplete", "x")},
		} {
			var evidence []model.Evidence
			for _, r := range reads {
				evidence = append(evidence, turn.ReadEvidence(r, res))
			}
			out := turn.Reconcile(turn.Verdict(), evidence, why)
			for _, advice := range append(out.Advice, out.Finding) {
				for _, word := range []string{"submit", "resend", "send it again", "try again", "replay"} {
					if strings.Contains(advice, word) && !strings.Contains(advice, "not sent") && !strings.Contains(advice, "do not send") {
						t.Errorf("%s: %q", rec.Name, advice)
					}
				}
			}
		}
	}
}
