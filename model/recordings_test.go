package model_test

import (
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"aipscope/model"
	"aipscope/model/turntest"
)

func turnOf(rows []model.Row) *model.Turn {
	t := model.NewTurn(turntest.Action)
	t.Apply(rows)
	return t
}

func TestEveryRecordingComesToItsVerdict(t *testing.T) {
	for _, rec := range turntest.Recordings(t) {
		t.Run(rec.Name, func(t *testing.T) {
			b := turntest.Builder{TB: t, Rows: rec.Rows(t)}
			turn := turnOf(b.Rows)
			if got := turn.Chunks(); got != rec.Chunks {
				t.Errorf("chunks: %d, want %d", got, rec.Chunks)
			}
			v := turn.Verdict()
			if v.Word != rec.Verdict {
				t.Errorf("verdict %s (%s), want %s\n%+v", v.Word, v.Reason, rec.Verdict, v.Conditions)
			}
			b.Confirm(turn)
			turn = turnOf(b.Rows)
			if v := turn.Verdict(); v.Word != rec.Confirmed {
				t.Errorf("confirmed: verdict %s (%s), want %s", v.Word, v.Reason, rec.Confirmed)
			}
			for _, e := range turn.Entries().All() {
				if e.Frame == "other" {
					t.Errorf("chunk %d: frame %q is not known", e.Sequence, e.Event)
				}
			}
		})
	}
}

// The operation is known from the capability, else from the result, else from
// the frames: the verdict is the same.
func TestVerdictNeedsNoCapability(t *testing.T) {
	for _, rec := range turntest.Recordings(t) {
		rows := rec.Rows(t)[1:]
		if turn := turnOf(rows); turn.Verdict().Word != rec.Verdict || turn.Operation() != rec.Operation {
			t.Errorf("%s: %s %s, want %s %s", rec.Name, turn.Operation(), turn.Verdict().Word, rec.Operation, rec.Verdict)
		}
		if op := turnOf(rows[:len(rows)-1]).Operation(); rec.Chunks > 1 && op != rec.Operation {
			t.Errorf("%s: operation from frames: %s, want %s", rec.Name, op, rec.Operation)
		}
	}
}

func TestWithoutAResultNothingIsSettled(t *testing.T) {
	for _, rec := range turntest.Recordings(t) {
		rows := rec.Rows(t)
		turn := turnOf(rows[:len(rows)-1])
		if v := turn.Verdict(); v.Word != model.Pending {
			t.Errorf("%s: %s before a result", rec.Name, v.Word)
		}
	}
}

// picture is all that a turn shows.
func picture(t *model.Turn) any {
	type segment struct {
		Kind  model.SegmentKind
		Text  string
		Tools []string
	}
	var segments []segment
	for _, s := range t.Segments() {
		segments = append(segments, segment{s.Kind, s.Text(), s.Tools})
	}
	var tools []model.Tool
	for _, tool := range t.Tools() {
		tools = append(tools, *tool)
	}
	var entries []string
	for _, e := range t.Entries().All() {
		entries = append(entries, e.Frame+e.Tool)
	}
	return []any{segments, tools, entries, t.Text(), t.Usage(), t.Gaps(), t.ResponseID(), t.SessionID(), t.Verdict()}
}

func TestBatchesAndRepeatsChangeNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, rec := range turntest.Recordings(t) {
		rows := rec.Rows(t)
		want := picture(turnOf(rows))
		turn := model.NewTurn(turntest.Action)
		for from := 0; from < len(rows); {
			to := min(len(rows), from+1+r.IntN(40))
			turn.Apply(rows[max(0, from-r.IntN(5)):to])
			from = to
		}
		turn.Apply(rows)
		if got := picture(turn); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: in batches and repeats:\n%+v\nat once:\n%+v", rec.Name, got, want)
		}
	}
}

// Chunks may come in any order of rows: a late one makes the fold start again.
func TestOrderOfArrivalNeverShows(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, rec := range turntest.Recordings(t) {
		if rec.Chunks > 200 {
			continue
		}
		rows := rec.Rows(t)
		want := picture(turnOf(rows))
		mixed := slices.Clone(rows)
		middle := mixed[1 : len(mixed)-1]
		r.Shuffle(len(middle), func(i, j int) { middle[i], middle[j] = middle[j], middle[i] })
		numbers := map[int64]int64{}
		turn := model.NewTurn(turntest.Action)
		for i := range mixed {
			numbers[int64(i+1)] = mixed[i].Number
			row := mixed[i]
			row.Number = int64(i + 1)
			turn.Apply([]model.Row{row})
		}
		got := picture(turn)
		for _, list := range []any{got, want} {
			for i := range list.([]any)[1].([]model.Tool) {
				list.([]any)[1].([]model.Tool)[i].Row = 0
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: shuffled:\n%+v\nin order:\n%+v", rec.Name, got, want)
		}
	}
}

func TestTheAnswerIsNeverDoubled(t *testing.T) {
	for _, rec := range turntest.Recordings(t) {
		turn := turnOf(rec.Rows(t))
		text := strings.TrimSpace(turn.Text())
		if n := len(text); n > 40 && strings.Contains(text[n/3:], text[:n/3]) && rec.Name != "chat_large" {
			t.Errorf("%s: the beginning of the answer comes again:\n%s", rec.Name, text)
		}
	}
	for name, want := range map[string]string{
		"responses_ok":         "Build 7731 was slow, was rolled back at 09:21, and the graph was flat again at 09:26.",
		"session_stream_empty": "⚠️ No reply: the model returned empty content after retries and any fallback providers. Try `continue`, switch model/provider, or inspect the tool output above.",
		"runs_approval_newer":  "The spool was left alone.",
		"responses_failed":     "",
		"chat_empty":           "",
	} {
		if got := turnOf(turntest.Named(t, name).Rows(t)).Text(); got != want {
			t.Errorf("%s: answer %q, want %q", name, got, want)
		}
	}
}

func TestToolsOfRecordings(t *testing.T) {
	type tool struct {
		key, name, label string
		status           model.ToolStatus
	}
	for name, want := range map[string][]tool{
		"chat_tools": {
			{"call_r1a7", "read_file", "incident.md", model.ToolCompleted},
			{"call_s2b8", "search_files", "canary", model.ToolCompleted},
			{"call_r3c9", "read_file", "followup.md L1-20", model.ToolCompleted},
		},
		"chat_tool_no_completion": nil,
		"chat_old_progress": {
			{"terminal#1", "terminal", "ls notes", model.ToolUnended},
			{"terminal#2", "terminal", "cat notes/incident.md", model.ToolUnended},
		},
		"chat_tool_orphan": {
			{"call_2352da7280f1decc3acf1ba8", "terminal", "sleep 900", model.ToolUnended},
			{"call_9250b9912ee91d6b46e23299", "terminal", "date", model.ToolCompleted},
		},
		"responses_tools": {
			{"call_rd01", "read_file", "", model.ToolCompleted},
			{"call_rd02", "read_file", "", model.ToolCompleted},
			{"call_sr03", "search_files", "", model.ToolCompleted},
		},
		"session_stream_tools": {
			{"read_file#1", "read_file", "incident.md", model.ToolCompleted},
			{"search_files#1", "search_files", "canary", model.ToolCompleted},
			{"read_file#2", "read_file", "followup.md L1-20", model.ToolCompleted},
		},
		"runs_approval_newer": {{"terminal#1", "terminal", "rm -rf ./spool", model.ToolFailed}},
	} {
		turn := turnOf(turntest.Named(t, name).Rows(t))
		var got []tool
		for _, x := range turn.Tools() {
			got = append(got, tool{x.Key, x.Name, x.Label, x.Status})
		}
		if name == "chat_tool_no_completion" {
			if got[0].key != "call_lost1" && got[1].key != "call_lost1" {
				t.Errorf("%s: %v", name, got)
			}
			for _, x := range got {
				if (x.key == "call_lost1") != (x.status == model.ToolUnended) {
					t.Errorf("%s: %v", name, x)
				}
			}
			continue
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %v\nwant %v", name, got, want)
		}
	}
}

func TestClosingTextIsShownOnlyWhereItSaysSomethingElse(t *testing.T) {
	for _, rec := range turntest.Recordings(t) {
		var closing []string
		for _, s := range turnOf(rec.Rows(t)).Segments() {
			if s.Kind == model.SegmentClosing {
				closing = append(closing, s.Text())
			}
		}
		if want := rec.Name == "session_stream_failing_after_text"; (len(closing) > 0) != want {
			t.Errorf("%s: closing text %q", rec.Name, closing)
		}
	}
}

func TestThinkingIsNotTheAnswersRepeat(t *testing.T) {
	for _, rec := range turntest.Recordings(t) {
		for _, s := range turnOf(rec.Rows(t)).Segments() {
			if s.Kind == model.SegmentThinking && !strings.Contains(rec.Name, "reasoning") {
				t.Errorf("%s: thinking %q", rec.Name, s.Text())
			}
		}
	}
	if turn := turnOf(turntest.Named(t, "session_stream_reasoning").Rows(t)); !slices.ContainsFunc(turn.Segments(), func(s *model.Segment) bool { return s.Kind == model.SegmentThinking }) {
		t.Error("inline thinking that the deltas hide is not kept")
	}
}

func TestToolDurationsComeFromTheDaemonsTimes(t *testing.T) {
	turn := turnOf(turntest.Named(t, "chat_tools").Rows(t))
	for _, tool := range turn.Tools() {
		if want := turntest.Spacing * (time.Duration(tool.Ended) - time.Duration(tool.Started)); tool.Duration != want || want == 0 {
			t.Errorf("%s took %s, want %s", tool.Key, tool.Duration, want)
		}
	}
	if d := turnOf(turntest.Named(t, "runs_tools_events").Rows(t)).Tools()[0].Duration; d.Milliseconds() != 53 {
		t.Errorf("the provider's own duration: %s, want 53ms", d)
	}
}

// A provider's end that cannot be read, or that contradicts itself, is none.
func TestEndsThatSayTwoThingsAreNotAccepted(t *testing.T) {
	for name, c := range map[string]struct {
		recording, from, to string
		want                model.Word
	}{
		"a failed flag on a completed run":           {"runs_ok_events", `"event": "run.completed"`, `"event": "run.completed", "failed": true`, model.Failed},
		"a failed status on a completed turn":        {"session_stream_ok", `"completed": true, "interrupted"`, `"completed": true, "status": "failed", "interrupted"`, model.Failed},
		"a redacted end":                             {"runs_ok_events", `"event": "run.completed"`, `"event": "run.completed", "redacted": true`, model.Incomplete},
		"two names, one of them a failure":           {"session_stream_ok", `"completed": true, "interrupted"`, `"completed": true, "event": "run.failed", "interrupted"`, model.Contradicted},
		"a tool that only reports its progress":      {"session_stream_ok", `"tool_name": "_thinking"`, `"tool_name": "terminal"`, model.Unconfirmed},
		"an end whose name is written otherwise":     {"chat_ok", `"finish_reason": "stop"`, `"Finish_Reason": "stop"`, model.Incomplete},
		"an end that its last member takes back":     {"chat_ok", `"finish_reason": "stop"`, `"finish_reason": "stop", "finish_reason": null`, model.Incomplete},
		"an end that its last member mistypes":       {"chat_ok", `"finish_reason": "stop"`, `"finish_reason": "stop", "finish_reason": 1`, model.Incomplete},
		"a failure beside a name written otherwise":  {"chat_ok", `"finish_reason": "stop"`, `"finish_reason": "error", "FINISH_REASON": "stop"`, model.Failed},
		"a name with letters that are only alike":    {"chat_ok", `"finish_reason": "stop"`, `"finiſh_reaſon": "stop"`, model.Incomplete},
		"an error beside its name written otherwise": {"chat_ok", `"usage": {`, `"error": {"code": "x"}, "Error": null, "usage": {`, model.Contradicted},
		"an error that its last member takes back":   {"chat_ok", `"usage": {`, `"error": {"code": "x"}, "error": null, "usage": {`, model.Accepted},
		"a tool event of a generation to come":       {"session_stream_ok", `event: tool.progress`, `event: tool.paused`, model.Unconfirmed},
	} {
		rec := turntest.Named(t, c.recording)
		body, err := os.ReadFile(rec.Path)
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.ReplaceAll(string(body), c.from, c.to)
		if changed == string(body) {
			t.Fatalf("%s: nothing was changed", name)
		}
		if v := turnOf(turntest.Rows(t, rec.Operation, []byte(changed))).Verdict(); v.Word != c.want {
			t.Errorf("%s: %s (%s), want %s", name, v.Word, v.Reason, c.want)
		}
	}
}

// A step tells what was known of its tool then, in batches of any size.
func TestAStepTellsWhatWasKnownThen(t *testing.T) {
	for _, rec := range turntest.Recordings(t) {
		rows := rec.Rows(t)
		turn := model.NewTurn(turntest.Action)
		var want []model.ToolStep
		for i := range rows {
			turn.Apply(rows[i : i+1])
			for _, step := range turn.ToolSteps()[len(want):] {
				if tool := turn.Tool(step.Key); step.Label != tool.Label || step.Arguments != tool.Arguments || step.Result != tool.Result {
					t.Errorf("%s: %+v of %+v", rec.Name, step, tool)
				}
				want = append(want, step)
			}
		}
		if got := turnOf(rows).ToolSteps(); !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", rec.Name, got, want)
		}
	}
}
