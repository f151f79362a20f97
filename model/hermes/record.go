package hermes

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

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
			return digest('r', *r.Event, "\x00", *r.RawData)
		}
		return digest('r', *r.RawData)
	}
	var b bytes.Buffer
	if json.Compact(&b, r.Data) != nil {
		return digest('d', string(r.Data))
	}
	return digest('d', b.String())
}

func digest(tag byte, parts ...string) Digest {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if size > 64<<10 {
		return digestLarge(tag, parts)
	}
	var few [1 << 10]byte
	b := append(few[:0], tag)
	for _, p := range parts {
		b = append(b, p...)
	}
	sum := sha256.Sum256(b)
	return Digest(sum[:16])
}

// digestLarge is digest without a copy of all.
func digestLarge(tag byte, parts []string) Digest {
	h := sha256.New()
	h.Write([]byte{tag})
	buf := make([]byte, 32<<10)
	for _, p := range parts {
		for p != "" {
			n := copy(buf, p)
			h.Write(buf[:n])
			p = p[n:]
		}
	}
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

// saysTwoThings reports whether the record's data is not what its raw data
// says, by the connector's own reading of it (wire/hermes.md A.5). Writers may
// differ in order, spaces, escapes, and how they write a number.
func (r Record) saysTwoThings() bool {
	if r.RawData == nil || *r.RawData == string(r.Data) {
		return false
	}
	raw := strings.TrimSpace(*r.RawData)
	if raw == "" {
		return !isNull(r.Data)
	}
	if s, ok := str(r.Data); ok && (s == *r.RawData || s == "[DONE]" && raw == s) {
		return false
	}
	said, ok := numbered([]byte(raw))
	data, ok2 := numbered(r.Data)
	return !ok || !ok2 || !alike(said, data)
}

// numbered decodes JSON with its numbers as they are written.
func numbered(raw []byte) (any, bool) {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err := d.Decode(&v)
	return v, err == nil && json.Valid(raw)
}

// alike reports whether two decoded values are the same.
func alike(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, alike)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, alike)
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(a.String(), b.String())
	}
	return a == b
}

// sameNumber compares numbers of JSON. A connector keeps a whole one of up to 64
// bits exactly and any other as a float, whose last digits are not sure.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	if whole(a) && whole(b) {
		return false
	}
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err == nil && err2 == nil && math.Abs(x-y) <= 1e-15*math.Abs(x)
}

// whole reports whether a number is kept exactly.
func whole(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	_, err2 := strconv.ParseUint(s, 10, 64)
	return s != "-0" && (err == nil || err2 == nil)
}
