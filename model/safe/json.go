package safe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON appends v as one line of JSON, without the newline, in which no string
// holds a character that could drive a terminal or hide in it: those are written
// as \u escapes, so the bytes are safe and the decoded text is exact. A lone
// surrogate becomes U+FFFD, since no text can hold it. It fails where v cannot be
// encoded, and dst is then unchanged.
func JSON(dst []byte, v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return dst, fmt.Errorf("encode json: %w", err)
	}
	return append(dst, EscapeJSON(bytes.TrimSuffix(b.Bytes(), []byte("\n")))...), nil
}

// AppendString appends a string as JSON does.
func AppendString(dst []byte, s string) []byte {
	before := len(dst)
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < 0x7F && c != '"' && c != '\\' {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			if r, size := utf8.DecodeRuneInString(s[i:]); size > 1 && !hidden(r) {
				i += size
				continue
			}
		}
		short := byte(0)
		switch c {
		case '"', '\\':
			short = c
		case '\n':
			short = 'n'
		case '\r':
			short = 'r'
		case '\t':
			short = 't'
		default:
			// What is rare, JSON can do.
			out, err := JSON(dst[:before], s)
			if err != nil {
				panic(err) // a string can always be encoded
			}
			return out
		}
		dst = append(append(dst, s[from:i]...), '\\', short)
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

// EscapeJSON does for JSON text what JSON does for a value: same value, same
// layout, safe strings. The text must be valid JSON; a clean one is returned as it is.
func EscapeJSON(text []byte) []byte {
	var out []byte
	from := 0
	replace := func(i, size int, r rune) int {
		out = append(out, text[from:i]...)
		out = appendEscape(out, r)
		from = i + size
		return from
	}
	inString := false
	for i := 0; i < len(text); {
		b := text[i]
		switch {
		case b == '"':
			inString = !inString
			i++
		case b == '\\' && inString:
			r, size := escapedRune(text[i:])
			if utf16.IsSurrogate(r) {
				i = replace(i, size, utf8.RuneError)
			} else {
				i += size
			}
		case b >= 0x20 && b < 0x7F, !inString && (b == '\n' || b == '\t' || b == '\r'):
			i++
		case b < utf8.RuneSelf:
			i = replace(i, 1, rune(b))
		default:
			r, size := utf8.DecodeRune(text[i:])
			if size == 1 || hidden(r) {
				i = replace(i, size, r)
			} else {
				i += size
			}
		}
	}
	if out == nil {
		return text
	}
	return append(out, text[from:]...)
}

// mostBlanks bounds the white space that Indent adds, in bytes beside the text's own.
const mostBlanks = 4 << 20

// Indent returns JSON text with each value on a line of its own, or as it is
// where it is no JSON, or is so deep that the white space would be many times its
// size: a few kilobytes of brackets come to hundreds of megabytes.
func Indent(text []byte) []byte {
	blanks, depth := 0, 0
	inString := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
			blanks += 1 + 2*depth
		case c == '}' || c == ']':
			depth--
			blanks += 1 + 2*depth
		case c == ',':
			blanks += 1 + 2*depth
		}
	}
	var b bytes.Buffer
	if blanks > mostBlanks && blanks > 4*len(text) || json.Indent(&b, text, "", "  ") != nil {
		return text
	}
	return b.Bytes()
}

// escapedRune is the code point of the escape that b starts with, and the
// escape's length; for an escape that is not \u only the length means something.
// A surrogate that is returned stands alone.
func escapedRune(b []byte) (rune, int) {
	r, ok := hex4(b)
	if !ok {
		return 0, min(2, len(b))
	}
	if utf16.IsSurrogate(r) {
		if low, ok := hex4(b[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
	}
	return r, 6
}

// hex4 decodes a \u escape.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

func appendEscape(dst []byte, r rune) []byte {
	if hi, lo := utf16.EncodeRune(r); hi != utf8.RuneError {
		return appendEscape(appendEscape(dst, hi), lo)
	}
	dst = append(dst, '\\', 'u')
	for shift := 12; shift >= 0; shift -= 4 {
		dst = append(dst, "0123456789abcdef"[r>>shift&0xF])
	}
	return dst
}
