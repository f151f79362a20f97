// Package act does what an operator asks of actions, beside watching them:
// submitting and cancelling one, reconciling it with what its provider stored,
// and the small actions around a turn, on stored responses and sessions. Both
// faces of the console use it, over a client and the journal. An Actor acts on
// one action, a Caller makes an action of each call.
//
// It keeps two promises. Nothing is submitted twice: the action's ID is in the
// journal before the first byte is sent, an ID that the journal or the daemon
// knows is watched and never posted, and a submission whose answer was lost is
// not sent again. And a cancel is believed only when the action's own state says
// so, because a daemon answers "cancelled" for finished actions too.
package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"aipscope/follow"
	"aipscope/follow/client"
	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// Daemon is what acting needs of a client.
type Daemon interface {
	Submit(ctx context.Context, e client.Envelope, event func(int, json.RawMessage) error) (aip.Answer, error)
	Cancel(ctx context.Context, action, reason string) (aip.Result, error)
	Status(ctx context.Context, action string) (aip.Status, json.RawMessage, error)
	Page(ctx context.Context, action, cursor string, limit int, event, chunk func(json.RawMessage) error) (aip.Page, error)
	Result(ctx context.Context, action string, event func(int, json.RawMessage) error) (aip.Result, error)
}

// Recorder is the action's journal, for the rows that this console makes.
type Recorder interface {
	// Claim stores the request of a new action as its first row; it reports
	// false, and stores nothing, where the journal knows the action.
	Claim(ctx context.Context, request model.Row) (bool, error)
	// Commit is that of follow.Log; with after below 0 it returns the new rows
	// alone.
	Commit(ctx context.Context, after int64, rows []model.Row, cursor string) (follow.Committed, error)
}

// Actor acts on one action.
type Actor struct {
	Daemon Daemon
	Log    Recorder
	Action string
	Now    func() time.Time

	// Lost is told that a submission got no answer, or one of a passing trouble: the
	// daemon may have taken it, and the action itself is asked. nil for nobody.
	Lost func(err error)
}

func (a Actor) record(ctx context.Context, kind model.RowKind, body any) error {
	row, err := model.NewRow(kind, a.Now(), body)
	if err != nil {
		return err
	}
	_, err = a.Log.Commit(ctx, -1, []model.Row{row}, "")
	return err
}

// Known reports whether the daemon shows any sign of the action. A live sync or
// streaming action has the state unknown like one that never was, so its events
// are asked for as well (wire/aip.md 7.2).
func (a Actor) Known(ctx context.Context) (bool, error) {
	s, _, err := a.Daemon.Status(ctx, a.Action)
	if err != nil {
		return false, err
	}
	if s.State != aip.StateUnknown && s.State != "" {
		return true, nil
	}
	known := false
	seen := func(json.RawMessage) error { known = true; return nil }
	if _, err := a.Daemon.Page(ctx, a.Action, "", 1, seen, seen); err != nil {
		return false, err
	}
	return known, nil
}

// askKnown is Known, asked again while the daemon has passing troubles: without
// its answer nothing may be sent.
func (a Actor) askKnown(ctx context.Context) (bool, error) {
	for wait := 250 * time.Millisecond; ; wait *= 2 {
		known, err := a.Known(ctx)
		kind := client.KindOf(err)
		if err == nil || wait > 4*time.Second || kind != client.Temporary && kind != client.Unexpected || errors.Is(err, client.ErrInsecure) {
			return known, err
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// ErrKnown says that the action is in the journal or at the daemon already: it
// is to be watched, and was not posted.
var ErrKnown = errors.New("the action is known already")

// Prepare writes the request to the journal. It fails with ErrKnown when the
// action is not new; fresh tells that its ID was made just now, so that the
// daemon need not be asked.
func (a Actor) Prepare(ctx context.Context, req model.Request, fresh bool) error {
	if !fresh {
		known, err := a.askKnown(ctx)
		if err != nil {
			return fmt.Errorf("%w: ask for the action: %w", ErrNotSent, err)
		}
		if known {
			return ErrKnown
		}
	}
	row, err := model.NewRow(model.RowRequest, a.Now(), &req)
	if err != nil {
		return err
	}
	mine, err := a.Log.Claim(ctx, row)
	switch {
	case err != nil:
		return fmt.Errorf("journal the request: %w", err)
	case !mine:
		return ErrKnown
	}
	return nil
}

// ErrNotSent says that no connection to the daemon came to be, so that it has
// seen nothing of the action.
var ErrNotSent = errors.New("nothing was sent")

// notSent reports whether a call failed before anything was sent.
func notSent(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial" || errors.Is(err, client.ErrInsecure)
}

// Post sends a prepared request, once, and journals what its answer alone tells.
// A nil error means that the daemon took the action, or that it cannot be known:
// the action is to be watched. A *client.Error means that it was refused.
func (a Actor) Post(ctx context.Context, req model.Request) error {
	id, err := client.NewMessageID()
	if err != nil {
		return err
	}
	collected := false
	answer, err := a.Daemon.Submit(ctx, client.Envelope{
		MessageID: id, SentAt: a.Now(), SessionID: req.AIPSession, IdempotencyKey: req.IdempotencyKey,
		Action: client.Action{ID: a.Action, CapabilityID: req.Capability, Input: req.Input, Mode: req.Mode, TimeoutMS: req.TimeoutMS},
	}, func(int, json.RawMessage) error { collected = true; return nil })
	var refused *client.Error
	switch {
	case errors.As(err, &refused) && client.KindOf(err) != client.Temporary:
		jerr := a.record(ctx, model.RowError, refused.AIP())
		if jerr == nil && TurnedAway(refused) {
			jerr = a.record(ctx, model.RowSettled, &model.Settled{Code: refused.Word()})
		}
		if jerr != nil {
			return errors.Join(err, jerr)
		}
		return err
	case notSent(err):
		err = fmt.Errorf("%w: %w", ErrNotSent, err)
		if jerr := a.record(ctx, model.RowSettled, &model.Settled{Code: model.CodeNotSent}); jerr != nil {
			return errors.Join(err, jerr)
		}
		return err
	case err != nil && ctx.Err() == nil:
		if a.Lost != nil {
			a.Lost(err)
		}
		return nil // the daemon may have taken it: the original ID is asked, by watching
	case err != nil:
		return err
	case answer.Result == nil:
		return nil
	}
	res := answer.Result
	switch {
	case res.ActionID == "": // whose it is, nobody knows
	case res.ActionID != a.Action:
		err = a.record(ctx, model.RowReplay, &model.Result{Result: *res})
	case collected, res.Status == aip.ResultCompleted && streams(req.Capability):
		// A stream's result is stored; the follower reads it, and matches its
		// events, of which nothing may be seen here, with the chunks.
	default:
		err = a.record(ctx, model.RowResult, &model.Result{Result: *res})
	}
	if err != nil {
		return fmt.Errorf("journal the answer: %w", err)
	}
	return nil
}

// Why says in fixed words, and an error's code, how an answer was lost.
func Why(lost error) string {
	var e *client.Error
	if errors.As(lost, &e) {
		return e.Error()
	}
	if errors.Is(lost, errEarlier) {
		return errEarlier.Error()
	}
	return "the connection broke"
}

// TurnedAway reports whether an error of Post says that the action was not taken;
// then its journal holds that as its outcome. Two codes leave it open: the ID
// belongs to another action, and the message came before, perhaps because a
// proxy sent it twice.
func TurnedAway(err error) bool {
	var e *client.Error
	if !errors.As(err, &e) {
		return errors.Is(err, ErrNotSent)
	}
	switch e.Code {
	case "action.id_conflict", "replay.message_id":
		return false
	}
	return e.Kind() != client.Temporary && e.Kind() != client.Unexpected
}

func streams(capability string) bool {
	_, op, _ := hermes.ParseCapability(capability)
	spec, _ := op.Spec()
	return spec.Streams()
}

// End says how a cancel went.
type End string

const (
	EndCancelled End = "cancelled"      // the action ended cancelled
	EndFinished  End = "finished first" // it had its outcome before the cancel took hold
	EndRefused   End = "refused"        // the daemon did not accept the cancel
	EndGoesOn    End = "goes on"        // the daemon accepted it, the action has not ended yet
	EndLost      End = "lost"           // whether the daemon took the cancel is not known, the action has not ended
)

// Cancelled is the outcome of a cancel.
type Cancelled struct {
	End   End
	State string // the result's status or the action's state, when there is one
	Code  string // why it was refused
	Err   error  // of EndRefused and EndLost: the refusal, a *client.Error, or what became of the answer
}

// cancelWait is how long the truth is looked for after a daemon has accepted a
// cancel; connectors are given less to stop.
const cancelWait = 15 * time.Second

// resultWait is how long a terminal state is not believed without its result,
// which tells a cancelled turn that ended as failed from one that just failed.
const resultWait = 5 * time.Second

// Cancel asks the daemon to cancel the action, and then reads what became of it.
// Cancelling is cooperative and undoes nothing (seed 000, section 13).
func (a Actor) Cancel(ctx context.Context, reason string) (Cancelled, error) {
	if err := a.record(ctx, model.RowCancel, &model.Cancellation{Step: "asked", Reason: reason}); err != nil {
		return Cancelled{}, fmt.Errorf("journal the cancel: %w", err)
	}
	res, err := a.Daemon.Cancel(ctx, a.Action, reason)
	var refused *client.Error
	if errors.As(err, &refused) && client.KindOf(err) != client.Temporary {
		step := model.Cancellation{Step: "refused", Code: client.SafeCode(refused.Code)}
		if jerr := a.record(ctx, model.RowCancel, &step); jerr != nil {
			return Cancelled{}, errors.Join(err, jerr)
		}
		// A finished action need not be cancelled, whoever may not do so.
		if end, _, ok := a.settled(ctx); ok {
			return end, nil
		}
		return Cancelled{End: EndRefused, Code: step.Code, Err: refused}, nil
	}
	late := Cancelled{End: EndGoesOn}
	switch {
	case err != nil && (ctx.Err() != nil || notSent(err)):
		return Cancelled{}, fmt.Errorf("ask for the cancel: %w", err)
	case err != nil: // the daemon may have taken it: what became of the action tells
		late = Cancelled{End: EndLost, Err: err}
	default:
		if err := a.record(ctx, model.RowCancel, &model.Cancellation{Step: "answered", Status: string(res.Status)}); err != nil {
			return Cancelled{}, fmt.Errorf("journal the answer: %w", err)
		}
	}
	deadline := time.NewTimer(cancelWait)
	defer deadline.Stop()
	wait := 100 * time.Millisecond
	var since time.Time // when the state alone first told of an end
	for {
		end, sure, ok := a.settled(ctx)
		switch {
		case sure, ok && !since.IsZero() && a.Now().Sub(since) >= resultWait:
			return end, nil
		case ok && since.IsZero():
			since = a.Now()
		}
		select {
		case <-ctx.Done():
			return Cancelled{}, ctx.Err()
		case <-deadline.C:
			return late, nil
		case <-time.After(wait):
			wait = min(2*wait, time.Second)
		}
	}
}

// settled reads the action's result and state. ok reports whether they tell of
// an outcome, sure that a result which is still to come would say no other.
func (a Actor) settled(ctx context.Context) (end Cancelled, sure, ok bool) {
	res, err := a.Daemon.Result(ctx, a.Action, nil)
	if err == nil && res.ActionID == a.Action && (&model.Result{Result: res}).Settles() {
		end = Cancelled{End: EndFinished, State: string(res.Status)}
		if res.Status == aip.ResultCancelled || res.Error != nil && model.CancelCode(res.Error.Code) {
			end.End = EndCancelled
		}
		return end, true, true
	}
	s, _, err := a.Daemon.Status(ctx, a.Action)
	switch {
	case err != nil || !s.State.Terminal():
		return Cancelled{}, false, false
	case s.State == aip.StateCancelled:
		return Cancelled{End: EndCancelled, State: string(s.State)}, true, true
	}
	return Cancelled{End: EndFinished, State: string(s.State)}, false, true
}
