package store

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tmaxmax/go-sse"
	"go.uber.org/goleak"

	"aipscope/follow"
	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/hermes"
)

func TestMain(m *testing.M) {
	if job := os.Getenv(childJob); job != "" {
		os.Exit(runChild(job))
	}
	goleak.VerifyTestMain(m)
}

var noon = time.Date(2030, 1, 2, 12, 0, 0, 123456789, time.UTC)

func testSource(action string) follow.Source {
	return follow.Source{URL: "http://127.0.0.1:8080", Action: action, Route: "/aip/v1/actions/" + action + "/events", Credential: "tag"}
}

func openDisk(t testing.TB, dir string) *Journal {
	t.Helper()
	j, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// privateDir is a directory that a journal takes as its own.
func privateDir(t testing.TB) string { return filepath.Join(t.TempDir(), "journal") }

func openMemory(t testing.TB) *Journal {
	t.Helper()
	j, err := OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func openLog(t testing.TB, j *Journal, src follow.Source) *Log {
	t.Helper()
	l, err := j.Log(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func commit(t testing.TB, l *Log, after int64, cursor string, rows ...model.Row) follow.Committed {
	t.Helper()
	c, err := l.Commit(t.Context(), after, rows, cursor)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func allRows(t testing.TB, l *Log) []model.Row {
	t.Helper()
	var rows []model.Row
	for r, err := range l.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

// wantRows fails unless rows are want, in kind and bytes, numbered ascending.
func wantRows(t testing.TB, rows []model.Row, want ...model.Row) {
	t.Helper()
	if len(rows) != len(want) {
		t.Fatalf("%d rows, want %d: %v", len(rows), len(want), kinds(rows))
	}
	var last int64
	for i, r := range rows {
		if r.Number <= last {
			t.Fatalf("row %d has number %d after %d", i, r.Number, last)
		}
		last = r.Number
		w := want[i]
		w.Number = r.Number
		if !reflect.DeepEqual(r, w) {
			t.Fatalf("row %d is\n%+v\nwant\n%+v", i, r, w)
		}
	}
}

func kinds(rows []model.Row) (k []model.RowKind) {
	for _, r := range rows {
		k = append(k, r.Kind)
	}
	return k
}

// as is a row under another kind, as a commit stores a conflicting chunk.
func as(kind model.RowKind, r model.Row) model.Row {
	r.Kind = kind
	return r
}

var cachedRecordings map[string][]model.Row

// recordings are the provider streams of real servers, each as the rows of a
// whole action: a request, an event and a chunk per frame, a result.
func recordings(t testing.TB) map[string][]model.Row {
	t.Helper()
	if cachedRecordings != nil {
		return cachedRecordings
	}
	files, err := filepath.Glob("../testdata/recordings/*/*.sse")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	all := map[string][]model.Row{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".sse")
		rows := []model.Row{newRow(t, model.RowRequest, &model.Request{Capability: "cap:hermes_agent:lab:chat_stream", Input: json.RawMessage(`{"messages":[]}`)})}
		for e, err := range sse.Read(bytes.NewReader(b), &sse.ReadConfig{MaxEventSize: 16 << 20}) {
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			record := hermes.Record{RawData: &e.Data, Data: json.RawMessage(e.Data)}
			if !json.Valid(record.Data) {
				record.Data, _ = json.Marshal(e.Data)
			}
			if e.Type != "" {
				record.Event = &e.Type
			}
			data, err := json.Marshal(map[string]any{"hermes_sse": record})
			if err != nil {
				t.Fatal(err)
			}
			n := uint64(len(rows) / 2)
			rows = append(rows,
				newRow(t, model.RowEvent, &aip.Event{ID: "evt_" + name + string(rune('a'+n%26)) + time.Duration(n).String(), Kind: aip.EventChunk}),
				newRow(t, model.RowChunk, &aip.Chunk{ActionID: "act_" + name, Sequence: n, Kind: aip.KindData, Data: data}))
		}
		rows = append(rows, newRow(t, model.RowResult, &model.Result{Result: aip.Result{ActionID: "act_" + name, Status: aip.ResultCompleted}}))
		all[name] = rows
	}
	cachedRecordings = all
	return all
}

func row(tb testing.TB, kind model.RowKind, at time.Time, raw string) model.Row {
	tb.Helper()
	r, err := model.DecodeRow(kind, at, []byte(raw))
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func newRow(t testing.TB, kind model.RowKind, body any) model.Row {
	t.Helper()
	r, err := model.NewRow(kind, noon, body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
