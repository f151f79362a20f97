package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"time"

	"aipscope/follow"
	"aipscope/follow/client"
	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/hermes"

	"github.com/google/uuid"
)

// Journal is one action's journal.
type Journal interface {
	follow.Log
	Recorder
	// SetVerdict keeps the verdict for lists.
	SetVerdict(ctx context.Context, word model.Word, revision int64, rules int) error
}

// Service is what a Caller needs of a daemon's client.
type Service interface {
	Daemon
	follow.Client
}

// Known is a request that the journal holds.
type Known struct {
	Action  string
	Request model.Request
	At      time.Time // of the action's last row
}

// Notice is something that a call meets on its way. Text is safe to show.
type Notice struct {
	Kind   NoticeKind
	Action string // that it is about
	Key    string // of NoticeKey
	Text   string
}

// NoticeKind says what a notice tells of.
type NoticeKind string

const (
	NoticeKey      NoticeKind = "key"      // an idempotency key was made
	NoticeWarning  NoticeKind = "warning"  // the request has consequences that are easy to miss
	NoticeWaiting  NoticeKind = "waiting"  // an approval is pending
	NoticeOwner    NoticeKind = "owner"    // another action holds the key, or its result is repeated
	NoticeLost     NoticeKind = "lost"     // the submission got no answer, and the action itself is asked
	NoticeRetry    NoticeKind = "retry"    // a read is asked again
	NoticeOriginal NoticeKind = "original" // this was asked before; the first action is read
)

// Caller makes an action of each call, at one endpoint of one daemon. Every call
// is in the journal, under an ID of its own, before its first byte is sent.
type Caller struct {
	Service  Service
	Open     func(ctx context.Context, action string) (Journal, error)
	Source   func(action string) follow.Source
	Requests func(ctx context.Context, capability string) ([]Known, error) // of the journal, the latest first
	Endpoint string
	Now      func() time.Time
	Wait     func(ctx context.Context, d time.Duration) error // between two reads; nil for the clock's
	Tell     func(Notice)                                     // nil for nobody
	Logger   *slog.Logger
}

func (c *Caller) tell(n Notice) {
	if c.Tell != nil {
		c.Tell(n)
	}
}

func (c *Caller) wait(ctx context.Context, d time.Duration) error {
	if c.Wait != nil {
		return c.Wait(ctx, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// NewKey makes an idempotency key for one exact request.
func NewKey() string { return "aipscope-" + uuid.NewString() }

// SameRequest reports whether two requests ask the same.
func SameRequest(a, b model.Request) bool {
	var x, y any
	if json.Unmarshal(a.Input, &x) != nil || json.Unmarshal(b.Input, &y) != nil {
		return false
	}
	return a.Capability == b.Capability && reflect.DeepEqual(x, y)
}

// KeyUsed says by which known request, the latest first, a request's key was used
// before; "" where by none. One key belongs to one exact request, and a daemon
// does not look at what changed (seed 001, "Apply idempotency and retry safely").
func KeyUsed(known []Known, action string, req model.Request) string {
	for _, k := range known {
		if k.Action == action || req.IdempotencyKey == "" || k.Request.IdempotencyKey != req.IdempotencyKey {
			continue
		}
		what := "for another request: the daemon answers with that one's result, whatever is asked now; use a fresh key"
		if SameRequest(k.Request, req) {
			what = "for this same request: the daemon answers with its result"
		}
		return "the key was used by " + k.Action + " " + what
	}
	return ""
}

// CheckError is a request that fails its check: nothing was sent or journaled.
type CheckError struct{ Findings []hermes.Finding }

func (e *CheckError) Error() string {
	lines := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		lines[i] = f.String()
	}
	return "the request fails its check: " + strings.Join(lines, "; ")
}

// Failure is an action that ended without the result that was asked for.
type Failure struct {
	Op      hermes.Operation
	Action  string
	Verdict model.Verdict
	Err     *aip.Error // nil where it was cancelled or left no result
}

func (e *Failure) Error() string {
	text := fmt.Sprintf("%s failed (%s)", e.Op, e.Action)
	if e.Err != nil {
		text = fmt.Sprintf("%s failed with %s", e.Op, client.SafeCode(e.Err.Code))
		if status := e.Err.RemoteStatus(); status != 0 {
			text += fmt.Sprintf(", the provider's HTTP %d", status)
		}
		text += " (" + e.Action + ")"
	} else if e.Verdict.Reason != "" {
		text = fmt.Sprintf("%s: %s (%s)", e.Op, e.Verdict.Reason, e.Action)
	}
	return text
}

// Decision is what the seeds say to do about it, or "".
func (e *Failure) Decision() string { return model.Decision(e.Op, e.Err) }

// Reply is a call that completed.
type Reply struct {
	Action  string // whose result it is
	Asked   string // the action that was made for the call; another one than Action for a replay
	Key     string // the idempotency key, or ""
	Result  aip.Result
	Verdict model.Verdict
	Turn    *model.Turn
}

// call says what is asked.
type call struct {
	op    hermes.Operation
	input any    // encoded as JSON
	key   string // "" makes one where it is required
}

// call checks, journals and sends one request in mode sync, and waits for its
// outcome: through an approval, and with the owner of its key. The error is a
// *CheckError, a *Failure, a *client.Error, or ctx's. A Reply comes with a
// Failure, too.
func (c *Caller) call(ctx context.Context, k call) (Reply, error) {
	input, err := json.Marshal(k.input)
	if err != nil {
		return Reply{}, fmt.Errorf("encode the request: %w", err)
	}
	req := model.Request{Capability: k.op.Capability(c.Endpoint), Mode: "sync", IdempotencyKey: k.key, Input: input}
	spec, _ := k.op.Spec()
	made := req.IdempotencyKey == "" && spec.NeedsKey
	if made {
		req.IdempotencyKey = NewKey()
	}
	errs, warns := hermes.Check(k.op, input, hermes.CheckOptions{Capability: req.Capability, IdempotencyKey: req.IdempotencyKey, Mode: req.Mode})
	if len(errs) > 0 {
		return Reply{}, &CheckError{errs}
	}
	action, err := client.NewActionID()
	if err != nil {
		return Reply{}, err
	}
	for _, w := range warns {
		c.tell(Notice{Kind: NoticeWarning, Action: action, Text: w.String()})
	}
	if made {
		c.tell(Notice{Kind: NoticeKey, Action: action, Key: req.IdempotencyKey, Text: "idempotency key " + req.IdempotencyKey + " of " + action})
	}
	if k.key != "" {
		known, err := c.Requests(ctx, req.Capability)
		if err != nil {
			return Reply{}, err
		}
		if used := KeyUsed(known, action, req); used != "" {
			c.tell(Notice{Kind: NoticeWarning, Action: action, Text: used})
		}
	}
	journal, err := c.Open(ctx, action)
	if err != nil {
		return Reply{}, err
	}
	var lost error
	actor := Actor{Daemon: c.Service, Log: journal, Action: action, Now: c.Now, Lost: func(err error) { lost = err }}
	if err := actor.Prepare(ctx, req, true); err != nil {
		return Reply{}, err
	}
	if c.Logger != nil {
		c.Logger.Info("call", "action", action, "capability", req.Capability, "key", req.IdempotencyKey)
	}
	if err := actor.Post(ctx, req); err != nil {
		if turn, jerr := c.turn(context.WithoutCancel(ctx), action); jerr == nil && turn.Refused() != "" {
			if jerr = c.keepVerdict(ctx, turn); jerr != nil {
				err = errors.Join(err, jerr)
			}
		}
		return Reply{Action: action, Asked: action, Key: req.IdempotencyKey}, err
	}
	if lost != nil {
		if reply, err := c.original(ctx, k.op, actor, lost); err != nil {
			reply.Key = req.IdempotencyKey
			return reply, err
		}
	}
	reply, err := c.outcome(ctx, k.op, action)
	reply.Asked, reply.Key = action, req.IdempotencyKey
	return reply, err
}

// lostTime is how long an action whose submission got no answer is asked for: a
// call is over by then, and shows (the contract's timeout is 60 s).
const lostTime = 75 * time.Second

// original asks for an action whose submission got no answer until the daemon
// shows it. One that it never shows was not taken, or is lost. A read whose typed
// error permits it need not be asked for: it may be made again.
func (c *Caller) original(ctx context.Context, op hermes.Operation, actor Actor, lost error) (Reply, error) {
	reply := Reply{Action: actor.Action, Asked: actor.Action}
	var e *client.Error
	if errors.As(lost, &e) && e.Code != "" && model.MayReadAgain(op, e.AIP()) {
		return reply, &Failure{Op: op, Action: actor.Action, Err: e.AIP()}
	}
	told := false
	var waited time.Duration
	for wait := 250 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		switch known, err := actor.Known(ctx); {
		case known:
			return reply, nil
		case err != nil && ctx.Err() != nil:
			return reply, err
		case err != nil && client.KindOf(err) != client.Temporary:
			return reply, fmt.Errorf("ask for %s: %w", actor.Action, err)
		}
		if !told {
			told = true
			c.tell(Notice{Kind: NoticeLost, Action: actor.Action, Text: "the submission of " + actor.Action + " got no answer (" + Why(lost) + "): the action is asked, nothing is sent again"})
		}
		if waited >= lostTime {
			v := model.Verdict{Word: model.Incomplete, Reason: "the answer was lost, and the daemon shows no record of the action: reconcile it before anything else"}
			if spec, _ := op.Spec(); spec.ReadOnly {
				v = model.Verdict{Word: model.Pending, Reason: "the answer was lost, and the daemon shows no record of the action"}
			}
			return reply, &Failure{Op: op, Action: actor.Action, Verdict: v}
		}
		if err := c.wait(ctx, wait); err != nil {
			return reply, err
		}
		waited += wait
	}
}

// maxHops bounds how many owners of a key are followed.
const maxHops = 3

// outcome waits for an action's outcome, which is in the journal for most calls
// by now, and follows the action where it is not.
func (c *Caller) outcome(ctx context.Context, op hermes.Operation, action string) (Reply, error) {
	for range maxHops {
		turn, err := c.watch(ctx, action)
		if err != nil {
			return Reply{Action: action, Asked: action, Turn: turn}, err
		}
		next, why := turn.Successor()
		if next == "" {
			return c.reply(op, action, turn)
		}
		text := "another action holds the key and still runs, it is followed: "
		if why == "replay" {
			text = "the key was used before, and the daemon answers with the result of "
		}
		c.tell(Notice{Kind: NoticeOwner, Action: next, Text: text + next})
		action = next
	}
	return Reply{}, fmt.Errorf("%s: each action names another one as its owner", action)
}

// watch follows one action until it settled, or is judged by another one.
func (c *Caller) watch(ctx context.Context, action string) (*model.Turn, error) {
	journal, err := c.Open(ctx, action)
	if err != nil {
		return nil, err
	}
	turn := model.NewTurn(action)
	told := false
	w := follow.Start(ctx, follow.Config{Source: c.Source(action), Log: journal, Client: c.Service, Logger: c.Logger})
	defer w.Close()
	for {
		b, err := w.Next(ctx)
		if err != nil {
			return turn, err
		}
		turn.Apply(b.Rows)
		if next, _ := turn.Successor(); next != "" {
			return turn, nil
		}
		if b.Done {
			if b.Err != nil {
				return turn, b.Err
			}
			break
		}
		if v := turn.Verdict(); v.Word == model.AwaitingApproval && !told {
			told = true
			c.tell(Notice{Kind: NoticeWaiting, Action: action, Text: "an approval is pending for " + action + "; nothing runs until somebody decides"})
		}
	}
	return turn, c.keepVerdict(ctx, turn)
}

// keepVerdict keeps a turn's verdict for the list of actions.
func (c *Caller) keepVerdict(ctx context.Context, turn *model.Turn) error {
	if turn.Applied() == 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	journal, err := c.Open(ctx, turn.Action())
	if err == nil {
		err = journal.SetVerdict(ctx, turn.Verdict().Word, turn.Applied(), model.RulesVersion)
	}
	if err != nil {
		return fmt.Errorf("journal the verdict: %w", err)
	}
	return nil
}

func (c *Caller) reply(op hermes.Operation, action string, turn *model.Turn) (Reply, error) {
	r := Reply{Action: action, Asked: action, Verdict: turn.Verdict(), Turn: turn}
	res := turn.Result()
	if res == nil {
		return r, &Failure{Op: op, Action: action, Verdict: r.Verdict}
	}
	r.Result = res.Result
	if res.Status != aip.ResultCompleted {
		return r, &Failure{Op: op, Action: action, Verdict: r.Verdict, Err: res.Error}
	}
	return r, nil
}

// readTries is how often a read is asked, where its typed errors permit it.
const readTries = 3

// read calls an operation that only reads. Where the typed error permits it, it
// asks again, each time as an action of its own.
func (c *Caller) read(ctx context.Context, op hermes.Operation, input any) (Reply, error) {
	wait := time.Second
	for try := 1; ; try++ {
		r, err := c.call(ctx, call{op: op, input: input})
		var f *Failure
		if try == readTries || !errors.As(err, &f) || !model.MayReadAgain(op, f.Err) {
			return r, err
		}
		pause := max(wait, min(time.Duration(f.Err.RetryAfterMS)*time.Millisecond, 30*time.Second))
		c.tell(Notice{Kind: NoticeRetry, Action: f.Action, Text: fmt.Sprintf("%s; the typed error permits reading again, in %s", f, pause)})
		if err := c.wait(ctx, pause); err != nil {
			return r, err
		}
		wait *= 2
	}
}

// errEarlier is why an earlier console has left an action without an outcome.
var errEarlier = errors.New("an earlier console left it")

// again looks for an earlier call of the same operation on the same object. A
// mutation that was asked for is not asked for once more by itself: its original
// result is read (seed 001, "Failures and recovery").
func (c *Caller) again(ctx context.Context, op hermes.Operation, id string) (Reply, bool, error) {
	known, err := c.Requests(ctx, op.Capability(c.Endpoint))
	if err != nil {
		return Reply{}, false, err
	}
	for _, k := range known {
		if hermes.Target(op, k.Request.Input) != id {
			continue
		}
		turn, err := c.turn(ctx, k.Action)
		if err != nil {
			return Reply{}, false, err
		}
		if turn.Refused() != "" {
			continue // it was not asked, after all
		}
		c.tell(Notice{Kind: NoticeOriginal, Action: k.Action, Text: "this was asked before, and is not asked again: the original action is read: " + k.Action})
		if !turn.Settled() {
			actor := Actor{Daemon: c.Service, Action: k.Action, Now: c.Now}
			if r, err := c.original(ctx, op, actor, errEarlier); err != nil {
				r.Key = k.Request.IdempotencyKey
				return r, true, err
			}
		}
		r, err := c.outcome(ctx, op, k.Action)
		r.Key = k.Request.IdempotencyKey
		return r, true, err
	}
	return Reply{}, false, nil
}
