package ui

import (
	"cmp"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/safe"

	"github.com/charmbracelet/x/ansi"
)

// chunksPane lists every chunk in the order of its sequence. Only the lines in
// sight are built.
type chunksPane struct {
	st      *styles
	entries []model.Entry
	gaps    int
	row     int64  // journal row of the selected entry
	seq     uint64 // its sequence
	list    list
	w, h    int
}

func newChunksPane(st *styles) chunksPane {
	return chunksPane{st: st, list: list{sticky: true}}
}

func (p *chunksPane) resize(w, h int) {
	p.w, p.h = w, h
	p.list.resize(h)
}

// update takes the turn's entries. A selection that does not follow the end
// stays with its chunk, also when others came before it.
func (p *chunksPane) update(turn *model.Turn) {
	p.entries, p.gaps = turn.Entries(), len(turn.Gaps())
	if p.list.paused || p.list.pinned {
		if at := p.find(); at != p.list.selected {
			p.list.offset += at - p.list.selected
			p.list.selected = at
		}
	}
	p.list.grow(len(p.entries))
	p.remember()
}

// find returns where the selected chunk is now.
func (p *chunksPane) find() int {
	if i := p.list.selected; i < len(p.entries) && p.entries[i].Row == p.row && p.entries[i].Sequence == p.seq {
		return i
	}
	from := sort.Search(len(p.entries), func(i int) bool { return p.entries[i].Sequence >= p.seq })
	for i := from; i < len(p.entries) && p.entries[i].Sequence == p.seq; i++ {
		if p.entries[i].Row == p.row {
			return i
		}
	}
	return from
}

// pin keeps the selection where it is although the list follows its end.
func (p *chunksPane) pin(on bool) {
	p.list.pinned = on
	p.list.grow(p.list.n)
	p.remember()
}

func (p *chunksPane) move(m motion) {
	p.list.move(m)
	p.remember()
}

func (p *chunksPane) choose(i int) {
	p.list.choose(i)
	p.remember()
}

func (p *chunksPane) remember() {
	if e := p.selected(); e != nil {
		p.row, p.seq = e.Row, e.Sequence
	}
}

func (p *chunksPane) selected() *model.Entry {
	if i := p.list.selected; i >= 0 && i < len(p.entries) {
		return &p.entries[i]
	}
	return nil
}

// chooseSequence selects the first entry of a sequence.
func (p *chunksPane) chooseSequence(seq uint64) bool {
	i := sort.Search(len(p.entries), func(i int) bool { return p.entries[i].Sequence >= seq })
	if i == len(p.entries) || p.entries[i].Sequence != seq {
		return false
	}
	p.choose(i)
	return true
}

func (p *chunksPane) note() string {
	s := number(len(p.entries))
	if p.gaps > 0 {
		s += ", " + counted(p.gaps, "gap", "gaps")
	}
	return s
}

func (p *chunksPane) footer() string {
	if !p.list.paused {
		return ""
	}
	return p.st.paused(p.list.fresh())
}

func (p *chunksPane) view(focused bool) []string {
	if len(p.entries) == 0 {
		return []string{" " + p.st.dim.in("no chunks yet")}
	}
	from, to := p.list.window()
	wide := len(sequence(p.entries[to-1].Sequence))
	out := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		out = append(out, p.line(i, wide, focused && i == p.list.selected))
	}
	return out
}

func (p *chunksPane) line(i, wide int, selected bool) string {
	st, e := p.st, &p.entries[i]
	flag, tone := " ", st.dim
	switch {
	case e.Conflict:
		flag, tone = cmp.Or(st.wordGlyph(model.Contradicted), "!"), st.word(model.Contradicted)
	case e.Recovered:
		flag = st.signs.recovered
	case i > 0 && !p.entries[i-1].Recovered && e.Sequence > p.entries[i-1].Sequence+1:
		flag, tone = st.signs.gap, st.word(model.Partial)
	}
	seq := fillLeft(sequence(e.Sequence), wide)
	kind := fill(kindName(e.Kind), 5)
	right := ""
	if p.w >= 34 {
		right = fillLeft(size(e.Size), 8)
	}
	if p.w >= 44 {
		right += fillLeft(p.since(i), 8)
	}
	frame := fill(frameName(e), max(0, p.w-wide-10-ansi.StringWidth(right)))
	if selected {
		return st.selected.in(fill(st.glyphs.Chosen+flag+seq+" "+kind+" "+frame+right+" ", p.w))
	}
	kindInk := st.dim
	if e.Kind == aip.KindError {
		kindInk = st.word(model.Failed)
	}
	body := st.text
	if e.Frame == "other" || e.Recovered || strings.HasSuffix(e.Frame, ".delta") || strings.HasSuffix(e.Frame, ".text") {
		body = st.dim // words are read on the left; here the eye looks for the rest
	}
	return " " + tone.in(flag) + st.dim.in(seq+" ") + kindInk.in(kind) + " " + body.in(frame) + st.dim.in(right)
}

// since says how long after the entry before it an entry came.
func (p *chunksPane) since(i int) string {
	if i == 0 || p.entries[i].At.IsZero() || p.entries[i-1].At.IsZero() {
		return ""
	}
	return apart(p.entries[i].At.Sub(p.entries[i-1].At))
}

// apart writes the time between two things that may have come in either order.
func apart(d time.Duration) string {
	sign := "+"
	if d < 0 {
		sign, d = "-", -d
	}
	switch {
	case d < 9995*time.Millisecond:
		return fmt.Sprintf("%s%.2f s", sign, d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%s%.1f s", sign, d.Seconds())
	}
	return sign + clock(d)
}

func sequence(n uint64) string { return strconv.FormatUint(n, 10) }

// kindName is the kind of a chunk, short enough for a column.
func kindName(k aip.ChunkKind) string {
	switch k {
	case aip.KindProgress:
		return "prog"
	case aip.KindThought:
		return "think"
	case aip.KindPreview:
		return "prev"
	case aip.KindPendingApproval:
		return "appr"
	}
	return safe.Line(string(k))
}

// frameName is what the entry's frame is called in the list. A name that is
// not plain may hold anything, and is left to the inspector.
func frameName(e *model.Entry) string {
	switch {
	case e.Frame == "other" && plainName(e.Event):
		return e.Event
	case e.Frame == "":
		return "other"
	}
	return safe.Line(e.Frame)
}

// plainName reports whether a name may be shown where content is masked.
func plainName(s string) bool {
	if len(s) == 0 || len(s) > 64 {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '.', c == '_', c == ':', c == '-':
		default:
			return false
		}
	}
	return true
}
