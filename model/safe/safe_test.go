package safe

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestTextShowsWhatHasNoInk(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"clean", "plain text, tabs\tand\nlines", "plain text, tabs\tand\nlines"},
		{"scripts", "čeština 日本語 العربية हिन्दी ไทยำ 한국어", "čeština 日本語 العربية हिन्दी ไทยำ 한국어"},
		{"escape", "\x1b[31m", "‹U+001B›[31m"},
		{"c1 csi", "\u009b31m", "‹U+009B›31m"},
		{"raw c1 byte", "a\x9bb", "a‹0x9B›b"},
		{"bell, backspace, delete", "\a\b\x7f", "‹U+0007›‹U+0008›‹U+007F›"},
		{"crlf is a newline", "a\r\nb", "a\nb"},
		{"bare carriage return", "a\rb", "a‹U+000D›b"},
		{"nel, line and paragraph separator", "\u0085\u2028\u2029", "‹U+0085›‹U+2028›‹U+2029›"},
		{"bidi", "\u202e\u2066\u2069\u200f\u061c", "‹U+202E›‹U+2066›‹U+2069›‹U+200F›‹U+061C›"},
		{"zero width", "a\u200bb\u2060c\ufeffd\u00ade", "a‹U+200B›b‹U+2060›c‹U+FEFF›d‹U+00AD›e"},
		{"fillers", "\u3164\uffa0\u115f\u180e\u034f\u17b4", "‹U+3164›‹U+FFA0›‹U+115F›‹U+180E›‹U+034F›‹U+17B4›"},
		{"tags", "a\U000E0041\U000E007F", "a‹U+E0041›‹U+E007F›"},
		{"annotations", "\ufff9a\ufffab\ufffb", "‹U+FFF9›a‹U+FFFA›b‹U+FFFB›"},
		{"noncharacters", "\ufdd0\ufffe\U0010FFFF", "‹U+FDD0›‹U+FFFE›‹U+10FFFF›"},
		{"surrogate as if a code point", "\xed\xa0\x80", "‹U+D800›"},
		{"cut code point", "a\xe2\x82", "a‹0xE2›‹0x82›"},
		{"replacement character has ink", "a\ufffdb", "a\ufffdb"},
		{"emoji cluster", "👩‍💻 ❤️ 1️⃣ 👍🏽 👩🏽‍🚀 🏳️‍🌈", "👩‍💻 ❤️ 1️⃣ 👍🏽 👩🏽‍🚀 🏳️‍🌈"},
		{"joiner outside emoji", "a\u200db 👩\u200dx \u200d👩", "a‹U+200D›b 👩‹U+200D›x ‹U+200D›👩"},
		{"selector outside emoji", "a\ufe0f 1\ufe0f ❤\ufe0f\ufe0f 漢\U000E0100", "a‹U+FE0F› 1‹U+FE0F› ❤\ufe0f‹U+FE0F› 漢‹U+E0100›"},
		{"persian non-joiner", "می\u200cخواهم", "می\u200cخواهم"},
		{"latin non-joiner", "pay\u200cpal \u200c", "pay‹U+200C›pal ‹U+200C›"},
		{"mark without a base", "\u0301a \n\u0301", "‹U+0301›a \n‹U+0301›"},
		{"marks of a language", "ḗ̈ ţ", "ḗ̈ ţ"},
		{"mark flood", "a" + strings.Repeat("\u0334", 10), "a" + strings.Repeat("\u0334", 8) + "‹U+0334›‹U+0334›"},
		{"arabic number sign", "\u0600١", "\u0600١"},
		{"hangul jamo", "\u1100\u1161\u11a8", "\u1100\u1161\u11a8"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Text(tc.in); got != tc.want {
				t.Errorf("Text(%+q)\n got %+q\nwant %+q", tc.in, got, tc.want)
			}
		})
	}
}

func TestTextBoundsOneCell(t *testing.T) {
	for name, unit := range map[string]string{
		"hangul initials": "\u1100", "conjuncts": "क\u094d", "vowel signs": "\u093e", "emoji": "👩\u200d", "modifiers": "\U0001F3FB", "number signs": "\u0600",
	} {
		if got := Text("x" + strings.Repeat(unit, 100) + "क"); !strings.Contains(got, "›") {
			t.Errorf("a hundred %s in one cell pass unseen", name)
		}
	}
}

func TestLineIsOneLine(t *testing.T) {
	if got, want := Line("a\tb\nc\r\nd\x1b"), "a b↵c↵d‹U+001B›"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCleanTextIsNotCopied(t *testing.T) {
	s := strings.Repeat("clean text, 日本語, 👩‍💻, čeština\n", 20)
	if n := testing.AllocsPerRun(20, func() { Text(s); Filter(s); Linkable("https://example.com/") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestFilterKeepsStyleAndNothingElse(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"sgr", "\x1b[1;38;2;1;2;3mx\x1b[0m\x1b[m", ""},
		{"underline colour", "\x1b[4:3mx\x1b[m", ""},
		{"hyperlink", "\x1b]8;id=a1;https://example.com/a?b=c\x1b\\x\x1b]8;;\x1b\\", ""},
		{"hyperlink to a script", "\x1b]8;;javascript:x\x1b\\x", "‹U+001B›]8;;javascript:x‹U+001B›\\x"},
		{"hyperlink with parameters", "\x1b]8;id=a:b=c;https://a/\x1b\\x", "‹U+001B›]8;id=a:b=c;https://a/‹U+001B›\\x"},
		{"hyperlink ended by bel", "\x1b]8;;https://a/\ax", "‹U+001B›]8;;https://a/‹U+0007›x"},
		{"cursor", "\x1b[2J\x1b[1;1H", "‹U+001B›[2J‹U+001B›[1;1H"},
		{"private sgr", "\x1b[>4;1m\x1b[?25m", "‹U+001B›[>4;1m‹U+001B›[?25m"},
		{"title", "\x1b]0;t\a", "‹U+001B›]0;t‹U+0007›"},
		{"unfinished", "a\x1b[31", "a‹U+001B›[31"},
		{"endless", "\x1b[" + strings.Repeat(";", 200) + "m", "‹U+001B›[" + strings.Repeat(";", 200) + "m"},
		{"bidi", "\x1b[1m\u202ex", "\x1b[1m‹U+202E›x"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := tc.want
			if want == "" {
				want = tc.in
			}
			if got := Filter(tc.in); got != want {
				t.Errorf("got %+q\nwant %+q", got, want)
			}
		})
	}
}

func TestLinkable(t *testing.T) {
	for uri, want := range map[string]bool{
		"https://example.com/a": true, "HTTP://x": true, "mailto:a@b": true,
		"": false, "https:": false, "https://": false, "javascript:alert(1)": false, "file:///etc/hosts": false,
		"https://a/\x1b": false, "https://a/ b": false, "https://a/é": false, "/relative": false, "data:text/html,x": false,
	} {
		if got := Linkable(uri); got != want {
			t.Errorf("%q: %v", uri, got)
		}
	}
}

// unsafeRune is the test's own reading of what may not pass, without neighbours.
func unsafeRune(r rune, styled bool) bool {
	switch {
	case r == '\n' || r == '\t' || styled && r == 0x1B:
		return false
	case r == '\u200c' || r == '\u200d' || r == '\ufe0e' || r == '\ufe0f':
		return false
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Cs, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point)
}

func hostile() []string {
	return []string{
		"", "plain", "\x1b]52;c;aGk=\a", "a\r\nb\r", "👩\u200d💻", "1\ufe0f\u20e3", "می\u200cخ", "\xed\xa0\x80\xed", "\xf0\x9f\x91", "e\u0301\u0301",
		"\u1100\u1161", "\x1b[31mred\x1b[0m", "\x1b]8;;https://example.com\x1b\\x\x1b]8;;\x1b\\", "\U000E0041\u202e\u2028",
		"\u1147\u1145\u1147\u1145\u1147\u1145\u1147\u1145\u1145\x85", // as many as may be joined, and what is made visible
	}
}

func FuzzText(f *testing.F) {
	for _, s := range hostile() {
		f.Add(s, uint64(0x5a5a))
	}
	f.Fuzz(func(t *testing.T, s string, cuts uint64) {
		got := Text(s)
		if !utf8.ValidString(got) {
			t.Fatalf("Text(%+q) is no UTF-8: %+q", s, got)
		}
		for _, r := range got {
			if unsafeRune(r, false) {
				t.Fatalf("Text(%+q) holds %U", s, r)
			}
		}
		if again := Text(got); again != got {
			t.Fatalf("clean text changed: %+q to %+q", got, again)
		}
		if f := Filter(got); f != got {
			t.Fatalf("Filter changed clean text %+q to %+q", got, f)
		}
		if strings.ContainsAny(Line(s), "\n\t") {
			t.Fatalf("Line(%+q) has several lines", s)
		}

		var stream Stream
		var b strings.Builder
		rest := s
		for cuts != 0 && rest != "" {
			n := min(int(cuts&7), len(rest))
			cuts >>= 3
			b.WriteString(stream.Write(rest[:n]))
			rest = rest[n:]
		}
		b.WriteString(stream.Write(rest))
		if len(stream.held) > 8 {
			t.Fatalf("%d bytes held back", len(stream.held))
		}
		b.WriteString(stream.Flush())
		if b.String() != got {
			t.Fatalf("streamed %+q\nwhole %+q", b.String(), got)
		}
	})
}

func FuzzFilter(f *testing.F) {
	for _, s := range hostile() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Filter(s)
		for i, r := range got {
			if unsafeRune(r, true) {
				t.Fatalf("Filter(%+q) holds %U", s, r)
			}
			if r == 0x1B && sequence(got[i:]) == 0 && !strings.HasPrefix(got[i:], "\x1b\\") {
				t.Fatalf("Filter(%+q) holds another escape: %+q", s, got[i:])
			}
		}
		if again := Filter(got); again != got {
			t.Fatalf("filtered text changed: %+q to %+q", got, again)
		}
	})
}

func BenchmarkText(b *testing.B) {
	s := strings.Repeat("The checkout slowed down at 14:02, když se vyprázdnila cache — 日本語.\n", 100)
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		Text(s)
	}
}
