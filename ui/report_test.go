package ui

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"aipscope/follow/aipd"
	"aipscope/model/aip"
	"aipscope/model/hermes"
	"aipscope/model/turntest"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/golden"
)

func TestReconcileShowsTheEvidenceBesideTheStreams(t *testing.T) {
	for _, size := range bothSizes() {
		t.Run(number(size[0]), func(t *testing.T) {
			var screen string
			atWork(t, size[0], size[1], aipd.Options{}, nil, func(b *bench) {
				id := b.watches(hermes.OpChatStream, `{"prompt":"What is left?","session_id":"incident-214","recording":"chat_tools"}`)
				b.press("R")
				b.pass(time.Second)
				b.shows("session", "present", "the stored text is what was streamed", "nothing is sent again", "masked, r reveals")
				b.hides("incident-214", "What is left?")
				screen = b.seen()
				b.press("r")
				b.shows("ID incident-214", "REVEALED")
				b.press("G")
				b.shows("What is left?")
				b.press("esc", "R")
				b.pass(time.Second)
				b.hides("ID incident-214")
				calls := b.calls()
				if calls[hermes.OpChatStream] != 1 || calls[hermes.OpSessionMessages] != 2 || len(calls) != 2 {
					t.Errorf("%v", calls)
				}
				if got := b.desk.Watched()[0].Turn().Action(); got != id {
					t.Errorf("watched %s", got)
				}
			})
			golden.RequireEqual(t, []byte(screen))
		})
	}
}

func TestReconcileSaysWhereThereIsNothingToAsk(t *testing.T) {
	atWork(t, 120, 30, aipd.Options{}, nil, func(b *bench) {
		b.watches(hermes.OpChatStream, `{"prompt":"hi","recording":"chat_disconnect"}`)
		b.shows("INCOMPLETE", "R reconcile")
		b.press("v")
		b.shows("R reads the action and its stored provider state again, and sends nothing")
		b.press("esc")
		b.press("R")
		b.pass(5 * time.Second)
		b.shows("not asked", "the request named no session", "its outcome stays unknown", "escalate with the action's ID")
		b.press("R", "R") // reads again, one at a time
		b.pass(5 * time.Second)
		if calls := b.calls(); len(calls) != 1 || calls[hermes.OpChatStream] != 1 {
			t.Errorf("%v", calls)
		}
	})
}

func TestWaitingForAReportCanBeStopped(t *testing.T) {
	held := &canned{}
	atWork(t, 100, 30, aipd.Options{}, held, func(b *bench) {
		held.Service, held.hold = b.client, make(chan struct{})
		b.watches(hermes.OpResponsesStream, `{"input":"hi","recording":"responses_ok"}`)
		b.press("R")
		b.pass(time.Second)
		b.shows("Reading the original action's status", "esc stops waiting")
		b.press("R") // already at it
		b.press("esc")
		b.pass(time.Minute)
		b.shows("Tools")
		b.hides("Reconcile", "it was stopped")
		if c := b.desk.Watched()[0]; c.report != nil || b.calls()[hermes.OpResponseGet] != 1 {
			t.Errorf("%v %v", c.report, b.calls())
		}
	})
}

func TestStoredResponsesAreReadAndDeletedOnceApproved(t *testing.T) {
	atWork(t, 120, 36, aipd.Options{Approve: aipd.Approval{Decides: true, Grants: true, After: time.Minute}}, nil, func(b *bench) {
		b.watches(hermes.OpResponsesStream, `{"input":"What is left?","recording":"responses_tools"}`)
		id := b.desk.Watched()[0].Turn().ResponseID()
		b.press("o")
		b.pass(time.Second)
		b.shows("Stored response", "completed", "tool calls", "D delete the stored response")
		b.hides(id)
		b.press("r")
		b.shows(id)
		b.press("D")
		b.shows("Somebody must approve it first", "Model calls, tool effects, memory and session history stay")
		b.press("esc")
		if b.calls()[hermes.OpResponseDelete] != 0 {
			t.Error("deleted unasked")
		}
		b.press("D", "enter")
		b.pass(30 * time.Second)
		b.shows("an approval is pending", "idempotency key aipscope-")
		b.pass(time.Minute)
		b.shows("deleted", "accepted", "The stored record and a conversation's pointer")
		b.press("esc", "i", "D", "enter")
		b.pass(5 * time.Second)
		b.shows("asked before: this is the original action's result")
		if n := b.calls()[hermes.OpResponseDelete]; n != 1 {
			t.Errorf("%d deletes", n)
		}
		b.press("esc", "o")
		b.pass(5 * time.Second)
		b.shows("never stored, evicted, deleted")
	})
}

// What the daemon says in a reconciliation is what the console's own verdict rests
// on, too.
func TestAReconciliationBringsTheVerdictUpToDate(t *testing.T) {
	atWork(t, 120, 30, aipd.Options{}, nil, func(b *bench) {
		b.watches(hermes.OpResponsesStream, `{"input":"hi","recording":"responses_ok"}`)
		c := b.desk.Watched()[0]
		before := c.Turn().Applied()
		b.press("R")
		b.pass(5 * time.Second)
		if c.Turn().Applied() <= before {
			t.Error("the rows that the reconciliation wrote were not applied")
		}
		if !strings.Contains(b.seen(), "the provider holds a completed response") {
			t.Error(b.seen())
		}
	})
}

// What a provider stores, and how a read fails, is data in a report, too.
func TestReportsFromOutsideAreData(t *testing.T) {
	evil := turntest.Hostile()["everything"]
	raw, err := json.Marshal(map[string]any{"status": evil, evil: evil, "output": []any{map[string]any{"type": "message", "content": evil}, evil, 7}, "deleted": evil, "id": evil})
	if err != nil {
		t.Fatal(err)
	}
	for name, served := range map[string]*canned{
		"answers": {output: map[hermes.Operation]string{hermes.OpResponseGet: string(raw), hermes.OpResponseDelete: string(raw)}},
		"failures": {failed: map[hermes.Operation]*aip.Error{
			hermes.OpResponseGet: {Code: evil, Message: evil}, hermes.OpResponseDelete: {Code: "policy." + evil, Message: evil, Details: raw},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			atWork(t, 120, 40, aipd.Options{}, served, func(b *bench) {
				served.Service = b.client
				b.watches(hermes.OpResponsesStream, `{"input":"hi","recording":"responses_ok"}`)
				for _, size := range [][2]int{{120, 40}, {80, 24}, {40, 12}} {
					if turntest.Racing && size[0] > 80 {
						continue
					}
					b.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
					for _, keys := range [][]string{{"R"}, {"r"}, {"G"}, {"v"}, {"esc"}, {"y"}, {"esc"}, {"esc"}, {"o"}, {"r"}, {"D"}, {"enter"}, {"r"}, {"?"}, {"esc"}, {"esc"}, {"i"}, {"D"}, {"esc"}, {"esc"}} {
						b.press(keys...)
						b.pass(3 * time.Second)
						harmless(t, b.m.View())
						fits(t, b.m.View(), size[0], size[1])
						unambiguous(t, b.desk.shown)
					}
				}
			})
		})
	}
}
