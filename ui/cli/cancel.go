package cli

import (
	"errors"
	"fmt"

	"aipscope/follow/act"
	"aipscope/follow/client"
	"aipscope/model/safe"

	"github.com/spf13/cobra"
)

func (a *app) cancelCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "cancel ACTION --reason TEXT",
		Short: "Ask for cancellation, then read what became of the action",
		Long: `Ask the daemon to cancel an action, then read its real outcome. Cancelling stops
what can be stopped and undoes nothing.

Exit code 13 when the action ended cancelled, 12 when it could not be stopped, 17
when the daemon refused, 2 when it does not know the action.`,
		Example: `  aipscope cancel act_0198b0d2c41e7f3a9d5e6b7c8d9e0f10 --reason 'no longer needed'`,
		Args:    oneArg("action"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkActionID(args[0]); err != nil {
				return err
			}
			if reason == "" {
				return usage(fmt.Errorf("why? give --reason TEXT; it is kept with the action"))
			}
			d, err := a.openDesk(cmd.Context())
			if err != nil {
				return err
			}
			log, err := d.actionLog(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			end, err := d.actor(log, args[0]).Cancel(cmd.Context(), reason)
			if err != nil {
				return fmt.Errorf("cancel %s: %w", args[0], err)
			}
			return a.printCancel(args[0], end)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, in a few `words`")
	return cmd
}

// cancelWords says how a cancel went, for a person.
func cancelWords(end act.Cancelled) string {
	switch end.End {
	case act.EndCancelled:
		return "cancelled; what it did before is not undone, verify external effects"
	case act.EndFinished:
		return "it had ended before the cancel took hold: " + end.State
	case act.EndRefused:
		text := "the daemon refused the cancel (" + end.Code + ")"
		if e := refusal(end); e != nil && e.Kind() == client.NotFound {
			return text + ": it does not know the action"
		} else if e != nil {
			text += ": " + advise(e)
		}
		return text
	case act.EndLost:
		return "the answer to the cancel was lost, and the action has not ended: whether the daemon took the cancel is not known; watch it, or ask again (" + explain(end.Err) + ")"
	}
	return "the daemon accepted the cancel, but the action has not ended yet; watch it"
}

// refusal is the daemon's answer to a cancel that it refused, or nil.
func refusal(end act.Cancelled) *client.Error {
	var e *client.Error
	errors.As(end.Err, &e)
	return e
}

// cancelLine is what became of an action, as JSON.
type cancelLine struct {
	Type     string  `json:"type"`
	ActionID string  `json:"action_id"`
	Outcome  act.End `json:"outcome"`
	State    *string `json:"state"`
	Code     *string `json:"code"` // of a refusal
}

func (a *app) printCancel(action string, end act.Cancelled) error {
	switch end.End {
	case act.EndCancelled:
		a.code = 13
	case act.EndRefused:
		a.code = exitRefused
		if e := refusal(end); e != nil && (e.Kind() == client.NotFound || e.Kind() == client.BadRequest) {
			a.code = exitUsage
		}
	default:
		a.code = 12
	}
	if a.set.Output == "json" {
		return writeJSON(a.out, cancelLine{"cancel", action, end.End, orNull(end.State), orNull(end.Code)})
	}
	_, err := fmt.Fprintf(a.out, "%s: %s\n", safe.Line(action), safe.Line(cancelWords(end)))
	return err
}
