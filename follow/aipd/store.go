package aipd

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"aipscope/follow/replay"
	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// store is what the daemon remembers. Chunks and events are only ever appended,
// so that a page may be written from them after mu is released.
type store struct {
	mu      sync.Mutex
	actions map[string]*action
	order   []*action // as submitted
	feed    []event   // of all actions: cursors are offsets into this list
	keys    map[string]string
	seen    map[string]time.Time // message IDs, and when they were sent

	stored   responses
	sessions sessions
	turns    int // that the provider runs now
}

func newStore(lib *replay.Library) store {
	return store{actions: map[string]*action{}, keys: map[string]string{}, seen: map[string]time.Time{},
		stored: responses{byID: map[string]json.RawMessage{}, gone: map[string]bool{}}, sessions: newSessions(lib)}
}

// event is an event in the form in which it is delivered.
type event struct {
	id, kind string
	body     []byte
}

// queueState is the state of the record that only async actions have.
type queueState string

const (
	noQueue   queueState = ""
	queued    queueState = "queued"
	running   queueState = "running"
	completed queueState = "completed"
	failed    queueState = "failed"
	cancelled queueState = "cancelled"
)

// action is one action; all but the first group is guarded by the store's mu.
type action struct {
	request     Request
	spec        hermes.Spec
	session     string
	correlation string
	contract    string // differs when the same ID is submitted for something else
	timeout     time.Duration
	created     time.Time
	quoted      []byte // the ID as JSON

	chunks     []aip.Chunk
	events     []int // offsets into the store's list
	queue      queueState
	deadReason string
	approval   string
	result     *hermes.Result
	started    time.Time
	updated    time.Time
	completed  time.Time

	cancel context.CancelCauseFunc // nil when it does not run
	done   chan struct{}           // closed when answer is there
	answer *hermes.Result          // what a waiting submission gets; nil after errClosed
}

// add appends an event of the action to the list. The store is locked.
func (s *store) add(a *action, e event) {
	a.events = append(a.events, len(s.feed))
	s.feed = append(s.feed, e)
}

// note appends an event that is made of data. The store is locked.
func (s *store) note(a *action, now time.Time, kind string, actor, data json.RawMessage) {
	e := aip.Event{ID: newID("evt_"), Kind: kind, OccurredAt: asTime(now), SessionID: a.session, ActionID: a.request.ActionID,
		CorrelationID: a.correlation, Actor: actor, Data: data}
	s.add(a, event{id: e.ID, kind: kind, body: encode(e)})
	a.updated = now
}

// publish records a chunk and its metadata event.
func (s *store) publish(a *action, now time.Time, c aip.Chunk) {
	e := chunkEvent(a, now, c)
	s.mu.Lock()
	defer s.mu.Unlock()
	a.chunks = append(a.chunks, c)
	s.add(a, e)
	a.updated = now
}

// chunkEvent is the metadata event of a chunk. Its ID depends on the chunk's
// identity alone (wire/aip.md section 5).
func chunkEvent(a *action, now time.Time, c aip.Chunk) event {
	h := sha256.New()
	h.Write([]byte("aip.stream.chunk"))
	h.Write([]byte(a.request.ActionID))
	h.Write(binary.BigEndian.AppendUint64([]byte{0}, c.Sequence))
	id := "evt_stream_" + hex.EncodeToString(h.Sum(nil))

	b := make([]byte, 0, 256+3*len(a.quoted))
	b = append(b, `{"id":"`...)
	b = append(b, id...)
	b = append(b, `","kind":"aip.stream.chunk","occurred_at":"`...)
	b = now.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, '"')
	if a.session != "" {
		b = append(b, `,"session_id":`...)
		b = append(b, encode(a.session)...)
	}
	b = append(b, `,"action_id":`...)
	b = append(b, a.quoted...)
	if a.correlation != "" {
		b = append(b, `,"correlation_id":`...)
		b = append(b, encode(a.correlation)...)
	}
	b = append(b, `,"data":{"action_id":`...)
	b = append(b, a.quoted...)
	b = append(b, `,"sequence":`...)
	b = strconv.AppendUint(b, c.Sequence, 10)
	b = append(b, `,"kind":"`...)
	b = append(b, c.Kind...)
	b = append(b, `"}}`...)
	return event{id: id, kind: aip.EventChunk, body: b}
}

// state is where an action stands, worked out in the daemon's order (wire/aip.md
// 7.2): a live sync or streaming action is unknown. The store is locked; a is
// nil for an ID that was never seen.
func (a *action) state(withChunks bool) aip.State {
	switch {
	case a == nil:
		return aip.StateUnknown
	case a.deadReason != "":
		return aip.StateDeadLettered
	case a.result != nil:
		return stateOf(a.result.Status)
	case withChunks && len(a.chunks) > 0:
		return aip.StateStreaming
	case a.queue != noQueue:
		return aip.State(a.queue)
	}
	return aip.StateUnknown
}

func stateOf(status aip.ResultStatus) aip.State {
	if status == aip.ResultRequiresHuman {
		return aip.StatePendingApproval
	}
	return aip.State(status)
}
