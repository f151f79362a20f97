package ui

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"aipscope/model"
	"aipscope/model/turntest"
)

func TestAChunkIsMaskedUntilAskedForAndAgainAfterwards(t *testing.T) {
	bubble(t, "chat_tools", 120, 40, nil, func(d *driver, rows []model.Row) {
		d.finish(rows)
		d.press("3", "g", "j", "j", "enter")
		d.shows("Chunk 2, 3 of 79", "masked, r reveals", "content  ‹", "committed, row 7", "chunk:2")
		d.hides("chatcmpl", "REVEALED")
		d.press("r")
		d.shows("REVEALED, r masks", `content  "'"`)
		d.hides("chars›")
		d.press("]")
		d.shows("Chunk 3, 4 of 79", "REVEALED")
		if strings.Contains(d.c.Final(), "REVEALED") {
			t.Error("the last frame holds what was revealed")
		}
		d.press("esc")
		d.hides("REVEALED")
		d.press("enter")
		d.shows("masked, r reveals")
		d.press("[", "r")
		d.shows("REVEALED", "Chunk 2")
	})
}

func TestRawBytesAreMaskedToo(t *testing.T) {
	bubble(t, "chat_ok", 120, 40, nil, func(d *driver, rows []model.Row) {
		d.finish(rows)
		d.press("3", "g", "enter", "b")
		d.shows("raw, masked", `{"action_id":"‹36 chars›"`)
		d.press("r")
		d.shows("raw, REVEALED", `{"action_id":"act_`)
		d.press("b")
		d.shows("delta          ▾ {1}")
	})
}

func TestToolsAndChunksLeadToEachOther(t *testing.T) {
	bubble(t, "responses_tools", 120, 40, nil, func(d *driver, rows []model.Row) {
		d.finish(rows)
		d.press("2", "enter")
		tool := d.c.Turn().Tools()[0]
		d.shows("Tool "+tool.Name, tool.Key, "arguments", "‹")
		d.hides(tool.Arguments)
		d.press("r")
		d.shows("REVEALED")
		d.press("enter")
		d.shows("Chunk "+sequence(tool.Started), "masked, r reveals", "starts "+tool.Name+": enter opens the tool")
		d.press("enter")
		d.shows("Tool "+tool.Name, "masked, r reveals")
		d.press("enter", "esc") // to the chunk, and back to the tool
		d.shows("Tool "+tool.Name, "masked, r reveals", "arguments")
		d.hides("reading the journal")
		d.press("esc", "esc", "esc")
		d.shows("╭ Assistant")
	})
}

func TestAnOpenToolFollowsItsChanges(t *testing.T) {
	bubble(t, "responses_tools", 120, 40, nil, func(d *driver, rows []model.Row) {
		at := 0
		for len(d.c.Turn().Tools()) == 0 {
			d.play(rows[at : at+1])
			at++
		}
		d.press("2", "enter")
		d.shows("state     running")
		d.finish(rows[at:])
		d.shows("state     ended")
	})
}

func TestALateAnswerToAnOldLoadIsDropped(t *testing.T) {
	rows := turntest.Named(t, "chat_ok").Rows(t)
	synctest.Test(t, func(t *testing.T) {
		slow := make(chan struct{})
		d := drive(t, 120, 40, func(c *Config) {
			read := c.Row
			c.Row = func(ctx context.Context, n int64) (model.Row, error) {
				if n == rows[2].Number {
					<-slow
				}
				return read(ctx, n)
			}
		})
		d.finish(rows)
		d.press("3", "g", "enter")
		d.shows("reading the journal")
		d.press("]")
		d.shows("Chunk 1, 2 of", "sequence   1")
		close(slow)
		d.drain()
		d.shows("Chunk 1, 2 of", "sequence   1")
	})
}

func TestARowThatCannotBeReadIsSaid(t *testing.T) {
	bubble(t, "chat_ok", 120, 40, nil, func(d *driver, rows []model.Row) {
		d.finish(rows)
		clear(d.journal)
		d.press("3", "enter")
		d.shows("the journal cannot be read: no such row")
	})
}

func TestAHugeFrameScrollsByLines(t *testing.T) {
	body := "data: {\"choices\":[{\"delta\":{\"content\":\"" + strings.Repeat("long 漢字 text ", 45_000) + "\"}}]}\n\ndata: [DONE]\n\n"
	rows := turntest.Rows(t, "chat_stream", []byte(body))
	synctest.Test(t, func(t *testing.T) {
		d := drive(t, 100, 30, nil)
		d.finish(rows)
		d.press("3", "g", "enter", "r")
		d.shows("lines 1 to 23 of ")
		first := d.screen()
		d.press("G")
		if d.screen() == first {
			t.Error("did not move")
		}
		d.press("g")
		if d.screen() != first {
			t.Error("did not come back")
		}
	})
}

func TestWrappedTextIsWholeAndFits(t *testing.T) {
	for _, s := range []string{
		"", "\n", "a\n\nb", "short", strings.Repeat("x", 300), strings.Repeat("漢", 77), "tab\there", "e\u0301" + strings.Repeat("👩‍👩‍👧", 30),
		"a\u0301\u0301b\nc" + strings.Repeat("é", 50),
	} {
		for _, w := range []int{1, 2, 3, 10, 80} {
			x := newText(s, w)
			var joined strings.Builder
			for i := range x.starts {
				line, starts := x.line(i)
				if starts && i > 0 {
					joined.WriteByte('\n')
				}
				if n := width(line); n > max(w, 2) {
					t.Errorf("%q at %d: line %q is %d cells", s, w, line, n)
				}
				joined.WriteString(line)
			}
			if got, want := joined.String(), strings.TrimSuffix(x.s, "\n"); got != want {
				t.Errorf("%q at %d: joined %q", s, w, got)
			}
		}
	}
}

// The rest of a long value stands below its beginning, and nothing of it is lost.
func TestAWrappedValueHangsBelowItsBeginning(t *testing.T) {
	value := strings.Repeat("0123456789 漢字 ", 20)
	raw, err := json.Marshal(map[string]any{"outer": map[string]any{"key": value}, strings.Repeat("long", 20): value})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []int{1, 2, 9, 20, 37, 80} {
		tr := newTree(raw, [2]string{"-", "+"})
		tr.resize(w, 200)
		var whole string
		for i := range tr.text.starts {
			line, starts := tr.text.line(i)
			if n := width(line); n > max(w, 2) {
				t.Fatalf("width %d: a line of %d cells", w, n)
			}
			if !starts && !strings.HasPrefix(line, strings.Repeat(" ", min(len("  key  "), w/2, max(0, w-2)))) {
				t.Errorf("width %d: %q does not hang", w, line)
			}
			whole += strings.ReplaceAll(line, " ", "")
		}
		if strings.Count(whole, strings.ReplaceAll(value, " ", "")) != 2 {
			t.Errorf("width %d: the values are not whole", w)
		}
	}
}

func TestAnOpenChunkStaysOpenWhileOthersCome(t *testing.T) {
	bubble(t, "chat_tools", 120, 40, nil, func(d *driver, rows []model.Row) {
		d.play(rows[:41])
		d.press("3")
		last := d.c.chunks.selected().Sequence
		d.press("enter")
		d.play(rows[41:61])
		d.shows("Chunk " + sequence(last) + ",")
		d.press("]")
		d.shows("Chunk " + sequence(last+1) + ",")
		d.press("[", "esc")
		d.hides("Chunk " + sequence(last) + ",")
	})
	bubble(t, "chat_tools", 120, 40, nil, func(d *driver, rows []model.Row) {
		d.play(rows[:41])
		d.press("3", "enter")
		d.play(rows[41:61])
		d.press("esc")
		d.hides("paused") // it followed before, and does again
		if s := d.c.chunks; s.list.selected != s.entries.Len()-1 {
			t.Error("does not follow")
		}
	})
}
