package model

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// SegmentKind says what a stretch of the turn is.
type SegmentKind int

const (
	SegmentText       SegmentKind = iota // the assistant's own words
	SegmentThinking                      // reasoning that the answer does not repeat
	SegmentCommentary                    // said beside the answer
	SegmentTools                         // tools ran here
	SegmentWaiting                       // an approval or a question
	SegmentClosing                       // whole text at the end that is not what was streamed
)

// Segment is a stretch of the turn in the order of its chunks. Text of one
// message that a tool interrupts is two segments with the same Message.
type Segment struct {
	Kind    SegmentKind
	Message string   // provider's message or content item; segments of different messages never merge
	Tools   []string // keys, for SegmentTools
	Waiting string   // approval or clarify, for SegmentWaiting
	First   uint64   // sequence of the first chunk in it
	Last    uint64

	in       *grown // the answer for SegmentText, or its own
	from, to int    // of its text in there
}

// Text is the provider's text as it came: unsafe for a terminal. It only grows,
// and costs nothing to take.
func (s *Segment) Text() string {
	return s.in.String()[s.from:s.to]
}

// len is the length of its text.
func (s *Segment) len() int { return s.to - s.from }

// grow writes what an entry says, which may be told in parts; nothing stands behind
// the text where it is.
func (s *Segment) grow(e *Entry, text string) {
	e.textAt, e.added = s.len()-e.added, e.added+len(text)
	s.in.WriteString(text)
	s.to += len(text)
}

// Waiting is an approval or a question that the turn waits for.
type Waiting struct {
	Kind  string // approval or clarify
	Since uint64 // sequence of the request
}

// fold is what the frames add up to, in the order of their sequences.
type fold struct {
	family   hermes.Family // of the first frame that names one
	segments []*Segment
	answer   *grown
	letters  int    // characters in answer
	inAnswer string // message of the answer's last text
	textRow  int64  // journal row of the last text
	inkFrom  int    // where the answer's first character that shows begins
	inkTo    int    // where its last one ends; 0 while there is none
	lastText *Segment

	tools   []*Tool
	steps   []ToolStep
	byKey   map[string]*Tool
	keyOf   map[string]string   // the provider's IDs of calls and output items to the keys that are not they
	running map[string][]string // by name: keys without a correlation ID, oldest first
	left    int                 // index of the first tool that may still run although the turn is over
	ordinal map[string]int

	texts     map[string]contentText // Responses content items, for output_text.done
	callStart int                    // where in the last text segment the current model call began
	waiting   *Waiting
	interact  string

	finish     *hermes.Finish
	finishAt   uint64
	content    *hermes.Finish // flags of assistant.completed
	usage      Usage
	usageAt    uint64
	responseID string
	runID      string
	sessionID  string
	model      string

	over     bool // the provider's stream said its end
	failures []failure
	breaches []breach
	ended    bool // a done or error chunk was folded
	replied  bool // the result was folded, too: a turn that did not stream
}

// failure is a sign of an error in the stream; breach one of broken integrity.
type failure struct {
	what string
	at   uint64
}
type breach = failure

// contentText says where the deltas of one content item are, so that its whole
// text can be checked.
type contentText struct {
	segments []int32
	done     bool // its whole text came
}

func newFold() fold {
	return fold{
		answer:  new(grown),
		byKey:   map[string]*Tool{},
		keyOf:   map[string]string{},
		running: map[string][]string{},
		ordinal: map[string]int{},
		texts:   map[string]contentText{},
	}
}

// foldEntry folds the frame of the next entry, and marks in the entry what it did.
func (t *Turn) foldEntry(e *Entry) {
	f := &e.frame
	if !e.Recovered {
		if t.ended {
			t.breaches = append(t.breaches, breach{"a chunk after the closing chunk", e.Sequence})
		}
		t.ended = t.ended || e.Kind.Ends()
		if e.Kind == aip.KindError {
			t.failures = append(t.failures, failure{"chunk of kind error", e.Sequence})
			t.over = true
		}
	}
	if t.family == hermes.FamilyNone {
		t.family = f.Family
	}
	foreign := t.foreign(f)
	if m := f.More; m != nil {
		if other := func(was, is string) bool { return was != "" && is != "" && was != is }; !foreign &&
			(other(t.responseID, m.ResponseID) || other(t.runID, m.RunID)) {
			t.breaches = append(t.breaches, breach{"a frame of another turn", e.Sequence})
		}
		t.foldMore(e, m)
	}
	if foreign {
		// Another family's text is no answer, and its end no end; what it tells of
		// tools and failures counts.
		if f.More != nil && f.More.Finish != nil && endsBadly(f.More.Finish) {
			t.failures = append(t.failures, failure{"another stream's end, which is no success", e.Sequence})
		}
		t.toolsOf(e, f)
		return
	}
	switch f.Kind {
	case hermes.KindDelta:
		t.text(e, SegmentText, f.Message, f.Text)
	case hermes.KindText:
		t.wholeText(e)
	case hermes.KindContent:
		t.addContent(*f.More.Finish)
		if !f.More.Null {
			t.closing(e, f.Message, f.Text)
		}
	case hermes.KindThinking:
		t.thinking(e)
	case hermes.KindCommentary:
		t.text(e, SegmentCommentary, f.Message, f.Text)
	case hermes.KindWaiting:
		t.wait(e)
	case hermes.KindAnswered:
		t.waiting = nil
	case hermes.KindFinish:
		t.foldFinish(e)
	case hermes.KindError:
		t.failures = append(t.failures, failure{"event named error", e.Sequence})
		t.over = true
	case hermes.KindDone, hermes.KindClosed:
		t.over = true
	}
	t.toolsOf(e, f)
	if e.Kind == aip.KindPendingApproval && f.Kind != hermes.KindWaiting {
		t.waiting = &Waiting{Kind: "approval", Since: e.Sequence}
	}
}

// foreign reports whether a frame is of another family than the action's.
func (t *Turn) foreign(f *hermes.Frame) bool {
	own := t.op.Family()
	if own == hermes.FamilyNone {
		own = t.family
	}
	switch f.Kind {
	case hermes.KindError, hermes.KindDone, hermes.KindClosed: // all families have these
		return false
	}
	return f.Family != own && f.Family != hermes.FamilyNone && own != hermes.FamilyNone
}

func endsBadly(f *hermes.Finish) bool {
	good := f.Reason == "" || f.Reason == "stop" || f.Reason == "completed" // none: a closing text
	return !good || f.NotComplete || f.Partial || f.Interrupted
}

func (t *Turn) toolsOf(e *Entry, f *hermes.Frame) {
	if f.More == nil {
		return
	}
	for _, c := range f.More.Tools {
		t.tool(e, c)
	}
}

func (t *Turn) foldMore(e *Entry, m *hermes.More) {
	keepText(&t.responseID, m.ResponseID)
	keepText(&t.runID, m.RunID)
	keepText(&t.sessionID, m.SessionID)
	keepText(&t.model, m.Model)
	if m.Usage != nil {
		t.usage, t.usageAt = readUsage(m.Usage), e.Sequence
	}
	if m.TwoThings {
		t.breaches = append(t.breaches, breach{"a frame is not what its raw data says", e.Sequence})
	}
	if m.Failure && e.frame.Kind != hermes.KindError {
		t.failures = append(t.failures, failure{"the provider's error object", e.Sequence})
	}
}

// addContent keeps what assistant.completed says of the turn's end: a flag that
// was raised once stays.
func (t *Turn) addContent(f hermes.Finish) {
	if t.content != nil {
		f.NotComplete = f.NotComplete || t.content.NotComplete
		f.Partial = f.Partial || t.content.Partial
		f.Interrupted = f.Interrupted || t.content.Interrupted
	}
	t.content = &f
}

func readUsage(raw json.RawMessage) Usage {
	var u struct {
		Prompt     int64  `json:"prompt_tokens"`
		Completion int64  `json:"completion_tokens"`
		Input      int64  `json:"input_tokens"`
		Output     int64  `json:"output_tokens"`
		Total      *int64 `json:"total_tokens"`
	}
	_ = aip.UnmarshalLast(raw, &u)
	usage := Usage{Present: true, Input: u.Input + u.Prompt, Output: u.Output + u.Completion, Raw: raw}
	usage.Total = usage.Input + usage.Output
	if u.Total != nil {
		usage.Total = *u.Total
	}
	return usage
}

func (t *Turn) lastSegment() *Segment {
	if n := len(t.segments); n > 0 {
		return t.segments[n-1]
	}
	return nil
}

// segment returns the last segment when it continues, else a new one.
func (t *Turn) segment(e *Entry, kind SegmentKind, message string) *Segment {
	s := t.lastSegment()
	if s == nil || s.Kind != kind || s.Message != message {
		s = &Segment{Kind: kind, Message: message, First: e.Sequence, in: new(grown)}
		t.segments = append(t.segments, s)
		if kind == SegmentText {
			t.callStart, t.lastText = 0, s
			s.in, s.from, s.to = t.answer, t.answer.Len(), t.answer.Len()
		}
	}
	s.Last = e.Sequence
	e.Segment = len(t.segments) - 1
	return s
}

// text grows the turn by words. Only the assistant's own make the answer.
func (t *Turn) text(e *Entry, kind SegmentKind, message, text string) {
	if text == "" {
		return
	}
	if kind == SegmentText && t.answer.Len() > 0 && t.inAnswer != message {
		t.answer.WriteString("\n\n")
		t.letters += 2
	}
	s := t.segment(e, kind, message)
	if s.grow(e, text); kind != SegmentText {
		return
	}
	t.inAnswer = message
	if shown := strings.TrimRightFunc(text, unicode.IsSpace); shown != "" {
		at := s.to - len(text)
		if t.inkTo == 0 {
			t.inkFrom = at + len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
		}
		t.inkTo = at + len(shown)
	}
	t.letters += utf8.RuneCountInString(text)
	e.frame.Message = s.Message // one copy of an ID that every delta repeats
	e.grew = true
	t.waiting = nil
	t.textRow = max(t.textRow, e.Row)
	if e.frame.Family == hermes.FamilyResponses {
		c, at := t.texts[message], int32(e.Segment)
		if n := len(c.segments); n == 0 || c.segments[n-1] != at {
			c.segments = append(c.segments, at)
			t.texts[s.Message] = c
		}
		if c.done {
			t.breaches = append(t.breaches, breach{"a delta came behind its output_text.done", e.Sequence})
		}
	}
}

// says reports whether the content item's deltas are the text.
func (t *Turn) says(c contentText, text string) bool {
	for _, i := range c.segments {
		var ok bool
		if text, ok = strings.CutPrefix(text, t.segments[i].Text()); !ok {
			return false
		}
	}
	return text == ""
}

// wholeText checks a content item's whole text against its deltas. It is never
// added to them; in a turn without any delta it is the text.
func (t *Turn) wholeText(e *Entry) {
	f := &e.frame
	c, ok := t.texts[f.Message]
	if !ok && len(t.texts) == 0 {
		t.text(e, SegmentText, f.Message, f.Text)
		c, ok = t.texts[f.Message]
	}
	switch {
	case !ok && f.Text == "":
	case !ok || !t.says(c, f.Text):
		t.breaches = append(t.breaches, breach{"output_text.done is not what its deltas say", e.Sequence})
	default:
		c.done = true
		t.texts[f.Message] = c
	}
}

// closing takes the whole text that ends a session turn or a run. It usually
// repeats what was streamed, or its last part; without a stream it is the
// answer; and where it says something else, both are shown.
func (t *Turn) closing(e *Entry, message, text string) {
	switch streamed := t.Text()[t.inkFrom:t.inkTo]; {
	case blank(text):
	case streamed == "":
		t.text(e, SegmentText, message, text)
	case strings.HasSuffix(streamed, strings.TrimSpace(text)):
	default:
		if s := t.lastSegment(); s != nil && s.Kind == SegmentClosing && s.Text() == text {
			return
		}
		s := t.segment(e, SegmentClosing, fmt.Sprint("closing ", e.Sequence))
		e.added = 0
		s.grow(e, text)
	}
}

// thinking keeps reasoning apart from the answer. Hermes sends the beginning of
// the visible text of each model call as such: that is a repeat.
func (t *Turn) thinking(e *Entry) {
	text := strings.TrimSpace(e.frame.Text)
	if s := t.lastText; s != nil {
		call := strings.TrimSpace(s.Text()[min(t.callStart, s.len()):])
		t.callStart = s.len()
		if text != "" && strings.HasPrefix(call, text) {
			return
		}
	}
	t.text(e, SegmentThinking, e.frame.Message, e.frame.Text)
}

func (t *Turn) wait(e *Entry) {
	m := e.frame.More
	if m.Interact != "" && m.Interact == t.interact {
		return // the same request under its second name
	}
	t.interact = m.Interact
	t.waiting = &Waiting{Kind: m.Waiting, Since: e.Sequence}
	t.segment(e, SegmentWaiting, fmt.Sprint("waiting ", e.Sequence)).Waiting = m.Waiting
}

func (t *Turn) foldFinish(e *Entry) {
	f := &e.frame
	fin := f.More.Finish
	t.over = true
	if t.finish != nil && t.finish.Digest != fin.Digest {
		t.breaches = append(t.breaches, breach{"two different ends", e.Sequence})
		return
	}
	again := t.finish != nil
	if t.finish, t.finishAt = fin, e.Sequence; again {
		return // it says nothing that the first did not
	}
	if f.Family == hermes.FamilyChat {
		t.text(e, SegmentText, f.Message, f.Text)
		return
	}
	t.closing(e, f.Message, f.Text)
	if fin.Rows != nil {
		t.rowTools(e, fin.Rows.Tools)
	}
	t.outputTools(e, f.More.Output)
	if fin.Reason != "completed" {
		return // it repeats its error as if the assistant had said so
	}
	var unheard strings.Builder // what no delta said
	for _, o := range f.More.Output {
		if !strings.Contains(t.Text(), strings.TrimSpace(o.Text)) {
			unheard.WriteString(o.Text)
		}
	}
	t.closing(e, "output", unheard.String())
}

// outputTools takes from a Responses object's output the calls that no event
// told of.
func (t *Turn) outputTools(e *Entry, items []hermes.OutputItem) {
	for _, o := range items {
		if c := o.Tool; c.Key != "" && t.byKey[c.Key] == nil || c.Key == "" && c.Name != "" {
			t.tool(e, c)
		}
	}
}

// foldResult takes what only the result tells: the reply of an action that did
// not stream.
func (t *Turn) foldResult() {
	op := t.Operation()
	switch op {
	case hermes.OpChat, hermes.OpResponses, hermes.OpSessionChat, hermes.OpOperator:
	default:
		return
	}
	t.replied = true
	r := hermes.ReadReply(op, t.result.Output)
	e := &Entry{Row: t.applied}
	t.foldMore(e, &hermes.More{ResponseID: r.ID, SessionID: r.SessionID, Model: r.Model, Usage: r.Usage})
	if r.Failure {
		t.failures = append(t.failures, failure{"the provider's error object", 0})
	}
	t.outputTools(e, r.Output)
	if blank(t.Text()) {
		t.text(e, SegmentText, "reply", r.Text)
	}
	if r.Finish != "" {
		t.finish = &hermes.Finish{Reason: r.Finish}
	}
}
