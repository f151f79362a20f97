package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"aipscope/follow"
	"aipscope/model"
	"aipscope/model/aip"
)

// Action is what the journal knows of an action without reading its rows. Its
// texts come from outside and are not safe for a terminal.
type Action struct {
	URL        string // the daemon's
	ID         string
	Capability string    // "" while unknown
	State      aip.State // by the last status, result or settled row; "" while unknown
	Chunks     int
	First      time.Time // of the rows received or made here; zero while there are none
	Last       time.Time
	Revision   int64 // number of the last row

	Submitted bool // a request is among the rows; it fills what follows
	Mode      string
	model.Continuity
	IdempotencyKey string
	AIPSession     string
	Tenant         string
	Principal      string

	Verdict         model.Word // as last worked out, or ""
	VerdictRevision int64      // the Revision that it was worked out from
	VerdictRules    int        // the version of the verdict's rules
}

const actionColumns = `url, action, capability, state, chunks, first_at, last_at, head, submitted, mode, idempotency_key, aip_session,
	tenant, principal, session_id, session_key, previous_response_id, conversation, verdict, verdict_revision, verdict_rules`

func scanAction(scan func(...any) error) (Action, error) {
	var a Action
	var first, last int64
	err := scan(&a.URL, &a.ID, &a.Capability, &a.State, &a.Chunks, &first, &last, &a.Revision, &a.Submitted, &a.Mode, &a.IdempotencyKey, &a.AIPSession,
		&a.Tenant, &a.Principal, &a.SessionID, &a.SessionKey, &a.PreviousResponseID, &a.Conversation, &a.Verdict, &a.VerdictRevision, &a.VerdictRules)
	a.First, a.Last = timeOf(first), timeOf(last)
	return a, err
}

// Actions lists the actions of the journal, the last touched first.
func (j *Journal) Actions(ctx context.Context) ([]Action, error) {
	found, err := j.db.QueryContext(ctx, `SELECT `+actionColumns+` FROM actions ORDER BY last_at DESC, id DESC`)
	if err != nil {
		return nil, fmt.Errorf("list actions: %w", explain(err))
	}
	defer found.Close()
	var actions []Action
	for found.Next() {
		a, err := scanAction(found.Scan)
		if err != nil {
			return nil, fmt.Errorf("list actions: %w", explain(err))
		}
		actions = append(actions, a)
	}
	if err := found.Err(); err != nil {
		return nil, fmt.Errorf("list actions: %w", explain(err))
	}
	return actions, nil
}

// Action returns what the journal knows of the log's action. The error wraps
// ErrNoAction where that is nothing.
func (l *Log) Action(ctx context.Context) (Action, error) {
	a, err := scanAction(l.j.db.QueryRowContext(ctx, `SELECT `+actionColumns+` FROM actions WHERE url = ? AND action = ?`,
		l.src.URL, l.src.Action).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Action{}, fmt.Errorf("action %q: %w", l.src.Action, ErrNoAction)
	}
	if err != nil {
		return Action{}, fmt.Errorf("read the action: %w", explain(err))
	}
	return a, nil
}

// Find returns the daemons whose action of this ID the journal holds, the last
// touched first, each as a source without route and credential.
func (j *Journal) Find(ctx context.Context, action string) ([]follow.Source, error) {
	found, err := j.db.QueryContext(ctx, `SELECT url FROM actions WHERE action = ? ORDER BY last_at DESC, id DESC`, action)
	if err != nil {
		return nil, fmt.Errorf("find the action: %w", explain(err))
	}
	defer found.Close()
	var sources []follow.Source
	for found.Next() {
		s := follow.Source{Action: action}
		if err := found.Scan(&s.URL); err != nil {
			return nil, fmt.Errorf("find the action: %w", explain(err))
		}
		sources = append(sources, s)
	}
	if err := found.Err(); err != nil {
		return nil, fmt.Errorf("find the action: %w", explain(err))
	}
	return sources, nil
}

// SetVerdict keeps the verdict that version rules of the verdict's rules gave on
// the rows up to number revision. It is only a cache for lists; one from newer rules, or
// of the same rules from more rows, is left in place.
func (l *Log) SetVerdict(ctx context.Context, word model.Word, revision int64, rules int) error {
	err := l.j.write(ctx, func(ctx context.Context, tx transaction) error {
		_, err := tx.ExecContext(ctx, `UPDATE actions SET verdict = ?1, verdict_revision = ?2, verdict_rules = ?3
			WHERE url = ?4 AND action = ?5 AND (verdict_rules, verdict_revision) <= (?3, ?2)`,
			string(word), revision, rules, l.src.URL, l.src.Action)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep the verdict: %w", err)
	}
	return nil
}
