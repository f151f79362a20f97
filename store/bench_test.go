package store

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"aipscope/model"
)

// streamRows are the rows of a stream as a follower commits them: each chunk
// with the event that announces it.
func streamRows(tb testing.TB, action string, first, chunks int) []model.Row {
	tb.Helper()
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	rows := make([]model.Row, 0, 2*chunks)
	for n := first; n < first+chunks; n++ {
		raw := fmt.Sprintf(`{"id":"evt_stream_%x","kind":"aip.stream.chunk","occurred_at":"2030-01-02T03:04:05Z","action_id":%q,"data":{"action_id":%q,"sequence":%d,"kind":"data"}}`, sha256.Sum256(fmt.Append(nil, action, n)), action, action, n)
		rows = append(rows, row(tb, model.RowEvent, at, raw))
		frame := fmt.Sprintf(`{"id":"chatcmpl-0a1b2c","object":"chat.completion.chunk","created":1893553445,"model":"hermes-agent","choices":[{"index":0,"delta":{"content":"word %d "},"finish_reason":null}]}`, n)
		raw = fmt.Sprintf(`{"action_id":%q,"sequence":%d,"kind":"data","data":{"hermes_sse":{"event":null,"id":null,"data":%s,"raw_data":%q,"terminal":false}}}`, action, n, frame, frame)
		rows = append(rows, row(tb, model.RowChunk, at, raw))
	}
	return rows
}

// BenchmarkCommit commits a stream of 100,000 chunks with their events in
// batches of 256 rows, as a follower does; then the same again, all duplicates;
// then reads it all.
func BenchmarkCommit(b *testing.B) {
	const chunks, page = 100_000, 256
	rows := streamRows(b, "act_bench", 0, chunks)
	commit := func(b *testing.B, l *Log, after int64) int64 {
		for at := 0; at < len(rows); at += page {
			c, err := l.Commit(b.Context(), after, rows[at:min(at+page, len(rows))], fmt.Sprint("cursor ", at))
			if err != nil {
				b.Fatal(err)
			}
			if n := len(c.Rows); n > 0 {
				after = c.Rows[n-1].Number
			}
		}
		return after
	}
	open := func(b *testing.B, memory bool) *Log {
		if memory {
			return openLog(b, openMemory(b), testSource("act_bench"))
		}
		return openLog(b, openDisk(b, privateDir(b)), testSource("act_bench"))
	}
	for _, memory := range []bool{false, true} {
		b.Run(fmt.Sprintf("new/memory=%t", memory), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				l := open(b, memory)
				b.StartTimer()
				commit(b, l, 0)
			}
		})
	}
	b.Run("again", func(b *testing.B) {
		l := open(b, false)
		head := commit(b, l, 0)
		for b.Loop() {
			commit(b, l, head)
		}
	})
	b.Run("read", func(b *testing.B) {
		l := open(b, false)
		commit(b, l, 0)
		for b.Loop() {
			n := 0
			for _, err := range l.All(b.Context()) {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
			if n != len(rows) {
				b.Fatal(n)
			}
		}
	})
}
