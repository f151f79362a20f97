package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"aipscope/follow/act"
	"aipscope/model/hermes"
	"aipscope/model/safe"

	"github.com/spf13/cobra"
)

func (a *app) capabilitiesCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "capabilities",
		Short:   "List what the daemon offers, with its terms",
		Example: `  aipscope capabilities --output json`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, _, err := a.connect()
			if err != nil {
				return err
			}
			offers, err := act.Offers(cmd.Context(), c)
			if err != nil {
				return err
			}
			return a.printOffers(offers)
		},
	}
}

// offerLine is a capability as JSON.
type offerLine struct {
	Type      string   `json:"type"`
	ID        string   `json:"id"`
	Endpoint  *string  `json:"endpoint"`
	Operation *string  `json:"operation"`
	Modes     []string `json:"modes"`
	Risk      *string  `json:"risk"`
	Approval  *bool    `json:"approval"`
	Key       *string  `json:"idempotency_key"`
	Stability *string  `json:"stability"`
	Cancel    *bool    `json:"cancel"`
	Retry     *bool    `json:"retry"`
}

func (a *app) printOffers(offers []act.Offer) error {
	if a.set.Output == "json" {
		for _, o := range offers {
			line := offerLine{"capability", o.ID, orNull(o.Endpoint), orNull(string(o.Operation)), append([]string{}, o.Modes...), orNull(o.Risk), o.Approval,
				orNull(o.Key), orNull(o.Stability), o.Cancel, o.Retry}
			if err := writeJSON(a.out, line); err != nil {
				return err
			}
		}
		return nil
	}
	if len(offers) == 0 {
		_, err := fmt.Fprintln(a.out, "the daemon offers no capability")
		return err
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CAPABILITY\tMODES\tRISK\tAPPROVAL\tKEY\tSTABILITY")
	for _, o := range offers {
		approval := "-"
		if o.Approval != nil {
			approval = map[bool]string{true: "needed", false: "no"}[*o.Approval]
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", safe.Line(o.ID), dash(strings.Join(o.Modes, ",")), dash(o.Risk), approval, dash(o.Key), dash(o.Stability))
	}
	return w.Flush()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return safe.Line(s)
}

// terms shows what a daemon says of a capability before anything is sent to it,
// and returns it; zero where it says nothing. A daemon without a readable manifest
// says so by its answer to the submission.
func (d *desk) terms(ctx context.Context, capability string, unlisted bool) (act.Offer, error) {
	offers, err := act.Offers(ctx, d.client)
	if err != nil || len(offers) == 0 {
		d.app.log.Info("manifest not read", "capabilities", len(offers), "failed", err != nil)
		return act.Offer{}, nil
	}
	if o, ok := act.Find(offers, capability); ok {
		fmt.Fprintf(d.err, "aipscope: %s: %s\n", safe.Line(o.ID), o.Terms())
		return o, nil
	}
	near := act.Nearest(offers, capability)
	hint := ""
	if near != "" {
		hint = fmt.Sprintf("; did you mean %s?", near)
	}
	if _, _, ours := hermes.ParseCapability(capability); ours && !unlisted && len(act.Endpoints(offers)) > 0 {
		return act.Offer{}, usage(fmt.Errorf("the daemon does not offer %s, nothing was sent%s (--unlisted sends all the same)", capability, hint))
	}
	fmt.Fprintf(d.err, "aipscope: warning: the daemon's manifest does not name %s%s\n", safe.Line(capability), safe.Line(hint))
	return act.Offer{}, nil
}
