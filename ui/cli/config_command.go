package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"aipscope/model/safe"
	"aipscope/store"

	"github.com/spf13/cobra"
)

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "The config file, and what is set where",
		Long: `The config file, and what is set where. Flags win over the environment, the
environment over the file.`,
		Example: `  aipscope config init
  aipscope config show`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.configInitCommand(), a.configShowCommand(), a.configPathCommand())
	return cmd
}

func (a *app) configInitCommand() *cobra.Command {
	return unprepared(&cobra.Command{
		Use:   "init",
		Short: "Write a config file to fill in, where there is none",
		Long: `Write a config file in which every setting stands as a comment, with what it does. One
that is there already is left alone.`,
		Example: `  aipscope config init
  aipscope config init --config ./aipscope.toml`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			file, _ := a.configPath()
			if _, err := os.Lstat(file); err == nil {
				return fileError{fmt.Errorf("%s is there already, and stays as it is; aipscope config show says what it sets", file)}
			}
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				return fileError{fmt.Errorf("config file: %w", err)}
			}
			err := store.WritePrivate(file, func(w io.Writer) error {
				_, err := io.WriteString(w, configTemplate())
				return err
			})
			if err != nil {
				return fileError{err}
			}
			_, err = fmt.Fprintf(a.out, "%s\n", safe.Line(file))
			return err
		},
	})
}

// configTemplate is a config file in which everything is a comment.
func configTemplate() string {
	var b strings.Builder
	b.WriteString("# aipscope's settings. Flags win over the environment, the environment over this file.\n")
	for _, k := range allSettings {
		about := strings.ReplaceAll(k.about, "`", "")
		if k.env != "" {
			about += "; the environment's " + k.env + " wins over it"
		}
		example := k.example
		if k.is != nil {
			example = "true"
		}
		fmt.Fprintf(&b, "\n# %s\n# %s = %s\n", about, k.name, example)
	}
	b.WriteString("\n# other keys, by the names that the console's palette (:) shows\n# [keys]\n# cancel = \"X\"\n# verdict = [\"v\", \"f2\"]\n")
	return b.String()
}

func (a *app) configPathCommand() *cobra.Command {
	return unprepared(&cobra.Command{
		Use:     "path",
		Short:   "Say where the config file is, or would be",
		Example: `  $EDITOR "$(aipscope config path)"`,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			file, _ := a.configPath()
			_, err := fmt.Fprintf(a.out, "%s\n", safe.Line(file))
			return err
		},
	})
}

// settingLine is a setting as JSON, and where it comes from: a flag, a variable of the
// environment, "config file" or "default".
type settingLine struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`
}

type configLine struct {
	Type     string        `json:"type"`
	File     string        `json:"file"`
	Exists   bool          `json:"exists"`
	Settings []settingLine `json:"settings"`
}

func (a *app) configShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show",
		Short:   "Say what is set, and where each setting comes from",
		Example: `  aipscope config show --output json`,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			file, _ := a.configPath()
			_, err := os.Stat(file)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return &configError{file: file, err: err}
			}
			line := configLine{"config", file, err == nil, a.set.lines()}
			if a.set.Output == "json" {
				return writeJSON(a.out, line)
			}
			w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
			state := ""
			if !line.Exists {
				state = " (not there; aipscope config init writes one)"
			}
			fmt.Fprintf(w, "config file\t%s%s\n\nSETTING\tVALUE\tFROM\n", safe.Line(file), state)
			for _, s := range line.Settings {
				fmt.Fprintf(w, "%s\t%s\t%s\n", safe.Line(s.Name), dash(s.Value), s.From)
			}
			return w.Flush()
		},
	}
}

// lines are the settings with their sources, the keys last.
func (s *settings) lines() []settingLine {
	var lines []settingLine
	for _, k := range allSettings {
		line := settingLine{Name: k.name, From: "default"}
		if from := s.from[k.name]; from != "" {
			line.From = from
		}
		if k.is != nil {
			line.Value = strconv.FormatBool(*k.is(s))
		} else {
			line.Value = *k.text(s)
		}
		if u, err := url.Parse(line.Value); k.name == "url" && (err != nil || u.User != nil) {
			line.Value = "(not shown: it cannot be read, or holds a password)"
		}
		lines = append(lines, line)
	}
	for _, action := range slices.Sorted(maps.Keys(s.keys)) {
		lines = append(lines, settingLine{"keys." + action, strings.Join(s.keys[action], " "), "config file"})
	}
	return lines
}
