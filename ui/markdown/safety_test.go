package markdown

import (
	"fmt"
	"strings"
	"testing"

	xansi "github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/muesli/termenv"

	"aipscope/model/safe"
)

// onScreen draws lines between two borders and reads the cells back. Anything that
// does more than print shows: in a border, in a callback, or in a missing text.
func onScreen(t *testing.T, lines []string, width int) {
	t.Helper()
	screen := vt.NewEmulator(width+2, max(len(lines), 1))
	defer screen.Close()
	screen.SetCallbacks(vt.Callbacks{
		Bell:       func() { t.Error("the bell rings") },
		Title:      func(s string) { t.Errorf("the title is %q", s) },
		AltScreen:  func(bool) { t.Error("the alternate screen is on") },
		EnableMode: func(m xansi.Mode) { t.Errorf("mode %v is on", m) },
	})
	for y, line := range lines {
		fmt.Fprintf(screen, "\x1b[%d;1H|%s\x1b[%d;%dH|", y+1, line, y+1, width+2)
	}
	for y, line := range lines {
		var row strings.Builder
		for x := 0; x < width+2; {
			cell := screen.CellAt(x, y)
			if cell == nil {
				t.Fatalf("no cell at %d,%d", x, y)
			}
			row.WriteString(cell.Content)
			x += max(cell.Width, 1)
		}
		text := xansi.Strip(line)
		want := "|" + text + strings.Repeat(" ", width-xansi.StringWidth(text)) + "|"
		if row.String() != want {
			t.Errorf("row %d shows\n%q, want\n%q", y, row.String(), want)
		}
	}
}

func TestNothingOnTheScreenIsMoreThanText(t *testing.T) {
	for _, name := range []string{"chat_ansi", "session_stream_ansi", "chat_markdown"} {
		t.Run(name, func(t *testing.T) {
			text := strings.Join(recorded(t, name), "")
			onScreen(t, Render(text, options(76)), 76)
			onScreen(t, Render("```\n"+strings.ReplaceAll(text, "```", "'''")+"\n```\n", options(76)), 76)
			onScreen(t, Render("| a |\n|---|\n| "+strings.ReplaceAll(text, "\n", " ")+" |\n", options(76)), 76)
		})
	}
	for name, text := range constructs {
		t.Run(name, func(t *testing.T) { onScreen(t, Render(text, options(60)), 60) })
	}
}

func TestReferencesAndEscapesDoNotComeAlive(t *testing.T) {
	// Where each stands, a number reference is decoded by some renderer or other.
	for _, place := range []string{"%s", "`%s`", "**%s**", "~~%s~~", "# %s", "| a |\n|---|\n| %s |\n| `%s` |", "[%s](https://x.example)", "![%s](https://x.example)", "> - %s", "<b>%s</b>", "<div>%s</div>", "```\n%s\n```", "    %s", "[%s]: https://x.example '%s'"} {
		text := strings.ReplaceAll(place, "%s", "&#27;[31mred&#x1b;]0;t&#7;&#x9b;2J &#x202e;x &#8203;y &#xFDD0; \x1b[8m \u202e \ufdd0\ufdd1 &zwj;&shy;")
		lines := Render(text, Options{Width: 300, Profile: termenv.Ascii})
		for _, line := range lines {
			if safe.Text(line) != line || strings.Contains(line, "\x1b") {
				t.Errorf("%q shows %q", place, line)
			}
		}
		onScreen(t, Render(text, options(60)), 60)
	}
}

func TestTextAppearsAsItWasWritten(t *testing.T) {
	for text, want := range map[string]string{
		"`&amp; \\* \\\\ &#65;`":                   "&amp; \\* \\\\ &#65;",
		"\\*a\\* \\\\ \\& &amp;lt; &copy; &#65;":   "*a* \\ & &lt; © A",
		"**\\\\`\\\\`** ~~\\\\~~":                  "\\\\\\ \\",
		"[\\\\ `\\\\`](https://x.example/\\\\)":    "\\ \\\\ https://x.example/\\",
		"C:\\dir\\file & \\alpha":                  "C:\\dir\\file & \\alpha",
		"vector<int> and <b>bold</b>":              "vector<int> and <b>bold</b>",
		"a  \nb":                                   "a\nb",
		"a<br>b":                                   "a\nb",
		"- a\n\n  b":                               "• a\n\n  b",
		"7. a\n7. b":                               "7. a\n8. b",
		"[x]: https://x.example":                   "[x]: https://x.example",
		"[a](javascript:alert(1))":                 "a (javascript:alert(1))",
		"[a](/b) [c](#d) [e]()":                    "a (/b) c (#d) e",
		"<https://x.example/>":                     "https://x.example/",
		"[https://x.example/](https://x.example/)": "https://x.example/",
		"[t](https://x.example/%zz)":               "t (https://x.example/%zz)",
		"```go\na\tb\n```":                         "a   b",
		"```nosuchlanguage\n<x>\n```":              "<x>",
	} {
		got := strings.Join(Render(text, Options{Width: 80, Profile: termenv.Ascii}), "\n")
		if got != want {
			t.Errorf("%q shows\n%q, want\n%q", text, got, want)
		}
	}
}

func TestOnlySafeAddressesBecomeHyperlinks(t *testing.T) {
	text := "[a](https://a.example/) [b](javascript:x) <https://c.example> [d](file:///etc/hosts) [e](https://e.example/\u202ex) www.f.example\n\n| t |\n|---|\n| [g](https://g.example/) |\n"
	out := strings.Join(Render(text, options(200)), "\n")
	for _, want := range []string{"https://a.example/", "https://c.example", "https://g.example/"} {
		if !strings.Contains(out, ";"+want+"\x1b\\") {
			t.Errorf("%s is no hyperlink", want)
		}
	}
	for _, bad := range []string{";javascript:", ";file:", ";https://e.example"} {
		if strings.Contains(out, bad) {
			t.Errorf("%s is a hyperlink", bad)
		}
	}
	o := options(200)
	o.Hyperlinks = false
	if strings.Contains(strings.Join(Render(text, o), "\n"), "\x1b]8") {
		t.Error("hyperlinks although they are off")
	}
}
