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
	plain  Frame // of holdsPlain, or what Plain read
	read   bool  // Plain read it
}

type holds uint8

const (
	holdsOther holds = iota
	holdsFrame
	holdsPlain    // a frame that was kept without its record
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
		return Content{holds: holdsFrame, record: *d.SSE, digest: d.SSE.Digest()}
	case d.Operator != nil:
		rec := Record{Data: d.Operator}
		return Content{holds: holdsOperator, record: rec, digest: rec.Digest()}
	case d.Reason == ClosedEarly:
		return Content{holds: holdsClosed}
	}
	return Content{}
}

// Frame reads the content for what it means.
func (c *Content) Frame(op Operation) Frame {
	switch {
	case c.holds == holdsPlain, c.read:
		f := c.plain
		if f.Family == FamilySession || f.Family == FamilyRun { // which share names
			f.Family = familyOf(op, f.Family)
		}
		return f
	case c.holds == holdsFrame:
		return Decode(c.record, op)
	case c.holds == holdsOperator:
		return Decode(c.record, OpOperator)
	case c.holds == holdsClosed:
		return Frame{Kind: KindClosed}
	}
	return Frame{}
}

// Plain returns the frame as it is read without an operation, if that and the digest
// tell all of the content: PlainContent makes it of the two. It is read once.
func (c *Content) Plain() (Frame, bool) {
	if c.holds == holdsFrame && !c.read && c.record.RawData != nil { // else it may be a redaction
		if f := Decode(c.record, ""); f.More == nil {
			c.plain, c.read = f, true
		}
	}
	return c.plain, c.read || c.holds == holdsPlain
}

// PlainContent is the content of which Plain tells.
func PlainContent(f Frame, d Digest) Content {
	return Content{holds: holdsPlain, plain: f, digest: d}
}

// WithoutRecord reports whether the content was made by PlainContent.
func (c *Content) WithoutRecord() bool { return c.holds == holdsPlain }

// Record is the provider frame, false where there is none.
func (c *Content) Record() (Record, bool) { return c.record, c.holds == holdsFrame }

// Digest identifies the content; it is zero where there is no frame or event.
func (c *Content) Digest() Digest { return c.digest }

// Unframed reports whether the content holds no provider frame by design: the
// connector's closing error, or an operator's event.
func (c *Content) Unframed() bool { return c.holds == holdsClosed || c.holds == holdsOperator }
