package safe

import "strings"

// Filter returns rendered text with nothing in it that does more than style:
// SGR sequences stay, and OSC 8 hyperlinks to http, https and mailto addresses.
// Every other escape, and everything that Text would make visible, takes its
// visible form. A clean s is returned as it is.
func Filter(s string) string {
	c := cleaner{styled: true}
	out, _ := c.clean(s, true)
	return out
}

// maxSequence bounds one SGR sequence; a renderer writes a few dozen bytes.
const maxSequence = 128

// maxURI bounds the address of a hyperlink.
const maxURI = 2048

// sequence is the length of the allowed escape sequence that s starts with, or 0.
func sequence(s string) int {
	if len(s) < 3 {
		return 0
	}
	switch s[1] {
	case '[':
		for i := 2; i < min(len(s), maxSequence); i++ {
			switch b := s[i]; {
			case b == 'm':
				return i + 1
			case b >= '0' && b <= ';': // digits, colon and semicolon
			default:
				return 0
			}
		}
	case ']':
		return hyperlink(s)
	}
	return 0
}

// hyperlink is the length of the OSC 8 sequence that s starts with, or 0.
func hyperlink(s string) int {
	body, ok := strings.CutPrefix(s, "\x1b]8;")
	if !ok {
		return 0
	}
	end := strings.Index(body[:min(len(body), maxURI+64)], "\x1b\\")
	if end < 0 {
		return 0
	}
	id, uri, ok := strings.Cut(body[:end], ";")
	if !ok || !linkID(id) || uri != "" && !Linkable(uri) {
		return 0
	}
	return len("\x1b]8;") + end + len("\x1b\\")
}

// linkID allows the one parameter that ties the parts of a wrapped link.
func linkID(s string) bool {
	if s == "" {
		return true
	}
	id, ok := strings.CutPrefix(s, "id=")
	return ok && len(id) <= 32 && strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyz-") == ""
}

// Linkable reports whether uri may be made a hyperlink: printable ASCII with
// nothing to be mistaken for the end of a sequence, of a scheme that opens a
// page or a letter and runs nothing.
func Linkable(uri string) bool {
	if len(uri) > maxURI {
		return false
	}
	for i := range len(uri) {
		if uri[i] <= 0x20 || uri[i] >= 0x7F {
			return false
		}
	}
	scheme, rest, ok := strings.Cut(uri, ":")
	if !ok || rest == "" {
		return false
	}
	switch strings.ToLower(scheme) {
	case "http", "https":
		return strings.HasPrefix(rest, "//") && len(rest) > 2
	case "mailto":
		return true
	}
	return false
}
