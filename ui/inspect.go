package ui

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/hermes"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// sheetView is one of the four things that seed 000 tells apart of a chunk (the
// provider's frame, AIP's chunk, the follow frame, the final result), or other
// content that came under its sequence.
type sheetView struct {
	name string
	tree *tree
	raw  json.RawMessage // what the tree is of, as it may be shown
	say  string          // instead of a tree
}

// The names of the views.
const (
	viewProvider = "provider frame"
	viewChunk    = "AIP chunk"
	viewFollow   = "follow frame"
	viewResult   = "final result"
	viewOther    = "other content"
)

// viewWidth is the least that a view is given beside another.
const viewWidth = 37

// chunkRequest is all that building a chunk's sheet needs; it is built in a
// command, for a frame may hold megabytes.
type chunkRequest struct {
	id            int
	entry         model.Entry
	before        time.Time
	result        *model.Result
	others        []int64 // rows of other content under the sequence
	revealed, raw bool
	w             int
	zone          *time.Location
	signs         [2]string
	row           func(context.Context, int64) (model.Row, error)
	mask          func(json.RawMessage) json.RawMessage
}

func (q chunkRequest) load(ctx context.Context) tea.Msg {
	row, err := q.row(ctx, q.entry.Row)
	if err != nil {
		return sheetMsg{id: q.id, problem: "the journal cannot be read: " + brief(err.Error())}
	}
	m := sheetMsg{id: q.id}
	if q.raw {
		m.body = newText(contentText(row.Raw, q.revealed, true, q.mask), q.w)
		return m
	}
	m.views = append(m.views, q.provider(row), q.chunk(row), q.follow(row), q.final())
	for _, n := range q.others {
		m.views = append(m.views, q.other(ctx, n))
	}
	return m
}

// shown is JSON as it may be shown.
func (q chunkRequest) shown(raw json.RawMessage) json.RawMessage {
	if q.revealed || len(raw) == 0 {
		return raw
	}
	return q.mask(raw)
}

func (q chunkRequest) view(name string, raw json.RawMessage) sheetView {
	return sheetView{name: name, tree: newTree(raw, q.signs), raw: raw}
}

// record is a provider's frame for the tree, with the size of its raw data for
// the data itself: those are behind a key.
func (q chunkRequest) record(row model.Row) (json.RawMessage, bool) {
	var rec hermes.Record
	switch {
	case row.Recovered != nil:
		rec = row.Recovered.Record
	case row.Chunk != nil:
		var ok bool
		if rec, ok = hermes.RecordOf(row.Chunk.Data); !ok {
			return nil, false
		}
	default:
		return nil, false
	}
	kept := rec.RawData
	rec.RawData = nil
	raw, err := json.Marshal(rec)
	if err != nil {
		return nil, false
	}
	raw = q.shown(raw)
	if kept == nil {
		return raw, true
	}
	head, ok := strings.CutSuffix(string(raw), "}")
	if !ok {
		return raw, true
	}
	return json.RawMessage(head + `,"raw_data":"‹` + size(len(*kept)) + `›"}`), true
}

func (q chunkRequest) provider(row model.Row) sheetView {
	raw, ok := q.record(row)
	if !ok {
		return sheetView{name: viewProvider, say: "the chunk holds none"}
	}
	return q.view(viewProvider, raw)
}

func (q chunkRequest) chunk(row model.Row) sheetView {
	if row.Recovered != nil {
		return q.own(viewChunk,
			"came", "never", "taken_from", "the result's aggregate", "index", number(row.Recovered.Index), "behind", "chunk "+sequence(row.Recovered.After))
	}
	return q.view(viewChunk, q.shown(row.Raw))
}

// follow is what is known of the frame that brought the chunk.
func (q chunkRequest) follow(row model.Row) sheetView {
	var of []string
	if row.Chunk != nil {
		of = append(of, "event", aip.EventChunk, "id", "chunk:"+sequence(row.Chunk.Sequence), "size", size(len(row.Raw)))
	}
	if !row.At.IsZero() {
		of = append(of, "arrived", row.At.In(q.zone).Format("15:04:05.000"))
	}
	if at := q.entry.At; !at.IsZero() && q.entry.Timed {
		of = append(of, "recorded", at.In(q.zone).Format("15:04:05.000"))
	}
	if !q.before.IsZero() && !q.entry.At.IsZero() {
		of = append(of, "after", apart(q.entry.At.Sub(q.before)))
	}
	return q.own(viewFollow, append(of, "journal", "committed, row "+number(row.Number))...)
}

func (q chunkRequest) final() sheetView {
	if q.result == nil {
		return sheetView{name: viewResult, say: "none: only a result settles"}
	}
	raw, err := json.Marshal(q.result)
	if err != nil {
		return sheetView{name: viewResult, say: "cannot be shown: " + brief(err.Error())}
	}
	return q.view(viewResult, q.shown(raw))
}

func (q chunkRequest) other(ctx context.Context, n int64) sheetView {
	name := viewOther + ", row " + number(n)
	row, err := q.row(ctx, n)
	if err != nil {
		return sheetView{name: name, say: "the journal cannot be read: " + brief(err.Error())}
	}
	if raw, ok := q.record(row); ok {
		return q.view(name, raw)
	}
	return q.view(name, q.shown(row.Raw))
}

// own is a view of our own words, which need no quotes.
func (q chunkRequest) own(name string, pairs ...string) sheetView {
	v := q.view(name, object(pairs...))
	for i := range v.tree.nodes {
		n := &v.tree.nodes[i]
		n.value = strings.Trim(n.value, `"`)
	}
	return v
}

// object is a JSON object of our own words, in their order.
func object(pairs ...string) json.RawMessage {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		k, _ := json.Marshal(pairs[i])
		v, _ := json.Marshal(pairs[i+1])
		b.WriteString(string(k) + ":" + string(v) + ",")
	}
	return json.RawMessage("{" + strings.TrimSuffix(b.String(), ",") + "}")
}

// begins reports whether a branch is folded to begin with: where another view
// shows the same, and deep inside the result.
func (v *sheetView) begins(path string, n *node) bool {
	switch v.name {
	case viewChunk:
		return path == ".data"
	case viewResult:
		return n.depth > 1
	}
	return false
}

// fold gives the view's branches the state that they were left in.
func (s *sheet) fold(v *sheetView) {
	if v.tree == nil {
		return
	}
	v.tree.fold(func(path string, n *node) bool {
		if was, ok := s.folds[v.name+path]; ok {
			return was
		}
		return v.begins(path, n)
	})
}

// toggleFold folds or unfolds at the cursor of the view in focus.
func (s *sheet) toggleFold() {
	v := s.viewInFocus()
	if v == nil {
		return
	}
	if path, folded, ok := v.tree.toggle(); ok {
		if s.folds == nil {
			s.folds = map[string]bool{}
		}
		s.folds[v.name+path] = folded
	}
}

func (s *sheet) viewInFocus() *sheetView {
	if s.at < len(s.views) && s.views[s.at].tree != nil {
		return &s.views[s.at]
	}
	return nil
}

func (s *sheet) nextView(by int) {
	if n := len(s.views); n > 0 {
		s.at = (s.at + by + n) % n
	}
}

// abreast is how many views stand side by side, and the first of them.
func (s *sheet) abreast() (n, first int) {
	n = max(1, min(len(s.views), (s.w-3)/viewWidth))
	if s.st.plain {
		n = 1
	}
	return n, max(0, min(s.at-n+1, len(s.views)-n))
}

// layViews gives the views their sizes.
func (s *sheet) layViews() {
	n, first := s.abreast()
	for i := range s.views {
		if v := &s.views[i]; v.tree != nil {
			v.tree.resize(s.viewCells(n, i-first)-3, max(1, s.h-4))
		}
	}
}

// viewCells is the width of the column i of n; what does not divide goes to the
// first.
func (s *sheet) viewCells(n, i int) int {
	inner := s.w - 2 - (n - 1)
	w := inner / n
	if i == 0 {
		w += inner % n
	}
	return w
}

// viewLines draws the views side by side, and what the chunk did below them.
func (s *sheet) viewLines() []string {
	n, first := s.abreast()
	h := max(1, s.h-3)
	var out []string
	bar := s.st.border.in(s.st.glyphs.Border.Left)
	x := 1
	for i := range n {
		v := &s.views[first+i]
		focused := first+i == s.at
		w := s.viewCells(n, i)
		head := s.st.title
		if focused {
			head = s.st.titleFocus
		}
		lines := []string{" " + head.in(cut(v.name, w-2))}
		switch {
		case v.tree != nil:
			for _, l := range v.tree.view(s.st, focused, s.marks) {
				lines = append(lines, "  "+l)
			}
		default:
			for _, l := range strings.Split(ansi.Wrap(v.say, max(1, w-3), ""), "\n") {
				lines = append(lines, "  "+s.st.dim.in(l))
			}
		}
		lines = block(lines, w, h)
		if out == nil {
			out = lines
		} else {
			for k := range out {
				out[k] += column(out[k], x) + bar + lines[k]
			}
			x++
		}
		x += w
	}
	if s.goes != "" {
		out = append(out, " "+s.st.accent.in(s.st.glyphs.Chosen)+" "+s.st.dim.in(cut(s.goes, s.w-6)))
	}
	return out
}

// viewFooter says where in the view in focus the lines in sight are, and which
// views are out of sight.
func (s *sheet) viewFooter() string {
	var say []string
	n, first := s.abreast()
	var hidden []string
	for i := range s.views {
		if i < first || i >= first+n {
			hidden = append(hidden, s.views[i].name)
		}
	}
	if len(hidden) > 0 {
		say = append(say, "tab: "+strings.Join(hidden, ", "))
	}
	if v := s.viewInFocus(); v != nil {
		if pos := v.tree.text.position(); pos != "" {
			say = append(say, pos)
		}
	}
	return strings.Join(say, "; ")
}
