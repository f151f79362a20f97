package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"aipscope/follow"
	"aipscope/model"
	"aipscope/model/safe"
	"aipscope/store"

	"github.com/spf13/cobra"
)

func (a *app) journalCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "journal",
		Short: "What is on disk, and removing it",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			return usage(errors.New("journal does what? check, prune --older-than TIME, or forget ACTION"))
		},
	}
	cmd.AddCommand(a.journalCheckCommand(), a.journalPruneCommand(), a.journalForgetCommand())
	return cmd
}

// existingJournal opens the journal, if there is one. It makes none.
func (a *app) existingJournal(ctx context.Context) (*store.Journal, error) {
	if a.set.Ephemeral {
		return nil, usage(errors.New("--ephemeral keeps no journal"))
	}
	if _, err := os.Stat(filepath.Join(a.set.Journal, store.FileName)); errors.Is(err, fs.ErrNotExist) {
		return nil, errNoJournal
	}
	return a.openJournal(ctx)
}

var errNoJournal = errors.New("there is no journal yet")

func (a *app) journalCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Read the whole journal and say whether it is sound",
		Long: `Read the whole journal: its structures, every row, and what the list of actions
counts. Consoles may go on meanwhile. Exit code 1 when it is damaged.`,
		Example: `  aipscope journal check`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			j, err := a.existingJournal(cmd.Context())
			if errors.Is(err, errNoJournal) {
				return a.printHealth(store.Health{Path: filepath.Join(a.set.Journal, store.FileName)}, true)
			}
			if err != nil {
				return err
			}
			h, err := a.checkJournal(cmd.Context(), j)
			if err != nil {
				return err
			}
			if len(h.Faults) > 0 {
				a.code = exitFailed
			}
			return a.printHealth(h, false)
		},
	}
}

// checkJournal reads a whole journal, and says how far it is.
func (a *app) checkJournal(ctx context.Context, j *store.Journal) (store.Health, error) {
	far := a.begin("checking the journal")
	defer far.end()
	far.store(j)
	return j.Check(ctx)
}

type healthLine struct {
	Type      string   `json:"type"`
	Path      string   `json:"path"`
	Exists    bool     `json:"exists"`
	Sound     bool     `json:"sound"`
	Bytes     int64    `json:"bytes"`
	WAL       int64    `json:"wal_bytes"`
	Schema    int      `json:"schema"`
	SQLite    string   `json:"sqlite"`
	Actions   int      `json:"actions"`
	Rows      int      `json:"rows"`
	Chunks    int      `json:"chunks"`
	Forgotten int      `json:"forgotten"`
	Unwiped   bool     `json:"unwiped"`
	Faults    []string `json:"faults"`
}

func (a *app) printHealth(h store.Health, missing bool) error {
	if a.set.Output == "json" {
		line := healthLine{"journal", h.Path, !missing, len(h.Faults) == 0, h.Bytes, h.WAL, h.Schema, h.SQLite, h.Actions, h.Rows, h.Chunks, h.Forgotten, h.Unwiped, h.Faults}
		if line.Faults == nil {
			line.Faults = []string{}
		}
		return writeJSON(a.out, line)
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "journal\t%s\n", safe.Line(h.Path))
	switch {
	case missing:
		fmt.Fprintf(w, "state\tnot there yet\n")
		return w.Flush()
	case len(h.Faults) == 0:
		fmt.Fprintf(w, "state\tsound\n")
	default:
		fmt.Fprintf(w, "state\tDAMAGED: keep the file for examination and use another place with --journal\n")
	}
	for _, f := range h.Faults {
		fmt.Fprintf(w, "fault\t%s\n", safe.Line(f))
	}
	fmt.Fprintf(w, "size\t%.1f MB, of that write-ahead log %.1f MB\n", float64(h.Bytes)/1e6, float64(h.WAL)/1e6)
	fmt.Fprintf(w, "version\tschema %d, SQLite %s\n", h.Schema, h.SQLite)
	fmt.Fprintf(w, "holds\t%s, %s, %s\n", model.Count(h.Actions, "action", "actions"), model.Count(h.Rows, "row", "rows"), model.Count(h.Chunks, "chunk", "chunks"))
	fmt.Fprintf(w, "forgotten\t%s\n", model.Count(h.Forgotten, "action", "actions"))
	if h.Unwiped {
		fmt.Fprintf(w, "to do\tbytes of what was removed may still be in the files: aipscope journal prune finishes it\n")
	}
	return w.Flush()
}

func (a *app) journalPruneCommand() *cobra.Command {
	var older string
	cmd := &cobra.Command{
		Use:   "prune [--older-than TIME]",
		Short: "Remove actions whose last row is older than a time",
		Long: `Remove every action whose last row is older than a time, such as 30d, 2w or 12h, for
good: the files are written anew without it. The action IDs stay, so that they are never
submitted again. Actions that a console has open stay, too. Without --older-than
it only finishes what an earlier removal could not.`,
		Example: `  aipscope journal prune --older-than 30d`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var before time.Time // nothing is older than this
			if older != "" {
				age, err := parseAge(older)
				if err != nil {
					return usage(fmt.Errorf("--older-than %q: %w", older, err))
				}
				before = a.now().Add(-age)
			}
			j, err := a.existingJournal(cmd.Context())
			if errors.Is(err, errNoJournal) {
				return a.printPruned(store.Pruned{})
			}
			if err != nil {
				return err
			}
			far := a.begin("removing actions")
			far.store(j)
			done, err := j.Prune(cmd.Context(), before, a.now())
			far.end()
			a.log.Info("prune", "removed", len(done.Removed), "in use", len(done.InUse))
			return errors.Join(err, a.printPruned(done))
		},
	}
	cmd.Flags().StringVar(&older, "older-than", "", "remove what is older than this `time`")
	return cmd
}

// parseAge reads a time as Go does, and days and weeks.
func parseAge(s string) (time.Duration, error) {
	for unit, each := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if n, ok := strings.CutSuffix(s, unit); ok {
			count, err := strconv.ParseUint(n, 10, 16)
			if err != nil {
				return 0, errAge
			}
			return time.Duration(count) * each, nil
		}
	}
	age, err := time.ParseDuration(s)
	if err != nil || age < 0 {
		return 0, errAge
	}
	return age, nil
}

var errAge = errors.New("it should be a time such as 30d, 2w or 12h")

// prunedLine is an action that was forgotten, or stays because it is in use.
type prunedLine struct {
	Type     string `json:"type"`
	ActionID string `json:"action_id"`
	URL      string `json:"url"`
}

func (a *app) printPruned(done store.Pruned) error {
	if a.set.Output == "json" {
		var lines []prunedLine
		for _, s := range done.InUse {
			lines = append(lines, prunedLine{"in_use", s.Action, s.URL})
		}
		for _, s := range done.Removed {
			lines = append(lines, prunedLine{"forgotten", s.Action, s.URL})
		}
		for _, l := range lines {
			if err := writeJSON(a.out, l); err != nil {
				return err
			}
		}
		return nil
	}
	for _, s := range done.InUse {
		fmt.Fprintf(a.err, "aipscope: %s stays: a console has it open\n", safe.Line(s.Action))
	}
	for _, s := range done.Removed {
		if _, err := fmt.Fprintf(a.out, "%s\n", safe.Line(s.Action)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(a.out, "%s forgotten\n", model.Count(len(done.Removed), "action", "actions"))
	return err
}

func (a *app) journalForgetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "forget ACTION",
		Short: "Remove an action from the journal for good",
		Long: `Remove an action from the journal for good: the files are written anew without it. Its
ID, its daemon's URL and the time stay, so that it is never submitted again. It is
refused while a console has the action open. What the daemon keeps is not touched.`,
		Example: `  aipscope journal forget act_0198b0d2c41e7f3a9d5e6b7c8d9e0f10`,
		Args:    oneArg("action"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkActionID(args[0]); err != nil {
				return err
			}
			j, err := a.existingJournal(cmd.Context())
			if errors.Is(err, errNoJournal) {
				return fmt.Errorf("%s: %w", args[0], store.ErrNoAction)
			}
			if err != nil {
				return err
			}
			src, err := a.heldAt(cmd.Context(), j, args[0])
			if err != nil {
				return err
			}
			far := a.begin("removing " + src.Action)
			far.store(j)
			err = j.Forget(cmd.Context(), src, a.now())
			far.end()
			if err != nil {
				return err
			}
			a.log.Info("forget", "action", src.Action)
			return a.printPruned(store.Pruned{Removed: []follow.Source{src}})
		},
	}
}
