package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"aipscope/follow"
)

// Forget removes all that the journal holds of an action but its ID, its URL and
// the time: those stay, so that it is never submitted again. The bytes go from the
// files, too. The error wraps ErrInUse while a console has the action open,
// and ErrNoAction where the journal knows nothing of it. Where it wraps ErrUnwiped, the
// action is gone from the journal, and its bytes are not yet gone from the files.
func (j *Journal) Forget(ctx context.Context, src follow.Source, now time.Time) error {
	j.say("removing "+src.Action, 0, 0, "")
	err := j.removeIn(ctx, src, now)
	if err == nil {
		err = j.wipe(ctx)
	}
	if err != nil {
		return fmt.Errorf("forget %s: %w", src.Action, j.needsRoom(err))
	}
	return nil
}

// Pruned is what Prune did.
type Pruned struct {
	Removed []follow.Source
	InUse   []follow.Source // old enough, but a console has them open
}

// Prune forgets every action whose last row is older than before, as Forget
// does. What an earlier call could not remove from the files is removed as well.
func (j *Journal) Prune(ctx context.Context, before, now time.Time) (Pruned, error) {
	var done Pruned
	actions, err := j.Actions(ctx)
	if err != nil {
		return done, fmt.Errorf("prune: %w", err)
	}
	actions = slices.DeleteFunc(actions, func(a Action) bool { return !a.Last.Before(before) })
	for i, a := range actions {
		j.say("removing actions", i, len(actions), "actions")
		src := follow.Source{URL: a.URL, Action: a.ID}
		switch err := j.removeIn(ctx, src, now); {
		case errors.Is(err, ErrInUse):
			done.InUse = append(done.InUse, src)
		case errors.Is(err, ErrNoAction): // another console was first
		case err != nil:
			return done, fmt.Errorf("prune %s: %w", a.ID, j.needsRoom(err))
		default:
			done.Removed = append(done.Removed, src)
		}
	}
	unwiped, err := j.unwiped(ctx, j.db)
	if err == nil && unwiped {
		err = j.wipe(ctx)
	}
	if err != nil {
		return done, fmt.Errorf("prune: %w", j.needsRoom(err))
	}
	return done, nil
}

// Forgotten returns when an action of this ID was last forgotten, of whatever
// daemon; ok is false where none was.
func (j *Journal) Forgotten(ctx context.Context, action string) (at time.Time, ok bool, err error) {
	var n sql.NullInt64
	if err := j.db.QueryRowContext(ctx, `SELECT max(at) FROM forgotten WHERE action = ?`, action).Scan(&n); err != nil {
		return at, false, fmt.Errorf("read the journal: %w", explain(err))
	}
	return timeOf(n.Int64), n.Valid, nil
}

// forgotten is when the log's action was forgotten.
func (l *Log) forgotten(ctx context.Context, q querier) (at time.Time, ok bool, err error) {
	var n int64
	err = q.QueryRowContext(ctx, `SELECT at FROM forgotten WHERE url = ? AND action = ?`, l.src.URL, l.src.Action).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return at, false, nil
	}
	return timeOf(n), err == nil, err
}

// Forgotten is when the log's action was forgotten; ok is false where it was
// not. It may have been watched again since.
func (l *Log) Forgotten(ctx context.Context) (at time.Time, ok bool, err error) {
	if at, ok, err = l.forgotten(ctx, l.j.db); err != nil {
		return at, false, fmt.Errorf("read the journal: %w", explain(err))
	}
	return at, ok, nil
}

// remove takes an action out of the tables and leaves its tombstone, in one
// transaction.
func (j *Journal) remove(ctx context.Context, src follow.Source, now time.Time) error {
	l, err := j.Log(ctx, src)
	if err != nil {
		return err
	}
	release, err := l.lease(true)
	if err != nil {
		return err
	}
	defer release()
	return j.write(ctx, func(ctx context.Context, tx transaction) error {
		id, head, err := l.find(ctx, tx)
		switch {
		case err != nil:
			return err
		case id == 0:
			return ErrNoAction
		}
		// What is freed is written over at once, and not only by wipe: that one
		// needs room, which a full disk does not have.
		var on int
		if err := tx.QueryRowContext(ctx, `PRAGMA secure_delete = on`).Scan(&on); err != nil {
			return err
		}
		for _, q := range []struct {
			text string
			args []any
		}{
			{`DELETE FROM rows WHERE id > ? AND id <= ?`, []any{id << numberBits, id<<numberBits | head}},
			{`DELETE FROM cursors WHERE action = ?`, []any{id}},
			{`DELETE FROM actions WHERE id = ?`, []any{id}},
			{`INSERT INTO forgotten (url, action, at) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET at = excluded.at`, []any{src.URL, src.Action, nanos(now)}},
			{`INSERT INTO unwiped (id) VALUES (1) ON CONFLICT DO NOTHING`, nil},
		} {
			if _, err := tx.ExecContext(ctx, q.text, q.args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// ErrUnwiped says that removed content may still stand in the journal's files.
var ErrUnwiped = errors.New("it is removed, but bytes of it may still be in the journal's files")

func (j *Journal) unwiped(ctx context.Context, q querier) (bool, error) {
	var n int
	if err := q.QueryRowContext(ctx, `SELECT count(*) FROM unwiped`).Scan(&n); err != nil {
		return false, explain(err)
	}
	return n > 0, nil
}

// wipe writes the files anew without what was removed. Writing over what is freed
// is not enough: when SQLite spreads the rows of a page over others, copies stay
// in the gap between a page's index and its content.
func (j *Journal) wipe(ctx context.Context) error {
	j.say("writing the journal's files anew", 0, 0, "")
	if err := j.rewrite(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrUnwiped, explain(err))
	}
	err := j.write(ctx, func(ctx context.Context, tx transaction) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM unwiped`)
		return err
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnwiped, err)
	}
	return nil
}

func (j *Journal) rewrite(ctx context.Context) error {
	select {
	case j.turn <- struct{}{}:
		defer func() { <-j.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	c, err := j.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if j.path != "" {
		// The copy that is made on the way has no room in memory, and no
		// place in a directory that others may read.
		dir := strings.ReplaceAll(j.dir(), "'", "''")
		if _, err := c.ExecContext(ctx, `PRAGMA temp_store = file; PRAGMA temp_store_directory = '`+dir+`'`); err != nil {
			return err
		}
		defer c.ExecContext(context.WithoutCancel(ctx), `PRAGMA temp_store_directory = ''; PRAGMA temp_store = memory`)
	}
	if _, err := c.ExecContext(ctx, `VACUUM`); err != nil {
		return err
	}
	if j.path == "" {
		return nil
	}
	return j.emptyLog(ctx, c)
}
