package follow_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"aipscope/follow"
	"aipscope/follow/client"
	"aipscope/follow/followtest"
)

// BenchmarkFollow reads an action of 20,000 chunks, each with its metadata event,
// from the first byte to the settled result, into a journal in memory.
func BenchmarkFollow(b *testing.B) {
	items := turn(20000)
	d := newFake(nil, items)
	d.page = 100
	wire := d.wire(0)
	d.onFollow = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, wire)
		return true
	}
	final := resultOf(items)
	d.onResult = func(_ int, w http.ResponseWriter) { say(w, 200, final) }
	b.SetBytes(int64(len(wire)))
	b.ReportAllocs()
	for b.Loop() {
		c, err := client.New(client.Config{URL: "http://daemon.test", DialContext: followtest.Serve(b, d)})
		if err != nil {
			b.Fatal(err)
		}
		w := follow.Start(b.Context(), follow.Config{Source: follow.Source{Action: action}, Log: &followtest.Log{}, Client: c})
		rows := 0
		for {
			batch, err := w.Next(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			if rows += len(batch.Rows); batch.Done {
				if batch.Err != nil || rows != 40002 {
					b.Fatal(rows, batch.Err)
				}
				break
			}
		}
		w.Close()
		c.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/20000, "ns/chunk")
}
