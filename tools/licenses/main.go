// Licenses writes the licences of everything that is linked into the program,
// for any of the systems that it is released for.
//
//	go run ./tools/licenses           writes THIRD_PARTY_LICENSES
//	go run ./tools/licenses -check    fails where that file is not up to date
//
// It reads the module cache, and asks nobody.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"aipscope/tools/target"
)

const file = "THIRD_PARTY_LICENSES"

func main() {
	check := flag.Bool("check", false, "write nothing; fail where "+file+" is not up to date")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	dirs, err := linked(target.All)
	if err != nil {
		return err
	}
	want, err := document(dirs)
	if err != nil {
		return err
	}
	if !check {
		return os.WriteFile(file, want, 0o644)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%s is not what go.mod asks for; run make licenses", file)
	}
	return nil
}

// linked returns the modules that the program links on any of the targets, by
// "path version", and the folder of each.
func linked(targets []target.Target) (map[string]string, error) {
	dirs := map[string]string{}
	for _, t := range targets {
		cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", ".")
		cmd.Env = append(os.Environ(), t.Env()...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", t, err)
		}
		for line := range strings.Lines(string(out)) {
			if module, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				dirs[module] = dir
			}
		}
	}
	if len(dirs) == 0 {
		return nil, errors.New("go list named no module")
	}
	return dirs, nil
}

// document puts the licences together, in the order of the modules' names.
func document(dirs map[string]string) ([]byte, error) {
	var b bytes.Buffer
	modules := slices.Sorted(maps.Keys(dirs))
	fmt.Fprintf(&b, "aipscope is built with Go and %d modules. Their names, then their licences.\n\n", len(modules))
	for _, m := range modules {
		fmt.Fprintln(&b, m)
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	if err := licences(&b, "The Go standard library and runtime", strings.TrimSpace(string(root))); err != nil {
		return nil, err
	}
	for _, m := range modules {
		if err := licences(&b, m, dirs[m]); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

var licence = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)`)

// elsewhere names the file that states the licence of a module without a licence
// file.
var elsewhere = map[string]string{
	"github.com/mattn/go-localereader v0.0.1": "README.md", // MIT
}

// licences appends the licence files of a module's folder. One that has none may
// not be shipped.
func licences(b *bytes.Buffer, name, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := false
	for _, e := range entries {
		if e.IsDir() || !licence.MatchString(e.Name()) && e.Name() != elsewhere[name] {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		found = true
		text = bytes.ReplaceAll(bytes.TrimSpace(text), []byte("\r\n"), []byte("\n"))
		fmt.Fprintf(b, "\n%s\n%s: %s\n\n%s\n", strings.Repeat("=", 80), name, e.Name(), text)
	}
	if !found {
		return fmt.Errorf("%s has no licence file", name)
	}
	return nil
}
