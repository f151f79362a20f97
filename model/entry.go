package model

import (
	"iter"
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

// Sequence is that of the i-th entry.
func (es Entries) Sequence(i int) uint64 { return es.t.slots.sequence(i) }

// Row is the journal row of the i-th entry.
func (es Entries) Row(i int) int64 { return es.t.slots.row(i) }

// Search is the first entry of a sequence, or the one before which it would stand.
func (es Entries) Search(sequence uint64) int {
	return sort.Search(es.Len(), func(i int) bool { return es.Sequence(i) >= sequence })
}
