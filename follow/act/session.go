package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"aipscope/follow"
	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/hermes"

	"github.com/google/uuid"
)

// Bounds of a list (seed 002, "List sessions").
const (
	DefaultPage = 50
	MaxPage     = 200
	MaxOffset   = 1_000_000
)

// ListOptions choose sessions. Archived ones appear in no list.
type ListOptions struct {
	Limit    int // rows of a page, 1 to 200; 0 for 50
	Offset   int
	Source   string // exact; "" for all
	Children bool   // continuations and delegates' children, too
	All      bool   // further pages until a short one
}

// SessionList is what the pages held, each session once.
type SessionList struct {
	Sessions []hermes.Session
	Actions  []string // that asked, one a page
	Next     int      // offset behind the last page
	More     bool     // the last page was full, so there may be more
	Repeated int      // rows that came again, because activity moved them between pages
}

// Sessions lists sessions by their last activity. Paging stops at a page that is
// not full: has_more only says that it was full. Rows move while pages are read,
// so that each is kept once, by its ID, and some may be missed.
func (c *Caller) Sessions(ctx context.Context, o ListOptions) (SessionList, error) {
	limit := o.Limit
	if limit == 0 {
		limit = DefaultPage
	}
	if limit < 1 || limit > MaxPage {
		return SessionList{}, &CheckError{[]hermes.Finding{{Field: "limit", Rule: fmt.Sprintf("must be from 1 to %d", MaxPage)}}}
	}
	list := SessionList{Next: o.Offset}
	seen := map[string]bool{}
	for {
		input := map[string]any{"limit": limit, "offset": list.Next, "include_children": o.Children}
		if o.Source != "" {
			input["source"] = o.Source
		}
		r, err := c.read(ctx, hermes.OpSessionsList, input)
		if err != nil {
			return list, err
		}
		page, ok := hermes.ReadSessions(r.Result.Output)
		if !ok {
			return list, unreadable(hermes.OpSessionsList, r)
		}
		list.Actions = append(list.Actions, r.Action)
		list.Next += len(page.Sessions)
		for _, s := range page.Sessions {
			if seen[s.ID] {
				list.Repeated++
				continue
			}
			seen[s.ID] = true
			list.Sessions = append(list.Sessions, s)
		}
		list.More = len(page.Sessions) >= limit
		if !o.All || !list.More || list.Next > MaxOffset {
			return list, nil
		}
	}
}

// unreadable is a completed call whose output is not what the operation answers.
func unreadable(op hermes.Operation, r Reply) error {
	return fmt.Errorf("%s: the answer of %s cannot be read", op, r.Action)
}

// SessionReply is a session as a call left or found it.
type SessionReply struct {
	Reply
	Session hermes.Session
}

func (c *Caller) session(op hermes.Operation, r Reply, err error) (SessionReply, error) {
	if err != nil {
		return SessionReply{Reply: r}, err
	}
	s, ok := hermes.ReadSession(r.Result.Output)
	if !ok {
		return SessionReply{Reply: r}, unreadable(op, r)
	}
	return SessionReply{r, s}, nil
}

// Session reads one exact row; it follows no continuation.
func (c *Caller) Session(ctx context.Context, id string) (SessionReply, error) {
	r, err := c.read(ctx, hermes.OpSessionGet, map[string]string{"session_id": id})
	return c.session(hermes.OpSessionGet, r, err)
}

// NewSession is what a session is made of. Empty fields are left to the
// provider.
type NewSession struct {
	ID, Title, Model, SystemPrompt string
	Key                            string // "" makes one
}

// CreateSession makes a session.
func (c *Caller) CreateSession(ctx context.Context, n NewSession) (SessionReply, error) {
	r, err := c.call(ctx, call{op: hermes.OpSessionCreate, input: n.input(), key: n.Key})
	return c.session(hermes.OpSessionCreate, r, err)
}

func (n NewSession) input() map[string]any {
	return map[string]any{"body": filled("id", n.ID, "title", n.Title, "model", n.Model, "system_prompt", n.SystemPrompt)}
}

// Check is what is wrong with the request, as CreateSession would say it.
func (n NewSession) Check() []hermes.Finding { return check(hermes.OpSessionCreate, n.input()) }

// check is what is wrong with a call's input. Its key is made where there is none.
func check(op hermes.Operation, input any) []hermes.Finding {
	raw, err := json.Marshal(input)
	if err != nil {
		return []hermes.Finding{{Field: "input", Rule: "must be JSON"}}
	}
	errs, _ := hermes.Check(op, raw, hermes.CheckOptions{Capability: op.Capability(""), IdempotencyKey: "made", Mode: "sync"})
	return errs
}

// filled is an object of names and values in turn, without the empty ones.
func filled(pairs ...string) map[string]any {
	o := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			o[pairs[i]] = pairs[i+1]
		}
	}
	return o
}

// Patch changes a session's title and end reason, and nothing else.
type Patch struct {
	ID        string
	Title     *string // "" clears it; nil leaves it
	EndReason string  // "" leaves it; the first one stays
	Key       string
}

// PatchSession changes a session's metadata. An end reason closes nothing for
// the provider: it lets an ended session go on.
func (c *Caller) PatchSession(ctx context.Context, p Patch) (SessionReply, error) {
	r, err := c.call(ctx, call{op: hermes.OpSessionPatch, input: p.input(), key: p.Key})
	return c.session(hermes.OpSessionPatch, r, err)
}

func (p Patch) input() map[string]any {
	body := filled("end_reason", p.EndReason)
	if p.Title != nil {
		body["title"] = *p.Title
	}
	return map[string]any{"session_id": p.ID, "body": body}
}

// Check is what is wrong with the request, as PatchSession would say it.
func (p Patch) Check() []hermes.Finding { return check(hermes.OpSessionPatch, p.input()) }

// Transcript is what session_messages answered.
type Transcript struct {
	Reply
	hermes.Transcript
	Count int // the session's message_count, or -1 where it could not be read
}

// Messages reads a session's latest active messages: those of the last session of
// its chain, 500 at most. How many there are is read from that session's row.
func (c *Caller) Messages(ctx context.Context, id string) (Transcript, error) {
	r, err := c.read(ctx, hermes.OpSessionMessages, map[string]string{"session_id": id})
	t := Transcript{Reply: r, Count: -1}
	if err != nil {
		return t, err
	}
	var ok bool
	if t.Transcript, ok = hermes.ReadTranscript(r.Result.Output); !ok {
		return t, unreadable(hermes.OpSessionMessages, r)
	}
	if t.SessionID == "" {
		t.SessionID = id
	}
	row, err := c.Session(ctx, t.SessionID)
	switch {
	case err == nil:
		t.Count = row.Session.MessageCount
	case ctx.Err() != nil:
		return t, err
	}
	return t, nil
}

// Fork says what to fork.
type Fork struct {
	ID    string
	Child string // "" makes one: the child can be looked up whatever happens
	Title string // "" lets the provider number it
	Key   string
}

func (f Fork) input() map[string]any {
	return map[string]any{"session_id": f.ID, "body": filled("id", f.Child, "title", f.Title)}
}

// Check is what is wrong with the request, as ForkSession would say it.
func (f Fork) Check() []hermes.Finding { return check(hermes.OpSessionFork, f.input()) }

// Found is a session that was looked up.
type Found struct {
	ID      string
	Session *hermes.Session // nil where it is not there, or could not be read
	Err     error           // why it could not be read; nil when it is not there
}

// Forked is what became of a fork.
type Forked struct {
	SessionReply
	ChildID string
	Source  Found
	Child   Found
}

// ForkSession copies a session's active messages to a child. It is not atomic: a
// refused title leaves the source ended and the child written. So both are
// looked up after it, whatever it answered, and its failure is never taken for
// an end (seed 002, "Fork a transcript").
func (c *Caller) ForkSession(ctx context.Context, f Fork) (Forked, error) {
	if f.Child == "" {
		f.Child = "fork_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	}
	r, err := c.call(ctx, call{op: hermes.OpSessionFork, input: f.input(), key: f.Key})
	out := Forked{ChildID: f.Child}
	out.SessionReply, err = c.session(hermes.OpSessionFork, r, err)
	var check *CheckError
	if errors.As(err, &check) || errors.Is(err, ErrNotSent) || ctx.Err() != nil {
		return out, err
	}
	out.Source, out.Child = c.look(ctx, f.ID), c.look(ctx, f.Child)
	return out, err
}

func (c *Caller) look(ctx context.Context, id string) Found {
	r, err := c.Session(ctx, id)
	switch {
	case err == nil:
		return Found{ID: id, Session: &r.Session}
	case Absent(err):
		return Found{ID: id}
	}
	return Found{ID: id, Err: err}
}

// Absent reports whether the provider said that it does not hold the object.
func Absent(err error) bool {
	var f *Failure
	return errors.As(err, &f) && f.Err != nil && f.Err.RemoteStatus() == http.StatusNotFound
}

// Current is the session in which a conversation goes on: the one that the
// journal's last turn of it returned, which compression may have made new (seed
// 002, "Continue a session with chat").
func (c *Caller) Current(ctx context.Context, id string) (string, error) {
	for range 8 { // a chain of continuations
		var last Known
		for _, op := range []hermes.Operation{hermes.OpSessionChat, hermes.OpSessionChatStream} {
			known, err := c.Requests(ctx, op.Capability(c.Endpoint))
			if err != nil {
				return id, err
			}
			for _, k := range known {
				if hermes.Target(op, k.Request.Input) == id && k.At.After(last.At) {
					last = k
				}
			}
		}
		if last.Action == "" {
			return id, nil
		}
		turn, err := c.turn(ctx, last.Action)
		if err != nil {
			return id, err
		}
		next := turn.SessionID()
		if turn.Result() == nil || turn.Result().Status != aip.ResultCompleted || next == "" || next == id {
			return id, nil
		}
		id = next
	}
	return id, nil
}

// turn reads an action's journal.
func (c *Caller) turn(ctx context.Context, action string) (*model.Turn, error) {
	journal, err := c.Open(ctx, action)
	if err != nil {
		return nil, err
	}
	return follow.ReadTurn(ctx, journal, action, nil)
}
