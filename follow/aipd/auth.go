package aipd

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
	"time"

	"aipscope/model/aip"
)

// authenticate looks at the bearer (wire/aip.md 2.1). The scheme is
// case-sensitive; another one counts as no token.
func (s *Server) authenticate(r *http.Request) *aip.Error {
	if s.opt.Token == "" {
		return nil
	}
	given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
		given = ""
	}
	message := "the bearer token is wrong"
	if given == "" {
		message = "the bearer token is missing"
	}
	// Hashes have one length, so the comparison tells nothing of the token's.
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(s.opt.Token))
	if subtle.ConstantTimeCompare(a[:], b[:]) == 1 {
		return nil
	}
	e := failure("auth.native_http_unauthorized", auth, message)
	e.Source = object("component", "aip.server.native_http")
	return e
}

// authorize asks for a scope of the principal (wire/aip.md 2.2).
func (s *Server) authorize(scope string) *aip.Error {
	if s.opt.Scopes == nil || slices.Contains(s.opt.Scopes, scope) || slices.Contains(s.opt.Scopes, "*") {
		return nil
	}
	return failure("auth.not_authorized", auth, "the principal lacks the scope "+scope)
}

// Bounds of an envelope's age (wire/aip.md 2.4).
const (
	maxAge   = 300 * time.Second
	maxAhead = 30 * time.Second
)

// admit takes a message in once, and only while it is fresh.
func (s *Server) admit(id string, sentAt time.Time) *aip.Error {
	now := s.now()
	if age := now.Sub(sentAt); age > maxAge || age < -maxAhead {
		return failure("replay.message_id", auth, "the message is too old or from the future")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) >= 4096 {
		for id, at := range s.seen {
			if now.Sub(at) > maxAge {
				delete(s.seen, id)
			}
		}
	}
	if _, ok := s.seen[id]; ok {
		return failure("replay.message_id", auth, "the message was received before")
	}
	s.seen[id] = sentAt
	return nil
}
