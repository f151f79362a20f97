package client

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"aipscope/model/aip"
)

// Route is the path and query under which an action's cursors are issued: those
// of its pages and of its follow stream are the same (wire/aip.md 4.1).
func Route(action string) string {
	return actionPath(action) + "/events?include_chunks=true"
}

func actionPath(action string) string { return "/aip/v1/actions/" + url.PathEscape(action) }

// Health is a daemon's sign of life (wire/aip.md 1.2).
type Health struct {
	Status   string    `json:"status"`
	Protocol string    `json:"protocol"`
	Version  string    `json:"version"`
	Service  string    `json:"service"`
	UptimeMS int64     `json:"uptime_ms"`
	Date     time.Time `json:"-"` // the daemon's clock, zero if it did not say

	TLS *tls.ConnectionState `json:"-"` // how it was reached, nil over plain HTTP
}

// Health asks whether the daemon is there.
func (c *Client) Health(ctx context.Context) (Health, error) {
	var h Health
	resp, err := c.do(ctx, call{method: http.MethodGet, path: "/aip/v1/health"})
	if err != nil {
		return h, fmt.Errorf("read health: %w", err)
	}
	defer resp.Body.Close()
	if err := decode(resp, &h); err != nil {
		return h, fmt.Errorf("read health: %w", err)
	}
	h.Date, _ = http.ParseTime(resp.Header.Get("Date"))
	h.TLS = resp.TLS
	return h, nil
}

// Manifest is what a daemon offers. Capabilities are kept as they are; only
// their names are read.
type Manifest struct {
	Version string `json:"manifest_version"`
	Agent   struct {
		ID          string `json:"id"`
		DisplayName string `json:"display_name"`
	} `json:"agent"`
	Capabilities []Capability `json:"capabilities"`
	Profiles     []string     `json:"profiles"`
}

// Capability is one that a manifest names, with its contract unread.
type Capability struct {
	ID  string
	Raw json.RawMessage
}

func (k *Capability) UnmarshalJSON(b []byte) error {
	var named struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(b, &named); err != nil {
		return err
	}
	k.ID, k.Raw = named.ID, json.RawMessage(append([]byte(nil), b...))
	return nil
}

// Manifest reads what the daemon offers.
func (c *Client) Manifest(ctx context.Context) (Manifest, error) {
	var m Manifest
	resp, err := c.do(ctx, call{method: http.MethodGet, path: "/aip/v1/manifest"})
	if err != nil {
		return m, fmt.Errorf("read manifest: %w", err)
	}
	defer resp.Body.Close()
	if err := decode(resp, &m); err != nil {
		return m, fmt.Errorf("read manifest: %w", err)
	}
	return m, nil
}

// Status reads where an action stands, decoded and as it came. An action that
// the daemon does not know has the state unknown.
func (c *Client) Status(ctx context.Context, action string) (aip.Status, json.RawMessage, error) {
	var s aip.Status
	raw, err := c.tagged(ctx, call{method: http.MethodGet, path: actionPath(action)}, "action_status")
	if err == nil {
		err = aip.Unmarshal(raw, &s)
	}
	if err != nil {
		return s, nil, fmt.Errorf("read status: %w", err)
	}
	return s, raw, nil
}

// Result reads an action's result as it arrives; event is called as ReadResult
// of package aip calls it, and may be nil.
func (c *Client) Result(ctx context.Context, action string, event func(index int, raw json.RawMessage) error) (aip.Result, error) {
	resp, err := c.do(ctx, call{method: http.MethodGet, path: actionPath(action) + "/result"})
	if err != nil {
		return aip.Result{}, fmt.Errorf("read result: %w", err)
	}
	defer resp.Body.Close()
	res, err := aip.ReadResult(bounded(resp.Body), event)
	return res, inside(resp, err)
}

// Filter selects actions. Zero fields select everything.
type Filter struct {
	State      string
	Capability string
	Cursor     string // of the page before
	Limit      int    // 1 to 1000, 0 for the daemon's choice
}

// List is one page of actions, the latest update last or first as the daemon
// has it. Paging is by offset, so an action that moves may show twice.
type List struct {
	Actions []aip.Status `json:"actions"`
	Total   int          `json:"total_size"`
	Cursor  string       `json:"cursor"` // "" on the last page
}

// Actions lists the actions that the token may read.
func (c *Client) Actions(ctx context.Context, f Filter) (List, error) {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("state", f.State)
	set("capability_id", f.Capability)
	set("cursor", f.Cursor)
	if f.Limit > 0 {
		set("limit", strconv.Itoa(f.Limit))
	}
	var l List
	raw, err := c.tagged(ctx, call{method: http.MethodGet, path: "/aip/v1/actions", query: q}, "action_list")
	if err == nil {
		err = aip.Unmarshal(raw, &l)
	}
	if err != nil {
		return List{}, fmt.Errorf("list actions: %w", err)
	}
	return l, nil
}

// Page reads one page of an action's events and chunks, handing each on as it
// arrives (ReadPage of package aip).
func (c *Client) Page(ctx context.Context, action, cursor string, limit int, event, chunk func(json.RawMessage) error) (aip.Page, error) {
	q := eventsQuery(cursor)
	q.Set("limit", strconv.Itoa(limit))
	resp, err := c.do(ctx, call{method: http.MethodGet, path: actionPath(action) + "/events", query: q})
	if err != nil {
		return aip.Page{}, fmt.Errorf("read page: %w", err)
	}
	defer resp.Body.Close()
	p, err := aip.ReadPage(bounded(resp.Body), event, chunk)
	return p, inside(resp, err)
}

// Follow opens an action's follow stream behind cursor, or from the start if it
// is "". The body is an event stream; closing it ends the request, also while
// it is read. It ends with ErrSilent when not even a keepalive comes.
func (c *Client) Follow(ctx context.Context, action, cursor string) (io.ReadCloser, error) {
	q := eventsQuery(cursor)
	q.Set("follow", "true")
	resp, err := c.do(ctx, call{method: http.MethodGet, path: actionPath(action) + "/events", query: q, accept: "text/event-stream"})
	if err != nil {
		return nil, fmt.Errorf("follow: %w", err)
	}
	if t := mediaType(resp); t != "text/event-stream" {
		resp.Body.Close()
		return nil, fmt.Errorf("follow: %w", &Error{HTTPStatus: resp.StatusCode, ContentType: t})
	}
	return resp.Body, nil
}

func eventsQuery(cursor string) url.Values {
	q := url.Values{"include_chunks": {"true"}}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	return q
}

// Cancel asks the daemon to cancel an action. The answer says cancelled for a
// finished action too: read the status afterwards (wire/aip.md 9).
func (c *Client) Cancel(ctx context.Context, action, reason string) (aip.Result, error) {
	body := []byte(`{}`)
	if reason != "" {
		var err error
		if body, err = json.Marshal(map[string]string{"reason": reason}); err != nil {
			return aip.Result{}, fmt.Errorf("cancel: %w", err)
		}
	}
	resp, err := c.do(ctx, call{method: http.MethodPost, path: actionPath(action) + "/cancel", body: body})
	if err != nil {
		return aip.Result{}, fmt.Errorf("cancel: %w", err)
	}
	defer resp.Body.Close()
	res, err := aip.ReadResult(limited(resp.Body), nil)
	return res, inside(resp, err)
}

// Envelope carries one action to the daemon (wire/aip.md 8.1). A message ID may
// be used once; an action ID identifies the work.
type Envelope struct {
	MessageID      string
	SentAt         time.Time
	SessionID      string
	CorrelationID  string
	IdempotencyKey string
	Action         Action
}

// Action is the work that an Envelope asks for.
type Action struct {
	ID           string
	CapabilityID string
	Input        json.RawMessage
	Mode         string // sync, async or streaming; "" for the daemon's default, sync
	TimeoutMS    int64
}

// MarshalJSON writes the envelope as AIP has it. The idempotency key stands in
// the envelope and in the action.
func (e Envelope) MarshalJSON() ([]byte, error) {
	type action struct {
		ID             string          `json:"id"`
		CapabilityID   string          `json:"capability_id"`
		Input          json.RawMessage `json:"input"`
		Mode           string          `json:"mode,omitempty"`
		IdempotencyKey string          `json:"idempotency_key,omitempty"`
		TimeoutMS      int64           `json:"timeout_ms,omitempty"`
	}
	return json.Marshal(struct {
		Version        string            `json:"aip_version"`
		Type           string            `json:"message_type"`
		MessageID      string            `json:"message_id"`
		SentAt         string            `json:"sent_at"`
		SessionID      string            `json:"session_id,omitempty"`
		CorrelationID  string            `json:"correlation_id,omitempty"`
		IdempotencyKey string            `json:"idempotency_key,omitempty"`
		Body           map[string]action `json:"body"`
	}{
		"1.0", "aip.core.v1.action", e.MessageID, e.SentAt.UTC().Format(time.RFC3339Nano), e.SessionID, e.CorrelationID, e.IdempotencyKey,
		map[string]action{"action": {e.Action.ID, e.Action.CapabilityID, e.Action.Input, e.Action.Mode, e.IdempotencyKey, e.Action.TimeoutMS}},
	})
}

// Submit posts the envelope, once. A sync or streaming action is answered when
// it is finished, however long that takes; ctx alone ends the wait, and the
// work goes on without it. The answer holds an ack or a result, which may be a
// failed one. After any error but an *Error it is unknown whether the daemon
// took the action: ask for its ID, do not post again.
//
// event is called for each event of a result's aggregate, as ReadResult of
// package aip does, and may be nil.
func (c *Client) Submit(ctx context.Context, e Envelope, event func(index int, raw json.RawMessage) error) (aip.Answer, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return aip.Answer{}, fmt.Errorf("submit: %w", err)
	}
	resp, err := c.do(ctx, call{method: http.MethodPost, path: "/aip/v1/messages", body: body, blocks: true})
	if err != nil {
		return aip.Answer{}, fmt.Errorf("submit: %w", err)
	}
	defer resp.Body.Close()
	a, err := aip.ReadAnswer(bounded(resp.Body), event)
	if err == nil && a.Error != nil {
		err = a.Error
	}
	if err != nil {
		return aip.Answer{}, fmt.Errorf("submit: %w", inside(resp, err))
	}
	return a, nil
}

// tagged makes a call whose answer is one small tagged value.
func (c *Client) tagged(ctx context.Context, k call, tag string) (json.RawMessage, error) {
	resp, err := c.do(ctx, k)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := aip.ReadTagged(limited(resp.Body), tag)
	return raw, inside(resp, err)
}

func decode(resp *http.Response, v any) error {
	raw, err := io.ReadAll(limited(resp.Body))
	if err != nil {
		return inside(resp, err)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return inside(resp, err)
	}
	return nil
}

// inside gives what went wrong in a body of status 200 its type: a protocol
// error, or an answer that is not AIP's, such as a proxy's page.
func inside(resp *http.Response, err error) error {
	var p *aip.Error
	var syntax *json.SyntaxError
	garbage := errors.Is(err, aip.ErrSyntax) || errors.Is(err, aip.ErrNoAnswer) || errors.As(err, &syntax)
	switch t := mediaType(resp); {
	case err == nil:
		return nil
	case errors.As(err, &p):
		return FromAIP(p, resp.StatusCode)
	case garbage && t != "application/json" && t != "application/aip+json":
		return &Error{HTTPStatus: resp.StatusCode, ContentType: t}
	}
	return err
}

// ErrAnswerTooLarge says that an answer that should be small is not.
var ErrAnswerTooLarge = errors.New("the answer is larger than 16 MiB")

// limited reads at most maxAnswer bytes, and says so when there is more.
func limited(r io.Reader) io.Reader { return &limit{r, maxAnswer, ErrAnswerTooLarge} }

// bounded reads what is decoded as it arrives and may be large, but not endless.
func bounded(r io.Reader) io.Reader { return &limit{r, maxStreamed, aip.ErrTooLarge} }

type limit struct {
	r    io.Reader
	left int64
	over error // when there is more
}

func (l *limit) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, l.over
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left+1)])
	if l.left -= int64(n); l.left < 0 {
		return 0, l.over
	}
	return n, err
}
