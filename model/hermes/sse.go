package hermes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits bound what the connector reads of a provider stream, in bytes; a zero
// means no limit.
type Limits struct {
	Frame  int // one frame, or what was read of an unfinished one
	Stream int // the whole stream
}

// DefaultLimits are the connector's own (wire/hermes.md A.1).
var DefaultLimits = Limits{Frame: 1 << 20, Stream: 64 << 20}

// ErrInvalidStream is why a stream cannot be read on: a frame or the stream is
// too large, or a frame is not UTF-8.
var ErrInvalidStream = errors.New("invalid provider stream")

// Parser reads the bytes of a provider's SSE body as the connector does, which
// is not quite the standard: see wire/hermes.md A.5. Bytes may come in pieces
// of any size.
type Parser struct {
	limits Limits
	buf    []byte // what is fed and not yet a record
	from   int    // no frame of buf ends before it
	total  int
	err    error
}

// NewParser returns a parser for one stream.
func NewParser(limits Limits) *Parser { return &Parser{limits: limits} }

// Feed adds bytes. It fails with ErrInvalidStream when the stream is too large.
func (p *Parser) Feed(b []byte) error {
	if p.err != nil {
		return p.err
	}
	p.total += len(b)
	if p.limits.Stream > 0 && p.total > p.limits.Stream {
		p.err = fmt.Errorf("%w: over %d bytes", ErrInvalidStream, p.limits.Stream)
		return p.err
	}
	p.buf = append(p.buf, b...)
	return nil
}

// Next returns the next record, or false when more bytes are needed. Frames
// that carry nothing, such as keepalives, are passed over.
func (p *Parser) Next() (Record, bool, error) {
	for p.err == nil {
		end, next := FrameEnd(p.buf, p.from)
		if next < 0 {
			p.from = end
			if p.limits.Frame > 0 && len(p.buf) > p.limits.Frame {
				p.err = fmt.Errorf("%w: unfinished frame over %d bytes", ErrInvalidStream, p.limits.Frame)
			}
			return Record{}, false, p.err
		}
		frame := p.buf[:end]
		if p.limits.Frame > 0 && len(frame) > p.limits.Frame {
			p.err = fmt.Errorf("%w: frame over %d bytes", ErrInvalidStream, p.limits.Frame)
			break
		}
		rec, ok, err := parseFrame(frame)
		p.buf, p.from, p.err = p.buf[next:], 0, err
		if ok {
			return rec, true, nil
		}
	}
	return Record{}, false, p.err
}

// Close reads what is left at the end of the stream as one last frame.
func (p *Parser) Close() (Record, bool, error) {
	if p.err != nil {
		return Record{}, false, p.err
	}
	rest := p.buf
	p.buf, p.from = nil, 0
	if len(bytes.TrimSpace(rest)) == 0 {
		return Record{}, false, nil
	}
	var rec Record
	var ok bool
	rec, ok, p.err = parseFrame(rest)
	return rec, ok, p.err
}

// FrameEnd finds where the first frame of b ends, and where the next one
// begins: the first LF LF or CR LF CR LF. Search starts at from. Without one,
// next is -1, and end is where to search again when b has grown.
func FrameEnd(b []byte, from int) (end, next int) {
	for i := from; ; i++ {
		n := bytes.IndexByte(b[i:], '\n')
		if n < 0 {
			return len(b), -1
		}
		i += n
		if i+1 == len(b) {
			return i, -1
		}
		if b[i+1] == '\n' {
			return i, i + 2
		}
		if i > 0 && b[i-1] == '\r' && b[i+1] == '\r' {
			if i+2 == len(b) {
				return i, -1
			}
			if b[i+2] == '\n' {
				return i - 1, i + 3
			}
		}
	}
}

// parseFrame is false for a frame without data, event and id.
func parseFrame(frame []byte) (Record, bool, error) {
	if !utf8.Valid(frame) {
		return Record{}, false, fmt.Errorf("%w: frame is not UTF-8", ErrInvalidStream)
	}
	var rec Record
	var data []string
	for line := range strings.SplitSeq(string(frame), "\n") {
		line = strings.TrimRight(line, "\r")
		if line == "" || line[0] == ':' {
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			rec.Event = &value
		case "id":
			rec.ID = &value
		case "data":
			data = append(data, value)
		}
	}
	if data == nil && rec.Event == nil && rec.ID == nil {
		return Record{}, false, nil
	}
	raw := strings.Join(data, "\n")
	rec.RawData = &raw
	rec.Data = readData(raw)
	rec.Terminal = terminal(rec)
	return rec, true, nil
}

// done is what a chat stream sends last; the connector keeps it as a string.
const done = "[DONE]"

func readData(raw string) json.RawMessage {
	switch strings.TrimSpace(raw) {
	case "":
		return json.RawMessage("null")
	case done:
		return json.RawMessage(`"` + done + `"`)
	}
	if value, ok := strictJSON(raw); ok {
		return value
	}
	return appendString(nil, raw)
}

// terminalNames are the events after which the connector stops to read.
var terminalNames = map[string]bool{
	"done": true, "run.completed": true, "run.failed": true, "run.cancelled": true,
	"response.completed": true, "response.failed": true, "response.incomplete": true, "error": true,
}

// terminal looks at the data, the event line and the data's "event", but not at
// its "type".
func terminal(r Record) bool {
	if strings.TrimSpace(*r.RawData) == done || r.Event != nil && terminalNames[*r.Event] {
		return true
	}
	name, _ := stringMember(r.Data, "event")
	return terminalNames[name]
}

// Name is the event's name, which decides its kind and the outcome: the event
// line, else "event" in the data, else "type" there.
func (r Record) Name() (string, bool) {
	if r.Event != nil {
		return *r.Event, true
	}
	if name, ok := stringMember(r.Data, "event"); ok {
		return name, true
	}
	return stringMember(r.Data, "type")
}
