package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aipscope/model/near"
	"aipscope/ui"

	"github.com/BurntSushi/toml"
	"github.com/adrg/xdg"
	"github.com/spf13/pflag"
)

// settings are what the config file, the environment and the flags agree on:
// flags win over the environment, the environment over the file.
type settings struct {
	URL          string
	TokenFile    string
	Journal      string
	Theme        string
	LogFile      string
	CAFile       string
	InsecureHTTP bool
	PlainScreen  bool
	Ephemeral    bool
	Output       string
	Notify       string
	Mouse        bool

	keys   map[string][]string // of the console, by the names of its actions
	keymap ui.Keymap
	from   map[string]string // where each setting comes from, by its name: a flag, a variable or "config file"
}

// setting is one that the config file, the environment and a flag may give.
type setting struct {
	name    string   // in the config file; the flag has hyphens for the underscores
	env     string   // the variable, as the documents of AIP name it, or ""
	values  []string // all that there are, or nil for any
	example string   // as the config file has it
	about   string   // of the flag, its value in backquotes

	text func(*settings) *string // one of these two
	is   func(*settings) *bool
}

var allSettings = []setting{
	{name: "url", env: "AIP_URL", example: `"https://aip.example.org"`, about: "the daemon's `URL`", text: func(s *settings) *string { return &s.URL }},
	{name: "token_file", env: "AIP_TOKEN_FILE", example: `"/home/me/.aip-token"`, about: "`file` that holds the bearer token alone, mode 0600",
		text: func(s *settings) *string { return &s.TokenFile }},
	{name: "ca_file", example: `"/etc/ssl/own-ca.pem"`, about: "trust the certificate authorities in `file` (PEM), and no others", text: func(s *settings) *string { return &s.CAFile }},
	{name: "insecure_http", about: "allow the token over plain HTTP to addresses that are not loopback, and through proxies", is: func(s *settings) *bool { return &s.InsecureHTTP }},
	{name: "journal", env: "AIPSCOPE_JOURNAL", example: `"/home/me/journal"`, about: "journal `directory` (default: aipscope in the XDG state directory)",
		text: func(s *settings) *string { return &s.Journal }},
	{name: "ephemeral", about: "keep the journal in memory only", is: func(s *settings) *bool { return &s.Ephemeral }},
	{name: "log_file", example: `"/home/me/aipscope.log"`, about: "write what happens, without content, to `file`", text: func(s *settings) *string { return &s.LogFile }},
	{name: "output", values: []string{"tui", "text", "json"}, example: `"text"`, about: "`form`: tui, text or json (default: tui on a terminal, text elsewhere)",
		text: func(s *settings) *string { return &s.Output }},
	{name: "theme", example: `"light"`, about: "colour `theme`: dark, light, contrast, harbor or one of your own (default: by the terminal's background)",
		text: func(s *settings) *string { return &s.Theme }},
	{name: "plain_screen", about: "print lines, for screen readers: no boxes, no colours, nothing drawn again", is: func(s *settings) *bool { return &s.PlainScreen }},
	{name: "notify", values: []string{"bell", "desktop", "none"}, example: `"desktop"`, about: "`how` the console tells of a verdict: bell, desktop (OSC 9, in tmux a bell) or none",
		text: func(s *settings) *string { return &s.Notify }},
	{name: "mouse", about: "let the console have the mouse: the wheel moves, a click focuses a pane", is: func(s *settings) *bool { return &s.Mouse }},
}

func (k setting) flag() string { return strings.ReplaceAll(k.name, "_", "-") }

// define makes the setting a flag.
func (k setting) define(f *pflag.FlagSet, into *settings) {
	about := k.about
	if k.env != "" {
		about += " [" + k.env + "]"
	}
	if k.is != nil {
		f.BoolVar(k.is(into), k.flag(), false, about)
		return
	}
	f.StringVar(k.text(into), k.flag(), "", about)
}

// check refuses a value that the setting does not have.
func (k setting) check(value string) error {
	if value == "" || k.values == nil || slices.Contains(k.values, value) {
		return nil
	}
	last := len(k.values) - 1
	return fmt.Errorf("%q: it is %s or %s", value, strings.Join(k.values[:last], ", "), k.values[last])
}

// overrule lets the environment and then the flags that were given have their
// way.
func (s *settings) overrule(getenv func(string) string, flags *pflag.FlagSet, given *settings) error {
	for _, k := range allSettings {
		if k.is != nil {
			if flags.Changed(k.flag()) {
				*k.is(s), s.from[k.name] = *k.is(given), "--"+k.flag()
			}
			continue
		}
		where := ""
		if v := getenv(k.env); k.env != "" && v != "" {
			*k.text(s), where = v, k.env
		}
		if v := *k.text(given); v != "" {
			*k.text(s), where = v, "--"+k.flag()
		}
		if where != "" {
			s.from[k.name] = where
			if err := k.check(*k.text(s)); err != nil {
				return fmt.Errorf("%s %w", where, err)
			}
		}
	}
	return nil
}

// configPath is the config file, which need not be there, and whether it was
// named.
func (a *app) configPath() (file string, named bool) {
	if a.configFile != "" {
		return a.configFile, true
	}
	return filepath.Join(xdg.ConfigHome, "aipscope", "config.toml"), false
}

// loadSettings reads the config file, the environment and the flags. A file that was
// named must exist; the default one need not. With an error the settings are those
// of the environment and the flags.
func (a *app) loadSettings() (settings, error) {
	file, named := a.configPath()
	s, err := readConfig(file)
	if err != nil {
		s = settings{from: map[string]string{}}
		if !named && errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	err = errors.Join(err, s.overrule(a.getenv, a.given, &a.flags))
	if s.Journal == "" {
		s.Journal = filepath.Join(xdg.StateHome, "aipscope")
	}
	return s, err
}

// readConfig reads a config file; its errors are *configError.
func readConfig(file string) (settings, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return settings{}, &configError{file: file, err: err}
	}
	s, err := parseConfig(string(text))
	if err != nil {
		return s, &configError{file, errorLine(string(text), err), err}
	}
	return s, nil
}

// parseConfig makes settings of a config file's text.
func parseConfig(text string) (settings, error) {
	s := settings{from: map[string]string{}}
	var content map[string]any
	if _, err := toml.Decode(text, &content); err != nil {
		return s, err
	}
	for _, name := range slices.Sorted(maps.Keys(content)) {
		if err := s.take(name, content[name]); err != nil {
			return s, err
		}
	}
	var err error
	if s.keymap, err = ui.Rebind(s.keys); err != nil {
		return s, fmt.Errorf("[keys]: %w", err)
	}
	return s, nil
}

// take sets what the config file says under a name.
func (s *settings) take(name string, value any) error {
	if name == "keys" {
		return s.takeKeys(value)
	}
	i := slices.IndexFunc(allSettings, func(k setting) bool { return k.name == name })
	if i < 0 {
		return fmt.Errorf("unknown key %q%s", name, meant(name, append(settingNames(), "keys")...))
	}
	k := allSettings[i]
	s.from[name] = "config file"
	switch v := value.(type) {
	case bool:
		if k.is == nil {
			return fmt.Errorf("%s: it should be text in quotes", name)
		}
		*k.is(s) = v
	case string:
		if k.text == nil {
			return fmt.Errorf("%s: it should be true or false, without quotes", name)
		}
		*k.text(s) = v
		if err := k.check(v); err != nil {
			return fmt.Errorf("%s %w", name, err)
		}
	default:
		return fmt.Errorf("%s: it should be %s", name, map[bool]string{true: "true or false", false: "text in quotes"}[k.is != nil])
	}
	return nil
}

func settingNames() []string {
	names := make([]string, len(allSettings))
	for i, k := range allSettings {
		names[i] = k.name
	}
	return names
}

// takeKeys sets the console's keys: one for each action, or several.
func (s *settings) takeKeys(value any) error {
	table, ok := value.(map[string]any)
	if !ok {
		return errors.New("[keys] should be a table of actions with their keys")
	}
	s.keys = map[string][]string{}
	for action, value := range table {
		several, ok := value.([]any)
		if !ok {
			several = []any{value}
		}
		s.keys[action] = []string{}
		for _, v := range several {
			name, ok := v.(string)
			if !ok {
				return fmt.Errorf("[keys]: %s: a key is a string, such as \"x\" or \"ctrl+x\", not %v", action, v)
			}
			s.keys[action] = append(s.keys[action], name)
		}
	}
	return nil
}

// errorLine is the line of a config file that an error is about, counted from 1, or 0 where
// none is known. Only the parser says where it was; any other error is of the first
// line from which on it stays, however much of the file follows.
func errorLine(text string, err error) int {
	var parse toml.ParseError
	if errors.As(err, &parse) {
		return parse.Position.Line
	}
	lines := strings.SplitAfter(text, "\n")
	if len(lines) > 1000 { // nobody's config; the search would be long
		return 0
	}
	at := 0
	for n := len(lines); n > 0; n-- {
		_, before := parseConfig(strings.Join(lines[:n], ""))
		switch {
		case errors.As(before, &parse): // in the middle of a value
		case before == nil || before.Error() != err.Error():
			return at
		default:
			at = n
		}
	}
	return at
}

// meant is a question to put behind a wrong name, or "".
func meant(wrong string, names ...string) string {
	if name := near.Name(wrong, names...); name != "" {
		return fmt.Sprintf("; did you mean %q?", name)
	}
	return ""
}

// notify is what happens at an outcome. tmux drops what it does not know: in it, a
// bell stands for a desktop notification.
func (s *settings) notify(getenv func(string) string) ui.Notify {
	switch {
	case s.Notify == "desktop" && getenv("TMUX") == "":
		return ui.NotifyDesktop
	case s.Notify == "desktop", s.Notify == "bell":
		return ui.NotifyBell
	}
	return ui.NotifyNone
}

// configError says which config file cannot be used, and which line of it.
type configError struct {
	file string
	line int // 0 where it is about none
	err  error
}

func (e *configError) Error() string {
	at := "config file " + e.file
	if e.line > 0 {
		at = fmt.Sprintf("%s: line %d", at, e.line)
	}
	var parse toml.ParseError
	var path *os.PathError
	switch {
	case errors.As(e.err, &parse):
		return at + ": " + parse.Message
	case errors.As(e.err, &path):
		return fmt.Sprintf("%s: %v", at, path.Err)
	}
	return fmt.Sprintf("%s: %v", at, e.err)
}

func (e *configError) Unwrap() error { return e.err }
