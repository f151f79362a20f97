package aipd

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// provider calls a server's session operations.
type provider struct {
	*console
	n int
}

// call returns the output, or the error.
func (p *provider) call(op, input string) (json.RawMessage, *aip.Error) {
	p.t.Helper()
	p.n++
	r := p.result(act{id: fmt.Sprint("act_", p.n), op: op, key: fmt.Sprint("key_", p.n), approval: `true`, input: input})
	return r.Output, r.Error
}

func (p *provider) ok(op, input string) json.RawMessage {
	p.t.Helper()
	out, err := p.call(op, input)
	if err != nil {
		p.t.Fatalf("%s %s: %v %s", op, input, err, err.Details)
	}
	return out
}

func (p *provider) refused(op, input string, status int) {
	p.t.Helper()
	if out, err := p.call(op, input); err == nil || err.RemoteStatus() != status {
		p.t.Errorf("%s %s: %s %+v, want HTTP %d", op, input, out, err, status)
	}
}

func (p *provider) session(op, input string) hermes.Session {
	p.t.Helper()
	s, ok := hermes.ReadSession(p.ok(op, input))
	if !ok {
		p.t.Fatalf("%s %s: no session", op, input)
	}
	return s
}

func (p *provider) list(input string) (hermes.SessionPage, []string) {
	p.t.Helper()
	page, ok := hermes.ReadSessions(p.ok("sessions_list", input))
	if !ok {
		p.t.Fatalf("%s: no list", input)
	}
	var ids []string
	for _, s := range page.Sessions {
		ids = append(ids, s.ID)
	}
	return page, ids
}

func (p *provider) transcript(id string) hermes.Transcript {
	p.t.Helper()
	tr, ok := hermes.ReadTranscript(p.ok("session_messages", `{"session_id":"`+id+`"}`))
	if !ok {
		p.t.Fatalf("%s: no transcript", id)
	}
	return tr
}

func TestSessionsAreMadeOnceAndChangedLittle(t *testing.T) {
	p := &provider{console: serve(t, Options{})}
	s := p.session("session_create", `{"body":{"id":"a","title":" Case\u0007  one ","system_prompt":"Brief."}}`)
	if s.ID != "a" || s.Title != "Case one" || !s.Open() || s.Source != "api_server" || !strings.Contains(string(s.Raw), `"has_system_prompt":true`) || strings.Contains(string(s.Raw), "Brief") {
		t.Errorf("%s", s.Raw)
	}
	if s := p.session("session_create", `{"body":{"id":"","session_id":"b"}}`); s.ID != "b" {
		t.Errorf("%+v", s)
	}
	if s := p.session("session_create", `{"body":{"id":""}}`); !strings.HasPrefix(s.ID, "api_") {
		t.Errorf("%+v", s)
	}
	p.refused("session_create", `{"body":{"id":"a"}}`, 409)
	p.refused("session_create", `{"body":{"id":"c","title":"Case one"}}`, 400)
	p.refused("session_get", `{"session_id":"c"}`, 404) // its row is removed again
	for _, id := range []string{"../x", `a\\b`, "C:x", `a\tb`, "  ", strings.Repeat("x", 257)} {
		p.refused("session_create", `{"body":{"id":"`+id+`"}}`, 400)
	}
	p.refused("session_create", `{"body":{"system_prompt":7}}`, 400)
	p.refused("session_create", `{"body":{"title":"`+strings.Repeat("x", 101)+`"}}`, 400)

	if s := p.session("session_patch", `{"session_id":"a","body":{}}`); s.Title != "Case one" {
		t.Errorf("%+v", s)
	}
	p.session("session_patch", `{"session_id":"a","body":{"title":"Case one"}}`) // its own
	p.refused("session_patch", `{"session_id":"b","body":{"title":"Case one"}}`, 400)
	p.refused("session_patch", `{"session_id":"a","body":{"archived":true}}`, 400)
	if s := p.session("session_patch", `{"session_id":"a","body":{"title":null,"end_reason":""}}`); s.Title != "" || !s.Open() {
		t.Errorf("%+v", s)
	}
	p.session("session_patch", `{"session_id":"a","body":{"end_reason":"first"}}`)
	if s := p.session("session_patch", `{"session_id":"a","body":{"end_reason":"second"}}`); s.EndReason != "first" || s.Ended.IsZero() {
		t.Errorf("%+v", s)
	}
}

func TestForksAreNotAtomic(t *testing.T) {
	p := &provider{console: serve(t, Options{})}
	p.session("session_create", `{"body":{"id":"a","title":"Case"}}`)
	p.ok("session_chat", `{"session_id":"a","message":"hi"}`)
	child := p.session("session_fork", `{"session_id":"a","body":{"id":"b"}}`)
	if child.Parent != "a" || child.Title != "Case #2" || child.MessageCount != 2 {
		t.Errorf("%s", child.Raw)
	}
	if s := p.session("session_get", `{"session_id":"a"}`); s.EndReason != "branched" {
		t.Errorf("%s", s.Raw)
	}
	if s := p.session("session_fork", `{"session_id":"b"}`); s.Title != "Case #3" || !strings.HasPrefix(s.ID, "api_") {
		t.Errorf("%s", s.Raw)
	}
	// A refused title comes after the writes.
	p.session("session_create", `{"body":{"id":"x","title":"Other"}}`)
	p.refused("session_fork", `{"session_id":"x","body":{"id":"y","title":"Case"}}`, 400)
	if s := p.session("session_get", `{"session_id":"y"}`); s.Parent != "x" || s.Title != "" {
		t.Errorf("%s", s.Raw)
	}
	if s := p.session("session_get", `{"session_id":"x"}`); s.EndReason != "branched" {
		t.Errorf("%s", s.Raw)
	}
	// The first end reason stays, and then lists do not show the branch.
	p.session("session_create", `{"body":{"id":"e"}}`)
	p.session("session_patch", `{"session_id":"e","body":{"end_reason":"closed"}}`)
	p.session("session_fork", `{"session_id":"e","body":{"id":"f"}}`)
	_, shown := p.list(`{"limit":200}`)
	_, all := p.list(`{"limit":200,"include_children":true}`)
	if slices.Contains(shown, "f") || !slices.Contains(all, "f") || !slices.Contains(shown, "b") {
		t.Errorf("%v, with children %v", shown, all)
	}
	p.refused("session_fork", `{"session_id":"a","body":{"id":"b"}}`, 409)
	p.refused("session_fork", `{"session_id":"none"}`, 404)

	// Deletion keeps the branch, without its parent.
	p.ok("session_delete", `{"session_id":"a"}`)
	p.refused("session_delete", `{"session_id":"a"}`, 404)
	p.refused("session_messages", `{"session_id":"a"}`, 404)
	if s := p.session("session_get", `{"session_id":"b"}`); s.Parent != "" || s.MessageCount != 2 {
		t.Errorf("%s", s.Raw)
	}
}

func TestListsArePagedByTheLastActivity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{console: serve(t, Options{})}
		for _, id := range []string{"a", "b", "c"} {
			time.Sleep(time.Hour)
			p.session("session_create", `{"body":{"id":"`+id+`"}}`)
		}
		p.console.server.sessions.rows["b"].active += 3e9 // after everything recorded
		p.console.server.sessions.rows["c"].active += 2e9
		p.console.server.sessions.rows["a"].active += 1e9
		first, ids := p.list(`{"limit":2,"source":"api_server"}`)
		if strings.Join(ids, " ") != "b c" || !first.HasMore {
			t.Errorf("%v %+v", ids, first)
		}
		if _, ids := p.list(`{"limit":1,"offset":2}`); strings.Join(ids, " ") != "a" {
			t.Errorf("%v", ids)
		}
		whole, ids := p.list(`{"query":{"limit":500}}`)
		if whole.Limit != 200 || whole.HasMore || len(ids) < 10 {
			t.Errorf("%d %+v", len(ids), whole)
		}
		if full, _ := p.list(fmt.Sprintf(`{"limit":%d}`, len(ids))); !full.HasMore {
			t.Error("a full last page says that there is more")
		}
		if none, ids := p.list(`{"offset":9999999}`); none.Offset != 1_000_000 || len(ids) != 0 || none.HasMore {
			t.Errorf("%+v", none)
		}
		if _, ids := p.list(`{"source":"cli"}`); len(ids) != 0 {
			t.Errorf("%v", ids)
		}
		p.console.server.sessions.rows["a"].Archived = true
		if _, ids := p.list(`{"limit":200,"include_children":true}`); slices.Contains(ids, "a") {
			t.Error("an archived session is listed")
		}
		p.refused("sessions_list", `{"limit":"many"}`, 400)
	})
}

func TestACompressedSessionGoesOnInAnother(t *testing.T) {
	p := &provider{console: serve(t, Options{CompressAfter: 4})}
	p.session("session_create", `{"body":{"id":"a"}}`)
	for range 2 {
		p.ok("session_chat", `{"session_id":"a","message":"hi"}`)
	}
	r := p.result(act{id: "act_stream", op: "session_chat_stream", mode: "streaming", input: `{"session_id":"a","message":"more"}`})
	tr := p.transcript("a")
	if tr.SessionID == "a" || !strings.Contains(string(r.Output), `\"session_id\": \"`+tr.SessionID+`\"`) {
		t.Fatalf("transcript of %s", tr.SessionID)
	}
	if tr.Messages[0].Role != "user" || tr.Messages[2].Text != "more" || tr.Messages[len(tr.Messages)-1].Finish != "stop" {
		t.Errorf("%+v", tr.Messages)
	}
	if s := p.session("session_get", `{"session_id":"a"}`); s.EndReason != "compression" || s.MessageCount != 4 {
		t.Errorf("%s", s.Raw)
	}
	page, ids := p.list(`{"limit":200}`)
	i := slices.Index(ids, tr.SessionID)
	if i < 0 || slices.Contains(ids, "a") || page.Sessions[i].Root != "a" || page.Sessions[i].Parent != "a" {
		t.Errorf("%v", ids)
	}
	if _, ids := p.list(`{"limit":200,"include_children":true}`); !slices.Contains(ids, "a") || !slices.Contains(ids, tr.SessionID) {
		t.Errorf("%v", ids)
	}
}

func TestTurnsAreWrittenToTheirSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, feed := scripted(t, Options{})
		p := &provider{console: c}
		posted := make(chan aip.Result)
		go func() {
			posted <- c.result(act{id: "act_a", op: "chat_stream", mode: "streaming", input: `{"prompt":"half","session_id":"s"}`})
		}()
		feed <- []byte("data: {\"choices\":[{\"delta\":{\"content\":\"one\"},\"finish_reason\":null}]}\n\n")
		synctest.Wait()
		c.cancel("act_a")
		<-posted
		if tr := p.transcript("s"); len(tr.Messages) != 1 || tr.Messages[0].Text != "half" {
			t.Errorf("of a turn that was left: %+v", tr.Messages)
		}
	})
	p := &provider{console: serve(t, Options{})}
	p.result(act{id: "act_b", op: "chat_stream", mode: "streaming", input: `{"prompt":"whole","session_id":"s","recording":"chat_length"}`})
	tr := p.transcript("s")
	if len(tr.Messages) != 2 || tr.Messages[1].Role != "assistant" || tr.Messages[1].Finish != "length" {
		t.Errorf("%+v", tr.Messages)
	}
	p.refused("session_chat", `{"session_id":"none","message":"x"}`, 404)
	r := p.result(act{id: "act_c", op: "session_chat_stream", mode: "streaming", input: `{"session_id":"none","message":"x"}`})
	if r.Error == nil || r.Error.RemoteStatus() != 404 {
		t.Errorf("%+v", r)
	}
	q := &provider{console: serve(t, Options{Unstored: true})}
	q.session("session_create", `{"body":{"id":"s"}}`)
	q.ok("session_chat", `{"session_id":"s","message":"x"}`)
	if tr := q.transcript("s"); len(tr.Messages) != 0 {
		t.Errorf("%+v", tr.Messages)
	}
}

func TestOnlyTheLastHundredResponsesAreKept(t *testing.T) {
	p := &provider{console: serve(t, Options{})}
	for i := range maxStored {
		p.console.server.stored.put(fmt.Sprint("resp_", i), object("id", fmt.Sprint("resp_", i), "status", "completed"))
	}
	p.ok("response_get", `{"response_id":"resp_0"}`) // used again, so resp_1 goes first
	p.ok("responses", `{"body":{"input":"x"}}`)
	p.refused("response_get", `{"response_id":"resp_1"}`, 404)
	p.ok("response_get", `{"response_id":"resp_0"}`)
	p.ok("response_delete", `{"response_id":"resp_0"}`)
	p.refused("response_get", `{"response_id":"resp_0"}`, 404)
	p.refused("response_delete", `{"response_id":"resp_0"}`, 404)
	p.refused("responses", `{"body":{"input":"x","previous_response_id":"resp_0"}}`, 404)
	p.ok("responses", `{"body":{"input":"x","previous_response_id":"resp_5"}}`)
	// What asked not to be stored is not.
	out := p.ok("responses", `{"body":{"input":"x"}}`)
	id := hermes.ReadReply(hermes.OpResponses, out).ID
	p.ok("response_delete", `{"response_id":"`+id+`"}`)
	p.ok("responses", `{"body":{"input":"x","store":false}}`)
	p.refused("response_get", `{"response_id":"`+id+`"}`, 404)
}

func TestTheGateOfRunsIsNotForSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, feed := scripted(t, Options{MaxRuns: 1})
		p := &provider{console: c}
		p.session("session_create", `{"body":{"id":"s"}}`)
		posted := make(chan aip.Result)
		go func() {
			posted <- c.result(act{id: "act_a", op: "chat_stream", mode: "streaming", input: chatInput})
		}()
		feed <- []byte("data: 1\n\n")
		synctest.Wait()
		_, err := p.call("chat", chatInput)
		if err == nil || err.Code != "connector.hermes_agent.remote_temporary" || err.RemoteStatus() != 429 || !err.Uncertain() || err.Retryable {
			t.Errorf("%+v", err)
		}
		p.ok("session_chat", `{"session_id":"s","message":"x"}`)
		p.ok("session_get", `{"session_id":"s"}`)
		close(feed)
		<-posted
		p.ok("chat", chatInput)
	})
}

func TestApprovalsCanBeDecidedByTheServer(t *testing.T) {
	for _, c := range []struct {
		approve Approval
		status  aip.ResultStatus
		code    string
	}{
		{Approval{Decides: true, Grants: true, After: 5 * time.Second}, aip.ResultCompleted, ""},
		{Approval{Decides: true, After: time.Minute}, aip.ResultFailed, "policy.approval_denied"},
		{Approval{}, aip.ResultPendingApproval, "policy.human_approval_required"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := serve(t, Options{Approve: c.approve})
			r := s.result(act{id: "act_1", op: "session_delete", key: "k", input: `{"session_id":"demo-second"}`})
			if r.Status != aip.ResultPendingApproval {
				t.Fatalf("%+v", r)
			}
			time.Sleep(c.approve.After + time.Second)
			r = s.resultRoute("act_1", "")
			if r.Status != c.status || c.code != "" && r.Error.Code != c.code {
				t.Errorf("%+v: %+v %v", c.approve, r, r.Error)
			}
		})
	}
}

func TestFailuresOfTheConnectorCanBeMade(t *testing.T) {
	s := serve(t, Options{Fail: func(r Request) *aip.Error {
		if r.Operation != hermes.OpChat {
			return nil
		}
		return hermes.Failure(r.Operation, hermes.FailTenant, 0, "x")
	}})
	if r := s.result(act{id: "act_1", op: "chat", input: chatInput}); r.Status != aip.ResultFailed || r.Error.Code != "connector.hermes_agent.tenant_mismatch" || r.Error.Category != "auth" {
		t.Errorf("%+v", r)
	}
	if r := s.result(act{id: "act_2", op: "health", input: `{}`}); r.Status != aip.ResultCompleted {
		t.Errorf("%+v", r)
	}
}
