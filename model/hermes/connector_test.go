package hermes

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aipscope/model/aip"
)

// run plays a provider body through the connector's rules.
func run(t testing.TB, a *Aggregate, raw []byte) []aip.Chunk {
	t.Helper()
	p := NewParser(DefaultLimits)
	if err := p.Feed(raw); err != nil {
		t.Fatal(err)
	}
	var chunks []aip.Chunk
	for {
		rec, ok, err := p.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		chunk, more := a.Add(rec)
		chunks = append(chunks, chunk)
		if !more {
			return chunks
		}
	}
	rec, ok, err := p.Close()
	if err != nil {
		t.Fatal(err)
	}
	if ok {
		chunks = append(chunks, a.AddLast(rec))
	}
	if chunk, ok := a.Closing(); ok {
		chunks = append(chunks, chunk)
	}
	return chunks
}

type expectation struct {
	file, op, result, code string
	chunks                 int
}

func expectations(t testing.TB) []expectation {
	t.Helper()
	tables, _ := filepath.Glob("../../testdata/recordings/*/verdicts.tsv")
	var all []expectation
	for _, table := range tables {
		f, err := os.Open(table)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			c := strings.Split(lines.Text(), "\t")
			if c[0] == "recording" {
				continue
			}
			e := expectation{file: filepath.Join(filepath.Dir(table), c[0]), op: c[1], result: c[3]}
			if _, err := fmt.Sscan(c[2], &e.chunks); err != nil {
				t.Fatal(lines.Text(), err)
			}
			if c[4] != "-" {
				e.code = "connector.hermes_agent." + c[4]
			}
			all = append(all, e)
		}
		f.Close()
	}
	if len(all) != len(recordings(t)) {
		t.Fatalf("%d expectations for %d recordings", len(all), len(recordings(t)))
	}
	return all
}

func TestRecordingsGiveTheirChunksAndResults(t *testing.T) {
	for _, e := range expectations(t) {
		t.Run(filepath.Base(e.file), func(t *testing.T) {
			raw, err := os.ReadFile(e.file)
			if err != nil {
				t.Fatal(err)
			}
			a := NewAggregate("act_x", "demo", Operation(e.op), 0)
			chunks := run(t, a, raw)
			if len(chunks) != e.chunks {
				t.Errorf("%d chunks, want %d", len(chunks), e.chunks)
			}
			result, err := a.Result().Whole()
			if err != nil {
				t.Fatal(err)
			}
			code := ""
			if result.Error != nil {
				code = result.Error.Code
			}
			if string(result.Status) != e.result || code != e.code {
				t.Errorf("result %s %s, want %s %s", result.Status, code, e.result, e.code)
			}
			checkAggregate(t, chunks, result)
		})
	}
}

func checkAggregate(t *testing.T, chunks []aip.Chunk, result aip.Result) {
	t.Helper()
	var out struct {
		Events []Record `json:"events"`
	}
	if err := json.Unmarshal(result.Output, &out); err != nil {
		t.Fatal(err)
	}
	for i, c := range chunks {
		if c.Sequence != uint64(i) || c.ActionID != "act_x" {
			t.Fatalf("chunk %d has sequence %d of %s", i, c.Sequence, c.ActionID)
		}
		var back aip.Chunk
		if err := json.Unmarshal(AppendChunk(nil, c), &back); err != nil {
			t.Fatalf("chunk %d: %v", i, err)
		}
		rec, ok := RecordOf(back.Data)
		if !ok {
			if i != len(chunks)-1 || c.Kind != aip.KindError || len(out.Events) != i {
				t.Errorf("chunk %d has no provider frame", i)
			}
			continue
		}
		if rec.Digest() != out.Events[i].Digest() {
			t.Errorf("chunk %d differs from event %d", i, i)
		}
	}
	var parts []struct {
		Type, Text string
		Data       json.RawMessage
	}
	if err := json.Unmarshal(result.Message, &parts); err != nil {
		t.Fatal(err)
	}
	last := parts[len(parts)-1]
	if last.Type != "json" || string(last.Data) != string(result.Output) || len(parts) == 2 && parts[0].Text == "" {
		t.Errorf("message: %d parts, last %s", len(parts), last.Type)
	}
}

func TestChunksHaveTheConnectorsKindAndPart(t *testing.T) {
	for _, c := range []struct {
		frame string
		kind  aip.ChunkKind
		part  string
	}{
		{`data: {"choices":[{"delta":{"content":"hi"}}]}`, aip.KindData, ""},
		{"event: hermes.tool.progress\ndata: {\"tool\":\"x\",\"status\":\"running\"}", aip.KindData, ""},
		{"data: [DONE]", aip.KindDone, ""},
		{"event: response.output_text.delta\ndata: {\"delta\":\"hi\"}", aip.KindData, "hi"},
		{"event: response.output_text.done\ndata: {\"text\":\"all of it\"}", aip.KindData, "all of it"},
		{"event: response.completed\ndata: {\"response\":{}}", aip.KindDone, ""},
		{"event: response.failed\ndata: {}", aip.KindError, ""},
		{`data: {"type":"response.failed"}`, aip.KindError, ""},
		{`data: {"type":"response.completed"}`, aip.KindData, ""},
		{"event: tool.progress\ndata: {\"delta\":\"thinking\"}", aip.KindData, "thinking"},
		{"event: tool.started\ndata: {}", aip.KindTool, ""},
		{`data: {"event":"tool.completed"}`, aip.KindTool, ""},
		{`data: {"event":"approval.request"}`, aip.KindPendingApproval, ""},
		{`data: {"event":"reasoning.available","text":"hm"}`, aip.KindThought, "hm"},
		{`data: {"event":"run.completed","output":"hi"}`, aip.KindDone, "hi"},
		{`data: {"event":"run.interrupted"}`, aip.KindData, ""},
		{"event: done\ndata: {}", aip.KindDone, ""},
		{"event: error\ndata: {}", aip.KindError, ""},
		{"event: x\ndata: {\"event\":\"done\"}", aip.KindDone, ""},
		{`data: {"delta":{"a":1},"text":"no"}`, aip.KindData, ""},
		{`data: {"delta":"","text":"no"}`, aip.KindData, ""},
		{`data: {"text":null,"output":"no"}`, aip.KindData, ""},
	} {
		p := NewParser(DefaultLimits)
		_ = p.Feed([]byte(c.frame + "\n\n"))
		rec, ok, err := p.Next()
		if !ok || err != nil {
			t.Fatalf("%q: %v", c.frame, err)
		}
		got := ChunkOf("act_x", 3, rec)
		part := ""
		if got.Part != nil {
			part = got.Part.Text
		}
		if got.Kind != c.kind || part != c.part {
			t.Errorf("%q: kind %s, part %q", c.frame, got.Kind, part)
		}
	}
}

const threeFrames = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

func TestTheEventLimitIsLookedAtBeforeTheEnd(t *testing.T) {
	for _, c := range []struct {
		raw                   string
		limit, chunks, events int
		code                  string
		last                  aip.ChunkKind
	}{
		{threeFrames, 1, 1, 1, "stream_truncated", aip.KindData},
		{threeFrames, 3, 3, 3, "stream_truncated", aip.KindDone},
		{threeFrames, 4, 3, 3, "", aip.KindDone},
		{threeFrames, 0, 3, 3, "", aip.KindDone},
		{strings.TrimSpace(threeFrames), 3, 3, 3, "", aip.KindDone}, // what is left at the end does not count
		{"data: 1\n\n", 5, 2, 1, "stream_incomplete", aip.KindError},
		{"", 5, 1, 0, "stream_incomplete", aip.KindError},
		{"event: run.failed\ndata: {\"error\":\"x\"}\n\n", 5, 1, 1, "stream_failed", aip.KindError},
		{"event: run.cancelled\ndata: {}\n\n", 5, 1, 1, "", aip.KindDone},
	} {
		a := NewAggregate("act_x", "demo", OpChatStream, c.limit)
		chunks := run(t, a, []byte(c.raw))
		if len(chunks) != c.chunks || a.Events() != c.events || chunks[len(chunks)-1].Kind != c.last {
			t.Errorf("limit %d: %d chunks, %d events, last %s", c.limit, len(chunks), a.Events(), chunks[len(chunks)-1].Kind)
		}
		_, err := a.Outcome()
		if c.code == "" && err != nil || c.code != "" && (err == nil || err.Code != errorPrefix+c.code) {
			t.Errorf("limit %d of %q: %v", c.limit, c.raw, err)
		}
		if c.code == "stream_failed" && string(err.Details) != `{"error":"x"}` {
			t.Errorf("details %s", err.Details)
		}
	}
	a := NewAggregate("act_x", "demo", OpRunEvents, 0)
	run(t, a, []byte("data: {\"event\":\"run.cancelled\"}\n\n"))
	if status, err := a.Outcome(); status != aip.ResultCancelled || err != nil {
		t.Errorf("run.cancelled gives %s, %v", status, err)
	}
}

func TestTheAggregatesTextMixesWhatTheConnectorMixes(t *testing.T) {
	a := NewAggregate("act_x", "demo", OpSessionChatStream, 0)
	run(t, a, []byte("data: {\"content\":\"first\"}\n\ndata: {\"content\":\"late\"}\n\nevent: tool.progress\ndata: {\"delta\":\" thought\"}\n\n"+
		"event: response.output_text.delta\ndata: {\"text\":\" text\"}\n\nevent: other\ndata: {\"text\":\"no\"}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\" chat\"}}]}\n\n"))
	if got := a.Text(); got != "first thought text chat" {
		t.Errorf("text %q", got)
	}
}

func TestReplayedResultsAreMarked(t *testing.T) {
	for _, c := range []struct {
		output Pieces
		want   string
	}{
		{JSONPieces([]byte(`{"a":1}`)), `{"idempotent_replay":true,"a":1}`},
		{JSONPieces([]byte(`{}`)), `{"idempotent_replay":true}`},
		{JSONPieces([]byte(`[1,2]`)), `{"idempotent_replay":true}`},
		{nil, `{"idempotent_replay":true}`},
	} {
		var b []byte
		for p := range (Result{ActionID: "act_x", Status: aip.ResultCompleted, Output: c.output}).Replayed() {
			b = append(b, p...)
		}
		var back aip.Result
		if err := json.Unmarshal(b, &back); err != nil || string(back.Output) != c.want {
			t.Errorf("%s (%v)", b, err)
		}
	}
	for n := range 12 { // a reader that stops early stops the writer
		a := NewAggregate("act_x", "demo", OpChatStream, 0)
		run(t, a, []byte(threeFrames))
		got := 0
		for range a.Result().Replayed() {
			if got++; got > n {
				break
			}
		}
	}
}

func TestRepliesKeepTheProvidersObject(t *testing.T) {
	for file, text := range map[string]string{"chat_nonstream": "The depot", "responses_nonstream": "", "session_chat": "The", "health": ""} {
		raw, err := os.ReadFile("../../testdata/recordings/hermes/" + file + ".json")
		if err != nil {
			t.Fatal(err)
		}
		r := ReplyResult("act_x", raw)
		whole, err := r.Whole()
		if err != nil || whole.Status != aip.ResultCompleted || !json.Valid(whole.Output) {
			t.Fatalf("%s: %+v, %v", file, whole, err)
		}
		if (r.Text == "") != (text == "") {
			t.Errorf("%s: text %q", file, r.Text)
		}
	}
	if r, err := ReplyResult("act_x", nil).Whole(); err != nil || r.Output != nil && string(r.Output) != "null" {
		t.Errorf("empty reply: %+v, %v", r, err)
	}
}

func TestProviderFailuresAreClassified(t *testing.T) {
	for _, c := range []struct {
		op                   Operation
		status               int
		code, category       string
		uncertain, retryable bool
	}{
		{OpChat, 401, "authentication", "auth", false, false},
		{OpChatStream, 429, "remote_temporary", "temporary", true, false},
		{OpResponseGet, 503, "remote_temporary", "temporary", false, true},
		{OpSessionFork, 400, "remote_rejected", "permanent", false, false},
	} {
		err := StatusFailure(c.op, c.status)
		if err.Code != errorPrefix+c.code || err.Category != c.category || err.Uncertain() != c.uncertain || err.Retryable != c.retryable {
			t.Errorf("%s %d: %+v", c.op, c.status, err)
		}
		var back aip.Error
		if json.Unmarshal(EncodeError(err), &back) != nil || back.Code != err.Code || back.Uncertain() != c.uncertain {
			t.Errorf("does not survive encoding: %s", EncodeError(err))
		}
	}
	if err := StatusFailure(OpChat, 200); err != nil {
		t.Errorf("200 fails: %v", err)
	}
	if err := Failure(OpChatStream, FailTransport, 0, "cut"); !err.Uncertain() || err.Detail("operation") != "chat_stream" {
		t.Errorf("%s", err.Details)
	}
}

func BenchmarkConnector(b *testing.B) {
	raw, err := os.ReadFile("../../testdata/recordings/hermes/chat_large.sse")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		run(b, NewAggregate("act_x", "demo", OpChatStream, 0), raw)
	}
}
