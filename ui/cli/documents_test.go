package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
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

// TestTheJSONDocumentHasEveryMember holds the document to the schema: each type
// has a heading or a row, which names the members that the schema has.
func TestTheJSONDocumentHasEveryMember(t *testing.T) {
	var schema struct {
		Defs map[string]struct {
			Properties map[string]struct {
				Const any `json:"const"`
			} `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(outputSchema), &schema); err != nil {
		t.Fatal(err)
	}
	text, types := document(t, "docs/json.md"), 0
	for _, def := range schema.Defs {
		kind, ok := def.Properties["type"].Const.(string)
		if !ok {
			continue // a part of another
		}
		types++
		about := aboutType(text, kind)
		if about == "" {
			t.Errorf("nothing is said of %s", kind)
			continue
		}
		for name := range def.Properties {
			if !slices.Contains([]string{"type", "version", "masked"}, name) && !strings.Contains(about, "`"+name+"`") {
				t.Errorf("%s: nothing is said of %s", kind, name)
			}
		}
	}
	if types < 20 {
		t.Errorf("the schema has %d types", types)
	}
}

// aboutType is the section or the rows of the document that are about a type.
func aboutType(text, kind string) string {
	if _, section, ok := strings.Cut(text, "\n### "+kind+"\n"); ok {
		section, _, _ = strings.Cut(section, "\n## ")
		section, _, _ = strings.Cut(section, "\n### ")
		return section
	}
	var rows strings.Builder
	for line := range strings.Lines(text) {
		if cells := strings.Split(line, "|"); len(cells) > 3 && strings.Contains(cells[2], "`"+kind+"`") {
			rows.WriteString(line)
		}
	}
	return rows.String()
}
