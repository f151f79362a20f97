package model

// UpTo returns the turn as its first n entries made it: what was known before
// the rest came, without an outcome. It has the text and the tools of the
// moment, and no entries of its own. The receiver stays as it is.
func (t *Turn) UpTo(n int) *Turn {
	p := NewTurn(t.action)
	p.capability, p.endpoint, p.op, p.request = t.capability, t.endpoint, t.op, t.request
	var e Entry
	for i := range min(n, len(t.entries)) {
		e = t.entries[i]
		e.Tool, e.Segment, e.grew = "", -1, false
		if !e.At.IsZero() {
			p.span(e.At)
		}
		if !e.Recovered {
			p.chunks++
		}
		p.foldEntry(&e, i)
	}
	p.Apply(nil)
	return p
}
