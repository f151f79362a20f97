package act_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"aipscope/follow/act"
	"aipscope/follow/aipd"
	"aipscope/follow/client"
	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// turning turns the first submissions away.
type turning struct {
	act.Service
	errs []error
}

func (s *turning) Submit(ctx context.Context, e client.Envelope, event func(int, json.RawMessage) error) (aip.Answer, error) {
	if len(s.errs) == 0 {
		return s.Service.Submit(ctx, e, event)
	}
	err := s.errs[0]
	s.errs = s.errs[1:]
	return aip.Answer{}, err
}

// A delete that never became an action was not asked for: asking is not asking
// again.
func TestWhatWasTurnedAwayIsNotTakenForTheOriginal(t *testing.T) {
	o := newOffice(t, aipd.Options{Poll: time.Millisecond, Approve: aipd.Approval{Decides: true, Grants: true}})
	dial := &net.OpError{Op: "dial", Err: errors.New("refused")}
	refused := &client.Error{HTTPStatus: 403, Code: "policy.denied", Category: "policy"}
	o.Service = &turning{Service: o.Service, errs: []error{dial, refused}}
	deletion := act.Deletion{ID: "resp_6200d54e1d6b439da67c81e59bb2"}
	var first string
	for _, want := range []error{dial, refused} {
		r, err := o.DeleteResponse(t.Context(), deletion)
		if !errors.Is(err, want) || r.Original || r.Action == first {
			t.Fatalf("%+v, %v; want %v", r, err, want)
		}
		first = r.Action
	}
	r, err := o.DeleteResponse(t.Context(), deletion)
	if err != nil || r.Original || o.heard(act.NoticeOriginal) {
		t.Errorf("%+v %v", r, err)
	}
	held, err := o.journal.Actions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	words := map[model.Word]int{}
	for _, h := range held {
		words[h.Verdict]++
	}
	if words[model.Failed] != 2 || words[model.Accepted] != 1 || o.calls() != "map[response_delete:3]" {
		t.Errorf("%v, %s", words, o.calls())
	}
	again, err := o.DeleteResponse(t.Context(), deletion)
	if err != nil || !again.Original || again.Action != r.Action {
		t.Errorf("%+v %v", again, err)
	}
}

func TestAKeyThatWasUsedBeforeIsToldOf(t *testing.T) {
	o := newOffice(t, aipd.Options{Poll: time.Millisecond})
	for i, n := range []act.NewSession{{ID: "one", Key: "k"}, {ID: "two", Key: "k"}} {
		r, err := o.CreateSession(t.Context(), n)
		if err != nil || r.Session.ID != "one" || o.heard(act.NoticeWarning) != (i == 1) {
			t.Errorf("%+v, %v, told %+v", r, err, o.told)
		}
	}
	known := []act.Known{{Action: "act_b", Request: model.Request{Capability: "c", IdempotencyKey: "k", Input: json.RawMessage(`{"a":1}`)}}}
	for want, req := range map[string]model.Request{
		"": {Capability: "c", IdempotencyKey: "other", Input: json.RawMessage(`{"a":1}`)},
		"the key was used by act_b for this same request: the daemon answers with its result": {Capability: "c", IdempotencyKey: "k", Input: json.RawMessage(`{ "a": 1 }`)},
		"the key was used by act_b for another request: the daemon answers with that one's result, whatever is asked now; use a fresh key": {
			Capability: "c", IdempotencyKey: "k", Input: json.RawMessage(`{"a":2}`)},
	} {
		if got := act.KeyUsed(known, "act_a", req); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := act.KeyUsed(known, "act_b", known[0].Request); got != "" {
		t.Errorf("its own request: %q", got)
	}
}

func TestAForkThatFailedIsWeighedByBothSessions(t *testing.T) {
	o := newOffice(t, aipd.Options{Poll: time.Millisecond})
	for _, id := range []string{"taken", "root"} {
		if _, err := o.CreateSession(t.Context(), act.NewSession{ID: id, Title: id}); err != nil {
			t.Fatal(err)
		}
	}
	f, err := o.ForkSession(t.Context(), act.Fork{ID: "root", Child: "child", Title: "taken"})
	if err == nil {
		t.Fatal("no failure")
	}
	r, err := o.Reconcile(t.Context(), f.Asked)
	if err != nil || r.Finding != "the source is there; the child is there" || r.Verdict.Word != model.Incomplete {
		t.Errorf("%+v %v", r, err)
	}
	run(t, o, "act_nowhere", hermes.OpSessionFork, `{"session_id":"nowhere","body":{"id":"child-2"}}`)
	if r, err = o.Reconcile(t.Context(), "act_nowhere"); err != nil || r.Finding != "the source is not there; the child is not there" || !r.Escalate {
		t.Errorf("%+v %v", r, err)
	}
}

func TestAReadWhoseSubmissionMetAPassingTroubleIsMadeAgain(t *testing.T) {
	busy := &client.Error{HTTPStatus: 503, Code: "storage.unavailable", Category: "temporary", Retryable: true}
	for name, c := range map[string]struct {
		err  error
		ok   bool
		want string
	}{
		"the typed error permits it": {busy, true, "map[session_create:1 session_get:2]"},
		"it does not": {&client.Error{HTTPStatus: 503, Code: "storage.unavailable", Category: "temporary"}, false,
			"map[session_create:1 session_get:1]"},
		"there is none": {io.ErrUnexpectedEOF, false, "map[session_create:1 session_get:1]"},
	} {
		o := newOffice(t, aipd.Options{Poll: time.Millisecond})
		if _, err := o.CreateSession(t.Context(), act.NewSession{ID: "a"}); err != nil {
			t.Fatal(err)
		}
		o.Service = &turning{Service: o.Service, errs: []error{c.err}}
		r, err := o.Session(t.Context(), "a")
		if (err == nil) != c.ok || (r.Session.ID == "a") != c.ok || o.calls() != c.want {
			t.Errorf("%s: %+v, %v, %s", name, r.Session, err, o.calls())
		}
		if o.heard(act.NoticeLost) == c.ok {
			t.Errorf("%s: told %+v", name, o.told)
		}
	}
}

// A call must end although its submission got no answer and the daemon knows
// nothing of it.
func TestAMutationThatTheDaemonNeverShowsEndsIncomplete(t *testing.T) {
	o := newOffice(t, aipd.Options{})
	o.Service = &turning{Service: o.Service, errs: []error{io.ErrUnexpectedEOF}}
	_, err := o.CreateSession(t.Context(), act.NewSession{ID: "a"})
	var failed *act.Failure
	if !errors.As(err, &failed) || failed.Verdict.Word != model.Incomplete || o.calls() != "map[session_create:1]" || !o.heard(act.NoticeLost) {
		t.Errorf("%v, %s, told %+v", err, o.calls(), o.told)
	}
	var waited time.Duration
	for _, d := range o.waited {
		waited += d
	}
	if waited < time.Minute || waited > 2*time.Minute {
		t.Errorf("asked for %s", waited)
	}
}

func TestADeleteThatTheDaemonLostIsNotWaitedForWithoutEnd(t *testing.T) {
	o := newOffice(t, aipd.Options{})
	deletion := act.Deletion{ID: "resp_6200d54e1d6b439da67c81e59bb2"}
	o.Service = &turning{Service: o.Service, errs: []error{io.ErrUnexpectedEOF}}
	for range 2 {
		_, err := o.DeleteResponse(t.Context(), deletion)
		var failed *act.Failure
		if !errors.As(err, &failed) || failed.Verdict.Word != model.Incomplete || o.calls() != "map[response_delete:1]" {
			t.Errorf("%v, %s", err, o.calls())
		}
	}
	if !o.heard(act.NoticeOriginal) {
		t.Errorf("told %+v", o.told)
	}
}
