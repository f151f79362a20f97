package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"aipscope/follow"
	"aipscope/follow/act"
	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/turntest"
)

// A daemon may offer less than the connector publishes, or ask for more.
func TestModeAndKeyAreThoseThatTheDaemonOffers(t *testing.T) {
	for name, c := range map[string]struct {
		offer      act.Offer
		given      string
		mode, key  string
		want       string
		wants, err string
	}{
		"nothing is known":               {mode: "streaming", want: "streaming"},
		"it is offered":                  {offer: act.Offer{Contract: aip.Contract{Modes: []string{"sync", "streaming"}}}, mode: "streaming", want: "streaming"},
		"the usual one is not offered":   {offer: act.Offer{Contract: aip.Contract{Modes: []string{"sync"}}}, mode: "streaming", want: "sync"},
		"the one asked for is not":       {offer: act.Offer{Contract: aip.Contract{ID: "cap:x", Modes: []string{"sync"}}}, given: "async", mode: "async", err: "mode: the daemon offers cap:x in mode sync, not async"},
		"a key that the daemon requires": {offer: act.Offer{Contract: aip.Contract{Key: "required"}}, mode: "sync", want: "sync", wants: "idempotency key aipscope-"},
		"a key that was given":           {offer: act.Offer{Contract: aip.Contract{Key: "required"}}, mode: "sync", key: "mine", want: "sync"},
	} {
		var said bytes.Buffer
		d := &desk{app: &app{err: &said}}
		req := model.Request{Mode: c.mode, IdempotencyKey: c.key}
		err := d.fit(&req, c.offer, c.given)
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || req.Mode != c.want || !strings.Contains(said.String(), c.wants) || c.wants == "" && said.Len() > 0:
			t.Errorf("%s: %+v, %v, %q", name, req, err, said.String())
		case c.key != "" && req.IdempotencyKey != c.key, c.wants != "" && !strings.Contains(said.String(), req.IdempotencyKey):
			t.Errorf("%s: key %q, said %q", name, req.IdempotencyKey, said.String())
		}
	}
}

// Without a terminal, too, an approval is told of when it is asked for.
func TestTextTellsOfApprovalsAsTheyArrive(t *testing.T) {
	rows := turntest.Named(t, "runs_approval_events").Rows(t)
	var out, said bytes.Buffer
	p := &textPrinter{out: &out, err: &said, turn: model.NewTurn(turntest.Action)}
	for i := range rows {
		if err := p.batch(follow.Batch{Rows: rows[i : i+1]}); err != nil {
			t.Fatal(err)
		}
	}
	if got := said.String(); strings.Count(got, "the turn waits: an approval was asked in chunk ") != 1 {
		t.Errorf("said %q", got)
	}

	said.Reset()
	p = &textPrinter{out: &out, err: &said, turn: model.NewTurn(turntest.Action)}
	b := turntest.Builder{TB: t}
	for _, status := range []aip.State{aip.StatePendingApproval, aip.StatePendingApproval, aip.StateRunning} {
		b.Add(model.RowStatus, &aip.Status{ActionID: turntest.Action, State: status})
	}
	for i := range b.Rows {
		if err := p.batch(follow.Batch{Rows: b.Rows[i : i+1]}); err != nil {
			t.Fatal(err)
		}
	}
	if got := said.String(); got != "aipscope: "+turntest.Action+" waits for an approval; nothing runs until somebody decides\n" {
		t.Errorf("said %q", got)
	}
}

func TestInputThatIsTooLargeIsNotCut(t *testing.T) {
	large := strings.NewReader(strings.Repeat(" ", maxInput) + "{}")
	a := &app{in: large}
	if _, _, err := a.readText("-", "--input"); err == nil || !strings.Contains(err.Error(), "standard input: it is larger than 16777216 bytes") {
		t.Error(err)
	}
	file := t.TempDir() + "/input"
	if err := os.WriteFile(file, bytes.Repeat([]byte("x"), maxInput+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.readText("@"+file, "--input"); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Error(err)
	}
}
