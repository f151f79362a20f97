package ui

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"aipscope/follow/aipd"
	"aipscope/model/hermes"
	"aipscope/model/turntest"

	tea "github.com/charmbracelet/bubbletea"
)

// Whatever keys are pressed in whatever order, the screen holds, and a key means one
// thing.
func TestAnyKeysInAnyOrderLeaveAScreenThatHolds(t *testing.T) {
	var keys []string
	for _, b := range keyTable {
		switch b.intent {
		case doLeave, doInterrupt, doSuspend:
			continue
		}
		for _, k := range b.Keys() {
			if !slices.Contains(keys, k) && k != "q" {
				keys = append(keys, k)
			}
		}
	}
	steps := 900
	if turntest.Racing {
		steps = 80
	}
	seen := map[place]int{}
	seeds := uint64(3)
	if turntest.Racing {
		seeds = 1
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 5))
		opt := aipd.Options{Approve: aipd.Approval{Decides: true, Grants: seed%2 == 0, After: 5 * time.Second}}
		atWork(t, 100, 30, opt, nil, func(b *bench) {
			b.file = `{"prompt":"from a file","session_id":"walk","recording":"chat_tools"}`
			b.watches(hermes.OpResponsesStream, `{"input":"hi","recording":"responses_tools"}`)
			b.watches(hermes.OpSessionChatStream, `{"session_id":"demo-tools","message":"hi"}`)
			for range steps {
				switch n := r.IntN(40); {
				case n == 0:
					b.press("esc", "esc", "S")
				case n < 3:
					size := [][2]int{{100, 30}, {80, 24}, {40, 12}, {130, 40}}[r.IntN(4)]
					b.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
				case n < 5:
					b.write("demo-x")
				default:
					b.press(keys[r.IntN(len(keys))])
				}
				if r.IntN(4) == 0 {
					b.pass(time.Duration(r.IntN(3000)) * time.Millisecond)
				}
				harmless(t, b.m.View())
				fits(t, b.m.View(), b.desk.w, b.desk.h)
				unambiguous(t, b.desk.shown)
				seen[b.desk.shown.place()]++
				if t.Failed() {
					t.Fatalf("seed %d\n%s", seed, b.seen())
				}
			}
			if b.quit {
				t.Error("it left")
			}
		})
	}
	for _, p := range []place{inPanes, inReport, inNews, inAsk, inOffers, inForm, inReview, inSessions, inTranscript} {
		if seen[p] == 0 && !turntest.Racing {
			t.Errorf("the walk never came to place %b", p)
		}
	}
}
