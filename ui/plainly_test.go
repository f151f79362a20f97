package ui

import (
	"strings"
	"testing"
	"time"

	"aipscope/follow/aipd"
	"aipscope/model/hermes"

	"github.com/charmbracelet/x/exp/golden"
)

// What is done at the daemon is said on a plain screen, too: once, in order, masked.
func TestAPlainScreenSaysWhatIsDoneAtTheDaemon(t *testing.T) {
	h := &heard{}
	atPlainWork(t, 80, 24, aipd.Options{Approve: aipd.Approval{Decides: true, Grants: true, After: time.Minute}}, nil, h, func(b *bench) {
		b.press("s")
		b.pass(time.Second)
		b.write("chat_stream")
		b.press("enter")
		b.write("What is left?")
		b.press("tab")
		b.write("incident-214")
		b.press("tab", "tab", "tab", "tab", "tab", "tab", " ", "ctrl+s")
		b.pass(time.Second)
		b.press("esc", " ", " ", "ctrl+s")
		b.pass(time.Second)
		b.press("enter")
		b.pass(10 * time.Second)
		b.press("R")
		b.pass(time.Second)
		b.press("esc", "S")
		b.pass(time.Second)
		b.press("j", "enter")
		b.pass(time.Second)
		b.press("f")
		b.write("child-1")
		b.press("tab", "enter")
		b.pass(time.Second)
		b.press("esc", "D", "enter")
		b.pass(time.Second)
		b.pass(2 * time.Minute)
		b.press("esc", "esc")
		if n := b.calls()[hermes.OpSessionFork]; n != 1 {
			t.Errorf("%d forks", n)
		}
	})
	all := madeUp.ReplaceAllStringFunc(h.all(), func(id string) string { return id[:4] + hexDigits.ReplaceAllString(id[4:], "0") })
	golden.RequireEqual(t, []byte(all))
	if strings.Contains(all, "demo-second") {
		t.Error("what is private was printed, where it stays")
	}
}
