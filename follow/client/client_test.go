package client_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"aipscope/follow/client"
	"aipscope/follow/followtest"
	"aipscope/model/aip"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func secret() ([]byte, error) { return []byte("s3cret"), nil }

// daemon serves handler and returns a client for it that sends the token.
func daemon(t *testing.T, handler http.HandlerFunc) *client.Client {
	t.Helper()
	return newClient(t, client.Config{URL: "http://daemon.test/base/", Token: secret, UserAgent: "test/1", DialContext: followtest.Serve(t, handler)})
}

func newClient(t *testing.T, cfg client.Config) *client.Client {
	t.Helper()
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func answer(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, body)
	}
}

func TestCallsAskForWhatTheirNamesSay(t *testing.T) {
	const action = "act_a/b c?d"
	const path = "/base/aip/v1/actions/act_a%2Fb%20c%3Fd"
	var got string
	var header http.Header
	reply := ""
	contentType := "application/json"
	c := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Method, r.RequestURI, body))
		header = r.Header
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, reply)
	})
	ctx := t.Context()
	check := func(name, want string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got != want {
			t.Errorf("%s asked\n %s, want\n %s", name, got, want)
		}
		if header.Get("Authorization") != "Bearer s3cret" || header.Get("User-Agent") != "test/1" || header.Get("Idempotency-Key") != "" || header.Get("Accept-Encoding") != "" {
			t.Errorf("%s: headers %v", name, header)
		}
	}

	reply = `{"status":"ok","service":"getaip-server","uptime_ms":8123}`
	h, err := c.Health(ctx)
	check("health", "GET /base/aip/v1/health", err)
	if h.Status != "ok" || h.UptimeMS != 8123 || h.Date.IsZero() {
		t.Errorf("health %+v", h)
	}

	reply = `{"manifest_version":"aip-manifest/v1","agent":{"id":"agent:demo"},"capabilities":[{"id":"cap:demo:echo","risk":"low"}]}`
	m, err := c.Manifest(ctx)
	check("manifest", "GET /base/aip/v1/manifest", err)
	if len(m.Capabilities) != 1 || m.Capabilities[0].ID != "cap:demo:echo" || string(m.Capabilities[0].Raw) != `{"id":"cap:demo:echo","risk":"low"}` {
		t.Errorf("manifest %+v", m)
	}

	reply = `{"action_status":{"action_id":"act_a","state":"running","updated_at":"2025-07-01T10:00:01Z","lease":{"acquired_at":[2025,182,10,0,0,0,0,0,0]}}}`
	s, raw, err := c.Status(ctx, action)
	check("status", "GET "+path, err)
	if s.State != aip.StateRunning || !strings.Contains(string(raw), `"lease"`) {
		t.Errorf("status %+v %s", s, raw)
	}

	reply = `{"action_list":{"actions":[{"action_id":"act_a","state":"completed"}],"total_size":3,"cursor":"offset:1"}}`
	l, err := c.Actions(ctx, client.Filter{State: "completed", Capability: "cap:a:b", Cursor: "offset:0", Limit: 1})
	check("list", "GET /base/aip/v1/actions?capability_id=cap%3Aa%3Ab&cursor=offset%3A0&limit=1&state=completed", err)
	if len(l.Actions) != 1 || l.Total != 3 || l.Cursor != "offset:1" {
		t.Errorf("list %+v", l)
	}

	reply = `{"action_events":{"action_id":"act_a","events":[{"id":"evt_1"}],"chunks":[{"sequence":0}],"cursor":"c2","terminal":false}}`
	seen := ""
	keep := func(raw json.RawMessage) error { seen += string(raw); return nil }
	p, err := c.Page(ctx, action, "c1", 500, keep, keep)
	check("page", "GET "+path+"/events?cursor=c1&include_chunks=true&limit=500", err)
	if p.Cursor != "c2" || seen != `{"id":"evt_1"}{"sequence":0}` {
		t.Errorf("page %+v of %s", p, seen)
	}

	reply = `{"action_result":{"action_id":"act_a","status":"completed","output":{"events":[{"n":1}],"text":"t"}}}`
	events := 0
	res, err := c.Result(ctx, action, func(int, json.RawMessage) error { events++; return nil })
	check("result", "GET "+path+"/result", err)
	if res.Status != aip.ResultCompleted || events != 1 || string(res.Output) != `{"text":"t"}` {
		t.Errorf("result %+v with %d events", res, events)
	}

	reply = `{"action_result":{"action_id":"act_a","status":"cancelled","output":{"cancelled":true}}}`
	res, err = c.Cancel(ctx, action, `user "stop"`)
	check("cancel", "POST "+path+`/cancel {"reason":"user \"stop\""}`, err)
	if res.Status != aip.ResultCancelled || header.Get("Content-Type") != "application/json" {
		t.Errorf("cancel %+v %v", res, header)
	}
	_, err = c.Cancel(ctx, action, "")
	check("cancel without a reason", "POST "+path+`/cancel {}`, err)

	reply = `{"message_id":"msg_9","body":{"ack":{"action_id":"act_a","status":"queued"}}}`
	a, err := c.Submit(ctx, client.Envelope{
		MessageID: "msg_1", SentAt: time.Date(2025, 7, 1, 12, 0, 0, 5, time.FixedZone("", 7200)), SessionID: "sess_1", IdempotencyKey: "k-1",
		Action: client.Action{ID: "act_a", CapabilityID: "cap:demo:echo", Input: json.RawMessage(`{"text":"hi"}`), Mode: "async", TimeoutMS: 30000},
	}, nil)
	check("submit", `POST /base/aip/v1/messages {"aip_version":"1.0","message_type":"aip.core.v1.action","message_id":"msg_1","sent_at":"2025-07-01T10:00:00.000000005Z","session_id":"sess_1","idempotency_key":"k-1","body":{"action":{"id":"act_a","capability_id":"cap:demo:echo","input":{"text":"hi"},"mode":"async","idempotency_key":"k-1","timeout_ms":30000}}}`, err)
	if a.Ack == nil || a.Ack.Status != "queued" {
		t.Errorf("submit %+v", a)
	}

	reply, contentType = "data: x\n\n", "text/event-stream; charset=utf-8"
	body, err := c.Follow(ctx, action, "c 1")
	check("follow", "GET "+path+"/events?cursor=c+1&follow=true&include_chunks=true", err)
	if b, err := io.ReadAll(body); string(b) != reply || err != nil {
		t.Errorf("follow read %q, %v", b, err)
	}
	body.Close()
	if header.Get("Accept") != "text/event-stream" || header.Get("Last-Event-ID") != "" {
		t.Errorf("follow headers %v", header)
	}
}

// A refusal whose JSON ends too early says nothing about the request, even when
// the answer itself ended in good order.
func TestARefusalThatBreaksOffIsABrokenConnection(t *testing.T) {
	const body = `{"aip_version":"1.0","message_type":"aip.core.v1.error","body":{"error":{"error":{"code":"query.invalid","category":"permanent"}}}}`
	for n := range len(body) {
		d := daemon(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.WriteHeader(400)
			io.WriteString(w, body[:n])
		})
		if _, _, err := d.Status(t.Context(), "act_a"); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d: got %v", n, err)
		}
	}
}

func TestErrorsInAllTheirShapes(t *testing.T) {
	envelope := func(code, category string) string {
		return `{"aip_version":"1.0","message_type":"aip.core.v1.error","body":{"error":{"error":{"code":"` + code + `","message":"the \u001b[31mmessage","category":"` + category + `","retry_after_ms":1500,"details":{"state":"running"}}}}}`
	}
	for _, c := range []struct {
		status      int
		contentType string
		body        string
		kind        client.Kind
		code        string
		words       string
	}{
		{401, "application/json", envelope("auth.native_http_unauthorized", "auth"), client.WrongCredential, "auth.native_http_unauthorized", "the daemon answered auth.native_http_unauthorized (HTTP 401)"},
		{401, "application/json", envelope("auth.not_authorized", "auth"), client.NotAllowed, "auth.not_authorized", "the daemon answered auth.not_authorized (HTTP 401)"},
		{401, "application/json", envelope("replay.message_id", "auth"), client.BadRequest, "replay.message_id", ""},
		{401, "text/plain", "denied", client.WrongCredential, "", `the answer is HTTP 401 without an AIP error ("text/plain")`},
		{403, "application/json", envelope("policy.approval_denied", "policy"), client.NotAllowed, "policy.approval_denied", ""},
		{403, "text/html", "<html>", client.Unexpected, "", ""},
		{400, "application/json", envelope("query.invalid", "permanent"), client.BadRequest, "query.invalid", ""},
		{400, "application/json", envelope("stream.cursor_expired", "permanent"), client.CursorLost, "stream.cursor_expired", ""},
		{400, "application/json", envelope("action.not_found", "permanent"), client.NotFound, "action.not_found", ""},
		{503, "application/json", envelope("action.result_not_ready", "temporary"), client.NoResult, "action.result_not_ready", ""},
		{503, "application/json", envelope("storage.unavailable", "temporary"), client.Temporary, "storage.unavailable", ""},
		{404, "application/json", `{"error":{"code":"connector_catalog.disabled","message":"m"}}`, client.Unexpected, "connector_catalog.disabled", ""},
		{400, "text/plain", "Failed to deserialize", client.BadRequest, "", ""},
		{404, "", "", client.Unexpected, "", "the answer is HTTP 404 without an AIP error (none)"},
		{405, "", "", client.BadRequest, "", ""},
		{422, "text/plain", "x", client.BadRequest, "", ""},
		{429, "text/plain", "slow down", client.Temporary, "", ""},
		{502, "text/html", "<html>bad gateway", client.Temporary, "", ""},
		{302, "", "", client.Unexpected, "", "the answer is a redirect (HTTP 302), which is not followed"},
		{500, "application/json", envelope("evil \\u001b]0;x\\u0007", "oops"), client.Temporary, "evil \x1b]0;x\a", "the daemon answered an unreadable code (HTTP 500)"},
		{200, "text/html", "<html>", client.Unexpected, "", `the answer has the content type "text/html"`},
		{200, "application/json", envelope("query.invalid", "permanent"), client.BadRequest, "query.invalid", "the daemon answered query.invalid"},
	} {
		t.Run(fmt.Sprint(c.status, " ", c.code), func(t *testing.T) {
			d := daemon(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Content-Type"] = nil
				if c.contentType != "" {
					w.Header().Set("Content-Type", c.contentType)
				}
				if c.status == 302 {
					w.Header().Set("Location", "http://elsewhere.test/")
				}
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			})
			_, _, err := d.Status(t.Context(), "act_a")
			var e *client.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			if e.Kind() != c.kind || e.Code != c.code || e.HTTPStatus != c.status {
				t.Errorf("kind %d, want %d: %#v", e.Kind(), c.kind, e)
			}
			if c.words != "" && e.Error() != c.words {
				t.Errorf("says %q, want %q", e, c.words)
			}
			if strings.Contains(c.body, "retry_after_ms") && (e.RetryAfter != 1500*time.Millisecond || string(e.Details) != `{"state":"running"}`) {
				t.Errorf("details lost: %#v", e)
			}
		})
	}
}

func TestRetryAfterHeaders(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"7": 7 * time.Second, "-3": 0, "soon": 0, "": 0, "99999999999": 24 * time.Hour,
		now.Add(time.Minute).Format(http.TimeFormat): time.Minute, now.Add(-time.Minute).Format(http.TimeFormat): 0,
	} {
		d := daemon(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", now.Format(http.TimeFormat))
			w.Header().Set("Retry-After", value)
			w.WriteHeader(503)
		})
		_, err := d.Health(t.Context())
		var e *client.Error
		if !errors.As(err, &e) || e.RetryAfter != want {
			t.Errorf("%q: waits %v, want %v (%v)", value, e.RetryAfter, want, err)
		}
	}
}

func TestRedirectsNeverCarryTheToken(t *testing.T) {
	visited := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visited = true }))
	defer other.Close()
	d := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	if _, err := d.Follow(t.Context(), "act_a", ""); client.KindOf(err) != client.Unexpected {
		t.Errorf("got %v", err)
	}
	if _, err := d.Submit(t.Context(), client.Envelope{Action: client.Action{Input: json.RawMessage(`{}`)}}, nil); client.KindOf(err) != client.Unexpected {
		t.Errorf("got %v", err)
	}
	if visited {
		t.Error("the redirect was followed")
	}
}

// remote is a connection that claims an address.
type remote struct {
	net.Conn
	addr net.Addr
}

func (r remote) RemoteAddr() net.Addr { return r.addr }

func TestTokenGoesToLoopbackOrTLSOnly(t *testing.T) {
	for _, c := range []struct {
		name     string
		ip       string
		insecure bool
		token    client.Token
		refused  bool
	}{
		{"loopback", "127.0.0.1", false, secret, false},
		{"loopback of IPv6", "::1", false, secret, false},
		{"a name that resolves elsewhere", "192.0.2.7", false, secret, true},
		{"elsewhere, insecure asked for", "192.0.2.7", true, secret, false},
		{"elsewhere, without a token", "192.0.2.7", false, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			seen := false
			dial := followtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { seen = true; io.WriteString(w, `{}`) }))
			d := newClient(t, client.Config{URL: "http://localhost:1", Token: c.token, Insecure: c.insecure,
				DialContext: func(ctx context.Context, n, a string) (net.Conn, error) {
					conn, err := dial(ctx, n, a)
					return remote{conn, &net.TCPAddr{IP: net.ParseIP(c.ip)}}, err
				}})
			_, err := d.Health(t.Context())
			if errors.Is(err, client.ErrInsecure) != c.refused || seen == c.refused {
				t.Errorf("seen %v, error %v", seen, err)
			}
		})
	}
}

func TestProxyIsNotAskedForPlainLoopback(t *testing.T) {
	proxied := false
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { proxied = true }))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	c := newClient(t, client.Config{URL: "http://daemon.invalid:1", Token: secret})
	if _, err := c.Health(t.Context()); err == nil || proxied {
		t.Errorf("proxied %v, %v", proxied, err)
	}
}

func TestTLSTrustsTheGivenAuthorityAlone(t *testing.T) {
	server := httptest.NewTLSServer(answer(`{"status":"ok"}`))
	defer server.Close()
	server.Config.ErrorLog = nil
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := newClient(t, client.Config{URL: server.URL, Token: secret}).Health(t.Context()); err == nil {
		t.Error("an unknown authority was trusted")
	}
	if _, err := newClient(t, client.Config{URL: server.URL, Token: secret, CAFile: ca}).Health(t.Context()); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(ca, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := client.New(client.Config{URL: server.URL, CAFile: ca}); err == nil {
		t.Error("a CA file without a certificate was taken")
	}
}

func TestBadURLsAreRefused(t *testing.T) {
	for _, u := range []string{"", "daemon:8080", "ftp://d/", "http://", "http://u:p4ss@d/", "http://d/?x=1", "http://d/#f", "http://d?", "://", "http://d\x7f/"} {
		_, err := client.New(client.Config{URL: u})
		if err == nil || strings.Contains(err.Error(), "p4ss") || strings.Contains(err.Error(), "\x7f") {
			t.Errorf("%q: %v", u, err)
		}
	}
}

func TestReloadTellsWhetherTheTokenChanged(t *testing.T) {
	token, reads := "one", 0
	var sent string
	c := newClient(t, client.Config{URL: "http://d", Token: func() ([]byte, error) { reads++; return []byte(token), nil },
		DialContext: followtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sent = r.Header.Get("Authorization")
			io.WriteString(w, `{}`)
		}))})
	ask := func() {
		if _, err := c.Health(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ask()
	token = "two"
	ask()
	if sent != "Bearer one" || reads != 1 {
		t.Errorf("sent %q after %d reads", sent, reads)
	}
	if changed, err := c.Reload(); !changed || err != nil {
		t.Error(changed, err)
	}
	if ask(); sent != "Bearer two" {
		t.Errorf("sent %q", sent)
	}
	if changed, err := c.Reload(); changed || err != nil {
		t.Error(changed, err)
	}
}

func TestNothingHangs(t *testing.T) {
	stall := func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		call    func(context.Context, *client.Client) error
		want    error
		after   time.Duration
	}{
		{"no header", stall, func(ctx context.Context, c *client.Client) error { _, _, err := c.Status(ctx, "act_a"); return err }, client.ErrNoAnswerInTime, 30 * time.Second},
		{"no header of a stream", stall, func(ctx context.Context, c *client.Client) error { _, err := c.Follow(ctx, "act_a", ""); return err }, client.ErrNoAnswerInTime, 30 * time.Second},
		{"a body that stops", func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, `{"action_result":{"status":`)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, func(ctx context.Context, c *client.Client) error { _, err := c.Result(ctx, "act_a", nil); return err }, client.ErrSilent, 45 * time.Second},
		{"a submission waits for its work", func(w http.ResponseWriter, r *http.Request) {
			io.ReadAll(r.Body)
			time.Sleep(time.Hour)
			io.WriteString(w, `{"body":{"action_result":{"status":"completed"}}}`)
		}, func(ctx context.Context, c *client.Client) error {
			_, err := c.Submit(ctx, client.Envelope{Action: client.Action{Input: json.RawMessage(`1`)}}, nil)
			return err
		}, nil, time.Hour},
		{"a stream that speaks lasts", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for range 240 {
				io.WriteString(w, ": keep-alive\n\n")
				w.(http.Flusher).Flush()
				time.Sleep(15 * time.Second)
			}
		}, func(ctx context.Context, c *client.Client) error {
			body, err := c.Follow(ctx, "act_a", "")
			if err != nil {
				return err
			}
			defer body.Close()
			_, err = io.Copy(io.Discard, body)
			return err
		}, nil, time.Hour},
		{"a slow reader is not a silent daemon", answer(`{"action_result":{"output":{"events":[` + strings.Repeat(`"`+strings.Repeat("x", 100<<10)+`",`, 9) + `1]}}}`),
			func(ctx context.Context, c *client.Client) error {
				_, err := c.Result(ctx, "act_a", func(int, json.RawMessage) error { time.Sleep(time.Minute); return nil })
				return err
			}, nil, 10 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := daemon(t, c.handler)
				began := time.Now()
				err := c.call(t.Context(), d)
				if !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
					t.Errorf("got %v, want %v", err, c.want)
				}
				if took := time.Since(began); took != c.after {
					t.Errorf("after %v, want %v", took, c.after)
				}
			})
		})
	}
}

func TestCloseEndsAReadThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := daemon(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		body, err := d.Follow(t.Context(), "act_a", "")
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() { _, err := body.Read(make([]byte, 1)); ended <- err }()
		synctest.Wait()
		body.Close()
		if err := <-ended; err == nil {
			t.Error("the read went on")
		}
	})
}

func TestSmallAnswersAreBounded(t *testing.T) {
	d := daemon(t, answer(`{"action_status":{"state":"running","x":"`+strings.Repeat("x", 17<<20)+`"}}`))
	if _, _, err := d.Status(t.Context(), "act_a"); !errors.Is(err, client.ErrAnswerTooLarge) {
		t.Errorf("got %v", err)
	}
	d = daemon(t, answer(strings.Repeat(" ", 17<<20)))
	if _, err := d.Cancel(t.Context(), "act_a", ""); !errors.Is(err, client.ErrAnswerTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestSubmitReturnsFailedResultsAndErrorBodies(t *testing.T) {
	env := client.Envelope{Action: client.Action{Input: json.RawMessage(`{}`)}}
	d := daemon(t, answer(`{"body":{"action_result":{"action_id":"act_a","status":"failed","error":{"code":"idempotency.in_progress","category":"temporary","message":"m","details":{"owner_action_id":"act_b"}}}}}`))
	a, err := d.Submit(t.Context(), env, nil)
	if err != nil || a.Result == nil || a.Result.Error.Detail("owner_action_id") != "act_b" {
		t.Errorf("%+v, %v", a, err)
	}
	d = daemon(t, answer(`{"body":{"error":{"error":{"code":"action.id_conflict","category":"permanent","message":"m"}}}}`))
	var e *client.Error
	if _, err := d.Submit(t.Context(), env, nil); !errors.As(err, &e) || e.Code != "action.id_conflict" || e.Kind() != client.BadRequest {
		t.Errorf("got %v", err)
	}
}

func TestIDs(t *testing.T) {
	form := regexp.MustCompile(`^(act|msg)_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$`)
	seen := map[string]bool{}
	for range 100 {
		a, err := client.NewActionID()
		m, err2 := client.NewMessageID()
		if err != nil || err2 != nil || !form.MatchString(a) || !form.MatchString(m) || seen[a] || seen[m] {
			t.Fatal(a, m, err, err2)
		}
		seen[a], seen[m] = true, true
	}
}

func TestReadTokenFile(t *testing.T) {
	dir := t.TempDir()
	n := 0
	file := func(content string, mode os.FileMode) string {
		n++
		p := filepath.Join(dir, fmt.Sprint("token", n))
		if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(p, mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(file("x", 0o600), link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, path, token, why string }{
		{"a plain token", file("abc", 0o600), "abc", ""},
		{"line end and blanks", file("a b\t \r\n\n", 0o400), "a b", ""},
		{"the largest", file(strings.Repeat("x", 16384), 0o600), strings.Repeat("x", 16384), ""},
		{"too large", file(strings.Repeat("x", 16385), 0o600), "", "larger than 16384"},
		{"empty", file("", 0o600), "", "is empty"},
		{"blank", file(" \n", 0o600), "", "is empty"},
		{"two lines", file("abc\ndef\n", 0o600), "", "more than one line"},
		{"an escape", file("abc\x1b[0m", 0o600), "", "control characters"},
		{"readable by the group", file("abc", 0o640), "", "chmod 600"},
		{"readable by others", file("abc", 0o604), "", "chmod 600"},
		{"a symbolic link", link, "", "symbolic link"},
		{"a directory", dir, "", "not a regular file"},
		{"nothing there", filepath.Join(dir, "none"), "", "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			token, err := client.ReadTokenFile(c.path)
			if c.why == "" {
				if err != nil || string(token) != c.token {
					t.Errorf("%q, %v", token, err)
				}
				return
			}
			var te *client.TokenError
			if !errors.As(err, &te) || !strings.Contains(err.Error(), c.why) || !strings.Contains(err.Error(), c.path) || strings.Contains(err.Error(), "abc") || token != nil {
				t.Errorf("%q, %v", token, err)
			}
		})
	}
}
