package ui

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"aipscope/model"
	"aipscope/model/safe"

	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// window is a dialog over the views; keys are its own until it is left.
type window interface {
	place() place
	typed(tea.KeyMsg)
	move(motion)
	toggle()
	accept(*Console) tea.Cmd // what enter does; the window is closed already
	mayAccept() bool
	view(w, h int) []string
}

func (c *Console) mayAcceptWindow() bool { return c.window.mayAccept() }

// doneMsg tells how something went that the operator asked for.
type doneMsg struct {
	say string
	err error
}

func (c *Console) takeDone(m doneMsg) {
	c.dirty = true
	if m.err != nil {
		c.notice(safe.Line(m.err.Error()), c.styles.word(model.Failed))
		return
	}
	c.notice(m.say, c.styles.word(model.Accepted))
}

// palette names every action of the key table: what works now first.
type palette struct {
	st    *styles
	all   []command
	found []command
	input textinput.Model
	list  list
}

type command struct {
	intent           intent
	name, does, keys string
	works            bool
}

func newPalette(c *Console) *palette {
	p := &palette{st: &c.styles, input: newInput()}
	at := map[intent]int{}
	for _, b := range c.cfg.Keys.table() {
		works := b.worksIn(c, c.underHelp())
		cmd := command{b.intent, actionNames[b.intent], b.Help().Desc, b.Help().Key, works}
		i, ok := at[b.intent]
		switch {
		case b.intent == doPalette:
		case !ok:
			at[b.intent] = len(p.all)
			p.all = append(p.all, cmd)
		case works && !p.all[i].works:
			p.all[i] = cmd
		}
	}
	// Movements everybody knows come last.
	slices.SortStableFunc(p.all, func(a, b command) int { return cmp.Compare(a.rank(), b.rank()) })
	p.sift()
	return p
}

func (c command) rank() int {
	if _, ok := c.intent.motion(); ok || c.intent == doInterrupt || c.intent == doSuspend {
		return 1
	}
	return 0
}

// sift lists the commands whose name or help has every word that was typed.
func (p *palette) sift() {
	words := strings.Fields(strings.ToLower(p.input.Value()))
	p.found = nil
	for _, works := range []bool{true, false} {
		for _, cmd := range p.all {
			fits := cmd.works == works
			for _, w := range words {
				fits = fits && strings.Contains(strings.ToLower(cmd.name+" "+cmd.does), w)
			}
			if fits {
				p.found = append(p.found, cmd)
			}
		}
	}
	p.list.grow(len(p.found))
	p.list.choose(0)
}

func (p *palette) place() place { return inPalette }
func (p *palette) toggle()      {}
func (p *palette) move(m motion) {
	p.list.move(m)
}

func (p *palette) typed(msg tea.KeyMsg) {
	before := p.input.Value()
	if p.input, _ = p.input.Update(msg); p.input.Value() != before {
		p.sift()
	}
}

func (p *palette) mayAccept() bool { return len(p.found) > 0 && p.found[p.list.selected].works }

func (p *palette) accept(c *Console) tea.Cmd { return c.act(p.found[p.list.selected].intent) }

func (p *palette) view(w, h int) []string {
	st := p.st
	w = min(w-4, 66)
	lines := []string{" " + st.accent.in(":") + " " + st.field(p.input, max(1, w-6)), ""}
	rows := max(1, min(len(p.all), h-6))
	p.list.resize(rows)
	from, to := p.list.window()
	for i := from; i < to; i++ {
		cmd := p.found[i]
		keys, does := cmd.keys, cmd.does
		if !cmd.works {
			does += ", not now"
		}
		keys = cut(keys, 14)
		text := fill(cmd.name, 18) + " " + fill(does, max(0, w-5-18-2-ansi.StringWidth(keys))) + " " + keys
		switch {
		case i == p.list.selected:
			lines = append(lines, st.selected.in(fill(st.glyphs.Chosen+" "+text, w-2)))
		case cmd.works:
			lines = append(lines, "  "+st.text.in(text))
		default:
			lines = append(lines, "  "+st.dim.in(text))
		}
	}
	if len(p.found) == 0 {
		lines = append(lines, " "+st.dim.in("nothing matches"))
	}
	return st.box(framed{title: "Do", focused: true}, lines, w, rows+4)
}

// copied is a text that can be copied: the source, not what fits the screen.
type copied struct{ name, text, ext string }

// copyDialog chooses what is copied: to the clipboard, or to a file.
type copyDialog struct {
	st    *styles
	items []copied
	list  list
	tmux  bool
	clip  bool
}

// copies are the texts that can be copied from here, the nearest first.
func (c *Console) copies() []copied {
	var near, out []copied
	say := wordText(c.verdict.Word) + ": " + safe.Line(c.verdict.Reason)
	verdict := copied{"the verdict in a line", c.turn.Action() + " " + say, "txt"}
	answer := copied{"the assistant's text, as markdown", c.turn.Text(), "md"}
	switch c.underHelp() {
	case inChunk, inTool:
		masked := ", masked"
		if c.sheet.revealed {
			masked = ", REVEALED"
		}
		near = append(near, copied{"what is open" + masked, c.sheet.source(), "txt"})
	case inReport:
		if r := c.report; !r.task.running() {
			masked := ", masked"
			if r.revealed {
				masked = ", REVEALED"
			}
			near = append(near, copied{"the report" + masked, c.reportSource(), "txt"})
		}
	case inIdentity:
		for _, id := range c.identifiers() {
			if id.value != "" {
				near = append(near, copied{id.name, c.shownID(id), "txt"})
			}
		}
	case inVerdict:
		near = append(near, verdict)
	}
	for _, it := range append(near, answer, verdict, copied{"the action ID", c.turn.Action(), "txt"}) {
		if it.text != "" && !hasCopy(out, it) {
			out = append(out, it)
		}
	}
	return out
}

func hasCopy(items []copied, it copied) bool {
	for _, o := range items {
		if o.text == it.text {
			return true
		}
	}
	return false
}

// source is the open sheet's text, or that of its view in focus: not wrapped and
// not cut.
func (s *sheet) source() string {
	switch v := s.viewInFocus(); {
	case s.body != nil:
		return s.body.s
	case v != nil:
		return contentText(v.raw, true, false, nil)
	}
	return ""
}

func newCopyDialog(c *Console) *copyDialog {
	d := &copyDialog{st: &c.styles, items: c.copies(), tmux: c.cfg.Tmux, clip: c.cfg.Terminal != nil}
	d.list.grow(len(d.items))
	return d
}

func (d *copyDialog) place() place     { return inCopy }
func (d *copyDialog) typed(tea.KeyMsg) {}
func (d *copyDialog) toggle()          {}
func (d *copyDialog) move(m motion)    { d.list.move(m) }
func (d *copyDialog) mayAccept() bool  { return d.clip }

// clipboardSure is about what every terminal takes at once.
const clipboardSure = 74_000

func (d *copyDialog) accept(c *Console) tea.Cmd {
	it, tell := d.items[d.list.selected], c.cfg.Terminal
	// A pasted control character would act: it is written out, as on the screen.
	seq := ansi.SetSystemClipboard(safe.Text(it.text))
	return func() tea.Msg {
		if err := tell(seq); err != nil {
			return doneMsg{err: err}
		}
		return doneMsg{say: "Sent " + size(len(it.text)) + " to the terminal. It does not say whether it took them."}
	}
}

func (d *copyDialog) view(w, h int) []string {
	st := d.st
	w = min(w-4, 66)
	d.list.resize(max(1, min(len(d.items), h-7)))
	lines := []string{""}
	from, to := d.list.window()
	for i := from; i < to; i++ {
		it := d.items[i]
		text := columns(it.name, size(len(it.text)), w-6)
		if i == d.list.selected {
			lines = append(lines, st.selected.in(fill(st.glyphs.Chosen+" "+text, w-2)))
			continue
		}
		lines = append(lines, "  "+st.text.in(text))
	}
	lines = append(lines, "")
	say := "The clipboard is the terminal's: some refuse it, and none answers. A file always works."
	switch {
	case !d.clip:
		say = "Here it can only be written to a file."
	case len(d.items[d.list.selected].text) > clipboardSure:
		say = "Many terminals refuse a text as long as this. A file always works."
	case d.tmux:
		say = "tmux passes it on if its set-clipboard is on, and none answers. A file always works."
	}
	for _, l := range strings.Split(ansi.Wrap(say, max(1, w-4), ""), "\n") {
		lines = append(lines, " "+st.dim.in(l))
	}
	lines = tight(lines, h-2)
	return st.box(framed{title: "Copy", focused: true}, lines, w, len(lines)+2)
}

// fileDialog asks for a path: for a copy, or for an export and its scope.
type fileDialog struct {
	st     *styles
	title  string
	what   string
	export bool
	reveal bool
	input  textinput.Model
	write  func(ctx context.Context, path string, reveal bool) error
}

func newFileDialog(st *styles, title, what, path string, write func(context.Context, string, bool) error) *fileDialog {
	d := &fileDialog{st: st, title: title, what: what, input: newInput(), write: write}
	d.input.CharLimit = 1000
	d.input.SetValue(path)
	d.input.CursorEnd()
	return d
}

// fileName makes a plain file name of an ID from outside.
func fileName(action, ext string) string {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (plainName(string(r)) && r != ':') {
			return r
		}
		return '_'
	}, action)
	return strings.TrimLeft(name[:min(len(name), 80)], ".-") + "." + ext
}

func (d *fileDialog) place() place {
	if d.export {
		return inExport
	}
	return inFile
}
func (d *fileDialog) typed(msg tea.KeyMsg) { d.input, _ = d.input.Update(msg) }
func (d *fileDialog) toggle()              { d.reveal = !d.reveal }
func (d *fileDialog) move(motion)          {}
func (d *fileDialog) mayAccept() bool      { return d.path() != "" }
func (d *fileDialog) path() string         { return strings.TrimSpace(d.input.Value()) }

func (d *fileDialog) accept(c *Console) tea.Cmd {
	ctx, path, reveal, write := c.ctx, d.path(), d.reveal, d.write
	c.notice("writing…", c.styles.text)
	return func() tea.Msg {
		if err := write(ctx, path, reveal); err != nil {
			return doneMsg{err: err}
		}
		return doneMsg{say: "Written to " + safe.Line(path) + ", for you alone to read."}
	}
}

func (d *fileDialog) view(w, h int) []string {
	st := d.st
	w = min(w-4, 76)
	lines := []string{"", " " + st.text.in(cut(d.what, w-4))}
	if d.export {
		lines = append(lines, "")
		for _, scope := range []struct {
			on   bool
			text string
		}{
			{!d.reveal, "masked: same verdict, tools and counts, no content"},
			{d.reveal, "REVEALED: everything, as the journal holds it"},
		} {
			mark, k := st.glyphs.Unticked, st.dim
			if scope.on {
				mark, k = st.glyphs.Ticked, st.text
			}
			if scope.on && d.reveal {
				k = st.alarm
			}
			lines = append(lines, " "+k.in(cut("["+mark+"] "+scope.text, w-4)))
		}
	}
	lines = append(lines, "", " "+st.dim.in("path ")+st.field(d.input, max(1, w-9)), "")
	lines = tight(lines, h-2)
	return st.box(framed{title: d.title, focused: true}, lines, w, len(lines)+2)
}

// tight leaves out empty lines, where there is no room for them.
func tight(lines []string, h int) []string {
	for i := len(lines) - 1; i >= 0 && len(lines) > h; i-- {
		if lines[i] == "" {
			lines = slices.Delete(lines, i, i+1)
		}
	}
	return lines
}

// The windows that keys open.

func (c *Console) mayCopy() bool   { return c.cfg.Terminal != nil || c.cfg.Save != nil }
func (c *Console) maySave() bool   { return c.cfg.Save != nil }
func (c *Console) mayExport() bool { return c.cfg.Export != nil }

// saveCopy asks for the file of what is chosen in the copy dialog.
func (c *Console) saveCopy() {
	d := c.window.(*copyDialog)
	it, save := d.items[d.list.selected], c.cfg.Save
	c.window = newFileDialog(&c.styles, "Copy to a file", it.name+", "+size(len(it.text)), fileName(c.turn.Action(), it.ext),
		func(ctx context.Context, path string, _ bool) error { return save(ctx, path, []byte(it.text)) })
}

func (c *Console) askExport() {
	d := newFileDialog(&c.styles, "Export", "The journal of "+shortID(c.turn.Action())+", as JSON lines.", fileName(c.turn.Action(), "jsonl"), c.cfg.Export)
	d.export = true
	c.window = d
}
