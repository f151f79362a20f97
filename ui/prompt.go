package ui

import (
	"strings"

	"aipscope/model/safe"

	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// prompt is the last line while a search or a filter is typed.
type prompt struct {
	filter  bool
	text    bool // the assistant's text is searched
	input   textinput.Model
	at      int // in what was asked before; its length is what is being typed
	draft   string
	problem string
}

// askFor opens the prompt, a filter's with what it is now.
func (c *Console) askFor(filter bool) {
	h := c.chunks.hunt
	p := &prompt{filter: filter, text: !filter && c.inText(), input: newInput(), at: len(h.asked)}
	p.input.CharLimit = 500
	if filter && h.filtering() {
		p.input.SetValue(h.filter.query.source)
	}
	c.prompt = p
}

func (p *prompt) typed(msg tea.KeyMsg) {
	p.problem = ""
	p.input, _ = p.input.Update(msg)
}

// recall brings back what was asked before.
func (p *prompt) recall(m motion, asked []string) {
	if p.at == len(asked) {
		p.draft = p.input.Value()
	}
	p.at = m.apply(p.at, len(asked), 1)
	s := p.draft
	if p.at < len(asked) {
		s = asked[p.at]
	}
	p.input.SetValue(s)
	p.input.CursorEnd()
	p.problem = ""
}

// answered starts what was typed. Nothing typed ends what there was.
func (c *Console) answered() tea.Cmd {
	p, h := c.prompt, c.chunks.hunt
	if p.text {
		return c.answeredText()
	}
	q, err := parseQuery(p.input.Value())
	if err != nil {
		p.problem = safe.Line(err.Error())
		return nil
	}
	c.prompt = nil
	h.remember(q.source)
	if q.source == "" {
		q = nil
	}
	if c.underHelp() == inPanes {
		c.focusOn(paneChunks)
	}
	if p.filter {
		h.start(&h.filter, q, c.reveals())
	} else {
		from := max(0, c.chunks.selectedEntry())
		h.start(&h.search, q, c.reveals())
		h.search.seeking, h.search.from = q != nil, from
	}
	c.chunks.refresh()
	return c.scanning()
}

// answeredText starts the search of the text.
func (c *Console) answeredText() tea.Cmd {
	phrase := strings.TrimSpace(c.prompt.input.Value())
	words, err := phraseOf(phrase)
	if err != nil {
		c.prompt.problem = "this cannot be searched for: it is not text"
		return nil
	}
	c.prompt = nil
	c.chunks.hunt.remember(phrase)
	return c.startFind(phrase, words)
}

// remember keeps what was asked, to be recalled.
func (h *hunt) remember(asked string) {
	if n := len(h.asked); asked != "" && (n == 0 || h.asked[n-1] != asked) {
		h.asked = append(h.asked, asked)
	}
}

// line draws the prompt.
func (p *prompt) line(st *styles, w int) string {
	lead, hint := " /", "words, kind:tool, event:response.*, or jq: .data.type"
	if p.filter {
		lead = " filter "
	}
	if p.text {
		hint = "words of the text, one behind the other"
	}
	if p.problem != "" {
		hint = p.problem
	}
	head := ansi.StringWidth(lead)
	if p.problem == "" && !p.text && w < 100 {
		hint = "words, kind: event: tool: or .jq"
	}
	room := max(10, w-head-ansi.StringWidth(hint)-4)
	if room < 24 {
		room = w - head - 2
		if p.problem != "" {
			room = max(10, w/2)
		}
	}
	field := st.field(p.input, room)
	left := w - head - room - 2
	tail := st.dim
	if p.problem != "" {
		tail = st.alarm
	}
	line := st.accent.in(lead) + fill(field, room)
	if left > 8 {
		line += "  " + tail.in(cut(hint, left-1))
	}
	return fill(line, w)
}
