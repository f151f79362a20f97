package hermes

import (
	"encoding/json"
	"os"
	"testing"
	"time"
)

func recorded(t testing.TB, name string) json.RawMessage {
	t.Helper()
	raw, err := os.ReadFile("../../testdata/recordings/hermes/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestRecordedSessionsAreRead(t *testing.T) {
	s, ok := ReadSession(recorded(t, "session_patch_end"))
	if !ok || s.ID != "demo-second" || s.Title != "Second" || s.Source != "api_server" || s.EndReason != "user_closed" || s.Open() || s.Ended.Year() != 2026 {
		t.Errorf("%+v", s)
	}
	s, ok = ReadSession(recorded(t, "session_fork"))
	if !ok || s.Parent != "demo-arith" || !s.Open() || s.MessageCount != 4 || s.Started.Truncate(time.Second) != time.Date(2026, 11, 29, 23, 22, 27, 0, time.UTC) {
		t.Errorf("%+v", s)
	}
	p, ok := ReadSessions(recorded(t, "session_list"))
	if !ok || len(p.Sessions) != 8 || p.Limit != 8 || !p.HasMore || p.Sessions[0].ID != "demo-keep" || p.Sessions[0].Preview == "" || p.Sessions[0].Active.IsZero() {
		t.Errorf("%d %+v", len(p.Sessions), p.Sessions[0])
	}
	if p, ok := ReadSessions(recorded(t, "session_list_empty")); !ok || len(p.Sessions) != 0 || p.HasMore {
		t.Errorf("%+v", p)
	}
	tr, ok := ReadTranscript(recorded(t, "session_messages_tools"))
	if !ok || tr.SessionID != "demo-tools" || len(tr.Messages) != 7 {
		t.Fatalf("%+v", tr)
	}
	calls, results := map[string]bool{}, 0
	for _, m := range tr.Messages {
		for _, c := range m.Calls {
			if calls[c.Key] = true; c.Name == "" || c.Arguments == "" {
				t.Errorf("%+v", c)
			}
		}
		if m.Role == "tool" {
			if results++; !calls[m.CallID] || m.ToolName == "" {
				t.Errorf("%+v", m)
			}
		}
	}
	if last := tr.Messages[6]; results != 3 || last.Role != "assistant" || last.Finish != "stop" || last.Text == "" || last.ID == "" {
		t.Errorf("%d results, last %+v", results, last)
	}
	if d, ok := ReadDeletion(recorded(t, "session_delete")); !ok || !d.Deleted || d.ID != "demo-second" {
		t.Errorf("%+v", d)
	}
}

func TestWhatIsNoStoredObjectIsRefused(t *testing.T) {
	for _, raw := range []string{``, `null`, `[]`, `"x"`, `{}`, `{"session":7}`, `{"session":{}}`, `{"data":null}`, `{"data":"x"}`, `{"id":""}`, recordedText(t, "session_get_404")} {
		if s, ok := ReadSession(json.RawMessage(raw)); ok {
			t.Errorf("session of %s: %+v", raw, s)
		}
		if p, ok := ReadSessions(json.RawMessage(raw)); ok {
			t.Errorf("list of %s: %+v", raw, p)
		}
		if tr, ok := ReadTranscript(json.RawMessage(raw)); ok {
			t.Errorf("transcript of %s: %+v", raw, tr)
		}
		if d, ok := ReadDeletion(json.RawMessage(raw)); ok {
			t.Errorf("deletion of %s: %+v", raw, d)
		}
	}
	// One odd member leaves the others.
	if s := SessionOf(json.RawMessage(`{"id":"s","title":7,"started_at":"soon","message_count":3}`)); s.ID != "s" || s.MessageCount != 3 || !s.Started.IsZero() {
		t.Errorf("%+v", s)
	}
	if s := SessionOf(json.RawMessage(`{"id":"s","started_at":1e300,"ended_at":-4}`)); !s.Started.IsZero() || !s.Ended.IsZero() {
		t.Errorf("%+v", s)
	}
	if m := MessageOf(json.RawMessage(`{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"tool_calls":"[{\"id\":\"c\",\"function\":{\"name\":\"n\",\"arguments\":\"{}\"}}]"}`)); m.Text != "ab" || len(m.Calls) != 1 || m.Calls[0].Name != "n" {
		t.Errorf("%+v", m)
	}
}

func recordedText(t testing.TB, name string) string { return string(recorded(t, name)) }

func TestRequestsNameTheirObjects(t *testing.T) {
	for _, c := range []struct {
		op          Operation
		input, want string
	}{
		{OpResponseGet, `{"response_id":"r"}`, "r"},
		{OpResponseGet, `{"body":{"response_id":"r"}}`, "r"},
		{OpSessionFork, `{"session_id":"s","body":{"id":"c"}}`, "s"},
		{OpRunEvents, `{"run_id":"run"}`, "run"},
		{OpChat, `{"session_id":"s"}`, ""},
		{OpSessionGet, `{"session_id":7}`, ""},
		{"echo", `{"session_id":"s"}`, ""},
	} {
		if got := Target(c.op, json.RawMessage(c.input)); got != c.want {
			t.Errorf("%s %s: %q", c.op, c.input, got)
		}
	}
	for _, c := range []struct {
		op          Operation
		input, want string
	}{
		{OpChat, `{"prompt":"a"}`, "a"},
		{OpChat, `{"query":"a"}`, "a"},
		{OpChat, `{"messages":[{"role":"user","content":"a"},{"role":"user","content":[{"type":"text","text":"b"}]}]}`, "b"},
		{OpResponses, `{"body":{"input":"a"}}`, "a"},
		{OpSessionChat, `{"session_id":"s","message":"a"}`, "a"},
		{OpSessionChat, `{"session_id":"s","body":{"input":"a"}}`, "a"},
		{OpSessionGet, `{"session_id":"s"}`, ""},
	} {
		if got := Asked(c.op, json.RawMessage(c.input)); got != c.want {
			t.Errorf("%s %s: %q", c.op, c.input, got)
		}
	}
	for input, want := range map[string]bool{`{}`: false, `{"store":false}`: true, `{"body":{"store":false}}`: true, `{"store":false,"body":{}}`: false, `{"body":{"store":true}}`: false} {
		if got := Unstored(json.RawMessage(input)); got != want {
			t.Errorf("%s: %v", input, got)
		}
	}
}
