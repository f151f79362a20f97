package model

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

func record(s string) hermes.Record { return hermes.Record{RawData: &s, Data: json.RawMessage(`null`)} }

// match plays the two passes over an aggregate: digests first, then the records
// of what is missing. Chunks are written sequence:content.
func match(events []string, chunks ...Held) (Match, []Recovered) {
	var m Matcher
	for _, e := range events {
		m.Event(record(e).Digest())
	}
	got := m.Against(chunks)
	var back []Recovered
	for i, e := range events {
		if r, ok := m.Recover(i, record(e)); ok {
			back = append(back, r)
		}
	}
	return got, back
}

func held(seq uint64, s string) Held { return Held{seq, record(s).Digest()} }

func TestMatch(t *testing.T) {
	list := func(s ...string) []string { return s }
	for _, c := range []struct {
		name   string
		events []string
		chunks []Held
		want   Match
		places string // index, after or -, of each recovered event
	}{
		{"nothing at all", nil, nil, Match{}, ""},
		{"every chunk came", list("a", "b", "c"), []Held{held(0, "a"), held(1, "b"), held(2, "c")}, Match{Events: 3, Matched: 3}, ""},
		{"sequences may start anywhere and have gaps", list("a", "b"), []Held{held(7, "a"), held(90, "b")}, Match{Events: 2, Matched: 2}, ""},
		{"chunks in another order of arrival", list("a", "b"), []Held{held(1, "b"), held(0, "a")}, Match{Events: 2, Matched: 2}, ""},
		{"no chunk came", list("a", "b"), nil, Match{Events: 2, Missing: 2}, "0- 1-"},
		{"holes at all places", list("a", "b", "c", "d", "e"), []Held{held(1, "b"), held(3, "d")}, Match{Events: 5, Matched: 2, Missing: 3}, "0- 2@1 4@3"},
		{"equal contents", list("a", "a", "a"), []Held{held(4, "a")}, Match{Events: 3, Matched: 1, Missing: 2}, "1@4 2@4"},
		{"one chunk is unlike, the others still match", list("a", "b", "c"), []Held{held(0, "a"), held(1, "x"), held(2, "c")},
			Match{Events: 3, Matched: 2, Missing: 1, Unlike: []uint64{1}}, "1@0"},
		{"more chunks than events", list("a"), []Held{held(0, "a"), held(1, "a")}, Match{Events: 1, Matched: 1, Unlike: []uint64{1}}, ""},
		{"an order that differs", list("a", "b"), []Held{held(0, "b"), held(1, "a")}, Match{Events: 2, Matched: 1, Missing: 1, Unlike: []uint64{1}}, "0-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, back := match(c.events, c.chunks...)
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			places := ""
			for i, r := range back {
				if i > 0 {
					places += " "
				}
				if places += fmt.Sprint(r.Index); r.First {
					places += "-"
				} else {
					places += fmt.Sprint("@", r.After)
				}
				if *r.Record.RawData != c.events[r.Index] {
					t.Errorf("event %d recovered as %q", r.Index, *r.Record.RawData)
				}
			}
			if places != c.places {
				t.Errorf("recovered %q, want %q", places, c.places)
			}
		})
	}
}

// Whatever chunks are lost, chunks and recovered events together are the
// aggregate again, in its order.
func TestMatchRestoresTheAggregate(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var events []string
		var chunks []Held
		content := map[uint64]string{}
		for i := range rng.IntN(40) {
			e := string(rune('a' + rng.IntN(4)))
			events = append(events, e)
			if rng.IntN(3) > 0 {
				seq := uint64(2*i + 5)
				chunks = append(chunks, held(seq, e))
				content[seq] = e
			}
		}
		rng.Shuffle(len(chunks), func(i, j int) { chunks[i], chunks[j] = chunks[j], chunks[i] })
		got, back := match(events, chunks...)
		if got.Unlike != nil || got.Matched != len(chunks) || got.Missing != len(events)-len(chunks) {
			t.Fatalf("%q against %v: %+v", events, content, got)
		}
		slices.SortFunc(chunks, bySequence)
		var restored []string
		take := func(first bool, after uint64) {
			for _, r := range back {
				if r.First == first && r.After == after {
					restored = append(restored, *r.Record.RawData)
				}
			}
		}
		take(true, 0)
		for _, c := range chunks {
			restored = append(restored, content[c.Sequence])
			take(false, c.Sequence)
		}
		if !slices.Equal(restored, events) {
			t.Fatalf("restored %q, want %q", restored, events)
		}
	}
}

func TestRecoverRefusesAnotherRecord(t *testing.T) {
	var m Matcher
	m.Event(record("a").Digest())
	m.Against(nil)
	if _, ok := m.Recover(0, record("b")); ok {
		t.Error("another content was taken for the missing event")
	}
	if _, ok := m.Recover(3, record("a")); ok {
		t.Error("an event that there is not was recovered")
	}
}

func TestHeldOf(t *testing.T) {
	for data, want := range map[string]bool{
		`{"hermes_sse":{"event":null,"data":{"a":1},"raw_data":"{\"a\":1}"}}`:                  true,
		`{"hermes_sse":{"event":"ping","data":null}}`:                                          true,
		`{"operation":"chat_stream","reason":"upstream_stream_closed_without_terminal_event"}`: false,
		`{"hermes_operator":{"event":"run.completed"}}`:                                        false,
		`{"hermes_sse":{"redacted":true}}`:                                                     false,
		`{"hermes_sse":null}`:                                                                  true,
		``:                                                                                     true,
	} {
		if _, ok := HeldOf(&Row{Chunk: &aip.Chunk{Data: json.RawMessage(data)}}); ok != want {
			t.Errorf("%s: %v", data, ok)
		}
	}
}
