package aipd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// maxBody is what the web framework reads of a request.
const maxBody = 2 << 20

// envelope is what was posted, of which only the used fields are kept.
type envelope struct {
	MessageID      string          `json:"message_id"`
	SentAt         string          `json:"sent_at"`
	Version        string          `json:"aip_version"`
	Type           string          `json:"message_type"`
	SessionID      string          `json:"session_id"`
	CorrelationID  string          `json:"correlation_id"`
	IdempotencyKey string          `json:"idempotency_key"`
	From           json.RawMessage `json:"from"`
	Body           struct {
		Action *submission `json:"action"`
		Cancel *struct {
			Target struct {
				Action string `json:"action"`
			} `json:"target"`
			Reason string `json:"reason"`
		} `json:"cancel"`
	} `json:"body"`
}

// submission is the Action of an envelope.
type submission struct {
	ID             string          `json:"id"`
	CapabilityID   string          `json:"capability_id"`
	Input          json.RawMessage `json:"input"`
	Mode           string          `json:"mode"`
	IdempotencyKey string          `json:"idempotency_key"`
	TimeoutMS      int64           `json:"timeout_ms"`
	Approval       json.RawMessage `json:"approval"`
}

var (
	envelopeFields = strings.Fields("aip_version message_type message_id sent_at body session_id correlation_id in_response_to idempotency_key from to trace security extensions")
	actionFields   = strings.Fields(`id capability_id input mode idempotency_key timeout_ms conversation memory_context delegation_chain federation callback
		observability compliance identity approval transaction`)
)

// readBody returns a JSON body, or answers in the framework's words.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		refuse(w, http.StatusUnsupportedMediaType, "Expected request with `Content-Type: application/json`")
		return nil, false
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		refuse(w, http.StatusBadRequest, "Failed to buffer the request body")
	case len(raw) > maxBody:
		refuse(w, http.StatusRequestEntityTooLarge, "Failed to buffer the request body: length limit exceeded")
	case !json.Valid(raw):
		refuse(w, http.StatusBadRequest, "Failed to parse the request body as JSON")
	default:
		return raw, true
	}
	return nil, false
}

// readEnvelope checks an envelope against its schema and decodes it.
func readEnvelope(raw []byte) (envelope, time.Time, *aip.Error) {
	var env envelope
	bad := func(format string, args ...any) (envelope, time.Time, *aip.Error) {
		return env, time.Time{}, failure("schema.envelope.invalid", permanent, fmt.Sprintf(format, args...))
	}
	fields, problem := objectOf(raw, envelopeFields, "aip_version", "message_type", "message_id", "sent_at", "body")
	if problem != "" {
		return bad("envelope: %s", problem)
	}
	body, problem := objectOf(fields["body"], nil)
	if problem != "" || len(body) != 1 {
		return bad("the body must be an object with one member")
	}
	if action, ok := body["action"]; ok {
		if _, problem := objectOf(action, actionFields, "id", "capability_id", "input"); problem != "" {
			return bad("action: %s", problem)
		}
	}
	if err := json.Unmarshal(raw, &env); err != nil {
		return bad("a field has the wrong type")
	}
	sentAt, err := time.Parse(time.RFC3339Nano, env.SentAt)
	if err != nil {
		return bad("sent_at is not a time")
	}
	if env.Version != "1.0" || env.MessageID == "" {
		return bad("the version or the message ID is not valid")
	}
	if a := env.Body.Action; a != nil {
		if !slices.Contains([]string{"", "sync", "async", "streaming"}, a.Mode) || a.ID == "" || a.CapabilityID == "" || a.TimeoutMS < 0 {
			return bad("the action is not valid")
		}
	} else if env.Body.Cancel == nil {
		return env, sentAt, failure("envelope.decode.invalid", permanent, "the daemon does not take this message")
	}
	return env, sentAt, nil
}

// objectOf splits an object and says what is wrong with its members: nil known
// allows all.
func objectOf(raw json.RawMessage, known []string, required ...string) (map[string]json.RawMessage, string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return nil, "not an object"
	}
	for name := range fields {
		if known != nil && !slices.Contains(known, name) {
			return nil, "unknown field"
		}
	}
	for _, name := range required {
		if v, ok := fields[name]; !ok || string(v) == "null" {
			return nil, name + " is missing"
		}
	}
	return fields, ""
}

// message answers both submission routes, which differ only in when the bearer
// is looked at: the table of routes does it first for one, this for the other.
func (s *Server) message(w http.ResponseWriter, r *http.Request, _ string) {
	raw, ok := readBody(w, r)
	if !ok {
		return
	}
	if raw = bytes.TrimSpace(raw); raw[0] != '{' {
		refuse(w, http.StatusUnprocessableEntity, "Failed to deserialize the JSON body into the target type")
		return
	}
	env, sentAt, err := readEnvelope(raw)
	if err == nil {
		err = s.authenticate(r)
	}
	if err == nil {
		err = s.admit(env.MessageID, sentAt)
	}
	if err != nil {
		writeError(w, s.now(), err)
		return
	}
	if c := env.Body.Cancel; c != nil {
		if err := s.cancelAction(c.Target.Action, c.Reason); err != nil {
			writeError(w, s.now(), err)
			return
		}
		s.reply(w, env, "action_result", hermes.JSONPieces(cancelAnswer(c.Target.Action)))
		return
	}
	s.submit(w, r, env)
}

// reply answers an envelope with an envelope.
func (s *Server) reply(w http.ResponseWriter, env envelope, kind string, body hermes.Pieces) {
	pairs := []any{"aip_version", "1.0", "message_type", "aip.core.v1." + kind, "message_id", newID("msg_"), "sent_at", rfc3339(s.now())}
	if env.SessionID != "" {
		pairs = append(pairs, "session_id", env.SessionID)
	}
	if env.CorrelationID != "" {
		pairs = append(pairs, "correlation_id", env.CorrelationID)
	}
	pairs = append(pairs, "in_response_to", env.MessageID, "from", object("id", "service:aipscope:daemon", "kind", "service"))
	if env.From != nil {
		pairs = append(pairs, "to", env.From)
	}
	head := object(pairs...)
	writePieces(w, string(head[:len(head)-1])+`,"body":{"`+kind+`":`, body, "}}")
}
