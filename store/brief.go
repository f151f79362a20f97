package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strings"

	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// A stretch has beside it, in the table briefs, what a turn needs of its rows, so
// that opening an action neither decodes their JSON again nor reads it. What is kept in
// brief is worked out from the rows, is good for one model.RulesVersion, and is
// passed over where it cannot be read.

// label is what most chunks of a stretch have in common.
type label struct {
	kind    aip.ChunkKind
	family  hermes.Family
	does    hermes.Kind
	name    string
	message string
}

// packBriefs appends the brief of a stretch to out: the rules; how many rows there are;
// for each how far its sequence and time are from those of the row before; 0 where
// it is not told in brief, else its label from 1 on, with what that is where it is
// new, and its size; then of a chunk its digest and text, and of an event how far
// the time at which it occurred is from the row's. It returns nothing if no row can
// be told in brief.
func packBriefs(out []byte, rows []model.Row, sequences []int64) []byte {
	from := len(out)
	out = append(out, rules...)
	out = binary.AppendUvarint(out, uint64(len(rows)))
	var few [8]label
	labels := few[:0]
	sequence, at, any := int64(0), nanos(rows[0].At), false
	for i := range rows {
		r := &rows[i]
		out = binary.AppendVarint(out, sequences[i]-sequence)
		out = binary.AppendVarint(out, nanos(r.At)-at)
		sequence, at = sequences[i], nanos(r.At)
		b, ok := model.BriefOf(r)
		if r.Kind == model.RowEvent {
			ok = ok && !b.At.IsZero() && timeOf(nanos(b.At)).Equal(b.At)
		}
		if !ok {
			out = append(out, 0)
			continue
		}
		any = true
		l := label{b.Kind, b.Frame.Family, b.Frame.Kind, b.Frame.Name, b.Frame.Message}
		known := slices.Index(labels, l)
		if known < 0 {
			known, labels = len(labels), append(labels, l)
			out = binary.AppendUvarint(out, uint64(known+1))
			for _, s := range []string{string(l.kind), string(l.family), string(rune(l.does)), l.name, l.message} {
				out = appendText(out, s)
			}
		} else {
			out = binary.AppendUvarint(out, uint64(known+1))
		}
		out = binary.AppendUvarint(out, uint64(b.Size))
		if r.Kind == model.RowEvent {
			out = binary.AppendVarint(out, nanos(b.At)-at)
			continue
		}
		out = append(out, b.Digest[:]...)
		out = appendText(out, b.Frame.Text)
	}
	if !any {
		return out[:from]
	}
	return out
}

// tellsOf reports whether what is kept under an id is the brief of the rows, or one of
// other rules, which is passed over.
func tellsOf(sealed []byte, id int64, rows []model.Row) bool {
	if !bytes.HasPrefix(sealed, rules) {
		return true
	}
	brief, ok := unseal(sealed, id)
	if !ok {
		return false
	}
	sequences := make([]int64, len(rows))
	for i := range rows {
		var ok bool
		if _, sequences[i], ok = sequenced(&rows[i]); !ok {
			return false
		}
	}
	return bytes.Equal(packBriefs(nil, rows, sequences), brief)
}

// seal appends the sum of a brief and of the id that it is kept under.
func seal(brief []byte, id int64) []byte {
	return binary.BigEndian.AppendUint32(brief, sumOf(brief, id))
}

// unseal takes the sum off, and reports whether it is right: a brief that was damaged
// may well be read, and would make another turn than its rows do.
func unseal(sealed []byte, id int64) (brief []byte, ok bool) {
	n := len(sealed) - crc32.Size
	if n < 0 {
		return nil, false
	}
	return sealed[:n], binary.BigEndian.Uint32(sealed[n:]) == sumOf(sealed[:n], id)
}

func sumOf(brief []byte, id int64) uint32 {
	var of [8]byte
	binary.BigEndian.PutUint64(of[:], uint64(id))
	return crc32.Update(crc32.Checksum(of[:], castagnoli), castagnoli, brief)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendText(out []byte, s string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(s))), s...)
}

var errBrief = errors.New("rows that are kept in brief cannot be read")

// unpackBriefs makes the rows of a stretch; last is its number. Rows that are not told
// in brief have their number and kind alone.
func unpackBriefs(kind model.RowKind, last, at int64, body []byte) ([]model.Row, error) {
	r := packed{rest: body}
	all := string(body) // of which all texts are parts
	text := func() string {
		size := uint64(len(r.take(r.unsigned())))
		end := uint64(len(all) - len(r.rest))
		return all[end-size : end]
	}
	rules, count := r.unsigned(), r.unsigned()
	if r.bad || rules != model.RulesVersion || count == 0 || count > maxStretch || int64(count) > last {
		return nil, errBrief
	}
	rows := make([]model.Row, count)
	var made model.Briefs
	var few [8]label
	labels := few[:0]
	sequence := int64(0)
	for i := range rows {
		sequence += r.signed()
		at += r.signed()
		number := last - int64(count) + 1 + int64(i)
		k := r.unsigned()
		switch {
		case k == uint64(len(labels))+1:
			kind, family, does := text(), text(), text()
			if r.bad = r.bad || len(does) != 1; r.bad {
				return nil, errBrief
			}
			// They are kept for long, and the rest of the body is not.
			labels = append(labels, label{aip.ChunkKind(strings.Clone(kind)), hermes.Family(strings.Clone(family)), hermes.Kind(does[0]), strings.Clone(text()), strings.Clone(text())})
		case k > uint64(len(labels)):
			return nil, errBrief
		case k == 0:
			rows[i] = model.Row{Number: number, Kind: kind}
			continue
		}
		l := &labels[k-1]
		b := model.Brief{Sequence: uint64(sequence), Size: int(r.unsigned()), Kind: l.kind}
		if kind == model.RowEvent {
			b.At = timeOf(at + r.signed())
		} else {
			copy(b.Digest[:], r.take(uint64(len(b.Digest))))
			b.Frame = hermes.Frame{Family: l.family, Kind: l.does, Name: l.name, Message: l.message, Text: text()}
		}
		rows[i] = made.Row(kind, number, timeOf(at), &b, len(rows)-1-i)
	}
	if r.bad || len(r.rest) > 0 {
		return nil, errBrief
	}
	return rows, nil
}

const (
	insertBriefs = `INSERT INTO briefs (id, body) VALUES (?, ?)`
	// The body is not read where there is a brief of these rules: it stands elsewhere in the file.
	selectBriefs = `SELECT r.id, r.kind, r.at, CASE WHEN b.id IS NULL THEN r.body END, b.body FROM rows r
		LEFT JOIN briefs b ON b.id = r.id AND substr(b.body, 1, length(?1)) = ?1
		WHERE r.id > ?2 AND r.id <= ?3 ORDER BY r.id LIMIT ?4`
	selectBody = `SELECT body FROM rows WHERE id = ?`
)

// rules is what a brief of these rules begins with.
var rules = binary.AppendUvarint(nil, model.RulesVersion)

// readBriefs is readRows, in brief where that was kept.
func (j *Journal) readBriefs(ctx context.Context, action, after, through int64, limit int) ([]model.Row, error) {
	type record struct {
		id, at int64
		kind   string
		body   []byte
		rows   []model.Row
	}
	base := action << numberBits
	after, through = max(after, 0), min(through, maxNumber)
	found, err := j.prepared[selectBriefs].QueryContext(ctx, rules, base|after, base|through, limit)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	var records []record
	for n := int64(0); n < int64(limit) && found.Next(); {
		var r record
		var brief sql.RawBytes
		if err := found.Scan(&r.id, &r.kind, &r.at, &r.body, &brief); err != nil {
			return nil, err
		}
		last, count := r.id&maxNumber, uint64(1)
		if k := stretchNamed(r.kind); k != nil && brief != nil {
			if brief, ok := unseal(brief, r.id); ok {
				r.rows, _ = unpackBriefs(k.of, last, r.at, brief)
			}
			count = uint64(len(r.rows))
		} else if k != nil {
			count, _ = binary.Uvarint(r.body)
		}
		records = append(records, r)
		n += min(int64(min(count, maxStretch)), last-after)
	}
	if err := errors.Join(found.Err(), found.Close()); err != nil {
		return nil, err
	}
	rows := make([]model.Row, 0, min(int64(limit), through-after))
	for _, r := range records {
		if len(rows) == limit { // a brief that cannot be read said nothing of how many there are
			break
		}
		if r.rows == nil || slices.ContainsFunc(r.rows, func(r model.Row) bool { return r.Size() == 0 }) {
			if r.body == nil { // one connection may be all that there is, so it is asked for after the others
				switch err := j.prepared[selectBody].QueryRowContext(ctx, r.id).Scan(&r.body); {
				case errors.Is(err, sql.ErrNoRows): // the action was removed meanwhile
					return rows, nil
				case err != nil:
					return nil, err
				}
			}
			if r.rows, err = fill(r.rows, r.id, r.at, r.kind, r.body); err != nil {
				return nil, err
			}
		}
		for _, row := range r.rows {
			if row.Number > after && len(rows) < limit {
				rows = append(rows, row)
			}
		}
	}
	return rows, nil
}

// fill decodes the rows of a record that were not read in brief.
func fill(rows []model.Row, id, at int64, kind string, body []byte) ([]model.Row, error) {
	i := 0
	err := expand(id, at, kind, body, func(number int64, kind model.RowKind, at int64, body []byte) error {
		switch {
		case i == len(rows):
			rows = append(rows, model.Row{})
		case rows[i].Number != number: // the brief is of other rows
			return errBrief
		case rows[i].Size() > 0:
			i++
			return nil
		}
		r, err := decodeRow(kind, number, at, body)
		rows[i] = r
		i++
		return err
	})
	if i < len(rows) {
		err = cmp.Or(err, errBrief)
	}
	if errors.Is(err, errBrief) {
		return fill(nil, id, at, kind, body)
	}
	return rows, err
}
