package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"aipscope/follow"
	"aipscope/follow/client"
	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/hermes"
	"aipscope/model/safe"
	"aipscope/store"

	"github.com/spf13/cobra"
)

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "status ACTION",
		Short:   "The daemon's word on an action beside the journal's",
		Example: `  aipscope status act_0198b0d2c41e7f3a9d5e6b7c8d9e0f10`,
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
			return d.status(cmd.Context(), action)
		},
	}
}

// statusLine is the daemon's word, as it came, beside the journal's.
type statusLine struct {
	Type     string          `json:"type"`
	ActionID string          `json:"action_id"`
	Daemon   json.RawMessage `json:"daemon"`
	Journal  *journalJSON    `json:"journal"`
}

// journalJSON is what the journal says of an action.
type journalJSON struct {
	Capability     *string    `json:"capability"`
	State          *string    `json:"state"`
	Verdict        model.Word `json:"verdict"`
	Reason         string     `json:"reason"`
	Chunks         int        `json:"chunks"`
	Last           string     `json:"last"`
	IdempotencyKey *string    `json:"idempotency_key"`
	ResponseID     *string    `json:"response_id"`
	SessionID      *string    `json:"session_id"` // that Hermes named
}

func (d *desk) status(ctx context.Context, action string) error {
	log, err := d.actionLog(ctx, action)
	if err != nil {
		return err
	}
	var held *journalJSON
	turn, err := d.journaled(ctx, log, action)
	if err != nil {
		return err
	}
	if turn.Applied() > 0 {
		v := turn.Verdict()
		_, last := turn.Span()
		held = &journalJSON{Capability: orNull(turn.Capability()), State: orNull(string(turn.State())), Verdict: v.Word, Reason: v.Reason, Chunks: turn.Chunks(), Last: stamp(last),
			ResponseID: orNull(turn.ResponseID()), SessionID: orNull(turn.SessionID())}
		if r := turn.Request(); r != nil {
			held.IdempotencyKey = orNull(r.IdempotencyKey)
		}
	}
	s, raw, err := d.client.Status(ctx, action)
	if err != nil {
		return fmt.Errorf("status of %s: %w", action, err)
	}
	if d.set.Output == "json" {
		return writeJSON(d.out, statusLine{"status", action, raw, held})
	}
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s\t%s\n", safe.Line(action), safe.Line(cmp.Or(s.CapabilityID, turn.Capability())))
	fmt.Fprintf(w, "  daemon\t%s\t%s\n", safe.Line(string(s.State)), daemonWords(s))
	if held == nil {
		fmt.Fprintf(w, "  journal\tnothing\t\n")
	} else {
		fmt.Fprintf(w, "  journal\t%s\t%s; %s\n", words(held.Verdict), held.Reason, model.Count(held.Chunks, "chunk", "chunks"))
		if id := turn.ResponseID(); id != "" {
			fmt.Fprintf(w, "  response\t%s\t\n", safe.Line(id))
		}
		if id := turn.SessionID(); id != "" {
			fmt.Fprintf(w, "  session\t%s\t\n", safe.Line(id))
		}
	}
	return w.Flush()
}

// journaled is the turn that the journal holds.
func (d *desk) journaled(ctx context.Context, log *store.Log, action string) (*model.Turn, error) {
	far := d.begin("reading the journal")
	defer far.end()
	return follow.ReadTurn(ctx, log, action, func(row int64) { far.at(row, 0, "rows") })
}

func daemonWords(s aip.Status) string {
	var out []string
	if s.State == aip.StateUnknown {
		out = append(out, "not known, or a sync or streaming action in flight")
	}
	if s.ResultStatus != "" {
		out = append(out, "result "+s.ResultStatus)
	}
	if !s.UpdatedAt.IsZero() && s.State != aip.StateUnknown {
		out = append(out, "updated "+stamp(s.UpdatedAt.Time))
	}
	return safe.Line(strings.Join(out, ", "))
}

func words(w model.Word) string { return strings.ReplaceAll(string(w), "_", " ") }

func (a *app) actionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "actions",
		Short:   "List the actions of the journal and of the daemon",
		Example: `  aipscope actions --output json`,
		Args:    noArgs,
		RunE:    a.runActions,
	}
}

// actionLine is an action as journal and daemon know it.
type actionLine struct {
	Type       string     `json:"type"`
	ActionID   string     `json:"action_id"`
	URL        string     `json:"url"`
	Capability *string    `json:"capability"`
	State      *string    `json:"state"` // the daemon's, null when it was not asked or does not know
	Verdict    model.Word `json:"verdict,omitempty"`
	Chunks     int        `json:"chunks"`
	Last       string     `json:"last"`
	last       time.Time
	held       bool // the journal has it
}

// listed bounds how many of the daemon's actions are asked for.
const listed = 1000

func (a *app) runActions(cmd *cobra.Command, _ []string) error {
	ctx := cmd.Context()
	var c *client.Client
	if a.set.URL != "" {
		var err error
		if c, _, err = a.connect(); err != nil {
			return err
		}
	}
	j, err := a.openJournal(ctx)
	if err != nil {
		return err
	}
	sorted, err := listActions(ctx, c, j)
	if err != nil {
		return err
	}
	if a.set.Output == "json" {
		for _, l := range sorted {
			if err := writeJSON(a.out, l); err != nil {
				return err
			}
		}
		return nil
	}
	return a.printActions(sorted)
}

// listActions joins what journal and daemon know, the last touched first. c may
// be nil; where the daemon fails, what the journal knows is there all the same.
func listActions(ctx context.Context, c *client.Client, j *store.Journal) ([]*actionLine, error) {
	held, err := j.Actions(ctx)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	lines := map[string]*actionLine{}
	for _, h := range held {
		lines[h.URL+" "+h.ID] = &actionLine{
			Type: "action", ActionID: h.ID, URL: h.URL, Capability: orNull(h.Capability), Verdict: verdictOf(h), Chunks: h.Chunks, Last: stamp(h.Last), last: h.Last, held: true,
		}
	}
	if c != nil {
		err = addDaemon(ctx, c, lines)
	}
	sorted := slices.SortedFunc(maps.Values(lines), func(x, y *actionLine) int {
		return cmp.Or(y.last.Compare(x.last), cmp.Compare(x.ActionID, y.ActionID))
	})
	return sorted, err
}

// verdictOf is the verdict that the journal keeps, unless rows or rules have
// come since it was worked out.
func verdictOf(h store.Action) model.Word {
	if h.VerdictRevision != h.Revision || h.VerdictRules != model.RulesVersion {
		return ""
	}
	return h.Verdict
}

func addDaemon(ctx context.Context, c *client.Client, lines map[string]*actionLine) error {
	for f := (client.Filter{Limit: 100}); ; {
		page, err := c.Actions(ctx, f)
		if err != nil {
			return err
		}
		for _, s := range page.Actions {
			key := c.URL() + " " + s.ActionID
			l := lines[key]
			if l == nil {
				l = &actionLine{Type: "action", ActionID: s.ActionID, URL: c.URL(), Capability: orNull(s.CapabilityID)}
				lines[key] = l
			}
			l.State = orNull(string(s.State))
			if s.UpdatedAt.After(l.last) {
				l.last, l.Last = s.UpdatedAt.Time, stamp(s.UpdatedAt.Time)
			}
		}
		if page.Cursor == "" || len(page.Actions) == 0 || len(lines) >= listed {
			return nil
		}
		f.Cursor = page.Cursor
	}
}

func (a *app) printActions(lines []*actionLine) error {
	if len(lines) == 0 {
		say := "the journal knows no action yet, and no daemon is named (--url, AIP_URL); aipscope demo needs neither"
		if a.set.URL != "" {
			say = "neither the journal nor the daemon knows an action yet; aipscope submit sends one"
		}
		_, err := fmt.Fprintln(a.out, say)
		return err
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ACTION\tOPERATION\tSTATE\tVERDICT\tCHUNKS\tLAST\tDAEMON")
	for _, l := range lines {
		state, verdict := "-", "-"
		if l.State != nil {
			state = *l.State
		}
		if l.Verdict != "" {
			verdict = words(l.Verdict)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", safe.Line(l.ActionID), safe.Line(operationOf(l.Capability)), safe.Line(state), verdict,
			l.Chunks, a.ago(l.last), safe.Line(l.URL))
	}
	return w.Flush()
}

func operationOf(capability *string) string {
	if capability == nil {
		return "-"
	}
	if endpoint, op, ok := hermes.ParseCapability(*capability); ok {
		return string(op) + " @ " + endpoint
	}
	return *capability
}

// ago is the age of a time, in its largest unit.
func (a *app) ago(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	switch d := max(0, a.now().Sub(t)); {
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days ago", int(d.Hours()/24))
	}
}
