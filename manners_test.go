package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"aipscope/follow/aipd"
)

// changingToken lets in who gives the token of the moment. A stream begins, stands still,
// and is cut when the token changes.
type changingToken struct {
	mu    sync.Mutex
	now   string
	ctx   context.Context
	leave context.CancelFunc
	first atomic.Bool // the stream that is cut has begun
}

// standing is a stream that stands still behind its first chunk, until its end.
type standing struct {
	http.ResponseWriter
	until context.Context
}

func (s *standing) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *standing) Write(p []byte) (int, error) {
	_, behind, found := bytes.Cut(p, []byte("id: chunk:"))
	if !found {
		return s.ResponseWriter.Write(p)
	}
	_, rest, _ := bytes.Cut(behind, []byte("\n\n"))
	if _, err := s.ResponseWriter.Write(p[:len(p)-len(rest)]); err != nil {
		return 0, err
	}
	if err := http.NewResponseController(s.ResponseWriter).Flush(); err != nil {
		return 0, err
	}
	<-s.until.Done()
	return 0, errors.New("the stream is cut")
}

func (c *changingToken) change(to string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leave != nil {
		c.leave()
	}
	c.now = to
	c.ctx, c.leave = context.WithCancel(context.Background())
}

func (c *changingToken) before(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		good, until := r.Header.Get("Authorization") == "Bearer "+c.now, c.ctx
		c.mu.Unlock()
		r.Header.Set("Authorization", "Bearer no-token-of-anybody")
		if good {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		if good && r.URL.Query().Get("follow") == "true" && c.first.CompareAndSwap(false, true) {
			w = &standing{w, until}
		}
		h.ServeHTTP(w, r)
	})
}

// Whoever renews a token writes its file anew while consoles watch.
func TestAWatchGoesOnWithATokenThatIsWrittenAnew(t *testing.T) {
	t.Parallel()
	var daemon changingToken
	daemon.change(token)
	p := newPlace(t, startDaemonBehind(t, aipd.Options{}, daemon.before))
	cmd := p.command("submit", "cap:hermes_agent:demo:chat_stream", "--action-id", "act_long", "--mode", "async", "--output", "json", "--input", input("chat_length"))
	rest, errOut := begun(t, cmd, 1)
	if err := os.Rename(p.write("new-token", "another-token-of-the-tests"), filepath.Join(p.dir, "token")); err != nil {
		t.Fatal(err)
	}
	daemon.change("another-token-of-the-tests")
	out, err := io.ReadAll(rest)
	if err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, cmd); code != 11 {
		t.Errorf("exit code %d\n%s", code, errOut)
	}
	if !strings.Contains(string(out), `"state":"retrying"`) {
		t.Error("the stream was not cut")
	}
	out2, _ := p.ends(11, "watch", "act_long", "--output", "json")
	if err := eachOnce(out2, 69); err != nil {
		t.Error(err)
	}
	if all := string(out) + errOut.String(); strings.Contains(all, "another-token") {
		t.Error("the token was printed")
	}
	// Without the new token it is refused, once and for all.
	daemon.change("a-third-token-of-the-tests")
	if _, msg := p.ends(17, "status", "act_long"); !strings.Contains(msg, "the daemon does not know this token") {
		t.Error(msg)
	}
}

// The limit of a file's size stands for a disk without room.
func TestPruningOnAFullDiskSaysHowMuchRoomItNeeds(t *testing.T) {
	t.Parallel()
	p := newPlace(t, startDaemon(t, aipd.Options{}))
	p.submit("act_big", "chat_large")
	p.ends(0, "watch", "act_big", "--output", "json")
	code, out, msg := outcome(t, p.limited(`ulimit -f 100`, "journal", "prune", "--older-than", "0s"))
	if code != 1 || !strings.Contains(msg, "removing needs room itself: free up to ") || !strings.Contains(msg, "aipscope journal prune goes on") {
		t.Errorf("exit code %d\n%s%s", code, out, msg)
	}
	p.sound()
	code, out, msg = outcome(t, p.limited(`ulimit -f 100`, "journal", "forget", "act_big"))
	if code != 1 || !strings.Contains(msg, "removing needs room itself") {
		t.Errorf("forget: exit code %d\n%s%s", code, out, msg)
	}
	p.ends(0, "journal", "prune", "--older-than", "0s")
	if out, _ = p.ends(0, "journal", "check"); !strings.Contains(out, "forgotten  1 action") || strings.Contains(out, "to do") {
		t.Error(out)
	}
}
