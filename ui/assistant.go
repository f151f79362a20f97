package ui

import (
	"slices"
	"sort"
	"strings"

	"aipscope/model"
	"aipscope/ui/markdown"

	"github.com/charmbracelet/x/ansi"
)

// Text wider than this is hard to read; a wider pane keeps the rest empty.
const textMeasure = 100

// stretch is one segment as it is shown: a mark line, a document, or both, and
// an empty line behind it.
type stretch struct {
	seg    *model.Segment
	used   int // bytes of the segment's text that the document holds
	marked bool
	doc    *markdown.Document // nil while folded, and for marks
	done   bool               // the document is finished
	height int                // lines of the document, as laid out
}

// assistantPane shows the turn in the order of its chunks: the assistant's
// words, and quiet marks where something else happened.
type assistantPane struct {
	st       *styles
	document func(faint bool) *markdown.Document

	turn      *model.Turn
	settled   bool
	unfolded  bool
	stretches []*stretch
	now       []*stretch // while the past is in view: those of the turn as it is
	ends      []int      // the line behind each stretch
	names     map[string]*model.Tool
	restarts  int // of the turn, when the names were taken

	w, h     int
	top      int
	pick     pick
	find     find
	paused   bool
	pausedAt int // lines when the following stopped
}

func (p *assistantPane) resize(w, h int) {
	if w == p.w && h == p.h {
		return
	}
	rewrap := w != p.w
	p.w, p.h = w, max(h, 1)
	if rewrap {
		p.pick = pick{} // its line is another one
		for _, s := range slices.Concat(p.stretches, p.now) {
			if s.doc != nil {
				s.doc.SetWidth(p.measure())
			}
		}
	}
	p.layout()
}

// measure is the width of the text: two cells of air on the left, one for the
// cursor on the right.
func (p *assistantPane) measure() int { return max(1, min(p.w-3, textMeasure)) }

// update takes in what the turn has gained.
func (p *assistantPane) update(turn *model.Turn) {
	// While a turn is not built anew, only its last segment grows.
	from := 0
	if p.now != nil { // from the past
		p.stretches, p.now = p.now, nil
	} else if p.turn == turn && p.restarts == turn.Restarts() && p.settled == turn.Settled() {
		from = max(0, len(p.stretches)-1)
	}
	p.know(turn)
	segs := turn.Segments()
	for i := from; i < len(segs); i++ {
		seg := segs[i]
		if i < len(p.stretches) && p.stretches[i].holds(seg) {
			p.stretches[i].seg = seg
		} else {
			p.stretches = append(p.stretches[:min(i, len(p.stretches))], &stretch{seg: seg})
		}
		p.feed(p.stretches[i], i < len(segs)-1)
	}
	p.stretches = p.stretches[:len(segs)]
	p.layout()
}

// lookBack shows a past of the turn that was shown last: of the documents that
// there are, as much as its text was then.
func (p *assistantPane) lookBack(past *model.Turn) {
	if p.now == nil {
		p.now = p.stretches
	}
	p.know(past)
	segs := past.Segments()
	p.stretches = make([]*stretch, len(segs))
	for i, seg := range segs {
		s, last := &stretch{seg: seg}, i == len(segs)-1
		if i < len(p.now) {
			s.borrow(p.now[i], last)
		}
		p.feed(s, !last)
		p.stretches[i] = s
	}
	p.layout()
}

// borrow takes over the document of a stretch that begins as s does.
func (s *stretch) borrow(from *stretch, last bool) {
	n := min(len(s.seg.Text()), from.used)
	if from.doc == nil || from.seg.Kind != s.seg.Kind || from.seg.Text()[:n] != s.seg.Text()[:n] {
		return
	}
	s.doc, s.used, s.done = from.doc, n, from.done
	if last || n < from.used || !from.done {
		s.doc, s.done = from.doc.UpTo(n), false
	}
}

// know learns the turn's tools by their keys.
func (p *assistantPane) know(turn *model.Turn) {
	if p.turn != turn {
		p.names = nil // another turn: its tools are others
	}
	if p.turn != turn || p.restarts != turn.Restarts() {
		p.find.again() // and its text
	}
	p.turn, p.settled = turn, turn.Settled()
	if tools := turn.Tools(); p.restarts != turn.Restarts() || p.names == nil {
		p.names, p.restarts = make(map[string]*model.Tool, len(tools)), turn.Restarts()
	}
	for _, t := range turn.Tools()[len(p.names):] {
		p.names[t.Key] = t
	}
}

// holds reports whether the stretch still shows seg, grown at most. A turn that
// was built anew has other segments, often with the same text.
func (s *stretch) holds(seg *model.Segment) bool {
	if n := len(seg.Text()); n < s.used || s.done && n > s.used {
		return false
	}
	return s.seg == seg || s.seg.Kind == seg.Kind && seg.Text()[:s.used] == s.seg.Text()[:s.used]
}

// feed gives the segment's new text to its document, which is complete with it
// when another segment follows.
func (p *assistantPane) feed(s *stretch, followed bool) {
	folds := s.seg.Kind == model.SegmentThinking || s.seg.Kind == model.SegmentCommentary
	s.marked = s.seg.Kind != model.SegmentText
	wanted := !folds || p.unfolded
	if s.seg.Kind == model.SegmentTools || s.seg.Kind == model.SegmentWaiting {
		wanted = false
	}
	body := s.seg.Text()
	if !wanted {
		s.doc, s.height, s.used, s.done = nil, 0, len(body), false
		return
	}
	if s.doc == nil {
		s.doc, s.used, s.done = p.document(folds), 0, false
		s.doc.SetWidth(p.measure())
	}
	if s.used < len(body) {
		s.doc.Grow(body)
		s.used = len(body)
	}
	if (p.settled || followed) && !s.done {
		s.doc.Finish()
		s.done = true
	}
}

// lines is how many lines the stretch takes, the empty one included.
func (s *stretch) lines() int {
	n := s.height
	if s.marked {
		n++
	}
	if n > 0 {
		n++
	}
	return n
}

// layout measures the stretches and keeps the reader's place: the end while
// following, otherwise the line that stood first.
func (p *assistantPane) layout() {
	top := p.anchor(p.top)
	p.takeHeights()
	if p.paused {
		p.top = p.lineAt(top)
	}
	p.settle()
}

// takeHeights takes the heights of the stretches, as far as they are known.
func (p *assistantPane) takeHeights() {
	p.ends = p.ends[:0]
	end := 0
	for _, s := range p.stretches {
		if s.doc != nil {
			s.height = s.doc.Extent()
		}
		end += s.lines()
		p.ends = append(p.ends, end)
	}
}

// settle keeps the window inside the text, and has rendered what is in sight.
func (p *assistantPane) settle() {
	for {
		last := max(0, p.total()-p.h)
		if !p.paused {
			p.top = last
		}
		p.top = max(0, min(p.top, last))
		if !p.bring() {
			return
		}
	}
}

// bring renders what is in sight, and a page before and behind it, so that a step
// leads to where it seems to. It reports whether that moved lines; what stood on them
// is found again.
func (p *assistantPane) bring() bool {
	moved, again := false, p.keep()
	for i := sort.SearchInts(p.ends, p.top-p.h+1); i < len(p.stretches) && p.start(i) < p.top+2*p.h; i++ {
		if s := p.stretches[i]; s.doc != nil {
			from := p.top - p.h - p.start(i)
			moved = s.doc.Show(from, from+3*p.h) || moved
		}
	}
	if moved {
		again()
	}
	return moved
}

// keep remembers where the reader is, and again finds it when rendering has moved
// lines.
func (p *assistantPane) keep() (again func()) {
	top, picked, total := p.anchor(p.top), p.anchor(p.pick.line), p.total()
	return func() {
		p.takeHeights()
		p.top, p.pick.line = p.lineAt(top), p.lineAt(picked)
		p.pausedAt += p.total() - total
	}
}

// anchor is a line that is found again when others have moved it.
type anchor struct {
	stretch, within int
	place           markdown.Place
	text            bool // it is a line of the stretch's document
}

// start is the first line of a stretch's document.
func (p *assistantPane) start(stretch int) int {
	at := 0
	if stretch > 0 {
		at = p.ends[stretch-1]
	}
	if p.stretches[stretch].marked {
		at++
	}
	return at
}

func (p *assistantPane) anchor(line int) anchor {
	at := sort.SearchInts(p.ends, line+1)
	h := anchor{stretch: at, within: line}
	if at > 0 {
		h.within -= p.ends[at-1]
	}
	if at >= min(len(p.stretches), len(p.ends)) {
		return h
	}
	if s := p.stretches[at]; s.doc != nil {
		n := line - p.start(at)
		if h.text = n >= 0 && n < s.height; h.text {
			h.place = s.doc.Place(n)
		}
	}
	return h
}

func (p *assistantPane) lineAt(h anchor) int {
	if h.text && h.stretch < len(p.stretches) {
		if s := p.stretches[h.stretch]; s.doc != nil {
			return p.start(h.stretch) + s.doc.LineOf(h.place)
		}
	}
	if h.stretch == 0 || len(p.ends) == 0 {
		return h.within
	}
	return p.ends[min(h.stretch, len(p.ends))-1] + h.within
}

// total is the number of lines, without the empty one at the end.
func (p *assistantPane) total() int {
	if len(p.ends) == 0 {
		return 0
	}
	return max(0, p.ends[len(p.ends)-1]-1)
}

func (p *assistantPane) move(m motion) {
	if p.pick.on {
		p.pointAt(m.apply(p.pick.line, p.total()-1, p.h))
		return
	}
	last := max(0, p.total()-p.h)
	top := m.apply(p.top, last, p.h)
	if top < last && !p.paused {
		p.pausedAt = p.total()
	}
	p.top, p.paused = top, top < last
	p.settle()
}

func (p *assistantPane) fold() {
	p.unfolded = !p.unfolded
	p.find.again()
	for i, s := range p.stretches {
		p.feed(s, i < len(p.stretches)-1)
	}
	p.layout()
}

// folds reports whether there is something to fold.
func (p *assistantPane) folds() bool {
	return slices.ContainsFunc(p.stretches, func(s *stretch) bool {
		return s.seg.Kind == model.SegmentThinking || s.seg.Kind == model.SegmentCommentary
	})
}

// footer says what was found, that the following is paused, and what it misses.
func (p *assistantPane) footer() string {
	found := p.find.found(p.unsearched())
	if !p.paused || p.pick.on && found != "" {
		return found
	}
	return strings.TrimPrefix(found+"; "+p.st.paused(p.total()-p.pausedAt), "; ")
}

func (p *assistantPane) view() []string {
	if p.total() == 0 {
		say := "no words yet"
		if p.settled {
			say = "no assistant text"
		}
		return []string{"", "  " + p.st.dim.in(say)}
	}
	out := make([]string, 0, p.h)
	first := sort.SearchInts(p.ends, p.top+1)
	for i := first; i < len(p.stretches) && len(out) < p.h; i++ {
		start := 0
		if i > 0 {
			start = p.ends[i-1]
		}
		out = p.appendLines(out, p.stretches[i], max(0, p.top-start))
	}
	out = out[:min(len(out), p.h)]
	if !p.settled && p.top+p.h >= p.total() {
		out = p.cursor(out)
	}
	return p.pointer(out)
}

// appendLines adds the lines of a stretch from the given one on, as many as
// there is room for.
func (p *assistantPane) appendLines(out []string, s *stretch, from int) []string {
	if s.lines() == 0 {
		return out
	}
	if s.marked {
		if from == 0 {
			out = append(out, "  "+p.mark(s))
		}
		from = max(0, from-1)
	}
	if s.doc != nil && from < s.height {
		to := min(s.height, from+p.h-len(out))
		for _, line := range p.highlight(s.doc.Lines(from, max(from, to))) {
			out = append(out, "  "+line)
		}
	}
	if from <= s.height {
		out = append(out, "")
	}
	return out
}

// cursor marks the place where the next words will appear.
func (p *assistantPane) cursor(out []string) []string {
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	mark := p.st.dim.in(p.st.glyphs.Cursor)
	last := p.stretches[len(p.stretches)-1]
	if last.seg.Kind == model.SegmentText && len(out) > 0 && ansi.StringWidth(out[len(out)-1]) < p.w {
		out[len(out)-1] += mark
		return out
	}
	return append(out, "", "  "+mark)[:min(len(out)+2, p.h)]
}

// mark is the quiet line that stands where something else than text happened.
func (p *assistantPane) mark(s *stretch) string {
	st, w := p.st, p.measure()
	lead := st.glyphs.Ran + " "
	chars := counted(len(s.seg.Text()), "character", "characters")
	hint := ", t shows it"
	if p.unfolded {
		hint = ""
	}
	switch s.seg.Kind {
	case model.SegmentTools:
		var b strings.Builder
		for i, key := range s.seg.Tools {
			if i > w/4 {
				break // each name and its dot take four cells at least
			}
			if i > 0 {
				b.WriteString(" " + st.signs.dot + " ")
			}
			t := p.names[key]
			if t == nil {
				b.WriteString(brief(key))
				continue
			}
			if t.Status != model.ToolCompleted {
				b.WriteString(st.toolGlyph(t.Status) + " ")
			}
			b.WriteString(toolName(t))
		}
		return st.dim.in(cut(lead+b.String(), w))
	case model.SegmentWaiting:
		what := "an approval"
		if s.seg.Waiting == "clarify" {
			what = "an answer to its question"
		}
		if wait := p.turn.Waiting(); wait != nil && wait.Since == s.seg.First {
			return st.word(model.AwaitingApproval).in(cut(prefix(st.wordGlyph(model.AwaitingApproval))+"waiting for "+what+", since chunk "+sequence(s.seg.First), w))
		}
		return st.dim.in(cut(lead+"waited for "+what, w))
	case model.SegmentThinking:
		return st.dim.in(cut(lead+"thinking, "+chars+hint, w))
	case model.SegmentCommentary:
		return st.dim.in(cut(lead+"said beside the answer, "+chars+hint, w))
	case model.SegmentClosing:
		return st.dim.in(cut(lead+"closing text, unlike what was streamed", w))
	}
	return st.dim.in(lead)
}
