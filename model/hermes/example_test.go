package hermes_test

import (
	"fmt"

	"aipscope/model/hermes"
)

// A request is checked before anything of it is sent. Each finding names the
// field and the rule, and repeats no content.
func ExampleCheck() {
	errs, warns := hermes.Check(hermes.OpResponsesStream, []byte(`{"conversation":"c","previous_response_id":"resp_1"}`), hermes.CheckOptions{Mode: "streaming"})
	for _, f := range errs {
		fmt.Println("error:", f)
	}
	fmt.Println(len(warns), "warnings")
	// Output:
	// error: input: is required
	// error: previous_response_id: cannot stand together with conversation
	// 0 warnings
}

// A frame says which family and event it is, and what it does to a turn.
func ExampleDecode() {
	f := hermes.Decode(hermes.Record{Data: []byte(`{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hello"}}]}`)}, hermes.OpChatStream)
	fmt.Println(f.Label())
	// Output: chat.delta
}
