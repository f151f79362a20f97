package hermes

import (
	"crypto/sha256"
	"encoding/json"
	"strings"
	"testing"
)

// Writers differ in how they write a value; what a record says twice is
// compared by what it means to the connector.
func TestARecordSaysTwoThingsOnlyWhereItsDataIsAnother(t *testing.T) {
	for _, c := range []struct {
		raw, data string
		two       bool
	}{
		{`{"a": 1, "b": "\u00e9"}`, `{"b":"é","a":1}`, false},
		{`{"a":"stop"}`, `{"a":"length"}`, true},
		{`{"a":1}`, `{"a":1,"b":2}`, true},
		{`{"a":1}`, `{"b":1}`, true},
		{`[1,2]`, `[1]`, true},
		{`{"a":[true,null]}`, `{"a":[true,false]}`, true},
		{`{"a":1,"a":2}`, `{"a":2}`, false},
		// A number is one, however it is written.
		{`{"d":5e-05}`, `{"d":5e-5}`, false},
		{`{"d":1.50}`, `{"d":1.5}`, false},
		{`{"d":100}`, `{"d":100.0}`, false},
		{`{"d":-0}`, `{"d":-0.0}`, false},
		{`{"d":0e5}`, `{"d":0.0}`, false},
		{`{"d":99999999999999999999999999}`, `{"d":1e26}`, false},
		{`{"d":0.30000000000000004441}`, `{"d":0.30000000000000009}`, false},
		{`{"d":9007199254740993}`, `{"d":9007199254740992}`, true},
		{`{"d":18446744073709551615}`, `{"d":18446744073709551614}`, true},
		{`{"d":0}`, `{"d":5}`, true},
		{`{"d":1e-30}`, `{"d":0}`, true},
		{`{"d":1}`, `{"d":"1"}`, true},
		// What is blank is null, the end mark is a string, what is no JSON stays as it came.
		{``, `null`, false},
		{"  \n", `null`, false},
		{``, `{"a":1}`, true},
		{` [DONE] `, `"[DONE]"`, false},
		{`{"a":1}`, `"[DONE]"`, true},
		{`{"a":"\ud800"}`, `"{\"a\":\"\\ud800\"}"`, false},
		{`{"a":1} more`, `"{\"a\":1} more"`, false},
		{`{"a":1} more`, `{"a":1}`, true},
		{`not JSON`, `"another"`, true},
		{`"{\"a\":1}"`, `"{\"a\":1}"`, false},
		{`{"a":1}`, `null`, true},
	} {
		r := Record{Data: json.RawMessage(c.data), RawData: &c.raw}
		if got := r.saysTwoThings(); got != c.two {
			t.Errorf("raw %s, data %s: %v", c.raw, c.data, got)
		}
	}
}

func TestADigestIsOfAllOfARecord(t *testing.T) {
	for _, n := range []int{0, 1, 1000, 1 << 10, 32 << 10, 64<<10 - 1, 64 << 10, 64<<10 + 1, 200_001} {
		raw, event := strings.Repeat("é word ", n/8)+strings.Repeat("x", n%8), "a.name"
		for said, r := range map[string]Record{"r" + raw: {RawData: &raw}, "r" + event + "\x00" + raw: {RawData: &raw, Event: &event}} {
			want := sha256.Sum256([]byte(said))
			if got := r.Digest(); got != Digest(want[:16]) {
				t.Errorf("of %d bytes: %x, want %x", len(said), got, want)
			}
		}
	}
}
