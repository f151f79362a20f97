package store

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestContentDigestTellsWhatJSONSays(t *testing.T) {
	// Values of one line say the same; no two lines do.
	lines := [][]string{
		{`null`, ` null `},
		{`true`},
		{`false`},
		{`"null"`},
		{`0`, `-0`, `0.0`, `0e9`, `-0.00E-3`},
		{`1`, `1.0`, `1e0`, `10e-1`, `0.1E+1`},
		{`-1`},
		{`100`, `1e2`, `1E+2`, `100.00`, `0.01e4`},
		{`12345678901234567890123456789`, `1.2345678901234567890123456789e28`},
		{`12345678901234567890123456788`},
		{`1e999999999999999999999`},
		{`1e` + strings.Repeat("9", 60)},
		{`0.1`, `1e-1`},
		{`0.10000000000000001`},
		{`""`},
		{`"1"`},
		{`"é"`, `"\u00e9"`, `"\u00E9"`},
		{`"e\u0301"`},
		{`"😀"`, `"\ud83d\ude00"`},
		{`"\ud83d"`},
		{`"\ude00"`},
		{`"\ude00\ud83d"`},
		{`"\ud83d\u0041"`, `"\ud83dA"`},
		{`"\ufffd"`, `"` + "\ufffd" + `"`},
		{"\"\x80\""},
		{`"a\/b\"\\\n\t\r\b\f"`, `"a/b\u0022\u005c\u000a\u0009\u000d\u0008\u000c"`},
		{`[]`, `[ ]`},
		{`[[]]`},
		{`[[],[]]`},
		{`[1,2]`, "[ 1 ,\n2 ]"},
		{`[2,1]`},
		{`{}`, `{ }`},
		{`{"a":1,"b":[true,null]}`, `{"b":[true, null] , "a":1}`, `{"\u0061":1,"b":[true,null]}`, `{"a":9,"b":[true,null],"a":1}`},
		{`{"a":9,"b":[true,null]}`},
		{`{"a":1}`},
		{`{"a":null}`},
		{`{"ab":1,"c":2}`},
		{`{"a":1,"bc":2}`},
		{`not json`},
		{`{`},
		{``},
	}
	seen := map[digest]string{}
	for _, line := range lines {
		want := contentDigest([]byte(line[0]))
		if other, ok := seen[want]; ok {
			t.Errorf("%s is taken for %s", line[0], other)
		}
		seen[want] = line[0]
		for _, same := range line[1:] {
			if contentDigest([]byte(same)) != want {
				t.Errorf("%s is not taken for %s", same, line[0])
			}
		}
	}
}

func TestContentDigestLeavesOutWhatItIsTold(t *testing.T) {
	a, b := []byte(`{"status":"completed","aggregate":{"events":1}}`), []byte(` {"status":"completed"}`)
	if contentDigest(a, "aggregate") != contentDigest(b, "aggregate") {
		t.Error("the member counts")
	}
	if contentDigest(a) == contentDigest(b) || contentDigest([]byte(`{"x":{"aggregate":1}}`), "aggregate") == contentDigest([]byte(`{"x":{}}`)) {
		t.Error("another member was left out")
	}
}

func TestContentDigestBearsDeepNesting(t *testing.T) {
	for _, unit := range []struct{ open, shut string }{{"[", "]"}, {`{"a":`, "}"}} {
		deep := strings.Repeat(unit.open, 9_000) + `"` + strings.Repeat("x", 1<<20) + `"` + strings.Repeat(unit.shut, 9_000)
		if contentDigest([]byte(deep)) == contentDigest([]byte(strings.Replace(deep, "xx", "xy", 1))) {
			t.Error("a deep difference was missed")
		}
		contentDigest([]byte(strings.Repeat(unit.open, 1<<20)))
	}
}

// FuzzContentDigest checks that a digest outlives any other writing of the same
// value: spaced out, and with its members in another order.
func FuzzContentDigest(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.50e3,"\ud83d\ude00",null],"b":{"c":"\u2028"}}`, `"\ud800"`, "\"\xff\"", `[[[[]]]]`, `{"a":1,"a":2}`, `-0e-0`} {
		f.Add([]byte(s), uint64(1))
	}
	f.Fuzz(func(t *testing.T, b []byte, seed uint64) {
		d := contentDigest(b)
		if !json.Valid(b) {
			return
		}
		var spaced bytes.Buffer
		if err := json.Indent(&spaced, b, " ", "\t"); err != nil {
			return // nested too deeply for that
		}
		if contentDigest(spaced.Bytes()) != d {
			t.Errorf("white space changed the digest of %q", b)
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(b, &members) != nil || bytes.Contains(b, []byte(`\u`)) || !bytes.Equal(b, bytes.ToValidUTF8(b, nil)) {
			return
		}
		var names []string
		for name := range members {
			names = append(names, name)
		}
		slices.Sort(names)
		r := rand.New(rand.NewPCG(seed, 0))
		r.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
		out := []byte{'{'}
		for i, name := range names {
			if i > 0 {
				out = append(out, ',')
			}
			quoted, _ := json.Marshal(name)
			out = append(append(append(out, quoted...), ':'), members[name]...)
		}
		if contentDigest(append(out, '}')) != d {
			t.Errorf("the order of members changed the digest of %q", b)
		}
	})
}
