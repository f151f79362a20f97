package markdown

import (
	"strings"
	"testing"

	"github.com/charmbracelet/glamour"
	"github.com/charmbracelet/glamour/styles"
)

// The streamed text arrives at 1,000 deltas a second and is drawn every 33 ms, a
// screen of 40 lines at its end.
const perDraw = 33

func options(width int) Options {
	return Options{Width: width, Style: styles.DarkStyleConfig, Hyperlinks: true}
}

func streamDeltas(deltas []string, o Options) []string {
	d := New(o)
	for i, delta := range deltas {
		d.Append(delta)
		if i%perDraw == 0 {
			h := d.Height()
			d.Lines(h-40, h)
		}
	}
	d.Finish()
	return d.Lines(0, d.Height())
}

func BenchmarkStream(b *testing.B) {
	deltas := recorded(b, "chat_large")
	b.ReportAllocs()
	for b.Loop() {
		streamDeltas(deltas, options(100))
	}
}

func BenchmarkWhole(b *testing.B) {
	text := strings.Join(recorded(b, "chat_large"), "")
	b.ReportAllocs()
	for b.Loop() {
		Render(text, options(100))
	}
}

// BenchmarkGlamour is what the others are compared with.
func BenchmarkGlamour(b *testing.B) {
	text := strings.Join(recorded(b, "chat_large"), "")
	g, err := glamour.NewTermRenderer(glamour.WithStyles(styles.DarkStyleConfig), glamour.WithWordWrap(100))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Render(text); err != nil {
			b.Fatal(err)
		}
	}
}
