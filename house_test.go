package main

import (
	"go/ast"
	"go/parser"
	source "go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A room is a folder of the house, and what its files must not import. A name
// that ends in "/..." means that and all below it.
type room struct {
	folder string
	except []string // folders below it that other rules hold for
	never  []string
	only   []string // of our own packages, where set: those and the room's own
	why    string
}

var (
	terminals = []string{
		"github.com/charmbracelet/...", "github.com/muesli/termenv", "github.com/alecthomas/chroma/...", "golang.org/x/term",
		"aipscope/ui/...", "aipscope/themes",
	}
	outside = []string{"os/...", "net", "net/url", "net/http/httptest", "io/fs", "path/filepath", "database/sql/...", "log/...", "syscall", "crypto/rand", "math/rand/..."}
	testers = []string{"testing/...", "go.uber.org/goleak", "github.com/rogpeppe/...", "github.com/charmbracelet/x/vt", "github.com/charmbracelet/x/exp/..."}
)

var house = []room{
	{folder: "model", except: []string{"model/turntest"}, never: slices.Concat(outside, terminals, testers), only: []string{"aipscope/model/..."},
		why: "the model is pure: no I/O, no chance, no terminal"},
	{folder: "model/aip", never: []string{"aipscope/..."}, why: "it is the ground that everything stands on"},
	{folder: "model/hermes", only: []string{"aipscope/model/aip"}, why: "imports point down"},
	{folder: "model/safe", never: []string{"aipscope/..."}, why: "whoever shows text uses it"},
	{folder: "follow", never: slices.Concat(terminals, []string{"aipscope/store", "database/sql/..."}), only: []string{"aipscope/model/...", "aipscope/follow/..."},
		why: "the follower knows neither a terminal nor a store"},
	{folder: "follow/client", only: []string{"aipscope/model/..."}, why: "imports point down"},
	{folder: "follow/replay", only: []string{"aipscope/model/..."}, why: "imports point down"},
	{folder: "store", never: slices.Concat(terminals, []string{"net/http/..."}), only: []string{"aipscope/model/...", "aipscope/follow"},
		why: "the journal knows no terminal and calls nobody"},
	{folder: "ui", except: []string{"ui/cli", "ui/ptytest", "ui/screenshot"}, never: []string{"net", "net/http/...", "os/...", "database/sql/...", "aipscope/store", "aipscope/follow/client", "aipscope/follow/aipd", "aipscope/follow/replay", "aipscope/ui/cli"},
		why: "the console reads and calls only through what it was given"},
	{folder: "ui/markdown", only: []string{"aipscope/model/safe", "aipscope/themes"}, why: "it renders text, whoever wrote it"},
	{folder: "themes", never: []string{"aipscope/ui/...", "aipscope/follow/act", "aipscope/follow/client", "aipscope/store"}, why: "imports point down"},
}

// only ui/cli joins the store to the rest.
const joiner = "ui/cli"

// TestHouse holds every file to what its folder may know. docs/architecture.md says why.
func TestHouse(t *testing.T) {
	seen := map[string]int{}
	eachSource(t, func(file string, f *ast.File) {
		dir := path.Dir(file)
		for _, r := range house {
			if !below(dir, r.folder) || slices.ContainsFunc(r.except, func(x string) bool { return below(dir, x) }) {
				continue
			}
			seen[r.folder]++
			for _, imp := range imports(f) {
				if fits(imp, r.never) {
					t.Errorf("%s imports %s: %s", file, imp, r.why)
				}
				if r.only != nil && fits(imp, []string{"aipscope/..."}) && !fits(imp, r.only) && !fits(imp, []string{"aipscope/" + r.folder}) {
					t.Errorf("%s imports %s, and of ours it may know only %v: %s", file, imp, r.only, r.why)
				}
			}
		}
		if dir != "store" && dir != joiner && slices.Contains(imports(f), "aipscope/store") {
			t.Errorf("%s imports the store: only %s does, and joins it to the rest", file, joiner)
		}
	})
	for _, r := range house {
		if seen[r.folder] == 0 {
			t.Errorf("no file is in %s any more: the rule about it is stale", r.folder)
		}
	}
}

// TestModelHasNoClock: times come in with the rows, so that the same rows always
// make the same turn. Of net/http the model may know the names of statuses.
func TestModelHasNoClock(t *testing.T) {
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	eachSource(t, func(file string, f *ast.File) {
		if dir := path.Dir(file); !below(dir, "model") || below(dir, "model/turntest") {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				pkg, _ := sel.X.(*ast.Ident)
				switch {
				case pkg == nil:
				case pkg.Name == "time" && slices.Contains(clock, sel.Sel.Name), pkg.Name == "http" && !strings.HasPrefix(sel.Sel.Name, "Status"):
					t.Errorf("%s uses %s.%s", file, pkg.Name, sel.Sel.Name)
				}
			}
			return true
		})
	})
}

// eachSource parses every Go file that is no test, for every system.
func eachSource(t *testing.T, visit func(file string, f *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() && (name != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(source.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		visit(name, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func imports(f *ast.File) []string {
	var all []string
	for _, spec := range f.Imports {
		name, _ := strconv.Unquote(spec.Path.Value) // the parser has seen to it
		all = append(all, name)
	}
	return all
}

func below(dir, folder string) bool { return dir == folder || strings.HasPrefix(dir, folder+"/") }

func fits(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if base, ok := strings.CutSuffix(p, "/..."); ok {
			return below(name, base)
		}
		return name == p
	})
}
