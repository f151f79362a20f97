package mask_test

import (
	"encoding/json"
	"fmt"

	"aipscope/model/mask"
)

// Keys, kinds and counts stay; content becomes its length, an ID a pseudonym.
func ExampleJSON() {
	frame := json.RawMessage(`{"type":"function_call","name":"read_file","call_id":"call_r1a7","status":"completed","arguments":"{\"path\":\"salaries.md\"}"}`)
	fmt.Println(string(mask.JSON(frame)))
	// Output: {"type":"function_call","name":"read_file","call_id":"call_masked-1","status":"completed","arguments":"‹22 chars›"}
}
