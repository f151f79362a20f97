package follow

import (
	"bytes"
	"context"
	"io"
)

// stream feeds an event stream's bytes to the parser, whole lines at a time. A
// parser that saw a long line grow would scan it again with every read; this one
// sees it once. Whenever nothing complete is left to give, the follower takes the
// chance to commit, and then waits for bytes and for everything else at once.
type stream struct {
	f    *follower
	ctx  context.Context // of the watch: what is begun while the stream is read may outlive it
	end  context.Context // of the stream
	stop context.CancelFunc
	body io.ReadCloser
	in   chan piece
	free chan []byte

	held []byte // what was read
	from int    // of it, given so far
	to   int    // end of the whole lines in it
	err  error  // that ended the body
}

// piece is what one read of the body brought.
type piece struct {
	buf []byte
	n   int
	err error
}

const readSize = 128 << 10

func (f *follower) open(ctx context.Context, body io.ReadCloser) *stream {
	end, stop := context.WithCancel(ctx)
	s := &stream{f: f, ctx: ctx, end: end, stop: stop, body: body, in: make(chan piece), free: make(chan []byte, 2)}
	s.free <- make([]byte, readSize)
	s.free <- make([]byte, readSize)
	f.spawn(s.pump)
	return s
}

func (s *stream) close() {
	s.stop()
	s.body.Close()
}

// pump reads the body, so that the follower can wait for other things too. It
// ends with the stream.
func (s *stream) pump() {
	for {
		var p piece
		select {
		case p.buf = <-s.free:
		case <-s.end.Done():
			return
		}
		p.n, p.err = s.body.Read(p.buf)
		select {
		case s.in <- p:
		case <-s.end.Done():
			return
		}
		if p.err != nil {
			return
		}
	}
}

// Read gives whole lines, and the unfinished rest only when the body ended.
func (s *stream) Read(p []byte) (int, error) {
	for s.from == s.to {
		s.held, s.from, s.to = append(s.held[:0], s.held[s.to:]...), 0, 0
		if s.err != nil {
			return 0, s.err
		}
		if err := s.more(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.held[s.from:s.to])
	s.from += n
	return n, nil
}

// more reads until a line is whole, or the body ended.
func (s *stream) more() error {
	if cap(s.held) > 8*readSize { // a large line is over
		s.held = bytes.Clone(s.held)
	}
	for s.to == 0 && s.err == nil {
		if len(s.held) > s.f.cfg.MaxEvent {
			return &TooLargeError{Size: len(s.held), Limit: s.f.cfg.MaxEvent}
		}
		got, err := s.fetch()
		if err != nil {
			return err
		}
		before := len(s.held)
		s.held = append(s.held, got.buf[:got.n]...)
		s.free <- got.buf
		if end := lastLine(s.held[before:]); end > 0 {
			s.to = before + end
		}
		if s.err = got.err; s.err != nil {
			s.to = len(s.held)
		}
	}
	return nil
}

// lastLine is where the last whole line of b ends.
func lastLine(b []byte) int {
	end := bytes.LastIndexByte(b, '\n') + 1
	return end + bytes.LastIndexByte(b[end:], '\r') + 1
}

// fetch takes the next piece; if there is none yet, everything that was read is
// committed while it waits, behind the commit that is under way.
func (s *stream) fetch() (piece, error) {
	select {
	case p := <-s.in:
		return p, s.f.look(s.ctx)
	default:
	}
	if !s.f.aloft() {
		if err := s.f.push(s.ctx); err != nil {
			return piece{}, err
		}
		if err := s.f.overtaken(); err != nil {
			return piece{}, err
		}
	}
	return s.f.wait(s.ctx, s.in, nil)
}
