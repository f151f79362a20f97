//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"aipscope/ui/ptytest"
)

// spent is what a process took.
type spent struct {
	wall   time.Duration
	cpu    time.Duration
	memory int64 // bytes resident at most
}

// verdictCode passes over the exit codes that are verdicts.
func verdictCode(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() >= 10 {
		return nil
	}
	return err
}

// timed runs a command with its output to a file.
func timed(cmd *exec.Cmd, dir string) (spent, error) {
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		return spent{}, err
	}
	defer out.Close()
	cmd.Stdout = out
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return spent{}, fmt.Errorf("%s: %w", cmd, err)
	}
	done, memory := make(chan struct{}), make(chan int64)
	go func() {
		most := int64(0)
		for {
			most = max(most, peak(fmt.Sprint(cmd.Process.Pid)))
			select {
			case <-done:
				memory <- most
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	err = verdictCode(cmd.Wait())
	wall := time.Since(start)
	close(done)
	s := spent{wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), <-memory}
	if err != nil {
		return s, fmt.Errorf("%s: %w", cmd, err)
	}
	return s, nil
}

// peak is the most memory that a process has had resident, in bytes, or 0. What the
// system tells when it has ended counts the process that started it, too.
func peak(pid string) int64 {
	status, _ := os.ReadFile("/proc/" + pid + "/status")
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kB, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, _ := strconv.ParseInt(kB, 10, 64)
	return n << 10
}

// best keeps of several runs the one with the least wall time.
func best(times int, run func() (spent, error)) (spent, error) {
	var runs []spent
	for range times {
		s, err := run()
		if err != nil {
			return s, err
		}
		runs = append(runs, s)
	}
	return slices.MinFunc(runs, func(a, b spent) int { return int(a.wall - b.wall) }), nil
}

// console is a command of the console in a place of its own.
func (b *bench) console(journal string, args ...string) *exec.Cmd {
	cmd := exec.Command(b.program, append(args, "--journal", journal)...)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+b.dir, "XDG_STATE_HOME="+b.dir, "TERM=xterm-256color", "COLORTERM=truecolor", "LANG=C.UTF-8", "AIP_URL=", "AIP_TOKEN_FILE=")
	return cmd
}

// streamed are the measures of one stream.
type streamed struct {
	chunks      int
	watch, open spent
	peer        spent // curl into jq
	first       time.Duration
}

// stream measures one action of so many chunks.
func (b *bench) stream(ctx context.Context, p *provider) (streamed, error) {
	s := streamed{chunks: p.of}
	d, err := serve(ctx, p)
	if err != nil {
		return s, err
	}
	defer d.close()
	times := 3
	if p.of > 100_000 {
		times = 1
	}
	journal := ""
	s.watch, err = best(times, func() (spent, error) {
		journal = b.fresh()
		return timed(b.console(journal, "watch", action, "--url", d.url, "--output", "json"), b.dir)
	})
	if err != nil {
		return s, err
	}
	if s.open, err = best(times, func() (spent, error) {
		return timed(b.console(journal, "open", action, "--output", "json"), b.dir)
	}); err != nil {
		return s, err
	}
	if b.peers {
		s.peer, err = best(times, func() (spent, error) {
			return timed(exec.Command("sh", "-c", "curl -sN '"+d.follow()+"' | sed -n 's/^data: //p' | jq -c ."), b.dir)
		})
		if err != nil {
			return s, err
		}
	}
	s.first, err = b.firstFrame(journal)
	return s, err
}

// firstFrame is how long the console takes from its start to a frame with the
// action's words in it.
func (b *bench) firstFrame(journal string) (time.Duration, error) {
	var took []time.Duration
	for range 3 {
		term, cmd, err := b.onTerminal(journal, "open", action)
		if err != nil {
			return 0, err
		}
		start := time.Now()
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		err = newScreen(term).shows("word", true)
		took = append(took, time.Since(start))
		if err := errors.Join(err, leave(term, cmd)); err != nil {
			return 0, err
		}
	}
	return slices.Min(took), nil
}

func (b *bench) onTerminal(journal string, args ...string) (*ptytest.Terminal, *exec.Cmd, error) {
	term, err := ptytest.New()
	if err != nil {
		return nil, nil, err
	}
	cmd := b.console(journal, append(args, "--theme", "dark")...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = term.TTY, term.TTY, term.TTY
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return term, cmd, nil
}
