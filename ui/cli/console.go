package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"aipscope/follow/act"
	"aipscope/model"
	"aipscope/model/mask"
	"aipscope/store"
	"aipscope/themes"
	"aipscope/ui"

	"github.com/adrg/xdg"
	"github.com/muesli/termenv"
)

// showConsole is the face on a terminal.
func (f *face) showConsole(ctx context.Context) (next string, err error) {
	t := &table{desk: f.desk}
	t.faces = append(t.faces, f)
	cfg := f.console()
	if f.live {
		cfg.Office = t.office()
	}
	desk, err := t.run(ctx, f.options.timeout, cfg)
	if err != nil {
		return "", err
	}
	console := desk.Watched()[0]
	turn := console.Turn()
	if next, _ := turn.Successor(); next != "" && f.live && !console.Left() {
		return next, nil
	}
	f.refused = turn.Refused() != ""
	f.code = exitOf(t.tell(ctx, desk)[f].Word)
	if !turn.Settled() && (console.Left() || ctx.Err() != nil) {
		f.code = exitInterrupted
	}
	return "", console.Err()
}

// console is what the face's console is given.
func (f *face) console() ui.Config {
	masker := mask.New(f.action)
	cfg := ui.Config{
		Action: f.action, Capability: f.options.capability, Endpoint: f.place(), URL: f.at, Batches: f.batches, Row: f.readRow,
		Confirm: f.confirm, SaidEffects: f.options.effects, SaidAnswer: f.options.answer, Mask: func(raw json.RawMessage) json.RawMessage { return masker.JSON(raw) },
		Look: f.look, Keys: f.set.keymap, Suspends: hasJobs, Clock: f.now,
	}
	cfg.Save, cfg.Tmux, cfg.Notify = f.save, f.getenv("TMUX") != "", f.set.notify(f.getenv)
	if f.log != nil {
		cfg.Export = f.export
		cfg.Rows = func(ctx context.Context, after int64) ([]model.Row, error) {
			return f.log.Brief(ctx, after, math.MaxInt)
		}
	}
	cfg.Terminal = func(seq string) error {
		if err := f.onScreen(seq); !errors.Is(err, errNoScreen) {
			return err
		}
		return nil
	}
	if f.live {
		cfg.Cancel = f.cancel
	}
	return cfg
}

var errNoScreen = errors.New("no console has the terminal")

// onScreen writes to the terminal while a console has it, and is errNoScreen when none has.
func (a *app) onScreen(text string) error {
	s := a.screen.Load()
	if s == nil {
		return errNoScreen
	}
	return s.send(text)
}

// plainScreen reports whether the console prints lines and draws no frames.
func (a *app) plainScreen() bool { return a.set.PlainScreen || a.look.PlainScreen }

// printer takes what a plain screen says; a terminal in raw mode wants a carriage
// return with each line feed.
func (a *app) printer() *ui.Printer {
	if !a.plainScreen() {
		return nil
	}
	return ui.NewPrinter(func(text string) error { return a.onScreen(strings.ReplaceAll(text, "\n", "\r\n")) })
}

// export writes the action's journal to a file that is not there yet.
func (f *face) export(ctx context.Context, path string, reveal bool) error {
	return writeNew(path, func(w io.Writer) error { return f.app.export(ctx, w, f.log, f.action, reveal, nil) })
}

// save writes a text to a file that is not there yet.
func (f *face) save(_ context.Context, path string, text []byte) error {
	return writeNew(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// writeNew writes a private file, and overwrites none: a path that is typed in a
// dialog may be mistaken.
func writeNew(path string, write func(io.Writer) error) error {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(xdg.Home, rest)
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s is there already; choose another name", path)
	}
	if err := store.WritePrivate(path, write); err != nil {
		return errors.New(explain(err))
	}
	return nil
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
		look.Theme = themes.Auto(a.darkBackground())
	} else {
		var err error
		if look.Theme, err = themes.Load(a.set.Theme, ownThemes()); err != nil {
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
