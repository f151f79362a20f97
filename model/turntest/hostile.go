package turntest

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"aipscope/model"
)

// Hostile are strings that a provider or a daemon may put into any field, by
// what they try. None may do more on a terminal than take up room.
func Hostile() map[string]string {
	return map[string]string{
		"everything":       "\x1b]0;owned\a\x1b[2J\u202egnp.exe\u0085\r\n\t\u200b\u2066x\x9b31m",
		"title":            "\x1b]0;owned\x07\x1b]2;owned\x1b\\\x1b[21t\x1b[22;0t\x1b[23;0tt",
		"clipboard":        "\x1b]52;c;b3duZWQ=\x07\x1b]52;p;?\x1b\\c",
		"link":             "\x1b]8;;javascript:alert(1)\x1b\\click\x1b]8;;\x1b\\",
		"notifications":    "\x1b]9;owned\x07\x1b]777;notify;a;b\x07\x1b]1337;File=inline=1:AAAA\x07\x1b]99;i=1;x\x1b\\n",
		"strings":          "\x1bP1$r0m\x1b\\\x1bPq#0~\x1b\\\x1b_Gf=100;AAAA\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\s",
		"unfinished":       "x\x1b]0;never ended",
		"unfinished csi":   "x\x1b[38;5;",
		"c1":               "\u009b2J\u009d0;owned\u009c\u0090q\u009c\u0098x\u009c\u009ep\u009c\u009fa\u009c\u0084\u0085\u008d\u0088z",
		"raw c1":           "\x9b2J\x9d0;owned\x9c\x90q\x9c\x85\x8dz",
		"resets":           "\x1bc\x1b[!p\x1b#8\x1b(0lqk\x1b(B\x0e\x0f\x1b%G\x1b=\x1b>r",
		"cursor":           "\x1b[H\x1b[10A\x1b[99;99H\x1b7\x1b8\x1bM\x1b[s\x1b[u\x1b[3J\x1b[?1049h\x1b[?1000h\x1b[?25l\x1b[5i\x1b[6nk",
		"controls":         "a\x00b\x07c\x08d\x0be\x0cf\x0dg\x1ah\x7fi\x05j",
		"bidi":             "\u202eexe.gnp\u202c\u2067fdp\u2069\u2066\u2068\u200e\u200f\u061cz",
		"invisible":        "a\u200bb\u2060c\ufeffd\u00ade\u3164f\u115fg\uffa0h\u2800i\u034fj\u180ek",
		"tags":             "a\U000E0001\U000E0041\U000E0042\U000E007Fb\U000E0100c",
		"separators":       "a\u2028b\u2029c\u0085d",
		"not UTF-8":        "a\xc3(b\xf0\x9fc\xffd\xed\xa0\x80e\xc0\x9b[2Jf",
		"references":       "&#27;]0;owned&#7; &#x1b;[2J `&#x9b;2J` &#x202e;x [&#27;](https://x.example/&#27;) &zwj;&#8238;",
		"markdown":         "**_~~`\x1b[2J`~~_** [a\x1b[2J](javascript:\x1b[2J) ![\u202e](data:text/html,x) <file:///etc/passwd>\n\n| \x1b[2J | &#27; |\n|---|---|\n| `\x07` | [x](vbscript:x) |\n\n<div>\x1b[2J</div>\n\n    \x1b[2J\n\n```\x1b[2J\n\x1b]0;x\x07\n",
		"zalgo":            "z" + strings.Repeat("\u0335\u0321\u0360", 30) + "a" + strings.Repeat("\u0489", 40),
		"wide":             strings.Repeat("漢👩\u200d👩\u200d👧\ufe0f🇩🇪ｱﾞ\u1100\u1161\u11a8क\u094dषि", 12),
		"keycaps":          strings.Repeat("1\ufe0f\u20e3#\ufe0f\u20e3*\ufe0f\u20e3 ", 12),
		"many":             strings.Repeat("\x1b[2J\u202e", 3000),
		"long":             strings.Repeat("x", 20_000),
		"lines":            strings.Repeat("\n", 500) + "x" + strings.Repeat("\r\n", 500),
		"marks":            strings.Repeat("\u0301", 2000) + "a" + strings.Repeat("\u0301", 8000),
		"nested":           strings.Repeat("[", 3000) + strings.Repeat("> ", 3000) + strings.Repeat("- ", 3000),
		"our own signs":    "\ufdd0\ufdd1‹U+001B›│╮▌",
		"nothing":          "",
		"blank":            " \t ",
		"quotes and paths": "\"'`$(reboot)`;../../etc\\",
	}
}

// Poison returns rows with strings of theirs replaced by the hostile one: most
// values, some of the names that decide what a frame is, and a few names of members.
// Rows that cannot be read any more are left as they were.
func Poison(tb testing.TB, rows []model.Row, hostile string, r *rand.Rand) []model.Row {
	tb.Helper()
	out := make([]model.Row, len(rows))
	for i, row := range rows {
		out[i] = row
		raw, ok := PoisonJSON(row.Raw, hostile, r)
		if !ok {
			tb.Fatalf("row %d is no JSON", row.Number)
		}
		if changed, err := model.DecodeRow(row.Kind, row.At, raw); err == nil {
			changed.Number = row.Number
			out[i] = changed
		}
	}
	return out
}

// PoisonJSON is Poison for one value; false where it is no JSON.
func PoisonJSON(raw []byte, hostile string, r *rand.Rand) ([]byte, bool) {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil, false
	}
	raw, err := json.Marshal(poison(v, "", hostile, r))
	return raw, err == nil
}

// deciding are the members that say what a frame or a row is.
var deciding = map[string]bool{
	"event": true, "type": true, "object": true, "role": true, "status": true, "finish_reason": true, "kind": true, "action_id": true, "raw_data": true,
	"capability": true, "capability_id": true, "state": true, "operation": true, "step": true,
}

func poison(v any, name, hostile string, r *rand.Rand) any {
	switch v := v.(type) {
	case string:
		if often := !deciding[name]; often && r.IntN(4) > 0 || !often && r.IntN(40) == 0 {
			return hostile
		}
	case []any:
		for i := range v {
			v[i] = poison(v[i], name, hostile, r)
		}
	case map[string]any:
		for k := range v {
			v[k] = poison(v[k], k, hostile, r)
		}
		if r.IntN(20) == 0 {
			v[hostile] = hostile
		}
	}
	return v
}
