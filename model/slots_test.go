package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

func TestSlotsKeepTheirOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	turn := NewTurn("act")
	s := &turn.slots
	var want []int64
	add := func(i int, row int64) {
		turn.insertSlot(i, &Entry{Row: row, Sequence: uint64(row), Segment: -1})
	}
	for step := range int64(3*slotBlock + 700) {
		switch n := len(want); {
		case n > 0 && step%97 == 0:
			i := random.IntN(n)
			add(i, step)
			want = slices.Insert(want, i, step)
		case n > 0 && step%103 == 0, n > 2*slotBlock && n < 2*slotBlock+3 && step%2 == 0: // over a block's edge, too
			i := random.IntN(n)
			s.remove(i)
			want = slices.Delete(want, i, i+1)
		default:
			add(n, step)
			want = append(want, step)
		}
	}
	var got []int64
	for i := range s.n {
		if got = append(got, s.row(i)); s.sequence(i) != uint64(s.row(i)) {
			t.Fatalf("slot %d: row %d, sequence %d", i, s.row(i), s.sequence(i))
		}
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
		{Row: 9 << 40, Sequence: 7, Size: 9, Segment: -1},
		{Row: 5, Sequence: math.MaxUint64, Size: 9, Segment: -1},
		{Row: 5, Sequence: 9, Size: 9 << 20, Segment: -1},
		{Row: 6, Sequence: 10, Segment: -1, frame: hermes.Frame{Family: hermes.FamilyChat, Kind: hermes.KindDelta, Text: strings.Repeat("long ", 20_000)}},
		{Row: 5, Sequence: 7, Recovered: true, sub: -1 << 40, digest: hermes.Digest{1}, Segment: -1, frame: hermes.Frame{Kind: hermes.KindTool, More: &hermes.More{Model: "x"}}},
	} {
		turn.foldEntry(&e)
		turn.insertSlot(i, &e)
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
		if es := turn.Entries(); es.Sequence(i) != e.Sequence || es.Row(i) != e.Row {
			t.Errorf("%d: sequence %d, row %d", i, es.Sequence(i), es.Row(i))
		}
		if inSegment := turn.slots.at(i).whole == nil; inSegment != (i < 2 || i == 5) {
			t.Errorf("%d: held apart: %v", i, !inSegment)
		}
	}
	if got := turn.Entries().Entry(1); got.Text() != "words" || got.Event != "e" || got.Frame != "chat.delta" {
		t.Errorf("%+v", got)
	}
}
