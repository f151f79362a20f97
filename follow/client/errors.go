package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"aipscope/model/aip"
)

// Kind is what an error means for whoever thinks of asking again.
type Kind int

const (
	Temporary       Kind = iota // may go away by itself
	WrongCredential             // the daemon does not know the token
	NotAllowed                  // it knows the token, which may not do this; for AIP also a 401
	BadRequest                  // the same request will be refused again
	CursorLost                  // the cursor is not known, or no longer
	NoResult                    // the action has no result, or not yet
	NotFound                    // the daemon does not know the object, or not yet
	Unexpected                  // not an AIP answer: a proxy's page, a redirect
)

// Error is a daemon's refusal, in any of the shapes that it comes in
// (wire/aip.md 1.1, 10). Message and Details are from outside: they are data,
// and no decision rests on them.
type Error struct {
	HTTPStatus  int    // 200 if it came inside an answer, 0 if inside a stream
	ContentType string // media type of the answer, or ""
	Code        string // "" if the answer was not AIP's
	Category    string
	Retryable   bool
	RetryAfter  time.Duration // how long to wait, 0 if not said
	Message     string
	Details     json.RawMessage
	Source      json.RawMessage
}

// Error names the code and the status. It is safe to show, and says nothing
// that came from outside but those.
func (e *Error) Error() string {
	switch {
	case e.Code != "" && e.HTTPStatus >= 300:
		return fmt.Sprintf("the daemon answered %s (HTTP %d)", SafeCode(e.Code), e.HTTPStatus)
	case e.Code != "":
		return "the daemon answered " + SafeCode(e.Code)
	case e.HTTPStatus >= 300 && e.HTTPStatus < 400:
		return fmt.Sprintf("the answer is a redirect (HTTP %d), which is not followed", e.HTTPStatus)
	case e.HTTPStatus == http.StatusOK:
		return "the answer has the content type " + safeType(e.ContentType)
	case e.HTTPStatus == 0:
		return "the daemon sent an error that cannot be read"
	}
	return fmt.Sprintf("the answer is HTTP %d without an AIP error (%s)", e.HTTPStatus, safeType(e.ContentType))
}

// Word is the error's code, or its HTTP status as a word where it has none.
func (e *Error) Word() string {
	if e.Code != "" {
		return SafeCode(e.Code)
	}
	return fmt.Sprintf("http.%d", e.HTTPStatus)
}

// Kind says what the error means. It rests on code, category and status alone.
func (e *Error) Kind() Kind {
	switch e.Code {
	case "auth.native_http_unauthorized":
		return WrongCredential
	case "replay.message_id": // a clock that is off, or an ID used twice; category auth all the same
		return BadRequest
	case "stream.cursor_expired", "query.invalid_cursor":
		return CursorLost
	case "action.result_not_ready", "action.dead_lettered", "action.gone":
		return NoResult
	case "action.not_found", "resource.not_found":
		return NotFound
	case "":
		return e.statusKind()
	}
	switch e.Category {
	case "auth", "policy":
		return NotAllowed
	case "permanent", "economic":
		return BadRequest
	case "temporary", "transport", "connector":
		return Temporary
	}
	if e.HTTPStatus == 0 {
		return Temporary
	}
	return e.statusKind()
}

func (e *Error) statusKind() Kind {
	switch s := e.HTTPStatus; s {
	case http.StatusUnauthorized:
		return WrongCredential
	case 0, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return Temporary
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return BadRequest
	default:
		if s >= 500 {
			return Temporary
		}
		return Unexpected
	}
}

// KindOf returns the kind of an *Error inside err, and Temporary for anything else.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind()
	}
	return Temporary
}

// AIP returns the error as AIP writes it.
func (e *Error) AIP() *aip.Error {
	return &aip.Error{
		Code: e.Code, Message: e.Message, Category: e.Category, Retryable: e.Retryable,
		RetryAfterMS: e.RetryAfter.Milliseconds(), Details: e.Details, Source: e.Source,
	}
}

// FromAIP makes an Error of a protocol error that came inside an answer of
// HTTP status 200, or inside a stream (status 0).
func FromAIP(p *aip.Error, status int) *Error {
	return &Error{
		HTTPStatus: status, Code: p.Code, Category: p.Category, Retryable: p.Retryable,
		RetryAfter: max(0, time.Duration(min(p.RetryAfterMS, maxRetryAfter.Milliseconds()))*time.Millisecond),
		Message:    p.Message, Details: p.Details, Source: p.Source,
	}
}

// maxRetryAfter bounds what a daemon may ask for.
const maxRetryAfter = 24 * time.Hour

// refusal reads the error that a response of another status than 200 carries.
// One that breaks off tells nothing, and is a broken connection.
func refusal(resp *http.Response) error {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if err != nil {
		return fmt.Errorf("read the refusal (HTTP %d): %w", resp.StatusCode, err)
	}
	e := &Error{HTTPStatus: resp.StatusCode}
	media := mediaType(resp)
	if p := aip.DecodeError(raw); p != nil {
		e = FromAIP(p, resp.StatusCode)
	} else if media == "application/json" && brokenOff(raw) {
		return fmt.Errorf("read the refusal (HTTP %d): %w", resp.StatusCode, io.ErrUnexpectedEOF)
	} else {
		e.Message = strings.TrimSpace(string(raw))
	}
	e.ContentType = media
	if e.RetryAfter == 0 {
		e.RetryAfter = retryAfter(resp.Header.Get("Retry-After"), resp.Header.Get("Date"))
	}
	return e
}

// brokenOff reports whether JSON ends before it is whole: who cut it may have
// ended the answer in good order.
func brokenOff(raw []byte) bool {
	err := json.NewDecoder(bytes.NewReader(raw)).Decode(new(json.RawMessage))
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// retryAfter reads a Retry-After header: seconds, or a date, which is measured
// against the daemon's own clock.
func retryAfter(value, date string) time.Duration {
	if s, err := strconv.Atoi(strings.TrimSpace(value)); err == nil {
		return min(max(0, time.Duration(min(s, int(maxRetryAfter/time.Second)))*time.Second), maxRetryAfter)
	}
	until, err := http.ParseTime(value)
	now, err2 := http.ParseTime(date)
	if err != nil || err2 != nil {
		return 0
	}
	return min(max(0, until.Sub(now)), maxRetryAfter)
}

func mediaType(resp *http.Response) string {
	t, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) { // the type itself could be read then
		return ""
	}
	return t
}

// SafeCode returns a code that may be shown as it is: a code is a short word,
// and what is none is not shown.
func SafeCode(code string) string {
	odd := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._:-", r))
	}
	if code == "" || len(code) > 128 || strings.ContainsFunc(code, odd) {
		return "an unreadable code"
	}
	return code
}

func safeType(t string) string {
	if t == "" {
		return "none"
	}
	if len(t) > 80 {
		t = t[:80]
	}
	return strconv.QuoteToASCII(t)
}
