package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAConfigFileThatCannotBeUsedSaysWhere(t *testing.T) {
	for text, want := range map[string]string{
		"# a comment\nurl = \"http://x\"\ntoken_file = \n":          "line 3: expected value",
		"\nurl = \"http://x\"\n\ntokenfile = \"x\"\nmouse = true\n": `line 4: unknown key "tokenfile"; did you mean "token_file"?`,
		"colour = \"red\"": `line 1: unknown key "colour"`,
		"journal = \"\"\"a\nb\"\"\"\noutput = \"pdf\"\n\nmouse = true\n": `line 3: output "pdf": it is tui, text or json`,
		"journal = \"\"\"\n\nmouse = \"yes\"\n\"\"\"\nmouse = \"yes\"\n": "line 5: mouse: it should be true or false, without quotes",
		"url = true": "line 1: url: it should be text in quotes",
		"# a number\nurl = 3\ntheme = \"dark\"\n": "line 2: url: it should be text in quotes",
		"mouse = 1": "line 1: mouse: it should be true or false",
		"keys = 1":  "line 1: [keys] should be a table of actions with their keys",
		"mouse = true\n[keys]\nzoom = \"x\"\ncancle = \"z\"\nverdict = \"f9\"\n": `line 4: [keys]: no action is named "cancle" (did you mean "cancel"?)`,
		"[keys]\nleave = \"f8\"\n# z zooms\n\ncancel = [\"z\", \"f9\"]\n":        `line 5: [keys]: "z" is both cancel and zoom`,
		"[keys]\ncancel = [\"c\", 3]\n":                                          "line 2: [keys]: cancel: a key is a string",
	} {
		file := filepath.Join(t.TempDir(), "c.toml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readConfig(file); err == nil || !strings.HasPrefix(err.Error(), "config file "+file+": "+want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestWhatConfigInitWritesCanBeFilledIn(t *testing.T) {
	var uncommented strings.Builder
	for line := range strings.Lines(configTemplate()) {
		if line = strings.TrimPrefix(line, "# "); strings.Contains(line, " = ") || strings.HasPrefix(line, "[") {
			uncommented.WriteString(line)
		}
	}
	s, err := parseConfig(uncommented.String())
	if err != nil {
		t.Fatalf("%v in\n%s", err, &uncommented)
	}
	for _, k := range allSettings {
		if s.from[k.name] != "config file" {
			t.Errorf("%s is not set", k.name)
		}
	}
	if len(s.keys) != 2 {
		t.Errorf("keys: %v", s.keys)
	}
}

func TestConfigShowHidesAPassword(t *testing.T) {
	_, out, _ := tried(t, "config", "show", "--url", "https://me:secret-word@host")
	if strings.Contains(out, "secret-word") || !strings.Contains(out, "holds a password") {
		t.Error(out)
	}
}

func TestAWrongNameIsMetWithTheOneThatWasMeant(t *testing.T) {
	for line, want := range map[string]string{
		"wach":                   `there is no command "wach"; did you mean "watch"?`,
		"zzz":                    `there is no command "zzz"` + "\n",
		"session lst":            `aipscope session has no command "lst"; did you mean "list"?`,
		"journal chek":           `aipscope journal has no command "chek"; did you mean "check"?`,
		"watch act_x --ouput x":  "unknown flag: --ouput; did you mean --output?",
		"watch act_x --effects":  "unknown flag: --effects; did you mean --effects-confirmed?",
		"watch act_x --colour":   "unknown flag: --colour\n",
		"demo --fault cutt":      `no such fault: "cutt"; did you mean "cut"? --fault help lists them`,
		"actions --output jsonn": `--output "jsonn": it is tui, text or json`,
	} {
		code, _, msg := tried(t, strings.Fields(line)...)
		if code != exitUsage || !strings.HasPrefix(msg, "aipscope: "+want) {
			t.Errorf("%s: exit code %d, %s", line, code, msg)
		}
	}
}
