package model

import (
	"cmp"
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
func match(events []string, chunks ...held) (Match, []Recovered) {
	return matchGrowing(events, len(chunks), chunks...)
}

// matchGrowing has only so many of the chunks come before the events are read.
func matchGrowing(events []string, before int, chunks ...held) (Match, []Recovered) {
	var frames Frames
	for _, c := range chunks[:before] {
		frames.add(c)
	}
	m := NewMatcher(&frames)
	for _, e := range events {
		m.Event(record(e).Digest())
	}
	for _, c := range chunks[before:] {
		frames.add(c)
	}
	got := m.Match()
	var back []Recovered
	for i, e := range events {
		if r, ok := m.Recover(i, record(e)); ok {
			back = append(back, r)
		}
	}
	return got, back
}

func chunk(seq uint64, s string) held { return held{seq, record(s).Digest()} }

func TestMatch(t *testing.T) {
	list := func(s ...string) []string { return s }
	for _, c := range []struct {
		name   string
		events []string
		chunks []held
		want   Match
		places string // index, after or -, of each recovered event
	}{
		{"nothing at all", nil, nil, Match{}, ""},
		{"every chunk came", list("a", "b", "c"), []held{chunk(0, "a"), chunk(1, "b"), chunk(2, "c")}, Match{Events: 3, Matched: 3}, ""},
		{"sequences may start anywhere and have gaps", list("a", "b"), []held{chunk(7, "a"), chunk(90, "b")}, Match{Events: 2, Matched: 2}, ""},
		{"chunks in another order of arrival", list("a", "b"), []held{chunk(1, "b"), chunk(0, "a")}, Match{Events: 2, Matched: 2}, ""},
		{"no chunk came", list("a", "b"), nil, Match{Events: 2, Missing: 2}, "0- 1-"},
		{"holes at all places", list("a", "b", "c", "d", "e"), []held{chunk(1, "b"), chunk(3, "d")}, Match{Events: 5, Matched: 2, Missing: 3}, "0- 2@1 4@3"},
		{"equal contents", list("a", "a", "a"), []held{chunk(4, "a")}, Match{Events: 3, Matched: 1, Missing: 2}, "1@4 2@4"},
		{"one chunk is unlike, the others still match", list("a", "b", "c"), []held{chunk(0, "a"), chunk(1, "x"), chunk(2, "c")},
			Match{Events: 3, Matched: 2, Missing: 1, Unlike: []uint64{1}}, "1@0"},
		{"more chunks than events", list("a"), []held{chunk(0, "a"), chunk(1, "a")}, Match{Events: 1, Matched: 1, Unlike: []uint64{1}}, ""},
		{"an order that differs", list("a", "b"), []held{chunk(0, "b"), chunk(1, "a")}, Match{Events: 2, Matched: 1, Missing: 1, Unlike: []uint64{1}}, "0-"},
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
		var chunks []held
		content := map[uint64]string{}
		for i := range rng.IntN(40) {
			e := string(rune('a' + rng.IntN(4)))
			events = append(events, e)
			if rng.IntN(3) > 0 {
				seq := uint64(2*i + 5)
				chunks = append(chunks, chunk(seq, e))
				content[seq] = e
			}
		}
		rng.Shuffle(len(chunks), func(i, j int) { chunks[i], chunks[j] = chunks[j], chunks[i] })
		got, back := matchGrowing(events, rng.IntN(len(chunks)+1), chunks...)
		if got.Unlike != nil || got.Matched != len(chunks) || got.Missing != len(events)-len(chunks) {
			t.Fatalf("%q against %v: %+v", events, content, got)
		}
		slices.SortFunc(chunks, func(a, b held) int { return cmp.Compare(a.sequence, b.sequence) })
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
			restored = append(restored, content[c.sequence])
			take(false, c.sequence)
		}
		if !slices.Equal(restored, events) {
			t.Fatalf("restored %q, want %q", restored, events)
		}
	}
}

// A million frames are held in blocks and runs, and come back in any order of arrival.
func TestFramesAreSortedBySequence(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, shuffled := range []bool{false, true} {
		var frames Frames
		var want []held
		for i := range uint64(2*frameBlock + 9) {
			want = append(want, chunk(i+i/100, fmt.Sprint(i)))
		}
		arrived := slices.Clone(want)
		if shuffled {
			rng.Shuffle(len(arrived), func(i, j int) { arrived[i], arrived[j] = arrived[j], arrived[i] })
		}
		for _, h := range arrived {
			frames.add(h)
		}
		if got := slices.Collect(frames.all); !slices.Equal(got, arrived) {
			t.Errorf("shuffled %v: another order of arrival", shuffled)
		}
		if got := slices.Collect(frames.sorted().all); !slices.Equal(got, want) {
			t.Errorf("shuffled %v: another order of sequence", shuffled)
		}
	}
}

func TestRecoverRefusesAnotherRecord(t *testing.T) {
	m := NewMatcher(new(Frames))
	m.Event(record("a").Digest())
	m.Match()
	if _, ok := m.Recover(0, record("b")); ok {
		t.Error("another content was taken for the missing event")
	}
	if _, ok := m.Recover(3, record("a")); ok {
		t.Error("an event that there is not was recovered")
	}
}

func TestWhichChunksAreMatched(t *testing.T) {
	for data, want := range map[string]bool{
		`{"hermes_sse":{"event":null,"data":{"a":1},"raw_data":"{\"a\":1}"}}`:                  true,
		`{"hermes_sse":{"event":"ping","data":null}}`:                                          true,
		`{"operation":"chat_stream","reason":"upstream_stream_closed_without_terminal_event"}`: false,
		`{"hermes_operator":{"event":"run.completed"}}`:                                        false,
		`{"hermes_sse":{"redacted":true}}`:                                                     false,
		`{"hermes_sse":null}`:                                                                  true,
		``:                                                                                     true,
	} {
		var frames Frames
		if frames.Add(&Row{Chunk: &aip.Chunk{Data: json.RawMessage(data)}}); frames.Len() == 1 != want {
			t.Errorf("%s: %d", data, frames.Len())
		}
	}
}
