package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"aipscope/follow"
	"aipscope/model"
	"aipscope/model/aip"
)

// Commit stores rows, and the cursor unless it is "", in one transaction, and
// returns every row numbered above after, other consoles' among them. With a
// negative after it returns the rows of this commit alone.
//
// What the journal holds already is not stored again:
//   - an event with a known ID;
//   - a chunk with a known sequence and the same kind, data and part; with other
//     content it becomes a RowConflict, unless the same conflict is known;
//   - a result or replay with the same content, leaving out how it compares with
//     the chunks, unless that is new;
//   - an event recovered from the aggregate under a known index, with the same content;
//   - a status or settled row that says what the last of its kind says.
//
// Duplicates counts those that a daemon delivered again: events, chunks,
// results and replays. Rows of other kinds are always stored. The returned rows of the
// commit are the caller's, numbered; they share its memory.
func (l *Log) Commit(ctx context.Context, after int64, rows []model.Row, cursor string) (follow.Committed, error) {
	c, err := l.commit(ctx, after, rows, cursor, false)
	if err != nil {
		return follow.Committed{}, fmt.Errorf("write the journal: %w", err)
	}
	return c, nil
}

// Claim stores the request of a new action as its first row, before anything of
// it is sent. It reports false, and stores nothing, where the journal knows the
// action already, or forgot it: such an action is watched, never posted. Of several
// consoles that claim one action, one succeeds.
func (l *Log) Claim(ctx context.Context, request model.Row) (bool, error) {
	if request.Kind != model.RowRequest {
		return false, fmt.Errorf("claim the action: a %s row is not a request", request.Kind)
	}
	_, err := l.commit(ctx, -1, []model.Row{request}, "", true)
	if errors.Is(err, errKnown) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("claim the action: %w", err)
	}
	return true, nil
}

var errKnown = errors.New("the journal knows this action already")

func (l *Log) commit(ctx context.Context, after int64, rows []model.Row, cursor string, claim bool) (follow.Committed, error) {
	var done follow.Committed
	if len(rows) == 0 && cursor == "" {
		if after < 0 {
			return done, ctx.Err()
		}
		var err error
		done.Rows, err = l.Rows(ctx, after, noLimit)
		return done, err
	}
	rows, err := complete(rows)
	if err != nil {
		return done, err
	}
	err = l.j.write(ctx, func(ctx context.Context, tx transaction) error {
		action, head, err := l.find(ctx, tx)
		if err != nil {
			return err
		}
		if claim {
			known := action != 0
			if !known {
				if _, known, err = l.forgotten(ctx, tx); err != nil {
					return err
				}
			}
			if known {
				return errKnown
			}
		}
		if action == 0 {
			if action, err = l.create(ctx, tx); err != nil {
				return err
			}
		}
		if after >= 0 && head > after {
			if done.Rows, err = readRows(ctx, tx.StmtContext(ctx, l.j.prepared[selectRows]), action, after, head, noLimit); err != nil {
				return err
			}
		}
		b := batch{
			tx: tx, action: action, packed: &l.j.packed,
			// Numbers ascend for this follower even if the action was
			// forgotten meanwhile and begins anew.
			head:      max(head, after),
			stretches: stretches{tx: tx, action: action},
		}
		if done.Rows == nil {
			done.Rows = rows[:0] // a row moves to where one was that was looked at before
		}
		for from := 0; from < len(rows); {
			count, stored, err := b.stretch(ctx, rows[from:])
			if err != nil {
				return err
			}
			for i := from; i < from+count; i++ {
				if !stored {
					known, err := b.add(ctx, &rows[i])
					if err != nil {
						return err
					}
					if known {
						continue
					}
				}
				done.Rows = append(done.Rows, rows[i])
			}
			from += count
		}
		done.Duplicates = b.duplicates
		if err := b.summarise(ctx); err != nil {
			return err
		}
		if cursor == "" {
			return nil
		}
		_, err = tx.ExecContext(ctx, upsertCursor, action, l.src.Route, l.src.Credential, cursor)
		return err
	})
	if err != nil {
		return follow.Committed{}, err
	}
	return done, nil
}

func (l *Log) create(ctx context.Context, tx transaction) (int64, error) {
	r, err := tx.ExecContext(ctx, `INSERT INTO actions (url, action) VALUES (?, ?)`, l.src.URL, l.src.Action)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

// complete copies rows and decodes those that came as raw bytes alone, so that
// what is committed can be read back.
func complete(rows []model.Row) ([]model.Row, error) {
	rows = slices.Clone(rows)
	for i := range rows {
		r := &rows[i]
		if r.Kind == "" || len(r.Raw) == 0 {
			return nil, fmt.Errorf("row %d of the commit has no kind or no body", i)
		}
		if !decoded(r) {
			whole, err := model.DecodeRow(r.Kind, r.At, r.Raw)
			if err != nil {
				return nil, fmt.Errorf("row %d of the commit: %w", i, err)
			}
			*r = whole
		}
		r.At = timeOf(nanos(r.At))
	}
	return rows, nil
}

// decoded reports whether the field that a row's kind calls for is set.
func decoded(r *model.Row) bool {
	switch r.Kind {
	case model.RowRequest:
		return r.Request != nil
	case model.RowEvent:
		return r.Event != nil
	case model.RowChunk, model.RowConflict:
		return r.Chunk != nil
	case model.RowRecovered:
		return r.Recovered != nil
	case model.RowStatus:
		return r.Status != nil
	case model.RowError:
		return r.Error != nil
	case model.RowResult, model.RowReplay:
		return r.Result != nil
	case model.RowSettled:
		return r.Settled != nil
	case model.RowCancel:
		return r.Cancel != nil
	case model.RowConfirm:
		return r.Confirm != nil
	}
	return true
}

// A row whose sequence or key its action has already is not inserted. A number
// that is taken already would be a fault here, and is an error.
const insertRow = `INSERT INTO rows (id, action, kind, at, sequence, key, body) VALUES (?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (action, sequence) WHERE kind = 'chunk' DO NOTHING
	ON CONFLICT (action, key) WHERE key IS NOT NULL DO NOTHING`

const upsertCursor = `INSERT INTO cursors (action, route, credential, cursor) VALUES (?, ?, ?, ?)
	ON CONFLICT DO UPDATE SET cursor = excluded.cursor`

const selectChunk = `SELECT body FROM rows WHERE action = ? AND sequence = ? AND kind = 'chunk'`

// batch is the part of a commit that adds rows, and what it learns for the list
// of actions.
type batch struct {
	tx         transaction
	action     int64
	packed     *[]byte // memory for a stretch
	head       int64   // the last number given
	chunks     int
	duplicates int
	stretches  stretches
	first      int64 // earliest time of a stored row, 0 for none
	last       int64
}

// add stores a row and numbers it, or reports that the journal holds it already.
func (b *batch) add(ctx context.Context, r *model.Row) (known bool, err error) {
	if known, err = b.unchanged(ctx, r); err != nil {
		return false, err
	}
	var stored []byte
	if !known {
		if stored, err = b.stretches.holds(ctx, r); err != nil {
			return false, err
		}
		known = stored != nil
	}
	if !known {
		if known, err = b.put(ctx, r); err != nil {
			return false, err
		}
	}
	if known && r.Kind == model.RowChunk {
		same, err := b.sameChunk(ctx, r, stored)
		if err != nil {
			return false, err
		}
		if !same {
			r.Kind = model.RowConflict
			if known, err = b.put(ctx, r); err != nil {
				return false, err
			}
		}
	}
	if known {
		switch r.Kind {
		case model.RowEvent, model.RowChunk, model.RowConflict, model.RowResult, model.RowReplay:
			b.duplicates++
		}
		return true, nil
	}
	b.count(r)
	return false, b.note(ctx, r)
}

// count adds a stored row to what the list of actions says.
func (b *batch) count(r *model.Row) {
	if r.Kind == model.RowChunk {
		b.chunks++
	}
	if at := nanos(r.At); at != 0 {
		b.last = max(b.last, at)
		if b.first == 0 || at < b.first {
			b.first = at
		}
	}
}

// put inserts a row under the next number and reports whether the journal holds
// it already.
func (b *batch) put(ctx context.Context, r *model.Row) (known bool, err error) {
	if b.head >= maxNumber {
		return false, fmt.Errorf("the action has %d rows, which is as many as a journal can hold", maxNumber)
	}
	var sequence, unique any
	if r.Chunk != nil {
		sequence = int64(r.Chunk.Sequence)
	}
	if key := keyOf(r); key != nil {
		unique = key
	}
	res, err := b.tx.ExecContext(ctx, insertRow, b.action<<numberBits|(b.head+1), b.action, string(r.Kind), nanos(r.At), sequence, unique, []byte(r.Raw))
	if err != nil {
		return false, err
	}
	if n, err := res.RowsAffected(); n == 0 || err != nil {
		return true, err
	}
	b.head++
	r.Number = b.head
	return false, nil
}

// sameChunk reports whether the chunk that is stored under r's sequence says the
// same. Equal bytes are the usual case. A nil stored is a row of its own, to be read.
func (b *batch) sameChunk(ctx context.Context, r *model.Row, stored []byte) (bool, error) {
	if stored == nil {
		err := b.tx.QueryRowContext(ctx, selectChunk, b.action, int64(r.Chunk.Sequence)).Scan(&stored)
		if err != nil {
			return false, err
		}
	}
	return bytes.Equal(stored, r.Raw) || chunkDigest(stored) == chunkDigest(r.Raw), nil
}

// unchanged reports whether a row says what the journal holds already, for the
// kinds where a key alone cannot tell.
func (b *batch) unchanged(ctx context.Context, r *model.Row) (bool, error) {
	switch r.Kind {
	case model.RowStatus, model.RowSettled:
		var last []byte
		err := b.tx.QueryRowContext(ctx, selectRare+` ORDER BY id DESC LIMIT 1`, b.action, string(r.Kind)).Scan(&last)
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		}
		return err == nil && (bytes.Equal(last, r.Raw) || contentDigest(last) == contentDigest(r.Raw)), err
	case model.RowResult, model.RowReplay:
		// A result that was not compared with the chunks says nothing beside one
		// that was.
		if r.Result.Aggregate != nil {
			return false, nil
		}
		return b.anyResult(ctx, r)
	}
	return false, nil
}

// selectRare reads the bodies of an action's rows of one kind that is neither
// chunk nor event; it says so again for SQLite to use the index.
const selectRare = `SELECT body FROM rows WHERE action = ? AND kind = ? AND kind <> 'chunk' AND kind <> 'event'`

// anyResult reports whether the journal holds r's result, compared or not.
func (b *batch) anyResult(ctx context.Context, r *model.Row) (bool, error) {
	found, err := b.tx.QueryContext(ctx, selectRare, b.action, string(r.Kind))
	if err != nil {
		return false, err
	}
	defer found.Close()
	want := contentDigest(r.Raw, compared)
	for found.Next() {
		var body []byte
		if err := found.Scan(&body); err != nil {
			return false, err
		}
		if contentDigest(body, compared) == want {
			return true, nil
		}
	}
	return false, found.Err()
}

// compared is the member of a result row that this console added: how the
// result compares with the chunks.
const compared = "aggregate"

// keyOf is what makes a row a duplicate of another of its action, or nil where
// nothing does or the sequence does. It begins with a letter for the kind, and
// for the events of chunks goes on with the sequence, so that the index grows at
// its end.
func keyOf(r *model.Row) []byte {
	switch r.Kind {
	case model.RowEvent:
		key := []byte{'e'}
		if n, ok := r.Announces(); ok {
			key = eventKey(n)
		}
		if r.Event.ID == "" {
			return appendDigest(append(key, '?'), contentDigest(r.Raw))
		}
		return appendDigest(key, hash(tagString, []byte(r.Event.ID)))
	case model.RowConflict:
		return appendDigest(binary.BigEndian.AppendUint64([]byte{'c'}, r.Chunk.Sequence), chunkDigest(r.Raw))
	case model.RowRecovered:
		d := r.Recovered.Record.Digest()
		return append(binary.BigEndian.AppendUint64([]byte{'v'}, uint64(r.Recovered.Index)), d[:]...)
	case model.RowResult:
		return appendDigest([]byte{'r'}, contentDigest(r.Raw))
	case model.RowReplay:
		return appendDigest([]byte{'p'}, contentDigest(r.Raw))
	}
	return nil
}

// eventKey is how the key of a chunk's event begins.
func eventKey(sequence uint64) []byte { return binary.BigEndian.AppendUint64([]byte{'e'}, sequence) }

// appendDigest appends half of a digest, which is enough to tell apart.
func appendDigest(key []byte, d digest) []byte { return append(key, d[:16]...) }

// note keeps for the list of actions what a row says about the whole action.
func (b *batch) note(ctx context.Context, r *model.Row) error {
	switch {
	case r.Request != nil:
		q := r.Request
		c := model.ContinuityOf(q.Input)
		_, err := b.tx.ExecContext(ctx, `UPDATE actions SET submitted = 1, capability = ?, mode = ?, idempotency_key = ?, aip_session = ?,
			tenant = ?, principal = ?, session_id = ?, session_key = ?, previous_response_id = ?, conversation = ? WHERE id = ?`,
			q.Capability, q.Mode, q.IdempotencyKey, q.AIPSession, q.Tenant, q.Principal,
			c.SessionID, c.SessionKey, c.PreviousResponseID, c.Conversation, b.action)
		return err
	case r.Status != nil:
		return b.noteState(ctx, r.Status.State, r.Status.CapabilityID)
	case r.Settled != nil:
		return b.noteState(ctx, r.Settled.State, "")
	case r.Kind == model.RowResult && r.Result != nil:
		return b.noteState(ctx, aip.State(r.Result.Status), "")
	}
	return nil
}

func (b *batch) noteState(ctx context.Context, state aip.State, capability string) error {
	_, err := b.tx.ExecContext(ctx, `UPDATE actions SET state = coalesce(nullif(?, ''), state), capability = coalesce(nullif(?, ''), capability)
		WHERE id = ?`, string(state), capability, b.action)
	return err
}

const updateSummary = `UPDATE actions SET head = ?1, chunks = chunks + ?2, last_at = max(last_at, ?4),
	first_at = CASE WHEN ?3 = 0 THEN first_at WHEN first_at = 0 THEN ?3 ELSE min(first_at, ?3) END WHERE id = ?5`

func (b *batch) summarise(ctx context.Context) error {
	_, err := b.tx.ExecContext(ctx, updateSummary, b.head, b.chunks, b.first, b.last, b.action)
	return err
}
