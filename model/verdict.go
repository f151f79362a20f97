package model

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

// ConditionName names a condition; Conditions lists them in the order of the
// verdict bar.
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
var ConditionNames = []ConditionName{CondResult, CondTerminal, CondNotTruncated, CondFinish, CondNoError, CondUsage, CondAnswer, CondIntegrity, CondEffects}

// Condition is one thing that the verdict rests on. Detail is made of fixed
// words, closed-list values and numbers; what came from outside in it is masked or quoted safe by
// whoever shows it.
type Condition struct {
	Name     ConditionName
	Mark     Mark
	Detail   string
	Chunk    uint64 // the chunk that it rests on, when HasChunk
	HasChunk bool
}

// Verdict is what the operator may believe, and why.
type Verdict struct {
	Word       Word
	Reason     string        // one sentence: the row of the table that decided
	Because    ConditionName // the condition that decided, or ""
	Conditions []Condition   // in the order of ConditionNames
	Advice     []string      // what to do next, in the seeds' words; never a new submission
}
