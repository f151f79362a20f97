package ui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aipscope/follow"
	"aipscope/follow/act"
	"aipscope/model"
	"aipscope/model/turntest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/dlclark/regexp2.runClock"))
}

// bubble runs a test of the console in a synctest bubble.
func bubble(t *testing.T, name string, w, h int, configure func(*Config), test func(*driver, []model.Row)) {
	t.Helper()
	rows := turntest.Named(t, name).Rows(t)
	synctest.Test(t, func(t *testing.T) { test(drive(t, w, h, configure), rows) })
}

func (d *driver) shows(want ...string) {
	d.t.Helper()
	screen := d.screen()
	for _, s := range want {
		if !strings.Contains(screen, s) {
			d.t.Errorf("the screen lacks %q:\n%s", s, screen)
		}
	}
}

func (d *driver) hides(unwanted ...string) {
	d.t.Helper()
	screen := d.screen()
	for _, s := range unwanted {
		if strings.Contains(screen, s) {
			d.t.Errorf("the screen shows %q:\n%s", s, screen)
		}
	}
}

func TestPartialTextIsPendingUntilTheResult(t *testing.T) {
	bubble(t, "chat_ok", 100, 24, nil, func(d *driver, rows []model.Row) {
		d.play(rows[:len(rows)-1])
		d.shows("◌ PENDING", "● live", "chat.done")
		d.finish(rows[len(rows)-1:])
		d.shows("✓ ACCEPTED", "■ settled")
		if d.c.Left() || d.c.Err() != nil || !d.c.Turn().Settled() {
			t.Errorf("left %v, err %v", d.c.Left(), d.c.Err())
		}
	})
}

func TestABurstOfBatchesIsDrawnThirtyTimesASecond(t *testing.T) {
	bubble(t, "chat_ok", 100, 24, nil, func(d *driver, rows []model.Row) {
		before := d.updates
		for i := range 1000 {
			row := rows[1+i%2]
			d.batches <- follow.Batch{Rows: []model.Row{row}}
			time.Sleep(time.Millisecond)
			d.drain()
		}
		if n := d.updates - before; n > 33 {
			t.Errorf("%d messages in a second", n)
		}
	})
}

func TestALoneBatchIsShownAtOnce(t *testing.T) {
	bubble(t, "chat_ok", 100, 24, nil, func(d *driver, rows []model.Row) {
		d.pass(5 * time.Second)
		d.batches <- follow.Batch{Rows: rows[:8]}
		d.drain()
		d.shows("3 chunks")
	})
}

func TestNothingWakesASettledConsole(t *testing.T) {
	bubble(t, "chat_ok", 100, 24, nil, func(d *driver, rows []model.Row) {
		d.finish(rows)
		d.pass(2 * time.Second)
		before := d.updates
		d.pass(time.Minute)
		if n := d.updates - before; n != 0 {
			t.Errorf("%d wake-ups in a minute", n)
		}
	})
}

func TestALiveConsoleTicksOnceASecondAndNoMore(t *testing.T) {
	bubble(t, "chat_ok", 100, 24, nil, func(d *driver, rows []model.Row) {
		d.play(rows[:6])
		before := d.updates
		d.pass(10 * time.Second)
		if n := d.updates - before; n < 9 || n > 10 {
			t.Errorf("%d wake-ups in ten seconds", n)
		}
	})
}

func TestTheFrameIsBuiltOnlyWhenSomethingChanged(t *testing.T) {
	bubble(t, "chat_ok", 100, 24, nil, func(d *driver, rows []model.Row) {
		d.play(rows[:9])
		d.c.View()
		d.c.frame = "untouched"
		d.send(sheetMsg{id: -1}) // the answer to a load that nobody waits for
		if d.c.View() != "untouched" {
			t.Error("built again for nothing")
		}
		d.press("j")
		if d.c.View() == "untouched" {
			t.Error("a key changed nothing")
		}
	})
}

func TestScrollingUpPausesAndTheEndResumes(t *testing.T) {
	for _, pane := range []string{"1", "3"} {
		bubble(t, "chat_markdown", 80, 24, nil, func(d *driver, rows []model.Row) {
			half := len(rows) / 2
			d.play(rows[:half])
			d.press(pane)
			following := d.screen()
			d.press("up", "up")
			d.shows("paused, G follows")
			before := strings.Split(d.screen(), "\n")[3:10]
			d.play(rows[half : len(rows)-1])
			if after := strings.Split(d.screen(), "\n")[3:10]; strings.Join(before, "\n") != strings.Join(after, "\n") {
				t.Errorf("pane %s moved while paused:\n%s\nthen\n%s", pane, strings.Join(before, "\n"), strings.Join(after, "\n"))
			}
			d.shows("paused, +", "new ▾")
			d.press("G")
			d.hides("paused")
			if d.screen() == following {
				t.Error("did not go on")
			}
		})
	}
}

func TestAFrozenScreenHoldsAndTellsWhatItHolds(t *testing.T) {
	bubble(t, "chat_tools", 120, 30, nil, func(d *driver, rows []model.Row) {
		d.play(rows[:40])
		chunks := d.c.Turn().Chunks()
		d.press(" ")
		body := strings.Split(d.screen(), "\n")[1:28]
		d.finish(rows[40:])
		if now := strings.Split(d.screen(), "\n")[1:28]; strings.Join(now, "\n") != strings.Join(body, "\n") {
			t.Error("a frozen screen moved")
		}
		held := 79 - chunks
		d.shows("frozen, "+number(held)+" held with the outcome", "◌ PENDING", "space go on")
		d.press(" ")
		d.shows("◐ UNCONFIRMED", "79 chunks")
		d.hides("frozen")
	})
}

func TestAFrozenScreenStopsAskingWhenItHoldsEnough(t *testing.T) {
	bubble(t, "chat_ok", 120, 30, nil, func(d *driver, rows []model.Row) {
		d.play(rows[:4])
		d.press(" ")
		many := make([]model.Row, heldRows)
		for i := range many {
			many[i] = rows[3]
		}
		d.feed(follow.Batch{Rows: many})
		d.batches <- follow.Batch{Rows: rows[4:], Done: true}
		d.pass(time.Second)
		if len(d.batches) != 1 {
			t.Fatal("asked for more than it may hold")
		}
		d.press(" ")
		d.pass(time.Second)
		d.shows("✓ ACCEPTED")
	})
}

func TestLeavingSaysThatTheActionGoesOn(t *testing.T) {
	for _, keys := range [][]string{{"q", "q"}, {"ctrl+c", "ctrl+c"}, {"q", "ctrl+c"}, {"c", "ctrl+c", "ctrl+c"}, {"v", "?", "ctrl+c", "ctrl+c"}} {
		bubble(t, "chat_ok", 100, 24, cancelling(act.Cancelled{}, nil), func(d *driver, rows []model.Row) {
			d.play(rows[:9])
			d.press(keys[:len(keys)-1]...)
			d.shows("The action goes on without this console.")
			if d.quit {
				t.Fatal("left at once")
			}
			d.press(keys[len(keys)-1])
			if !d.quit || !d.c.Left() {
				t.Errorf("%v: quit %v, left %v", keys, d.quit, d.c.Left())
			}
		})
	}
}

func TestAnotherKeyTakesLeavingBack(t *testing.T) {
	bubble(t, "chat_ok", 100, 24, nil, func(d *driver, rows []model.Row) {
		d.play(rows[:9])
		d.press("q", "esc")
		d.hides("goes on without")
		d.press("q", "down", "q")
		if d.quit {
			t.Error("left without being asked twice in a row")
		}
	})
}

func TestASettledConsoleIsLeftAtOnce(t *testing.T) {
	bubble(t, "chat_ok", 100, 24, nil, func(d *driver, rows []model.Row) {
		d.finish(rows)
		d.press("q")
		if !d.quit || d.c.Left() {
			t.Errorf("quit %v, left %v", d.quit, d.c.Left())
		}
	})
}

// cancelling configures a cancellation that answers once when is closed.
func cancelling(o act.Cancelled, when chan struct{}) func(*Config) {
	return func(c *Config) {
		c.Cancel = func(ctx context.Context, reason string) (act.Cancelled, error) {
			if when != nil {
				select {
				case <-when:
				case <-ctx.Done():
					return act.Cancelled{}, ctx.Err()
				}
			}
			if reason == "fail" {
				return act.Cancelled{}, errors.New("no route\x1b[2J")
			}
			return o, nil
		}
	}
}

func noConfirm(context.Context, model.Confirmation) ([]model.Row, error) { return nil, nil }

func TestACancellationSaysWhatBecameOfIt(t *testing.T) {
	for _, test := range []struct {
		outcome act.Cancelled
		reason  string
		want    string
	}{
		{act.Cancelled{End: act.EndCancelled}, "", "the daemon says cancelled, the outcome follows"},
		{act.Cancelled{End: act.EndFinished, State: "completed"}, "", "it finished before the cancellation: completed"},
		{act.Cancelled{End: act.EndRefused, Code: "auth.not_authorized"}, "", "the cancellation was refused: auth.not_authorized"},
		{act.Cancelled{End: act.EndGoesOn}, "", "accepted the cancellation, the action has not ended yet"},
		{act.Cancelled{End: act.EndLost}, "", "whether the daemon took it is not known"},
		{act.Cancelled{}, "fail", "could not be sent: no route‹U+001B›[2J"},
	} {
		rows := turntest.Named(t, "chat_tools").Rows(t)
		synctest.Test(t, func(t *testing.T) {
			answer := make(chan struct{})
			d := drive(t, 120, 30, cancelling(test.outcome, answer))
			d.play(rows[:40])
			d.press("c")
			d.shows("Ask the daemon to stop", "enter cancel the action")
			for _, r := range test.reason {
				d.press(string(r))
			}
			d.press("enter")
			d.shows("cancelling…")
			d.pass(5 * time.Second)
			d.shows("no answer for")
			d.hides("c cancel")
			close(answer)
			d.drain()
			d.shows(test.want)
		})
	}
}

// A daemon answers "cancelled" for finished actions too; the turn knows better.
func TestTheTurnsOwnOutcomeWinsOverTheDaemonsFirstWord(t *testing.T) {
	bubble(t, "chat_ok", 120, 30, cancelling(act.Cancelled{End: act.EndCancelled}, nil), func(d *driver, rows []model.Row) {
		d.play(rows[:9])
		d.press("c", "enter")
		d.finish(rows[9:])
		d.shows("it finished before the cancellation: completed", "✓ ACCEPTED")
	})
}

func TestASettledActionCannotBeCancelled(t *testing.T) {
	asked := false
	configure := func(c *Config) {
		c.Cancel = func(context.Context, string) (act.Cancelled, error) { asked = true; return act.Cancelled{}, nil }
	}
	bubble(t, "chat_ok", 120, 30, configure, func(d *driver, rows []model.Row) {
		d.play(rows[:9])
		d.press("c")
		d.finish(rows[9:])
		d.shows("there is nothing left to cancel")
		d.press("enter", "esc", "c")
		d.shows("Nothing to cancel: the action has its outcome, ACCEPTED.")
		d.press("enter")
		if asked {
			t.Error("asked the daemon")
		}
	})
}

func TestALeftCancelDialogSendsNothing(t *testing.T) {
	configure := func(c *Config) {
		c.Cancel = func(context.Context, string) (act.Cancelled, error) { panic("sent") }
	}
	bubble(t, "chat_ok", 80, 24, configure, func(d *driver, rows []model.Row) {
		d.play(rows[:9])
		d.press("c", "q", "v", "?", "esc")
		d.hides("Ask the daemon", "cancelling")
	})
}

func TestConfirmingToolsAndAnswerAccepts(t *testing.T) {
	var said []model.Confirmation
	var rows []model.Row
	configure := func(c *Config) {
		c.Confirm = func(_ context.Context, s model.Confirmation) ([]model.Row, error) {
			said = append(said, s)
			row, err := model.NewRow(model.RowConfirm, turntest.Epoch, &s)
			row.Number = rows[len(rows)-1].Number + int64(len(said))
			return []model.Row{row}, err
		}
	}
	rows = turntest.Named(t, "chat_tools").Rows(t)
	synctest.Test(t, func(t *testing.T) {
		d := drive(t, 120, 30, configure)
		d.play(rows[:60])
		d.press("e") // means nothing before the outcome
		d.hides("Mark what you have checked")
		d.finish(rows[60:])
		d.press("v")
		d.shows("check what they changed, then confirm with e")
		d.press("e", "enter") // nothing is marked
		d.shows("Mark what you have checked yourself.")
		d.press(" ", "enter")
		d.shows("◐ UNCONFIRMED")
		d.press("e")
		screen := d.screen()
		if strings.Count(screen, "confirmed │") != 1 || d.c.confirming.list.selected != 1 {
			t.Errorf("the first tool alone is confirmed, and the next one at the cursor:\n%s", screen)
		}
		d.press(" ", "j", " ", "enter")
		d.drain()
		d.shows("✓ ACCEPTED", "Confirmed, and kept in the journal.")
	})
	if len(said) != 2 || len(said[0].Tools) != 1 || len(said[1].Tools) != 2 || said[1].Answer || said[0].Through != rows[len(rows)-1].Number {
		t.Errorf("said %+v", said)
	}
}

func TestLinkStatesAreSaidWithTheirReason(t *testing.T) {
	for _, test := range []struct {
		link follow.Link
		want string
	}{
		{follow.Link{State: follow.Connecting, Attempt: 1}, "◌ connecting"},
		{follow.Link{State: follow.Retrying, Attempt: 3, Wait: 4 * time.Second, Reason: "connection reset"}, "↻ reconnecting in 4 s (attempt 3, connection reset)"},
		{follow.Link{State: follow.Draining}, "▾ reading what is left"},
		{follow.Link{State: follow.Refused, Reason: "the token was refused\x1b]0;x\a"}, "✗ refused: the token was refused‹U+001B›]0;x‹U+0007›"},
	} {
		bubble(t, "chat_ok", 140, 24, nil, func(d *driver, rows []model.Row) {
			d.batches <- follow.Batch{Links: []follow.Link{test.link}}
			d.drain()
			d.shows(test.want)
		})
	}
	bubble(t, "chat_ok", 140, 24, nil, func(d *driver, rows []model.Row) {
		d.feed(follow.Batch{Rows: rows[:5], Links: []follow.Link{{State: follow.Live}}, Reconnects: 2, Duplicates: 7})
		d.shows("● live, resumed 2 times, 7 repeated")
	})
}

func TestTheEndOfTheWatchWithoutAnOutcomeIsAnError(t *testing.T) {
	bubble(t, "chat_ok", 120, 24, nil, func(d *driver, rows []model.Row) {
		fault := errors.New("refused")
		d.play(rows[:9])
		d.feed(follow.Batch{Links: []follow.Link{{State: follow.Refused, Reason: "no scope"}}, Done: true, Err: fault})
		d.shows("✗ refused: no scope", "◌ PENDING")
		if !errors.Is(d.c.Err(), fault) {
			t.Errorf("err %v", d.c.Err())
		}
	})
}

func TestWhatAFrozenScreenHoldsCountsWhenLeaving(t *testing.T) {
	bubble(t, "chat_ok", 100, 24, nil, func(d *driver, rows []model.Row) {
		d.play(rows[:9])
		d.press(" ")
		d.finish(rows[9:])
		d.press("q")
		if !d.quit || d.c.Left() || !strings.Contains(d.c.Final(), "ACCEPTED") {
			t.Errorf("quit %v, left %v\n%s", d.quit, d.c.Left(), d.c.Final())
		}
	})
}

func TestAJournalIsReadBeforeTheLinkIsKnown(t *testing.T) {
	configure := func(c *Config) {
		c.Cancel = func(ctx context.Context, _ string) (act.Cancelled, error) {
			<-ctx.Done()
			return act.Cancelled{}, ctx.Err()
		}
	}
	bubble(t, "chat_tools", 100, 24, configure, func(d *driver, rows []model.Row) {
		d.feed(follow.Batch{Rows: rows[:40], History: true})
		d.shows("◌ reading the journal", "19 chunks")
		d.hides("lag")
		d.press("c", "enter", "q")
		d.shows("The cancellation has no answer yet. q again leaves.")
	})
}

func TestTheVerdictNamesToolsThatDidNotEnd(t *testing.T) {
	for recording, want := range map[string]string{"chat_tool_no_completion": "search_files (never ended), read_file", "chat_tool_orphan": "terminal (never ended), terminal"} {
		bubble(t, recording, 120, 40, nil, func(d *driver, rows []model.Row) {
			d.finish(rows)
			d.press("v")
			d.shows(want)
		})
	}
}
