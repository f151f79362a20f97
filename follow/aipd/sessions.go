package aipd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"aipscope/follow/replay"
	"aipscope/model/hermes"
)

// sessions is the provider's database of sessions, its oddities included (seed
// 002; wire/hermes.md B.4). It is guarded by the store's mu.
type sessions struct {
	rows     map[string]*session
	messages int // IDs given
}

// Bounds of the provider's session routes.
const (
	listLimit    = 200
	maxListed    = 1_000_000
	latestRows   = 500 // of a transcript
	titleLetters = 100
	idLetters    = 256
	endBranched  = "branched"
	endCompress  = "compression"

	sourceDelegate = "delegate"
)

// session is one row, and its messages.
type session struct {
	ID         string   `json:"id"`
	Source     string   `json:"source"`
	UserID     *string  `json:"user_id"`
	Model      string   `json:"model"`
	Title      *string  `json:"title"`
	Started    float64  `json:"started_at"`
	Ended      *float64 `json:"ended_at"`
	EndReason  *string  `json:"end_reason"`
	Count      int      `json:"message_count"`
	ToolCalls  int      `json:"tool_call_count"`
	Input      int      `json:"input_tokens"`
	Output     int      `json:"output_tokens"`
	CacheRead  int      `json:"cache_read_tokens"`
	CacheWrite int      `json:"cache_write_tokens"`
	Reasoning  int      `json:"reasoning_tokens"`
	Estimated  *float64 `json:"estimated_cost_usd"`
	Actual     *float64 `json:"actual_cost_usd"`
	Calls      int      `json:"api_call_count"`
	Parent     *string  `json:"parent_session_id"`
	HasPrompt  bool     `json:"has_system_prompt"`
	HasConfig  bool     `json:"has_model_config"`
	Archived   bool     `json:"-"`

	active    float64
	continues bool // the parent was compressed into it
	messages  []json.RawMessage
}

// listedSession is a row as the list shows it.
type listedSession struct {
	session
	Active  float64 `json:"last_active"`
	Preview string  `json:"preview"`
	Root    string  `json:"_lineage_root_id,omitempty"`
}

// encode is the row as the provider answers with it.
func (s *session) encode() json.RawMessage {
	return object("object", "hermes.session", "session", s)
}

// reply is a provider's answer.
type reply struct {
	status int
	body   []byte
}

func refusalOf(status int, code, message string) reply {
	return reply{status, object("error", object("message", message, "type", "invalid_request_error", "param", nil, "code", code))}
}

func noSession(id string) reply {
	return refusalOf(http.StatusNotFound, "session_not_found", "Session not found: "+id)
}

// newSessions fills the database with the sessions of the recordings.
func newSessions(lib *replay.Library) sessions {
	all := sessions{rows: map[string]*session{}}
	if lib == nil {
		return all
	}
	for _, name := range lib.Replies("session_") {
		status, body, err := lib.Reply(name)
		if err != nil || status >= 300 {
			continue
		}
		var o struct {
			Session   *listedSession  `json:"session"`
			SessionID string          `json:"session_id"`
			Data      json.RawMessage `json:"data"`
		}
		if json.Unmarshal(body, &o) != nil {
			continue
		}
		var listed []listedSession
		var messages []json.RawMessage
		switch {
		case o.Session != nil:
			listed = []listedSession{*o.Session}
		case strings.HasPrefix(name, "session_list"):
			_ = json.Unmarshal(o.Data, &listed)
		case o.SessionID != "" && json.Unmarshal(o.Data, &messages) == nil:
			// Of several recordings the whole transcript is kept.
			if s := all.seed(o.SessionID); len(messages) > len(s.messages) {
				s.messages = messages
			}
		}
		for _, l := range listed {
			all.take(l)
		}
	}
	for _, s := range all.rows {
		s.Count = len(s.messages)
		if n := s.Count; n > 0 {
			s.active = max(s.active, stampOf(s.messages[n-1]))
		}
	}
	return all
}

func (all *sessions) seed(id string) *session {
	s := all.rows[id]
	if s == nil {
		s = &session{ID: id, Source: "api_server", Model: "hermes-agent"}
		all.rows[id] = s
	}
	return s
}

// take keeps the recorded row of a session that is newest.
func (all *sessions) take(l listedSession) {
	s := all.seed(l.ID)
	active := max(l.Active, l.Started)
	if l.Ended != nil {
		active = max(active, *l.Ended)
	}
	if active < s.active {
		return
	}
	messages := s.messages
	*s = l.session
	s.active, s.messages = active, messages
}

func stampOf(message json.RawMessage) float64 {
	var m struct {
		At float64 `json:"timestamp"`
	}
	_ = json.Unmarshal(message, &m)
	return m.At
}

// answer answers one of the session routes but the turns.
func (all *sessions) answer(op hermes.Operation, in map[string]json.RawMessage, now time.Time) reply {
	at := float64(now.UnixMicro()) / 1e6
	id := text(in["session_id"])
	body := in
	if b := map[string]json.RawMessage(nil); json.Unmarshal(in["body"], &b) == nil && b != nil {
		if body = b; id == "" {
			id = text(b["session_id"])
		}
	}
	switch op {
	case hermes.OpSessionsList:
		return all.list(in)
	case hermes.OpSessionCreate:
		return all.create(body, at)
	}
	s := all.rows[id]
	if s == nil {
		return noSession(id)
	}
	switch op {
	case hermes.OpSessionGet:
		return reply{http.StatusOK, s.encode()}
	case hermes.OpSessionPatch:
		return all.patch(s, body, at)
	case hermes.OpSessionMessages:
		tip := all.tip(s)
		shown := tip.messages[max(0, len(tip.messages)-latestRows):]
		return reply{http.StatusOK, object("object", "list", "session_id", tip.ID, "data", append([]json.RawMessage{}, shown...))}
	case hermes.OpSessionFork:
		return all.fork(s, body, at)
	}
	return all.delete(s)
}

// tip is the last of a chain of compressions.
func (all *sessions) tip(s *session) *session {
	for range len(all.rows) {
		next := all.continuation(s)
		if next == nil {
			break
		}
		s = next
	}
	return s
}

// continuation is the session in which a compressed one goes on, or nil.
func (all *sessions) continuation(s *session) *session {
	for _, o := range all.rows {
		if o.continues && o.Parent != nil && *o.Parent == s.ID {
			return o
		}
	}
	return nil
}

// child reports whether a row is hidden from a plain list: it continues another
// one, or a delegate made it. A branch shows while its parent says branched.
func (all *sessions) child(s *session) bool {
	if s.Parent == nil || s.continues {
		return s.continues
	}
	parent := all.rows[*s.Parent]
	return parent != nil && (parent.EndReason == nil || *parent.EndReason != endBranched)
}

func (all *sessions) list(in map[string]json.RawMessage) reply {
	var query map[string]json.RawMessage
	_ = json.Unmarshal(in["query"], &query)
	value := func(name string) json.RawMessage {
		if v, ok := in[name]; ok {
			return v
		}
		return query[name]
	}
	number := func(name string, unset, most int) (int, bool) {
		raw := value(name)
		if raw == nil {
			return unset, true
		}
		var n int
		if json.Unmarshal(raw, &n) != nil || n < 0 {
			return 0, false
		}
		return min(n, most), true
	}
	limit, ok := number("limit", 50, listLimit)
	offset, ok2 := number("offset", 0, maxListed)
	if !ok || !ok2 {
		return refusalOf(http.StatusBadRequest, "invalid_pagination", "limit and offset must be integers")
	}
	children := string(value("include_children")) == "true"
	var found []listedSession
	for _, s := range all.rows {
		if s.Archived || !children && all.child(s) || text(value("source")) != "" && s.Source != text(value("source")) {
			continue
		}
		l := listedSession{session: *s, Active: s.active, Preview: preview(s)}
		if tip := all.tip(s); tip != s && !children {
			l = listedSession{session: *tip, Active: tip.active, Preview: preview(tip), Root: s.ID}
			l.Started = s.Started
		}
		found = append(found, l)
	}
	slices.SortFunc(found, func(a, b listedSession) int {
		return cmp.Or(cmp.Compare(b.Active, a.Active), strings.Compare(a.ID, b.ID))
	})
	page := found[min(offset, len(found)):min(offset+limit, len(found))]
	return reply{http.StatusOK, object("object", "list", "data", append([]listedSession{}, page...), "limit", limit, "offset", offset, "has_more", len(page) == limit)}
}

func preview(s *session) string {
	for _, m := range s.messages {
		var row struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		}
		if json.Unmarshal(m, &row) == nil && row.Role == "user" {
			letters := []rune(strings.Join(strings.Fields(row.Content), " "))
			return string(letters[:min(60, len(letters))])
		}
	}
	return ""
}

func (all *sessions) create(body map[string]json.RawMessage, at float64) reply {
	id := cmp.Or(text(body["id"]), text(body["session_id"]))
	if id == "" {
		id = fmt.Sprintf("api_%d_%.8s", int64(at), newID("")[24:])
	}
	if !goodID(id) {
		return refusalOf(http.StatusBadRequest, "invalid_session_id", "Invalid session ID")
	}
	if all.rows[id] != nil {
		return refusalOf(http.StatusConflict, "session_exists", "Session already exists: "+id)
	}
	if p := body["system_prompt"]; p != nil && string(p) != "null" && text(p) == "" && string(p) != `""` {
		return refusalOf(http.StatusBadRequest, "invalid_system_prompt", "system_prompt must be a string")
	}
	title, refused := all.title(body["title"], nil)
	if refused != nil {
		return *refused
	}
	s := &session{ID: id, Source: "api_server", Model: cmp.Or(text(body["model"]), "hermes-agent"), Title: title, Started: at, active: at,
		HasPrompt: text(body["system_prompt"]) != ""}
	all.rows[id] = s
	return reply{http.StatusCreated, s.encode()}
}

func goodID(id string) bool {
	drive := len(id) > 1 && id[1] == ':' && unicode.IsLetter(rune(id[0]))
	return strings.TrimSpace(id) != "" && utf8.RuneCountInString(id) <= idLetters && !strings.ContainsFunc(id, unicode.IsControl) &&
		!strings.Contains(id, "..") && !strings.ContainsAny(id, `/\`) && !drive
}

// title cleans a title, and refuses one that is too long or taken by another
// session.
func (all *sessions) title(raw json.RawMessage, mine *session) (*string, *reply) {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text(raw))
	clean = strings.Join(strings.Fields(clean), " ")
	if clean == "" {
		return nil, nil
	}
	bad := func(message string) (*string, *reply) {
		r := refusalOf(http.StatusBadRequest, "invalid_title", message)
		return nil, &r
	}
	if utf8.RuneCountInString(clean) > titleLetters {
		return bad("Title is too long")
	}
	for _, s := range all.rows {
		if s != mine && s.Title != nil && *s.Title == clean {
			return bad(fmt.Sprintf("Title '%s' is already in use by session %s", clean, s.ID))
		}
	}
	return &clean, nil
}

func (all *sessions) patch(s *session, body map[string]json.RawMessage, at float64) reply {
	for name := range body {
		if !slices.Contains([]string{"title", "end_reason", "session_id", "session_key", "idempotency_key"}, name) {
			return refusalOf(http.StatusBadRequest, "unsupported_session_field", "Unsupported session fields: "+name)
		}
	}
	if raw, ok := body["title"]; ok {
		title, refused := all.title(raw, s)
		if refused != nil {
			return *refused
		}
		s.Title = title
	}
	if reason := text(body["end_reason"]); reason != "" {
		s.end(reason, at)
	}
	return reply{http.StatusOK, s.encode()}
}

// end closes a session; the first reason stays.
func (s *session) end(reason string, at float64) {
	if s.Ended == nil {
		s.Ended, s.EndReason = &at, &reason
	}
}

// fork is not atomic: the source is ended and the child written before the title
// is looked at (seed 002, "Fork a transcript").
func (all *sessions) fork(s *session, body map[string]json.RawMessage, at float64) reply {
	id := text(body["id"])
	if id == "" {
		id = fmt.Sprintf("api_%d_%.8s", int64(at), newID("")[24:])
	}
	if strings.TrimSpace(id) == "" || strings.ContainsAny(id, "\r\n\x00") {
		return refusalOf(http.StatusBadRequest, "invalid_session_id", "Invalid session ID")
	}
	if all.rows[id] != nil {
		return refusalOf(http.StatusConflict, "session_exists", "Session already exists: "+id)
	}
	s.end(endBranched, at)
	parent := s.ID
	child := &session{ID: id, Source: "api_server", Model: s.Model, Started: at, Parent: &parent, HasPrompt: s.HasPrompt, active: max(at, s.active),
		messages: slices.Clone(s.messages), Count: len(s.messages)}
	all.rows[id] = child
	raw := body["title"]
	if text(raw) == "" && s.Title != nil {
		raw = encode(all.numbered(*s.Title))
	}
	title, refused := all.title(raw, child)
	if refused != nil {
		return *refused
	}
	child.Title = title
	return reply{http.StatusCreated, child.encode()}
}

// numbered is the next title of a lineage that is not taken.
func (all *sessions) numbered(title string) string {
	base, _, _ := strings.Cut(title, " #")
	for n := 2; ; n++ {
		next := fmt.Sprintf("%s #%d", base, n)
		if _, taken := all.title(encode(next), nil); taken == nil {
			return next
		}
	}
}

// delete removes a row and its messages, and those of delegates; other children
// are kept, and lose their parent.
func (all *sessions) delete(s *session) reply {
	delete(all.rows, s.ID)
	for _, o := range all.rows {
		switch {
		case o.Parent == nil || *o.Parent != s.ID:
		case o.Source == sourceDelegate:
			all.delete(o)
		default:
			o.Parent = nil
		}
	}
	return reply{http.StatusOK, object("object", "hermes.session.deleted", "id", s.ID, "deleted", true)}
}

// add appends a message to a transcript.
func (all *sessions) add(s *session, at float64, message map[string]json.RawMessage) {
	all.messages++
	row := map[string]json.RawMessage{}
	for name, v := range message {
		row[name] = v
	}
	row["id"], row["session_id"] = encode(10_000+all.messages), encode(s.ID)
	if row["timestamp"] == nil {
		row["timestamp"] = encode(at)
	}
	s.messages = append(s.messages, encode(row))
	s.Count, s.active = len(s.messages), max(s.active, at)
}

// compress ends a session that has grown, and goes on in a new one that holds
// the last messages alone.
func (all *sessions) compress(s *session, at float64) *session {
	const kept = 2
	parent := s.ID
	next := &session{ID: fmt.Sprintf("%s-%.8s", s.ID, newID("")[24:]), Source: s.Source, Model: s.Model, Title: s.Title, Started: at, active: at,
		Parent: &parent, continues: true, HasPrompt: s.HasPrompt, messages: slices.Clone(s.messages[max(0, len(s.messages)-kept):])}
	next.Count = len(next.messages)
	s.end(endCompress, at)
	all.rows[next.ID] = next
	return next
}
