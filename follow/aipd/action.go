package aipd

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// describe is the status of an action (wire/aip.md 7.1). Without a queue record
// the daemon knows little of it, unless listed. The store is locked; a is nil
// for an ID that was never seen.
func (s *Server) describe(a *action, id string, withChunks, listed bool) aip.Status {
	st := aip.Status{ActionID: id, State: s.opt.Faults.state(a.state(withChunks)), UpdatedAt: asTime(s.now())}
	if a == nil {
		return st
	}
	st.ApprovalID = a.approval
	if a.result != nil {
		st.ResultStatus = string(a.result.Status)
	}
	if a.queue == noQueue && !listed {
		return st
	}
	st.CapabilityID, st.SessionID, st.CorrelationID = a.request.Capability, a.session, a.correlation
	st.QueuedState = string(a.queue)
	st.StartedAt, st.UpdatedAt, st.CompletedAt = asTime(a.started), asTime(a.updated), asTime(a.completed)
	if a.queue != noQueue {
		retry := []any{"attempts", 1, "policy", object("max_attempts", 1), "next_attempt_at", nil, "last_error", nil, "dead_letter_reason", nil}
		if a.deadReason != "" {
			retry[len(retry)-1] = a.deadReason
		}
		st.Retry = object(retry...)
	}
	return st
}

func links(id string) json.RawMessage {
	self := "/aip/v1/actions/" + id
	return object("self", self, "result", self+"/result", "events", self+"/events", "chunks", self+"/chunks", "cancel", self+"/cancel")
}

func (s *Server) status(w http.ResponseWriter, r *http.Request, id string) {
	q, ok := readQuery(w, r)
	if !ok {
		return
	}
	withResult, withChunks := q.flag("include_result"), q.flag("include_chunks")
	if q.refused(w) || s.refuseAction(w, q, id) {
		return
	}
	s.mu.Lock()
	a := s.actions[id]
	st := s.opt.Faults.json(encode(s.describe(a, id, withChunks, false)))
	var result *hermes.Result
	var chunks []aip.Chunk
	if a != nil {
		result, chunks = a.result, a.chunks
	}
	s.mu.Unlock()
	writePieces(w, `{"action_status":`+string(st[:len(st)-1])+`,"links":`+string(links(id)), func(yield func([]byte) bool) {
		if withResult && result != nil {
			if !yield([]byte(`,"result":`)) {
				return
			}
			for b := range result.Pieces() {
				if !yield(b) {
					return
				}
			}
		}
		if withChunks && len(chunks) > 0 {
			sep := `,"chunks":[`
			for _, c := range chunks {
				if !yield(hermes.AppendChunk([]byte(sep), c)) {
					return
				}
				sep = ","
			}
			yield([]byte{']'})
		}
	}, "}}")
}

// refuseAction answers requests of an action that cannot be allowed.
func (s *Server) refuseAction(w http.ResponseWriter, q *query, id string) bool {
	err := checkID(id)
	if err == nil {
		err = s.authorize("action:read")
	}
	if err == nil && q.text("tenant_id") != "" {
		err = errTenant()
	}
	if err != nil {
		writeError(w, s.now(), err)
	}
	return err != nil
}

func errTenant() *aip.Error {
	return failure("auth.tenant_required", auth, "no tenant is configured")
}

// result answers with the stored result, whatever its status, or with why there
// is none (wire/aip.md 7.5).
func (s *Server) result(w http.ResponseWriter, r *http.Request, id string) {
	q, ok := readQuery(w, r)
	if !ok {
		return
	}
	withChunks := q.flag("include_terminal_events")
	if q.refused(w) || s.refuseAction(w, q, id) {
		return
	}
	s.mu.Lock()
	a := s.actions[id]
	state := a.state(withChunks)
	var result *hermes.Result
	if a != nil {
		result = a.result
	}
	s.mu.Unlock()
	if result != nil {
		writePieces(w, `{"action_result":`, result.Pieces(), "}")
		return
	}
	writeError(w, s.now(), noResult(id, state))
}

// noResult is why an action has no result. Its word "retryable: false" is the
// daemon's, and misleading.
func noResult(id string, state aip.State) *aip.Error {
	switch state {
	case aip.StateUnknown:
		return with(failure("action.not_found", permanent, "the action is not known"), "action_id", id)
	case aip.StateDeadLettered:
		return with(failure("action.dead_lettered", permanent, "the action was given up"), "action_id", id, "state", state)
	case aip.StateExpired:
		return with(failure("action.gone", permanent, "the action is no longer kept"), "action_id", id, "state", state)
	}
	return with(failure("action.result_not_ready", temporary, "the action has no result yet"), "action_id", id, "state", state)
}

// list answers with the actions that were last changed first.
func (s *Server) list(w http.ResponseWriter, r *http.Request, _ string) {
	q, ok := readQuery(w, r)
	if !ok {
		return
	}
	limit := uint64(defaultLimit)
	if n, ok := q.number("limit"); ok {
		limit = min(max(n, 1), maxLimit)
	}
	if q.refused(w) {
		return
	}
	offset, err := listOffset(q.text("cursor"))
	if err == nil {
		err = s.authorize("action:read")
	}
	if err != nil {
		writeError(w, s.now(), err)
		return
	}
	all := s.listed(q)
	from := min(offset, uint64(len(all)))
	to := min(from+limit, uint64(len(all)))
	pairs := []any{"actions", append([]aip.Status{}, all[from:to]...), "total_size", len(all)}
	if to < uint64(len(all)) {
		pairs = append(pairs, "cursor", "offset:"+strconv.FormatUint(to, 10))
	}
	writeJSON(w, http.StatusOK, object("action_list", object(pairs...)))
}

func (s *Server) listed(q *query) []aip.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []aip.Status
	for _, a := range slices.Backward(s.order) {
		st := s.describe(a, a.request.ActionID, false, true)
		if is(q, "state", string(st.State)) && is(q, "capability_id", st.CapabilityID) && is(q, "session_id", st.SessionID) && is(q, "approval_id", st.ApprovalID) {
			all = append(all, st)
		}
	}
	slices.SortStableFunc(all, func(a, b aip.Status) int { return b.UpdatedAt.Compare(a.UpdatedAt.Time) })
	return all
}

func is(q *query, name, value string) bool { return q.text(name) == "" || q.text(name) == value }

func listOffset(cursor string) (uint64, *aip.Error) {
	if cursor == "" {
		return 0, nil
	}
	rest, ok := strings.CutPrefix(cursor, "offset:")
	n, err := strconv.ParseUint(rest, 10, 32)
	if !ok || err != nil {
		return 0, failure("query.invalid_cursor", permanent, "the cursor is malformed")
	}
	return n, nil
}

func (s *Server) cancel(w http.ResponseWriter, r *http.Request, id string) {
	reason := ""
	if r.Header.Get("Content-Type") != "" {
		raw, ok := readBody(w, r)
		if !ok {
			return
		}
		var body struct {
			Reason *string `json:"reason"`
		}
		if json.Unmarshal(raw, &body) != nil {
			refuse(w, http.StatusUnprocessableEntity, "Failed to deserialize the JSON body into the target type")
			return
		}
		if body.Reason != nil {
			reason = *body.Reason
		}
	} else {
		io.Copy(io.Discard, io.LimitReader(r.Body, maxBody)) // taken for no body
	}
	if err := s.cancelAction(id, reason); err != nil {
		writeError(w, s.now(), err)
		return
	}
	writeJSON(w, http.StatusOK, bytes.Join([][]byte{[]byte(`{"action_result":`), cancelAnswer(id), []byte("}")}, nil))
}

func cancelAnswer(id string) []byte {
	return object("action_id", id, "status", "cancelled", "output", object("cancelled", true))
}

// cancelAction stops an action. It is answered as cancelled whatever its state,
// and an event says so (wire/aip.md section 9).
func (s *Server) cancelAction(id, reason string) *aip.Error {
	if err := checkID(id); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.actions[id]
	if a == nil {
		return with(failure("resource.not_found", permanent, "the action is not known"), "action_id", id)
	}
	if err := s.authorize("action:write"); err != nil {
		return err
	}
	now := s.now()
	if a.queue == queued || a.queue == running {
		a.queue, a.completed = cancelled, now
	}
	if a.cancel != nil {
		a.cancel(errCancelled{reason})
	}
	s.note(a, now, aip.EventCancelled, object("id", s.opt.Principal, "kind", "service"),
		object("target", "action", "action_id", id, "reason", reason))
	return nil
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request, _ string) {
	writeJSON(w, http.StatusOK, object("status", "ok", "protocol", "AIP", "version", "1.0", "service", "aipscope-aipd",
		"uptime_ms", max(0, s.now().Sub(s.started)/time.Millisecond)))
}

func (s *Server) ready(w http.ResponseWriter, _ *http.Request, _ string) {
	ok := object("ready", true, "detail", "memory")
	writeJSON(w, http.StatusOK, object("status", "ready",
		"gateway", object("ready", true, "storage", ok, "connectors", object("hermes-agent", object("ready", true, "detail", "recordings"))),
		"supervisor", object("runtime_worker_running", true, "nats_listener_running", false, "nats_required", false,
			"worker_cycles", 0, "last_worker_error", nil, "last_worker_success_at", nil),
		"modules", object()))
}

// manifest answers with the capabilities that the server can carry out.
func (s *Server) manifest(w http.ResponseWriter, r *http.Request, _ string) {
	q := &query{values: r.URL.Query()}
	wanted := map[string]*bool{}
	for _, name := range []string{"requires_approval", "supports_streaming"} {
		if v, ok := q.values[name]; ok {
			b := v[0] == "true"
			if wanted[name] = &b; !b && v[0] != "false" {
				writeError(w, s.now(), failure("query.invalid", permanent, name+" must be true or false"))
				return
			}
		}
	}
	fits := func(name string, value bool) bool { return wanted[name] == nil || *wanted[name] == value }
	capabilities := []any{}
	for _, spec := range hermes.Specs() {
		id := spec.Operation.Capability(s.opt.Endpoint)
		if s.offers(spec.Operation) && is(q, "capability_id", id) && is(q, "risk", string(spec.Risk)) &&
			fits("requires_approval", spec.NeedsConsent) && fits("supports_streaming", spec.Streams()) {
			capabilities = append(capabilities, s.capability(id, spec))
		}
	}
	writeJSON(w, http.StatusOK, object("manifest_version", "aip-manifest/v1",
		"agent", object("id", "agent:hermes_agent:connector", "kind", "agent", "display_name", "Recorded Hermes turns"),
		"capabilities", capabilities,
		"profiles", []string{"aip.native.http.v1", "aip.native.sse.v1", "aip.connector.hermes_agent.v1"},
		"limits", object("max_request_bytes", 1<<20)))
}

func (s *Server) capability(id string, spec hermes.Spec) json.RawMessage {
	stability := "stable"
	if spec.Experimental {
		stability = "experimental"
	}
	key := object("requirement", "optional", "scope", "capability", "collision", "return_original_result")
	if spec.NeedsKey {
		key = object("requirement", "required", "scope", "capability", "collision", "return_original_result", "ttl_ms", 86_400_000)
	}
	return object("id", id, "kind", spec.Kind, "risk", spec.Risk, "stability", stability, "requires_approval", spec.NeedsConsent,
		"execution", object("supports_sync", true, "supports_async", spec.Async, "supports_streaming", spec.Streams(),
			"supports_cancellation", spec.Streams(), "supports_retry", spec.ReadOnly),
		"idempotency", key,
		"binding", object("system", "hermes-agent", "endpoint_id", s.opt.Endpoint, "operation", spec.Operation,
			"method", spec.Method, "path", spec.Path, "streaming", spec.Streams()))
}
