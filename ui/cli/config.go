package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"aipscope/ui"

	"github.com/BurntSushi/toml"
	"github.com/adrg/xdg"
)

// settings are what the config file, the environment and the flags agree on:
// flags win over the environment, the environment over the file.
type settings struct {
	URL          string `toml:"url"`
	TokenFile    string `toml:"token_file"`
	Journal      string `toml:"journal"`
	Theme        string `toml:"theme"`
	LogFile      string `toml:"log_file"`
	CAFile       string `toml:"ca_file"`
	InsecureHTTP bool   `toml:"insecure_http"`
	PlainScreen  bool   `toml:"plain_screen"`
	Ephemeral    bool   `toml:"ephemeral"`
	Output       string `toml:"output"`
	Notify       string `toml:"notify"`
	Mouse        bool   `toml:"mouse"`

	Keys   map[string]keyNames `toml:"keys"` // of the console, by the names of its actions
	keymap ui.Keymap
}

// keyNames are one key or several.
type keyNames []string

// UnmarshalTOML takes a string or an array of strings.
func (k *keyNames) UnmarshalTOML(v any) error {
	values, ok := v.([]any)
	if !ok {
		values = []any{v}
	}
	for _, v := range values {
		name, ok := v.(string)
		if !ok {
			return fmt.Errorf("a key is a string, such as \"x\" or \"ctrl+x\", not %v", v)
		}
		*k = append(*k, name)
	}
	return nil
}

// environment names the variables that settings come from, as the documents of
// AIP name them.
var environment = []struct {
	name  string
	field func(*settings) *string
}{
	{"AIP_URL", func(s *settings) *string { return &s.URL }},
	{"AIP_TOKEN_FILE", func(s *settings) *string { return &s.TokenFile }},
	{"AIPSCOPE_JOURNAL", func(s *settings) *string { return &s.Journal }},
}

// loadSettings reads the config file and the environment. A file that was named
// must exist; the default one need not.
func loadSettings(file string, getenv func(string) string) (settings, error) {
	var s settings
	named := file != ""
	if !named {
		file = filepath.Join(xdg.ConfigHome, "aipscope", "config.toml")
	}
	meta, err := toml.DecodeFile(file, &s)
	switch {
	case err == nil:
	case !named && errors.Is(err, fs.ErrNotExist):
	default:
		return s, &configError{file, err}
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return s, &configError{file, fmt.Errorf("unknown key %q", unknown[0].String())}
	}
	keys := map[string][]string{}
	for name, k := range s.Keys {
		keys[name] = k
	}
	if s.keymap, err = ui.Rebind(keys); err != nil {
		return s, &configError{file, fmt.Errorf("[keys]: %w", err)}
	}
	for _, e := range environment {
		if v := getenv(e.name); v != "" {
			*e.field(&s) = v
		}
	}
	if s.Journal == "" {
		s.Journal = filepath.Join(xdg.StateHome, "aipscope")
	}
	return s, nil
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

// configError says which config file cannot be used.
type configError struct {
	file string
	err  error
}

func (e *configError) Error() string {
	var parse toml.ParseError
	if errors.As(e.err, &parse) {
		return fmt.Sprintf("config file %s: line %d: %s", e.file, parse.Position.Line, parse.Message)
	}
	var path *os.PathError
	if errors.As(e.err, &path) {
		return fmt.Sprintf("config file %s: %v", e.file, path.Err)
	}
	return fmt.Sprintf("config file %s: %v", e.file, e.err)
}

func (e *configError) Unwrap() error { return e.err }
