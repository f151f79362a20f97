package ui

import (
	"slices"
	"strings"
	"time"

	"aipscope/model"
	"aipscope/model/hermes"
	"aipscope/model/safe"

	"github.com/charmbracelet/bubbles/textarea"
	"github.com/charmbracelet/x/ansi"
)

// view draws the form.
func (f *form) view(w, h int) []string {
	full := w < 100
	if !full {
		w = min(w-4, 110)
	}
	if f.ready != nil {
		return f.review(w, h, full)
	}
	st := f.st
	inner := w - 2
	head := hang(" ", st.dim, f.offer.Terms(), inner)
	head = append(head, hang(" ", st.dim, "action "+f.action+", in the journal before anything is sent", inner)...)
	for _, n := range f.notes {
		head = append(head, hang(" ", st.word(model.Unconfirmed), brief(n), inner)...)
	}
	head = append(head, "")
	if h-2-len(head) < 4 {
		head = nil // the look before submitting has it again
	}
	var lines []string
	from, to := 0, 0 // of the field in focus
	for i := range f.fields {
		if i == f.at {
			from = len(lines)
		}
		lines = append(lines, f.fieldLines(i, inner, h)...)
		if i == f.at {
			to = len(lines)
		}
	}
	for _, n := range f.loose() {
		lines = append(lines, hang("   ", st.alarm, brief(n.String()), inner)...)
	}
	if f.problem != "" {
		lines = append(lines, hang(" ", st.alarm, f.problem, inner)...)
	}
	room := max(1, h-2-len(head))
	top := max(0, min(from, to-room))
	if to <= room {
		top = 0
	}
	note := counted(len(f.errs), "error", "errors")
	if len(f.errs) == 0 || !f.tried {
		note = "nothing is sent yet"
	}
	if f.reading.running() {
		note = "checking"
	}
	fr := framed{title: brief(f.offer.ID), note: note, alarm: f.tried && len(f.errs) > 0, focused: true}
	if len(lines) > room {
		fr.footer = "field " + number(f.at+1) + " of " + number(len(f.fields))
	}
	lines = append(head, lines[top:min(len(lines), top+room)]...)
	return st.box(fr, lines, w, tall(len(lines)+2, h, full))
}

// tall is the height of a dialog of n lines: all of h, where it has the full width.
func tall(n, h int, full bool) int {
	if full {
		return h
	}
	return min(n, h)
}

// loose are errors that belong to no field of the form.
func (f *form) loose() []hermes.Finding {
	if !f.tried {
		return nil
	}
	var out []hermes.Finding
	for _, n := range f.errs {
		if !slices.ContainsFunc(f.fields, func(ff formField) bool { return ff.owns(n) }) {
			out = append(out, n)
		}
	}
	return out
}

const fieldLabel = 21

// fieldLines draws a field, and below it what there is to say of it.
func (f *form) fieldLines(i, w, h int) []string {
	st, ff := f.st, &f.fields[i]
	focus := i == f.at
	mark, k := "  ", st.dim
	if focus {
		mark, k = st.accent.in(st.glyphs.Chosen)+" ", st.title
	}
	head := " " + mark + k.in(fill(ff.label(), fieldLabel-1)) + " "
	room := max(1, w-fieldLabel-4)
	var out []string
	switch {
	case ff.chooses():
		value := ff.line.Value()
		if value == "" {
			value = "not given"
		}
		if focus {
			value = "< " + value + " >  space changes it"
		}
		out = []string{head + st.text.in(cut(value, room))}
	case ff.long != nil:
		rows := st.area(ff.long, room, max(1, min(8, h/3)), focus)
		for j, l := range rows {
			if j > 0 {
				head = strings.Repeat(" ", fieldLabel+3)
			}
			out = append(out, head+l)
		}
	case focus:
		out = []string{head + st.field(ff.line, room)}
	default:
		out = []string{head + st.text.in(cut(brief(ff.line.Value()), room))}
	}
	if focus && ff.hint != "" {
		out = append(out, hang(strings.Repeat(" ", fieldLabel+3), st.dim, ff.hint, w)...)
	}
	if !f.tried && !focus {
		return out
	}
	say := func(k ink, all []hermes.Finding) {
		for _, n := range all {
			if ff.owns(n) {
				text := n.Rule
				if n.Field != ff.path {
					text = n.String()
				}
				out = append(out, hang(strings.Repeat(" ", fieldLabel+3), k, brief(text), w)...)
			}
		}
	}
	if f.tried {
		say(st.alarm, f.errs)
	}
	say(st.word(model.Unconfirmed), f.warns)
	return out
}

// area draws the lines of a long field around its cursor, at most h of w cells.
func (s *styles) area(in *textarea.Model, w, h int, focus bool) []string {
	info := in.LineInfo()
	row, col := in.Line(), info.StartColumn+info.ColumnOffset
	var out []string
	at := 0
	for i, line := range strings.Split(in.Value(), "\n") {
		if !focus || i != row {
			for _, l := range strings.Split(ansi.Hardwrap(safe.Line(line), w, true), "\n") {
				out = append(out, s.text.in(l))
			}
			continue
		}
		runes := []rune(line)
		col = min(col, len(runes))
		under, after := " ", ""
		if col < len(runes) {
			under, after = safe.Line(string(runes[col:col+1])), safe.Line(string(runes[col+1:]))
		}
		before := safe.Line(string(runes[:col]))
		skip := ansi.StringWidth(before)
		for _, l := range strings.Split(ansi.Hardwrap(before+under+after, w, true), "\n") {
			n := ansi.StringWidth(l)
			if skip >= 0 && skip < n { // the cursor is here
				at = len(out)
				u := ansi.StringWidth(under)
				out = append(out, s.text.in(truncate(l, skip, ""))+s.cursor.in(truncate(ending(l, skip), u, ""))+s.text.in(ending(l, skip+u))+s.here)
			} else {
				out = append(out, s.text.in(l))
			}
			skip -= n
		}
	}
	top := max(0, min(at-h/2, len(out)-h))
	return out[top:min(len(out), top+h)]
}

// review draws what will be sent.
func (f *form) review(w, h int, full bool) []string {
	st, req := f.st, f.ready
	inner := w - 2
	var lines []string
	row := func(name, value string) {
		lines = append(lines, hang(" "+st.dim.in(fill(name, 12))+" ", st.text, value, inner)...)
	}
	row("capability", brief(req.Capability))
	row("terms", f.offer.Terms())
	row("action", f.action)
	if req.IdempotencyKey != "" {
		row("key", brief(req.IdempotencyKey))
	}
	row("mode", req.Mode)
	if req.AIPSession != "" {
		row("AIP session", brief(req.AIPSession))
	}
	if req.TimeoutMS > 0 {
		row("timeout", (time.Duration(req.TimeoutMS) * time.Millisecond).String())
	}
	for _, n := range f.warns {
		lines = append(lines, hang(" ", st.word(model.Unconfirmed), "warning: "+brief(n.String()), inner)...)
	}
	for _, n := range f.notes {
		lines = append(lines, hang(" ", st.word(model.Unconfirmed), brief(n), inner)...)
	}
	if f.keyUse != "" {
		lines = append(lines, hang(" ", st.alarm, brief(f.keyUse), inner)...)
	}
	if f.offer.Approval != nil && *f.offer.Approval {
		lines = append(lines, hang(" ", st.word(model.AwaitingApproval), "It waits for an approval before anything runs.", inner)...)
	}
	lines = append(lines, "")
	f.body.resize(max(1, inner-3), max(1, h))
	rows, room := len(f.body.starts), h-2
	total := len(lines) + rows
	f.reviewTop = max(0, min(f.reviewTop, total-room))
	fr := framed{title: "Submit", note: "sent once, never again by itself", focused: true}
	if total > room {
		fr.footer = "lines " + number(f.reviewTop+1) + " to " + number(min(total, f.reviewTop+room)) + " of " + number(total)
	}
	var out []string
	for i := f.reviewTop; i < min(total, f.reviewTop+room); i++ {
		if i < len(lines) {
			out = append(out, lines[i])
			continue
		}
		line, starts := f.body.line(i - len(lines))
		out = append(out, "  "+st.json(line, starts))
	}
	return st.box(fr, out, w, tall(len(out)+2, h, full))
}
