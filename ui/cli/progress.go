package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"aipscope/model/safe"
	"aipscope/store"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// Work that takes longer than patienceFor says how far it is.
const (
	patienceFor = time.Second
	progressPer = 200 * time.Millisecond
)

// progress says on standard error how far long work is, where that is a terminal: one
// line, written over while it goes on, and gone when it ends. A nil progress says nothing.
type progress struct {
	out    *os.File
	once   bool // the terminal cannot write over a line
	begun  time.Time
	done   chan struct{}
	silent sync.WaitGroup

	mu    sync.Mutex
	doing string
	n, of int64 // of may be 0: not known
	unit  string
}

// begin starts to tell of work; end must follow.
func (a *app) begin(doing string) *progress {
	out := terminal(a.err)
	if out == nil || a.screen.Load() != nil {
		return nil
	}
	p := &progress{out: out, once: a.getenv("TERM") == "dumb", begun: a.now(), done: make(chan struct{}), doing: doing}
	p.silent.Add(1)
	a.spawn(func() {
		defer p.silent.Done()
		p.tell(a.now)
	})
	return p
}

// beginBeside is begin for work that writes to standard output all the while: where that
// is the terminal, it can be seen going on.
func (a *app) beginBeside(doing string) *progress {
	if a.tty != nil {
		return nil
	}
	return a.begin(doing)
}

// at says how far it is: n of so many, or of an unknown number (0).
func (p *progress) at(n, of int64, unit string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n, p.of, p.unit = n, of, unit
}

// now says that another part of the work has begun.
func (p *progress) now(doing string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.doing != doing {
		p.doing, p.n, p.of = doing, 0, 0
	}
}

// end takes the line away.
func (p *progress) end() {
	if p == nil {
		return
	}
	close(p.done)
	p.silent.Wait()
}

func (p *progress) tell(now func() time.Time) {
	wait := time.NewTimer(patienceFor)
	defer wait.Stop()
	shown := false
	for {
		select {
		case <-p.done:
			if shown && !p.once {
				io.WriteString(p.out, "\r\x1b[K")
			}
			return
		case <-wait.C:
		}
		line := p.line(now().Sub(p.begun))
		if p.once {
			fmt.Fprintln(p.out, line)
			return
		}
		width, _, err := term.GetSize(p.out.Fd())
		if err != nil || width < 20 {
			width = 80
		}
		io.WriteString(p.out, "\r"+ansi.Truncate(line, width-1, "…")+"\x1b[K")
		shown = true
		wait.Reset(progressPer)
	}
}

func (p *progress) line(since time.Duration) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	far := ""
	switch {
	case p.of > 0:
		far = fmt.Sprintf(": %d of %d %s", p.n, max(p.n, p.of), p.unit)
	case p.n > 0:
		far = fmt.Sprintf(": %d %s", p.n, p.unit)
	}
	return fmt.Sprintf("aipscope: %s%s, %d s; ctrl+c stops it", safe.Line(p.doing), far, int(since.Seconds()))
}

// store tells of a journal's own long work.
func (p *progress) store(j *store.Journal) {
	if p != nil {
		j.Tell(func(w store.Work) {
			p.now(w.Doing)
			p.at(int64(w.Done), int64(w.All), w.Unit)
		})
	}
}

// through is a reader that counts what is read of so many bytes, and ends with ctx.
func (p *progress) through(ctx context.Context, r io.Reader, size int64) io.Reader {
	return &counted{ctx: ctx, r: r, p: p, size: size}
}

type counted struct {
	ctx  context.Context
	r    io.Reader
	p    *progress
	n    int64
	size int64
}

func (c *counted) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(b)
	c.n += int64(n)
	c.p.at(c.n>>20, c.size>>20, "MiB")
	return n, err
}
