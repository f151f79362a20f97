package follow

import (
	"testing"
	"time"

	"aipscope/model"
)

// What waits for a consumer is bounded by its size, in whatever way the journal told it.
func TestRowsInBriefCountAsTheirJSON(t *testing.T) {
	var made model.Briefs
	o := newOutbox(100)
	o.historyEnds()
	for n := range int64(5) {
		o.publish([]model.Row{made.Row(model.RowChunk, n+1, time.Time{}, &model.Brief{Sequence: uint64(n), Size: queueBytes / 4}, 0)})
		if held := len(o.rows); held != int(n+1)%5 {
			t.Errorf("%d rows are held of %d", held, n+1)
		}
	}
	if o.floor != 5 || o.bytes != 0 {
		t.Errorf("the journal has rows up to %d, %d bytes are counted", o.floor, o.bytes)
	}
	o.publish([]model.Row{made.Row(model.RowChunk, 6, time.Time{}, &model.Brief{Size: 7}, 0)})
	if o.delivered = 5; o.bytes != 7 {
		t.Errorf("%d bytes are counted", o.bytes)
	}
	if b, _, _ := o.take(); len(b.Rows) != 1 || o.bytes != 0 {
		t.Errorf("%d rows, and %d bytes are counted behind them", len(b.Rows), o.bytes)
	}
}
