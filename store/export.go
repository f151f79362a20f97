package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/safe"
)

// An export is JSON lines: a Header, a line for each row of one action in
// order, and an end line, without which it is known to be cut off. No line holds
// a character that could drive a terminal.
const (
	exportFormat  = "aipscope-journal"
	exportVersion = 1
	// maxLine bounds a line of an import, in bytes. The largest frame that a
	// follower takes (16 MiB), written as escapes throughout, stays below.
	maxLine = 128 << 20
	// maxHeader bounds the first line, so that another kind of file is soon known
	// for what it is.
	maxHeader = 64 << 10
)

// What can be wrong with an export.
var (
	ErrNotExport = errors.New("it is not an aipscope export")
	ErrTruncated = errors.New("the export is cut off")
)

// Header is the first line of an export.
type Header struct {
	Action string    `json:"action_id"`
	URL    string    `json:"url"`
	Made   time.Time `json:"made_at"`
	Masked bool      `json:"masked"` // the rows were masked: they hold no private content
}

type headerLine struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Header
}

// rowLine is a row, or the end. Body reads as JSON; where it is not the very
// bytes of the row (which had line breaks, or characters that are written as
// escapes here), or where those are no JSON at all, they are in Raw, in base64.
type rowLine struct {
	Number int64           `json:"n,omitempty"`
	Kind   model.RowKind   `json:"kind,omitempty"`
	At     time.Time       `json:"at,omitzero"`
	Body   json.RawMessage `json:"body,omitempty"`
	Raw    []byte          `json:"raw,omitempty"`
	End    bool            `json:"end,omitempty"`
	Rows   int             `json:"rows,omitempty"` // on the end line: how many there were
}

// Export writes an action's rows to w, each as transform returns it; a nil
// transform leaves rows as they are. The first error ends it.
func Export(w io.Writer, h Header, rows iter.Seq2[model.Row, error], transform func(model.Row) (model.Row, error)) error {
	out := bufio.NewWriterSize(w, 64<<10)
	h.Made = h.Made.UTC()
	line, err := safe.JSON(nil, headerLine{Format: exportFormat, Version: exportVersion, Header: h})
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	out.Write(append(line, '\n')) // an error stays with out, up to Flush
	n := 0
	for r, err := range rows {
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		number := r.Number
		if transform != nil {
			if r, err = transform(r); err != nil {
				return fmt.Errorf("export row %d: %w", number, err)
			}
		}
		if line, err = appendRow(line[:0], r); err != nil {
			return fmt.Errorf("export row %d: %w", number, err)
		}
		if _, err := out.Write(line); err != nil {
			return fmt.Errorf("export: %w", err)
		}
		n++
	}
	fmt.Fprintf(out, "{\"end\":true,\"rows\":%d}\n", n)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// appendRow appends a row's line. The body is not encoded again: that would
// change its bytes.
func appendRow(dst []byte, r model.Row) ([]byte, error) {
	head, err := safe.JSON(nil, rowLine{Number: r.Number, Kind: r.Kind, At: r.At.UTC()})
	if err != nil {
		return dst, err
	}
	dst = append(dst, head[:len(head)-1]...)
	var body []byte
	if json.Valid(r.Raw) {
		body = r.Raw
		if bytes.ContainsAny(body, "\n\r") || len(bytes.TrimSpace(body)) != len(body) {
			var b bytes.Buffer
			if err := json.Compact(&b, body); err != nil {
				return dst, err
			}
			body = b.Bytes()
		}
		body = safe.EscapeJSON(body)
		dst = append(append(dst, `,"body":`...), body...)
	}
	if !bytes.Equal(body, r.Raw) {
		raw, err := json.Marshal([]byte(r.Raw))
		if err != nil {
			return dst, err
		}
		dst = append(append(dst, `,"raw":`...), raw...)
	}
	return append(dst, '}', '\n'), nil
}

// Import reads an export's header, and then its rows one by one while they are
// asked for; they can be ranged over once. An error names its line, and is the last thing yielded; it wraps
// ErrNotExport, ErrNewer or ErrTruncated where that is what is wrong. Rows of
// unknown kinds are kept, undecoded.
func Import(r io.Reader) (Header, iter.Seq2[model.Row, error], error) {
	in := &lineReader{in: bufio.NewReaderSize(r, 64<<10), limit: maxHeader}
	var h headerLine
	line, err := in.next()
	switch {
	case errors.Is(err, io.EOF):
		return Header{}, nil, fmt.Errorf("import: %w: it is empty", ErrNotExport)
	case errors.Is(err, errTooLong), err == nil && (aip.Unmarshal(line, &h) != nil || h.Format != exportFormat):
		return Header{}, nil, fmt.Errorf("import: %w: its first line is not a header", ErrNotExport)
	case err != nil:
		return Header{}, nil, fmt.Errorf("import: %w", err)
	case h.Version > exportVersion:
		return Header{}, nil, fmt.Errorf("import: %w: its format is version %d, this one knows %d", ErrNewer, h.Version, exportVersion)
	}
	in.limit = maxLine
	return h.Header, func(yield func(model.Row, error) bool) {
		var last int64
		for count := 0; ; count++ {
			row, done, err := in.row(last, count)
			if err != nil {
				yield(model.Row{}, fmt.Errorf("import: line %d: %w", in.line, err))
				return
			}
			if done || !yield(row, nil) {
				return
			}
			last = row.Number
		}
	}, nil
}

// lineReader reads lines of bounded length and counts them.
type lineReader struct {
	in    *bufio.Reader
	limit int // bytes of a line with its end
	line  int // of the line last read, from 1
}

var errTooLong = errors.New("the line is too long")

// next reads a line without its end, or io.EOF where nothing is left. A last
// line without an end is ErrTruncated.
func (l *lineReader) next() ([]byte, error) {
	l.line++
	var line []byte
	for {
		part, err := l.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > l.limit:
			return nil, fmt.Errorf("%w: more than %d bytes", errTooLong, l.limit)
		case err == nil:
			return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, fmt.Errorf("%w in this line", ErrTruncated)
		default:
			return nil, err
		}
	}
}

// row reads the next row, which must be numbered above last, or done at the end
// line, which must say count.
func (l *lineReader) row(last int64, count int) (row model.Row, done bool, err error) {
	line, err := l.next()
	if errors.Is(err, io.EOF) {
		return row, false, fmt.Errorf("%w: its end line is missing", ErrTruncated)
	}
	if err != nil {
		return row, false, err
	}
	var r rowLine
	if err := aip.Unmarshal(line, &r); err != nil {
		return row, false, err
	}
	if r.End {
		if r.Rows != count {
			return row, false, fmt.Errorf("%w: it had %d rows, and %d are here", ErrTruncated, r.Rows, count)
		}
		if _, err := l.next(); !errors.Is(err, io.EOF) {
			return row, false, errors.New("something follows the end line")
		}
		return row, true, nil
	}
	switch {
	case r.Number <= last:
		return row, false, fmt.Errorf("row number %d does not ascend from %d", r.Number, last)
	case r.Kind == "":
		return row, false, errors.New("the row has no kind")
	case len(r.Raw) == 0 && r.Body == nil:
		return row, false, errors.New("the row has no body")
	}
	body := []byte(r.Body)
	if len(r.Raw) > 0 {
		body = r.Raw
	}
	if row, err = model.DecodeRow(r.Kind, r.At.UTC(), body); err != nil {
		return row, false, err
	}
	row.Number = r.Number
	return row, false, nil
}
