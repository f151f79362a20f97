package aipd

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"aipscope/model/aip"
)

func TestActionsTakeTheirRecordingsTime(t *testing.T) {
	took := func(speed float64) (d time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			c := serve(t, Options{Speed: speed})
			began := time.Now()
			c.result(act{id: "act_1", op: "chat_stream", mode: "streaming", input: `{"prompt":"hi"}`})
			d = time.Since(began)
		})
		return d
	}
	if natural, fast := took(1), took(4); natural < 2*time.Second || (fast-natural/4).Abs() > 10*time.Millisecond {
		t.Errorf("natural %v, four times faster %v", natural, fast)
	}
	if none := took(0); none != 0 {
		t.Errorf("without waiting %v", none)
	}
}

func TestTheClockIsTheOptions(t *testing.T) {
	at := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	var slept time.Duration
	c := serve(t, Options{Speed: 1, Clock: func() time.Time { return at.Add(slept) }, Sleep: func(ctx context.Context, d time.Duration) error {
		slept += d
		return ctx.Err()
	}})
	a := act{id: "act_1", op: "chat_stream", mode: "streaming", input: `{"recording":"chat_tools"}`}
	if status, err := c.refused("POST", "/aip/v1/messages", "application/json", a.envelope(time.Now())); status != 401 || err.Code != "replay.message_id" {
		t.Errorf("by the machine's clock: %d %+v", status, err)
	}
	if status, _, body := c.do("POST", "/aip/v1/messages", "application/json", a.envelope(at)); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	p := c.page("act_1", "limit=1000")
	first, last := p.Events[0].OccurredAt.Time, p.Events[len(p.Events)-1].OccurredAt.Time
	if first.Before(at) || last.Sub(first) < 2*time.Second || last.Sub(at) != slept {
		t.Errorf("from %v to %v, slept %v", first, last, slept)
	}
}

func TestStreamsAreAboutTheObjectThatIsAskedFor(t *testing.T) {
	c := serve(t, Options{})
	for input, status := range map[string]aip.ResultStatus{
		`{"run_id":"run_cadadc18182b46e5b19276a045a47f9d"}`: aip.ResultCancelled,
		`{"run_id":"run_c9e85f9517754de8a843310fda783fdd"}`: aip.ResultFailed,
		`{"run_id":"run_unknown"}`:                          aip.ResultCompleted,
	} {
		if r := c.result(act{id: newID("act_"), op: "run_events", mode: "streaming", input: input}); r.Status != status {
			t.Errorf("%s: %s", input, r.Status)
		}
	}
}
