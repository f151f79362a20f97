package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"aipscope/follow/act"
	"aipscope/model/hermes"
	"aipscope/model/safe"

	"github.com/spf13/cobra"
)

// turnOptions are what a session's turn is asked.
type turnOptions struct {
	endpoint                string
	message, system, memory string
	key, action             string
	stream, exact           bool
	watch                   watchOptions
}

func (a *app) sessionChatCommand() *cobra.Command {
	var o turnOptions
	cmd := &cobra.Command{
		Use:   "chat SESSION --message TEXT, @FILE or -",
		Short: "Run one turn in a session and watch it",
		Long: `Run one turn in a session and watch it to its verdict, which is the exit code. Where
an earlier turn of the journal came back with another session, because the history was
compressed, the turn goes on in that one (--exact does not).

An accepted turn proves neither that earlier history was loaded nor that the turn was
stored: session messages shows what is there.`,
		Example: `  aipscope session chat incident-214 --message 'Summarize the verified findings.' --stream`,
		Args:    oneArg("session"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.sessionChat(cmd.Context(), args[0], o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.endpoint, "endpoint", "", "Hermes `endpoint` (default: the only one that the daemon offers)")
	f.StringVar(&o.message, "message", "", "what to say: `text`, @FILE, or - for standard input")
	f.StringVar(&o.system, "system", "", "system message of this turn, `text`")
	f.StringVar(&o.memory, "session-key", "", "`scope` of long-term memory; it selects no transcript")
	f.StringVar(&o.key, "idempotency-key", "", "`key` of this exact request")
	f.StringVar(&o.action, "action-id", "", "submit under this `ID` instead of a new one")
	f.BoolVar(&o.stream, "stream", false, "stream the turn")
	f.BoolVar(&o.exact, "exact", false, "this very session, also where it goes on in another one")
	o.watch.flags(cmd)
	return cmd
}

func (a *app) sessionChat(ctx context.Context, session string, o turnOptions) error {
	if o.message == "" {
		return usage(errors.New("what should be said? give --message TEXT, @FILE or -"))
	}
	said, _, err := a.readText(o.message, "--message")
	if err != nil {
		return err
	}
	at := calling{endpoint: o.endpoint}
	d, c, err := at.desk(ctx, a)
	if err != nil {
		return err
	}
	if !o.exact {
		now, err := c.Current(ctx, session)
		if err != nil {
			return err
		}
		if now != session {
			fmt.Fprintf(a.err, "aipscope: %s goes on in %s, which is used\n", safe.Line(session), safe.Line(now))
			session = now
		}
	}
	in := map[string]string{"session_id": session, "message": string(said)}
	for name, v := range map[string]string{"system_message": o.system, "session_key": o.memory} {
		if v != "" {
			in[name] = v
		}
	}
	raw, err := json.Marshal(in)
	if err != nil {
		return err
	}
	op := hermes.OpSessionChat
	if o.stream {
		op = hermes.OpSessionChatStream
	}
	s := submission{action: o.action, key: o.key, watch: o.watch}
	req, err := a.checked(op.Capability(at.endpoint), raw, &s)
	if err != nil {
		return err
	}
	if err := d.beforeTurn(ctx, c, session); err != nil {
		return err
	}
	action, fresh, err := a.newAction(o.action)
	if err != nil {
		return err
	}
	if err := d.warnKey(ctx, action, req); err != nil {
		return err
	}
	err = d.submit(ctx, action, fresh, req, s)
	if err == nil && a.set.Output == "text" {
		fmt.Fprintf(a.err, "aipscope: this proves neither that earlier history was loaded nor that the turn was stored; look: aipscope session messages %s\n", safe.Line(session))
	}
	return err
}

// beforeTurn looks at the session: one that is not there takes no turn, and one
// that has ended does, which may not be meant.
func (d *desk) beforeTurn(ctx context.Context, c *act.Caller, session string) error {
	r, err := c.Session(ctx, session)
	switch {
	case act.Absent(err):
		return fmt.Errorf("no turn was sent: %w", err)
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		fmt.Fprintf(d.err, "aipscope: warning: the session could not be looked at first: %s\n", oneLine(err.Error()))
	case !r.Session.Open():
		fmt.Fprintln(d.err, "aipscope: warning: the session has ended, and takes turns all the same")
	}
	return nil
}
