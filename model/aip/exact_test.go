package aip

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

type inner struct {
	Content string          `json:"content"`
	Raw     json.RawMessage `json:"raw"`
}

type outer struct {
	inner
	Name   string  `json:"finish_reason"`
	Camel  string  `json:"toolCallId"`
	List   []inner `json:"list"`
	One    *inner  `json:"kind"`
	Number *int    `json:"sequence"`
	At     Time    `json:"at"`
}

func TestNamesCountAsTheyAreWritten(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{`{"finish_reason":"stop"}`, `{"finish_reason":"stop"}`},
		{`{"Finish_reason":"stop"}`, `{}`},
		{`{"finish_reason":"error","FINISH_REASON":"stop"}`, `{"finish_reason":"error"}`},
		{`{"fini\u0073h_reason":"stop"}`, `{"finish_reason":"stop"}`},
		{`{"fini\u0053h_reason":"stop"}`, `{}`},
		{`{"finiſh_reaſon":"stop","Kind":{"content":"x"}}`, `{}`},
		{"{\"\u212aind\":{\"content\":\"x\"}}", `{}`},
		{`{"toolcallid":"a"}`, `{}`},
		{`{"toolCallId":"a","toolCallID":"b"}`, `{"toolCallId":"a"}`},
		{`{"Content":"x","content":"y","RAW":1}`, `{"content":"y"}`},
		{`{"list":[{"Content":"x"},{"content":"y","Raw":[1]}],"kind":{"CONTENT":"x"}}`, `{"list":[{},{"content":"y"}],"kind":{}}`},
		{` { "Finish_reason" : "stop" , "list" : [ { "Content" : "x" } , null ] , "sequence" : 7 } `, `{"list":[{},null],"sequence":7}`},
		{`{"raw":{"Content":"x","content":1,"content":2}}`, `{"raw":{"Content":"x","content":1,"content":2}}`},
		{`{"at":"2026-01-01T00:00:00Z","At":"2027-01-01T00:00:00Z"}`, `{"at":"2026-01-01T00:00:00Z"}`},
	} {
		var got, want outer
		if err := Unmarshal([]byte(tc.in), &got); err != nil {
			t.Errorf("%s: %v", tc.in, err)
		}
		if err := json.Unmarshal([]byte(tc.want), &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", tc.in, got, want)
		}
	}
}

func TestTheLastOfSeveralMembersCounts(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{`{"finish_reason":"stop","finish_reason":"error"}`, `{"finish_reason":"error"}`},
		{`{"finish_reason":"stop","finish_reason":null}`, `{}`},
		{`{"finish_reason":"stop","finish_reason":5}`, `{}`},
		{`{"finish_reason":"stop","finish\u005freason":"error"}`, `{"finish_reason":"error"}`},
		{`{"kind":{"content":"x"},"kind":{"raw":1}}`, `{"kind":{"raw":1}}`},
		{`{"list":[{"content":"x"},{"content":"y"}],"list":[{}]}`, `{"list":[{}]}`},
		{`{"list":[{"content":"x","content":"y"}]}`, `{"list":[{"content":"y"}]}`},
		{`{"sequence":1,"sequence":2,"sequence":3}`, `{"sequence":3}`},
	} {
		var got, want outer
		var mistyped *json.UnmarshalTypeError
		if err := UnmarshalLast([]byte(tc.in), &got); err != nil && !errors.As(err, &mistyped) {
			t.Errorf("%s: %v", tc.in, err)
		}
		if err := json.Unmarshal([]byte(tc.want), &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", tc.in, got, want)
		}
		if err := Unmarshal([]byte(tc.in), &got); !errors.Is(err, ErrTwice) {
			t.Errorf("%s: %v", tc.in, err)
		}
	}
	var got outer
	if err := Unmarshal([]byte(`{"raw":{"a":1,"a":2},"other":1,"other":2}`), &got); err != nil {
		t.Errorf("members that are not read: %v", err)
	}
}

func TestWhatIsNoJSONIsASyntaxError(t *testing.T) {
	for _, in := range []string{``, ` `, `{`, `{"`, `{"a`, `{"finish_reason"`, `{"finish_reason":`, `{"finish_reason":1,"finish_reason":`, `{"list":[`, `{"list":[{}`, `{"list":[{}}`, `{"a":1 2}`, `{,}`, `[}`, `{"a\`, `{"finish_reason" 1}`} {
		var v outer
		var syntax *json.SyntaxError
		if err := Unmarshal([]byte(in), &v); !errors.As(err, &syntax) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// reference reads an object by way of maps, which know no case and keep the last.
func reference(raw []byte) (v outer) {
	of := func(raw []byte) map[string]json.RawMessage {
		var m map[string]json.RawMessage
		_ = json.Unmarshal(raw, &m)
		return m
	}
	in := func(m map[string]json.RawMessage) (v inner) {
		_ = json.Unmarshal(m["content"], &v.Content)
		if raw, ok := m["raw"]; ok {
			v.Raw = raw
		}
		return v
	}
	m := of(raw)
	v.inner = in(m)
	_ = json.Unmarshal(m["finish_reason"], &v.Name)
	_ = json.Unmarshal(m["toolCallId"], &v.Camel)
	_ = json.Unmarshal(m["sequence"], &v.Number)
	if _, ok := m["at"]; ok {
		_ = json.Unmarshal(m["at"], &v.At)
	}
	var list []json.RawMessage
	if json.Unmarshal(m["list"], &list) == nil && list != nil {
		v.List = []inner{}
		for _, raw := range list {
			v.List = append(v.List, in(of(raw)))
		}
	}
	if one := m["kind"]; len(one) > 0 && one[0] == '{' {
		v.One = new(inner)
		*v.One = in(of(one))
	}
	return v
}

// FuzzUnmarshal holds the reader against one that goes by maps.
func FuzzUnmarshal(f *testing.F) {
	for _, s := range []string{
		`{"finish_reason":"stop","Finish_reason":"x"}`, `{"list":[{"content":"a","Content":"b"},{"raw":[{"content":1}]}],"kind":{"content":"c"}}`,
		`{"sequence":1,"sequence":2.5,"at":[2025,1,1,0,0,0,0,0,0]}`, `{"toolCallId":"\ud800","tool\u0043allId":"x"}`, ` [ {"content" : "x" } ] `, `{"kind":null,"K\u0069nd":{}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got outer
		err := UnmarshalLast([]byte(s), &got)
		if valid := json.Valid([]byte(s)); !valid {
			if err == nil {
				t.Fatalf("%q is no JSON and was read", s)
			}
			return
		}
		if err != nil { // of another type: what could be read counts, but for a list's rest
			return
		}
		if want := reference([]byte(s)); !reflect.DeepEqual(got, want) && !strings.Contains(s, "null") {
			t.Fatalf("%q:\n got %+v\nwant %+v", s, got, want)
		}
	})
}
