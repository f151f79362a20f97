package hermes

import (
	"encoding/json"
	"strconv"

	"aipscope/model/aip"
)

// errorPrefix begins the code of every failure of the connector.
const errorPrefix = "connector.hermes_agent."

// FailureCode is the end of a connector failure's code (wire/hermes.md A.9).
type FailureCode string

const (
	FailAuthentication FailureCode = "authentication"
	FailTemporary      FailureCode = "remote_temporary"
	FailRejected       FailureCode = "remote_rejected"
	FailTransport      FailureCode = "transport"
	FailInvalid        FailureCode = "invalid_response"
	FailInput          FailureCode = "configuration_or_input"
	FailCancelled      FailureCode = "cancelled"
	FailDeadline       FailureCode = "deadline_exceeded"
	FailTenant         FailureCode = "tenant_mismatch"
)

var categoryOf = map[FailureCode]string{
	FailAuthentication: "auth", FailTemporary: "temporary", FailRejected: "permanent", FailTransport: "transport",
	FailInvalid: "connector", FailInput: "permanent", FailCancelled: "temporary", FailDeadline: "temporary", FailTenant: "auth",
}

// Failure is the error of an invocation that the connector could not carry out.
// status is the provider's, 0 when there was none. What may have written is
// uncertain where the provider may have begun; only reads may be tried again.
func Failure(op Operation, code FailureCode, status int, message string) *aip.Error {
	spec := specOf[op]
	uncertain, retryable := false, false
	switch code {
	case FailTemporary, FailTransport:
		uncertain, retryable = !spec.ReadOnly, spec.ReadOnly
	case FailInvalid, FailCancelled, FailDeadline:
		uncertain = !spec.ReadOnly
	}
	details := append([]byte(`{"operation":`), appendString(nil, string(op))...)
	if status > 0 {
		details = append(details, `,"remote_status":`...)
		details = strconv.AppendInt(details, int64(status), 10)
	}
	details = append(details, `,"uncertain_outcome":`...)
	details = append(strconv.AppendBool(details, uncertain), '}')
	return &aip.Error{Code: errorPrefix + string(code), Message: message, Category: categoryOf[code],
		Retryable: retryable, Details: details, Source: json.RawMessage(`{"component":"hermes-agent"}`)}
}

// StatusFailure is the failure that a provider's HTTP status makes, or nil for
// a success. The provider's own body and its Retry-After are not kept.
func StatusFailure(op Operation, status int) *aip.Error {
	switch {
	case status >= 200 && status < 300:
		return nil
	case status == 401 || status == 403:
		return Failure(op, FailAuthentication, status, "the provider refused the endpoint's credential")
	case status == 429 || status >= 500:
		return Failure(op, FailTemporary, status, "the provider cannot answer now")
	}
	return Failure(op, FailRejected, status, "the provider rejected the request")
}
