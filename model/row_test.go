package model

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"aipscope/model/aip"
)

func TestARowKnowsWhatItsEventAnnounces(t *testing.T) {
	for raw, want := range map[string]uint64{
		`{"id":"e","kind":"aip.stream.chunk","data":{"sequence":7}}`:  7,
		`{"id":"e","kind":"aip.stream.chunk","data":{"sequence":0}}`:  0,
		`{"id":"e","kind":"aip.stream.chunk","data":{}}`:              1 << 32,
		`{"id":"e","kind":"aip.action.result","data":{"sequence":7}}`: 1 << 32,
	} {
		row, err := DecodeRow(RowEvent, time.Time{}, []byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []Row{row, {Kind: RowEvent, Event: row.Event}} {
			if got, ok := r.Announces(); ok != (want < 1<<32) || ok && got != want {
				t.Errorf("%s: %d, %t", raw, got, ok)
			}
		}
		row.Event = &aip.Event{Kind: aip.EventChunk, Data: []byte(`{"sequence":9}`)}
		if got, ok := row.Announces(); !ok || got != 9 {
			t.Errorf("of another event: %d, %t", got, ok)
		}
	}
}

func TestAResultIsEncodedAsTheEncoderDoes(t *testing.T) {
	values := []json.RawMessage{nil, {}, []byte(`null`), []byte(` { "text" : "a <b> & c" } `), []byte(`{"text":"plain","events":[1,2.50,"\u00e9 \/"]}`), []byte("{\"text\":\"\u2028<\"}"), []byte(`{"a":`)}
	for _, output := range values {
		for _, message := range values {
			for _, r := range []Result{
				{Result: aip.Result{ActionID: `act_<"1">`, Status: "completed", Output: output, Message: message}},
				{Result: aip.Result{Output: output, Message: message, Usage: []byte(`{ "total": 1 }`), Receipt: []byte(`1`), Error: &aip.Error{Code: "c"}}, Aggregate: &Match{Events: 3, Unlike: []uint64{1}}},
			} {
				want, err := json.Marshal(&r)
				same, got, err2 := r.encode()
				if err2 == nil {
					var read Result
					if err := json.Unmarshal(got, &read); err != nil || !bytes.Equal(same.Output, read.Output) || !bytes.Equal(same.Message, read.Message) {
						t.Errorf("%s: the result has %s and %s", got, same.Output, same.Message)
					}
				}
				if (err == nil) != (err2 == nil) || !bytes.Equal(got, want) {
					t.Errorf("%s, %s:\n got %s (%v)\nwant %s (%v)", output, message, got, err2, want, err)
				}
			}
		}
	}
}
