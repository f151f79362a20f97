package ui

import (
	"fmt"
	"strings"
	"testing"

	"aipscope/model"
	"aipscope/model/turntest"
	"aipscope/themes"

	"github.com/charmbracelet/x/ansi"
)

func TestTheTextIsSearchedWhereItHasTheFocus(t *testing.T) {
	bubble(t, "chat_tools", 120, 40, nil, func(d *driver, rows []model.Row) {
		d.finish(rows)
		d.press("/")
		d.shows("words of the text")
		d.typed("the note")
		d.press("enter")
		f := &d.c.assistant.find
		text := strings.ToLower(d.c.turn.Text())
		if want := strings.Count(text, "the note"); len(f.hits) != want || want == 0 {
			t.Fatalf("%d found, the text has %d", len(f.hits), want)
		}
		d.shows("/the note  1 of "+number(len(f.hits)), "enter open its chunk")
		if n := len(f.hits); n > 1 {
			d.press("n")
			d.shows("2 of " + number(n))
			d.press("N", "N")
			d.shows(number(n)+" of "+number(n), "Around the end.")
		}
		d.press("3", "/")
		d.shows("kind:tool")
		d.press("esc", "1", "esc", "esc")
		d.hides("/the note")
		d.press("/")
		d.typed("no such words")
		d.press("enter")
		d.shows("Not found: no such words")
	})
}

// A phrase goes on over line ends, emphasis and the columns of the screen, and enter
// leads from it to the chunk that said it.
func TestAPhraseIsFoundWhereverItsLinesEnd(t *testing.T) {
	words := strings.Fields("one two **three four** five\nsix > seven_eight ‹nine› ten")
	var text strings.Builder
	for i := range 400 {
		text.WriteString(words[i%len(words)] + " ")
		if i == 300 {
			text.WriteString("the needle\nin *the haystack* ")
		}
	}
	deltas := strings.SplitAfter(text.String(), " ")
	for _, w := range []int{44, 80, 120, 200} {
		bubble(t, "chat_ok", w, 30, nil, func(d *driver, _ []model.Row) {
			d.finish(spoken(t, deltas...))
			d.press("g", "/")
			d.typed("needle in the haystack")
			d.press("enter")
			p := &d.c.assistant
			if len(p.find.hits) != 1 {
				t.Fatalf("width %d: hits %v", w, p.find.hits)
			}
			lines := strings.Split(d.screen(), "\n")
			at := ""
			for _, l := range lines {
				if strings.Contains(l, "▸") {
					at = l
				}
			}
			if !strings.Contains(at, "needle") && !strings.Contains(at, "haystack") && !strings.Contains(at, "in the") {
				t.Errorf("width %d: it points at %q", w, at)
			}
			if shown := strings.Join(p.view(), "\n"); !strings.Contains(shown, d.c.styles.match.on) {
				t.Errorf("width %d: nothing is set apart", w)
			}
			d.press("enter")
			said := len(d.c.turn.UpTo(d.c.chunks.selectedEntry() + 1).Text())
			if at := strings.Index(text.String(), "needle"); d.c.underHelp() != inChunk || said < at-2*w || said > at+2*w {
				t.Errorf("width %d: enter opens a chunk behind %d bytes of text, it is at %d", w, said, at)
			}
		})
	}
}

// spoken are the rows of a chat stream of these deltas.
func spoken(t testing.TB, deltas ...string) []model.Row {
	var b strings.Builder
	for _, s := range deltas {
		fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":null}]}\n\n", s)
	}
	rows := turntest.Rows(t, "chat_stream", []byte(b.String()))
	return rows[:len(rows)-1]
}

// What comes in pieces is found like what is there at once, and only once.
func TestASearchGoesOnWithTheStream(t *testing.T) {
	text := strings.Repeat("some words before it, then an odd\nphrase and more. ", 40)
	var deltas []string
	for rest := text; rest != ""; {
		n := min(7, len(rest))
		deltas, rest = append(deltas, rest[:n]), rest[n:]
	}
	bubble(t, "chat_ok", 100, 30, nil, func(d *driver, _ []model.Row) {
		rows := spoken(t, deltas...)
		d.play(rows[:20])
		d.press("/")
		d.typed("odd phrase")
		d.press("enter")
		for rest := rows[20:]; len(rest) > 0; {
			n := min(len(rest), 90)
			d.play(rest[:n])
			rest = rest[n:]
		}
		if got := len(d.c.assistant.find.hits); got != 40 {
			t.Errorf("%d found", got)
		}
		at := -1
		for _, h := range d.c.assistant.find.hits {
			if h.from <= at {
				t.Errorf("found again at %d", h.from)
			}
			at = h.from
		}
		// In the past there is less of it.
		d.press("3", "g", "[")
		for range 60 {
			d.press("]")
		}
		want := strings.Count(d.c.shown().Text(), "odd\nphrase")
		if got := len(d.c.assistant.find.hits); got != want || want == 40 {
			t.Errorf("%d found in the past, which has %d", got, want)
		}
	})
}

func TestASetApartLineKeepsItsTextAndColours(t *testing.T) {
	st := newStyles(Look{Theme: themes.Auto(true)})
	line := "a \x1b[1mbold wor\x1b[0md and \x1b[38;5;9mred é\u0301 text\x1b[0m."
	plain := ansi.Strip(line)
	for from := range len(plain) {
		for to := from + 1; to <= len(plain); to++ {
			if plain[from]&0xC0 == 0x80 || to < len(plain) && plain[to]&0xC0 == 0x80 {
				continue
			}
			got := st.setApart(line, plain, []lineMatch{{0, from, to}})
			if ansi.Strip(got) != plain {
				t.Fatalf("%d-%d: %q", from, to, got)
			}
			if !strings.Contains(got, st.match.on) {
				t.Fatalf("%d-%d: nothing is set apart in %q", from, to, got)
			}
		}
	}
}
