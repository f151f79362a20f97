// Package client calls a daemon over AIP's native HTTP (wire/aip.md 1 to 10).
//
// It guards three things. The token goes out over TLS or to a loopback address
// that was really dialled, and nowhere else: not to a redirect's target, not
// through a proxy. No call can hang: a dial, a header and a silent body each
// have their time, while a stream that speaks may last for ever. And what a
// daemon refuses comes back as one type, whose kind rests on codes alone.
//
// The package never sends an Idempotency-Key header, and never asks twice.
package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	dialTime   = 10 * time.Second
	tlsTime    = 10 * time.Second
	headerTime = 30 * time.Second
	// silence is how long a body may stay without a byte. A follow stream sends
	// a keepalive every 15 s (wire/aip.md 3.2).
	silence = 45 * time.Second

	maxError  = 1 << 20  // bytes of an error's body that are read
	maxAnswer = 16 << 20 // bytes of a small JSON answer
	// maxStreamed bounds an answer that is read as it arrives. A result repeats a stream of
	// at most 64 MiB a few times, escaped.
	maxStreamed = 4 << 30
)

var (
	// ErrInsecure refuses to send the token where others could read it.
	ErrInsecure = errors.New("the token would go over plain HTTP to an address that is not loopback; use https, or --insecure-http")
	// ErrNoAnswerInTime says that no response header came.
	ErrNoAnswerInTime = errors.New("no answer in time")
	// ErrSilent says that the connection stood, but no byte came for too long.
	ErrSilent = errors.New("no byte came for 45 s")
)

// Config says how to reach a daemon.
type Config struct {
	URL       string // http or https, a host, and a path at most
	Token     Token  // nil: none is sent
	CAFile    string // PEM; the only authorities to trust, "" for the system's
	Insecure  bool   // the token may go over plain HTTP to anywhere, and through a proxy
	UserAgent string

	// DialContext replaces the network, for tests. Its connections count as
	// loopback unless they say that they are TCP to elsewhere.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client calls one daemon. It is safe for use by several goroutines.
type Client struct {
	base  string
	agent string
	token Token
	http  *http.Client

	mu     sync.Mutex
	bearer []byte // what token gave last
}

// New checks the configuration. It calls nobody, and does not read the token.
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(cfg.URL)
	switch {
	case err != nil:
		return nil, errors.New("the daemon's URL cannot be read")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("the daemon's URL %q should be http:// or https:// and a host", u.Redacted())
	case u.User != nil:
		return nil, errors.New("the daemon's URL holds a user or a password; use a token file")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return nil, fmt.Errorf("the daemon's URL %q should have neither query nor fragment", u.Redacted())
	}
	var roots *x509.CertPool
	if cfg.CAFile != "" {
		pem, err := os.ReadFile(cfg.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read CA file: %w", err)
		}
		if roots = x509.NewCertPool(); !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("CA file %q holds no certificate in PEM form", cfg.CAFile)
		}
	}
	dial := cfg.DialContext
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTime, KeepAlive: 15 * time.Second}).DialContext
	}
	guarded := u.Scheme == "http" && cfg.Token != nil && !cfg.Insecure
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err == nil && guarded && !loopback(conn) {
				conn.Close()
				return nil, ErrInsecure
			}
			return conn, err
		},
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: tlsTime,
		IdleConnTimeout:     90 * time.Second,
		ForceAttemptHTTP2:   true,
		ReadBufferSize:      64 << 10, // a stream's backlog and a result are megabytes
		// Pings find a dead connection under a silent stream, so that the next
		// attempt does not reuse it.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
		// A compressed stream would be held back by whoever compresses it.
		DisableCompression: true,
	}
	if cfg.Token != nil && !cfg.Insecure {
		transport.Proxy = nil // it would learn whom the token is for, and one for http the token
	}
	return &Client{
		base:  strings.TrimRight(cfg.URL, "/"),
		agent: cfg.UserAgent,
		token: cfg.Token,
		http: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// URL is the daemon's, without a trailing slash.
func (c *Client) URL() string { return c.base }

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Reload reads the token again, for when the daemon refuses the one in use. It
// reports whether it changed.
func (c *Client) Reload() (changed bool, err error) {
	if c.token == nil {
		return false, nil
	}
	fresh, err := c.token()
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	changed = !bytes.Equal(fresh, c.bearer)
	c.bearer = bytes.Clone(fresh)
	return changed, nil
}

func (c *Client) credential() ([]byte, error) {
	if c.token == nil {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bearer == nil {
		fresh, err := c.token()
		if err != nil {
			return nil, err
		}
		c.bearer = bytes.Clone(fresh)
	}
	return c.bearer, nil
}

func loopback(conn net.Conn) bool {
	addr, tcp := conn.RemoteAddr().(*net.TCPAddr)
	return !tcp || addr.IP.IsLoopback()
}

// call is one request.
type call struct {
	method string
	path   string // escaped
	query  url.Values
	body   []byte // JSON, or nil
	accept string
	blocks bool // the daemon answers when its work is done, however long that takes
}

// do sends the request and returns a response of status 200, whose body ends
// with ErrSilent when the daemon falls silent. Everything else is an error.
func (c *Client) do(ctx context.Context, k call) (*http.Response, error) {
	bearer, err := c.credential()
	if err != nil {
		return nil, err
	}
	target := c.base + k.path
	if len(k.query) > 0 {
		target += "?" + k.query.Encode()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var body io.Reader
	if k.body != nil {
		body = bytes.NewReader(k.body)
	}
	req, err := http.NewRequestWithContext(ctx, k.method, target, body)
	if err != nil {
		cancel(nil)
		return nil, fmt.Errorf("make request: %w", err)
	}
	if k.body != nil {
		req.Header.Set("Content-Type", "application/json")
		// The standard library repeats a request on a connection that died
		// under it when it can rewind the body; a submission must not be.
		req.GetBody = nil
	}
	if k.accept != "" {
		req.Header.Set("Accept", k.accept)
	}
	if c.agent != "" {
		req.Header.Set("User-Agent", c.agent)
	}
	if bearer != nil {
		req.Header.Set("Authorization", "Bearer "+string(bearer))
	}
	var late *time.Timer
	if !k.blocks {
		late = time.AfterFunc(headerTime, func() { cancel(ErrNoAnswerInTime) })
	}
	resp, err := c.http.Do(req)
	if late != nil {
		late.Stop()
	}
	if err != nil {
		err = because(ctx, err)
		cancel(nil)
		return nil, err
	}
	resp.Body = watched(ctx, cancel, resp.Body)
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, refusal(resp)
	}
	return resp, nil
}

// because replaces the error of a call that was ended by one of our timers with
// the timer's.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, ErrNoAnswerInTime) || errors.Is(cause, ErrSilent) {
		return cause
	}
	return err
}

// body is a response body with a watchdog: it counts only while a Read waits,
// so that a slow reader is never taken for a silent daemon.
type body struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	dog    *time.Timer
}

func watched(ctx context.Context, cancel context.CancelCauseFunc, rc io.ReadCloser) *body {
	dog := time.AfterFunc(silence, func() { cancel(ErrSilent) })
	dog.Stop()
	return &body{rc, ctx, cancel, dog}
}

func (b *body) Read(p []byte) (int, error) {
	b.dog.Reset(silence)
	n, err := b.ReadCloser.Read(p)
	b.dog.Stop()
	if err != nil && err != io.EOF {
		err = because(b.ctx, err)
	}
	return n, err
}

// Close ends the request even while another goroutine reads.
func (b *body) Close() error {
	b.dog.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}
