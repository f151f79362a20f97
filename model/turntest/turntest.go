// Package turntest gives tests the journal rows of recorded provider streams,
// made by the connector's own rules, and the verdicts that they must come to.
package turntest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// Action is the ID of every recording's action.
const Action = "act_0198b0d2c41e7000a000000000000001"

// Recording is one line of verdicts.tsv: a recorded stream and what must come
// of it.
type Recording struct {
	Path      string // of the .sse file
	Name      string // without .sse
	Operation hermes.Operation
	Chunks    int
	Result    aip.ResultStatus
	Code      string // the last part of the error's code, or ""
	Verdict   model.Word
	Confirmed model.Word
}

// root is the folder of the recordings, whichever package asks.
func root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "testdata", "recordings")
}

// Recordings are all recordings of all generations.
func Recordings(tb testing.TB) []Recording {
	tb.Helper()
	var all []Recording
	for _, dir := range []string{"hermes", "generations"} {
		table, err := os.ReadFile(filepath.Join(root(), dir, "verdicts.tsv"))
		if err != nil {
			tb.Fatal(err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n")[1:] {
			c := strings.Split(line, "\t")
			if len(c) != 7 {
				tb.Fatalf("verdicts.tsv: %q", line)
			}
			n, err := strconv.Atoi(c[2])
			if err != nil {
				tb.Fatal(err)
			}
			all = append(all, Recording{
				Path: filepath.Join(root(), dir, c[0]), Name: strings.TrimSuffix(c[0], ".sse"), Operation: hermes.Operation(c[1]), Chunks: n,
				Result: aip.ResultStatus(c[3]), Code: strings.TrimPrefix(c[4], "-"), Verdict: model.Word(c[5]), Confirmed: model.Word(c[6]),
			})
		}
	}
	return all
}

// Named returns one recording.
func Named(tb testing.TB, name string) Recording {
	tb.Helper()
	for _, r := range Recordings(tb) {
		if r.Name == name {
			return r
		}
	}
	tb.Fatalf("no recording %q", name)
	return Recording{}
}

// Rows are the journal rows of a recording: a request, for each chunk its
// metadata event and itself, 100 ms apart, and the result.
func (r Recording) Rows(tb testing.TB) []model.Row {
	tb.Helper()
	if rows, ok := made.Load(r.Path); ok {
		return slices.Clone(rows.([]model.Row))
	}
	body, err := os.ReadFile(r.Path)
	if err != nil {
		tb.Fatal(err)
	}
	rows := Rows(tb, r.Operation, body)
	made.Store(r.Path, slices.Clone(rows))
	return rows
}

// made keeps the rows of recordings that some test asked for.
var made sync.Map

// Rows are the journal rows that the bytes of a provider stream come to.
func Rows(tb testing.TB, op hermes.Operation, body []byte) []model.Row {
	tb.Helper()
	b := Builder{TB: tb}
	b.Add(model.RowRequest, &model.Request{Capability: op.Capability("demo"), Mode: "streaming"})
	p := hermes.NewParser(hermes.DefaultLimits)
	agg := hermes.NewAggregate(Action, "demo", op, 4096)
	if op == hermes.OpChatStream {
		agg = hermes.NewAggregate(Action, "demo", op, 100000)
	}
	more := true
	feed := func(rec hermes.Record, ok bool, err error) bool {
		if err != nil {
			tb.Fatal(err)
		}
		if ok && more {
			var c aip.Chunk
			c, more = agg.Add(rec)
			b.Chunk(c)
		}
		return ok && more
	}
	if err := p.Feed(body); err != nil {
		tb.Fatal(err)
	}
	for feed(p.Next()) {
	}
	if more {
		if rec, ok, err := p.Close(); err != nil {
			tb.Fatal(err)
		} else if ok {
			b.Chunk(agg.AddLast(rec))
		}
	}
	if c, ok := agg.Closing(); ok {
		b.Chunk(c)
	}
	var raw bytes.Buffer
	raw.WriteString(`{"action_result":`)
	for piece := range agg.Result().Pieces() {
		raw.Write(piece)
	}
	raw.WriteString(`}`)
	b.Result(raw.Bytes())
	return b.Rows
}

// Builder numbers rows and gives them times.
type Builder struct {
	TB   testing.TB
	Rows []model.Row
	at   time.Time
}

// Spacing is the time between two chunks.
const Spacing = 100 * time.Millisecond

// Epoch is the time of the first row.
var Epoch = time.Date(2030, 1, 1, 14, 2, 0, 0, time.UTC)

// Add appends a row.
func (b *Builder) Add(kind model.RowKind, body any) {
	b.TB.Helper()
	if b.at.IsZero() {
		b.at = Epoch
	}
	row, err := model.NewRow(kind, b.at, body)
	if err != nil {
		b.TB.Fatal(err)
	}
	row.Number = int64(len(b.Rows) + 1)
	b.Rows = append(b.Rows, row)
}

// Chunk appends a chunk behind its metadata event.
func (b *Builder) Chunk(c aip.Chunk) {
	b.TB.Helper()
	if b.at.IsZero() {
		b.at = Epoch
	}
	b.at = b.at.Add(Spacing)
	b.Add(model.RowEvent, &aip.Event{
		ID: fmt.Sprintf("evt_stream_%d", c.Sequence), Kind: aip.EventChunk, OccurredAt: aip.Time{Time: b.at}, ActionID: c.ActionID,
		Data: json.RawMessage(fmt.Sprintf(`{"action_id":%q,"sequence":%d,"kind":%q}`, c.ActionID, c.Sequence, c.Kind)),
	})
	b.Add(model.RowChunk, &c)
}

// Result appends a result, given as the daemon's answer to GET …/result,
// matched with the chunks so far.
func (b *Builder) Result(answer []byte) {
	b.TB.Helper()
	var held model.Frames
	for _, r := range b.Rows {
		if r.Kind == model.RowChunk {
			held.Add(&r)
		}
	}
	m := model.NewMatcher(&held)
	read := func(f func(i int, rec hermes.Record)) aip.Result {
		res, err := aip.ReadResult(bytes.NewReader(answer), func(i int, raw json.RawMessage) error {
			var rec hermes.Record
			err := json.Unmarshal(raw, &rec)
			f(i, rec)
			return err
		})
		if err != nil {
			b.TB.Fatal(err)
		}
		return res
	}
	res := read(func(_ int, rec hermes.Record) { m.Event(rec.Digest()) })
	match := m.Match()
	read(func(i int, rec hermes.Record) {
		if r, ok := m.Recover(i, rec); ok {
			b.Add(model.RowRecovered, &r)
		}
	})
	b.Add(model.RowResult, &model.Result{Result: res, Aggregate: &match})
}

// Confirm appends the operator's word that every tool and the answer stand.
func (b *Builder) Confirm(t *model.Turn) {
	b.TB.Helper()
	c := model.Confirmation{Answer: true, Tools: t.ToolKeys(), Through: t.Applied()}
	b.Add(model.RowConfirm, &c)
}
