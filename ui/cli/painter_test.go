package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// easel is a painter on a terminal of a test's.
type easel struct {
	*painter
	t     *testing.T
	took  []string      // what was written, each write for itself
	at    []time.Time   // and when
	full  chan struct{} // while it is there, writes wait for it to close
	fails error
	done  chan struct{}
}

func paints(t *testing.T, test func(e *easel)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := &easel{t: t, done: make(chan struct{})}
		e.painter = newPainter(func(p []byte) error {
			if e.full != nil {
				<-e.full
			}
			e.took, e.at = append(e.took, string(p)), append(e.at, time.Now())
			return e.fails
		})
		go e.run(e.done)
		defer close(e.done)
		test(e)
	})
}

func (e *easel) frame(text string) { e.show(frame{text: text, width: 20, height: 2}) }

// drew checks what was written since the last time, by a part of each write.
func (e *easel) drew(parts ...string) {
	e.t.Helper()
	synctest.Wait()
	if len(e.took) != len(parts) {
		e.t.Fatalf("%d writes, want %d: %q", len(e.took), len(parts), e.took)
	}
	for i, part := range parts {
		if !strings.Contains(e.took[i], part) {
			e.t.Errorf("write %d is %q, want %q in it", i, e.took[i], part)
		}
	}
	e.took = nil
}

// frames shows so many, each as soon as the painter has looked at the one before.
func (e *easel) frames(n int) {
	for i := range n {
		e.frame(fmt.Sprint("frame ", i))
		synctest.Wait()
	}
}

// rests checks that nothing is to come, and nothing waits for it.
func (e *easel) rests() {
	e.t.Helper()
	time.Sleep(framesApart)
	synctest.Wait()
	if e.late.Stop() {
		e.t.Error("a timer runs")
	}
	time.Sleep(time.Hour)
	e.drew()
}

func TestAFrameIsDrawnAtOnceAndThenTheNewestOnly(t *testing.T) {
	paints(t, func(e *easel) {
		e.say("ours", drawAnew)
		e.drew("ours")
		e.rests()
		e.frame("one")
		e.drew("one")
		e.rests()
		start := time.Now()
		e.frames(100)
		time.Sleep(framesApart)
		e.drew("frame 0", "99")
		if d := e.at[len(e.at)-1].Sub(start); d != framesApart {
			t.Errorf("the newest was drawn after %v", d)
		}
		e.rests()
		e.frame("frame 99") // it stands there
		e.rests()
	})
}

func TestWordsAreWrittenAtOnceBehindTheNewestFrame(t *testing.T) {
	paints(t, func(e *easel) {
		e.frame("kept")
		e.rests() // the terminal is not ours
		e.say("ours", drawAnew)
		e.drew("kept")
		e.frame("shown")
		if err := e.heard(e.say("bell", goOn), 0); err != nil || !strings.HasSuffix(e.took[0], "bell") {
			t.Errorf("%v", err)
		}
		e.drew("shown")
		e.frame("concealed")
		if err := e.heard(e.say("theirs", drawNoMore), 0); err != nil || !strings.HasSuffix(e.took[0], "theirs") {
			t.Errorf("%v", err)
		}
		e.drew("concealed")
		e.frame("later")
		e.rests()
		e.say("ours again", drawAnew)
		e.drew("later") // the whole of it
		e.rests()
	})
}

func TestAFrameIsDrawnWholeWhereTheScreenMayBeAnother(t *testing.T) {
	paints(t, func(e *easel) {
		e.say("ours", drawAnew)
		e.frame("words")
		e.drew("words")
		e.rests()
		e.show(frame{"words", 20, 2, true}) // the size is what it was again
		e.drew("words")
		e.rests()
		e.show(frame{"words", 30, 3, false})
		e.drew("words")
		e.rests()
	})
}

func TestATerminalThatTakesNothingHoldsUpNobody(t *testing.T) {
	paints(t, func(e *easel) {
		e.say("ours", drawAnew)
		e.drew("ours")
		e.rests()
		e.full = make(chan struct{})
		e.frames(10)
		start := time.Now()
		if err := e.heard(e.say("theirs", drawNoMore), giveTime); err != errNoScreen || time.Since(start) != giveTime {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		e.say("ours again", drawAnew)
		full := e.full
		e.full = nil
		close(full)
		e.drew("frame 0", "9") // and the words between, in order
		e.rests()
	})
}

func TestAPainterThatCannotWriteEnds(t *testing.T) {
	paints(t, func(e *easel) {
		e.fails = errors.New("gone")
		if err := e.heard(e.say("ours", drawAnew), 0); err == nil {
			t.Error("it is said to be written")
		}
		<-e.ended
		e.frame("one")
		if err := e.heard(e.say("theirs", drawNoMore), giveTime); err != errNoScreen {
			t.Errorf("%v", err)
		}
		e.drew("ours")
	})
}
