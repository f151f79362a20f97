package markdown

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aipscope/model/turntest"
)

// suites are the examples of CommonMark and of GFM's extensions, which the parser's
// module carries.
func suites(t *testing.T) (examples []string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/yuin/goldmark").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := strings.TrimSpace(string(out))
	raw, err := os.ReadFile(filepath.Join(dir, "_test", "spec.json"))
	if err != nil {
		t.Fatal(err)
	}
	var spec []struct{ Markdown string }
	if err := json.Unmarshal(raw, &spec); err != nil {
		t.Fatal(err)
	}
	for _, e := range spec {
		examples = append(examples, e.Markdown)
	}
	for _, name := range []string{"table", "strikethrough", "tasklist", "linkify"} {
		raw, err := os.ReadFile(filepath.Join(dir, "extension", "_test", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		// A number, the text and the HTML, each behind a rule.
		const rule, end = "//- - - - - - - - -//\n", "//= = = = = = = = = = = = = = = = = = = = = = = =//"
		for example := range strings.SplitSeq(string(raw), end) {
			if parts := strings.Split(example, rule); len(parts) == 3 {
				examples = append(examples, parts[1])
			}
		}
	}
	if len(examples) < 680 {
		t.Fatalf("%d examples", len(examples))
	}
	return examples
}

func TestEveryExampleOfTheSuitesLooksTheSameHoweverItComes(t *testing.T) {
	for n, text := range suites(t) {
		for i, width := range []int{72, 24, 7} {
			if i == 0 || !turntest.Racing || n%3 == i {
				looksTheSame(t, text, width, uint64(n*3+i))
			}
		}
	}
}

// In one document the examples reach into each other: fences that never close,
// definitions of what stood before, lists that go on.
func TestExamplesInOneDocumentLookTheSameHoweverTheyCome(t *testing.T) {
	all := suites(t)
	for _, between := range []string{"", "\n", "\n\n", "\n---\n"} {
		for size := range 4 {
			size += 2
			for from := 0; from < len(all); from += size {
				if turntest.Racing && from%5 != 0 {
					continue
				}
				looksTheSame(t, strings.Join(all[from:min(from+size, len(all))], between), 48, uint64(from))
			}
		}
	}
}
