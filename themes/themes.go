// Package themes holds how the console looks: colours by what they mean, the
// glyphs that say the same without them, and the markdown style that follows
// from both.
//
// A theme is a TOML file. Four are built in; one of the user's own needs only what it changes:
//
//	dark = true            # the background it is made for; what is left out comes from the dark theme
//
//	[colors]
//	accent = "#e0b15a"     # "#rgb", "#rrggbb", a terminal colour "0" to "255", or "" for the terminal's own
//
//	[verdict]
//	failed = "203"
//
// Colour means state and nothing else, and never alone: every state has its word
// and its glyph as well. Terminals with fewer colours get the nearest that they have, or
// with sixteen those of the same hue.
package themes

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/charmbracelet/lipgloss"

	"aipscope/follow"
	"aipscope/model"
)

//go:embed *.toml
var builtin embed.FS

// Role is what a colour that is no state is for.
type Role string

const (
	Text        Role = "text"
	Dim         Role = "dim"
	Accent      Role = "accent" // keys, the cursor, what has the focus
	Border      Role = "border"
	BorderFocus Role = "border_focus"
	Title       Role = "title"
	Selection   Role = "selection" // the background of the chosen row
	Match       Role = "match"     // the background of what a search found
)

// Color is "#rgb", "#rrggbb", a terminal colour "0" to "255", or "" for the terminal's own.
type Color string

// Lipgloss is the colour for lipgloss, which finds the nearest that a terminal has.
func (c Color) Lipgloss() lipgloss.TerminalColor {
	if c == "" {
		return lipgloss.NoColor{}
	}
	return lipgloss.Color(c)
}

// Tone is how a state looks.
type Tone struct {
	Color   Color
	Bold    bool
	Reverse bool
}

// Style is the tone for lipgloss.
func (t Tone) Style() lipgloss.Style {
	return lipgloss.NewStyle().Foreground(t.Color.Lipgloss()).Bold(t.Bold).Reverse(t.Reverse)
}

// Theme is a set of colours. The zero Theme has none.
type Theme struct {
	Name string
	Dark bool // made for a dark background

	tables map[string]map[string]Color
}

// tables are the tables of a theme file and their keys.
var tables = map[string][]string{
	"colors":   names([]Role{Text, Dim, Accent, Border, BorderFocus, Title, Selection, Match}),
	"verdict":  names([]model.Word{model.Pending, model.AwaitingApproval, model.Accepted, model.Unconfirmed, model.Partial, model.Failed, model.Cancelled, model.Incomplete, model.Contradicted}),
	"tool":     names([]model.ToolStatus{model.ToolRunning, model.ToolCompleted, model.ToolFailed, model.ToolUnended, model.ToolOrphan}),
	"link":     names([]follow.LinkState{follow.Connecting, follow.Live, follow.Retrying, follow.Draining, follow.Settled, follow.Refused}),
	"markdown": {"heading", "link", "code", "quote", "markup"},
	"code":     {"comment", "keyword", "string", "number", "function", "type", "operator", "inserted", "deleted"},
}

func names[S ~string](s []S) []string {
	out := make([]string, len(s))
	for i, v := range s {
		out[i] = string(v)
	}
	return out
}

func (t Theme) color(table, key string) Color { return t.tables[table][key] }

// Role is the colour of a role.
func (t Theme) Role(r Role) Color { return t.color("colors", string(r)) }

// Verdict is the tone of a verdict's word. A contradiction is reversed, so that it
// is not taken for a failure where there are no colours.
func (t Theme) Verdict(w model.Word) Tone {
	return Tone{Color: t.color("verdict", string(w)), Bold: true, Reverse: w == model.Contradicted}
}

// Mark is the tone of a condition.
func (t Theme) Mark(m model.Mark) Tone {
	word := map[model.Mark]model.Word{model.Pass: model.Accepted, model.Fail: model.Failed, model.Unknown: model.Unconfirmed}[m]
	if word == "" {
		return Tone{Color: t.Role(Dim)}
	}
	return Tone{Color: t.color("verdict", string(word))}
}

// Tool is the tone of a tool's status.
func (t Theme) Tool(s model.ToolStatus) Tone { return Tone{Color: t.color("tool", string(s))} }

// Link is the tone of the follow connection's state.
func (t Theme) Link(s follow.LinkState) Tone { return Tone{Color: t.color("link", string(s))} }

// NoColor is the theme without colours: weight, reversal and underlines stay.
func (t Theme) NoColor() Theme { return Theme{Name: t.Name, Dark: t.Dark} }

// Names are the themes that Load finds, in order.
func Names(dirs ...fs.FS) []string {
	var all []string
	for _, dir := range append(slices.Clone(dirs), fs.FS(builtin)) {
		files, _ := fs.Glob(dir, "*.toml")
		for _, f := range files {
			all = append(all, strings.TrimSuffix(path.Base(f), ".toml"))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Auto is the theme for a background.
func Auto(darkBackground bool) Theme {
	name := "light"
	if darkBackground {
		name = "dark"
	}
	t, err := Load(name)
	if err != nil {
		panic(err) // the built-in themes are complete: a test loads them all
	}
	return t
}

// Load returns the theme of a name, from NAME.toml in the first of dirs that has it, else
// a built-in one. An error names the file and the key.
func Load(name string, dirs ...fs.FS) (Theme, error) {
	file := name + ".toml"
	if !fs.ValidPath(file) || strings.ContainsAny(name, `/\`) || name == "" {
		return Theme{}, fmt.Errorf("theme %q: not a name; there are %s", name, strings.Join(Names(dirs...), ", "))
	}
	for _, dir := range append(slices.Clone(dirs), fs.FS(builtin)) {
		data, err := fs.ReadFile(dir, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Theme{}, fmt.Errorf("theme %q: %w", name, err)
		}
		return parse(name, string(data))
	}
	return Theme{}, fmt.Errorf("theme %q: there is none; there are %s", name, strings.Join(Names(dirs...), ", "))
}

func parse(name, text string) (Theme, error) {
	file := name + ".toml"
	var content map[string]any
	if _, err := toml.Decode(text, &content); err != nil {
		return Theme{}, fmt.Errorf("%s: %w", file, err)
	}
	dark, ok := content["dark"].(bool)
	if !ok {
		return Theme{}, fmt.Errorf("%s: dark: must say true or false", file)
	}
	delete(content, "dark")

	t := Theme{Name: name, Dark: dark, tables: make(map[string]map[string]Color)}
	for table := range tables {
		t.tables[table] = make(map[string]Color)
	}
	if base := map[bool]string{true: "dark", false: "light"}[dark]; base != name {
		for table, colors := range mustBase(base).tables {
			maps.Copy(t.tables[table], colors)
		}
	}
	// In order, so that the same file always gives the same error.
	for _, table := range slices.Sorted(maps.Keys(content)) {
		keys, known := tables[table]
		if !known {
			return Theme{}, fmt.Errorf("%s: unknown key %q; there are dark, %s", file, table, strings.Join(slices.Sorted(maps.Keys(tables)), ", "))
		}
		colors, ok := content[table].(map[string]any)
		if !ok {
			return Theme{}, fmt.Errorf("%s: %s: must be a table", file, table)
		}
		for _, key := range slices.Sorted(maps.Keys(colors)) {
			if !slices.Contains(keys, key) {
				return Theme{}, fmt.Errorf("%s: unknown key %q in %s; there are %s", file, key, table, strings.Join(keys, ", "))
			}
			color, ok := colors[key].(string)
			if !ok || !valid(color) {
				return Theme{}, fmt.Errorf("%s: %s.%s: %v is no colour; write \"#rrggbb\", \"0\" to \"255\", or \"\" for the terminal's own", file, table, key, quoted(colors[key]))
			}
			t.tables[table][key] = Color(color)
		}
	}
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		for _, key := range tables[table] {
			if _, ok := t.tables[table][key]; !ok {
				return Theme{}, fmt.Errorf("%s: %s.%s is missing", file, table, key)
			}
		}
	}
	return t, nil
}

// mustBase is the built-in theme that others inherit from.
func mustBase(name string) Theme {
	data, err := builtin.ReadFile(name + ".toml")
	if err == nil {
		var t Theme
		if t, err = parse(name, string(data)); err == nil {
			return t
		}
	}
	panic(err) // the built-in themes are complete: a test loads them all
}

func quoted(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	return fmt.Sprint(v)
}

func valid(color string) bool {
	if hex, ok := strings.CutPrefix(color, "#"); ok {
		_, err := strconv.ParseUint(hex, 16, 32)
		return err == nil && (len(hex) == 3 || len(hex) == 6)
	}
	if color == "" {
		return true
	}
	n, err := strconv.ParseUint(color, 10, 8)
	return err == nil && strconv.FormatUint(n, 10) == color
}
