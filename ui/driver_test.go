package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aipscope/follow"
	"aipscope/model"
	"aipscope/model/turntest"
	"aipscope/themes"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/dlclark/regexp2"
)

// driver runs a console by hand inside a synctest bubble: messages go in one at
// a time, commands run until they block, and time moves only when told to.
type driver struct {
	t       testing.TB
	c       *Console
	m       tea.Model // the console, or the desk that it is on
	batches chan follow.Batch
	msgs    chan tea.Msg
	journal map[int64]model.Row
	start   time.Time
	from    time.Time // the console's clock at the start
	quit    bool
	updates int
}

// drive returns a driver at the given size; configure may change what the
// console is given.
func drive(t testing.TB, w, h int, configure func(*Config)) *driver {
	d := &driver{
		t: t, batches: make(chan follow.Batch, 64), msgs: make(chan tea.Msg, 64),
		journal: map[int64]model.Row{}, start: time.Now(), from: turntest.Epoch,
	}
	cfg := Config{
		Action:   turntest.Action,
		Endpoint: "demo",
		Batches: func(ctx context.Context) (follow.Batch, error) {
			select {
			case b := <-d.batches:
				return b, nil
			case <-ctx.Done():
				return follow.Batch{}, ctx.Err()
			}
		},
		Row: func(_ context.Context, n int64) (model.Row, error) {
			row, ok := d.journal[n]
			if !ok {
				return row, errors.New("no such row")
			}
			return row, nil
		},
		Mask:  maskAll,
		Look:  Look{Theme: themes.Auto(true)},
		Clock: func() time.Time { return d.from.Add(time.Since(d.start)) },
	}
	if configure != nil {
		configure(&cfg)
	}
	ctx, cancel := context.WithCancel(context.Background())
	d.c = New(ctx, cfg)
	d.m = d.c
	// The highlighter's clock is a goroutine that a bubble would wait for.
	t.Cleanup(regexp2.StopTimeoutClock)
	t.Cleanup(cancel)
	d.run(d.c.Init())
	d.send(tea.WindowSizeMsg{Width: w, Height: h})
	return d
}

// maskAll masks every string of JSON by its length.
func maskAll(raw json.RawMessage) json.RawMessage {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return json.RawMessage(fmt.Sprintf(`"‹%d bytes›"`, len(raw)))
	}
	var walk func(any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case string:
			if v == "" {
				return v
			}
			return fmt.Sprintf("‹%d chars›", len([]rune(v)))
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case map[string]any:
			for k := range v {
				v[k] = walk(v[k])
			}
		}
		return v
	}
	out, _ := json.Marshal(walk(v))
	return out
}

func (d *driver) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() { d.msgs <- cmd() }()
}

func (d *driver) send(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil:
		return
	case tea.QuitMsg:
		d.quit = true
		return
	case tea.BatchMsg:
		for _, cmd := range msg {
			d.run(cmd)
		}
		return
	}
	d.updates++
	_, cmd := d.m.Update(msg)
	d.run(cmd)
	d.drain()
}

// drain delivers what commands have brought by now.
func (d *driver) drain() {
	for {
		synctest.Wait()
		select {
		case msg := <-d.msgs:
			d.send(msg)
		default:
			return
		}
	}
}

// pass lets time go by.
func (d *driver) pass(t time.Duration) {
	for end := time.Now().Add(t); time.Now().Before(end); {
		time.Sleep(min(frameTime, time.Until(end)))
		d.drain()
	}
}

// feed delivers a batch and lets a frame's time go by.
func (d *driver) feed(b follow.Batch) {
	for _, r := range b.Rows {
		d.journal[r.Number] = r
	}
	d.batches <- b
	d.pass(2 * frameTime)
}

// play delivers rows as they come live.
func (d *driver) play(rows []model.Row) {
	if len(rows) > 0 {
		d.from = rows[len(rows)-1].At.Add(-time.Since(d.start) - frameTime)
	}
	d.feed(follow.Batch{Rows: rows, Links: []follow.Link{{State: follow.Live, Attempt: 1}}})
}

// finish delivers rows and the end of the watch.
func (d *driver) finish(rows []model.Row) {
	d.play(nil)
	d.feed(follow.Batch{Rows: rows, Links: []follow.Link{{State: follow.Settled}}, Done: true})
}

// press sends keys by name.
func (d *driver) press(keys ...string) {
	for _, k := range keys {
		d.send(keyMsg(k))
	}
}

func keyMsg(name string) tea.KeyMsg {
	named := map[string]tea.KeyType{
		"enter": tea.KeyEnter, "esc": tea.KeyEsc, "tab": tea.KeyTab, "shift+tab": tea.KeyShiftTab, "up": tea.KeyUp, "down": tea.KeyDown,
		"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd, "ctrl+c": tea.KeyCtrlC, " ": tea.KeySpace,
		"left": tea.KeyLeft, "right": tea.KeyRight, "backspace": tea.KeyBackspace, "ctrl+s": tea.KeyCtrlS, "ctrl+b": tea.KeyCtrlB, "ctrl+f": tea.KeyCtrlF, "ctrl+u": tea.KeyCtrlU, "ctrl+d": tea.KeyCtrlD,
	}
	if k, ok := named[name]; ok {
		if k == tea.KeySpace {
			return tea.KeyMsg{Type: k, Runes: []rune{' '}}
		}
		return tea.KeyMsg{Type: k}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
}

// screen is the frame as a terminal shows it, and checks its size.
func (d *driver) screen() string {
	d.t.Helper()
	return screenOf(d.t, d.m.View(), d.c.width, d.c.height)
}

// fits fails unless the frame is exactly h lines of at most w cells.
func fits(t testing.TB, frame string, w, h int) {
	t.Helper()
	lines := strings.Split(frame, "\n")
	if len(lines) != h {
		t.Fatalf("%d lines in a window of %d", len(lines), h)
	}
	for i, l := range lines {
		if n := ansi.StringWidth(l); n > w {
			t.Fatalf("line %d is %d cells wide in a window of %d: %q", i, n, w, l)
		}
	}
}

// emulate is a terminal that shows a frame of w by h cells.
func emulate(t testing.TB, frame string, w, h int) *vt.Emulator {
	t.Helper()
	fits(t, frame, w, h)
	term := vt.NewEmulator(w, h)
	term.Write([]byte(strings.ReplaceAll(frame, "\n", "\r\n")))
	return term
}

func screenOf(t testing.TB, frame string, w, h int) string {
	t.Helper()
	term := emulate(t, frame, w, h)
	var b strings.Builder
	for y := range h {
		var line strings.Builder
		for x := 0; x < w; {
			cell := term.CellAt(x, y)
			if cell == nil || cell.Content == "" {
				line.WriteByte(' ')
				x++
				continue
			}
			line.WriteString(cell.Content)
			x += max(1, cell.Width)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}
