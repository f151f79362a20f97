package aip

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// MaxKept bounds what a reader of this package holds of one JSON value, in
// bytes. The connector collects at most 64 MiB of a stream, so no honest value
// comes near it.
const MaxKept = 128 << 20

// ErrTooLarge says that one JSON value is larger than MaxKept.
var ErrTooLarge = errors.New("a JSON value is too large")

// ErrSyntax says that a body is not JSON, or not of the shape that was asked for.
var ErrSyntax = errors.New("not valid JSON")

// scanner walks JSON as it arrives and holds only the values that it is asked
// to keep. It finds where values end and no more: what is kept is checked by
// whoever decodes it, what is skipped is not checked at all.
type scanner struct {
	r    *bufio.Reader
	kept int // bytes kept of the value at hand
}

func newScanner(r io.Reader) *scanner {
	return &scanner{r: bufio.NewReaderSize(r, 64<<10)}
}

// peek returns the first byte of what comes next, blanks aside.
func (s *scanner) peek() (byte, error) {
	for {
		b, err := s.r.ReadByte()
		if err != nil {
			return 0, cut(err)
		}
		if b != ' ' && b != '\t' && b != '\n' && b != '\r' {
			return b, s.r.UnreadByte()
		}
	}
}

// next consumes the byte that peek shows.
func (s *scanner) next() (byte, error) {
	if _, err := s.peek(); err != nil {
		return 0, err
	}
	return s.r.ReadByte()
}

func (s *scanner) expect(want byte) error {
	b, err := s.next()
	if err != nil {
		return err
	}
	if b != want {
		return fmt.Errorf("%w: %q where %q belongs", ErrSyntax, b, want)
	}
	return nil
}

// end checks that nothing but blanks is left.
func (s *scanner) end() error {
	switch _, err := s.peek(); {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%w: something follows the value", ErrSyntax)
}

// object calls member for each member; member consumes the value. key is the
// name as it was written, quotes included. A name that comes twice is ErrTwice.
func (s *scanner) object(member func(name string, key []byte) error) error {
	if err := s.expect('{'); err != nil {
		return err
	}
	b, err := s.peek()
	if err != nil {
		return err
	}
	if b == '}' {
		_, err = s.next()
		return err
	}
	seen := map[string]bool{}
	for {
		if b, err := s.peek(); err != nil {
			return err
		} else if b != '"' {
			return fmt.Errorf("%w: %q where a name belongs", ErrSyntax, b)
		}
		key, err := s.value(nil)
		if err != nil {
			return err
		}
		var name string
		if err := json.Unmarshal(key, &name); err != nil {
			return fmt.Errorf("%w: %v", ErrSyntax, err)
		}
		if seen[name] {
			return twice(name)
		}
		seen[name] = true
		if err := s.expect(':'); err != nil {
			return err
		}
		if err := member(name, key); err != nil {
			return err
		}
		if more, err := s.more('}'); err != nil || !more {
			return err
		}
	}
}

// array calls element for each element; element consumes it.
func (s *scanner) array(element func(index int) error) error {
	if err := s.expect('['); err != nil {
		return err
	}
	b, err := s.peek()
	if err != nil {
		return err
	}
	if b == ']' {
		_, err = s.next()
		return err
	}
	for i := 0; ; i++ {
		if err := element(i); err != nil {
			return err
		}
		if more, err := s.more(']'); err != nil || !more {
			return err
		}
	}
}

func (s *scanner) more(closing byte) (bool, error) {
	switch b, err := s.next(); {
	case err != nil:
		return false, err
	case b == ',':
		return true, nil
	case b == closing:
		return false, nil
	default:
		return false, fmt.Errorf("%w: %q between values", ErrSyntax, b)
	}
}

// value appends the next value to dst, byte for byte.
func (s *scanner) value(dst []byte) ([]byte, error) {
	s.kept = 0
	err := s.walk(func(b []byte) (err error) {
		dst, err = s.keep(dst, b)
		return err
	})
	return dst, err
}

// keep appends a piece of the value at hand to dst.
func (s *scanner) keep(dst, b []byte) ([]byte, error) {
	if s.kept += len(b); s.kept > MaxKept {
		return dst, ErrTooLarge
	}
	if free := cap(dst) - len(dst); s.kept > 64<<10 && free < len(b) {
		dst = slices.Grow(dst, max(s.kept/2, len(b))) // what is large is copied thrice at most
	}
	return append(dst, b...), nil
}

// skip consumes the next value and holds none of it.
func (s *scanner) skip() error { return s.walk(func([]byte) error { return nil }) }

// walk consumes one value, handing its bytes to take as they are found.
func (s *scanner) walk(take func([]byte) error) error {
	first, err := s.peek()
	if err != nil {
		return err
	}
	switch first {
	case ',', ':', '}', ']':
		return fmt.Errorf("%w: %q where a value belongs", ErrSyntax, first)
	}
	var (
		depth            int
		inside, escaped  bool // a string
		scalar           = first != '{' && first != '[' && first != '"'
		finished, unread bool
	)
	for !finished {
		if _, err := s.r.Peek(1); err != nil {
			return cut(err)
		}
		window, _ := s.r.Peek(s.r.Buffered())
		n := 0
		for n < len(window) && !finished {
			if inside && !escaped {
				if n += ordinary(window[n:]); n == len(window) {
					break
				}
			}
			b := window[n]
			n++
			if inside {
				switch {
				case escaped:
					escaped = false
				case b == '\\':
					escaped = true
				case b == '"':
					inside = false
					finished = depth == 0
				}
				continue
			}
			if scalar {
				switch b {
				case ',', ']', '}', ' ', '\t', '\n', '\r':
					finished, unread = true, true
				}
				continue
			}
			switch b {
			case '"':
				inside = true
			case '{', '[':
				depth++
			case '}', ']':
				depth--
				finished = depth == 0
			}
		}
		if unread {
			n--
		}
		if err := take(window[:n]); err != nil {
			return err
		}
		if _, err := s.r.Discard(n); err != nil {
			return cut(err)
		}
	}
	return nil
}

// cut makes the end of the input inside a value what it is.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
