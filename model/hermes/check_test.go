package hermes

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func fields(list []Finding) string {
	var out []string
	for _, f := range list {
		out = append(out, f.Field)
	}
	return strings.Join(out, " ")
}

// recordedRequest is a request that a real provider answered.
type recordedRequest struct {
	name, status string
	op           Operation
	input        json.RawMessage
}

// inputOf makes the connector's input of a provider's request: what the
// connector would send as this.
func inputOf(t *testing.T, method, path string, headers map[string]string, body map[string]any) (Operation, map[string]any) {
	t.Helper()
	u, err := url.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]any{}
	if id := headers["X-Hermes-Session-Id"]; id != "" {
		in["session_id"] = id
	}
	if key := headers["X-Hermes-Session-Key"]; key != "" {
		in["session_key"] = key
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	streams, _ := body["stream"].(bool)
	pick := func(streaming, whole Operation) Operation {
		if streams {
			return streaming
		}
		return whole
	}
	inside := func(op Operation, id string) (Operation, map[string]any) {
		if id != "" {
			in[id] = parts[2]
		}
		if body != nil {
			in["body"] = body
		}
		return op, in
	}
	switch route := method + " " + strings.Join(parts[1:], "/"); {
	case route == "POST chat/completions":
		for k, v := range body {
			in[k] = v
		}
		return pick(OpChatStream, OpChat), in
	case route == "POST responses":
		in["body"] = body
		return pick(OpResponsesStream, OpResponses), in
	case route == "POST runs":
		return inside(OpRunStart, "")
	case route == "POST sessions":
		return inside(OpSessionCreate, "")
	case route == "GET sessions":
		for k, v := range u.Query() {
			in[k] = v[0]
			if n, err := strconv.Atoi(v[0]); err == nil {
				in[k] = n
			} else if b, err := strconv.ParseBool(v[0]); err == nil {
				in[k] = b
			}
		}
		return OpSessionsList, in
	case len(parts) == 3 && parts[1] == "responses":
		in["response_id"] = parts[2]
		return map[string]Operation{"GET": OpResponseGet, "DELETE": OpResponseDelete}[method], in
	case len(parts) == 3 && parts[1] == "sessions":
		return inside(map[string]Operation{"GET": OpSessionGet, "DELETE": OpSessionDelete, "PATCH": OpSessionPatch}[method], "session_id")
	case len(parts) >= 4 && parts[1] == "sessions":
		op := map[string]Operation{"messages": OpSessionMessages, "fork": OpSessionFork, "chat": OpSessionChat, "chat/stream": OpSessionChatStream}[strings.Join(parts[3:], "/")]
		return inside(op, "session_id")
	case len(parts) >= 3 && parts[1] == "runs":
		op := map[string]Operation{"": OpRunStatus, "events": OpRunEvents, "stop": OpRunStop, "approval": OpRunApproval}[strings.Join(parts[3:], "/")]
		return inside(op, "run_id")
	}
	return "", nil
}

func recordedRequests(t *testing.T) []recordedRequest {
	t.Helper()
	dir := filepath.Join("..", "..", "testdata", "recordings", "hermes")
	files, err := filepath.Glob(filepath.Join(dir, "*.request.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded requests: %v", err)
	}
	var out []recordedRequest
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r struct {
			Method  string
			Path    string
			Headers map[string]string
			Body    map[string]any
			Raw     string `json:"raw_body"`
		}
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".request.json")
		headers, err := os.ReadFile(filepath.Join(dir, name+".headers.txt"))
		if err != nil {
			t.Fatal(err)
		}
		op, in := inputOf(t, r.Method, r.Path, r.Headers, r.Body)
		if op == "" {
			continue
		}
		input, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		if r.Raw != "" {
			input = json.RawMessage(r.Raw)
		}
		out = append(out, recordedRequest{name, strings.Fields(string(headers))[1], op, input})
	}
	return out
}

// What a real provider took passes, and what it refused for what it says is
// refused before, at the same field.
func TestCheckAgreesWithARealProvider(t *testing.T) {
	refused := map[string]string{
		"approval_400_choice":              "body.choice",
		"chat_400":                         "messages",
		"chat_400_content_part":            "messages[0].content[0].type",
		"chat_400_invalid_json":            "input",
		"chat_400_no_user_text":            "messages[0]",
		"chat_400_session_header":          "session_id",
		"chat_413":                         "input",
		"responses_400":                    "body.input",
		"responses_400_both":               "body.previous_response_id",
		"responses_400_invalid_json":       "input",
		"runs_400":                         "body.input",
		"session_chat_400_effort":          "body.reasoning_effort",
		"session_chat_400_missing":         "body.message",
		"session_chat_400_model":           "body.model",
		"session_chat_400_system":          "body.system_message",
		"session_create_400_id":            "body.id",
		"session_create_400_json":          "input",
		"session_create_400_system_prompt": "body.system_prompt",
		"session_patch_400_field":          "body.archived body.model",
		"session_stream_400":               "body.message",
	}
	// What only the provider can know: titles in use. And a filter that the
	// connector does not pass on.
	unknowable := map[string]bool{"session_create_400_title": true, "session_fork_400_title": true, "session_patch_400_title": true, "session_messages_400": true}
	seen := 0
	for _, r := range recordedRequests(t) {
		errs, _ := Check(r.op, r.input, CheckOptions{Capability: r.op.Capability("demo"), IdempotencyKey: "key-1"})
		want, isRefused := refused[r.name]
		if isRefused {
			seen++
		}
		if r.status == "400" && !isRefused && !unknowable[r.name] {
			t.Errorf("%s (%s) was refused by the provider, and is not in the table", r.name, r.op)
		}
		if got := fields(errs); got != want {
			t.Errorf("%s (%s, %s): refused at %q, want %q\n%v", r.name, r.op, r.status, got, want, errs)
		}
	}
	if seen != len(refused) {
		t.Errorf("%d of %d refused requests are recorded", seen, len(refused))
	}
}

func TestCheckRules(t *testing.T) {
	const user = `"messages":[{"role":"user","content":"hi"}]`
	chat := func(more string) string { return `{` + user + `,"session_id":"s"` + more + `}` }
	long := strings.Repeat("é", 257)
	image := `[{"type":"image_url","image_url":{"url":"https://x.example/a.png"}}]`
	for _, c := range []struct {
		op          Operation
		in          string
		errs, warns string
	}{
		{OpChatStream, chat(``), "", ""},
		{OpChatStream, ` `, "input", ""},
		{OpChatStream, `null`, "input", ""},
		{OpChatStream, `[]`, "input", ""},
		{OpChatStream, `"hi"`, "input", ""},

		// Chat: one branch, messages, continuity.
		{OpChat, `{"prompt":"hi"}`, "", "session_id"},
		{OpChat, `{"query":"hi","session_id":"s"}`, "", ""},
		{OpChat, `{"prompt":" ","session_id":"s"}`, "prompt", ""},
		{OpChat, `{"prompt":"","query":"hi","session_id":"s"}`, "messages prompt", ""},
		{OpChat, `{"prompt":"hi",` + user + `,"session_id":"s"}`, "messages", ""},
		{OpChat, `{"messages":[],"session_id":"s"}`, "messages", ""},
		{OpChat, `{"messages":"hi","session_id":"s"}`, "messages", ""},
		{OpChat, `{"messages":["hi"],"session_id":"s"}`, "messages[0]", ""},
		{OpChat, `{"messages":[{"role":"user"}],"session_id":"s"}`, "messages[0].content", ""},
		{OpChat, `{"messages":[{"content":"hi"}],"session_id":"s"}`, "messages[0].role", ""},
		{OpChat, `{"messages":[{"role":"user","content":4}],"session_id":"s"}`, "messages[0].content", ""},
		{OpChat, `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}],"session_id":"s"}`, "messages[1]", "messages"},
		{OpChat, `{"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hi"}],"session_id":"s"}`, "", ""},
		{OpChat, `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[]},{"role":"user","content":"so?"}],"session_id":"s"}`, "", "messages"},
		{OpChat, `{"messages":[{"role":"user","content":` + image + `}],"session_id":"s"}`, "", ""},
		{OpChat, `{"messages":[{"role":"user","content":[{"type":"text","text":" "}]}],"session_id":"s"}`, "messages[0]", ""},
		{OpChat, `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"file:///a.png"}}]}],"session_id":"s"}`, "messages[0].content[0].image_url", ""},
		{OpChat, chat(`,"body":{}`), "body", ""},
		{OpChat, `{` + user + `,"session_id":"` + long + `"}`, "session_id", ""},
		{OpChat, `{` + user + `,"session_id":"a\nb"}`, "session_id", ""},
		{OpChat, `{` + user + `,"session_id":""}`, "session_id", ""},
		{OpChat, `{` + user + `,"session_id":7}`, "session_id", ""},
		{OpChat, `{` + user + `,"session_id":"C:x"}`, "session_id", ""},
		{OpChat, chat(`,"session_key":"` + long + `"`), "session_key", ""},
		{OpChat, chat(`,"session_key":"support:review"`), "", ""},

		// Chat: typed fields. Unknown ones pass.
		{OpChat, chat(`,"model":4,"temperature":"warm","top_p":null,"max_tokens":-1,"stop":[1],"tools":{},"tool_choice":3,"response_format":"json","user":1,"metadata":[]`),
			"model user temperature max_tokens stop[0] tools tool_choice response_format metadata", ""},
		{OpChat, chat(`,"model":"hermes-agent","temperature":0.2,"top_p":1,"max_tokens":0,"stop":["a"],"tools":[{"type":"function"}],"tool_choice":"auto","response_format":{"type":"text"},"user":"u","metadata":{},"seed":4`), "", ""},
		{OpChat, chat(`,"max_tokens":1.5`), "max_tokens", ""},
		{OpChat, chat(`,"model":" "`), "model", ""},
		{OpChatStream, chat(`,"stream":false`), "", "stream"},
		{OpChatStream, chat(`,"stream":true`), "", ""},

		// max_events.
		{OpChatStream, chat(`,"max_events":512`), "", ""},
		{OpChatStream, chat(`,"max_events":255`), "", "max_events"},
		{OpChatStream, chat(`,"max_events":100000`), "", ""},
		{OpChatStream, chat(`,"max_events":100001`), "max_events", ""},
		{OpChatStream, chat(`,"max_events":0`), "max_events", ""},
		{OpChatStream, chat(`,"max_events":null`), "max_events", ""},
		{OpChatStream, chat(`,"max_events":"512"`), "max_events", ""},
		{OpChatStream, chat(`,"max_events":5e2`), "max_events", ""},
		{OpChat, chat(`,"max_events":512`), "max_events", ""},
		{OpSessionCreate, `{"max_events":512}`, "max_events", ""},

		// Credentials and identity.
		{OpChat, chat(`,"api_key":"x"`), "api_key", ""},
		{OpChat, chat(`,"metadata":{"Auth-Token":"x","deep":[{"clientSecret":"y"}],"password":""}`), "metadata.Auth-Token metadata.deep[0].clientSecret", ""},
		{OpChat, chat(`,"tools":[{"type":"function","function":{"parameters":{"properties":{"token":{"type":"string"}}}}}]`), "", ""},
		{OpChat, chat(`,"prompt_tokens":4,"max_output_tokens":5`), "", ""},
		{OpChat, `{"messages":[{"role":"user","content":"my password: x"}],"session_id":"s"}`, "", ""},
		{OpChat, chat(`,"_aip":{"session_id":"x"},"metadata":{"tenant":"t","user_id":"u"}`), "", "_aip metadata.tenant metadata.user_id"},

		// Responses.
		{OpResponses, `{"body":{"input":"hi"}}`, "", ""},
		{OpResponses, `{"input":"hi"}`, "", ""},
		{OpResponses, `{}`, "input", ""},
		{OpResponses, `{"body":"hi"}`, "body", ""},
		{OpResponses, `{"body":{"input":" "}}`, "body.input", ""},
		{OpResponses, `{"body":{"input":[]}}`, "body.input", ""},
		{OpResponses, `{"body":{"input":[4]}}`, "body.input[0]", ""},
		{OpResponses, `{"body":{"input":["a",{"role":"user","content":[{"type":"input_text","text":"b"}]}]}}`, "", ""},
		{OpResponses, `{"body":{"input":["a",{"role":"assistant","content":"b"}]}}`, "body.input[1]", ""},
		{OpResponses, `{"body":{"input":["a"," "]}}`, "body.input[1]", ""},
		{OpResponses, `{"body":{"input":[{"role":"user","content":[{"type":"input_file","file_id":"f"}]}]}}`, "body.input[0].content[0].type body.input[0]", ""},
		{OpResponses, `{"body":{"input":"hi","conversation":"a","previous_response_id":"resp_1"}}`, "body.previous_response_id", ""},
		{OpResponses, `{"body":{"input":"hi","conversation":""}}`, "body.conversation", ""},
		{OpResponses, `{"body":{"input":"hi","conversation_history":[]}}`, "body.conversation_history", ""},
		{OpResponses, `{"body":{"input":"hi","conversation_history":[{"role":"user"}]}}`, "body.conversation_history[0].content", ""},
		{OpResponses, `{"body":{"input":"hi","conversation_history":[{"role":"user","content":"a"}],"previous_response_id":"resp_1"}}`, "", "body.conversation_history"},
		{OpResponses, `{"body":{"input":"hi","store":false}}`, "", "body.store"},
		{OpResponses, `{"body":{"input":"hi","store":"no"}}`, "body.store", ""},
		{OpResponsesStream, `{"body":{"input":"hi","max_events":512,"session_key":"k","idempotency_key":"i","session_id":"s"}}`,
			"body.max_events body.session_key body.idempotency_key body.session_id", ""},
		{OpResponsesStream, `{"body":{"input":"hi"},"session_key":"k","max_events":512}`, "", ""},
		{OpResponsesStream, `{"input":"hi","max_events":512}`, "", "max_events"},
		{OpResponses, `{"body":{"input":"hi"},"instructions":"be brief"}`, "", "instructions"},

		// Stored responses, runs and sessions by ID.
		{OpResponseGet, `{"response_id":"resp_1"}`, "", ""},
		{OpResponseGet, `{"body":{"response_id":"resp_1"}}`, "", ""},
		{OpResponseGet, `{}`, "response_id", ""},
		{OpResponseDelete, `{"response_id":" "}`, "response_id", ""},
		{OpSessionGet, `{"session_id":"a\u0000b"}`, "session_id", ""},
		{OpSessionGet, `{"session_id":"` + strings.Repeat("x", 513) + `"}`, "session_id", ""},
		{OpSessionGet, `{"session_id":"a/../b"}`, "", ""},
		{OpSessionMessages, `{"session_id":"a b"}`, "", "session_id"},
		{OpRunEvents, `{"run_id":"run_1","max_events":300}`, "", ""},
		{OpRunStop, `{"session_id":"run_1"}`, "run_id", ""},
		{OpRunApproval, `{"run_id":"run_1","choice":"once","resolve_all":true}`, "", ""},
		{OpRunApproval, `{"run_id":"run_1","choice":"yes","all":1}`, "choice all", ""},
		{OpRunStart, `{"input":""}`, "input", ""},

		// Sessions.
		{OpSessionsList, `{}`, "", ""},
		{OpSessionsList, `{"limit":200,"offset":1000000,"source":"api_server","include_children":true}`, "", ""},
		{OpSessionsList, `{"limit":201,"offset":-1,"source":4,"include_children":"yes"}`, "limit offset source include_children", ""},
		{OpSessionsList, `{"limit":0}`, "", "limit"},
		{OpSessionsList, `{"limit":5,"query":{"limit":6}}`, "query.limit", ""},
		{OpSessionsList, `{"limit":5,"query":{"limit":5}}`, "", "query.limit"},
		{OpSessionsList, `{"query":{"limit":"6","archived":true,"source":["a"]}}`, "query.archived query.source query.source", ""},
		{OpSessionCreate, `{"body":{"id":"support-case-2030","title":"Support case 2030","model":"hermes-agent","system_prompt":"Be brief."}}`, "", ""},
		{OpSessionCreate, `{"body":{"id":"","session_id":"ok"}}`, "", ""},
		{OpSessionCreate, `{"body":{"id":"","session_id":"a\\b"}}`, "body.session_id", ""},
		{OpSessionCreate, `{"id":"  "}`, "id", ""},
		{OpSessionCreate, `{"id":"a..b"}`, "id", ""},
		{OpSessionCreate, `{"id":" c:\u0061"}`, "id", ""},
		{OpSessionCreate, `{"id":"` + long + `"}`, "id", ""},
		{OpSessionCreate, `{"body":{"idempotency_key":"x"}}`, "body.idempotency_key", ""},
		{OpSessionCreate, `{"title":"` + strings.Repeat("x", 50) + strings.Repeat(" ", 90) + strings.Repeat("y", 49) + `"}`, "", ""},
		{OpSessionCreate, `{"title":"` + strings.Repeat("é", 101) + `"}`, "title", ""},
		{OpSessionPatch, `{"session_id":"s","body":{"title":null,"end_reason":"client_closed"}}`, "", ""},
		{OpSessionPatch, `{"session_id":"s","title":"t","model":"m"}`, "model", ""},
		{OpSessionPatch, `{"body":{"title":4}}`, "session_id body.title", ""},
		{OpSessionFork, `{"session_id":"s","body":{"id":"../x","title":"` + long + `"}}`, "body.id body.title", ""},
		{OpSessionFork, `{"session_id":"s"}`, "", ""},
		{OpSessionChat, `{"session_id":"s","message":"hi","system_message":"be brief"}`, "", ""},
		{OpSessionChat, `{"session_id":"s","prompt":"hi"}`, "", ""},
		{OpSessionChat, `{"session_id":"s","prompt":" ","query":"hi"}`, "prompt", ""},
		{OpSessionChat, `{"message":"hi"}`, "session_id", ""},
		{OpSessionChat, `{"session_id":"s"}`, "message", ""},
		{OpSessionChatStream, `{"session_id":"s","input":` + image + `}`, "", ""},
		{OpSessionChatStream, `{"session_id":"s","message":{"text":"hi"}}`, "message", ""},
		{OpSessionChatStream, `{"session_id":"s","message":"` + strings.Repeat("é", 65536) + `"}`, "", ""},
		{OpSessionChatStream, `{"session_id":"s","message":"` + strings.Repeat("é", 65537) + `"}`, "message", ""},
		{OpSessionChatStream, `{"session_id":"s","message":[{"type":"text","text":"` + strings.Repeat("x", 65537) + `"}]}`, "message[0].text", ""},
		{OpSessionChatStream, `{"session_id":"s","message":[` + strings.Repeat(`"a",`, 1000) + `"a"]}`, "message", ""},

		// Operator.
		{OpOperator, `{"objective":"tidy up"}`, "", ""},
		{OpOperator, `{"objective":"tidy up","resume":{}}`, "objective resume.source_action_id resume.choice", ""},
		{OpOperator, `{"resume":{"source_action_id":"act_1","choice":"once"},"model":"m"}`, "model", ""},

		// Operations without rules of their own.
		{OpHealth, `{}`, "", ""},
		{OpJobCreate, `{"secret":"x"}`, "secret", ""},
		{"later", `{"anything":4,"cookie":"x"}`, "cookie", "capability"},
	} {
		errs, warns := Check(c.op, json.RawMessage(c.in), CheckOptions{Capability: c.op.Capability("demo"), IdempotencyKey: "k"})
		if fields(errs) != c.errs || fields(warns) != c.warns {
			t.Errorf("%s %.120s:\n got %q, %q\nwant %q, %q\n%v %v", c.op, c.in, fields(errs), fields(warns), c.errs, c.warns, errs, warns)
		}
	}
}

func TestCheckOfTheAction(t *testing.T) {
	for _, c := range []struct {
		op        Operation
		key, mode string
		want      string
	}{
		{OpHealth, "", "", ""},
		{OpHealth, "", "sync", ""},
		{OpHealth, "", "async", "mode"},
		{OpHealth, "", "later", "mode"},
		{OpChat, "", "streaming", "mode"},
		{OpSessionChatStream, "", "async", "mode"},
		{OpSessionCreate, "", "", "idempotency_key"},
		{OpSessionCreate, " ", "", "idempotency_key"},
		{OpSessionCreate, "a\nb", "", "idempotency_key"},
		{OpSessionCreate, "k", "", ""},
	} {
		in := `{}`
		switch c.op {
		case OpChat:
			in = `{"prompt":"hi"}`
		case OpSessionChatStream:
			in = `{"session_id":"s","message":"hi"}`
		}
		if errs, _ := Check(c.op, json.RawMessage(in), CheckOptions{IdempotencyKey: c.key, Mode: c.mode}); fields(errs) != c.want {
			t.Errorf("%s, key %q, mode %q: %v, want %q", c.op, c.key, c.mode, errs, c.want)
		}
	}
	_, warns := Check(OpChat, json.RawMessage(`{"prompt":"hi","session_id":"s","idempotency_key":"one"}`), CheckOptions{IdempotencyKey: "two"})
	if fields(warns) != "idempotency_key" {
		t.Errorf("two keys: %v", warns)
	}
}

func TestCheckOfSize(t *testing.T) {
	in := func(n int, pad string) json.RawMessage {
		return json.RawMessage(`{"prompt":"` + strings.Repeat("x", n) + `",` + pad + `"session_id":"s"}`)
	}
	if errs, _ := Check(OpChat, in(MaxRequestBytes, ""), CheckOptions{}); fields(errs) != "input" {
		t.Errorf("too large: %v", errs)
	}
	if errs, _ := Check(OpChat, in(MaxRequestBytes-100, strings.Repeat(" ", 200)), CheckOptions{}); len(errs) != 0 {
		t.Errorf("large by white space only: %v", errs)
	}
}

// Of another connector's capability nothing is known but that its input is JSON.
func TestCheckOfOtherCapabilities(t *testing.T) {
	for in, want := range map[string]string{`{"token":"x","prompt":1}`: "", `7`: "", `null`: "input", `{`: "input"} {
		errs, warns := Check("", json.RawMessage(in), CheckOptions{Capability: "cap:demo:echo", Mode: "async"})
		if fields(errs) != want || len(warns) > 0 {
			t.Errorf("%s: %v %v", in, errs, warns)
		}
	}
}

// A finding names fields and rules: nothing of what was to be sent is in it.
func TestFindingsRepeatNoContent(t *testing.T) {
	errs, warns := Check(OpChatStream, json.RawMessage(`{"prompt":"zanzibar","query":"zanzibar","session_id":"../zanzibar","model":["zanzibar"],
		"metadata":{"api_key":"zanzibar","tenant":"zanzibar"},"stop":{"a":"zanzibar"},"max_events":"zanzibar"}`), CheckOptions{IdempotencyKey: "zanzibar\n", Mode: "zanzibar"})
	if errs = append(errs, warns...); len(errs) == 0 || strings.Contains(fmt.Sprint(errs), "zanzibar") {
		t.Errorf("%v", errs)
	}
	errs, _ = Check(OpChatStream, json.RawMessage(`{"prompt":"zanzibar","query":"zanzibar","session_id":"../zanzibar","model":["zanzibar"],"metadata":{"api_key":"zanzibar"}}`), CheckOptions{})
	if fields(errs) != "metadata.api_key messages model session_id" || strings.Contains(fmt.Sprint(errs), "zanzibar") {
		t.Errorf("%v", errs)
	}
}

func FuzzCheck(f *testing.F) {
	for _, in := range []string{`{"prompt":"hi"}`, `{"body":{"input":[{"role":"user","content":[{"type":"text","text":"x"}]}]}}`, `{"session_id":"s","message":["a"]}`, `{"query":{"limit":"x"}}`, `null`, `[`} {
		f.Add(in, uint8(0))
	}
	f.Fuzz(func(t *testing.T, in string, n uint8) {
		op := Specs()[int(n)%len(Specs())].Operation
		errs, _ := Check(op, json.RawMessage(in), CheckOptions{Capability: op.Capability("demo"), IdempotencyKey: "k"})
		if !json.Valid([]byte(in)) && len(errs) == 0 {
			t.Errorf("%s: %q passes, and is no JSON", op, in)
		}
	})
}
