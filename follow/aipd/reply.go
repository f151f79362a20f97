package aipd

import (
	"bytes"
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
	hermes.OpHealth:          {usual: "health"},
	hermes.OpModels:          {usual: "models"},
	hermes.OpCapabilities:    {usual: "capabilities"},
	hermes.OpChat:            {usual: "chat_nonstream"},
	hermes.OpResponses:       {usual: "responses_nonstream"},
	hermes.OpResponseGet:     {usual: "responses_get_completed", found: "responses_get_*", none: "responses_get_404"},
	hermes.OpResponseDelete:  {usual: "responses_delete", none: "responses_delete_404"},
	hermes.OpRunStart:        {usual: "runs_ok_start"},
	hermes.OpRunStatus:       {usual: "runs_ok_status", found: "*_status*"},
	hermes.OpRunApproval:     {usual: "runs_approval_respond"},
	hermes.OpRunStop:         {usual: "runs_stopped_stop"},
	hermes.OpSessionsList:    {usual: "session_list"},
	hermes.OpSessionCreate:   {usual: "session_create"},
	hermes.OpSessionGet:      {usual: "session_get", found: "session_get*"},
	hermes.OpSessionPatch:    {usual: "session_patch_title", found: "session_patch_*"},
	hermes.OpSessionDelete:   {usual: "session_delete"},
	hermes.OpSessionMessages: {usual: "session_messages", found: "session_messages*"},
	hermes.OpSessionFork:     {usual: "session_fork", found: "session_fork*"},
	hermes.OpSessionChat:     {usual: "session_chat", found: "session_chat*"},
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
	r, ok := replies[op]
	if !ok || s.opt.Recordings == nil {
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
	r := hermes.ReplyResult(a.request.ActionID, body)
	return &r
}

// providerReply chooses the provider's reply: the recording that the input names, what
// the input's ID names, played here or recorded, or the usual one.
func (s *Server) providerReply(a *action) (int, []byte, error) {
	var in map[string]json.RawMessage
	_ = json.Unmarshal(a.request.Input, &in) // checkInput read it
	if name := text(in["recording"]); name != "" {
		return s.opt.Recordings.Reply(name)
	}
	r := replies[a.request.Operation]
	id := text(in[a.request.Operation.TargetField()])
	if id == "" {
		return s.opt.Recordings.Reply(r.usual)
	}
	if a.request.Operation == hermes.OpResponseDelete {
		return s.deleteResponse(id, r)
	}
	s.mu.Lock()
	stored, ok := s.stored[id]
	s.mu.Unlock()
	if ok {
		return 200, stored, nil
	}
	quoted := encode(id)
	status, found := 0, []byte(nil)
	for _, name := range s.opt.Recordings.Replies("") {
		if ok, _ := path.Match(r.found, name); !ok {
			continue
		}
		// The last match tells the most: an object's recordings are named so that
		// what became of it comes last.
		if code, body, err := s.opt.Recordings.Reply(name); err == nil && code < 300 && bytes.Contains(body, quoted) {
			status, found = code, body
		}
	}
	switch {
	case found != nil:
		return status, found, nil
	case r.none == "":
		return s.opt.Recordings.Reply(r.usual)
	}
	return s.opt.Recordings.Reply(r.none)
}

// deleteResponse forgets a stored response. Recorded ones cannot be forgotten.
func (s *Server) deleteResponse(id string, r recorded) (int, []byte, error) {
	s.mu.Lock()
	_, ok := s.stored[id]
	delete(s.stored, id)
	s.mu.Unlock()
	if ok {
		return 200, object("id", id, "object", "response", "deleted", true), nil
	}
	status, body, err := s.opt.Recordings.Reply(r.usual)
	if err == nil && !bytes.Contains(body, encode(id)) {
		return s.opt.Recordings.Reply(r.none)
	}
	return status, body, err
}

// remember keeps the Responses object that a stream shows, as its provider
// stores it, and returns its ID.
func (s *Server) remember(a *action, r hermes.Record) (id string) {
	if a.spec.Family != hermes.FamilyResponses || len(r.Data) == 0 || r.Data[0] != '{' {
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
	var stored struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(r.Data, &d) != nil || json.Unmarshal(d.Response, &stored) != nil || stored.ID == "" {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored[stored.ID] = d.Response
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
	if json.Unmarshal(s.stored[id], &r) != nil || r.Status != "in_progress" {
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
	s.stored[id] = object("id", id, "object", "response", "status", "incomplete",
		"created_at", r.CreatedAt, "model", r.Model, "output", output)
}

// playRecording is the usual Options.Play.
func (s *Server) playRecording(_ context.Context, r Request) (replay.Stream, error) {
	lib := s.opt.Recordings
	if lib == nil {
		return nil, replay.ErrUnknown
	}
	var in map[string]json.RawMessage
	_ = json.Unmarshal(r.Input, &in) // checkInput read it
	if name := text(in["recording"]); name != "" {
		if status, body, err := lib.Reply(name); err == nil {
			return nil, &replay.Refusal{Status: status, Body: body}
		}
		return lib.Stream(name, s.pace)
	}
	scenario, ok := lib.About(r.Operation, text(in[r.Operation.TargetField()]))
	if !ok {
		scenario, ok = lib.Default(r.Operation)
	}
	if !ok {
		return nil, replay.ErrUnknown
	}
	return lib.Stream(scenario.Name, s.pace)
}
