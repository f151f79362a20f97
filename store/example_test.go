package store_test

import (
	"context"
	"fmt"
	"time"

	"aipscope/follow"
	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/store"
)

// A frame that the journal holds already changes nothing; other content under a
// known sequence is kept beside the first.
func ExampleLog_Commit() {
	ctx := context.Background()
	j, err := store.OpenMemory(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer j.Close()
	log, err := j.Log(ctx, follow.Source{URL: "https://aip.example.org", Action: "act_1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	head := int64(0)
	for _, data := range []string{`{"n":1}`, `{"n":1}`, `{"n":2}`} {
		row, err := model.NewRow(model.RowChunk, time.Unix(0, 0), &aip.Chunk{ActionID: "act_1", Sequence: 0, Kind: aip.KindData, Data: []byte(data)})
		if err != nil {
			fmt.Println(err)
			return
		}
		done, err := log.Commit(ctx, head, []model.Row{row}, "a-cursor")
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, r := range done.Rows {
			fmt.Println(data, "became", r.Number, r.Kind)
			head = r.Number
		}
	}
	cursor, err := log.Cursor(ctx)
	fmt.Println(cursor, err)
	// Output:
	// {"n":1} became 1 chunk
	// {"n":2} became 2 conflict
	// a-cursor <nil>
}
