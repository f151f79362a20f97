package follow

import (
	"encoding/json"
	"testing"
	"time"
)

// The fast way and the careful way read every frame alike.
func FuzzDecodeFrame(f *testing.F) {
	for _, s := range []string{
		`{"chunk":{"action_id":"act_a","sequence":3,"kind":"data","data":{"x":1}}}`, `{"chunk":{"sequence":0,"kind":"data"},"event":{}}`,
		`{"event":{"id":"evt_1","kind":"aip.action.result","action_id":"act_a"}}`, `{"event":null}`, `{"chunk":}`, `{"chunk":1,"chunk":{"sequence":1,"kind":"x"}}`,
		`{"next_cursor":"c"}`, `{"terminal":true,"action_id":"a"}`, `{"error":{"code":"x"}}`, `{"error":{"error":{"code":"x"}}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		fast := decodeFrame("x", []byte(data), time.Time{})
		slow := decodeFrame("x", []byte(" "+data), time.Time{}) // the blank hides the opening
		if (fast.row == nil) != (slow.row == nil) || fast.action != slow.action || fast.cursor != slow.cursor || fast.terminal != slow.terminal || (fast.err == nil) != (slow.err == nil) {
			t.Fatalf("%q: %+v and %+v", data, fast, slow)
		}
		parts := 0
		for _, set := range []bool{fast.row != nil, fast.cursor != "", fast.terminal, fast.err != nil} {
			if set {
				parts++
			}
		}
		if parts > 1 {
			t.Fatalf("%q is several things: %+v", data, fast)
		}
		if fast.row != nil {
			if fast.row.Kind != slow.row.Kind {
				t.Fatalf("%q: %s and %s", data, fast.row.Kind, slow.row.Kind)
			}
			if !json.Valid(fast.row.Raw) || !json.Valid([]byte(data)) {
				t.Fatalf("%q was taken", data)
			}
		}
	})
}
