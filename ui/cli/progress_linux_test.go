package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"aipscope/ui/ptytest"
)

func TestLongWorkSaysHowFarItIsAndTakesItBack(t *testing.T) {
	term := ptytest.Open(t)
	a := &app{err: term.TTY, getenv: noEnvironment, now: time.Now}
	p := a.begin("counting")
	p.at(5, 10, "rows")
	term.Wait(t, 0, "\raipscope: counting: 5 of 10 rows, 1 s; ctrl+c stops it\x1b[K")
	p.now("writing \x1b[31m")
	p.at(3<<20, 0, "rows")
	term.Wait(t, 0, "writing ‹U+001B›[31m: 3145728 rows")
	p.end()
	term.Mark(t)
	if all := term.Written(); !strings.Contains(all, "\r\x1b[K\x1b[m") {
		t.Errorf("the line stays: %q", all)
	}
}

func TestQuickWorkSaysNothing(t *testing.T) {
	term := ptytest.Open(t)
	a := &app{err: term.TTY, getenv: noEnvironment, now: time.Now}
	p := a.begin("counting")
	p.at(1, 2, "rows")
	p.end()
	term.Mark(t)
	if all := term.Written(); strings.Contains(all, "counting") {
		t.Errorf("%q", all)
	}
	var b bytes.Buffer
	a.err = &b
	if p := a.begin("counting"); p != nil {
		t.Error("it tells of progress where no terminal is")
	}
	if a.tty = term.TTY; a.beginBeside("printing") != nil {
		t.Error("it writes into what is printed")
	}
}

func TestReadingAFileEndsWhenItIsInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var p *progress
	r := p.through(ctx, strings.NewReader("abc"), 3)
	if n, err := r.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	stop()
	if _, err := io.ReadAll(r); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
