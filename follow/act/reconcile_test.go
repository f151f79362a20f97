package act_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aipscope/follow/aipd"
	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/hermes"
)

func TestReconcilingReadsTheActionThenTheProviderOnce(t *testing.T) {
	o := newOffice(t, aipd.Options{Poll: time.Millisecond})
	const id = "act_left"
	run(t, o, id, hermes.OpResponsesStream, `{"body":{"input":"x"},"recording":"responses_disconnect"}`)
	// The journal holds the request alone: the chunks are read first.
	r, err := o.Reconcile(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if r.Before.Word != model.Pending || r.Verdict.Word != model.Incomplete || len(r.Evidence) != 1 || r.Evidence[0].State != model.ProviderIncomplete ||
		r.Evidence[0].Text != model.LikeSame || r.Status.State != aip.StateFailed || r.Result != "failed" || r.Escalate {
		t.Errorf("%+v", r)
	}
	if got := o.calls(); got != "map[response_get:1 responses_stream:1]" {
		t.Error(got)
	}
	if r.Evidence[0].Action == id || r.Evidence[0].Action == "" {
		t.Errorf("read by %q", r.Evidence[0].Action)
	}
	// Again: one more read, and no more of the turn.
	if r, err = o.Reconcile(t.Context(), id); err != nil || r.Before.Word != model.Incomplete {
		t.Errorf("%+v %v", r, err)
	}
	if got := o.calls(); got != "map[response_get:2 responses_stream:1]" {
		t.Error(got)
	}
}

func TestReconcilingAsksOnceWhateverTheReadAnswers(t *testing.T) {
	o := newOffice(t, aipd.Options{Poll: time.Millisecond, Fail: failing(hermes.OpResponseGet, hermes.StatusFailure(hermes.OpResponseGet, 503), 99)})
	const id = "act_left"
	run(t, o, id, hermes.OpResponsesStream, `{"body":{"input":"x"},"recording":"responses_disconnect"}`)
	r, err := o.Reconcile(t.Context(), id)
	if err != nil || r.Evidence[0].State != model.ProviderUnread || !r.Escalate || len(o.waited) != 0 || o.calls() != "map[response_get:1 responses_stream:1]" {
		t.Errorf("%+v %v %s", r, err, o.calls())
	}
}

func TestReconcilingAnUnknownActionMakesNothingUp(t *testing.T) {
	o := newOffice(t, aipd.Options{})
	r, err := o.Reconcile(t.Context(), "act_never")
	if err != nil || len(r.Evidence) != 0 || r.Escalate || !strings.Contains(r.Finding, "neither the journal nor the daemon") || o.calls() != "map[]" {
		t.Errorf("%+v %v %s", r, err, o.calls())
	}
}

func TestReconcilingALiveActionReadsWhatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, aipd.Options{Speed: 1})
		const id = "act_live"
		done := make(chan struct{})
		go func() {
			defer close(done)
			run(t, o, id, hermes.OpResponsesStream, `{"body":{"input":"x"},"recording":"responses_tools"}`)
		}()
		time.Sleep(200 * time.Millisecond)
		r, err := o.Reconcile(t.Context(), id)
		if err != nil || r.Verdict.Word != model.Pending || len(r.Evidence) != 1 || r.Evidence[0].State != model.ProviderInProgress || r.Escalate {
			t.Errorf("%+v %v", r, err)
		}
		<-done
	})
}
