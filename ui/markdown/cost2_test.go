package markdown

import (
	"os"
	"slices"
	"maps"
	"strings"
	"testing"
	"time"
)

func TestLexerProbe(t *testing.T) {
	if os.Getenv("PROBE") == "" {
		t.Skip()
	}
	n := 4000
	rep := func(s string) string { return strings.Repeat(s, n/len(s)+1)[:n] }
	pats := map[string]string{"a": rep("a"), "sp": rep(" "), "paren": rep("("), "lt": rep("<"), "dq": rep("\""), "sq": rep("'"), "bs": rep("\\"), "word": rep("a "), "nl": rep("\n"), "brace": rep("{"), "num": rep("0"), "dot": rep("a."), "colon": rep("a:"), "slash": rep("/*"), "slash2": rep("/"), "eq": rep("=a"), "br": rep("["), "lta": rep("<a b"), "comma": rep("a,"), "at": rep("@"), "hash": rep("#"), "dollar": rep("${"), "tick": rep("`"), "semi": rep(";"), "tab": rep("\t"), "dash": rep("-"), "under": rep("_"), "fn": rep("f(a "), "gen": rep("a<b"), "uni": rep("漢"), "lines": rep("a b\n"), "tnl": rep(" \n"), "dotd":rep("0."), "pipe":rep("|a"), "ex": rep("!"), "q": rep("?"), "amp": rep("&")}
	seen := map[string]bool{}
	o := newBlocks(options(80))
	names := strings.Fields("go python javascript typescript tsx jsx java c cpp csharp rust ruby php swift kotlin scala bash fish powershell sql postgresql mysql html css scss xml json yaml toml ini docker make nginx diff markdown lua perl r haskell elixir erlang clojure dart groovy terraform protobuf graphql vim zig nix ocaml julia objective-c cmake http awk properties apacheconf systemd rst latex sass less vue svelte jsonnet fsharp vbnet")
	_ = slices.Sorted(maps.Keys(aliases()))
	start := time.Now()
	skip := os.Getenv("FROM")
	for _, a := range names {
		l := aliases()[a]
		if l == nil {
			t.Log("none", a)
			continue
		}
		o.code.highlight("a", a)
		name := l.Config().Name
		if seen[name] || a < skip {
			continue
		}
		seen[name] = true
		for p, code := range pats {
			if os.Getenv("LINES") != "" && !strings.Contains(code, "\n") {
				var b strings.Builder
				for len(code) > 200 {
					b.WriteString(code[:200] + "\n")
					code = code[200:]
				}
				code = b.String()
			}
			c := cpu()
			o.code.highlight(code, a)
			if used := cpu() - c; used > 60*time.Millisecond {
				t.Logf("%-20s %-8s %v", a, p, used)
			}
		}
		if time.Since(start) > 540*time.Second {
			t.Logf("stopped at %s", a)
			break
		}
	}
}
