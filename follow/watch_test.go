package follow_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"aipscope/follow"
	"aipscope/follow/client"
	"aipscope/follow/followtest"
	"aipscope/model"
	"aipscope/model/aip"
)

func TestFollowsToTheResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := append(turn(10), event("evt_r", "aip.action.result"))
		s := run(t, newFake(t, items), &followtest.Log{})
		s.whole(t, items)
		if got := s.states(); got != "connecting, live, draining, settled" {
			t.Errorf("links: %s", got)
		}
		if s.last.Duplicates != 0 || s.last.Reconnects != 0 || !s.last.Done {
			t.Errorf("last batch %+v", s.last)
		}
		if c := s.find(model.RowStatus); len(c) != 1 || c[0].Status.CapabilityID == "" {
			t.Errorf("status rows %+v", c)
		}
		if out := string(s.find(model.RowResult)[0].Result.Output); out != `{"operation":"chat_stream","terminal":true,"truncated":false}` {
			t.Errorf("output %s", out)
		}
	})
}

// The stream is cut at every byte, softly and hard. Whatever was delivered by
// then, the journal ends up whole, nothing twice, and its cursor never stands
// behind a frame that it does not hold.
func TestCutAtEveryByte(t *testing.T) {
	items := append(turn(3), event("evt_r", "aip.action.result"))
	whole := len(newFake(t, items).wire(0))
	for n := range whole {
		for _, hard := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				d := newFake(t, items)
				d.page = 2
				d.state.Store("unknown")
				d.onFollow = func(call int, w http.ResponseWriter, r *http.Request) bool {
					if call > 0 {
						d.state.Store("completed")
						return false
					}
					stream(w, d.wire(d.from(r))[:n])
					if hard {
						cut()
					}
					return true
				}
				log := &followtest.Log{}
				s := run(t, d, log)
				s.whole(t, items)
				for i, c := range log.Commits() {
					if c.Cursor == "" {
						continue
					}
					var before int
					fmt.Sscanf(c.Cursor, "c%d", &before)
					stored := 0
					for _, c := range log.Commits()[:i+1] {
						stored += c.Rows
					}
					if stored < before {
						t.Fatalf("cut at %d: the cursor %s was stored with %d rows", n, c.Cursor, stored)
					}
				}
				if !strings.HasPrefix(s.states(), "connecting, live, retrying (the connection was cut), connecting, live") && n < whole-2 {
					t.Fatalf("cut at %d: %s", n, s.states())
				}
			})
		}
	}
}

func TestFramingIsReadLeniently(t *testing.T) {
	items := turn(2)
	for name, change := range map[string]func(string) string{
		"a byte order mark": func(s string) string { return "\xef\xbb\xbf" + s },
		"CRLF":              func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"CR":                func(s string) string { return strings.ReplaceAll(s, "\n", "\r") },
		"comments and blank blocks": func(s string) string {
			return ": hello\n\n\n\nretry: 5\n\n" + strings.ReplaceAll(s, "\n\n", "\n: keep-alive\n\nid: x\n\nevent: y\n\ndata\n\n")
		},
		"data on several lines": func(s string) string { return strings.ReplaceAll(s, `,"kind"`, "\ndata: ,\"kind\"") },
		"another order of fields": func(s string) string {
			return strings.ReplaceAll(s, "event: aip.stream.chunk\n", "id: q\nevent:aip.stream.chunk\nunknown: 1\n")
		},
		"blanks inside": func(s string) string { return strings.ReplaceAll(s, `{"chunk":`, `{ "chunk" : `) },
	} {
		bubble(t, name, func(t *testing.T) {
			d := newFake(t, items)
			d.onFollow = func(_ int, w http.ResponseWriter, r *http.Request) bool { stream(w, change(d.wire(0))); return true }
			d.onPage = func(_ int, w http.ResponseWriter, r *http.Request) bool {
				if c := r.URL.Query().Get("cursor"); c != "c4" {
					t.Errorf("drained from %q", c)
				}
				return false
			}
			run(t, d, &followtest.Log{}).whole(t, items)
		})
	}
}

func TestCommitsTogetherWhatCameTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := turn(600)
		d := newFake(t, items)
		d.page = 5000
		d.terminal = false
		d.state.Store("unknown")
		log := &followtest.Log{}
		d.watch(t, log)
		time.Sleep(time.Second)
		rows := 0
		for _, c := range log.Commits() {
			rows += c.Rows
			if c.Rows > 1024 {
				t.Errorf("commit of %d rows", c.Rows)
			}
			if c.Cursor != "" && rows < 1200 {
				t.Errorf("the cursor came with row %d", rows)
			}
		}
		if rows != 1201 || len(log.Commits()) > 100 {
			t.Errorf("%d rows in %d commits", rows, len(log.Commits()))
		}
	})
}

// While a commit takes its time, reading goes on, as far as one more commit holds.
func TestReadsOnWhileItCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := turn(3000)
		d := newFake(t, items)
		d.page = 10000
		d.state.Store("unknown")
		first := true
		disk := make(chan struct{})
		log := &followtest.Log{Fail: func(rows []model.Row) error {
			if rows[0].Kind == model.RowEvent && first {
				first = false
				<-disk
			}
			return nil
		}}
		d.watch(t, log)
		synctest.Wait()
		close(disk)
		time.Sleep(time.Second)
		commits := slices.DeleteFunc(log.Commits(), func(c followtest.Commit) bool { return c.Rows < 2 })
		if len(commits) < 2 || commits[0].Rows > 256 || commits[1].Rows != 1024 {
			t.Errorf("commits: %+v", commits)
		}
	})
}

// A frame that stands alone is shown at once, although the next one has begun.
func TestCommitsBeforeItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := turn(1)
		d := newFake(t, items)
		d.state.Store("unknown")
		d.onFollow = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			stream(w, items[0].frame()+items[1].frame()[:40])
			hold(r)
			return true
		}
		w := d.watch(t, &followtest.Log{})
		began := time.Now()
		for {
			b, err := w.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			// The status may come in the same batch, before or behind it.
			if slices.ContainsFunc(b.Rows, func(r model.Row) bool { return r.Kind == model.RowEvent }) {
				break
			}
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("shown after %v", d)
		}
	})
}

func TestTerminalWithBacklogIsDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := append(turn(50), event("evt_r", "aip.action.result"))
		d := newFake(t, items)
		d.plain = 7
		d.onFollow = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			short := newFake(t, items[:6])
			stream(w, short.wire(0))
			return true
		}
		run(t, d, &followtest.Log{}).whole(t, items)
	})
}

func TestRepeatedPages(t *testing.T) {
	bubble(t, "in the stream", func(t *testing.T) {
		items := turn(6)
		d := newFake(t, items)
		d.onFollow = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			first := d.items[0].frame() + d.items[1].frame()
			stream(w, first+first+first, d.wire(0))
			return true
		}
		s := run(t, d, &followtest.Log{})
		s.whole(t, items)
		if s.last.Duplicates != 6 {
			t.Errorf("%d duplicates", s.last.Duplicates)
		}
	})
	bubble(t, "a plain page that leads nowhere", func(t *testing.T) {
		items := turn(6)
		d := newFake(t, items)
		d.onPage = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			say(w, 200, `{"action_events":{"events":[`+items[0].body+`],"chunks":[`+items[1].body+`],"cursor":"c12"}}`)
			return true
		}
		run(t, d, &followtest.Log{}).whole(t, items)
	})
}

// A daemon that sends one page for ever, by the stream or under ever new cursors,
// does not keep a finished action from its verdict.
func TestOnePageForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := turn(3)
		d := newFake(t, items)
		d.terminal = false
		d.onFollow = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			for r.Context().Err() == nil {
				stream(w, d.wire(0))
				select {
				case <-time.After(300 * time.Millisecond):
				case <-r.Context().Done():
				}
			}
			return true
		}
		d.onPage = func(n int, w http.ResponseWriter, r *http.Request) bool {
			if n < 20 {
				say(w, 200, fmt.Sprintf(`{"action_events":{"action_id":"act_a","events":[],"chunks":[%s],"cursor":"c%d","terminal":true}}`, items[5].body, n%7))
			}
			return n < 20
		}
		s := run(t, d, &followtest.Log{})
		s.whole(t, items)
		if n := d.calledTimes("page"); n > 10 {
			t.Errorf("%d pages were read", n)
		}
	})
}

func TestResumesBehindTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := turn(8)
		log := &followtest.Log{}
		d := newFake(t, items)
		d.terminal = false
		d.state.Store("unknown")
		d.items = items[:8]
		w := d.watch(t, log)
		synctest.Wait()
		w.Close()
		d.items, d.terminal = items, true
		asked := ""
		d.onFollow = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			asked = r.URL.Query().Get("cursor")
			return false
		}
		d.state.Store("completed")
		w = d.watch(t, log)
		history := 0
		var s seen
		for !s.last.Done {
			b, err := w.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if b.History {
				if len(s.links) > 0 || history != len(s.rows) {
					t.Error("history came behind live rows or links")
				}
				history += len(b.Rows)
			}
			s.rows, s.links, s.last = append(s.rows, b.Rows...), append(s.links, b.Links...), b
		}
		s.whole(t, items)
		if asked != "c8" || history != 9 || s.links[0].Cursor != "c8" {
			t.Errorf("asked behind %q, with %d rows of history, links %+v", asked, history, s.links[0])
		}
	})
}

// A submission that was refused is over, unless the daemon knows the action all
// the same.
func TestARefusedSubmissionIsFollowedOnlyWhereTheDaemonKnowsTheAction(t *testing.T) {
	for name, c := range map[string]struct {
		state  aip.State
		down   bool
		chunks int
	}{
		"the daemon does not know it":           {state: aip.StateUnknown},
		"the daemon is down":                    {down: true},
		"the daemon has it, whoever brought it": {state: aip.StateRunning, chunks: 4},
	} {
		bubble(t, name, func(t *testing.T) {
			row, err := model.NewRow(model.RowSettled, time.Now(), &model.Settled{Code: "policy.denied"})
			if err != nil {
				t.Fatal(err)
			}
			log := &followtest.Log{}
			if _, err := log.Commit(t.Context(), 0, []model.Row{row}, ""); err != nil {
				t.Fatal(err)
			}
			d := newFake(t, turn(4))
			d.onStatus = func(_ int, w http.ResponseWriter) {
				if c.down {
					say(w, 503, refusal("storage.unavailable", "temporary"))
					return
				}
				say(w, 200, status(string(c.state)))
			}
			s := run(t, d, log)
			chunks, results := s.kinds()[model.RowChunk], s.kinds()[model.RowResult]
			if chunks != c.chunks || results != min(1, c.chunks) || s.last.Err != nil {
				t.Errorf("%d chunks, %d results, %v", chunks, results, s.last.Err)
			}
		})
	}
}

func TestSettledJournalsAreHistory(t *testing.T) {
	result := func() (model.Row, error) {
		return model.NewRow(model.RowResult, time.Now(), &model.Result{Result: aip.Result{ActionID: action, Status: aip.ResultFailed}})
	}
	state := func() (model.Row, error) {
		return model.NewRow(model.RowSettled, time.Now(), &model.Settled{State: aip.StateCancelled})
	}
	for name, c := range map[string]struct {
		last   func() (model.Row, error)
		cursor string
		down   bool // the daemon does not answer
		calls  bool
		chunks int // that are read
		result bool
	}{
		"a result needs no network":                             {result, "c1", true, false, 0, true},
		"a result before anything was followed: ask once":       {result, "", false, true, 4, true},
		"the same, and the daemon is down":                      {result, "", true, true, 0, true},
		"a state in its place: a result may have come, it wins": {state, "", false, true, 4, true},
		"the same, and the daemon is down ":                     {state, "c1", true, true, 0, false},
	} {
		bubble(t, name, func(t *testing.T) {
			row, err := c.last()
			if err != nil {
				t.Fatal(err)
			}
			log := &followtest.Log{}
			if _, err := log.Commit(t.Context(), 0, []model.Row{row}, c.cursor); err != nil {
				t.Fatal(err)
			}
			d := newFake(t, turn(4))
			if c.down {
				down := refusal("storage.unavailable", "temporary")
				d.onPage = func(_ int, w http.ResponseWriter, _ *http.Request) bool { say(w, 503, down); return true }
				d.onResult = func(_ int, w http.ResponseWriter) { say(w, 503, down) }
			}
			s := run(t, d, log)
			chunks, results, calls := s.kinds()[model.RowChunk], s.kinds()[model.RowResult], d.called()
			if last := s.links[len(s.links)-1]; last.State != follow.Settled || s.last.Err != nil ||
				(len(calls) > 0) != c.calls || chunks != c.chunks || (results == 1) != c.result {
				t.Errorf("%s, %d chunks, %d results, %v, calls %v", s.states(), chunks, results, s.last.Err, calls)
			}
		})
	}
}

func TestErrorsInsideAndBeforeTheStream(t *testing.T) {
	inside := func(code, category, more string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			stream(w, "event: aip.error\ndata: {\"error\":{\"code\":\""+code+"\",\"message\":\"m\",\"category\":\""+category+"\""+more+"}}\n\n")
		}
	}
	before := func(status int, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { say(w, status, body) }
	}
	plain := func(status int, contentType, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	for _, c := range []struct {
		name    string
		answer  func(http.ResponseWriter) // to the first times attempts
		times   int
		link    string // the second or third one
		wait    time.Duration
		refused bool
		code    string // of the error row, if there is one
	}{
		{"storage fails inside", inside("storage.unavailable", "temporary", `,"retry_after_ms":7000`), 1, "retrying (the daemon answered storage.unavailable)", 7 * time.Second, false, "storage.unavailable"},
		{"storage fails before", before(503, refusal("storage.unavailable", "temporary")), 1, "retrying (the daemon answered storage.unavailable (HTTP 503))", 125 * time.Millisecond, false, "storage.unavailable"},
		{"an error that cannot be encoded", func(w http.ResponseWriter) { stream(w, "event: aip.error\ndata: oops\n\n") }, 1, "retrying (the daemon sent an error that cannot be read)", 125 * time.Millisecond, false, ""},
		{"a proxy without a backend", plain(502, "text/html", "<html>"), 1, `retrying (the answer is HTTP 502 without an AIP error ("text/html"))`, 125 * time.Millisecond, false, ""},
		{"a page instead of a stream, once", plain(200, "text/html", "<html>"), 1, `retrying (the answer has the content type "text/html")`, 125 * time.Millisecond, false, ""},
		{"a page instead of a stream, for good", plain(200, "text/html", "<html>"), 99, `refused (the answer has the content type "text/html", 5 times in a row)`, 0, true, ""},
		{"no such route, for good", plain(404, "text/plain", ""), 99, `refused (the answer is HTTP 404 without an AIP error ("text/plain"), 5 times in a row)`, 0, true, ""},
		{"not known yet", before(400, refusal("action.not_found", "permanent")), 1, "retrying (the daemon answered action.not_found (HTTP 400))", 125 * time.Millisecond, false, "action.not_found"},
		{"no such token", before(401, refusal("auth.native_http_unauthorized", "auth")), 99, "refused (the daemon does not accept the token: the daemon answered auth.native_http_unauthorized (HTTP 401))", 0, true, "auth.native_http_unauthorized"},
		{"no scope, inside", inside("auth.not_authorized", "auth", ""), 99, "refused (the token does not allow this: the daemon answered auth.not_authorized)", 0, true, "auth.not_authorized"},
		{"a bad request", before(400, refusal("query.invalid", "permanent")), 99, "refused (the daemon refuses the request: the daemon answered query.invalid (HTTP 400))", 0, true, "query.invalid"},
		{"a code that is not a word", inside("x\\u001b[2Jy", "temporary", ""), 1, "retrying (the daemon answered an unreadable code)", 125 * time.Millisecond, false, "x\x1b[2Jy"},
	} {
		bubble(t, c.name, func(t *testing.T) {
			items := turn(2)
			d := newFake(t, items)
			d.state.Store("unknown")
			d.onFollow = func(n int, w http.ResponseWriter, r *http.Request) bool {
				if n < c.times {
					c.answer(w)
					return true
				}
				d.state.Store("completed")
				return false
			}
			s := run(t, d, &followtest.Log{})
			if !strings.Contains(s.states(), c.link) {
				t.Errorf("links: %s, want %s", s.states(), c.link)
			}
			for _, l := range s.links {
				if l.Wait != 0 && c.wait != 0 && l.Wait != c.wait {
					t.Errorf("waited %v, want %v", l.Wait, c.wait)
				}
			}
			var r *follow.Refusal
			if errors.As(s.last.Err, &r) != c.refused {
				t.Errorf("ended with %v", s.last.Err)
			}
			rows := s.find(model.RowError)
			if c.code == "" && len(rows) != 0 || c.code != "" && (len(rows) != 1 || rows[0].Error.Code != c.code) {
				t.Errorf("error rows %+v", rows)
			}
			if !c.refused {
				s.whole(t, items)
			}
		})
	}
}

func TestTokenIsReadAgainOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := turn(4)
		d := newFake(t, items)
		d.state.Store("unknown")
		token := "old"
		var asked []string
		d.onFollow = func(n int, w http.ResponseWriter, r *http.Request) bool {
			asked = append(asked, r.Header.Get("Authorization")+" "+r.URL.Query().Get("cursor"))
			switch n {
			case 0:
				stream(w, d.items[0].frame(), d.items[1].frame(), "data: {\"next_cursor\":\"c2\"}\n\n")
				token = "new"
				return true
			case 1:
				say(w, 401, refusal("auth.native_http_unauthorized", "auth"))
				return true
			}
			d.state.Store("completed")
			return false
		}
		c, err := client.New(client.Config{URL: "http://d", DialContext: followtest.Serve(t, d), Token: func() ([]byte, error) { return []byte(token), nil }})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		log := &followtest.Log{}
		s := run(t, d, log, func(cfg *follow.Config) { cfg.Client = c })
		s.whole(t, items)
		if got := strings.Join(asked, ", "); got != "Bearer old , Bearer old c2, Bearer new " {
			t.Errorf("asked with %s", got)
		}
		// The new credential's cursors are not stored under the old one's tag.
		if cursor, _ := log.Cursor(t.Context()); cursor != "c2" {
			t.Errorf("stored cursor %q", cursor)
		}
	})
}

func TestLostCursorsAreDroppedAndTheStartIsRead(t *testing.T) {
	for _, code := range []string{"stream.cursor_expired", "query.invalid_cursor"} {
		bubble(t, code, func(t *testing.T) {
			items := turn(5)
			d := newFake(t, items)
			d.page = 4
			d.state.Store("unknown")
			d.onFollow = func(n int, w http.ResponseWriter, r *http.Request) bool {
				switch {
				case n == 0:
					stream(w, d.wire(0)[:len(d.wire(0))-200])
					return true
				case n == 1:
					stream(w, `data: {"error":{"code":"`+code+`","message":"m","category":"permanent"}}`+"\n\n")
					return true
				}
				if r.URL.Query().Has("cursor") {
					t.Error("a lost cursor was used again")
				}
				d.state.Store("completed")
				return false
			}
			s := run(t, d, &followtest.Log{})
			s.whole(t, items)
			if !strings.Contains(s.states(), "retrying (the cursor is no longer known ("+code+"): reading from the start), connecting, live") || s.last.Duplicates < 8 {
				t.Errorf("%s with %d duplicates", s.states(), s.last.Duplicates)
			}
			if s.last.Reconnects != 2 {
				t.Errorf("%d reconnects", s.last.Reconnects)
			}
		})
	}
}

// A daemon that refuses every cursor never gives what is behind a page from the
// start. The rest is in the result.
func TestADaemonThatRefusesItsOwnCursorsIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := turn(30)
		d := newFake(t, items)
		d.plain = 20
		refuse := func(w http.ResponseWriter, r *http.Request) bool {
			refused := r.URL.Query().Has("cursor")
			if refused {
				say(w, 400, refusal("query.invalid_cursor", "permanent"))
			}
			return refused
		}
		d.onPage = func(_ int, w http.ResponseWriter, r *http.Request) bool { return refuse(w, r) }
		d.onFollow = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			if !refuse(w, r) {
				stream(w, items[0].frame(), items[1].frame(), "data: {\"next_cursor\":\"c2\"}\n\n", "data: {\"terminal\":true,\"action_id\":\"act_a\"}\n\n")
			}
			return true
		}
		s := run(t, d, &followtest.Log{})
		if s.last.Err != nil || !strings.HasSuffix(s.states(), "draining (the daemon refuses its own cursors: the rest is taken from the result), settled") {
			t.Errorf("%v after %s", s.last.Err, s.states())
		}
		got := s.kinds()
		if got[model.RowChunk] != 10 || got[model.RowRecovered] != 20 || got[model.RowResult] != 1 {
			t.Errorf("rows %v", got)
		}
		turn := model.NewTurn(action)
		turn.Apply(s.rows)
		if c := turn.Verdict().Condition(model.CondIntegrity); c.Mark != model.Pass {
			t.Errorf("integrity is %s: %s", c.Mark, c.Detail)
		}
	})
}

// As long as each page from the start is longer than the last, it is read on.
func TestCursorsThatAreLostBesideProgressAreNoReasonToStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := turn(30)
		d := newFake(t, items)
		d.onPage = func(n int, w http.ResponseWriter, r *http.Request) bool {
			d.plain = n + 2
			refused := r.URL.Query().Has("cursor")
			if refused {
				say(w, 400, refusal("stream.cursor_expired", "permanent"))
			}
			return refused
		}
		d.onFollow = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			stream(w, "data: {\"terminal\":true,\"action_id\":\"act_a\"}\n\n")
			return true
		}
		run(t, d, &followtest.Log{}).whole(t, items)
	})
}

func TestBackoffGrowsUntilProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := turn(2)
		d := newFake(t, items)
		d.state.Store("unknown")
		d.onFollow = func(n int, w http.ResponseWriter, r *http.Request) bool {
			switch {
			case n < 10: // a bare 200 is no progress, and neither is a frame that is known
				stream(w, items[0].frame())
			case n == 10:
				stream(w, items[1].frame())
			default:
				d.state.Store("completed")
				return false
			}
			return true
		}
		s := run(t, d, &followtest.Log{})
		s.whole(t, items)
		var waits []string
		for _, l := range s.links {
			if l.State == follow.Retrying {
				waits = append(waits, fmt.Sprint(l.Attempt, ":", l.Wait))
			}
		}
		// The first frame is new, and so is the one of the eleventh attempt.
		want := "0:125ms 1:125ms 2:250ms 3:500ms 4:1s 5:2s 6:4s 7:8s 8:15s 9:15s 0:125ms"
		if got := strings.Join(waits, " "); got != want {
			t.Errorf("waits\n %s, want\n %s", got, want)
		}
	})
}

func TestStallsEndTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := turn(2)
		d := newFake(t, items)
		d.state.Store("unknown")
		began := time.Now()
		d.onFollow = func(n int, w http.ResponseWriter, r *http.Request) bool {
			if n == 0 {
				stream(w, items[0].frame())
				for range 4 { // keepalives feed the watchdog
					time.Sleep(40 * time.Second)
					io.WriteString(w, ": keep-alive\n\n")
					w.(http.Flusher).Flush()
				}
				hold(r)
				return true
			}
			if waited := time.Since(began); waited < 205*time.Second || waited > 206*time.Second {
				t.Errorf("connected again after %v", waited)
			}
			d.state.Store("completed")
			return false
		}
		s := run(t, d, &followtest.Log{})
		s.whole(t, items)
		if !strings.Contains(s.states(), "retrying (no byte came for 45 s)") {
			t.Errorf("links: %s", s.states())
		}
	})
}

func TestSilentStreamsAreAskedAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := turn(1)
		d := newFake(t, items)
		d.terminal = false
		began := time.Now()
		var asked []string
		d.onStatus = func(n int, w http.ResponseWriter) {
			asked = append(asked, time.Since(began).String())
			say(w, 200, status([]string{"unknown", "unknown", "pending_approval", "running", "cancelled", "cancelled", "cancelled", "cancelled", "cancelled", "cancelled", "cancelled", "cancelled"}[n]))
		}
		d.onResult = func(n int, w http.ResponseWriter) {
			if n == 0 {
				say(w, 200, result("pending_approval"))
				return
			}
			say(w, 503, refusal("action.result_not_ready", "temporary"))
		}
		d.onFollow = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			stream(w, d.wire(0))
			for {
				select {
				case <-time.After(10 * time.Second):
					io.WriteString(w, ": keep-alive\n\n")
					w.(http.Flusher).Flush()
				case <-r.Context().Done():
					return true
				}
			}
		}
		s := run(t, d, &followtest.Log{})
		if got := strings.Join(asked[:5], " "); got != "0s 15s 30s 45s 1m0s" {
			t.Errorf("asked at %s", got)
		}
		var states []string
		for _, r := range s.find(model.RowStatus) {
			states = append(states, string(r.Status.State))
		}
		if got := strings.Join(states, " "); got != "unknown pending_approval running cancelled" {
			t.Errorf("status rows: %s", got)
		}
		if r := s.find(model.RowResult); len(r) != 1 || r[0].Result.Status != aip.ResultPendingApproval {
			t.Errorf("results %+v", r)
		}
		settled := s.find(model.RowSettled)
		if len(settled) != 1 || settled[0].Settled.State != aip.StateCancelled || settled[0].Settled.WaitedMS != 5000 {
			t.Errorf("settled %+v", settled)
		}
		if s.last.Err != nil || s.links[len(s.links)-1].State != follow.Settled {
			t.Errorf("%v after %s", s.last.Err, s.states())
		}
	})
}

// A stream may end while the status is being asked for, again and again: the
// answer counts all the same, and the next question is asked.
func TestAStatusOutlivesTheStreamThatAskedForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := turn(2)
		d := newFake(t, items)
		d.onFollow = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			stream(w, ": nothing yet\n\n")
			time.Sleep(15500 * time.Millisecond)
			cut()
			return true
		}
		d.onStatus = func(n int, w http.ResponseWriter) {
			if n > 0 {
				time.Sleep(3 * time.Second)
			}
			say(w, 200, status(map[bool]string{true: "completed", false: "running"}[n >= 8]))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		w := d.watch(t, &followtest.Log{})
		for {
			b, err := w.Next(ctx)
			if err != nil {
				t.Fatalf("%v after %d statuses", err, d.calledTimes("status"))
			}
			if b.Done {
				break
			}
		}
		if n := d.calledTimes("status"); n < 9 {
			t.Errorf("it ended after %d statuses", n)
		}
	})
}

func TestPokeReadsTheStatusAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := turn(1)
		d := newFake(t, items)
		d.terminal = false
		d.state.Store("unknown")
		w := d.watch(t, &followtest.Log{})
		time.Sleep(4 * time.Second)
		began := time.Now()
		d.state.Store("completed")
		w.Poke()
		collect(t, w).whole(t, items)
		if took := time.Since(began); took > time.Second {
			t.Errorf("settled after %v", took)
		}
	})
}

func TestResultIsPolledUntilItIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := turn(2)
		d := newFake(t, items)
		began := time.Now()
		var asked []string
		d.onResult = func(n int, w http.ResponseWriter) {
			asked = append(asked, time.Since(began).String())
			switch n {
			case 0:
				say(w, 503, refusal("action.result_not_ready", "temporary"))
			case 1:
				say(w, 400, refusal("action.not_found", "permanent"))
			case 2:
				say(w, 400, refusal("action.dead_lettered", "permanent"))
			default:
				say(w, 200, resultOf(items))
			}
		}
		s := run(t, d, &followtest.Log{})
		s.whole(t, items)
		if got := strings.Join(asked, " "); got != "0s 250ms 750ms 1.75s" {
			t.Errorf("asked at %s", got)
		}
		if rows := s.find(model.RowError); len(rows) != 0 {
			t.Errorf("error rows %+v", rows)
		}
	})
}

func TestTerminalFramesAreNotBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := turn(2)
		d := newFake(t, items)
		d.onStatus = func(_ int, w http.ResponseWriter) {
			state := "running"
			if d.calledTimes("follow") > 3 {
				state = "completed"
			}
			say(w, 200, status(state))
		}
		d.onResult = func(_ int, w http.ResponseWriter) {
			if d.calledTimes("follow") > 3 {
				say(w, 200, resultOf(items))
				return
			}
			say(w, 503, refusal("action.result_not_ready", "temporary"))
		}
		s := run(t, d, &followtest.Log{})
		s.whole(t, items)
		if n := strings.Count(s.states(), "retrying (the action goes on, although the daemon said terminal), connecting, live"); n != 3 {
			t.Errorf("links: %s", s.states())
		}
	})
}

func TestResultsOfAnotherActionAreReplays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFake(t, turn(1))
		d.onResult = func(_ int, w http.ResponseWriter) {
			say(w, 200, `{"action_result":{"action_id":"act_other","status":"completed","output":{"idempotent_replay":true}}}`)
		}
		s := run(t, d, &followtest.Log{})
		replay := s.find(model.RowReplay)
		if len(replay) != 1 || replay[0].Result.ActionID != "act_other" || len(s.find(model.RowResult)) != 0 || s.last.Err != nil {
			t.Errorf("%+v, %v", s.kinds(), s.last.Err)
		}
	})
}

func TestResultThatBreaksIsReadAgain(t *testing.T) {
	for name, bad := range map[string]func(http.ResponseWriter){
		"truncated": func(w http.ResponseWriter) { io.WriteString(w, result("completed", "word0")[:80]) },
		"cut":       func(w http.ResponseWriter) { stream(w, result("completed", "word0")[:80]); cut() },
		"garbage":   func(w http.ResponseWriter) { say(w, 200, `{"action_result":{"status":tru}}`) },
		"a page":    func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/html"); io.WriteString(w, "<html>") },
		"storage":   func(w http.ResponseWriter) { say(w, 503, refusal("storage.unavailable", "temporary")) },
	} {
		bubble(t, name, func(t *testing.T) {
			items := turn(2)
			d := newFake(t, items)
			d.onResult = func(n int, w http.ResponseWriter) {
				if n < 3 {
					bad(w)
					return
				}
				say(w, 200, resultOf(items))
			}
			s := run(t, d, &followtest.Log{})
			s.whole(t, items)
			if got := s.states(); strings.Count(got, "draining (") != 3 {
				t.Errorf("links: %s", got)
			}
		})
	}
}

func TestMissingChunksAreRecoveredFromTheResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := []item{chunk(1, "b"), chunk(3, "d"), chunk(9, "z")}
		d := newFake(t, items)
		d.onResult = func(_ int, w http.ResponseWriter) { say(w, 200, result("completed", "a", "b", "c", "d", "e")) }
		s := run(t, d, &followtest.Log{})
		var places []string
		for _, r := range s.find(model.RowRecovered) {
			places = append(places, fmt.Sprintf("%d %v %d %s", r.Recovered.Index, r.Recovered.First, r.Recovered.After, *r.Recovered.Record.RawData))
		}
		if got := strings.Join(places, ", "); got != `0 true 0 {"t":"a"}, 2 false 1 {"t":"c"}, 4 false 3 {"t":"e"}` {
			t.Errorf("recovered %s", got)
		}
		m := s.find(model.RowResult)[0].Result.Aggregate
		if m.Events != 5 || m.Matched != 2 || m.Missing != 3 || len(m.Unlike) != 1 || m.Unlike[0] != 9 {
			t.Errorf("match %+v", m)
		}
		if last := s.rows[len(s.rows)-1]; last.Kind != model.RowResult {
			t.Errorf("the last row is a %s", last.Kind)
		}
	})
}

func TestOutputsThatAreNoAggregateAreNotCompared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFake(t, turn(2))
		d.onResult = func(_ int, w http.ResponseWriter) {
			say(w, 200, `{"action_result":{"action_id":"act_a","status":"completed","output":{"events":[1,{"x":2}],"n":3}}}`)
		}
		s := run(t, d, &followtest.Log{})
		if r := s.find(model.RowResult); len(r) != 1 || r[0].Result.Aggregate != nil || string(r[0].Result.Output) != `{"n":3}` || s.kinds()[model.RowRecovered] != 0 {
			t.Errorf("%+v", r)
		}
	})
}

func TestConflictingChunksAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := []item{chunk(0, "a"), chunk(0, "b"), chunk(1, "c")}
		d := newFake(t, items)
		d.onResult = func(_ int, w http.ResponseWriter) { say(w, 200, result("completed", "a", "c")) }
		s := run(t, d, &followtest.Log{})
		if k := s.kinds(); k[model.RowChunk] != 2 || k[model.RowConflict] != 1 {
			t.Errorf("rows %v", k)
		}
		if m := s.find(model.RowResult)[0].Result.Aggregate; m.Matched != 2 || m.Unlike != nil {
			t.Errorf("match %+v", m)
		}
	})
}

func TestFramesThatDoNotBelongAreKeptAndNotApplied(t *testing.T) {
	for name, c := range map[string]struct{ frame, code string }{
		"not JSON":                       {"event: aip.stream.chunk\ndata: {\"chunk\":{\"sequence\":\n\n", follow.CodeUndecodable},
		"JSON behind the chunk":          {`data: {"chunk":{"action_id":"act_a","sequence":7,"kind":"data"}}x` + "\n\n", follow.CodeUndecodable},
		"a chunk without a sequence":     {`data: {"chunk":{"action_id":"act_a","kind":"data"}}` + "\n\n", follow.CodeUndecodable},
		"a sequence that is no number":   {`data: {"chunk":{"action_id":"act_a","sequence":-1,"kind":"data"}}` + "\n\n", follow.CodeUndecodable},
		"a sequence that is too large":   {`data: {"chunk":{"action_id":"act_a","sequence":18446744073709551616,"kind":"data"}}` + "\n\n", follow.CodeUndecodable},
		"a chunk without a kind":         {`data: {"chunk":{"action_id":"act_a","sequence":7}}` + "\n\n", follow.CodeUndecodable},
		"an event without an ID":         {`data: {"event":{"kind":"x","occurred_at":"2025-07-01T10:00:01Z"}}` + "\n\n", follow.CodeUndecodable},
		"null":                           {"data: null\n\n", follow.CodeUndecodable},
		"another body":                   {`data: {"body":{"x":1}}` + "\n\n", follow.CodeUndecodable},
		"bytes that are not UTF-8":       {"data: \xff\xfe\n\n", follow.CodeUndecodable},
		"a chunk of another action":      {`data: {"chunk":{"action_id":"act_b","sequence":7,"kind":"data"}}` + "\n\n", follow.CodeAnotherAction},
		"an event of another action":     {`data: {"event":{"id":"evt_x","kind":"x","action_id":"act_b"}}` + "\n\n", follow.CodeAnotherAction},
		"the terminal of another action": {`data: {"terminal":true,"action_id":"act_b"}` + "\n\n", follow.CodeAnotherAction},
	} {
		bubble(t, name, func(t *testing.T) {
			items := turn(2)
			d := newFake(t, items)
			d.onFollow = func(_ int, w http.ResponseWriter, r *http.Request) bool {
				stream(w, c.frame, c.frame, d.wire(0)) // the second time it is known
				return true
			}
			s := run(t, d, &followtest.Log{})
			s.whole(t, items)
			rows := s.find(model.RowError)
			if len(rows) != 1 || rows[0].Error.Code != c.code {
				t.Fatalf("error rows %+v", rows)
			}
			data := strings.TrimSuffix(c.frame[strings.Index(c.frame, "data: ")+6:], "\n\n")
			if got := rows[0].Error.Detail("data"); got != strings.ToValidUTF8(data, "\uFFFD") {
				t.Errorf("kept %q of %q", got, data)
			}
		})
	}
}

// A connector names its events as it likes, so also like the daemon's frames.
func TestTheKeyDecidesNotTheName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := []item{event("evt_1", "aip.stream.terminal"), event("evt_2", "aip.error"), event("evt_3", "aip.stream.cursor"), event("evt_4", "message"), chunk(0, "a")}
		run(t, newFake(t, items), &followtest.Log{}).whole(t, items)
	})
}

func TestTooLargeEventsAreRefused(t *testing.T) {
	big := chunk(2, strings.Repeat("x", 5000))
	for name, set := range map[string]func(d *fake){
		"one line in the stream": func(d *fake) {},
		"many lines in the stream": func(d *fake) {
			d.onFollow = func(_ int, w http.ResponseWriter, r *http.Request) bool {
				stream(w, d.items[0].frame(), "data: {\"next_cursor\":\"c1\"}\n\n", strings.Repeat("data: x\n", 1000)+"\n")
				hold(r)
				return true
			}
		},
		"a line without an end": func(d *fake) {
			d.onFollow = func(_ int, w http.ResponseWriter, r *http.Request) bool {
				stream(w, d.items[0].frame(), "data: {\"next_cursor\":\"c1\"}\n\n", ": "+strings.Repeat("x", 80000))
				hold(r)
				return true
			}
		},
		"in a page": func(d *fake) {
			d.onFollow = func(_ int, w http.ResponseWriter, r *http.Request) bool {
				stream(w, d.items[0].frame(), "data: {\"next_cursor\":\"c1\"}\n\ndata: {\"terminal\":true}\n\n")
				return true
			}
		},
	} {
		bubble(t, name, func(t *testing.T) {
			d := newFake(t, []item{chunk(0, "a"), big})
			d.page = 1
			d.state.Store("unknown")
			set(d)
			s := run(t, d, &followtest.Log{}, func(c *follow.Config) { c.MaxEvent = 4096 })
			var large *follow.TooLargeError
			if !errors.As(s.last.Err, &large) || large.Cursor != "c1" || large.Limit != 4096 || large.Size < 4096 {
				t.Errorf("ended with %#v", s.last.Err)
			}
			if n := s.kinds()[model.RowChunk]; n != 1 {
				t.Errorf("%d chunks", n)
			}
			if !strings.HasSuffix(s.states(), `refused (an event behind the cursor "c1" is larger than 4096 bytes (`+fmt.Sprint(large.Size)+` seen))`) {
				t.Errorf("links: %s", s.states())
			}
		})
	}
}

func TestLargeEventsPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := []item{chunk(0, strings.Repeat("x", 3<<20)), chunk(1, "b")}
		run(t, newFake(t, items), &followtest.Log{}).whole(t, items)
	})
}

func TestReadingNeverWaitsForTheConsumer(t *testing.T) {
	for _, queue := range []int{1, 7, 100, 100000} {
		bubble(t, fmt.Sprint("queue of ", queue), func(t *testing.T) {
			items := turn(3000)
			d := newFake(t, items)
			d.page = 100
			log := &followtest.Log{}
			w := d.watch(t, log, func(c *follow.Config) { c.Queue = queue })
			time.Sleep(time.Minute) // nobody asks, and all is read
			if rows, err := log.Rows(t.Context(), 0, 1<<20); err != nil || rows[len(rows)-1].Kind != model.RowResult {
				t.Fatalf("%d rows in the journal, %v", len(rows), err)
			}
			s := collect(t, w)
			s.whole(t, items)
			if got := s.states(); got != "connecting, live, draining, settled" {
				t.Errorf("links: %s", got)
			}
		})
	}
}

func TestConsumersWaitAndLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFake(t, nil)
		d.terminal = false
		d.state.Store("unknown")
		w := d.watch(t, &followtest.Log{})
		ctx, leave := context.WithTimeout(t.Context(), time.Minute)
		defer leave()
		for {
			b, err := w.Next(ctx)
			if errors.Is(err, context.DeadlineExceeded) {
				break
			}
			if err != nil || b.Done {
				t.Fatal(b, err)
			}
		}
		w.Close()
		for range 2 {
			if b, err := w.Next(t.Context()); err != nil || !b.Done || !errors.Is(b.Err, follow.ErrClosed) {
				t.Errorf("%+v, %v", b, err)
			}
		}
	})
}

func TestJournalFailuresEndTheWatch(t *testing.T) {
	bubble(t, "writing", func(t *testing.T) {
		d := newFake(t, turn(4))
		log := &followtest.Log{Fail: func(rows []model.Row) error {
			for _, r := range rows {
				if r.Kind == model.RowChunk {
					return errTest
				}
			}
			return nil
		}}
		s := run(t, d, log)
		if !errors.Is(s.last.Err, errTest) || s.kinds()[model.RowChunk] != 0 {
			t.Errorf("%v with %v", s.last.Err, s.kinds())
		}
	})
	bubble(t, "reading for a consumer behind", func(t *testing.T) {
		d := newFake(t, turn(50))
		log := &unreadable{Log: &followtest.Log{}}
		w := d.watch(t, log, func(c *follow.Config) { c.Queue = 1 })
		time.Sleep(time.Minute)
		log.broken.Store(true)
		if s := collect(t, w); !errors.Is(s.last.Err, errTest) {
			t.Errorf("ended with %v", s.last.Err)
		}
	})
}

// A commit that runs beside the reading ends the watch when it fails or breaks down,
// and what came behind it is not seen.
func TestACommitUnderWayThatFailsEndsTheWatch(t *testing.T) {
	for _, breaks := range []bool{false, true} {
		bubble(t, fmt.Sprintf("breaks down %t", breaks), func(t *testing.T) {
			items := turn(1000)
			d := newFake(t, items)
			d.page = len(items)
			// It is the third full one, unless the stream comes in so slowly that
			// commits are small.
			log := &followtest.Log{Fail: func(rows []model.Row) error {
				if !slices.ContainsFunc(rows, func(r model.Row) bool { return r.Kind == model.RowChunk && r.Chunk.Sequence == 300 }) {
					return nil
				}
				if breaks {
					panic("a fault")
				}
				return errTest
			}}
			s := run(t, d, log)
			var fault *follow.PanicError
			if breaks && !errors.As(s.last.Err, &fault) || !breaks && !errors.Is(s.last.Err, errTest) {
				t.Errorf("ended with %v", s.last.Err)
			}
			stored, err := log.Rows(t.Context(), 0, 5000)
			if err != nil || len(stored) == 0 || len(s.rows) != len(stored) {
				t.Errorf("%d rows were seen, of %d (%v)", len(s.rows), len(stored), err)
			}
			next := uint64(0)
			for _, r := range stored {
				if r.Kind != model.RowChunk {
					continue
				}
				if r.Chunk.Sequence != next {
					t.Fatalf("chunk %d was committed behind a commit that failed", r.Chunk.Sequence)
				}
				next++
			}
		})
	}
}

// slow is a journal that takes its time, and notices when its context ends.
type slow struct{ *followtest.Log }

func (s slow) Commit(ctx context.Context, after int64, rows []model.Row, cursor string) (follow.Committed, error) {
	time.Sleep(100 * time.Millisecond)
	return s.Log.Commit(ctx, after, rows, cursor)
}

// A commit that is under way when the stream ends is awaited.
func TestACommitOutlivesItsStream(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		items := turn(6)
		d := newFake(t, items)
		wire := d.wire(0)
		d.onFollow = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "text/event-stream")
			for part := range strings.SplitAfterSeq(wire, "\n\n") {
				io.WriteString(w, part)
				http.NewResponseController(w).Flush()
				time.Sleep(time.Millisecond)
			}
			return true
		}
		s := collect(t, d.watch(t, slow{&followtest.Log{}}))
		if s.last.Err != nil || len(s.rows) < len(items) {
			t.Errorf("%d rows, %v", len(s.rows), s.last.Err)
		}
	})
}

type unreadable struct {
	*followtest.Log
	broken atomic.Bool
}

func (u *unreadable) Brief(ctx context.Context, after int64, limit int) ([]model.Row, error) {
	if u.broken.Load() {
		return nil, errTest
	}
	return u.Log.Rows(ctx, after, limit)
}

// Two consoles follow one action through one journal: both see every row, in
// one order, and each chunk is stored once.
func TestTwoConsolesOneJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := turn(40)
		log := &followtest.Log{}
		var watches []*follow.Watch
		for i := range 2 {
			d := newFake(t, items)
			d.state.Store("unknown")
			d.onFollow = func(_ int, w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("Content-Type", "text/event-stream")
				for j, it := range items {
					io.WriteString(w, it.frame())
					w.(http.Flusher).Flush()
					time.Sleep(time.Duration(3+(i+j)%4) * time.Millisecond)
				}
				d.state.Store("completed")
				stream(w, "data: {\"terminal\":true}\n\n")
				return true
			}
			watches = append(watches, d.watch(t, log))
		}
		a, b := collect(t, watches[0]), collect(t, watches[1])
		a.whole(t, items)
		b.whole(t, items)
		rows, err := log.Rows(t.Context(), 0, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for name, s := range map[string]seen{"first": a, "second": b} {
			for i, r := range s.rows {
				if r.Number != rows[i].Number {
					t.Fatalf("%s: row %d is number %d, in the journal %d", name, i, r.Number, rows[i].Number)
				}
			}
		}
		if n := a.last.Duplicates + b.last.Duplicates; n < len(items) {
			t.Errorf("%d duplicates", n)
		}
	})
}

func TestRequestsNameTheActionAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := turn(2)
		d := newFake(t, items)
		d.onFollow = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			if got := r.URL.RawQuery; got != "follow=true&include_chunks=true" {
				t.Errorf("followed with %s", got)
			}
			return false
		}
		d.onPage = func(n int, w http.ResponseWriter, r *http.Request) bool {
			if got := r.URL.RawQuery; got != "cursor=c4&include_chunks=true&limit=1000" {
				t.Errorf("paged with %s", got)
			}
			return false
		}
		run(t, d, &followtest.Log{}).whole(t, items)
	})
}
