package ui

import (
	"strings"

	"aipscope/model"

	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
)

// ask is a dialog that says what will be done, takes some words for it, and asks
// once more.
type ask struct {
	st      *styles
	title   string
	verb    string
	lines   []string
	warns   []string
	fields  []askField
	at      int
	problem string
	allow   func(values []string) string // why it cannot be done so, or ""; nil allows all
	do      func(c *Console, values []string) tea.Cmd
}

type askField struct {
	name  string
	hint  string // where it is empty
	input textinput.Model
}

func newAskField(name, hint, value string) askField {
	f := askField{name, hint, newInput()}
	f.input.CharLimit = 1000
	f.input.SetValue(value)
	f.input.CursorEnd()
	return f
}

func (d *ask) place() place { return inAsk }

func (d *ask) typed(msg tea.KeyMsg) {
	if len(d.fields) > 0 {
		f := &d.fields[d.at]
		f.input, _ = f.input.Update(msg)
		d.problem = ""
	}
}

func (d *ask) move(m motion) { d.at = m.apply(d.at, max(0, len(d.fields)-1), 1) }
func (d *ask) toggle()       {}

func (d *ask) values() []string {
	out := make([]string, len(d.fields))
	for i, f := range d.fields {
		out[i] = f.input.Value()
	}
	return out
}

func (d *ask) mayAccept() bool { return true }

func (d *ask) accept(c *Console) tea.Cmd {
	if d.allow != nil {
		if d.problem = d.allow(d.values()); d.problem != "" {
			c.window = d
			return nil
		}
	}
	return d.do(c, d.values())
}

func (d *ask) view(w, h int) []string {
	st := d.st
	w = min(w-4, 76)
	lines := []string{""}
	for _, s := range d.lines {
		lines = append(lines, hang(" ", st.text, s, w-2)...)
	}
	if len(d.fields) > 0 && len(d.lines) > 0 {
		lines = append(lines, "")
	}
	const name = 12
	for i, f := range d.fields {
		room := max(1, w-name-6)
		value := st.text.in(cut(brief(f.input.Value()), room))
		if i == d.at {
			value = st.field(f.input, room)
		}
		if f.input.Value() == "" && i != d.at {
			value = st.dim.in(cut(f.hint, room))
		}
		mark := " "
		if i == d.at {
			mark = st.accent.in(st.glyphs.Chosen)
		}
		lines = append(lines, mark+st.dim.in(fill(f.name, name))+" "+value)
		if i == d.at && f.hint != "" {
			lines = append(lines, hang(strings.Repeat(" ", name+2), st.dim, f.hint, w-2)...)
		}
	}
	if d.problem != "" {
		lines = append(append(lines, ""), hang(" ", st.alarm, d.problem, w-2)...)
	}
	if len(d.warns) > 0 {
		lines = append(lines, "")
	}
	for _, s := range d.warns {
		lines = append(lines, hang(" ", st.word(model.Unconfirmed), s, w-2)...)
	}
	lines = tight(append(lines, ""), h-2)
	return st.box(framed{title: d.title, note: "enter " + d.verb, focused: true}, lines, w, min(len(lines)+2, h))
}
