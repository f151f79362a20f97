package follow_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"aipscope/follow"
	"aipscope/follow/aipd"
	"aipscope/follow/client"
	"aipscope/follow/followtest"
	"aipscope/model"
	"aipscope/model/aip"
)

// faulty is an embedded daemon that misbehaves, with one action.
type faulty struct {
	daemon *aipd.Server
	client *client.Client
	action string
	mode   string
	ctx    context.Context // of submissions
	posts  sync.WaitGroup
}

// misbehave starts a daemon with faults, inside a bubble.
func misbehave(t *testing.T, faults, mode string, speed float64) *faulty {
	t.Helper()
	chosen, err := aipd.ParseFaults(faults)
	if err != nil {
		t.Fatal(err)
	}
	d := &faulty{mode: mode, daemon: aipd.New(aipd.Options{Recordings: followtest.Library(t), Token: "s3cret", Speed: speed, Faults: chosen})}
	d.client, err = client.New(client.Config{URL: "http://aipd.test", DialContext: followtest.Serve(t, d.daemon), Token: func() ([]byte, error) { return []byte("s3cret"), nil }})
	if err != nil {
		t.Fatal(err)
	}
	if d.action, err = client.NewActionID(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	d.ctx = ctx
	t.Cleanup(func() {
		cancel()
		d.daemon.Close()
		d.posts.Wait()
		d.client.Close()
	})
	return d
}

// submit posts the action, which plays a recording; it does not wait.
func (d *faulty) submit(t *testing.T, recording string) {
	t.Helper()
	scenario, ok := followtest.Library(t).Scenario(recording)
	if !ok {
		t.Fatalf("there is no recording %s", recording)
	}
	message, err := client.NewMessageID()
	if err != nil {
		t.Fatal(err)
	}
	d.posts.Go(func() {
		// What becomes of the answer is another test's matter: the action is asked.
		_, _ = d.client.Submit(d.ctx, client.Envelope{MessageID: message, SentAt: time.Now(), Action: client.Action{
			ID: d.action, CapabilityID: scenario.Operation.Capability("demo"), Mode: d.mode,
			Input: json.RawMessage(fmt.Sprintf(`{"recording":%q,"max_events":9000}`, recording)),
		}}, nil)
	})
}

func (d *faulty) watch(t *testing.T, log follow.Log) *follow.Watch {
	w := follow.Start(context.Background(), follow.Config{
		Source: follow.Source{URL: d.client.URL(), Action: d.action, Route: client.Route(d.action)}, Log: log, Client: d.client,
		Rand: func() float64 { return 0.5 },
	})
	t.Cleanup(w.Close)
	return w
}

// collectFor reads a watch to its end, or for as long as given.
func collectFor(t *testing.T, w *follow.Watch, limit time.Duration) (s seen, ended bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for !s.last.Done {
		b, err := w.Next(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			return s, false
		}
		if err != nil {
			t.Fatal(err)
		}
		s.rows, s.links, s.last = append(s.rows, b.Rows...), append(s.links, b.Links...), b
	}
	return s, true
}

// clean is what the same recording adds up to without a fault.
type clean struct {
	text    string
	verdict model.Word
	chunks  int
	tools   string
}

func summary(turn *model.Turn) clean {
	c := clean{text: turn.Text(), verdict: turn.Verdict().Word, chunks: turn.Chunks()}
	for _, tool := range turn.Tools() {
		c.tools += tool.Key + " " + string(tool.Status) + "; "
	}
	return c
}

func turnOf(d *faulty, s seen) *model.Turn {
	turn := model.NewTurn(d.action)
	turn.Apply(s.rows)
	return turn
}

// Each fault of the embedded daemon, while the turn runs and when it is over:
// the verdict, the links that tell of it, and that nothing but the design's ends
// ends the watch.
func TestFaults(t *testing.T) {
	const same = model.Word("") // the verdict, text, tools and number of chunks are those of the healthy daemon
	cases := []struct {
		faults    string
		recording string // chat_ok if ""
		verdict   model.Word
		links     string // a regular expression that the states must match
		refused   string // one that the refusal must match
		condition string // name:mark:detail, a prefix, when not ""
		pending   bool   // the watch has no end
		modes     string // "" is streaming and async
		only      string // live or settled, "" for both
	}{
		{faults: ""},
		{faults: "skew=4m"},
		{faults: "skew=-25s"},
		{faults: "gaps"},
		{faults: "gaps=18446744073709551000", condition: "integrity:pass"},
		{faults: "gaps=9223372036854775790", recording: "responses_ok"},
		{faults: "lost", condition: "integrity:pass:13 chunks as in the result, 1 taken from it", verdict: model.Accepted},
		{faults: "conflict", verdict: model.Contradicted, condition: "integrity:fail:other content"},
		{faults: "foreign"},
		{faults: "big", verdict: model.Pending, refused: `^an event (at the start|behind the cursor "aev_cursor_[0-9a-z_]+") is larger than 16777216 bytes`},
		{faults: "redacted", verdict: model.Incomplete, condition: "terminal:unknown"},
		{faults: "redacted=records", verdict: model.Incomplete, condition: "terminal:unknown"},
		{faults: "redacted=chunks", verdict: model.Accepted},
		{faults: "redacted=events"},
		{faults: "redacted=times"},
		{faults: "tuple-times"},
		{faults: "dead-lettered", verdict: model.Failed, condition: "result:fail:state dead_lettered"},
		{faults: "expired", verdict: model.Failed, condition: "result:fail:state expired"},
		{faults: "completed", verdict: model.Incomplete, condition: "result:unknown:state completed"},
		{faults: "cancelled-queued", verdict: model.Cancelled},
		{faults: "unknown"},
		{faults: "late-event"},
		{faults: "late-event,unknown"},
		{faults: "late-result"},
		{faults: "late-result=20s", verdict: model.Incomplete, condition: "result:unknown:state completed"},
		{faults: "late-result=20s,unknown"},
		{faults: "no-result", verdict: model.Incomplete, condition: "result:unknown:state completed"},
		{faults: "no-result,unknown", pending: true, verdict: model.Pending},
		{faults: "early", only: "live", links: `(retrying \(the action goes on, although the daemon said terminal\).*){2}settled`},
		{faults: "early,late-event"},
		{faults: "backlog"},
		{faults: "backlog=1,late-event"},
		{faults: "repeat"},
		{faults: "repeat,unknown"},
		{faults: "forget=1", verdict: model.Pending, pending: true},
		{faults: "forget=4,cut=1500,unknown", only: "live", verdict: model.Pending, pending: true, links: `the cursor is no longer known \(stream.cursor_expired\): reading from the start\), connecting, live, live \(the daemon no longer knows the action`},
		{faults: "token", verdict: model.Pending, refused: "^the daemon does not accept the token: the daemon answered auth.native_http_unauthorized"},
		{faults: "scope", verdict: model.Pending, refused: "^the token does not allow this: the daemon answered auth.not_authorized"},
		{faults: "cancel-refused"},
		{faults: "lost-cancel"},
		{faults: "busy", links: `retrying \(the daemon answered storage.unavailable \(HTTP 503\)\)`},
		{faults: "busy=40s"},
		{faults: "html", links: `retrying \(the answer has the content type "text/html"\)`},
		{faults: "html=4"},
		{faults: "html=4,early,unknown"},
		{faults: "html=3,plain,late-result"},
		{faults: "html=5", verdict: model.Pending, refused: `^the answer has the content type "text/html", 5 times in a row`},
		{faults: "gateway"},
		{faults: "gateway=30", links: `retrying \(the answer is HTTP 502 without an AIP error \("text/html"\)\)`},
		{faults: "plain"},
		{faults: "plain=500"},
		{faults: "plain=429"},
		{faults: "plain=400", verdict: model.Pending, refused: "^the daemon refuses the request: the answer is HTTP 400 without"},
		{faults: "plain=405", verdict: model.Pending, refused: "^the daemon refuses the request: the answer is HTTP 405 without"},
		{faults: "plain=415", verdict: model.Pending, refused: "^the daemon refuses the request: the answer is HTTP 415 without"},
		{faults: "plain=401", verdict: model.Pending, refused: "^the daemon does not accept the token: the answer is HTTP 401"},
		{faults: "mute", links: `retrying \(no answer in time\)`},
		{faults: "mute=3"},
		{faults: "cursor-expired", links: `the cursor is no longer known \(stream.cursor_expired\): reading from the start`},
		{faults: "cursor-invalid=3,cut=2000", links: `the cursor is no longer known \(query.invalid_cursor\): reading from the start`},
		{faults: "crlf"}, {faults: "cr"}, {faults: "comments"}, {faults: "multiline"}, {faults: "bom"},
		{faults: "split"}, {faults: "split=1"}, {faults: "split=1,crlf,bom", recording: "chat_tools_hostile"},
		{faults: "poison"},
		{faults: "half", links: `retrying \(the connection was cut\)`},
		{faults: "half,unknown,crlf"},
		{faults: "cut", links: `retrying \(the connection was cut\)`},
		{faults: "cut,unknown", recording: "session_stream_ok", modes: "streaming"},
		{faults: "cut=1,unknown", recording: "responses_ok"},
		{faults: "reset", links: `retrying \(the connection was cut\)`},
		{faults: "reset=77,unknown,split", recording: "chat_tools"},
		{faults: "stall"},
		{faults: "stall=100,unknown", links: `retrying \(no byte came for 45 s\)`},
		{faults: "cut-answers"},
		{faults: "cut-answers=1,cut=900", recording: "chat_tools"},
		{faults: "lost-answer"},
		{faults: "tuple-times,gaps,repeat,reset=3000,crlf,split=3,busy,cursor-expired=2,late-result,backlog=7", recording: "chat_tools"},
	}
	// An aip.error of every kind behind HTTP 200.
	for code, refused := range map[string]string{
		"storage.unavailable": "", "runtime.handler_failed": "", "action.not_found": "", "resource.not_found": "", "action.result_not_ready": "",
		"action.dead_lettered": "", "action.gone": "", "connector.admission_capacity": "", "stream.cursor_expired": "", "query.invalid_cursor": "",
		"sla.queue_delay_exceeded": "",
		"auth.not_authorized":      "does not allow this", "auth.tenant_required": "does not allow this", "auth.identity_resolution_failed": "does not allow this",
		"credential.expired": "does not allow this", "policy.approval_denied": "does not allow this", "audit.not_authorized": "does not allow this",
		"query.invalid": "refuses the request", "query.conflict": "refuses the request", "replay.message_id": "refuses the request",
		"schema.envelope.invalid": "refuses the request", "stream.event_too_large": "refuses the request",
	} {
		c := cases[0]
		c.faults = "error=" + code
		if refused != "" {
			c.verdict, c.refused = model.Pending, refused+".*"+code
		} else {
			c.links = `retrying \((the daemon answered |the cursor is no longer known \()?` + regexp.QuoteMeta(code)
		}
		cases = append(cases, c)
	}
	tested := map[string]bool{}
	healthy := map[string]clean{}
	for _, c := range cases {
		for item := range strings.SplitSeq(c.faults, ",") {
			name, _, _ := strings.Cut(item, "=")
			tested[name] = true
		}
		if c.recording == "" {
			c.recording = "chat_ok"
		}
		if _, ok := healthy[c.recording]; !ok {
			bubble(t, "healthy "+c.recording, func(t *testing.T) {
				d := misbehave(t, "", "streaming", 0)
				d.submit(t, c.recording)
				healthy[c.recording] = summary(turnOf(d, collect(t, d.watch(t, &followtest.Log{}))))
			})
		}
		for _, mode := range strings.Fields(cmp.Or(c.modes, "streaming async")) {
			for _, when := range []string{"live", "settled"} {
				if c.only != "" && c.only != when {
					continue
				}
				bubble(t, strings.Join([]string{c.faults, c.recording, mode, when}, " "), func(t *testing.T) {
					speed := 0.1
					if when == "settled" {
						speed = 0
					}
					d := misbehave(t, c.faults, mode, speed)
					d.submit(t, c.recording)
					if when == "settled" {
						synctest.Wait()
					} else {
						time.Sleep(100 * time.Millisecond)
					}
					log := &followtest.Log{}
					s, ended := collectFor(t, d.watch(t, log), time.Hour)
					if ended == c.pending {
						t.Fatalf("ended: %v (%v) after %s", ended, s.last.Err, s.states())
					}
					turn := turnOf(d, s)
					got, want := summary(turn), healthy[c.recording]
					if c.verdict == same {
						if got != want {
							t.Errorf("got %+v\nwant %+v", got, want)
						}
					} else if c.verdict == model.Accepted && (got.text != want.text || got.tools != want.tools) {
						t.Errorf("got %+v\nwant %+v", got, want)
					} else if got.verdict != c.verdict {
						t.Errorf("verdict %s (%s), want %s", got.verdict, turn.Verdict().Reason, c.verdict)
					}
					var refusal *follow.Refusal
					switch {
					case c.refused == "":
						if s.last.Err != nil {
							t.Errorf("ended with %v", s.last.Err)
						}
					case !errors.As(s.last.Err, &refusal):
						t.Errorf("ended with %v, want a refusal", s.last.Err)
					case !regexp.MustCompile(c.refused).MatchString(refusal.Reason):
						t.Errorf("refused: %s, want %s", refusal.Reason, c.refused)
					}
					if !regexp.MustCompile(c.links).MatchString(s.states()) {
						t.Errorf("links: %s, want %s", s.states(), c.links)
					}
					if name, rest, _ := strings.Cut(c.condition, ":"); name != "" {
						cond := turn.Verdict().Condition(model.ConditionName(name))
						if got := string(cond.Mark) + ":" + cond.Detail; !strings.HasPrefix(got, rest) {
							t.Errorf("%s is %s, want %s", name, got, rest)
						}
					}
					t.Logf("%s, %d links, %s", got.verdict, len(s.links), s.states())
				})
			}
		}
	}
	tested["refuse"], tested["fail"] = true, true // by testdata/scripts/refused.txtar: nothing is there to be followed
	for _, f := range aipd.AllFaults() {
		if !tested[f.Name] {
			t.Errorf("no test of the fault %s", f.Name)
		}
	}
}

// Faults come together. Those that a watch survives alone it survives in any
// company; the seed chooses it.
func FuzzFaultsTogether(f *testing.F) {
	for seed := range uint64(120) {
		f.Add(seed)
	}
	recordings := []string{"chat_tools_hostile", "responses_ok", "session_stream_ok", "runs_tools_events", "chat_length", "session_stream_failing_after_text"}
	var mu sync.Mutex
	healthy := map[string]clean{}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 17))
		recording := recordings[seed%uint64(len(recordings))]
		var names []string
		for range 2 + r.IntN(6) {
			names = append(names, survivable(r))
		}
		faults, speed := strings.Join(names, ","), []float64{0, 0.2, 5}[r.IntN(3)]

		mu.Lock()
		defer mu.Unlock()
		want, known := healthy[recording]
		if !known {
			bubble(t, "healthy "+recording, func(t *testing.T) {
				d := misbehave(t, "", "streaming", 0)
				d.submit(t, recording)
				want = summary(turnOf(d, collect(t, d.watch(t, &followtest.Log{}))))
			})
			healthy[recording] = want
		}
		bubble(t, fmt.Sprint(faults, " ", recording, " ", speed), func(t *testing.T) {
			d := misbehave(t, faults, "streaming", speed)
			d.submit(t, recording)
			log, said := &followtest.Log{}, ""
			for range r.IntN(4) - 1 { // consoles that are left at any moment
				left := d.watch(t, log)
				if r.IntN(2) == 0 {
					left = d.watch(t, log) // with another one beside, for a while
				}
				s, _ := collectFor(t, left, time.Duration(r.IntN(20000))*time.Millisecond)
				left.Close()
				said += s.states()
			}
			s, ended := collectFor(t, d.watch(t, log), 2*time.Hour)
			got, want := summary(turnOf(d, s)), want
			if strings.Contains(said+s.states(), "the rest is taken from the result") {
				got.chunks, want.chunks = 0, 0
			}
			if !ended || s.last.Err != nil || got != want {
				t.Errorf("ended: %v (%v), got %+v\nwant %+v\nafter %s", ended, s.last.Err, got, want, s.states())
			}
		})
	})
}

// survivable names a fault after which a watch comes to the true verdict.
func survivable(r *rand.Rand) string {
	faults := []struct {
		format    string
		low, high int // of its value; none where equal
	}{
		{"cut=%d", 1, 9000}, {"reset=%d", 1, 9000}, {"half=%d", 1, 30}, {"stall=%d", 50, 9000}, {"cut-answers=%d", 1, 9000}, {"split=%d", 1, 50},
		{"repeat", 0, 0}, {"backlog=%d", 1, 40}, {"early=%d", 1, 5}, {"late-event=%dms", 1, 4000}, {"late-result=%dms", 1, 4000},
		{"busy=%dms", 0, 9000}, {"gateway=%d", 1, 9}, {"mute=%d", 1, 3}, {"html=%d", 1, 4}, {"error=storage.unavailable", 0, 0},
		{"cursor-expired=%d", 1, 4}, {"cursor-invalid=%d", 1, 4}, {"gaps=%d", 0, 1 << 40}, {"foreign=%d", 1, 9}, {"skew=%ds", -25, 250},
		{"crlf", 0, 0}, {"bom", 0, 0}, {"comments", 0, 0}, {"multiline", 0, 0}, {"tuple-times", 0, 0}, {"redacted=events", 0, 0}, {"poison", 0, 0}, {"lost-answer", 0, 0},
	}
	f := faults[r.IntN(len(faults))]
	if f.low == f.high {
		return f.format
	}
	return fmt.Sprintf(f.format, f.low+r.IntN(f.high-f.low))
}

// The answer to a submission may come before the chunks were read. An outcome
// that another follower wrote comes after them.
func TestOutcomesOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		aggregate *model.Match
		want      string
	}{
		"of the submission": {nil, "connecting, live, draining, settled"},
		"of a follower":     {&model.Match{}, "connecting, live, settled"},
	} {
		bubble(t, name, func(t *testing.T) {
			items := turn(20)
			log := &followtest.Log{}
			d := newFake(t, items)
			d.state.Store("unknown")
			d.onFollow = func(_ int, w http.ResponseWriter, r *http.Request) bool {
				stream(w, items[0].frame(), items[1].frame())
				time.Sleep(time.Second)
				row, err := model.NewRow(model.RowResult, time.Now(), &model.Result{Result: aip.Result{ActionID: action, Status: aip.ResultFailed}, Aggregate: c.aggregate})
				if err != nil {
					t.Error(err)
				}
				if _, err := log.Commit(context.Background(), 0, []model.Row{row}, ""); err != nil {
					t.Error(err)
				}
				stream(w, items[2].frame())
				hold(r)
				return true
			}
			s := run(t, d, log)
			if s.states() != c.want || s.last.Err != nil {
				t.Errorf("%s, %v; want %s", s.states(), s.last.Err, c.want)
			}
			if n := s.kinds()[model.RowChunk]; c.aggregate == nil && n != 20 {
				t.Errorf("%d chunks", n)
			}
		})
	}
}
