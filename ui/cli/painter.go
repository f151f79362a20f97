package cli

import (
	"sync"
	"time"

	"aipscope/ui"
)

// painter draws frames on a terminal from a goroutine of its own: a terminal that is
// slow to take one, or takes nothing, holds up nobody but the next frame. A frame is
// drawn at once, or framesApart behind the one before it, and of those that come
// meanwhile only the newest: no timer runs unless one waits.
type painter struct {
	write func([]byte) error

	came  chan struct{} // a frame that may not be drawn
	said  chan struct{} // words
	ended chan struct{} // the goroutine

	mu     sync.Mutex
	newest frame
	words  []word

	// The goroutine's own.
	canvas  ui.Canvas
	out     []byte
	drawing bool
	last    time.Time   // when something was written
	late    *time.Timer // runs while a frame waits
}

// frame is what a screen of a size is to show.
type frame struct {
	text          string
	width, height int
	anew          bool // whatever the screen shows, it may not be what was drawn
}

// word is written between two frames: in order, at once, and behind the newest frame.
type word struct {
	text    string
	then    then
	written chan error
}

// then is what becomes of frames behind a word.
type then int

const (
	goOn       then = iota
	drawAnew        // the terminal has become ours
	drawNoMore      // until it is ours again; the newest frame is kept for then
)

// framesApart lets no more than 125 frames a second through. A key waits no longer for
// its frame.
const framesApart = 8 * time.Millisecond

func newPainter(write func([]byte) error) *painter {
	return &painter{write: write, came: make(chan struct{}, 1), said: make(chan struct{}, 1), ended: make(chan struct{})}
}

// show takes the newest frame.
func (p *painter) show(f frame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f.anew = f.anew || p.newest.anew
	if f == p.newest && !f.anew {
		return
	}
	p.newest = f
	signalled(p.came)
}

// say takes a word, and returns where to wait for it to be written.
func (p *painter) say(text string, then then) <-chan error {
	w := word{text, then, make(chan error, 1)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.words = append(p.words, w)
	signalled(p.said)
	return w.written
}

// signalled wakes whoever waits on c, now or when he comes to it.
func signalled(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// heard waits until a word was written, for so long at most if that is not 0. It is
// errNoScreen where it was not.
func (p *painter) heard(written <-chan error, most time.Duration) error {
	select {
	case err := <-written:
		return err
	case <-p.ended:
	case <-after(most):
	}
	return errNoScreen
}

// after is time.After, and never where there is no time.
func after(d time.Duration) <-chan time.Time {
	if d <= 0 {
		return nil
	}
	return time.After(d)
}

// run draws until done, or until something cannot be written.
func (p *painter) run(done <-chan struct{}) {
	defer close(p.ended)
	p.late = time.NewTimer(0)
	p.late.Stop()
	defer p.late.Stop()
	for p.awaits(done) {
		if p.draw() != nil {
			return
		}
	}
}

// awaits returns when something is to be drawn, or false when all is over.
func (p *painter) awaits(done <-chan struct{}) bool {
	select {
	case <-p.said:
		return true
	case <-done:
		return false
	case <-p.came:
	}
	wait := framesApart - time.Since(p.last)
	if wait <= 0 {
		return true
	}
	p.late.Reset(wait)
	select {
	case <-p.late.C:
		return true
	case <-p.said:
		p.late.Stop()
		return true
	case <-done:
		return false
	}
}

// draw writes what there is, in one call.
func (p *painter) draw() error {
	p.mu.Lock()
	f, words := p.newest, p.words
	p.newest.anew, p.words = false, nil
	for _, c := range []chan struct{}{p.came, p.said} { // all that was told is in hand
		select {
		case <-c:
		default:
		}
	}
	p.mu.Unlock()
	if f.anew {
		p.canvas.Forget()
	}
	p.out = p.out[:0]
	paint := func() {
		if p.drawing {
			p.out = append(p.out, p.canvas.Paint(f.text, f.width, f.height)...)
		}
	}
	paint()
	for _, w := range words {
		p.out = append(p.out, w.text...)
		switch w.then {
		case drawAnew:
			p.canvas.Forget()
			p.drawing = true
		case drawNoMore:
			p.drawing = false
		}
	}
	if len(words) > 0 {
		paint()
	}
	var err error
	if len(p.out) > 0 {
		p.last = time.Now()
		err = p.write(p.out)
	}
	for _, w := range words {
		w.written <- err
	}
	return err
}
