package model

import (
	"maps"
	"slices"
	"sort"
	"strings"
	"time"
)

// snapshotSpacing is how many entries stand between two snapshots: what a look
// back folds at most, in a turn of few tools.
const snapshotSpacing = 4096

// snapshot is the fold as the first n entries made it, so that a look back need not
// begin at the first. It shares with the turn what only grows there, and holds
// copies of what changes; it is never truth.
type snapshot struct {
	n       int
	chunks  int
	last    int64 // of their times, the latest
	retimed bool  // one of them has another time since

	fold
	tail     Segment // the last segment but for its text, for others do not change
	tailText int     // bytes of its text
	answered int     // bytes of the answer
	tools    []Tool
}

// grown is a text that only grows. That of a past grows as the turn's did, and shares it.
type grown struct {
	along string // another's text, of which it is
	n     int    // so many bytes, until it says something else
	own   strings.Builder
}

func (t *grown) String() string {
	if t.along != "" {
		return t.along[:t.n]
	}
	return t.own.String()
}

func (t *grown) Len() int { return len(t.String()) }

func (t *grown) WriteString(s string) {
	if t.along != "" {
		if strings.HasPrefix(t.along[t.n:], s) {
			t.n += len(s)
			return
		}
		t.own.WriteString(t.along[:t.n])
		t.along = ""
	}
	t.own.WriteString(s)
}

// keepSnapshot keeps a snapshot of the first n entries, which are all that were
// folded, if it is time for one. What must be copied for it is weighed against the
// entries since the last, so that all snapshots together hold a few bytes an entry.
func (t *Turn) keepSnapshot(n int) {
	since := n
	if k := len(t.snapshots); k > 0 {
		since -= t.snapshots[k-1].n
	}
	copies := len(t.tools) + len(t.texts) + len(t.running) + len(t.ordinal) + len(t.keyOf)
	if since < t.spacing+t.spacing/256*copies || t.replied {
		return
	}
	s := snapshot{n: n, fold: t.fold, answered: t.answer.Len()}
	if k := len(t.segments); k > 0 {
		tail := t.segments[k-1]
		s.tail = Segment{Kind: tail.Kind, Message: tail.Message, Tools: slices.Clip(tail.Tools), Waiting: tail.Waiting, First: tail.First, Last: tail.Last}
		s.tailText = tail.len()
	}
	s.copyMaps()
	s.answer = nil
	s.fold.tools, s.byKey = nil, nil
	s.tools = make([]Tool, len(t.tools))
	for i, tool := range t.tools {
		s.tools[i] = *tool
	}
	t.snapshots = append(t.snapshots, s)
	t.measure(len(t.snapshots) - 1)
}

// copyMaps gives the fold its own of what two folds cannot share.
func (f *fold) copyMaps() {
	f.running, f.ordinal, f.texts = maps.Clone(f.running), maps.Clone(f.ordinal), maps.Clone(f.texts)
	f.keyOf = maps.Clone(f.keyOf)
	for name, queue := range f.running {
		f.running[name] = slices.Clip(queue)
	}
	for message, c := range f.texts {
		c.segments = slices.Clip(c.segments)
		f.texts[message] = c
	}
	f.segments, f.steps = slices.Clip(f.segments), slices.Clip(f.steps)
	f.failures, f.breaches = slices.Clip(f.failures), slices.Clip(f.breaches)
}

// measure counts the chunks of the k-th snapshot, and finds the latest time.
func (t *Turn) measure(k int) {
	s, from := &t.snapshots[k], 0
	s.chunks, s.last, s.retimed = 0, noTime, false
	if k > 0 {
		before := &t.snapshots[k-1]
		from, s.chunks, s.last = before.n, before.chunks, before.last
	}
	for i := from; i < s.n; i++ {
		e := t.slots.at(i)
		s.last = max(s.last, e.at)
		if !e.recovered() {
			s.chunks++
		}
	}
}

// retimed says that an entry has another time than when it was folded.
func (t *Turn) retimed(entry int) {
	for k := len(t.snapshots) - 1; k >= 0 && t.snapshots[k].n > entry; k-- {
		t.snapshots[k].retimed = true
	}
}

// UpTo returns the turn as its first n entries made it: what was known before
// the rest came, without an outcome. It has the text and the tools of the
// moment, and no entries of its own. The receiver shows the same after it as before.
func (t *Turn) UpTo(n int) *Turn {
	n = max(0, min(n, t.slots.n))
	p := NewTurn(t.action)
	p.spacing = n + 1 // it keeps no snapshots
	p.capability, p.endpoint, p.op, p.request = t.capability, t.endpoint, t.op, t.request
	p.first, p.last = t.first, t.first
	from := 0
	if k := sort.Search(len(t.snapshots), func(k int) bool { return t.snapshots[k].n > n }) - 1; k >= 0 {
		for i := range k + 1 {
			if t.snapshots[i].retimed {
				t.measure(i)
			}
		}
		from = t.snapshots[k].n
		t.restore(p, &t.snapshots[k])
	}
	for i := from; i < n; i++ {
		e := t.unpack(i, t.segments)
		e.unfold()
		if e.At.After(p.last) {
			p.last = e.At
		}
		if !e.Recovered {
			p.chunks++
		}
		p.foldEntry(&e)
	}
	p.Apply(nil)
	return p
}

// restore gives p the fold of a snapshot of t.
func (t *Turn) restore(p *Turn, s *snapshot) {
	p.chunks = s.chunks
	if at := time.Unix(0, s.last).UTC(); s.last != noTime && at.After(p.last) {
		p.last = at
	}
	p.fold = s.fold
	p.copyMaps()
	p.answer = &grown{along: t.Text(), n: s.answered}
	if k := len(s.segments); k > 0 {
		was, tail := t.segments[k-1], s.tail
		if was.in == t.answer {
			tail.in, tail.from, tail.to = p.answer, was.from, was.from+s.tailText
		} else {
			tail.in, tail.to = &grown{along: was.Text(), n: s.tailText}, s.tailText
		}
		p.segments = append(slices.Clone(s.segments[:k-1]), &tail)
		if s.lastText == was {
			p.lastText = &tail
		}
	}
	p.tools, p.byKey = make([]*Tool, len(s.tools)), make(map[string]*Tool, len(s.tools))
	tools := slices.Clone(s.tools)
	for i := range tools {
		tool := &tools[i]
		if tool.Status == ToolUnended {
			tool.Status = ToolRunning // the end of the turn came after that
		}
		t.timeAgain(tool)
		p.tools[i], p.byKey[tool.Key] = tool, tool
	}
	p.left = 0
}

// timeAgain gives a tool the times that its chunks have now: a chunk's own event
// may come behind it.
func (t *Turn) timeAgain(tool *Tool) {
	for _, c := range []struct {
		has      bool
		sequence uint64
	}{{tool.HasStart, tool.Started}, {tool.HasEnd, tool.Ended}} {
		if c.has {
			if i, ok := t.find(c.sequence); ok {
				e := t.unpack(i, t.segments)
				tool.time(&e)
			}
		}
	}
}
