//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"aipscope/ui/ptytest"
)

// resting measures consoles in which nothing happens: what wakes them, and what that
// takes.
func (b *bench) resting(ctx context.Context, page *bytes.Buffer) error {
	page.WriteString(`## When nothing moves

A console on a terminal that nobody touches, and the process beside it that would give the terminal back. A wake-up is a voluntary context switch of any thread; a live action's elapsed
time moves once a second.

| console | wake-ups a second | CPU | wake-ups beside it | bytes a second |
|---|---|---|---|---|
`)
	pace := time.NewTicker(24 * time.Hour) // its stream goes on, and says nothing
	defer pace.Stop()
	ended, err := serve(ctx, &provider{of: 1000})
	if err != nil {
		return err
	}
	defer ended.close()
	live, err := serve(ctx, &provider{of: 1000, pace: pace})
	if err != nil {
		return err
	}
	defer live.close()
	journal := b.fresh()
	if _, err := timed(b.console(journal, "watch", action, "--url", ended.url, "--output", "json"), b.dir); err != nil {
		return err
	}
	for _, c := range []struct {
		name, journal, shows string
		args                 []string
	}{
		{"opened, settled", journal, "1,000 chunks", []string{"open", action}},
		{"the list, none live", journal, action, nil},
		{"watched, its stream silent", b.fresh(), " live ", []string{"watch", action, "--url", live.url}},
	} {
		s, err := b.still(c.journal, c.shows, c.args...)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Fprintf(page, "| %s | %.1f | %.2f %% | %.1f | %.0f |\n", c.name, s.console.wakes, 100*s.console.cpu, s.keeper.wakes, s.bytes)
	}
	page.WriteByte('\n')
	return nil
}

// use is what a process did in a second: wake-ups, and the part of a processor.
type use struct{ wakes, cpu float64 }

type rested struct {
	console, keeper use
	bytes           float64
}

// still leaves a console alone once it shows a text, and looks at it then.
func (b *bench) still(journal, shows string, args ...string) (r rested, err error) {
	term, cmd, err := b.onTerminal(journal, args...)
	if err != nil {
		return r, err
	}
	if err := cmd.Start(); err != nil {
		return r, err
	}
	err = newScreen(term).shows(shows, true)
	if err == nil {
		quiet(term, 3*time.Second)
		const long = 10 * time.Second
		pid := cmd.Process.Pid
		keeper := child(pid)
		console, beside := used(pid), used(keeper)
		n := quiet(term, long)
		r = rested{used(pid).since(console, long), used(keeper).since(beside, long), float64(n) / long.Seconds()}
	}
	return r, errors.Join(err, leave(term, cmd))
}

// quiet waits, and counts what is written meanwhile.
func quiet(term *ptytest.Terminal, long time.Duration) (n int) {
	for end := time.Now().Add(long); time.Now().Before(end); {
		n += len(term.Take(time.Until(end)))
	}
	return n
}

func (u use) since(before use, long time.Duration) use {
	return use{(u.wakes - before.wakes) / long.Seconds(), (u.cpu - before.cpu) / long.Seconds()}
}

// used is what the threads of a process have done so far, or nothing where there is
// no process.
func used(pid int) (u use) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, thread := range threads {
		status, _ := os.ReadFile(thread + "/status")
		_, rest, _ := strings.Cut(string(status), "\nvoluntary_ctxt_switches:")
		line, _, _ := strings.Cut(rest, "\n")
		n, _ := strconv.ParseFloat(strings.TrimSpace(line), 64)
		u.wakes += n
		ran, _ := os.ReadFile(thread + "/schedstat")
		line, _, _ = strings.Cut(string(ran), " ")
		n, _ = strconv.ParseFloat(line, 64)
		u.cpu += n / float64(time.Second)
	}
	return u
}

// child is the process that another one has started, or 0.
func child(pid int) int {
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range all {
		stat, _ := os.ReadFile(name)
		// The name stands in brackets and may hold anything; behind it the state and the parent.
		rest := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(rest) > 1 && rest[1] == strconv.Itoa(pid) {
			n, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			return n
		}
	}
	return 0
}
