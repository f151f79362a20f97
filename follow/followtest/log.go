package followtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"aipscope/follow"
	"aipscope/model"
)

// Log is a journal of one action in memory, by the rules of follow.Log. Several
// watches may hold one, as several consoles hold one journal.
type Log struct {
	// Fail, if set, is asked before each commit, and its error is the commit's.
	Fail func(rows []model.Row) error

	mu      sync.Mutex
	rows    []model.Row
	cursor  string
	commits []Commit
	known   map[string]bool          // rows that are not stored twice, by content
	first   map[uint64]bool          // sequences
	last    map[model.RowKind]string // raw
}

// Commit is one transaction, as it was asked for.
type Commit struct {
	Rows   int
	Cursor string
}

var _ follow.Log = (*Log)(nil)

// Commit implements follow.Log.
func (l *Log) Commit(ctx context.Context, after int64, rows []model.Row, cursor string) (follow.Committed, error) {
	if err := ctx.Err(); err != nil {
		return follow.Committed{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Fail != nil {
		if err := l.Fail(rows); err != nil {
			return follow.Committed{}, err
		}
	}
	l.commits = append(l.commits, Commit{len(rows), cursor})
	var c follow.Committed
	for _, r := range rows {
		if !l.store(r) {
			c.Duplicates++
		}
	}
	if cursor != "" {
		l.cursor = cursor
	}
	c.Rows = l.above(after)
	return c, nil
}

// store keeps a row unless it is there already.
func (l *Log) store(r model.Row) bool {
	if l.known == nil {
		l.known, l.first, l.last = map[string]bool{}, map[uint64]bool{}, map[model.RowKind]string{}
	}
	key := ""
	switch r.Kind {
	case model.RowEvent:
		key = "event " + r.Event.ID
	case model.RowChunk:
		key = fmt.Sprint("chunk ", r.Chunk.Sequence, " ", content(&r))
	case model.RowResult, model.RowReplay, model.RowRecovered:
		key = string(r.Kind) + string(r.Raw)
	case model.RowStatus, model.RowSettled:
		if l.last[r.Kind] == string(r.Raw) {
			return false
		}
	}
	if key != "" && l.known[key] {
		return false
	}
	l.known[key] = true
	if r.Kind == model.RowChunk {
		if l.first[r.Chunk.Sequence] {
			r.Kind = model.RowConflict
		}
		l.first[r.Chunk.Sequence] = true
	}
	l.last[r.Kind] = string(r.Raw)
	// Numbers have gaps, as the contract allows.
	r.Number = int64(3*len(l.rows) + 2)
	l.rows = append(l.rows, r)
	return true
}

// content is what makes two chunks of one sequence the same.
func content(r *model.Row) string {
	var data bytes.Buffer
	if json.Compact(&data, r.Chunk.Data) != nil {
		data.Reset()
	}
	part, _ := json.Marshal(r.Chunk.Part)
	return fmt.Sprintf("%s %s %s", r.Chunk.Kind, data.Bytes(), part)
}

func (l *Log) above(after int64) []model.Row {
	i, _ := slices.BinarySearchFunc(l.rows, after+1, func(r model.Row, n int64) int { return int(r.Number - n) })
	return slices.Clone(l.rows[i:])
}

// Brief implements follow.Log.
func (l *Log) Brief(ctx context.Context, after int64, limit int) ([]model.Row, error) {
	return l.Rows(ctx, after, limit)
}

// Rows is Brief, whole.
func (l *Log) Rows(ctx context.Context, after int64, limit int) ([]model.Row, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	rows := l.above(after)
	return rows[:min(limit, len(rows))], nil
}

// Cursor implements follow.Log.
func (l *Log) Cursor(context.Context) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cursor, nil
}

// DropCursor implements follow.Log.
func (l *Log) DropCursor(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cursor = ""
	return nil
}

// Commits returns the transactions so far.
func (l *Log) Commits() []Commit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.commits)
}
