package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"aipscope/follow"
	"aipscope/model"
	"aipscope/model/mask"
	"aipscope/model/safe"
	"aipscope/store"

	"github.com/spf13/cobra"
)

// watchOptions are what watch, submit and demo share.
type watchOptions struct {
	effects, answer bool
	timeout         time.Duration
	newOnly         bool
	reveal          bool
	posted          <-chan struct{} // closed when the submission that is watched was answered, or nil
	capability      string          // as asked for, before the daemon says
}

func (o *watchOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.effects, "effects-confirmed", false, "confirm that what the tools did was verified")
	f.BoolVar(&o.answer, "answer-confirmed", false, "confirm that the answer was read and stands")
	f.DurationVar(&o.timeout, "timeout", 0, "stop waiting after this `time`, such as 90s (exit 124, or 16 while an approval is awaited)")
	f.BoolVar(&o.newOnly, "new-only", false, "json: leave out what the journal held at the start; the verdict is whole")
	f.BoolVar(&o.reveal, "reveal", false, "json: print raw data, labels, arguments and results, too; what an action that is no turn answered with, unmasked")
}

func (a *app) watchCommand() *cobra.Command {
	var opt watchOptions
	cmd := &cobra.Command{
		Use:   "watch ACTION",
		Short: "Follow an action to its verdict",
		Long: `Follow an action from the journal's cursor to a verdict. A watch that was cut off
goes on where it stopped. Leaving it does not stop the action.

The exit code is the verdict: 0 accepted, 10 unconfirmed, 11 partial, 12 failed,
13 cancelled, 14 incomplete, 15 contradicted; 16 awaiting approval and 124 pending
at --timeout; 17 refused; 130 left before the verdict.`,
		Example: `  aipscope watch act_0198b0d2c41e7f3a9d5e6b7c8d9e0f10
  aipscope watch act_0198b0d2c41e7f3a9d5e6b7c8d9e0f10 --output json --timeout 5m`,
		Args: maxOneArg("action"),
		RunE: func(cmd *cobra.Command, args []string) error {
			action, err := a.actionArg(args)
			if err != nil {
				return err
			}
			d, err := a.openDesk(cmd.Context())
			if err != nil {
				return err
			}
			return d.watch(cmd.Context(), action, opt)
		},
	}
	opt.flags(cmd)
	return cmd
}

// maxOneArg asks for one argument at most, by its name.
func maxOneArg(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return oneArg(name)(cmd, args)
	}
}

// maxHops bounds how many times a watch moves on to the action whose result was
// given instead.
const maxHops = 3

// watch follows an action, and the one whose result it repeats, to a verdict
// and sets the exit code.
func (d *desk) watch(ctx context.Context, action string, opt watchOptions) error {
	for range maxHops {
		next, err := d.watchOne(ctx, action, opt)
		if err != nil || next == "" {
			return err
		}
		fmt.Fprintf(d.err, "aipscope: %s is judged by %s, which is watched instead: the key is that action's\n", safe.Line(action), safe.Line(next))
		action, opt.posted = next, nil
	}
	return fmt.Errorf("watch %s: each action names another one as its owner", action)
}

func (d *desk) watchOne(ctx context.Context, action string, opt watchOptions) (next string, err error) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	log, err := d.hold(ctx, action)
	if err != nil {
		return "", err
	}
	if err := d.sayForgotten(ctx, log); err != nil {
		return "", err
	}
	w := follow.Start(ctx, follow.Config{Source: d.source(action), Log: opt.read(log), Client: d.client, Logger: d.app.log})
	defer w.Close()
	if opt.posted != nil {
		d.spawn(func() {
			// The answer to a submission may tell more than the stream does.
			select {
			case <-opt.posted:
				w.Poke()
			case <-ctx.Done():
			}
		})
	}
	face := face{desk: d, action: action, at: d.client.URL(), log: log, batches: w.Next, options: opt, live: true}
	return face.show(ctx)
}

// sayForgotten tells that what follows is read from the daemon again.
func (d *desk) sayForgotten(ctx context.Context, log *store.Log) error {
	at, ok, err := log.Forgotten(ctx)
	if err != nil || !ok {
		return err
	}
	fmt.Fprintf(d.err, "aipscope: it was forgotten on %s; what the daemon still has of it is journaled anew\n", at.Local().Format(time.DateTime))
	return nil
}

// face is one action as it is shown, on a terminal or not.
type face struct {
	*desk
	action  string
	log     *store.Log // nil for what no journal holds
	batches func(context.Context) (follow.Batch, error)
	options watchOptions
	live    bool
	row     func(ctx context.Context, number int64) (model.Row, error)
	at      string // the daemon's URL, "" where none is known
	end     func() // ends the following, or nil
}

func (f *face) close() {
	if f.end != nil {
		f.end()
	}
}

// enoughMemory is what the console's own memory, in bytes, should not go beyond: from
// there on garbage is collected sooner. A turn that needs more has it.
const enoughMemory = 160 << 20

// thrifty keeps memory at what is enough while batches come, unless GOMEMLIMIT says
// what is.
func thrifty(batches func(context.Context) (follow.Batch, error)) func(context.Context) (follow.Batch, error) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return batches
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	limit := int64(0)
	return func(ctx context.Context) (follow.Batch, error) {
		b, err := batches(ctx)
		metrics.Read(live)
		// Beside what is in use there must be room, or all time goes into collecting; and
		// more when no batch comes any more, to look back and to search.
		room := int64(live[0].Value.Uint64()) / 4
		if b.Done {
			room *= 2
		}
		if want := max(enoughMemory, int64(live[0].Value.Uint64())+room); want > limit {
			limit = want
			debug.SetMemoryLimit(limit)
		}
		return b, err
	}
}

// show runs the face to its end and sets the exit code; next is the action to
// judge instead, or "".
func (f *face) show(ctx context.Context) (next string, err error) {
	f.batches = thrifty(f.batches)
	if f.set.Output == "tui" {
		return f.showConsole(ctx)
	}
	return f.print(ctx)
}

// print is the face without a terminal.
func (f *face) print(ctx context.Context) (next string, err error) {
	turn := model.NewTurn(f.action)
	over := veil{mask.New(f.action)}
	if f.options.reveal {
		over = veil{}
	}
	var p printer = &textPrinter{out: f.out, err: f.err, turn: turn, veil: over}
	if f.set.Output == "json" {
		p = &jsonPrinter{out: bufio.NewWriterSize(f.out, 64<<10), turn: turn, newOnly: f.options.newOnly, reveal: f.options.reveal, veil: over, shown: map[string]model.ToolStatus{}}
	}
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if f.options.timeout > 0 {
		waiting, cancel = context.WithTimeout(ctx, f.options.timeout)
	}
	defer cancel()
	var far *progress
	if !f.live {
		far = f.beginBeside("reading " + f.action)
	}
	defer far.end()
	var last follow.Batch
	for !last.Done {
		b, err := f.batches(waiting)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil || waiting.Err() != nil {
			break
		}
		if err != nil {
			return "", err
		}
		last = b
		if err := p.batch(b); err != nil {
			return "", fmt.Errorf("write output: %w", err)
		}
		far.at(turn.Applied(), 0, "rows")
		if next, _ := turn.Successor(); next != "" {
			return next, nil
		}
	}
	if turn.Settled() && (f.options.effects || f.options.answer) {
		rows, err := f.confirm(ctx, f.saidBy(turn))
		if err != nil {
			return "", err
		}
		turn.Apply(rows)
	}
	f.refused = turn.Refused() != ""
	v := f.judge(ctx, turn, last.Err)
	if err := p.verdict(v, last); err != nil {
		return "", fmt.Errorf("write output: %w", err)
	}
	f.code = exitOf(v.Word)
	if ctx.Err() != nil && !turn.Settled() {
		f.code = exitInterrupted
	}
	return "", last.Err
}

// saidBy is what the flags confirm of a turn.
func (f *face) saidBy(turn *model.Turn) model.Confirmation {
	said := model.Confirmation{Answer: f.options.answer, Through: turn.Applied()}
	if f.options.effects {
		said.Tools = turn.ToolKeys()
	}
	return said
}

// confirm journals the operator's word, and returns the rows above what it
// covers.
func (f *face) confirm(ctx context.Context, said model.Confirmation) ([]model.Row, error) {
	row, err := model.NewRow(model.RowConfirm, f.now(), &said)
	if err != nil {
		return nil, err
	}
	if f.log == nil {
		return nil, errors.New("this is not from the journal, so nothing can be confirmed in it")
	}
	done, err := f.log.Commit(ctx, said.Through, []model.Row{row}, "")
	if err != nil {
		return nil, fmt.Errorf("journal the confirmation: %w", err)
	}
	return done.Rows, nil
}

// judge works out the verdict and keeps it for the list of actions, unless the
// watch failed: then its journal may be why. That list is all that it is kept for,
// so a failure here is told, and the verdict stands.
func (f *face) judge(ctx context.Context, turn *model.Turn, failed error) model.Verdict {
	v := turn.Verdict()
	f.app.log.Info("verdict", "action", f.action, "verdict", v.Word, "chunks", turn.Chunks())
	if f.log == nil || turn.Applied() == 0 || failed != nil {
		return v
	}
	// An interrupted watch still keeps its verdict.
	err := f.log.SetVerdict(context.WithoutCancel(ctx), v.Word, turn.Applied(), model.RulesVersion)
	if err != nil {
		fmt.Fprintf(f.err, "aipscope: the list of actions will not show the verdict: %s\n", explain(err))
	}
	return v
}
