package follow

import (
	"bytes"
	"context"
	"io"
	"slices"

	"github.com/tmaxmax/go-sse"
)

// stream feeds an event stream's bytes to the parser, whole lines at a time. A
// parser that saw a long line grow would scan it again with every read; this one
// sees it once. Whenever nothing complete is left to give, the follower takes the
// chance to commit, and then waits for bytes and for everything else at once.
//
// Nearly all frames are written in one way. Where one begins that is, it is waited for
// and taken as it stands, and the parser does not see it.
type stream struct {
	f    *follower
	take func(name string, data []byte) error // is given each frame that has data
	ctx  context.Context                      // of the watch: what is begun while the stream is read may outlive it
	end  context.Context                      // of the stream
	stop context.CancelFunc
	body io.ReadCloser
	in   chan piece
	free chan []byte

	held []byte // what was read
	from int    // of it, given or taken so far
	give int    // end of what the parser gets of it
	to   int    // end of the whole lines in it
	amid bool   // the parser may have the beginning of a frame
	name string // of the last frame that was taken
	err  error  // that ended the body
}

// piece is what one read of the body brought.
type piece struct {
	buf []byte
	n   int
	err error
}

const readSize = 128 << 10

func (f *follower) open(ctx context.Context, body io.ReadCloser, take func(name string, data []byte) error) *stream {
	end, stop := context.WithCancel(ctx)
	// The parser gets the first frame: a byte order mark may stand before it.
	s := &stream{f: f, take: take, ctx: ctx, end: end, stop: stop, body: body, in: make(chan piece), free: make(chan []byte, 2), amid: true}
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

// frames takes the stream's frames until it ends, and returns why: nil where the body
// ended well.
func (s *stream) frames() error {
	for ev, err := range sse.Read(s, &sse.ReadConfig{MaxEventSize: s.f.cfg.MaxEvent}) {
		if err == nil && ev.Data != "" {
			err = s.take(ev.Type, []byte(ev.Data))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Read gives the parser whole lines, and the unfinished rest only when the body ended.
func (s *stream) Read(p []byte) (int, error) {
	for s.from == s.give {
		begun := false
		if !s.amid {
			var err error
			if begun, err = s.usual(); err != nil {
				return 0, err
			}
		}
		switch {
		case s.from < s.to && (!begun || s.err != nil):
			s.divide()
		case s.err != nil:
			return 0, s.err
		default:
			if err := s.more(); err != nil {
				return 0, err
			}
		}
	}
	n := copy(p, s.held[s.from:s.give])
	s.from += n
	return n, nil
}

// usual takes the frames that are written as nearly all are. It reports whether another
// one has begun.
func (s *stream) usual() (begun bool, err error) {
	for {
		name, data, size := usualFrame(s.held[s.from:s.to])
		if size <= 0 || size > s.f.cfg.MaxEvent {
			return size < 0, nil
		}
		s.from += size
		s.give = s.from
		if len(data) == 0 {
			continue
		}
		if s.name != string(name) {
			s.name = string(name)
		}
		if err := s.take(s.name, bytes.Clone(data)); err != nil {
			return false, err
		}
	}
}

// divide says how much the parser gets next: a frame, or, where its end is not to be
// seen, all that is there.
func (s *stream) divide() {
	s.give = s.to
	if i := bytes.Index(s.held[s.from:s.to], []byte("\n\n")); i >= 0 {
		s.give = s.from + i + 2
	}
	// Behind a line and an empty one, the parser has nothing left.
	end := s.held[:s.give]
	s.amid = len(end) < 3 || end[len(end)-3] == '\n' || end[len(end)-3] == '\r' || !bytes.HasSuffix(end, []byte("\n\n"))
}

// usualFrame reads the frame at the beginning of b, whole lines, if it is an event, its
// data and perhaps an ID, each in a line that ends with a newline (wire/aip.md 3.2). Else
// its size is 0, and -1 where more of it has to come.
func usualFrame(b []byte) (name, data []byte, size int) {
	rest := b
	line := func(field string) (value []byte, ok bool) {
		if value, ok = bytes.CutPrefix(rest, []byte(field)); !ok || len(rest) == 0 {
			return nil, false
		}
		if value, rest, ok = bytes.Cut(value, []byte{'\n'}); !ok || bytes.IndexByte(value, '\r') >= 0 {
			rest = []byte{'\r'} // nothing fits any more
			return nil, false
		}
		return value, true
	}
	name, ok := line("event: ")
	if ok {
		data, ok = line("data: ")
	}
	if ok {
		line("id: ")
		var end []byte
		if end, ok = line(""); ok && len(end) == 0 {
			return name, data, len(b) - len(rest)
		}
	}
	if len(rest) == 0 {
		return nil, nil, -1
	}
	return nil, nil, 0
}

// more reads until another line is whole, or the body ended.
func (s *stream) more() error {
	s.held = append(s.held[:0], s.held[s.from:]...)
	s.from, s.give, s.to = 0, 0, s.to-s.from
	if cap(s.held) > 8*readSize && len(s.held) < readSize { // a large line is over
		s.held = bytes.Clone(s.held)
	}
	for whole := s.to; s.to == whole && s.err == nil; {
		if len(s.held) > s.f.cfg.MaxEvent {
			return &TooLargeError{Size: len(s.held), Limit: s.f.cfg.MaxEvent}
		}
		got, err := s.fetch()
		if err != nil {
			return err
		}
		before := len(s.held)
		if cap(s.held) < before+got.n {
			s.held = slices.Grow(s.held, max(before, got.n)) // a large line is copied twice at most
		}
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
