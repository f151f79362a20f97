package hermes

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"reflect"

	"aipscope/model/aip"
)

// Record is one parsed provider frame as the connector keeps it, inside a chunk
// as data.hermes_sse and again in the aggregate's events (wire/hermes.md A.5).
type Record struct {
	Event    *string         `json:"event"`
	ID       *string         `json:"id"`
	Data     json.RawMessage `json:"data"`
	RawData  *string         `json:"raw_data,omitempty"`
	Terminal bool            `json:"terminal"`
}

// Digest identifies the content of a record, by its event's name and its raw
// data where that was kept.
type Digest [16]byte

// Digest returns the record's identity for matching chunks with an aggregate.
func (r Record) Digest() Digest {
	if r.RawData != nil {
		if r.Event != nil {
			return digest('r', []byte(*r.Event+"\x00"+*r.RawData))
		}
		return digest('r', []byte(*r.RawData))
	}
	var b bytes.Buffer
	if json.Compact(&b, r.Data) != nil {
		return digest('d', r.Data)
	}
	return digest('d', b.Bytes())
}

func digest(tag byte, b []byte) Digest {
	h := sha256.New()
	h.Write([]byte{tag})
	h.Write(b)
	return Digest(h.Sum(nil)[:16])
}

// RecordOf returns the provider frame inside a chunk's data, or false where
// there is none (another connector's chunk, or the connector's closing error).
func RecordOf(data json.RawMessage) (Record, bool) {
	var d struct {
		SSE *Record `json:"hermes_sse"`
	}
	if aip.UnmarshalLast(data, &d) != nil || d.SSE == nil {
		return Record{}, false
	}
	return *d.SSE, true
}

// RedactedFrame reports whether a redaction stands in the place of a chunk's
// provider frame.
func RedactedFrame(data json.RawMessage) bool {
	var d struct {
		SSE json.RawMessage `json:"hermes_sse"`
	}
	return aip.UnmarshalLast(data, &d) == nil && aip.Redacted(d.SSE)
}

// Unframed reports whether a chunk's data is one that holds no provider frame by
// design: the connector's closing error, or an operator's event.
func Unframed(data json.RawMessage) bool {
	f, _ := DecodeChunk(data, "")
	return f.Kind == KindClosed || f.Family == FamilyOperator
}

// saysTwoThings reports whether the record's data is not what its raw data
// says. Writers may differ in order, spaces and escapes.
func (r Record) saysTwoThings() bool {
	if r.RawData == nil || *r.RawData == string(r.Data) {
		return false
	}
	raw, ok := number([]byte(*r.RawData))
	if !ok {
		s, isString := str(r.Data)
		return !isString || s != *r.RawData
	}
	data, ok := number(r.Data)
	return !ok || !reflect.DeepEqual(raw, data)
}

// number decodes JSON with its numbers as they are written.
func number(raw []byte) (any, bool) {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err := d.Decode(&v)
	return v, err == nil
}
