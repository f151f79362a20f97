package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"aipscope/follow"
	"aipscope/follow/act"
	"aipscope/follow/client"
	"aipscope/store"
)

// desk is one action's place: a daemon, and the action's journal.
type desk struct {
	*app
	client  *client.Client
	journal *store.Journal
	tag     string // of the credentials, for cursors
	refused bool   // what was watched last ended by the refusal of its submission
}

var errNoURL = usage(errors.New("which daemon? give --url, or set AIP_URL"))

// connect checks what is needed to call the daemon, before anything is opened
// or written, and calls nobody.
func (a *app) connect() (*client.Client, []byte, error) {
	if a.set.URL == "" {
		return nil, nil, errNoURL
	}
	cfg := client.Config{URL: a.set.URL, CAFile: a.set.CAFile, Insecure: a.set.InsecureHTTP, UserAgent: userAgent()}
	var secret []byte
	if a.set.TokenFile != "" {
		var err error
		if secret, err = client.ReadTokenFile(a.set.TokenFile); err != nil {
			return nil, nil, usage(err)
		}
		cfg.Token = client.TokenFile(a.set.TokenFile)
	}
	c, err := client.New(cfg)
	if err != nil {
		return nil, nil, usage(err)
	}
	a.closers = append(a.closers, func() error { c.Close(); return nil })
	return c, secret, nil
}

func (a *app) openJournal(ctx context.Context) (*store.Journal, error) {
	open := func() (*store.Journal, error) { return store.Open(ctx, a.set.Journal) }
	if a.set.Ephemeral {
		open = func() (*store.Journal, error) { return store.OpenMemory(ctx) }
	}
	j, err := open()
	if err != nil {
		return nil, err
	}
	a.closers = append(a.closers, j.Close)
	return j, nil
}

// openDesk connects, and opens the journal.
func (a *app) openDesk(ctx context.Context) (*desk, error) {
	c, secret, err := a.connect()
	if err != nil {
		return nil, err
	}
	j, err := a.openJournal(ctx)
	if err != nil {
		return nil, err
	}
	return &desk{app: a, client: c, journal: j, tag: j.Tag(secret)}, nil
}

// source names an action at the desk's daemon.
func (d *desk) source(action string) follow.Source {
	return follow.Source{URL: d.client.URL(), Action: action, Route: client.Route(action), Credential: d.tag}
}

func (d *desk) actionLog(ctx context.Context, action string) (*store.Log, error) {
	log, err := d.journal.Log(ctx, d.source(action))
	if err != nil {
		return nil, err
	}
	return log, nil
}

// hold is the action's journal, which nobody may remove before ctx ends.
func (d *desk) hold(ctx context.Context, action string) (*store.Log, error) {
	log, err := d.actionLog(ctx, action)
	if err != nil {
		return nil, err
	}
	release, err := log.Hold()
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, release)
	return log, nil
}

func (d *desk) actor(log act.Recorder, action string) act.Actor {
	return act.Actor{Daemon: d.client, Log: log, Action: action, Now: d.now}
}

// actionArg is the action that a command reads: its argument, else
// AIP_ACTION_ID.
func (a *app) actionArg(args []string) (string, error) {
	id := a.getenv("AIP_ACTION_ID")
	if len(args) > 0 {
		id = args[0]
	}
	if id == "" {
		return "", usage(errors.New("which action? name it, or set AIP_ACTION_ID"))
	}
	return id, checkActionID(id)
}

// checkActionID refuses IDs that no route of a daemon reaches (wire/aip.md 11).
func checkActionID(id string) error {
	if rest, ok := strings.CutPrefix(id, "act_"); !ok || rest == "" {
		return usage(fmt.Errorf("%q is no action ID: those begin with act_", id))
	}
	return nil
}
