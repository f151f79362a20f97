package replay_test

import (
	"fmt"
	"os"

	"aipscope/follow/replay"
)

// A library names its recordings after what they answer.
func ExampleOpen() {
	lib, err := replay.Open(os.DirFS("../../testdata/recordings"))
	if err != nil {
		fmt.Println(err)
		return
	}
	s, ok := lib.Scenario("chat_tools")
	fmt.Println(s.Name, s.Operation, ok)
	// Output: chat_tools chat_stream true
}
