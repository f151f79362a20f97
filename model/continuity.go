package model

import (
	"bytes"
	"encoding/json"
)

// Continuity is what ties a request to earlier turns (seed 000, section 2).
type Continuity struct {
	SessionID          string
	SessionKey         string // selects private memory: not for logs
	PreviousResponseID string
	Conversation       string // its name, or the JSON of an object
}

// ContinuityOf finds the continuity fields of a request's input: at its top, or
// for Responses in the provider's body.
func ContinuityOf(input json.RawMessage) Continuity {
	type fields struct {
		SessionID          json.RawMessage `json:"session_id"`
		SessionKey         json.RawMessage `json:"session_key"`
		PreviousResponseID json.RawMessage `json:"previous_response_id"`
		Conversation       json.RawMessage `json:"conversation"`
	}
	var in struct {
		fields
		Body json.RawMessage `json:"body"`
	}
	var body fields
	if json.Unmarshal(input, &in) != nil {
		return Continuity{}
	}
	_ = json.Unmarshal(in.Body, &body) // a body that is no object has no fields
	text := func(values ...json.RawMessage) string {
		for _, v := range values {
			var s string
			var b bytes.Buffer
			switch {
			case len(v) == 0 || string(v) == "null":
			case json.Unmarshal(v, &s) == nil:
				if s != "" {
					return s
				}
			case json.Compact(&b, v) == nil:
				return b.String()
			}
		}
		return ""
	}
	return Continuity{
		SessionID:          text(in.SessionID, body.SessionID),
		SessionKey:         text(in.SessionKey, body.SessionKey),
		PreviousResponseID: text(in.PreviousResponseID, body.PreviousResponseID),
		Conversation:       text(in.Conversation, body.Conversation),
	}
}
