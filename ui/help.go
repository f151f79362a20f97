package ui

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// helpLines lists the keys that work now, from the table.
func (c *Console) helpLines(w int) []string {
	type entry struct{ keys, does string }
	var all []entry
	seen := map[intent]bool{}
	wide, long := 0, 0
	for _, b := range c.cfg.Keys.table() {
		at := b.worksIn(c, c.underHelp())
		if !at || seen[b.intent] {
			continue
		}
		seen[b.intent] = true
		h := b.Help()
		all = append(all, entry{h.Key, h.Desc})
		wide, long = max(wide, ansi.StringWidth(h.Key)), max(long, ansi.StringWidth(h.Desc))
	}
	cols := max(1, min(3, (w-1)/(wide+2+long+1)))
	if c.styles.plain {
		cols = 1 // it is read out line by line
	}
	rows := (len(all) + cols - 1) / cols
	out := []string{""}
	for r := range rows {
		var b strings.Builder
		b.WriteString(" ")
		for col := range cols {
			i := col*rows + r
			if i >= len(all) {
				continue
			}
			line := c.styles.accent.in(fill(all[i].keys, wide)) + "  " + c.styles.text.in(all[i].does)
			b.WriteString(fill(line, (w-2)/cols))
		}
		out = append(out, b.String())
	}
	return out
}

// hints is the last line: the keys that matter most here, or what there is to
// say.
func (c *Console) hints(now time.Time) string {
	st, w := &c.styles, c.width
	if c.prompt != nil {
		return c.prompt.line(st, w)
	}
	say, tone := c.noticed, c.noticeInk
	if say == "" {
		say, tone = c.cancelText(now)
	}
	return c.keysBehind(say, tone)
}

// keysBehind is a line of what there is to say, if anything, and of the keys that
// matter most here.
func (c *Console) keysBehind(say string, tone ink) string {
	st, w := &c.styles, c.width
	sep := "   "
	if w < 100 {
		sep = "  "
	}
	var parts []string
	room := w - 2
	fit := func(part string) bool {
		n := ansi.StringWidth(part)
		if len(parts) > 0 {
			n += len(sep)
		}
		if n > room {
			return false
		}
		room -= n
		parts = append(parts, part)
		return true
	}
	if say != "" {
		fit(tone.in(cut(say, room)))
	}
	// The last two are where all others can be found, and the way out: they have
	// their room before the rest.
	hint := func(key, does string) string { return st.accent.in(key) + " " + st.dim.in(does) }
	var others, last []string
	for rank := 1; rank <= 12; rank++ {
		for _, b := range c.cfg.Keys.table() {
			switch h := b.Help(); {
			case b.short != rank || !b.works(c):
			case b.intent == doLeave && w >= columnsWidth:
				last = append(last, hint(h.Key, h.Desc+c.goesOn()))
			case b.intent == doHelp || b.intent == doLeave:
				last = append(last, hint(h.Key, h.Desc))
			default:
				others = append(others, hint(h.Key, h.Desc))
			}
		}
	}
	ends := ansi.StringWidth(strings.Join(last, sep)) + len(sep)
	room -= ends
	for _, part := range others {
		fit(part)
	}
	room += ends
	for _, part := range last {
		fit(part)
	}
	return fill(" "+strings.Join(parts, sep), w)
}

// goesOn says what leaving does not stop.
func (c *Console) goesOn() string {
	switch n := c.goingOn(); n {
	case 0:
		return ""
	case 1:
		return " (the action goes on)"
	default:
		return " (" + number(n) + " actions go on)"
	}
}
