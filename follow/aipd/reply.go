package aipd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"path"
	"time"

	"aipscope/follow/replay"
	"aipscope/model/hermes"
)

// recorded says which recordings answer an operation that does not stream.
type recorded struct {
	usual string // the recording when nothing better is known
	found string // pattern of recordings that may hold the object that is asked for
	none  string // the recording when no object is known, if it is not the usual one
}

var replies = map[hermes.Operation]recorded{
	hermes.OpHealth:         {usual: "health"},
	hermes.OpModels:         {usual: "models"},
	hermes.OpCapabilities:   {usual: "capabilities"},
	hermes.OpChat:           {usual: "chat_nonstream"},
	hermes.OpResponses:      {usual: "responses_nonstream"},
	hermes.OpResponseGet:    {usual: "responses_get_completed", found: "responses_get_*", none: "responses_get_404"},
	hermes.OpResponseDelete: {usual: "responses_delete", none: "responses_delete_404"},
	hermes.OpRunStart:       {usual: "runs_ok_start"},
	hermes.OpRunStatus:      {usual: "runs_ok_status", found: "*_status*"},
	hermes.OpRunApproval:    {usual: "runs_approval_respond"},
	hermes.OpRunStop:        {usual: "runs_stopped_stop"},
	hermes.OpSessionChat:    {usual: "session_chat", found: "session_chat*"},
}

// offers reports whether the server can carry an operation out.
func (s *Server) offers(op hermes.Operation) bool {
	switch op.Family() {
	case hermes.FamilyNone:
	case hermes.FamilyOperator:
		return false
	default:
		return true
	}
	if s.opt.Recordings == nil {
		return false
	}
	if sessionRoute(op) {
		return true
	}
	r, ok := replies[op]
	if !ok {
		return false
	}
	_, _, err := s.opt.Recordings.Reply(r.usual)
	return err == nil
}

// answerFromRecording is the result of an operation that does not stream.
func (s *Server) answerFromRecording(ctx context.Context, a *action) *hermes.Result {
	if err := s.pace.Wait(ctx, 400*time.Millisecond); err != nil {
		return nil
	}
	status, body, err := s.providerReply(a)
	if err != nil {
		return s.providerFailed(ctx, a, err)
	}
	if status >= 300 {
		return s.providerFailed(ctx, a, &replay.Refusal{Status: status, Body: body})
	}
	turn := s.beginTurn(a)
	if a.request.Operation == hermes.OpSessionChat && turn.session != "" {
		body = about(body, turn.session, turn.session)
	}
	r := hermes.ReplyResult(a.request.ActionID, body)
	turn.end(r.Text)
	if a.request.Operation == hermes.OpResponses && !hermes.Unstored(a.request.Input) {
		s.keep(body)
	}
	return &r
}

// sessionRoute reports whether an operation is answered from the database of
// sessions.
func sessionRoute(op hermes.Operation) bool {
	switch op {
	case hermes.OpSessionsList, hermes.OpSessionCreate, hermes.OpSessionGet, hermes.OpSessionPatch, hermes.OpSessionDelete,
		hermes.OpSessionMessages, hermes.OpSessionFork:
		return true
	}
	return false
}

// providerReply chooses the provider's reply: the recording that the input
// names, what its stores hold, what was recorded, or the usual one.
func (s *Server) providerReply(a *action) (int, []byte, error) {
	var in map[string]json.RawMessage
	_ = json.Unmarshal(a.request.Input, &in) // checkInput read it
	if name := text(in["recording"]); name != "" {
		return s.opt.Recordings.Reply(name)
	}
	op := a.request.Operation
	r := replies[op]
	id := hermes.Target(op, a.request.Input)
	switch {
	case sessionRoute(op):
		s.mu.Lock()
		defer s.mu.Unlock()
		got := s.sessions.answer(op, in, s.now())
		return got.status, got.body, nil
	case op == hermes.OpSessionChat:
		if _, ok := s.rotate(id); !ok {
			got := noSession(id)
			return got.status, got.body, nil
		}
		return s.opt.Recordings.Reply(r.usual)
	case op == hermes.OpResponses:
		if got, ok := s.missingLink(a.request.Input); !ok {
			return got.status, got.body, nil
		}
		return s.opt.Recordings.Reply(r.usual)
	case id == "":
		return s.opt.Recordings.Reply(r.usual)
	case op == hermes.OpResponseGet, op == hermes.OpResponseDelete:
		return s.response(op, id)
	}
	if status, found := s.recorded(id, r.found); found != nil {
		return status, found, nil
	}
	return s.opt.Recordings.Reply(cmp.Or(r.none, r.usual))
}

// response reads or deletes a stored response: one of a turn played here, or a
// recorded one.
func (s *Server) response(op hermes.Operation, id string) (int, []byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.stored.get(id)
	if !ok && !s.stored.gone[id] {
		found, ok = s.recordedResponse(id)
	}
	switch {
	case !ok:
		return s.opt.Recordings.Reply(replies[op].none)
	case op == hermes.OpResponseDelete:
		s.stored.drop(id)
		return 200, object("id", id, "object", "response", "deleted", true), nil
	}
	return 200, found, nil
}

// recordedResponse finds the recording of a response, or of its deletion.
func (s *Server) recordedResponse(id string) ([]byte, bool) {
	if _, found := s.recorded(id, replies[hermes.OpResponseGet].found); found != nil {
		return found, true
	}
	_, found := s.recorded(id, replies[hermes.OpResponseDelete].usual)
	return found, found != nil
}

// recorded finds the recorded reply about an object. The last match tells the
// most: an object's recordings are named so that what became of it comes last.
func (s *Server) recorded(id, pattern string) (status int, found []byte) {
	quoted := encode(id)
	for _, name := range s.opt.Recordings.Replies("") {
		if ok, _ := path.Match(pattern, name); !ok {
			continue
		}
		if code, body, err := s.opt.Recordings.Reply(name); err == nil && code < 300 && bytes.Contains(body, quoted) {
			status, found = code, body
		}
	}
	return status, found
}

// missingLink refuses a chain whose previous response is not stored.
func (s *Server) missingLink(input json.RawMessage) (reply, bool) {
	id := hermes.Field(input, "previous_response_id")
	if id == "" || hermes.Field(input, "recording") != "" {
		return reply{}, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.stored.get(id)
	if !ok && !s.stored.gone[id] {
		_, ok = s.recordedResponse(id)
	}
	return refusalOf(404, "", "Previous response not found: "+id), ok
}

// remember keeps the Responses object that a stream shows, as its provider
// stores it, and returns its ID.
func (s *Server) remember(a *action, r hermes.Record) (id string) {
	if a.spec.Family != hermes.FamilyResponses || len(r.Data) == 0 || r.Data[0] != '{' || hermes.Unstored(a.request.Input) {
		return ""
	}
	switch name, _ := r.Name(); name {
	case "response.created", "response.completed", "response.failed":
	default:
		return ""
	}
	var d struct {
		Response json.RawMessage `json:"response"`
	}
	if json.Unmarshal(r.Data, &d) != nil {
		return ""
	}
	return s.keep(d.Response)
}

// keep stores a Responses object and returns its ID, or "" where it has none.
func (s *Server) keep(raw json.RawMessage) string {
	var stored struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(raw, &stored) != nil || stored.ID == "" {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored.put(stored.ID, raw)
	return stored.ID
}

// leave makes a stored response incomplete when its stream was left before it
// ended (wire/hermes.md B.3).
func (s *Server) leave(id, answered string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var r struct {
		Status    string          `json:"status"`
		CreatedAt json.RawMessage `json:"created_at"`
		Model     string          `json:"model"`
	}
	if json.Unmarshal(s.stored.byID[id], &r) != nil || r.Status != "in_progress" {
		return
	}
	output := []any{}
	if answered != "" {
		part := object("type", "output_text", "text", answered)
		output = append(output, object("type", "message", "role", "assistant", "content", []any{part}))
	}
	if r.CreatedAt == nil {
		r.CreatedAt = json.RawMessage("null")
	}
	s.stored.put(id, object("id", id, "object", "response", "status", "incomplete",
		"created_at", r.CreatedAt, "model", r.Model, "output", output))
}

// playRecording is the usual Options.Play.
func (s *Server) playRecording(_ context.Context, r Request) (replay.Stream, error) {
	lib := s.opt.Recordings
	if lib == nil {
		return nil, replay.ErrUnknown
	}
	name := hermes.Field(r.Input, "recording")
	if status, body, err := lib.Reply(name); err == nil {
		return nil, &replay.Refusal{Status: status, Body: body}
	}
	id := hermes.Target(r.Operation, r.Input)
	tip, there := "", false
	switch r.Operation {
	case hermes.OpSessionChatStream:
		if tip, there = s.rotate(id); !there && name == "" {
			got := noSession(id)
			return nil, &replay.Refusal{Status: got.status, Body: got.body}
		}
	case hermes.OpResponsesStream:
		if got, ok := s.missingLink(r.Input); !ok {
			return nil, &replay.Refusal{Status: got.status, Body: got.body}
		}
	}
	if name == "" {
		scenario, ok := lib.About(r.Operation, id)
		if !ok {
			scenario, ok = lib.Default(r.Operation)
		}
		if !ok {
			return nil, replay.ErrUnknown
		}
		name = scenario.Name
	}
	raw, err := lib.Recorded(name)
	if err != nil {
		return nil, err
	}
	if there {
		raw = about(raw, id, tip)
	}
	return replay.Play(raw, s.pace), nil
}
