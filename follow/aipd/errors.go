package aipd

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// Categories of errors and the HTTP status of each (wire/aip.md section 10).
const (
	auth      = "auth"
	policy    = "policy"
	permanent = "permanent"
	temporary = "temporary"
)

func statusOf(category string) int {
	switch category {
	case auth:
		return http.StatusUnauthorized
	case policy:
		return http.StatusForbidden
	case temporary, "transport":
		return http.StatusServiceUnavailable
	case "connector":
		return http.StatusBadGateway
	}
	return http.StatusBadRequest
}

func failure(code, category, message string) *aip.Error {
	return &aip.Error{Code: code, Category: category, Message: message}
}

// with adds details, given as names and values in turn.
func with(e *aip.Error, pairs ...any) *aip.Error {
	e.Details = object(pairs...)
	return e
}

// object is a JSON object of names and values in turn.
func object(pairs ...any) json.RawMessage {
	b := []byte{'{'}
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, encode(pairs[i])...)
		b = append(b, ':')
		b = append(b, encode(pairs[i+1])...)
	}
	return append(b, '}')
}

// encode is JSON of what this package itself made, which can always be encoded.
func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return b
}

// writeError answers with an error in a fresh envelope, as a daemon that does
// not sign does.
func writeError(w http.ResponseWriter, now time.Time, e *aip.Error) {
	body := object("error", object("error", json.RawMessage(hermes.EncodeError(e))))
	writeJSON(w, statusOf(e.Category), object("aip_version", "1.0", "message_type", "aip.core.v1.error",
		"message_id", newID("msg_"), "sent_at", rfc3339(now), "body", body))
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body) // a reader that went away is no one's failure
}

// writePieces answers 200 with a JSON text around pieces.
func writePieces(w http.ResponseWriter, head string, pieces hermes.Pieces, tail string) {
	w.Header().Set("Content-Type", "application/json")
	b := bufio.NewWriterSize(w, 64<<10)
	b.WriteString(head)
	for p := range pieces {
		if _, err := b.Write(p); err != nil {
			return
		}
	}
	b.WriteString(tail)
	b.Flush()
}

// refuse answers as the web framework does before the protocol is reached: in
// plain text (wire/aip.md 1.6).
func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	io.WriteString(w, text)
}

func unescape(segment string) string {
	if s, err := url.PathUnescape(segment); err == nil {
		return s
	}
	return segment
}
