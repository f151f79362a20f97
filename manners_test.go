package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"aipscope/follow/aipd"
)

// changingToken lets in who gives the token of the moment, and ends every stream when it
// changes.
type changingToken struct {
	mu    sync.Mutex
	now   string
	ctx   context.Context
	leave context.CancelFunc
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
		ctx, leave := context.WithCancel(r.Context())
		defer leave()
		defer context.AfterFunc(until, leave)()
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Whoever renews a token writes its file anew while consoles watch.
func TestAWatchGoesOnWithATokenThatIsWrittenAnew(t *testing.T) {
	t.Parallel()
	var daemon changingToken
	daemon.change(token)
	p := newPlace(t, startDaemonBehind(t, aipd.Options{Speed: 1}, daemon.before))
	p.submit("act_long", "chat_large") // it is far from its end when the test is over
	cmd := p.command("watch", "act_long", "--output", "json")
	rest, errOut := begun(t, cmd, 3)
	if err := os.Rename(p.write("new-token", "another-token-of-the-tests"), filepath.Join(p.dir, "token")); err != nil {
		t.Fatal(err)
	}
	daemon.change("another-token-of-the-tests")
	var said strings.Builder
	for cut, news := false, 0; news < 3; {
		line, err := rest.ReadString('\n')
		if err != nil {
			t.Fatalf("the watch ended (cut: %v): %v\n%s", cut, cmd.Wait(), errOut)
		}
		said.WriteString(line)
		if cut = cut || strings.Contains(line, `"state":"retrying"`); cut && strings.Contains(line, `"type":"chunk"`) {
			news++
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(rest)
	if err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, cmd); code != 130 {
		t.Errorf("exit code %d\n%s", code, errOut)
	}
	said.Write(out)
	if got := shown(said.String()); !slices.IsSorted(got) || len(slices.Compact(got)) != len(shown(said.String())) {
		t.Errorf("it showed %v", got)
	}
	if all := said.String() + errOut.String(); strings.Contains(all, "another-token") {
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
