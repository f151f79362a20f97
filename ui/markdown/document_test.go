package markdown

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/glamour/styles"
	"github.com/muesli/termenv"
)

func TestLinesAreExactlyThoseAskedFor(t *testing.T) {
	text := strings.Join(recorded(t, "chat_markdown"), "")
	d := New(options(80))
	for half := range 2 {
		d.Append(text[half*len(text)/2 : (half+1)*len(text)/2])
		all := d.Lines(0, d.Height())
		if len(all) != d.Height() {
			t.Fatalf("%d lines of %d", len(all), d.Height())
		}
		for from := -3; from < len(all)+3; from += 7 {
			for _, n := range []int{0, 1, 5, 40} {
				lo, hi := min(max(from, 0), len(all)), min(max(from+n, 0), len(all))
				same(t, fmt.Sprintf("lines %d to %d", from, from+n), d.Lines(from, from+n), all[lo:max(lo, hi)])
			}
		}
	}
}

func TestWidthAndStyleMayChangeAtAnyTime(t *testing.T) {
	text := strings.Join(recorded(t, "chat_markdown"), "")
	d := New(options(80))
	for i := 0; i < len(text); i += 500 {
		d.Append(text[i:min(i+500, len(text))])
		d.SetWidth(20 + i%90)
		check(t, d.Lines(0, d.Height()), 20+i%90)
	}
	d.SetStyle(styles.LightStyleConfig, termenv.ANSI256)
	d.SetWidth(64)
	d.Finish()
	same(t, "at last", d.Lines(0, d.Height()), Render(text, Options{Width: 64, Style: styles.LightStyleConfig, Profile: termenv.ANSI256, Hyperlinks: true}))
	d.SetStyle(styles.LightStyleConfig, termenv.Ascii)
	if out := strings.Join(d.Lines(0, d.Height()), "\n"); strings.Contains(out, "38;5") || !strings.Contains(out, "\x1b[1m") {
		t.Error("a profile without colours has colours, or no bold")
	}
	d = New(Options{Width: 64, Profile: termenv.Ascii})
	d.Append(text)
	if out := strings.Join(d.Lines(0, d.Height()), "\n"); strings.Contains(out, "\x1b") {
		t.Error("escapes without a style")
	}
}

func TestADefinitionReachesBackToWhereItIsMissed(t *testing.T) {
	d := New(options(80))
	d.Append("See [the notes].\n\n" + strings.Repeat("other text\n\n", 500))
	if first := d.Lines(0, 1)[0]; !strings.Contains(first, "[the notes]") {
		t.Fatalf("before: %q", first)
	}
	d.Append("[the notes]: https://notes.example/\n\nend")
	if first := d.Lines(0, 1)[0]; !strings.Contains(first, "https://notes.example/") {
		t.Errorf("after: %q", first)
	}
}

func TestOpenBlocksAreShown(t *testing.T) {
	for name, tc := range map[string]struct{ text, want, not string }{
		"open fence is plain":             {"```go\nfunc x() {", "func x() {", "```"},
		"closing fence is held":           {"```go\nx\n``", "x", "``"},
		"rule or heading is held":         {"text\n--", "text", "--"},
		"table row is held":               {"| a | b |\n|---|---|\n| 1 | 2 |\n| 3 |", "1", "3"},
		"unfinished emphasis is as it is": {"some **bo", "some **bo", "\n"},
		"escape cut in two":               {"x \x1b", "x ‹U+001B›", "\x1b]"},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(Options{Width: 60, Profile: termenv.Ascii})
			d.Append(tc.text)
			out := strings.Join(d.Lines(0, d.Height()), "\n")
			if !strings.Contains(out, tc.want) || strings.Contains(out, tc.not) {
				t.Errorf("shows %q", out)
			}
		})
	}
}

// large are blocks that stay open for long, or that a parser has trouble with.
var large = map[string]string{
	"paragraph": strings.Repeat("the quick **brown** fox `jumps` over [it](https://example.com/a)\n", 700),
	"one line":  strings.Repeat("word *x* 日本語 ", 5000),
	"list":      strings.Repeat("- the quick **brown** fox\n", 1500),
	"loose":     strings.Repeat("1. the quick **brown** fox\n\n   and more\n\n", 700),
	"nested":    "- top\n" + strings.Repeat("  - below [a]\n", 3000) + "\n[a]: https://a.example/\n",
	"fence":     "```go\n" + strings.Repeat("\tif x := f(y); x != nil { return x } // comment\n", 900) + "```\nend",
	"quote":     strings.Repeat("> the quick **brown** fox\n", 1600),
	"table":     "| a | b |\n|---|---|\n" + strings.Repeat("| some `code` | more |\n", 1600),
	"brackets":  strings.Repeat("[a](", 9000),
	"quotes":    strings.Repeat("> ", 18000),
	"marks":     strings.Repeat("*a **b _c\n", 4000),
}

func TestLargeBlocksLookTheSameHoweverTheyCome(t *testing.T) {
	for name, text := range large {
		t.Run(name, func(t *testing.T) {
			o := options(70)
			want := Render(text, o)
			check(t, want, o.Width)
			for _, size := range []int{777, 5000} {
				d := New(o)
				for rest := text; rest != ""; {
					n := min(size, len(rest))
					d.Append(rest[:n])
					rest = rest[n:]
					h := d.Height()
					check(t, d.Lines(h-30, h), o.Width)
				}
				d.Finish()
				same(t, fmt.Sprintf("in pieces of %d", size), d.Lines(0, d.Height()), want)
			}
		})
	}
}

// The work of an update is counted in allocations, which a busy machine does not
// change.
func TestAnUpdateCostsTheSameAtTheEndOfALongText(t *testing.T) {
	section := "## Title\n\nThe checkout **slowed** down at `14:02`, when the cache emptied.\n\n- one\n- two\n\n```go\nx := 1\n```\n\n"
	for name, unit := range map[string]string{
		"sections": section, "list": "- an item of a list that goes on\n", "quote": "> a quote that goes on\n", "paragraph": "a paragraph that goes on\n", "fence": "    code\n", "table": "| a | b |\n",
	} {
		t.Run(name, func(t *testing.T) {
			prefix := map[string]string{"fence": "```go\n", "table": "| a | b |\n|---|---|\n"}[name]
			cost := func(size int) float64 {
				d := New(options(80))
				d.Append(prefix + strings.Repeat(unit, size/len(unit)))
				d.Height()
				return testing.AllocsPerRun(50, func() {
					d.Append(unit)
					h := d.Height()
					d.Lines(h-40, h)
				})
			}
			short, long := cost(6<<10), cost(200<<10)
			if long > short*2+200 {
				t.Errorf("%.0f allocations an update in a short text, %.0f in a long one", short, long)
			}
		})
	}
}
