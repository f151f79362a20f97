package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"aipscope/follow"
	"aipscope/follow/act"
	"aipscope/follow/aipd"
	"aipscope/follow/client"
	"aipscope/follow/followtest"
	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/hermes"
	"aipscope/ui"
)

// consoleAt is where a console works, at an embedded daemon with the options.
func consoleAt(t *testing.T, opt aipd.Options) *table {
	t.Helper()
	opt.Recordings, opt.Poll = followtest.Library(t), time.Millisecond
	server := aipd.New(opt)
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	t.Cleanup(server.Close)
	a := &app{set: settings{URL: web.URL, Ephemeral: true}, getenv: func(string) string { return "" }, now: time.Now, err: io.Discard, log: slog.New(slog.DiscardHandler)}
	a.end = func(err error) { t.Error(err) }
	ctx, stop := context.WithCancel(t.Context())
	d, err := a.openDesk(ctx)
	if err != nil {
		t.Fatal(err)
	}
	at := &table{desk: d, life: ctx}
	t.Cleanup(func() {
		at.close()
		stop()
		at.sending.Wait()
		for _, c := range a.closers {
			c()
		}
	})
	return at
}

// end reads what a console is shown of an action to its end.
func end(t *testing.T, cfg ui.Config) (*model.Turn, follow.Batch) {
	t.Helper()
	turn := model.NewTurn(cfg.Action)
	for {
		b, err := cfg.Batches(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		turn.Apply(b.Rows)
		if b.Done {
			return turn, b
		}
	}
}

func TestTheConsoleSubmitsOnceAndWatches(t *testing.T) {
	var runs atomic.Int32
	at := consoleAt(t, aipd.Options{Fail: func(aipd.Request) *aip.Error { runs.Add(1); return nil }})
	id, err := client.NewActionID()
	if err != nil {
		t.Fatal(err)
	}
	req := model.Request{Capability: hermes.OpChatStream.Capability("demo"), Mode: "streaming", Input: json.RawMessage(`{"prompt":"hi","session_id":"s"}`)}
	for i := range 2 { // known already, it is watched
		// What asks for it may end at once.
		ctx, stop := context.WithCancel(t.Context())
		cfg, err := at.submitted(ctx, id, req)
		stop()
		if i == 0 && err != nil || i == 1 && !errors.Is(err, act.ErrKnown) {
			t.Fatal(err)
		}
		turn, last := end(t, cfg)
		if !turn.Settled() || last.Err != nil || turn.Request() == nil || cfg.Office == nil || cfg.Rows == nil {
			t.Errorf("%s, %v", turn.Verdict().Word, last.Err)
		}
		if cfg.Posted != nil {
			if err := cfg.Posted(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	if n := runs.Load(); n != 1 {
		t.Errorf("ran %d times", n)
	}
}

func TestAConsoleSeesThatItsSubmissionWasNotTaken(t *testing.T) {
	req := model.Request{Capability: hermes.OpChatStream.Capability("demo"), Mode: "streaming", Input: json.RawMessage(`{"prompt":"hi"}`)}
	for name, test := range map[string]struct {
		harm func(*table)
		want string
	}{
		"refused":  {func(at *table) { at.now = func() time.Time { return time.Now().Add(time.Hour) } }, "clock"},
		"not sent": {func(at *table) { at.set.URL = "http://127.0.0.1:1"; at.client = mustConnect(t, at.app) }, "nothing was sent"},
	} {
		t.Run(name, func(t *testing.T) {
			at := consoleAt(t, aipd.Options{})
			test.harm(at)
			id, err := client.NewActionID()
			if err != nil {
				t.Fatal(err)
			}
			cfg, err := at.submitted(t.Context(), id, req)
			if err != nil {
				t.Fatal(err)
			}
			if err := cfg.Posted(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
			turn, last := end(t, cfg)
			if n := len(last.Links); n == 0 || last.Links[n-1].State != follow.Refused || !strings.Contains(last.Links[n-1].Reason, test.want) || last.Err == nil {
				t.Errorf("%+v", last)
			}
			if turn.Settled() != (name == "not sent") || turn.Request() == nil {
				t.Errorf("%+v", turn.Verdict())
			}
		})
	}
}

func mustConnect(t *testing.T, a *app) *client.Client {
	t.Helper()
	c, _, err := a.connect()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAFormReadsRegularFilesOfJSONAlone(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"good.json": "{ \"a\": 1 }\n", "bad.json": "{"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if raw, err := readInputFile(filepath.Join(dir, "good.json")); string(raw) != `{"a":1}` || err != nil {
		t.Errorf("%s %v", raw, err)
	}
	for path, want := range map[string]string{"bad.json": "is no JSON", "none.json": "no such file", ".": "is no regular file"} {
		if _, err := readInputFile(filepath.Join(dir, path)); err == nil || !strings.Contains(explain(err), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
