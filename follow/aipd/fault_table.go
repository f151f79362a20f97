package aipd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// table is every fault: first those of what a daemon says, then those of how it
// answers, then those of the bytes. Those that hit the first streams of an action
// hit each action anew.
var table = []Fault{
	{"skew", "DURATION=10m", "the daemon's clock is ahead (behind, if negative)", length(func(d time.Duration) effect {
		return effect{options: func(o *Options) {
			clock := o.Clock
			o.Clock = func() time.Time { return clock().Add(d) }
		}, answer: func(c *call) bool {
			c.w.Header().Set("Date", c.s.now().Format(http.TimeFormat))
			return false
		}}
	})},
	{"gaps", "FIRST=1000", "sequences start anywhere and have gaps", func(value string) (effect, error) {
		first, err := strconv.ParseUint(value, 10, 64)
		return effect{chunk: func(_ int, c aip.Chunk) (aip.Chunk, bool) {
			c.Sequence = first + 3*c.Sequence
			return c, true
		}}, err
	}},
	{"lost", "NTH=3", "the nth chunk never comes; the result has it", lost},
	{"conflict", "NTH=3", "the nth chunk comes again with other content", beside(func(c aip.Chunk) []aip.Chunk {
		other := c
		other.Data = object("hermes_sse", object("event", nil, "id", nil, "data", "other", "raw_data", `"other"`, "terminal", false))
		return []aip.Chunk{c, other}
	})},
	{"foreign", "NTH=3", "a chunk of another action comes before the nth", beside(func(c aip.Chunk) []aip.Chunk {
		other := c
		other.ActionID = "act_another"
		return []aip.Chunk{other, c}
	})},
	{"big", "BYTES=17825792", "an event of so many bytes comes behind the first chunk", number(func(n int) effect {
		return effect{stored: func(s *Server, a *action, c aip.Chunk) {
			if len(a.chunks) == 1 {
				s.note(a, s.now(), "connector.note", nil, object("pad", string(bytes.Repeat([]byte("x"), n))))
			}
		}}
	})},
	{"redacted", "WHAT=output", "redacted values: chunks, events, output, records (of the output) or times", redacted},
	{"tuple-times", "", "times are arrays of nine integers", always(rewritten(tupleTimes))},

	{"dead-lettered", "", "an action ends dead-lettered, without a result", withoutResult(func(a *action) { a.deadReason = "attempts exhausted" })},
	{"expired", "", "an action ends expired, without a result", withoutResult(func(a *action) { a.queue = "expired" })},
	{"completed", "", "an action ends completed, without a result", withoutResult(func(a *action) { a.queue = completed })},
	{"cancelled-queued", "", "an action is cancelled before it runs, and never has a result", always(effect{start: func(s *Server, a *action) bool {
		a.queue, a.completed = cancelled, s.now()
		s.note(a, s.now(), aip.EventCancelled, nil, object("target", "action", "action_id", a.request.ActionID, "reason", "not wanted"))
		return true
	}})},
	{"unknown", "", "the state is unknown, whatever became of the action", always(effect{
		state: func(aip.State) aip.State { return aip.StateUnknown }})},
	{"late-event", "DURATION=2s", "the event of a result comes so long after it, behind the terminal frame", length(func(d time.Duration) effect {
		return effect{late: d}
	})},
	{"late-result", "DURATION=3s", "the result is not ready for so long after it was first asked for", length(func(d time.Duration) effect {
		return effect{answer: func(c *call) bool {
			return c.is("result") && c.s.since("result "+c.id) < d && c.refuse(noResult(c.id, aip.StateRunning))
		}}
	})},
	{"no-result", "", "the result is never ready", always(effect{answer: func(c *call) bool {
		return c.is("result") && c.refuse(noResult(c.id, aip.StateRunning))
	}})},
	{"early", "STREAMS=3", "the first streams of an action end as terminal behind their first page", number(func(n int) effect {
		return effect{page: func(s *Server, q pageQuery, _ cursor, p *page) {
			if q.follow && !p.empty() && s.count("early "+q.action) < n {
				p.terminal = true
			}
		}}
	})},
	{"backlog", "LIMIT=10", "a stream waits for the end, sends one page of at most so many, and says terminal", number(func(n int) effect {
		return effect{query: func(q *pageQuery) {
			if q.follow {
				q.limit = max(n, 1)
			}
		}, page: func(_ *Server, q pageQuery, at cursor, p *page) {
			if q.follow && !p.terminal {
				*p = page{next: at}
			}
		}}
	})},
	{"repeat", "", "each page is delivered twice", always(effect{page: func(s *Server, q pageQuery, at cursor, p *page) {
		if s.count("page "+q.action)%2 == 0 {
			p.next = at
		}
	}})},
	{"forget", "NTH=2", "the daemon starts again, empty, at an action's nth stream", number(func(n int) effect {
		return effect{answer: func(c *call) bool {
			if c.is("follow") && c.n == n-1 {
				c.s.forget()
			}
			return false
		}}
	})},

	{"token", "", "the token is not known", always(effect{answer: func(c *call) bool {
		e := failure("auth.native_http_unauthorized", auth, "the bearer token is wrong")
		return c.route != "" && c.refuse(with(e, "component", "aip.server.native_http"))
	}})},
	{"scope", "", "the principal lacks the scopes to read and to cancel", always(effect{options: func(o *Options) { o.Scopes = []string{} }})},
	{"cancel-refused", "", "no cancel is accepted, as on a daemon without trusted identities", always(effect{answer: func(c *call) bool {
		return c.is("cancel") && c.refuse(failure("auth.identity_resolution_failed", auth, "no identity is trusted"))
	}})},
	{"error", "CODE=storage.unavailable", "the first two streams of an action are an aip.error of this code", func(code string) (effect, error) {
		return effect{answer: func(c *call) bool {
			return c.is("follow") && c.n < 2 && c.refuse(failure(code, categoryOf(code), "made on purpose"))
		}}, nil
	}},
	{"cursor-expired", "TIMES=1", "so many cursors of an action are refused as expired", lostCursors("stream.cursor_expired")},
	{"cursor-invalid", "TIMES=1", "so many cursors of an action are refused as malformed", lostCursors("query.invalid_cursor")},
	{"busy", "DURATION=2s", "the first two answers of each reading route are 503, with retry_after_ms", length(func(d time.Duration) effect {
		return effect{answer: func(c *call) bool {
			e := failure("storage.unavailable", temporary, "made on purpose")
			e.RetryAfterMS = d.Milliseconds()
			if !c.reads() || c.n >= 2 {
				return false
			}
			writeError(c.w, c.s.now(), e)
			return true
		}}
	})},
	{"html", "TIMES=2", "the first answers of each reading route are a proxy's page, HTTP 200", pages(http.StatusOK)},
	{"gateway", "TIMES=2", "the first answers of each reading route are a proxy's page, HTTP 502", pages(http.StatusBadGateway)},
	{"plain", "STATUS=404", "the first two answers of each reading route are this status in plain text", number(func(status int) effect {
		return effect{answer: func(c *call) bool {
			if !c.reads() || c.n >= 2 {
				return false
			}
			refuse(c.w, status, "not here")
			return true
		}}
	})},
	{"mute", "TIMES=1", "the first requests of each reading route get no answer at all", number(func(n int) effect {
		return effect{answer: func(c *call) bool {
			if !c.reads() || c.n >= n {
				return false
			}
			c.hold()
			return true
		}}
	})},

	{"poison", "", "a stream breaks off wherever the event of the result would come", always(effect{writer: func(c *call) http.ResponseWriter {
		return onWrite(c, func(w *wire, b []byte) (int, error) {
			if i := bytes.Index(b, []byte("event: "+aip.EventResult+"\n")); i >= 0 {
				return w.breakOff(b[:i], c.reset)
			}
			return w.ResponseWriter.Write(b)
		}, "follow")
	}})},
	{"half", "FRAMES=3", "a stream ends in the middle of a frame: the nth first, then later ones", number(func(n int) effect {
		return effect{writer: func(c *call) http.ResponseWriter {
			frames := n << min(c.n, 20)
			return onWrite(c, func(w *wire, b []byte) (int, error) {
				at := 0
				for {
					end := bytes.Index(b[at:], []byte("\n\n"))
					if end < 0 {
						return w.ResponseWriter.Write(b)
					}
					if frames--; frames <= 0 {
						return w.breakOff(b[:at+end/2], nil)
					}
					at += end + 2
				}
			}, "follow")
		}}
	})},
	{"crlf", "", "lines of a stream end with CR and LF", streamed(func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")) })},
	{"cr", "", "lines of a stream end with CR", streamed(func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\r")) })},
	{"comments", "", "comments, blank blocks and unknown fields stand between frames", streamed(func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte("\n\n"), []byte("\nretry: 5\nunknown: 1\n\n: keep-alive\n\n\n\nid: x\n\nevent: y\n\ndata\n\n"))
	})},
	{"multiline", "", "the data of a frame stands on several lines", streamed(func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte(`":{"`), []byte("\":\ndata: {\""))
	})},
	{"bom", "", "a stream begins with a byte order mark", always(effect{writer: func(c *call) http.ResponseWriter {
		return onWrite(c, func(w *wire, b []byte) (int, error) {
			if w.sent == 0 {
				b = append([]byte("\xef\xbb\xbf"), b...)
			}
			return w.ResponseWriter.Write(b)
		}, "follow")
	}})},
	{"split", "BYTES=7", "a stream comes in pieces of so many bytes, in the middle of characters, too", number(func(n int) effect {
		return effect{writer: func(c *call) http.ResponseWriter {
			return onWrite(c, func(w *wire, b []byte) (int, error) {
				for piece := range slices.Chunk(b, max(n, 1)) {
					if _, err := w.ResponseWriter.Write(piece); err != nil {
						return 0, err
					}
					if err := w.flush(); err != nil {
						return 0, err
					}
				}
				return len(b), nil
			}, "follow")
		}}
	})},
	{"cut", "BYTES=1000", "a stream ends after so many bytes, the next one after twice as many, and so on", limited(nil, "follow")},
	{"reset", "BYTES=1000", "as cut, but the connection is reset", limited((*call).reset, "follow")},
	{"stall", "BYTES=1000", "as cut, but the connection stays and says nothing more", limited((*call).hold, "follow")},
	{"cut-answers", "BYTES=100", "as cut, for all answers but streams", limited(nil, "events", "status", "result")},
	{"lost-answer", "", "the connection is reset instead of answering a submission", unanswered("submit")},
	{"lost-cancel", "", "the connection is reset instead of answering a cancel that is carried out", unanswered("cancel")},
	{"refuse", "CODE=policy.denied", "each submission is refused with this code", func(code string) (effect, error) {
		return effect{answer: func(c *call) bool {
			return c.is("submit") && c.refuse(failure(code, categoryOf(code), "made on purpose"))
		}}, nil
	}},
	{"fail", "CODE=action.input_schema_invalid", "each submission is answered by HTTP 200 and a result that failed with this code", func(code string) (effect, error) {
		return effect{answer: func(c *call) bool {
			return c.is("submit") && c.fail(failure(code, categoryOf(code), "made on purpose"))
		}}, nil
	}},
}

// beside delivers something beside the nth chunk, counted from 1.
func beside(change func(c aip.Chunk) []aip.Chunk) func(string) (effect, error) {
	return number(func(n int) effect {
		return effect{page: func(s *Server, q pageQuery, _ cursor, p *page) {
			a := s.actions[q.action]
			if a == nil || n < 1 || len(a.chunks) < n {
				return
			}
			nth := a.chunks[n-1]
			i := slices.IndexFunc(p.chunks, func(c aip.Chunk) bool { return c.Sequence == nth.Sequence })
			if i >= 0 {
				p.chunks = slices.Concat(p.chunks[:i], change(nth), p.chunks[i+1:])
			}
		}}
	})
}

// lost drops the nth chunk, counted from 1.
var lost = number(func(n int) effect {
	return effect{chunk: func(i int, c aip.Chunk) (aip.Chunk, bool) { return c, i != n }}
})

// withoutResult ends an action without a result.
func withoutResult(end func(a *action)) func(string) (effect, error) {
	return always(effect{outcome: func(s *Server, a *action, _ *hermes.Result) *hermes.Result {
		s.mu.Lock()
		defer s.mu.Unlock()
		a.completed, a.updated = s.now(), s.now()
		end(a)
		return nil
	}})
}

func lostCursors(code string) func(string) (effect, error) {
	return number(func(n int) effect {
		return effect{answer: func(c *call) bool {
			at := c.r.URL.Query().Get("cursor")
			return c.is("follow", "events") && at != "" && c.s.count(code+" "+c.id) < n &&
				c.refuse(with(failure(code, permanent, "made on purpose"), "cursor", at))
		}}
	})
}

func pages(status int) func(string) (effect, error) {
	return number(func(n int) effect {
		return effect{answer: func(c *call) bool {
			if !c.reads() || c.n >= n {
				return false
			}
			c.w.Header().Set("Content-Type", "text/html; charset=utf-8")
			c.w.WriteHeader(status)
			fmt.Fprintf(c.w, "<!doctype html><title>%d</title><h1>Sign in \x1b[2J</h1>\n", status)
			return true
		}}
	})
}

// categoryOf is the category that a daemon gives an error of a code.
func categoryOf(code string) string {
	switch {
	case regexp.MustCompile(`^(auth|replay|credential|audit)\.`).MatchString(code):
		return auth
	case regexp.MustCompile(`^policy\.`).MatchString(code):
		return policy
	case slices.Contains([]string{"storage.unavailable", "runtime.handler_failed", "action.result_not_ready", "connector.admission_capacity", "sla.queue_delay_exceeded"}, code):
		return temporary
	}
	return permanent
}

var redactedValue = json.RawMessage(`{"redacted":true}`)

func redacted(what string) (effect, error) {
	switch what {
	case "chunks":
		return effect{chunk: func(_ int, c aip.Chunk) (aip.Chunk, bool) {
			c.Data, c.Part = redactedValue, nil
			return c, true
		}}, nil
	case "events":
		return effect{page: func(_ *Server, _ pageQuery, _ cursor, p *page) {
			p.rewrite(func(b []byte) []byte {
				if i := bytes.Index(b, []byte(`,"data":`)); i >= 0 {
					b = slices.Concat(b[:i], []byte(`,"data":`), redactedValue, []byte("}"))
				}
				return b
			})
		}}, nil
	case "output", "records":
		return effect{outcome: func(_ *Server, _ *action, r *hermes.Result) *hermes.Result {
			changed := *r
			if r.Output == nil {
				return r
			}
			output := map[string]json.RawMessage{}
			if what == "output" || json.Unmarshal(slices.Concat(slices.Collect(r.Output)...), &output) != nil {
				changed.Output = hermes.JSONPieces(redactedValue)
				return &changed
			}
			output["events"] = redactedValue
			changed.Output = hermes.JSONPieces(encode(output))
			return &changed
		}}, nil
	case "times":
		return rewritten(func(b []byte) []byte { return times.ReplaceAll(b, []byte(`"$1":{"redacted":true}`)) }), nil
	}
	return effect{}, io.ErrUnexpectedEOF
}

// rewritten changes events and statuses where they are delivered.
func rewritten(change func([]byte) []byte) effect {
	return effect{json: change, page: func(_ *Server, _ pageQuery, _ cursor, p *page) { p.rewrite(change) }}
}

var times = regexp.MustCompile(`"([a-z_]+_at)":"([^"]*)"`)

func tupleTimes(b []byte) []byte {
	return times.ReplaceAllFunc(b, func(m []byte) []byte {
		part := times.FindSubmatch(m)
		at, err := time.Parse(time.RFC3339Nano, string(part[2]))
		if err != nil {
			return m
		}
		return fmt.Appendf(nil, `"%s":[%d,%d,%d,%d,%d,%d,0,0,0]`, part[1], at.Year(), at.YearDay(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond())
	})
}
