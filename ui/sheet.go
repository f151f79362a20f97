package ui

import (
	"encoding/json"
	"regexp"
	"strings"

	"aipscope/model"
	"aipscope/model/safe"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// fact is one named value beside a sheet's body.
type fact struct{ name, value string }

// facts is a group of them under a heading.
type facts struct {
	title string
	list  []fact
}

// sheet is a chunk or a tool that was opened: what is known of it, and its
// content, masked until the operator asks. It stays revealed for as long as it
// is open, also while stepping to its neighbours.
type sheet struct {
	st       *styles
	id       int // of the load that is awaited: an older answer is dropped
	title    string
	groups   []facts
	goes     string // what enter leads to, or ""
	body     *text
	views    []sheetView     // of a chunk, instead of groups and a body
	at       int             // of the view in focus
	folds    map[string]bool // branches that the operator folded or unfolded, by view and path
	marks    *regexp.Regexp  // what was searched for
	note     string          // of the search
	problem  string
	loading  bool
	revealed bool
	raw      bool
	w, h     int
}

// sheetMsg answers a load.
type sheetMsg struct {
	id      int
	groups  []facts
	body    *text
	views   []sheetView
	problem string
}

func (s *sheet) resize(w, h int) {
	s.w, s.h = w, h
	if s.body != nil {
		bw, bh := s.bodySize()
		s.body.resize(bw, bh)
	}
	s.layViews()
}

// Wide sheets set the body beside the facts, narrow ones below them.
const (
	wideSheet  = 96
	factsWidth = 38
)

func (s *sheet) wide() bool { return s.w >= wideSheet && !s.st.plain && len(s.groups) > 0 }

func (s *sheet) bodySize() (w, h int) {
	if s.wide() {
		return max(1, s.w-factsWidth-5), max(1, s.h-2)
	}
	if len(s.groups) == 0 {
		return max(1, s.w-4), max(1, s.h-2)
	}
	return max(1, s.w-4), max(1, s.h-2-len(s.factLines(s.w-3))-1)
}

// take shows what a load brought, and reports whether it was awaited.
func (s *sheet) take(m sheetMsg) bool {
	if m.id != s.id {
		return false
	}
	top := 0
	if s.body != nil {
		top = s.body.top
	}
	s.keep(m.views)
	s.loading, s.groups, s.body, s.views, s.problem = false, m.groups, m.body, m.views, m.problem
	s.at = min(s.at, max(0, len(s.views)-1))
	if s.body != nil {
		s.body.top = top
	}
	s.resize(s.w, s.h)
	return true
}

// keep leaves the views' folds and cursors as they were; another chunk may have
// fewer lines.
func (s *sheet) keep(views []sheetView) {
	for i := range views {
		v := &views[i]
		s.fold(v)
		if v.tree == nil || i >= len(s.views) || s.views[i].tree == nil || s.views[i].name != v.name {
			continue
		}
		old := s.views[i].tree
		v.tree.cursor = old.cursor
	}
}

func (s *sheet) move(m motion) {
	switch v := s.viewInFocus(); {
	case s.body != nil:
		s.body.move(m)
	case v != nil:
		v.tree.move(m)
	}
}

// factLines are the facts for a column or a band of w cells.
func (s *sheet) factLines(w int) []string {
	var out []string
	if s.wide() {
		for i, g := range s.groups {
			if i > 0 {
				out = append(out, "")
			}
			out = append(out, " "+s.st.title.in(cut(g.title, w-1)))
			for _, f := range g.list {
				out = append(out, "  "+s.st.dim.in(fill(f.name, 9))+" "+s.st.text.in(cut(f.value, w-12)))
			}
		}
		return out
	}
	for _, g := range s.groups {
		line, width := "", 0
		for _, f := range g.list {
			n := ansi.StringWidth(f.name) + 1 + ansi.StringWidth(f.value)
			if width > 0 && width+2+n > w-1 {
				out = append(out, line)
				line, width = "", 0
			}
			if width > 0 {
				line += "  "
				width += 2
			}
			line += s.st.dim.in(f.name) + " " + s.st.text.in(cut(f.value, max(1, w-2-ansi.StringWidth(f.name))))
			width += n
		}
		out = append(out, line)
	}
	return out[:min(len(out), max(1, s.h/3))]
}

// view draws the sheet into w by h cells, the frame included.
func (s *sheet) view() []string {
	note, footer := s.st.masked(), ""
	if s.revealed {
		note = "REVEALED, r masks"
	}
	if s.raw {
		note = "raw, " + note
	}
	switch {
	case s.body != nil:
		footer = s.body.position()
	case s.views != nil:
		footer = s.viewFooter()
	}
	if s.note != "" {
		footer = strings.TrimSuffix(s.note+"; "+footer, "; ")
	}
	f := framed{title: s.title, note: note, alarm: s.revealed, footer: footer, focused: true}
	var body []string
	switch {
	case s.loading && s.body == nil:
		body = []string{s.st.dim.in("reading the journal")}
	case s.problem != "":
		body = []string{s.st.word(model.Failed).in(cut(s.problem, max(1, s.w-4)))}
	case s.body != nil:
		body = s.body.view(s.st, s.marks)
	case s.views != nil:
		return s.st.box(f, s.viewLines(), s.w, s.h)
	}
	if !s.wide() {
		var lines []string
		for _, l := range s.factLines(s.w - 3) {
			lines = append(lines, " "+l)
		}
		if len(lines) > 0 {
			lines = append(lines, s.st.border.in(strings.Repeat(s.st.glyphs.Rule, max(0, s.w-2))))
		}
		for _, l := range body {
			lines = append(lines, " "+l)
		}
		return s.st.box(f, lines, s.w, s.h)
	}
	bw, bh := s.bodySize()
	side := s.factLines(factsWidth)
	if s.goes != "" {
		side = append(side, "", " "+s.st.accent.in(s.st.glyphs.Chosen)+" "+s.st.dim.in(cut(s.goes, factsWidth-4)))
	}
	side = block(side, factsWidth, bh)
	lines := block(body, bw, bh)
	bar := s.st.border.in(s.st.glyphs.Border.Left)
	for i := range lines {
		lines[i] = " " + lines[i] + " " + column(lines[i], bw+3) + bar + side[i]
	}
	return s.st.box(f, lines, s.w, s.h)
}

// contentText is JSON as a sheet shows it: masked unless revealed, indented
// unless raw.
func contentText(raw json.RawMessage, revealed, exact bool, mask func(json.RawMessage) json.RawMessage) string {
	if len(raw) == 0 {
		return "(no content)"
	}
	if !revealed {
		raw = mask(raw)
	}
	if !exact {
		raw = safe.Indent(raw)
	}
	return safe.Text(string(raw))
}

// toolRequest is all that building a tool's sheet needs.
type toolRequest struct {
	id       int
	tool     model.Tool
	revealed bool
	w        int
	mask     func(json.RawMessage) json.RawMessage
}

func (q toolRequest) load() tea.Msg {
	t := &q.tool
	call := []fact{{"name", toolName(t)}}
	if t.Label != "" {
		call = append(call, fact{"label", brief(t.Label)})
	}
	call = append(call, fact{"key", brief(t.Key)})
	if !t.Correlated {
		call = append(call, fact{"", "the stream has no ID for it"})
	}
	call = append(call, fact{"state", toolState(t)})
	if t.Duration > 0 {
		call = append(call, fact{"took", seconds(t.Duration)})
	}
	chunks := []fact{{"start", "none"}, {"end", "none"}}
	if t.HasStart {
		chunks[0].value = sequence(t.Started)
	}
	if t.HasEnd {
		chunks[1].value = sequence(t.Ended)
	}
	sizes := []fact{{"arguments", size(len(t.Arguments))}, {"result", size(len(t.Result))}}
	body := "arguments\n" + q.show(t.Arguments) + "\n\nresult\n" + q.show(t.Result)
	return sheetMsg{
		id:     q.id,
		groups: []facts{{"tool", call}, {"chunks", chunks}, {"sizes", sizes}},
		body:   newText(body, q.w),
	}
}

// show makes of arguments or a result, JSON or any text, the text of a sheet.
func (q toolRequest) show(s string) string {
	if s == "" {
		return "none seen"
	}
	raw := json.RawMessage(s)
	if !json.Valid(raw) {
		if q.revealed {
			return safe.Text(s)
		}
		raw, _ = json.Marshal(s)
	}
	return contentText(raw, q.revealed, false, q.mask)
}
