package model

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// Read is one thing that the provider can be asked about an action, without
// changing anything.
type Read struct {
	Op hermes.Operation
	ID string // of the object, from outside
	Is string // what the object is to the action: response, session, source, child or run
}

// Input is the input of the action that asks.
func (r Read) Input() json.RawMessage {
	raw, err := json.Marshal(map[string]string{r.Op.TargetField(): r.ID})
	if err != nil {
		panic(err) // strings can be encoded
	}
	return raw
}

// Reads says what the provider can be asked about the turn (seed 000, section
// 14; seed 001, "Read and delete stored responses"; seed 002, "Apply idempotency
// and retry rules"), or why there is nothing to ask. Nothing is invented: an ID
// was seen in the stream, or given in the request.
func (t *Turn) Reads() (reads []Read, why string) {
	op := t.Operation()
	var input json.RawMessage
	if t.request != nil {
		input = t.request.Input
	}
	if w := t.Verdict().Word; w == AwaitingApproval {
		return nil, "nothing ran yet: the action waits for an approval"
	}
	switch t.Refused() {
	case "":
	case CodeNotSent:
		return nil, "nothing ran: nothing was sent"
	default:
		return nil, "nothing ran: the daemon refused the submission"
	}
	if e := t.err(); e != nil && nothingRan(op, e) && t.slots.n == 0 {
		if strings.HasPrefix(e.Code, "policy.") {
			return nil, "nothing ran: the daemon's policy refused the action"
		}
		return nil, "nothing ran: the action was refused with " + safeWord(e.Code)
	}
	target := hermes.Target(op, input)
	one := func(op hermes.Operation, id, is, none string) ([]Read, string) {
		if id == "" {
			return nil, none
		}
		return []Read{{op, id, is}}, ""
	}
	switch op {
	case hermes.OpResponses, hermes.OpResponsesStream:
		if hermes.Unstored(input) {
			return nil, "the request said store: false, so the provider keeps nothing of it"
		}
		return one(hermes.OpResponseGet, t.responseID, "response", "no response ID was ever seen")
	case hermes.OpChat, hermes.OpChatStream:
		if t.request == nil {
			return nil, "the journal does not hold the request, and a chat shows no session"
		}
		return one(hermes.OpSessionMessages, hermes.Field(input, "session_id"), "session", "the request named no session, and a chat stream shows none")
	case hermes.OpSessionChat, hermes.OpSessionChatStream:
		if t.sessionID != "" {
			target = t.sessionID
		}
		return one(hermes.OpSessionMessages, target, "session", "no session ID was ever seen")
	case hermes.OpResponseDelete:
		return one(hermes.OpResponseGet, target, "response", "the journal does not hold which response was to be deleted")
	case hermes.OpSessionDelete, hermes.OpSessionPatch:
		return one(hermes.OpSessionGet, target, "session", "the journal does not hold which session it was about")
	case hermes.OpSessionCreate:
		id := hermes.Field(input, "id")
		if id == "" {
			id = hermes.Field(input, "session_id")
		}
		return one(hermes.OpSessionGet, id, "session", "the request named no ID for the session")
	case hermes.OpSessionFork:
		if target == "" {
			return nil, "the journal does not hold which session was forked"
		}
		reads = []Read{{hermes.OpSessionGet, target, "source"}}
		if child := hermes.Field(input, "id"); child != "" {
			reads = append(reads, Read{hermes.OpSessionGet, child, "child"})
		}
		return reads, ""
	case hermes.OpRunEvents, hermes.OpRunStop, hermes.OpRunApproval:
		return one(hermes.OpRunStatus, target, "run", "the journal does not hold which run it was about")
	}
	if spec, ok := op.Spec(); ok && spec.ReadOnly {
		return nil, "it only read, so there is nothing to reconcile"
	}
	return nil, "no provider ID was ever seen"
}

// ProviderState is what the provider holds of an object.
type ProviderState string

const (
	ProviderCompleted  ProviderState = "completed"
	ProviderFailed     ProviderState = "failed"
	ProviderIncomplete ProviderState = "incomplete"
	ProviderInProgress ProviderState = "in_progress"
	ProviderPresent    ProviderState = "present"    // a session, which has no outcome of its own
	ProviderAbsent     ProviderState = "absent"     // HTTP 404
	ProviderUnreadable ProviderState = "unreadable" // an answer that tells nothing
	ProviderUnread     ProviderState = "unread"     // the read failed
)

// Likeness is how stored text compares with what was streamed.
type Likeness string

const (
	LikeNone    Likeness = ""        // one of them holds none
	LikeSame    Likeness = "same"    // but for white space
	LikeLonger  Likeness = "longer"  // the stored text begins with the streamed one
	LikeShorter Likeness = "shorter" // the streamed text begins or ends with the stored one
	LikeUnlike  Likeness = "unlike"
)

// Evidence is what one read brought.
type Evidence struct {
	Read
	Action     string // that asked
	State      ProviderState
	Status     string     // the provider's own word, if it is one
	Error      *aip.Error // why it was not read
	Characters int        // of the text that the provider holds of the turn
	Tools      int        // calls that it holds of the turn
	Text       Likeness

	// Of a transcript:
	Resolved string // the session that was read, which may be a later one of its chain
	Messages int
	Question bool   // what the request asked is among them
	Earlier  bool   // it was written before the request was: the same was asked earlier
	Closing  string // role of the last message of the turn
	Finish   string // of the last message of the turn

	Session *hermes.Session // of session_get
	Output  json.RawMessage // whole: private
}

// ReadEvidence reads the result of an action that asked for r.
func (t *Turn) ReadEvidence(r Read, res aip.Result) Evidence {
	e := Evidence{Read: r, Action: res.ActionID, State: ProviderUnreadable, Output: res.Output}
	if res.Status != aip.ResultCompleted {
		e.State, e.Error, e.Output = ProviderUnread, res.Error, nil
		if res.Error != nil && res.Error.RemoteStatus() == http.StatusNotFound {
			e.State = ProviderAbsent
		}
		return e
	}
	switch r.Op {
	case hermes.OpResponseGet:
		reply := hermes.ReadReply(hermes.OpResponses, res.Output)
		e.status(reply.Finish)
		for _, o := range reply.Output {
			if o.Type == "function_call" {
				e.Tools++
			}
		}
		e.text(reply.Text, t.Text())
	case hermes.OpRunStatus:
		var run struct {
			Status string          `json:"status"`
			Output json.RawMessage `json:"output"`
		}
		_ = aip.UnmarshalLast(res.Output, &run)
		e.status(run.Status)
		var text string
		_ = json.Unmarshal(run.Output, &text)
		e.text(text, t.Text())
	case hermes.OpSessionGet:
		if s, ok := hermes.ReadSession(res.Output); ok {
			e.State, e.Session, e.Resolved, e.Messages = ProviderPresent, &s, s.ID, s.MessageCount
		}
	case hermes.OpSessionMessages:
		if tr, ok := hermes.ReadTranscript(res.Output); ok {
			e.State, e.Resolved, e.Messages = ProviderPresent, tr.SessionID, len(tr.Messages)
			e.transcript(t, tr.Messages)
		}
	}
	return e
}

func (e *Evidence) status(word string) {
	if identifier.MatchString(word) {
		e.Status = word
	}
	switch word {
	case "completed":
		e.State = ProviderCompleted
	case "failed":
		e.State = ProviderFailed
	case "incomplete", "cancelled", "interrupted":
		e.State = ProviderIncomplete
	case "in_progress", "queued", "running", "started", "stopping", "waiting_for_approval":
		e.State = ProviderInProgress
	}
}

// transcript finds the turn among the messages: from the last one that asks what
// the request did, else from the last of the user's.
func (e *Evidence) transcript(t *Turn, messages []hermes.SessionMessage) {
	asked := ""
	if t.request != nil {
		asked = plain(hermes.Asked(t.Operation(), t.request.Input))
	}
	from := -1
	for i, m := range messages {
		if m.Role != "user" {
			continue
		}
		if asked == "" && from < i || asked != "" && strings.HasSuffix(plain(m.Text), asked) {
			from, e.Question = i, asked != ""
		}
	}
	if asked != "" && !e.Question {
		return
	}
	var said []string
	for _, m := range messages[from+1:] {
		if m.Role == "user" {
			break
		}
		e.Closing, e.Finish = m.Role, m.Finish
		e.Tools += len(m.Calls)
		if m.Role == "assistant" && !blank(m.Text) {
			said = append(said, m.Text)
		}
	}
	e.text(strings.Join(said, "\n\n"), t.Text())
	// Another turn may have asked the same. What was streamed tells this one from
	// it, else the time does, as far as two clocks agree.
	if e.Question && (e.Text == LikeNone || e.Text == LikeUnlike) {
		at := messages[from].At
		e.Earlier = !at.IsZero() && at.Before(t.asked)
	}
}

// plain is text without its white space's form.
func plain(s string) string { return strings.Join(strings.Fields(s), " ") }

func (e *Evidence) text(stored, streamed string) {
	e.Characters = utf8.RuneCountInString(stored)
	stored, streamed = plain(stored), plain(streamed)
	switch {
	case stored == "" || streamed == "":
	case stored == streamed:
		e.Text = LikeSame
	case strings.HasPrefix(stored, streamed):
		e.Text = LikeLonger
	case strings.HasPrefix(streamed, stored), strings.HasSuffix(streamed, stored):
		e.Text = LikeShorter
	default:
		e.Text = LikeUnlike
	}
}

// Says is the evidence in one sentence of fixed words, numbers and plain names.
func (e Evidence) Says() string {
	switch e.State {
	case ProviderAbsent:
		switch e.Op {
		case hermes.OpResponseGet:
			return "no such response: never stored, evicted, deleted, or another store was reached"
		case hermes.OpRunStatus:
			return "no such run: the provider keeps it for an hour"
		}
		return "no such session in this endpoint's database"
	case ProviderUnread:
		if e.Error == nil {
			return "it could not be read"
		}
		return "it could not be read: " + safeWord(e.Error.Code)
	case ProviderUnreadable:
		return "the answer cannot be read" + ifSome(", status ", e.Status)
	}
	messages := Count(e.Messages, "message", "messages")
	answer := Count(e.Characters, "character", "characters") + ", " + Count(e.Tools, "tool call", "tool calls")
	switch e.Op {
	case hermes.OpSessionGet:
		end := "open"
		if s := e.Session; s != nil && !s.Open() {
			end = "ended: " + safeWord(s.EndReason)
		}
		return end + ", " + messages
	case hermes.OpSessionMessages:
		switch {
		case e.Earlier:
			return messages + "; the last that asks the same is older than the request"
		case e.Question && e.Closing == "":
			return messages + "; the request is among them, without an answer"
		case e.Question:
			return messages + "; the request is among them, the turn ends with " + safeWord(e.Closing) + ifSome(" ", e.finish()) + ", " + answer
		case e.Closing != "":
			return messages + "; the last turn ends with " + safeWord(e.Closing) + ifSome(" ", e.finish()) + ", " + answer
		}
		return messages + "; the request is not among them"
	}
	return safeWord(e.Status) + ", " + answer
}

func (e Evidence) finish() string {
	if e.Finish == "" {
		return ""
	}
	return safeWord(e.Finish)
}

func ifSome(before, s string) string {
	if s == "" {
		return ""
	}
	return before + s
}

// Compared says how the stored text stands to the streamed one, or "".
func (e Evidence) Compared() string {
	return map[Likeness]string{
		LikeSame: "the stored text is what was streamed", LikeLonger: "the stored text goes on where the stream stopped",
		LikeShorter: "the stored text is a part of what was streamed", LikeUnlike: "the stored text is not what was streamed",
	}[e.Text]
}

// Reconciliation is what stands after the action and its provider state were
// read again.
type Reconciliation struct {
	Before   Verdict // from the journal alone
	Verdict  Verdict // with what the daemon says now
	Evidence []Evidence
	Nothing  string // why the provider was not asked, or ""
	Finding  string // one sentence
	Escalate bool   // the outcome stays unknown, and there is nothing left to ask
	Advice   []string
}

// Reconcile weighs what was read. The verdict stays the action's own: a stored
// object is evidence to review, and never a reason to send the request again.
func (t *Turn) Reconcile(before Verdict, evidence []Evidence, nothing string) Reconciliation {
	r := Reconciliation{Before: before, Verdict: t.Verdict(), Evidence: evidence, Nothing: nothing}
	say := func(s string) {
		if s != "" && !slices.Contains(r.Advice, s) {
			r.Advice = append(r.Advice, s)
		}
	}
	if t.applied == 0 {
		r.Finding = nothing
		say("check the action's ID and the daemon's URL")
		return r
	}
	unknown := slices.Contains([]Word{Incomplete, Contradicted}, r.Verdict.Word)
	switch r.Verdict.Word {
	case Pending:
		say("it has no outcome yet: watch it")
		if t.state == aip.StateUnknown {
			say("the daemon shows no record of it: it is in flight, or was lost; if that stays so, escalate")
		}
	case AwaitingApproval:
		say("nothing runs until somebody approves or denies it")
	}
	if e := t.err(); e != nil && !asksThis(e) {
		say(Decision(t.Operation(), e))
	}
	if t.Refused() != "" {
		say(t.refusedAdvice())
	}
	if len(evidence) == 0 {
		r.Finding = nothing
		if r.Escalate = unknown; unknown {
			r.Finding += "; its outcome stays unknown"
			say("there is nothing left to ask: escalate with the action's ID, the key and the journal's export")
		}
	}
	for _, e := range evidence {
		finding, advice, open := t.weigh(e)
		switch {
		case t.Operation() == hermes.OpSessionFork && r.Finding != "": // of which both count
			r.Finding += "; " + finding
		case r.Finding == "" || open:
			r.Finding = finding
		}
		say(advice)
		r.Escalate = r.Escalate || open && unknown
	}
	if r.Escalate && len(evidence) > 0 {
		say("the outcome stays unknown: escalate with the action's ID, the key and the journal's export")
	}
	if spec, ok := t.Operation().Spec(); !ok || !spec.ReadOnly {
		if w := r.Verdict.Word; w != Accepted && w != AwaitingApproval && !t.neverBegan() {
			say("verify external effects: tools, messages and writes may have been carried out, however the turn ended")
		}
		say("nothing is sent again")
	}
	return r
}

// neverBegan reports whether it is known that nothing of the action was carried
// out.
func (t *Turn) neverBegan() bool {
	e := t.err()
	return t.Refused() != "" || t.slots.n == 0 && e != nil && (nothingRan(t.Operation(), e) || turnedAway(t.Operation(), e))
}

// asksThis reports whether what an error calls for is a reconciliation.
func asksThis(e *aip.Error) bool {
	return strings.HasSuffix(e.Code, "stream_incomplete") || e.Uncertain() && e.RemoteStatus() != http.StatusTooManyRequests
}

// weigh says what one piece of evidence means, what to do, and whether it leaves
// the outcome open.
func (t *Turn) weigh(e Evidence) (finding, advice string, open bool) {
	deleting := t.Operation() == hermes.OpResponseDelete || t.Operation() == hermes.OpSessionDelete
	switch e.State {
	case ProviderUnread:
		if MayReadAgain(e.Op, e.Error) {
			return "the provider's state could not be read now", "the typed error permits reading again: reconcile once more", true
		}
		return "the provider's state could not be read", Decision(e.Op, e.Error), true
	case ProviderUnreadable:
		return "the provider's answer cannot be read", "look at it with --reveal", true
	case ProviderAbsent:
		if deleting {
			return "the provider does not hold it: deleted, or in another store", "read the original delete's result before believing either", false
		}
		if t.Operation() == hermes.OpSessionFork {
			return "the " + e.Is + " is not there", absentAdvice(e.Op), true
		}
		return "the provider holds nothing under this ID", absentAdvice(e.Op), true
	}
	if deleting {
		return "the provider still holds it: the delete did not take hold", "", false
	}
	switch e.Op {
	case hermes.OpSessionMessages:
		return t.weighTranscript(e)
	case hermes.OpSessionGet:
		return t.weighSession(e)
	}
	is := "response"
	if e.Op == hermes.OpRunStatus {
		is = "run"
	}
	switch e.State {
	case ProviderCompleted:
		return "the provider holds a completed " + is, "review the stored " + is + ": it is the provider's word, the action's own result stands beside it", false
	case ProviderFailed:
		return "the provider holds a failed " + is, "inspect its failure state", false
	case ProviderIncomplete:
		return "the provider holds an incomplete " + is + ": what came before a disconnect or a cancel", "keep the partial output; tools may have run before it ended", false
	}
	return "the provider still says " + safeWord(e.Status), "it may still run, or has not noticed that it was left: read it again later", true
}

func absentAdvice(op hermes.Operation) string {
	if op == hermes.OpResponseGet {
		return "check the original response ID, store, the instance and the action's result"
	}
	return "check the ID, the endpoint that owns the database and the action's result"
}

func (t *Turn) weighTranscript(e Evidence) (finding, advice string, open bool) {
	switch {
	case e.Earlier:
		return "the session shows an earlier turn that asked the same, and not this one", "it may not have been stored, or the provider's clock is behind: compare the messages' times", true
	case e.Question && e.Closing == "assistant" && e.Finish == "stop":
		return "the session holds the turn and its answer", "review the messages: an accepted turn proves neither that earlier history was loaded nor that all of it was stored", false
	case e.Question && e.Closing == "assistant":
		return "the session holds the turn; its answer does not end with stop", "treat the answer as partial until it is reviewed", false
	case e.Question:
		return "the session holds the request, without a closing answer", "that no answer is there does not prove that no tool ran", true
	case t.request == nil && e.Closing != "":
		return "the session's last turn is there; the journal does not hold what was asked", "compare it with the stream", e.Text != LikeSame
	}
	return "the session does not show the request among its latest messages", "it may not have been stored: the provider logs a failed write and answers all the same", true
}

func (t *Turn) weighSession(e Evidence) (finding, advice string, open bool) {
	switch t.Operation() {
	case hermes.OpSessionFork:
		if e.Is == "child" {
			return "the child is there", "compare its parent, title and message count with what was asked", false
		}
		return "the source is there", "look at its end reason: a fork ends an open source as branched", false
	case hermes.OpSessionCreate:
		return "the session is there", "compare it with what was asked: another request may have made it", false
	}
	return "the session is there", "compare its title and end reason with what was asked", false
}
