package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"unicode/utf8"

	"aipscope/follow/act"
	"aipscope/model"
	"aipscope/model/safe"

	"github.com/spf13/cobra"
)

func (a *app) reconcileCommand() *cobra.Command {
	var o calling
	cmd := &cobra.Command{
		Use:   "reconcile ACTION",
		Short: "Read what an action and its stored provider state say now",
		Long: `Read the status and the result of an action again, then once what its provider stored
of it: the response whose ID was seen, or the messages of a session that was named.
The evidence is shown beside the stream's. Each read is an action of its own;
nothing is submitted again.`,
		Example: `  aipscope reconcile act_0198b0d2c41e7f3a9d5e6b7c8d9e0f10`,
		Args:    maxOneArg("action"),
		RunE: func(cmd *cobra.Command, args []string) error {
			action, err := a.actionArg(args)
			if err != nil {
				return err
			}
			d, err := a.openDesk(cmd.Context())
			if err != nil {
				return err
			}
			return o.within(cmd.Context(), d, func(ctx context.Context) (act.Reply, error) {
				r, err := d.caller(o.endpoint).Reconcile(ctx, action)
				if err != nil {
					return act.Reply{Action: r.Action, Turn: r.Turn}, fmt.Errorf("reconcile %s: %w", action, err)
				}
				return act.Reply{}, d.printReconciled(r, o.veil())
			})
		},
	}
	o.flags(cmd)
	return cmd
}

// evidenceLine is one piece of provider evidence as JSON.
type evidenceLine struct {
	Operation  string              `json:"operation"`
	Is         string              `json:"is"`
	ID         string              `json:"id"`
	ActionID   *string             `json:"action_id"` // that read it
	State      model.ProviderState `json:"state"`
	Status     *string             `json:"status"`
	Code       *string             `json:"code"`
	Says       string              `json:"says"`
	Characters int                 `json:"characters"`
	Tools      int                 `json:"tools"`
	Text       *string             `json:"text"` // same longer shorter unlike
	Session    *string             `json:"session_id"`
	Messages   int                 `json:"messages"`
	Object     json.RawMessage     `json:"object,omitempty"`
}

type reconcileLine struct {
	Type     string         `json:"type"`
	ActionID string         `json:"action_id"`
	Before   model.Word     `json:"before"`
	Verdict  model.Word     `json:"verdict"`
	Reason   string         `json:"reason"`
	State    string         `json:"state"`
	Result   string         `json:"result"`
	Stream   map[string]any `json:"stream"`
	Evidence []evidenceLine `json:"evidence"`
	Nothing  *string        `json:"nothing"`
	Finding  string         `json:"finding"`
	Escalate bool           `json:"escalate"`
	Advice   []string       `json:"advice"`
	Masked   bool           `json:"masked"`
}

func (d *desk) printReconciled(r act.Reconciled, v veil) error {
	if d.set.Output != "json" {
		return d.printReconciledText(r, v)
	}
	line := reconcileLine{
		Type: "reconcile", ActionID: r.Action, Before: r.Before.Word, Verdict: r.Verdict.Word, Reason: r.Verdict.Reason, State: string(r.Status.State),
		Result: r.Result, Evidence: []evidenceLine{}, Nothing: orNull(r.Nothing), Finding: r.Finding, Escalate: r.Escalate, Advice: append([]string{}, r.Advice...),
		Masked: v.masker != nil,
		Stream: map[string]any{"chunks": r.Turn.Chunks(), "characters": utf8.RuneCountInString(r.Turn.Text()), "tools": len(r.Turn.Tools()), "finish_reason": orNull(r.Turn.FinishReason()),
			"response_id": orNull(r.Turn.ResponseID()), "session_id": orNull(r.Turn.SessionID())},
	}
	for _, e := range r.Evidence {
		out := evidenceLine{Operation: string(e.Op), Is: e.Is, ID: e.ID, ActionID: orNull(e.Action), State: e.State, Status: orNull(e.Status), Says: e.Says(),
			Characters: e.Characters, Tools: e.Tools, Text: orNull(string(e.Text)), Session: orNull(e.Resolved), Messages: e.Messages, Object: v.json(e.Output)}
		if e.Error != nil {
			out.Code = orNull(e.Error.Code)
		}
		line.Evidence = append(line.Evidence, out)
	}
	return writeJSON(d.out, line)
}

func (d *desk) printReconciledText(r act.Reconciled, v veil) error {
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	capability := r.Turn.Capability()
	fmt.Fprintf(w, "%s\t%s\t\n", safe.Line(r.Action), safe.Line(operationOf(&capability)))
	for _, l := range r.Lines(func(id string) string { return id }) {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", l.Who, safe.Line(l.Says), safe.Line(l.More))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "%s\n", safe.Line(r.Finding))
	for _, s := range r.Advice {
		fmt.Fprintf(d.out, "  next: %s\n", safe.Line(s))
	}
	if v.masker == nil {
		for _, e := range r.Evidence {
			if len(e.Output) == 0 {
				continue
			}
			if err := d.indented(e.Output); err != nil {
				return err
			}
		}
	}
	return nil
}
