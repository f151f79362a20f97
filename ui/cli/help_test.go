package cli

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// every calls visit with each command that is ours.
func every(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, c := range cmd.Commands() {
		every(c, visit)
	}
}

func TestEveryCommandHasHelpWithExamplesThatParse(t *testing.T) {
	every((&app{}).root(), func(cmd *cobra.Command) {
		if cmd.Short == "" {
			t.Errorf("%s does not say what it does", cmd.CommandPath())
		}
		if p := cmd.Parent(); p != nil && !p.HasParent() && cmd.GroupID == "" {
			t.Errorf("%s stands under no heading", cmd.CommandPath())
		}
		if cmd.Example == "" && !cmd.HasSubCommands() {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Example) {
			_, line, ok := strings.Cut(strings.TrimSpace(line), "aipscope ")
			if !ok {
				t.Errorf("%s: an example without aipscope: %s", cmd.CommandPath(), line)
				continue
			}
			parses(t, line)
		}
	})
}

// parses fails unless a line of a shell names a command, and arguments and flags that it has.
func parses(t *testing.T, line string) {
	t.Helper()
	root := (&app{}).root()
	cmd, rest, err := root.Find(shellWords(line))
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil {
		t.Errorf("aipscope %s: %v", line, err)
	}
}

// shellWords are the words of a command, up to where another begins or the output goes.
func shellWords(line string) (words []string) {
	word, quote, begun := "", rune(0), false
	end := func() {
		if begun {
			words = append(words, word)
		}
		word, begun = "", false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word += string(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ':
			end()
		case strings.ContainsRune("|>&)", r):
			end()
			return words
		default:
			word, begun = word+string(r), true
		}
	}
	end()
	return words
}

func TestRoffHoldsNoRequestsOfItsText(t *testing.T) {
	if got := roff(".so /etc/passwd\n'x \\fB-a"); got != "\\&.so /etc/passwd\n\\&'x \\efB\\-a" {
		t.Errorf("%q", got)
	}
	dir := t.TempDir()
	if err := writePages((&app{out: io.Discard}).root(), dir); err != nil {
		t.Fatal(err)
	}
	every((&app{}).root(), func(cmd *cobra.Command) {
		if _, err := os.Stat(filepath.Join(dir, pageName(cmd)+".1")); err != nil {
			t.Error(err)
		}
	})
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("there is no groff to read them with")
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) < 30 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	if out, err := exec.CommandContext(t.Context(), groff, append([]string{"-man", "-Tascii", "-ww", "-z"}, pages...)...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
