package aipd

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"time"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// submit takes an action in. Sync and streaming actions are answered when they
// are over, async ones at once (wire/aip.md section 8).
func (s *Server) submit(w http.ResponseWriter, r *http.Request, env envelope) {
	a, refused := s.newAction(env)
	if refused != nil {
		writeError(w, s.now(), refused)
		return
	}
	answer, refused := s.admitAction(a, env.Body.Action.Approval != nil && string(env.Body.Action.Approval) != "null")
	switch {
	case refused != nil:
		writeError(w, s.now(), refused)
	case answer.pieces != nil:
		s.reply(w, env, "action_result", answer.pieces)
	case a.request.Mode == "async":
		s.reply(w, env, "ack", hermes.JSONPieces(object("action_id", a.request.ActionID, "status", "queued",
			"queue", object("scheduler", "aip-runtime"))))
	default:
		select {
		case <-answer.done:
		case <-r.Context().Done():
			return // the action goes on without its submitter
		}
		result := s.answerOf(answer.of)
		if result == nil {
			writeError(w, s.now(), failure("runtime.handler_failed", temporary, "the daemon is closing"))
			return
		}
		s.reply(w, env, "action_result", result.Pieces())
	}
}

func (s *Server) answerOf(a *action) *hermes.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	return a.answer
}

// newAction makes an action of an envelope, or says why there can be none.
func (s *Server) newAction(env envelope) (*action, *aip.Error) {
	sub := env.Body.Action
	endpoint, op, ok := hermes.ParseCapability(sub.CapabilityID)
	spec, known := op.Spec()
	if !ok || !known || endpoint != s.opt.Endpoint || !s.offers(op) {
		return nil, with(failure("resource.not_found", permanent, "the capability is not known"), "capability_id", sub.CapabilityID)
	}
	key := sub.IdempotencyKey
	if key == "" {
		key = env.IdempotencyKey
	}
	mode := sub.Mode
	if mode == "" {
		mode = "sync"
	}
	var input bytes.Buffer
	if json.Compact(&input, sub.Input) != nil {
		return nil, failure("envelope.decode.invalid", permanent, "the input cannot be read")
	}
	now := s.now()
	contract := sha256.Sum256(object("capability", sub.CapabilityID, "mode", mode, "key", key, "timeout", sub.TimeoutMS, "input", json.RawMessage(input.Bytes())))
	return &action{
		request: Request{ActionID: sub.ID, Capability: sub.CapabilityID, Endpoint: endpoint, Operation: op, Mode: mode,
			IdempotencyKey: key, Input: input.Bytes()},
		spec: spec, session: env.SessionID, correlation: env.CorrelationID, contract: hex.EncodeToString(contract[:]),
		timeout: time.Duration(sub.TimeoutMS) * time.Millisecond, created: now, updated: now, quoted: encode(sub.ID),
		done: make(chan struct{}),
	}, nil
}

// answer is what a submission gets: a result that is there already, or that of
// an action when it is done.
type answer struct {
	pieces hermes.Pieces
	of     *action
	done   <-chan struct{}
}

// admitAction looks for what the action repeats, checks its contract and starts
// it.
func (s *Server) admitAction(a *action, approved bool) (answer, *aip.Error) {
	req := a.request
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.actions[req.ActionID]
	if known != nil && known.contract != a.contract {
		return answer{}, with(failure("action.id_conflict", permanent, "the action ID was used for another action"),
			"action_id", req.ActionID, "existing", known.contract, "attempted", a.contract)
	}
	scope := req.Capability + "\x00" + req.IdempotencyKey
	if owner := s.actions[s.keys[scope]]; req.IdempotencyKey != "" && owner != nil {
		if owner.result != nil {
			return answer{pieces: owner.result.Replayed()}, nil
		}
		e := failure("idempotency.in_progress", temporary, "another action with this key is in progress")
		e.Retryable, e.RetryAfterMS = true, reservation(owner).Milliseconds()
		return refusal(a, with(e, "owner_action_id", owner.request.ActionID, "key", req.IdempotencyKey)), nil
	}
	if known != nil {
		// A daemon runs the same action again when it has no key. Doing nothing is
		// the one thing that a console may rely on, so nothing is done.
		return answer{of: known, done: known.done}, nil
	}
	if e := s.checkContract(a); e != nil {
		return refusal(a, e), nil
	}
	s.actions[req.ActionID] = a
	s.order = append(s.order, a)
	if req.IdempotencyKey != "" {
		s.keys[scope] = req.ActionID
	}
	if a.spec.NeedsConsent && !approved {
		s.awaitApproval(a)
		return answer{of: a, done: a.done}, nil
	}
	s.start(a)
	return answer{of: a, done: a.done}, nil
}

// reservation is how long a running action keeps its key.
func reservation(a *action) time.Duration {
	if a.timeout > 0 {
		return a.timeout + time.Minute
	}
	return 6 * time.Minute
}

// refusal is a failed result that is answered and not kept: the action was never
// taken in.
func refusal(a *action, e *aip.Error) answer {
	return answer{pieces: hermes.Result{ActionID: a.request.ActionID, Status: aip.ResultFailed, Error: e}.Pieces()}
}

// checkContract looks at what the capability asks of an action. Of an async
// action the input is looked at when it runs.
func (s *Server) checkContract(a *action) *aip.Error {
	switch {
	case !a.spec.Allows(a.request.Mode):
		return failure("execution.mode_unsupported", permanent, "the capability does not run in this mode")
	case a.spec.NeedsKey && a.request.IdempotencyKey == "":
		return failure("idempotency.required", permanent, "the capability needs an idempotency key")
	case a.request.Mode != "async":
		return s.checkInput(a)
	}
	return nil
}
