package aip

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
	"unsafe"
)

// A plan reads JSON of the usual kind into a type in one pass: names as the type
// writes them, each once, values of the types that it asks for. Whatever else comes
// is left to the standard library, which the plan agrees with (FuzzFast).
type plan struct {
	kind   planKind
	fields []field        // of an object
	lower  map[string]int // the names of its members in lower case, to the field
	elem   *plan          // of a list or a pointer
	zero   reflect.Value
}

type field struct {
	name  string
	index []int
	plan  *plan
}

type planKind uint8

const (
	planOther planKind = iota // the standard library reads the value
	planString
	planRaw
	planBool
	planInt
	planUint
	planPointer
	planList
	planStruct
	planSelf // the type reads itself
)

var plans sync.Map // reflect.Type to *plan

var rawMessage = reflect.TypeFor[json.RawMessage]()

func planOf(t reflect.Type) *plan {
	if known, ok := plans.Load(t); ok {
		return known.(*plan)
	}
	p := &plan{}
	switch {
	case t == rawMessage:
		p.kind = planRaw
	case t.Kind() == reflect.Pointer:
		p.kind, p.elem = planPointer, planOf(t.Elem())
	case reflect.PointerTo(t).Implements(unmarshaler):
		p.kind = planSelf
	case reflect.PointerTo(t).Implements(textUnmarshaler):
	case t.Kind() == reflect.String:
		p.kind = planString
	case t.Kind() == reflect.Bool:
		p.kind = planBool
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64:
		p.kind = planInt
	case t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uint64:
		p.kind = planUint
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		p.kind, p.elem = planList, planOf(t.Elem())
		p.zero = reflect.MakeSlice(t, 0, 0)
	case t.Kind() == reflect.Struct:
		p.kind, p.lower = planStruct, map[string]int{}
		p.embed(t, nil)
	}
	plans.Store(t, p)
	return p
}

var textUnmarshaler = reflect.TypeFor[interface{ UnmarshalText([]byte) error }]()

// maxFields is how many members a plan keeps count of.
const maxFields = 64

// embed adds a struct's members, and those of the structs embedded in it, as
// shape does.
func (p *plan) embed(t reflect.Type, at []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		index := append(at[:len(at):len(at)], i)
		switch {
		case f.Tag.Get("json") == "-":
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			p.embed(f.Type, index)
		case f.Anonymous || strings.Contains(options, "string"):
			p.kind = planOther
		case f.IsExported():
			if name == "" {
				name = f.Name
			}
			lower := strings.ToLower(name)
			if _, twice := p.lower[lower]; twice || len(p.fields) == maxFields {
				p.kind = planOther
			}
			p.lower[lower] = len(p.fields)
			p.fields = append(p.fields, field{name, index, planOf(f.Type)})
		}
	}
}

// fast reads raw into v, which must be a pointer to a zero value, or reports
// false and leaves it so.
func fast(raw []byte, v any) bool {
	to := reflect.ValueOf(v)
	if to.Kind() != reflect.Pointer || to.IsNil() {
		return false
	}
	p := planOf(to.Type().Elem())
	if p.kind == planOther {
		return false
	}
	r := reader{raw: raw}
	if r.value(p, to.Elem(), 0) {
		if r.blanks(); r.at == len(raw) {
			return true
		}
	}
	to.Elem().SetZero()
	return false
}

// Valid is json.Valid, faster on the usual kind.
func Valid(raw []byte) bool {
	r := reader{raw: raw}
	if r.skip(0) {
		if r.blanks(); r.at == len(raw) {
			return true
		}
	}
	return json.Valid(raw)
}

// reader passes over JSON once, checking all of it. Its methods report false
// where they will not go on: on anything that is not JSON, or not of the usual
// kind.
type reader struct {
	raw []byte
	at  int
}

// maxNested is where the standard library takes over.
const maxNested = 500

func (r *reader) blanks() {
	for r.at < len(r.raw) {
		switch r.raw[r.at] {
		case ' ', '\n', '\r', '\t':
			r.at++
		default:
			return
		}
	}
}

// peek is the next byte that is no blank, or 0.
func (r *reader) peek() byte {
	if r.at < len(r.raw) && r.raw[r.at] > ' ' { // nearly always
		return r.raw[r.at]
	}
	return r.peekFar()
}

func (r *reader) peekFar() byte {
	r.blanks()
	if r.at == len(r.raw) {
		return 0
	}
	return r.raw[r.at]
}

// value reads the next value into a place.
func (r *reader) value(p *plan, to reflect.Value, depth int) bool {
	first := r.peek()
	from := r.at
	switch {
	case depth > maxNested:
		return false
	case p.kind == planStruct && first == '{':
		return r.object(p, to, depth)
	case p.kind == planList && first == '[':
		return r.list(p, to, depth)
	case p.kind == planPointer && first != 'n':
		to.Set(reflect.New(to.Type().Elem()))
		return r.value(p.elem, to.Elem(), depth)
	case p.kind == planString && first == '"':
		inner, plain, ok := r.text()
		if !ok {
			return false
		}
		s, ok := textOf(inner, plain)
		to.SetString(s)
		return ok
	}
	if !r.skip(depth) {
		return false
	}
	span := r.raw[from:r.at]
	switch {
	case p.kind == planRaw:
		to.SetBytes(span[:len(span):len(span)])
		return true
	case p.kind == planSelf:
		return to.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(span) == nil
	case p.kind == planOther:
		return json.Unmarshal(span, to.Addr().Interface()) == nil
	case first == 'n':
		return true // null leaves a place as it is
	case p.kind == planBool && (first == 't' || first == 'f'):
		to.SetBool(first == 't')
		return true
	case p.kind == planInt:
		n, err := strconv.ParseInt(unsafe.String(&span[0], len(span)), 10, to.Type().Bits())
		to.SetInt(n)
		return err == nil
	case p.kind == planUint:
		n, err := strconv.ParseUint(unsafe.String(&span[0], len(span)), 10, to.Type().Bits())
		to.SetUint(n)
		return err == nil
	}
	return false
}

func (r *reader) object(p *plan, to reflect.Value, depth int) bool {
	r.at++
	if r.peek() == '}' {
		r.at++
		return true
	}
	var seen uint64
	for next := 0; ; {
		if r.peek() != '"' {
			return false
		}
		name, plain, ok := r.text()
		if !ok || !plain {
			return false
		}
		if r.peek() != ':' {
			return false
		}
		r.at++
		i, known := p.find(name, next)
		if known {
			f := &p.fields[i]
			if seen&(1<<i) != 0 || f.name != string(name) {
				return false
			}
			seen |= 1 << i
			next = i + 1
			place := to
			for _, n := range f.index {
				place = place.Field(n)
			}
			if !r.value(f.plan, place, depth+1) {
				return false
			}
		} else if !r.skip(depth + 1) {
			return false
		}
		switch r.peek() {
		case ',':
			r.at++
		case '}':
			r.at++
			return true
		default:
			return false
		}
	}
}

// find returns the field that a name is, or may be taken for. Members mostly come in
// the order of the fields: next is the one that would come now.
func (p *plan) find(name []byte, next int) (i int, known bool) {
	if next < len(p.fields) && p.fields[next].name == string(name) {
		return next, true
	}
	var buf [64]byte
	if len(name) > len(buf) {
		return 0, false
	}
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		buf[i] = c
	}
	i, known = p.lower[string(buf[:len(name)])]
	return i, known
}

func (r *reader) list(p *plan, to reflect.Value, depth int) bool {
	r.at++
	to.Set(p.zero)
	if r.peek() == ']' {
		r.at++
		return true
	}
	for n := 0; ; n++ {
		to.Grow(1)
		to.SetLen(n + 1)
		if !r.value(p.elem, to.Index(n), depth+1) {
			return false
		}
		switch r.peek() {
		case ',':
			r.at++
		case ']':
			r.at++
			return true
		default:
			return false
		}
	}
}

// skip passes over a value.
func (r *reader) skip(depth int) bool {
	if depth > maxNested {
		return false
	}
	switch first := r.peek(); first {
	case '"':
		_, _, ok := r.text()
		return ok
	case '{', '[':
		closing := first + 2 // in ASCII
		r.at++
		if r.peek() == closing {
			r.at++
			return true
		}
		for {
			if first == '{' {
				if r.peek() != '"' {
					return false
				}
				if _, _, ok := r.text(); !ok || r.peek() != ':' {
					return false
				}
				r.at++
			}
			if !r.skip(depth + 1) {
				return false
			}
			switch r.peek() {
			case ',':
				r.at++
			case closing:
				r.at++
				return true
			default:
				return false
			}
		}
	case 't':
		return r.word("true")
	case 'f':
		return r.word("false")
	case 'n':
		return r.word("null")
	}
	return r.number()
}

func (r *reader) word(w string) bool {
	if len(r.raw)-r.at < len(w) || string(r.raw[r.at:r.at+len(w)]) != w {
		return false
	}
	r.at += len(w)
	return true
}

func (r *reader) digits() bool {
	from := r.at
	for r.at < len(r.raw) && '0' <= r.raw[r.at] && r.raw[r.at] <= '9' {
		r.at++
	}
	return r.at > from
}

func (r *reader) is(chars string) bool {
	if r.at < len(r.raw) && strings.IndexByte(chars, r.raw[r.at]) >= 0 {
		r.at++
		return true
	}
	return false
}

func (r *reader) number() bool {
	r.is("-")
	if !r.is("0") && !r.digits() {
		return false
	}
	if r.is(".") && !r.digits() {
		return false
	}
	if r.is("eE") {
		r.is("+-")
		return r.digits()
	}
	return true
}

// ordinary is how many bytes b begins with that a string passes over: all but its
// end, escapes, controls, and whatever is not ASCII. It looks at eight at once.
func ordinary(b []byte) int {
	const each, high = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; len(b)-n >= 8; n += 8 {
		w := binary.LittleEndian.Uint64(b[n:])
		// The high bit of a byte is set where it was, or where the subtraction
		// borrows: in the first byte that is special, and perhaps above it.
		if s := (w | (w - each*' ') | ((w ^ each*'"') - each) | ((w ^ each*'\\') - each)) & high; s != 0 {
			return n + bits.TrailingZeros64(s)/8
		}
	}
	for ; n < len(b); n++ {
		if c := b[n]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
	}
	return n
}

// text passes over a string and returns what stands between its quotes; plain
// says that it stands for itself.
func (r *reader) text() (inner []byte, plain, ok bool) {
	raw, from := r.raw, r.at+1
	plain = true
	for i := from + ordinary(raw[from:]); i < len(raw); i += ordinary(raw[i:]) {
		c := raw[i]
		switch {
		case c == '"':
			r.at = i + 1
			return raw[from:i], plain, true
		case c == '\\':
			plain = false
			if i++; i == len(raw) {
				return nil, false, false
			}
			switch raw[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if _, ok := Hex4(raw[i+1:]); !ok {
					return nil, false, false
				}
				i += 4
			default:
				return nil, false, false
			}
			i++
		case c < ' ':
			return nil, false, false
		default:
			plain = false
			for i++; i < len(raw) && raw[i] >= utf8.RuneSelf; i++ {
			}
		}
	}
	return nil, false, false
}

// textOf is what a string says whose inner bytes text has passed over. What is not
// UTF-8 is left to the standard library.
func textOf(inner []byte, plain bool) (string, bool) {
	switch {
	case plain:
		return string(inner), true
	case !utf8.Valid(inner):
		return "", false
	}
	out := AppendUnescaped(make([]byte, 0, len(inner)), inner, func(out []byte, _ rune) []byte {
		return utf8.AppendRune(out, utf8.RuneError)
	})
	return unsafe.String(unsafe.SliceData(out), len(out)), true
}
