package act_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"aipscope/follow"
	"aipscope/follow/act"
	"aipscope/follow/aipd"
	"aipscope/follow/client"
	"aipscope/follow/followtest"
	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/hermes"
	"aipscope/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// office is a caller at an embedded daemon, and what it told.
type office struct {
	*act.Caller
	t       testing.TB
	journal *store.Journal
	client  *client.Client
	mu      sync.Mutex
	told    []act.Notice
	waited  []time.Duration
}

func newOffice(t testing.TB, opt aipd.Options) *office {
	t.Helper()
	opt.Recordings = followtest.Library(t)
	server := aipd.New(opt)
	dial := followtest.Serve(t, server)
	t.Cleanup(server.Close)
	c, err := client.New(client.Config{URL: "http://daemon", DialContext: dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return officeOf(t, c, c)
}

func officeOf(t testing.TB, service act.Service, c *client.Client) *office {
	t.Helper()
	j, err := store.OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	o := &office{t: t, journal: j, client: c}
	source := func(action string) follow.Source {
		return follow.Source{URL: "http://daemon", Action: action, Route: client.Route(action), Credential: "c"}
	}
	o.Caller = &act.Caller{
		Service: service, Endpoint: "demo", Now: time.Now, Source: source,
		Open: func(ctx context.Context, action string) (act.Journal, error) { return j.Log(ctx, source(action)) },
		Tell: func(n act.Notice) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.told = append(o.told, n)
		},
		Wait: func(_ context.Context, d time.Duration) error { o.waited = append(o.waited, d); return nil },
		Requests: func(ctx context.Context, capability string) ([]act.Known, error) {
			held, err := j.Actions(ctx)
			if err != nil {
				return nil, err
			}
			var known []act.Known
			for _, h := range held {
				log, err := j.Log(ctx, source(h.ID))
				if err != nil {
					return nil, err
				}
				rows, err := log.Rows(ctx, 0, 1)
				if err != nil {
					return nil, err
				}
				if h.Capability == capability && rows[0].Request != nil {
					known = append(known, act.Known{Action: h.ID, Request: *rows[0].Request, At: h.Last})
				}
			}
			return known, nil
		},
	}
	return o
}

// heard reports whether a notice of a kind was told.
func (o *office) heard(kind act.NoticeKind) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, n := range o.told {
		if n.Kind == kind {
			return true
		}
	}
	return false
}

// calls are the operations in the journal, in the order of their IDs.
func (o *office) calls() string {
	o.t.Helper()
	held, err := o.journal.Actions(o.t.Context())
	if err != nil {
		o.t.Fatal(err)
	}
	ops := map[string]int{}
	for _, h := range held {
		_, op, _ := hermes.ParseCapability(h.Capability)
		ops[string(op)]++
	}
	return fmt.Sprint(ops)
}

// failing makes an operation fail the first few times.
func failing(op hermes.Operation, e *aip.Error, times int) func(aipd.Request) *aip.Error {
	var mu sync.Mutex
	return func(r aipd.Request) *aip.Error {
		mu.Lock()
		defer mu.Unlock()
		if r.Operation != op || times == 0 {
			return nil
		}
		times--
		return e
	}
}

func TestReadsAreAskedAgainOnlyWhereTheTypedErrorPermitsIt(t *testing.T) {
	const id = "resp_ab3c5a71120d41a99caa68aaf0ab"
	for _, c := range []struct {
		name  string
		err   *aip.Error
		times int
		asked int
		ok    bool
	}{
		{"no failure", nil, 0, 1, true},
		{"503 once", hermes.StatusFailure(hermes.OpResponseGet, 503), 1, 2, true},
		{"429 twice", hermes.StatusFailure(hermes.OpResponseGet, 429), 2, 3, true},
		{"503 for ever", hermes.StatusFailure(hermes.OpResponseGet, 503), 99, 3, false},
		{"404", hermes.StatusFailure(hermes.OpResponseGet, 404), 1, 1, false},
		{"401", hermes.StatusFailure(hermes.OpResponseGet, 401), 1, 1, false},
		{"temporary, but not retryable", &aip.Error{Code: "x.y", Category: "temporary"}, 1, 1, false},
	} {
		o := newOffice(t, aipd.Options{Fail: failing(hermes.OpResponseGet, c.err, c.times)})
		r, err := o.Response(t.Context(), id)
		var f *act.Failure
		if (err == nil) != c.ok || err != nil && !errors.As(err, &f) {
			t.Errorf("%s: %v", c.name, err)
		}
		if want := fmt.Sprintf("map[response_get:%d]", c.asked); o.calls() != want || len(o.waited) != c.asked-1 {
			t.Errorf("%s: %s, waited %v", c.name, o.calls(), o.waited)
		}
		if c.ok && (r.Verdict.Word != model.Accepted || r.Action == "" || r.Key != "") {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

func TestMutationsAreNeverAskedAgain(t *testing.T) {
	for _, e := range []*aip.Error{hermes.StatusFailure(hermes.OpSessionCreate, 503), hermes.Failure(hermes.OpSessionCreate, hermes.FailTransport, 0, ""),
		{Code: "x.y", Category: "temporary", Retryable: true}} {
		o := newOffice(t, aipd.Options{Fail: failing(hermes.OpSessionCreate, e, 1)})
		_, err := o.CreateSession(t.Context(), act.NewSession{ID: "s"})
		var f *act.Failure
		if !errors.As(err, &f) || o.calls() != "map[session_create:1]" || !o.heard(act.NoticeKey) {
			t.Errorf("%v: %v, %s", e, err, o.calls())
		}
	}
}

func TestADeletionWaitsForItsApprovalAndIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, aipd.Options{Approve: aipd.Approval{Decides: true, Grants: true, After: time.Minute}})
		d, err := o.DeleteSession(t.Context(), act.Deletion{ID: "demo-second"})
		if err != nil || d.Original || d.Key == "" || !o.heard(act.NoticeWaiting) || d.Verdict.Word != model.Accepted {
			t.Fatalf("%+v %v", d, err)
		}
		again, err := o.DeleteSession(t.Context(), act.Deletion{ID: "demo-second"})
		if err != nil || !again.Original || again.Action != d.Action || again.Key != d.Key || o.calls() != "map[session_delete:1]" {
			t.Errorf("%+v %v %s", again, err, o.calls())
		}
		_, err = o.DeleteSession(t.Context(), act.Deletion{ID: "demo-second", Again: true})
		if !act.Absent(err) || o.calls() != "map[session_delete:2]" {
			t.Errorf("%v %s", err, o.calls())
		}
		// Another object is another request.
		if d, err := o.DeleteSession(t.Context(), act.Deletion{ID: "demo-tools"}); err != nil || d.Original {
			t.Errorf("%+v %v", d, err)
		}
	})
}

func TestADeniedDeletionRanNothing(t *testing.T) {
	o := newOffice(t, aipd.Options{Approve: aipd.Approval{Decides: true}, Poll: time.Millisecond})
	_, err := o.DeleteResponse(t.Context(), act.Deletion{ID: "resp_x"})
	var f *act.Failure
	if !errors.As(err, &f) || f.Err.Code != "policy.approval_denied" || !strings.Contains(f.Decision(), "nothing ran") {
		t.Fatalf("%v", err)
	}
}

func TestACallEndsWithItsContextWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, aipd.Options{})
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		d, err := o.DeleteSession(ctx, act.Deletion{ID: "demo-second", Key: "mine"})
		if !errors.Is(err, context.DeadlineExceeded) || d.Action == "" || d.Turn.Verdict().Word != model.AwaitingApproval || d.Key != "mine" {
			t.Fatalf("%+v %v", d, err)
		}
		// Its own action tells what nothing to reconcile there is.
		r, err := o.Reconcile(t.Context(), d.Action)
		if err != nil || len(r.Evidence) != 0 || !strings.Contains(r.Nothing, "waits for an approval") {
			t.Errorf("%+v %v", r, err)
		}
	})
}

func TestARepeatedKeyAnswersWithTheFirstResult(t *testing.T) {
	o := newOffice(t, aipd.Options{})
	first, err := o.CreateSession(t.Context(), act.NewSession{ID: "a", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	second, err := o.CreateSession(t.Context(), act.NewSession{ID: "b", Key: "k"})
	if err != nil || second.Action != first.Action || second.Asked == first.Asked || second.Session.ID != "a" || !o.heard(act.NoticeOwner) {
		t.Errorf("%+v %v", second, err)
	}
}

func TestARequestThatFailsItsCheckLeavesNothing(t *testing.T) {
	o := newOffice(t, aipd.Options{})
	for _, err := range []error{
		second(o.CreateSession(t.Context(), act.NewSession{ID: "../x"})),
		second(o.Session(t.Context(), "")),
		second(o.Sessions(t.Context(), act.ListOptions{Limit: 201})),
		second(o.Sessions(t.Context(), act.ListOptions{Offset: act.MaxOffset + 1})),
		second(o.PatchSession(t.Context(), act.Patch{ID: "a", Title: ptr(strings.Repeat("x", 101))})),
		second(o.ForkSession(t.Context(), act.Fork{ID: "a", Child: `a\b`})),
		second(o.DeleteResponse(t.Context(), act.Deletion{})),
	} {
		var check *act.CheckError
		if !errors.As(err, &check) || len(check.Findings) == 0 {
			t.Errorf("%v", err)
		}
	}
	if got := o.calls(); got != "map[]" {
		t.Error(got)
	}
}

func second[T any](_ T, err error) error { return err }
func ptr(s string) *string               { return &s }

func TestForksAreLookedAtWhateverTheyAnswer(t *testing.T) {
	o := newOffice(t, aipd.Options{})
	for _, id := range []string{"a", "b"} {
		if _, err := o.CreateSession(t.Context(), act.NewSession{ID: id, Title: "Title " + id}); err != nil {
			t.Fatal(err)
		}
	}
	f, err := o.ForkSession(t.Context(), act.Fork{ID: "a"})
	if err != nil || !strings.HasPrefix(f.ChildID, "fork_") || f.Session.ID != f.ChildID || f.Child.Session.Parent != "a" || f.Source.Session.EndReason != "branched" {
		t.Errorf("%+v %v", f, err)
	}
	f, err = o.ForkSession(t.Context(), act.Fork{ID: "b", Child: "b-2", Title: "Title a"})
	var failed *act.Failure
	if !errors.As(err, &failed) || failed.Verdict.Word != model.Incomplete || f.Child.Session == nil || f.Child.Session.Title != "" || f.Source.Session.EndReason != "branched" {
		t.Errorf("%+v %v", f, err)
	}
	f, err = o.ForkSession(t.Context(), act.Fork{ID: "none", Child: "none-2"})
	if !errors.As(err, &failed) || failed.Verdict.Word != model.Incomplete || f.Child.Session != nil || f.Child.Err != nil || f.Source.Session != nil {
		t.Errorf("%+v %v", f, err)
	}
}

func TestMessagesAreOfTheLastSessionOfTheChain(t *testing.T) {
	o := newOffice(t, aipd.Options{CompressAfter: 2})
	if _, err := o.CreateSession(t.Context(), act.NewSession{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"act_1", "act_2"} {
		run(t, o, id, hermes.OpSessionChat, `{"session_id":"a","message":"hi"}`)
	}
	now, err := o.Current(t.Context(), "a")
	if err != nil || now == "a" {
		t.Fatalf("%s %v", now, err)
	}
	tr, err := o.Messages(t.Context(), "a")
	if err != nil || tr.SessionID != now || tr.Count != len(tr.Messages) {
		t.Errorf("%s, %d of %d, %v", tr.SessionID, len(tr.Messages), tr.Count, err)
	}
	if other, err := o.Current(t.Context(), "elsewhere"); err != nil || other != "elsewhere" {
		t.Errorf("%s %v", other, err)
	}
}

// run journals and posts a request of a model turn, and waits for its answer.
func run(t testing.TB, o *office, id string, op hermes.Operation, input string) {
	t.Helper()
	mode := "sync"
	if spec, _ := op.Spec(); spec.Streams() {
		mode = "streaming"
	}
	req := model.Request{Capability: op.Capability("demo"), Mode: mode, Input: json.RawMessage(input)}
	journal, err := o.Open(t.Context(), id)
	actor := act.Actor{Daemon: o.client, Log: journal, Action: id, Now: time.Now}
	if err == nil {
		err = actor.Prepare(t.Context(), req, true)
	}
	if err == nil {
		err = actor.Post(t.Context(), req)
	}
	if err != nil {
		t.Error(err)
	}
}

// moving is a service whose list changes between two pages.
type moving struct {
	*daemon
	pages [][]string
	asked []string
}

func (m *moving) Follow(context.Context, string, string) (io.ReadCloser, error) {
	return nil, errors.New("nothing to follow")
}
func (m *moving) Reload() (bool, error) { return false, nil }

func (m *moving) Submit(_ context.Context, e client.Envelope, _ func(int, json.RawMessage) error) (aip.Answer, error) {
	m.asked = append(m.asked, string(e.Action.Input))
	var rows []string
	for _, id := range m.pages[len(m.asked)-1] {
		rows = append(rows, fmt.Sprintf(`{"id":%q}`, id))
	}
	out := fmt.Sprintf(`{"object":"list","data":[%s],"has_more":%v}`, strings.Join(rows, ","), true)
	return aip.Answer{Result: &aip.Result{ActionID: e.Action.ID, Status: aip.ResultCompleted, Output: json.RawMessage(out)}}, nil
}

func TestPagingStopsAtAShortPageAndKeepsEachSessionOnce(t *testing.T) {
	// c was active between the pages and stands above b, which is read twice.
	m := &moving{daemon: &daemon{}, pages: [][]string{{"a", "b"}, {"b", "d"}, {"e"}}}
	o := officeOf(t, m, nil)
	l, err := o.Sessions(t.Context(), act.ListOptions{Limit: 2, All: true, Source: "cli"})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, s := range l.Sessions {
		ids = append(ids, s.ID)
	}
	if strings.Join(ids, " ") != "a b d e" || l.Repeated != 1 || l.More || l.Next != 5 || len(l.Actions) != 3 {
		t.Errorf("%v %+v", ids, l)
	}
	if m.asked[1] != `{"include_children":false,"limit":2,"offset":2,"source":"cli"}` {
		t.Error(m.asked[1])
	}
	// One page, which is full.
	m = &moving{daemon: &daemon{}, pages: [][]string{{"a", "b"}}}
	if l, err := officeOf(t, m, nil).Sessions(t.Context(), act.ListOptions{Limit: 2}); err != nil || !l.More || len(m.asked) != 1 {
		t.Errorf("%+v %v", l, err)
	}
	// An empty page ends it.
	m = &moving{daemon: &daemon{}, pages: [][]string{{"a", "b"}, {}}}
	if l, err := officeOf(t, m, nil).Sessions(t.Context(), act.ListOptions{Limit: 2, All: true}); err != nil || l.More || len(l.Sessions) != 2 {
		t.Errorf("%+v %v", l, err)
	}
}

// lost is a service whose answers to submissions are lost, while the actions run.
type lost struct {
	*client.Client
	posts int
}

func (l *lost) Submit(ctx context.Context, e client.Envelope, event func(int, json.RawMessage) error) (aip.Answer, error) {
	l.posts++
	if _, err := l.Client.Submit(ctx, e, event); err != nil {
		return aip.Answer{}, err
	}
	return aip.Answer{}, io.ErrUnexpectedEOF
}

func TestALostAnswerIsReadFromTheOriginalAction(t *testing.T) {
	o := newOffice(t, aipd.Options{Poll: time.Millisecond})
	l := &lost{Client: o.client}
	o.Service = l
	s, err := o.CreateSession(t.Context(), act.NewSession{ID: "a"})
	if err != nil || s.Session.ID != "a" || l.posts != 1 {
		t.Errorf("%+v %v, %d posts", s.Session, err, l.posts)
	}
}

func TestOffersNameWhatWasMeant(t *testing.T) {
	o := newOffice(t, aipd.Options{})
	offers, err := act.Offers(t.Context(), o.client)
	if err != nil {
		t.Fatal(err)
	}
	if endpoint, err := act.OneEndpoint(offers); err != nil || endpoint != "demo" {
		t.Errorf("%s %v", endpoint, err)
	}
	many := append(offers, act.Offer{Contract: aip.Contract{ID: "cap:hermes_agent:prod:chat"}, Endpoint: "prod", Operation: hermes.OpChat})
	if _, err := act.OneEndpoint(many); !errors.Is(err, act.ErrManyEndpoints) || !strings.Contains(err.Error(), "demo, prod") {
		t.Error(err)
	}
	if _, err := act.OneEndpoint(nil); !errors.Is(err, act.ErrNoEndpoint) {
		t.Error(err)
	}
	for asked, want := range map[string]string{
		"cap:hermes_agent:demo:chat_strem":           "cap:hermes_agent:demo:chat_stream",
		"cap:hermes_agent:dmo:session_fork":          "cap:hermes_agent:demo:session_fork",
		"cap:hermes_agent:production-west:responses": "cap:hermes_agent:demo:responses",
		"chat":     "",
		"cap:mail": "",
	} {
		if got := act.Nearest(offers, asked); got != want {
			t.Errorf("%s: %q, want %q", asked, got, want)
		}
	}
	k, ok := act.Find(offers, "cap:hermes_agent:demo:session_delete")
	if !ok || k.Terms() != "risk high, approval needed, key required, modes sync" {
		t.Errorf("%v %s", ok, k.Terms())
	}
	if got := (act.Offer{}).Terms(); got != "risk not said, approval not said, key not said, modes not said" {
		t.Error(got)
	}
}
