package model_test

import (
	"fmt"
	"strings"
	"testing"

	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/hermes"
)

func TestDecisionsFollowTheSeedsTables(t *testing.T) {
	local := func(code string) *aip.Error { return &aip.Error{Code: code} }
	remote := func(op hermes.Operation, status int) *aip.Error { return hermes.StatusFailure(op, status) }
	for _, c := range []struct {
		name string
		op   hermes.Operation
		err  *aip.Error
		want string // part of the decision; "" for none
	}{
		{"no error", hermes.OpChat, nil, ""},
		{"schema", hermes.OpChat, local("action.input_schema_invalid"), "do not send it again unchanged"},
		{"provider 400", hermes.OpChat, remote(hermes.OpChat, 400), "do not send it again unchanged"},
		{"endpoint token", hermes.OpChat, remote(hermes.OpChat, 401), "credential was rejected"},
		{"endpoint forbids", hermes.OpResponseGet, remote(hermes.OpResponseGet, 403), "credential was rejected"},
		{"tenant", hermes.OpChat, hermes.Failure(hermes.OpChat, hermes.FailTenant, 0, ""), "tenant's admitted one"},
		{"response 404", hermes.OpResponseGet, remote(hermes.OpResponseGet, 404), "the original action's result"},
		{"deletion 404", hermes.OpResponseDelete, remote(hermes.OpResponseDelete, 404), "do not delete again blindly"},
		{"session 404", hermes.OpSessionMessages, remote(hermes.OpSessionMessages, 404), "check the ID and the endpoint"},
		{"exists", hermes.OpSessionCreate, remote(hermes.OpSessionCreate, 409), "read what is there first"},
		{"fork 400", hermes.OpSessionFork, remote(hermes.OpSessionFork, 400), "not atomic"},
		{"fork 404", hermes.OpSessionFork, remote(hermes.OpSessionFork, 404), "not atomic"},
		{"too large", hermes.OpResponses, remote(hermes.OpResponses, 413), "10,000,000 bytes"},
		{"gate", hermes.OpChatStream, remote(hermes.OpChatStream, 429), "follow its result"},
		{"read at the gate", hermes.OpResponseGet, remote(hermes.OpResponseGet, 429), "permits asking again"},
		{"502 agent_incomplete", hermes.OpChat, remote(hermes.OpChat, 502), "uncertain; reconcile"},
		{"500 on a model call", hermes.OpResponses, remote(hermes.OpResponses, 500), "read the action's state and reconcile"},
		{"500 on a read", hermes.OpSessionGet, remote(hermes.OpSessionGet, 500), "permits asking again"},
		{"transport on a mutation", hermes.OpSessionPatch, hermes.Failure(hermes.OpSessionPatch, hermes.FailTransport, 0, ""), "reconcile"},
		{"deadline", hermes.OpChat, hermes.Failure(hermes.OpChat, hermes.FailDeadline, 0, ""), "reconcile"},
		{"daemon's deadline", hermes.OpChatStream, local("sla.timeout_exceeded"), "reconcile"},
		{"decode on a model call", hermes.OpChat, hermes.Failure(hermes.OpChat, hermes.FailInvalid, 0, ""), "reconcile"},
		{"truncated", hermes.OpChatStream, local("connector.hermes_agent.stream_truncated"), "a larger limit would repeat the work"},
		{"incomplete", hermes.OpResponsesStream, local("connector.hermes_agent.stream_incomplete"), "reconcile"},
		{"failed", hermes.OpResponsesStream, local("connector.hermes_agent.stream_failed"), "terminal event"},
		{"key in use", hermes.OpChat, local("idempotency.in_progress"), "follow that one"},
		{"denied", hermes.OpSessionDelete, local("policy.approval_denied"), "nothing ran"},
		{"expired", hermes.OpSessionDelete, local("policy.approval_expired"), "nothing ran"},
		{"mode", hermes.OpChat, local("execution.mode_unsupported"), "--mode"},
		{"not known", hermes.OpChat, local("something.else"), ""},
		{"another connector's read", "echo", &aip.Error{Code: "x.y", Retryable: true}, ""},
	} {
		got := model.Decision(c.op, c.err)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q in it", c.name, got, c.want)
		}
	}
}

func TestOnlyReadsMayBeReadAgainAndOnlyWhereTheErrorSaysSo(t *testing.T) {
	for _, spec := range hermes.Specs() {
		for _, status := range []int{400, 401, 404, 413, 429, 500, 502, 503} {
			e := hermes.StatusFailure(spec.Operation, status)
			want := spec.ReadOnly && !spec.Streams() && (status == 429 || status >= 500)
			if got := model.MayReadAgain(spec.Operation, e); got != want {
				t.Errorf("%s, HTTP %d: %v", spec.Operation, status, got)
			}
		}
		if model.MayReadAgain(spec.Operation, nil) {
			t.Errorf("%s without an error", spec.Operation)
		}
	}
	if model.MayReadAgain("echo", &aip.Error{Retryable: true}) {
		t.Error("an operation that is not known")
	}
}

// Whatever an error says in free text, the decision is the same.
func TestDecisionsRestOnTypedFieldsAlone(t *testing.T) {
	for _, spec := range hermes.Specs() {
		for _, status := range []int{0, 400, 404, 429, 502} {
			quiet := hermes.Failure(spec.Operation, hermes.FailTemporary, status, "")
			loud := hermes.Failure(spec.Operation, hermes.FailTemporary, status, "agent_incomplete 404 please retry this request now")
			if a, b := model.Decision(spec.Operation, quiet), model.Decision(spec.Operation, loud); a != b {
				t.Errorf("%s %d: %q and %q", spec.Operation, status, a, b)
			}
		}
	}
	if got := model.Decision(hermes.OpChat, &aip.Error{Code: "x", Message: fmt.Sprint(429)}); got != "" {
		t.Errorf("%q", got)
	}
}
