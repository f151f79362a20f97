package mask

import (
	"hash/maphash"
	"strconv"
	"strings"

	"aipscope/model/hermes"
)

// spot is where a value stands.
type spot struct {
	key   string // of the member that holds it
	path  string // the keys from the provider frame's object to it; "" elsewhere, and below what no text stands in
	index int    // of the chat choice around it
	part  bool   // in a chunk's message part
	mute  bool   // what is said here is not the assistant's
}

// object masks the members of an object whose keys are known.
func (m *Masker) object(n *node, at spot) {
	switch n.str("role") {
	case "user", "system", "developer", "tool":
		at.mute = true
	}
	at.mute = at.mute || n.str("type") == "function_call_output"
	var raws []*node
	for i := range n.members {
		mem := &n.members[i]
		key := strings.ToLower(mem.key)
		in := spot{key: key, index: at.index, part: at.key == "part", mute: at.mute}
		switch {
		case n == m.frame.data:
			in.path = key
		case at.path == "choices", at.path == "choices/delta":
			in.path = at.path + "/" + key
		}
		m.rename(mem)
		r, ok := rules[key]
		switch {
		case key == "raw_data" && mem.value.kind == '"' && !m.show:
			raws = append(raws, mem.value)
		case ok:
			in.mute = in.mute || r.mute
			m.value(mem.value, r, in)
		default:
			m.hide(mem.value)
		}
	}
	if m.learning {
		return
	}
	for _, raw := range raws {
		raw.text = m.rawData(raw.text, n.get("data"))
	}
}

// rename masks a key that could be content.
func (m *Masker) rename(mem *member) {
	if !m.learning && (!plain(mem.key, 64) || pseudonymShape.MatchString(mem.key)) {
		mem.key = m.names.of("key", "key_", mem.key)
	}
}

// value masks a value under a known key.
func (m *Masker) value(n *node, r rule, at spot) {
	switch n.kind {
	case '"':
		if r.str == frame && n.inner != nil {
			m.object(n.inner, at)
		} else {
			n.text = m.str(n.text, r.str, at)
		}
	case '0':
		if !r.num {
			m.number(n)
		}
	case '{':
		if r.deep {
			m.object(n, at)
		} else {
			m.hide(n)
		}
	case '[':
		for i, v := range n.items {
			if at.path == "choices" {
				at.index = i
			}
			m.value(v, r, at)
		}
	}
}

// hide masks a value of which nothing is known. Booleans and null say little
// and stay.
func (m *Masker) hide(n *node) {
	if m.learning {
		return
	}
	switch n.kind {
	case '"':
		n.text, n.inner = m.length(n.text), nil
	case '0':
		m.number(n)
	case '{':
		for i := range n.members {
			m.rename(&n.members[i])
			m.hide(n.members[i].value)
		}
	case '[':
		for _, v := range n.items {
			m.hide(v)
		}
	}
}

func (m *Masker) number(n *node) {
	switch {
	case m.learning:
	case m.show:
		n.kind, n.text = '"', "‹number›"
	default:
		n.text = "0"
	}
}

func (m *Masker) length(s string) string { return m.sizes.of(s, !m.show) }

// str masks a string by the class of its key.
func (m *Masker) str(s string, c class, at spot) string {
	if c == text || c == delta {
		return m.text(s, at)
	}
	if m.learning || strings.TrimSpace(s) == "" || lengthShape.MatchString(s) {
		return s
	}
	switch c {
	case word:
		if listed(s) {
			return s
		}
	case moment:
		if isTime(s) {
			return s
		}
	case frame:
		if strings.TrimSpace(s) == "[DONE]" {
			return s
		}
	case name:
		return m.name(s)
	case ident:
		return m.ident(s)
	case capability:
		return m.capability(s)
	case toolKey:
		return m.toolKey(s)
	}
	return m.length(s)
}

func (m *Masker) name(s string) string {
	if plain(s, 64) && !pseudonymShape.MatchString(s) {
		return s
	}
	return m.names.of("name", "name_", s)
}

func (m *Masker) ident(s string) string {
	if s == m.action {
		return s
	}
	return m.names.of("id", prefixOf(s), s)
}

// capability keeps what the rules of the verdict rest on: the operation.
func (m *Masker) capability(s string) string {
	endpoint, op, ok := hermes.ParseCapability(s)
	switch {
	case plain(s, 256):
		return s
	case ok:
		return hermes.Operation(m.name(string(op))).Capability(m.name(endpoint))
	}
	return m.length(s)
}

// toolKey masks what an operator confirmed: the ID of a tool that a row before
// told of, or name#n.
func (m *Masker) toolKey(s string) string {
	if got, ok := m.names.given[[2]string{"id", s}]; ok {
		return got
	}
	if i := strings.LastIndexByte(s, '#'); i > 0 {
		if _, err := strconv.Atoi(s[i+1:]); err == nil {
			return m.name(s[:i]) + s[i:]
		}
	}
	return m.ident(s)
}

// text masks what the assistant says. Where it is known which part of which
// stream it is, or repeats, it becomes that.
func (m *Masker) text(s string, at spot) string {
	key, grows := m.grows(at)
	var where place
	if grows {
		where = m.frame.at
		where.ord = m.frame.deltas
		m.frame.deltas++
	}
	switch {
	case m.learning:
		if grows && s != "" {
			m.texts.learn(key, where, s)
		}
		return s
	case s == "", m.show, at.mute:
		return m.length(s)
	case at.part:
		// A chunk's part repeats the frame beside it, and decides nothing.
		if got, ok := m.written[s]; ok {
			return got
		}
		return m.length(s)
	}
	var got string
	event := m.frame.event
	switch {
	case grows:
		got = m.texts.delta(key, where, s)
	case thinks(event) && (at.path == "delta" || at.path == "text"):
		got = m.texts.thinking(m.frame.at, s)
	case event == "response.output_text.done" && at.path == "text":
		got = m.texts.whole(s, m.texts.byKey[m.frame.key])
	case event == "assistant.completed" && at.path == "content", strings.HasPrefix(event, "run.") && at.path == "output":
		got = m.texts.closing(s)
	default:
		got = m.texts.whole(s, nil)
	}
	m.written[s] = got
	return got
}

// grows returns the stream that a text of the provider frame grows, if it does.
func (m *Masker) grows(at spot) (key string, ok bool) {
	switch {
	case strings.HasPrefix(at.path, "choices/delta/"):
		return at.path + strconv.Itoa(at.index), true
	case at.path == "delta" && !thinks(m.frame.event):
		return m.frame.key, true
	}
	return "", false
}

// thinks reports whether an event's text is what the provider calls reasoning.
func thinks(event string) bool { return event == "tool.progress" || event == "reasoning.available" }

// rawData returns the raw data that fits a record's masked data. Where the
// originals of two equal copies differed, so do the copies, in white space.
func (m *Masker) rawData(orig string, data *node) string {
	switch {
	case strings.TrimSpace(orig) == "":
		return orig
	case data == nil:
		return m.length(orig)
	}
	raw := data.text
	if data.kind != '"' {
		raw = string(data.bytes())
	} else if data.inner != nil {
		raw = string(data.inner.bytes())
	}
	if m.frame.deltas > 0 && !m.tellRaws {
		return raw
	}
	known := m.raws[raw]
	if known == nil {
		known = map[uint64]int{}
		m.raws[raw] = known
	}
	hash := maphash.String(m.sizes.seed, orig)
	if _, ok := known[hash]; !ok {
		known[hash] = len(known)
	}
	return raw + strings.Repeat(" ", known[hash])
}
