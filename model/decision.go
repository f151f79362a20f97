package model

import (
	"net/http"
	"strings"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// Decision says what to do about a failed result, as the seeds' tables of
// failures do (seed 000, section 15; seed 001, "Failures and recovery"; seed
// 002, "Apply idempotency and retry rules"), or "" where they say nothing. It
// rests on the operation and on typed fields alone, and never proposes that work
// be submitted again.
func Decision(op hermes.Operation, e *aip.Error) string {
	if e == nil {
		return ""
	}
	spec, ours := op.Spec()
	status := e.RemoteStatus()
	switch code := strings.TrimPrefix(e.Code, "connector.hermes_agent."); {
	case e.Code == codeInProgress:
		return "another action holds this key and still runs: follow that one"
	case strings.HasPrefix(e.Code, "idempotency."):
		return "the key's rule refused it: one key belongs to one exact request"
	case e.Code == "policy.approval_denied":
		return "the approval was denied: nothing ran"
	case strings.HasPrefix(e.Code, "policy.approval_"):
		return "the approval did not hold (it lasts 15 minutes): nothing ran"
	case e.Code == "execution.mode_unsupported":
		return "the capability does not run in this mode: choose another with --mode"
	case e.Code == "action.input_schema_invalid":
		return "correct the request; do not send it again unchanged"
	case code == "authentication":
		return "the endpoint's own credential was rejected: correct it at the daemon; a wider scope of the caller does not help"
	case code == "tenant_mismatch":
		return "this tenant does not own the endpoint: select the tenant's admitted one"
	case code == "configuration_or_input":
		return "the connector refused the input or its own configuration: correct it; do not send it again unchanged"
	case code == "stream_truncated":
		return "a larger limit would repeat the work: nothing is sent again"
	case code == "stream_incomplete":
		return "reconcile the action and the stored provider state"
	case code == "stream_failed":
		return "inspect the provider's terminal event and the typed error"
	case op == hermes.OpSessionFork && code == "remote_rejected":
		return "a fork is not atomic: source and child may have been written; look at both before anything else"
	case status == http.StatusNotFound && op == hermes.OpResponseGet:
		return "never stored, evicted, deleted, or another store was reached: check store, the ID, the instance and the original action's result"
	case status == http.StatusNotFound && op == hermes.OpResponseDelete:
		return "it is absent already, or another store was reached: read the original delete's result; do not delete again blindly"
	case status == http.StatusNotFound:
		return "the endpoint's database does not hold it: check the ID and the endpoint"
	case status == http.StatusConflict:
		return "the ID or the state is taken: read what is there first"
	case status == http.StatusRequestEntityTooLarge:
		return "the provider takes 10,000,000 bytes: reduce input and history"
	case status == http.StatusTooManyRequests && !spec.ReadOnly:
		return "the provider's gate of concurrent runs is full: keep this action and follow its result; it is not sent again by itself"
	case code == "remote_rejected":
		return "the provider rejected it: correct the request; do not send it again unchanged"
	case e.Retryable && ours && spec.ReadOnly:
		return "a read: the typed error permits asking again"
	case e.Uncertain() && status == http.StatusBadGateway:
		return "the provider gave no usable text after a failed or partial run: what tools and model did is uncertain; reconcile"
	case e.Uncertain(), uncertainCode(e.Code):
		return "the work may have begun: read the action's state and reconcile; nothing is sent again"
	}
	return ""
}

// nothingRan reports whether an error says that the action was refused before
// anything of it was carried out (wire/aip.md 8.3, wire/hermes.md A.9).
func nothingRan(op hermes.Operation, e *aip.Error) bool {
	if op == hermes.OpSessionFork { // of which any failure is looked into
		return strings.HasPrefix(e.Code, "policy.")
	}
	switch code := strings.TrimPrefix(e.Code, "connector.hermes_agent."); code {
	case "idempotency.required", "idempotency.conflict", "idempotency.input_hash_mismatch", "idempotency.scope_missing",
		"execution.mode_unsupported", "action.input_schema_invalid", "action.invalid_input", "capability.unsupported":
		return true
	case "authentication", "missing_credential", "tenant_mismatch":
		return !e.Uncertain()
	case "configuration_or_input": // an operator's run may have begun
		return !e.Uncertain() && op != hermes.OpOperator
	}
	return strings.HasPrefix(e.Code, "policy.")
}

// turnedAway reports whether the provider answered a model turn with a rejection
// before it began. A fork's rejection may come after it wrote.
func turnedAway(op hermes.Operation, e *aip.Error) bool {
	switch op {
	case hermes.OpChat, hermes.OpChatStream, hermes.OpResponses, hermes.OpResponsesStream, hermes.OpSessionChat, hermes.OpSessionChatStream, hermes.OpRunStart:
		return strings.HasSuffix(e.Code, ".remote_rejected") && !e.Uncertain()
	}
	return false
}

// uncertainCode reports whether a code says that a deadline passed before the
// outcome was known.
func uncertainCode(code string) bool {
	return strings.Contains(code, "timeout") || strings.Contains(code, "deadline") || strings.HasSuffix(code, "outcome_unknown")
}

// MayReadAgain reports whether a failed action may be asked again under a new
// ID: only a read, and only where its typed error says so (seed 001, "Apply
// idempotency and retry safely").
func MayReadAgain(op hermes.Operation, e *aip.Error) bool {
	spec, ok := op.Spec()
	return ok && spec.ReadOnly && !spec.Streams() && e != nil && e.Retryable
}
