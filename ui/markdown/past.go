package markdown

import (
	"bytes"
	"maps"
	"slices"
	"sort"

	"aipscope/model/safe"
)

// markSpacing is how many bytes of text stand between two marks: what UpTo divides
// and renders again at most.
const markSpacing = 4 << 10

// mark is how the document stood when it had looked at so much of its text. It
// shares what only grows.
type mark struct {
	read   int
	stream safe.Stream
	closed int // segments
	rest   tail
}

// found is a label, the segment that defined it, and those that had looked for it
// before.
type found struct {
	label   string
	by      int
	seekers []int
}

// keepMark keeps a mark if it is time for one.
func (d *Document) keepMark() {
	if n := len(d.marks); n > 0 && d.read-d.marks[n-1].read < d.spacing {
		return
	}
	m := mark{read: d.read, stream: d.stream, closed: len(d.closed), rest: d.rest}
	m.rest.share()
	d.marks = append(d.marks, m)
}

// share leaves of the tail what another document may hold, too.
func (t *tail) share() {
	plain := t.plain
	t.forget()
	if len(t.text) < markSpacing {
		t.text = bytes.Clone(t.text) // all the text before it stands in the same memory
	} else {
		t.text = slices.Clip(t.text)
	}
	if t.fenced { // else there is little of it
		t.plain = plainLines{rows: slices.Clip(plain.rows[:plain.done]), done: plain.done, read: plain.read}
	}
}

// UpTo returns the document as the first n bytes of its text make it, unfinished.
// It costs little more than to render a few kilobytes. Both are for the same
// goroutine.
func (d *Document) UpTo(n int) *Document {
	d.update()
	n = max(0, min(n, len(d.raw)))
	p := d.Like()
	p.spacing = d.spacing
	p.Grow(d.raw[:n])
	k := sort.Search(len(d.marks), func(i int) bool { return d.marks[i].read > n }) - 1
	end := len(d.closed)
	if k+1 < len(d.marks) {
		end = d.marks[k+1].closed
	}
	from := 0
	if k >= 0 {
		from = d.marks[k].closed
		p.resume(d, k)
	}
	// Around its end lines have the same numbers in both.
	for i := from; i < end; i++ {
		d.draw(i)
	}
	p.update()
	for i := from; i < len(p.closed); i++ {
		p.draw(i)
	}
	return p
}

// resume takes over what d was at its k-th mark.
func (p *Document) resume(d *Document, k int) {
	m := d.marks[k]
	d.lay()
	p.marks = slices.Clip(d.marks[:k+1])
	p.read, p.stream, p.rest = m.read, m.stream, m.rest
	p.closed = slices.Clone(d.closed[:m.closed])
	for i := range p.closed {
		if !p.closed[i].drawn {
			p.undrawn++
		}
	}
	p.offsets = slices.Clone(d.offsets[:m.closed])
	p.known, p.waiting = maps.Clone(d.known), make(map[string][]int, len(d.waiting))
	for label, segments := range d.waiting {
		p.wait(label, segments)
	}
	for i, f := range d.found {
		if f.by < m.closed {
			p.found = slices.Clip(d.found[:i+1])
			continue
		}
		delete(p.known, f.label)
		p.wait(f.label, f.seekers)
		for _, s := range p.waiting[f.label] {
			p.forget(s)
		}
	}
}

// wait notes the segments that look for a label, as far as the document has them.
func (d *Document) wait(label string, segments []int) {
	if n, _ := slices.BinarySearch(segments, len(d.closed)); n > 0 {
		d.waiting[label] = slices.Clip(segments[:n])
	}
}

// Alone returns the document as it is for another goroutine.
func (d *Document) Alone() *Document {
	p := d.UpTo(len(d.raw))
	p.blocks = nil
	return p
}
