package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"aipscope/follow/act"
	"aipscope/follow/client"
	"aipscope/model"
	"aipscope/model/hermes"
	"aipscope/model/safe"
	"aipscope/store"

	"github.com/spf13/cobra"
)

// submission is what submit was asked to send.
type submission struct {
	input  string
	action string
	key    string
	sess   string
	mode   string
	limit  time.Duration
	detach bool
	// unlisted sends what the daemon's manifest does not name.
	unlisted bool
	watch    watchOptions
}

func (a *app) submitCommand() *cobra.Command {
	var s submission
	cmd := &cobra.Command{
		Use:   "submit CAPABILITY --input JSON, @FILE or -",
		Short: "Check a request, submit it once and watch it",
		Long: `Check a request, write its action ID to the journal, submit it and watch it to its
verdict. An action ID that the journal or the daemon knows is watched, never
submitted again. CAPABILITY may come from AIP_CAPABILITY_ID, the action ID from
AIP_ACTION_ID.`,
		Example: `  aipscope submit cap:hermes_agent:prod:chat_stream --input '{"prompt":"Summarize the incident notes.","session_id":"incident-214"}'
  aipscope submit cap:hermes_agent:prod:responses_stream --input @request.json --detach`,
		Args: maxOneArg("capability"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runSubmit(cmd.Context(), args, s) },
	}
	f := cmd.Flags()
	f.StringVar(&s.input, "input", "", "the request as `JSON`, @FILE or - for standard input")
	f.StringVar(&s.action, "action-id", "", "submit under this `ID` instead of a new one")
	f.StringVar(&s.key, "idempotency-key", "", "`key` of this exact request; one is made where the capability requires it")
	f.StringVar(&s.sess, "aip-session", "", "AIP session `ID` (not the Hermes session)")
	f.StringVar(&s.mode, "mode", "", "`mode`: sync, async or streaming (default: streaming for streams, else sync)")
	f.DurationVar(&s.limit, "action-timeout", 0, "ask the daemon to stop the action after this `time`")
	f.BoolVar(&s.detach, "detach", false, "leave once the daemon has the action (mode async where the capability has it)")
	f.BoolVar(&s.unlisted, "unlisted", false, "send a capability that the daemon's manifest does not name")
	s.watch.flags(cmd)
	return cmd
}

func (a *app) runSubmit(ctx context.Context, args []string, s submission) error {
	capability := a.getenv("AIP_CAPABILITY_ID")
	if len(args) > 0 {
		capability = args[0]
	}
	if capability == "" {
		return usage(errors.New("which capability? name it, or set AIP_CAPABILITY_ID"))
	}
	given := s.mode
	req, err := a.request(capability, &s)
	if err != nil {
		return err
	}
	action, fresh, err := a.newAction(cmp.Or(s.action, a.getenv("AIP_ACTION_ID")))
	if err != nil {
		return err
	}
	d, err := a.openDesk(ctx)
	if err != nil {
		return err
	}
	offer, err := d.terms(ctx, capability, s.unlisted)
	if err != nil {
		return err
	}
	if err := d.fit(&req, offer, given); err != nil {
		return err
	}
	if err := d.mayFollow(ctx, action, req); err != nil {
		return err
	}
	if err := d.warnKey(ctx, action, req); err != nil {
		return err
	}
	return d.submit(ctx, action, fresh, req, s)
}

// fit settles mode and key by what the daemon says of its capability, which may
// be less or more than what the connector publishes.
func (d *desk) fit(req *model.Request, o act.Offer, given string) error {
	if len(o.Modes) > 0 && !slices.Contains(o.Modes, req.Mode) {
		if given != "" {
			return usage(fmt.Errorf("mode: the daemon offers %s in mode %s, not %s; nothing was sent", o.ID, strings.Join(o.Modes, ", "), req.Mode))
		}
		req.Mode = o.Modes[0]
	}
	if o.Key == "required" && req.IdempotencyKey == "" {
		req.IdempotencyKey = act.NewKey()
		d.sayKey(req.IdempotencyKey)
	}
	return nil
}

func (a *app) sayKey(key string) { fmt.Fprintf(a.err, "aipscope: idempotency key %s\n", key) }

// mayFollow asks whether the token may read the action, before a stream is begun
// that nobody here could follow (wire/aip.md 2.2). Only a refusal says no.
func (d *desk) mayFollow(ctx context.Context, action string, req model.Request) error {
	_, op, _ := hermes.ParseCapability(req.Capability)
	if spec, _ := op.Spec(); !spec.Streams() {
		return nil
	}
	_, _, err := d.client.Status(ctx, action)
	switch client.KindOf(err) {
	case client.WrongCredential, client.NotAllowed:
		return fmt.Errorf("submit %s: %w: ask for the action: %w", action, act.ErrNotSent, err)
	}
	return nil
}

// newAction is the action's ID as it was given, or a fresh one.
func (a *app) newAction(given string) (action string, fresh bool, err error) {
	if given == "" {
		action, err = client.NewActionID()
		return action, true, err
	}
	return given, false, checkActionID(given)
}

// warnKey says where the journal knows that a key was used before: one key
// belongs to one exact request, and the daemon does not look at what changed
// (seed 001, "Apply idempotency and retry safely").
func (d *desk) warnKey(ctx context.Context, action string, req model.Request) error {
	if req.IdempotencyKey == "" {
		return nil
	}
	use, err := d.keyUse(ctx, action, req)
	if err == nil && use != "" {
		fmt.Fprintf(d.err, "aipscope: warning: %s\n", safe.Line(use))
	}
	return err
}

// keyUse is which earlier request of the journal has the key, or "".
func (d *desk) keyUse(ctx context.Context, action string, req model.Request) (string, error) {
	known, err := d.requests(ctx, req.Capability)
	if err != nil {
		return "", err
	}
	return act.KeyUsed(known, action, req), nil
}

// request reads and checks what is to be sent.
func (a *app) request(capability string, s *submission) (model.Request, error) {
	raw, err := a.readInput(s.input)
	if err != nil {
		return model.Request{}, err
	}
	return a.checked(capability, raw, s)
}

// checked checks what is to be sent, and settles mode and key.
func (a *app) checked(capability string, raw json.RawMessage, s *submission) (model.Request, error) {
	_, op, _ := hermes.ParseCapability(capability)
	spec, hermesOp := op.Spec()
	if s.mode == "" {
		s.mode = "sync"
		if spec.Streams() {
			s.mode = "streaming"
		}
		if s.detach && (spec.Async || !hermesOp) {
			s.mode = "async"
		}
	}
	if s.key == "" && spec.NeedsKey {
		s.key = act.NewKey()
		a.sayKey(s.key)
	}
	errs, warns := hermes.Check(op, raw, hermes.CheckOptions{Capability: capability, IdempotencyKey: s.key, Mode: s.mode})
	for _, w := range warns {
		fmt.Fprintf(a.err, "aipscope: warning: %s\n", oneLine(w.String()))
	}
	if len(errs) > 0 {
		lines := make([]string, len(errs))
		for i, e := range errs {
			lines[i] = e.String()
		}
		return model.Request{}, usage(fmt.Errorf("the request fails its check: %s", strings.Join(lines, "; ")))
	}
	return model.Request{
		Capability: capability, Mode: s.mode, IdempotencyKey: s.key, AIPSession: s.sess, Input: raw, TimeoutMS: s.limit.Milliseconds(),
	}, nil
}

// maxInput is a little more than a provider takes (seed 001).
const maxInput = 16 << 20

func (a *app) readInput(input string) (json.RawMessage, error) {
	if input == "" {
		return nil, usage(errors.New("what should be sent? give --input JSON, @FILE or -"))
	}
	raw, from, err := a.readText(input, "--input")
	if err != nil {
		return nil, err
	}
	return compactInput(raw, from)
}

func compactInput(raw []byte, from string) (json.RawMessage, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return nil, usage(fmt.Errorf("%s is no JSON: %w", from, err))
	}
	return compact.Bytes(), nil
}

// readText reads what a flag gives itself, from a file, or on standard input; it
// returns where that was, too.
func (a *app) readText(given, flag string) (raw []byte, from string, err error) {
	switch {
	case given == "-":
		from = "standard input"
		raw, err = readAtMost(a.in)
	case given != "" && given[0] == '@':
		from = given[1:]
		f, failed := os.Open(from)
		if failed != nil {
			return nil, from, usage(failed) // it names the file
		}
		defer f.Close()
		raw, err = readAtMost(f)
	default:
		return []byte(given), flag, nil
	}
	if err != nil {
		return nil, from, usage(fmt.Errorf("read %s: %w", from, err))
	}
	return raw, from, nil
}

// readAtMost reads all, or says that it is too large: a part would be something
// else.
func readAtMost(r io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err == nil && len(raw) > maxInput {
		err = fmt.Errorf("it is larger than %d bytes", maxInput)
	}
	return raw, err
}

// submit journals, sends and watches a checked request.
func (d *desk) submit(ctx context.Context, action string, fresh bool, req model.Request, s submission) error {
	log, err := d.hold(ctx, action)
	if err != nil {
		return err
	}
	actor := d.actor(log, action)
	switch err := actor.Prepare(ctx, req, fresh); {
	case errors.Is(err, act.ErrKnown):
		if err := sameAsBefore(ctx, log, action, req); err != nil {
			return err
		}
		fmt.Fprintf(d.err, "aipscope: %s is known already: it is watched, nothing is sent\n", safe.Line(action))
		if s.detach {
			return d.submitted(action, req)
		}
		return d.watch(ctx, action, s.watch)
	case err != nil:
		return fmt.Errorf("submit %s: %w", action, err)
	}
	d.app.log.Info("submit", "action", action, "capability", req.Capability, "key", req.IdempotencyKey, "mode", req.Mode)
	if d.set.Output != "tui" {
		actor.Lost = func(err error) {
			fmt.Fprintf(d.err, "aipscope: the submission got no answer (%s): %s itself is asked, nothing is sent again\n", oneLine(act.Why(err)), safe.Line(action))
		}
	}
	posted := make(chan error, 1)
	sending, stop := context.WithCancel(ctx)
	defer stop()
	d.spawn(func() { posted <- actor.Post(sending, req) })
	if s.detach {
		return d.detach(ctx, actor, req, posted)
	}
	fmt.Fprintf(d.err, "aipscope: submitting %s\n", action)
	watching, give := context.WithCancelCause(ctx)
	defer give(nil)
	answered, ended := make(chan struct{}), make(chan error, 1)
	d.spawn(func() {
		err := <-posted
		if err != nil && !act.TurnedAway(err) {
			give(err)
		}
		ended <- err
		close(answered) // one that was turned away ends by its journal
	})
	s.watch.posted = answered
	s.watch.capability = req.Capability
	err = d.watch(watching, action, s.watch)
	if cause := context.Cause(watching); cause != nil && ctx.Err() == nil && !errors.Is(cause, context.Canceled) {
		return fmt.Errorf("submit %s: %w", action, cause)
	}
	if d.refused {
		if refused := <-ended; refused != nil {
			return fmt.Errorf("submit %s: %w", action, refused)
		}
	}
	return err
}

// sameAsBefore refuses an ID under which the journal holds another request: its
// outcome would be taken for this one's.
func sameAsBefore(ctx context.Context, log *store.Log, action string, req model.Request) error {
	rows, err := log.Rows(ctx, 0, 1)
	if err != nil {
		return fmt.Errorf("read journal: %w", err)
	}
	if len(rows) == 1 && rows[0].Request != nil && !act.SameRequest(*rows[0].Request, req) {
		return usage(fmt.Errorf("%s was submitted with another request, and nothing was sent now; aipscope watch %s shows that one", action, action))
	}
	return nil
}

// detach stays until the daemon knows the action, and prints its ID.
func (d *desk) detach(ctx context.Context, actor act.Actor, req model.Request, posted <-chan error) error {
	wait := time.NewTicker(250 * time.Millisecond)
	defer wait.Stop()
	for {
		select {
		case err := <-posted:
			if err != nil {
				return fmt.Errorf("submit %s: %w", actor.Action, err)
			}
			return d.submitted(actor.Action, req)
		case <-ctx.Done():
			return ctx.Err()
		case <-wait.C:
		}
		if known, err := actor.Known(ctx); err == nil && known {
			return d.submitted(actor.Action, req)
		}
	}
}

// submittedLine is an action that the daemon has, and that nobody here watches.
type submittedLine struct {
	Type       string  `json:"type"`
	ActionID   string  `json:"action_id"`
	Capability string  `json:"capability"`
	Key        *string `json:"idempotency_key"`
}

func (d *desk) submitted(action string, req model.Request) error {
	if d.set.Output == "json" {
		return writeJSON(d.out, submittedLine{"submitted", action, req.Capability, orNull(req.IdempotencyKey)})
	}
	_, err := fmt.Fprintln(d.out, safe.Line(action))
	return err
}
