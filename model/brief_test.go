package model_test

import (
	"reflect"
	"testing"
	"time"

	"aipscope/model"
	"aipscope/model/hermes"
	"aipscope/model/turntest"
)

// A row that was kept in brief tells a turn and a match all that the row itself
// does, whatever the operation.
func TestARowInBriefTellsWhatTheRowDoes(t *testing.T) {
	told := 0
	for _, rec := range turntest.Recordings(t) {
		rows := rec.Rows(t)
		var made model.Briefs
		var whole, brief model.Frames
		for i := range rows {
			r := &rows[i]
			b, ok := model.BriefOf(r)
			if !ok {
				continue
			}
			told++
			again := made.Row(r.Kind, r.Number, r.At, &b, 7)
			if again.Number != r.Number || again.Kind != r.Kind || !again.At.Equal(r.At) || again.Size() != r.Size() {
				t.Fatalf("%s: %+v became %+v", rec.Name, r, again)
			}
			if r.Kind == model.RowEvent {
				got, ok := again.Announces()
				if want, _ := r.Announces(); !ok || got != want || !again.Event.OccurredAt.Equal(r.Event.OccurredAt.Time) {
					t.Fatalf("%s: event of %d became one of %d", rec.Name, want, got)
				}
				continue
			}
			whole.Add(r)
			brief.Add(&again)
			sameFrames(t, rec.Name, r, &again)
			if again.Chunk.Sequence != r.Chunk.Sequence || again.Chunk.Kind != r.Chunk.Kind || again.Content().Digest() != r.Content().Digest() {
				t.Fatalf("%s: chunk %d became %+v", rec.Name, r.Chunk.Sequence, again.Chunk)
			}
		}
		if !reflect.DeepEqual(whole, brief) {
			t.Errorf("%s: frames differ", rec.Name)
		}
	}
	if told == 0 {
		t.Error("nothing can be told in brief")
	}
}

// sameFrames fails unless a row, decoded anew, and what was made of it in brief hold the
// same frame for every operation.
func sameFrames(t *testing.T, name string, r, again *model.Row) {
	t.Helper()
	plain, err := model.DecodeRow(r.Kind, r.At, r.Raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range []hermes.Operation{"", hermes.OpChatStream, hermes.OpResponsesStream, hermes.OpSessionChatStream, hermes.OpRunEvents, hermes.OpOperator} {
		want := plain.Content().Frame(op)
		for _, got := range []hermes.Frame{again.Content().Frame(op), r.Content().Frame(op)} {
			if got != want {
				t.Fatalf("%s, chunk %d as %q: %+v, want %+v", name, r.Chunk.Sequence, op, got, want)
			}
		}
	}
}

func FuzzBrief(f *testing.F) {
	for _, rec := range turntest.Recordings(f) {
		for i, r := range rec.Rows(f) {
			if r.Kind == model.RowChunk && i%17 == 0 {
				f.Add([]byte(r.Raw))
			}
		}
	}
	f.Add([]byte(`{"sequence":1,"kind":"data","data":{"hermes_sse":{"event":null,"data":{"event":"message.delta","delta":"x"},"raw_data":"{}"}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := model.DecodeRow(model.RowChunk, time.Time{}, raw)
		if err != nil {
			return
		}
		b, ok := model.BriefOf(&r)
		if !ok {
			return
		}
		var made model.Briefs
		var whole, brief model.Frames
		again := made.Row(r.Kind, r.Number, r.At, &b, 0)
		whole.Add(&r)
		brief.Add(&again)
		if sameFrames(t, "", &r, &again); !reflect.DeepEqual(whole, brief) {
			t.Errorf("%s is matched otherwise", raw)
		}
	})
}
