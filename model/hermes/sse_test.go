package hermes

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// parse feeds the pieces one after the other and returns every record as the
// connector would write it.
func parse(t testing.TB, limits Limits, pieces ...[]byte) ([]string, error) {
	t.Helper()
	p := NewParser(limits)
	var out []string
	drain := func() error {
		for {
			rec, ok, err := p.Next()
			if err != nil || !ok {
				return err
			}
			out = append(out, string(rec.AppendJSON(nil)))
		}
	}
	for _, b := range pieces {
		if err := p.Feed(b); err != nil {
			return out, err
		}
		if err := drain(); err != nil {
			return out, err
		}
	}
	rec, ok, err := p.Close()
	if ok {
		out = append(out, string(rec.AppendJSON(nil)))
	}
	return out, err
}

func TestParserReadsFramesAsTheConnectorDoes(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"data":                 {"data: {\"a\": 1}\n\n", []string{`{"event":null,"id":null,"data":{"a":1},"raw_data":"{\"a\": 1}","terminal":false}`}},
		"crlf":                 {"event: x\r\ndata: 1\r\n\r\n", []string{`{"event":"x","id":null,"data":1,"raw_data":"1","terminal":false}`}},
		"crlf then lf":         {"data: 1\r\n\ndata: 2\n\r\n\n", []string{`{"event":null,"id":null,"data":1,"raw_data":"1","terminal":false}`, `{"event":null,"id":null,"data":2,"raw_data":"2","terminal":false}`}},
		"mixed is no boundary": {"data: 1\n\r\ndata: 2\n\n", []string{`{"event":null,"id":null,"data":"1\n2","raw_data":"1\n2","terminal":false}`}},
		"bare cr":              {"data: 1\r\rdata: 2\n\n", []string{`{"event":null,"id":null,"data":"1\r\rdata: 2","raw_data":"1\r\rdata: 2","terminal":false}`}},
		"many trailing crs":    {"data: 1\r\r\r\n\n", []string{`{"event":null,"id":null,"data":1,"raw_data":"1","terminal":false}`}},
		"one leading space":    {"data:  x\n\n", []string{`{"event":null,"id":null,"data":" x","raw_data":" x","terminal":false}`}},
		"no space":             {"data:7\n\n", []string{`{"event":null,"id":null,"data":7,"raw_data":"7","terminal":false}`}},
		"data lines joined":    {"data: {\ndata: }\n\n", []string{`{"event":null,"id":null,"data":{},"raw_data":"{\n}","terminal":false}`}},
		"last event and id":    {"event: a\nid: 1\nevent: b\nid: 2\n\n", []string{`{"event":"b","id":"2","data":null,"raw_data":"","terminal":false}`}},
		"comments":             {": keepalive\n\n: a\n:b\n\n", nil},
		"retry alone":          {"retry: 5\n\n", nil},
		"unknown beside":       {"retry: 5\nfoo\ndata\n\n", []string{`{"event":null,"id":null,"data":null,"raw_data":"","terminal":false}`}},
		"blank data":           {"data:   \n\n", []string{`{"event":null,"id":null,"data":null,"raw_data":"  ","terminal":false}`}},
		"done":                 {"data:  [DONE] \n\n", []string{`{"event":null,"id":null,"data":"[DONE]","raw_data":" [DONE] ","terminal":true}`}},
		"not json":             {"data: {oops\n\n", []string{`{"event":null,"id":null,"data":"{oops","raw_data":"{oops","terminal":false}`}},
		"bom eats a line":      {"\ufeffdata: 1\n\ndata: 2\n\n", []string{`{"event":null,"id":null,"data":2,"raw_data":"2","terminal":false}`}},
		"rest at the end":      {"data: 1\n\ndata: 2", []string{`{"event":null,"id":null,"data":1,"raw_data":"1","terminal":false}`, `{"event":null,"id":null,"data":2,"raw_data":"2","terminal":false}`}},
		"white rest":           {"data: 1\n\n \r\n\t", []string{`{"event":null,"id":null,"data":1,"raw_data":"1","terminal":false}`}},
		"line separators":      {"data: a\u2028b\u0085c\x1b\n\n", []string{"{\"event\":null,\"id\":null,\"data\":\"a\u2028b\u0085c\\u001b\",\"raw_data\":\"a\u2028b\u0085c\\u001b\",\"terminal\":false}"}},
		"terminal by event":    {"event: run.failed\ndata: 1\n\n", []string{`{"event":"run.failed","id":null,"data":1,"raw_data":"1","terminal":true}`}},
		"terminal in the data": {"data: {\"event\":\"run.cancelled\"}\n\n", []string{`{"event":null,"id":null,"data":{"event":"run.cancelled"},"raw_data":"{\"event\":\"run.cancelled\"}","terminal":true}`}},
		"type is not looked at": {"data: {\"type\":\"response.completed\"}\n\n",
			[]string{`{"event":null,"id":null,"data":{"type":"response.completed"},"raw_data":"{\"type\":\"response.completed\"}","terminal":false}`}},
		"nested event is not": {"data: {\"x\":{\"event\":\"done\"}}\n\n", []string{`{"event":null,"id":null,"data":{"x":{"event":"done"}},"raw_data":"{\"x\":{\"event\":\"done\"}}","terminal":false}`}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parse(t, DefaultLimits, []byte(c.in))
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got  %q, %v\nwant %q", got, err, c.want)
			}
			for _, r := range got {
				if !json.Valid([]byte(r)) {
					t.Errorf("not JSON: %s", r)
				}
			}
		})
	}
}

func TestParserRefusesWhatIsTooLargeOrNotUTF8(t *testing.T) {
	limits := Limits{Frame: 16, Stream: 40}
	for name, c := range map[string]struct {
		pieces []string
		before int
	}{
		"frame":            {[]string{"data: 1\n\ndata: 0123456789abc\n\n"}, 1},
		"unfinished frame": {[]string{"data: 0123", "456789abc"}, 0},
		"stream":           {[]string{"data: 1\n\ndata: 2\n\n", "data: 3\n\n", "data: 4\n\ndata: 5\n\n"}, 3},
		"not utf-8":        {[]string{"data: 1\n\ndata: \xff\n\n"}, 1},
		"not utf-8 left":   {[]string{"data: \xe2\x82"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var pieces [][]byte
			for _, s := range c.pieces {
				pieces = append(pieces, []byte(s))
			}
			got, err := parse(t, limits, pieces...)
			if !errors.Is(err, ErrInvalidStream) || len(got) != c.before {
				t.Errorf("%d records, %v", len(got), err)
			}
		})
	}
	p := NewParser(limits)
	_ = p.Feed(make([]byte, 41))
	if err := p.Feed([]byte("data: 1\n\n")); !errors.Is(err, ErrInvalidStream) {
		t.Errorf("feeding after the failure: %v", err)
	}
	if _, ok, err := p.Next(); ok || !errors.Is(err, ErrInvalidStream) {
		t.Errorf("reading after the failure: %v", err)
	}
	big := "data: \"" + strings.Repeat("x", 3<<20) + "\"\n\n"
	if got, err := parse(t, Limits{}, []byte(big)); err != nil || len(got) != 1 {
		t.Errorf("no limits: %d records, %v", len(got), err)
	}
}

func TestStrictJSONIsStricterThanGo(t *testing.T) {
	for in, want := range map[string]string{
		` { "a" : [ 1 , 2.5e3 , "x y" , { } ] } `: `{"a":[1,2.5e3,"x y",{}]}`,
		`"\ud83d\ude00"`:                 `"\ud83d\ude00"`,
		`"\\ud83d"`:                      `"\\ud83d"`,
		`"\ud83d"`:                       "",
		`"\ude00"`:                       "",
		`"\ud83dx"`:                      "",
		`"\ud83d\n"`:                     "",
		`"\ud83d\u0041"`:                 "",
		`{"\udfff":1}`:                   "",
		`1e400`:                          "",
		`-1e400`:                         "",
		`0e999`:                          `0e999`,
		`1e-999`:                         `1e-999`,
		`123456789012345678901234567890`: `123456789012345678901234567890`,
		`{"a":}`:                         "",
		`[1,]`:                           "",
		"\u00a01":                        "",
		strings.Repeat("[", 127) + strings.Repeat("]", 127): strings.Repeat("[", 127) + strings.Repeat("]", 127),
		strings.Repeat("[", 128) + strings.Repeat("]", 128): "",
	} {
		got, ok := strictJSON(in)
		if ok != (want != "") || string(got) != want {
			t.Errorf("strictJSON(%q) = %q, %v", in, got, ok)
		}
	}
}

func TestMembersAreFoundByExactName(t *testing.T) {
	obj := json.RawMessage(`{"Event":"A","x":{"event":"B"},"a\"b":[1,"}"],"ev\u0065nt":"C","event":"D","list":[{"k":"v"},2],"empty":[]}`)
	for name, want := range map[string]string{"event": `"D"`, "Event": `"A"`, `a"b`: `[1,"}"]`, "x": `{"event":"B"}`, "none": ""} {
		got, ok := member(obj, name)
		if string(got) != want || ok != (want != "") {
			t.Errorf("member %q = %q, %v", name, got, ok)
		}
	}
	if got, _ := member(json.RawMessage(`{"ev\u0065nt":"C"}`), "event"); string(got) != `"C"` {
		t.Errorf("escaped key: %q", got)
	}
	list, _ := member(obj, "list")
	if got, ok := first(list); !ok || string(got) != `{"k":"v"}` {
		t.Errorf("first = %q, %v", got, ok)
	}
	empty, _ := member(obj, "empty")
	if _, ok := first(empty); ok {
		t.Error("an empty array has a first element")
	}
	for _, not := range []string{"", "null", `"event"`, `[1]`, `{}`} {
		if _, ok := member(json.RawMessage(not), "event"); ok {
			t.Errorf("member of %q", not)
		}
	}
}

func recordings(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("../../testdata/recordings/*/*.sse")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	return files
}

func TestSplitBytesGiveTheSameRecords(t *testing.T) {
	for _, file := range recordings(t) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		raw = raw[max(0, len(raw)-600):]
		want, err := parse(t, DefaultLimits, raw)
		if err != nil {
			t.Fatal(file, err)
		}
		for i := range len(raw) {
			if got, err := parse(t, DefaultLimits, raw[:i], raw[i:]); err != nil || !slices.Equal(got, want) {
				t.Fatalf("%s split at %d: %d records, want %d (%v)", file, i, len(got), len(want), err)
			}
		}
	}
}

func FuzzSplitBytesGiveTheSameRecords(f *testing.F) {
	f.Add([]byte("event: x\r\ndata: {\"a\":\"\\ud83d\"}\r\n\r\n: c\n\ndata: [DONE]\n\n"), uint16(3), uint16(9))
	f.Add([]byte("\ufeffdata: 1\n\r\ndata: 2\r\n\ndata: \xe2\x82\xac"), uint16(1), uint16(20))
	f.Fuzz(func(t *testing.T, raw []byte, a, b uint16) {
		want, wantErr := parse(t, DefaultLimits, raw)
		for _, r := range want {
			if !json.Valid([]byte(r)) {
				t.Fatalf("not JSON: %q", r)
			}
			var rec Record
			if err := json.Unmarshal([]byte(r), &rec); err != nil || rec.saysTwoThings() {
				t.Fatalf("it says two things: %s, %v", r, err)
			}
		}
		i, j := min(int(a), len(raw)), min(int(b), len(raw))
		i, j = min(i, j), max(i, j)
		one := bytes.SplitAfter(raw, nil)
		for _, pieces := range [][][]byte{{raw[:i], raw[i:j], raw[j:]}, one} {
			got, err := parse(t, DefaultLimits, pieces...)
			if (err == nil) != (wantErr == nil) || !slices.Equal(got, want) {
				t.Fatalf("split: %q, %v\nwhole: %q, %v", got, err, want, wantErr)
			}
		}
	})
}
