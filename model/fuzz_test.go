package model_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"testing"

	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/hermes"
	"aipscope/model/turntest"
)

// withoutRows is a turn's picture but for the numbers of rows, which follow the
// order of arrival.
func withoutRows(t *model.Turn) any {
	p := picture(t).([]any)
	tools := p[1].([]model.Tool)
	for i := range tools {
		tools[i].Row = 0
	}
	return p
}

// keepsItsPromises holds the reducer against a journal: cut into any batches,
// repeated in part, or in another order of arrival, its rows give one picture; and
// nothing is accepted but what every condition passes.
func keepsItsPromises(t *testing.T, rows []model.Row, r *rand.Rand) {
	t.Helper()
	whole := turnOf(rows)
	want := picture(whole)

	batches := model.NewTurn(turntest.Action)
	for from := 0; from < len(rows); {
		to := min(len(rows), from+1+r.IntN(9))
		batches.Apply(rows[max(0, from-r.IntN(4)):to])
		batches.Verdict()
		from = to
	}
	if got := picture(batches); !reflect.DeepEqual(got, want) {
		t.Fatalf("in batches:\n%+v\nat once:\n%+v", got, want)
	}
	whole.Apply(rows[:r.IntN(len(rows)+1)])
	if got := picture(whole); !reflect.DeepEqual(got, want) {
		t.Fatalf("a part again:\n%+v\nonce:\n%+v", got, want)
	}

	// Chunks and their events in another order of arrival, each sequence's conflicts behind it.
	mixed := append([]model.Row{}, rows...)
	for range len(mixed) {
		i := r.IntN(len(mixed))
		if i+1 < len(mixed) && moves(mixed[i]) && moves(mixed[i+1]) && !(mixed[i].Kind != mixed[i+1].Kind && sequenceOf(mixed[i]) == sequenceOf(mixed[i+1])) {
			mixed[i], mixed[i+1] = mixed[i+1], mixed[i]
		}
	}
	again := model.NewTurn(turntest.Action)
	for i := range mixed {
		mixed[i].Number = int64(i + 1)
		again.Apply(mixed[i : i+1])
	}
	if got, want := withoutRows(again), withoutRows(turnOf(rows)); !reflect.DeepEqual(got, want) {
		t.Fatalf("in another order:\n%+v\nas it was:\n%+v", got, want)
	}

	v := whole.Verdict()
	if v.Word != model.Accepted {
		return
	}
	if res := whole.Result(); res == nil || res.Status != aip.ResultCompleted {
		t.Fatalf("accepted without a completed result: %+v", v)
	}
	for _, c := range v.Conditions {
		if c.Mark != model.Pass && c.Mark != model.NotApplicable {
			t.Fatalf("accepted although %s is %s (%s)", c.Name, c.Mark, c.Detail)
		}
	}
	if len(whole.Conflicts()) > 0 || len(whole.Tools()) > 0 || whole.FinishReason() != "stop" && whole.FinishReason() != "completed" {
		t.Fatalf("accepted: conflicts %v, tools %v, finish %q", whole.Conflicts(), whole.Tools(), whole.FinishReason())
	}
}

func TestJournalsThatWentWrongKeepOnePicture(t *testing.T) {
	rounds, _ := strconv.Atoi(os.Getenv("ROUNDS"))
	for _, rec := range turntest.Recordings(t) {
		if rec.Chunks > 200 {
			continue
		}
		rows := rec.Rows(t)
		for seed := range uint64(max(rounds, 4)) {
			r := rand.New(rand.NewPCG(seed, uint64(len(rows))))
			t.Run(fmt.Sprintf("%s/%d", rec.Name, seed), func(t *testing.T) { keepsItsPromises(t, turntest.Mutate(t, rows, r), r) })
		}
	}
}

// FuzzTurn is that for any provider's bytes.
func FuzzTurn(f *testing.F) {
	ops := []hermes.Operation{hermes.OpChatStream, hermes.OpResponsesStream, hermes.OpSessionChatStream, hermes.OpRunEvents}
	for i, rec := range turntest.Recordings(f) {
		body, err := os.ReadFile(rec.Path)
		if err != nil {
			f.Fatal(err)
		}
		if len(body) > 12_000 {
			continue
		}
		for n, op := range ops {
			if op == rec.Operation {
				f.Add(body, uint8(n), uint64(i))
			}
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, n uint8, seed uint64) {
		if len(body) > 32<<10 || !turntest.Readable(body) {
			t.Skip()
		}
		r := rand.New(rand.NewPCG(seed, 1))
		rows := turntest.Mutate(t, turntest.Rows(t, ops[int(n)%len(ops)], body), r)
		keepsItsPromises(t, rows, r)
	})
}

func moves(r model.Row) bool { return r.Kind == model.RowChunk || r.Kind == model.RowConflict }

func sequenceOf(r model.Row) uint64 { return r.Chunk.Sequence }
