package ui

import (
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"aipscope/model"
	"aipscope/model/turntest"
	"aipscope/themes"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/dlclark/regexp2"
)

func TestThePastShowsTheTurnAsItWas(t *testing.T) {
	bubble(t, "chat_tools", 120, 40, nil, func(d *driver, rows []model.Row) {
		d.finish(rows)
		d.shows("Three things are left", "◐ UNCONFIRMED")
		d.press("3", "g")
		for range 20 {
			d.press("j")
		}
		d.press("[")
		d.shows("as of chunk 20, 21 of 79", "◐ UNCONFIRMED") // the verdict is of now
		d.hides("Three things are left", "as of chunk 19")
		d.press("]", "]", "[")
		d.shows("as of chunk 21,")
		d.press("j") // the moment goes with the selection
		d.shows("as of chunk 22,")
		want := d.c.turn.UpTo(23)
		if got := d.c.assistant.turn.Text(); got != want.Text() {
			t.Errorf("text %q, want %q", got, want.Text())
		}
		if len(d.c.tools.tools) != len(want.Tools()) {
			t.Errorf("%d tools, want %d", len(d.c.tools.tools), len(want.Tools()))
		}
		if strings.Contains(d.c.Final(), "as of chunk") {
			t.Error("the last frame is of the past")
		}
		d.press("g", "[")
		d.press("esc")
		d.shows("Three things are left")
		d.hides("as of chunk")
	})
}

func TestThePastStaysWhileTheTurnGoesOn(t *testing.T) {
	bubble(t, "chat_tools", 120, 40, nil, func(d *driver, rows []model.Row) {
		d.play(rows[:60])
		d.press("[", "[")
		screen := d.c.assistant.turn.Text()
		moment := d.c.pastText()
		d.finish(rows[60:])
		d.shows("79 chunks", "◐ UNCONFIRMED", moment[:strings.Index(moment, ",")]+",")
		if got := d.c.assistant.turn.Text(); got != screen {
			t.Errorf("the past went on: %q", got)
		}
		d.press("esc")
		d.shows("Three things are left")
	})
}

// A chunk that comes late, before the moment in view, belongs to it.
func TestALateChunkChangesThePast(t *testing.T) {
	rows := big(t, 30)
	bubble(t, "chat_ok", 120, 40, nil, func(d *driver, _ []model.Row) {
		late := rows[21] // of chunk 10
		if late.Chunk == nil {
			late = rows[20]
		}
		var first []model.Row
		for _, r := range rows {
			if r.Chunk == nil || r.Chunk.Sequence != late.Chunk.Sequence {
				first = append(first, r)
			}
		}
		d.play(first)
		d.press("[", "[")
		if strings.Contains(d.c.assistant.turn.Text(), "w"+sequence(late.Chunk.Sequence)+" ") {
			t.Fatal("it is there already")
		}
		moment := d.c.chunks.seq
		late.Number = 1000
		d.play([]model.Row{late})
		if !strings.Contains(d.c.assistant.turn.Text(), "w"+sequence(late.Chunk.Sequence)+" ") {
			t.Error("the past lacks the late chunk")
		}
		if d.c.chunks.seq != moment {
			t.Errorf("at chunk %d, was at %d", d.c.chunks.seq, moment)
		}
	})
}

// What the panes made of the turn as it is, and shorten or lengthen for a moment, is
// what they would have made of the moment alone.
func TestThePanesOfThePastAreThoseOfATurnThatStoppedThere(t *testing.T) {
	// The highlighter's clock tells one time for all tests: a bubble's.
	synctest.Test(t, thePanesOfThePast)
}

func thePanesOfThePast(t *testing.T) {
	t.Cleanup(regexp2.StopTimeoutClock)
	random := rand.New(rand.NewPCG(9, 9))
	for _, r := range turntest.Recordings(t) {
		rows := r.Rows(t)
		most := 1600
		if turntest.Racing {
			most = 200
		}
		rows = rows[:min(len(rows), most)]
		c := New(t.Context(), Config{Action: turntest.Action, Mask: maskAll, Look: Look{Theme: themes.Auto(true)}})
		c.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
		c.assistant.fold()
		c.apply(rows)
		now := strings.Join(c.assistant.view(), "\n")
		n := c.turn.Entries().Len()
		for range min(n, 6) {
			i := random.IntN(n)
			if random.IntN(3) == 0 {
				c.Update(tea.WindowSizeMsg{Width: 100 + random.IntN(40), Height: 40})
			}
			c.chunks.chooseEntry(i)
			c.lookBack()
			fresh := assistantPane{st: &c.styles, document: c.cfg.Look.documents(), unfolded: true}
			fresh.resize(c.assistant.w, c.assistant.h)
			fresh.update(c.turn.UpTo(i + 1))
			if got, want := strings.Join(c.assistant.view(), "\n"), strings.Join(fresh.view(), "\n"); got != want {
				t.Fatalf("%s at %d:\n%s\nwant:\n%s", r.Name, i, got, want)
			}
		}
		c.toNow()
		c.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
		if got := strings.Join(c.assistant.view(), "\n"); got != now {
			t.Errorf("%s: back from the past:\n%s\nwas:\n%s", r.Name, got, now)
		}
		c.Close()
	}
}
