package aip

import (
	"unicode/utf16"
	"unicode/utf8"
)

// AppendUnescaped appends what a JSON string says, of which inner is what stands
// between the quotes and is known to be sound; other bytes stay as they are. A
// surrogate that stands alone is nothing that UTF-8 can hold: lone says what stands
// in its place.
func AppendUnescaped(out, inner []byte, lone func(out []byte, r rune) []byte) []byte {
	from := 0
	for i := 0; i < len(inner); i++ {
		if inner[i] != '\\' {
			continue
		}
		out = append(out, inner[from:i]...)
		i++
		switch c := inner[i]; c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, _ := Hex4(inner[i+1:])
			i += 4
			if low := inner[i+1:]; utf16.IsSurrogate(r) && len(low) >= 6 && low[0] == '\\' && low[1] == 'u' {
				second, _ := Hex4(low[2:])
				if whole := utf16.DecodeRune(r, second); whole != utf8.RuneError {
					r = whole
					i += 6
				}
			}
			if utf16.IsSurrogate(r) {
				out = lone(out, r)
			} else {
				out = utf8.AppendRune(out, r)
			}
		default: // a quote, a slash or a backslash
			out = append(out, c)
		}
		from = i + 1
	}
	return append(out, inner[from:]...)
}

// Hex4 reads the four digits of a \u escape.
func Hex4[text string | []byte](s text) (r rune, ok bool) {
	if len(s) < 4 {
		return 0, false
	}
	for i := range 4 {
		c := s[i]
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
