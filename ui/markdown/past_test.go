package markdown

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"aipscope/model/turntest"
)

// wentBack checks that a document of which only the first bytes are asked for looks
// like one that holds no more, and that it can go on from there.
func wentBack(t *testing.T, text string, o Options, seed uint64, times int) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 3))
	d := New(o)
	d.spacing = 1 + rnd.IntN(12)
	for rest := text; rest != ""; {
		n := min(1+rnd.IntN(60), len(rest))
		d.Append(rest[:n])
		rest = rest[n:]
		if rnd.IntN(3) == 0 {
			d.Height()
		}
	}
	if rnd.IntN(2) == 0 {
		d.Finish()
	}
	before := strings.Join(d.Lines(0, d.Height()), "\n")
	for range times {
		n := rnd.IntN(len(text) + 1)
		p := d.UpTo(n)
		if rnd.IntN(2) == 0 {
			p.Height()
			p = p.UpTo(n) // of a past, too
		}
		what := fmt.Sprintf("%q up to %d", text, n)
		check(t, p.Lines(0, p.Height()), o.Width)
		p.Finish()
		same(t, what, p.Lines(0, p.Height()), direct(t, text[:n], o))
		p = d.UpTo(n)
		p.Height()
		p.Append(text[n:])
		p.Finish()
		same(t, what+" and on", p.Lines(0, p.Height()), direct(t, text, o))
	}
	if after := strings.Join(d.Lines(0, d.Height()), "\n"); after != before {
		t.Errorf("%q: going back changed it", text)
	}
}

func TestGoingBackLooksLikeATextThatEndsThere(t *testing.T) {
	for name, text := range constructs {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(4) {
				wentBack(t, text, options(10+int(20*seed)), seed, 4)
			}
		})
	}
	for seed := range uint64(60) {
		wentBack(t, mixture(seed), options(1+int(seed%70)), seed, 2)
	}
}

func TestGoingBackInARecording(t *testing.T) {
	deltas := recorded(t, "chat_large")
	if turntest.Racing {
		deltas = deltas[:len(deltas)/8]
	}
	text, o := strings.Join(deltas, ""), options(90)
	d := New(o)
	d.Append(text)
	for _, n := range []int{1, len(text) / 3, len(text) - 1} {
		p := d.UpTo(n)
		p.Finish()
		same(t, fmt.Sprintf("up to %d", n), p.Lines(0, p.Height()), Render(text[:n], o))
	}
	// Another width reaches what was kept.
	d.SetWidth(50)
	p := d.UpTo(len(text) / 2)
	p.Finish()
	same(t, "narrower", p.Lines(0, p.Height()), Render(text[:len(text)/2], options(50)))
	alone := d.Alone()
	same(t, "alone", alone.Lines(0, alone.Height()), d.Lines(0, d.Height()))
}

func BenchmarkGoingBack(b *testing.B) {
	text := strings.Join(recorded(b, "chat_large"), "")
	d := New(options(100))
	d.Append(text)
	d.Height()
	for i := 0; b.Loop(); i++ {
		d.UpTo(len(text) - 1 - i*977%len(text)).Height()
	}
}
