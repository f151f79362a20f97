package ui

import (
	"strings"
	"testing"

	"aipscope/model"
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
