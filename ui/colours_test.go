package ui

import (
	"fmt"
	"image/color"
	"slices"
	"strings"
	"testing"

	"aipscope/follow/act"
	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/turntest"
	"aipscope/themes"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/exp/golden"
	"github.com/charmbracelet/x/vt"
)

// What each verdict looks like in colour, over all families of recordings, on a
// dark and a light terminal. Run with -update after a wanted change.
func TestVerdictsInDarkAndLight(t *testing.T) {
	for _, s := range []struct {
		recording string
		rows      int       // of the recording; 0 for all and the end of the watch
		state     aip.State // that the daemon says it is in
		want      model.Word
	}{
		{"chat_tools", 90, "", model.Pending},
		{"session_stream_approval_once", 20, aip.StatePendingApproval, model.AwaitingApproval},
		{"responses_ok", 0, "", model.Accepted},
		{"session_stream_tools", 0, "", model.Unconfirmed},
		{"chat_length", 0, "", model.Partial},
		{"runs_failed_events", 0, "", model.Failed},
		{"runs_stopped_events", 0, "", model.Cancelled},
		{"responses_disconnect", 0, "", model.Incomplete},
		{"session_stream_failing_after_text", 0, "", model.Contradicted},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}} {
			if turntest.Racing && size[0] > 80 {
				continue
			}
			t.Run(string(s.want)+"/"+number(size[0]), func(t *testing.T) {
				var seen [2]*vt.Emulator
				for i, theme := range []themes.Theme{themes.Auto(true), themes.Auto(false)} {
					bubble(t, s.recording, size[0], size[1], func(c *Config) {
						cancelling(act.Cancelled{}, nil)(c)
						c.Confirm = noConfirm
						c.Look.Theme = theme
					}, func(d *driver, rows []model.Row) {
						switch {
						case s.rows == 0:
							d.finish(rows)
						case s.state != "":
							b := turntest.Builder{TB: t, Rows: slices.Clone(rows[:s.rows])}
							b.Add(model.RowStatus, &aip.Status{State: s.state})
							b.Rows[s.rows].At = rows[s.rows].At
							d.play(b.Rows)
						default:
							d.play(rows[:s.rows])
						}
						if got := d.c.verdict.Word; got != s.want {
							t.Errorf("the verdict is %s", got)
						}
						seen[i] = emulate(t, d.m.View(), size[0], size[1])
					})
				}
				golden.RequireEqual(t, []byte(inColour(seen[0], seen[1])))
			})
		}
	}
}

// inColour writes the cells of two terminals, which differ in their colours alone:
// the text, then a letter for each cell's style, then what the letters are.
func inColour(dark, light *vt.Emulator) string {
	var text, styled, legend strings.Builder
	letters := map[string]rune{}
	for y := range dark.Height() {
		var words, marks strings.Builder
		for x := 0; x < dark.Width(); {
			a, b := dark.CellAt(x, y), light.CellAt(x, y)
			w := max(1, a.Width)
			words.WriteString(a.Content)
			letter := ' '
			switch style := styleText(a) + " | " + styleText(b); {
			case a.Content != b.Content:
				letter = '!'
			case style != " | ":
				if letters[style] == 0 {
					letters[style] = rune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[len(letters)])
					fmt.Fprintf(&legend, "%c  %s\n", letters[style], style)
				}
				letter = letters[style]
			}
			marks.WriteString(strings.Repeat(string(letter), w))
			x += w
		}
		text.WriteString(strings.TrimRight(words.String(), " ") + "\n")
		styled.WriteString(strings.TrimRight(marks.String(), " ") + "\n")
	}
	return text.String() + "\n" + styled.String() + "\n" + legend.String()
}

// styleText names a cell's colours and attributes; those of a blank cell are seen
// only on its background.
func styleText(c *uv.Cell) string {
	hex := func(c color.Color) string {
		r, g, b, _ := c.RGBA()
		return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
	}
	var say []string
	s := c.Style
	reversed := s.Attrs&uv.AttrReverse != 0
	if c.Content == " " && s.Bg == nil && !reversed && s.Underline == uv.UnderlineNone {
		return ""
	}
	if s.Fg != nil {
		say = append(say, hex(s.Fg))
	}
	if s.Bg != nil {
		say = append(say, "on "+hex(s.Bg))
	}
	for _, a := range []struct {
		bit  uint8
		name string
	}{{uv.AttrBold, "bold"}, {uv.AttrFaint, "faint"}, {uv.AttrItalic, "italic"}, {uv.AttrReverse, "reversed"}, {uv.AttrStrikethrough, "struck"}} {
		if s.Attrs&a.bit != 0 {
			say = append(say, a.name)
		}
	}
	if s.Underline != uv.UnderlineNone {
		say = append(say, "underlined")
	}
	return strings.Join(say, " ")
}
