package ui

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestReadmeNamesTheKeysThatThereAre: every key that README.md names is bound, and
// whatever can be done where an action is watched or chosen has a key there.
func TestReadmeNamesTheKeysThatThereAre(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## Keys\n")
	section, _, end := strings.Cut(section, "\n## ")
	if !found || !end {
		t.Fatal("README.md has no section about keys")
	}
	named := map[string]bool{"up": true, "down": true} // the arrows need no words
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(section, -1) {
		if m[1] == "space" {
			m[1] = " "
		}
		if isKey(m[1]) {
			named[m[1]] = true
		}
	}
	for _, page := range []string{"pgup", "pgdown"} {
		named[page] = strings.Contains(section, " pages |")
	}
	for key := range named {
		if !slices.ContainsFunc(keyTable, func(b binding) bool { return slices.Contains(b.Keys(), key) }) {
			t.Errorf("README.md names %q, which does nothing", key)
		}
	}
	for _, b := range keyTable {
		if b.where&(inViews|inActions) != 0 && !slices.ContainsFunc(b.Keys(), func(k string) bool { return named[k] }) {
			t.Errorf("README.md does not name %v: %s", b.Keys(), b.Help().Desc)
		}
	}
}
