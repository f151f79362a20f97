package ui

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aipscope/follow"
	"aipscope/follow/act"
	"aipscope/model"
	"aipscope/model/turntest"

	"github.com/charmbracelet/x/exp/golden"
)

// What the screen looks like, as a terminal shows it. Run with -update after a
// wanted change, and look at what changed.
func TestScreens(t *testing.T) {
	for _, s := range []struct {
		name, recording string
		rows            int // of the recording; 0 for all and the end of the watch
		keys            []string
	}{
		{"live", "chat_tools", 90, nil},
		{"live tools", "chat_tools", 40, []string{"2"}},
		{"settled", "chat_tools", 0, nil},
		{"accepted", "chat_markdown", 0, []string{"g"}},
		{"tables and code", "chat_markdown", 0, []string{"pgup", "pgup"}},
		{"responses", "responses_tools", 0, nil},
		{"session with an approval", "session_stream_approval_once", 0, nil},
		{"waiting", "runs_approval_events", 30, nil},
		{"thinking", "session_stream_reasoning", 0, []string{"t"}},
		{"failed", "chat_error_partial", 0, nil},
		{"partial", "chat_length", 0, nil},
		{"cancelled", "runs_stopped_events", 0, nil},
		{"incomplete", "chat_disconnect", 0, []string{"v"}},
		{"contradicted", "session_stream_failing_after_text", 0, []string{"v"}},
		{"verdict", "chat_tools", 0, []string{"v"}},
		{"hostile labels", "chat_tools_hostile", 0, []string{"2"}},
		{"chunks", "chat_tools", 0, []string{"3", "k", "k"}},
		{"chunk", "responses_tools", 0, []string{"3", "g", "j", "j", "j", "j", "enter"}},
		{"chunk revealed", "responses_tools", 0, []string{"3", "g", "j", "j", "j", "j", "enter", "r"}},
		{"tool", "responses_tools", 0, []string{"2", "enter"}},
		{"search", "chat_tools", 0, []string{"3", "/", "t", "o", "o", "l", "enter", "n"}},
		{"search asked", "chat_tools", 0, []string{"3", "/", "t", "o", "o", "l"}},
		{"search text", "chat_tools", 0, []string{"/", "t", "h", "e", " ", "c", "a", "n", "a", "r", "y", "enter", "n"}},
		{"filter", "responses_tools", 0, []string{"f", "k", "i", "n", "d", ":", "t", "o", "o", "l", "enter"}},
		{"the past", "chat_tools", 0, []string{"3", "pgup", "pgup", "k", "k", "["}},
		{"pointing", "chat_tools", 0, []string{"enter", "k", "k"}},
		{"cancel", "chat_tools", 90, []string{"c"}},
		{"confirm", "chat_tools", 0, []string{"e", "j", " "}},
		{"help", "chat_tools", 90, []string{"?"}},
		{"leaving", "chat_tools", 90, []string{"q"}},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}} {
			t.Run(strings.ReplaceAll(s.name, " ", "_")+"/"+number(size[0]), func(t *testing.T) {
				var screen string
				configure := cancelling(act.Cancelled{}, nil)
				bubble(t, s.recording, size[0], size[1], func(c *Config) {
					configure(c)
					c.Confirm = noConfirm
				}, func(d *driver, rows []model.Row) {
					if s.rows > 0 {
						d.play(rows[:s.rows])
					} else {
						d.finish(rows)
					}
					d.press(s.keys...)
					screen = d.screen()
				})
				golden.RequireEqual(t, []byte(screen))
			})
		}
	}
}

func TestScreenWhileReconnecting(t *testing.T) {
	for _, size := range [][2]int{{40, 12}, {80, 24}, {120, 40}} {
		t.Run(number(size[0]), func(t *testing.T) {
			var screen string
			bubble(t, "chat_tools", size[0], size[1], nil, func(d *driver, rows []model.Row) {
				d.play(rows[:60])
				d.feed(follow.Batch{Links: []follow.Link{{State: follow.Retrying, Attempt: 2, Wait: 7 * time.Second, Reason: "connection reset"}}})
				d.pass(3 * time.Second)
				screen = d.screen()
			})
			golden.RequireEqual(t, []byte(screen))
		})
	}
}

// The four views stand side by side where there is room.
func TestScreenOfAChunkThatConflicts(t *testing.T) {
	var screen string
	rows := turntest.Named(t, "chat_ok").Rows(t)
	synctest.Test(t, func(t *testing.T) {
		d := drive(t, 200, 40, nil)
		d.finish(append(rows, conflictOf(t, rows, 3)))
		d.press("3", "g", "j", "j", "j", "enter")
		screen = d.screen()
		d.shows("provider frame", "AIP chunk", "follow frame", "final result", "other content, row ", "CONTRADICTED")
	})
	golden.RequireEqual(t, []byte(screen))
}

// conflictOf is other content under a sequence.
func conflictOf(t *testing.T, rows []model.Row, seq uint64) model.Row {
	for _, r := range rows {
		if r.Kind == model.RowChunk && r.Chunk.Sequence == seq {
			raw := strings.Replace(string(r.Raw), "content", "contents", 1)
			other, err := model.DecodeRow(model.RowConflict, r.At, []byte(raw))
			if err != nil {
				t.Fatal(err)
			}
			other.Number = rows[len(rows)-1].Number + 1
			return other
		}
	}
	t.Fatalf("no chunk %d", seq)
	return model.Row{}
}

func TestScreenWithoutGlyphs(t *testing.T) {
	for name, look := range map[string]func(*Config){
		"ascii": func(c *Config) { c.Look.ASCII = true },
	} {
		t.Run(name, func(t *testing.T) {
			var screen string
			bubble(t, "chat_tools", 100, 30, look, func(d *driver, rows []model.Row) {
				d.finish(rows)
				screen = d.screen()
			})
			golden.RequireEqual(t, []byte(screen))
		})
	}
}
