package model

import (
	"time"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// Brief is all that a turn and a follower need of a row that is like most: a chunk
// that holds a provider frame of words, or an event that announces a chunk. A
// journal may keep it beside the row, so that its JSON is decoded once; it is never
// truth, and good for one RulesVersion.
type Brief struct {
	Sequence uint64 // of the chunk, or of the one that is announced
	Size     int    // bytes of the row's JSON

	// Of a chunk:
	Kind   aip.ChunkKind
	Frame  hermes.Frame // as it is read without an operation; it has no More
	Digest hermes.Digest

	// Of an event:
	At time.Time // when it occurred, or zero
}

// BriefOf returns the row in brief, or false if only its JSON tells all of it.
func BriefOf(r *Row) (Brief, bool) {
	switch {
	case r.Kind == RowChunk && r.Chunk != nil:
		content := r.Content()
		f, ok := content.Plain()
		return Brief{Sequence: r.Chunk.Sequence, Size: r.Size(), Kind: r.Chunk.Kind, Frame: f, Digest: content.Digest()}, ok
	case r.Kind == RowEvent && r.Event != nil:
		sequence, ok := r.Announces()
		return Brief{Sequence: sequence, Size: r.Size(), At: r.Event.OccurredAt.Time}, ok
	}
	return Brief{}, false
}

// Briefs makes rows of what was kept in brief, many at once. Such a row has no Raw,
// and its chunk no data; of its event only the time is there.
type Briefs struct {
	chunks    []aip.Chunk
	contents  []content
	events    []aip.Event
	announced []announced
}

// Row makes the row of a chunk or an event; more is how many may follow it.
func (s *Briefs) Row(kind RowKind, number int64, at time.Time, b *Brief, more int) Row {
	r := Row{Number: number, Kind: kind, At: at, size: b.Size}
	if kind == RowEvent {
		r.Event = take(&s.events, more)
		*r.Event = aip.Event{Kind: aip.EventChunk, OccurredAt: aip.Time{Time: b.At}}
		r.announced = take(&s.announced, more)
		*r.announced = announced{r.Event, b.Sequence, true}
		return r
	}
	r.Chunk = take(&s.chunks, more)
	*r.Chunk = aip.Chunk{Sequence: b.Sequence, Kind: b.Kind}
	r.content = take(&s.contents, more)
	*r.content = content{r.Chunk, hermes.PlainContent(b.Frame, b.Digest)}
	return r
}

// take returns the next element of memory that was made for many.
func take[T any](of *[]T, more int) *T {
	if len(*of) == 0 {
		*of = make([]T, more+1)
	}
	one := &(*of)[0]
	*of = (*of)[1:]
	return one
}
