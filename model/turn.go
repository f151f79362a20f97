package model

import (
	"encoding/json"
	"slices"
	"time"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// Gap is a range of sequences, both ends included, that never came although
// chunks on both sides of it did.
type Gap struct{ First, Last uint64 }

// Usage is the provider's token count.
type Usage struct {
	Present bool
	Input   int64
	Output  int64
	Total   int64
	Raw     json.RawMessage
}

// Turn is what the rows of one action add up to. The zero Turn is not ready;
// use NewTurn.
//
// Frames are folded in the order of their sequences. A frame that comes late,
// below the highest one folded, makes the fold start again; so the order of
// arrival never shows.
type Turn struct {
	action     string
	applied    int64
	revision   int
	restarts   int
	capability string
	endpoint   string
	op         hermes.Operation // from the capability, else from the result
	request    *Request
	asked      time.Time // when the request was journaled

	slots     slots
	labels    []label // of the slots
	labelOf   map[label]uint16
	early     early
	chunks    int
	gaps      []Gap
	conflicts []uint64
	unlike    map[uint64][]int64 // journal rows of the other content under a sequence
	recovered map[hermes.Digest]int
	first     time.Time
	last      time.Time

	state     aip.State
	result    *Result // the first that settled
	others    int     // settled results unlike it
	misnamed  bool    // it names another operation than its frames are of
	waitsFor  aip.ResultStatus
	settled   *Settled
	successor string
	why       string

	confirmedTools  map[string]int64 // key to the row up to which it was seen
	confirmedAnswer int64

	snapshots []snapshot
	spacing   int // entries from one to the next, at least

	fold
}

// NewTurn returns the turn of an action of which nothing is known yet.
func NewTurn(action string) *Turn {
	return &Turn{
		action:         action,
		unlike:         map[uint64][]int64{},
		recovered:      map[hermes.Digest]int{},
		confirmedTools: map[string]int64{},
		spacing:        snapshotSpacing,
		labelOf:        map[label]uint16{},
		fold:           newFold(),
	}
}

// Apply folds rows in. Rows may come in batches of any size; those already
// applied change nothing.
func (t *Turn) Apply(rows []Row) {
	refold := false
	for i := range rows {
		r := &rows[i]
		if r.Number != 0 && r.Number <= t.applied {
			continue
		}
		t.applied = max(t.applied, r.Number)
		t.revision++
		if !r.At.IsZero() {
			t.span(r.At)
		}
		switch {
		case r.Request != nil:
			t.request, t.asked = r.Request, r.At
			refold = t.setCapability(r.Request.Capability) || refold
		case r.Status != nil:
			t.state = r.Status.State
			refold = t.setCapability(r.Status.CapabilityID) || refold
		case r.Kind == RowConflict && r.Chunk != nil:
			t.conflict(r.Chunk.Sequence, r.Number)
		case r.Chunk != nil:
			refold = t.addChunk(r) || refold
		case r.Recovered != nil:
			refold = t.addRecovered(r) || refold
		case r.Event != nil:
			t.addEvent(r.Event)
		case r.Kind == RowReplay && r.Result != nil:
			t.successor, t.why = r.Result.ActionID, "replay"
		case r.Result != nil:
			refold = t.addResult(r.Result) || refold
		case r.Settled != nil:
			if r.Settled.Code == "" || t.settled == nil {
				t.settled = r.Settled
			}
		case r.Confirm != nil:
			for _, key := range r.Confirm.Tools {
				t.confirmedTools[key] = r.Confirm.Through
			}
			if r.Confirm.Answer {
				t.confirmedAnswer = r.Confirm.Through
			}
		}
	}
	if refold {
		t.refold()
	}
	if t.over || t.Settled() {
		for ; t.left < len(t.tools); t.left++ {
			if tool := t.tools[t.left]; tool.Status == ToolRunning {
				t.setStatus(tool, ToolUnended, tool.Started)
			}
		}
	}
}

func (t *Turn) span(at time.Time) {
	if t.first.IsZero() || at.Before(t.first) {
		t.first = at
	}
	if at.After(t.last) {
		t.last = at
	}
}

// setCapability learns the capability; it reports whether frames must be read
// again because they were read without it.
func (t *Turn) setCapability(id string) bool {
	if id == "" || t.capability != "" {
		return false
	}
	t.capability = id
	endpoint, op, ok := hermes.ParseCapability(id)
	if !ok {
		return false
	}
	t.endpoint = endpoint
	return t.setOperation(op)
}

func (t *Turn) setOperation(op hermes.Operation) bool {
	before := t.op
	t.op = op
	return before.Family() != op.Family() && t.slots.n > 0
}

func (t *Turn) addChunk(r *Row) bool {
	c := r.Chunk
	e := Entry{Row: r.Number, Sequence: c.Sequence, Kind: c.Kind, Size: len(r.Raw), At: r.At, Segment: -1}
	if at, ok := t.early.take(c.Sequence); ok {
		e.At, e.Timed = timeOf(at), true
	}
	content := r.Content()
	digest := content.Digest()
	e.frame = content.Frame(t.op)
	refold := false
	if e.frame.Family == hermes.FamilyOperator {
		refold = t.setOperation(hermes.OpOperator)
	}
	t.chunks++
	if t.recovered[digest] > 0 && digest != (hermes.Digest{}) {
		// The chunk behind an event of the aggregate came after all.
		for i := range t.slots.n {
			if s := t.slots.at(i); s.recovered() && s.whole.digest == digest {
				t.slots.remove(i)
				break
			}
		}
		t.recovered[digest]--
		refold = true
	}
	return t.insert(e) || refold
}

func (t *Turn) addRecovered(r *Row) bool {
	rec := r.Recovered
	e := Entry{Row: r.Number, Sequence: rec.After, Size: len(r.Raw), At: r.At, Recovered: true, Segment: -1, sub: rec.Index + 1}
	if rec.First {
		e.Sequence, e.sub = 0, rec.Index-1<<40
	}
	e.frame, e.digest = hermes.Decode(rec.Record, t.op), rec.Record.Digest()
	t.recovered[e.digest]++
	return t.insert(e)
}

// insert puts an entry in its place and folds it, unless it stands below one
// that was folded: then it reports that the fold must start again.
func (t *Turn) insert(e Entry) bool {
	n := t.slots.n
	if n == 0 || t.slots.compare(n-1, e.Sequence, e.sub) < 0 {
		if !e.Recovered && n > 0 {
			if last, ok := t.lastChunk(); ok && e.Sequence > last+1 {
				t.gaps = append(t.gaps, Gap{last + 1, e.Sequence - 1})
			}
		}
		t.foldEntry(&e)
		t.insertSlot(n, &e)
		t.keepSnapshot(n + 1)
		return false
	}
	i, found := t.slots.search(e.Sequence, e.sub)
	if found {
		return false
	}
	t.insertSlot(i, &e)
	return true
}

// lastChunk is the highest sequence, of chunks that came.
func (t *Turn) lastChunk() (sequence uint64, ok bool) {
	for i := t.slots.n - 1; i >= 0; i-- {
		if !t.slots.at(i).recovered() {
			return t.slots.sequence(i), true
		}
	}
	return 0, false
}

func (t *Turn) refold() {
	t.restarts++
	segments := t.segments // the texts of entries are there
	t.fold = newFold()
	t.snapshots = nil
	t.gaps = nil
	last, any := uint64(0), false
	for i := range t.slots.n {
		e := t.unpack(i, segments)
		if t.op.Family() != hermes.FamilyNone {
			e.frame.Family = readAs(e.frame.Family, t.op.Family())
		}
		e.unfold()
		if !e.Recovered {
			if any && e.Sequence > last+1 {
				t.gaps = append(t.gaps, Gap{last + 1, e.Sequence - 1})
			}
			last, any = e.Sequence, true
		}
		t.foldEntry(&e)
		b, s := t.slots.place(i)
		*s = t.pack(b, &e)
		t.keepSnapshot(i + 1)
	}
	if t.result != nil {
		t.foldResult()
	}
}

// readAs settles the family of a frame that was read before the operation was
// known: session and run streams share names.
func readAs(read, known hermes.Family) hermes.Family {
	shared := func(f hermes.Family) bool { return f == hermes.FamilySession || f == hermes.FamilyRun }
	if shared(read) && shared(known) {
		return known
	}
	return read
}

func (t *Turn) conflict(seq uint64, row int64) {
	t.unlike[seq] = append(t.unlike[seq], row)
	i, found := slices.BinarySearch(t.conflicts, seq)
	if !found {
		t.conflicts = slices.Insert(t.conflicts, i, seq)
	}
	if i, ok := t.find(seq); ok {
		t.slots.at(i).mark(markConflict, true)
	}
}

// find returns the index of the chunk with a sequence.
func (t *Turn) find(seq uint64) (int, bool) {
	i, ok := t.slots.search(seq, 0)
	return i, ok && !t.slots.at(i).recovered()
}

func (t *Turn) addEvent(ev *aip.Event) {
	if ev.OccurredAt.IsZero() {
		return
	}
	seq, ok := ev.ChunkSequence()
	if !ok {
		return
	}
	i, ok := t.find(seq)
	if !ok {
		t.early.keep(seq, instant(ev.OccurredAt.Time))
		return
	}
	s := t.slots.at(i)
	s.at = instant(ev.OccurredAt.Time)
	s.mark(markTimed, true)
	t.retimed(i)
	if s.whole != nil && s.whole.Tool != "" {
		if tool := t.byKey[s.whole.Tool]; tool != nil {
			e := t.unpack(i, t.segments)
			tool.time(&e)
		}
	}
}

func (t *Turn) addResult(r *Result) bool {
	if r.ActionID == "" {
		return false // whose it is, nobody knows
	}
	t.waitsFor = ""
	if r.InProgress() {
		t.successor, t.why = r.Error.Detail("owner_action_id"), "in progress"
		return false
	}
	if !r.Status.Settles() {
		t.waitsFor = r.Status
		return false
	}
	if t.result != nil {
		switch {
		case !sameOutcome(t.Operation(), t.result, r):
			t.others++
		case t.result.Aggregate == nil && r.Aggregate != nil:
			// The answer to a submission comes before the chunks that it is
			// compared with.
			t.result = r
		}
		return false
	}
	t.result = r
	refold := false
	if t.op == "" && t.capability == "" {
		// Only an account of a stream names its operation.
		if op := hermes.Operation(readOutput(r.Output).Operation); rulesOf(op) == rulesStream {
			if t.family != hermes.FamilyNone && op.Family() != readAs(t.family, op.Family()) {
				t.misnamed = true
			}
			refold = t.setOperation(op)
		}
	}
	if !refold {
		t.foldResult()
	}
	return refold
}
