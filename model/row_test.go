package model

import (
	"testing"
	"time"

	"aipscope/model/aip"
)

func TestARowKnowsWhatItsEventAnnounces(t *testing.T) {
	for raw, want := range map[string]uint64{
		`{"id":"e","kind":"aip.stream.chunk","data":{"sequence":7}}`:  7,
		`{"id":"e","kind":"aip.stream.chunk","data":{"sequence":0}}`:  0,
		`{"id":"e","kind":"aip.stream.chunk","data":{}}`:              1 << 32,
		`{"id":"e","kind":"aip.action.result","data":{"sequence":7}}`: 1 << 32,
	} {
		row, err := DecodeRow(RowEvent, time.Time{}, []byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []Row{row, {Kind: RowEvent, Event: row.Event}} {
			if got, ok := r.Announces(); ok != (want < 1<<32) || ok && got != want {
				t.Errorf("%s: %d, %t", raw, got, ok)
			}
		}
		row.Event = &aip.Event{Kind: aip.EventChunk, Data: []byte(`{"sequence":9}`)}
		if got, ok := row.Announces(); !ok || got != 9 {
			t.Errorf("of another event: %d, %t", got, ok)
		}
	}
}
