package hermes

import (
	"encoding/json"

	"aipscope/model/aip"
)

// Content is what a chunk's data holds, read as far as it goes without the
// operation. The zero Content is another connector's, which is FamilyNone.
type Content struct {
	holds  holds
	record Record
	digest Digest
}

type holds uint8

const (
	holdsOther holds = iota
	holdsFrame
	holdsOperator // an operator's event
	holdsClosed   // the connector's closing error
)

// ReadContent reads a chunk's data: a provider frame, an operator event, the
// connector's closing error, or another connector's content.
func ReadContent(data json.RawMessage) Content {
	var d struct {
		SSE      *Record         `json:"hermes_sse"`
		Operator json.RawMessage `json:"hermes_operator"`
		Reason   string          `json:"reason"`
	}
	_ = aip.UnmarshalLast(data, &d)
	switch {
	case d.SSE != nil:
		return Content{holdsFrame, *d.SSE, d.SSE.Digest()}
	case d.Operator != nil:
		rec := Record{Data: d.Operator}
		return Content{holdsOperator, rec, rec.Digest()}
	case d.Reason == ClosedEarly:
		return Content{holds: holdsClosed}
	}
	return Content{}
}

// Frame reads the content for what it means.
func (c *Content) Frame(op Operation) Frame {
	switch c.holds {
	case holdsFrame:
		return Decode(c.record, op)
	case holdsOperator:
		return Decode(c.record, OpOperator)
	case holdsClosed:
		return Frame{Kind: KindClosed}
	}
	return Frame{}
}

// Record is the provider frame, false where there is none.
func (c *Content) Record() (Record, bool) { return c.record, c.holds == holdsFrame }

// Digest identifies the content; it is zero where there is no frame or event.
func (c *Content) Digest() Digest { return c.digest }

// Unframed reports whether the content holds no provider frame by design: the
// connector's closing error, or an operator's event.
func (c *Content) Unframed() bool { return c.holds == holdsClosed || c.holds == holdsOperator }
