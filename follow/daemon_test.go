package follow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"aipscope/follow"
	"aipscope/follow/client"
	"aipscope/follow/followtest"
	"aipscope/model"
	"aipscope/model/aip"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const action = "act_a"

// item is one event or one chunk of the daemon's record.
type item struct{ name, id, key, body string }

func (i item) frame() string {
	return "event: " + i.name + "\ndata: {\"" + i.key + "\":" + i.body + "}\nid: " + i.id + "\n\n"
}

func event(id, kind string) item {
	return item{kind, id, "event", fmt.Sprintf(`{"id":%q,"kind":%q,"occurred_at":"2025-07-01T10:00:01Z","action_id":"act_a","data":{}}`, id, kind)}
}

func record(text string) string {
	raw, _ := json.Marshal(`{"t":"` + text + `"}`)
	return fmt.Sprintf(`{"event":null,"id":null,"data":{"t":%q},"raw_data":%s,"terminal":false}`, text, raw)
}

func chunk(seq int, text string) item {
	return item{"aip.stream.chunk", fmt.Sprint("chunk:", seq), "chunk",
		fmt.Sprintf(`{"action_id":"act_a","sequence":%d,"kind":"data","data":{"hermes_sse":%s}}`, seq, record(text))}
}

// turn is n chunks with their metadata events.
func turn(n int) []item {
	var items []item
	for i := range n {
		items = append(items, event(fmt.Sprint("evt_", i), "aip.stream.chunk"), chunk(i, fmt.Sprint("word", i)))
	}
	return items
}

func result(status string, texts ...string) string {
	var records []string
	for _, t := range texts {
		records = append(records, record(t))
	}
	return fmt.Sprintf(`{"action_result":{"action_id":"act_a","status":%q,"output":{"operation":"chat_stream","events":[%s],"terminal":true,"truncated":false}}}`, status, strings.Join(records, ","))
}

func resultOf(items []item) string {
	var texts []string
	for _, i := range items {
		if i.key == "chunk" {
			texts = append(texts, strings.Split(strings.Split(i.body, `"t":"`)[1], `"`)[0])
		}
	}
	return result("completed", texts...)
}

func refusal(code, category string) string {
	return fmt.Sprintf(`{"aip_version":"1.0","body":{"error":{"error":{"code":%q,"message":"m","category":%q}}}}`, code, category)
}

// fake is a daemon. Its record is served from cursors c0, c1, … in pages; each
// of its functions may be replaced, and gets the count of calls before it.
type fake struct {
	t        *testing.T
	mu       sync.Mutex
	items    []item
	terminal bool // behind the record, a follow stream says terminal
	page     int  // items of a page of the follow stream
	plain    int  // items of a plain page
	calls    map[string]int
	state    atomic.Value // string, of the action

	onFollow func(n int, w http.ResponseWriter, r *http.Request) (handled bool)
	onPage   func(n int, w http.ResponseWriter, r *http.Request) (handled bool)
	onStatus func(n int, w http.ResponseWriter)
	onResult func(n int, w http.ResponseWriter)
}

func newFake(t *testing.T, items []item) *fake {
	d := &fake{t: t, items: items, terminal: true, page: 4, plain: 100, calls: map[string]int{},
		onFollow: func(int, http.ResponseWriter, *http.Request) bool { return false },
		onPage:   func(int, http.ResponseWriter, *http.Request) bool { return false },
		onResult: func(_ int, w http.ResponseWriter) { say(w, 200, resultOf(items)) },
	}
	d.state.Store("completed")
	d.onStatus = func(_ int, w http.ResponseWriter) { say(w, 200, status(d.state.Load().(string))) }
	return d
}

func status(state string) string {
	return fmt.Sprintf(`{"action_status":{"action_id":"act_a","state":%q,"capability_id":"cap:hermes_agent:e:chat_stream","updated_at":%q}}`, state, time.Now().UTC().Format(time.RFC3339Nano))
}

func say(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	io.WriteString(w, body)
}

// stream starts an event stream and sends some of it.
func stream(w http.ResponseWriter, parts ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, p := range parts {
		io.WriteString(w, p)
		w.(http.Flusher).Flush()
	}
	w.(http.Flusher).Flush()
}

func hold(r *http.Request) { <-r.Context().Done() }

func (d *fake) count(what string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.calls[what]
	d.calls[what]++
	return n
}

// called are all calls so far, and how often.
func (d *fake) called() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.calls)
}

func (d *fake) calledTimes(what string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[what]
}

// from reads a cursor.
func (d *fake) from(r *http.Request) int {
	c := r.URL.Query().Get("cursor")
	if c == "" {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimPrefix(c, "c"))
	if err != nil {
		d.t.Errorf("the daemon was given the cursor %q", c)
	}
	return n
}

// wire is the follow stream behind a cursor.
func (d *fake) wire(from int) string {
	var b strings.Builder
	for from < len(d.items) {
		to := min(from+d.page, len(d.items))
		for _, i := range d.items[from:to] {
			b.WriteString(i.frame())
		}
		fmt.Fprintf(&b, "event: aip.stream.cursor\ndata: {\"next_cursor\":\"c%d\"}\nid: c%d\n\n", to, to)
		from = to
	}
	if d.terminal {
		fmt.Fprintf(&b, "event: aip.stream.terminal\ndata: {\"terminal\":true,\"action_id\":\"act_a\"}\nid: c%d\n\n", len(d.items))
	}
	return b.String()
}

func (d *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := strings.TrimPrefix(r.URL.Path, "/aip/v1/actions/act_a"); {
	case path == "/events" && r.URL.Query().Get("follow") == "true":
		if d.onFollow(d.count("follow"), w, r) {
			return
		}
		stream(w, d.wire(d.from(r)))
		if !d.terminal {
			hold(r)
		}
	case path == "/events":
		if d.onPage(d.count("page"), w, r) {
			return
		}
		from := d.from(r)
		to := min(from+d.plain, len(d.items))
		parts := map[string][]string{}
		for _, i := range d.items[from:to] {
			parts[i.key] = append(parts[i.key], i.body)
		}
		say(w, 200, fmt.Sprintf(`{"action_events":{"action_id":"act_a","events":[%s],"chunks":[%s],"cursor":"c%d","terminal":true}}`,
			strings.Join(parts["event"], ","), strings.Join(parts["chunk"], ","), to))
	case path == "":
		d.onStatus(d.count("status"), w)
	case path == "/result":
		d.onResult(d.count("result"), w)
	default:
		d.t.Errorf("asked for %s", r.URL)
	}
}

// watch starts a watch of the daemon.
func (d *fake) watch(t *testing.T, log follow.Log, change ...func(*follow.Config)) *follow.Watch {
	c, err := client.New(client.Config{URL: "http://daemon.test", DialContext: followtest.Serve(t, d)})
	if err != nil {
		t.Fatal(err)
	}
	cfg := follow.Config{Source: follow.Source{URL: c.URL(), Action: action, Route: client.Route(action)}, Log: log, Client: c, Rand: func() float64 { return 0.5 }}
	for _, fn := range change {
		fn(&cfg)
	}
	w := follow.Start(context.Background(), cfg)
	t.Cleanup(func() { w.Close(); c.Close() })
	return w
}

// seen is all that a watch said.
type seen struct {
	rows  []model.Row
	links []follow.Link
	last  follow.Batch
}

func collect(t *testing.T, w *follow.Watch) seen {
	t.Helper()
	var s seen
	for {
		b, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.rows = append(s.rows, b.Rows...)
		s.links = append(s.links, b.Links...)
		if s.last = b; b.Done {
			for i := 1; i < len(s.rows); i++ {
				if s.rows[i].Number <= s.rows[i-1].Number {
					t.Fatalf("row %d came behind row %d", s.rows[i].Number, s.rows[i-1].Number)
				}
			}
			return s
		}
	}
}

// run watches to the end inside a bubble.
func run(t *testing.T, d *fake, log *followtest.Log, change ...func(*follow.Config)) seen {
	t.Helper()
	return collect(t, d.watch(t, log, change...))
}

// states are the link's, one word each, with the reason of those that have one.
func (s seen) states() string {
	var out []string
	for _, l := range s.links {
		word := string(l.State)
		if l.Reason != "" {
			word += " (" + l.Reason + ")"
		}
		out = append(out, word)
	}
	return strings.Join(out, ", ")
}

// kinds counts the rows of each kind.
func (s seen) kinds() map[model.RowKind]int {
	n := map[model.RowKind]int{}
	for _, r := range s.rows {
		n[r.Kind]++
	}
	return n
}

func (s seen) find(kind model.RowKind) []model.Row {
	var out []model.Row
	for _, r := range s.rows {
		if r.Kind == kind {
			out = append(out, r)
		}
	}
	return out
}

// whole checks that the watch ended settled, with every item once and a result
// that agrees.
func (s seen) whole(t *testing.T, items []item) {
	t.Helper()
	if s.last.Err != nil {
		t.Fatalf("the watch ended with %v after %s", s.last.Err, s.states())
	}
	want := map[model.RowKind]int{}
	for _, i := range items {
		want[model.RowKind(i.key)]++
	}
	got := s.kinds()
	if got[model.RowChunk] != want[model.RowChunk] || got[model.RowEvent] != want[model.RowEvent] || got[model.RowConflict] != 0 || got[model.RowRecovered] != 0 {
		t.Fatalf("rows %v, want %v", got, want)
	}
	results := s.find(model.RowResult)
	if len(results) != 1 || results[0].Result.Status != aip.ResultCompleted {
		t.Fatalf("results %+v", results)
	}
	if m := results[0].Result.Aggregate; m == nil || m.Matched != want[model.RowChunk] || m.Missing != 0 || m.Unlike != nil {
		t.Fatalf("match %+v", m)
	}
	if s.links[len(s.links)-1].State != follow.Settled {
		t.Fatalf("links: %s", s.states())
	}
}

func bubble(t *testing.T, name string, fn func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, fn) })
}

// cut ends the connection as a broken network does.
func cut() { panic(http.ErrAbortHandler) }

var errTest = errors.New("made by the test")
