package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"aipscope/model/safe"

	"github.com/charmbracelet/x/ansi"
)

// node is one line of a JSON tree. Keys and values have passed package safe.
type node struct {
	depth  int
	key    string // or the index in an array
	value  string // of a leaf
	open   byte   // { or [ of a branch, 0 of a leaf
	count  int    // members of a branch
	end    int    // the node behind its last descendant
	folded bool
	pad    int // cells behind the key, so that the values of one branch are flush
}

// deepest is how far a tree is shown; what stands deeper is one leaf.
const deepest = 64

// parseTree makes of JSON its nodes, in order.
func parseTree(raw []byte) ([]node, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var nodes []node
	if err := readNode(dec, &nodes, "", 0); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read tree: more than one value")
	}
	return nodes, nil
}

func readNode(dec *json.Decoder, nodes *[]node, key string, depth int) error {
	if depth > deepest {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		*nodes = append(*nodes, node{depth: depth, key: key, value: safe.Line(string(raw)), end: len(*nodes) + 1})
		return nil
	}
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	at := len(*nodes)
	*nodes = append(*nodes, node{depth: depth, key: key})
	n := node{depth: depth, key: key}
	switch v := tok.(type) {
	case json.Delim:
		n.open = byte(v)
		for dec.More() {
			name := number(n.count)
			if v == '{' {
				tok, err := dec.Token()
				if err != nil {
					return err
				}
				s, _ := tok.(string)
				name = safe.Line(s)
			}
			n.count++
			if err := readNode(dec, nodes, name, depth+1); err != nil {
				return err
			}
		}
		align(*nodes, at)
		if _, err := dec.Token(); err != nil {
			return err
		}
	case string:
		n.value = quoted(v)
	case nil:
		n.value = "null"
	default:
		n.value = fmt.Sprint(v)
	}
	n.end = len(*nodes)
	(*nodes)[at] = n
	return nil
}

// alignKeys is the widest key that others are padded to.
const alignKeys = 16

// align pads the keys of the branch at index at.
func align(nodes []node, at int) {
	wide := 0
	for i := at + 1; i < len(nodes); i = nodes[i].end {
		if w := ansi.StringWidth(nodes[i].key); w <= alignKeys {
			wide = max(wide, w)
		}
	}
	for i := at + 1; i < len(nodes); i = nodes[i].end {
		nodes[i].pad = max(0, wide-ansi.StringWidth(nodes[i].key))
	}
}

// quoted is a string as the tree shows it: a masked one is no string of its own.
func quoted(s string) string {
	if masked(s) {
		return safe.Line(s)
	}
	s = safe.Text(s)
	if !strings.Contains(s, "\n") {
		return `"` + s + `"`
	}
	return `"` + strings.ReplaceAll(s, "\n", `\n`) + `"`
}

// masked reports whether a string tells the length of what it stands for.
func masked(s string) bool {
	return strings.HasPrefix(s, "‹") && strings.HasSuffix(s, "›") && strings.Count(s, "‹") == 1
}

// tree is JSON that folds, in lines of a width.
type tree struct {
	nodes  []node
	lines  []int // node of each unwrapped line
	text   *text // those lines, wrapped
	owner  []int // unwrapped line of each wrapped one
	cursor int   // an index of lines
	w, h   int
	signs  [2]string // of an open and of a folded branch
}

// newTree returns the tree of JSON that may be shown; signs are those of an open
// and of a folded branch.
func newTree(raw json.RawMessage, signs [2]string) *tree {
	nodes, err := parseTree(raw)
	if err != nil {
		nodes = []node{{value: safe.Line(string(raw)), end: 1}}
	}
	return &tree{nodes: nodes, signs: signs}
}

// fold folds the branches that begin so.
func (t *tree) fold(begin func(path string, n *node) bool) {
	for i := 1; i < len(t.nodes); i++ {
		if n := &t.nodes[i]; n.open != 0 && n.count > 0 {
			n.folded = begin(t.path(i), n)
		}
	}
}

// path names a node by the keys that lead to it.
func (t *tree) path(i int) string {
	var keys []string
	for depth := t.nodes[i].depth; i > 0; i-- {
		if n := &t.nodes[i]; n.depth == depth {
			keys = append(keys, n.key)
			depth--
		}
		if depth < 1 {
			break
		}
	}
	var b strings.Builder
	for k := len(keys) - 1; k >= 0; k-- {
		b.WriteString("." + keys[k])
	}
	return b.String()
}

// resize gives the tree its size; lines are built anew only for another width.
func (t *tree) resize(w, h int) {
	w, h = max(w, 1), max(h, 1)
	switch {
	case t.text == nil || w != t.w:
		t.w, t.h = w, h
		t.lay()
		t.show()
	case h != t.h:
		t.h = h
		t.text.resize(w, h)
		t.show()
	}
}

// lay builds the lines anew.
func (t *tree) lay() {
	at := -1
	if t.cursor < len(t.lines) && len(t.lines) > 0 {
		at = t.lines[t.cursor]
	}
	top := 0
	if t.text != nil {
		top = t.text.top
	}
	t.lines = t.lines[:0]
	var b strings.Builder
	var hangs []int
	from := 0
	if len(t.nodes) > 1 {
		from = 1 // the root is what the view is of
	}
	for i := from; i < len(t.nodes); {
		if i <= at {
			t.cursor = len(t.lines)
		}
		if len(t.lines) > 0 {
			b.WriteByte('\n')
		}
		t.lines = append(t.lines, i)
		line := t.line(i)
		b.WriteString(line)
		hangs = append(hangs, ansi.StringWidth(line[:len(line)-len(t.nodes[i].value)]))
		if n := &t.nodes[i]; n.folded {
			i = n.end
		} else {
			i++
		}
	}
	t.cursor = max(0, min(t.cursor, len(t.lines)-1))
	t.text = newHanging(b.String(), hangs, t.w)
	t.owner = t.owner[:0]
	line := -1
	for i := range t.text.starts {
		if _, starts := t.text.line(i); starts {
			line++
		}
		t.owner = append(t.owner, max(line, 0))
	}
	t.text.top = top
	t.text.resize(t.w, t.h)
}

// line is a node's line, a branch with what it holds.
func (t *tree) line(i int) string {
	n := &t.nodes[i]
	indent := strings.Repeat("  ", max(0, n.depth-1))
	key := n.key
	if key != "" {
		pad := n.pad
		if ansi.StringWidth(indent+key)+pad+2+ansi.StringWidth(n.value) > t.w {
			pad = 0 // better out of line than on two
		}
		key += strings.Repeat(" ", pad+2)
	}
	switch n.open {
	case '{', '[':
		sign, shut := t.signs[0], byte('}')
		if n.open == '[' {
			shut = ']'
		}
		if n.count == 0 {
			return indent + key + string(n.open) + string(shut)
		}
		if n.folded {
			sign = t.signs[1]
		}
		return indent + key + sign + " " + string(n.open) + number(n.count) + string(shut)
	}
	return indent + key + n.value
}

// toggle folds or unfolds the branch at the cursor, or the one around the leaf there.
func (t *tree) toggle() (path string, folded, ok bool) {
	if len(t.lines) == 0 {
		return "", false, false
	}
	i := t.lines[t.cursor]
	for depth := t.nodes[i].depth; i > 0 && (t.nodes[i].open == 0 || t.nodes[i].count == 0); i-- {
		if t.nodes[i-1].depth < depth && t.nodes[i-1].open != 0 {
			i--
			break
		}
	}
	if i == 0 {
		return "", false, false
	}
	n := &t.nodes[i]
	n.folded = !n.folded
	t.cursor = max(0, indexOf(t.lines, i))
	t.lay()
	t.show()
	return t.path(i), n.folded, true
}

func indexOf(lines []int, i int) int {
	for k, l := range lines {
		if l == i {
			return k
		}
	}
	return -1
}

// move moves the cursor by lines of the tree, or scrolls inside one that is
// higher than the view.
func (t *tree) move(m motion) {
	if t.text == nil || len(t.lines) == 0 {
		return
	}
	first, last := t.extent()
	switch bottom := t.text.top + t.h; {
	case m == moveDown && last > bottom:
		t.text.top++
		return
	case m == moveUp && first < t.text.top:
		t.text.top--
		return
	case (m == movePageDown || m == movePageUp) && last-first > t.h:
		before := t.text.top
		t.text.move(m)
		if t.text.top != before {
			t.cursor = t.owner[min(t.text.top, len(t.owner)-1)]
			return
		}
	}
	t.cursor = m.apply(t.cursor, len(t.lines)-1, t.h)
	t.show()
	if m == moveBottom {
		t.text.move(moveBottom)
	}
}

// extent is the range of wrapped lines of the node at the cursor.
func (t *tree) extent() (first, last int) {
	first = len(t.owner)
	for i, o := range t.owner {
		if o == t.cursor {
			first, last = min(first, i), i+1
		}
	}
	return first, last
}

// show scrolls as little as it must so that the cursor is in sight.
func (t *tree) show() {
	first, last := t.extent()
	if last > t.text.top+t.h {
		t.text.top = last - t.h
	}
	if first < t.text.top {
		t.text.top = first
	}
}

// view returns the lines in sight.
func (t *tree) view(s *styles, focused bool, marks *regexp.Regexp) []string {
	var out []string
	for i := t.text.top; i < min(len(t.text.starts), t.text.top+t.h); i++ {
		line, starts := t.text.line(i)
		n := &t.nodes[t.lines[t.owner[i]]]
		if focused && t.owner[i] == t.cursor {
			out = append(out, s.selected.in(fill(line, t.w)))
			continue
		}
		value := s.text
		if n.open != 0 || masked(n.value) {
			value = s.dim // it says how much there is, not what
		}
		indent := 2 * max(0, n.depth-1)
		if key := len(n.key); starts && key > 0 && indent+key <= len(line) {
			out = append(out, line[:indent]+s.marked(line[indent:indent+key], s.key, marks)+s.marked(line[indent+key:], value, marks))
			continue
		}
		out = append(out, s.marked(line, value, marks))
	}
	return out
}
