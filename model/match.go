package model

import (
	"slices"
	"sort"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// Held is what a journal holds of one provider frame: the sequence of its chunk
// and the identity of its content.
type Held struct {
	Sequence uint64
	Digest   hermes.Digest
}

// HeldOf returns what a chunk's row contributes to a match, or false for a chunk that no
// event of an aggregate answers to: the connector's closing error and an
// operator's event, which have no provider frame (wire/hermes.md A.6, A.10), or
// one whose content was redacted. Any other chunk without a provider frame is
// like no event.
func HeldOf(row *Row) (Held, bool) {
	c, content := row.Chunk, row.Content()
	rec, ok := content.Record()
	switch {
	case !ok && (content.Unframed() || aip.Redacted(c.Data)):
		return Held{}, false
	case !ok:
		return Held{Sequence: c.Sequence}, true
	case rec.RawData == nil && (aip.Redacted(rec.Data) || len(rec.Data) == 0 && hermes.RedactedFrame(c.Data)):
		return Held{}, false
	}
	return Held{c.Sequence, content.Digest()}, true
}

// Matcher compares the events of an aggregate, as they are read, with the chunks
// of a journal. It holds digests only; the records of events whose chunk never
// came are asked for again by index (Recover).
type Matcher struct {
	events  []hermes.Digest
	unread  int
	missing []place // ascending by index, after Against
}

type place struct {
	index int
	first bool
	after uint64
}

// Event adds the aggregate's next event.
func (m *Matcher) Event(d hermes.Digest) { m.events = append(m.events, d) }

// Empty reports whether there was no event at all.
func (m *Matcher) Empty() bool { return len(m.events)+m.unread == 0 }

// Unread counts an event that cannot be compared, because it was redacted.
func (m *Matcher) Unread() { m.unread++ }

// Against matches the events with the chunks in the order of their sequence.
// Both orders are kept: a chunk is matched with the first event of its content
// behind the event of the chunk before it. Chunks that find none are unlike,
// events that are found by none are missing. Beside an event that was redacted
// neither can be told, and only what matches is counted.
func (m *Matcher) Against(held []Held) Match {
	if !slices.IsSortedFunc(held, bySequence) {
		held = slices.Clone(held)
		slices.SortFunc(held, bySequence)
	}
	find := m.finder()
	result := Match{Events: len(m.events) + m.unread, Unread: m.unread}
	m.missing = nil
	at, first, after := 0, true, uint64(0) // of the next event, and of the last chunk that was matched
	lack := func(until int) {
		for ; at < until; at++ {
			m.missing = append(m.missing, place{at, first, after})
		}
	}
	for _, h := range held {
		i, ok := find(h.Digest, at)
		if !ok && m.unread > 0 {
			continue
		}
		if !ok {
			result.Unlike = append(result.Unlike, h.Sequence)
			continue
		}
		lack(i)
		result.Matched++
		at, first, after = i+1, false, h.Sequence
	}
	if lack(len(m.events)); m.unread > 0 {
		m.missing = nil
	}
	result.Missing = len(m.missing)
	return result
}

// Recover returns the recovered event for record index of the aggregate, or
// false if its chunk is held, or if it is not the record that was matched.
func (m *Matcher) Recover(index int, r hermes.Record) (Recovered, bool) {
	i, found := sort.Find(len(m.missing), func(i int) int { return index - m.missing[i].index })
	if !found || m.events[index] != r.Digest() {
		return Recovered{}, false
	}
	p := m.missing[i]
	return Recovered{First: p.first, After: p.after, Index: index, Record: r}, true
}

// finder returns a function that finds the first event of a content at or behind
// an index. Nearly always that is the event at the index itself; only when it
// is not, the events are indexed.
func (m *Matcher) finder() func(d hermes.Digest, from int) (int, bool) {
	var index map[hermes.Digest][]int32
	return func(d hermes.Digest, from int) (int, bool) {
		if from < len(m.events) && m.events[from] == d {
			return from, true
		}
		if index == nil {
			index = make(map[hermes.Digest][]int32)
			for i, e := range m.events {
				index[e] = append(index[e], int32(i))
			}
		}
		at := index[d]
		i, _ := slices.BinarySearch(at, int32(from))
		if i == len(at) {
			return 0, false
		}
		return int(at[i]), true
	}
}

func bySequence(a, b Held) int {
	switch {
	case a.Sequence < b.Sequence:
		return -1
	case a.Sequence > b.Sequence:
		return 1
	}
	return 0
}
