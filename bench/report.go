//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// report measures everything and writes the page.
func (b *bench) report(ctx context.Context, page *bytes.Buffer) error {
	fmt.Fprintf(page, `# Performance

Written by `+"`make bench`"+`: %s, %s, %s/%s, %d cores (%s), load %s at the start. Ratios are to what stands beside them in the same run. Where the load is more
than the cores, processes waited for each other: then CPU says more than time does. No test rests on these numbers.

`, time.Now().UTC().Format(time.DateOnly), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), processor(), load())
	measured := false
	for _, part := range []struct {
		name    string
		measure func(context.Context, *bytes.Buffer) error
	}{{"streams", b.streams}, {"odd", b.odd}, {"answers", b.answers}, {"keys", b.pressing}, {"still", b.resting}, {"start", b.starting}} {
		if b.only != "" && b.only != part.name {
			continue
		}
		measured = true
		if err := part.measure(ctx, page); err != nil {
			return err
		}
	}
	if !measured {
		return fmt.Errorf("there is no part %q", b.only)
	}
	return nil
}

func (b *bench) streams(ctx context.Context, page *bytes.Buffer) error {
	peer := "`curl -sN` into `jq -c .`"
	if !b.peers {
		peer += " (not installed)"
	}
	fmt.Fprintf(page, `## A stream by its length

A finished action, each chunk with its event, read by `+"`watch --output json`"+` into a journal on disk, then opened from there; the same stream by %s, which keeps nothing.
The first frame is the console's, on a terminal of 120x40, with words in it.

| chunks | watch | CPU | memory | curl, jq | CPU | ratio | of CPU | open, json | CPU | memory | first frame |
|---|---|---|---|---|---|---|---|---|---|---|---|
`, peer)
	for n := 1000; n <= b.most; n *= 10 {
		s, err := b.stream(ctx, &provider{of: n})
		if err != nil {
			return fmt.Errorf("a stream of %d chunks: %w", n, err)
		}
		fmt.Fprintf(page, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", number(n), seconds(s.watch.wall), seconds(s.watch.cpu), megabytes(s.watch.memory),
			seconds(s.peer.wall), seconds(s.peer.cpu), ratio(s.watch.wall, s.peer.wall), ratio(s.watch.cpu, s.peer.cpu), seconds(s.open.wall), seconds(s.open.cpu), megabytes(s.open.memory), millis(s.first))
	}
	page.WriteByte('\n')
	return nil
}

// odd are streams of another shape.
func (b *bench) odd(ctx context.Context, page *bytes.Buffer) error {
	page.WriteString("## Streams of another shape\n\n| stream | watch | CPU | memory | curl, jq | CPU | ratio | of CPU | first frame |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range []struct {
		name string
		of   provider
	}{
		{"1,000 chunks, one of 2 MiB", provider{of: 1000, big: 2 << 20}},
		{"1,000 chunks, 200 tools at once", provider{of: 1000, tools: 200}},
	} {
		s, err := b.stream(ctx, &c.of)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Fprintf(page, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", c.name, seconds(s.watch.wall), seconds(s.watch.cpu), megabytes(s.watch.memory),
			seconds(s.peer.wall), seconds(s.peer.cpu), ratio(s.watch.wall, s.peer.wall), ratio(s.watch.cpu, s.peer.cpu), millis(s.first))
	}
	page.WriteByte('\n')
	return nil
}

func (b *bench) answers(_ context.Context, page *bytes.Buffer) error {
	page.WriteString(`## A long answer

Markdown of a recorded turn, at 1,000 deltas a second, drawn every 33 ms at 100 columns; what an update, another width and a jump to the top take is CPU. Beside it: one rendering of the whole text by glamour, and rendering all of it anew
for each drawing (where that ends in reasonable time).

| answer | CPU | glamour once | ratio | anew each time | an update: median | p99 | most | 100th | last | memory | resize | its top |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
`)
	for _, size := range []int{10_000, 100_000, 300_000, 1_000_000, 5_000_000} {
		ours, err := b.markdown("stream", size)
		if err != nil {
			return err
		}
		var once, anew drawn
		if size <= 1_000_000 {
			if once, err = b.markdown("glamour", size); err != nil {
				return err
			}
		}
		if size <= 100_000 {
			if anew, err = b.markdown("whole", size); err != nil {
				return err
			}
		}
		fmt.Fprintf(page, "| %s kB | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", number(size/1000), seconds(ours.CPU), seconds(once.CPU), ratio(ours.CPU, once.CPU), seconds(anew.CPU),
			millis(ours.P50), millis(ours.P99), millis(ours.Most), millis(ours.Hundredth), millis(ours.Last), megabytes(ours.Memory), millis(ours.Resize), millis(ours.Top))
	}
	page.WriteByte('\n')
	return nil
}

func (b *bench) pressing(ctx context.Context, page *bytes.Buffer) error {
	page.WriteString("## A key to its frame\n\nHelp is opened and closed while 1,000 chunks a second arrive behind those that are there, through a pseudo-terminal, until a terminal emulator shows it.\n\n" +
		"| chunks there | median | p99 | most | bytes of a frame |\n|---|---|---|---|---|\n")
	for n := 1000; n <= min(b.most, 100_000); n *= 10 {
		p, err := b.keys(ctx, n)
		if err != nil {
			return fmt.Errorf("keys: %w", err)
		}
		fmt.Fprintf(page, "| %s | %s | %s | %s | %s |\n", number(n), millis(p.median), millis(p.p99), millis(p.most), number(p.frame))
	}
	page.WriteByte('\n')
	return nil
}

// starting measures a command that does nothing.
func (b *bench) starting(_ context.Context, page *bytes.Buffer) error {
	s, err := best(10, func() (spent, error) { return timed(exec.Command(b.program, "--version"), b.dir) })
	if err != nil {
		return err
	}
	fmt.Fprintf(page, "## Starting\n\n`aipscope --version`: %s, %s.\n", millis(s.wall), megabytes(s.memory))
	return nil
}

func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "of an unknown kind"
}

func load() string {
	average, _ := os.ReadFile("/proc/loadavg")
	one, _, _ := strings.Cut(string(average), " ")
	return one
}

func seconds(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

func megabytes(n int64) string { return fmt.Sprintf("%d MB", n/1_000_000) }

func ratio(a, b time.Duration) string {
	if b == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", float64(a)/float64(b))
}
