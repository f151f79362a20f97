package mask_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/hermes"
	"aipscope/model/mask"
	"aipscope/model/turntest"
)

func turnOf(rows []model.Row) *model.Turn {
	t := model.NewTurn(turntest.Action)
	t.Apply(rows)
	return t
}

func masked(t testing.TB, rows []model.Row) []model.Row {
	t.Helper()
	out, err := mask.Rows(turntest.Action, rows)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// outline is what must be the same in a turn and in its masked copy: everything
// but words and IDs. IDs are numbered in the order of their coming.
func outline(t *model.Turn) string {
	var b strings.Builder
	ids := map[string]int{}
	id := func(s string) string {
		if s == "" {
			return "-"
		}
		if ids[s] == 0 {
			ids[s] = len(ids) + 1
		}
		return fmt.Sprint("#", ids[s])
	}
	v := t.Verdict()
	fmt.Fprintln(&b, "verdict", v.Word, v.Because)
	for _, c := range v.Conditions {
		detail := unknownWord.ReplaceAllString(c.Detail, "unknown")
		if c.Name == model.CondAnswer {
			detail = "" // counts bytes
		}
		fmt.Fprintln(&b, " ", c.Name, c.Mark, detail, c.HasChunk, c.Chunk)
	}
	fmt.Fprintln(&b, "op", t.Operation(), "chunks", t.Chunks(), "gaps", t.Gaps(), "conflicts", t.Conflicts(), "state", t.State(), t.Settled(), t.Waiting() != nil)
	u := t.Usage()
	fmt.Fprintln(&b, "usage", u.Present, u.Input, u.Output, u.Total, "finish", unknownWord.ReplaceAllString(t.FinishReason(), "unknown"), id(t.ResponseID()), id(t.SessionID()))
	for _, s := range t.Segments() {
		fmt.Fprintln(&b, "segment", s.Kind, utf8.RuneCountInString(s.Text()), strings.TrimSpace(s.Text()) == "", len(s.Tools), s.First, s.Last)
	}
	for _, x := range t.Tools() {
		fmt.Fprintln(&b, "tool", id(x.Key), x.Correlated, len(x.Name) > 0, x.Status, x.HasStart, x.Started, x.HasEnd, x.Ended, x.Duration, x.Label != "", x.Arguments != "", x.Result != "", x.Row)
	}
	for _, e := range t.Entries().All() {
		fmt.Fprintln(&b, "entry", e.Sequence, e.Kind, e.Frame, e.Recovered, e.Conflict, id(e.Tool), e.Segment, e.At)
	}
	fmt.Fprintln(&b, "text", utf8.RuneCountInString(t.Text()))
	return b.String()
}

// unknownWord is what a condition says of a word that no closed list holds.
var unknownWord = regexp.MustCompile(`alice|‹[0-9]+ chars›|an unknown value of [0-9]+ characters`)

func sameOutline(t *testing.T, name string, rows []model.Row) {
	t.Helper()
	want, got := outline(turnOf(rows)), outline(turnOf(masked(t, rows)))
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Errorf("%s: line %d\nmasked   %s\noriginal %s", name, i, g[i], w[i])
			return
		}
	}
	t.Errorf("%s: %d lines, want %d", name, len(g), len(w))
}

func TestMaskedRowsOpenToTheSameTurn(t *testing.T) {
	for _, rec := range sample(t) {
		b := turntest.Builder{TB: t, Rows: rec.Rows(t)}
		if rec.Chunks > 1000 {
			b.Rows = b.Rows[:1000] // its later chunks are no other
		}
		sameOutline(t, rec.Name, b.Rows)
		if rec.Chunks > 200 {
			continue
		}
		sameOutline(t, rec.Name+", no result", b.Rows[:len(b.Rows)-1])
		sameOutline(t, rec.Name+", no request", b.Rows[1:])
		b.Confirm(turnOf(b.Rows))
		sameOutline(t, rec.Name+", confirmed", b.Rows)
		if got := turnOf(masked(t, b.Rows)).Verdict().Word; got != rec.Confirmed {
			t.Errorf("%s, confirmed: %s, want %s", rec.Name, got, rec.Confirmed)
		}
	}
}

// renumber gives rows the numbers of their order.
func renumber(rows []model.Row) []model.Row {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Number = int64(i + 1)
	}
	return rows
}

// lose takes some chunks out and brings them back as recovered events at the
// end, as a result's aggregate does.
func lose(t testing.TB, rows []model.Row, lost func(seq uint64) bool) []model.Row {
	var kept, back []model.Row
	first, after := true, uint64(0)
	for _, r := range rows {
		if r.Kind != model.RowChunk {
			kept = append(kept, r)
			continue
		}
		rec, ok := hermes.RecordOf(r.Chunk.Data)
		if !ok || !lost(r.Chunk.Sequence) {
			first, after = false, r.Chunk.Sequence
			kept = append(kept, r)
			continue
		}
		row, err := model.NewRow(model.RowRecovered, r.At, &model.Recovered{First: first, After: after, Index: int(r.Chunk.Sequence), Record: rec})
		if err != nil {
			t.Fatal(err)
		}
		back = append(back, row)
	}
	return renumber(append(kept, back...))
}

func TestMaskedRowsWithRecoveredEventsOpenToTheSameTurn(t *testing.T) {
	for _, rec := range sample(t) {
		if rec.Chunks > 200 {
			continue
		}
		rows := rec.Rows(t)
		for step, lost := range map[string]func(uint64) bool{
			"every third":   func(seq uint64) bool { return seq%3 == 2 },
			"the beginning": func(seq uint64) bool { return seq < 5 },
			"all but one":   func(seq uint64) bool { return seq != 4 },
		} {
			gone := lose(t, rows, lost)
			sameOutline(t, rec.Name+", lost "+step, gone)
			// Then some of them come after all.
			for _, r := range rows {
				if r.Kind == model.RowChunk && lost(r.Chunk.Sequence) && r.Chunk.Sequence%2 == 0 {
					gone = append(gone, r)
				}
			}
			sameOutline(t, rec.Name+", lost and late "+step, renumber(gone))
		}
		mixed := slices.Clone(rows)
		slices.Reverse(mixed)
		sameOutline(t, rec.Name+", backwards", renumber(mixed))
	}
}

// edit changes what the rows that hold where say.
func edit(t testing.TB, rows []model.Row, kind model.RowKind, where, from, to string) []model.Row {
	t.Helper()
	rows = slices.Clone(rows)
	edited := false
	for i, r := range rows {
		if r.Kind != kind || !strings.Contains(string(r.Raw), where) {
			continue
		}
		row, err := model.DecodeRow(kind, r.At, []byte(strings.ReplaceAll(string(r.Raw), from, to)))
		if err != nil {
			t.Fatal(err)
		}
		edited = edited || string(row.Raw) != string(r.Raw)
		row.Number = r.Number
		rows[i] = row
	}
	if !edited {
		t.Fatalf("no row says %q", from)
	}
	return rows
}

func TestMaskedRowsOfHostileTurnsOpenToTheSameTurn(t *testing.T) {
	responses := turntest.Named(t, "responses_tools").Rows(t)
	chat := turntest.Named(t, "chat_tools").Rows(t)
	session := turntest.Named(t, "session_stream_tools").Rows(t)
	failing := turntest.Named(t, "chat_error_partial_scripted").Rows(t)
	var done, finish model.Row
	for _, r := range responses {
		if r.Kind == model.RowChunk && strings.Contains(string(r.Raw), `"response.output_text.done"`) {
			done = r
		}
	}
	for _, r := range failing {
		if r.Kind == model.RowChunk && strings.Contains(string(r.Raw), `"finish_reason":"error"`) {
			finish = r
		}
	}
	if done.Chunk == nil || finish.Chunk == nil {
		t.Fatal("the recordings do not hold what this test is about")
	}
	text := done.Chunk.Part.Text
	second := func(r model.Row, from, to string) model.Row {
		c := *r.Chunk
		c.Sequence += 1000
		c.Data = json.RawMessage(strings.ReplaceAll(string(c.Data), from, to))
		row, err := model.NewRow(model.RowChunk, r.At, &c)
		if err != nil {
			t.Fatal(err)
		}
		return row
	}
	swapped := "Z" + text[1:]
	with := func(rows []model.Row, more ...model.Row) []model.Row {
		return renumber(append(slices.Clone(rows[:len(rows)-1]), append(more, rows[len(rows)-1])...))
	}
	conflict, err := model.NewRow(model.RowConflict, done.At, done.Chunk)
	if err != nil {
		t.Fatal(err)
	}
	other := responses[len(responses)-1]
	for name, c := range map[string]struct {
		rows []model.Row
		word model.Word
	}{
		"a whole text unlike its deltas, of their length": {edit(t, responses, model.RowChunk, `"response.output_text.done"`, text[:9], swapped[:9]), model.Contradicted},
		"a conflict":                    {with(responses, conflict), model.Contradicted},
		"the same end twice":            {with(failing[:len(failing)-1], finish), model.Pending},
		"two ends that differ in words": {with(failing, second(finish, "scripted", "unlikely")), model.Contradicted},
		"tools without an ID":           {edit(t, chat, model.RowChunk, "", "toolCallId", "x"), model.Unconfirmed},
		"tools of a strange name":       {edit(t, session, model.RowChunk, "", `read_file`, "re\u200bad file"), model.Unconfirmed},
		"an unknown finish":             {edit(t, chat, model.RowChunk, "", `stop`, `alice`), model.Incomplete},
		"a strange endpoint":            {edit(t, chat, model.RowRequest, "", `:demo:`, `:the demo:`), model.Unconfirmed},
		"two results":                   {append(renumber(append(slices.Clone(responses), other)), edit(t, []model.Row{other}, model.RowResult, "", `"completed"`, `"failed"`)...), ""},
		"text that is only space":       {edit(t, session, model.RowChunk, "", `"delta":"`, `"delta":" `), ""},
	} {
		sameOutline(t, name, c.rows)
		if got := turnOf(c.rows).Verdict().Word; c.word != "" && got != c.word {
			t.Errorf("%s: %s, want %s", name, got, c.word)
		}
	}
}

func TestBlankTextStaysBlank(t *testing.T) {
	rows := turntest.Rows(t, hermes.OpChatStream, []byte(
		"data: {\"choices\":[{\"delta\":{\"content\":\" \\n\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"\\u0085\"}}]}\n\n"+
			"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"total_tokens\":3}}\n\ndata: [DONE]\n\n"))
	if got := turnOf(masked(t, rows)).Text(); got != " \n " {
		t.Errorf("masked to %q", got)
	}
	sameOutline(t, "blank", rows)
}

// value reads JSON, numbers as they were written.
func value(t testing.TB, raw []byte) (v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// leaves are the strings of a value that say something, by the last key above
// them.
func leaves(v any, key string, visit func(key, s string)) {
	switch x := v.(type) {
	case map[string]any:
		for k, v := range x {
			leaves(v, k, visit)
		}
	case []any:
		for _, v := range x {
			leaves(v, key, visit)
		}
	case string:
		var in any
		if s := strings.TrimSpace(x); strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") {
			if json.Unmarshal([]byte(s), &in) == nil {
				leaves(in, key, visit)
			}
		}
		visit(key, x)
	}
}

// open are the keys whose values come from closed lists or are names, times and
// what an export is named by. This list is the test's own.
var open = map[string]bool{
	"kind": true, "type": true, "object": true, "role": true, "status": true, "finish_reason": true, "event": true, "tool": true, "tool_name": true,
	"name": true, "code": true, "category": true, "operation": true, "endpoint_id": true, "capability": true, "capability_id": true, "mode": true,
	"occurred_at": true, "expires_at": true, "error_code": true, "format": true, "connector": true, "component": true, "reason": true, "state": true,
	"end_reason": true, "source": true, "choice": true, "last_event": true, "order": true, "step": true, "queued_state": true,
}

// privates are the strings of raw that must not be seen in its copy.
func privates(t testing.TB, raw []byte) map[string]bool {
	v := value(t, raw)
	stays, out := map[string]bool{turntest.Action: true, "once": true, "session": true, "always": true, "deny": true}, map[string]bool{}
	leaves(v, "", func(key, s string) {
		if open[key] {
			stays[s] = true
		}
	})
	leaves(v, "", func(key, s string) {
		if open[key] || s == "[DONE]" {
			return
		}
		for _, w := range append(strings.FieldsFunc(s, func(r rune) bool {
			return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r > 0x7f)
		}), s) {
			if utf8.RuneCountInString(w) > 3 && strings.TrimSpace(w) != "" {
				out[w] = true
			}
		}
	})
	for s := range stays {
		delete(out, s)
	}
	return out
}

// strip returns the strings of a copy, without those that may stay.
func strip(t testing.TB, raw []byte) string {
	v := value(t, raw)
	var b strings.Builder
	leaves(v, "", func(key, s string) {
		if !open[key] && s != turntest.Action && !strings.HasPrefix(s, "{") {
			for p := range strings.FieldsSeq("act_ sess_ corr_ appr_ dlg_ evt_ rcpt_ txn_ conv_ msg_ resp_ fc_ fco_ call_ run_ approval_ api_ chatcmpl- id_ key_ name_") {
				if after, ok := strings.CutPrefix(s, p+"masked-"); ok {
					s = after
				}
			}
			b.WriteString(strings.NewReplacer(" chars", "", "[DONE]", "").Replace(s) + "\n")
		}
	})
	return b.String()
}

func TestNothingPrivateIsLeftInMaskedRows(t *testing.T) {
	for _, rec := range sample(t) {
		rows := rec.Rows(t)
		rows = rows[:min(len(rows), 1000)]
		for i, r := range masked(t, rows) {
			if rec.Chunks > 200 && i%10 != 0 {
				continue
			}
			for name, copied := range map[string]json.RawMessage{"row": r.Raw, "JSON": mask.JSON(rows[i].Raw)} {
				left := strip(t, copied)
				for s := range privates(t, rows[i].Raw) {
					if strings.Contains(left, s) {
						t.Fatalf("%s, %s %d: %q is left in %s", rec.Name, name, i, s, copied)
					}
				}
			}
		}
	}
}

func TestMaskingTwiceIsMaskingOnce(t *testing.T) {
	for _, rec := range sample(t) {
		rows := rec.Rows(t)
		rows = rows[:min(len(rows), 1000)]
		once := masked(t, rows)
		for i, r := range masked(t, once) {
			if rec.Chunks > 200 && i%10 != 0 {
				continue
			}
			if one := mask.JSON(rows[i].Raw); string(mask.JSON(one)) != string(one) {
				t.Fatalf("%s:\n once %.2000s\ntwice %.2000s", rec.Name, one, mask.JSON(one))
			}
			if string(r.Raw) != string(once[i].Raw) {
				t.Fatalf("%s, row %d:\n once %.2000s\ntwice %.2000s", rec.Name, i, tail(once[i].Raw), tail(r.Raw))
			}
		}
	}
}

func TestMaskedRowsKeepNumberKindTimeAndKeys(t *testing.T) {
	var keys func(v any) any
	keys = func(v any) any {
		switch x := v.(type) {
		case map[string]any:
			out := map[string]any{}
			for k, v := range x {
				out[k] = keys(v)
			}
			return out
		case []any:
			out := []any{}
			for _, v := range x {
				out = append(out, keys(v))
			}
			return out
		case bool:
			return x
		}
		return fmt.Sprintf("%T", v)
	}
	for _, name := range []string{"chat_tools", "responses_tools", "session_stream_tools", "runs_tools_events"} {
		rows := turntest.Named(t, name).Rows(t)
		for i, r := range masked(t, rows) {
			o := rows[i]
			if r.Number != o.Number || r.Kind != o.Kind || !r.At.Equal(o.At) || !reflect.DeepEqual(keys(value(t, r.Raw)), keys(value(t, o.Raw))) {
				t.Errorf("%s, row %d:\n got %s\nwant the shape of %s", name, i, r.Raw, o.Raw)
			}
		}
	}
}

func TestRequestsErrorsAndOtherActionsAreMasked(t *testing.T) {
	b := turntest.Builder{TB: t}
	b.Add(model.RowRequest, &model.Request{Capability: "cap:hermes_agent:prod-a:chat_stream", Mode: "async", IdempotencyKey: "order 7", Tenant: "acme",
		Principal: "human:alice", AIPSession: "sess_real", Input: json.RawMessage(`{"messages":[{"role":"user","content":"tell me"}],"session_id":"case-9","max_events":512,"metadata":{"floor":4}}`)})
	b.Add(model.RowError, &aip.Error{Code: "idempotency.in_progress", Category: "temporary", Message: "held by act_other", Retryable: true, RetryAfterMS: 900,
		Details: json.RawMessage(`{"owner_action_id":"act_other","uncertain_outcome":true,"attempts":2,"note":"secret","key":"order 7"}`)})
	b.Add(model.RowResult, &model.Result{Result: aip.Result{ActionID: turntest.Action, Status: "failed", Error: &aip.Error{Code: "idempotency.in_progress",
		Category: "temporary", Details: json.RawMessage(`{"owner_action_id":"act_other"}`)}}})
	b.Add(model.RowCancel, &model.Cancellation{Step: "asked", Reason: "wrong customer"})
	rows := masked(t, b.Rows)
	for i, want := range []string{
		`{"capability":"cap:hermes_agent:prod-a:chat_stream","mode":"async","idempotency_key":"id_masked-1","aip_session":"sess_masked-1","tenant":"id_masked-2",` +
			`"principal":"id_masked-3","input":{"messages":[{"role":"user","content":"‹7 chars›"}],"session_id":"id_masked-4","max_events":512,"metadata":{"floor":0}}}`,
		`{"code":"idempotency.in_progress","message":"‹17 chars›","category":"temporary","retryable":true,"retry_after_ms":900,` +
			`"details":{"owner_action_id":"act_masked-1","uncertain_outcome":true,"attempts":2,"note":"‹6 chars›","key":"id_masked-1"}}`,
		`{"action_id":"` + turntest.Action + `","status":"failed","error":{"code":"idempotency.in_progress","message":"","category":"temporary","details":{"owner_action_id":"act_masked-1"}}}`,
		`{"step":"asked","reason":"‹14 chars›"}`,
	} {
		if got := string(rows[i].Raw); got != want {
			t.Errorf("row %d:\n got %s\nwant %s", i, got, want)
		}
	}
	if id, why := turnOf(rows).Successor(); id != "act_masked-1" || why != "in progress" {
		t.Errorf("successor %q %q", id, why)
	}
}

func tail(b []byte) []byte { return b[max(0, len(b)-2000):] }

func BenchmarkRows(b *testing.B) {
	rows := turntest.Named(b, "chat_large").Rows(b)
	rows = rows[:len(rows)-1]
	size := 0
	for _, r := range rows {
		size += len(r.Raw)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		masked(b, rows)
	}
	b.ReportMetric(float64(len(rows)*b.N)/b.Elapsed().Seconds(), "rows/s")
}

// sample are the recordings, or some of each family where everything costs more.
func sample(t *testing.T) []turntest.Recording {
	all := turntest.Recordings(t)
	if !turntest.Racing {
		return all
	}
	var some []turntest.Recording
	for i, rec := range all {
		if i%3 == 0 && rec.Chunks < 200 {
			some = append(some, rec)
		}
	}
	return some
}
