package ui

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aipscope/follow/act"
	"aipscope/model"
	"aipscope/model/turntest"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// Of the keys that work at one time, none means two things; and every key that
// works is in the help.
func TestNoKeyMeansTwoThings(t *testing.T) {
	rows := turntest.Named(t, "chat_tools").Rows(t)
	synctest.Test(t, func(t *testing.T) {
		d := drive(t, 120, 40, new(wrote).configure)
		for _, part := range [][]model.Row{rows[:40], rows[40:]} {
			if len(part) == 40 {
				d.play(part)
			} else {
				d.finish(part)
			}
			for _, keys := range views {
				d.press(keys...)
				unambiguous(t, d.c)
			}
		}
	})
}

// unambiguous fails where a key that works now means two things.
func unambiguous(t testing.TB, c *Console) {
	t.Helper()
	seen := map[string]key.Help{}
	for _, b := range keyTable {
		if !b.works(c) {
			continue
		}
		for _, k := range b.Keys() {
			if was, ok := seen[k]; ok && was.Desc != b.Help().Desc {
				t.Errorf("%s means %q and %q", k, was.Desc, b.Help().Desc)
			}
			seen[k] = b.Help()
		}
	}
}

func TestTheHelpShowsOnlyKeysThatWork(t *testing.T) {
	bubble(t, "chat_ok", 120, 40, nil, func(d *driver, rows []model.Row) {
		d.play(rows[:9])
		d.press("?")
		d.shows("freeze", "verdict", "last, and follow")
		d.hides("cancel", "confirm", "reveal", "thinking", "open")
		d.press("esc", "3", "?")
		d.shows("open")
	})
}

func TestEveryWindowMotionWorksInLists(t *testing.T) {
	l := list{sticky: true}
	l.resize(10)
	l.grow(100)
	for _, step := range []struct {
		m                motion
		selected, offset int
		paused           bool
	}{
		{moveUp, 98, 90, true}, {movePageUp, 89, 89, true}, {moveTop, 0, 0, true}, {moveUp, 0, 0, true}, {movePageDown, 9, 0, true},
		{moveDown, 10, 1, true}, {moveBottom, 99, 90, false}, {moveDown, 99, 90, false},
	} {
		l.move(step.m)
		if l.selected != step.selected || l.offset != step.offset || l.paused != step.paused {
			t.Fatalf("%v: %+v, want %+v", step.m, l, step)
		}
	}
	l.move(moveUp)
	l.grow(107)
	if l.fresh() != 7 || l.selected != 98 {
		t.Errorf("%+v", l)
	}
}

// A chunk that comes late keeps the selection on its chunk.
func TestALateChunkDoesNotMoveTheSelection(t *testing.T) {
	bubble(t, "chat_tools", 120, 40, nil, func(d *driver, rows []model.Row) {
		late := rows[4] // the second chunk
		early := append(append([]model.Row{}, rows[:4]...), rows[5:60]...)
		d.play(early)
		d.press("3", "up", "up", "up")
		want := d.c.chunks.selected().Sequence
		late.Number = 1000
		d.play([]model.Row{late})
		if got := d.c.chunks.selected().Sequence; got != want {
			t.Errorf("selected %d, was %d", got, want)
		}
		if n := d.c.Turn().Chunks(); n != d.c.chunks.entries.Len() || n < 20 {
			t.Errorf("%d chunks", n)
		}
	})
}

func TestFormats(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{number(0), "0"}, {number(999), "999"}, {number(1000), "1,000"}, {number(1234567), "1,234,567"}, {number(-1234), "-1,234"}, {number(-123), "-123"},
		{size(999), "999 B"}, {size(1000), "1.0 KB"}, {size(99_949), "99.9 KB"}, {size(99_950), "100 KB"}, {size(999_499), "999 KB"}, {size(999_500), "1.0 MB"}, {size(16 << 20), "16.8 MB"},
		{clock(42 * time.Second), "0:42"}, {clock(time.Hour + time.Minute), "1:01:00"}, {clock(-time.Second), "0:00"},
		{seconds(3100 * time.Millisecond), "3.10 s"}, {seconds(12400 * time.Millisecond), "12.4 s"}, {seconds(90 * time.Second), "1:30"},
		{apart(-20 * time.Millisecond), "-0.02 s"}, {apart(12340 * time.Millisecond), "+12.3 s"},
		{middle("act_0198b0d2c41e7000a000000000000001", 18), "act_0198b0d2c…0001"}, {middle("short", 18), "short"},
		{fill("漢字", 3), "漢… "[:len("漢…")]}, {fillLeft("a", 3), "  a"}, {cut("abc", 2), "a…"}, {cut("abc", 0), ""},
		{sequence(1<<64 - 1), "18446744073709551615"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}

func TestTheLastFrameTellsTheVerdict(t *testing.T) {
	bubble(t, "chat_markdown", 80, 24, nil, func(d *driver, rows []model.Row) {
		d.finish(rows)
		d.press("3", "up", "1", "g")
		final := d.c.Final()
		text := strings.TrimSpace(d.c.Turn().Text())
		for _, want := range []string{"✓ ACCEPTED", "finish", text[len(text)-12:]} {
			if !strings.Contains(final, want) {
				t.Errorf("%q is not in\n%s", want, final)
			}
		}
		d.shows("paused") // and the console is as it was
	})
}

// Keys held down over a slow line come at once; so does a text that is pasted
// by accident.
func TestKeysThatComeAtOnceMoveButNeverAct(t *testing.T) {
	bubble(t, "chat_markdown", 80, 24, cancelling(act.Cancelled{}, nil), func(d *driver, rows []model.Row) {
		d.play(rows[:200])
		d.press("3", "kkkk")
		if s := d.c.chunks.list; s.selected != s.n-5 {
			t.Errorf("selected %d of %d", s.selected, s.n)
		}
		d.press("abc qq", "enter")
		d.hides("Ask the daemon", "cancelling", "goes on without")
		d.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("c"), Paste: true})
		d.hides("Ask the daemon")
		d.press("esc", "c", "too late now")
		d.shows("reason too late now")
	})
}

// A keycap begins with a character of ASCII, and the library cuts behind that.
func TestNothingIsCutWiderThanItsRoom(t *testing.T) {
	for _, s := range []string{"1️⃣", "ab1️⃣c", "1️⃣1️⃣ 😀", "\x1b[1m😀1️⃣\x1b[0m❤️"} {
		for w := range ansi.StringWidth(s) + 2 {
			if got := fill(s, w); ansi.StringWidth(got) != w {
				t.Errorf("%q filled to %d cells is %q", s, w, got)
			}
			if got := cut(s, w); ansi.StringWidth(got) > w {
				t.Errorf("%q cut to %d cells is %q", s, w, got)
			}
			if got := over([]string{fill(s, 9)}, []string{"│"}, 9)[0]; ansi.StringWidth(moves.ReplaceAllString(got, "")) != 9 {
				t.Errorf("%q beneath a window is %q", s, got)
			}
		}
	}
}
