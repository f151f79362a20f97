// Release builds the program for every system that it is released for, and packs
// each build with its documents and licences:
//
//	go run ./tools/release -version v1.2.3 -revision 0123456789ab -time 1760000000
//
// In dist/ there is then an archive a system, and SHA256SUMS. The same source, Go
// version and arguments make the same bytes, wherever and whenever they are built.
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aipscope/tools/target"
)

// beside are the files that go into an archive beside the program, as patterns:
// README.md, and what can be reached from it by links.
var beside = []string{
	"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "THIRD_PARTY_LICENSES",
	"docs/*.md", "docs/images/*.png", "testdata/recordings/hermes/INDEX.md",
}

// pack lists the files beside the program that lie below root.
func pack(root string) ([]packed, error) {
	var files []packed
	for _, pattern := range beside {
		names, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("no file is named %s", pattern)
		}
		for _, name := range names {
			files = append(files, packed{path: filepath.Join(root, name), name: name, mode: 0o644})
		}
	}
	return files, nil
}

func main() {
	var r release
	var unix int64
	var only string
	flag.StringVar(&r.version, "version", "dev", "the `version` that the program says and that the archives are named by")
	flag.StringVar(&r.revision, "revision", "", "the `commit` that the program says")
	flag.Int64Var(&unix, "time", 0, "the time of every file in the archives, in Unix `seconds`: the commit's")
	flag.StringVar(&r.dir, "dir", "dist", "the `folder` to write to; what it holds goes")
	flag.StringVar(&only, "only", "", "build for these `systems` only, such as linux/amd64,darwin/arm64")
	flag.Parse()
	r.time = time.Unix(unix, 0).UTC()
	if err := r.run(only); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

type release struct {
	version, revision string
	time              time.Time
	dir               string
}

func (r release) run(only string) error {
	targets, err := choose(only)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(r.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return err
	}
	var archives []string
	for _, t := range targets {
		name, err := r.make(t)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		info, err := os.Stat(filepath.Join(r.dir, name))
		if err != nil {
			return err
		}
		fmt.Printf("%s  %.1f MB\n", filepath.Join(r.dir, name), float64(info.Size())/1e6)
		archives = append(archives, name)
	}
	return sums(r.dir, archives)
}

// choose returns the targets that a list names, or all where it is empty.
func choose(list string) ([]target.Target, error) {
	if list == "" {
		return target.All, nil
	}
	var chosen []target.Target
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(target.All, func(t target.Target) bool { return t.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("no target is named %q; they are %v", name, target.All)
		}
		chosen = append(chosen, target.All[i])
	}
	return chosen, nil
}

// make builds and packs for one target, and returns the archive's name.
func (r release) make(t target.Target) (string, error) {
	tmp, err := os.MkdirTemp("", "aipscope-release-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	program := filepath.Join(tmp, "aipscope")
	if t.OS == "windows" {
		program += ".exe"
	}
	// The paths of this machine (-trimpath) and the state of its checkout
	// (-buildvcs) stay out of the program.
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", r.ldflags(), "-o", program, ".")
	cmd.Env = append(os.Environ(), t.Env()...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go build: %w", err)
	}
	base := fmt.Sprintf("aipscope_%s_%s_%s", strings.TrimPrefix(r.version, "v"), t.OS, t.Arch)
	a := archive{base: base, time: r.time, files: []packed{{path: program, name: filepath.Base(program), mode: 0o755}}}
	files, err := pack(".")
	if err != nil {
		return "", err
	}
	a.files = append(a.files, files...)
	name, write := base+".tar.gz", a.tarGz
	if t.OS == "windows" {
		name, write = base+".zip", a.zip
	}
	return name, writeFile(filepath.Join(r.dir, name), write)
}

func (r release) ldflags() string {
	flags := "-s -w -buildid= -X aipscope/ui/cli.version=" + r.version
	if r.revision != "" {
		flags += " -X aipscope/ui/cli.revision=" + r.revision
	}
	return flags
}
