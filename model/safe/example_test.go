package safe_test

import (
	"fmt"

	"aipscope/model/safe"
)

// What could drive a terminal is shown, and never sent.
func ExampleText() {
	fmt.Println(safe.Text("done\x1b[2J, see \u202egpj.exe"))
	// Output: done‹U+001B›[2J, see ‹U+202E›gpj.exe
}

// A Stream takes text in pieces that are cut anywhere, in the middle of a
// character, too.
func ExampleStream() {
	var s safe.Stream
	for _, piece := range []string{"caf\xc3", "\xa9 \x1b", "]0;owned\x07"} {
		fmt.Print(s.Write(piece))
	}
	fmt.Println(s.Flush())
	// Output: café ‹U+001B›]0;owned‹U+0007›
}

// The text stays exact, and the bytes are safe to print.
func ExampleJSON() {
	line, err := safe.JSON(nil, map[string]string{"text": "a\x1b[31mb\u200b"})
	fmt.Println(string(line), err)
	// Output: {"text":"a\u001b[31mb\u200b"} <nil>
}
