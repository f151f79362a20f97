package markdown

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"aipscope/model/safe"
	"aipscope/model/turntest"
)

// recorded returns the assistant's deltas of a recording.
func recorded(t testing.TB, name string) []string {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "testdata", "recordings", "hermes", name+".sse"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var deltas []string
	event := ""
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		line := sc.Text()
		if e, ok := strings.CutPrefix(line, "event: "); ok {
			event = e
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var d struct {
			Choices []struct{ Delta struct{ Content string } }
			Delta   any
		}
		if json.Unmarshal([]byte(data), &d) != nil {
			continue
		}
		if len(d.Choices) > 0 && d.Choices[0].Delta.Content != "" {
			deltas = append(deltas, d.Choices[0].Delta.Content)
		}
		if s, ok := d.Delta.(string); ok && (event == "assistant.delta" || event == "response.output_text.delta") {
			deltas = append(deltas, s)
		}
	}
	if len(deltas) == 0 {
		t.Fatalf("no text in %s", name)
	}
	return deltas
}

// direct is the reference: the whole text parsed once and its blocks rendered, by
// the same code, with nothing divided or kept.
func direct(t testing.TB, text string, o Options) []string {
	t.Helper()
	b := newBlocks(o)
	src := []byte(safe.Text(text))
	doc, _, ok := parse(src, nil, nil)
	if !ok {
		t.Skip("the parser fails on this text")
	}
	return b.children(&source{buf: src, end: len(src)}, doc, b.frame(o.Width), false)
}

// streamed renders text in pieces of random sizes, drawn now and then.
func streamed(t testing.TB, text string, o Options, seed uint64) []string {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 1))
	most := []int{1, 3, 20, 400}[rnd.IntN(4)]
	d := New(o)
	for rest := text; rest != ""; {
		n := min(1+rnd.IntN(most), len(rest))
		if rest = rest[n:]; rnd.IntN(2) == 0 {
			d.Append(text[len(text)-len(rest)-n : len(text)-len(rest)])
		} else {
			d.Grow(text[:len(text)-len(rest)])
		}
		if rnd.IntN(8) == 0 {
			h := d.Height()
			check(t, d.Lines(h-60, h), o.Width)
		}
	}
	d.Finish()
	if d.Source() != text {
		t.Error("the source is not what was appended")
	}
	return d.Lines(0, d.Height())
}

// check reports lines that are too wide or hold anything but text and colours.
func check(t testing.TB, lines []string, width int) {
	t.Helper()
	for _, line := range lines {
		if w := ansi.StringWidth(line); w > width {
			t.Errorf("%d cells in a line of %d: %q", w, width, line)
		}
		if strings.ContainsAny(line, "\n\t\r") || safe.Filter(line) != line {
			t.Errorf("unsafe line %q", line)
		}
	}
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w || i >= len(got) || i >= len(want) {
			t.Fatalf("%s: %d lines, want %d; line %d is\n%q, want\n%q", what, len(got), len(want), i, g, w)
		}
	}
}

func TestRecordingsLookTheSameHoweverTheyCome(t *testing.T) {
	for _, name := range []string{"chat_markdown", "responses_markdown", "session_stream_markdown", "chat_ansi", "session_stream_ansi", "chat_large"} {
		t.Run(name, func(t *testing.T) {
			deltas := recorded(t, name)
			text := strings.Join(deltas, "")
			widths := []int{1, 7, 40, 80, 120}
			switch {
			case name == "chat_large":
				widths = []int{100}
			case turntest.Racing:
				widths = []int{7, 80}
			}
			for _, width := range widths {
				o := options(width)
				want := direct(t, text, o)
				check(t, want, width)
				same(t, "at once", Render(text, o), want)
				same(t, "by its deltas", streamDeltas(deltas, o), want)
				if name != "chat_large" {
					same(t, fmt.Sprintf("width %d, in pieces", width), streamed(t, text, o, uint64(width)), want)
				}
			}
		})
	}
}

// constructs are texts whose earlier lines are decided by later ones, or that are
// easily divided in the wrong place.
var constructs = map[string]string{
	"definition after use":        "See [a] and [b][].\n\ntext\n\n[a]: https://a.example/\n\n[B]: <https://b.example/> \"title\"\n\nlater [a]\n",
	"definition before use":       "[a]: https://a.example/\n[a]: https://second.example/\n\nSee [a].\n\n> and [a] in a quote\n\n- and [a] in a list\n- and [c]\n\n[c]: https://c.example/\n",
	"definition in a list":        "[x]\n\n- item\n\n  [x]: https://x.example\n\n- more [x]\n",
	"definition over lines":       "# H\n[foo]:\n/url\n\"title\nmore\nend\"\n\n[foo]\n\n[bar]: /url\n\"title\nno end\n\n[bar]\n",
	"hidden comment":              "before\n\n[//]: # (not to be seen)\n\nafter\n",
	"setext":                      "One\ntwo\n===\n\nthree\n---\n\n- a\n---\nb\n",
	"setext under a table":        "x\na|b\n-|-\nfoo\n===\n\n0\n-:\n-\n",
	"setext after a tabbed table": "a-:\n\t-:\n-- e\n-\n",
	"tight and loose":             "- a\n- b\n\n- c\n\n\n- d\n  e\n\n  f\n- g\n1. x\n2. y\n\n   z\n7) q\n8) r\n",
	"list with empty items":       "- \n\n- a\n  b\n-\n  c\n\n  d\n-   \n- e\n",
	"list markers change":         "- a\n- b\n* c\n* d\n+ e\n1. f\n1. g\n1) h\n",
	"list indents":                "- a\n - b\n  - c\n   - d\n    - e\n\n  1. x\n 1. y\n1. z\n",
	"list code and quotes":        "1. a\n\n       code\n\n   > quote\n   lazy\n2. ```go\n   x := 1\n\n   y\n   ```\n3. | a | b |\n   |---|---|\n   | 1 | 2 |\n",
	"tasks":                       "- [ ] a\n- [x] b\n\n  more\n- [ ]\n- [y] c\n",
	"lazy continuation":           "> a\nb\n\n> c\n- d\ne\n> > f\ng\n",
	"nested fences":               "````md\n```go\nx\n```\n````\n\n~~~\n```\n~~~\ntext\n```\nopen ```\n  ```\nrest\n",
	"fence indents":               "   ```\n  a\n     b\n\t\tc\n   ```\n```not `a fence`\n\n    ```\n    code\n\n```\nunclosed",
	"fence closers":               "```\na\n``` x\n ``\n    ```\n````\nafter\n",
	"html":                        "<div>\n*a*\n\n*b*\n</div>\n\n<!-- c\n\nd -->\ne\n<script>\nx\n\ny</script>\nz <b>q</b> <br> w<br/>v\n\n<p>a\nb\n",
	"tables":                      "| a | b |\n|---|:-:|\n| 1 | 2 |\n| 3\ntext\n\na | b\n--|--\n`x \\| y` | **z**<br>w\n\n| no\n| table\n",
	"table links":                 "| a |\n|---|\n| [x](https://x.example/1) ![i](https://x.example/i.png) <https://y.example> |\n| [z](javascript:alert(1)) [x](https://x.example/1) |\n",
	"code spans":                  "`&#27;[31m` ``a ` b`` `\\*` \\* \\\\ &amp;amp; `&amp;` \\`x\\`\n",
	"indented code":               "    a\n\n    b\n\nc\n    d\n\n\te\n",
	"rules":                       "a\n\n***\n---\nb\n***\n* * *\nc\n",
	"no blank lines":              "# A\ntext\n## B\n- a\n- b\n> q\n***\n```\nc\n```\ntext\n### C\n",
	"hard breaks":                 "a  \nb\\\nc\n- d  \n  e\n\n# f  \n",
	"emphasis over lines":         "**a\nb** *c **d** e* ~~f `g`~~ ***h***\n",
	"links":                       "[a](https://a.example \"t\") [b](#frag) [c](c/d.md) [d](javascript:x) [e](<https://e.example/a b>) <mailto:x@y.example> x@y.example www.z.example ![p](file:///etc/hosts) [https://s.example](https://s.example) [x](https://q.example/%zz)\n",
	"references":                  "&#27;]0;t&#7; &#x202e;x &ZeroWidthSpace; &zwj; &shy; &#0; &#xD800; &#10;n &nosuch; &#x9b;2J &lt;b&gt;\n",
	"wide":                        "決済が遅くなりましたが、09時26分に回復しました。待ち行列は最大で五千件でした。\n\n- 👩‍💻👨‍👩‍👧‍👦 é ä̈\n\n| 項目 | 値 |\n|--|--:|\n| 待ち行列 | 4,812 |\n",
	"long words":                  "see https://example.com/" + strings.Repeat("path/", 40) + " and " + strings.Repeat("x", 300) + "\n",
	"crlf":                        "# a\r\n\r\n- b\r\n- c\r\n\r\n```\r\nd\r\n```\r\n",
	"tabs":                        "-\ta\n\n\tb\n\n1.\tc\n\n\t\tcode\n\na\tb\n",
	"blank":                       "\n\n  \n\t\n",
	"nothing":                     "",
	"leading blanks and a fence":  "\n \n```go\nx\n```\n",
	"trailing fragments":          "text\n\n-",
	"deep":                        strings.Repeat("> ", 40) + "a\n\n" + strings.Repeat("- ", 40) + "b\n",
}

func TestConstructsLookTheSameHoweverTheyCome(t *testing.T) {
	for name, text := range constructs {
		t.Run(name, func(t *testing.T) {
			for _, width := range []int{1, 2, 13, 60} {
				o := options(width)
				want := direct(t, text, o)
				check(t, want, width)
				same(t, "at once", Render(text, o), want)
				for seed := range uint64(6) {
					same(t, fmt.Sprintf("width %d, pieces %d", width, seed), streamed(t, text, o, seed), want)
				}
			}
		})
	}
}

// fragments are put between the lines of the constructs.
var fragments = []string{
	"-", "- ", "* ", "1. ", "> ", "#", "```", "~~~", "|", "a", "b", "\n", "\n\n", " ", "  ", "    ", "\t", "[a]", "[a]: /u", "===", "---", "\\", "`", "*", "**", "_",
	"<div>", "</div>", "<!--", "-->", "&amp;", "&#27;", "\x1b[2J", "👩\u200d💻", "漢字", " \n", "\"t\"", "0", "-:", "| - |", "<br>",
}

// mixture is a text of lines of the constructs and of fragments.
func mixture(seed uint64) string {
	rnd := rand.New(rand.NewPCG(seed, 7))
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(constructs)) {
		lines = append(lines, strings.SplitAfter(constructs[name], "\n")...)
	}
	var b strings.Builder
	for range 1 + rnd.IntN(25) {
		if rnd.IntN(2) == 0 {
			b.WriteString(lines[rnd.IntN(len(lines))])
			continue
		}
		for range rnd.IntN(6) {
			b.WriteString(fragments[rnd.IntN(len(fragments))])
		}
		if rnd.IntN(2) == 0 {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func looksTheSame(t *testing.T, text string, width int, seed uint64) {
	t.Helper()
	o := options(width)
	want := direct(t, text, o)
	check(t, want, width)
	same(t, fmt.Sprintf("%q at once", text), Render(text, o), want)
	same(t, fmt.Sprintf("%q in pieces", text), streamed(t, text, o, seed), want)
}

func TestMixturesLookTheSameHoweverTheyCome(t *testing.T) {
	for seed := range uint64(200) {
		looksTheSame(t, mixture(seed), 1+int(seed%70), seed)
	}
}

func FuzzDocument(f *testing.F) {
	for _, text := range constructs {
		f.Add(text, uint64(1), uint8(30))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64, width uint8) {
		if len(text) > 2<<10 {
			t.Skip()
		}
		looksTheSame(t, text+"\n"+mixture(seed), 1+int(width)%90, seed)
	})
}
