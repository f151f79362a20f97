package markdown_test

import (
	"fmt"

	"aipscope/ui/markdown"

	"github.com/muesli/termenv"
)

// The text comes in pieces cut anywhere. Whatever the pieces were, the lines are
// those of the whole text rendered at once.
func ExampleDocument() {
	doc := markdown.New(markdown.Options{Width: 40, Profile: termenv.Ascii})
	for _, piece := range []string{"## Left t", "o do\n\n- a load st", "ep\n- an al", "ert\n"} {
		doc.Append(piece)
	}
	doc.Finish()
	for _, line := range doc.Lines(0, doc.Height()) {
		fmt.Println(line)
	}
	// Output:
	// Left to do
	//
	// • a load step
	// • an alert
}
