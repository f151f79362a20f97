package aipd

import (
	"bytes"
	"encoding/json"
	"maps"

	"aipscope/follow/replay"
	"aipscope/model/hermes"
)

// maxStored is how many Responses objects the provider keeps (seed 001,
// "Understand response retention").
const maxStored = 100

// responses is the provider's store of Responses objects; the one that was used
// longest ago goes first.
type responses struct {
	byID   map[string]json.RawMessage
	recent []string // the last used last
	gone   map[string]bool
}

func (r *responses) get(id string) (json.RawMessage, bool) {
	raw, ok := r.byID[id]
	if ok {
		r.touch(id)
	}
	return raw, ok
}

func (r *responses) put(id string, raw json.RawMessage) {
	r.byID[id] = raw
	delete(r.gone, id)
	r.touch(id)
	if len(r.recent) > maxStored {
		r.drop(r.recent[0])
	}
}

// drop forgets an object for good: a recording of it is not shown either.
func (r *responses) drop(id string) {
	delete(r.byID, id)
	r.forget(id)
	r.gone[id] = true
}

func (r *responses) touch(id string) {
	r.forget(id)
	r.recent = append(r.recent, id)
}

func (r *responses) forget(id string) {
	kept := r.recent[:0]
	for _, o := range r.recent {
		if o != id {
			kept = append(kept, o)
		}
	}
	r.recent = kept
}

// defaultRuns is how many turns a provider runs at once; turns of sessions are
// counted, and not refused (seed 002, "Handle provider failures").
const defaultRuns = 10

// enter counts a turn in, unless the provider's gate is full.
func (s *Server) enter(op hermes.Operation) (leave func(), ok bool) {
	gated := false
	switch op {
	case hermes.OpChat, hermes.OpChatStream, hermes.OpResponses, hermes.OpResponsesStream, hermes.OpRunStart:
		gated = true
	case hermes.OpSessionChat, hermes.OpSessionChatStream:
	default:
		return func() {}, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if gated && s.opt.MaxRuns > 0 && s.turns >= s.opt.MaxRuns {
		return nil, false
	}
	s.turns++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.turns--
	}, true
}

var errTooMany = &replay.Refusal{Status: 429, Body: object("error", object("message", "Too many concurrent runs", "type", "rate_limit_error",
	"param", nil, "code", "rate_limit_exceeded"))}

// turn is one model turn, as the provider's session database sees it.
type turn struct {
	s       *Server
	op      hermes.Operation
	session string // in which it is written; "" for none
	asked   string
	finish  string // of a chat
	closed  bool   // its messages were written
}

// beginTurn writes what a turn asks to its session. A chat's is made where it is
// missing; turns of sessions that are not there leave nothing.
func (s *Server) beginTurn(a *action) *turn {
	t := &turn{s: s, op: a.request.Operation, asked: hermes.Asked(a.request.Operation, a.request.Input)}
	id := hermes.Field(a.request.Input, "session_id")
	if id == "" || s.opt.Unstored {
		return t
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.sessions.rows[id]
	at := float64(s.now().UnixMicro()) / 1e6
	switch t.op {
	case hermes.OpChat, hermes.OpChatStream:
		if row == nil {
			row = s.sessions.seed(id)
			row.Started = at
		}
	case hermes.OpSessionChat, hermes.OpSessionChatStream:
		if row == nil {
			return t
		}
		row = s.sessions.tip(row)
	default:
		return t
	}
	t.session = row.ID
	s.sessions.add(row, at, map[string]json.RawMessage{"role": encode("user"), "content": encode(t.asked)})
	return t
}

// saw takes in a provider frame of the turn.
func (t *turn) saw(r hermes.Record) {
	if t.session == "" {
		return
	}
	name, _ := r.Name()
	var d struct {
		Messages []map[string]json.RawMessage `json:"messages"`
		Choices  []struct {
			Finish string `json:"finish_reason"`
		} `json:"choices"`
	}
	if json.Unmarshal(r.Data, &d) != nil {
		return
	}
	if len(d.Choices) > 0 && d.Choices[0].Finish != "" {
		t.finish = d.Choices[0].Finish
	}
	if name == "run.completed" && !t.closed {
		t.closed = true
		t.write(d.Messages...)
	}
}

// end writes the answer of a turn that ended; one that was left keeps its
// question alone.
func (t *turn) end(text string) {
	if t.session == "" || t.closed || text == "" || t.op == hermes.OpSessionChatStream || t.finish == "" && t.op == hermes.OpChatStream {
		return
	}
	t.closed = true
	finish := t.finish
	if finish == "" {
		finish = "stop"
	}
	t.write(map[string]json.RawMessage{"role": encode("assistant"), "content": encode(text), "finish_reason": encode(finish)})
}

func (t *turn) write(messages ...map[string]json.RawMessage) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	row := t.s.sessions.rows[t.session]
	if row == nil { // deleted meanwhile
		return
	}
	at := float64(t.s.now().UnixMicro()) / 1e6
	for _, m := range messages {
		if text(m["role"]) == "user" {
			continue
		}
		m = maps.Clone(m)
		delete(m, "timestamp")
		t.s.sessions.add(row, at, m)
	}
}

// rotate is the session that a turn of id is written to: its latest, which may
// be made just now because the one before has grown.
func (s *Server) rotate(id string) (tip string, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.sessions.rows[id]
	if row == nil {
		return "", false
	}
	row = s.sessions.tip(row)
	if n := s.opt.CompressAfter; n > 0 && len(row.messages) >= n {
		row = s.sessions.compress(row, float64(s.now().UnixMicro())/1e6)
	}
	return row.ID, true
}

// about is a recorded stream or reply of a session turn, made to be about the
// session that was asked for. Where compression rotated it, only the end of the
// turn names the new one.
func about(recorded []byte, asked, effective string) []byte {
	var o struct {
		SessionID string `json:"session_id"`
	}
	head, _, _ := bytes.Cut(recorded, []byte("\n\n"))
	if _, data, ok := bytes.Cut(head, []byte("data: ")); ok {
		head = data
	}
	if json.Unmarshal(head, &o) != nil || o.SessionID == "" {
		return recorded
	}
	frames := bytes.SplitAfter(recorded, []byte("\n\n"))
	for i, f := range frames {
		id := asked
		if len(frames) == 1 || bytes.HasPrefix(f, []byte("event: assistant.completed")) || bytes.HasPrefix(f, []byte("event: run.completed")) {
			id = effective
		}
		frames[i] = bytes.ReplaceAll(f, encode(o.SessionID), encode(id))
	}
	return bytes.Join(frames, nil)
}
