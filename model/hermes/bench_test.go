package hermes

import (
	"os"
	"testing"
)

// What one chunk of a recorded stream costs to read.
func BenchmarkReadContent(b *testing.B) {
	for _, c := range []struct {
		file string
		op   Operation
	}{{"chat_markdown", OpChatStream}, {"responses_markdown", OpResponsesStream}, {"session_stream_markdown", OpSessionChatStream}} {
		b.Run(c.file, func(b *testing.B) {
			body, err := os.ReadFile("../../testdata/recordings/hermes/" + c.file + ".sse")
			if err != nil {
				b.Fatal(err)
			}
			p := NewParser(DefaultLimits)
			if err := p.Feed(body); err != nil {
				b.Fatal(err)
			}
			var chunks [][]byte
			size := 0
			for rec, ok, err := p.Next(); ok; rec, ok, err = p.Next() {
				if err != nil {
					b.Fatal(err)
				}
				chunks = append(chunks, ChunkOf("act_a", uint64(len(chunks)), rec).Data)
				size += len(chunks[len(chunks)-1])
			}
			b.SetBytes(int64(size / len(chunks)))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				content := ReadContent(chunks[i%len(chunks)])
				content.Frame(c.op)
			}
		})
	}
}
