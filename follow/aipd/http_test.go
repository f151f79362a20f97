package aipd

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"aipscope/model/aip"
)

func TestOpenRoutesNeedNoBearer(t *testing.T) {
	c := serve(t, Options{Token: "secret"})
	c.token = ""
	for _, path := range []string{"/", "/health", "/aip/v1/health"} {
		var got struct{ Status, Protocol string }
		if c.get(path, &got); got.Status != "ok" || got.Protocol != "AIP" {
			t.Errorf("%s: %+v", path, got)
		}
	}
	var ready struct{ Status string }
	if c.get("/ready", &ready); ready.Status != "ready" {
		t.Errorf("%+v", ready)
	}
	manifest := func(query string) (ids []string) {
		var got struct{ Capabilities []struct{ ID string } }
		c.get("/aip/v1/manifest"+query, &got)
		for _, k := range got.Capabilities {
			ids = append(ids, strings.TrimPrefix(k.ID, "cap:hermes_agent:demo:"))
		}
		return ids
	}
	if got := manifest(""); len(got) != 23 || got[0] != "health" {
		t.Errorf("%d capabilities: %q", len(got), got)
	}
	for query, want := range map[string]string{
		"?supports_streaming=true":                           "chat_stream responses_stream run_events session_chat_stream",
		"?requires_approval=true&risk=high":                  "response_delete session_delete",
		"?capability_id=cap:hermes_agent:demo:chat":          "chat",
		"?risk=medium&requires_approval=true":                "run_approval run_stop",
		"?risk=low&supports_streaming=true":                  "run_events",
		"?capability_id=cap:hermes_agent:elsewhere:chat":     "",
		"?supports_streaming=false&risk=high&capability_id=": "response_delete session_delete",
	} {
		if got := strings.Join(manifest(query), " "); got != want {
			t.Errorf("%s: %s", query, got)
		}
	}
	if status, err := c.refused("GET", "/aip/v1/manifest?supports_streaming=yes", "", ""); status != 400 || err.Code != "query.invalid" {
		t.Errorf("%d %+v", status, err)
	}
}

func TestTheBearerIsLookedAtFirst(t *testing.T) {
	c := serve(t, Options{Token: "secret"})
	for name, header := range map[string]string{"none": "", "wrong": "Bearer secreT", "scheme": "bearer secret", "basic": "Basic c2VjcmV0", "empty": "Bearer "} {
		for _, path := range []string{"/aip/v1/actions", "/aip/v1/actions/nonsense", "/aip/v1/actions/act_1/events?follow=true&follow=true", "/aip/v1/actions/act_1/result"} {
			req, err := http.NewRequestWithContext(t.Context(), "GET", "http://aipd"+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if header != "" {
				req.Header.Set("Authorization", header)
			}
			resp, err := c.http.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			var env struct {
				Version string `json:"aip_version"`
				Type    string `json:"message_type"`
				Body    struct{ Error struct{ Error aip.Error } }
			}
			err = json.NewDecoder(resp.Body).Decode(&env)
			resp.Body.Close()
			e := env.Body.Error.Error
			if err != nil || resp.StatusCode != 401 || resp.Header.Get("WWW-Authenticate") != "" || env.Version != "1.0" || env.Type != "aip.core.v1.error" ||
				e.Code != "auth.native_http_unauthorized" || e.Category != "auth" || string(e.Source) != `{"component":"aip.server.native_http"}` {
				t.Errorf("%s %s: %d %+v %v", name, path, resp.StatusCode, e, err)
			}
		}
	}
	if r := c.result(act{id: "act_1", op: "health", input: `{}`}); r.Status != aip.ResultCompleted {
		t.Errorf("%+v", r)
	}
	c.token = ""
	env := act{id: "act_2", op: "health", input: `{}`}.envelope(time.Now())
	for _, path := range []string{"/aip/v1/messages", "/aip/v1/actions"} {
		if status, err := c.refused("POST", path, "application/json", env); status != 401 || err.Code != "auth.native_http_unauthorized" {
			t.Errorf("%s: %d %+v", path, status, err)
		}
	}
	// The actions route looks at the bearer before the body, the other one after.
	if status, _, _ := c.do("POST", "/aip/v1/messages", "application/json", "{"); status != 400 {
		t.Errorf("messages: %d", status)
	}
	if status, _, _ := c.do("POST", "/aip/v1/actions", "application/json", "{"); status != 401 {
		t.Errorf("actions: %d", status)
	}
}

func TestScopesFailClosed(t *testing.T) {
	c := serve(t, Options{Scopes: []string{}})
	c.result(act{id: "act_1", op: "health", input: `{}`})
	for _, path := range []string{"/aip/v1/actions", "/aip/v1/actions/act_1", "/aip/v1/actions/act_1/result", "/aip/v1/actions/act_1/events", "/aip/v1/actions/act_1/chunks"} {
		if status, err := c.refused("GET", path, "", ""); status != 401 || err.Code != "auth.not_authorized" {
			t.Errorf("%s: %d %+v", path, status, err)
		}
	}
	if status, err := c.refused("POST", "/aip/v1/actions/act_1/cancel", "", ""); status != 401 || err.Code != "auth.not_authorized" {
		t.Errorf("cancel: %d %+v", status, err)
	}
	frames := c.follow("/aip/v1/actions/act_1/events?follow=true").all()
	if len(frames) != 1 || frames[0].event != aip.FrameError || !strings.Contains(frames[0].data, "auth.not_authorized") {
		t.Errorf("follow: %+v", frames)
	}
	reader := serve(t, Options{Scopes: []string{"action:read"}})
	reader.result(act{id: "act_1", op: "health", input: `{}`})
	if got := reader.state("act_1", ""); got != aip.StateCompleted {
		t.Errorf("reader: %s", got)
	}
	if status, err := reader.refused("POST", "/aip/v1/actions/act_1/cancel", "", ""); status != 401 || !strings.Contains(err.Message, "action:write") {
		t.Errorf("reader's cancel: %d %+v", status, err)
	}
}

func TestRefusalsOfTheFrameworkAreNotJSON(t *testing.T) {
	c := serve(t, Options{})
	env := act{id: "act_1", op: "health", input: `{}`}.envelope(time.Now())
	for _, k := range []struct {
		method, path, contentType, body string
		status                          int
		empty                           bool
	}{
		{"POST", "/aip/v1/messages", "text/plain", env, 415, false},
		{"POST", "/aip/v1/messages", "", env, 415, false},
		{"POST", "/aip/v1/messages", "application/json", "{", 400, false},
		{"POST", "/aip/v1/messages", "application/json", "[]", 422, false},
		{"POST", "/aip/v1/messages", "application/json", `"` + strings.Repeat("x", 2<<20) + `"`, 413, false},
		{"GET", "/aip/v1/nothing", "", "", 404, true},
		{"GET", "/aip/v1/actions/act_1/nothing", "", "", 404, true},
		{"GET", "/aip/v1/messages", "", "", 405, true},
		{"DELETE", "/aip/v1/actions/act_1", "", "", 405, true},
		{"GET", "/aip/v1/actions/act_1/events?follow=yes", "", "", 400, false},
		{"GET", "/aip/v1/actions/act_1/events?follow=true&limit=-1", "", "", 400, false},
		{"GET", "/aip/v1/actions/act_1/events?kind=a&kind=b", "", "", 400, false},
		{"GET", "/aip/v1/actions/act_1?include_chunks=1", "", "", 400, false},
		{"GET", "/aip/v1/actions/act_1/result?include_terminal_events=", "", "", 400, false},
		{"GET", "/aip/v1/actions?limit=many", "", "", 400, false},
		{"POST", "/aip/v1/actions/act_1/cancel", "application/json", "", 400, false},
		{"POST", "/aip/v1/actions/act_1/cancel", "application/json", `{"reason":5}`, 422, false},
		{"POST", "/aip/v1/actions/act_1/cancel", "text/plain", `x`, 415, false},
	} {
		status, header, body := c.do(k.method, k.path, k.contentType, k.body)
		if status != k.status || (body == "") != k.empty || json.Valid([]byte(body)) || !k.empty && !strings.HasPrefix(header.Get("Content-Type"), "text/plain") {
			t.Errorf("%s %s: %d %q", k.method, k.path, status, body)
		}
	}
}

func TestActionIDsMustHaveTheirPrefix(t *testing.T) {
	c := serve(t, Options{})
	for _, path := range []string{"", "/result", "/events", "/events?follow=true", "/chunks"} {
		if status, err := c.refused("GET", "/aip/v1/actions/msg_1"+path, "", ""); status != 400 || err.Code != "query.invalid" {
			t.Errorf("%s: %d %+v", path, status, err)
		}
	}
	if status, err := c.refused("POST", "/aip/v1/actions/1/cancel", "", ""); status != 400 || err.Code != "query.invalid" {
		t.Errorf("cancel: %d %+v", status, err)
	}
	if status, err := c.refused("POST", "/aip/v1/actions/act_none/cancel", "", ""); status != 400 || err.Code != "resource.not_found" {
		t.Errorf("cancel: %d %+v", status, err)
	}
	if status, err := c.refused("GET", "/aip/v1/actions/act_1?tenant_id=t", "", ""); status != 401 || err.Code != "auth.tenant_required" {
		t.Errorf("tenant: %d %+v", status, err)
	}
	if got := c.state("act_none", ""); got != aip.StateUnknown {
		t.Errorf("unknown: %s", got)
	}
	if status, err := c.refused("GET", "/aip/v1/actions/act_none/result", "", ""); status != 400 || err.Code != "action.not_found" {
		t.Errorf("unknown: %d %+v", status, err)
	}
	odd := `act_a/b c"<é`
	c.result(act{id: odd, op: "health", input: `{}`})
	if got := c.state("act_a%2Fb%20c%22%3C%C3%A9", ""); got != aip.StateCompleted {
		t.Errorf("escaped: %s", got)
	}
}

func TestEnvelopesAreTakenOnceAndWhileFresh(t *testing.T) {
	c := serve(t, Options{})
	a := act{id: "act_1", op: "health", input: `{}`}
	once := a.envelope(time.Now())
	if status, _, body := c.do("POST", "/aip/v1/actions", "application/json; charset=utf-8", once); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	for name, env := range map[string]string{
		"again":  once,
		"old":    a.envelope(time.Now().Add(-301 * time.Second)),
		"future": a.envelope(time.Now().Add(40 * time.Second)),
	} {
		if status, err := c.refused("POST", "/aip/v1/messages", "application/json", env); status != 401 || err.Code != "replay.message_id" {
			t.Errorf("%s: %d %+v", name, status, err)
		}
	}
	for _, d := range []time.Duration{-299 * time.Second, 20 * time.Second} {
		if status, _, body := c.do("POST", "/aip/v1/messages", "application/json", a.envelope(time.Now().Add(d))); status != 200 {
			t.Errorf("%v: %d %s", d, status, body)
		}
	}
}

func TestEnvelopesAreCheckedAgainstTheirSchema(t *testing.T) {
	c := serve(t, Options{})
	good := act{id: "act_1", op: "health", input: `{}`}.envelope(time.Now())
	for name, change := range map[string][2]string{
		"unknown field":        {`"aip_version"`, `"extra":1,"aip_version"`},
		"unknown action field": {`"capability_id"`, `"deadline":1,"capability_id"`},
		"no message id":        {`"message_id"`, `"trace"`},
		"no version":           {`"aip_version":"1.0"`, `"aip_version":"2.0"`},
		"no time":              {`"sent_at":"`, `"sent_at":"x`},
		"no input":             {`"input":{}`, `"input":null`},
		"no id":                {`"id":"act_1"`, `"id":""`},
		"wrong type":           {`"id":"act_1"`, `"id":7`},
		"bad mode":             {`"input":{}`, `"input":{},"mode":"later"`},
		"two bodies":           {`"body":{`, `"body":{"cancel":{},`},
		"no body":              {`"body":{"action":`, `"body":{},"trace":{"action":`},
		"body is a list":       {`"body":{"action":`, `"body":[],"trace":{"action":`},
	} {
		if status, err := c.refused("POST", "/aip/v1/messages", "application/json", strings.Replace(good, change[0], change[1], 1)); status != 400 || err.Code != "schema.envelope.invalid" {
			t.Errorf("%s: %d %+v", name, status, err)
		}
	}
	handshake := strings.Replace(good, `{"action":{`, `{"handshake":{`, 1)
	if status, err := c.refused("POST", "/aip/v1/messages", "application/json", handshake); status != 400 || err.Code != "envelope.decode.invalid" {
		t.Errorf("handshake: %d %+v", status, err)
	}
}

func TestStatusCarriesTheResultAndTheChunksWhenAsked(t *testing.T) {
	c := serve(t, Options{})
	c.result(act{id: "act_1", op: "chat_stream", mode: "streaming", input: `{"recording":"chat_ok"}`})
	var got struct {
		ActionStatus struct {
			aip.Status
			Result aip.Result
			Chunks []aip.Chunk
			Links  map[string]string
		} `json:"action_status"`
	}
	c.get("/aip/v1/actions/act_1?include_result=true&include_chunks=true", &got)
	st := got.ActionStatus
	if st.State != aip.StateCompleted || st.Result.Status != aip.ResultCompleted || len(st.Chunks) != 14 || st.Links["cancel"] != "/aip/v1/actions/act_1/cancel" {
		t.Errorf("%+v", st.Status)
	}
	var bare map[string]json.RawMessage
	c.get("/aip/v1/actions/act_1", &bare)
	if s := string(bare["action_status"]); strings.Contains(s, `"result":{`) || strings.Contains(s, `"chunks":[`) || !strings.Contains(s, `"result_status":"completed"`) {
		t.Errorf("%s", s)
	}
}
