package aip

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Ack is the daemon's word that it took an asynchronous action (wire/aip.md 8.3).
type Ack struct {
	ActionID     string          `json:"action_id"`
	Status       string          `json:"status"`
	Reason       string          `json:"reason,omitempty"`
	RetryAfterMS int64           `json:"retry_after_ms,omitempty"`
	Queue        json.RawMessage `json:"queue,omitempty"`
}

// Answer is what a daemon says to a submission: exactly one of its fields is set.
type Answer struct {
	Ack    *Ack
	Result *Result
	Error  *Error
}

// ErrNoAnswer says that a body was JSON, but held nothing that was asked for.
var ErrNoAnswer = errors.New("the body does not hold what was asked for")

// ReadResult reads an ActionResult from a response body as it arrives. The body
// is {"action_result":…}, or an Envelope around it (wire/aip.md 1.1); one that
// holds an error is returned as an *Error.
//
// A stream's aggregate repeats every provider frame twice, in the output and in
// the message. Neither copy is held: each element of the output's events goes to
// event, in order, and raw is good until event returns; the message's are passed
// over, and so is its text where it is long and the output's over again. Everything
// else of the two is kept as it was written. An error of event
// ends the reading and is returned as it is. A nil event passes over both.
func ReadResult(r io.Reader, event func(index int, raw json.RawMessage) error) (Result, error) {
	a, err := ReadAnswer(r, event)
	switch {
	case err != nil:
		return Result{}, err
	case a.Error != nil:
		return Result{}, a.Error
	case a.Result == nil:
		return Result{}, fmt.Errorf("read result: %w", ErrNoAnswer)
	}
	return *a.Result, nil
}

// ReadAnswer is ReadResult for the answer to a submission.
func ReadAnswer(r io.Reader, event func(index int, raw json.RawMessage) error) (Answer, error) {
	var a Answer
	s := newScanner(r)
	err := s.tagged(func(tag string) (bool, error) {
		switch tag {
		case "action_result":
			a.Result = new(Result)
			return true, s.result(a.Result, event)
		case "ack":
			a.Ack = new(Ack)
			return true, s.optional(a.Ack)
		case "error":
			var err error
			a.Error, err = s.protocolError()
			return true, err
		}
		return false, nil
	})
	if err != nil {
		return Answer{}, readError("result", err)
	}
	if a.Ack == nil && a.Result == nil && a.Error == nil {
		return Answer{}, fmt.Errorf("read result: %w", ErrNoAnswer)
	}
	return a, nil
}

// ReadTagged returns the value under tag, in a bare tagged body or in an
// Envelope around it. An error body is returned as an *Error.
func ReadTagged(r io.Reader, tag string) (json.RawMessage, error) {
	var raw json.RawMessage
	var refused *Error
	s := newScanner(r)
	err := s.tagged(func(name string) (bool, error) {
		var err error
		switch name {
		case tag:
			raw, err = s.value(nil)
		case "error":
			refused, err = s.protocolError()
		default:
			return false, nil
		}
		return true, err
	})
	switch {
	case err != nil:
		return nil, readError(tag, err)
	case refused != nil:
		return nil, refused
	case raw == nil:
		return nil, fmt.Errorf("read %s: %w", tag, ErrNoAnswer)
	case !Valid(raw):
		return nil, readError(tag, ErrSyntax)
	}
	return raw, nil
}

// Page is what a page of events and chunks says about itself.
type Page struct {
	ActionID string
	Cursor   string
	Terminal bool
}

// ReadPage reads {"action_events":…} as it arrives (wire/aip.md 4.5). Each event
// and each chunk goes to its function, in the order of the body, as bytes that
// are the function's to keep and that it has to check. An error of either ends
// the reading and is returned as it is.
func ReadPage(r io.Reader, event, chunk func(raw json.RawMessage) error) (Page, error) {
	var p Page
	var refused *Error
	found := false
	s := newScanner(r)
	each := func(fn func(json.RawMessage) error) error {
		if b, err := s.peek(); err != nil {
			return err
		} else if b != '[' { // null, or nothing that we could use
			return s.skip()
		}
		return s.array(func(int) error {
			raw, err := s.value(nil)
			if err != nil {
				return err
			}
			return own(fn(raw))
		})
	}
	err := s.tagged(func(tag string) (bool, error) {
		switch tag {
		case "error":
			var err error
			refused, err = s.protocolError()
			return true, err
		case "action_events":
			found = true
			return true, s.object(func(name string, _ []byte) error {
				switch name {
				case "events":
					return each(event)
				case "chunks":
					return each(chunk)
				case "cursor":
					return s.optional(&p.Cursor)
				case "action_id":
					return s.optional(&p.ActionID)
				case "terminal":
					return s.optional(&p.Terminal)
				}
				return s.skip()
			})
		}
		return false, nil
	})
	switch {
	case err != nil:
		return Page{}, readError("page", err)
	case refused != nil:
		return Page{}, refused
	case !found:
		return Page{}, fmt.Errorf("read page: %w", ErrNoAnswer)
	}
	return p, nil
}

// tagged walks a body and calls take for each name at the place where a tag
// stands: at the top, or inside an Envelope's body. take says whether it
// consumed the value.
func (s *scanner) tagged(take func(tag string) (bool, error)) error {
	member := func(name string, _ []byte) error {
		if taken, err := take(name); taken || err != nil {
			return err
		}
		return s.skip()
	}
	err := s.object(func(name string, key []byte) error {
		if name != "body" {
			return member(name, key)
		}
		if b, err := s.peek(); err != nil {
			return err
		} else if b != '{' {
			return s.skip()
		}
		return s.object(member)
	})
	if err != nil {
		return err
	}
	return s.end()
}

func (s *scanner) result(res *Result, event func(int, json.RawMessage) error) error {
	return s.object(func(name string, _ []byte) (err error) {
		switch name {
		case "action_id":
			err = s.optional(&res.ActionID)
		case "status":
			err = s.optional(&res.Status)
		case "output":
			res.Output, err = s.withoutEvents(nil, event)
		case "message":
			res.Message, err = s.message(res.Output)
		case "usage":
			err = s.optional(&res.Usage)
		case "receipt":
			err = s.optional(&res.Receipt)
		case "error":
			err = s.optional(&res.Error)
		default:
			err = s.skip()
		}
		return err
	})
}

// minRepeat is the length from which on a repeated text is not held again: that of
// a long turn is tens of megabytes.
const minRepeat = 64 << 10

// withoutEvents keeps an object but for its events, which it hands on, and a text
// that is said already.
func (s *scanner) withoutEvents(said []byte, event func(int, json.RawMessage) error) (json.RawMessage, error) {
	var one []byte
	return s.rewrite('{', func(out []byte, name string, key []byte) ([]byte, error) {
		b, err := s.peek()
		switch {
		case err != nil:
			return nil, err
		case name == "text":
			return s.unsaid(out, key, said)
		case name != "events" || b != '[':
			return s.value(append(append(out, key...), ':'))
		}
		return out, s.array(func(index int) error {
			if event == nil {
				return s.skip()
			}
			var err error
			if one, err = s.value(one[:0]); err != nil {
				return err
			}
			if !Valid(one) {
				return fmt.Errorf("event %d: %w", index, ErrSyntax)
			}
			return own(event(index, one))
		})
	})
}

// message keeps a list of message parts but for the events in their data, and for
// the output's text.
func (s *scanner) message(output json.RawMessage) (json.RawMessage, error) {
	said := textIn(output)
	return s.rewrite('[', func(out []byte, _ string, _ []byte) ([]byte, error) {
		part, err := s.rewrite('{', func(out []byte, name string, key []byte) ([]byte, error) {
			switch name {
			case "text":
				return s.unsaid(out, key, said)
			case "data":
				data, err := s.withoutEvents(said, nil)
				return append(append(append(out, key...), ':'), data...), err
			}
			return s.value(append(append(out, key...), ':'))
		})
		return append(out, part...), err
	})
}

// textIn is the text of an output as it was written, if it is long.
func textIn(output json.RawMessage) []byte {
	var o struct {
		Text json.RawMessage `json:"text"`
	}
	if len(output) < minRepeat || UnmarshalLast(output, &o) != nil || len(o.Text) < minRepeat {
		return nil
	}
	return o.Text
}

// unsaid appends a member, unless its value is what was said.
func (s *scanner) unsaid(out, key, said []byte) ([]byte, error) {
	none, rest, same := out, said, said != nil
	out, s.kept = append(append(out, key...), ':'), 0
	differs := func() (err error) { // from here on; before, it is what was said
		same = false
		out, err = s.keep(out, said[:len(said)-len(rest)])
		return err
	}
	err := s.walk(func(b []byte) (err error) {
		if same && bytes.HasPrefix(rest, b) {
			rest = rest[len(b):]
			return nil
		}
		if same {
			if err := differs(); err != nil {
				return err
			}
		}
		out, err = s.keep(out, b)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case same && len(rest) == 0:
		return none, nil
	case same:
		err = differs()
	}
	return out, err
}

// rewrite reads an object or an array, whichever opening says, member by member.
// member appends what is to be kept. A value of any other shape is kept whole.
func (s *scanner) rewrite(opening byte, member func(out []byte, name string, key []byte) ([]byte, error)) (json.RawMessage, error) {
	if b, err := s.peek(); err != nil {
		return nil, err
	} else if b != opening {
		raw, err := s.value(nil)
		if err == nil && !Valid(raw) {
			err = ErrSyntax
		}
		return raw, err
	}
	out := []byte{opening}
	each := func(name string, key []byte) error {
		before := len(out)
		if before > 1 {
			out = append(out, ',')
		}
		grown, err := member(out, name, key)
		if err != nil {
			return err
		}
		if out = grown; len(out) == before+1 && before > 1 { // nothing was kept
			out = out[:before]
		}
		if len(out) > MaxKept {
			return ErrTooLarge
		}
		return nil
	}
	var err error
	closing := byte('}')
	if opening == '{' {
		err = s.object(each)
	} else {
		closing = ']'
		err = s.array(func(int) error { return each("", nil) })
	}
	if err != nil {
		return nil, err
	}
	if out = append(out, closing); !Valid(out) {
		return nil, ErrSyntax
	}
	return out, nil
}

// optional reads a value that may be of another type than expected, for
// instance redacted: then it is left alone.
func (s *scanner) optional(v any) error {
	raw, err := s.value(nil)
	if err != nil {
		return err
	}
	if !Valid(raw) {
		return ErrSyntax
	}
	_ = UnmarshalLast(raw, v)
	return nil
}

// protocolError reads the body of an error: {"error":ProtocolError} or the
// ProtocolError itself (wire/aip.md 10).
func (s *scanner) protocolError() (*Error, error) {
	raw, err := s.value(nil)
	if err != nil {
		return nil, err
	}
	e := DecodeError(raw)
	if e == nil {
		return nil, fmt.Errorf("%w: an error that is not one", ErrSyntax)
	}
	return e, nil
}

// DecodeError reads a ProtocolError, bare or under any of the tags and wrappers
// in which a daemon sends one; nil when raw holds none.
func DecodeError(raw []byte) *Error {
	for range 4 {
		var e struct {
			Error
			Nested json.RawMessage `json:"error"`
			Body   json.RawMessage `json:"body"`
		}
		var mistyped *json.UnmarshalTypeError // redacted, for instance: what could be read counts
		if err := UnmarshalLast(raw, &e); err != nil && !errors.As(err, &mistyped) {
			return nil
		}
		switch {
		case e.Code != "":
			return &e.Error
		case len(e.Nested) > 0:
			raw = e.Nested
		case len(e.Body) > 0:
			raw = e.Body
		default:
			return nil
		}
	}
	return nil
}

// callbackError marks an error that came from the caller's own function.
type callbackError struct{ error }

func (c callbackError) Unwrap() error { return c.error }

func own(err error) error {
	if err == nil {
		return nil
	}
	return callbackError{err}
}

func readError(what string, err error) error {
	var mine callbackError
	if errors.As(err, &mine) {
		return mine.error
	}
	return fmt.Errorf("read %s: %w", what, err)
}
