package ui

import (
	"context"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"aipscope/model"
	"aipscope/model/safe"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// A piece of the text that is looked through at once, in bytes, and how much of
// text that still grows is looked at again when more has come.
const (
	findPiece = 512 << 10
	findGuard = 512
)

// find is the search of the assistant's text: a phrase, in its source as it came.
// What is folded is not searched.
type find struct {
	phrase  string // "" is no search
	words   *regexp.Regexp
	id      int
	hits    []textHit // in their order
	stretch int       // those before it were looked through
	next    int       // and of it so many bytes,
	seen    int       // when it had so many
	busy    bool
	seeking bool // the view waits for a hit
	at      int  // the one that was gone to, when on
	on      bool
}

// textHit is a place in a stretch's text, in bytes.
type textHit struct{ stretch, from, to int }

// phraseOf reads what was typed: words that follow each other, whatever blanks,
// line ends and emphasis stand between them. Capitals are meant.
func phraseOf(s string) (*regexp.Regexp, error) {
	words := strings.Fields(s)
	for i, w := range words {
		words[i] = regexp.QuoteMeta(w)
	}
	pattern := strings.Join(words, "[*_~`]*[\\s>]+[*_~`]*")
	if !strings.ContainsFunc(s, unicode.IsUpper) {
		pattern = "(?i:" + pattern + ")"
	}
	return regexp.Compile(pattern)
}

// again begins the search anew; the phrase stays.
func (f *find) again() {
	f.id++
	*f = find{phrase: f.phrase, words: f.words, id: f.id}
}

// found says which hit the view is at, and of how many.
func (f *find) found(more bool) string {
	if f.phrase == "" {
		return ""
	}
	out := "/" + safe.Line(f.phrase) + "  "
	switch {
	case len(f.hits) == 0 && more:
		return out + "searching"
	case len(f.hits) == 0:
		return out + "not found"
	case f.on:
		out += number(f.at+1) + " of " + number(len(f.hits))
	default:
		out += number(len(f.hits)) + " found"
	}
	if more {
		out += " so far"
	}
	return out
}

// textPiece is a part of a stretch's text; more says that there may be some behind it.
type textPiece struct {
	stretch, from int
	text          string
	more          bool
}

// findMsg is what a piece of the search brought, and where it goes on.
type findMsg struct {
	id, stretch, next, seen int
	hits                    []textHit
}

func runFind(ctx context.Context, id int, words *regexp.Regexp, pieces []textPiece) tea.Msg {
	m := findMsg{id: id}
	for _, q := range pieces {
		if ctx.Err() != nil {
			break
		}
		end := q.from
		for _, at := range words.FindAllStringIndex(q.text, -1) {
			end = q.from + at[1]
			m.hits = append(m.hits, textHit{q.stretch, q.from + at[0], end})
		}
		m.stretch, m.next, m.seen = q.stretch+1, 0, 0
		if q.more {
			// A phrase may have begun at the end of what there is.
			back := max(0, len(q.text)-findGuard)
			for back > 0 && !utf8.RuneStart(q.text[back]) {
				back--
			}
			m.stretch, m.next, m.seen = q.stretch, max(end, q.from+back), q.from+len(q.text)
		}
	}
	return m
}

// unsearched reports whether there is text that was not looked through.
func (p *assistantPane) unsearched() bool {
	f := &p.find
	return f.phrase != "" && (f.stretch < len(p.stretches)-1 || f.stretch < len(p.stretches) && f.seen < p.stretches[f.stretch].used)
}

// finding returns the command that goes on with the search.
func (c *Console) finding() tea.Cmd {
	p := &c.assistant
	f := &p.find
	if f.busy || !p.unsearched() {
		return nil
	}
	var pieces []textPiece
	from, room := f.next, findPiece
	for i := f.stretch; i < len(p.stretches) && room > 0; i++ {
		s := p.stretches[i]
		q := textPiece{stretch: i, from: from, more: i == len(p.stretches)-1 && !p.settled}
		if s.doc != nil {
			q.text = s.seg.Text()[from:s.used]
		}
		if len(q.text) > room {
			q.text, q.more = q.text[:room], true
		}
		room -= len(q.text) + 1
		pieces = append(pieces, q)
		from = 0
	}
	f.busy = true
	ctx, id, words := c.ctx, f.id, f.words
	return func() tea.Msg { return runFind(ctx, id, words, pieces) }
}

// takeFound takes in what a piece of the search brought; one that belongs to an
// older search is dropped.
func (c *Console) takeFound(m findMsg) tea.Cmd {
	f := &c.assistant.find
	if m.id != f.id || c.ctx.Err() != nil {
		return nil
	}
	f.busy, f.stretch, f.next, f.seen = false, m.stretch, m.next, m.seen
	f.hits = append(f.hits, m.hits...)
	c.dirty = true
	c.seekText()
	return c.finding()
}

// startFind begins to look for a phrase; "" ends the search.
func (c *Console) startFind(phrase string, words *regexp.Regexp) tea.Cmd {
	f := &c.assistant.find
	f.phrase, f.words = phrase, words
	f.again()
	f.seeking = phrase != ""
	return c.finding()
}

// seekText goes to the first hit in sight or below; once there is none, to the first
// of all.
func (c *Console) seekText() {
	p := &c.assistant
	f := &p.find
	if !f.seeking {
		return
	}
	if n := len(f.hits); n > 0 && p.behindTop(f.hits[n-1]) {
		c.goToText(sort.Search(n, func(i int) bool { return p.behindTop(f.hits[i]) }))
		return
	}
	if p.unsearched() {
		return
	}
	f.seeking = false
	switch {
	case len(f.hits) > 0:
		c.goToText(0)
		c.notice("Around the end.", c.styles.dim)
	default:
		say := "Not found: " + safe.Line(f.phrase)
		if p.folds() && !p.unfolded {
			say += " (what is folded is not searched; t unfolds)"
		}
		c.notice(say, c.styles.text)
	}
}

// goToText points at the line of a hit.
func (c *Console) goToText(i int) {
	p := &c.assistant
	p.find.seeking, p.find.on, p.find.at = false, true, i
	p.pointAt(p.lineOf(p.find.hits[i]))
}

// nextText goes to the hit before or behind the one that the view is at, or behind
// its first line.
func (c *Console) nextText(forward bool) {
	p := &c.assistant
	f := &p.find
	n, i := len(f.hits), f.at
	switch {
	case f.on && forward:
		i++
	case f.on:
		i--
	default:
		i = sort.Search(n, func(i int) bool { return p.behindTop(f.hits[i]) })
		if !forward {
			i--
		}
	}
	if i < 0 || i >= n {
		c.notice("Around the end.", c.styles.dim)
	}
	c.goToText((i + n) % n)
}

// behindTop reports whether a hit is in sight or below.
func (p *assistantPane) behindTop(h textHit) bool {
	line := p.lineOf(h) // which may move the top
	return line >= p.top
}

// lineOf is the line of the pane on which a hit ends.
func (p *assistantPane) lineOf(h textHit) int {
	s := p.stretches[h.stretch]
	if s.doc == nil {
		return p.lineIn(h.stretch, 0)
	}
	// To the end of its word, which moves to the next line as a whole.
	text := s.seg.Text()[:s.used]
	to := h.to
	for to < min(len(text), h.to+64) && !strings.ContainsRune(" \t\n", rune(text[to])) {
		to++
	}
	again := p.keep()
	line := s.doc.UpTo(to).Extent() - 1
	for place := s.doc.Place(line); s.doc.Show(line-4, line+8); {
		line = s.doc.LineOf(place)
	}
	again()
	// A row that is not whole is held back, and some lines are drawn above what they
	// stand behind: the nearest that shows the phrase is meant.
	from := max(0, line-4)
	around := plainLines(s.doc.Lines(from, line+8))
	best := -1
	for _, m := range matches(around, p.find.words) {
		if i := from + m.line; best < 0 || abs(i-line) < abs(best-line) {
			best = i
		}
	}
	if best >= 0 {
		line = best
	}
	return p.lineIn(h.stretch, line)
}

func abs(n int) int { return max(n, -n) }

// lineMatch is a part of a line, in bytes of its plain text.
type lineMatch struct{ line, from, to int }

// matches finds a phrase in lines of plain text; where it goes on in the next line it
// has a part in each.
func matches(lines []string, words *regexp.Regexp) []lineMatch {
	var out []lineMatch
	starts := make([]int, len(lines))
	var b strings.Builder
	for i, l := range lines {
		starts[i] = b.Len()
		b.WriteString(l + "\n")
	}
	for _, m := range words.FindAllStringIndex(b.String(), -1) {
		i, on := slices.BinarySearch(starts, m[0])
		if !on {
			i--
		}
		for ; i < len(lines) && starts[i] < m[1]; i++ {
			from, to := max(0, m[0]-starts[i]), min(len(lines[i]), m[1]-starts[i])
			from += len(lines[i][from:]) - len(strings.TrimLeft(lines[i][from:], " "))
			if from < to {
				out = append(out, lineMatch{i, from, to})
			}
		}
	}
	return out
}

// plainLines are lines without their colours.
func plainLines(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = ansi.Strip(l)
	}
	return out
}

// highlight sets apart what the search finds in lines of a document.
func (p *assistantPane) highlight(lines []string) []string {
	if p.find.phrase == "" {
		return lines
	}
	out := slices.Clone(lines)
	plain := plainLines(lines)
	all := matches(plain, p.find.words)
	for i := 0; i < len(all); {
		k := i
		for k < len(all) && all[k].line == all[i].line {
			k++
		}
		at := all[i].line
		out[at] = p.st.setApart(lines[at], plain[at], all[i:k])
		i = k
	}
	return out
}

// setApart draws parts of a coloured line as matches. The colours go on behind them.
func (s *styles) setApart(line, plain string, parts []lineMatch) string {
	var b strings.Builder
	state, at := "", 0 // bytes of the plain text so far
	in := false
	for len(line) > 0 {
		if seq, ok := cutSGR(line); ok {
			state = after(state, seq)
			if !in {
				b.WriteString(seq)
			}
			line = line[len(seq):]
			continue
		}
		if len(parts) > 0 && !in && at >= parts[0].from {
			in = true
			b.WriteString(change(state, "") + s.match.on)
		}
		if in && at >= clusterEnd(plain, parts[0].to) {
			in, parts = false, parts[1:]
			b.WriteString(s.match.off + state)
			continue
		}
		_, n := utf8.DecodeRuneInString(line)
		b.WriteString(line[:n])
		line, at = line[n:], at+n
	}
	if in {
		b.WriteString(s.match.off)
	}
	return b.String()
}

// inText reports whether what is searched is the text.
func (c *Console) inText() bool { return c.focus == paneAssistant && c.underHelp() == inPanes }

// hasText reports whether there is text to search.
func (p *assistantPane) hasText() bool {
	return slices.ContainsFunc(p.stretches, func(s *stretch) bool { return s.seg.Kind == model.SegmentText || s.doc != nil })
}
