// Package cli is the command line: it reads flags, environment and config file,
// joins client, journal and follower to one of the console's faces, and turns
// what comes of it into words and an exit code.
//
// On a terminal a watch opens the console; elsewhere it prints the assistant's
// text, or one JSON object a line. The exit code of a watch is its verdict.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"aipscope/model/near"
	"aipscope/store"
	"aipscope/ui"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// app is one run of the program.
type app struct {
	recordings fs.FS
	in         io.Reader
	out, err   io.Writer
	tty        *os.File // out, if that is a terminal
	getenv     func(string) string
	now        func() time.Time

	configFile string
	flags      settings
	given      *pflag.FlagSet // tells which of them were
	set        settings       // flags over environment over config file
	look       ui.Look        // of the console, when the output is tui
	log        *slog.Logger
	closers    []func() error
	code       int

	keeps  bool                    // a console has a keeper beside it
	end    context.CancelCauseFunc // of the run: with a fault, or nil for a reader who left
	stuck  chan struct{}           // told when the terminal takes nothing and the run is ending
	screen atomic.Pointer[screen]  // while a console has the terminal
	late   atomic.Bool             // the terminal was asked for its background, and has not answered
}

// Main runs one command line and returns the exit code. recordings holds the
// streams of the demo, below hermes/ and generations/.
func Main(recordings fs.FS, args []string, in io.Reader, out, errOut io.Writer) int {
	if len(args) == 1 && args[0] == keepCommand {
		return keepTerminal()
	}
	a := &app{recordings: recordings, in: in, out: &output{out}, tty: terminal(out), err: errOut, getenv: os.Getenv, now: time.Now, keeps: keepCommand != ""}
	ctx, stop := a.untilSignal(context.Background())
	defer stop()
	return a.run(ctx, args)
}

func (a *app) run(ctx context.Context, args []string) int {
	err := guarded(func() error {
		root := a.root()
		root.SetArgs(args)
		return root.ExecuteContext(ctx)
	})
	// What broke down in another goroutine ended the context.
	if cause := context.Cause(ctx); stackOf(cause) != nil && stackOf(err) == nil {
		err = cause
	}
	for i := len(a.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, guarded(a.closers[i]))
	}
	if err == nil {
		return a.code
	}
	if readerLeft(err) {
		return exitInterrupted
	}
	fmt.Fprintf(a.err, "aipscope: %s\n", explain(err))
	if stack := stackOf(err); stack != nil {
		fmt.Fprintf(a.err, "\n%s", stack)
	}
	return exitOfError(ctx, err)
}

// output is standard output. Its errors are told from others.
type output struct{ w io.Writer }

type outputError struct{ error }

func (e outputError) Unwrap() error { return e.error }

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		err = outputError{err}
	}
	return n, err
}

// readerLeft reports whether err is that nobody reads standard output any more.
// There is nobody to tell, then.
func readerLeft(err error) bool {
	var o outputError
	return errors.As(err, &o) && errors.Is(o, syscall.EPIPE)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "aipscope",
		Short: "Watch AIP actions that run Hermes turns, to a true verdict",
		Long: `aipscope follows one AIP action: the assistant's text, each tool, each raw frame,
and one verdict. What it shows is in its journal first, so that a watch resumes
after any disconnect or crash.`,
		Example: `  aipscope demo
  aipscope watch act_0198b0d2c41e7f3a9d5e6b7c8d9e0f10 --url https://aip.example.org --token-file token
  aipscope submit cap:hermes_agent:prod:chat_stream --input @request.json`,
		Version:           builtFrom(),
		Args:              noArgs,
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.prepareFor(cmd) },
		RunE:              a.runAlone,
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage(wrongFlag(cmd, err)) })
	f := root.PersistentFlags()
	a.given = f
	f.StringVar(&a.configFile, "config", "", "config `file` (default: aipscope/config.toml in the XDG config directory)")
	for _, k := range allSettings {
		k.define(f, &a.flags)
	}
	root.AddCommand(
		a.demoCommand(), a.watchCommand(), a.submitCommand(), a.cancelCommand(), a.statusCommand(), a.actionsCommand(),
		a.reconcileCommand(), a.responseCommand(), a.sessionCommand(), a.capabilitiesCommand(),
		a.openCommand(), a.exportCommand(), a.journalCommand(), a.serveCommand(),
		a.doctorCommand(), a.configCommand(), a.schemaCommand(), a.manCommand(),
	)
	group(root)
	a.completeAll(root)
	return root
}

// group puts the commands under headings, for the help.
func group(root *cobra.Command) {
	for _, g := range []struct {
		title string
		names []string
	}{
		{"One action:", []string{"demo", "watch", "submit", "cancel", "status", "reconcile", "open", "export"}},
		{"What is there:", []string{"actions", "capabilities", "session", "response", "journal"}},
		{"Setting up:", []string{"doctor", "config", "serve", "completion", "man", "schema"}},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range root.Commands() {
			if slices.Contains(g.names, c.Name()) {
				c.GroupID = g.title
			}
		}
		if slices.Contains(g.names, "completion") {
			root.SetCompletionCommandGroupID(g.title) // cobra makes these two late
			root.SetHelpCommandGroupID(g.title)
		}
	}
}

// prepareFor prepares for a command. Cobra's own, which complete for a shell and write
// its script, do without; what completes an argument prepares by itself, in silence.
func (a *app) prepareFor(cmd *cobra.Command) error {
	switch {
	case cmd.Name() == cobra.ShellCompRequestCmd, cmd.Name() == cobra.ShellCompNoDescRequestCmd, cmd.Parent() != nil && cmd.Parent().Name() == "completion":
		return nil
	}
	return a.prepare()
}

// unprepared lets a command run whatever the settings say, and without them.
func unprepared(cmd *cobra.Command) *cobra.Command {
	cmd.PersistentPreRunE = func(*cobra.Command, []string) error { return nil }
	return cmd
}

// prepare settles the settings and opens the log.
func (a *app) prepare() error {
	set, err := a.loadSettings()
	if err != nil {
		return usage(err)
	}
	if set.Output == "" {
		set.Output = "text"
		if a.tty != nil && terminal(a.in) != nil {
			set.Output = "tui"
		}
	}
	a.set = set
	if set.Output == "tui" {
		if err := a.prepareLook(); err != nil {
			return err
		}
	}
	return a.openLog()
}

// openLog opens the log file. It gets IDs, states, counts and codes, and never
// content or credentials.
func (a *app) openLog() error {
	a.log = slog.New(slog.DiscardHandler)
	if a.set.LogFile == "" {
		return nil
	}
	f, err := store.AppendPrivate(a.set.LogFile)
	if err != nil {
		return fileError{fmt.Errorf("log file: %w", err)}
	}
	a.closers = append(a.closers, f.Close)
	a.log = slog.New(slog.NewTextHandler(f, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return nil
}

// terminal returns v where it is a terminal, or nil.
func terminal(v any) *os.File {
	if f, ok := v.(*os.File); ok && term.IsTerminal(f.Fd()) {
		return f
	}
	return nil
}

// usageError is a command line that cannot be run.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usage(err error) error { return usageError{err} }

// noArgs is for commands that take no argument. What stands there for a command's
// name is told from what is too much.
func noArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasSubCommands():
		var names []string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() || c.Name() == "help" {
				names = append(names, c.Name())
			}
		}
		where := "there is no command"
		if cmd.HasParent() {
			where = cmd.CommandPath() + " has no command"
		}
		return usage(fmt.Errorf("%s %q%s", where, args[0], meant(args[0], names...)))
	}
	return usage(fmt.Errorf("%s takes no argument, it got %q", cmd.CommandPath(), args[0]))
}

// wrongFlag says which flag was probably meant by one that there is not.
func wrongFlag(cmd *cobra.Command, err error) error {
	var none *pflag.NotExistError
	if !errors.As(err, &none) || none.GetSpecifiedShortnames() != "" {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if name := near.Name(none.GetSpecifiedName(), names...); name != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, name)
	}
	return err
}

// oneArg asks for one argument, by its name.
func oneArg(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 1:
			return nil
		case 0:
			return usage(fmt.Errorf("%s: name the %s", cmd.CommandPath(), name))
		}
		return usage(fmt.Errorf("%s takes one %s, it got %d arguments", cmd.CommandPath(), name, len(args)))
	}
}
