package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"aipscope/follow"
	"aipscope/follow/act"
	"aipscope/follow/client"
	"aipscope/model"
	"aipscope/model/mask"
	"aipscope/ui"

	"github.com/adrg/xdg"
)

// office is what the console may do at the daemon beside watching, or nil where
// there is no daemon or no journal.
func (t *table) office() *ui.Office {
	if t.client == nil || t.journal == nil {
		return nil
	}
	masker := mask.New("")
	return &ui.Office{
		Offers: func(ctx context.Context) ([]act.Offer, error) { return act.Offers(ctx, t.client) },
		At: func(endpoint string, tell func(act.Notice)) ui.Acts {
			c := t.caller(endpoint)
			c.Tell = tell // and not to standard error, which is the screen
			return c
		},
		NewAction: client.NewActionID,
		KeyUse:    t.keyUse,
		Submit:    t.submitted,
		ReadFile:  readInputFile,
		Explain:   explain,
		Mask:      func(raw json.RawMessage) json.RawMessage { return masker.JSON(raw) },
	}
}

// readInputFile reads the input that a form names.
func readInputFile(path string) ([]byte, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(xdg.Home, rest)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fileError{err}
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, fileError{fmt.Errorf("%s is no regular file", path)}
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxInput))
	if err != nil {
		return nil, fileError{err}
	}
	return compactInput(raw, path)
}

// sending is a submission on its way.
type sending struct {
	ctx  context.Context
	done chan struct{} // closed when err is there
	err  error
}

// wait returns how the daemon took the submission.
func (s *sending) wait(ctx context.Context) error {
	select {
	case <-s.done:
		if s.err != nil {
			return inWords{s.err}
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// inWords is an error that says itself in the user's words.
type inWords struct{ error }

func (e inWords) Error() string { return explain(e.error) }
func (e inWords) Unwrap() error { return e.error }

// watch is what is seen of the action: its watch, until the submission is refused,
// after which there is nothing to watch but what the journal held before. A refusal
// that the journal holds ends the watch by itself.
func (s *sending) watch(a *app, w *follow.Watch) func(context.Context) (follow.Batch, error) {
	refused, begun := make(chan struct{}), make(chan struct{})
	var begin sync.Once
	a.spawn(func() {
		select {
		case <-s.done:
		case <-s.ctx.Done():
			return
		}
		if s.err == nil || act.TurnedAway(s.err) {
			w.Poke() // the answer may tell more than the stream does
			return
		}
		select {
		case <-begun:
		case <-s.ctx.Done():
			return
		}
		close(refused)
		w.Close()
	})
	tell := func(b *follow.Batch) {
		b.Links = append(b.Links, follow.Link{State: follow.Refused, Reason: explain(s.err)})
		b.Err = s.err
	}
	away := false // the journal says that the submission was refused
	return func(ctx context.Context) (follow.Batch, error) {
		b, err := w.Next(ctx)
		if len(b.Rows) > 0 || b.Done {
			begin.Do(func() { close(begun) })
		}
		away = away || slices.ContainsFunc(b.Rows, func(r model.Row) bool { return r.Settled != nil && r.Settled.Code != "" })
		switch {
		case b.Done && away && b.Err == nil:
			select {
			case <-s.done: // soon: the row was its last work
			case <-ctx.Done():
				return b, ctx.Err()
			}
			if s.err != nil {
				tell(&b)
			}
			return b, err
		case !b.Done || b.Err == nil:
			return b, err
		}
		select {
		case <-refused:
			tell(&b)
		default:
		}
		return b, err
	}
}

// submitted journals a checked request, begins to watch it, and sends it once. An
// action that is known already is watched only: that is act.ErrKnown.
func (t *table) submitted(ctx context.Context, action string, req model.Request) (ui.Config, error) {
	which := ui.Listed{Action: action, URL: t.client.URL(), Capability: req.Capability}
	holding, release := context.WithCancel(ctx)
	defer release() // the watch holds it by then
	log, err := t.hold(holding, action)
	if err != nil {
		return ui.Config{}, err
	}
	actor := t.actor(log, action)
	switch err := actor.Prepare(ctx, req, true); {
	case errors.Is(err, act.ErrKnown):
		cfg, err := t.open(t.life, which)
		if err != nil {
			return ui.Config{}, err
		}
		return cfg, act.ErrKnown
	case err != nil:
		return ui.Config{}, fmt.Errorf("submit %s: %w", action, err)
	}
	t.app.log.Info("submit", "action", action, "capability", req.Capability, "key", req.IdempotencyKey, "mode", req.Mode)
	// It is sent and watched for as long as the console lives, whatever becomes of the
	// form.
	s := &sending{ctx: t.life, done: make(chan struct{})}
	cfg, err := t.follow(t.life, which, s)
	if err != nil {
		return ui.Config{}, err
	}
	t.sending.Add(1)
	t.spawn(func() {
		defer t.sending.Done()
		defer close(s.done)
		s.err = actor.Post(t.life, req)
	})
	return cfg, nil
}
