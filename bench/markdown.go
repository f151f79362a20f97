//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"aipscope/ui/markdown"

	"github.com/charmbracelet/glamour"
	"github.com/charmbracelet/glamour/styles"
)

// An answer arrives at 1,000 deltas a second and is drawn every 33 ms, a screen of
// 40 lines at its end.
const (
	perDraw    = 33
	drawnLines = 40
	textWidth  = 100
)

// drawn is what drawing an answer took, in a process of its own.
type drawn struct {
	Bytes, Updates  int
	CPU             time.Duration // all of it
	P50, P99, Most  time.Duration // CPU of one update
	Hundredth, Last time.Duration // update, the median of ten around it
	Resize          time.Duration // to another width, until the screen is drawn
	Top             time.Duration // then to draw its top
	Memory          int64
}

// answer is markdown of so many bytes in the deltas of a recorded answer, which is
// repeated or cut.
func answer(size int) (deltas []string, err error) {
	body, err := os.ReadFile("testdata/recordings/hermes/chat_large.sse")
	if err != nil {
		return nil, err
	}
	var whole []string
	for line := range strings.Lines(string(body)) {
		data, ok := strings.CutPrefix(line, "data: ")
		var d struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if ok && json.Unmarshal([]byte(data), &d) == nil && len(d.Choices) > 0 {
			whole = append(whole, d.Choices[0].Delta.Content)
		}
	}
	for have := 0; have < size; {
		for _, delta := range whole {
			if have >= size {
				break
			}
			deltas = append(deltas, delta)
			have += len(delta)
		}
	}
	return deltas, nil
}

// drawAnswer is the process: how is one of stream, glamour and whole.
func drawAnswer(how string, size int) (d drawn, err error) {
	deltas, err := answer(size)
	if err != nil {
		return d, err
	}
	runtime.LockOSThread()
	switch how {
	case "stream":
		d.stream(deltas)
	case "glamour":
		err = d.glamour(deltas, len(deltas))
	case "whole":
		err = d.glamour(deltas, perDraw)
	default:
		err = fmt.Errorf("there is no way %q to draw", how)
	}
	d.Memory = peak("self")
	return d, err
}

// thread is what the thread has used of a processor: other programs make an update
// wait, and do not make it dearer.
func thread() time.Duration {
	const threadCPU = 3 // CLOCK_THREAD_CPUTIME_ID
	var t syscall.Timespec
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, threadCPU, uintptr(unsafe.Pointer(&t)), 0)
	return time.Duration(t.Nano())
}

func cpu() time.Duration {
	var use syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &use)
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

func (d *drawn) stream(deltas []string) {
	doc := markdown.New(markdown.Options{Width: textWidth, Style: styles.DarkStyleConfig, Hyperlinks: true})
	draw := func() time.Duration {
		start := thread()
		h := doc.Extent()
		for doc.Show(h-drawnLines, h) {
			h = doc.Extent()
		}
		doc.Lines(h-drawnLines, h)
		return thread() - start
	}
	var took []time.Duration
	before := cpu()
	for i, delta := range deltas {
		start := thread()
		doc.Append(delta)
		d.Bytes += len(delta)
		if i%perDraw == perDraw-1 {
			draw()
			took = append(took, thread()-start)
		}
	}
	doc.Finish()
	d.summarise(append(took, draw()))
	d.CPU = cpu() - before
	doc.SetWidth(textWidth - 20)
	d.Resize = draw()
	start := thread()
	doc.Lines(0, drawnLines)
	d.Top = thread() - start
}

func (d *drawn) glamour(deltas []string, every int) error {
	g, err := glamour.NewTermRenderer(glamour.WithStyles(styles.DarkStyleConfig), glamour.WithWordWrap(textWidth))
	if err != nil {
		return err
	}
	var text strings.Builder
	var took []time.Duration
	before := cpu()
	for i, delta := range deltas {
		text.WriteString(delta)
		if i%every != every-1 {
			continue
		}
		start := thread()
		if _, err := g.Render(text.String()); err != nil {
			return err
		}
		took = append(took, thread()-start)
	}
	d.Bytes, d.CPU = text.Len(), cpu()-before
	d.summarise(took)
	return nil
}

func (d *drawn) summarise(took []time.Duration) {
	if len(took) == 0 {
		return
	}
	around := func(i int) time.Duration {
		few := slices.Clone(took[max(0, min(i, len(took))-10):min(i, len(took))])
		slices.Sort(few)
		return few[len(few)/2]
	}
	d.Updates, d.Hundredth, d.Last = len(took), around(100), around(len(took))
	slices.Sort(took)
	d.P50, d.P99, d.Most = took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
}

// markdown measures in a process of its own.
func (b *bench) markdown(how string, size int) (drawn, error) {
	var d drawn
	out, err := exec.Command(os.Args[0], "-draw", how, "-size", fmt.Sprint(size)).Output()
	if err == nil {
		err = json.Unmarshal(out, &d)
	}
	if err != nil {
		return d, fmt.Errorf("draw %d bytes by %s: %w", size, how, err)
	}
	return d, nil
}
