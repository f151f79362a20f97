package markdown

import (
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/chroma/v2"
)

func init() { maxColour = time.Minute }

func TestCodeThatWouldTakeLongIsText(t *testing.T) {
	for name, code := range map[string]string{
		"long":       strings.Repeat("x := 1\n", maxHighlight/7+1),
		"long line":  "x := 1\n" + strings.Repeat("a ", maxCodeLine) + "\n",
		"blank":      "x := 1\n" + strings.Repeat("\n", maxBlanks+1) + "y := 2\n",
		"blank tabs": "x := 1\n" + strings.Repeat(" \t\n", maxBlanks+1),
	} {
		if colourable(code) {
			t.Errorf("%s: is coloured", name)
		}
	}
	if !colourable(strings.Repeat("x := 1\n\n\n", 500)) {
		t.Error("usual code is not coloured")
	}
}

// slow is a lexer that never comes to an end.
type slow struct{ chroma.Lexer }

func (s slow) Tokenise(*chroma.TokeniseOptions, string) (chroma.Iterator, error) {
	return func() chroma.Token { return chroma.Token{Type: chroma.Text} }, nil
}

func TestALexerThatTakesTooLongIsAskedOnce(t *testing.T) {
	lexer := slow{aliases()["go"]}
	defer func() { clear(tired.lexers) }()
	defer func(usual time.Duration) { maxColour = usual }(maxColour)
	maxColour = 100 * time.Millisecond
	aliases()["slow"] = lexer
	defer delete(aliases(), "slow")
	b := newBlocks(options(80))
	if got := b.code.highlight("x := 1\n", "slow"); len(got) != 1 || got[0][0].text != "x := 1" {
		t.Errorf("%+v", got)
	}
	if !isTired(lexer) || isTired(aliases()["go"]) {
		t.Error("the lexer is asked again, or others are not")
	}
	for _, other := range []string{"c", "java"} {
		tire(aliases()[other])
	}
	if !isTired(aliases()["go"]) {
		t.Error("the turn goes on with other languages")
	}
}
