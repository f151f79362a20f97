package ui

import (
	"strings"
	"time"

	"aipscope/model"

	"github.com/charmbracelet/x/ansi"
)

// toolsPane lists the tools by their correlation ID, in the order in which they
// were first seen.
type toolsPane struct {
	st    *styles
	tools []*model.Tool
	key   string // of the selected tool: the order may change when a turn is built anew
	list  list
	first time.Time // the turn's span, for the bars
	last  time.Time
	w, h  int
}

func (p *toolsPane) resize(w, h int) {
	p.w, p.h = w, h
	p.list.resize(h)
}

func (p *toolsPane) update(turn *model.Turn) {
	p.tools = turn.Tools()
	p.first, p.last = turn.Span()
	p.list.grow(len(p.tools))
	for i, t := range p.tools {
		if t.Key == p.key {
			p.list.choose(i)
			return
		}
	}
	p.remember()
}

func (p *toolsPane) move(m motion) {
	p.list.move(m)
	p.remember()
}

func (p *toolsPane) remember() {
	p.key = ""
	if t := p.selected(); t != nil {
		p.key = t.Key
	}
}

func (p *toolsPane) selected() *model.Tool {
	if p.list.selected < 0 || p.list.selected >= len(p.tools) {
		return nil
	}
	return p.tools[p.list.selected]
}

// choose selects the tool of a key.
func (p *toolsPane) choose(key string) bool {
	for i, t := range p.tools {
		if t.Key == key {
			p.list.choose(i)
			p.key = key
			return true
		}
	}
	return false
}

// running counts the tools that have not ended.
func (p *toolsPane) running() int {
	n := 0
	for _, t := range p.tools {
		if t.Status == model.ToolRunning {
			n++
		}
	}
	return n
}

// note is the count of tools for the border.
func (p *toolsPane) note() string {
	s := number(len(p.tools))
	if n := p.running(); n > 0 {
		s += ", " + number(n) + " running"
	}
	return s
}

func (p *toolsPane) view(now time.Time, focused bool) []string {
	if len(p.tools) == 0 {
		return []string{" " + p.st.dim.in("no tools seen")}
	}
	name := 0
	from, to := p.list.window()
	for _, t := range p.tools[from:to] {
		name = max(name, ansi.StringWidth(toolName(t)))
	}
	name = min(name, max(8, p.w/3))
	var out []string
	for i := from; i < to; i++ {
		out = append(out, p.row(p.tools[i], name, now, focused && i == p.list.selected))
	}
	if room := p.h - len(p.tools); room > len(p.tools) && !p.st.plain {
		out = append(out, "")
		out = append(out, p.bars(name, now)...)
	}
	return out
}

func (p *toolsPane) row(t *model.Tool, name int, now time.Time, selected bool) string {
	st := p.st
	right := toolTime(t, now)
	glyph, head := st.toolGlyph(t.Status), fill(toolName(t), name)
	if st.plain && (t.Status == model.ToolRunning || right == glyph) {
		right = "" // said already, and a time that runs would be read aloud each second
	}
	label := max(0, p.w-3-ansi.StringWidth(glyph)-name-2-ansi.StringWidth(right)-1)
	in, chosen := st.row(selected), " "
	if selected {
		chosen = st.glyphs.Chosen
	}
	return in(st.text, chosen) + in(st.tool(t.Status), glyph) + in(st.text, " "+head+"  ") + in(st.dim, fill(brief(t.Label), label)+" "+right+" ")
}

// bars draws when each tool ran within the turn, for tools whose times are
// known.
func (p *toolsPane) bars(name int, now time.Time) []string {
	end := p.last
	if p.running() > 0 {
		end = now
	}
	span := end.Sub(p.first)
	w := p.w - name - 3
	if span <= 0 || w < 10 || p.first.IsZero() {
		return nil
	}
	cell := func(at time.Time) int {
		return max(0, min(int(int64(w)*int64(at.Sub(p.first))/int64(span)), w))
	}
	var out []string
	for _, t := range p.tools {
		if t.StartedAt.IsZero() {
			continue
		}
		until := t.EndedAt
		if until.IsZero() {
			until = end
		}
		a := min(cell(t.StartedAt), w-1)
		b := max(cell(until), a+1)
		out = append(out, " "+p.st.dim.in(fill(toolName(t), name))+" "+
			p.st.border.in(strings.Repeat(p.st.glyphs.Empty, a))+p.st.tool(t.Status).in(strings.Repeat(p.st.glyphs.Full, b-a)))
	}
	return out
}

// toolName is the tool's name for the screen.
func toolName(t *model.Tool) string {
	if t.Name == "" {
		return "(no name)"
	}
	return brief(t.Name)
}

// toolTime says how long a tool ran or runs, or what its row lacks.
func toolTime(t *model.Tool, now time.Time) string {
	switch t.Status {
	case model.ToolUnended:
		return "never ended"
	case model.ToolOrphan:
		return "no start"
	case model.ToolRunning:
		if !t.StartedAt.IsZero() {
			return seconds(now.Sub(t.StartedAt))
		}
		return "running"
	}
	if t.Duration > 0 {
		return seconds(t.Duration)
	}
	return string(t.Status)
}

// toolOdd says behind a tool's name that it did not end as it should.
func toolOdd(s model.ToolStatus) string {
	switch s {
	case model.ToolFailed:
		return " (failed)"
	case model.ToolUnended:
		return " (never ended)"
	case model.ToolOrphan:
		return " (no start)"
	}
	return ""
}

// toolState says where a tool stands, in words.
func toolState(t *model.Tool) string {
	switch t.Status {
	case model.ToolRunning:
		return "running"
	case model.ToolCompleted:
		return "ended"
	case model.ToolFailed:
		return "failed"
	case model.ToolUnended:
		return "never ended"
	case model.ToolOrphan:
		return "an end came without a start"
	}
	return brief(string(t.Status))
}
