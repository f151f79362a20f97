package ui

import "strings"

// squeezer takes out of a line the colour changes that nobody can see: a frame
// is made of many short strings, each with its own beginning and end, and most of
// what ends begins again behind a few spaces. Lines stay whole in themselves,
// for a Canvas leaves out those that have not changed.
type squeezer struct {
	inked map[string]bool // whether a state of colours shows on a space
}

// line returns s with as few colour changes as it needs. Other escapes pass.
func (q *squeezer) line(s string) string {
	if strings.IndexByte(s, '\x1b') < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	want, has := "", "" // the changes since the last reset: asked for, and written
	for len(s) > 0 {
		if seq, ok := cutSGR(s); ok {
			s = s[len(seq):]
			want = after(want, seq)
			continue
		}
		n := strings.IndexByte(s[1:], '\x1b') + 1
		if n == 0 {
			n = len(s)
		}
		run := s[:n]
		s = s[n:]
		if want != has && (strings.Trim(run, " ") != "" || q.shows(want) || q.shows(has)) {
			b.WriteString(change(has, want))
			has = want
		}
		b.WriteString(run)
	}
	if has != "" {
		b.WriteString(reset)
	}
	return b.String()
}

// after is the state behind a colour change: the changes since the last reset.
func after(state, seq string) string {
	switch {
	case seq == reset || seq == "\x1b[m":
		return ""
	case strings.HasPrefix(seq, "\x1b[0;"):
		return seq
	}
	if i := strings.LastIndex(state, "\x1b["); i >= 0 && foreground(seq) && foreground(state[i:]) {
		state = state[:i] // one colour takes the place of another
	}
	return state + seq
}

// change is what leads from one state to another.
func change(has, want string) string {
	switch {
	case has == want:
		return ""
	case want == "":
		return reset
	case strings.HasPrefix(want, "\x1b[0;"), foreground(want) && foreground(has):
		return want
	case strings.HasPrefix(want, has):
		return want[len(has):]
	}
	return "\x1b[0;" + want[2:]
}

// foreground reports whether a state is one foreground colour and nothing else:
// another one replaces it whole.
func foreground(state string) bool {
	codes, ok := strings.CutPrefix(state, "\x1b[38;")
	if !ok || strings.IndexByte(codes, 'm') != len(codes)-1 {
		return false
	}
	n := strings.Count(codes, ";")
	return codes[0] == '5' && n == 1 || codes[0] == '2' && n == 3
}

// cutSGR returns the colour change that s begins with.
func cutSGR(s string) (string, bool) {
	if !strings.HasPrefix(s, "\x1b[") {
		return "", false
	}
	for i := 2; i < len(s); i++ {
		switch c := s[i]; {
		case c == 'm':
			return s[:i+1], true
		case c >= '0' && c <= '9', c == ';', c == ':':
		default:
			return "", false
		}
	}
	return "", false
}

// shows reports whether a state of colours shows on a space: a background, a
// line through or under it, or reversed colours.
func (q *squeezer) shows(state string) bool {
	if state == "" {
		return false
	}
	if v, ok := q.inked[state]; ok {
		return v
	}
	v := false
	for _, seq := range strings.Split(strings.TrimPrefix(state, "\x1b["), "\x1b[") {
		codes := strings.Split(strings.TrimSuffix(seq, "m"), ";")
		for i := 0; i < len(codes); i++ {
			switch c := codes[i]; {
			case c == "38":
				// A foreground: what follows is its number, not a code.
				if i+1 < len(codes) && codes[i+1] == "5" {
					i += 2
				} else {
					i += 4
				}
			case c == "" || c == "0" || c == "1" || c == "2" || c == "3" || c == "22" || c == "23" || c == "39":
			case len(c) == 2 && (c[0] == '3' || c[0] == '9'):
			default:
				v = true
			}
		}
	}
	if q.inked == nil || len(q.inked) > 1000 {
		q.inked = map[string]bool{}
	}
	q.inked[state] = v
	return v
}
