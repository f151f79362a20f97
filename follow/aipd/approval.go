package aipd

import (
	"time"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// Approval is how a human decides, without one.
type Approval struct {
	Decides bool // else nobody ever does
	Grants  bool
	After   time.Duration
}

// awaitApproval stores the result that waits for a human. The store is locked.
func (s *Server) awaitApproval(a *action) {
	now := s.now()
	a.approval = newID("appr_")
	about := object("approval_id", a.approval, "action_id", a.request.ActionID, "capability_id", a.request.Capability)
	a.result = &hermes.Result{ActionID: a.request.ActionID, Status: aip.ResultPendingApproval,
		Output: hermes.JSONPieces(object("requires_human_approval", true, "approval_id", a.approval,
			"capability_id", a.request.Capability, "reason", "the capability needs an approval", "approval_request", about)),
		Error: failure("policy.human_approval_required", policy, "a human must approve the action")}
	a.answer = a.result
	s.note(a, now, "aip.approval.requested", nil, about)
	s.note(a, now, aip.EventResult, nil, object("action_id", a.request.ActionID, "status", a.result.Status))
	close(a.done)
	if p := s.opt.Approve; p.Decides && s.ctx.Err() == nil {
		s.runs.Go(func() {
			defer s.guard()
			if s.sleep(p.After) == nil {
				s.Decide(a.request.ActionID, p.Grants)
			}
		})
	}
}

// sleep waits as the provider does, until the server is closed.
func (s *Server) sleep(d time.Duration) error {
	if s.opt.Sleep != nil {
		return s.opt.Sleep(s.ctx, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// Decide grants or denies the approval that an action waits for. It is false
// when the action waits for none.
func (s *Server) Decide(actionID string, grant bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.actions[actionID]
	if a == nil || a.result == nil || a.result.Status != aip.ResultPendingApproval || s.ctx.Err() != nil {
		return false
	}
	now := s.now()
	about := object("approval_id", a.approval, "action_id", actionID)
	if !grant {
		a.result = &hermes.Result{ActionID: actionID, Status: aip.ResultFailed,
			Error: failure("policy.approval_denied", policy, "the approval was denied")}
		a.completed = now
		s.note(a, now, "aip.approval.denied", nil, about)
		s.note(a, now, "aip.action.approval_terminal", nil, object("approval_id", a.approval, "action_id", actionID, "status", a.result.Status))
		return true
	}
	s.note(a, now, "aip.approval.granted", nil, about)
	a.result, a.answer, a.done = nil, nil, make(chan struct{})
	s.start(a)
	return true
}
