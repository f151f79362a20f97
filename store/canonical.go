package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"math/big"
	"slices"
	"strings"

	"aipscope/model/aip"
)

// digest identifies a JSON value by what it says: not by its white space, the
// order of its members, or how a number or a character is written. It is a tree
// of hashes, so that deep nesting costs no copies. Lone surrogates stay apart
// from each other and from U+FFFD, which encoding/json would make of them.
type digest [sha256.Size]byte

// Tags keep values of different types apart.
const (
	tagNull   = 'z'
	tagTrue   = 't'
	tagFalse  = 'f'
	tagNumber = 'n'
	tagString = 's'
	tagArray  = 'a'
	tagObject = 'o'
	tagBytes  = 'b' // not JSON
)

// contentDigest is the digest of raw, without the members named in omit if it
// is an object. What is not JSON is identified by its bytes.
func contentDigest(raw []byte, omit ...string) digest {
	if !aip.Valid(raw) {
		return hash(tagBytes, raw)
	}
	c := canon{src: raw}
	c.space()
	if c.src[c.at] == '{' {
		return c.object(omit)
	}
	return c.value()
}

// chunkDigest identifies what a chunk says under its sequence: kind, data and
// part.
func chunkDigest(raw []byte) digest {
	var m struct {
		Kind json.RawMessage `json:"kind"`
		Data json.RawMessage `json:"data"`
		Part json.RawMessage `json:"part"`
	}
	if aip.Unmarshal(raw, &m) != nil {
		return hash(tagBytes, raw)
	}
	var b bytes.Buffer
	for _, v := range []json.RawMessage{m.Kind, m.Data, m.Part} {
		d := digest{tagNull} // an absent member is a null one
		if v != nil && string(v) != "null" {
			d = contentDigest(v)
		}
		b.Write(d[:])
	}
	return hash(tagArray, b.Bytes())
}

func hash(tag byte, b []byte) digest {
	h := sha256.New()
	h.Write([]byte{tag})
	h.Write(b)
	return digest(h.Sum(nil))
}

// canon reads JSON that json.Valid has accepted, which also bounds its depth.
type canon struct {
	src []byte
	at  int
}

func (c *canon) space() {
	for c.at < len(c.src) {
		switch c.src[c.at] {
		case ' ', '\t', '\n', '\r', ',', ':':
			c.at++
		default:
			return
		}
	}
}

func (c *canon) value() digest {
	c.space()
	switch b := c.src[c.at]; b {
	case '{':
		return c.object(nil)
	case '[':
		c.at++
		h := sha256.New()
		h.Write([]byte{tagArray})
		for c.space(); c.src[c.at] != ']'; c.space() {
			d := c.value()
			h.Write(d[:])
		}
		c.at++
		return digest(h.Sum(nil))
	case '"':
		return hash(tagString, c.text())
	case 't':
		c.at += len("true")
		return hash(tagTrue, nil)
	case 'f':
		c.at += len("false")
		return hash(tagFalse, nil)
	case 'n':
		c.at += len("null")
		return hash(tagNull, nil)
	default:
		start := c.at
		for c.at < len(c.src) && strings.IndexByte("+-.eE0123456789", c.src[c.at]) >= 0 {
			c.at++
		}
		return hash(tagNumber, []byte(canonicalNumber(string(c.src[start:c.at]))))
	}
}

// object reads an object's members. Of several with one name the last counts,
// as it does for encoding/json and for a daemon's database.
func (c *canon) object(omit []string) digest {
	c.at++
	members := map[string]digest{}
	for c.space(); c.src[c.at] != '}'; c.space() {
		name := string(c.text())
		members[name] = c.value()
	}
	c.at++
	for _, name := range omit {
		delete(members, name)
	}
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	h := sha256.New()
	h.Write([]byte{tagObject})
	for _, name := range names {
		h.Write(binary.AppendUvarint(nil, uint64(len(name))))
		h.Write([]byte(name))
		d := members[name]
		h.Write(d[:])
	}
	return digest(h.Sum(nil))
}

// text reads a string and returns its characters, lone surrogates as the three
// bytes that UTF-8 would give them if it could.
func (c *canon) text() []byte {
	c.at++
	start := c.at
	end := start
	for c.src[end] != '"' {
		if c.src[end] == '\\' {
			end++
		}
		end++
	}
	c.at = end + 1
	s := c.src[start:end]
	if bytes.IndexByte(s, '\\') < 0 {
		return s
	}
	return aip.AppendUnescaped(make([]byte, 0, len(s)), s, func(out []byte, r rune) []byte {
		return append(out, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	})
}

// canonicalNumber writes a JSON number as its digits without zeros at either
// end, and the power of ten behind them: 1.50e3 becomes 15e2. It is exact, of
// any size.
func canonicalNumber(s string) string {
	digits, negative := strings.CutPrefix(s, "-")
	exponent := new(big.Int)
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		if len(digits)-i > 40 {
			return s // absurd: by its text
		}
		exponent.SetString(strings.TrimPrefix(digits[i+1:], "+"), 10)
		digits = digits[:i]
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	exponent.Sub(exponent, big.NewInt(int64(len(fraction))))
	digits = strings.TrimLeft(whole+fraction, "0")
	trimmed := strings.TrimRight(digits, "0")
	if trimmed == "" {
		return "0"
	}
	exponent.Add(exponent, big.NewInt(int64(len(digits)-len(trimmed))))
	if negative {
		trimmed = "-" + trimmed
	}
	return trimmed + "e" + exponent.String()
}
