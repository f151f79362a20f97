package model

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

func TestSlotsKeepTheirOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var s slots
	var want []int64
	for step := range int64(3*slotBlock + 700) {
		switch n := len(want); {
		case n > 0 && step%97 == 0:
			i := random.IntN(n)
			s.insert(i, slot{row: step})
			want = slices.Insert(want, i, step)
		case n > 0 && step%103 == 0, n > 2*slotBlock && n < 2*slotBlock+3 && step%2 == 0: // over a block's edge, too
			i := random.IntN(n)
			s.remove(i)
			want = slices.Delete(want, i, i+1)
		default:
			s.add(slot{row: step})
			want = append(want, step)
		}
	}
	var got []int64
	for i := range s.n {
		got = append(got, s.at(i).row)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d slots, want %d, or another order", len(got), len(want))
	}
}

// What is packed is unpacked as it was, in a segment or not.
func TestAnEntryIsTheSameAfterPacking(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 678_901_234, time.UTC)
	turn := NewTurn("act")
	for i, e := range []Entry{
		{Row: 1, Sequence: 4, Kind: aip.KindData, Size: 9, At: at, Timed: true, Segment: -1, frame: hermes.Frame{Family: hermes.FamilyChat, Kind: hermes.KindDelta, Text: "the "}},
		{Row: 2, Sequence: 5, Kind: "odd", Conflict: true, Segment: -1, frame: hermes.Frame{Family: hermes.FamilyChat, Kind: hermes.KindDelta, Text: "words", Name: "e"}},
		{Row: 3, Sequence: 6, Segment: -1, frame: hermes.Frame{Family: hermes.FamilySession, Kind: hermes.KindDelta, Text: "of another family", Message: "m"}},
		{Row: 4, Sequence: 7, At: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), Segment: -1, frame: hermes.Frame{Kind: hermes.KindRole, Message: "m"}},
		{Row: 5, Sequence: 7, Recovered: true, sub: -1 << 40, digest: hermes.Digest{1}, Segment: -1, frame: hermes.Frame{Kind: hermes.KindTool, More: &hermes.More{Model: "x"}}},
	} {
		turn.foldEntry(&e)
		turn.slots.add(turn.pack(&e))
		if e.At.Year() == 9999 {
			e.At = time.Time{} // no clock shows it
		}
		e.digest = hermes.Digest{}
		if e.Recovered {
			e.digest = hermes.Digest{1}
		}
		if got := turn.unpack(i, turn.segments); got != e {
			t.Errorf("%d: %+v, want %+v", i, got, e)
		}
		if inSegment := turn.slots.at(i).rare == nil; inSegment != (i < 2) {
			t.Errorf("%d: held apart: %v", i, !inSegment)
		}
	}
	if got := turn.Entries().Entry(1); got.Text() != "words" || got.Event != "e" || got.Frame != "chat.delta" {
		t.Errorf("%+v", got)
	}
}
