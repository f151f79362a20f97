package mask

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The assistant's text keeps its length in characters and the white space at
// the edges of its pieces, and nothing else. What the reducer compares stays
// comparable: a whole text that repeats a stream, or a part of it, becomes the
// same fill as that stretch of the stream; any other becomes a fill that no
// stream has.
const (
	streamFills = "▒▓░▖▗▘▙▚▛▜▝▞▟" // one to a stream, in turn
	wholeHeads  = "▁▂▃▄▅▆▇"       // number a text that no stream holds
	wholeFill   = '█'             // follows them
)

const (
	searched = 256 // streams that a whole text is looked up in
	splits   = 16  // stretches of streams that are looked for inside one whole text
)

// place is where a text stands in its turn, in the reducer's order: behind the
// chunk of a sequence, recovered events by their index, then the order within
// the frame.
type place struct {
	seq uint64
	sub int64
	ord int
}

func comparePlaces(a, b place) int {
	return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.sub, b.sub), cmp.Compare(a.ord, b.ord))
}

// piece is one delta of a stream.
type piece struct {
	place
	text  string // until the stream is joined
	start int    // offsets in the stream: bytes of orig, characters of masked
	char  int
}

// stream is the text of one message or content item, or a whole text that no
// stream holds.
type stream struct {
	pieces []piece
	orig   string
	masked []rune
	fill   rune
}

// texts are the streams of one action.
type texts struct {
	streams  []*stream          // those of deltas first
	byKey    map[string]*stream // of deltas
	byText   map[string]*stream // of whole texts that no stream holds
	thoughts []place            // of what the provider calls reasoning
	others   []place            // of frames that grow no stream
	joined   bool
}

func newTexts() texts {
	return texts{byKey: map[string]*stream{}, byText: map[string]*stream{}}
}

// learn notes a delta. It must not be called after the streams were joined.
func (t *texts) learn(key string, at place, text string) {
	s := t.byKey[key]
	if s == nil {
		fills := []rune(streamFills)
		s = &stream{fill: fills[len(t.byKey)%len(fills)]}
		t.byKey[key] = s
		t.streams = append(t.streams, s)
	}
	s.pieces = append(s.pieces, piece{place: at, text: text})
}

// forget takes back what was learned of a place: the chunk behind a recovered event
// came after all.
func (t *texts) forget(at place) {
	here := func(p place) bool { return p.seq == at.seq && p.sub == at.sub }
	t.thoughts, t.others = slices.DeleteFunc(t.thoughts, here), slices.DeleteFunc(t.others, here)
	for _, s := range t.streams {
		s.pieces = slices.DeleteFunc(s.pieces, func(p piece) bool { return here(p.place) })
	}
}

// join puts every stream in order.
func (t *texts) join() {
	if t.joined {
		return
	}
	t.joined = true
	slices.SortFunc(t.thoughts, comparePlaces)
	slices.SortFunc(t.others, comparePlaces)
	for _, s := range t.streams {
		slices.SortStableFunc(s.pieces, func(a, b piece) int { return comparePlaces(a.place, b.place) })
		s.pieces = slices.CompactFunc(s.pieces, func(a, b piece) bool { return a.place == b.place })
		var b strings.Builder
		blank := true
		for i := range s.pieces {
			p := &s.pieces[i]
			p.start, p.char = b.Len(), len(s.masked)
			b.WriteString(p.text)
			lead, core, trail := edges(p.text)
			switch {
			case core == "" || blank || strings.Contains(lead, "\n"):
				s.masked = append(s.masked, spaces(lead)...)
			default:
				s.masked = append(s.masked, fill(s.fill, lead)...) // the space before a word
			}
			s.masked = append(append(s.masked, fill(s.fill, core)...), spaces(trail)...)
			blank = blank && core == ""
			p.text = ""
		}
		s.orig = b.String()
	}
}

// delta masks a piece of a stream by its place. Without a place of its own it
// is a text like any other.
func (t *texts) delta(key string, at place, text string) string {
	if s := t.byKey[key]; s != nil {
		i, ok := slices.BinarySearchFunc(s.pieces, at, func(p piece, at place) int { return comparePlaces(p.place, at) })
		if ok && strings.HasPrefix(s.orig[s.pieces[i].start:], text) {
			p := s.pieces[i]
			return s.cut(p.start, p.start+len(text))
		}
	}
	return t.whole(text, nil)
}

// whole masks a text that may repeat a stream or a part of it; its own first.
func (t *texts) whole(text string, own *stream) string {
	if own != nil && own.orig == text {
		return string(own.masked)
	}
	lead, core, trail := edges(text)
	return string(spaces(lead)) + t.core(core, splits, func() (string, bool) { return t.contained(core, own) }) + string(spaces(trail))
}

// closing masks the whole text at the end of a turn, which repeats a stream only
// where it is the stream's end.
func (t *texts) closing(text string) string {
	lead, core, trail := edges(text)
	return string(spaces(lead)) + t.core(core, splits, func() (string, bool) {
		for _, s := range t.near() {
			if end := strings.TrimRightFunc(s.orig, unicode.IsSpace); strings.HasSuffix(end, core) {
				return s.cut(len(end)-len(core), len(end)), true
			}
		}
		return "", false
	}) + string(spaces(trail))
}

// thinking masks what the provider calls reasoning, which repeats a stream only
// where it is the beginning of the visible text of the latest model call.
func (t *texts) thinking(at place, text string) string {
	lead, core, trail := edges(text)
	return string(spaces(lead)) + t.core(core, 0, func() (string, bool) { return t.call(at, core) }) + string(spaces(trail))
}

// call looks for core at the beginning of the model call that ends at a place.
// A call begins behind the reasoning before, or where other frames interrupted
// the stream since.
func (t *texts) call(at place, core string) (string, bool) {
	var s *stream
	upTo := 0
	for _, o := range t.near() {
		if i := o.upTo(at); i > 0 && (s == nil || comparePlaces(s.pieces[upTo-1].place, o.pieces[i-1].place) < 0) {
			s, upTo = o, i
		}
	}
	if s == nil {
		return "", false
	}
	end := len(s.orig)
	if upTo < len(s.pieces) {
		end = s.pieces[upTo].start
	}
	begin := 0
	if i := search(t.thoughts, at); i > 0 {
		begin = s.upTo(t.thoughts[i-1])
	}
	for i := upTo - 1; i >= begin; i-- {
		p := s.pieces[i]
		if i > begin && search(t.others, p.place) == search(t.others, s.pieces[i-1].place) {
			continue
		}
		call := s.orig[p.start:end]
		blank := len(call) - len(strings.TrimLeftFunc(call, unicode.IsSpace))
		if strings.HasPrefix(call[blank:], core) {
			return s.cut(p.start+blank, p.start+blank+len(core)), true
		}
	}
	return "", false
}

// upTo counts the pieces before a place.
func (s *stream) upTo(at place) int {
	return sort.Search(len(s.pieces), func(i int) bool { return comparePlaces(s.pieces[i].place, at) >= 0 })
}

// search counts the places before another.
func search(places []place, at place) int {
	i, _ := slices.BinarySearchFunc(places, at, comparePlaces)
	return i
}

// core masks a text without edges: as what find found, else as the streams that
// stand inside it and a fill of its own around them.
func (t *texts) core(core string, left int, find func() (string, bool)) string {
	if core == "" {
		return ""
	}
	if got, ok := find(); ok {
		return got
	}
	if s := t.byText[core]; s != nil {
		return string(s.masked)
	}
	var in *stream
	var from, to, at int
	for _, s := range t.near() {
		if left == 0 {
			break
		}
		lead, body, _ := edges(s.orig)
		if len(body) <= to-from || len(body) >= len(core) {
			continue
		}
		if i := strings.Index(core, body); i >= 0 {
			in, at, from, to = s, i, len(lead), len(lead)+len(body)
		}
	}
	if in == nil {
		return t.fresh(core)
	}
	around := func(text string) string {
		lead, core, trail := edges(text)
		return string(spaces(lead)) + t.core(core, left/2, func() (string, bool) { return t.contained(core, nil) }) + string(spaces(trail))
	}
	return around(core[:at]) + in.cut(from, to) + around(core[at+to-from:])
}

// contained looks for core in the streams, its own first.
func (t *texts) contained(core string, own *stream) (string, bool) {
	for i, s := range append([]*stream{own}, t.near()...) {
		if i == 0 && own == nil {
			continue
		}
		if at := strings.Index(s.orig, core); at >= 0 {
			return s.cut(at, at+len(core)), true
		}
	}
	return "", false
}

// fresh gives a text that no stream holds a fill of its own.
func (t *texts) fresh(core string) string {
	n := len(t.byText)
	s := &stream{orig: core, masked: fill(wholeFill, core)}
	heads := []rune(wholeHeads)
	for i := range min(3, len(s.masked)) {
		s.masked[i] = heads[n%len(heads)]
		n /= len(heads)
	}
	t.byText[core] = s
	if len(t.streams) < searched {
		t.streams = append(t.streams, s)
	}
	return string(s.masked)
}

// near are the streams that a whole text is looked up in.
func (t *texts) near() []*stream { return t.streams[:min(len(t.streams), searched)] }

// cut returns the masked stretch between two offsets of the original.
func (s *stream) cut(from, to int) string {
	start, char := 0, 0
	if i := sort.Search(len(s.pieces), func(i int) bool { return s.pieces[i].start > from }); i > 0 {
		start, char = s.pieces[i-1].start, s.pieces[i-1].char
	}
	char += utf8.RuneCountInString(s.orig[start:from])
	return string(s.masked[char : char+utf8.RuneCountInString(s.orig[from:to])])
}

// edges splits a text into the white space around it and the rest.
func edges(text string) (lead, core, trail string) {
	rest := strings.TrimLeftFunc(text, unicode.IsSpace)
	core = strings.TrimRightFunc(rest, unicode.IsSpace)
	return text[:len(text)-len(rest)], core, rest[len(core):]
}

func fill(with rune, text string) []rune {
	return slices.Repeat([]rune{with}, utf8.RuneCountInString(text))
}

// spaces returns white space as it is, the rarer kinds as a plain space.
func spaces(text string) []rune {
	out := []rune(text)
	for i, r := range out {
		if r != '\n' && r != '\t' {
			out[i] = ' '
		}
	}
	return out
}
