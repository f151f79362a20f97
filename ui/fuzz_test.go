package ui

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"aipscope/follow"
	"aipscope/follow/act"
	"aipscope/model/hermes"
	"aipscope/model/turntest"

	tea "github.com/charmbracelet/bubbletea"
)

// fuzzKeys are the keys that a fuzzed console gets: those that lead somewhere,
// and some that do not.
var fuzzKeys = []string{
	"1", "2", "3", "tab", "shift+tab", "up", "down", "pgup", "pgdown", "g", "G", "home", "end", "j", "k", "enter", "esc", "r", "b", "[", "]", "v", "?", "z", "t", "c", "x", "e",
	" ", "q", "left", "right", "backspace", "\u202e", "漢", "/", "f", "n", "i", ":", "y", "*",
}

// FuzzScreen holds the console against any journal that may come of any
// provider's bytes, with any keys, at any size: the frame is exactly the window, and
// nothing in it is more than text and colours.
func FuzzScreen(f *testing.F) {
	ops := []hermes.Operation{hermes.OpChatStream, hermes.OpResponsesStream, hermes.OpSessionChatStream, hermes.OpRunEvents}
	for i, rec := range turntest.Recordings(f) {
		body, err := os.ReadFile(rec.Path)
		if err != nil {
			f.Fatal(err)
		}
		if len(body) > 8_000 || i%3 > 0 {
			continue
		}
		for n, op := range ops {
			if op == rec.Operation {
				f.Add(body, uint8(n), uint64(i), uint8(40+i%90), uint8(12+i%40))
			}
		}
	}
	all := turntest.Hostile()
	names := slices.Sorted(maps.Keys(all))
	f.Fuzz(func(t *testing.T, body []byte, n uint8, seed uint64, w, h uint8) {
		if len(body) > 16<<10 || !turntest.Readable(body) {
			t.Skip()
		}
		r := rand.New(rand.NewPCG(seed, 2))
		rows := turntest.Mutate(t, turntest.Rows(t, ops[int(n)%len(ops)], body), r)
		hostile := all[names[r.IntN(len(names))]]
		if len(hostile) < 1000 && r.IntN(2) == 0 {
			rows = turntest.Poison(t, rows, hostile, r)
		}
		synctest.Test(t, func(t *testing.T) {
			d := drive(t, 1+int(w), 1+int(h), func(c *Config) {
				c.Look.ASCII, c.Look.PlainScreen, c.Look.NoColor = r.IntN(4) == 0, r.IntN(4) == 0, r.IntN(4) == 0
				cancelling(act.Cancelled{End: act.EndGoesOn}, nil)(c)
				c.Confirm = noConfirm
			})
			check := func() {
				t.Helper()
				frame := d.c.View()
				harmless(t, frame)
				if d.c.width > 0 && d.c.height > 0 {
					fits(t, frame, d.c.width, d.c.height)
				}
			}
			for len(rows) > 0 && !d.quit {
				k := min(len(rows), 1+r.IntN(40))
				part := rows[:k]
				if rows = rows[k:]; len(rows) == 0 && r.IntN(3) > 0 {
					d.finish(part)
				} else {
					d.play(part)
				}
				check()
				for range r.IntN(6) {
					d.press(fuzzKeys[r.IntN(len(fuzzKeys))])
					check()
				}
				switch r.IntN(8) {
				case 0:
					d.send(tea.WindowSizeMsg{Width: 1 + r.IntN(150), Height: 1 + r.IntN(50)})
				case 1:
					d.send(tea.WindowSizeMsg{Width: 1, Height: 1})
				case 2:
					d.feed(follow.Batch{Links: []follow.Link{{State: follow.Retrying, Reason: hostile, Attempt: r.IntN(5)}}})
				}
				check()
			}
			harmless(t, d.c.Final())
			if s := watch(t, d.c.width, d.c.height); d.c.width > 1 && d.c.height > 1 {
				s.shows("", d.c.View())
			}
		})
	})
}

// FuzzTree holds the tree of a sheet against anything that may stand in a frame.
func FuzzTree(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":"c\nd"},[]],"":null}`, strings.Repeat("[", 70) + "\n1,\n2" + strings.Repeat("]", 70), "{\n\n", "1 2", `"‹3 chars›"`, `{"` + "\u202e" + `":"\u001b[2J"}`} {
		f.Add(s, uint8(20), uint64(9))
	}
	st := newStyles(Look{})
	f.Fuzz(func(t *testing.T, s string, w uint8, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 3))
		tr := newTree([]byte(s), [2]string{"-", "+"})
		tr.fold(func(string, *node) bool { return r.IntN(3) == 0 })
		for range 8 {
			width, height := 1+r.IntN(1+int(w)), 1+r.IntN(9)
			tr.resize(width, height)
			lines := tr.view(&st, r.IntN(2) == 0, nil)
			if len(lines) > height {
				t.Fatalf("%d lines in %d", len(lines), height)
			}
			for _, line := range lines {
				harmless(t, line)
			}
			tr.move(motion(r.IntN(int(moveBottom) + 1)))
			if r.IntN(2) == 0 {
				tr.toggle()
			}
		}
	})
}

// A wide character that stands across a cut is left out whole, and the frame
// keeps its width.
func TestCutsThroughWideCharactersKeepTheWidth(t *testing.T) {
	for _, s := range []string{"漢字漢字漢字漢字", "a漢字漢字漢字漢b", "👩\u200d👩\u200d👧👩\u200d👩\u200d👧👩\u200d👩\u200d👧👩\u200d👩\u200d👧👩\u200d👩\u200d👧", "\x1b[31m漢字\x1b[0m漢字漢字"} {
		w := width(s)
		for n := range w + 2 {
			if got := width(ending(s, n)); got > max(0, w-n) || got < w-n-1 {
				t.Errorf("%q without %d of %d cells is %d wide", s, n, w, got)
			}
			if got := width(middle(s, n)); got > n {
				t.Errorf("%q in %d cells is %d wide", s, n, got)
			}
		}
		for tw := 1; tw < w; tw++ {
			for _, line := range over([]string{s}, []string{fill("x", tw)}, w) {
				if got := width(line); got != w {
					t.Errorf("%q under %d cells is %d wide, not %d", s, tw, got, w)
				}
			}
		}
	}
}
