package ui

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"unicode"

	"aipscope/follow"
	"aipscope/follow/act"
	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/turntest"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

func width(s string) int { return ansi.StringWidth(s) }

var sgr = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// harmless fails if a frame holds anything that could drive a terminal, beside
// colours.
func harmless(t testing.TB, frame string) {
	t.Helper()
	for _, r := range moves.ReplaceAllString(sgr.ReplaceAllString(frame, ""), "") {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d' && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)) {
			t.Fatalf("%U in the frame %q", r, frame)
		}
	}
}

// hostileRows are rows with evil in every field that comes from outside.
func hostileRows(t testing.TB, evil string) []model.Row {
	b := turntest.Builder{TB: t}
	b.Add(model.RowRequest, &model.Request{Capability: "cap:hermes_agent:" + evil + ":chat_stream"})
	b.Add(model.RowStatus, &aip.Status{ActionID: evil, CapabilityID: "cap:hermes_agent:ev" + evil + ":chat_stream", State: aip.State(evil)})
	frame := func(seq uint64, kind aip.ChunkKind, event string, data any) {
		body, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		sse, err := json.Marshal(map[string]any{"hermes_sse": map[string]any{
			"event": event, "id": evil, "data": json.RawMessage(body), "raw_data": string(body), "terminal": false,
		}})
		if err != nil {
			t.Fatal(err)
		}
		b.Add(model.RowChunk, &aip.Chunk{ActionID: turntest.Action, Sequence: seq, Kind: kind, Data: sse, Part: &aip.Part{Type: evil, Text: evil}})
	}
	frame(3, "data", "hermes.tool.progress", map[string]any{"tool": evil, "toolCallId": evil, "label": evil, "status": "running", "emoji": evil})
	frame(4, aip.ChunkKind(evil), evil, map[string]any{evil: evil})
	frame(9, "data", "", map[string]any{"choices": []any{map[string]any{"delta": map[string]any{"content": evil + "\n\n`" + evil + "` &#27;[2J"}}}})
	frame(10, "thought", "_thinking", map[string]any{"text": evil})
	frame(1<<63+5, "error", "error", map[string]any{"error": map[string]any{"message": evil, "code": evil}})
	b.Add(model.RowResult, &model.Result{Result: aip.Result{ActionID: turntest.Action, Status: "failed", Error: &aip.Error{Code: evil, Message: evil}}})
	return b.Rows
}

// views are keys that lead to every view and dialog from the panes, and back.
var views = [][]string{
	{"1"}, {"2"}, {"3"}, {"2", "enter"}, {"r"}, {"enter"}, {"r", "b"}, {"b"}, {"[", "]"}, {"esc"}, {"esc"}, {"esc"}, {"3", "g", "enter"}, {"r"},
	{"tab", " "}, {"tab", "j", " ", "]"}, {"r", "]"}, {"esc", "[", "["}, {"1", "enter", "k"}, {"enter"}, {"esc", "esc", "esc", "esc"},
	{"f", "k", "i", "n", "d", ":", "t", "*"}, {"enter", "g"}, {"/", "a", "enter", "n"}, {"enter", "n"}, {"esc", "esc", "esc", "/", "["}, {"enter"}, {"esc"}, {"v"}, {"?"}, {"esc"}, {"esc"}, {"z"}, {"z"}, {"t"}, {"t"}, {"c"}, {"x"}, {"esc"}, {"e"}, {" "}, {"esc"}, {" "}, {" "}, {"q"}, {"esc"},
	{"i"}, {"G"}, {"r"}, {"y"}, {"esc"}, {"esc"}, {":"}, {"down"}, {"esc"}, {"y"}, {"f"}, {"esc"}, {"x"}, {"tab"}, {"esc"},
}

func TestNothingFromOutsideDrivesTheTerminal(t *testing.T) {
	evil := turntest.Hostile()["everything"]
	rows := hostileRows(t, evil)
	synctest.Test(t, func(t *testing.T) {
		for _, settled := range []bool{false, true} {
			d := drive(t, 120, 40, func(c *Config) {
				c.Action, c.Endpoint, c.Capability = turntest.Action, evil, evil
				new(wrote).configure(c)
				cancelling(act.Cancelled{End: act.EndRefused, Code: evil}, nil)(c)
			})
			d.feed(follow.Batch{Rows: rows[:len(rows)-1], Links: []follow.Link{{State: follow.LinkState(evil), Reason: evil}}})
			d.feed(follow.Batch{Links: []follow.Link{{State: follow.Retrying, Reason: evil}}})
			if settled {
				d.finish(rows[len(rows)-1:])
			}
			for _, w := range []int{120, 80, 41} {
				d.send(tea.WindowSizeMsg{Width: w, Height: 30})
				for _, keys := range views {
					d.press(keys...)
					harmless(t, d.c.View())
					fits(t, d.c.View(), w, 30)
				}
			}
			if !settled {
				d.press("c")
				d.press("enter")
				harmless(t, d.c.View())
			}
			harmless(t, d.c.Final())
		}
	})
}

func TestEveryFrameFitsItsWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for i, rec := range turntest.Recordings(t) {
		if rec.Chunks > 1500 || turntest.Racing && i%4 != 0 {
			continue
		}
		rows := rec.Rows(t)
		t.Run(rec.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ascii := r.IntN(2) == 0
				d := drive(t, 80, 24, func(c *Config) {
					c.Look.ASCII, c.Look.PlainScreen = ascii, r.IntN(4) == 0
					new(wrote).configure(c)
					cancelling(act.Cancelled{End: act.EndGoesOn}, nil)(c)
				})
				resize := func() {
					d.send(tea.WindowSizeMsg{Width: 1 + r.IntN(200), Height: 1 + r.IntN(60)})
					fits(t, d.c.View(), d.c.width, d.c.height)
					harmless(t, d.c.View())
				}
				half := r.IntN(len(rows))
				d.play(rows[:half])
				for _, keys := range views {
					resize()
					d.press(keys...)
				}
				d.finish(rows[half:])
				for _, keys := range views {
					resize()
					d.press(keys...)
					fits(t, d.c.View(), d.c.width, d.c.height)
				}
				for _, size := range [][2]int{{1, 1}, {300, 80}, {40, 12}, {39, 12}, {100, 15}, {100, 16}} {
					d.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
					fits(t, d.c.View(), d.c.width, d.c.height)
				}
			})
		})
	}
}

// big returns the rows of a stream of n text chunks, without a result.
func big(t testing.TB, n int) []model.Row {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"w%d \"},\"finish_reason\":null}]}\n\n", i)
	}
	rows := turntest.Rows(t, "chat_stream", []byte(b.String()))
	return rows[:len(rows)-1]
}

func TestAKeyCostsTheSameInALongTurn(t *testing.T) {
	cost := func(n int) float64 {
		c := New(t.Context(), Config{Action: turntest.Action, Mask: maskAll})
		defer c.Close()
		c.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
		c.apply(big(t, n))
		c.Update(keyMsg("3"))
		c.View()
		return testing.AllocsPerRun(20, func() {
			c.Update(keyMsg("up"))
			c.View()
		})
	}
	if few, many := cost(500), cost(20_000); many > 1.5*few {
		t.Errorf("%v allocations with 500 chunks, %v with 50,000", few, many)
	}
}

func BenchmarkAKeyAndItsFrame(b *testing.B) {
	c := New(b.Context(), Config{Action: turntest.Action, Mask: maskAll})
	defer c.Close()
	c.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
	c.apply(big(b, 100_000))
	c.Update(keyMsg("3"))
	c.View()
	for b.Loop() {
		c.Update(keyMsg("up"))
		c.View()
	}
}

// What the terminal is sent for a frame, while text and chunks run past as fast
// as they are drawn.
func TestAFrameWhileFollowingIsSmall(t *testing.T) {
	for _, name := range []string{"chat_markdown", "chat_large"} {
		rows := turntest.Named(t, name).Rows(t)
		synctest.Test(t, func(t *testing.T) {
			d := drive(t, 120, 40, nil)
			var c Canvas
			bytes, frames := 0, 0
			for at := 0; at+20 < min(len(rows), 3000); at += 20 {
				d.play(rows[at : at+20])
				bytes += len(c.Paint(d.c.View(), 120, 40))
				frames++
			}
			n := bytes / frames
			t.Logf("%s: %d bytes a frame, %d frames", name, n, frames)
			if n > 6000 {
				t.Errorf("%s: %d bytes a frame", name, n)
			}
		})
	}
}
