package model

import "testing"

// A text that runs along another one is what was written, also where it leaves it.
func TestATextThatRunsAlongAnother(t *testing.T) {
	for _, words := range [][]string{{"b", "c"}, {"b", "x"}, {"", "bcd", ""}, {"bcde"}, {"x", "b"}, nil} {
		g := &grown{along: "abcd", n: 1}
		want := "a"
		for _, w := range words {
			g.WriteString(w)
			if want += w; g.String() != want || g.Len() != len(want) {
				t.Errorf("%q: %q, want %q", words, g.String(), want)
			}
		}
	}
}
