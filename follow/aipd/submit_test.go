package aipd

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aipscope/model/aip"
)

func (c *console) resultRoute(id, query string) aip.Result {
	c.t.Helper()
	var got struct {
		ActionResult aip.Result `json:"action_result"`
	}
	c.get("/aip/v1/actions/"+id+"/result"+query, &got)
	return got.ActionResult
}

func (c *console) describe(id string) aip.Status {
	c.t.Helper()
	var got struct {
		ActionStatus aip.Status `json:"action_status"`
	}
	c.get("/aip/v1/actions/"+id, &got)
	return got.ActionStatus
}

func kinds(p pageBody) string {
	var out []string
	for _, e := range p.Events {
		out = append(out, strings.TrimPrefix(e.Kind, "aip."))
	}
	return strings.Join(out, " ")
}

func TestALiveStreamingActionIsUnknownUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, feed := scripted(t, Options{})
		posted := make(chan aip.Result)
		go func() {
			posted <- c.result(act{id: "act_1", op: "chat_stream", mode: "streaming", input: chatInput})
		}()
		feed <- []byte("data: 1\n\n")
		synctest.Wait()
		if st := c.describe("act_1"); st.State != aip.StateUnknown || st.CapabilityID != "" {
			t.Errorf("live: %+v", st)
		}
		if got := c.state("act_1", "?include_chunks=true"); got != aip.StateStreaming {
			t.Errorf("live with chunks: %s", got)
		}
		if status, err := c.refused("GET", "/aip/v1/actions/act_1/result", "", ""); status != 400 || err.Code != "action.not_found" || err.Detail("action_id") != "act_1" || err.Detail("state") != "" {
			t.Errorf("live result: %d %+v", status, err)
		}
		if status, err := c.refused("GET", "/aip/v1/actions/act_1/result?include_terminal_events=true", "", ""); status != 503 || err.Code != "action.result_not_ready" || err.Retryable || err.Detail("state") != "streaming" {
			t.Errorf("live result with chunks: %d %+v", status, err)
		}
		feed <- []byte("data: [DONE]\n\n")
		if r := <-posted; r.Status != aip.ResultCompleted {
			t.Errorf("result %+v", r)
		}
		if st := c.describe("act_1"); st.State != aip.StateCompleted || st.ResultStatus != "completed" || st.CapabilityID != "" {
			t.Errorf("ended: %+v", st)
		}
		if r := c.resultRoute("act_1", ""); r.Status != aip.ResultCompleted {
			t.Errorf("result route %+v", r)
		}
	})
}

func TestAnAsyncActionIsQueuedThenRunsThenDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, feed := scripted(t, Options{Speed: 1})
		c.submit(act{id: "act_1", op: "chat_stream", mode: "async", input: chatInput})
		if st := c.describe("act_1"); st.State != aip.StateQueued || st.CapabilityID != "cap:hermes_agent:demo:chat_stream" || st.SessionID != "sess_1" {
			t.Errorf("queued: %+v", st)
		}
		time.Sleep(time.Second)
		if got := c.state("act_1", ""); got != aip.StateRunning {
			t.Errorf("running: %s", got)
		}
		if status, err := c.refused("GET", "/aip/v1/actions/act_1/result", "", ""); status != 503 || err.Detail("state") != "running" {
			t.Errorf("running result: %d %+v", status, err)
		}
		close(feed)
		synctest.Wait()
		st := c.describe("act_1")
		if st.State != aip.StateDeadLettered || st.ResultStatus != "failed" || st.QueuedState != "failed" || !strings.Contains(string(st.Retry), `"dead_letter_reason":"`) {
			t.Errorf("dead: %+v", st)
		}
		if r := c.resultRoute("act_1", ""); r.Status != aip.ResultFailed || r.Error.Code != "connector.hermes_agent.stream_incomplete" {
			t.Errorf("result: %+v", r)
		}
		if got := kinds(c.page("act_1", "")); got != "stream.chunk action.result action.worker_result" {
			t.Errorf("events: %s", got)
		}
	})
}

func TestCancellingDropsTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, feed := scripted(t, Options{})
		posted := make(chan aip.Result)
		go func() {
			posted <- c.result(act{id: "act_1", op: "chat_stream", mode: "streaming", input: chatInput})
		}()
		feed <- []byte("data: 1\n\n")
		synctest.Wait()
		c.cancel("act_1")
		r := <-posted
		if r.Status != aip.ResultCancelled || string(r.Output) != `{"cancelled":true,"reason":"user stop"}` || r.Message != nil {
			t.Errorf("result %+v", r)
		}
		p := c.page("act_1", "include_chunks=true")
		if got := kinds(p); got != "stream.chunk action.cancelled action.result" || len(p.Chunks) != 1 {
			t.Errorf("%d chunks, events: %s", len(p.Chunks), got)
		}
		if string(p.Events[1].Data) != `{"target":"action","action_id":"act_1","reason":"user stop"}` || p.Events[1].Actor == nil {
			t.Errorf("event %+v", p.Events[1])
		}
	})
}

func TestCancellingAFinishedActionClaimsSuccess(t *testing.T) {
	c := serve(t, Options{})
	c.result(act{id: "act_1", op: "chat_stream", mode: "streaming", input: `{"recording":"chat_empty"}`})
	c.cancel("act_1")
	if status, _, body := c.do("POST", "/aip/v1/actions/act_1/cancel", "", ""); status != 200 || body != `{"action_result":{"action_id":"act_1","status":"cancelled","output":{"cancelled":true}}}` {
		t.Errorf("%d %s", status, body)
	}
	if got := c.state("act_1", ""); got != aip.StateCompleted {
		t.Errorf("state %s", got)
	}
	if got := kinds(c.page("act_1", "")); got != "stream.chunk stream.chunk stream.chunk action.result action.cancelled action.cancelled" {
		t.Errorf("events: %s", got)
	}
}

func TestACancelledAsyncActionNeverGetsAResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, feed := scripted(t, Options{})
		c.submit(act{id: "act_1", op: "chat_stream", mode: "async", input: chatInput})
		feed <- []byte("data: 1\n\n")
		synctest.Wait()
		c.cancel("act_1")
		synctest.Wait()
		if got := c.state("act_1", ""); got != aip.StateCancelled {
			t.Errorf("state %s", got)
		}
		if got := c.state("act_1", "?include_chunks=true"); got != aip.StateStreaming {
			t.Errorf("state with chunks %s", got)
		}
		if status, err := c.refused("GET", "/aip/v1/actions/act_1/result", "", ""); status != 503 || err.Code != "action.result_not_ready" || err.Detail("state") != "cancelled" {
			t.Errorf("%d %+v", status, err)
		}
		if got := kinds(c.page("act_1", "")); got != "stream.chunk action.cancelled action.worker_result" {
			t.Errorf("events: %s", got)
		}
	})
}

func TestCancellingByEnvelope(t *testing.T) {
	c := serve(t, Options{})
	body := func(id string) string {
		return string(object("aip_version", "1.0", "message_type", "aip.core.v1.cancel", "message_id", newID("msg_"), "sent_at", rfc3339(time.Now()),
			"body", object("cancel", object("target", object("action", id), "reason", "x"))))
	}
	if status, err := c.refused("POST", "/aip/v1/messages", "application/json", body("act_none")); status != 400 || err.Code != "resource.not_found" {
		t.Errorf("%d %+v", status, err)
	}
	c.result(act{id: "act_1", op: "health", input: `{}`})
	if status, _, got := c.do("POST", "/aip/v1/messages", "application/json", body("act_1")); status != 200 || !strings.Contains(got, `"body":{"action_result":{"action_id":"act_1","status":"cancelled"`) {
		t.Errorf("%d %s", status, got)
	}
}

func TestTimeoutsFailAnAction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := scripted(t, Options{})
		began := time.Now()
		r := c.result(act{id: "act_1", op: "chat_stream", mode: "streaming", input: chatInput, timeout: 30_000})
		if r.Status != aip.ResultFailed || r.Error.Code != "sla.timeout_exceeded" || string(r.Error.Details) != `{"timeout_ms":30000}` {
			t.Errorf("%+v", r)
		}
		if d := time.Since(began); d != 30*time.Second {
			t.Errorf("after %v", d)
		}
	})
}

func TestARepeatedKeyAnswersWithTheOriginalResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, feed := scripted(t, Options{})
		posted := make(chan aip.Result)
		go func() {
			posted <- c.result(act{id: "act_1", op: "chat_stream", mode: "streaming", key: "k", input: chatInput})
		}()
		synctest.Wait()
		busy := c.result(act{id: "act_2", op: "chat_stream", mode: "streaming", key: "k", input: `{"prompt":"other"}`})
		if busy.Status != aip.ResultFailed || busy.Error.Code != "idempotency.in_progress" || busy.ActionID != "act_2" || busy.Error.Detail("owner_action_id") != "act_1" ||
			!busy.Error.Retryable || busy.Error.RetryAfterMS != 360_000 {
			t.Errorf("in progress: %+v %+v", busy, busy.Error)
		}
		feed <- []byte("data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\ndata: [DONE]\n\n")
		first := <-posted
		for _, id := range []string{"act_3", "act_1"} {
			again := c.result(act{id: id, op: "chat_stream", mode: "streaming", key: "k", input: chatInput})
			if again.ActionID != "act_1" || again.Status != aip.ResultCompleted || !strings.HasPrefix(string(again.Output), `{"idempotent_replay":true,"endpoint_id":"demo",`) {
				t.Errorf("replay by %s: %s %s", id, again.ActionID, again.Output)
			}
			if string(again.Message) != string(first.Message) {
				t.Errorf("the replay's message differs")
			}
		}
		if got := c.state("act_3", ""); got != aip.StateUnknown {
			t.Errorf("the repeating action is %s", got)
		}
		close(feed)
		if other := c.result(act{id: "act_4", op: "responses_stream", mode: "streaming", key: "k", input: `{}`}); other.ActionID != "act_4" {
			t.Errorf("another capability shares the key: %+v", other)
		}
	})
}

func TestOneIDIsOneAction(t *testing.T) {
	c := serve(t, Options{})
	a := act{id: "act_1", op: "chat_stream", mode: "streaming", input: `{"recording":"chat_empty"}`}
	first := c.result(a)
	if again := c.result(a); string(again.Output) != string(first.Output) || again.ActionID != "act_1" {
		t.Errorf("again: %+v", again)
	}
	if got := kinds(c.page("act_1", "")); got != "stream.chunk stream.chunk stream.chunk action.result" {
		t.Errorf("events: %s", got)
	}
	a.input = `{"recording":"chat_ok"}`
	status, err := c.refused("POST", "/aip/v1/messages", "application/json", a.envelope(time.Now()))
	if status != 400 || err.Code != "action.id_conflict" || err.Detail("existing") == "" || err.Detail("existing") == err.Detail("attempted") {
		t.Errorf("conflict: %d %+v", status, err)
	}
}

func TestContractsAreCheckedBeforeAnActionIsTakenIn(t *testing.T) {
	c := serve(t, Options{})
	for name, k := range map[string]struct {
		a    act
		code string
	}{
		"key":           {act{op: "session_create", input: `{}`}, "idempotency.required"},
		"async":         {act{op: "chat", mode: "async", input: chatInput}, "execution.mode_unsupported"},
		"streaming":     {act{op: "chat", mode: "streaming", input: chatInput}, "execution.mode_unsupported"},
		"session async": {act{op: "session_chat_stream", mode: "async", input: `{"session_id":"s"}`}, "execution.mode_unsupported"},
		"not an object": {act{op: "chat_stream", mode: "streaming", input: `[1]`}, "action.input_schema_invalid"},
		"no branch":     {act{op: "chat_stream", mode: "streaming", input: `{}`}, "action.input_schema_invalid"},
		"two branches":  {act{op: "chat", input: `{"prompt":"a","query":"b"}`}, "action.input_schema_invalid"},
		"empty prompt":  {act{op: "chat", input: `{"prompt":""}`}, "action.input_schema_invalid"},
		"no messages":   {act{op: "chat", input: `{"messages":[]}`}, "action.input_schema_invalid"},
		"max_events 0":  {act{op: "chat_stream", mode: "streaming", input: `{"prompt":"a","max_events":0}`}, "action.input_schema_invalid"},
		"max_events":    {act{op: "chat_stream", mode: "streaming", input: `{"prompt":"a","max_events":100001}`}, "action.input_schema_invalid"},
		"max_events \"": {act{op: "chat_stream", mode: "streaming", input: `{"prompt":"a","max_events":"9"}`}, "action.input_schema_invalid"},
		"max_events ?":  {act{op: "run_events", mode: "streaming", input: `{"run_id":"r","max_events":null}`}, "action.input_schema_invalid"},
		"no id":         {act{op: "response_get", input: `{}`}, "action.input_schema_invalid"},
	} {
		k.a.id = "act_" + strings.ReplaceAll(name, " ", "_")
		r := c.result(k.a)
		if r.Status != aip.ResultFailed || r.Error == nil || r.Error.Code != k.code {
			t.Errorf("%s: %+v", name, r)
		}
	}
	// An async action's input is looked at when it runs.
	if got := c.submit(act{id: "act_late", op: "chat_stream", mode: "async", input: `{}`}); got.Body.Ack == nil {
		t.Errorf("%+v", got)
	}
	for c.state("act_late", "") != aip.StateDeadLettered {
	}
	if r := c.result(act{id: "act_max", op: "chat_stream", mode: "streaming", input: `{"recording":"chat_ok","max_events":14}`}); r.Error == nil || r.Error.Code != "connector.hermes_agent.stream_truncated" {
		t.Errorf("at the limit: %+v", r)
	}
	p := c.page("act_max", "include_chunks=true")
	if last := p.Chunks[len(p.Chunks)-1]; len(p.Chunks) != 14 || last.Kind != aip.KindDone {
		t.Errorf("%d chunks, last %s", len(p.Chunks), last.Kind)
	}
}

func TestApprovalsAreWaitedFor(t *testing.T) {
	c := serve(t, Options{})
	for _, id := range []string{"act_1", "act_2"} {
		r := c.result(act{id: id, op: "session_delete", key: id, input: `{"session_id":"demo-second"}`})
		if r.Status != aip.ResultPendingApproval || r.Error.Code != "policy.human_approval_required" || r.Error.Category != "policy" || r.Status.Settles() {
			t.Fatalf("%+v", r)
		}
		st := c.describe(id)
		if st.State != aip.StatePendingApproval || !strings.HasPrefix(st.ApprovalID, "appr_") {
			t.Errorf("%+v", st)
		}
		if r := c.resultRoute(id, ""); r.Status != aip.ResultPendingApproval || !strings.Contains(string(r.Output), `"approval_id":"`+st.ApprovalID+`"`) {
			t.Errorf("%+v", r)
		}
	}
	if !c.server.Decide("act_1", true) || c.server.Decide("act_1", true) || !c.server.Decide("act_2", false) || c.server.Decide("act_3", true) {
		t.Error("decisions")
	}
	for c.state("act_1", "") != aip.StateCompleted {
	}
	if r := c.resultRoute("act_1", ""); !strings.Contains(string(r.Output), `"deleted":true`) {
		t.Errorf("%+v", r)
	}
	if got := kinds(c.page("act_1", "")); got != "approval.requested action.result approval.granted action.result action.resumed_result" {
		t.Errorf("events: %s", got)
	}
	if r := c.resultRoute("act_2", ""); r.Status != aip.ResultFailed || r.Error.Code != "policy.approval_denied" {
		t.Errorf("%+v", r)
	}
	r := c.result(act{id: "act_4", op: "session_delete", key: "k4", input: `{"session_id":"demo-tools"}`, approval: `{"granted":true}`})
	if r.Status != aip.ResultCompleted {
		t.Errorf("with its approval: %+v", r)
	}
}

func TestRepliesAreTheRecordedOnes(t *testing.T) {
	c := serve(t, Options{})
	n := 0
	do := func(op, input string) aip.Result {
		n++
		return c.result(act{id: newID("act_"), op: op, key: newID("k"), approval: `true`, input: input})
	}
	for op, k := range map[string]struct{ input, has string }{
		"health":           {`{}`, `"status"`},
		"models":           {`{}`, `"object":"list"`},
		"capabilities":     {`{}`, `hermes.api_server.capabilities`},
		"chat":             {chatInput, `"chat.completion"`},
		"responses":        {`{"body":{"input":"x"}}`, `"object":"response"`},
		"response_get":     {`{"response_id":"resp_ab3c5a71120d41a99caa68aaf0ab"}`, `"function_call"`},
		"response_delete":  {`{"response_id":"resp_787a5322a72a445dae572caf914c"}`, `"deleted":true`},
		"run_start":        {`{"body":{"input":"x"}}`, `"run_id"`},
		"run_status":       {`{"run_id":"run_c9e85f9517754de8a843310fda783fdd"}`, `"run.failed"`},
		"run_stop":         {`{"run_id":"r"}`, `"stopping"`},
		"run_approval":     {`{"run_id":"r","choice":"once"}`, `hermes.run.approval_response`},
		"sessions_list":    {`{}`, `"has_more"`},
		"session_create":   {`{"body":{}}`, `"hermes.session"`},
		"session_get":      {`{"session_id":"demo-arith"}`, `"demo-arith"`},
		"session_patch":    {`{"session_id":"demo-arith","title":"x"}`, `"hermes.session"`},
		"session_delete":   {`{"session_id":"demo-second"}`, `"hermes.session.deleted"`},
		"session_messages": {`{"session_id":"demo-tools"}`, `"demo-tools"`},
		"session_fork":     {`{"session_id":"demo-arith"}`, `"hermes.session"`},
		"session_chat":     {`{"session_id":"demo-arith","message":"x"}`, `"hermes.session.chat.completion"`},
	} {
		r := do(op, k.input)
		if r.Status != aip.ResultCompleted || !strings.Contains(string(r.Output), k.has) || !json.Valid(r.Output) {
			t.Errorf("%s: %s %+v %.200s", op, r.Status, r.Error, r.Output)
		}
		var parts []struct{ Type string }
		if err := json.Unmarshal(r.Message, &parts); err != nil || parts[len(parts)-1].Type != "json" {
			t.Errorf("%s: message %s", op, r.Message)
		}
		if hasText := op == "chat" || op == "session_chat"; (len(parts) == 2) != hasText {
			t.Errorf("%s: %d message parts", op, len(parts))
		}
	}
	for _, k := range []struct{ op, input, code string }{
		{"response_get", `{"response_id":"resp_none"}`, "remote_rejected"},
		{"response_delete", `{"response_id":"resp_none"}`, "remote_rejected"},
		{"chat", `{"recording":"chat_429"}`, "remote_temporary"},
		{"session_fork", `{"session_id":"x","recording":"session_fork_400_title"}`, "remote_rejected"},
		{"chat_stream", `{"recording":"chat_401"}`, "authentication"},
		{"chat_stream", `{"recording":"nothing"}`, "configuration_or_input"},
	} {
		if r := do(k.op, k.input); r.Status != aip.ResultFailed || r.Error.Code != "connector.hermes_agent."+k.code {
			t.Errorf("%+v: %+v", k, r.Error)
		}
	}
	for _, op := range []string{"operator", "jobs_list", "skills", "nonsense"} {
		status, err := c.refused("POST", "/aip/v1/messages", "application/json", act{id: "act_x", op: op, input: `{}`}.envelope(time.Now()))
		if status != 400 || err.Code != "resource.not_found" {
			t.Errorf("%s: %d %+v", op, status, err)
		}
	}
}

func TestStoredResponsesFollowTheirStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, feed := scripted(t, Options{})
		get := func() string {
			r := c.result(act{id: newID("act_"), op: "response_get", input: `{"response_id":"resp_1"}`})
			if r.Error != nil {
				return r.Error.Code
			}
			return string(r.Output)
		}
		if got := get(); got != "connector.hermes_agent.remote_rejected" {
			t.Error(got)
		}
		posted := make(chan aip.Result)
		go func() {
			posted <- c.result(act{id: "act_1", op: "responses_stream", mode: "streaming", input: `{"body":{"input":"x"}}`})
		}()
		feed <- []byte("event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\",\"status\":\"in_progress\",\"created_at\":5,\"model\":\"m\",\"output\":[]}}\n\n")
		feed <- []byte("event: response.output_text.delta\ndata: {\"delta\":\"half\"}\n\n")
		synctest.Wait()
		if got := get(); !strings.Contains(got, `"status":"in_progress"`) {
			t.Error(got)
		}
		c.cancel("act_1")
		<-posted
		if got := get(); got != `{"id":"resp_1","object":"response","status":"incomplete","created_at":5,"model":"m","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"half"}]}]}` {
			t.Error(got)
		}
		r := c.result(act{id: "act_2", op: "response_delete", key: "k", approval: `true`, input: `{"response_id":"resp_1"}`})
		if !strings.Contains(string(r.Output), `"deleted":true`) || get() != "connector.hermes_agent.remote_rejected" {
			t.Errorf("%+v, then %s", r, get())
		}
	})
}

func TestTheListShowsWhatChangedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, Options{})
		for i, name := range []string{"chat_empty", "chat_disconnect", "runs_stopped_events", "chat_ok"} {
			op := "chat_stream"
			if i == 2 {
				op = "run_events"
			}
			c.result(act{id: "act_" + name, op: op, mode: "streaming", input: `{"run_id":"r","recording":"` + name + `"}`})
			time.Sleep(time.Second)
		}
		list := func(query string) (ids, cursor string, total int) {
			var got struct {
				ActionList struct {
					Actions   []aip.Status
					TotalSize int `json:"total_size"`
					Cursor    string
				} `json:"action_list"`
			}
			c.get("/aip/v1/actions"+query, &got)
			for _, a := range got.ActionList.Actions {
				ids += strings.TrimPrefix(a.ActionID, "act_") + " "
			}
			return ids, got.ActionList.Cursor, got.ActionList.TotalSize
		}
		for query, want := range map[string]struct {
			ids, cursor string
			total       int
		}{
			"":                 {"chat_ok runs_stopped_events chat_disconnect chat_empty ", "", 4},
			"?limit=3":         {"chat_ok runs_stopped_events chat_disconnect ", "offset:3", 4},
			"?cursor=offset:3": {"chat_empty ", "", 4},
			"?cursor=offset:9": {"", "", 4},
			"?state=failed":    {"chat_disconnect ", "", 1},
			"?state=cancelled": {"runs_stopped_events ", "", 1},
			"?capability_id=cap:hermes_agent:demo:chat_stream&limit=1": {"chat_ok ", "offset:1", 3},
		} {
			ids, cursor, total := list(query)
			if ids != want.ids || cursor != want.cursor || total != want.total {
				t.Errorf("%s: %q %q %d", query, ids, cursor, total)
			}
		}
		c.cancel("act_chat_empty")
		if ids, _, _ := list("?limit=1"); ids != "chat_empty " {
			t.Errorf("after a cancel: %q", ids)
		}
		if status, err := c.refused("GET", "/aip/v1/actions?cursor=3", "", ""); status != 400 || err.Code != "query.invalid_cursor" {
			t.Errorf("%d %+v", status, err)
		}
	})
}
