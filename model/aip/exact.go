package aip

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// ErrTwice says that an object names one of its members twice, so that two
// readers may see two things in it.
var ErrTwice = errors.New("a member is there twice")

// Unmarshal is json.Unmarshal with names that count as they are written. The
// standard library also takes finish_reason from "Finish_Reason"; a daemon and
// its connector do not, and a verdict must not rest on what they never read. A member that
// v knows and that is there twice is ErrTwice, as it is for them in an object of AIP's own.
// v points to a zero value. Raw messages in it may share the memory of raw.
func Unmarshal(raw []byte, v any) error { return unmarshal(raw, v, true) }

// UnmarshalLast is Unmarshal for JSON that a daemon or connector passes on
// without a type of its own, such as a provider's: there the last of several members of one name
// counts, whatever it holds.
func UnmarshalLast(raw []byte, v any) error { return unmarshal(raw, v, false) }

var errEmpty = json.Unmarshal(nil, new(any))

func unmarshal(raw []byte, v any, once bool) error {
	switch {
	case len(raw) == 0:
		return errEmpty
	case fast(raw, v):
		return nil
	}
	return slow(raw, v, once)
}

// slow is for what fast does not read.
func slow(raw []byte, v any, once bool) error {
	s := exact{raw: raw, once: once}
	if _, ok := s.value(0, shapeOf(reflect.TypeOf(v))); !ok {
		s.out = nil // no JSON: let the standard library say where
	}
	if s.twice != "" {
		if json.Valid(raw) {
			return twice(s.twice)
		}
		s.out = nil
	}
	if s.out != nil {
		raw = s.out
	}
	return json.Unmarshal(raw, v)
}

func twice(name string) error { return fmt.Errorf("%w: %w: %q", ErrSyntax, ErrTwice, name) }

// shape is what matters of a Go type that JSON is read into: the names that its
// objects know, and where further objects stand in it. A nil shape takes any
// value as it is.
type shape struct {
	names  map[string]int // exact
	lower  map[string]bool
	fields []*shape
	elem   *shape // of a list, or of a pointer
}

var shapes sync.Map // reflect.Type to *shape

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func shapeOf(t reflect.Type) *shape {
	for t.Kind() == reflect.Pointer && !t.Implements(unmarshaler) {
		t = t.Elem()
	}
	if known, ok := shapes.Load(t); ok {
		return known.(*shape)
	}
	var s *shape
	switch {
	case t.Implements(unmarshaler), reflect.PointerTo(t).Implements(unmarshaler):
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
		if elem := shapeOf(t.Elem()); elem != nil {
			s = &shape{elem: elem}
		}
	case t.Kind() == reflect.Struct:
		s = &shape{names: map[string]int{}, lower: map[string]bool{}}
		s.embed(t)
	}
	shapes.Store(t, s)
	return s
}

// embed adds a struct's members, and those of the structs embedded in it.
func (s *shape) embed(t reflect.Type) {
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-":
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			s.embed(f.Type)
		case f.IsExported():
			if name == "" {
				name = f.Name
			}
			if _, ok := s.names[name]; !ok {
				s.names[name] = len(s.fields)
				s.lower[strings.ToLower(name)] = true
				s.fields = append(s.fields, shapeOf(f.Type))
			}
		}
	}
}

// exact walks JSON beside the shape that it is read into. Where a name would be
// taken for another one, or stands a second time, its bytes are overwritten with
// blanks in a copy: no field is called so. On anything that is not JSON it stops.
type exact struct {
	raw   []byte
	out   []byte // the copy, once there is one
	once  bool
	twice string
}

// hide makes the name between two quotes one that nothing knows.
func (s *exact) hide(from, to int) {
	if s.out == nil {
		s.out = slices.Clone(s.raw)
	}
	for i := from; i < to; i++ {
		s.out[i] = ' '
	}
}

// value passes over the value at i and returns where it ends.
func (s *exact) value(i int, sh *shape) (end int, ok bool) {
	i = s.blanks(i)
	if i >= len(s.raw) {
		return i, false
	}
	switch c := s.raw[i]; {
	case sh != nil && sh.names != nil && c == '{':
		return s.object(i+1, sh)
	case sh != nil && sh.elem != nil && c == '[':
		return s.list(i+1, sh.elem)
	}
	return s.skip(i)
}

func (s *exact) list(i int, elem *shape) (end int, ok bool) {
	if i = s.blanks(i); i < len(s.raw) && s.raw[i] == ']' {
		return i + 1, true
	}
	for {
		if i, ok = s.value(i, elem); !ok {
			return i, false
		}
		if i = s.blanks(i); i >= len(s.raw) {
			return i, false
		}
		switch s.raw[i] {
		case ',':
			i++
		case ']':
			return i + 1, true
		default:
			return i, false
		}
	}
}

// place is where a name stands, between its quotes.
type place struct{ from, to int }

func (s *exact) object(i int, sh *shape) (end int, ok bool) {
	if i = s.blanks(i); i < len(s.raw) && s.raw[i] == '}' {
		return i + 1, true
	}
	var few [64]place
	seen := few[:]
	if len(sh.fields) > len(few) {
		seen = make([]place, len(sh.fields))
	}
	for {
		if i = s.blanks(i); i >= len(s.raw) || s.raw[i] != '"' {
			return i, false
		}
		if end, ok = s.skip(i); !ok {
			return end, false
		}
		at := place{i + 1, end - 1}
		field, known, alike := sh.find(s.raw[i:end])
		var inner *shape
		switch {
		case known:
			if was := seen[field]; was.from > 0 {
				if s.once && s.twice == "" {
					s.twice = string(s.raw[at.from:at.to])
				}
				s.hide(was.from, was.to)
			}
			seen[field], inner = at, sh.fields[field]
		case alike:
			s.hide(at.from, at.to)
		}
		if i = s.blanks(end); i >= len(s.raw) || s.raw[i] != ':' {
			return i, false
		}
		if i, ok = s.value(i+1, inner); !ok {
			return i, false
		}
		if i = s.blanks(i); i >= len(s.raw) {
			return i, false
		}
		switch s.raw[i] {
		case ',':
			i++
		case '}':
			return i + 1, true
		default:
			return i, false
		}
	}
}

// find returns the field of a quoted name, or whether the name is only like one.
func (sh *shape) find(quoted []byte) (field int, known, alike bool) {
	name := quoted[1 : len(quoted)-1]
	if field, known = sh.names[string(name)]; known {
		return field, true, false
	}
	var buf [64]byte
	lower := buf[:0]
	for _, c := range name {
		if c == '\\' || c >= 0x80 {
			return sh.findOdd(quoted)
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower = append(lower, c)
	}
	return 0, false, sh.lower[string(lower)]
}

// findOdd is find for a name with escapes, or with letters beyond ASCII: a few
// of those are alike to ASCII ones.
func (sh *shape) findOdd(quoted []byte) (field int, known, alike bool) {
	var name string
	if json.Unmarshal(quoted, &name) != nil {
		return 0, false, false
	}
	if field, known = sh.names[name]; known {
		return field, true, false
	}
	for other := range sh.names {
		if strings.EqualFold(name, other) {
			return 0, false, true
		}
	}
	return 0, false, false
}

func (s *exact) blanks(i int) int {
	for i < len(s.raw) && (s.raw[i] == ' ' || s.raw[i] == '\n' || s.raw[i] == '\r' || s.raw[i] == '\t') {
		i++
	}
	return i
}

// skip passes over the value at i, whose first byte is no blank.
func (s *exact) skip(i int) (end int, ok bool) {
	depth := 0
	for i < len(s.raw) {
		switch s.raw[i] {
		case '"':
			for i++; ; i++ {
				if i >= len(s.raw) {
					return i, false
				}
				if s.raw[i] == '"' {
					break
				}
				if s.raw[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1, true
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i, true // the end of a scalar
			}
			if depth--; depth == 0 {
				return i + 1, true
			}
		case ',', ':', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return i, true
			}
		}
		i++
	}
	return i, depth == 0
}
