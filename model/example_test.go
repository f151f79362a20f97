package model_test

import (
	"fmt"
	"time"

	"aipscope/model"
	"aipscope/model/aip"
)

// A turn is folded from the rows of an action's journal. Text alone settles
// nothing: the verdict stays pending until a result comes, and says why.
func ExampleTurn_Verdict() {
	start := time.Date(2030, 1, 1, 14, 2, 0, 0, time.UTC)
	row := func(kind model.RowKind, body any) model.Row {
		r, err := model.NewRow(kind, start, body)
		if err != nil {
			panic(err)
		}
		return r
	}
	chunk := func(sequence uint64, provider string) model.Row {
		return row(model.RowChunk, &aip.Chunk{
			ActionID: "act_1", Sequence: sequence, Kind: aip.KindData,
			Data: fmt.Appendf(nil, `{"hermes_sse":{"data":%s}}`, provider),
		})
	}
	turn := model.NewTurn("act_1")
	turn.Apply([]model.Row{
		row(model.RowRequest, &model.Request{Capability: "cap:hermes_agent:demo:chat_stream"}),
		chunk(0, `{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"All four steps "}}]}`),
		chunk(1, `{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"passed."}}]}`),
	})
	fmt.Println(turn.Text())
	fmt.Println(turn.Verdict().Word)

	turn.Apply([]model.Row{row(model.RowResult, &model.Result{Result: aip.Result{
		ActionID: "act_1", Status: aip.ResultFailed,
		Error: &aip.Error{Code: "connector.hermes_agent.stream_incomplete"},
	}})})
	v := turn.Verdict()
	fmt.Printf("%s: %s\n", v.Word, v.Reason)
	fmt.Println(v.Condition(model.CondFinish).Detail)
	// Output:
	// All four steps passed.
	// pending
	// incomplete: the provider's stream stopped without an end
	// no evidence of the provider's end
}
