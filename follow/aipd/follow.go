package aipd

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// follow answers a follow stream: pages for as long as the action goes on.
// Whatever is wrong, the answer begins as a success (wire/aip.md 3.1).
func (s *Server) follow(w http.ResponseWriter, r *http.Request, q pageQuery, denied *aip.Error) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()

	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	flusher := http.NewResponseController(w)
	send := func(b []byte) bool {
		_, err := w.Write(b)
		return err == nil && flusher.Flush() == nil
	}
	if flusher.Flush() != nil {
		return
	}

	var buf []byte
	quiet := time.Now() // since when nothing was sent
	for {
		p, err := page{}, denied
		if err == nil {
			p, err = s.page(q)
		}
		if err != nil {
			send(appendFrame(nil, aip.FrameError, object("error", json.RawMessage(hermes.EncodeError(err))), ""))
			return
		}
		q.cursor = p.next.String()
		buf = appendPage(buf[:0], p)
		terminal := p.terminal && !(s.opt.DrainFirst && !p.empty())
		if terminal {
			buf = appendFrame(buf, aip.FrameTerminal, object("terminal", true, "action_id", q.action), q.cursor)
		}
		if len(buf) > 0 {
			if !send(buf) {
				return
			}
			quiet = time.Now()
		}
		if terminal {
			return
		}
		if !p.empty() {
			if ctx.Err() != nil {
				return
			}
			continue
		}
		if time.Since(quiet) >= s.opt.KeepAlive {
			if !send([]byte(": keep-alive\n\n")) {
				return
			}
			quiet = time.Now()
		}
		select {
		case <-time.After(s.opt.Poll):
		case <-ctx.Done():
			return
		}
	}
}

// appendPage appends the frames of a page in the daemon's order: all events, all
// chunks, then the cursor behind them. An empty page has none.
func appendPage(dst []byte, p page) []byte {
	for _, e := range p.events {
		dst = openFrame(dst, e.kind)
		dst = append(dst, `{"event":`...)
		dst = append(dst, e.body...)
		dst = closeFrame(append(dst, '}'), e.id)
	}
	for _, c := range p.chunks {
		dst = openFrame(dst, aip.EventChunk)
		dst = append(dst, `{"chunk":`...)
		dst = hermes.AppendChunk(dst, c)
		dst = append(dst, "}\nid: chunk:"...)
		dst = strconv.AppendUint(dst, c.Sequence, 10)
		dst = append(dst, "\n\n"...)
	}
	if p.empty() {
		return dst
	}
	at := p.next.String()
	return appendFrame(dst, aip.FrameCursor, object("next_cursor", at), at)
}

// appendFrame appends one frame: event, one line of data, and the ID if there
// is one (wire/aip.md 3.2).
func appendFrame(dst []byte, name string, data []byte, id string) []byte {
	return closeFrame(append(openFrame(dst, name), data...), id)
}

func openFrame(dst []byte, name string) []byte {
	dst = append(dst, "event: "...)
	dst = append(dst, name...)
	return append(dst, "\ndata: "...)
}

func closeFrame(dst []byte, id string) []byte {
	if id != "" {
		dst = append(dst, "\nid: "...)
		dst = append(dst, id...)
	}
	return append(dst, "\n\n"...)
}
