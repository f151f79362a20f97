package mask

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// node is a JSON value with its members in the order in which they came.
// Numbers are kept as they were written.
type node struct {
	kind    byte // '{' '[' '"' '0' 't' 'n': object, array, string, number, boolean, null
	text    string
	truth   bool
	members []member
	items   []*node
	inner   *node // what the text of a string says, where it was read as JSON
}

type member struct {
	key   string
	value *node
}

var errNotJSON = errors.New("not one JSON value")

// parse reads one JSON value. Its depth is bounded, as encoding/json bounds it.
func parse(raw []byte) (*node, error) {
	if !json.Valid(raw) {
		return nil, errNotJSON
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	n, err := parseValue(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errNotJSON
	}
	return n, nil
}

func parseValue(dec *json.Decoder) (*node, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch v := tok.(type) {
	case string:
		return &node{kind: '"', text: v}, nil
	case json.Number:
		return &node{kind: '0', text: v.String()}, nil
	case bool:
		return &node{kind: 't', truth: v}, nil
	case nil:
		return &node{kind: 'n'}, nil
	case json.Delim:
		if v == '[' {
			return parseArray(dec)
		}
		return parseObject(dec)
	}
	return nil, errNotJSON
}

func parseArray(dec *json.Decoder) (*node, error) {
	n := &node{kind: '['}
	for dec.More() {
		v, err := parseValue(dec)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, v)
	}
	_, err := dec.Token()
	return n, err
}

func parseObject(dec *json.Decoder) (*node, error) {
	n := &node{kind: '{'}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, err
		}
		key, ok := tok.(string)
		if !ok {
			return nil, errNotJSON
		}
		v, err := parseValue(dec)
		if err != nil {
			return nil, err
		}
		n.members = append(n.members, member{key, v})
	}
	_, err := dec.Token()
	return n, err
}

// get returns the member that encoding/json would read into a field of that
// name: the last one, whatever its case; or nil.
func (n *node) get(key string) *node {
	if n == nil || n.kind != '{' {
		return nil
	}
	for i := len(n.members) - 1; i >= 0; i-- {
		if strings.EqualFold(n.members[i].key, key) {
			return n.members[i].value
		}
	}
	return nil
}

// str returns the text of a string member, or "".
func (n *node) str(key string) string {
	if v := n.get(key); v != nil && v.kind == '"' {
		return v.text
	}
	return ""
}

func (n *node) encode(b *bytes.Buffer) {
	switch n.kind {
	case '{':
		b.WriteByte('{')
		for i, m := range n.members {
			if i > 0 {
				b.WriteByte(',')
			}
			quote(b, m.key)
			b.WriteByte(':')
			m.value.encode(b)
		}
		b.WriteByte('}')
	case '[':
		b.WriteByte('[')
		for i, v := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			v.encode(b)
		}
		b.WriteByte(']')
	case '"':
		if n.inner != nil {
			var in bytes.Buffer
			n.inner.encode(&in)
			quote(b, in.String())
			return
		}
		quote(b, n.text)
	case '0':
		b.WriteString(n.text)
	case 't':
		if n.truth {
			b.WriteString("true")
		} else {
			b.WriteString("false")
		}
	default:
		b.WriteString("null")
	}
}

// bytes returns the value's compact JSON.
func (n *node) bytes() json.RawMessage {
	var b bytes.Buffer
	n.encode(&b)
	return b.Bytes()
}

func quote(b *bytes.Buffer, s string) {
	q, _ := json.Marshal(s) // a string always encodes
	b.Write(q)
}
