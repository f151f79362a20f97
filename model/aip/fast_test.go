package aip

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// wide has a member of every type that a plan knows, and some that it leaves to
// the standard library.
type wide struct {
	outer
	Flag   bool                       `json:"flag"`
	Small  int8                       `json:"small"`
	Big    uint64                     `json:"big"`
	Float  float64                    `json:"float"`
	Names  []string                   `json:"names"`
	Rows   [][]*int                   `json:"rows"`
	Map    map[string]json.RawMessage `json:"map"`
	Bytes  []byte                     `json:"bytes"`
	Word   State                      `json:"word"`
	RawOne *json.RawMessage           `json:"raw_one"`
	When   *Time                      `json:"when"`
	Any    any                        `json:"any"`
	Free   string
}

// agrees reports whether raw is read fast, and fails where that is not what the
// standard library reads.
func agrees(t *testing.T, raw []byte) (some bool) {
	t.Helper()
	if Valid(raw) != json.Valid(raw) {
		t.Fatalf("%q: valid is %t", raw, Valid(raw))
	}
	for _, v := range []any{&wide{}, &inner{}, &Chunk{}, &Event{}, &Status{}, &Result{}, &Error{}, new(string), new(json.RawMessage), &[]inner{}} {
		fresh := func() any { return reflect.New(reflect.TypeOf(v).Elem()).Interface() }
		got := fresh()
		if !fast(raw, got) {
			if !reflect.DeepEqual(got, fresh()) {
				t.Fatalf("%q was not read fast, and left %+v", raw, got)
			}
			continue
		}
		some = true
		for _, once := range []bool{true, false} {
			want := fresh()
			if err := slow(raw, want, once); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%q:\n got %+v\nwant %+v (%v)", raw, got, want, err)
			}
		}
	}
	return some
}

var usual = []string{
	`{"finish_reason":"stop","toolCallId":"a","list":[{"content":"x","raw":{"a":[1,2.5e-3,null,true]}},{}],"kind":{"content":"c"},"sequence":7}`,
	`{"flag":true,"small":-7,"big":18446744073709551615,"float":1.5,"names":["a","b",null],"rows":[[1,2],null,[null]],"map":{"a":1},"bytes":"aGk=","word":"queued"}`,
	` { "flag" : false , "names" : [ ] , "list" : null , "kind" : null , "raw_one" : null, "raw" : null , "any" : {"x":[1]}, "Free":"f"} `,
	`{"content":"\u00e9\ud83d\ude00 \ud800 \ud800\u0041 \udc00\\ \"\/\b\f\n\r\t é漢😀","at":"2026-01-01T00:00:00Z","when":[2025,1,1,0,0,0,0,0,0]}`,
	`{"action_id":"act_1","sequence":3,"kind":"data","data":{"hermes_sse":{"event":null,"data":{"a":"b"},"raw_data":"{\"a\":\"b\"}"}},"part":{"type":"text","text":"x"}}`,
	`{"content":"<b> &     \u0026 é"}`, `[{"content":"x"},{"raw":0}]`, `"text"`, `{}`, `[]`,
}

var unusual = []string{
	``, ` `, `{`, `{"a":}`, `{"a":1,}`, `{"a":01}`, `{"a":1.}`, `{"a":-}`, `{"a":1e}`, `{"a":+1}`, `{"a":.5}`, `{"a":"` + "\n" + `"}`, `{"a":"\x"}`, `{"a":"\u12"}`,
	`{"a":tru}`, `{"a":1}x`, `{"a":[1,]}`, `{"a":[1}}`, `{"finish_reason":"a","finish_reason":"b"}`, `{"Finish_Reason":"a"}`, `{"finish\u005freason":"a"}`, `{"small":300}`, `{"small":1.5}`,
	`{"big":-1}`, `{"flag":1}`, `{"content":5}`, `{"list":{}}`, `{"kind":[]}`, "{\"content\":\"\xff\"}", "{\"\u212aind\":{}}", `{"float":"x"}`, `{"bytes":"?"}`, `nul`, `{"a" 1}`, `{1:2}`, `{"a":1 "b":2}`,
	`{"raw":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`,
}

func TestTheUsualIsReadFastAndNothingElse(t *testing.T) {
	for _, s := range usual {
		if !agrees(t, []byte(s)) {
			t.Errorf("%s was not read fast", s)
		}
	}
	for _, s := range unusual {
		agrees(t, []byte(s))
		var w wide
		if fast([]byte(s), &w) {
			t.Errorf("%s was read fast", s)
		}
	}
}

func TestRecordedFramesAreReadFast(t *testing.T) {
	files, err := filepath.Glob("../../testdata/recordings/hermes/*.sse")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.Split(body, []byte("\n"))
		for _, line := range lines[:min(len(lines), 200)] {
			data, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r"), []byte("data: "))
			if !ok || !json.Valid(data) {
				continue
			}
			if !agrees(t, data) {
				t.Errorf("%s: %.100s is not read fast", name, data)
			}
		}
	}
}

func TestStringsPassOverWhatIsOrdinary(t *testing.T) {
	for c := range 256 {
		ends := c < ' ' || c == '"' || c == '\\' || c >= 0x80
		for at := range 20 {
			for _, around := range []string{"a", " ", "!", "#", "[", "]", "~", "\x7f"} {
				b := []byte(strings.Repeat(around, 20))
				b[at] = byte(c)
				want := len(b)
				if ends {
					want = at
				}
				if got := ordinary(b); got != want {
					t.Fatalf("%q: %d, want %d", b, got, want)
				}
			}
		}
	}
}

// FuzzFast holds the reader of one pass against the standard library.
func FuzzFast(f *testing.F) {
	for _, s := range append(usual, unusual...) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { agrees(t, raw) })
}
