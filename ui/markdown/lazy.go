package markdown

import (
	"slices"
	"strings"
)

// Rendering is what a text costs, so closed segments are rendered when somebody
// looks at them or asks for the exact height. Until then a segment counts as about so
// many lines: as many as it last had, or as its length makes likely. Whoever shows a
// part of a long text asks for its Extent, has what is in sight drawn by Show, and
// finds a line again by its Place when others have moved it.

// Extent is the number of lines, as far as they are known: those of what was never
// looked at are estimated.
func (d *Document) Extent() int {
	d.update()
	closed := 0
	if n := len(d.closed); n > 0 {
		d.lay()
		closed = d.offsets[n-1] + d.closed[n-1].height
	}
	if len(d.rest.lines) == 0 {
		return closed
	}
	return closed + d.gap(closed, d.rest.goesOn, d.rest.against) + len(d.rest.lines)
}

// Show renders what stands from one line up to another. It reports whether it had
// to: then lines may have moved, and others stand between the two.
func (d *Document) Show(from, to int) (moved bool) {
	d.update()
	for d.undrawn > 0 {
		drew := false
		d.lay()
		for i := d.segmentAt(from); i < len(d.closed) && d.offsets[i] < to; i++ {
			if drew = !d.closed[i].drawn; drew {
				d.draw(i) // and what follows stands elsewhere
				break
			}
		}
		if !drew {
			break
		}
		moved = true
	}
	return moved
}

// Place is where a line stands in the text, whatever stands before it.
type Place struct {
	segment int
	line    int // in it
}

// Place returns the place of a line as it stands now: before text that came since,
// or another width, moves it.
func (d *Document) Place(line int) Place {
	d.lay()
	i := d.segmentAt(line)
	if len(d.closed) == 0 {
		return Place{0, line}
	}
	if last := len(d.closed) - 1; i == last && line >= d.offsets[last]+d.closed[last].height {
		return Place{len(d.closed), line - d.offsets[last] - d.closed[last].height}
	}
	return Place{i, line - d.offsets[i]}
}

// LineOf returns the line at a place.
func (d *Document) LineOf(p Place) int {
	height := d.Extent()
	switch n := len(d.closed); {
	case p.segment < n:
		return d.offsets[p.segment] + max(0, min(p.line, d.closed[p.segment].height-1))
	case n == 0:
		return max(0, min(p.line, height-1))
	default:
		return max(0, min(d.offsets[n-1]+d.closed[n-1].height+p.line, height-1))
	}
}

// segmentAt is the closed segment that holds a line, or the last before it.
func (d *Document) segmentAt(line int) int {
	i, found := slices.BinarySearch(d.offsets, line)
	if !found {
		i--
	}
	return max(i, 0)
}

// lay says where each closed segment begins.
func (d *Document) lay() {
	for i := len(d.offsets); i < len(d.closed); i++ {
		at := 0
		if i > 0 {
			at = d.offsets[i-1] + d.closed[i-1].height
		}
		if s := &d.closed[i]; s.height > 0 {
			at += d.gap(at, s.goesOn, s.against)
		}
		d.offsets = append(d.offsets, at)
	}
}

// draw renders a closed segment, unless it was.
func (d *Document) draw(i int) {
	s := &d.closed[i]
	if s.drawn {
		return
	}
	if d.blocks == nil {
		d.blocks = newBlocks(d.options)
	}
	if s.plain {
		s.lines = d.blocks.verbatim(s.text, d.blocks.frame(d.options.Width), d.blocks.base)
	} else {
		s.lines = d.render([]byte(s.text), s.goesOn)
	}
	s.drawn = true
	d.undrawn--
	if n := len(s.lines); n != s.height {
		s.height = n
		d.offsets = d.offsets[:min(len(d.offsets), i)]
	}
}

// forget has a closed segment rendered again when it is looked at.
func (d *Document) forget(i int) {
	if s := &d.closed[i]; s.drawn {
		s.drawn, s.lines = false, nil
		d.undrawn++
	}
}

// estimate is about how many lines a text takes.
func (d *Document) estimate(text string) int {
	return 1 + strings.Count(strings.TrimRight(text, "\n"), "\n") + len(text)/(d.options.Width+1)
}
