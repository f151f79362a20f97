package model

import (
	"cmp"
	"fmt"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

func at(name ConditionName, mark Mark, detail string, seq uint64) Condition {
	return Condition{Name: name, Mark: mark, Detail: detail, Chunk: seq, HasChunk: true}
}

func cond(name ConditionName, mark Mark, detail string) Condition {
	return Condition{Name: name, Mark: mark, Detail: detail}
}

func (j judge) resultCondition() Condition {
	switch {
	case j.result != nil && j.status == aip.ResultCompleted:
		return cond(CondResult, Pass, "completed")
	case j.result != nil && j.code != "":
		return cond(CondResult, Fail, string(j.status)+": "+safeWord(j.code))
	case j.result != nil:
		return cond(CondResult, Fail, string(j.status))
	case j.Refused() != "":
		return cond(CondResult, Fail, "refused: "+safeWord(j.Refused()))
	case j.settled != nil && j.settled.State == aip.StateCompleted:
		return cond(CondResult, Unknown, "state completed, no result")
	case j.settled != nil && j.settled.Code == "":
		return cond(CondResult, Fail, "state "+safeWord(string(j.settled.State))+", no result")
	case j.waitsFor != "":
		return cond(CondResult, MarkPending, safeWord(string(j.waitsFor)))
	case j.why == "in progress":
		return cond(CondResult, MarkPending, "in progress under "+safeWord(j.successor))
	case j.why == "replay":
		return cond(CondResult, MarkPending, "the result is that of "+safeWord(j.successor))
	case j.state != "" && j.state != aip.StateUnknown: // which live streams have, too
		return cond(CondResult, MarkPending, "state "+safeWord(string(j.state)))
	}
	return cond(CondResult, MarkPending, "not yet")
}

func (j judge) terminal() Condition {
	return j.aggregate(CondTerminal, func() (bool, string) {
		if *j.out.Terminal {
			return true, "the aggregate saw the provider's end"
		}
		return false, "the aggregate saw no end"
	})
}

func (j judge) notTruncated() Condition {
	return j.aggregate(CondNotTruncated, func() (bool, string) {
		if j.out.Truncated {
			return false, "the aggregate was cut"
		}
		return true, "not cut"
	})
}

// aggregate is a condition that rests on the result's aggregate, which only
// streams have.
func (j judge) aggregate(name ConditionName, test func() (bool, string)) Condition {
	switch {
	case j.rules == rulesReply || j.rules == rulesResult, j.rules == rulesNone && j.Settled():
		return cond(name, NotApplicable, "")
	case !j.Settled():
		return cond(name, MarkPending, "")
	case !j.out.readable():
		return cond(name, Unknown, "the aggregate cannot be read")
	}
	ok, detail := test()
	if !ok {
		return cond(name, Fail, detail)
	}
	return cond(name, Pass, detail)
}

func (j judge) finishCondition() Condition {
	switch {
	case !j.hasFinish() && j.Settled(), j.rules == rulesResult, j.op == hermes.OpSessionChat:
		return cond(CondFinish, NotApplicable, "")
	case j.finish == nil && j.Settled():
		return cond(CondFinish, Fail, "no evidence of the provider's end")
	case j.finish == nil:
		return cond(CondFinish, MarkPending, "")
	}
	mark := Pass
	j.decideFinish(func(Word, ConditionName, string) { mark = Fail })
	detail := safeWord(j.finish.Reason)
	if rows, ok := j.closingRows(); ok && mark != Fail || ok && j.finish.Reason == "completed" {
		switch {
		case rows == nil || rows.Count == 0:
			mark, detail = orFail(mark, Unknown), detail+", no messages"
		case rows.Role != "assistant":
			detail += ", closing message of another role"
		case rows.Finish == "":
			mark, detail = orFail(mark, Unknown), detail+", closing message without a finish"
		default:
			detail += ", closing message " + safeWord(rows.Finish)
		}
	}
	if j.rules == rulesReply {
		return cond(CondFinish, mark, detail)
	}
	return at(CondFinish, mark, detail, j.finishAt)
}

func orFail(m, other Mark) Mark {
	if m == Fail {
		return m
	}
	return other
}

func (j judge) noError() Condition {
	switch {
	case len(j.failures) > 0:
		f := j.failures[0]
		return at(CondNoError, Fail, f.what, f.at)
	case j.status == aip.ResultCompleted && j.result.Error != nil:
		return cond(CondNoError, Fail, "the completed result carries an error")
	case j.Settled():
		return cond(CondNoError, Pass, "none seen")
	}
	return cond(CondNoError, MarkPending, "")
}

func (j judge) usageCondition() Condition {
	switch {
	case j.usage.Present && j.usage.Total == 0:
		return at(CondUsage, Unknown, "zero tokens", j.usageAt)
	case j.usage.Present && j.usage.Total < 0:
		return at(CondUsage, Unknown, "fewer tokens than none", j.usageAt)
	case j.usage.Present:
		return at(CondUsage, Pass, Count(int(j.usage.Total), "token", "tokens"), j.usageAt)
	case j.rules == rulesResult, j.Settled():
		return cond(CondUsage, NotApplicable, "not reported")
	}
	return cond(CondUsage, MarkPending, "")
}

func (j judge) answerCondition() Condition {
	switch {
	case j.rules == rulesResult:
		return cond(CondAnswer, NotApplicable, "")
	case !blank(j.Text()):
		return cond(CondAnswer, Pass, Count(j.letters, "character", "characters"))
	case !j.Settled():
		return cond(CondAnswer, MarkPending, "")
	case j.rules == rulesNone, j.op == hermes.OpOperator:
		return cond(CondAnswer, NotApplicable, "")
	}
	return cond(CondAnswer, Fail, "no assistant text")
}

func (j judge) integrity() Condition {
	switch {
	case len(j.conflicts) > 0:
		return at(CondIntegrity, Fail, "other content came under "+Count(len(j.conflicts), "known sequence", "known sequences"), j.conflicts[0])
	case len(j.breaches) > 0:
		return at(CondIntegrity, Fail, j.breaches[0].what, j.breaches[0].at)
	case j.misnamed, j.rules == rulesStream && j.out.Operation != "" && j.out.Operation != string(j.op):
		return cond(CondIntegrity, Fail, "the result names another operation than its chunks are of")
	case j.others > 0:
		return cond(CondIntegrity, Fail, "two different results")
	}
	if j.result != nil && j.result.Aggregate != nil {
		m := j.result.Aggregate
		switch {
		case len(m.Unlike) > 0:
			return at(CondIntegrity, Fail, Count(len(m.Unlike), "chunk is", "chunks are")+" not in the result", m.Unlike[0])
		case m.Missing > 0:
			return cond(CondIntegrity, Pass, fmt.Sprintf("%s as in the result, %d taken from it", Count(m.Matched, "chunk", "chunks"), m.Missing))
		}
		return cond(CondIntegrity, Pass, Count(m.Matched, "chunk", "chunks")+", as in the result")
	}
	if j.rules == rulesStream && j.status == aip.ResultCompleted && j.out.readable() {
		return cond(CondIntegrity, Unknown, Count(j.chunks, "chunk", "chunks")+", compared with nothing")
	}
	return cond(CondIntegrity, Pass, Count(j.chunks, "chunk", "chunks"))
}

func (j judge) effects() Condition {
	switch j.op {
	case hermes.OpChat, hermes.OpSessionChat, hermes.OpOperator:
		return cond(CondEffects, Unknown, "the reply cannot show tools")
	}
	switch {
	case j.rules == rulesResult:
		return cond(CondEffects, NotApplicable, "")
	case j.rules == rulesNone && j.Settled():
		return cond(CondEffects, Unknown, "no rules for this capability")
	case len(j.tools) == 0 && j.Settled():
		return cond(CondEffects, NotApplicable, "no tools seen")
	case len(j.tools) == 0:
		return cond(CondEffects, MarkPending, "")
	}
	left := 0
	for _, tool := range j.tools {
		if !j.Confirmed(tool) {
			left++
		}
	}
	if left == 0 {
		return cond(CondEffects, Pass, Count(len(j.tools), "tool", "tools")+", confirmed")
	}
	say := Count(len(j.tools), "tool", "tools") + " not confirmed"
	if left < len(j.tools) {
		say = fmt.Sprintf("%d of %s", left, say)
	}
	return cond(CondEffects, MarkPending, say)
}

// decision is the seeds' word on the result's error, or "".
func (j judge) decision() string {
	if j.result == nil {
		return ""
	}
	return Decision(j.op, j.result.Error)
}

// refusedAdvice is what to do about a submission that made no action.
func (t *Turn) refusedAdvice() string {
	if t.Refused() == CodeNotSent {
		return "there is no action: check the daemon's URL and the network"
	}
	return "there is no action: the code says what to correct"
}

// advice says what to do next, in the seeds' words.
func (j judge) advice(v Verdict) []string {
	var out []string
	say := func(s string) { out = append(out, s) }
	switch v.Word {
	case Accepted:
		return nil
	case Pending:
		if id, _ := j.Successor(); id != "" {
			say("follow the action that holds the key: " + safeWord(id))
		}
		return out
	case AwaitingApproval:
		say("nothing runs until somebody approves or denies it")
		return out
	case Unconfirmed:
		switch v.Because {
		case CondEffects:
			if v.Condition(CondEffects).Mark == Unknown {
				say("the reply cannot show which tools ran: verify external effects, it stays unconfirmed here")
			} else {
				say("check what the tools changed outside, then confirm them")
			}
		default:
			say("read the answer: a refused or cut call can look like this one; confirm it if it stands")
			if m := v.Condition(CondEffects).Mark; m == MarkPending || m == Unknown {
				say("check what the tools changed outside, too")
			}
		}
	case Partial:
		say("keep the text as partial evidence; do not present it as complete")
		if d := j.decision(); d != "" {
			say(d)
		}
	case Failed:
		if j.Refused() != "" {
			say(j.refusedAdvice())
			return out
		}
		say(cmp.Or(j.decision(), "inspect the typed error and the provider's last event"))
	case Cancelled:
		say("a cancel is no rollback: verify provider and external effects")
	case Contradicted:
		say("compare the chunks with the result before believing either")
	}
	const again = "reconcile the original action: read its status and result again"
	switch v.Word {
	case Incomplete:
		say(cmp.Or(j.decision(), again))
	case Contradicted:
		say(again)
	}
	if v.Word != Unconfirmed {
		switch {
		case j.responseID != "":
			say("read the stored response once with response_get: " + safeWord(j.responseID))
		case j.sessionID != "":
			say("read the session's messages: " + safeWord(j.sessionID))
		case v.Word == Incomplete && j.rules == rulesStream:
			say("no provider ID was seen: there is nothing to ask, escalate")
		}
		if len(j.tools) > 0 {
			say("verify external effects: tools ran")
		}
	}
	if j.neverBegan() {
		return out
	}
	say("nothing is retried: the turn may have written, sent or called outside")
	return out
}
