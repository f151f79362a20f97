package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"aipscope/follow/act"
	"aipscope/model"
	"aipscope/model/hermes"
	"aipscope/model/safe"

	"github.com/spf13/cobra"
)

func (a *app) sessionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "List, read, change and continue Hermes sessions",
		Long: `List, read, change and continue the sessions that a Hermes endpoint stores. Lists,
rows and messages are private: they are masked unless --reveal is given.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.sessionListCommand(), a.sessionCreateCommand(), a.sessionGetCommand(), a.sessionPatchCommand(), a.sessionMessagesCommand(),
		a.sessionForkCommand(), a.sessionDeleteCommand(), a.sessionChatCommand())
	return cmd
}

func (a *app) sessionListCommand() *cobra.Command {
	var o calling
	var list act.ListOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List sessions by their last activity",
		Long: `List sessions by their last activity. Continuations of compressed sessions and
children that delegates made are hidden without --children; archived sessions are in
no list. Rows move between pages while they are read: each is shown once.`,
		Example: `  aipscope session list --source api_server --all --reveal`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if list.Limit < 1 || list.Limit > act.MaxPage {
				return usage(fmt.Errorf("--limit is from 1 to %d", act.MaxPage))
			}
			d, c, err := o.desk(cmd.Context(), a)
			if err != nil {
				return err
			}
			return o.within(cmd.Context(), d, func(ctx context.Context) (act.Reply, error) {
				l, err := c.Sessions(ctx, list)
				if err != nil && len(l.Actions) == 0 {
					return act.Reply{}, err
				}
				return act.Reply{}, errors.Join(err, d.printSessions(l, o.veil()))
			})
		},
	}
	o.flags(cmd)
	f := cmd.Flags()
	f.IntVar(&list.Limit, "limit", act.DefaultPage, "rows of a page, 1 to 200")
	f.IntVar(&list.Offset, "offset", 0, "rows to pass over, up to 1000000")
	f.StringVar(&list.Source, "source", "", "only rows of this `source`, such as api_server")
	f.BoolVar(&list.Children, "children", false, "continuations and delegates' children, too")
	f.BoolVar(&list.All, "all", false, "read on until a page is not full")
	return cmd
}

// sessionLine is a row of the list as JSON, and sessionsLine what ends it.
type sessionLine struct {
	Type     string          `json:"type"`
	ID       string          `json:"id"`
	Parent   *string         `json:"parent"`
	Root     *string         `json:"root"` // the first of a compressed chain
	Open     bool            `json:"open"`
	Messages int             `json:"message_count"`
	Masked   bool            `json:"masked"`
	Object   json.RawMessage `json:"object"`
}

type sessionsLine struct {
	Type     string   `json:"type"`
	Returned int      `json:"returned"`
	Next     int      `json:"next_offset"`
	More     bool     `json:"more"` // the last page was full
	Repeated int      `json:"repeated"`
	Actions  []string `json:"actions"` // that read the pages
}

func (d *desk) printSessions(l act.SessionList, v veil) error {
	if d.set.Output == "json" {
		for _, s := range l.Sessions {
			line := sessionLine{"session", v.id(s.ID), orNull(v.id(s.Parent)), orNull(v.id(s.Root)), s.Open(), s.MessageCount, v.masker != nil, v.json(s.Raw)}
			if err := writeJSON(d.out, line); err != nil {
				return err
			}
		}
		return writeJSON(d.out, sessionsLine{"sessions", len(l.Sessions), l.Next, l.More, l.Repeated, l.Actions})
	}
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	ends := map[string]string{}
	for _, s := range l.Sessions {
		ends[s.ID] = s.EndReason
	}
	fmt.Fprintln(w, "SESSION\tTITLE\tSOURCE\tMESSAGES\tACTIVE\tSTATE\tKIND")
	for _, s := range l.Sessions {
		shown := hermes.SessionOf(v.json(s.Raw))
		state := "open"
		if !s.Open() {
			state = "ended: " + cmp.Or(shown.EndReason, "no reason")
		}
		kind := "root"
		switch {
		case s.Root != "":
			kind = "latest of " + v.id(s.Root)
		case s.Parent != "":
			kind = childOf(ends[s.Parent]) + v.id(s.Parent)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", safe.Line(v.id(s.ID)), dash(shown.Title), dash(shown.Source), s.MessageCount, d.ago(s.Active),
			safe.Line(state), safe.Line(kind))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if l.More {
		fmt.Fprintf(d.err, "aipscope: the last page was full, so there may be more: --offset %d, or --all\n", l.Next)
	}
	v.hint(d)
	return nil
}

// childOf says what a row is to its parent, by how that ended (seed 002, "List
// sessions"); a parent that is not listed tells nothing.
func childOf(parentEnded string) string {
	switch parentEnded {
	case "compression":
		return "continues "
	case "branched":
		return "branch of "
	}
	return "child of "
}

func (a *app) sessionCreateCommand() *cobra.Command {
	var o calling
	var n act.NewSession
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make a session",
		Long: `Make a session. Without --id the provider makes the ID. The model and the system
prompt are stored beside the transcript; a turn's own model and prompt do not follow
from them.`,
		Example: `  aipscope session create --id incident-214 --title 'Incident 214'`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.sessionObject(cmd, &o, func(ctx context.Context, c *act.Caller) (act.SessionReply, error) { return c.CreateSession(ctx, n) })
		},
	}
	o.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&n.ID, "id", "", "`ID` of the new session")
	f.StringVar(&n.Title, "title", "", "title, unique in the endpoint's database, at most 100 characters")
	f.StringVar(&n.Model, "model", "", "`model` to note")
	f.StringVar(&n.SystemPrompt, "system-prompt", "", "system prompt to note, `text`")
	f.StringVar(&n.Key, "idempotency-key", "", "`key` of this exact request (default: one is made)")
	return cmd
}

// sessionObject prints the session that a call is about. Its ID is shown: the
// operator named it, or needs it.
func (a *app) sessionObject(cmd *cobra.Command, o *calling, fn func(context.Context, *act.Caller) (act.SessionReply, error)) error {
	d, c, err := o.desk(cmd.Context(), a)
	if err != nil {
		return err
	}
	return o.within(cmd.Context(), d, func(ctx context.Context) (act.Reply, error) {
		r, err := fn(ctx, c)
		if err != nil {
			return r.Reply, err
		}
		if d.set.Output != "json" {
			fmt.Fprintf(d.err, "aipscope: session %s\n", safe.Line(r.Session.ID))
		}
		return r.Reply, d.object("session", r.Session.ID, r.Reply, false, o.veil())
	})
}

func (a *app) sessionGetCommand() *cobra.Command {
	var o calling
	cmd := &cobra.Command{
		Use:     "get SESSION",
		Short:   "Read one exact session's row",
		Long:    `Read one exact session's row. It follows no continuation: messages does.`,
		Example: `  aipscope session get incident-214 --reveal`,
		Args:    oneArg("session"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.sessionObject(cmd, &o, func(ctx context.Context, c *act.Caller) (act.SessionReply, error) { return c.Session(ctx, args[0]) })
		},
	}
	o.flags(cmd)
	return cmd
}

func (a *app) sessionPatchCommand() *cobra.Command {
	var o calling
	var p act.Patch
	var title string
	cmd := &cobra.Command{
		Use:   "patch SESSION",
		Short: "Change a session's title or end reason",
		Long: `Change a session's title (an empty one clears it) or its end reason, of which the
first stays. Nothing else can be changed. An ended session still takes turns: the
provider does not refuse them.`,
		Example: `  aipscope session patch incident-214 --title 'Incident 214, reviewed' --end-reason client_closed`,
		Args:    oneArg("session"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.ID = args[0]
			if cmd.Flags().Changed("title") {
				p.Title = &title
			}
			return a.sessionObject(cmd, &o, func(ctx context.Context, c *act.Caller) (act.SessionReply, error) { return c.PatchSession(ctx, p) })
		},
	}
	o.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&title, "title", "", "new title; '' clears it")
	f.StringVar(&p.EndReason, "end-reason", "", "why the session ends, `word`")
	f.StringVar(&p.Key, "idempotency-key", "", "`key` of this exact request (default: one is made)")
	return cmd
}

func (a *app) sessionMessagesCommand() *cobra.Command {
	var o calling
	cmd := &cobra.Command{
		Use:   "messages SESSION",
		Short: "Read a session's latest messages",
		Long: `Read a session's latest active messages. Of a compressed session they are those of
its continuation, whose ID is shown.`,
		Example: `  aipscope session messages incident-214 --reveal`,
		Args:    oneArg("session"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, c, err := o.desk(cmd.Context(), a)
			if err != nil {
				return err
			}
			return o.within(cmd.Context(), d, func(ctx context.Context) (act.Reply, error) {
				t, err := c.Messages(ctx, args[0])
				if err != nil {
					return t.Reply, err
				}
				return t.Reply, d.printMessages(args[0], t, o.veil())
			})
		},
	}
	o.flags(cmd)
	return cmd
}

// messageLine is a row of a transcript as JSON, and messagesLine what ends it.
type messageLine struct {
	Type   string          `json:"type"`
	Masked bool            `json:"masked"`
	Object json.RawMessage `json:"object"`
}

type messagesLine struct {
	Type     string `json:"type"`
	ActionID string `json:"action_id"`
	Asked    string `json:"asked"`
	Session  string `json:"session_id"` // that was read: the last of its chain
	Returned int    `json:"returned"`
	Count    *int   `json:"message_count"` // null where it could not be read
}

func (d *desk) printMessages(asked string, t act.Transcript, v veil) error {
	if d.set.Output == "json" {
		for _, m := range t.Messages {
			if err := writeJSON(d.out, messageLine{"message", v.masker != nil, v.json(m.Raw)}); err != nil {
				return err
			}
		}
		var count *int
		if t.Count >= 0 {
			count = &t.Count
		}
		return writeJSON(d.out, messagesLine{"messages", t.Action, asked, t.SessionID, len(t.Messages), count})
	}
	for _, m := range t.Messages {
		shown := hermes.MessageOf(v.json(m.Raw))
		fmt.Fprintf(d.out, "%s%s %s\n", safe.Line(cmp.Or(m.Role, "?")), ifNamed(m.ToolName), stamp(m.At))
		if shown.Text != "" {
			fmt.Fprintln(d.out, "  "+strings.ReplaceAll(safe.Text(shown.Text), "\n", "\n  "))
		}
		for i, call := range m.Calls {
			args := ""
			if i < len(shown.Calls) && v.masker == nil {
				args = " " + shown.Calls[i].Arguments
			}
			fmt.Fprintf(d.out, "  calls %s%s\n", safe.Line(call.Name), safe.Line(args))
		}
	}
	count := "unknown"
	if t.Count >= 0 {
		count = strconv.Itoa(t.Count)
	}
	goes := ""
	if t.SessionID != asked {
		goes = ", which goes on from " + asked
	}
	fmt.Fprintf(d.err, "aipscope: session %s%s: %d returned of %s\n", safe.Line(t.SessionID), safe.Line(goes), len(t.Messages), count)
	v.hint(d)
	return nil
}

func ifNamed(tool string) string {
	if tool == "" {
		return ""
	}
	return " " + safe.Line(tool)
}

func (a *app) sessionForkCommand() *cobra.Command {
	var o calling
	var fork act.Fork
	cmd := &cobra.Command{
		Use:   "fork SESSION",
		Short: "Copy a session's active messages to a child",
		Long: `Copy a session's active messages to a child. The child's ID is always sent, so that it
can be looked up. A fork is not atomic: it ends the source and writes the child before
it looks at the title. So both are read and shown afterwards, whatever it answered.

Exit code 14 (incomplete) for any failure: something may have been written.`,
		Example: `  aipscope session fork incident-214 --id incident-214-b --title 'Incident 214, alternative'`,
		Args:    oneArg("session"),
		RunE: func(cmd *cobra.Command, args []string) error {
			fork.ID = args[0]
			d, c, err := o.desk(cmd.Context(), a)
			if err != nil {
				return err
			}
			return o.within(cmd.Context(), d, func(ctx context.Context) (act.Reply, error) {
				f, err := c.ForkSession(ctx, fork)
				if f.Source.ID == "" { // nothing was sent, or the time was over
					return f.Reply, err
				}
				return f.Reply, errors.Join(err, d.printFork(f, err, o.veil()))
			})
		},
	}
	o.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&fork.Child, "id", "", "`ID` of the child (default: one is made)")
	f.StringVar(&fork.Title, "title", "", "title of the child (default: the source's, numbered)")
	f.StringVar(&fork.Key, "idempotency-key", "", "`key` of this exact request (default: one is made)")
	return cmd
}

// foundLine is a session that was looked up after a fork.
type foundLine struct {
	ID     string          `json:"id"`
	There  *bool           `json:"there"` // null where it could not be read
	Error  *string         `json:"error,omitempty"`
	Object json.RawMessage `json:"object,omitempty"`
}

type forkLine struct {
	Type      string    `json:"type"`
	ActionID  *string   `json:"action_id"`
	Key       *string   `json:"idempotency_key"`
	Completed bool      `json:"completed"`
	Masked    bool      `json:"masked"`
	Source    foundLine `json:"source"`
	Child     foundLine `json:"child"`
}

func (d *desk) printFork(f act.Forked, failure error, v veil) error {
	found := func(x act.Found) foundLine {
		l := foundLine{ID: x.ID}
		if x.Err != nil {
			l.Error = orNull(oneLine(x.Err.Error()))
			return l
		}
		there := x.Session != nil
		l.There = &there
		if there {
			l.Object = v.json(x.Session.Raw)
		}
		return l
	}
	if d.set.Output == "json" {
		return writeJSON(d.out, forkLine{"fork", orNull(f.Action), orNull(f.Key), failure == nil, v.masker != nil, found(f.Source), found(f.Child)})
	}
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	for _, x := range []struct {
		is string
		act.Found
	}{{"source", f.Source}, {"child", f.Child}} {
		says := "not there"
		switch {
		case x.Err != nil:
			says = "could not be read: " + x.Err.Error()
		case x.Session != nil:
			shown := hermes.SessionOf(v.json(x.Session.Raw))
			says = "open"
			if !x.Session.Open() {
				says = "ended: " + cmp.Or(shown.EndReason, "no reason")
			}
			says += fmt.Sprintf(", %s, title %s", model.Count(x.Session.MessageCount, "message", "messages"), dash(shown.Title))
			if x.Session.Parent != "" {
				parent := "another session"
				if x.Session.Parent == f.Source.ID {
					parent = "the source"
				}
				says += ", parent " + parent
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", x.is, safe.Line(x.ID), oneLine(says))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if s := f.Source.Session; failure == nil && s != nil && s.EndReason != "branched" {
		fmt.Fprintln(d.err, "aipscope: the source had ended for another reason: lists may not show the child; keep its ID, or list with --children")
	}
	v.hint(d)
	return nil
}

func (a *app) sessionDeleteCommand() *cobra.Command {
	var o deletion
	cmd := &cobra.Command{
		Use:   "delete SESSION",
		Short: "Delete a session, once somebody approved it",
		Long: `Delete a session's row and messages. The capability needs an approval: a pending one
is shown, and followed to its outcome. Where the journal holds an earlier request for
the same session, that one's result is read and nothing is sent (--again sends).`,
		Example: `  aipscope session delete incident-214`,
		Args:    oneArg("session"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd, a, "session_deleted", args[0],
				"deleted the row, its messages and delegates' children; branches and continuations stay, as do transcript and dump files, memory, stored responses and external effects",
				(*act.Caller).DeleteSession)
		},
	}
	o.flags(cmd)
	return cmd
}
