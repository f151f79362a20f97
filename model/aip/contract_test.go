package aip

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestContractsAreReadLeniently(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		name, raw string
		want      Contract
	}{
		{"whole", `{"id":"cap:a:b","kind":"agent","risk":"Medium","stability":"stable","requires_approval":false,
			"execution":{"supports_sync":true,"supports_async":false,"supports_streaming":true,"supports_cancellation":true,"supports_retry":false},
			"idempotency":{"requirement":"required","ttl_ms":86400000}}`,
			Contract{ID: "cap:a:b", Kind: "agent", Risk: "medium", Stability: "stable", Approval: &no, Key: "required", Modes: []string{"sync", "streaming"}, Cancel: &yes, Retry: &no}},
		{"a key as a flag", `{"id":"x","idempotency":{"required":true}}`, Contract{ID: "x", Key: "required"}},
		{"the name alone", `{"id":"x"}`, Contract{ID: "x"}},
		{"members of other types", `{"id":"x","risk":{"level":"high"},"requires_approval":true,"idempotency":{"requirement":7}}`, Contract{ID: "x", Approval: &yes}},
		{"null", `null`, Contract{}},
		{"no object", `"cap:a:b"`, Contract{}},
	} {
		if got := ReadContract(json.RawMessage(c.raw)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestRemoteStatusIsANumberOrNothing(t *testing.T) {
	for raw, want := range map[string]int{`{"remote_status":404}`: 404, `{"remote_status":"404"}`: 0, `{}`: 0, ``: 0, `[1]`: 0} {
		if got := (&Error{Details: json.RawMessage(raw)}).RemoteStatus(); got != want {
			t.Errorf("%s: %d", raw, got)
		}
	}
}
