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
	"sync/atomic"
	"syscall"
	"time"

	"aipscope/store"
	"aipscope/ui"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"
)

// version is set by the linker.
var version = "dev"

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
	set        settings // flags over environment over config file
	look       ui.Look  // of the console, when the output is tui
	log        *slog.Logger
	closers    []func() error
	code       int

	end    context.CancelCauseFunc // of the run: with a fault, or nil for a reader who left
	screen atomic.Pointer[screen]  // while a console has the terminal
}

// Main runs one command line and returns the exit code. recordings holds the
// streams of the demo, below hermes/ and generations/.
func Main(recordings fs.FS, args []string, in io.Reader, out, errOut io.Writer) int {
	a := &app{recordings: recordings, in: in, out: &output{out}, tty: terminal(out), err: errOut, getenv: os.Getenv, now: time.Now}
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
		Version:           version,
		Args:              noArgs,
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.prepare() },
		RunE:              a.runAlone,
	}
	root.SuggestionsMinimumDistance = 2
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	f := root.PersistentFlags()
	f.StringVar(&a.configFile, "config", "", "config `file` (default: aipscope/config.toml in the XDG config directory)")
	f.StringVar(&a.flags.URL, "url", "", "the daemon's `URL` (AIP_URL)")
	f.StringVar(&a.flags.TokenFile, "token-file", "", "`file` that holds the bearer token, mode 0600 (AIP_TOKEN_FILE)")
	f.StringVar(&a.flags.Journal, "journal", "", "journal `directory` (AIPSCOPE_JOURNAL; default: aipscope in the XDG state directory)")
	f.BoolVar(&a.flags.Ephemeral, "ephemeral", false, "keep the journal in memory only")
	f.StringVar(&a.flags.Theme, "theme", "", "colour `theme`")
	f.StringVar(&a.flags.LogFile, "log-file", "", "write what happens, without content, to `file`")
	f.StringVar(&a.flags.CAFile, "ca-file", "", "trust the certificate authorities in `file` (PEM)")
	f.BoolVar(&a.flags.InsecureHTTP, "insecure-http", false, "allow the token over plain HTTP to addresses that are not loopback, and through proxies")
	f.BoolVar(&a.flags.PlainScreen, "plain-screen", false, "a screen without boxes, colours and the alternate screen")
	f.StringVar(&a.flags.Output, "output", "", "`form`: tui, text or json (default: tui on a terminal, text elsewhere)")
	f.StringVar(&a.flags.Notify, "notify", "", "`how` the console tells of a verdict: bell, desktop (OSC 9, in tmux a bell) or none")
	f.BoolVar(&a.flags.Mouse, "mouse", false, "let the console have the mouse: the wheel moves, a click focuses a pane")
	root.AddCommand(
		a.demoCommand(), a.watchCommand(), a.submitCommand(), a.cancelCommand(), a.statusCommand(), a.actionsCommand(),
		a.reconcileCommand(), a.responseCommand(), a.sessionCommand(), a.capabilitiesCommand(),
		a.openCommand(), a.exportCommand(), a.journalCommand(), a.serveCommand(),
	)
	return root
}

// prepare settles the settings and opens the log.
func (a *app) prepare() error {
	set, err := loadSettings(a.configFile, a.getenv)
	if err != nil {
		return usage(err)
	}
	over := func(dst *string, flag string) {
		if flag != "" {
			*dst = flag
		}
	}
	over(&set.URL, a.flags.URL)
	over(&set.TokenFile, a.flags.TokenFile)
	over(&set.Journal, a.flags.Journal)
	over(&set.Theme, a.flags.Theme)
	over(&set.LogFile, a.flags.LogFile)
	over(&set.CAFile, a.flags.CAFile)
	over(&set.Output, a.flags.Output)
	over(&set.Notify, a.flags.Notify)
	set.InsecureHTTP = set.InsecureHTTP || a.flags.InsecureHTTP
	set.PlainScreen = set.PlainScreen || a.flags.PlainScreen
	set.Mouse = set.Mouse || a.flags.Mouse
	set.Ephemeral = set.Ephemeral || a.flags.Ephemeral
	switch set.Output {
	case "":
		set.Output = "text"
		if a.tty != nil && terminal(a.in) != nil {
			set.Output = "tui"
		}
	case "tui", "text", "json":
	default:
		return usage(fmt.Errorf("--output %q: it is tui, text or json", set.Output))
	}
	switch set.Notify {
	case "", "none", "bell", "desktop":
	default:
		return usage(fmt.Errorf("--notify %q: it is bell, desktop or none", set.Notify))
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

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.Parent() == nil {
		err := fmt.Errorf("there is no command %q", args[0])
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			err = fmt.Errorf("%w; did you mean %q?", err, near[0])
		}
		return usage(err)
	}
	return usage(fmt.Errorf("%s takes no argument, it got %q", cmd.CommandPath(), args[0]))
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
