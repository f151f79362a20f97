//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"aipscope/ui/ptytest"

	"github.com/charmbracelet/x/vt"
)

// screen is what stands on a terminal.
type screen struct {
	term  *ptytest.Terminal
	cells *vt.Emulator
	bytes int // that came
	ends  int // frames
}

func newScreen(term *ptytest.Terminal) *screen {
	s := &screen{term: term, cells: vt.NewEmulator(120, 40)}
	go io.Copy(io.Discard, s.cells) // its answers to queries
	return s
}

// take waits for something new.
func (s *screen) take(most time.Duration) {
	all := s.term.Take(most)
	s.bytes += len(all)
	s.ends += strings.Count(all, "\x1b[?2026l")
	s.cells.WriteString(all)
}

// until waits for something to stand there.
func (s *screen) until(good func(text string) bool) error {
	for end := time.Now().Add(time.Minute); !good(s.cells.String()); s.take(time.Second) {
		if time.Now().After(end) {
			return fmt.Errorf("what was waited for did not come:\n%s", s.cells)
		}
	}
	return nil
}

// shows waits until a text stands there, or does not.
func (s *screen) shows(text string, there bool) error {
	return s.until(func(all string) bool { return strings.Contains(all, text) == there })
}

var counts = regexp.MustCompile(`([0-9,]+) chunks`)

// chunks waits until the header counts so many.
func (s *screen) chunks(least int) error {
	return s.until(func(all string) bool {
		found := counts.FindStringSubmatch(all)
		if found == nil {
			return false
		}
		n, _ := strconv.Atoi(strings.ReplaceAll(found[1], ",", ""))
		return n >= least
	})
}

// leave ends a console as an operator does, and waits for it.
func leave(term *ptytest.Terminal, cmd *exec.Cmd) error {
	defer term.Vanish()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		if err := term.Press("q"); err != nil {
			return err
		}
		select {
		case err := <-done:
			return verdictCode(err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// pressed are the times from a key to the frame that shows what it did.
type pressed struct {
	median, p99, most time.Duration
	frame             int // bytes written a frame while following
}

// keys measures while a stream of 1,000 chunks a second comes, behind so many that
// are there already.
func (b *bench) keys(ctx context.Context, loaded int) (p pressed, err error) {
	pace := time.NewTicker(time.Millisecond)
	defer pace.Stop()
	d, err := serve(ctx, &provider{of: loaded, pace: pace})
	if err != nil {
		return p, err
	}
	defer d.close()
	term, cmd, err := b.onTerminal(b.fresh(), "watch", action, "--url", d.url)
	if err != nil {
		return p, err
	}
	if err := cmd.Start(); err != nil {
		return p, err
	}
	s := newScreen(term)
	err = s.chunks(loaded + 500)
	var took []time.Duration
	if err == nil {
		s.bytes, s.ends = 0, 0
		for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
			s.take(time.Second)
		}
		p.frame = s.bytes / max(1, s.ends)
		took, err = s.pressed()
	}
	if err := errors.Join(err, leave(term, cmd)); err != nil {
		return p, err
	}
	slices.Sort(took)
	p.median, p.p99, p.most = took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
	return p, nil
}

// pressed opens and closes the help, again and again.
func (s *screen) pressed() (took []time.Duration, err error) {
	const says = "╭ Keys ─"
	for i := range 200 {
		// At no fixed place between two frames.
		for end := time.Now().Add(time.Duration(40+i%17) * time.Millisecond); time.Now().Before(end); {
			s.take(time.Until(end))
		}
		start := time.Now()
		if err := s.term.Press("?"); err != nil {
			return nil, err
		}
		if err := s.shows(says, i%2 == 0); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
	}
	return took, nil
}

// number writes a count as the console does.
func number(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", number(n/1000), n%1000)
}
