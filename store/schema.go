package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// applicationID marks the file as a journal ("aips", PRAGMA application_id).
const applicationID = 0x61697073

// migrations[n] takes a journal from schema version n to n+1 (PRAGMA
// user_version). What is here has been on disks: change nothing, only append.
var migrations = []string{`
	CREATE TABLE secret (id INTEGER PRIMARY KEY CHECK (id = 1), key BLOB NOT NULL);  -- of Tag

	-- An action of one daemon, and what the list of actions shows of it.
	CREATE TABLE actions (
		id                   INTEGER PRIMARY KEY,
		url                  TEXT NOT NULL,
		action               TEXT NOT NULL,
		head                 INTEGER NOT NULL DEFAULT 0,  -- number of its last row
		chunks               INTEGER NOT NULL DEFAULT 0,
		first_at             INTEGER NOT NULL DEFAULT 0,  -- unix nanoseconds
		last_at              INTEGER NOT NULL DEFAULT 0,
		capability           TEXT NOT NULL DEFAULT '',
		state                TEXT NOT NULL DEFAULT '',
		submitted            INTEGER NOT NULL DEFAULT 0,  -- a request is among its rows
		mode                 TEXT NOT NULL DEFAULT '',
		idempotency_key      TEXT NOT NULL DEFAULT '',
		aip_session          TEXT NOT NULL DEFAULT '',
		tenant               TEXT NOT NULL DEFAULT '',
		principal            TEXT NOT NULL DEFAULT '',
		session_id           TEXT NOT NULL DEFAULT '',
		session_key          TEXT NOT NULL DEFAULT '',
		previous_response_id TEXT NOT NULL DEFAULT '',
		conversation         TEXT NOT NULL DEFAULT '',
		verdict              TEXT NOT NULL DEFAULT '',
		verdict_revision     INTEGER NOT NULL DEFAULT 0,  -- the row that it was worked out from, at the latest
		verdict_rules        INTEGER NOT NULL DEFAULT 0,
		UNIQUE (url, action)
	);
	CREATE INDEX actions_by_id ON actions (action);
	CREATE INDEX actions_by_time ON actions (last_at);

	-- id is actions.id << 40 | row number, so that an action's rows lie together
	-- and in order, and a chunk costs one insert into a tree and a small index.
	CREATE TABLE rows (
		id       INTEGER PRIMARY KEY,
		action   INTEGER NOT NULL,
		kind     TEXT NOT NULL,
		at       INTEGER NOT NULL,  -- unix nanoseconds, 0 if unknown
		sequence INTEGER,           -- of chunks and conflicts: an unsigned number in a signed one
		key      BLOB,              -- what makes the row a duplicate of another, for kinds other than chunk
		body     BLOB NOT NULL
	);
	CREATE UNIQUE INDEX chunks_by_sequence ON rows (action, sequence) WHERE kind = 'chunk';
	CREATE UNIQUE INDEX rows_by_key ON rows (action, key) WHERE key IS NOT NULL;
	CREATE INDEX rare_rows ON rows (action, kind) WHERE kind <> 'chunk' AND kind <> 'event';

	-- A cursor holds for the route and the credentials that it was issued for.
	CREATE TABLE cursors (
		action     INTEGER NOT NULL,
		route      TEXT NOT NULL,
		credential TEXT NOT NULL,
		cursor     TEXT NOT NULL,
		PRIMARY KEY (action, route, credential)
	) WITHOUT ROWID;
`, `
	-- What is left of a forgotten action, so that it is never submitted again.
	CREATE TABLE forgotten (
		url    TEXT NOT NULL,
		action TEXT NOT NULL,
		at     INTEGER NOT NULL,  -- unix nanoseconds
		PRIMARY KEY (url, action)
	) WITHOUT ROWID;

	-- It has a row while bytes of what was removed may still stand in the files.
	CREATE TABLE unwiped (id INTEGER PRIMARY KEY CHECK (id = 1));
`, `
	-- Of kind chunks and events are many rows in one, a stretch (stretch.go); sequence is the last in it.
	CREATE UNIQUE INDEX chunk_stretches ON rows (action, sequence) WHERE kind = 'chunks';
	CREATE UNIQUE INDEX event_stretches ON rows (action, sequence) WHERE kind = 'events';
`, `
	-- What a turn needs of the rows in a stretch, under its id (brief.go). It can be worked out from them.
	CREATE TABLE briefs (id INTEGER PRIMARY KEY, body BLOB NOT NULL);
	-- They go with the stretch, also where a console forgets that does not know of them.
	CREATE TRIGGER briefs_go AFTER DELETE ON rows BEGIN DELETE FROM briefs WHERE id = OLD.id; END;
`}

// numberBits are the low bits of rows.id that hold the row's number.
const numberBits = 40

// prepareSchema makes or migrates the journal's tables. A file that is not a
// journal, or a newer one, is left untouched.
func prepareSchema(ctx context.Context, db *sql.DB, onDisk bool, busy time.Duration) error {
	version, err := schemaVersion(ctx, db)
	if err != nil {
		return err
	}
	if version < len(migrations) {
		if err := migrate(ctx, db); err != nil {
			return err
		}
	}
	if onDisk {
		return useWAL(ctx, db, busy)
	}
	return nil
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func schemaVersion(ctx context.Context, q querier) (int, error) {
	var id, version, tables int
	// One statement: another console may be making the journal meanwhile.
	err := q.QueryRowContext(ctx, `SELECT i.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_application_id i, pragma_user_version v`).Scan(&id, &version, &tables)
	switch {
	case err != nil:
		return 0, err
	case id == 0 && version == 0 && tables == 0:
		return 0, nil // a new file
	case id != applicationID:
		return 0, fmt.Errorf("%w: it is the database of another program", ErrNotJournal)
	case version > len(migrations):
		return 0, fmt.Errorf("%w: its schema is version %d, this one knows %d", ErrNewer, version, len(migrations))
	}
	return version, nil
}

func migrate(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	// Under the lock the version is read again: another console may have been
	// first.
	version, err := schemaVersion(ctx, tx)
	if err != nil {
		return err
	}
	if version == 0 {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA application_id = %d`, applicationID)); err != nil {
			return err
		}
	}
	for n, m := range migrations[version:] {
		if _, err := tx.ExecContext(ctx, m); err != nil {
			return fmt.Errorf("migrate to schema version %d: %w", version+n+1, err)
		}
	}
	if version == 0 {
		key := make([]byte, 32)
		rand.Read(key)
		if _, err := tx.ExecContext(ctx, `INSERT INTO secret (id, key) VALUES (1, ?)`, key); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, len(migrations))); err != nil {
		return err
	}
	return tx.Commit()
}

// useWAL switches the file to write-ahead logging, which it then stays in. The
// switch needs the file for itself and does not wait for others by itself, so
// it is tried again until the busy timeout.
func useWAL(ctx context.Context, db *sql.DB, busy time.Duration) error {
	for end := time.Now().Add(busy); ; {
		var mode string
		err := explain(db.QueryRowContext(ctx, `PRAGMA journal_mode = wal`).Scan(&mode))
		switch {
		case err == nil && mode == "wal":
			return nil
		case err == nil:
			return fmt.Errorf("its file system does not allow write-ahead logging (SQLite offers %q)", mode)
		case !errors.Is(err, ErrLocked) || time.Now().After(end):
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}
