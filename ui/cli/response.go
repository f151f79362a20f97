package cli

import (
	"context"
	"fmt"

	"aipscope/follow/act"
	"aipscope/model"
	"aipscope/model/hermes"
	"aipscope/model/safe"

	"github.com/spf13/cobra"
)

func (a *app) responseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "response",
		Short: "Read and delete stored Responses objects",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.responseGetCommand(), a.responseDeleteCommand())
	return cmd
}

func (a *app) responseGetCommand() *cobra.Command {
	var o calling
	cmd := &cobra.Command{
		Use:   "get ID",
		Short: "Read a stored response",
		Long: `Read a stored Responses object. It is asked for again only where the typed error of a
failed read permits it. Content is masked unless --reveal is given.`,
		Example: `  aipscope response get resp_0123456789abcdef0123456789ab`,
		Args:    oneArg("response"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, c, err := o.desk(cmd.Context(), a)
			if err != nil {
				return err
			}
			return o.within(cmd.Context(), d, func(ctx context.Context) (act.Reply, error) {
				r, err := c.Response(ctx, args[0])
				if err != nil {
					return r, err
				}
				return r, d.printResponse(args[0], r, o.veil())
			})
		},
	}
	o.flags(cmd)
	return cmd
}

// printResponse prints a stored response; in text with its counts before the
// object.
func (d *desk) printResponse(id string, r act.Reply, v veil) error {
	if d.set.Output != "json" {
		reply := hermes.ReadReply(hermes.OpResponses, r.Result.Output)
		calls := 0
		for _, item := range reply.Output {
			if item.Type == "function_call" {
				calls++
			}
		}
		fmt.Fprintf(d.err, "aipscope: %s: %s, %s, %s\n", safe.Line(id), safe.Line(reply.Finish),
			model.Count(len([]rune(reply.Text)), "character", "characters"), model.Count(calls, "tool call", "tool calls"))
	}
	return d.object("response", id, r, false, v)
}

// deletion is what both kinds of delete are asked.
type deletion struct {
	calling
	key   string
	again bool
}

func (o *deletion) flags(cmd *cobra.Command) {
	o.calling.flags(cmd)
	cmd.Flags().StringVar(&o.key, "idempotency-key", "", "`key` of this exact request (default: one is made)")
	cmd.Flags().BoolVar(&o.again, "again", false, "ask anew where the journal holds an earlier request for the same object")
}

func (o *deletion) run(cmd *cobra.Command, a *app, kind, id, kept string, del func(*act.Caller, context.Context, act.Deletion) (act.Deleted, error)) error {
	d, c, err := o.desk(cmd.Context(), a)
	if err != nil {
		return err
	}
	return o.within(cmd.Context(), d, func(ctx context.Context) (act.Reply, error) {
		r, err := del(c, ctx, act.Deletion{ID: id, Key: o.key, Again: o.again})
		if err != nil {
			return r.Reply, err
		}
		if err := d.object(kind, id, r.Reply, r.Original, o.veil()); err != nil {
			return r.Reply, err
		}
		if done, ok := hermes.ReadDeletion(r.Result.Output); ok && done.Deleted {
			fmt.Fprintf(d.err, "aipscope: %s\n", kept)
		}
		return r.Reply, nil
	})
}

func (a *app) responseDeleteCommand() *cobra.Command {
	var o deletion
	cmd := &cobra.Command{
		Use:   "delete ID",
		Short: "Delete a stored response, once somebody approved it",
		Long: `Delete a stored Responses object. The capability needs an approval: a pending one is
shown, and followed to its outcome. Where the journal holds an earlier request for
the same response, that one's result is read and nothing is sent (--again sends).`,
		Example: `  aipscope response delete resp_0123456789abcdef0123456789ab`,
		Args:    oneArg("response"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd, a, "response_deleted", args[0],
				"deleted the stored record and a conversation's pointer to it; model calls, tool effects, memory and session history stay",
				(*act.Caller).DeleteResponse)
		},
	}
	o.flags(cmd)
	return cmd
}
