package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/hermes"

	"github.com/charmbracelet/x/ansi"
)

// chunksPane lists every chunk in the order of its sequence, or those that a
// filter lets through. Only the lines in sight are built.
type chunksPane struct {
	st      *styles
	turn    *model.Turn
	entries model.Entries
	hunt    *hunt // the search and the filter
	at      int   // of the moment looked back to, among all entries; -1 is now
	gaps    int
	row     int64  // journal row of the selected entry
	seq     uint64 // its sequence
	list    list
	w, h    int
}

func newChunksPane(st *styles) chunksPane {
	return chunksPane{st: st, at: -1, hunt: newHunt(), list: list{sticky: true}}
}

func (p *chunksPane) resize(w, h int) {
	p.w, p.h = w, h
	p.list.resize(h)
}

// update takes the turn's entries. A selection that does not follow the end
// stays with its chunk, also when others came before it.
func (p *chunksPane) update(turn *model.Turn) {
	p.turn, p.entries, p.gaps = turn, turn.Entries(), len(turn.Gaps())
	p.hunt.check(turn)
	p.refresh()
}

// refresh counts the lines anew, after the turn or the filter changed.
func (p *chunksPane) refresh() {
	if p.list.paused || p.list.pinned {
		if at := p.find(); at != p.list.selected {
			p.list.offset += at - p.list.selected
			p.list.selected = at
		}
	}
	p.list.grow(p.len())
	if !p.list.pinned {
		p.remember()
	}
}

// len is the number of lines; entry the one on a line, among all entries.
func (p *chunksPane) len() int {
	if p.hunt.filtering() {
		return len(p.hunt.filter.hits)
	}
	return p.entries.Len()
}

func (p *chunksPane) entry(line int) int {
	if p.hunt.filtering() {
		return p.hunt.filter.hits[line]
	}
	return line
}

// lineOf finds the line of an entry, or the one behind it where a filter hides it.
func (p *chunksPane) lineOf(entry int) (line int, shown bool) {
	if !p.hunt.filtering() {
		return entry, entry < p.entries.Len()
	}
	return slices.BinarySearch(p.hunt.filter.hits, entry)
}

// find returns the line on which the selected chunk is now, or the next one.
func (p *chunksPane) find() int {
	line, _ := p.lineOf(p.findEntry())
	return line
}

func (p *chunksPane) findEntry() int {
	from := p.entries.Search(p.seq)
	for i := from; i < p.entries.Len() && p.entries.Sequence(i) == p.seq; i++ {
		if p.entries.Row(i) == p.row {
			return i
		}
	}
	return from
}

// pin keeps the selection where it is although the list follows its end.
func (p *chunksPane) pin(on bool) {
	p.remember()
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
	if i := p.list.selected; i >= 0 && i < p.len() {
		at := p.entry(i)
		p.row, p.seq = p.entries.Row(at), p.entries.Sequence(at)
	}
}

func (p *chunksPane) selected() *model.Entry {
	if i := p.selectedEntry(); i >= 0 {
		e := p.entries.Entry(i)
		return &e
	}
	return nil
}

// selectedEntry is the index of the selected chunk among all entries, or -1. One
// that is open is meant although a filter may hide it.
func (p *chunksPane) selectedEntry() int {
	if p.list.pinned {
		if i := p.findEntry(); i < p.entries.Len() && p.entries.Row(i) == p.row && p.entries.Sequence(i) == p.seq {
			return i
		}
	}
	if i := p.list.selected; i >= 0 && i < p.len() {
		return p.entry(i)
	}
	return -1
}

// chooseSequence selects the first entry of a sequence.
func (p *chunksPane) chooseSequence(seq uint64) bool {
	i := p.entries.Search(seq)
	if i == p.entries.Len() || p.entries.Sequence(i) != seq {
		return false
	}
	p.chooseEntry(i)
	return true
}

// chooseEntry selects one of all entries, and lifts a filter that hides it.
func (p *chunksPane) chooseEntry(i int) {
	line, shown := p.lineOf(i)
	if !shown {
		p.hunt.filter = scan{}
		p.list.grow(p.len())
		line = i
	}
	p.choose(line)
}

func (p *chunksPane) note() string {
	s := number(p.entries.Len())
	if p.gaps > 0 {
		s += ", " + counted(p.gaps, "gap", "gaps")
	}
	if n := p.hunt.note(p.len(), p.entries.Len()); n != "" {
		s += ", " + n
	}
	return s
}

func (p *chunksPane) footer() string {
	found := p.hunt.found(p.selectedEntry(), p.entries.Len())
	if !p.list.paused || p.list.pinned {
		return found
	}
	return strings.TrimPrefix(found+"; "+p.st.paused(p.list.fresh()), "; ")
}

func (p *chunksPane) view(focused bool) []string {
	if p.len() == 0 {
		say := "no chunks yet"
		if p.hunt.filtering() {
			say = "the filter lets none through"
		}
		return []string{" " + p.st.dim.in(say)}
	}
	from, to := p.list.window()
	wide := len(sequence(p.entries.Sequence(p.entry(to - 1))))
	out := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		out = append(out, p.line(i, wide, focused && i == p.list.selected))
	}
	return out
}

// The widths from which a line has its size, the time since the last, and what
// it did beside the frame's name.
const (
	sizeFrom  = 34
	sinceFrom = 44
	didFrom   = 58
)

func (p *chunksPane) line(line, wide int, selected bool) string {
	i := p.entry(line)
	st, one := p.st, p.entries.Entry(i)
	e := &one
	flag, tone := " ", st.dim
	later := p.at >= 0 && i > p.at
	switch {
	case e.Conflict:
		flag, tone = cmp.Or(st.wordGlyph(model.Contradicted), "!"), st.word(model.Contradicted)
	case e.Recovered:
		flag = st.signs.recovered
	case i > 0 && !p.entries.Entry(i-1).Recovered && e.Sequence > p.entries.Sequence(i-1)+1:
		flag, tone = st.signs.gap, st.word(model.Partial)
	case later && !st.plain: // where it would be said again for the mark
		flag = st.signs.later
	}
	seq := fillLeft(sequence(e.Sequence), wide)
	kind := fill(kindName(e.Kind), 5)
	right := ""
	if p.w >= sizeFrom {
		right = fillLeft(size(e.Size), 7)
	}
	if p.w >= sinceFrom {
		right += fillLeft(p.since(i), 8)
	}
	room := max(0, p.w-wide-10-ansi.StringWidth(right))
	frame := frameName(e)
	did := ""
	switch {
	case p.w >= didFrom:
		name := min(26, max(12, room/2))
		did = " " + fill(didText(e, p.turn), room-name-1)
		room = name
	case e.Tool != "":
		frame = didText(e, p.turn) // the frame's name says less
	}
	frame = fill(frame, room)
	hit := p.hunt.hit(i)
	in, chosen := st.row(selected), " "
	if selected {
		chosen = st.glyphs.Chosen
	}
	kindInk := st.dim
	if e.Kind == aip.KindError {
		kindInk = st.word(model.Failed)
	}
	body := st.text
	if e.Frame == "other" || e.Recovered || strings.HasSuffix(e.Frame, ".delta") || strings.HasSuffix(e.Frame, ".text") {
		body = st.dim // words are read on the left; here the eye looks for the rest
	}
	if later {
		body, kindInk = st.dim, st.dim
	}
	if hit {
		seq = st.match.in(seq)
	} else {
		seq = in(st.dim, seq)
	}
	return in(st.text, chosen) + in(tone, flag) + seq + in(st.text, " ") + in(kindInk, kind) + in(body, " "+frame) + in(st.dim, did+right+" ")
}

// since says how long after the entry before it an entry came.
func (p *chunksPane) since(i int) string {
	if i == 0 {
		return ""
	}
	before, e := p.entries.Entry(i-1), p.entries.Entry(i)
	if e.At.IsZero() || before.At.IsZero() {
		return ""
	}
	return apart(e.At.Sub(before.At))
}

// didText says in a few words what a chunk did to the turn.
func didText(e *model.Entry, turn *model.Turn) string {
	if e.Tool != "" {
		if t := turn.Tool(e.Tool); t != nil {
			return toolDid(e, t)
		}
	}
	if s := e.Text(); s != "" {
		return "text +" + number(len([]rune(s)))
	}
	if e.Segment >= 0 && turn.Segments()[e.Segment].Kind == model.SegmentClosing {
		return "closing text, unlike"
	}
	switch e.Does() {
	case hermes.KindRole:
		return "opens a message"
	case hermes.KindText, hermes.KindContent:
		return "repeats the text"
	case hermes.KindItem:
		return "an output item"
	case hermes.KindTool:
		return "of a tool"
	case hermes.KindThinking:
		if e.Segment < 0 {
			return "repeats the text"
		}
		return "thinking"
	case hermes.KindCommentary:
		return "commentary"
	case hermes.KindWaiting:
		return "waits"
	case hermes.KindAnswered:
		return "goes on"
	case hermes.KindStarted:
		return "names the turn"
	case hermes.KindFinish:
		return "the provider's end"
	case hermes.KindError:
		return "an error"
	case hermes.KindDone, hermes.KindClosed:
		return "ends the stream"
	}
	return ""
}

func toolDid(e *model.Entry, t *model.Tool) string {
	switch {
	case t.HasStart && t.Started == e.Sequence:
		return "starts " + toolName(t)
	case t.HasEnd && t.Ended == e.Sequence && t.Status == model.ToolFailed:
		return "fails " + toolName(t)
	case t.HasEnd && t.Ended == e.Sequence:
		return "ends " + toolName(t)
	}
	return "more of " + toolName(t)
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
	return brief(string(k))
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
	return brief(e.Frame)
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
