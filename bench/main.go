//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// bench is one run.
type bench struct {
	program string // the console
	dir     string // for journals and output
	peers   bool   // curl and jq are installed
	most    int    // chunks of the longest stream
	used    int    // journals
	only    string // the one part to measure
}

// fresh is a directory for a journal that is not there yet.
func (b *bench) fresh() string {
	b.used++
	return filepath.Join(b.dir, fmt.Sprint("journal", b.used))
}

func main() {
	b := &bench{}
	flag.StringVar(&b.program, "program", "bin/aipscope", "the console's `file`")
	flag.IntVar(&b.most, "most", 100_000, "`chunks` of the longest stream")
	out := flag.String("out", "docs/performance.md", "the `file` to write")
	flag.StringVar(&b.only, "only", "", "measure this `part` alone, and write no file: streams, odd, answers, keys, still or start")
	draw := flag.String("draw", "", "draw an answer this `way`, and tell what it took: stream, glamour or whole")
	size := flag.Int("size", 0, "of the answer, in `bytes`")
	flag.Parse()
	run := func() error { return b.run(*out) }
	if *draw != "" {
		run = func() error {
			d, err := drawAnswer(*draw, *size)
			if err != nil {
				return err
			}
			return json.NewEncoder(os.Stdout).Encode(d)
		}
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (b *bench) run(out string) error {
	var err error
	if b.dir, err = os.MkdirTemp("", "aipscope-bench"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	_, noCurl := exec.LookPath("curl")
	_, noJQ := exec.LookPath("jq")
	b.peers = noCurl == nil && noJQ == nil
	var page bytes.Buffer
	if err := b.report(context.Background(), &page); err != nil {
		return err
	}
	os.Stdout.Write(page.Bytes())
	if b.only != "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(out, page.Bytes(), 0o644)
}
