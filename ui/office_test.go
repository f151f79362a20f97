package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aipscope/follow"
	"aipscope/follow/act"
	"aipscope/follow/aipd"
	"aipscope/follow/client"
	"aipscope/follow/followtest"
	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/hermes"
	"aipscope/model/turntest"
	"aipscope/store"
	"aipscope/themes"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/dlclark/regexp2"
)

// bench is a desk over an embedded daemon and a journal, all in memory and in one
// bubble.
type bench struct {
	*driver
	desk    *Desk
	journal *store.Journal
	client  *client.Client
	service act.Service
	posts   int // of submissions, by consoles
	ready   func(action string) error
	file    string // that a form may read
}

// atWork runs a test of a desk that shows its list. The daemon is behind service, if
// that is given.
func atWork(t *testing.T, w, h int, opt aipd.Options, service act.Service, test func(*bench)) {
	t.Helper()
	atPlainWork(t, w, h, opt, service, nil, test)
}

// atPlainWork is atWork on a plain screen that prints into heard, if that is given.
func atPlainWork(t *testing.T, w, h int, opt aipd.Options, service act.Service, heard *heard, test func(*bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		opt.Recordings = followtest.Library(t)
		server := aipd.New(opt)
		dial := followtest.Serve(t, server)
		t.Cleanup(server.Close)
		cl, err := client.New(client.Config{URL: "http://daemon", DialContext: dial})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cl.Close)
		j, err := store.OpenMemory(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { j.Close() })
		t.Cleanup(regexp2.StopTimeoutClock)
		d := &driver{t: t, msgs: make(chan tea.Msg, 64), start: time.Now(), from: time.Now()}
		b := &bench{driver: d, journal: j, client: cl, service: service}
		if service == nil {
			b.service = cl
		}
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(func() {
			cancel()
			synctest.Wait()
		})
		look := Look{Theme: themes.Auto(true)}
		var printer *Printer
		if heard != nil {
			look.PlainScreen, printer = true, NewPrinter(heard.print)
		}
		b.desk = NewDesk(ctx, DeskConfig{
			Endpoint: "http://daemon", Look: look, Printer: printer, Office: b.office(ctx),
			Clock: func() time.Time { return time.Now().UTC() },
			List:  func(context.Context) ([]Listed, error) { return nil, nil },
			Open: func(_ context.Context, which Listed) (Config, error) {
				cfg, _ := b.open(ctx, which.Action)
				return cfg, nil
			},
		})
		d.m, d.c = b.desk, b.desk.home
		d.run(b.desk.Init())
		d.send(tea.WindowSizeMsg{Width: w, Height: h})
		test(b)
	})
}

func (b *bench) source(action string) follow.Source {
	return follow.Source{URL: "http://daemon", Action: action, Route: client.Route(action), Credential: "c"}
}

func (b *bench) log(action string) *store.Log {
	l, err := b.journal.Log(context.Background(), b.source(action))
	if err != nil {
		b.t.Fatal(err)
	}
	return l
}

func (b *bench) open(ctx context.Context, action string) (Config, *follow.Watch) {
	log := b.log(action)
	w := follow.Start(ctx, follow.Config{Source: b.source(action), Log: log, Client: b.client})
	cfg := Config{
		Action: action, URL: "http://daemon", Batches: w.Next, Row: log.Row, Mask: maskAll, Look: b.desk.cfg.Look, Office: b.desk.cfg.Office,
		Rows:  func(ctx context.Context, after int64) ([]model.Row, error) { return log.Rows(ctx, after, 1000) },
		Clock: b.desk.cfg.Clock,
	}
	return cfg, w
}

func (b *bench) office(life context.Context) *Office {
	return &Office{
		Offers: func(ctx context.Context) ([]act.Offer, error) { return act.Offers(ctx, b.client) },
		At: func(endpoint string, tell func(act.Notice)) Acts {
			return &act.Caller{
				Service: b.service, Endpoint: endpoint, Now: time.Now, Source: b.source, Tell: tell, Requests: b.requests,
				Open: func(_ context.Context, action string) (act.Journal, error) { return b.log(action), nil },
			}
		},
		NewAction: client.NewActionID,
		KeyUse: func(ctx context.Context, action string, req model.Request) (string, error) {
			known, err := b.requests(ctx, req.Capability)
			for _, k := range known {
				if k.Request.IdempotencyKey == req.IdempotencyKey {
					return "the key was used by " + k.Action, err
				}
			}
			return "", err
		},
		Submit: func(ctx context.Context, action string, req model.Request) (Config, error) {
			a := act.Actor{Daemon: b.client, Log: b.log(action), Action: action, Now: time.Now}
			err := a.Prepare(ctx, req, true)
			if errors.Is(err, act.ErrKnown) {
				cfg, _ := b.open(life, action)
				return cfg, err
			}
			if err != nil {
				return Config{}, err
			}
			if b.ready != nil {
				if err := b.ready(action); err != nil {
					return Config{}, err
				}
			}
			posted := make(chan error, 1)
			b.posts++
			cfg, w := b.open(life, action)
			go func() {
				err := a.Post(life, req)
				w.Poke()
				posted <- err
			}()
			cfg.Posted = func(ctx context.Context) error {
				select {
				case err := <-posted:
					return err
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return cfg, nil
		},
		ReadFile: func(path string) ([]byte, error) {
			if path != "request.json" {
				return nil, fmt.Errorf("no file %s\x1b[2J", path)
			}
			return []byte(b.file), nil
		},
		Explain: func(err error) string {
			var f *act.Failure
			if errors.As(err, &f) {
				return err.Error() + "; " + f.Decision()
			}
			return err.Error()
		},
		Mask: maskAll,
	}
}

func (b *bench) requests(ctx context.Context, capability string) ([]act.Known, error) {
	held, err := b.journal.Actions(ctx)
	if err != nil {
		return nil, err
	}
	var known []act.Known
	for _, h := range held {
		rows, err := b.log(h.ID).Rows(ctx, 0, 1)
		if err != nil {
			return nil, err
		}
		if h.Capability == capability && len(rows) > 0 && rows[0].Request != nil {
			known = append(known, act.Known{Action: h.ID, Request: *rows[0].Request, At: h.Last})
		}
	}
	return known, nil
}

// calls counts the journal's actions by operation.
func (b *bench) calls() map[hermes.Operation]int {
	b.t.Helper()
	held, err := b.journal.Actions(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	ops := map[hermes.Operation]int{}
	for _, h := range held {
		_, op, _ := hermes.ParseCapability(h.Capability)
		ops[op]++
	}
	return ops
}

// write types a text.
func (d *driver) write(text string) {
	for _, r := range text {
		d.press(string(r))
	}
}

// seen is the screen of the console in sight, with IDs that are made up replaced.
func (b *bench) seen() string {
	b.t.Helper()
	return madeUp.ReplaceAllStringFunc(screenOf(b.t, b.m.View(), b.desk.w, b.desk.h), func(id string) string {
		return id[:4] + hexDigits.ReplaceAllString(id[4:], "0")
	})
}

var (
	madeUp    = regexp.MustCompile(`act_[0-9a-f…]+|aipscope-[0-9a-f-]+`)
	hexDigits = regexp.MustCompile(`[0-9a-f]`)
)

func (b *bench) shows(want ...string) {
	b.t.Helper()
	screen := screenOf(b.t, b.m.View(), b.desk.w, b.desk.h)
	for _, s := range want {
		if !strings.Contains(screen, s) {
			b.t.Errorf("the screen lacks %q:\n%s", s, screen)
		}
	}
}

func (b *bench) hides(unwanted ...string) {
	b.t.Helper()
	screen := screenOf(b.t, b.m.View(), b.desk.w, b.desk.h)
	for _, s := range unwanted {
		if strings.Contains(screen, s) {
			b.t.Errorf("the screen shows %q:\n%s", s, screen)
		}
	}
}

// watches submits a request as another program would, and watches it to its end.
func (b *bench) watches(op hermes.Operation, input string) string {
	b.t.Helper()
	id, err := client.NewActionID()
	if err != nil {
		b.t.Fatal(err)
	}
	mode := "sync"
	if spec, _ := op.Spec(); spec.Streams() {
		mode = "streaming"
	}
	a := act.Actor{Daemon: b.client, Log: b.log(id), Action: id, Now: time.Now}
	req := model.Request{Capability: op.Capability("demo"), Mode: mode, Input: json.RawMessage(input)}
	if err := a.Prepare(context.Background(), req, true); err != nil {
		b.t.Fatal(err)
	}
	if err := a.Post(context.Background(), req); err != nil {
		b.t.Fatal(err)
	}
	b.run(b.desk.open(Listed{Action: id, URL: "http://daemon"}))
	b.pass(10 * time.Second)
	return id
}

// canned is a daemon that answers each operation with the same output.
type canned struct {
	act.Service
	output map[hermes.Operation]string
	failed map[hermes.Operation]*aip.Error
	hold   chan struct{}                // nil answers at once
	list   func(json.RawMessage) string // of sessions_list, instead of an output
	asked  []string
}

func (s *canned) Submit(ctx context.Context, e client.Envelope, _ func(int, json.RawMessage) error) (aip.Answer, error) {
	_, op, _ := hermes.ParseCapability(e.Action.CapabilityID)
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return aip.Answer{}, ctx.Err()
		}
	}
	if f := s.failed[op]; f != nil {
		return aip.Answer{Result: &aip.Result{ActionID: e.Action.ID, Status: aip.ResultFailed, Error: f}}, nil
	}
	s.asked = append(s.asked, string(e.Action.Input))
	output := s.output[op]
	if s.list != nil {
		output = s.list(e.Action.Input)
	}
	return aip.Answer{Result: &aip.Result{ActionID: e.Action.ID, Status: aip.ResultCompleted, Output: json.RawMessage(output)}}, nil
}

func (s *canned) Reload() (bool, error) { return false, nil }

// bothSizes are those of the golden screens; the small one while the race detector
// runs.
func bothSizes() [][2]int {
	if turntest.Racing {
		return [][2]int{{80, 24}}
	}
	return [][2]int{{80, 24}, {120, 40}}
}
