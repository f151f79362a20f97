package model

import (
	"cmp"
	"slices"
	"sort"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// Frames are the provider frames that a journal holds, for the match with a result:
// the sequences of their chunks and the identities of their contents. There may be
// millions: sequences that follow each other are one run. The zero Frames are ready.
type Frames struct {
	runs   []run             // in the order of arrival
	blocks [][]hermes.Digest // likewise
	n      int
}

type run struct {
	first uint64 // sequence
	at    int    // index of its first frame
}

const frameBlock = 4096

type held struct {
	sequence uint64
	digest   hermes.Digest
}

// Add takes in a chunk's row, unless no event of an aggregate answers to it: that
// is the connector's closing error and an operator's event, which have no provider
// frame (wire/hermes.md A.6, A.10), or one whose content was redacted. Any other
// chunk without a provider frame is like no event.
func (f *Frames) Add(row *Row) {
	c, content := row.Chunk, row.Content()
	rec, ok := content.Record()
	switch {
	case content.WithoutRecord():
		f.add(held{c.Sequence, content.Digest()})
	case !ok && (content.Unframed() || aip.Redacted(c.Data)):
	case !ok:
		f.add(held{sequence: c.Sequence})
	case rec.RawData == nil && (aip.Redacted(rec.Data) || len(rec.Data) == 0 && hermes.RedactedFrame(c.Data)):
	default:
		f.add(held{c.Sequence, content.Digest()})
	}
}

func (f *Frames) add(h held) {
	// A run does not go on behind the highest sequence there is: all of its own are above its first.
	if k := len(f.runs) - 1; k < 0 || h.sequence == 0 || h.sequence != f.runs[k].first+uint64(f.n-f.runs[k].at) {
		f.runs = append(f.runs, run{h.sequence, f.n})
	}
	if f.n%frameBlock == 0 {
		size := frameBlock
		if f.n == 0 {
			size = 16 // most turns are short
		}
		f.blocks = append(f.blocks, make([]hermes.Digest, 0, size))
	}
	last := &f.blocks[len(f.blocks)-1]
	*last = append(*last, h.digest)
	f.n++
}

// Len is their number.
func (f *Frames) Len() int { return f.n }

func (f *Frames) digest(i int) hermes.Digest { return f.blocks[i/frameBlock][i%frameBlock] }

// all are the frames in the order of their arrival.
func (f *Frames) all(yield func(held) bool) {
	k := 0
	for i := range f.n {
		if k+1 < len(f.runs) && f.runs[k+1].at == i {
			k++
		}
		if r := f.runs[k]; !yield(held{r.first + uint64(i-r.at), f.digest(i)}) {
			return
		}
	}
}

// sorted are the frames in the order of their sequence.
func (f *Frames) sorted() *Frames {
	if slices.IsSortedFunc(f.runs, func(a, b run) int { return cmp.Compare(a.first, b.first) }) {
		return f
	}
	list := slices.SortedFunc(f.all, func(a, b held) int { return cmp.Compare(a.sequence, b.sequence) })
	f = new(Frames)
	for _, h := range list {
		f.add(h)
	}
	return f
}

// Matcher compares the events of an aggregate, as they are read, with the frames
// of a journal. It holds digests only, and those of no event that is what the frames
// say as far as they go on together; the records of events whose chunk never
// came are asked for again by index (Recover).
type Matcher struct {
	frames  *Frames
	like    *Frames // as they were in order when the reading began
	alike   int     // events that are the first of those
	others  []hermes.Digest
	unread  int
	missing []place // ascending by index, after Match
}

// NewMatcher begins to read an aggregate. More frames may come until Match.
func NewMatcher(f *Frames) *Matcher { return &Matcher{frames: f, like: f.sorted()} }

type place struct {
	index int
	first bool
	after uint64
}

// Event adds the aggregate's next event.
func (m *Matcher) Event(d hermes.Digest) {
	if len(m.others) == 0 && m.alike < m.like.n && m.like.digest(m.alike) == d {
		m.alike++
		return
	}
	m.others = append(m.others, d)
}

func (m *Matcher) events() int { return m.alike + len(m.others) }

func (m *Matcher) event(i int) hermes.Digest {
	if i < m.alike {
		return m.like.digest(i)
	}
	return m.others[i-m.alike]
}

// Empty reports whether there was no event at all.
func (m *Matcher) Empty() bool { return m.events()+m.unread == 0 }

// Unread counts an event that cannot be compared, because it was redacted.
func (m *Matcher) Unread() { m.unread++ }

// Match matches the events with the chunks in the order of their sequence.
// Both orders are kept: a chunk is matched with the first event of its content
// behind the event of the chunk before it. Chunks that find none are unlike,
// events that are found by none are missing. Beside an event that was redacted
// neither can be told, and only what matches is counted.
func (m *Matcher) Match() Match {
	find := m.finder()
	result := Match{Events: m.events() + m.unread, Unread: m.unread}
	m.missing = nil
	at, first, after := 0, true, uint64(0) // of the next event, and of the last chunk that was matched
	lack := func(until int) {
		for ; at < until; at++ {
			m.missing = append(m.missing, place{at, first, after})
		}
	}
	for h := range m.frames.sorted().all {
		i, ok := find(h.digest, at)
		if !ok && m.unread > 0 {
			continue
		}
		if !ok {
			result.Unlike = append(result.Unlike, h.sequence)
			continue
		}
		lack(i)
		result.Matched++
		at, first, after = i+1, false, h.sequence
	}
	if lack(m.events()); m.unread > 0 {
		m.missing = nil
	}
	result.Missing = len(m.missing)
	return result
}

// Recover returns the recovered event for record index of the aggregate, or
// false if its chunk is held, or if it is not the record that was matched.
func (m *Matcher) Recover(index int, r hermes.Record) (Recovered, bool) {
	i, found := sort.Find(len(m.missing), func(i int) int { return index - m.missing[i].index })
	if !found || m.event(index) != r.Digest() {
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
		if from < m.events() && m.event(from) == d {
			return from, true
		}
		if index == nil {
			index = make(map[hermes.Digest][]int32)
			for i := range m.events() {
				index[m.event(i)] = append(index[m.event(i)], int32(i))
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
