package ui

import (
	"slices"
	"strings"
	"sync"

	"aipscope/follow"
	"aipscope/model"
	"aipscope/model/safe"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// A plain screen is for ears and for terminals that can only print: what happens is
// written once, in the order in which it happened, and nothing that was written
// changes. What a key opens is written in the same way; so nothing is revealed on
// it, for it would stay.

// Printer writes what a plain screen says. Consoles add to it as they go, and one of
// their commands at a time writes what there is.
type Printer struct {
	print func(string) error

	writing sync.Mutex // held while something is written
	mu      sync.Mutex // for what follows; it is never held for long
	text    strings.Builder
	col     int // cells of the line that is not ended
	blanks  int // that stand behind them if more comes
	whose   flow
}

// flow says whose words a line that is not ended holds.
type flow int

const (
	nobodys flow = iota
	theText
	theField // in which something is typed
)

// NewPrinter returns a printer. print is called in commands, with whole characters and
// no escapes.
func NewPrinter(print func(string) error) *Printer { return &Printer{print: print} }

// flush is the command that writes what there is.
func (p *Printer) flush() tea.Cmd {
	return func() tea.Msg {
		p.writing.Lock()
		defer p.writing.Unlock()
		if s := p.take(); s != "" {
			if err := p.print(s); err != nil {
				p.putBack(s)
				return LeaveMsg{} // nobody hears it
			}
		}
		return nil
	}
}

func (p *Printer) take() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.text.String()
	p.text.Reset()
	return s
}

// putBack is for what was taken and not written: a console may end meanwhile, and
// its last words are the verdict.
func (p *Printer) putBack(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	later := p.text.String()
	p.text.Reset()
	p.text.WriteString(s + later)
}

// Rest is what was said and not written, after the console has ended.
func (p *Printer) Rest() string {
	p.writing.Lock()
	defer p.writing.Unlock()
	p.end()
	return p.take()
}

// end ends the line that is begun.
func (p *Printer) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.col > 0 {
		p.newline()
	}
}

func (p *Printer) newline() {
	p.text.WriteByte('\n')
	p.col, p.blanks, p.whose = 0, 0, nobodys
}

// line writes a line of its own.
func (p *Printer) line(s string) {
	p.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text.WriteString(strings.TrimRight(s, " ") + "\n")
}

// goOn goes on with text that may be in the middle of a line, and breaks lines
// between words. What is somebody else's is a line of its own.
func (p *Printer) goOn(whose flow, s string, width int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.col > 0 && p.whose != whose {
		p.newline()
	}
	for s != "" {
		n := strings.IndexAny(s, " \n")
		switch {
		case n < 0:
			n = len(s)
		case n == 0:
			n = 1
		}
		word := s[:n]
		s = s[n:]
		cells := ansi.StringWidth(word)
		switch {
		case word == "\n":
			p.newline()
			continue
		case word == " ":
			p.blanks++
			continue
		case p.col > 0 && p.col+p.blanks+cells > width:
			p.newline()
		}
		p.text.WriteString(strings.Repeat(" ", p.blanks) + word)
		p.col, p.blanks, p.whose = p.col+p.blanks+cells, 0, whose
	}
}

// said is what a console has written of its action.
type said struct {
	begun    bool
	listed   bool // the list of actions was told
	link     follow.LinkState
	reason   string
	segment  int // those before it are written,
	bytes    int // and of its text so many
	stream   safe.Stream
	steps    int // changes of tools
	restarts int
	word     model.Word
	settled  bool
	cancel   string
	notice   string

	at    spot     // where the keys went
	lines []string // that were to be seen there
	typed string   // the field in which something is typed, as it was written
}

// spot is what the keys are for.
type spot struct {
	place place
	pane  paneID
}

// marks in lines that are drawn for a plain screen: they are no text, for no text has
// escapes.
const (
	markHere   = "\x1b[28m" // behind what is typed
	markChosen = "\x1b[29m" // the selected line
)

// listen notes what there is to be seen before a key is acted on, so that what the
// key changes can be told.
func (c *Console) listen(msg tea.Msg) {
	if c.printer == nil {
		return
	}
	if _, ok := msg.(tea.KeyMsg); ok {
		c.said.at, c.said.lines = c.spot(), c.sights()
	}
}

func (c *Console) spot() spot {
	s := spot{place: c.place()}
	if s.place == inPanes {
		s.pane = c.focus
	}
	return s
}

// tellAll says what has happened and what a key opened or changed, and returns the
// command that writes it.
func (c *Console) tellAll(msg tea.Msg) tea.Cmd {
	p := c.printer
	if p == nil || c.width < 1 {
		return nil
	}
	before := c.said.typed
	if c.own() {
		c.tellTurn()
	}
	c.tellNotice()
	switch msg.(type) {
	case listMsg:
		if c.said.listed {
			c.said.lines = c.sights() // ages go on by themselves
			break
		}
		c.said.listed, c.said.lines = true, nil
		c.tellSights()
	case batchMsg, tickMsg, judgedMsg, tea.WindowSizeMsg:
		if c.spot() == c.said.at && (c.said.at.place == inPanes || c.said.lines != nil) {
			c.said.lines = c.sights() // events are told as they are
			break
		}
		c.tellSights()
	default:
		c.tellSights()
	}
	if before != "" && c.said.typed == before && !p.on(theField) {
		p.goOn(theField, before, maxField) // something was said in between
	}
	return p.flush()
}

// maxField is more cells than any field has: what is typed is not broken.
const maxField = 1 << 20

// on reports whether the line goes on with the words of one.
func (p *Printer) on(whose flow) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.col > 0 && p.whose == whose
}

// tellTurn says what is new of the action.
func (c *Console) tellTurn() {
	p, s := c.printer, &c.said
	if op, endpoint := c.operation(); !s.begun && (op != "" || c.link.State != "" || c.done) {
		s.begun = true
		head := "aipscope  " + brief(c.turn.Action()) + "  " + op
		if endpoint != "" {
			head += " @ " + endpoint
		}
		p.line(head)
		p.line("? tells the keys, v the verdict, q leaves.")
	}
	if c.past == nil && !c.frozen {
		c.tellText()
	}
	if c.link.State != "" && (c.link.State != s.link || c.link.Reason != s.reason) {
		s.link, s.reason = c.link.State, c.link.Reason
		long, _ := c.linkText(c.linkAt)
		p.line("link: " + long)
	}
	if text, _ := c.cancelText(c.cancelSentAt); text != s.cancel {
		if s.cancel = text; text != "" {
			p.line(text)
		}
	}
	if v := c.verdict; v.Word != s.word || c.turn.Settled() != s.settled {
		first := c.turn.Settled() && !s.settled
		if first {
			p.line("")
			for _, l := range c.verdictLines(c.width, true) {
				if l = strings.TrimRight(ansi.Strip(l), " "); l != "" {
					p.line(l)
				}
			}
		} else if s.word != "" || v.Word != model.Pending {
			p.line("verdict: " + wordText(v.Word) + ": " + safe.Line(v.Reason))
		}
		s.word, s.settled = v.Word, c.turn.Settled()
	}
}

// lastWords is what is not printed yet when the console ends, the verdict among it;
// all else stays already.
func (c *Console) lastWords() string {
	c.tellTurn()
	if !c.said.settled {
		c.printer.line(wordText(c.verdict.Word) + ": " + safe.Line(c.verdict.Reason))
	}
	return c.printer.Rest()
}

// tellText says the text and the changes of tools since the last time, in their order.
func (c *Console) tellText() {
	p, s, t := c.printer, &c.said, c.turn
	if n := t.Restarts(); n != s.restarts {
		s.restarts = n
		if s.segment > 0 || s.bytes > 0 {
			p.line("A chunk came late, before some of what was said. All of it again:")
			s.segment, s.bytes, s.steps, s.stream = 0, 0, 0, safe.Stream{}
		}
	}
	segs, steps := t.Segments(), t.ToolSteps()
	for ; s.segment < len(segs); s.segment, s.bytes = s.segment+1, 0 {
		seg := segs[s.segment]
		last := s.segment == len(segs)-1 && !t.Settled()
		if s.bytes == 0 {
			for ; s.steps < len(steps) && steps[s.steps].Sequence < seg.First; s.steps++ {
				c.tellStep(steps[s.steps])
			}
		}
		c.tellSegment(seg, last)
		if last {
			break
		}
	}
	for ; s.steps < len(steps); s.steps++ {
		c.tellStep(steps[s.steps])
	}
}

// tellSegment says what is new of a segment. Of one that may grow, the last word is
// left for the next time.
func (c *Console) tellSegment(seg *model.Segment, grows bool) {
	p, s := c.printer, &c.said
	text := seg.Text()
	switch seg.Kind {
	case model.SegmentText, model.SegmentClosing:
		if s.bytes == 0 {
			p.end()
			if seg.Kind == model.SegmentClosing {
				p.line("closing text, unlike what was streamed:")
			}
		}
		to := len(text)
		if grows {
			to = max(s.bytes, strings.LastIndexAny(text, " \n")+1)
		}
		out := s.stream.Write(text[s.bytes:to])
		if s.bytes == 0 {
			out = strings.TrimLeft(out, "\n") // the line is its own already
		}
		if s.bytes = to; !grows {
			out += s.stream.Flush()
		}
		p.goOn(theText, strings.ReplaceAll(out, "\t", "    "), c.width)
		if !grows {
			p.end()
		}
	case model.SegmentWaiting:
		if s.bytes == 0 {
			p.line(strings.TrimSpace(ansi.Strip(c.assistant.mark(&stretch{seg: seg}))))
			s.bytes = 1
		}
	case model.SegmentThinking, model.SegmentCommentary:
		if !grows {
			p.line(strings.TrimSpace(ansi.Strip(c.assistant.mark(&stretch{seg: seg}))))
		}
	}
}

func (c *Console) tellStep(step model.ToolStep) {
	say := "tool " + brief(step.Name) + ": " + c.styles.toolGlyph(step.Status)
	if t := c.turn.Tool(step.Key); t != nil {
		say = "tool " + toolName(t) + ": " + c.styles.toolGlyph(step.Status)
		if step.Status == model.ToolRunning && t.Label != "" {
			say += ", " + brief(t.Label)
		}
		if step.Status != model.ToolRunning && t.Duration > 0 {
			say += ", " + seconds(t.Duration)
		}
	}
	c.printer.line(say)
}

// tellNotice says what else there is to say.
func (c *Console) tellNotice() {
	if c.noticed != c.said.notice {
		if c.said.notice = c.noticed; c.noticed != "" {
			c.printer.line(c.noticed)
		}
	}
}

// sights are the lines of what the keys are for, as they are drawn.
func (c *Console) sights() []string {
	if c.place() == inPanes {
		lines, f := c.paneLines(c.focus, c.now())
		if c.past != nil && c.focus == paneChunks {
			f.note += ", " + c.pastText()
		}
		head := strings.TrimSuffix(f.title+": "+strings.TrimPrefix(strings.TrimSuffix(f.note+"; "+f.footer, "; "), "; "), ": ")
		return append([]string{head}, lines...)
	}
	c.layout()
	var lines []string
	switch now := c.now(); {
	case c.place() == inHelp, c.place() == inVerdict, c.place() == inIdentity:
		title := map[place]string{inHelp: "Keys", inVerdict: "Verdict", inIdentity: "Identity"}[c.place()]
		return append([]string{title}, c.overlayLines()...)
	case c.prompt != nil:
		return []string{c.prompt.line(&c.styles, c.width)}
	case c.browser != nil:
		lines = c.drawBrowser(now)[1:]
	case c.actions != nil:
		lines = c.drawActions(now)[1:]
	default:
		lines = c.body(now)
	}
	return lines
}

// tellSights says what is new of what the keys are for: all of it where they have
// just come to, else the lines that were not there, and the one that is selected now.
func (c *Console) tellSights() {
	p, s := c.printer, &c.said
	at, lines := c.spot(), c.sights()
	was, before := s.at, s.lines
	s.at, s.lines = at, lines
	if at != was || before == nil {
		c.arrive(was, lines)
		return
	}
	seen := map[string]bool{}
	for _, l := range before {
		seen[bare(l)] = true
	}
	chosen := ""
	if i := slices.IndexFunc(before, isChosen); i >= 0 {
		chosen = bare(before[i])
	}
	// Where a cursor moves through a list, what it stands on is enough.
	moved := false
	if i := slices.IndexFunc(lines, isChosen); i >= 0 && at.place&inLists != 0 {
		moved = bare(lines[i]) != chosen && (at.place != inChunk || bare(lines[0]) == bare(before[0]))
	}
	for i, l := range lines {
		said := bare(l)
		if said == "" || strings.Contains(l, markHere) || moved && i > 0 && !isChosen(l) {
			continue
		}
		if !seen[said] || isChosen(l) && said != chosen {
			p.line(said)
		}
	}
	c.tellTyped(lines)
}

// inLists are the places whose lines one moves through.
const inLists = inPanes | inChunk | inActions | inFilterList | inPalette | inSessions | inSessionFilter | inOffers

// arrive says what there is at a place that the keys have come to. The panes are told
// of as they grow; there only the name is said, until another one is chosen.
func (c *Console) arrive(was spot, lines []string) {
	p := c.printer
	if was == (spot{}) && c.said.at.place == inPanes {
		return // it has just begun
	}
	few := c.said.at == spot{inPanes, paneChunks}
	for i, l := range lines {
		said := bare(l)
		if said == "" || strings.Contains(l, markHere) || few && i > 0 && !isChosen(l) {
			continue
		}
		p.line(said)
		if i == 0 && c.said.at.place == inPanes && (c.past == nil && c.focus == paneAssistant || was.place != inPanes) {
			break
		}
	}
	if c.said.at.place&(inPanes|inHelp|inPrompt) == 0 {
		p.line(bare(c.keysBehind("", ink{})))
	}
	c.said.typed = ""
	c.tellTyped(lines)
}

// tellTyped writes the field in which something is typed, and then what is added to
// it; a field that changed in another way is written again.
func (c *Console) tellTyped(lines []string) {
	p, s := c.printer, &c.said
	i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, markHere) })
	if i < 0 {
		if s.typed != "" {
			s.typed = ""
			p.end()
		}
		return
	}
	field := lines[i][:strings.Index(lines[i], markHere)]
	now := strings.TrimSpace(ansi.Strip(field))
	switch more, ok := strings.CutPrefix(now, s.typed); {
	case s.typed == "" || !ok || !p.on(theField):
		p.end()
		p.goOn(theField, now, maxField)
	default:
		p.goOn(theField, more, maxField)
	}
	s.typed = now
}

// bare is a line as it is said.
func bare(line string) string {
	line = strings.TrimSpace(ansi.Strip(line))
	return strings.TrimSpace(strings.TrimPrefix(line, ">"))
}

func isChosen(line string) bool {
	return strings.Contains(line, markChosen) || strings.Contains(line, markHere)
}
