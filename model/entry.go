package model

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sort"
	"time"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// Entry is one line of the chunk inspector.
type Entry struct {
	Row       int64 // journal row
	Sequence  uint64
	Kind      aip.ChunkKind // "" for a recovered event
	Frame     string        // family.event
	Event     string        // the provider's event name, or ""; unsafe for a terminal
	Size      int           // bytes of the row's JSON
	At        time.Time     // when the daemon recorded it, else when it arrived
	Timed     bool          // At is the daemon's
	Recovered bool          // from the aggregate: its chunk never came
	Conflict  bool          // other content came under the same sequence
	Tool      string        // key of the tool row that it changed last
	Segment   int           // index of the segment that it made or grew, or -1

	grew   bool // the answer, by its text
	added  int  // bytes of its segment's text,
	textAt int  // from there on
	sub    int  // order among recovered events that stand at one sequence
	frame  hermes.Frame
	digest hermes.Digest // of a recovered one
}

// Text is what the frame added to the assistant's answer, or "": unsafe for a
// terminal.
func (e *Entry) Text() string {
	if !e.grew {
		return ""
	}
	return e.frame.Text
}

// Added is how many bytes of its segment's text the frame made.
func (e *Entry) Added() int { return e.added }

// Does is what the provider's frame means for a turn.
func (e *Entry) Does() hermes.Kind { return e.frame.Kind }

// unfold forgets what the entry did.
func (e *Entry) unfold() {
	e.Tool, e.Segment, e.grew, e.added, e.textAt = "", -1, false, 0, 0
}

// Entries are the chunks of a turn in the order of their sequence, recovered events
// between them. They are good until the next Apply.
type Entries struct{ t *Turn }

// Entries are the turn's.
func (t *Turn) Entries() Entries { return Entries{t} }

// Len is their number.
func (es Entries) Len() int {
	if es.t == nil {
		return 0
	}
	return es.t.slots.n
}

// Entry makes the i-th entry.
func (es Entries) Entry(i int) Entry {
	e := es.t.unpack(i, es.t.segments)
	e.Event, e.Frame = e.frame.Name, e.frame.Label()
	return e
}

// All are all of them, by their index.
func (es Entries) All() iter.Seq2[int, Entry] {
	return func(yield func(int, Entry) bool) {
		for i := range es.Len() {
			if !yield(i, es.Entry(i)) {
				return
			}
		}
	}
}

// Sequence and Row are of the i-th entry.
func (es Entries) Sequence(i int) uint64 { return es.t.slots.at(i).sequence }

// Row is the journal row of the i-th entry.
func (es Entries) Row(i int) int64 { return es.t.slots.at(i).row }

// Search is the first entry of a sequence, or the one before which it would stand.
func (es Entries) Search(sequence uint64) int {
	return sort.Search(es.Len(), func(i int) bool { return es.Sequence(i) >= sequence })
}

// slot is an entry as the turn holds it: there may be millions. The words of a text
// delta are those of its segment, and what few entries have stands apart.
type slot struct {
	row      int64
	sequence uint64
	at       int64 // in nanoseconds since 1970, or noTime
	rare     *rare
	textAt   uint32
	added    uint32
	size     uint32
	segment  int32
	kind     uint32 // an index of the turn's names
	name     uint32 // likewise
	family   uint8  // an index of families
	does     hermes.Kind
	flags    uint8
}

const (
	slotTimed uint8 = 1 << iota
	slotRecovered
	slotConflict
	slotGrew
)

// noTime is the time of an entry that has none, or one that no clock shows.
const noTime = math.MinInt64

var families = []hermes.Family{
	hermes.FamilyNone, hermes.FamilyChat, hermes.FamilyResponses, hermes.FamilySession, hermes.FamilyRun, hermes.FamilyOperator,
}

type rare struct {
	text, message string
	more          *hermes.More
	tool          string
	sub           int
	digest        hermes.Digest
}

// pack makes an entry small. What was folded must be in t's segments.
func (t *Turn) pack(e *Entry) slot {
	s := slot{
		row: e.Row, sequence: e.Sequence, textAt: uint32(e.textAt), added: uint32(e.added), size: uint32(min(e.Size, math.MaxUint32)),
		segment: int32(e.Segment), kind: t.nameAt(string(e.Kind)), name: t.nameAt(e.frame.Name), does: e.frame.Kind,
		family: uint8(max(0, slices.Index(families, e.frame.Family))),
	}
	s.setTime(e.At)
	s.flag(slotTimed, e.Timed)
	s.flag(slotRecovered, e.Recovered)
	s.flag(slotConflict, e.Conflict)
	s.flag(slotGrew, e.grew)
	f := &e.frame
	inSegment := e.added > 0 && e.added == len(f.Text) && t.segments[e.Segment].Message == f.Message
	nothing := e.added == 0 && f.Text == "" && f.Message == ""
	if f.More != nil || e.Tool != "" || e.Recovered || !inSegment && !nothing {
		s.rare = &rare{f.Text, f.Message, f.More, e.Tool, e.sub, e.digest}
	}
	return s
}

// unpack makes the i-th entry, without its names for the screen. segments are those
// that it was folded into.
func (t *Turn) unpack(i int, segments []*Segment) Entry {
	s := t.slots.at(i)
	e := Entry{
		Row: s.row, Sequence: s.sequence, Kind: aip.ChunkKind(t.names[s.kind]), Size: int(s.size), Segment: int(s.segment),
		Timed: s.flags&slotTimed != 0, Recovered: s.flags&slotRecovered != 0, Conflict: s.flags&slotConflict != 0, grew: s.flags&slotGrew != 0,
		added: int(s.added), textAt: int(s.textAt),
		frame: hermes.Frame{Family: families[s.family], Kind: s.does, Name: t.names[s.name]},
	}
	if s.at != noTime {
		e.At = time.Unix(0, s.at).UTC()
	}
	switch r := s.rare; {
	case r != nil:
		e.frame.Text, e.frame.Message, e.frame.More, e.Tool, e.sub, e.digest = r.text, r.message, r.more, r.tool, r.sub, r.digest
	case s.added > 0:
		in := segments[s.segment]
		e.frame.Text, e.frame.Message = in.Text()[s.textAt:s.textAt+s.added], in.Message
	}
	return e
}

// nameAt is the index of a name; few are all that there are.
func (t *Turn) nameAt(s string) uint32 {
	i, ok := t.nameOf[s]
	if !ok {
		i = uint32(len(t.names))
		t.names, t.nameOf[s] = append(t.names, s), i
	}
	return i
}

func (s *slot) flag(flag uint8, on bool) {
	if on {
		s.flags |= flag
	}
}

// setTime keeps a time, if nanoseconds can tell it.
func (s *slot) setTime(at time.Time) {
	s.at = noTime
	if y := at.Year(); y >= 1678 && y < 2262 {
		s.at = at.UnixNano()
	}
}

func (s *slot) sub() int {
	if s.rare == nil {
		return 0
	}
	return s.rare.sub
}

// compare orders slots by their sequence, recovered events behind the chunk at which they
// stand.
func (s *slot) compare(sequence uint64, sub int) int {
	return cmp.Or(cmp.Compare(s.sequence, sequence), cmp.Compare(s.sub(), sub))
}

// slots are held in blocks, so that a million of them grow without being copied.
type slots struct {
	blocks [][]slot
	n      int
}

const slotBlock = 2048

func (s *slots) at(i int) *slot { return &s.blocks[i/slotBlock][i%slotBlock] }

func (s *slots) add(one slot) {
	if s.n%slotBlock == 0 && s.n/slotBlock == len(s.blocks) {
		size := slotBlock
		if s.n == 0 {
			size = 16 // most turns are short
		}
		s.blocks = append(s.blocks, make([]slot, 0, size))
	}
	last := &s.blocks[s.n/slotBlock]
	*last = append(*last, one)
	s.n++
}

// insert puts one before the i-th.
func (s *slots) insert(i int, one slot) {
	s.add(one)
	for k := s.n - 1; k > i; k-- {
		*s.at(k) = *s.at(k - 1)
	}
	*s.at(i) = one
}

// remove drops the i-th.
func (s *slots) remove(i int) {
	for k := i; k < s.n-1; k++ {
		*s.at(k) = *s.at(k + 1)
	}
	s.n--
	last := &s.blocks[s.n/slotBlock]
	(*last)[s.n%slotBlock] = slot{}
	*last = (*last)[:s.n%slotBlock]
}

// search finds the place of an order, and whether it is taken.
func (s *slots) search(sequence uint64, sub int) (int, bool) {
	return sort.Find(s.n, func(i int) int { return -s.at(i).compare(sequence, sub) })
}
