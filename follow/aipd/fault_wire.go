package aipd

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"time"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// errBroken ends an answer that a fault breaks off.
var errBroken = errors.New("broken off on purpose")

// wire is an answer on its way, with what a fault does to each write.
type wire struct {
	http.ResponseWriter
	write  func(w *wire, b []byte) (int, error)
	sent   int // bytes, as they came from the handler
	broken bool
}

// onWrite lets a fault at the writes of an answer, if it is one of the routes'.
func onWrite(c *call, write func(w *wire, b []byte) (int, error), routes ...string) http.ResponseWriter {
	if !c.is(routes...) {
		return c.w
	}
	return &wire{ResponseWriter: c.w, write: write}
}

func (w *wire) Write(b []byte) (int, error) {
	if w.broken {
		return 0, errBroken
	}
	if _, err := w.write(w, b); err != nil {
		return 0, err
	}
	w.sent += len(b)
	return len(b), nil
}

// Unwrap lets the handler flush.
func (w *wire) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *wire) flush() error { return http.NewResponseController(w.ResponseWriter).Flush() }

// breakOff sends the last bytes, and ends the answer by end, or as if it were
// whole.
func (w *wire) breakOff(b []byte, end func()) (int, error) {
	w.broken = true
	if _, err := w.ResponseWriter.Write(b); err != nil {
		return 0, err
	}
	if err := w.flush(); err != nil {
		return 0, err
	}
	if end != nil {
		end()
	}
	return 0, errBroken
}

// limited breaks an answer off after so many bytes, the next one of the same
// route and action after twice as many, so that each fault is overcome at last.
func limited(end func(*call), routes ...string) func(string) (effect, error) {
	return number(func(n int) effect {
		return effect{writer: func(c *call) http.ResponseWriter {
			limit := max(n, 1) << min(c.n, 30)
			if n == 0 && c.n == 0 {
				limit = 0
			}
			return onWrite(c, func(w *wire, b []byte) (int, error) {
				if w.sent+len(b) < limit {
					return w.ResponseWriter.Write(b)
				}
				var last func()
				if end != nil {
					last = func() { end(c) }
				}
				return w.breakOff(b[:limit-w.sent], last)
			}, routes...)
		}}
	})
}

// streamed changes the bytes of follow streams.
func streamed(change func([]byte) []byte) func(string) (effect, error) {
	return always(effect{writer: func(c *call) http.ResponseWriter {
		return onWrite(c, func(w *wire, b []byte) (int, error) { return w.ResponseWriter.Write(change(b)) }, "follow")
	}})
}

// reset ends the connection as a broken network does.
func (c *call) reset() {
	conn, _, err := http.NewResponseController(c.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // else it is closed in the usual way
	}
	conn.Close()
}

// hold says nothing until the client goes or the daemon is closed.
func (c *call) hold() {
	select {
	case <-c.r.Context().Done():
	case <-c.s.ctx.Done():
	}
}

// refuse answers with an error as the route does: inside a follow stream it
// comes behind HTTP 200 (wire/aip.md 3.1). Only a wrong token is refused before.
func (c *call) refuse(e *aip.Error) bool {
	if !c.is("follow") || e.Code == "auth.native_http_unauthorized" {
		writeError(c.w, c.s.now(), e)
		return true
	}
	c.w.Header().Set("Content-Type", "text/event-stream")
	c.w.Write(appendFrame(nil, aip.FrameError, object("error", json.RawMessage(hermes.EncodeError(e))), ""))
	return true
}

// fail answers a submission with a failed result, which is not kept.
func (c *call) fail(e *aip.Error) bool {
	raw, ok := readBody(c.w, c.r)
	if !ok {
		return true
	}
	env, _, refused := readEnvelope(raw)
	if refused != nil || env.Body.Action == nil {
		writeError(c.w, c.s.now(), failure("schema.envelope.invalid", permanent, "made on purpose"))
		return true
	}
	c.s.reply(c.w, env, "action_result", hermes.Result{ActionID: env.Body.Action.ID, Status: aip.ResultFailed, Error: e}.Pieces())
	return true
}

// since is how long ago it was first called with the key.
func (s *Server) since(key string) time.Duration {
	s.countMu.Lock()
	defer s.countMu.Unlock()
	if s.firsts == nil {
		s.firsts = map[string]time.Time{}
	}
	first, ok := s.firsts[key]
	if !ok {
		first = time.Now()
		s.firsts[key] = first
	}
	return time.Since(first)
}

// forget loses all actions, as a daemon does that keeps them in memory and starts
// again. What the provider stores is the provider's.
func (s *Server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.order {
		if a.cancel != nil {
			a.cancel(errClosed)
		}
	}
	s.actions, s.order, s.feed = map[string]*action{}, nil, nil
	s.keys, s.seen = map[string]string{}, map[string]time.Time{}
}

// rewrite changes the events of a page.
func (p *page) rewrite(change func([]byte) []byte) {
	events := make([]event, len(p.events))
	for i, e := range p.events {
		e.body = change(e.body)
		events[i] = e
	}
	p.events = events
}

// unanswered resets the connection where the answer would begin.
func unanswered(routes ...string) func(string) (effect, error) {
	return always(effect{writer: func(c *call) http.ResponseWriter {
		return onWrite(c, func(w *wire, _ []byte) (int, error) {
			w.broken = true
			c.reset()
			return 0, errBroken
		}, routes...)
	}})
}
