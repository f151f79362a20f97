package mask_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"aipscope/model"
	"aipscope/model/mask"
	"aipscope/model/turntest"
)

func TestJSONKeepsShapeAndClosedListsOnly(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing", ``, ``},
		{"null", `null`, `null`},
		{"a bare string", `"secret"`, `"‹6 chars›"`},
		{"a bare number", `42`, `"‹number›"`},
		{"what is not JSON", `{"a":`, `"‹5 chars›"`},
		{"two values", `{} {}`, `"‹5 chars›"`},
		{"chat tool progress", `{"tool":"terminal","emoji":"💻","label":"rm -rf /srv","toolCallId":"call_r1a7","status":"running"}`,
			`{"tool":"terminal","emoji":"‹1 chars›","label":"‹11 chars›","toolCallId":"call_masked-1","status":"running"}`},
		{"a chat delta", `{"id":"chatcmpl-0a","object":"chat.completion.chunk","created":1893456000,"choices":[{"index":0,"delta":{"role":"assistant","content":"Hi there"},"finish_reason":null}]}`,
			`{"id":"chatcmpl-masked-1","object":"chat.completion.chunk","created":1893456000,"choices":[{"index":0,"delta":{"role":"assistant","content":"‹8 chars›"},"finish_reason":null}]}`},
		{"names with anything else in them", `{"tool":"rm -rf","event":"a\u001b[2J","name":""}`, `{"tool":"name_masked-1","event":"name_masked-2","name":""}`},
		{"words that no list holds", `{"status":"sad","role":"Alice","finish_reason":"because","type":"message"}`,
			`{"status":"‹3 chars›","role":"‹5 chars›","finish_reason":"‹7 chars›","type":"message"}`},
		{"arguments, below whatever key", `{"args":{"path":"a.md","limit":20,"deep":[{"role":"user"}],"force":true,"none":null}}`,
			`{"args":{"path":"‹4 chars›","limit":"‹number›","deep":[{"role":"‹4 chars›"}],"force":true,"none":null}}`},
		{"JSON in a string", `{"raw_data":"{\"status\":\"running\"}","arguments":"{}"}`, `{"raw_data":"‹20 chars›","arguments":"‹2 chars›"}`},
		{"the end of a stream", `{"hermes_sse":{"event":null,"data":"[DONE]","raw_data":"[DONE]","terminal":true}}`,
			`{"hermes_sse":{"event":null,"data":"[DONE]","raw_data":"‹6 chars›","terminal":true}}`},
		{"keys that are content", `{"alice@example.com":1,"my key":{"x":2},"my key":3}`, `{"key_masked-1":"‹number›","key_masked-2":{"x":"‹number›"},"key_masked-2":"‹number›"}`},
		{"keys in another case", `{"Status":"running","TOOLCALLID":"call_1","Content":"abc"}`, `{"Status":"running","TOOLCALLID":"call_masked-1","Content":"‹3 chars›"}`},
		{"counts and times", `{"usage":{"input_tokens":3,"secret_tokens":4},"sequence":9,"ts":1.5,"occurred_at":"2030-01-01T00:00:00Z","updated_at":"soon","next_attempt_at":[2030,1,0,0,0,0,0,0,0],"pin":1234}`,
			`{"usage":{"input_tokens":3,"secret_tokens":"‹number›"},"sequence":9,"ts":1.5,"occurred_at":"2030-01-01T00:00:00Z","updated_at":"‹4 chars›","next_attempt_at":[2030,1,0,0,0,0,0,0,0],"pin":"‹number›"}`},
		{"numbers as they were written", `{"duration":0.0610,"seq":1e3,"size":123456789012345678901234567890}`, `{"duration":0.0610,"seq":1e3,"size":123456789012345678901234567890}`},
		{"a known key over something else", `{"status":{"status":"running","note":"x"},"id":[1,"msg_1"],"event":["a","b c"],"content":[{"type":"input_text","text":"abc"},7]}`,
			`{"status":{"status":"‹7 chars›","note":"‹1 chars›"},"id":["‹number›","msg_masked-1"],"event":["a","name_masked-1"],"content":[{"type":"input_text","text":"‹3 chars›"},"‹number›"]}`},
		{"an error", `{"code":"connector.hermes_agent.stream_failed","category":"connector","message":"boom","details":{"uncertain_outcome":true,"remote_status":502,"action_id":"act_1"},"source":{"component":"hermes-agent"}}`,
			`{"code":"connector.hermes_agent.stream_failed","category":"connector","message":"‹4 chars›","details":{"uncertain_outcome":true,"remote_status":502,"action_id":"act_masked-1"},"source":{"component":"hermes-agent"}}`},
		{"a session of a list", `{"object":"list","data":[{"id":"support-2030","source":"api_server","title":"Case","user_id":"bob","message_count":4,"preview":"Review"}],"has_more":false}`,
			`{"object":"list","data":[{"id":"id_masked-1","source":"‹10 chars›","title":"‹4 chars›","user_id":"id_masked-2","message_count":4,"preview":"‹6 chars›"}],"has_more":false}`},
		{"lone surrogates", `{"label":"\ud83d","content":"\udc00a"}`, `{"label":"‹1 chars›","content":"‹2 chars›"}`},
	} {
		if got := string(mask.JSON(json.RawMessage(c.in))); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestAPseudonymIsTheSameWithinOneMasker(t *testing.T) {
	m := mask.New("act_own")
	for _, c := range []struct{ in, want string }{
		{`{"call_id":"call_a","item":{"call_id":"call_b"}}`, `{"call_id":"call_masked-1","item":{"call_id":"call_masked-2"}}`},
		{`{"toolCallId":"call_b"}`, `{"toolCallId":"call_masked-2"}`},
		{`{"run_id":"run_1","session_id":"run_1"}`, `{"run_id":"run_masked-1","session_id":"run_masked-1"}`},
		{`{"action_id":"act_own","owner_action_id":"act_other"}`, `{"action_id":"act_own","owner_action_id":"act_masked-1"}`},
		{`{"call_id":"call_masked-1"}`, `{"call_id":"call_masked-3"}`}, // the provider's own, though it looks like ours
		{`{"call_id":"call_masked-1"}`, `{"call_id":"call_masked-3"}`},
		{`{"call_id":"call_c"}`, `{"call_id":"call_masked-4"}`},
		{`{"call_id":"call_masked-9"}`, `{"call_id":"call_masked-9"}`},
	} {
		if got := string(m.JSON(json.RawMessage(c.in))); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

func TestRowsThatAreNotJSONAreAnError(t *testing.T) {
	if _, err := mask.Rows("act_1", []model.Row{{Number: 7, Kind: model.RowEvent, Raw: json.RawMessage(`{`)}}); err == nil || !strings.Contains(err.Error(), "row 7") {
		t.Errorf("error %v", err)
	}
	rows, err := mask.Rows("act_1", []model.Row{{Kind: "later", Raw: json.RawMessage(`{"status":"completed","who":"me"}`)}})
	if err != nil || string(rows[0].Raw) != `{"status":"completed","who":"‹2 chars›"}` {
		t.Errorf("a row of a kind that is not known: %s, %v", rows[0].Raw, err)
	}
}

// FuzzJSON holds the promise against anything: the copy is JSON, masking it
// again changes nothing, and no string is left that says more than a name, a
// word, a time, a length or a pseudonym.
func FuzzJSON(f *testing.F) {
	for _, name := range []string{"chat_tools_hostile", "responses_tools", "session_stream_clarify", "runs_approval_events"} {
		for i, r := range turntest.Named(f, name).Rows(f) {
			if len(r.Raw) < 2000 && i%7 == 0 {
				f.Add([]byte(r.Raw))
			}
		}
	}
	for _, s := range []string{`{`, `[[[]]]`, `{"choices":{"delta":["x"]},"":{"":""}}`, `{"raw_data":["a"],"data":{"raw_data":{}}}`, `"\ud800"`, `{"content":" \u0085"}`} {
		f.Add([]byte(s))
	}
	allowed := regexp.MustCompile(`^([A-Za-z0-9._:-]{0,256}|‹[0-9]+ chars›|‹number›|[\d:TZ.,+-]{1,40}|\s*\[DONE\]\s*)$`)
	filled := regexp.MustCompile(`^([▒▓░▖▗▘▙▚▛▜▝▞▟▁▂▃▄▅▆▇█ \t\n]*|‹[0-9]+ chars, [0-9]+›)$`)
	f.Fuzz(func(t *testing.T, in []byte) {
		out := mask.JSON(in)
		if len(in) == 0 {
			return
		}
		if !json.Valid(out) || !utf8.Valid(out) {
			t.Fatalf("not JSON: %q", out)
		}
		if again := mask.JSON(out); string(again) != string(out) {
			t.Fatalf("\n once %s\ntwice %s", out, again)
		}
		leaves(value(t, out), "", func(key, s string) {
			if !allowed.MatchString(key) || !allowed.MatchString(s) && strings.TrimSpace(s) != "" {
				t.Fatalf("%q under %q is left of %q", s, key, in)
			}
		})
		if json.Valid(in) {
			// The same bytes as a row of a chunk, which keeps text by its fill.
			raw := []byte(`{"action_id":"act_1","sequence":1,"kind":"data","data":{"hermes_sse":{"event":"assistant.delta","data":` + string(in) + `,"raw_data":"x"}}}`)
			row, err := model.DecodeRow(model.RowChunk, turntest.Epoch, raw)
			if err != nil {
				return
			}
			once, err := mask.Rows("act_1", []model.Row{row})
			if err != nil {
				t.Fatal(err)
			}
			leaves(value(t, once[0].Raw), "", func(key, s string) {
				if !allowed.MatchString(s) && !filled.MatchString(s) && !json.Valid([]byte(s)) {
					t.Fatalf("%q under %q is left of %q", s, key, in)
				}
			})
			twice, err := mask.Rows("act_1", once)
			if err != nil || string(twice[0].Raw) != string(once[0].Raw) {
				t.Fatalf("%v\n once %s\ntwice %s", err, once[0].Raw, twice[0].Raw)
			}
		}
	})
}
