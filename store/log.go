package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"
	"sync"
	"time"

	"aipscope/follow"
	"aipscope/model"
)

// Log is the journal of one action of one daemon. Its identity is the source's
// URL and action; route and credential only say which cursor is meant. It is
// safe for use by several goroutines.
type Log struct {
	j   *Journal
	src follow.Source

	mu   sync.Mutex
	last []member // of the stretch that Row read last: its neighbours are often next
	of   int64    // its id
	kind *stretchKind
}

var _ follow.Log = (*Log)(nil)

// Log returns the journal of an action. Nothing is written, and the action is
// in no list, before the first commit.
func (j *Journal) Log(ctx context.Context, src follow.Source) (*Log, error) {
	if src.URL == "" || src.Action == "" {
		return nil, errors.New("a journal log needs a daemon's URL and an action")
	}
	return &Log{j: j, src: src}, ctx.Err()
}

// maxNumber bounds row numbers: they share an integer with the action.
const maxNumber = 1<<numberBits - 1

const (
	selectAction = `SELECT id, head FROM actions WHERE url = ? AND action = ?`
	selectRows   = `SELECT id, kind, at, body FROM rows WHERE id > ? AND id <= ? ORDER BY id LIMIT ?`
)

// find returns the action's id and the number of its last row, or zeros for an
// action that the journal does not know.
func (l *Log) find(ctx context.Context, q querier) (id, head int64, err error) {
	err = q.QueryRowContext(ctx, selectAction, l.src.URL, l.src.Action).Scan(&id, &head)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, 0, nil
	}
	return id, head, err
}

// Rows reads at most limit rows numbered above after, in order.
func (l *Log) Rows(ctx context.Context, after int64, limit int) ([]model.Row, error) {
	return l.rows(ctx, after, limit, func(action, head int64) ([]model.Row, error) {
		return readRows(ctx, l.j.prepared[selectRows], action, after, head, limit)
	})
}

// Brief is Rows for who needs what a turn does: a row that was kept in brief has no
// Raw (see model.Briefs), and takes a fraction of the time.
func (l *Log) Brief(ctx context.Context, after int64, limit int) ([]model.Row, error) {
	return l.rows(ctx, after, limit, func(action, head int64) ([]model.Row, error) {
		return l.j.readBriefs(ctx, action, after, head, limit)
	})
}

func (l *Log) rows(ctx context.Context, after int64, limit int, read func(action, head int64) ([]model.Row, error)) (rows []model.Row, err error) {
	if limit <= 0 {
		return nil, nil
	}
	id, head, err := l.find(ctx, l.j.db)
	if err == nil && head > after {
		rows, err = read(id, head)
	}
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", explain(err))
	}
	return rows, nil
}

// Row reads one row by its number. The error wraps ErrNoRow where there is
// none.
func (l *Log) Row(ctx context.Context, number int64) (model.Row, error) {
	r, err := l.row(ctx, number)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		err = ErrNoRow
	case err != nil:
		err = fmt.Errorf("read the journal: %w", explain(err))
	}
	if err != nil {
		return model.Row{}, fmt.Errorf("row %d: %w", number, err)
	}
	return r, nil
}

func (l *Log) row(ctx context.Context, number int64) (model.Row, error) {
	action, head, err := l.find(ctx, l.j.db)
	if err != nil {
		return model.Row{}, err
	}
	if number < 1 || number > head {
		return model.Row{}, sql.ErrNoRows
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	id := action<<numberBits | number
	if n := len(l.last); n == 0 || id > l.of || id <= l.of-int64(n) {
		var at int64
		var kind string
		var body []byte
		if err := l.j.prepared[selectRows].QueryRowContext(ctx, id-1, action<<numberBits|head, 1).Scan(&l.of, &kind, &at, &body); err != nil {
			return model.Row{}, err
		}
		l.last, l.kind = nil, stretchNamed(kind)
		if l.kind == nil {
			if l.of != id {
				return model.Row{}, sql.ErrNoRows
			}
			return decodeRow(model.RowKind(kind), number, at, body)
		}
		if l.last, err = unpack(l.of&maxNumber, at, body); err != nil {
			return model.Row{}, err
		}
	}
	if i := len(l.last) - 1 - int(l.of-id); i >= 0 {
		m := l.last[i]
		return decodeRow(l.kind.of, number, m.at, bytes.Clone(m.body)) // it may outlive its neighbours
	}
	return model.Row{}, sql.ErrNoRows
}

func decodeRow(kind model.RowKind, number, at int64, body []byte) (model.Row, error) {
	r, err := model.DecodeRow(kind, timeOf(at), body)
	r.Number = number
	return r, err
}

// All reads every row in order, in pages, so that a writer is never held up.
// Rows that are committed meanwhile may be among them. The first error ends it.
func (l *Log) All(ctx context.Context) iter.Seq2[model.Row, error] {
	const page = 512
	return func(yield func(model.Row, error) bool) {
		for after := int64(0); ; {
			rows, err := l.Rows(ctx, after, page)
			if err != nil {
				yield(model.Row{}, err)
				return
			}
			for _, r := range rows {
				if !yield(r, nil) {
					return
				}
				after = r.Number
			}
			if len(rows) < page {
				return
			}
		}
	}
}

// Cursor returns the cursor stored for the source's route and credential, or
// "".
func (l *Log) Cursor(ctx context.Context) (string, error) {
	var cursor string
	err := l.j.db.QueryRowContext(ctx, `SELECT c.cursor FROM cursors c JOIN actions a ON a.id = c.action
		WHERE a.url = ? AND a.action = ? AND c.route = ? AND c.credential = ?`,
		l.src.URL, l.src.Action, l.src.Route, l.src.Credential).Scan(&cursor)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("read the cursor: %w", explain(err))
	}
	return cursor, nil
}

// DropCursor forgets the cursor of the source's route and credential.
func (l *Log) DropCursor(ctx context.Context) error {
	err := l.j.write(ctx, func(ctx context.Context, tx transaction) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM cursors WHERE route = ? AND credential = ?
			AND action = (SELECT id FROM actions WHERE url = ? AND action = ?)`,
			l.src.Route, l.src.Credential, l.src.URL, l.src.Action)
		return err
	})
	if err != nil {
		return fmt.Errorf("drop the cursor: %w", err)
	}
	return nil
}

// readRows reads an action's rows with numbers in (after, through], at most limit.
func readRows(ctx context.Context, read *sql.Stmt, action, after, through int64, limit int) ([]model.Row, error) {
	base := action << numberBits
	after, through = max(after, 0), min(through, maxNumber)
	found, err := read.QueryContext(ctx, base|after, base|through, limit)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	rows := make([]model.Row, 0, min(int64(limit), through-after))
	for len(rows) < limit && found.Next() {
		var id, at int64
		var kind string
		var body []byte
		if err := found.Scan(&id, &kind, &at, &body); err != nil {
			return nil, err
		}
		err := expand(id, at, kind, body, func(number int64, kind model.RowKind, at int64, body []byte) error {
			if number <= after || len(rows) == limit {
				return nil
			}
			r, err := decodeRow(kind, number, at, body)
			if err != nil {
				return fmt.Errorf("row %d: %w", number, err)
			}
			rows = append(rows, r)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return rows, found.Err()
}

// A time is kept in nanoseconds since 1970, and the unknown time as 0.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func timeOf(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

const noLimit = math.MaxInt
