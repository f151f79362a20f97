package model_test

import (
	"fmt"
	"testing"

	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/turntest"
)

// tell is what the panes show of a turn.
func tell(t *model.Turn) string {
	s := t.Text()
	for _, seg := range t.Segments() {
		s += fmt.Sprintf("\n%d %s %q %v %d-%d", seg.Kind, seg.Message, seg.Text(), seg.Tools, seg.First, seg.Last)
	}
	for _, tool := range t.Tools() {
		s += fmt.Sprintf("\n%s %s %s %d-%d", tool.Key, tool.Name, tool.Status, tool.Started, tool.Ended)
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
	n := len(turn.Entries())
	b.ReportMetric(float64(n), "chunks")
	for b.Loop() {
		turn.UpTo(n)
	}
}
