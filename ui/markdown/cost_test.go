package markdown

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func cpu() time.Duration {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func TestCostProbe(t *testing.T) {
	if os.Getenv("PROBE") == "" {
		t.Skip()
	}
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
	cases := map[string]string{
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
	for name, text := range cases {
		for _, mode := range []string{"whole", "streamed"} {
			c := cpu()
			func() {
				defer func() {
					if e := recover(); e != nil {
						t.Errorf("%s: panic %v", name, e)
					}
				}()
				if mode == "whole" {
					Render(text, options(80))
					return
				}
				d := New(options(80))
				step := len(text) / 100
				for len(text) > 0 {
					k := min(step, len(text))
					d.Append(text[:k])
					text = text[k:]
					h := d.Height()
					d.Lines(max(0, h-40), h)
				}
				d.Finish()
				d.Height()
			}()
			if used := cpu() - c; used > 700*time.Millisecond {
				t.Logf("%-14s %-9s %v", name, mode, used)
			}
		}
	}
}
