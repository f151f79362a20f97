package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"aipscope/model"
	"aipscope/model/aip"
)

// Chunks, and the events that announce them, come by the hundred when a daemon has
// them ready. A row of its own, with its place in an index, costs several times what
// its bytes do; so many that come at once, in the order of their sequences, are
// stored in one row, a stretch. They keep their numbers: a stretch has that of its
// last row, and the others count down from it.
//
// The stretches of one kind of an action never overlap in their sequences: a stretch
// begins above all that were there before it. So one look says where a sequence
// would be. Rows that come late, alone or again are stored by themselves.
type stretchKind struct {
	of   model.RowKind
	name string // of the stretch, in rows.kind

	top     string // the highest sequence in a stretch of an action, or NULL
	find    string // the first stretch that ends at a sequence or behind it
	between string // whether a row of its own stands between two sequences
}

var chunkStretch = stretchKind{model.RowChunk, "chunks",
	`SELECT max(sequence) FROM rows WHERE action = ? AND kind = 'chunks'`,
	`SELECT id, at, body FROM rows WHERE action = ? AND kind = 'chunks' AND sequence >= ? ORDER BY sequence LIMIT 1`,
	`SELECT EXISTS (SELECT 1 FROM rows WHERE action = ? AND kind = 'chunk' AND sequence BETWEEN ? AND ?)`,
}

var eventStretch = stretchKind{model.RowEvent, "events",
	`SELECT max(sequence) FROM rows WHERE action = ? AND kind = 'events'`,
	`SELECT id, at, body FROM rows WHERE action = ? AND kind = 'events' AND sequence >= ? ORDER BY sequence LIMIT 1`,
	`SELECT EXISTS (SELECT 1 FROM rows WHERE action = ? AND key >= ? AND key < ?)`,
}

// stretchNamed is the kind of a stretch by its name, or nil for the kind of a row
// of its own.
func stretchNamed(name string) *stretchKind {
	switch name {
	case chunkStretch.name:
		return &chunkStretch
	case eventStretch.name:
		return &eventStretch
	}
	return nil
}

const (
	minStretch    = 4        // rows that are worth one
	maxStretch    = 256      // rows in one
	maxStretchRow = 16 << 10 // bytes of a row in one
	maxStretches  = 64 << 10 // bytes of one, about
)

// sequenced returns the sequence of a row that a stretch may hold.
func sequenced(r *model.Row) (kind *stretchKind, sequence int64, ok bool) {
	var n uint64
	switch r.Kind {
	case model.RowChunk:
		kind, n = &chunkStretch, r.Chunk.Sequence
	case model.RowEvent:
		if n, ok = r.Announces(); !ok || r.Event.ID == "" {
			return nil, 0, false
		}
		kind = &eventStretch
	default:
		return nil, 0, false
	}
	return kind, int64(n), n < math.MaxInt64
}

// member is a row in a stretch.
type member struct {
	number   int64
	sequence int64
	at       int64 // unix nanoseconds, 0 if unknown
	body     []byte
}

// pack is the body of a stretch: how many rows there are; for each how far its
// sequence and time are from those of the row before, and its length; then the rows'
// bodies. The first sequence counts from 0, the first time from the stretch's own. It
// is appended to out.
func pack(out []byte, rows []model.Row, sequences []int64) []byte {
	size := 0
	for i := range rows {
		size += len(rows[i].Raw) + 3*binary.MaxVarintLen64
	}
	out = binary.AppendUvarint(slices.Grow(out, size), uint64(len(rows)))
	sequence, at := int64(0), nanos(rows[0].At)
	for i := range rows {
		out = binary.AppendVarint(out, sequences[i]-sequence)
		out = binary.AppendVarint(out, nanos(rows[i].At)-at)
		out = binary.AppendUvarint(out, uint64(len(rows[i].Raw)))
		sequence, at = sequences[i], nanos(rows[i].At)
	}
	for i := range rows {
		out = append(out, rows[i].Raw...)
	}
	return out
}

var errStretch = errors.New("a stretch of rows cannot be read")

// unpack reads what pack wrote; last is the number of the stretch. The bodies share
// its memory.
func unpack(last, at int64, body []byte) ([]member, error) {
	r := packed{rest: body}
	count := r.unsigned()
	if r.bad || count == 0 || count > maxStretch || int64(count) > last {
		return nil, errStretch
	}
	members := make([]member, count)
	sizes := make([]uint64, count)
	sequence := int64(0)
	for i := range members {
		sequence += r.signed()
		at += r.signed()
		members[i] = member{number: last - int64(count) + 1 + int64(i), sequence: sequence, at: at}
		sizes[i] = r.unsigned()
	}
	for i := range members {
		members[i].body = r.take(sizes[i])
	}
	if r.bad || len(r.rest) > 0 {
		return nil, errStretch
	}
	return members, nil
}

// packed reads what was packed, from its beginning; bad says that it was not.
type packed struct {
	rest []byte
	bad  bool
}

func (p *packed) took(size int) {
	if p.bad = p.bad || size <= 0; !p.bad {
		p.rest = p.rest[size:]
	}
}

func (p *packed) unsigned() uint64 {
	n, size := binary.Uvarint(p.rest)
	p.took(size)
	return n
}

func (p *packed) signed() int64 {
	n, size := binary.Varint(p.rest)
	p.took(size)
	return n
}

// take returns the next n bytes, which share the memory, or nil.
func (p *packed) take(n uint64) []byte {
	if p.bad = p.bad || n > uint64(len(p.rest)); p.bad {
		return nil
	}
	b := p.rest[:n:n]
	p.rest = p.rest[n:]
	return b
}

// known is what a batch has learnt of an action's stretches of one kind.
type known struct {
	asked bool
	top   sql.NullInt64
	from  int64 // the sequences that members answers for
	to    int64
	found []member
}

// stretches reads, in a transaction, of one action.
type stretches struct {
	tx     transaction
	action int64
	chunks known
	events known
}

func (s *stretches) of(k *stretchKind) *known {
	if k == &chunkStretch {
		return &s.chunks
	}
	return &s.events
}

// above reports whether a sequence is above all stretches of a kind.
func (s *stretches) above(ctx context.Context, k *stretchKind, sequence int64) (bool, error) {
	n := s.of(k)
	if !n.asked {
		if err := s.tx.QueryRowContext(ctx, k.top, s.action).Scan(&n.top); err != nil {
			return false, err
		}
		n.asked = true
	}
	return !n.top.Valid || sequence > n.top.Int64, nil
}

// body returns what a stretch holds under a sequence, or nil.
func (s *stretches) body(ctx context.Context, k *stretchKind, sequence int64) ([]byte, error) {
	if above, err := s.above(ctx, k, sequence); above || err != nil {
		return nil, err
	}
	n := s.of(k)
	if n.found == nil || sequence < n.from || sequence > n.to {
		var id, at int64
		var body []byte
		if err := s.tx.QueryRowContext(ctx, k.find, s.action, sequence).Scan(&id, &at, &body); err != nil {
			return nil, err
		}
		found, err := unpack(id&maxNumber, at, body)
		if err != nil {
			return nil, err
		}
		// No other stretch has anything from here to its end.
		n.from, n.to, n.found = min(sequence, found[0].sequence), found[len(found)-1].sequence, found
	}
	i, ok := slices.BinarySearchFunc(n.found, sequence, func(m member, want int64) int { return int(min(max(m.sequence-want, -1), 1)) })
	if !ok {
		return nil, nil
	}
	return n.found[i].body, nil
}

// holds reports whether a stretch has the row already, or, of a chunk, what it has
// in its place.
func (s *stretches) holds(ctx context.Context, r *model.Row) (stored []byte, err error) {
	k, sequence, ok := sequenced(r)
	if !ok {
		return nil, nil
	}
	stored, err = s.body(ctx, k, sequence)
	if stored == nil || err != nil || r.Kind == model.RowChunk || bytes.Equal(stored, r.Raw) {
		return stored, err
	}
	var event aip.Event
	if err := aip.Unmarshal(stored, &event); err != nil {
		return nil, err
	}
	if event.ID != r.Event.ID { // another event about the same chunk
		return nil, nil
	}
	return stored, nil
}

// stretch stores the first rows of a batch as a stretch and numbers them, if they
// are one. It returns how many rows were looked at; where they were not stored,
// they have to be one by one.
func (b *batch) stretch(ctx context.Context, rows []model.Row) (looked int, stored bool, err error) {
	kind, first, ok := sequenced(&rows[0])
	if !ok || len(rows[0].Raw) > maxStretchRow {
		return 1, false, nil
	}
	above, err := b.stretches.above(ctx, kind, first)
	if !above || err != nil {
		return 1, false, err
	}
	sequences := append(make([]int64, 0, min(len(rows), maxStretch)), first)
	size := len(rows[0].Raw)
	for i := range rows[1:min(len(rows), maxStretch)] {
		r := &rows[1+i]
		k, sequence, ok := sequenced(r)
		if !ok || k != kind || sequence <= sequences[len(sequences)-1] || len(r.Raw) > maxStretchRow || size+len(r.Raw) > maxStretches {
			break
		}
		sequences = append(sequences, sequence)
		size += len(r.Raw)
	}
	count := len(sequences)
	if count < minStretch || b.head+int64(count) > maxNumber {
		return count, false, nil
	}
	last := sequences[count-1]
	from, to := any(first), any(last)
	if kind == &eventStretch {
		from, to = eventKey(uint64(first)), eventKey(uint64(last)+1)
	}
	var single bool
	if err := b.tx.QueryRowContext(ctx, kind.between, b.action, from, to).Scan(&single); single || err != nil {
		return count, false, err
	}
	for i := range rows[:count] {
		rows[i].Number = b.head + 1 + int64(i)
	}
	rows = rows[:count]
	b.head += int64(count)
	*b.packed = pack((*b.packed)[:0], rows, sequences)
	_, err = b.tx.ExecContext(ctx, insertRow, b.action<<numberBits|b.head, b.action, kind.name, nanos(rows[0].At), last, nil, *b.packed)
	if err != nil {
		return 0, false, err
	}
	if *b.packed = packBriefs((*b.packed)[:0], rows, sequences); len(*b.packed) > 0 {
		id := b.action<<numberBits | b.head
		*b.packed = seal(*b.packed, id)
		if _, err := b.tx.ExecContext(ctx, insertBriefs, id, *b.packed); err != nil {
			return 0, false, err
		}
	}
	n := b.stretches.of(kind)
	n.top = sql.NullInt64{Int64: last, Valid: true}
	for i := range rows {
		b.count(&rows[i])
	}
	return count, true, nil
}

// expand calls each for the row that was read, or for each row of a stretch.
func expand(id, at int64, kind string, body []byte, each func(number int64, kind model.RowKind, at int64, body []byte) error) error {
	k := stretchNamed(kind)
	if k == nil {
		return each(id&maxNumber, model.RowKind(kind), at, body)
	}
	members, err := unpack(id&maxNumber, at, body)
	if err != nil {
		return fmt.Errorf("row %d: %w", id&maxNumber, err)
	}
	for _, m := range members {
		if err := each(m.number, k.of, m.at, m.body); err != nil {
			return err
		}
	}
	return nil
}
