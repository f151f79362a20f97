package ui

import (
	"slices"
	"strings"

	"aipscope/follow/act"
	"aipscope/model"
	"aipscope/model/safe"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// cancelMsg brings the outcome of a cancellation.
type cancelMsg struct {
	outcome act.Cancelled
	err     error
}

// cancelDialog asks once more, and for a reason.
type cancelDialog struct {
	st    *styles
	input textinput.Model
}

func newCancelDialog(st *styles) *cancelDialog {
	return &cancelDialog{st: st, input: newInput()}
}

// newInput is a line to type in.
func newInput() textinput.Model {
	in := textinput.New()
	in.CharLimit = 200
	in.Prompt = ""
	in.Cursor.SetMode(cursor.CursorStatic)
	in.Focus()
	return in
}

// typed gives a key to the reason.
func (d *cancelDialog) typed(msg tea.KeyMsg) { d.input, _ = d.input.Update(msg) }

func (d *cancelDialog) reason() string { return strings.TrimSpace(d.input.Value()) }

func (d *cancelDialog) view(action string, settled bool, w int) []string {
	w = min(w-4, 66)
	st := d.st
	inner := w - 4
	lines := []string{""}
	say := func(k ink, s string) {
		for _, l := range strings.Split(ansi.Wrap(s, max(1, inner), ""), "\n") {
			lines = append(lines, " "+k.in(l))
		}
	}
	say(st.text, "Ask the daemon to stop "+middle(brief(action), 26)+"?")
	say(st.dim, "What its tools did already is not undone.")
	if settled {
		lines = append(lines, "")
		say(st.alarm, "The action has its outcome: there is nothing left to cancel.")
	}
	lines = append(lines, "", " "+st.dim.in("reason ")+st.field(d.input, max(1, inner-8)), "")
	return st.box(framed{title: "Cancel", focused: true}, lines, w, len(lines)+2)
}

// field draws what is typed with its cursor, the end of a long text.
func (s *styles) field(in textinput.Model, w int) string {
	runes, at := []rune(in.Value()), in.Position()
	before, under, after := string(runes[:at]), " ", ""
	if at < len(runes) {
		under, after = string(runes[at:at+1]), string(runes[at+1:])
	}
	before, under, after = safe.Line(before), safe.Line(under), safe.Line(after)
	if over := ansi.StringWidth(before) + ansi.StringWidth(under) - w; over > 0 {
		before = ending(before, over)
	}
	room := w - ansi.StringWidth(before) - ansi.StringWidth(under)
	return s.text.in(before) + s.cursor.in(under) + s.text.in(truncate(after, max(0, room), "")) + s.here
}

// confirmMsg brings the journal's rows after a confirmation.
type confirmMsg struct {
	rows []model.Row
	err  error
}

// confirmDialog takes the operator's word about tools and the answer. Nothing
// is marked to begin with: it is a word to be given, not a box to be skipped.
type confirmDialog struct {
	st     *styles
	rows   []confirmRow
	list   list
	marked map[int]bool
}

type confirmRow struct {
	key    string // of a tool; "" for the answer
	given  bool   // its word was given already
	text   string
	answer bool
}

func newConfirmDialog(st *styles, turn *model.Turn) *confirmDialog {
	d := &confirmDialog{st: st, marked: map[int]bool{}}
	for _, t := range turn.Tools() {
		text := toolName(t)
		if t.Label != "" {
			text += "  " + brief(t.Label)
		}
		d.rows = append(d.rows, confirmRow{key: t.Key, text: text, given: turn.Confirmed(t)})
	}
	d.rows = append(d.rows, confirmRow{text: "the answer, as it was read", answer: true, given: turn.AnswerConfirmed()})
	d.list.grow(len(d.rows))
	// The first that nobody has vouched for.
	d.list.choose(max(0, slices.IndexFunc(d.rows, func(r confirmRow) bool { return !r.given })))
	return d
}

func (d *confirmDialog) toggle() { d.marked[d.list.selected] = !d.marked[d.list.selected] }

// said returns what is marked.
func (d *confirmDialog) said() model.Confirmation {
	var c model.Confirmation
	for i, r := range d.rows {
		switch {
		case !d.marked[i]:
		case r.answer:
			c.Answer = true
		default:
			c.Tools = append(c.Tools, r.key)
		}
	}
	return c
}

func (d *confirmDialog) any() bool {
	c := d.said()
	return c.Answer || len(c.Tools) > 0
}

func (d *confirmDialog) view(w, h int) []string {
	st := d.st
	w = min(w-4, 66)
	d.list.resize(max(1, min(len(d.rows), h-7)))
	lines := []string{"", " " + st.text.in("Mark what you have checked yourself.")}
	lines = append(lines, "")
	from, to := d.list.window()
	for i := from; i < to; i++ {
		box, k, said := "["+st.glyphs.Unticked+"]", st.text, ""
		if d.marked[i] {
			box = "[" + st.glyphs.Ticked + "]"
		}
		if d.rows[i].given {
			k, said = st.dim, "  confirmed"
		}
		text := fill(box+" "+d.rows[i].text, w-4-len(said)) + said
		if i == d.list.selected {
			lines = append(lines, st.selected.in(fill(st.glyphs.Chosen+text, w-2)))
			continue
		}
		lines = append(lines, " "+k.in(text))
	}
	lines = append(lines, "")
	return st.box(framed{title: "Confirm", focused: true}, lines, w, len(lines)+2)
}
