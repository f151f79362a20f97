package model_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/turntest"
)

// tell is what the panes show of a turn.
func tell(t *model.Turn) string {
	first, last := t.Span()
	s := fmt.Sprintf("%q %s %s %s %s %+v %+v %d %v %v", t.Text(), t.FinishReason(), t.ResponseID(), t.SessionID(), t.Model(), t.Usage(), t.Waiting(), t.Chunks(), first, last)
	for _, seg := range t.Segments() {
		s += fmt.Sprintf("\n%d %s %q %v %d-%d", seg.Kind, seg.Message, seg.Text(), seg.Tools, seg.First, seg.Last)
	}
	for _, tool := range t.Tools() {
		s += fmt.Sprintf("\n%+v %v", *tool, tool == t.Tool(tool.Key))
	}
	return s
}

// The past is what a console that stopped there would have shown.
func TestThePastIsTheTurnOfTheRowsUntilThen(t *testing.T) {
	for _, name := range []string{"chat_tools", "responses_tools", "session_stream_approval_once", "runs_approval_events", "session_stream_reasoning"} {
		rows := turntest.Named(t, name).Rows(t)
		whole := model.NewTurn(turntest.Action)
		whole.Apply(rows)
		was := tell(whole)
		short, chunks := model.NewTurn(turntest.Action), 0
		for _, r := range rows {
			if r.Result != nil {
				break
			}
			short.Apply([]model.Row{r})
			if r.Chunk == nil {
				continue
			}
			chunks++
			past := whole.UpTo(chunks)
			if got, want := tell(past), tell(short); got != want {
				t.Fatalf("%s after %d chunks:\n%s\nwant:\n%s", name, chunks, got, want)
			}
			if past.Settled() || past.Chunks() != chunks {
				t.Errorf("%s after %d chunks: settled %v, %d chunks", name, chunks, past.Settled(), past.Chunks())
			}
		}
		if tell(whole) != was {
			t.Errorf("%s: looking back changed the turn", name)
		}
	}
}

// Whatever snapshots there are, and wherever the look goes, it shows what a fold from
// the first entry shows.
func TestThePastFromASnapshotIsThePastFromTheStart(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 6))
	for _, r := range turntest.Recordings(t) {
		rows := r.Rows(t)
		if n := len(rows); turntest.Racing && n > 600 {
			rows = rows[:600]
		}
		spaced := func(n int) *model.Turn {
			turn := model.NewTurn(turntest.Action)
			turn.SpaceSnapshots(n)
			return turn
		}
		const none = 1 << 30
		plain, kept, plainLate, late := spaced(none), spaced(1+random.IntN(40)), spaced(none), spaced(3)
		inBatches := func(turn *model.Turn, rows []model.Row) {
			for len(rows) > 0 {
				n := min(len(rows), 1+random.IntN(9))
				turn.Apply(rows[:n])
				rows = rows[n:]
			}
		}
		plain.Apply(rows)
		inBatches(kept, rows)
		// The answer to a submission may come before the chunks: tools that run have no end then.
		early := spaced(2)
		first := slices.Clone(rows)
		first[0], first[len(first)-1] = first[len(first)-1], first[0]
		for i := range first {
			first[i].Number = int64(i + 1)
		}
		plainEarly := spaced(none)
		plainEarly.Apply(first)
		inBatches(early, first)
		// Each chunk's event behind the chunks that follow it, so that times change under the snapshots.
		mixed := slices.Clone(rows)
		for i := range mixed {
			if j := i + 10; mixed[i].Event != nil && j < len(mixed) {
				mixed[i], mixed[j] = mixed[j], mixed[i]
			}
		}
		for i := range mixed {
			mixed[i].Number = int64(i + 1)
		}
		plainLate.Apply(mixed)
		late.Apply(mixed)
		if kept.Snapshots() == 0 && r.Chunks > 60 {
			t.Errorf("%s: no snapshots of %d chunks", r.Name, r.Chunks)
		}
		was := tell(kept)
		places := []int{0, 1, plain.Entries().Len(), plain.Entries().Len() + 7}
		for range 12 {
			places = append(places, random.IntN(plain.Entries().Len()+1))
		}
		for _, n := range places {
			for _, turns := range [][2]*model.Turn{{kept, plain}, {late, plainLate}, {early, plainEarly}} {
				got, want := turns[0].UpTo(n), turns[1].UpTo(n)
				if tell(got) != tell(want) {
					t.Fatalf("%s, %d entries:\n%s\nwant:\n%s", r.Name, n, tell(got), tell(want))
				}
				if g, w := got.Verdict(), want.Verdict(); !reflect.DeepEqual(g, w) {
					t.Fatalf("%s, %d entries: %+v\nwant %+v", r.Name, n, g, w)
				}
			}
		}
		if tell(kept) != was {
			t.Errorf("%s: looking back changed the turn", r.Name)
		}
	}
}

func TestOtherContentUnderASequenceIsFound(t *testing.T) {
	b := turntest.Builder{TB: t}
	b.Chunk(aip.Chunk{Sequence: 0, Kind: aip.KindData})
	b.Add(model.RowConflict, &aip.Chunk{Sequence: 0, Kind: aip.KindDone})
	turn := model.NewTurn(turntest.Action)
	turn.Apply(b.Rows)
	if got := turn.OtherRows(0); len(got) != 1 || got[0] != b.Rows[len(b.Rows)-1].Number {
		t.Errorf("rows %v", got)
	}
	if got := turn.OtherRows(1); got != nil {
		t.Errorf("rows %v", got)
	}
}

func BenchmarkLookingBack(b *testing.B) {
	turn := model.NewTurn(turntest.Action)
	turn.Apply(turntest.Named(b, "chat_large").Rows(b))
	n := turn.Entries().Len()
	b.ReportMetric(float64(n), "chunks")
	for b.Loop() {
		turn.UpTo(n)
	}
}
