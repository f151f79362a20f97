package ui

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"aipscope/follow/act"
	"aipscope/model"
	"aipscope/model/hermes"
	"aipscope/model/safe"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textarea"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
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

// holds reports whether fields are as they are to be set.
func (f *form) holds(set map[string]string) bool {
	for path, value := range set {
		if f.get(path) != value {
			return false
		}
	}
	return true
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
	errs, warns = hermes.Check(f.offer.Operation, input, hermes.CheckOptions{Capability: f.offer.ID, IdempotencyKey: f.get("idempotency_key"), Mode: f.get("mode")})
	if s := f.get("timeout"); s != "" {
		if limit, err := time.ParseDuration(s); err != nil || limit <= 0 {
			errs = append(errs, hermes.Finding{Field: "timeout", Rule: "must be a time such as 90s"})
		}
	}
	return errs, warns
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
	limit, _ := time.ParseDuration(f.get("timeout")) // it was checked
	req := model.Request{TimeoutMS: limit.Milliseconds(), Capability: f.offer.ID, Mode: f.get("mode"), IdempotencyKey: f.get("idempotency_key"), AIPSession: f.get("aip_session")}
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

// The form's abilities, for the key table.

func (c *Console) formField() *formField {
	if f, ok := c.window.(*form); ok && f.ready == nil {
		return f.focused()
	}
	return nil
}

func (c *Console) onLine() bool   { f := c.formField(); return f != nil && f.long == nil }
func (c *Console) onChoice() bool { f := c.formField(); return f != nil && f.chooses() }
