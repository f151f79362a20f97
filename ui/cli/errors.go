package cli

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"aipscope/follow/act"
	"aipscope/follow/client"
	"aipscope/follow/replay"
	"aipscope/model/safe"
	"aipscope/store"
)

// fileError is of a file that was named, and not of the journal.
type fileError struct{ error }

func (e fileError) Unwrap() error { return e.error }

// explain puts an error into the user's words: what happened, to which thing,
// what to do. This is the one place that does.
func explain(err error) string {
	what, do := explained(err)
	if do == "" {
		return oneLine(what)
	}
	return oneLine(andThen(what, do))
}

// explained is what happened, and what to do about it, or "".
func explained(err error) (what, do string) {
	what = err.Error()
	var refused *client.Error
	var failed *act.Failure
	var dial *net.OpError
	var dns *net.DNSError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var room *store.RoomError
	var file fileError
	switch {
	case errors.As(err, &file) && !errors.Is(err, context.Canceled):
	case stackOf(err) != nil:
		what = (&fault{}).Error()
	case errors.As(err, &failed):
		do = failed.Decision()
	case errors.As(err, &refused):
		do = advise(refused)
	case errors.As(err, &dns):
		what, do = fmt.Sprintf("the daemon's host %q cannot be found", dns.Name), "check --url"
	case errors.As(err, &authority):
		do = "name the authority that the daemon's certificate is from with --ca-file"
	case errors.As(err, &host):
		do = "the certificate is another host's; check --url"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		do = "the daemon's owner must renew its certificate, or this machine's clock is wrong"
	case errors.Is(err, http.ErrSchemeMismatch):
		do = "it speaks plain HTTP; if that is meant, write http:// in --url"
	case errors.As(err, &dial) && dial.Op == "dial":
		what, do = fmt.Sprintf("no daemon answers at %v (%v)", dial.Addr, dial.Err), "check --url, or start one: aipscope serve"
		if errors.Is(err, act.ErrNotSent) {
			do += "; nothing was sent"
		}
	case errors.As(err, &room):
		do = fmt.Sprintf("removing needs room itself: free up to %.1f MB there, then aipscope journal prune goes on", float64(room.Bytes)/1e6)
	case errors.Is(err, store.ErrPermission):
		do = "choose another place with --journal, or run with --ephemeral"
	case errors.Is(err, store.ErrNotDirectory), errors.Is(err, store.ErrNotJournal), errors.Is(err, store.ErrUnsafe):
		do = "choose another place with --journal"
	case errors.Is(err, store.ErrNewer):
		do = "use that version, or another place with --journal"
	case errors.Is(err, store.ErrDamaged):
		do = "keep the file for examination and use another place with --journal"
	case errors.Is(err, store.ErrLocked):
		do = "end the process that does, or use another place with --journal"
	case errors.Is(err, store.ErrUnwiped):
		do = "aipscope journal prune finishes it"
	case errors.Is(err, store.ErrFull):
		do = "free some space and start again, what was shown is kept"
	case errors.Is(err, store.ErrDisk):
		do = "what was shown is kept, start again where there is room, or use another place with --journal"
	case errors.Is(err, store.ErrInUse):
		do = "leave it there first"
	case errors.Is(err, store.ErrNoAction):
		do = "aipscope actions lists those that it knows"
	case errors.Is(err, replay.ErrUnknown):
		do = "aipscope demo --list names them all"
	case errors.Is(err, context.Canceled):
		what = "interrupted"
	}
	return what, do
}

// advise says what to do about a daemon's refusal.
func advise(e *client.Error) string {
	switch e.Kind() {
	case client.WrongCredential:
		return "the daemon does not know this token; check --token-file"
	case client.NotAllowed:
		if e.Code == "auth.identity_resolution_failed" {
			return "the daemon's owner must set its trusted identities first"
		}
		if e.Category == "policy" {
			return "the daemon's policy does not allow it; its owner decides"
		}
		return "the token is known, but may not do this; ask the daemon's owner for the scope: action:read to read and watch, action:write to cancel"
	case client.BadRequest:
		if e.Code == "replay.message_id" {
			return "this machine's clock and the daemon's differ too much, or a message was sent twice"
		}
		if e.HTTPStatus == http.StatusRequestEntityTooLarge {
			return "it is larger than the daemon takes; reduce input and history"
		}
		return "the same request will be refused again"
	case client.NotFound:
		return "the daemon does not know what was named"
	case client.Unexpected:
		return "this may not be a daemon's address; check --url"
	}
	return "try again later"
}

// andThen puts what to do behind what happened.
func andThen(what, do string) string {
	if strings.HasSuffix(what, "?") {
		return what + " " + do
	}
	return what + "; " + do
}

// oneLine keeps an error one line, whatever outside text stands in it.
func oneLine(s string) string {
	return safe.Line(strings.Join(strings.Fields(s), " "))
}

// exitOfError is the exit code of a command that failed.
func exitOfError(ctx context.Context, err error) int {
	var u usageError
	var check *act.CheckError
	var failed *act.Failure
	switch {
	case stackOf(err) != nil:
		return exitFailed
	case errors.As(err, &u), errors.As(err, &check):
		return exitUsage
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &failed):
		return exitOfFailure(failed)
	}
	var refused *client.Error
	if errors.As(err, &refused) {
		switch refused.Kind() {
		case client.WrongCredential, client.NotAllowed:
			return exitRefused
		case client.BadRequest, client.NotFound:
			return exitUsage
		}
	}
	return exitFailed
}
