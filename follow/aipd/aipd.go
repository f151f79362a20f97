// Package aipd is a small AIP daemon inside the program: it runs recorded
// Hermes turns as actions and answers the native HTTP routes that a console
// uses, as wire/aip.md describes them, oddities included. It serves the demo
// and the tests. Everything is held in memory.
//
// An action's way: submit.go takes an envelope and checks its contract, run.go
// plays a provider stream through the connector's rules, store.go keeps chunks,
// events and the result, page.go and follow.go deliver them.
package aipd

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"aipscope/follow/replay"
	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// Request is an action as the provider's side sees it.
type Request struct {
	ActionID       string
	Capability     string
	Endpoint       string
	Operation      hermes.Operation
	Mode           string // sync async streaming
	IdempotencyKey string
	Input          json.RawMessage // an object
}

// Options say what a server offers and how it behaves. The zero value of each
// field but Recordings is good.
type Options struct {
	// Recordings are what actions play and answer.
	Recordings *replay.Library
	// Play chooses the provider's reply to a streaming action; nil plays the
	// recording that the input names under "recording", else one that is about the
	// run or session in the input, else the usual one of the operation. An error of type *replay.Refusal is a provider's answer, any
	// other a broken connection.
	Play func(ctx context.Context, r Request) (replay.Stream, error)

	Endpoint  string   // in the capability IDs; "demo" when empty
	Token     string   // the bearer that is asked for; none when empty
	Principal string   // who the bearer is
	Scopes    []string // of the principal; nil allows everything

	// Approve decides, after a time, what actions wait for; zero leaves them
	// waiting, for Decide.
	Approve Approval

	// Fail is a failure of the connector's, before the provider is asked; nil, or
	// a nil error, for none.
	Fail func(r Request) *aip.Error

	MaxRuns       int  // turns at once, but those of sessions; 10 when zero, no bound when negative
	CompressAfter int  // messages after which a session's next turn goes on in a new one; never when zero
	Unstored      bool // turns are answered, and not written to their sessions

	Speed float64 // of the provider, see replay.Pace; 0 does not wait
	Clock func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error // how the provider waits

	Limits    hermes.Limits // of provider streams; the connector's own when zero
	Unlimited bool          // lifts the limits and the default of max_events

	Poll      time.Duration // of a follow stream that has nothing to send; 500 ms when zero
	KeepAlive time.Duration // of a silent follow stream; 15 s when zero

	// Broke is told of a panic in a run, with its stack; nil lets it end the process.
	Broke func(stack []byte)

	// DrainFirst withholds a follow stream's terminal frame until everything was
	// delivered. A real daemon does not: it ends with a backlog unread.
	DrainFirst bool

	// Faults are how the server misbehaves.
	Faults Faults
}

// Server is the daemon. It serves HTTP until it is closed.
type Server struct {
	opt     Options
	pace    replay.Pace
	started time.Time

	ctx  context.Context
	stop context.CancelCauseFunc
	runs sync.WaitGroup

	countMu sync.Mutex // of what faults count
	counts  map[string]int
	firsts  map[string]time.Time

	store
}

var errClosed = errors.New("the daemon is closed")

// New returns a server.
func New(opt Options) *Server {
	if opt.Endpoint == "" {
		opt.Endpoint = "demo"
	}
	if opt.Principal == "" {
		opt.Principal = "service:aipscope:operator"
	}
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	for _, e := range opt.Faults.effects {
		if e.options != nil {
			e.options(&opt)
		}
	}
	if opt.Limits == (hermes.Limits{}) && !opt.Unlimited {
		opt.Limits = hermes.DefaultLimits
	}
	if opt.Unlimited {
		opt.Limits = hermes.Limits{}
	}
	if opt.MaxRuns == 0 {
		opt.MaxRuns = defaultRuns
	}
	if opt.Poll == 0 {
		opt.Poll = 500 * time.Millisecond
	}
	if opt.KeepAlive == 0 {
		opt.KeepAlive = 15 * time.Second
	}
	s := &Server{opt: opt, started: opt.Clock(), store: newStore(opt.Recordings)}
	s.pace = replay.Pace{Speed: opt.Speed, Sleep: opt.Sleep}
	if opt.Sleep != nil {
		s.pace.Now = opt.Clock
	}
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	if s.opt.Play == nil {
		s.opt.Play = s.playRecording
	}
	return s
}

// guard reports a panic of the goroutine that defers it.
func (s *Server) guard() {
	if s.opt.Broke != nil && recover() != nil {
		s.opt.Broke(debug.Stack())
	}
}

// Close ends follow streams without a word, stops all running actions where
// they are, and waits for them. A stopped action gets no result.
func (s *Server) Close() {
	s.mu.Lock() // start looks at the context under it
	s.stop(errClosed)
	s.mu.Unlock()
	s.runs.Wait()
}

// ServeHTTP answers the native routes (wire/aip.md section 1).
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	for i := range path {
		path[i] = unescape(path[i])
	}
	if len(s.opt.Faults.effects) > 0 {
		c := s.routed(w, r, path)
		if s.opt.Faults.answered(c) {
			return
		}
		w = s.opt.Faults.writer(c)
	}
	route, id, ok := match(path)
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	handle, ok := route.methods[r.Method]
	if !ok {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if route.protected {
		if err := s.authenticate(r); err != nil {
			writeError(w, s.now(), err)
			return
		}
	}
	handle(s, w, r, id)
}

type handler func(s *Server, w http.ResponseWriter, r *http.Request, id string)

type route struct {
	path      []string // "*" stands for an ID
	protected bool     // the bearer is looked at before anything else
	methods   map[string]handler
}

func get(h handler) map[string]handler  { return map[string]handler{http.MethodGet: h} }
func post(h handler) map[string]handler { return map[string]handler{http.MethodPost: h} }

// routes are filled in by init, because the handlers and the table name each
// other.
var routes []route

func init() {
	routes = []route{
		{path: []string{""}, methods: get((*Server).health)},
		{path: []string{"health"}, methods: get((*Server).health)},
		{path: []string{"aip", "v1", "health"}, methods: get((*Server).health)},
		{path: []string{"ready"}, methods: get((*Server).ready)},
		{path: []string{"aip", "v1", "manifest"}, methods: get((*Server).manifest)},
		{path: []string{"aip", "v1", "messages"}, methods: post((*Server).message)},
		{path: []string{"aip", "v1", "actions"}, protected: true, methods: map[string]handler{
			http.MethodGet: (*Server).list, http.MethodPost: (*Server).message}},
		{path: []string{"aip", "v1", "actions", "*"}, protected: true, methods: get((*Server).status)},
		{path: []string{"aip", "v1", "actions", "*", "result"}, protected: true, methods: get((*Server).result)},
		{path: []string{"aip", "v1", "actions", "*", "events"}, protected: true, methods: get((*Server).events)},
		{path: []string{"aip", "v1", "actions", "*", "chunks"}, protected: true, methods: get((*Server).chunks)},
		{path: []string{"aip", "v1", "actions", "*", "cancel"}, protected: true, methods: post((*Server).cancel)},
	}
}

func match(path []string) (r route, id string, ok bool) {
next:
	for _, r := range routes {
		if len(r.path) != len(path) {
			continue
		}
		id := ""
		for i, p := range r.path {
			if p == "*" {
				id = path[i]
			} else if p != path[i] {
				continue next
			}
		}
		return r, id, true
	}
	return route{}, "", false
}

func (s *Server) now() time.Time { return s.opt.Clock().UTC() }

// newID is a prefix and a UUIDv7 in hex.
func newID(prefix string) string {
	id, err := uuid.NewV7()
	if err != nil { // the system's randomness failed
		id = uuid.New()
	}
	return prefix + strings.ReplaceAll(id.String(), "-", "")
}

func rfc3339(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func asTime(t time.Time) aip.Time { return aip.Time{Time: t} }
