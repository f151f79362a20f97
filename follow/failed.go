package follow

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"aipscope/follow/client"
	"aipscope/model"
	"aipscope/model/aip"
)

// failed decides what an error means for the link: again, after a wait, or
// never. Only the journal's errors and our own faults end the watch as they are.
func (f *follower) failed(ctx context.Context, err error, again step) step {
	var dead fatal
	var refused *client.Error
	var token *client.TokenError
	var large *TooLargeError
	switch {
	case ctx.Err() != nil, errors.As(err, &dead):
		return f.finish(err)
	case errors.Is(err, errSettled):
		return f.finish(nil)
	case errors.Is(err, client.ErrInsecure):
		return f.refuse(client.ErrInsecure.Error(), err)
	case errors.As(err, &token):
		return f.refuse(token.Error(), err)
	case errors.As(err, &large):
		return f.refuse(large.Error(), err)
	case errors.Is(err, aip.ErrTooLarge):
		return f.refuse("the daemon's answer holds a value that is too large", err)
	case errors.As(err, &refused):
		return f.answered(ctx, refused, err, again)
	}
	f.wrong = 0
	return f.retry(ctx, words(err), 0, again)
}

// answered decides what the daemon's own refusal means.
func (f *follower) answered(ctx context.Context, e *client.Error, err error, again step) step {
	if e.Code != "" && e.Code != f.lastCode {
		f.lastCode = e.Code
		if err := f.add(ctx, model.RowError, e.AIP()); err != nil {
			return f.failed(ctx, err, again)
		}
	}
	kind := e.Kind()
	if kind != client.Unexpected {
		f.wrong = 0
	}
	switch kind {
	case client.WrongCredential:
		changed := false
		if !f.reloaded {
			f.reloaded = true
			var failed error
			if changed, failed = f.cfg.Client.Reload(); failed != nil {
				return f.failed(ctx, failed, again)
			}
		}
		if !changed {
			return f.refuse("the daemon does not accept the token: "+e.Error(), err)
		}
		// A cursor holds for the credential that it was issued under, and so
		// does the one that the journal keeps.
		f.cursor, f.keepCursor = "", false
		return again
	case client.NotAllowed:
		return f.refuse("the token does not allow this: "+e.Error(), err)
	case client.BadRequest:
		return f.refuse("the daemon refuses the request: "+e.Error(), err)
	case client.CursorLost:
		if f.cursor == "" {
			break
		}
		if err := f.cfg.Log.DropCursor(ctx); err != nil {
			return f.failed(ctx, journalError(err), again)
		}
		f.cursor, f.lost = "", true
		if f.state == Draining {
			f.losses++
		}
		return f.retry(ctx, fmt.Sprintf("the cursor is no longer known (%s): reading from the start", client.SafeCode(e.Code)), 0, again)
	case client.Unexpected:
		if f.wrong++; f.wrong >= maxWrong {
			return f.refuse(fmt.Sprintf("%s, %d times in a row", e.Error(), f.wrong), err)
		}
	}
	return f.retry(ctx, e.Error(), e.RetryAfter, again)
}

// words says what went wrong with a connection. The error's own text may hold
// what a stranger wrote, a certificate's names for instance, so its type decides.
func words(err error) string {
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	var timeout net.Error
	switch {
	case errors.Is(err, errCut), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection was cut"
	case errors.Is(err, client.ErrSilent):
		return client.ErrSilent.Error()
	case errors.Is(err, client.ErrNoAnswerInTime):
		return client.ErrNoAnswerInTime.Error()
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case errors.As(err, &dns):
		return "the daemon's name does not resolve"
	case errors.As(err, &cert):
		return "the daemon's certificate is not trusted"
	case errors.Is(err, aip.ErrSyntax), errors.Is(err, aip.ErrNoAnswer):
		return "the daemon's answer cannot be read"
	case errors.Is(err, client.ErrAnswerTooLarge):
		return client.ErrAnswerTooLarge.Error()
	case errors.As(err, &timeout) && timeout.Timeout():
		return "the connection timed out"
	}
	return "the connection failed"
}
