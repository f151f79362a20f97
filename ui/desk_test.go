package ui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"aipscope/follow"
	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/turntest"
	"aipscope/themes"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/golden"
)

const otherAction = "act_0198b0d2c41e7000a000000000000002"

// onDesk runs a test of a desk that lists three actions and can open the second,
// whose batches come through other.
func onDesk(t *testing.T, w, h int, watch bool, test func(d *driver, desk *Desk, rows []model.Row, other chan follow.Batch)) {
	t.Helper()
	onDeskAs(t, w, h, watch, func(*DeskConfig) {}, test)
}

func onDeskAs(t *testing.T, w, h int, watch bool, configure func(*DeskConfig), test func(d *driver, desk *Desk, rows []model.Row, other chan follow.Batch)) {
	t.Helper()
	rows := turntest.Named(t, "chat_tools").Rows(t)
	synctest.Test(t, func(t *testing.T) {
		var inner Config
		d := drive(t, w, h, func(c *Config) { c.URL = "https://a"; inner = *c })
		other := make(chan follow.Batch, 8)
		cfg := DeskConfig{
			Endpoint: "https://a", Look: Look{Theme: themes.Auto(true)}, Clock: d.c.cfg.Clock,
			List: func(context.Context) ([]Listed, error) {
				return []Listed{
					{Action: otherAction, URL: "https://a", Capability: "cap:hermes_agent:prod:responses_stream", State: "running", Last: turntest.Epoch.Add(-time.Minute)},
					{Action: turntest.Action, URL: "https://a", Capability: "cap:hermes_agent:demo:chat_stream", State: "completed", Verdict: model.Failed, Held: true, Chunks: 12345, Last: turntest.Epoch.Add(-3 * time.Hour)},
					{Action: "act_\x1b[2Jhostile\nline", URL: "https://b", State: "failed", Verdict: model.Incomplete, Held: true},
				}, errors.New("the daemon\x1b[2J is away")
			},
			Open: func(_ context.Context, which Listed) (Config, error) {
				if which.Action != otherAction {
					return Config{}, errors.New("no route")
				}
				c := inner
				c.Action, c.Batches = which.Action, func(ctx context.Context) (follow.Batch, error) {
					select {
					case b := <-other:
						return b, nil
					case <-ctx.Done():
						return follow.Batch{}, ctx.Err()
					}
				}
				return c, nil
			},
		}
		configure(&cfg)
		inner.Look = cfg.Look
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(cancel)
		var first []Config
		d.c.Close()
		d.drain()
		if watch {
			first = append(first, inner)
		}
		desk := NewDesk(ctx, cfg, first...)
		d.m = desk
		d.run(desk.Init())
		d.send(tea.WindowSizeMsg{Width: w, Height: h})
		test(d, desk, rows, other)
	})
}

func TestTheListJoinsJournalDaemonAndWhatIsWatched(t *testing.T) {
	for _, size := range [][2]int{{60, 16}, {120, 24}} {
		t.Run(number(size[0]), func(t *testing.T) {
			var screen string
			onDesk(t, size[0], size[1], true, func(d *driver, desk *Desk, rows []model.Row, _ chan follow.Batch) {
				d.play(rows[:40])
				d.press("a")
				screen = d.screen()
			})
			golden.RequireEqual(t, []byte(screen))
		})
	}
}

// Verdicts that the journal does not keep are worked out for what is in sight, once.
func TestTheListWorksOutTheVerdictsInSight(t *testing.T) {
	var asked []string
	listed := []Listed{{Action: "act_daemons", URL: "https://a", State: "running"}}
	for i := range 30 {
		listed = append(listed, Listed{Action: fmt.Sprintf("act_%02d", i), URL: "https://a", State: "completed", Held: true, Chunks: 10, Last: turntest.Epoch})
	}
	listed = append(listed, Listed{Action: "act_huge", URL: "https://a", State: "completed", Held: true, Chunks: mostJudged + 1})
	configure := func(c *DeskConfig) {
		c.List = func(context.Context) ([]Listed, error) { return slices.Clone(listed), nil }
		c.Judge = func(_ context.Context, which Listed) (model.Word, error) {
			asked = append(asked, which.Action)
			if which.Action == "act_01" {
				return "", errors.New("no such journal")
			}
			return model.Partial, nil
		}
	}
	onDeskAs(t, 100, 14, false, configure, func(d *driver, desk *Desk, _ []model.Row, _ chan follow.Batch) {
		d.shows("not opened", "◑ partial")
		d.screen()
		d.press("j")
		first := len(asked)
		if first == 0 || first >= 15 {
			t.Errorf("%d worked out, of 8 in sight", first)
		}
		d.pass(3 * relist)
		if len(asked) != first {
			t.Errorf("worked out again: %v", asked[first:])
		}
		d.press("G")
		d.screen()
		d.press("k")
		d.shows("act_huge", "open to judge")
		if len(asked) == first {
			t.Error("nothing is worked out of what came into sight")
		}
		d.press("/")
		d.typed("partial")
		if n := len(desk.home.actions.lines); n != len(asked)-1 {
			t.Errorf("%d have the verdict, %d were asked for", n, len(asked))
		}
	})
}

func TestWatchedActionsKeepRunningOutOfSight(t *testing.T) {
	onDesk(t, 120, 30, true, func(d *driver, desk *Desk, rows []model.Row, other chan follow.Batch) {
		d.play(rows[:40])
		d.press("a", "g", "enter")
		d.shows("act_0198b0d2c41e700…0002", "PENDING", "no tools seen")
		d.finish(rows[40:])
		d.shows("act_0198b0d2c41e700…0002", "PENDING", "> next action")
		d.press(">")
		d.shows("act_0198b0d2c41e700…0001", "UNCONFIRMED")
		d.press("q")
		d.shows("1 watched action goes on without this console")
		if d.quit {
			t.Error("left although an action goes on")
		}
		d.press("esc", "<")
		other <- follow.Batch{Rows: rows, Done: true, Links: []follow.Link{{State: follow.Settled}}}
		d.pass(time.Second)
		d.shows("act_0198b0d2c41e700…0002", "UNCONFIRMED")
		d.press("a", "a", "q")
		if !d.quit || len(desk.Watched()) != 2 || desk.Shown() != desk.Watched()[1] {
			t.Errorf("quit %v, %d watched", d.quit, len(desk.Watched()))
		}
	})
}

func TestTheListIsFilteredAsTyped(t *testing.T) {
	onDesk(t, 120, 30, false, func(d *driver, desk *Desk, rows []model.Row, _ chan follow.Batch) {
		d.shows("3 actions", "the daemon‹U+001B›[2J is away", "act_‹U+001B›[2Jhostil…line", "✗ failed", "12,345", "3 h")
		d.press("/", "r", "e", "s", "p", "q")
		d.shows("filter respq", "0 of 3 actions", "the filter hides every action")
		d.press("backspace")
		d.shows("1 of 3 actions")
		d.press("enter")
		d.shows("act_0198b0d2c41e700…0002", "PENDING")
		d.press("a")
		d.shows("filter: resp, hides 2", "esc clear the filter")
		d.press("esc", "G", "enter")
		d.shows("It cannot be opened: no route")
	})
}

func TestAListWithoutActionsInFlightIsReadOnce(t *testing.T) {
	onDesk(t, 120, 30, false, func(d *driver, desk *Desk, rows []model.Row, _ chan follow.Batch) {
		before := d.updates
		d.pass(30 * time.Second)
		if n := d.updates - before; n < 10 || n > 13 {
			t.Errorf("%d wake-ups in half a minute of an action in flight", n)
		}
		var ended []Listed
		for _, state := range []aip.State{"", aip.StateCompleted, aip.StateFailed, aip.StateCancelled, aip.StateExpired, aip.StateDeadLettered} {
			ended = append(ended, Listed{Action: "act_" + string(state), State: string(state), Verdict: model.Failed})
		}
		desk.cfg.List = func(context.Context) ([]Listed, error) { return ended, nil }
		d.press("R")
		d.pass(10 * time.Second)
		before = d.updates
		d.pass(time.Minute)
		if n := d.updates - before; n > 0 {
			t.Errorf("%d wake-ups for nothing", n)
		}
	})
}

func TestAJournalReadToItsEndIsNotStillBeingRead(t *testing.T) {
	bubble(t, "chat_ok", 100, 24, nil, func(d *driver, rows []model.Row) {
		d.feed(follow.Batch{Rows: rows[:9], History: true, Done: true})
		d.shows("■ from the journal", "◌ PENDING")
		d.hides("reading the journal")
	})
}
