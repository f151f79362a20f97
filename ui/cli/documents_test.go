package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"aipscope/model"
	"aipscope/themes"

	"github.com/spf13/cobra"
)

func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDocumentsHaveEachVerdictWithItsGlyphAndExitCode(t *testing.T) {
	for _, name := range []string{"README.md", "docs/verdict.md"} {
		text := document(t, name)
		for word, glyph := range themes.Unicode().Verdicts {
			row := fmt.Sprintf("| %s %s | %d |", glyph, strings.ReplaceAll(string(word), "_", " "), exitOf(word))
			if word == model.AwaitingApproval { // its code is for the end of the time alone
				row = fmt.Sprintf("| %s awaiting approval | 16 |", glyph)
			}
			if !strings.Contains(text, row) {
				t.Errorf("%s has no row %q", name, row)
			}
		}
	}
}

func TestTheVerdictsDocumentExplainsEachCondition(t *testing.T) {
	text := document(t, "docs/verdict.md")
	for _, c := range model.ConditionNames {
		if heading := "\n### " + strings.ReplaceAll(string(c), "_", " ") + "\n"; !strings.Contains(text, heading) {
			t.Errorf("there is no heading for %s", c)
		}
	}
}

func TestReadmeNamesEveryCommand(t *testing.T) {
	_, section, _ := strings.Cut(document(t, "README.md"), "\n## Commands\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var walk func(*cobra.Command)
	walk = func(parent *cobra.Command) {
		for _, c := range parent.Commands() {
			// "journal check", or "prune" behind "journal" in one row.
			found := false
			for row := range strings.Lines(section) {
				first := strings.Split(row, "|")
				found = found || len(first) > 1 && mentions(first[1], c)
			}
			if !found && !c.Hidden {
				t.Errorf("README.md has no row for %s", c.CommandPath())
			}
			walk(c)
		}
	}
	walk((&app{}).root())
}

// mentions reports whether a row's first cell names a command below its parents.
func mentions(cell string, c *cobra.Command) bool {
	words := strings.FieldsFunc(cell, func(r rune) bool { return strings.ContainsRune(" `,", r) })
	for c.HasParent() {
		found := false
		for _, w := range words {
			found = found || w == c.Name()
		}
		if !found {
			return false
		}
		c = c.Parent()
	}
	return true
}

func TestTheConfigurationDocumentHasEverySetting(t *testing.T) {
	text := document(t, "docs/configuration.md")
	for _, k := range allSettings {
		env := ""
		if k.env != "" {
			env = "`" + k.env + "` "
		}
		if row := fmt.Sprintf("| `%s` | `--%s` | %s|", k.name, k.flag(), env); !strings.Contains(text, row) {
			t.Errorf("there is no row %q", row)
		}
	}
}
