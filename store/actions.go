package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
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
	Continuity
	IdempotencyKey string
	AIPSession     string
	Tenant         string
	Principal      string

	Verdict         model.Word // as last worked out, or ""
	VerdictRevision int64      // the Revision that it was worked out from
	VerdictRules    int        // the version of the verdict's rules
}

// Continuity is what ties a request to earlier turns (seed 000, section 2).
type Continuity struct {
	SessionID          string
	SessionKey         string // selects private memory: not for logs
	PreviousResponseID string
	Conversation       string // its name, or the JSON of an object
}

// continuityOf finds the continuity fields of a request's input: at its top, or
// for Responses in the provider's body.
func continuityOf(input json.RawMessage) Continuity {
	type fields struct {
		SessionID          json.RawMessage `json:"session_id"`
		SessionKey         json.RawMessage `json:"session_key"`
		PreviousResponseID json.RawMessage `json:"previous_response_id"`
		Conversation       json.RawMessage `json:"conversation"`
	}
	var in struct {
		fields
		Body json.RawMessage `json:"body"`
	}
	var body fields
	if json.Unmarshal(input, &in) != nil {
		return Continuity{}
	}
	_ = json.Unmarshal(in.Body, &body) // a body that is no object has no fields
	text := func(values ...json.RawMessage) string {
		for _, v := range values {
			var s string
			var b bytes.Buffer
			switch {
			case len(v) == 0 || string(v) == "null":
			case json.Unmarshal(v, &s) == nil:
				if s != "" {
					return s
				}
			case json.Compact(&b, v) == nil:
				return b.String()
			}
		}
		return ""
	}
	return Continuity{
		SessionID:          text(in.SessionID, body.SessionID),
		SessionKey:         text(in.SessionKey, body.SessionKey),
		PreviousResponseID: text(in.PreviousResponseID, body.PreviousResponseID),
		Conversation:       text(in.Conversation, body.Conversation),
	}
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
	err := l.j.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
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
