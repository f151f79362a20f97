//go:build terminal

package main

import (
	"sync/atomic"
	"testing"

	"aipscope/follow/aipd"
	"aipscope/model/aip"
	"aipscope/ui/ptytest"
)

// What an operator does around a turn, on a terminal: a request is written in the
// console, sent once, watched, reconciled, and continued in its session.
func TestATurnIsSubmittedReconciledAndContinuedOnATerminal(t *testing.T) {
	t.Parallel()
	var turns atomic.Int32
	count := func(r aipd.Request) *aip.Error {
		if spec, _ := r.Operation.Spec(); spec.Streams() {
			turns.Add(1)
		}
		return nil
	}
	p := newPlace(t, startDaemon(t, aipd.Options{Fail: count}))
	term := ptytest.Open(t)
	before := term.State(t)
	cmd := p.onTerminal(term, p.command("--theme", "dark"))
	sees(t, term, "neither journal nor daemon knows an action yet")
	step := func(keys, then string) {
		t.Helper()
		term.Type(t, keys)
		sees(t, term, then)
	}
	step("s", "23 of 23")
	step("demo:chat_stream", "1 of 23")
	step("\r", "in the journal before anything is sent")
	step("What is left?\tincident-214", "incident-214")
	step("\x13", "sent once, never again by itself")
	step("\r", "UNCONFIRMED")
	step("R", "the stored text is what was streamed")
	step("\x1b", "point at a line")
	step("M", "2 returned of 2")
	step("m", "proves neither that earlier history was loaded")
	step("And now?\x13", `"message": "And now?"`)
	step("\r", "session_chat_stream @ demo")
	sees(t, term, "settled")
	term.Type(t, "q")
	if code := exitCode(t, cmd); code != 0 {
		t.Errorf("exit code %d", code)
	}
	given(t, "ended", term, before)
	if n := turns.Load(); n != 2 {
		t.Errorf("%d turns ran", n)
	}
	p.sound()
}
