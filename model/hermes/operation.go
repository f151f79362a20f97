package hermes

import "strings"

// Operation is one of the connector's operations on an endpoint, by the name
// that ends its capability's ID.
type Operation string

const (
	OpHealth            Operation = "health"
	OpHealthDetailed    Operation = "health_detailed"
	OpModels            Operation = "models"
	OpCapabilities      Operation = "capabilities"
	OpSkills            Operation = "skills"
	OpToolsets          Operation = "toolsets"
	OpChat              Operation = "chat"
	OpChatStream        Operation = "chat_stream"
	OpResponses         Operation = "responses"
	OpResponsesStream   Operation = "responses_stream"
	OpResponseGet       Operation = "response_get"
	OpResponseDelete    Operation = "response_delete"
	OpRunStart          Operation = "run_start"
	OpRunStatus         Operation = "run_status"
	OpRunEvents         Operation = "run_events"
	OpRunApproval       Operation = "run_approval"
	OpRunStop           Operation = "run_stop"
	OpOperator          Operation = "operator"
	OpSessionsList      Operation = "sessions_list"
	OpSessionCreate     Operation = "session_create"
	OpSessionGet        Operation = "session_get"
	OpSessionPatch      Operation = "session_patch"
	OpSessionDelete     Operation = "session_delete"
	OpSessionMessages   Operation = "session_messages"
	OpSessionFork       Operation = "session_fork"
	OpSessionChat       Operation = "session_chat"
	OpSessionChatStream Operation = "session_chat_stream"
	OpJobsList          Operation = "jobs_list"
	OpJobCreate         Operation = "job_create"
	OpJobGet            Operation = "job_get"
	OpJobUpdate         Operation = "job_update"
	OpJobDelete         Operation = "job_delete"
	OpJobPause          Operation = "job_pause"
	OpJobResume         Operation = "job_resume"
	OpJobRun            Operation = "job_run"
)

// Family is the vocabulary of a stream's provider frames.
type Family string

const (
	FamilyNone      Family = "" // the operation does not stream, or is not known
	FamilyChat      Family = "chat"
	FamilyResponses Family = "responses"
	FamilySession   Family = "session"
	FamilyRun       Family = "run"
	FamilyOperator  Family = "operator" // streams, but not as provider frames
)

// Risk is the connector's word for what an operation may do.
type Risk string

const (
	RiskLow    Risk = "low"
	RiskMedium Risk = "medium"
	RiskHigh   Risk = "high"
)

// Spec is what the connector publishes about an operation (wire/hermes.md
// A.2).
type Spec struct {
	Operation    Operation
	Method       string // of the provider's route
	Path         string // of the provider's route, a template
	Kind         string // tool agent workflow
	Risk         Risk
	Family       Family // of the stream; FamilyNone when it does not stream
	Async        bool   // may be queued
	ReadOnly     bool   // may be retried; what fails is never uncertain
	NeedsKey     bool   // refused without an idempotency key
	NeedsConsent bool   // waits for a human's approval first
	Experimental bool
}

// Streams reports whether the operation may run in streaming mode and be
// cancelled.
func (s Spec) Streams() bool { return s.Family != FamilyNone }

// Allows reports whether the operation runs in an action's mode; "" is sync.
func (s Spec) Allows(mode string) bool {
	switch mode {
	case "", "sync":
		return true
	case "async":
		return s.Async
	case "streaming":
		return s.Streams()
	}
	return false
}

// Specs are all operations, in the order of the manifest.
func Specs() []Spec { return specs }

var specs = []Spec{
	{Operation: OpHealth, Method: "GET", Path: "/health", Kind: "tool", Risk: RiskLow, ReadOnly: true},
	{Operation: OpHealthDetailed, Method: "GET", Path: "/health/detailed", Kind: "tool", Risk: RiskLow, ReadOnly: true},
	{Operation: OpModels, Method: "GET", Path: "/v1/models", Kind: "tool", Risk: RiskLow, ReadOnly: true},
	{Operation: OpCapabilities, Method: "GET", Path: "/v1/capabilities", Kind: "tool", Risk: RiskLow, ReadOnly: true},
	{Operation: OpSkills, Method: "GET", Path: "/v1/skills", Kind: "tool", Risk: RiskLow, ReadOnly: true, Experimental: true},
	{Operation: OpToolsets, Method: "GET", Path: "/v1/toolsets", Kind: "tool", Risk: RiskLow, ReadOnly: true, Experimental: true},
	{Operation: OpChat, Method: "POST", Path: "/v1/chat/completions", Kind: "agent", Risk: RiskMedium},
	{Operation: OpChatStream, Method: "POST", Path: "/v1/chat/completions", Kind: "agent", Risk: RiskMedium, Family: FamilyChat, Async: true},
	{Operation: OpResponses, Method: "POST", Path: "/v1/responses", Kind: "agent", Risk: RiskMedium},
	{Operation: OpResponsesStream, Method: "POST", Path: "/v1/responses", Kind: "agent", Risk: RiskMedium, Family: FamilyResponses, Async: true},
	{Operation: OpResponseGet, Method: "GET", Path: "/v1/responses/{response_id}", Kind: "agent", Risk: RiskLow, ReadOnly: true, Experimental: true},
	{Operation: OpResponseDelete, Method: "DELETE", Path: "/v1/responses/{response_id}", Kind: "agent", Risk: RiskHigh, NeedsKey: true, NeedsConsent: true, Experimental: true},
	{Operation: OpRunStart, Method: "POST", Path: "/v1/runs", Kind: "workflow", Risk: RiskMedium, Async: true, NeedsKey: true},
	{Operation: OpRunStatus, Method: "GET", Path: "/v1/runs/{run_id}", Kind: "workflow", Risk: RiskLow, ReadOnly: true},
	{Operation: OpRunEvents, Method: "GET", Path: "/v1/runs/{run_id}/events", Kind: "workflow", Risk: RiskLow, Family: FamilyRun, Async: true, ReadOnly: true},
	{Operation: OpRunApproval, Method: "POST", Path: "/v1/runs/{run_id}/approval", Kind: "workflow", Risk: RiskMedium, NeedsKey: true, NeedsConsent: true},
	{Operation: OpRunStop, Method: "POST", Path: "/v1/runs/{run_id}/stop", Kind: "workflow", Risk: RiskMedium, NeedsKey: true, NeedsConsent: true},
	{Operation: OpOperator, Method: "POST", Path: "/v1/runs", Kind: "agent", Risk: RiskHigh, Family: FamilyOperator, Async: true, NeedsKey: true, NeedsConsent: true},
	{Operation: OpSessionsList, Method: "GET", Path: "/api/sessions", Kind: "tool", Risk: RiskLow, ReadOnly: true},
	{Operation: OpSessionCreate, Method: "POST", Path: "/api/sessions", Kind: "tool", Risk: RiskMedium, NeedsKey: true},
	{Operation: OpSessionGet, Method: "GET", Path: "/api/sessions/{session_id}", Kind: "tool", Risk: RiskLow, ReadOnly: true},
	{Operation: OpSessionPatch, Method: "PATCH", Path: "/api/sessions/{session_id}", Kind: "tool", Risk: RiskMedium, NeedsKey: true},
	{Operation: OpSessionDelete, Method: "DELETE", Path: "/api/sessions/{session_id}", Kind: "tool", Risk: RiskHigh, NeedsKey: true, NeedsConsent: true},
	{Operation: OpSessionMessages, Method: "GET", Path: "/api/sessions/{session_id}/messages", Kind: "tool", Risk: RiskLow, ReadOnly: true},
	{Operation: OpSessionFork, Method: "POST", Path: "/api/sessions/{session_id}/fork", Kind: "tool", Risk: RiskMedium, NeedsKey: true},
	{Operation: OpSessionChat, Method: "POST", Path: "/api/sessions/{session_id}/chat", Kind: "agent", Risk: RiskMedium},
	{Operation: OpSessionChatStream, Method: "POST", Path: "/api/sessions/{session_id}/chat/stream", Kind: "agent", Risk: RiskMedium, Family: FamilySession},
	{Operation: OpJobsList, Method: "GET", Path: "/api/jobs", Kind: "tool", Risk: RiskLow, ReadOnly: true},
	{Operation: OpJobCreate, Method: "POST", Path: "/api/jobs", Kind: "tool", Risk: RiskMedium, NeedsKey: true, NeedsConsent: true},
	{Operation: OpJobGet, Method: "GET", Path: "/api/jobs/{job_id}", Kind: "tool", Risk: RiskLow, ReadOnly: true},
	{Operation: OpJobUpdate, Method: "PATCH", Path: "/api/jobs/{job_id}", Kind: "tool", Risk: RiskMedium, NeedsKey: true, NeedsConsent: true},
	{Operation: OpJobDelete, Method: "DELETE", Path: "/api/jobs/{job_id}", Kind: "tool", Risk: RiskHigh, NeedsKey: true, NeedsConsent: true},
	{Operation: OpJobPause, Method: "POST", Path: "/api/jobs/{job_id}/pause", Kind: "tool", Risk: RiskMedium, NeedsKey: true, NeedsConsent: true},
	{Operation: OpJobResume, Method: "POST", Path: "/api/jobs/{job_id}/resume", Kind: "tool", Risk: RiskMedium, NeedsKey: true, NeedsConsent: true},
	{Operation: OpJobRun, Method: "POST", Path: "/api/jobs/{job_id}/run", Kind: "agent", Risk: RiskHigh, NeedsKey: true, NeedsConsent: true},
}

var specOf = func() map[Operation]Spec {
	m := make(map[Operation]Spec, len(specs))
	for _, s := range specs {
		m[s.Operation] = s
	}
	return m
}()

// Spec returns what is published about the operation; false when it is not one
// of the connector's.
func (op Operation) Spec() (Spec, bool) {
	s, ok := specOf[op]
	return s, ok
}

// TargetField is the input field that names the object of the operation, such as
// session_id, or "".
func (op Operation) TargetField() string {
	_, rest, ok := strings.Cut(specOf[op].Path, "{")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "}")
	return name
}

// Family is the vocabulary of the operation's provider frames, or FamilyNone.
func (op Operation) Family() Family { return specOf[op].Family }

// capabilityPrefix begins the ID of every capability of the connector.
const capabilityPrefix = "cap:hermes_agent:"

// Capability is the ID under which an endpoint offers the operation.
func (op Operation) Capability(endpoint string) string {
	return capabilityPrefix + endpoint + ":" + string(op)
}

// ParseCapability splits a capability's ID, cap:hermes_agent:ENDPOINT:OPERATION,
// at its last colon. It is false for capabilities of other connectors. The
// operation need not be one of Specs, and the endpoint may be empty, as
// published documents show it.
func ParseCapability(id string) (endpoint string, op Operation, ok bool) {
	rest, ok := strings.CutPrefix(id, capabilityPrefix)
	if !ok {
		return "", "", false
	}
	i := strings.LastIndexByte(rest, ':')
	if i < 0 || i == len(rest)-1 {
		return "", "", false
	}
	return rest[:i], Operation(rest[i+1:]), true
}
