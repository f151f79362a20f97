package markdown

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// hostileTexts are texts of a hundred kilobytes on which one parser or another
// takes time that grows with their square, or worse.
func hostileTexts() map[string]string {
	n := 100 << 10
	rep := func(s string) string { return strings.Repeat(s, n/len(s)+1)[:n] }
	var distinct strings.Builder
	for i := 1; distinct.Len() < n; i++ {
		distinct.WriteString(strings.Repeat("`", i%200+1) + "a ")
	}
	var table strings.Builder
	for range 40 {
		table.WriteString("|" + strings.Repeat("a|", 400) + "\n")
		if table.Len() < 1000 {
			table.WriteString("|" + strings.Repeat("-|", 400) + "\n")
		}
	}
	var refs strings.Builder
	for i := 0; refs.Len() < n; i++ {
		fmt.Fprintf(&refs, "[a%d]: /u\n", i)
	}
	return map[string]string{
		"brackets": rep("["), "close brackets": rep("]"), "img": rep("![["), "img2": rep("[!["), "pairs": rep("[]"), "link open": rep("[a]("), "link open2": rep("[a](<b"), "paren": "[a](" + rep("("),
		"emph": rep("*a _b "), "stars": rep("*"), "under": rep("_a"), "star a": rep("**a "), "mix": rep("***a__b~~c"), "tilde": rep("~~a "), "a**b": rep("a**b"),
		"quotes": rep("> "), "quotes2": rep(">"), "lists": rep("- "), "lists3": rep("1. "), "quote list": rep("> - "), "ticks": distinct.String(), "tick": rep("`a``b"),
		"lt": rep("<"), "lt a": rep("<a "), "lt q": rep("<a b=\""), "comment": rep("<!-- a"), "comment2": rep("<!--"), "pi": rep("<?"), "cdata": rep("<![CDATA["), "decl": rep("<!A"),
		"email": rep("a@a."), "email2": rep("a@"), "email3": rep("a.b-c_d+"), "www": rep("www."), "http": rep("http://a"), "http2": rep("http://"), "colon": rep("a:"), "dots": rep("a."),
		"amp": rep("&#27;"), "amp2": rep("&"), "amp3": rep("&a"), "backslash": rep("\\"), "backslash2": rep("\\*"), "refs": refs.String(), "ref use": rep("[a]"), "ref open": rep("[a]: "),
		"table": table.String(), "pipes": rep("|"), "pipes nl": "a|b\n-|-\n" + rep("|a\n"), "dash nl": rep("-\n"), "eq nl": rep("a\n=\n"), "hash": rep("#"), "hash nl": rep("# a\n"), "setext": rep("a\n") + "\n===\n",
		"deep list": func() string {
			var b strings.Builder
			for i := 0; b.Len() < n; i++ {
				b.WriteString(strings.Repeat(" ", i*2) + "- a\n")
			}
			return b.String()
		}(),
		"deep quote": func() string {
			var b strings.Builder
			for i := 0; b.Len() < n; i++ {
				b.WriteString(strings.Repeat(">", i) + " a\n")
			}
			return b.String()
		}(),
		"loose list": rep("- a\n\n"), "indented": rep("    a\n"), "tabs": rep("\t"), "spaces": rep(" "), "newlines": rep("\n"), "space nl": rep(" \n"), "hard": rep("a  \n"), "br": rep("<br>"), "br table": "|a|\n|-|\n|" + rep("<br>") + "|\n",
		"long word": rep("x"), "long cjk": rep("漢"), "zwj": rep("👩\u200d"), "marks": rep("\u0301"), "a marks": "a" + rep("\u0301"), "hangul": rep("\u1100"), "virama": rep("क\u094d"), "flags": rep("🇩"), "controls": rep("\x1b"), "c1": rep("\x9b"), "surr": rep("\xed\xa0\x80"),
		"fence go": "```go\n" + rep("func f() {") + "\n```\n", "fences": rep("```go\nx\n```\n"), "fences2": rep("```\n```\n"), "fence html": "```html\n" + rep("<a b='") + "\n```\n", "tasks": rep("- [ ] a\n"), "def list": rep("[x]\n: y\n"),
		"html block": rep("<div>\n"), "html block2": rep("<div>\n\n"), "strike link": rep("[~~a](b)"), "auto": rep("<a:b>"), "table link": "|a|\n|-|\n|" + rep("[a](/b)") + "|\n", "ols": rep("1) a\n"), "rule": rep("***\n"), "quote code": rep("> ```\n"),
		"list in quote": rep("> - a\n"), "nest fence": rep("- ```\n"), "nested link": rep("[![a](b)](c)"), "ent table": "|a|\n|-|\n|" + rep("&amp;") + "|\n",
		"table many": strings.Repeat("|a|b|\n|-|-|\n|c|d|\n\n", n/20), "lone quote": rep(">\n"), "list blank": rep("-\n\n"),
	}
}

// Each should take about as long as any text of its size.
func BenchmarkHostileText(b *testing.B) {
	texts := hostileTexts()
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		text := texts[name]
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				d := New(options(80))
				for from := 0; from < len(text); from += len(text) / 100 {
					d.Append(text[from:min(len(text), from+len(text)/100)])
					h := d.Height()
					d.Lines(h-40, h)
				}
				d.Finish()
				d.Height()
			}
		})
	}
}
