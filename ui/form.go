package ui

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"aipscope/follow/act"
	"aipscope/model"
	"aipscope/model/hermes"
	"aipscope/model/safe"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textarea"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// form is a request of one capability while it is written: its fields, then a look
// at what will be sent. The action's ID is made before, and is in the journal before
// anything is sent.
type form struct {
	st      *styles
	offer   act.Offer
	action  string
	notes   []string // what to know before it is sent
	fields  []formField
	at      int
	tried   bool // a look was asked for: every finding is shown
	problem string

	errs, warns []hermes.Finding

	reading   *task // of the file and of the journal's keys
	ready     *model.Request
	keyUse    string // which earlier request has the key, or ""
	body      *text  // what will be sent
	reviewTop int
}

type formField struct {
	field
	line textinput.Model
	long *textarea.Model // of fieldLong and JSON
}

const longest = 64 << 10 // characters of a field; what is longer comes from a file

func newForm(st *styles, o act.Offer, action, key string, set map[string]string) *form {
	f := &form{st: st, offer: o, action: action}
	for _, spec := range append(fieldsOf(o.Operation), actionFields(o)...) {
		ff := formField{field: spec}
		value := set[spec.path]
		switch {
		case spec.path == "mode":
			value = usualMode(o)
		case spec.path == "idempotency_key":
			value = key
		}
		if spec.kind == fieldLong || spec.kind == fieldMore || spec.kind == fieldInput {
			area := textarea.New()
			area.ShowLineNumbers, area.Prompt, area.CharLimit = false, "", longest
			area.MaxHeight, area.MaxWidth = 5000, 0
			area.SetWidth(1 << 14)
			area.Cursor.SetMode(cursor.CursorStatic)
			area.Focus()
			area.SetValue(value)
			ff.long = &area
		} else {
			ff.line = newInput()
			ff.line.CharLimit = 2000
			ff.line.SetValue(value)
			ff.line.CursorEnd()
		}
		f.fields = append(f.fields, ff)
	}
	f.check()
	return f
}

func (f *formField) value() string {
	if f.long != nil {
		return f.long.Value()
	}
	return f.line.Value()
}

func (f *formField) chooses() bool { return f.kind == fieldChoice || f.kind == fieldFlag }

// next chooses the next word of a field that has a few.
func (f *formField) next(step int) {
	words := f.choices
	if f.kind == fieldFlag {
		words = []string{"true", "false"}
	}
	if f.path != "mode" {
		words = append([]string{""}, words...)
	}
	i := max(0, slices.Index(words, f.line.Value()))
	f.line.SetValue(words[(i+step+len(words))%len(words)])
}

func (f *form) focused() *formField { return &f.fields[f.at] }

func (f *form) get(path string) string {
	for i := range f.fields {
		if f.fields[i].path == path {
			return strings.TrimSpace(f.fields[i].value())
		}
	}
	return ""
}

func (f *form) place() place {
	if f.ready != nil {
		return inReview
	}
	return inForm
}

func (f *form) typed(msg tea.KeyMsg) {
	if f.ready != nil || f.reading.running() {
		return
	}
	ff := f.focused()
	switch {
	case ff.chooses():
		return
	case ff.long != nil:
		area, _ := ff.long.Update(msg)
		*ff.long = area
	default:
		ff.line, _ = ff.line.Update(msg)
	}
	f.problem = ""
	f.check()
}

func (f *form) toggle() {
	if f.ready == nil {
		f.focused().next(1)
		f.check()
	}
}

func (f *form) move(m motion) {
	if f.ready != nil {
		f.reviewTop = m.apply(f.reviewTop, 1<<30, 10) // the view knows how far it goes
		return
	}
	f.at = m.apply(f.at, len(f.fields)-1, 1)
}

// check looks at what is typed with the checks of a submission.
func (f *form) check() {
	f.errs, f.warns = nil, nil
	if f.get("file") != "" {
		return // it is read first
	}
	f.errs, f.warns = f.checked(f.compose())
}

func (f *form) compose() (json.RawMessage, []hermes.Finding) {
	var all []given
	for i := range f.fields {
		if ff := &f.fields[i]; ff.kind != fieldFile && !ff.ofAction() {
			all = append(all, given{ff.field, ff.value()})
		}
	}
	return composed(all)
}

func (f field) ofAction() bool { return f.kind == fieldAction || f.path == "mode" }

func (f *form) checked(input json.RawMessage, bad []hermes.Finding) (errs, warns []hermes.Finding) {
	if len(bad) > 0 {
		return bad, nil
	}
	return hermes.Check(f.offer.Operation, input, hermes.CheckOptions{Capability: f.offer.ID, IdempotencyKey: f.get("idempotency_key"), Mode: f.get("mode")})
}

func (f *form) mayAccept() bool { return !f.reading.running() }

// accept goes on: from the fields to a look at what will be sent, from there to
// sending it.
func (f *form) accept(c *Console) tea.Cmd {
	if f.ready != nil {
		return c.desk.submit(c, f)
	}
	c.window = f
	f.tried, f.problem = true, ""
	f.check()
	if len(f.errs) > 0 {
		f.at = f.firstWrong()
		return nil
	}
	return f.look(c)
}

func (f *form) firstWrong() int {
	for i := range f.fields {
		if slices.ContainsFunc(f.errs, f.fields[i].owns) {
			return i
		}
	}
	return f.at
}

// look reads the file that was named and what the journal knows of the key, and
// shows the request as it will be sent.
func (f *form) look(c *Console) tea.Cmd {
	office, file := c.cfg.Office, f.get("file")
	raw, _ := f.compose()
	req := model.Request{Capability: f.offer.ID, Mode: f.get("mode"), IdempotencyKey: f.get("idempotency_key"), AIPSession: f.get("aip_session")}
	var cmd tea.Cmd
	f.reading, cmd = c.begin(func(ctx context.Context, _ func(act.Notice)) func() tea.Cmd {
		var err error
		if file != "" {
			raw, err = office.ReadFile(file)
		}
		req.Input = raw
		var errs, warns []hermes.Finding
		if err == nil {
			errs, warns = f.checked(raw, nil)
		}
		use := ""
		if err == nil && len(errs) == 0 && req.IdempotencyKey != "" && office.KeyUse != nil {
			use, err = office.KeyUse(ctx, f.action, req)
		}
		problem := ""
		if err != nil {
			problem = office.explain(err)
		}
		body := newText(safe.Text(string(safe.Indent(raw))), 1)
		return func() tea.Cmd {
			f.errs, f.warns, f.problem = errs, warns, problem
			if problem == "" && len(errs) == 0 {
				f.ready, f.keyUse, f.body, f.reviewTop = &req, use, body, 0
			}
			return nil
		}
	})
	return cmd
}

// back goes from the look to the fields; from there the form is left, and kept for
// the next time.
func (f *form) back(c *Console) bool {
	if f.ready != nil {
		f.ready, f.body = nil, nil
		return true
	}
	f.reading.abandon()
	if c.desk != nil {
		c.desk.draft = f
	}
	return false
}

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
			if skip >= 0 && skip < n {
				at = len(out)
				u := ansi.StringWidth(under)
				out = append(out, s.text.in(ansi.Truncate(l, skip, ""))+s.cursor.in(ansi.Truncate(ending(l, skip), u, ""))+s.text.in(ending(l, skip+u)))
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
	for _, n := range f.warns {
		lines = append(lines, hang(" ", st.word(model.Unconfirmed), "warning: "+brief(n.String()), inner)...)
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

// submit sends what a form holds, once, and watches it.
func (d *Desk) submit(c *Console, f *form) tea.Cmd {
	office, action, req := c.cfg.Office, f.action, *f.ready
	c.notice("submitting "+shortID(action)+"…", c.styles.text)
	_, cmd := c.begin(func(ctx context.Context, _ func(act.Notice)) func() tea.Cmd {
		cfg, err := office.Submit(ctx, action, req)
		return func() tea.Cmd {
			if err != nil {
				if errors.Is(err, context.Canceled) {
					return nil
				}
				c.notice("Nothing was sent: "+office.explain(err), c.styles.word(model.Failed))
				if c.window == nil {
					c.window = f // as it was
				}
				return nil
			}
			c.notice("", ink{})
			d.draft = nil
			return d.opened(openedMsg{which: Listed{Action: action, URL: cfg.URL}, cfg: cfg})
		}
	})
	return cmd
}

// postedMsg is how the daemon took a submission.
type postedMsg struct{ err error }

// awaitPosted waits for the answer to the submission that the console watches.
func (c *Console) awaitPosted() tea.Cmd {
	if c.cfg.Posted == nil {
		return nil
	}
	ctx, posted := c.ctx, c.cfg.Posted
	return func() tea.Msg { return postedMsg{posted(ctx)} }
}

func (c *Console) posted(m postedMsg) {
	if m.err == nil || errors.Is(m.err, context.Canceled) {
		return
	}
	c.dirty = true
	say := "It was not taken: "
	if errors.Is(m.err, act.ErrNotSent) {
		say = "Nothing was sent: "
	}
	c.notice(say+brief(m.err.Error()), c.styles.word(model.Failed))
}

// The form's abilities, for the key table.

func (c *Console) formField() *formField {
	if f, ok := c.window.(*form); ok && f.ready == nil {
		return f.focused()
	}
	return nil
}

func (c *Console) onLine() bool   { f := c.formField(); return f != nil && f.long == nil }
func (c *Console) onChoice() bool { f := c.formField(); return f != nil && f.chooses() }
