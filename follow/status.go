package follow

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"aipscope/follow/client"
	"aipscope/model"
	"aipscope/model/aip"
)

// probe is what a status said, and the result that came with a wait for approval.
type probe struct {
	status aip.Status
	raw    json.RawMessage
	result *aip.Result
	err    error
}

// probe asks for the status without waiting for it, so that frames are read
// meanwhile.
func (f *follower) probe(ctx context.Context) {
	f.lastNews = time.Now()
	if f.probing {
		f.again = true
		return
	}
	f.probing = true
	f.spawn(func() {
		var p probe
		if p.status, p.raw, p.err = f.cfg.Client.Status(ctx, f.action); p.err == nil && waits(p.status) {
			if r, err := f.cfg.Client.Result(ctx, f.action, nil); err == nil {
				p.result = &r
			}
		}
		f.probes <- p // there is room: one at a time is under way
	})
}

// waits reports whether there may be a result that only waits for approval.
func waits(s aip.Status) bool {
	r := aip.ResultStatus(s.ResultStatus)
	return s.State == aip.StatePendingApproval || r == aip.ResultPendingApproval || r == aip.ResultRequiresHuman
}

// probed takes in a status that was asked for. It answers errState when the
// action's state is terminal.
func (f *follower) probed(ctx context.Context, p probe) error {
	f.probing = false
	if f.again {
		f.again = false
		f.probe(ctx)
	}
	if p.err != nil {
		f.cfg.Logger.Debug("status not read", "action", f.action, "kind", int(client.KindOf(p.err)))
		return nil
	}
	if err := f.status(ctx, p.status, p.raw); err != nil {
		return err
	}
	if p.result != nil && p.result.ActionID == f.action && !p.result.Status.Settles() {
		if err := f.waiting(ctx, *p.result); err != nil {
			return err
		}
	}
	if f.over {
		return errState
	}
	if f.lost && f.state == Live && p.status.State == aip.StateUnknown {
		f.lost = false
		f.show(Link{State: Live, Attempt: f.attempts, Cursor: f.cursor, Reason: "the daemon no longer knows the action"})
	}
	return nil
}

// status commits what the daemon says of the state, when that changed.
func (f *follower) status(ctx context.Context, s aip.Status, raw json.RawMessage) error {
	if s.ActionID != "" && s.ActionID != f.action {
		return f.note(ctx, CodeAnotherAction, "action_status", raw)
	}
	f.over = s.State.Terminal()
	if bytes.Equal(gist(s), f.lastStatus) {
		return nil
	}
	row, err := model.DecodeRow(model.RowStatus, time.Now(), raw)
	if err != nil {
		return err
	}
	f.lastStatus = gist(s)
	return f.addRow(ctx, row)
}

// waiting commits a result that settles nothing, once.
func (f *follower) waiting(ctx context.Context, r aip.Result) error {
	encoded, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if bytes.Equal(encoded, f.lastResult) {
		return nil
	}
	f.lastResult = encoded
	return f.add(ctx, model.RowResult, &model.Result{Result: r})
}

// gist is what a status says but for when: a daemon without a record of the
// action says its own time at each call (wire/aip.md 7.1).
func gist(s aip.Status) []byte {
	s.UpdatedAt = aip.Time{}
	b, _ := json.Marshal(s) // strings and raw JSON that was decoded: it cannot fail
	return b
}
