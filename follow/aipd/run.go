package aipd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"aipscope/follow/replay"
	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// workerTick is how often a daemon's worker looks at its queue.
const workerTick = 250 * time.Millisecond

// Why a run was stopped.
var errDeadline = errors.New("the action's time is over")

type errCancelled struct{ reason string }

func (errCancelled) Error() string { return "the action was cancelled" }

// start runs an action in a goroutine of the server's. The store is locked.
func (s *Server) start(a *action) {
	if s.ctx.Err() != nil {
		close(a.done)
		return
	}
	if a.request.Mode == "async" {
		a.queue = queued
	}
	if s.opt.Faults.start(s, a) {
		close(a.done)
		return
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	a.cancel = cancel
	s.runs.Go(func() {
		defer s.guard()
		defer cancel(nil)
		if a.timeout > 0 {
			var free context.CancelFunc
			ctx, free = context.WithTimeoutCause(ctx, a.timeout, errDeadline)
			defer free()
		}
		if a.request.Mode == "async" {
			_ = s.pace.Wait(ctx, workerTick) // a stopped run is noticed when it is carried out
		}
		s.began(a)
		result := s.execute(ctx, a)
		if cause := context.Cause(ctx); cause != nil {
			result = stoppedBy(a, cause, result)
		}
		s.finish(a, s.opt.Faults.outcome(s, a, result))
	})
}

func (s *Server) began(a *action) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.started = s.now()
	if a.queue == queued {
		a.queue = running
	}
	a.updated = a.started
}

// stoppedBy is the result of a run that was stopped, or nil when it gets none.
// One that had ended just before keeps its own.
func stoppedBy(a *action, cause error, result *hermes.Result) *hermes.Result {
	id := a.request.ActionID
	var cancel errCancelled
	switch {
	case errors.Is(cause, errClosed):
		return nil
	case result != nil:
		return result
	case errors.As(cause, &cancel):
		return &hermes.Result{ActionID: id, Status: aip.ResultCancelled,
			Output: hermes.JSONPieces(object("cancelled", true, "reason", cancel.reason))}
	}
	return &hermes.Result{ActionID: id, Status: aip.ResultFailed,
		Error: with(failure("sla.timeout_exceeded", temporary, "the action took too long"), "timeout_ms", a.timeout.Milliseconds())}
}

// execute carries an action out. It returns nil when the run was stopped.
func (s *Server) execute(ctx context.Context, a *action) *hermes.Result {
	id := a.request.ActionID
	if e := s.checkInput(a); e != nil {
		return &hermes.Result{ActionID: id, Status: aip.ResultFailed, Error: e}
	}
	if s.opt.Fail != nil {
		if e := s.opt.Fail(a.request); e != nil {
			return &hermes.Result{ActionID: id, Status: aip.ResultFailed, Error: e}
		}
	}
	leave, ok := s.enter(a.request.Operation)
	if !ok {
		return s.providerFailed(ctx, a, errTooMany)
	}
	defer leave()
	if !a.spec.Streams() {
		return s.answerFromRecording(ctx, a)
	}
	stream, err := s.opt.Play(ctx, a.request)
	if err == nil {
		return s.collect(ctx, a, stream)
	}
	return s.providerFailed(ctx, a, err)
}

// providerFailed is the failed result that an error of the provider's makes.
func (s *Server) providerFailed(ctx context.Context, a *action, err error) *hermes.Result {
	op := a.request.Operation
	var refused *replay.Refusal
	var e *aip.Error
	switch {
	case ctx.Err() != nil:
		return nil
	case errors.As(err, &refused):
		if e = hermes.StatusFailure(op, refused.Status); e == nil {
			e = hermes.Failure(op, hermes.FailInvalid, refused.Status, "the provider's answer cannot be read")
		}
	case errors.Is(err, replay.ErrUnknown):
		e = hermes.Failure(op, hermes.FailInput, 0, "there is no such recording")
	case errors.Is(err, hermes.ErrInvalidStream):
		e = hermes.Failure(op, hermes.FailInvalid, 0, "the provider's stream cannot be read")
	default:
		e = hermes.Failure(op, hermes.FailTransport, 0, "the connection to the provider broke")
	}
	return &hermes.Result{ActionID: a.request.ActionID, Status: aip.ResultFailed, Error: e}
}

// collect reads a provider stream to its end, publishes each record as a chunk,
// and classifies what it got. A connection that breaks makes no closing chunk.
func (s *Server) collect(ctx context.Context, a *action, stream replay.Stream) *hermes.Result {
	var in map[string]json.RawMessage
	_ = json.Unmarshal(a.request.Input, &in) // checkInput read it
	limit, _ := s.maxEvents(a, in)
	agg := hermes.NewAggregate(a.request.ActionID, a.request.Endpoint, a.request.Operation, limit)
	parser := hermes.NewParser(s.opt.Limits)
	published := 0
	publish := func(c aip.Chunk) {
		published++
		if c, ok := s.opt.Faults.chunk(published, c); ok {
			s.publish(a, s.now(), c)
			s.opt.Faults.stored(s, a, c)
		}
	}
	response := "" // the stored one that the stream is about
	turn := s.beginTurn(a)
	take := func(rec hermes.Record) {
		response = cmp.Or(s.remember(a, rec), response)
		turn.saw(rec)
	}
	defer func() {
		s.leave(response, agg.Text())
		turn.end(agg.Text())
	}()
	for {
		b, err := stream.Next(ctx)
		if err == nil {
			err = parser.Feed(b)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return s.providerFailed(ctx, a, err)
		}
		for {
			rec, ok, err := parser.Next()
			if err != nil {
				return s.providerFailed(ctx, a, err)
			}
			if !ok {
				break
			}
			take(rec)
			chunk, more := agg.Add(rec)
			publish(chunk)
			if !more {
				result := agg.Result()
				return &result
			}
		}
	}
	rec, ok, err := parser.Close()
	if err != nil {
		return s.providerFailed(ctx, a, err)
	}
	if ok {
		take(rec)
		publish(agg.AddLast(rec))
	}
	if chunk, ok := agg.Closing(); ok {
		publish(chunk)
	}
	result := agg.Result()
	return &result
}

// finish settles an action. An async action's queue record is settled first, and
// its result only then: for a moment it is terminal without a result. A worker's
// result is dropped when the record was cancelled meanwhile (wire/aip.md 4.4 and
// section 9).
func (s *Server) finish(a *action, result *hermes.Result) {
	defer close(a.done)
	if result == nil {
		return
	}
	about := object("action_id", a.request.ActionID, "status", result.Status)
	if a.request.Mode != "async" {
		s.settle(a, result, about)
		return
	}
	if s.settleQueue(a, result) {
		s.settle(a, result, about)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(a, s.now(), "aip.action.worker_result", nil,
		object("action_id", a.request.ActionID, "status", result.Status, "worker_id", "worker-1"))
}

// settleQueue settles the queue record, and is false when it was cancelled.
func (s *Server) settleQueue(a *action, result *hermes.Result) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.updated = s.now()
	if a.queue == cancelled {
		return false
	}
	a.completed = a.updated
	switch result.Status {
	case aip.ResultFailed:
		a.queue, a.deadReason = failed, "attempts exhausted"
	case aip.ResultCancelled:
		a.queue = cancelled
	default:
		a.queue = completed
	}
	return true
}

func (s *Server) settle(a *action, result *hermes.Result, about json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.result, a.answer = result, result
	now := s.now()
	a.completed = now
	if result.Error != nil && result.Error.Retryable {
		delete(s.keys, a.request.Capability+"\x00"+a.request.IdempotencyKey)
	}
	if d := s.opt.Faults.late(); d > 0 {
		s.runs.Go(func() { defer s.guard(); s.noteLate(a, d, about) })
	} else {
		s.note(a, now, aip.EventResult, nil, about)
	}
	if a.approval != "" {
		s.note(a, now, "aip.action.resumed_result", nil, object("approval_id", a.approval, "action_id", a.request.ActionID, "status", result.Status))
	}
}

// noteLate publishes the event of a result when the action has long been over.
func (s *Server) noteLate(a *action, d time.Duration, about json.RawMessage) {
	select {
	case <-time.After(d):
	case <-s.ctx.Done():
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(a, s.now(), aip.EventResult, nil, about)
}
