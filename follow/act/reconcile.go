package act

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"aipscope/follow/client"
	"aipscope/model"
	"aipscope/model/aip"
)

// Reconciled is what is known of an action after it and its provider state were
// read again.
type Reconciled struct {
	model.Reconciliation
	Action string // that is judged: the owner of the key, where another one ran
	Turn   *model.Turn
	Status aip.Status
	Result string // the daemon's word on the result: its status, or the code of why there is none
}

// Line is a line of what a reconciliation found: who was asked, its word, and more
// of it. Some of it is outside text.
type Line struct{ Who, Says, More string }

// Lines are the evidence beside the stream's. id makes a provider's ID fit to be
// shown.
func (r Reconciled) Lines(id func(string) string) []Line {
	word := func(w model.Word) string { return strings.ReplaceAll(string(w), "_", " ") }
	out := []Line{
		{"journal", word(r.Before.Word), r.Before.Reason},
		{"stream", model.Count(r.Turn.Chunks(), "chunk", "chunks"), fmt.Sprintf("%s, %s, finish %s",
			model.Count(utf8.RuneCountInString(r.Turn.Text()), "character", "characters"), model.Count(len(r.Turn.Tools()), "tool", "tools"), cmp.Or(r.Turn.FinishReason(), "-"))},
		{"daemon", string(r.Status.State), "result " + r.Result},
	}
	if r.Verdict.Word != r.Before.Word {
		out = append(out, Line{"now", word(r.Verdict.Word), r.Verdict.Reason})
	}
	if r.Nothing != "" {
		out = append(out, Line{"provider", "not asked", r.Nothing})
	}
	for _, e := range r.Evidence {
		out = append(out, Line{e.Is, string(e.State), e.Says()}, Line{"", "", "ID " + id(e.ID) + ", read by " + e.Action})
		if c := e.Compared(); c != "" {
			out = append(out, Line{"", "", c})
		}
		if e.Resolved != "" && e.Resolved != e.ID {
			out = append(out, Line{"", "", "it goes on in the session " + id(e.Resolved)})
		}
	}
	return out
}

// How long a reconciliation reads what the journal lacks of an action: one that
// ended is read to its end, one that lives only as far as it is.
const (
	endedWait = 30 * time.Second
	liveWait  = 2 * time.Second
)

// Reconcile reads the status and the result of the original action, then once
// what its provider stored (seed 000, section 14). It submits nothing but reads,
// each an action of its own.
func (c *Caller) Reconcile(ctx context.Context, action string) (Reconciled, error) {
	for range maxHops {
		r, next, err := c.reconcileOne(ctx, action)
		if err != nil || next == "" {
			return r, err
		}
		c.tell(Notice{Kind: NoticeOwner, Action: next, Text: action + " is judged by the action that holds its key, which is reconciled: " + next})
		action = next
	}
	return Reconciled{}, fmt.Errorf("%s: each action names another one as its owner", action)
}

func (c *Caller) reconcileOne(ctx context.Context, action string) (r Reconciled, next string, err error) {
	r.Action = action
	if r.Turn, err = c.turn(ctx, action); err != nil {
		return r, "", err
	}
	before := r.Turn.Verdict()
	if err := c.readAgain(ctx, &r); err != nil {
		return r, "", err
	}
	if r.Turn, err = c.turn(ctx, action); err != nil {
		return r, "", err
	}
	if next, _ := r.Turn.Successor(); next != "" {
		return r, next, nil
	}
	reads, why := r.Turn.Reads()
	if r.Status.State == aip.StateUnknown && r.Turn.Applied() == 0 {
		reads, why = nil, "neither the journal nor the daemon knows this action"
	}
	asker := *c
	if endpoint := r.Turn.Endpoint(); endpoint != "" {
		asker.Endpoint = endpoint
	}
	if asker.Endpoint == "" && len(reads) > 0 {
		reads, why = nil, "the endpoint is not known: name it with --endpoint"
	}
	var evidence []model.Evidence
	for _, read := range reads {
		e, err := asker.ask(ctx, r.Turn, read)
		if err != nil {
			return r, "", err
		}
		evidence = append(evidence, e)
	}
	r.Reconciliation = r.Turn.Reconcile(before, evidence, why)
	return r, "", c.keepVerdict(ctx, r.Turn)
}

// readAgain reads the action's status and result once more, and from the daemon
// what the journal does not hold of it yet.
func (c *Caller) readAgain(ctx context.Context, r *Reconciled) error {
	s, raw, err := c.Service.Status(ctx, r.Action)
	if err != nil {
		return fmt.Errorf("status of %s: %w", r.Action, err)
	}
	r.Status = s
	res, err := c.Service.Result(ctx, r.Action, nil)
	var refused *client.Error
	settles := false
	switch {
	case err == nil:
		r.Result = string(res.Status)
		settles = (&model.Result{Result: res}).Settles()
	case errors.As(err, &refused):
		r.Result = client.SafeCode(refused.Code)
	default:
		return fmt.Errorf("result of %s: %w", r.Action, err)
	}
	if r.Turn.Applied() == 0 && s.State == aip.StateUnknown && err != nil {
		return nil // nothing is known, and nothing is to be made up in the journal
	}
	journal, jerr := c.Open(ctx, r.Action)
	if jerr != nil {
		return jerr
	}
	var rows []model.Row
	if row, err := model.DecodeRow(model.RowStatus, c.Now(), raw); err == nil {
		rows = append(rows, row)
	}
	if r.Turn.Settled() && err == nil {
		kind := model.RowResult
		if res.ActionID != r.Action {
			kind = model.RowReplay
		}
		row, err := model.NewRow(kind, c.Now(), &model.Result{Result: res})
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	if _, err := journal.Commit(ctx, -1, rows, ""); err != nil {
		return fmt.Errorf("journal what the daemon says: %w", err)
	}
	if r.Turn.Settled() {
		return nil
	}
	// The chunks and the match with the result come by following.
	wait := liveWait
	if settles || s.State.Terminal() {
		wait = endedWait
	}
	reading, stop := context.WithTimeout(ctx, wait)
	defer stop()
	if _, err := c.watch(reading, r.Action); err != nil && (ctx.Err() != nil || reading.Err() == nil) {
		return err
	}
	return nil
}

// ask makes one read.
func (c *Caller) ask(ctx context.Context, turn *model.Turn, read model.Read) (model.Evidence, error) {
	reply, err := c.call(ctx, call{op: read.Op, input: read.Input()})
	var f *Failure
	var refused *client.Error
	switch {
	case err == nil:
		res := reply.Result
		return turn.ReadEvidence(read, res), nil
	case errors.As(err, &f):
		return turn.ReadEvidence(read, aip.Result{ActionID: f.Action, Status: aip.ResultFailed, Error: f.Err}), nil
	case errors.As(err, &refused):
		return turn.ReadEvidence(read, aip.Result{ActionID: reply.Asked, Status: aip.ResultFailed, Error: refused.AIP()}), nil
	}
	var check *CheckError
	if errors.As(err, &check) {
		return turn.ReadEvidence(read, aip.Result{Status: aip.ResultFailed, Error: &aip.Error{Code: "input.not_valid"}}), nil
	}
	return model.Evidence{}, err
}
