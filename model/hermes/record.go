package hermes

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"

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

// Digest identifies the content of a record, by its raw data where it was kept.
type Digest [16]byte

// Digest returns the record's identity for matching chunks with an aggregate.
func (r Record) Digest() Digest {
	if r.RawData != nil {
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
