package model

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// slot is an entry as the turn holds it: there may be millions. Nearly all are
// deltas, whose words are those of their segment; any other is held whole.
type slot struct {
	whole    *Entry // but for its time and marks, which are here; nil for most
	at       int64  // an instant
	sequence int32  // from its block's, modulo 2^64
	row      int32  // likewise
	textAt   uint32
	segment  int32
	added    uint16
	size     uint16
	label    uint16 // an index of the turn's labels
	marks    mark
}

type mark uint8

const (
	markTimed mark = 1 << iota
	markConflict
	markGrew
)

// label is what most entries share with others.
type label struct {
	kind   aip.ChunkKind
	name   string
	family hermes.Family
	does   hermes.Kind
}

// noTime is the time of an entry that has none, or one that no clock shows.
const noTime = math.MinInt64

// pack makes an entry small, for a block. What was folded must be in t's segments.
func (t *Turn) pack(b *block, e *Entry) slot {
	s := slot{at: instant(e.At)}
	s.mark(markTimed, e.Timed)
	s.mark(markConflict, e.Conflict)
	s.mark(markGrew, e.grew)
	f := &e.frame
	label, known := t.labelAt(label{e.Kind, f.Name, f.Family, f.Kind})
	sequence, row := int64(e.Sequence-b.sequence), e.Row-b.row
	inSegment := e.added > 0 && e.added == len(f.Text) && t.segments[e.Segment].Message == f.Message
	nothing := e.added == 0 && f.Text == "" && f.Message == ""
	if f.More != nil || e.Tool != "" || e.Recovered || !inSegment && !nothing ||
		!known || int64(int32(sequence)) != sequence || int64(int32(row)) != row ||
		e.added > math.MaxUint16 || e.Size > math.MaxUint16 || e.textAt > math.MaxUint32 {
		whole := *e
		s.whole = &whole
		return s
	}
	s.sequence, s.row, s.label = int32(sequence), int32(row), label
	s.textAt, s.added, s.segment, s.size = uint32(e.textAt), uint16(e.added), int32(e.Segment), uint16(e.Size)
	return s
}

// unpack makes the i-th entry, without its names for the screen. segments are those
// that it was folded into.
func (t *Turn) unpack(i int, segments []*Segment) Entry {
	b, s := t.slots.place(i)
	var e Entry
	if s.whole != nil {
		e = *s.whole
	} else {
		l := t.labels[s.label]
		e = Entry{
			Row: b.row + int64(s.row), Sequence: b.sequence + uint64(s.sequence), Kind: l.kind, Size: int(s.size), Segment: int(s.segment),
			added: int(s.added), textAt: int(s.textAt), frame: hermes.Frame{Family: l.family, Kind: l.does, Name: l.name},
		}
		if s.added > 0 {
			in := segments[s.segment]
			e.frame.Text, e.frame.Message = in.Text()[e.textAt:e.textAt+e.added], in.Message
		}
	}
	e.At, e.Timed, e.Conflict, e.grew = timeOf(s.at), s.has(markTimed), s.has(markConflict), s.has(markGrew)
	return e
}

// labelAt is the index of a label, or false: few are all that an honest turn has.
func (t *Turn) labelAt(l label) (uint16, bool) {
	i, ok := t.labelOf[l]
	if !ok && len(t.labels) <= math.MaxUint16 {
		i, ok = uint16(len(t.labels)), true
		t.labels, t.labelOf[l] = append(t.labels, l), i
	}
	return i, ok
}

func (s *slot) mark(m mark, on bool) {
	if on {
		s.marks |= m
	}
}

func (s *slot) has(m mark) bool { return s.marks&m != 0 }

func (s *slot) recovered() bool { return s.whole != nil && s.whole.Recovered }

// instant is a time in nanoseconds since 1970, if those can tell it, or noTime.
func instant(at time.Time) int64 {
	if y := at.Year(); y >= 1678 && y < 2262 {
		return at.UnixNano()
	}
	return noTime
}

func timeOf(instant int64) time.Time {
	if instant == noTime {
		return time.Time{}
	}
	return time.Unix(0, instant).UTC()
}

// slots are held in blocks, so that a million of them grow without being copied, and
// one that comes late moves few.
type slots struct {
	blocks []*block
	n      int
}

type block struct {
	first    int    // how many slots are in the blocks before it
	sequence uint64 // from which its slots count
	row      int64
	slots    []slot
}

const slotBlock = 2048

// block is the index of the block in which the i-th slot is.
func (s *slots) block(i int) int {
	// Nearly always all blocks but the last are full.
	k := min(i/slotBlock, len(s.blocks)-1)
	if b := s.blocks[k]; i < b.first || i >= b.first+len(b.slots) {
		k = sort.Search(len(s.blocks), func(k int) bool { return s.blocks[k].first > i }) - 1
	}
	return k
}

// place finds the i-th slot, and the block that it is in.
func (s *slots) place(i int) (*block, *slot) {
	b := s.blocks[s.block(i)]
	return b, &b.slots[i-b.first]
}

func (s *slots) at(i int) *slot {
	_, one := s.place(i)
	return one
}

func (s *slots) sequence(i int) uint64 {
	b, one := s.place(i)
	if one.whole != nil {
		return one.whole.Sequence
	}
	return b.sequence + uint64(one.sequence)
}

func (s *slots) row(i int) int64 {
	b, one := s.place(i)
	if one.whole != nil {
		return one.whole.Row
	}
	return b.row + int64(one.row)
}

// compare orders slots by their sequence, recovered events behind the chunk at which they
// stand.
func (s *slots) compare(i int, sequence uint64, sub int) int {
	own := 0
	if whole := s.at(i).whole; whole != nil {
		own = whole.sub
	}
	return cmp.Or(cmp.Compare(s.sequence(i), sequence), cmp.Compare(own, sub))
}

// search finds the place of an order, and whether it is taken.
func (s *slots) search(sequence uint64, sub int) (int, bool) {
	return sort.Find(s.n, func(i int) int { return -s.compare(i, sequence, sub) })
}

// insertSlot puts an entry before the i-th, or behind the last.
func (t *Turn) insertSlot(i int, e *Entry) {
	s := &t.slots
	k := len(s.blocks) - 1
	switch {
	case i < s.n:
		k = s.block(i)
		if b := s.blocks[k]; len(b.slots) == slotBlock { // in halves there is room
			half := *b
			half.first += slotBlock / 2
			half.slots = append(make([]slot, 0, slotBlock), b.slots[slotBlock/2:]...)
			clear(b.slots[slotBlock/2:])
			b.slots = b.slots[:slotBlock/2]
			s.blocks = slices.Insert(s.blocks, k+1, &half)
			if i >= half.first {
				k++
			}
		}
	case k < 0 || len(s.blocks[k].slots) == slotBlock:
		size := slotBlock
		if k++; k == 0 {
			size = 16 // most turns are short
		}
		s.blocks = append(s.blocks, &block{first: s.n, sequence: e.Sequence, row: e.Row, slots: make([]slot, 0, size)})
	}
	b := s.blocks[k]
	b.slots = slices.Insert(b.slots, i-b.first, t.pack(b, e))
	s.n++
	for _, later := range s.blocks[k+1:] {
		later.first++
	}
}

// remove drops the i-th.
func (s *slots) remove(i int) {
	k := s.block(i)
	b := s.blocks[k]
	b.slots = slices.Delete(b.slots, i-b.first, i-b.first+1)
	s.n--
	for _, later := range s.blocks[k+1:] {
		later.first--
	}
	if len(b.slots) == 0 {
		s.blocks = slices.Delete(s.blocks, k, k+1)
	}
}
