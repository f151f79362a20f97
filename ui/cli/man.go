package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (a *app) manCommand() *cobra.Command {
	return unprepared(&cobra.Command{
		Use:   "man DIRECTORY",
		Short: "Write the manual pages, one for each command",
		Long: `Write the manual pages, one for each command, to a directory such as
~/.local/share/man/man1. They are made of what --help says.`,
		Example: `  aipscope man ~/.local/share/man/man1 && man aipscope-watch`,
		Args:    oneArg("directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fileError{fmt.Errorf("manual pages: %w", err)}
			}
			return writePages(cmd.Root(), args[0])
		},
	})
}

// writePages writes the page of cmd and of each command below it.
func writePages(cmd *cobra.Command, dir string) error {
	if cmd.Hidden || cmd.Name() == "help" {
		return nil
	}
	var page strings.Builder
	writePage(&page, cmd)
	if err := os.WriteFile(filepath.Join(dir, pageName(cmd)+".1"), []byte(page.String()), 0o644); err != nil {
		return fileError{fmt.Errorf("manual pages: %w", err)}
	}
	for _, c := range cmd.Commands() {
		if err := writePages(c, dir); err != nil {
			return err
		}
	}
	return nil
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// roff makes text safe for roff: no backslash of it is an escape, hyphens stay what can be
// typed, and no line is a request.
func roff(s string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(s), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

func writePage(w io.Writer, cmd *cobra.Command) {
	// The page has no date: the same commands make the same pages.
	fmt.Fprintf(w, ".TH %q 1 \"\" \"aipscope %s\" \"aipscope\"\n", strings.ToUpper(pageName(cmd)), release())
	fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n", roff(pageName(cmd)), roff(cmd.Short))
	fmt.Fprintf(w, ".SH SYNOPSIS\n.B %s\n", roff(cmd.UseLine()))
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	fmt.Fprint(w, ".SH DESCRIPTION\n")
	for i, paragraph := range strings.Split(about, "\n\n") {
		if i > 0 {
			fmt.Fprintln(w, ".PP")
		}
		fmt.Fprintln(w, roff(paragraph))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprint(w, ".SH COMMANDS\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() && c.Name() != "help" {
				fmt.Fprintf(w, ".TP\n.BR %s (1)\n%s\n", roff(pageName(c)), roff(c.Short))
			}
		}
	}
	writeFlags(w, "OPTIONS", cmd.NonInheritedFlags())
	writeFlags(w, "OPTIONS OF EVERY COMMAND", cmd.InheritedFlags())
	if cmd.Example != "" {
		fmt.Fprintf(w, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	if !cmd.HasParent() {
		writeEnvironment(w)
	}
	if p := cmd.Parent(); p != nil {
		fmt.Fprintf(w, ".SH SEE ALSO\n.BR %s (1)\n", roff(pageName(p)))
	}
}

func writeFlags(w io.Writer, heading string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(w, ".SH %q\n", heading)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, about := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(w, ".TP\n\\fB%s\\fR", roff(name))
		if value != "" {
			fmt.Fprintf(w, " \\fI%s\\fR", roff(value))
		}
		fmt.Fprintf(w, "\n%s\n", roff(about))
	})
}

// writeEnvironment tells of variables, files and exit codes, on the first page.
func writeEnvironment(w io.Writer) {
	fmt.Fprint(w, ".SH ENVIRONMENT\n")
	for _, k := range allSettings {
		if k.env != "" {
			fmt.Fprintf(w, ".TP\n.B %s\nas %s\n", roff(k.env), roff("--"+k.flag()))
		}
	}
	for _, v := range [][2]string{
		{"AIP_ACTION_ID", "the action, for commands that read one, and for submit"}, {"AIP_CAPABILITY_ID", "the capability, for submit"},
		{"NO_COLOR", "if set, the console has no colours"},
	} {
		fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(v[0]), roff(v[1]))
	}
	fmt.Fprintf(w, ".SH FILES\n.TP\n.I aipscope/config.toml\nin the XDG config directory: the settings\n.TP\n.I aipscope/journal.db\nin the XDG state directory: the journal\n")
	fmt.Fprint(w, ".SH \"EXIT STATUS\"\n")
	for _, c := range exitCodes {
		fmt.Fprintf(w, ".TP\n.B %d\n%s\n", c.code, roff(c.means))
	}
}
