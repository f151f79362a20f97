package act_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aipscope/follow"
	"aipscope/follow/act"
	"aipscope/follow/client"
	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/store"
)

// daemon answers what its functions say, and counts what is asked.
type daemon struct {
	submit func(client.Envelope, func(int, json.RawMessage) error) (aip.Answer, error)
	cancel func() (aip.Result, error)
	status func(n int) (aip.Status, error)
	result func(n int) (aip.Result, error)
	events []json.RawMessage

	posts, statuses, results int
}

func (d *daemon) Submit(_ context.Context, e client.Envelope, event func(int, json.RawMessage) error) (aip.Answer, error) {
	d.posts++
	return d.submit(e, event)
}
func (d *daemon) Cancel(context.Context, string, string) (aip.Result, error) { return d.cancel() }
func (d *daemon) Status(context.Context, string) (aip.Status, json.RawMessage, error) {
	d.statuses++
	if d.status == nil {
		return aip.Status{State: aip.StateUnknown}, nil, nil
	}
	s, err := d.status(d.statuses)
	return s, nil, err
}
func (d *daemon) Result(context.Context, string, func(int, json.RawMessage) error) (aip.Result, error) {
	d.results++
	if d.result == nil {
		return aip.Result{}, &client.Error{HTTPStatus: 503, Code: "action.result_not_ready", Category: "temporary"}
	}
	return d.result(d.results)
}
func (d *daemon) Page(_ context.Context, _, _ string, _ int, event, _ func(json.RawMessage) error) (aip.Page, error) {
	for _, e := range d.events {
		if err := event(e); err != nil {
			return aip.Page{}, err
		}
	}
	return aip.Page{}, nil
}

const action = "act_test"

// desk is an actor over a journal in memory.
func desk(t *testing.T, d *daemon) (act.Actor, *store.Log) {
	t.Helper()
	j, err := store.OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	log, err := j.Log(t.Context(), follow.Source{URL: "http://daemon", Action: action, Route: "r", Credential: "c"})
	if err != nil {
		t.Fatal(err)
	}
	return act.Actor{Daemon: d, Log: log, Action: action, Now: time.Now}, log
}

func kinds(t *testing.T, log *store.Log) []model.RowKind {
	t.Helper()
	rows, err := log.Rows(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var out []model.RowKind
	for _, r := range rows {
		out = append(out, r.Kind)
	}
	return out
}

var request = model.Request{Capability: "cap:hermes_agent:demo:chat_stream", Input: json.RawMessage(`{"prompt":"hi"}`)}

func TestARequestIsInTheJournalBeforeItIsSent(t *testing.T) {
	d := &daemon{}
	a, log := desk(t, d)
	if err := a.Prepare(t.Context(), request, true); err != nil {
		t.Fatal(err)
	}
	if got := kinds(t, log); len(got) != 1 || got[0] != model.RowRequest || d.posts+d.statuses != 0 {
		t.Fatalf("journal %v, %d posts, %d statuses", got, d.posts, d.statuses)
	}
	if err := a.Prepare(t.Context(), request, true); !errors.Is(err, act.ErrKnown) {
		t.Fatalf("prepared twice: %v", err)
	}
}

func TestAnActionThatTheDaemonShowsIsKnown(t *testing.T) {
	for name, d := range map[string]*daemon{
		"by its state":  {status: func(int) (aip.Status, error) { return aip.Status{State: aip.StateRunning}, nil }},
		"by its events": {events: []json.RawMessage{json.RawMessage(`{}`)}},
	} {
		a, log := desk(t, d)
		if err := a.Prepare(t.Context(), request, false); !errors.Is(err, act.ErrKnown) || len(kinds(t, log)) != 0 {
			t.Errorf("%s: %v, journal %v", name, err, kinds(t, log))
		}
	}
}

func TestNothingIsSentWhileTheDaemonCannotSayWhetherItKnowsTheAction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		passing := &client.Error{HTTPStatus: 503, Code: "storage.unavailable", Category: "temporary"}
		d := &daemon{status: func(n int) (aip.Status, error) {
			if n < 4 {
				return aip.Status{}, passing
			}
			return aip.Status{State: aip.StateUnknown}, nil
		}}
		a, _ := desk(t, d)
		if err := a.Prepare(t.Context(), request, false); err != nil || d.statuses != 4 {
			t.Errorf("%v after %d questions", err, d.statuses)
		}
		d = &daemon{status: func(int) (aip.Status, error) { return aip.Status{}, passing }}
		a, log := desk(t, d)
		if err := a.Prepare(t.Context(), request, false); !errors.Is(err, passing) || len(kinds(t, log)) != 0 {
			t.Errorf("a daemon that never says: %v", err)
		}
	})
}

func TestWhatTheAnswerToASubmissionLeavesInTheJournal(t *testing.T) {
	for name, c := range map[string]struct {
		answer aip.Answer
		events int
		err    error
		want   []model.RowKind
		fails  error
	}{
		"an ack":                          {answer: aip.Answer{Ack: &aip.Ack{}}},
		"a stream's result is read later": {answer: aip.Answer{Result: &aip.Result{ActionID: action, Status: "completed"}}, events: 3},
		"a reply's result":                {answer: aip.Answer{Result: &aip.Result{ActionID: action, Status: "failed"}}, want: []model.RowKind{model.RowResult}},
		"another action's result":         {answer: aip.Answer{Result: &aip.Result{ActionID: "act_other", Status: "completed"}}, want: []model.RowKind{model.RowReplay}},
		"a lost answer is not a failure":  {err: errors.New("connection reset")},
		"a passing trouble is not one":    {err: &client.Error{HTTPStatus: 503, Category: "temporary", Code: "storage.unavailable"}},
		"no connection: nothing was sent": {err: &net.OpError{Op: "dial", Err: errors.New("refused")}, fails: act.ErrNotSent, want: []model.RowKind{model.RowSettled}},
		"a refusal is an outcome":         {err: errRefused, want: []model.RowKind{model.RowError, model.RowSettled}, fails: errRefused},
		"one by the web framework, too":   {err: errTooLarge, want: []model.RowKind{model.RowError, model.RowSettled}, fails: errTooLarge},
		"an ID that is another action's":  {err: errTaken, want: []model.RowKind{model.RowError}, fails: errTaken},
		"a message that came before":      {err: errReplayed, want: []model.RowKind{model.RowError}, fails: errReplayed},
		"a page that is not a daemon's":   {err: errPage, want: []model.RowKind{model.RowError}, fails: errPage},
	} {
		t.Run(name, func(t *testing.T) {
			d := &daemon{submit: func(e client.Envelope, event func(int, json.RawMessage) error) (aip.Answer, error) {
				if e.Action.ID != action || e.MessageID == "" || e.Action.CapabilityID != request.Capability {
					t.Errorf("envelope %+v", e)
				}
				for i := range c.events {
					if err := event(i, json.RawMessage(`{}`)); err != nil {
						t.Error(err)
					}
				}
				return c.answer, c.err
			}}
			a, log := desk(t, d)
			if err := a.Post(t.Context(), request); !errors.Is(err, c.fails) || (err != nil) != (c.fails != nil) {
				t.Errorf("post: %v", err)
			}
			if got := kinds(t, log); !slices.Equal(got, c.want) {
				t.Errorf("journal %v, want %v", got, c.want)
			}
			if d.posts != 1 {
				t.Errorf("%d posts", d.posts)
			}
		})
	}
}

var (
	errRefused  = &client.Error{HTTPStatus: 403, Code: "policy.denied", Category: "policy"}
	errTooLarge = &client.Error{HTTPStatus: 413, ContentType: "text/plain"}
	errTaken    = &client.Error{HTTPStatus: 400, Code: "action.id_conflict", Category: "permanent"}
	errReplayed = &client.Error{HTTPStatus: 401, Code: "replay.message_id", Category: "auth"}
	errPage     = &client.Error{HTTPStatus: 200, ContentType: "text/html"}
)

func TestACancelIsBelievedByTheActionsOwnState(t *testing.T) {
	claims := func() (aip.Result, error) { return aip.Result{ActionID: action, Status: aip.ResultCancelled}, nil }
	lost := func() (aip.Result, error) { return aip.Result{}, io.ErrUnexpectedEOF }
	settles := func(status aip.ResultStatus, code string) func(int) (aip.Result, error) {
		return func(int) (aip.Result, error) {
			r := aip.Result{ActionID: action, Status: status}
			if code != "" {
				r.Error = &aip.Error{Code: code}
			}
			return r, nil
		}
	}
	for name, c := range map[string]struct {
		daemon daemon
		want   act.Cancelled
	}{
		"cancelled":              {daemon{cancel: claims, result: settles("cancelled", "")}, act.Cancelled{End: act.EndCancelled, State: "cancelled"}},
		"failed as cancelled":    {daemon{cancel: claims, result: settles("failed", "connector.hermes_agent.cancelled")}, act.Cancelled{End: act.EndCancelled, State: "failed"}},
		"finished before":        {daemon{cancel: claims, result: settles("completed", "")}, act.Cancelled{End: act.EndFinished, State: "completed"}},
		"cancelled while queued": {daemon{cancel: claims, status: state(aip.StateCancelled)}, act.Cancelled{End: act.EndCancelled, State: "cancelled"}},
		"goes on":                {daemon{cancel: claims, status: state(aip.StateRunning)}, act.Cancelled{End: act.EndGoesOn}},
		"refused": {daemon{cancel: func() (aip.Result, error) {
			return aip.Result{}, &client.Error{HTTPStatus: 401, Code: "auth.identity_resolution_failed", Category: "auth"}
		}}, act.Cancelled{End: act.EndRefused, Code: "auth.identity_resolution_failed"}},
		"the answer was lost, it took hold": {daemon{cancel: lost, result: settles("cancelled", "")}, act.Cancelled{End: act.EndCancelled, State: "cancelled"}},
		"the answer was lost, it goes on":   {daemon{cancel: lost, status: state(aip.StateRunning)}, act.Cancelled{End: act.EndLost}},
		"a passing trouble, it took hold": {daemon{status: state(aip.StateCancelled), cancel: func() (aip.Result, error) {
			return aip.Result{}, &client.Error{HTTPStatus: 503, Code: "storage.unavailable", Category: "temporary"}
		}}, act.Cancelled{End: act.EndCancelled, State: "cancelled"}},
		"refused, but over": {daemon{result: settles("completed", ""), cancel: func() (aip.Result, error) {
			return aip.Result{}, &client.Error{HTTPStatus: 401, Code: "auth.not_authorized", Category: "auth"}
		}}, act.Cancelled{End: act.EndFinished, State: "completed"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, log := desk(t, &c.daemon)
				got, err := a.Cancel(t.Context(), "no longer needed")
				why := got.Err
				got.Err = nil
				if err != nil || got != c.want || (why != nil) != (got.End == act.EndRefused || got.End == act.EndLost) {
					t.Errorf("%+v (%v), %v; want %+v", got, why, err, c.want)
				}
				rows := kinds(t, log)
				if rows[0] != model.RowCancel || len(rows) != 2 && !strings.HasPrefix(name, "the answer was lost") && !strings.HasPrefix(name, "a passing trouble") {
					t.Errorf("journal %v", rows)
				}
			})
		})
	}
}

func TestACancelThatReachedNobodyFails(t *testing.T) {
	a, log := desk(t, &daemon{cancel: func() (aip.Result, error) {
		return aip.Result{}, &net.OpError{Op: "dial", Err: errors.New("refused")}
	}})
	if got, err := a.Cancel(t.Context(), "no longer needed"); err == nil || got != (act.Cancelled{}) || len(kinds(t, log)) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func state(s aip.State) func(int) (aip.Status, error) {
	return func(int) (aip.Status, error) { return aip.Status{State: s}, nil }
}
