package themes

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"aipscope/follow"
	"aipscope/model"
)

func TestEveryBuiltInThemeIsComplete(t *testing.T) {
	if got := strings.Join(Names(), " "); got != "contrast dark harbor light" {
		t.Fatalf("built in: %s", got)
	}
	for _, name := range Names() {
		theme, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if theme.Name != name || theme.Dark == (name == "light") {
			t.Errorf("%s says that it is %q, dark %v", name, theme.Name, theme.Dark)
		}
	}
	if Auto(true).Name != "dark" || Auto(false).Name != "light" {
		t.Error("auto follows the background")
	}
}

// luminance is the relative luminance of a colour (WCAG 2).
func luminance(t *testing.T, c Color) float64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(string(c), "#"), 16, 32)
	if err != nil || len(c) != 7 {
		t.Fatalf("%q is no #rrggbb", c)
	}
	part := func(v uint64) float64 {
		f := float64(v&0xFF) / 255
		if f <= 0.04045 {
			return f / 12.92
		}
		return math.Pow((f+0.055)/1.055, 2.4)
	}
	return 0.2126*part(n>>16) + 0.7152*part(n>>8) + 0.0722*part(n)
}

func contrast(t *testing.T, a, b Color) float64 {
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func TestStatesCanBeReadOnTheirBackground(t *testing.T) {
	for name, want := range map[string]struct {
		background, foreground Color // the terminal's own
		least                  float64
	}{
		"dark": {"#14181d", "#d3dae2", 4.5}, "light": {"#fdfdfd", "#242c36", 4.5},
		"contrast": {"#000000", "#ffffff", 7}, "harbor": {"#0f1c24", "#cbd8df", 4.5},
	} {
		theme, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"verdict", "tool", "link", "markdown", "code"} {
			for key, c := range theme.tables[table] {
				if got := contrast(t, c, want.background); got < want.least {
					t.Errorf("%s: %s.%s has a contrast of %.1f", name, table, key, got)
				}
			}
		}
		for _, role := range []Role{Text, Dim, Accent, Title} {
			if got := contrast(t, cmp.Or(theme.Role(role), want.foreground), want.background); got < want.least {
				t.Errorf("%s: %s has a contrast of %.1f", name, role, got)
			}
		}
		// The chosen row keeps the colours of states, and has text for what is dim.
		on := map[string]Color{"text": cmp.Or(theme.Role(Text), want.foreground), "accent": theme.Role(Accent)}
		for _, table := range []string{"verdict", "tool"} {
			for key, c := range theme.tables[table] {
				on[table+"."+key] = c
			}
		}
		for what, c := range on {
			if got := contrast(t, c, theme.Role(Selection)); got < 4.5 {
				t.Errorf("%s: %s has a contrast of %.1f on the chosen row", name, what, got)
			}
		}
		if got := contrast(t, on["text"], theme.Role(Match)); got < 4.5 {
			t.Errorf("%s: what was found has a contrast of %.1f", name, got)
		}
		if got := contrast(t, theme.Role(BorderFocus), want.background); got < 3 {
			t.Errorf("%s: the border of the pane in focus has a contrast of %.1f", name, got)
		}
	}
}

func TestAUsersThemeNeedsOnlyWhatItChanges(t *testing.T) {
	dir := fstest.MapFS{
		"mine.toml": {Data: []byte("dark = true\n[verdict]\nfailed = \"203\"\n[colors]\ntext = \"#fff\"\n")},
		"dark.toml": {Data: []byte("dark = true\n[colors]\naccent = \"#123456\"\n")},
	}
	mine, err := Load("mine", dir)
	if err != nil {
		t.Fatal(err)
	}
	if mine.Verdict(model.Failed).Color != "203" || mine.Role(Text) != "#fff" || mine.Verdict(model.Accepted) != Auto(true).Verdict(model.Accepted) {
		t.Error("a theme is not the base with its own changes")
	}
	if got := strings.Join(Names(dir), " "); got != "contrast dark harbor light mine" {
		t.Errorf("names: %s", got)
	}
	if _, err := Load("dark", dir); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a base theme that is replaced must be whole: %v", err)
	}
}

func TestErrorsNameTheFileAndTheKey(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   `x.toml: dark: must say true or false`,
		"dark = 1":                           `x.toml: dark: must say true or false`,
		"dark = true\n[colours]\na=1":        `x.toml: unknown key "colours"; there are dark, code, colors,`,
		"dark = true\n[verdict]\nok = \"1\"": `x.toml: unknown key "ok" in verdict; there are pending,`,
		"dark = true\n[verdict]\nfailed = \"red\"":  `x.toml: verdict.failed: "red" is no colour`,
		"dark = true\n[verdict]\nfailed = \"#12\"":  `x.toml: verdict.failed: "#12" is no colour`,
		"dark = true\n[verdict]\nfailed = \"256\"":  `x.toml: verdict.failed: "256" is no colour`,
		"dark = true\n[verdict]\nfailed = \"007\"":  `x.toml: verdict.failed: "007" is no colour`,
		"dark = true\n[verdict]\nfailed = 7":        `x.toml: verdict.failed: 7 is no colour`,
		"dark = true\n[verdict]\nfailed = \"#+1f\"": `x.toml: verdict.failed: "#+1f" is no colour`,
		"dark = true\nverdict = 1":                  `x.toml: verdict: must be a table`,
		"dark = true\n[verdict\n":                   `x.toml: toml: line 3:`,
	} {
		_, err := Load("x", fstest.MapFS{"x.toml": {Data: []byte(text)}})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for _, name := range []string{"nosuch", "", "../dark", "a/b", `a\b`} {
		if _, err := Load(name); err == nil || !strings.Contains(err.Error(), "contrast, dark, harbor, light") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestTonesTellStatesApart(t *testing.T) {
	theme := Auto(true)
	if tone := theme.Verdict(model.Contradicted); !tone.Reverse || tone.Color != theme.Verdict(model.Failed).Color {
		t.Error("a contradiction is a failure, reversed")
	}
	if theme.Mark(model.Pass).Color != theme.Verdict(model.Accepted).Color || theme.Mark(model.NotApplicable).Color != theme.Role(Dim) {
		t.Error("conditions take the verdict's colours")
	}
	if theme.Tool(model.ToolFailed).Color == theme.Tool(model.ToolCompleted).Color || theme.Link(follow.Live).Color == theme.Link(follow.Retrying).Color {
		t.Error("different states have different colours")
	}
}

func TestNoColorLeavesWeightAndReversal(t *testing.T) {
	r := lipgloss.NewRenderer(nil)
	r.SetColorProfile(termenv.TrueColor)
	theme := Auto(true).NoColor()
	for w := range Unicode().Verdicts {
		got := theme.Verdict(w).Style().Renderer(r).Render("x")
		if strings.Contains(got, "38;") || strings.Contains(got, "48;") {
			t.Errorf("%s has a colour: %q", w, got)
		}
	}
	if got := theme.Verdict(model.Contradicted).Style().Renderer(r).Render("x"); !strings.Contains(got, "7m") {
		t.Errorf("a contradiction is not reversed: %q", got)
	}
	if style := set(theme.Glamour(ASCII())); strings.Contains(style, "Color:") || !strings.Contains(style, "Bold:true") {
		t.Errorf("the markdown style has colours, or no weight: %s", style)
	}
}

func TestSixteenColoursKeepTheHue(t *testing.T) {
	for _, test := range []struct {
		c           Color
		dark, light Color
	}{
		{"#f0766c", "9", "1"}, {"#c22828", "9", "1"}, {"#8c6000", "11", "3"}, {"#e0b74c", "11", "3"}, {"#72c07a", "10", "2"}, {"#1d7a33", "10", "2"},
		{"#5ccdd3", "14", "6"}, {"#0b62c4", "12", "4"}, {"#d68fd0", "13", "5"}, {"#f0f", "13", "5"}, {"#808b98", "", ""}, {"#ffffff", "", ""}, {"#000", "", ""},
		{"203", "203", "203"}, {"4", "4", "4"}, {"", "", ""},
	} {
		if dark, light := test.c.sixteen(true), test.c.sixteen(false); dark != test.dark || light != test.light {
			t.Errorf("%q is %q on dark and %q on light", test.c, dark, light)
		}
	}
	for _, name := range Names() {
		theme, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, few := range []Theme{theme.Sixteen(), theme.Fixed()} {
			seen := map[Color]model.Word{}
			for _, w := range []model.Word{model.AwaitingApproval, model.Accepted, model.Unconfirmed, model.Partial, model.Failed, model.Incomplete} {
				c := few.Verdict(w).Color
				if c == "" || seen[c] != "" {
					t.Errorf("%s: %s is %q, as is %q", name, w, c, seen[c])
				}
				seen[c] = w
			}
		}
	}
	if few := Auto(true).NoColor().Sixteen(); few.Role(Dim) != "" {
		t.Error("no colours became some")
	}
}

func TestTheFixedColoursAreTheNearest(t *testing.T) {
	for c, want := range map[Color]Color{"#000000": "16", "#ffffff": "231", "#080808": "232", "#27313d": "236", "#808b98": "245", "#ff0000": "196", "#5fafd8": "74", "7": "7", "": ""} {
		if got := c.fixed(); got != want {
			t.Errorf("%q is %q, want %q", c, got, want)
		}
	}
}

// set lists the fields of a style; those that point to nothing are not set.
func set(v any) string {
	var b strings.Builder
	var walk func(v reflect.Value, name string)
	walk = func(v reflect.Value, name string) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem(), name)
			}
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i), v.Type().Field(i).Name)
			}
		default:
			fmt.Fprintf(&b, "%s:%v ", name, v)
		}
	}
	walk(reflect.ValueOf(v), "")
	return b.String()
}

func TestGlyphsAreCompleteAndOneCellWide(t *testing.T) {
	for name, g := range map[string]Glyphs{"unicode": Unicode(), "ascii": ASCII()} {
		seen := make(map[string]string)
		single := func(what, s string) {
			if ansi.StringWidth(s) != 1 || ansi.StringWidthWc(s) != 1 {
				t.Errorf("%s: %s is %q", name, what, s)
			}
			if name == "ascii" && s[0] >= 0x80 {
				t.Errorf("%s is not ASCII: %q", what, s)
			}
		}
		for _, w := range tables["verdict"] {
			s := g.Verdicts[model.Word(w)]
			single(w, s)
			if seen[s] != "" {
				t.Errorf("%s: %s and %s share %q", name, w, seen[s], s)
			}
			seen[s] = w
		}
		for _, m := range []model.Mark{model.Pass, model.Fail, model.MarkPending, model.NotApplicable, model.Unknown} {
			single(string(m), g.Marks[m])
		}
		for _, s := range tables["tool"] {
			single(s, g.Tools[model.ToolStatus(s)])
		}
		for _, s := range tables["link"] {
			single(s, g.Links[follow.LinkState(s)])
		}
		v := reflect.ValueOf(g)
		for i := range v.NumField() {
			if f := v.Field(i); f.Kind() == reflect.String {
				single(v.Type().Field(i).Name, f.String())
			}
		}
	}
}
