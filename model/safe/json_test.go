package safe

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestJSONIsSafeAndExact(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"clean", "a <b> & é 日本 👍", `"a <b> & é 日本 👍"`},
		{"controls", "\x1b[31m\n\x7f\u0085", `"\u001b[31m\n\u007f\u0085"`},
		{"bidi and zero width", "\u202e\u200b\u200d\ufe0f", `"\u202e\u200b\u200d\ufe0f"`},
		{"above the first plane", "\U000E0041", `"\udb40\udc41"`},
		{"not UTF-8", "a\xffb", `"a\ufffdb"`},
		{"quotes and backslashes", `\"\\u001b`, `"\\\"\\\\u001b"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := JSON([]byte("x"), tc.in)
			if err != nil || string(got) != "x"+tc.want {
				t.Errorf("got %s, %v\nwant x%s", got, err, tc.want)
			}
		})
	}
	if got, err := JSON([]byte("x"), make(chan int)); err == nil || string(got) != "x" {
		t.Errorf("a channel became %s, %v", got, err)
	}
}

func TestEscapeJSONReplacesLoneSurrogates(t *testing.T) {
	for in, want := range map[string]string{
		`"\ud800"`:               `"\ufffd"`,
		`"\ud83d\udc4d"`:         `"\ud83d\udc4d"`,
		`"\ud83d\ud83d\udc4d"`:   `"\ufffd\ud83d\udc4d"`,
		`"\udc4d\\ud800"`:        `"\ufffd\\ud800"`,
		"{\n\t\"a\u202e\": [1]}": "{\n\t\"a\\u202e\": [1]}",
	} {
		if got := string(EscapeJSON([]byte(in))); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// FuzzAppendString holds what is put together here against what the encoder makes.
func FuzzAppendString(f *testing.F) {
	for _, s := range append(hostile(), "a <b> & c \"d\" \\", "\b\f\n\r\t\x00\x7f", "é 日本 \u2028\u2029\ufffd\xff") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := JSON([]byte("x"), s)
		if got := AppendString([]byte("x"), s); err != nil || string(got) != string(want) {
			t.Fatalf("%+q became %s, want %s (%v)", s, got, want, err)
		}
	})
}

func TestIndentKeepsItsSizeInBounds(t *testing.T) {
	for in, want := range map[string]string{`{"a":[1,"[{,\"]"]}`: "{\n  \"a\": [\n    1,\n    \"[{,\\\"]\"\n  ]\n}", `{"a":`: `{"a":`, ``: ``} {
		if got := string(Indent([]byte(in))); got != want {
			t.Errorf("%s became\n%s", in, got)
		}
	}
	deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	wide := strings.Repeat("[", 120) + "0" + strings.Repeat(",0", 500_000) + strings.Repeat("]", 120)
	for _, in := range []string{deep, wide, deep[:9000]} {
		if n := len(Indent([]byte(in))); n > 4*len(in)+mostBlanks {
			t.Errorf("%d bytes became %d", len(in), n)
		}
	}
	list := "[0" + strings.Repeat(",0", 2_000_000) + "]"
	if n := len(Indent([]byte(list))); n < 2*len(list) {
		t.Errorf("a long list is not indented: %d bytes", n)
	}
}

func FuzzEscapeJSON(f *testing.F) {
	for _, s := range hostile() {
		b, _ := json.Marshal(s)
		f.Add(string(b))
		f.Add(`{"` + s + `":["` + s + `"]}`)
	}
	f.Add(`"\ud800\u0041\"\\"`)
	f.Fuzz(func(t *testing.T, s string) {
		var before, after any
		if json.Unmarshal([]byte(s), &before) != nil {
			t.Skip()
		}
		got := EscapeJSON([]byte(s))
		if err := json.Unmarshal(got, &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Fatalf("%+q became %+q (%v)", s, got, err)
		}
		for _, r := range strings.NewReplacer("\n", "", "\t", "", "\r", "").Replace(string(got)) {
			if hidden(r) {
				t.Fatalf("%+q keeps %U", got, r)
			}
		}
	})
}
