package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"aipscope/follow/act"
	"aipscope/follow/aipd"
	"aipscope/follow/client"
	"aipscope/follow/replay"
	"aipscope/model/safe"
	"aipscope/store"
	"aipscope/themes"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The shell waits for what completes a word: no longer than this for a daemon, and for no
// more than so many actions. Whatever goes wrong, there is silence and nothing on disk.
const (
	completionTime = time.Second
	completedMost  = 200
)

// completion is how cobra asks for the words that may stand in a place.
type completion = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective)

// completeAll gives each command and flag below cmd what completes it.
func (a *app) completeAll(root *cobra.Command) {
	for path, complete := range map[string]completion{
		"watch": a.completeActions, "status": a.completeActions, "reconcile": a.completeActions, "cancel": a.completeActions,
		"open": a.completeFilesAndActions, "export": a.completeHeld, "journal forget": a.completeHeld,
		"submit": a.completeCapabilities, "demo": a.completeScenarios,
	} {
		cmd, _, err := root.Find(strings.Fields(path))
		if err != nil {
			panic(err) // a test completes them all
		}
		cmd.ValidArgsFunction = complete
	}
	words := map[string]completion{
		"endpoint": a.completeEndpoints, "fault": completeFaults, "theme": completeThemes, "mode": fixed("sync", "async", "streaming"), "approve": fixed("never", "auto", "deny"),
	}
	for _, k := range allSettings {
		if k.values != nil {
			words[k.flag()] = fixed(k.values...)
		}
	}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for name, complete := range words {
			if has(cmd.LocalNonPersistentFlags(), name) || has(cmd.PersistentFlags(), name) {
				_ = cmd.RegisterFlagCompletionFunc(name, complete) // the flag is there
			}
		}
		// What takes no argument is not offered files.
		if cmd.ValidArgsFunction == nil && !cmd.HasSubCommands() {
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(root)
}

func has(flags *pflag.FlagSet, name string) bool { return flags.Lookup(name) != nil }

func fixed(words ...string) completion {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

// known are the actions of the journal and, where live, of the daemon, the last touched
// first.
func (a *app) known(cmd *cobra.Command, live bool) []*actionLine {
	if a.prepare() != nil {
		return nil
	}
	ctx, stop := context.WithTimeout(cmd.Context(), completionTime)
	defer stop()
	j, err := a.existingJournal(ctx)
	if err != nil {
		if j, err = store.OpenMemory(ctx); err != nil {
			return nil
		}
		defer j.Close()
	}
	var c *client.Client
	if live && a.set.URL != "" {
		c, _, _ = a.connect()
	}
	lines, _ := listActions(ctx, c, j) // what the journal knows, where the daemon fails
	return lines[:min(len(lines), completedMost)]
}

// describe makes words of actions, each with what it is. Words are typed, so what could
// not be is left out.
func (a *app) describe(lines []*actionLine) (all []string) {
	for _, l := range lines {
		if checkActionID(l.ActionID) != nil || safe.Line(l.ActionID) != l.ActionID || strings.ContainsAny(l.ActionID, " \t") {
			continue
		}
		about := []string{safe.Line(operationOf(l.Capability))}
		switch {
		case l.Verdict != "":
			about = append(about, words(l.Verdict))
		case l.State != nil:
			about = append(about, safe.Line(*l.State))
		}
		all = append(all, cobra.CompletionWithDesc(l.ActionID, strings.Join(append(about, a.ago(l.last)), ", ")))
	}
	return all
}

func (a *app) completeActions(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.actionsFor(cmd, args, true)
}

func (a *app) completeHeld(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.actionsFor(cmd, args, false)
}

func (a *app) actionsFor(cmd *cobra.Command, args []string, live bool) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.describe(a.known(cmd, live)), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeFilesAndActions offers actions only to who begins one: the shell offers files
// only where nothing else is.
func (a *app) completeFilesAndActions(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 && strings.HasPrefix(begun, "a") && strings.HasPrefix("act_", begun[:min(len(begun), 4)]) {
		return a.describe(a.known(cmd, false)), cobra.ShellCompDirectiveKeepOrder
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// offered are the daemon's capabilities.
func (a *app) offered(cmd *cobra.Command) []act.Offer {
	if a.prepare() != nil {
		return nil
	}
	c, _, err := a.connect()
	if err != nil {
		return nil
	}
	ctx, stop := context.WithTimeout(cmd.Context(), completionTime)
	defer stop()
	offers, err := act.Offers(ctx, c)
	if err != nil {
		return nil
	}
	return offers
}

// completeCapabilities offers what the daemon does, and what the journal has seen
// submitted to it before.
func (a *app) completeCapabilities(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var ids, words []string
	for _, o := range a.offered(cmd) {
		ids = append(ids, o.ID)
		words = append(words, cobra.CompletionWithDesc(safe.Line(o.ID), o.Terms()))
	}
	if len(ids) == 0 {
		for _, l := range a.known(cmd, false) {
			if l.Capability != nil && !slices.Contains(ids, *l.Capability) {
				ids = append(ids, *l.Capability)
				words = append(words, cobra.CompletionWithDesc(safe.Line(*l.Capability), "submitted "+a.ago(l.last)))
			}
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeEndpoints(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, endpoint := range act.Endpoints(a.offered(cmd)) {
		names = append(names, safe.Line(endpoint))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeScenarios(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	lib, err := replay.Open(a.recordings)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names(lib), cobra.ShellCompDirectiveNoFileComp
}

// completeFaults offers the next of the names with commas between them.
func completeFaults(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	before := begun[:strings.LastIndexByte(begun, ',')+1]
	var words []string
	for _, f := range aipd.AllFaults() {
		words = append(words, cobra.CompletionWithDesc(before+f.Name, f.About))
	}
	if before == "" {
		words = append(words, cobra.CompletionWithDesc("help", "list them"))
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func completeThemes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return themes.Names(ownThemes()), cobra.ShellCompDirectiveNoFileComp
}
