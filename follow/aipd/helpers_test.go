package aipd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"aipscope/follow/followtest"
	"aipscope/model/aip"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// console talks to a server through pipes, which a synctest bubble can wait
// for.
type console struct {
	t      testing.TB
	server *Server
	http   *http.Client
	token  string
}

type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func serve(t testing.TB, opt Options) *console {
	t.Helper()
	if opt.Recordings == nil {
		opt.Recordings = followtest.Library(t)
	}
	s := New(opt)
	p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	h := &http.Server{Handler: s}
	served := make(chan struct{})
	go func() { defer close(served); h.Serve(p) }()
	transport := &http.Transport{DisableCompression: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		here, there := net.Pipe()
		select {
		case p.conns <- there:
			return here, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	t.Cleanup(func() {
		s.Close()
		h.Close()
		<-served
		transport.CloseIdleConnections()
	})
	return &console{t: t, server: s, http: &http.Client{Transport: transport}, token: opt.Token}
}

func (c *console) do(method, path, contentType, body string) (int, http.Header, string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, "http://aipd"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if body == "" {
		req.Body = nil
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(raw)
}

func (c *console) get(path string, into any) {
	c.t.Helper()
	status, _, body := c.do("GET", path, "", "")
	if status != 200 {
		c.t.Fatalf("GET %s: %d %s", path, status, body)
	}
	if err := json.Unmarshal([]byte(body), into); err != nil {
		c.t.Fatalf("GET %s: %v in %s", path, err, body)
	}
}

// refused asks for something and returns the status and code of the refusal.
func (c *console) refused(method, path, contentType, body string) (int, *aip.Error) {
	c.t.Helper()
	status, _, raw := c.do(method, path, contentType, body)
	var env struct {
		Body struct {
			Error struct{ Error *aip.Error }
		}
	}
	if err := json.Unmarshal([]byte(raw), &env); err != nil || env.Body.Error.Error == nil {
		c.t.Fatalf("%s %s: %d %q is no error envelope", method, path, status, raw)
	}
	return status, env.Body.Error.Error
}

// act is an action to submit; the rest of the envelope is made up.
type act struct {
	id, op, mode, key, input, approval string
	timeout                            int
}

func (a act) envelope(now time.Time) string {
	pairs := []any{"id", a.id, "capability_id", "cap:hermes_agent:demo:" + a.op, "input", json.RawMessage(a.input)}
	if a.mode != "" {
		pairs = append(pairs, "mode", a.mode)
	}
	if a.key != "" {
		pairs = append(pairs, "idempotency_key", a.key)
	}
	if a.approval != "" {
		pairs = append(pairs, "approval", json.RawMessage(a.approval))
	}
	if a.timeout > 0 {
		pairs = append(pairs, "timeout_ms", a.timeout)
	}
	return string(object("aip_version", "1.0", "message_type", "aip.core.v1.action", "message_id", newID("msg_"),
		"sent_at", rfc3339(now), "session_id", "sess_1", "correlation_id", "corr_1", "from", object("id", "agent:test", "kind", "agent"),
		"body", object("action", object(pairs...))))
}

type answered struct {
	Type          string `json:"message_type"`
	InResponseTo  string `json:"in_response_to"`
	CorrelationID string `json:"correlation_id"`
	Body          struct {
		Ack          *struct{ Action_ID, Status string }
		ActionResult *aip.Result `json:"action_result"`
	}
}

func (c *console) submit(a act) answered {
	c.t.Helper()
	status, _, body := c.do("POST", "/aip/v1/messages", "application/aip+json", a.envelope(time.Now()))
	var got answered
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 {
		c.t.Fatalf("submit: %d %.300s (%v)", status, body, err)
	}
	return got
}

// result submits and expects a result.
func (c *console) result(a act) aip.Result {
	c.t.Helper()
	got := c.submit(a)
	if got.Body.ActionResult == nil {
		c.t.Fatalf("no result: %+v", got)
	}
	return *got.Body.ActionResult
}

func (c *console) cancel(id string) {
	c.t.Helper()
	status, _, body := c.do("POST", "/aip/v1/actions/"+id+"/cancel", "application/json", `{"reason":"user stop"}`)
	if status != 200 || !strings.Contains(body, `"cancelled":true`) {
		c.t.Fatalf("cancel: %d %s", status, body)
	}
}

func (c *console) state(id, query string) aip.State {
	c.t.Helper()
	var got struct {
		ActionStatus aip.Status `json:"action_status"`
	}
	c.get("/aip/v1/actions/"+id+query, &got)
	return got.ActionStatus.State
}

// frame is one follow frame or comment.
type frame struct{ event, data, id, comment string }

type followed struct {
	t    testing.TB
	body io.ReadCloser
	in   *bufio.Reader
}

func (c *console) follow(path string, header ...string) *followed {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), "GET", "http://aipd"+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.http.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("Cache-Control") != "no-cache" {
		c.t.Fatalf("follow: %s %v", resp.Status, resp.Header)
	}
	return &followed{t: c.t, body: resp.Body, in: bufio.NewReaderSize(resp.Body, 64<<10)}
}

// next reads a frame; false at the end of the body.
func (f *followed) next() (frame, bool) {
	f.t.Helper()
	var raw []byte
	for {
		line, err := f.in.ReadBytes('\n')
		if err != nil {
			if len(raw)+len(line) > 0 {
				f.t.Fatalf("the body ends in %q", append(raw, line...))
			}
			return frame{}, false
		}
		if len(line) == 1 {
			break
		}
		raw = append(raw, line...)
	}
	var fr frame
	rest := string(bytes.TrimSuffix(raw, []byte("\n")))
	if comment, ok := strings.CutPrefix(rest, ": "); ok {
		return frame{comment: comment}, true
	}
	for line := range strings.SplitSeq(rest, "\n") {
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case name == "event" && fr == frame{}:
			fr.event = value
		case name == "data" && fr.event != "" && fr.data == "":
			fr.data = value
		case name == "id" && fr.data != "" && fr.id == "":
			fr.id = value
		default:
			f.t.Fatalf("unexpected line %q in %q", line, rest)
		}
	}
	return fr, true
}

func (f *followed) all() (frames []frame) {
	f.t.Helper()
	for {
		fr, ok := f.next()
		if !ok {
			f.body.Close()
			return frames
		}
		frames = append(frames, fr)
	}
}

func chunkOf(t testing.TB, fr frame) (aip.Chunk, bool) {
	t.Helper()
	var d struct{ Chunk *aip.Chunk }
	if err := json.Unmarshal([]byte(fr.data), &d); err != nil {
		t.Fatalf("frame %q: %v", fr.data, err)
	}
	if d.Chunk == nil {
		return aip.Chunk{}, false
	}
	return *d.Chunk, true
}
