package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"aipscope/themes"
	"aipscope/ui"

	"github.com/adrg/xdg"
	"github.com/charmbracelet/x/term"
	"github.com/muesli/termenv"
)

// terminal looks at where the console would be drawn.
func (d *doctor) terminal() {
	d.unicode()
	d.theme()
	out := d.tty
	if out == nil || terminal(d.in) == nil {
		for _, name := range []string{"terminal", "colours", "clipboard"} {
			d.say(name, checkSkipped, "standard input and output are no terminal: a watch prints text, or JSON", "")
		}
		return
	}
	d.size(out)
	d.colours()
	d.clipboard()
}

func (d *doctor) unicode() {
	if unicodeLocale(d.getenv) {
		d.say("unicode", checkOK, "the locale is UTF-8, or says nothing against it", "")
		return
	}
	d.say("unicode", checkWarning, "the locale is not UTF-8: the console uses ASCII signs", "set LC_ALL to a UTF-8 locale, such as C.UTF-8")
}

// theme looks whether the one that is set can be used; every console would end at once
// where it cannot.
func (d *doctor) theme() {
	if d.set.Theme == "" {
		return
	}
	if _, err := themes.Load(d.set.Theme, ownThemes()); err != nil {
		d.say("theme", checkFailed, err.Error(), "choose one of those with --theme, or mend the file")
		return
	}
	d.say("theme", checkOK, d.set.Theme, "")
}

// ownThemes are the user's.
func ownThemes() fs.FS { return os.DirFS(filepath.Join(xdg.ConfigHome, "aipscope", "themes")) }

func (d *doctor) size(out *os.File) {
	w, h, err := term.GetSize(out.Fd())
	switch {
	case err != nil || w == 0 || h == 0:
		d.say("terminal", checkWarning, "it does not say its size", "resize the window, or run stty rows 40 columns 120")
	case w < ui.MinWidth || h < ui.MinHeight:
		d.say("terminal", checkWarning, fmt.Sprintf("%d columns by %d rows: too small for the console", w, h), fmt.Sprintf("enlarge it to %d by %d at least", ui.MinWidth, ui.MinHeight))
	case w < ui.Wide:
		d.say("terminal", checkOK, fmt.Sprintf("%d columns by %d rows: one pane at a time", w, h), "")
	default:
		d.say("terminal", checkOK, fmt.Sprintf("%d columns by %d rows", w, h), "")
	}
}

func (d *doctor) colours() {
	name := map[termenv.Profile]string{termenv.TrueColor: "16 million", termenv.ANSI256: "256", termenv.ANSI: "16", termenv.Ascii: "none"}[termenv.EnvColorProfile()]
	switch {
	case d.getenv("TERM") == "dumb":
		d.say("colours", checkWarning, "none, as TERM is dumb: the console prints line below line", "set TERM to what the terminal is")
		return
	case d.getenv("NO_COLOR") != "":
		d.say("colours", checkOK, "none, as NO_COLOR says; weight and reversal stay", "")
		return
	}
	ground := ""
	if d.set.Theme == "" {
		ground = ", light background"
		if d.darkBackground() {
			ground = ", dark background"
		}
		if d.late.Load() {
			d.say("colours", checkWarning, name+"; the terminal does not say its background", "if it is light, choose --theme light")
			return
		}
	}
	d.say("colours", checkOK, name+ground, "")
}

// clipboard says what stands in the way of copying. Whether it works no terminal
// tells.
func (d *doctor) clipboard() {
	const file = ", or copy to a file (y, then f)"
	switch {
	case d.getenv("TMUX") != "":
		d.say("clipboard", checkOK, "goes through tmux (OSC 52), which tells nobody whether it worked", "if nothing is copied: tmux set -g set-clipboard on"+file)
	case strings.HasPrefix(d.getenv("TERM"), "screen"):
		d.say("clipboard", checkWarning, "GNU screen keeps it from the terminal", "use tmux"+file)
	default:
		d.say("clipboard", checkOK, "goes through the terminal (OSC 52), which tells nobody whether it worked", "if nothing is copied: allow it in the terminal's settings"+file)
	}
}
