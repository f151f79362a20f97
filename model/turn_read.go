package model

import (
	"encoding/json"
	"strings"
	"time"
	"unicode"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// Revision changes whenever something that is shown may have changed.
func (t *Turn) Revision() int { return t.revision }

// Restarts counts how often a late chunk made the fold start again. While it
// stands still, text only grows and tools only change forward.
func (t *Turn) Restarts() int { return t.restarts }

// Find returns the entry of the chunk with a sequence.
func (t *Turn) Find(sequence uint64) (Entry, bool) {
	i, ok := t.find(sequence)
	if !ok {
		return Entry{}, false
	}
	return t.Entries().Entry(i), true
}

// Confirmed reports whether the operator's word covers what a tool did until now.
func (t *Turn) Confirmed(tool *Tool) bool {
	through, ok := t.confirmedTools[tool.Key]
	return ok && tool.Row <= through
}

// AnswerConfirmed reports whether it covers the answer as it is now.
func (t *Turn) AnswerConfirmed() bool { return t.confirmedAnswer > 0 && t.textRow <= t.confirmedAnswer }

// ToolKeys are the keys of all tools, in their order.
func (t *Turn) ToolKeys() []string {
	var keys []string
	for _, tool := range t.tools {
		keys = append(keys, tool.Key)
	}
	return keys
}

// Tool returns the tool of a key, or nil.
func (t *Turn) Tool(key string) *Tool { return t.byKey[key] }

// ToolSteps are the changes of tools' states in the order of their chunks.
func (t *Turn) ToolSteps() []ToolStep { return t.steps }

// Applied is the number of the last journal row folded in.
func (t *Turn) Applied() int64 { return t.applied }

// Action is the action's ID.
func (t *Turn) Action() string { return t.action }

// Capability is the action's capability ID, or "" while it is unknown.
func (t *Turn) Capability() string { return t.capability }

// Endpoint is the Hermes endpoint that the capability names, or "".
func (t *Turn) Endpoint() string { return t.endpoint }

// Request is what this console submitted, or nil.
func (t *Turn) Request() *Request { return t.request }

// Operation is the Hermes operation: from the capability, else from the result,
// else from the frames; "" while unknown or not Hermes.
func (t *Turn) Operation() hermes.Operation {
	if t.op != "" || t.capability != "" {
		return t.op
	}
	switch t.family {
	case hermes.FamilyChat:
		return hermes.OpChatStream
	case hermes.FamilyResponses:
		return hermes.OpResponsesStream
	case hermes.FamilySession:
		return hermes.OpSessionChatStream
	case hermes.FamilyRun:
		return hermes.OpRunEvents
	}
	return ""
}

// State is the last state that the daemon gave, or "".
func (t *Turn) State() aip.State { return t.state }

// Segments are the stretches of the turn in order. The slice and what it points
// to belong to the turn, and are good until the next Apply.
func (t *Turn) Segments() []*Segment { return t.segments }

// Tools are the tool rows in the order of their first chunk, under the same
// terms.
func (t *Turn) Tools() []*Tool { return t.tools }

// Text is the assistant's answer as the provider sent it: messages joined by a
// blank line. It only grows, unless a chunk comes late.
func (t *Turn) Text() string { return t.answer.String() }

// Chunks counts the chunks of the journal.
func (t *Turn) Chunks() int { return t.chunks }

// Gaps are the sequences that never came, between those that did.
func (t *Turn) Gaps() []Gap { return t.gaps }

// Conflicts are the sequences under which other content came, ascending.
func (t *Turn) Conflicts() []uint64 { return t.conflicts }

// OtherRows are the journal rows that hold other content under a sequence, in
// the order in which they came.
func (t *Turn) OtherRows(sequence uint64) []int64 { return t.unlike[sequence] }

// Waiting is the approval or question that the turn waits for, or nil.
func (t *Turn) Waiting() *Waiting {
	if t.over || t.Settled() {
		return nil
	}
	return t.waiting
}

// Usage is the last token count that the provider reported.
func (t *Turn) Usage() Usage { return t.usage }

// FinishReason is the provider's own word for its end, or "".
func (t *Turn) FinishReason() string {
	if t.finish == nil {
		return ""
	}
	return t.finish.Reason
}

// ResponseID is the stored Responses object's ID, or "".
func (t *Turn) ResponseID() string { return t.responseID }

// SessionID is the Hermes session's ID as last reported; it may rotate during a
// turn.
func (t *Turn) SessionID() string { return t.sessionID }

// Model is the model that the provider named, or "".
func (t *Turn) Model() string { return t.model }

// Result is the result that settled the action, or nil.
func (t *Turn) Result() *Result { return t.result }

// Object is what a completed action that is no turn answered with, such as a list
// or a run's status; nil for turns. It is from outside, and private.
func (t *Turn) Object() json.RawMessage {
	if t.result == nil || t.result.Status != aip.ResultCompleted || rulesOf(t.Operation()) != rulesResult {
		return nil
	}
	return t.result.Output
}

// err is the error of the result, or nil.
func (t *Turn) err() *aip.Error {
	if t.result == nil {
		return nil
	}
	return t.result.Error
}

// Settled reports whether the action has its outcome.
func (t *Turn) Settled() bool {
	return t.result != nil || t.settled != nil && (t.settled.Code == "" || t.Refused() != "")
}

// Refused is the code with which the daemon refused the submission, CodeNotSent
// where it was never asked, or "". Any sign of the action says more: something
// took it all the same.
func (t *Turn) Refused() string {
	if t.settled == nil || t.result != nil || t.slots.n > 0 || t.waitsFor != "" || t.state != "" && t.state != aip.StateUnknown {
		return ""
	}
	return t.settled.Code
}

// Successor is the action to judge instead of this one, and why: a result that
// is another action's, or a key that another action holds. It is "" for most.
func (t *Turn) Successor() (action, why string) {
	if t.Settled() || t.successor == t.action {
		return "", ""
	}
	return t.successor, t.why
}

// Span is the time of the first and of the last row.
func (t *Turn) Span() (first, last time.Time) { return t.first, t.last }

// blank reports whether text shows nothing: white space, controls and
// characters that take no place are no answer.
func blank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		switch r {
		case '\u034f', '\u115f', '\u1160', '\u2800', '\u3164', '\uffa0':
			return false
		}
		return unicode.IsGraphic(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.Variation_Selector, r)
	})
}
