package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"aipscope/follow"
	"aipscope/model"
	"aipscope/model/safe"
	"aipscope/ui"

	"github.com/spf13/cobra"
)

// table is where the console works: a daemon and a journal, and the actions that
// are open.
type table struct {
	*desk
	life    context.Context // of the console's screen
	sending sync.WaitGroup
	mu      sync.Mutex // commands open actions
	faces   []*face
	closed  bool
}

// runAlone is aipscope without a command: the list of actions.
func (a *app) runAlone(cmd *cobra.Command, args []string) error {
	if a.set.Output != "tui" {
		return a.runActions(cmd, args)
	}
	ctx := cmd.Context()
	d := &desk{app: a}
	var secret []byte
	var err error
	if a.set.URL != "" {
		if d.client, secret, err = a.connect(); err != nil {
			return err
		}
	}
	if d.journal, err = a.openJournal(ctx); err != nil {
		return err
	}
	d.tag = d.journal.Tag(secret)
	t := &table{desk: d}
	shown, err := t.run(ctx, 0)
	if err != nil {
		return err
	}
	t.tell(ctx, shown)
	return nil
}

// run shows the actions until the operator leaves.
func (t *table) run(ctx context.Context, timeout time.Duration, watch ...ui.Config) (*ui.Desk, error) {
	in, out := terminal(t.in), t.tty
	if in == nil || out == nil {
		return nil, usage(errors.New("--output tui needs a terminal; use text or json"))
	}
	life, end := context.WithCancel(ctx)
	t.life = life
	defer func() {
		end()
		t.sending.Wait()
	}()
	cfg := ui.DeskConfig{Printer: t.printer(), Keys: t.set.keymap, Look: t.look, Clock: t.now, Suspends: hasJobs, Endpoint: "journal alone"}
	if t.client != nil {
		cfg.Endpoint = t.client.URL()
	}
	if t.journal != nil {
		cfg.List, cfg.Judge, cfg.Open, cfg.Office = t.list, t.judge, t.open, t.office()
	}
	desk := ui.NewDesk(ctx, cfg, watch...)
	defer t.close()
	defer desk.Close()
	if err := t.runScreen(ctx, desk, in, out, timeout); err != nil {
		return nil, err
	}
	return desk, nil
}

// list is the list of actions for the console.
func (t *table) list(ctx context.Context) ([]ui.Listed, error) {
	lines, err := listActions(ctx, t.client, t.journal)
	out := make([]ui.Listed, len(lines))
	for i, l := range lines {
		out[i] = ui.Listed{Action: l.ActionID, URL: l.URL, Verdict: l.Verdict, Held: l.held, Chunks: l.Chunks, Last: l.last}
		if l.Capability != nil {
			out[i].Capability = *l.Capability
		}
		if l.State != nil {
			out[i].State = *l.State
		}
	}
	if err != nil {
		err = errors.New(explain(err))
	}
	return out, err
}

// judge works out the verdict of an action of the journal, and keeps it there.
func (t *table) judge(ctx context.Context, which ui.Listed) (model.Word, error) {
	log, err := t.journal.Log(ctx, follow.Source{URL: which.URL, Action: which.Action})
	if err != nil {
		return "", err
	}
	turn, err := follow.ReadTurn(ctx, log, which.Action, nil)
	if err != nil {
		return "", err
	}
	word := turn.Verdict().Word
	return word, log.SetVerdict(ctx, word, turn.Applied(), model.RulesVersion)
}

// open begins to watch an action of the list: live where the daemon at hand has
// it, else from the journal.
func (t *table) open(ctx context.Context, which ui.Listed) (ui.Config, error) {
	return t.follow(ctx, which, nil)
}

// follow is open, of an action whose submission may be on its way.
func (t *table) follow(ctx context.Context, which ui.Listed, sent *sending) (ui.Config, error) {
	src := follow.Source{URL: which.URL, Action: which.Action}
	live := t.client != nil && which.URL == t.client.URL()
	if live {
		if err := checkActionID(which.Action); err != nil {
			return ui.Config{}, err
		}
		src = t.source(which.Action)
	}
	log, err := t.journal.Log(ctx, src)
	if err != nil {
		return ui.Config{}, errors.New(explain(err))
	}
	// It must not be forgotten while it is read.
	release, err := log.Hold()
	if err != nil {
		return ui.Config{}, errors.New(explain(err))
	}
	f := &face{desk: t.desk, action: which.Action, at: which.URL, options: watchOptions{capability: which.Capability}}
	f.log, f.batches, f.end = log, fromLog(log), release
	if live {
		w := follow.Start(ctx, follow.Config{Source: src, Log: log, Client: t.client, Logger: t.app.log})
		f.batches, f.live, f.end = w.Next, true, func() { w.Close(); release() }
		if sent != nil {
			f.batches = sent.watch(t.app, w)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		f.close()
		return ui.Config{}, context.Canceled
	}
	t.faces = append(t.faces, f)
	cfg := f.console()
	if live {
		cfg.Office = t.office()
	}
	if sent != nil {
		cfg.Posted = sent.wait
	}
	return cfg, nil
}

// close ends what the list opened.
func (t *table) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for _, f := range t.faces {
		f.close()
	}
}

// tell leaves the last frame and every verdict in the scrollback, and keeps the
// verdicts for the list.
func (t *table) tell(ctx context.Context, desk *ui.Desk) map[*face]model.Verdict {
	shown := desk.Shown()
	if shown != nil {
		fmt.Fprint(t.out, shown.Final())
	} else {
		fmt.Fprint(t.out, desk.Rest())
	}
	verdicts := map[*face]model.Verdict{}
	for _, c := range desk.Watched() {
		f := t.face(c)
		v := f.judge(ctx, c.Turn(), c.Err())
		verdicts[f] = v
		if c != shown {
			fmt.Fprintf(t.out, "%s %s: %s\n", safe.Line(f.action), strings.ToUpper(words(v.Word)), safe.Line(v.Reason))
		}
	}
	return verdicts
}

func (t *table) face(c *ui.Console) *face {
	url, action := c.Source()
	for _, f := range t.faces {
		if f.action == action && f.at == url {
			return f
		}
	}
	return t.faces[0]
}
