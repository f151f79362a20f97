package model

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// RulesVersion changes whenever the verdict of some turn may change, or what a frame
// is read as, so that verdicts and briefs kept from earlier are known to be stale.
const RulesVersion = 2

// Word is the verdict's one word.
type Word string

const (
	Pending          Word = "pending"
	AwaitingApproval Word = "awaiting_approval"
	Accepted         Word = "accepted"
	Unconfirmed      Word = "unconfirmed"
	Partial          Word = "partial"
	Failed           Word = "failed"
	Cancelled        Word = "cancelled"
	Incomplete       Word = "incomplete"
	Contradicted     Word = "contradicted"
)

// Mark is how a condition stands.
type Mark string

const (
	Pass          Mark = "pass"
	Fail          Mark = "fail"
	MarkPending   Mark = "pending"
	NotApplicable Mark = "n/a"
	Unknown       Mark = "unknown"
)

// ConditionName names a condition.
type ConditionName string

const (
	CondResult       ConditionName = "result"
	CondTerminal     ConditionName = "terminal"
	CondNotTruncated ConditionName = "not_truncated"
	CondFinish       ConditionName = "finish"
	CondNoError      ConditionName = "no_error"
	CondUsage        ConditionName = "usage"
	CondAnswer       ConditionName = "answer"
	CondIntegrity    ConditionName = "integrity"
	CondEffects      ConditionName = "effects"
)

// ConditionNames is the order in which conditions are shown.
var ConditionNames = []ConditionName{
	CondResult, CondTerminal, CondNotTruncated, CondFinish, CondNoError, CondUsage, CondAnswer, CondIntegrity, CondEffects,
}

// Condition is one thing that the verdict rests on.
type Condition struct {
	Name     ConditionName
	Mark     Mark
	Detail   string // fixed words, numbers and identifier-like values only: safe and not private
	Chunk    uint64 // the chunk that it rests on, when HasChunk
	HasChunk bool
}

// Verdict is what the operator may believe, and why.
type Verdict struct {
	Word       Word
	Reason     string        // one sentence: the line of the table that decided
	Because    ConditionName // the condition that decided, or ""
	Conditions []Condition   // in the order of ConditionNames
	Advice     []string      // what to do next, in the seeds' words; never a new submission
}

// Condition returns the named condition.
func (v Verdict) Condition(name ConditionName) Condition {
	for _, c := range v.Conditions {
		if c.Name == name {
			return c
		}
	}
	return Condition{Name: name, Mark: NotApplicable}
}

// output is what a stream's aggregate says of itself (wire/hermes.md A.8).
type output struct {
	Operation string          `json:"operation"`
	Terminal  *bool           `json:"terminal"`
	Cut       json.RawMessage `json:"truncated"` // absent is false
	Truncated bool            `json:"-"`

	// Events stays only where it is no list: a journal keeps an output without it.
	Events json.RawMessage `json:"events"`
}

// readable reports whether the aggregate's word can be had at all: it may be
// absent, redacted in whole or in part, or lost to a replay.
func (o output) readable() bool { return o.Terminal != nil && o.Events == nil }

func readOutput(raw json.RawMessage) output {
	var o output
	_ = aip.UnmarshalLast(raw, &o)
	switch string(o.Cut) {
	case "", "null", "false":
	case "true":
		o.Truncated = true
	default:
		o.Terminal = nil // neither yes nor no: it cannot be read
	}
	return o
}

// judge works out one verdict.
type judge struct {
	*Turn
	op     hermes.Operation
	rules  rules
	out    output
	status aip.ResultStatus
	code   string
}

// rules say which conditions a family has.
type rules int

const (
	rulesNone   rules = iota // not Hermes: there is nothing to judge by
	rulesResult              // the result and integrity alone decide
	rulesReply               // one whole reply
	rulesStream              // frames, and an aggregate of them
)

func rulesOf(op hermes.Operation) rules {
	switch op {
	case hermes.OpChatStream, hermes.OpResponsesStream, hermes.OpSessionChatStream, hermes.OpRunEvents:
		return rulesStream
	case hermes.OpChat, hermes.OpResponses, hermes.OpSessionChat, hermes.OpOperator:
		return rulesReply
	}
	if _, ok := op.Spec(); ok {
		return rulesResult
	}
	return rulesNone
}

// Verdict says what may be believed of the turn as it stands.
func (t *Turn) Verdict() Verdict {
	j := judge{Turn: t, op: t.Operation()}
	j.rules = rulesOf(j.op)
	if t.result != nil {
		j.out, j.status = readOutput(t.result.Output), t.result.Status
		if m := t.result.Aggregate; m != nil && m.Unread > 0 {
			j.out.Terminal = nil // an aggregate whose events are hidden is not to be relied on
		}
		if t.result.Error != nil {
			j.code = t.result.Error.Code
		}
	}
	v := Verdict{Conditions: []Condition{
		j.resultCondition(), j.terminal(), j.notTruncated(), j.finishCondition(), j.noError(),
		j.usageCondition(), j.answerCondition(), j.integrity(), j.effects(),
	}}
	j.decide(&v)
	v.Advice = j.advice(v)
	return v
}

// decide goes down the design's table: the first line that fits wins, and only
// the last one accepts.
func (j judge) decide(v *Verdict) {
	is := func(word Word, because ConditionName, reason string) {
		v.Word, v.Because, v.Reason = word, because, reason
	}
	failed := func(name ConditionName) bool { return v.Condition(name).Mark == Fail }
	if !j.Settled() {
		switch {
		case j.waitsFor != "" || j.state == aip.StatePendingApproval:
			is(AwaitingApproval, CondResult, "the action waits for an approval")
		case j.why == "in progress":
			is(Pending, CondResult, "another action holds this key and still runs")
		default:
			is(Pending, CondResult, "the action has no outcome yet")
		}
		return
	}
	if failed(CondIntegrity) {
		is(Contradicted, CondIntegrity, "the evidence contradicts itself")
		return
	}
	switch code := j.Refused(); code {
	case "":
	case CodeNotSent:
		is(Failed, CondResult, "no connection to the daemon came to be: nothing was sent")
		return
	default:
		is(Failed, CondResult, "the daemon refused the submission with "+safeWord(code)+": nothing ran")
		return
	}
	if j.result == nil {
		switch j.settled.State {
		case aip.StateCancelled:
			is(Cancelled, CondResult, "the daemon says cancelled, and keeps no result")
		case aip.StateCompleted:
			is(Incomplete, CondResult, "the daemon says completed, but has no result")
		default:
			is(Failed, CondResult, "the daemon says "+string(j.settled.State)+", and keeps no result")
		}
		return
	}
	switch {
	case j.status == aip.ResultCancelled:
		is(Cancelled, CondResult, "the action was cancelled")
	case j.status == aip.ResultFailed:
		j.decideFailed(is)
	case j.rules == rulesStream && !j.out.readable(), j.rules == rulesReply && !j.replyReadable():
		is(Incomplete, CondTerminal, "the result completed, but what it collected cannot be read")
	case failed(CondNotTruncated):
		is(Contradicted, CondNotTruncated, "the result says completed, its aggregate says truncated")
	case failed(CondTerminal):
		is(Contradicted, CondTerminal, "the result says completed, its aggregate saw no end")
	case v.Condition(CondIntegrity).Mark == Unknown:
		is(Incomplete, CondIntegrity, "the result completed, but does not tell what it collected: chunks may be missing")
	default:
		j.decideCompleted(v, is)
	}
}

func (j judge) decideFailed(is func(Word, ConditionName, string)) {
	uncertain := j.result.Error != nil && j.result.Error.Uncertain()
	code := safeWord(j.code)
	switch {
	case CancelCode(j.code):
		is(Cancelled, CondResult, "the action ended with "+code)
	case strings.HasSuffix(j.code, "stream_truncated"):
		is(Partial, CondResult, "the stream was cut at its event limit")
	case strings.HasSuffix(j.code, "stream_incomplete"):
		is(Incomplete, CondResult, "the provider's stream stopped without an end")
	case j.op == hermes.OpRunEvents && (uncertainCode(j.code) || anySuffix(j.code, ".transport", ".remote_temporary", ".invalid_response")):
		is(Incomplete, CondResult, "the run's events were lost, the run goes on")
	case uncertain, uncertainCode(j.code):
		is(Incomplete, CondResult, "it failed with "+code+", and the work may have happened")
	case j.op == hermes.OpSessionFork:
		is(Incomplete, CondResult, "a failed fork may have written already")
	default:
		is(Failed, CondResult, "the action failed with "+code)
	}
}

// CancelCode reports whether a failed result's code says that the action was
// cancelled (wire/hermes.md A.9).
func CancelCode(code string) bool { return strings.HasSuffix(code, "cancelled") }

func anySuffix(s string, suffixes ...string) bool {
	for _, x := range suffixes {
		if strings.HasSuffix(s, x) {
			return true
		}
	}
	return false
}

func (j judge) decideCompleted(v *Verdict, is func(Word, ConditionName, string)) {
	if j.hasFinish() {
		if j.finish == nil {
			is(Incomplete, CondFinish, "there is no evidence of the provider's own end")
			return
		}
		if j.decideFinish(is) {
			return
		}
	}
	confirmed := j.AnswerConfirmed()
	rows, closes := j.closingRows()
	mark := func(name ConditionName) Mark { return v.Condition(name).Mark }
	switch {
	case mark(CondNoError) == Fail:
		is(Contradicted, CondNoError, "the result says completed, the stream holds an error")
	case mark(CondUsage) == Unknown && !confirmed:
		is(Unconfirmed, CondUsage, "the provider counted no tokens, as refused calls do")
	case mark(CondAnswer) == Fail && !confirmed:
		is(Unconfirmed, CondAnswer, "there is no assistant text")
	case closes && (rows == nil || rows.Count == 0) && !confirmed:
		is(Unconfirmed, CondFinish, "the turn stored no messages")
	case closes && rows != nil && rows.Count > 0 && rows.Finish == "" && !confirmed:
		is(Unconfirmed, CondFinish, "the closing message has no finish reason")
	case j.rules == rulesNone && !confirmed:
		is(Unconfirmed, CondFinish, "no rules for this capability")
	case mark(CondEffects) != Pass && mark(CondEffects) != NotApplicable:
		reason := "what the tools did is not confirmed"
		if mark(CondEffects) == Unknown {
			reason = "the reply cannot show which tools ran"
		}
		is(Unconfirmed, CondEffects, reason)
	default:
		is(Accepted, "", "every condition is met")
	}
}

// decideFinish applies the lines about the provider's own end; it reports
// whether one of them fitted.
func (j judge) decideFinish(is func(Word, ConditionName, string)) bool {
	f := j.finish
	flags := *f
	if c := j.content; c != nil {
		flags.NotComplete = flags.NotComplete || c.NotComplete
		flags.Partial = flags.Partial || c.Partial
		flags.Interrupted = flags.Interrupted || c.Interrupted
	}
	says := "the provider says " + safeWord(f.Reason)
	switch j.op {
	case hermes.OpChatStream, hermes.OpChat:
		switch f.Reason {
		case "stop":
			return false
		case "length":
			is(Partial, CondFinish, "the provider says length: the answer was cut")
		case "error":
			is(Failed, CondFinish, says)
		default:
			is(Incomplete, CondFinish, says)
		}
		return true
	case hermes.OpResponsesStream, hermes.OpResponses:
		if f.Reason == "completed" {
			return false
		}
		is(Contradicted, CondFinish, "the result says completed, the Responses object "+safeWord(f.Reason))
		return true
	}
	switch {
	case f.Reason == "failed" || flags.NotComplete:
		is(Failed, CondFinish, "the run ended as failed")
	case f.Reason == "cancelled":
		is(Cancelled, CondFinish, "the run ended as cancelled")
	case flags.Partial || flags.Interrupted || f.Reason == "interrupted":
		is(Partial, CondFinish, "the run was stopped before its end")
	case f.Reason != "completed":
		is(Incomplete, CondFinish, says)
	default:
		rows, closes := j.closingRows()
		if !closes || rows == nil || rows.Count == 0 {
			return false
		}
		switch {
		case rows.Role != "assistant":
			is(Contradicted, CondFinish, "the run says completed, its closing message is not the assistant's")
		case rows.Finish == "length":
			is(Partial, CondFinish, "the closing message was cut at its length")
		case rows.Finish != "stop" && rows.Finish != "":
			is(Contradicted, CondFinish, "the run says completed, its closing message ends with "+safeWord(rows.Finish))
		default:
			return false
		}
	}
	return true
}

// hasFinish reports whether the family shows the provider's own end.
func (j judge) hasFinish() bool {
	return j.rules == rulesStream || j.rules == rulesReply && j.op != hermes.OpSessionChat
}

// closingRows returns the messages that end a session turn, and whether the
// family has them.
func (j judge) closingRows() (*hermes.Rows, bool) {
	if j.op != hermes.OpSessionChatStream || j.finish == nil {
		return nil, false
	}
	return j.finish.Rows, true
}

// replyReadable reports whether an unstreamed reply is there to be read.
func (j judge) replyReadable() bool {
	var m map[string]json.RawMessage
	if json.Unmarshal(j.result.Output, &m) != nil {
		return false
	}
	delete(m, "idempotent_replay")
	delete(m, "redacted")
	return len(m) > 0
}

// safeWord returns an identifier-like value as it is, and of any other only
// that it is there: details are shown unmasked.
func safeWord(s string) string {
	if s == "" {
		return "nothing"
	}
	if !identifier.MatchString(s) {
		return fmt.Sprintf("an unknown value of %d characters", len([]rune(s)))
	}
	return s
}

var identifier = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,64}$`)

// sameOutcome reports whether two results of an operation say the same; a daemon
// may differ in receipts and times between two reads, and in what it redacts.
func sameOutcome(op hermes.Operation, a, b *Result) bool {
	if x, y := a.Aggregate, b.Aggregate; x != nil && y != nil && x.Unread+y.Unread == 0 && (x.Events != y.Events || len(x.Unlike) != len(y.Unlike)) {
		return false
	}
	if rulesOf(op) == rulesReply && a.Status == aip.ResultCompleted && b.Status == aip.ResultCompleted {
		x, y := hermes.ReadReply(op, a.Output), hermes.ReadReply(op, b.Output)
		unlike := func(x, y string) bool { return x != "" && y != "" && x != y }
		if unlike(x.Finish, y.Finish) || unlike(x.Text, y.Text) || x.Failure != y.Failure && x.Finish != "" && y.Finish != "" {
			return false
		}
	}
	code := func(r *Result) string {
		if r.Error == nil {
			return ""
		}
		return r.Error.Code
	}
	x, y := readOutput(a.Output), readOutput(b.Output)
	return a.Status == b.Status && code(a) == code(b) &&
		x.readable() == y.readable() && (!x.readable() || *x.Terminal == *y.Terminal) && x.Truncated == y.Truncated
}
