package store

import (
	"context"
	"database/sql"
	"fmt"

	"aipscope/model"
)

// Health is what Check found of a journal.
type Health struct {
	Path      string
	Bytes     int64 // of the journal's files together
	WAL       int64 // of those, in the write-ahead log
	Schema    int   // version of its tables
	SQLite    string
	Actions   int
	Rows      int
	Chunks    int
	Forgotten int      // actions of which the ID alone is kept
	Unwiped   bool     // removed content may still stand in the files
	Faults    []string // what is wrong with it, without content; none when it is sound
}

// maxFaults bounds how many faults are listed.
const maxFaults = 20

// Check reads the whole journal and says whether it is sound: SQLite's own
// structures, every row, and what the list of actions counts. Others may go on
// writing meanwhile.
func (j *Journal) Check(ctx context.Context) (Health, error) {
	h := Health{Path: j.path}
	if err := j.check(ctx, &h); err != nil {
		return h, fmt.Errorf("check the journal: %w", explain(err))
	}
	return h, nil
}

func (j *Journal) check(ctx context.Context, h *Health) error {
	tx, err := j.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}) // one state of it throughout
	if err != nil {
		return err
	}
	defer tx.Rollback()
	err = tx.QueryRowContext(ctx, `SELECT (SELECT user_version FROM pragma_user_version), sqlite_version(),
		(SELECT count(*) FROM actions), (SELECT count(*) FROM forgotten)`).Scan(&h.Schema, &h.SQLite, &h.Actions, &h.Forgotten)
	if err != nil {
		return err
	}
	if h.Unwiped, err = j.unwiped(ctx, tx); err != nil {
		return err
	}
	j.say("checking the journal's structures", 0, 0, "")
	if err := structures(ctx, tx, h); err != nil || len(h.Faults) > 0 {
		return err // the rest of a damaged file says nothing
	}
	if err := j.everyRow(ctx, tx, h); err != nil {
		return err
	}
	h.Bytes, h.WAL, err = j.sizes()
	return err
}

func (h *Health) fault(format string, args ...any) {
	if len(h.Faults) < maxFaults {
		h.Faults = append(h.Faults, fmt.Sprintf(format, args...))
	}
}

func structures(ctx context.Context, tx *sql.Tx, h *Health) error {
	found, err := tx.QueryContext(ctx, fmt.Sprintf(`PRAGMA integrity_check(%d)`, maxFaults))
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		var line string
		if err := found.Scan(&line); err != nil {
			return err
		}
		if line != "ok" {
			h.fault("%s", line)
		}
	}
	return found.Err()
}

// everyRow decodes every row, and compares what there is of an action with what
// its line in the list says.
func (j *Journal) everyRow(ctx context.Context, tx *sql.Tx, h *Health) error {
	type count struct{ head, chunks, rows int64 }
	listed, is := map[int64]count{}, map[int64]count{}
	names := map[int64]string{}
	all := 0
	actions, err := tx.QueryContext(ctx, `SELECT id, action, head, chunks FROM actions`)
	if err != nil {
		return err
	}
	defer actions.Close()
	for actions.Next() {
		var id int64
		var name string
		var c count
		if err := actions.Scan(&id, &name, &c.head, &c.chunks); err != nil {
			return err
		}
		listed[id], names[id] = c, name
		all += int(c.head)
	}
	if err := actions.Err(); err != nil {
		return err
	}
	rows, err := tx.QueryContext(ctx, `SELECT r.id, r.action, r.kind, r.at, r.body, b.body FROM rows r LEFT JOIN briefs b ON b.id = r.id ORDER BY r.id`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id, action, at int64
		var kind string
		var body, brief []byte
		if err := rows.Scan(&id, &action, &kind, &at, &body, &brief); err != nil {
			return err
		}
		var members []model.Row
		if id>>numberBits != action {
			h.fault("row %d is filed under another action", id)
		}
		err := expand(id, at, kind, body, func(number int64, kind model.RowKind, at int64, body []byte) error {
			if h.Rows++; h.Rows%1000 == 0 {
				j.say("reading the journal", h.Rows, all, "rows")
			}
			c := is[action]
			c.head, c.rows = number, c.rows+1
			if kind == model.RowChunk {
				c.chunks++
				h.Chunks++
			}
			is[action] = c
			row, err := model.DecodeRow(kind, timeOf(at), body)
			if err != nil {
				h.fault("row %d of %s cannot be read", number, names[action])
			}
			members = append(members, row)
			return nil
		})
		if err == nil && brief != nil && !tellsOf(brief, id, members) {
			h.fault("row %d of %s is not what is kept of it in brief", id&maxNumber, names[action])
		}
		if err != nil {
			h.fault("%s: %v", names[action], err)
		}
		if err := ctx.Err(); err != nil {
			return err // the rows at hand end in order
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for id, c := range is {
		l, ok := listed[id]
		switch {
		case !ok:
			h.fault("%d rows belong to no action", c.rows)
		case l.head != c.head || l.chunks != c.chunks:
			h.fault("%s: the list of actions says %d chunks up to row %d, there are %d up to row %d", names[id], l.chunks, l.head, c.chunks, c.head)
		}
	}
	for id, l := range listed {
		if _, ok := is[id]; !ok && l.head != 0 {
			h.fault("%s: none of its %d rows is there", names[id], l.head)
		}
	}
	return nil
}
