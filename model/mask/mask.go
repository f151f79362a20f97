// Package mask says what private content becomes when nobody asked for it.
//
// Keys, types, nesting and lengths stay, and of the values those that come from
// closed lists: event names, kinds, statuses, finish reasons, roles, error
// codes, counts, times. IDs become pseudonyms that keep their prefix and stay the
// same within one Masker, so that what belonged together still does. Every other
// string becomes its length. The decision rests on an allow-list of keys, and on
// one of the words below each: what is unknown is private.
//
// JSON masks one value for the eye. A Masker masks the journal rows of one
// action so that they open to the same verdict, tools and counts: the
// assistant's text keeps its length and what the reducer compares, and what is
// joined in the original joins in the copy.
package mask

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"aipscope/model"
	"aipscope/model/hermes"
)

// JSON masks one value with pseudonyms of its own. What is not JSON becomes a
// JSON string of its length; nothing stays nothing.
func JSON(raw json.RawMessage) json.RawMessage { return New("").JSON(raw) }

// Rows masks the rows of one action's journal, all of them, in any order that
// the reducer takes.
func Rows(action string, rows []model.Row) ([]model.Row, error) {
	m := New(action)
	for _, r := range rows {
		m.Learn(r)
	}
	out := make([]model.Row, len(rows))
	for i, r := range rows {
		var err error
		if out[i], err = m.Row(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Masker masks what belongs to one action. It may be used from several
// goroutines at once.
type Masker struct {
	mu     sync.Mutex
	action string // the one ID that stays
	names  pseudonyms
	sizes  lengths
	texts  texts

	show     bool // for the eye: lengths instead of text, words instead of numbers
	learning bool
	frame    frameOf
	written  map[string]string // texts of this row and what they became

	recovered map[hermes.Digest][]place // recovered events whose chunk has not come
	moved     map[place]place           // recovered events to the chunk that came after all
	raws      map[string]map[uint64]int // masked raw data to the originals behind it
	tellRaws  bool                      // also between deltas
}

// frameOf is the provider frame of the row in hand.
type frameOf struct {
	data   *node // the frame's JSON object, or nil
	event  string
	key    string // of the stream that its text belongs to
	at     place
	deltas int // texts in it, so far, that grow a stream
}

// New returns a masker for an action. Its own ID stays as it is, so that an
// export names what it is of; with "" no action's ID stays.
func New(action string) *Masker {
	return &Masker{
		action: action, names: newPseudonyms(), sizes: newLengths(), texts: newTexts(), written: map[string]string{},
		recovered: map[hermes.Digest][]place{}, moved: map[place]place{}, raws: map[string]map[uint64]int{},
	}
}

// JSON masks one value for the eye: text too becomes its length, and a masked
// number says that it is one. Pseudonyms are those of the Masker.
func (m *Masker) JSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := parse(raw)
	if err != nil {
		n = &node{kind: '"', text: m.sizes.of(string(raw), false)}
		return n.bytes()
	}
	m.show, m.frame = true, frameOf{}
	defer func() { m.show = false }()
	m.value(n, rule{deep: true}, spot{})
	return n.bytes()
}

// Learn reads a row before any is masked. All rows of an action must be learned
// first: a text that repeats a stream can come before the stream is whole. Once a
// row was masked, nothing more is learned; what comes then is masked all the
// same, but may no longer compare as its original did.
func (m *Masker) Learn(r model.Row) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Kind != model.RowChunk && r.Kind != model.RowRecovered || m.texts.joined {
		return
	}
	n, err := parse(r.Raw)
	if err != nil {
		return // Row says so
	}
	m.open(r, n)
	m.twin(r)
	m.learning = true
	defer func() { m.learning = false }()
	m.object(n, spot{})
	switch {
	case thinks(m.frame.event):
		m.texts.thoughts = append(m.texts.thoughts, m.frame.at)
		fallthrough
	case m.frame.deltas == 0:
		m.texts.others = append(m.texts.others, m.frame.at)
	}
}

// twin follows the reducer: a chunk takes the place of the recovered event that
// it is.
func (m *Masker) twin(r model.Row) {
	var digest hermes.Digest
	if r.Chunk != nil {
		digest = r.Content().Digest()
	} else if r.Recovered != nil {
		digest = r.Recovered.Record.Digest()
	}
	if digest == (hermes.Digest{}) {
		return
	}
	if r.Kind == model.RowRecovered {
		m.tellRaws = true
		m.recovered[digest] = append(m.recovered[digest], m.frame.at)
		return
	}
	waiting := m.recovered[digest]
	if len(waiting) == 0 {
		return
	}
	first := 0
	for i, at := range waiting {
		if comparePlaces(at, waiting[first]) < 0 {
			first = i
		}
	}
	m.moved[waiting[first]] = m.frame.at
	m.texts.forget(waiting[first])
	m.recovered[digest] = append(waiting[:first:first], waiting[first+1:]...)
}

// Row masks a row. The copy has the number, kind and time of the original.
func (m *Masker) Row(r model.Row) (model.Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := parse(r.Raw)
	if err != nil {
		return model.Row{}, fmt.Errorf("mask %s row %d: %w", r.Kind, r.Number, err)
	}
	m.texts.join()
	clear(m.written)
	m.open(r, n)
	if to, ok := m.moved[m.frame.at]; ok && r.Kind == model.RowRecovered {
		m.frame.at = to
	}
	m.value(n, rule{deep: true}, spot{})
	out, err := model.DecodeRow(r.Kind, r.At, n.bytes())
	if err != nil {
		return model.Row{}, fmt.Errorf("mask row %d: %w", r.Number, err)
	}
	out.Number = r.Number
	return out, nil
}

// open finds the provider frame in a row.
func (m *Masker) open(r model.Row, n *node) {
	m.frame = frameOf{}
	var record *node
	switch {
	case r.Chunk != nil:
		m.frame.at = place{seq: r.Chunk.Sequence}
		if r.Kind == model.RowConflict {
			m.frame.at.sub = -1 << 50 // stands nowhere in the turn
		}
		record = n.get("data").get("hermes_sse")
		m.frame.data = n.get("data").get("hermes_operator")
	case r.Recovered != nil:
		m.frame.at = place{seq: r.Recovered.After, sub: int64(r.Recovered.Index) + 1}
		if r.Recovered.First {
			m.frame.at = place{sub: int64(r.Recovered.Index) - 1<<40}
		}
		record = n.get("record")
	}
	if record != nil {
		m.frame.event = record.str("event")
		m.frame.data = record.get("data")
		if d := m.frame.data; d != nil && d.kind == '"' {
			// What the connector could not read as JSON it kept as a string.
			if in, err := parse([]byte(d.text)); err == nil && in.kind == '{' {
				d.inner, m.frame.data = in, in
			}
		}
	}
	d := m.frame.data
	for _, key := range []string{"event", "type"} {
		if m.frame.event == "" {
			m.frame.event = d.str(key)
		}
	}
	m.frame.key = streamKey(m.frame.event, d)
}

// streamKey names the message or content item that an event's text belongs to.
func streamKey(event string, d *node) string {
	event = strings.TrimSuffix(strings.TrimSuffix(event, ".delta"), ".done")
	key := []string{event, d.str("message_id"), d.str("item_id")}
	for _, index := range []string{"output_index", "content_index"} {
		if v := d.get(index); v != nil && v.kind == '0' && (index == "content_index" || key[2] == "") {
			key = append(key, index, v.text)
		}
	}
	return strings.Join(key, "\x00")
}
