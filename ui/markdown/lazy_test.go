package markdown

import (
	"math/rand/v2"
	"strings"
	"testing"

	"aipscope/model/turntest"
)

// Whoever looks at parts of a text in any order, while it grows and changes its
// width, sees what the whole text looks like there.
func TestWhatIsInSightIsAsInTheWholeText(t *testing.T) {
	deltas, seeds := recorded(t, "chat_large"), uint64(3)
	if turntest.Racing {
		seeds = 1
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(seed, 5))
		d, pieces := New(options(80)), []string(nil)
		for range 12 {
			if rnd.IntN(4) == 0 {
				d.SetWidth(20 + rnd.IntN(100))
			}
			n := min(len(deltas), 1+rnd.IntN(120))
			pieces = append(pieces, strings.Join(deltas[:n], ""))
			d.Append(pieces[len(pieces)-1])
			deltas = deltas[n:]
			from := rnd.IntN(max(1, d.Extent()))
			top := d.Place(from)
			for d.Show(d.LineOf(top), d.LineOf(top)+40) {
			}
			from = d.LineOf(top)
			if d.Place(from) != top && from < d.Extent()-1 && top.line == 0 {
				t.Fatalf("the line moved from %+v to %+v", top, d.Place(from))
			}
			got := d.Lines(from, from+40)
			whole := New(d.options)
			for _, piece := range pieces { // divided where d is, so that places are the same
				whole.Append(piece)
				whole.Extent()
			}
			all := whole.Lines(0, whole.Height())
			at := whole.LineOf(d.Place(from))
			same(t, "in sight", got, all[min(at, len(all)):min(at+len(got), len(all))])
			if d.undrawn == 0 && len(d.closed) > 200 {
				t.Error("all of it was rendered")
			}
		}
		if h := d.Height(); h != d.Extent() || d.undrawn != 0 {
			t.Errorf("%d lines, %d, %d undrawn", h, d.Extent(), d.undrawn)
		}
	}
}
