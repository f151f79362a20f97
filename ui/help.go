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
	wide := 0
	for _, b := range c.cfg.Keys.table() {
		at := b.worksIn(c, c.underHelp())
		if !at || seen[b.intent] {
			continue
		}
		seen[b.intent] = true
		h := b.Help()
		all = append(all, entry{h.Key, h.Desc})
		wide = max(wide, ansi.StringWidth(h.Key))
	}
	cols := max(1, min(3, w/44))
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
	line, width, i := " ", 1, 0
	say, tone := c.noticed, c.noticeInk
	if say == "" {
		say, tone = c.cancelText(now)
	}
	if say != "" {
		n := cut(say, w-2)
		line += tone.in(n)
		width += ansi.StringWidth(n)
		i++
	}
	return c.keysLine(line, width, i)
}

// keysLine adds to a line of so many cells the keys that matter most here, and as
// many as there is room for; i is not 0 if something stands before them.
func (c *Console) keysLine(line string, width, i int) string {
	st, w := &c.styles, c.width
	sep := "   "
	if w < 100 {
		sep = "  "
	}
	for rank := 1; rank <= 12; rank++ {
		for _, b := range c.cfg.Keys.table() {
			if b.short != rank || !b.works(c) {
				continue
			}
			h := b.Help()
			does := h.Desc
			if n := c.goingOn(); b.intent == doLeave && w >= 100 && n > 0 {
				does = "leave (the action goes on)"
				if n > 1 {
					does = "leave (" + number(n) + " actions go on)"
				}
			}
			n := ansi.StringWidth(h.Key) + 1 + ansi.StringWidth(does)
			if width+n+len(sep) > w-1 {
				continue
			}
			if i > 0 {
				line += sep
				width += len(sep)
			}
			line += st.accent.in(h.Key) + " " + st.dim.in(does)
			width += n
			i++
		}
	}
	return fill(line, w)
}
