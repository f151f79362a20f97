package hermes

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"aipscope/model/aip"
)

// maxDepth is how deeply the connector's JSON parser lets arrays and objects
// nest.
const maxDepth = 127

// strictJSON returns a JSON text without insignificant white space, or false
// where the connector's parser refuses it. That parser is stricter than Go's:
// a surrogate escape must be part of a pair, a number must fit a float, and
// nesting is bounded.
func strictJSON(s string) (json.RawMessage, bool) {
	if !json.Valid([]byte(s)) {
		return nil, false
	}
	out := make([]byte, 0, len(s))
	depth := 0
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == '"':
			n := stringLen(s[i:])
			if n < 0 {
				return nil, false
			}
			out = append(out, s[i:i+n]...)
			i += n
		case c == '-' || c >= '0' && c <= '9':
			n := numberLen(s[i:])
			if f, err := strconv.ParseFloat(s[i:i+n], 64); err != nil && math.IsInf(f, 0) {
				return nil, false
			}
			out = append(out, s[i:i+n]...)
			i += n
		default:
			switch c {
			case '{', '[':
				if depth++; depth > maxDepth {
					return nil, false
				}
			case '}', ']':
				depth--
			}
			out = append(out, c)
			i++
		}
	}
	return out, true
}

// stringLen is the length of the string that valid JSON begins with, quotes
// included, or -1 when it has a surrogate without its pair.
func stringLen(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i + 1
		case '\\':
			if i++; s[i] != 'u' {
				continue
			}
			switch u, _ := aip.Hex4(s[i+1:]); {
			case u >= 0xDC00 && u <= 0xDFFF:
				return -1
			case u >= 0xD800 && u <= 0xDBFF:
				if s[i+5] != '\\' || s[i+6] != 'u' {
					return -1
				}
				if low, _ := aip.Hex4(s[i+7:]); low < 0xDC00 || low > 0xDFFF {
					return -1
				}
				i += 6
			}
			i += 4
		}
	}
	return -1
}

func numberLen(s string) int {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c == '-', c == '+', c == '.', c == 'e', c == 'E':
		default:
			return i
		}
	}
	return len(s)
}

// member returns the value of an object's member, of the last one if there are
// several. value is JSON that strictJSON made; what is not an object has no
// members.
func member(value json.RawMessage, name string) (json.RawMessage, bool) {
	if len(value) == 0 || value[0] != '{' {
		return nil, false
	}
	var found json.RawMessage
	for i := 1; i < len(value) && value[i] != '}'; {
		n := valueLen(value[i:])
		key := value[i : i+n]
		i += n + 1
		n = valueLen(value[i:])
		if isKey(key, name) {
			found = value[i : i+n]
		}
		if i += n; i < len(value) && value[i] == ',' {
			i++
		}
	}
	return found, found != nil
}

func isKey(quoted []byte, name string) bool {
	if string(quoted[1:len(quoted)-1]) == name {
		return true
	}
	for _, c := range quoted {
		if c == '\\' {
			var s string
			return json.Unmarshal(quoted, &s) == nil && s == name
		}
	}
	return false
}

// first returns the first element of an array.
func first(value json.RawMessage) (json.RawMessage, bool) {
	if len(value) < 3 || value[0] != '[' {
		return nil, false
	}
	return value[1 : 1+valueLen(value[1:])], true
}

// valueLen is the length of the value that compact JSON begins with.
func valueLen(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			} else if depth < 0 {
				return i
			}
		case ',', ':':
			if depth == 0 {
				return i
			}
		}
	}
	return len(b)
}

func stringMember(value json.RawMessage, name string) (string, bool) {
	v, ok := member(value, name)
	if !ok {
		return "", false
	}
	return stringOf(v)
}

func stringOf(value json.RawMessage) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	var s string
	if json.Unmarshal(value, &s) != nil {
		return "", false
	}
	return s, true
}

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string, escaping only what must be.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(dst, s[start:i]...)
				dst = append(dst, "\ufffd"...)
				start = i + 1
			}
			i += n
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
