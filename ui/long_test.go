package ui

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"aipscope/model/turntest"
	"aipscope/themes"

	tea "github.com/charmbracelet/bubbletea"
)

// longText is a console with the long recorded answer, all of it there at once: little
// of it was rendered.
func longText(t *testing.T) *Console {
	c := New(t.Context(), Config{Action: turntest.Action, Mask: maskAll, Look: Look{Theme: themes.Auto(true)}})
	t.Cleanup(c.Close)
	c.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
	c.apply(turntest.Named(t, "chat_large").Rows(t))
	return c
}

func TestStepsThroughALongTextMissNothing(t *testing.T) {
	p := &longText(t).assistant
	random := rand.New(rand.NewPCG(1, 2))
	steps := map[motion]int{moveUp: -1, moveDown: 1, movePageUp: -(p.h - 1), movePageDown: p.h - 1}
	p.move(movePageUp)
	for range 150 {
		m := []motion{moveUp, moveDown, movePageUp, movePageUp, movePageDown}[random.IntN(5)]
		before := slices.Clone(p.view())
		p.move(m)
		if p.top == 0 || !p.paused {
			t.Fatal("an end was reached")
		}
		after, n := p.view(), steps[m]
		if n < 0 {
			before, after, n = after, before, -n
		}
		if !slices.Equal(before[n:], after[:len(after)-n]) {
			t.Fatalf("after %v by %d:\n%s\nwas:\n%s", m, n, strings.Join(after, "\n"), strings.Join(before, "\n"))
		}
	}
}

func TestAnotherWidthKeepsThePlaceInALongText(t *testing.T) {
	p := &longText(t).assistant
	p.move(moveTop)
	for range 20 {
		p.move(movePageDown)
	}
	first := p.view()[0]
	for _, w := range []int{50, 90, 33, 72, p.w} {
		p.resize(w, p.h)
	}
	if got := p.view(); !slices.Contains(got, first) {
		t.Errorf("%q is out of sight:\n%s", first, strings.Join(got, "\n"))
	}
	p.move(moveBottom)
	end := slices.Clone(p.view())
	fresh := longText(t)
	if want := fresh.assistant.view(); !slices.Equal(end, want) {
		t.Errorf("the end is\n%s\nwant:\n%s", strings.Join(end, "\n"), strings.Join(want, "\n"))
	}
}
