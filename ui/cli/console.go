package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aipscope/follow/act"
	"aipscope/model"
	"aipscope/model/mask"
	"aipscope/themes"
	"aipscope/ui"

	"github.com/adrg/xdg"
	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// showConsole is the face on a terminal.
func (f *face) showConsole(ctx context.Context) (next string, err error) {
	in, out := terminal(f.in), f.tty
	if in == nil || out == nil {
		return "", usage(errors.New("--output tui needs a terminal; use text or json"))
	}
	masker := mask.New(f.action)
	cfg := ui.Config{
		Action: f.action, Capability: f.options.capability, Endpoint: f.place(), Batches: f.batches, Row: f.readRow,
		Confirm: f.confirm, SaidEffects: f.options.effects, SaidAnswer: f.options.answer, Mask: func(raw json.RawMessage) json.RawMessage { return masker.JSON(raw) }, Look: f.look, Clock: f.now,
		Suspends: hasJobs,
	}
	if f.live {
		cfg.Cancel = f.cancel
	}
	console := ui.New(ctx, cfg)
	defer console.Close()
	if err := f.runScreen(ctx, console, in, out, f.options.timeout); err != nil {
		return "", err
	}
	turn := console.Turn()
	if next, _ := turn.Successor(); next != "" && f.live && !console.Left() {
		return next, nil
	}
	fmt.Fprint(f.out, console.Final())
	v, err := f.judge(ctx, turn)
	if err != nil {
		return "", err
	}
	f.code = exitOf(v.Word)
	if !turn.Settled() && (console.Left() || ctx.Err() != nil) {
		f.code = exitInterrupted
	}
	return "", console.Err()
}

// place says where the action runs, for the header.
func (f *face) place() string {
	if f.client == nil {
		return "offline"
	}
	return f.client.URL()
}

func (f *face) readRow(ctx context.Context, number int64) (model.Row, error) {
	if f.row != nil {
		return f.row(ctx, number)
	}
	return f.log.Row(ctx, number)
}

// cancel carries the console's cancel out.
func (f *face) cancel(ctx context.Context, reason string) (act.Cancelled, error) {
	end, err := f.actor(f.log, f.action).Cancel(ctx, reason)
	if err != nil {
		err = errors.New(explain(err))
	}
	return end, err
}

// prepareLook settles how the console is drawn on this terminal. It comes before
// anything is sent, so that a theme that cannot be used costs nothing.
func (a *app) prepareLook() error {
	look := ui.Look{
		PlainScreen: a.set.PlainScreen, NoColor: a.getenv("NO_COLOR") != "", ASCII: !unicodeLocale(a.getenv), Profile: termenv.EnvColorProfile(),
	}
	if a.getenv("TERM") == "dumb" {
		look.Profile, look.PlainScreen = termenv.Ascii, true
	}
	if a.set.Theme == "" {
		look.Theme = themes.Auto(lipgloss.HasDarkBackground())
	} else {
		var err error
		own := os.DirFS(filepath.Join(xdg.ConfigHome, "aipscope", "themes"))
		if look.Theme, err = themes.Load(a.set.Theme, own); err != nil {
			return usage(err)
		}
	}
	a.look = look
	return nil
}

// unicodeLocale reports whether the terminal is said to show UTF-8. The last of
// the variables that POSIX names wins; where none is set, most terminals do.
func unicodeLocale(getenv func(string) string) bool {
	name := strings.ToLower(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")))
	return name == "" || strings.Contains(name, "utf-8") || strings.Contains(name, "utf8")
}
