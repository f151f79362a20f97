package cli

import (
	"strings"
	"testing"
)

func TestTheShellCompletesWordsThatAreKnown(t *testing.T) {
	for line, want := range map[string]string{
		"watch --output ":     "\njson\n",
		"watch --theme ":      "\nharbor\n",
		"actions --notify ":   "desktop\n",
		"submit --mode ":      "\nstreaming\n",
		"serve --approve ":    "\ndeny\n",
		"serve --fault cut,":  "\ncut,conflict\t",
		"conf":                "config\t",
		"journal prune ":      ":4\n", // no files
		"watch act_x ":        ":4\n",
		"open x":              ":0\n", // files
		"watch ":              ":36\n",
		"submit cap:x --inpu": "--input\t",
	} {
		args := strings.Split(line, " ")
		code, out, _ := tried(t, append([]string{"__complete"}, args...)...)
		if code != 0 || !strings.Contains("\n"+out, want) {
			t.Errorf("%s: exit code %d\n%s", line, code, out)
		}
	}
}

func TestTheScriptsOfTheShellsAreThere(t *testing.T) {
	for shell, want := range map[string]string{"bash": "__start_aipscope", "zsh": "#compdef aipscope", "fish": "complete -c aipscope"} {
		if code, out, _ := tried(t, "completion", shell); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d", shell, code)
		}
	}
}
