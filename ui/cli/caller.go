package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"aipscope/follow/act"
	"aipscope/follow/client"
	"aipscope/model"
	"aipscope/model/mask"
	"aipscope/model/safe"

	"github.com/spf13/cobra"
)

// calling is what commands on stored objects share.
type calling struct {
	endpoint string
	reveal   bool
	timeout  time.Duration
}

func (o *calling) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.endpoint, "endpoint", "", "Hermes `endpoint` (default: the only one that the daemon offers)")
	f.BoolVar(&o.reveal, "reveal", false, "show content and IDs as they are")
	f.DurationVar(&o.timeout, "timeout", 0, "stop waiting after this `time`, such as 90s (exit 124, or 16 while an approval is awaited)")
}

// desk opens the desk and a caller at the endpoint that is meant.
func (o *calling) desk(ctx context.Context, a *app) (*desk, *act.Caller, error) {
	d, err := a.openDesk(ctx)
	if err != nil {
		return nil, nil, err
	}
	if o.endpoint == "" {
		if o.endpoint, err = d.onlyEndpoint(ctx); err != nil {
			return nil, nil, err
		}
	}
	return d, d.caller(o.endpoint), nil
}

func (d *desk) onlyEndpoint(ctx context.Context) (string, error) {
	offers, err := act.Offers(ctx, d.client)
	if err != nil {
		return "", fmt.Errorf("ask which endpoints there are, as --endpoint names none: %w", err)
	}
	endpoint, err := act.OneEndpoint(offers)
	if err != nil {
		return "", usage(fmt.Errorf("%w; name one with --endpoint", err))
	}
	return endpoint, nil
}

// within runs fn with the timeout, and turns its end into an exit code.
func (o *calling) within(ctx context.Context, d *desk, fn func(context.Context) (act.Reply, error)) error {
	calling, stop := ctx, context.CancelFunc(func() {})
	if o.timeout > 0 {
		calling, stop = context.WithTimeout(ctx, o.timeout)
	}
	defer stop()
	r, err := fn(calling)
	if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) || calling.Err() == nil {
		return err
	}
	d.code = exitPending
	what := "it has no outcome yet"
	if r.Turn != nil {
		v := r.Turn.Verdict()
		d.code, what = exitOf(v.Word), v.Reason
	}
	if r.Action == "" {
		fmt.Fprintf(d.err, "aipscope: nothing came within %s\n", o.timeout)
		return nil
	}
	fmt.Fprintf(d.err, "aipscope: %s: %s; go on with: aipscope watch %s\n", safe.Line(r.Action), what, safe.Line(r.Action))
	if d.set.Output == "json" {
		return writeJSON(d.out, pendingLine{"pending", r.Action, orNull(r.Key), what})
	}
	return nil
}

// pendingLine is a call that had no outcome at the timeout.
type pendingLine struct {
	Type     string  `json:"type"`
	ActionID string  `json:"action_id"`
	Key      *string `json:"idempotency_key"`
	Reason   string  `json:"reason"`
}

// caller makes actions at an endpoint, and says on standard error what they
// meet.
func (d *desk) caller(endpoint string) *act.Caller {
	return &act.Caller{
		Service: d.client, Endpoint: endpoint, Now: d.now, Logger: d.app.log, Source: d.source, Requests: d.requests,
		Open: func(ctx context.Context, action string) (act.Journal, error) { return d.hold(ctx, action) },
		Tell: func(n act.Notice) {
			text := n.Text
			switch n.Kind {
			case act.NoticeWarning:
				text = "warning: " + text
			case act.NoticeOriginal:
				text += " (--again asks anew)"
			}
			fmt.Fprintf(d.err, "aipscope: %s\n", oneLine(text))
		},
	}
}

// requests are the requests of a capability that the journal holds for the
// daemon, the latest first.
func (d *desk) requests(ctx context.Context, capability string) ([]act.Known, error) {
	held, err := d.journal.Actions(ctx)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	var known []act.Known
	for _, h := range held {
		if !h.Submitted || h.URL != d.client.URL() || h.Capability != capability {
			continue
		}
		log, err := d.actionLog(ctx, h.ID)
		if err != nil {
			return nil, err
		}
		rows, err := log.Rows(ctx, 0, 1)
		if err != nil {
			return nil, fmt.Errorf("read journal: %w", err)
		}
		if len(rows) == 1 && rows[0].Request != nil {
			known = append(known, act.Known{Action: h.ID, Request: *rows[0].Request, At: h.Last})
		}
	}
	slices.SortStableFunc(known, func(x, y act.Known) int { return cmp.Or(y.At.Compare(x.At), cmp.Compare(y.Action, x.Action)) })
	return known, nil
}

// veil masks what was not asked to be shown.
type veil struct {
	masker *mask.Masker // nil reveals
}

func (o *calling) veil() veil {
	if o.reveal {
		return veil{}
	}
	return veil{mask.New("")}
}

func (v veil) json(raw json.RawMessage) json.RawMessage {
	if v.masker == nil || len(raw) == 0 {
		return raw
	}
	return v.masker.JSON(raw)
}

// id is an ID as it may be shown.
func (v veil) id(s string) string {
	if v.masker == nil || s == "" {
		return s
	}
	raw, err := json.Marshal(map[string]string{"id": s})
	if err != nil {
		return ""
	}
	var o struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(v.masker.JSON(raw), &o)
	return o.ID
}

// hint says that content is hidden, where it is.
func (v veil) hint(d *desk) {
	if v.masker != nil && d.set.Output != "json" {
		fmt.Fprintln(d.err, "aipscope: content and IDs are masked; --reveal shows them")
	}
}

// objectLine is an object that a call answered with.
type objectLine struct {
	Type     string          `json:"type"`
	ActionID string          `json:"action_id"`
	Key      *string         `json:"idempotency_key"`
	Verdict  model.Word      `json:"verdict"`
	Original bool            `json:"original,omitempty"` // the result of an earlier request
	Masked   bool            `json:"masked"`
	ID       *string         `json:"id,omitempty"`
	Object   json.RawMessage `json:"object"`
}

// object prints what a call answered with: in text, each member on a line of its
// own.
func (d *desk) object(kind, id string, r act.Reply, original bool, v veil) error {
	line := objectLine{Type: kind, ActionID: r.Action, Key: orNull(r.Key), Verdict: r.Verdict.Word, Original: original, Masked: v.masker != nil,
		ID: orNull(id), Object: v.json(r.Result.Output)}
	if d.set.Output == "json" {
		return writeJSON(d.out, line)
	}
	if err := d.indented(line.Object); err != nil {
		return err
	}
	d.said(r)
	v.hint(d)
	return nil
}

// indented prints JSON for a person, with nothing in it that a terminal obeys.
func (d *desk) indented(raw json.RawMessage) error { return writeIndented(d.out, raw) }

func writeIndented(w io.Writer, raw json.RawMessage) error {
	escaped, err := safe.JSON(nil, raw)
	if err != nil {
		return fmt.Errorf("encode output: %w", err)
	}
	_, err = w.Write(append(safe.Indent(escaped), '\n'))
	return err
}

// said names the action that a call was, on standard error.
func (d *desk) said(r act.Reply) {
	fmt.Fprintf(d.err, "aipscope: %s %s\n", safe.Line(r.Action), words(r.Verdict.Word))
}

// exitOfFailure is the exit code of a call that ended without what was asked
// for: what may have written all the same is incomplete.
func exitOfFailure(f *act.Failure) int {
	if f.Verdict.Word == model.Incomplete {
		return exitOf(model.Incomplete)
	}
	if f.Err == nil {
		return exitFailed
	}
	switch client.FromAIP(f.Err, 200).Kind() {
	case client.WrongCredential, client.NotAllowed:
		return exitRefused
	case client.BadRequest, client.NotFound:
		return exitUsage
	}
	return exitFailed
}
