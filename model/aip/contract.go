package aip

import (
	"encoding/json"
	"strings"
)

// Contract is what a manifest says of a capability, read leniently: what it does
// not say is empty, or nil.
type Contract struct {
	ID        string
	Kind      string
	Risk      string // low medium high, in lower case
	Stability string
	Approval  *bool    // a human must approve first
	Key       string   // idempotency key: required, optional, or ""
	Modes     []string // of sync, async and streaming
	Cancel    *bool
	Retry     *bool
}

// ReadContract reads one capability of a manifest.
func ReadContract(raw json.RawMessage) Contract {
	var in struct {
		ID        string          `json:"id"`
		Kind      json.RawMessage `json:"kind"`
		Risk      json.RawMessage `json:"risk"`
		Stability json.RawMessage `json:"stability"`
		Approval  *bool           `json:"requires_approval"`
		Execution struct {
			Sync      *bool `json:"supports_sync"`
			Async     *bool `json:"supports_async"`
			Streaming *bool `json:"supports_streaming"`
			Cancel    *bool `json:"supports_cancellation"`
			Retry     *bool `json:"supports_retry"`
		} `json:"execution"`
		Idempotency struct {
			Requirement json.RawMessage `json:"requirement"`
			Required    *bool           `json:"required"`
		} `json:"idempotency"`
	}
	// A member of another type than expected leaves the rest readable.
	_ = UnmarshalLast(raw, &in)
	c := Contract{ID: in.ID, Kind: word(in.Kind), Risk: word(in.Risk), Stability: word(in.Stability), Approval: in.Approval,
		Key: word(in.Idempotency.Requirement), Cancel: in.Execution.Cancel, Retry: in.Execution.Retry}
	if c.Key == "" && in.Idempotency.Required != nil {
		c.Key = map[bool]string{true: "required", false: "optional"}[*in.Idempotency.Required]
	}
	for _, m := range []struct {
		name string
		has  *bool
	}{{"sync", in.Execution.Sync}, {"async", in.Execution.Async}, {"streaming", in.Execution.Streaming}} {
		if m.has != nil && *m.has {
			c.Modes = append(c.Modes, m.name)
		}
	}
	return c
}

// word reads a word in lower case, whatever case its daemon writes, or "".
func word(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return strings.ToLower(s)
}
