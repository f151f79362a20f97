// Package store is the journal: the console's own durable record of every
// action that it followed or submitted.
//
// It is one SQLite file, journal.db, in a directory of its own that nobody else
// may read. Whatever a daemon delivers is committed here before it is shown, so
// what was on a screen survives the end of the console, however it ends. Each
// follow frame that is new becomes a row, numbered within its action; a frame
// that the journal holds already changes nothing; a chunk with other content
// under a known sequence is kept beside the first, as a conflict. The daemon's
// cursor is written in the transaction of the rows before it, so it is never
// ahead of them.
//
// Several consoles may hold one journal, and even one action, at once. Writers
// take turns (BEGIN IMMEDIATE, with a busy timeout), readers never wait (WAL).
// With synchronous=NORMAL a loss of power may take the last commits, never
// their order.
//
// A Journal opens and lists; a Log is the journal of one action of one daemon,
// and is what follow.Log asks for. Export and Import carry an action in a file.
// Forget and Prune remove actions for good, but none that a console holds.
package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the database/sql driver "sqlite"
)

// FileName is the journal's file inside its directory. SQLite keeps two more
// beside it, with -wal and -shm behind the name.
const FileName = "journal.db"

// busyTimeout is how long a commit waits for another console's.
const busyTimeout = 5 * time.Second

// readers bounds the connections of one journal on disk: the writer, and
// readers beside it.
const readers = 4

// Journal holds the record of every action, on disk or in memory. It is safe
// for use by several goroutines.
type Journal struct {
	db   *sql.DB
	path string        // "" in memory
	key  []byte        // of Tag
	turn chan struct{} // held by this process's writer, so that its own logs do not poll SQLite for the lock

	packed []byte // of the writer: memory that its next stretch is made in

	tell func(Work) // or nil

	prepared map[string]*sql.Stmt // by their text: those that a commit runs
}

// Open opens the journal in dir, making both when they are missing. The
// directory becomes 0700 and the files 0600; where that cannot be or would take
// a directory from others, the error wraps ErrUnsafe. Other errors wrap
// ErrNotDirectory, ErrPermission, ErrNotJournal, ErrNewer, ErrDamaged,
// ErrLocked or ErrFull.
func Open(ctx context.Context, dir string) (*Journal, error) {
	return open(ctx, dir, busyTimeout)
}

func open(ctx context.Context, dir string, busy time.Duration) (*Journal, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("journal directory: %w", err)
	}
	if err := securePlace(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, FileName)
	// The path is escaped: in a URI a question mark would end it.
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + "?_txlock=immediate" +
		fmt.Sprintf("&_pragma=busy_timeout(%d)", busy.Milliseconds()) +
		"&_pragma=synchronous(normal)&_pragma=temp_store(memory)" +
		"&_pragma=cache_size(-4000)&_pragma=wal_autocheckpoint(4000)&_pragma=journal_size_limit(33554432)"
	j := &Journal{path: path}
	if err := j.connect(ctx, dsn, readers, busy); err != nil {
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	return j, nil
}

// OpenMemory opens a journal that is never on disk and that no other Journal
// shares. It ends with Close.
func OpenMemory(ctx context.Context) (*Journal, error) {
	// One connection: each connection to :memory: is a database of its own.
	j := &Journal{}
	if err := j.connect(ctx, "file::memory:?_txlock=immediate&_pragma=temp_store(memory)", 1, 0); err != nil {
		return nil, fmt.Errorf("journal in memory: %w", err)
	}
	return j, nil
}

func (j *Journal) connect(ctx context.Context, dsn string, conns int, busy time.Duration) (err error) {
	if j.db, err = sql.Open("sqlite", dsn); err != nil {
		return explain(err)
	}
	defer func() {
		if err != nil {
			j.db.Close()
		}
	}()
	j.db.SetMaxOpenConns(conns)
	j.db.SetMaxIdleConns(conns)
	j.turn = make(chan struct{}, 1)
	if err := prepareSchema(ctx, j.db, j.path != "", busy); err != nil {
		return explain(err)
	}
	if err := j.db.QueryRowContext(ctx, `SELECT key FROM secret`).Scan(&j.key); err != nil {
		return explain(fmt.Errorf("read the tag key: %w", err))
	}
	j.prepared = map[string]*sql.Stmt{}
	for _, text := range []string{
		selectAction, selectRows, insertRow, selectChunk, updateSummary, upsertCursor, insertBriefs, selectBriefs, selectBody,
		chunkStretch.top, chunkStretch.between, eventStretch.top, eventStretch.between,
	} {
		if j.prepared[text], err = j.db.PrepareContext(ctx, text); err != nil {
			return explain(err)
		}
	}
	return nil
}

// Close ends the journal. What was committed stays.
func (j *Journal) Close() error {
	if err := j.db.Close(); err != nil {
		return fmt.Errorf("close journal: %w", explain(err))
	}
	return nil
}

// Path is the journal's file, or "" for a journal in memory.
func (j *Journal) Path() string { return j.path }

func (j *Journal) dir() string { return filepath.Dir(j.path) }

// Tag names a credential without giving it away: an HMAC-SHA256 of it, in hex,
// under a random key that never leaves this journal. It is "" without a
// credential. A cursor is good only under the tag that it was issued under.
func (j *Journal) Tag(credential []byte) string {
	if len(credential) == 0 {
		return ""
	}
	m := hmac.New(sha256.New, j.key)
	m.Write(credential)
	return hex.EncodeToString(m.Sum(nil))
}

// write runs f in a transaction that holds the write lock from its start. When
// ctx ends before the commit, nothing is written. The context that f gets never
// ends: the driver watches one that can, at a cost for every statement.
func (j *Journal) write(ctx context.Context, f func(ctx context.Context, tx transaction) error) error {
	select {
	case j.turn <- struct{}{}:
		defer func() { <-j.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	tx, err := j.db.BeginTx(ctx, nil)
	if err != nil {
		return explain(err)
	}
	defer tx.Rollback()
	err = f(context.WithoutCancel(ctx), transaction{tx, j.prepared})
	if err == nil {
		err = tx.Commit()
	}
	if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil {
		return ctx.Err() // rolled back under f
	}
	return explain(err)
}

// transaction is one that writes. A statement that the journal has prepared is not
// compiled again for each commit.
type transaction struct {
	*sql.Tx
	prepared map[string]*sql.Stmt
}

func (t transaction) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	if s := t.prepared[text]; s != nil {
		return t.StmtContext(ctx, s).ExecContext(ctx, args...)
	}
	return t.Tx.ExecContext(ctx, text, args...)
}

func (t transaction) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	if s := t.prepared[text]; s != nil {
		return t.StmtContext(ctx, s).QueryContext(ctx, args...)
	}
	return t.Tx.QueryContext(ctx, text, args...)
}

func (t transaction) QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row {
	if s := t.prepared[text]; s != nil {
		return t.StmtContext(ctx, s).QueryRowContext(ctx, args...)
	}
	return t.Tx.QueryRowContext(ctx, text, args...)
}
