package ui

import (
	"strings"
	"testing"

	"aipscope/model"
	"aipscope/model/turntest"
)

// From a line of the text to the chunk that made it, and back to that line.
func TestTextAndChunksLeadToEachOther(t *testing.T) {
	bubble(t, "chat_tools", 120, 40, nil, func(d *driver, rows []model.Row) {
		d.finish(rows)
		d.press("enter", "g")
		for d.c.assistant.pick.line < 40 {
			screen := d.screen()
			i := strings.Index(screen, "▸ ")
			if i < 0 {
				t.Fatalf("no pointer:\n%s", screen)
			}
			before := d.c.assistant.pick.line
			d.press("j")
			if d.c.assistant.pick.line == before {
				break
			}
			if strings.Contains(strings.SplitN(d.screen()[strings.Index(d.screen(), "▸ "):], "\n", 2)[0], "queue depth") {
				break
			}
		}
		line := d.c.assistant.pick.line
		d.press("enter")
		d.shows("╭ Chunk ", "enter goes to it in the text")
		e := d.c.chunks.selected()
		if e.Text() == "" || e.Segment < 0 {
			t.Fatalf("chunk %d made no text", e.Sequence)
		}
		d.press("enter")
		d.hides("╭ Chunk ")
		if got := d.c.assistant.pick.line; got != line || !d.c.picking() {
			t.Errorf("came back to line %d, was at %d", got, line)
		}
		d.press("esc")
		if d.c.picking() || d.c.assistant.paused {
			t.Error("still points, or no longer follows")
		}
	})
}

// Every chunk of text leads to a line that leads to a chunk not behind it.
func TestEveryChunkOfTextHasItsLine(t *testing.T) {
	step := 7
	if turntest.Racing {
		step = 61
	}
	for _, name := range []string{"chat_markdown", "responses_tools", "session_stream_reasoning"} {
		bubble(t, name, 100, 30, nil, func(d *driver, rows []model.Row) {
			d.finish(rows)
			for i := range d.c.chunks.entries.Len() {
				e := d.c.chunks.entries.Entry(i)
				if e.Text() == "" || i%step != 0 {
					continue
				}
				d.c.focusOn(paneChunks)
				d.c.chunks.chooseEntry(i)
				d.press("enter", "enter")
				if !d.c.picking() {
					t.Fatalf("%s: chunk %d leads nowhere", name, e.Sequence)
				}
				d.press("enter")
				d.shows("╭ Chunk ")
				if got := d.c.chunks.selected(); got.Sequence > e.Sequence || got.Segment != e.Segment {
					t.Errorf("%s: chunk %d leads to a line of chunk %d", name, e.Sequence, got.Sequence)
				}
				d.press("esc", "esc")
			}
		})
	}
}

func TestAMarkInTheTextLeadsToItsChunk(t *testing.T) {
	bubble(t, "chat_tools", 120, 40, nil, func(d *driver, rows []model.Row) {
		d.finish(rows)
		for i, s := range d.c.assistant.stretches {
			if s.seg.Kind != model.SegmentTools {
				continue
			}
			d.press("1", "enter")
			d.c.assistant.pointAt(d.c.assistant.lineIn(i, 0))
			d.press("enter")
			d.shows("Chunk "+sequence(s.seg.First)+",", "starts read_file: enter opens the tool")
			return
		}
		t.Fatal("no mark")
	})
}
