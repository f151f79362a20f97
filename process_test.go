package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"aipscope/follow/aipd"
	"aipscope/model/turntest"
)

// place is where a test runs aipscope: a daemon, and directories of its own.
type place struct {
	t   *testing.T
	dir string
	url string
	exe string
}

func newPlace(t *testing.T, url string) *place {
	t.Helper()
	p := &place{t: t, dir: t.TempDir(), url: url}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p.exe = filepath.Join(p.dir, "aipscope")
	if err := os.Symlink(exe, p.exe); err != nil { // testscript's programs go by their name
		t.Fatal(err)
	}
	p.write("token", token)
	for _, dir := range []string{"home", "tmp"} {
		if err := os.Mkdir(filepath.Join(p.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *place) write(name, text string) string {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// args are a command line at the place's daemon and journal.
func (p *place) args(args ...string) []string {
	return append(args, "--url", p.url, "--token-file", filepath.Join(p.dir, "token"), "--journal", p.journal())
}

func (p *place) journal() string { return filepath.Join(p.dir, "journal") }

// run is a process in the place's environment.
func (p *place) run(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), name, args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "TERM=xterm-256color", "TMPDIR="+filepath.Join(p.dir, "tmp"))
	for _, dir := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		cmd.Env = append(cmd.Env, dir+"="+filepath.Join(p.dir, "home"))
	}
	return cmd
}

func (p *place) command(args ...string) *exec.Cmd { return p.run(p.exe, p.args(args...)...) }

// limited is a command under a shell's words.
func (p *place) limited(words string, args ...string) *exec.Cmd {
	return p.run("sh", append([]string{"-c", words + `; exec "$0" "$@"`, p.exe}, p.args(args...)...)...)
}

// outcome runs a command to its end.
func outcome(t *testing.T, cmd *exec.Cmd) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Run(); err != nil {
		exit := new(exec.ExitError)
		if !asExit(err, &exit) {
			t.Fatal(err)
		}
		code = exit.ExitCode()
	}
	return code, o.String(), e.String()
}

// ends runs a command and fails unless it ends with the code.
func (p *place) ends(want int, args ...string) (out, errOut string) {
	p.t.Helper()
	code, out, errOut := outcome(p.t, p.command(args...))
	if code != want {
		p.t.Fatalf("%s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, want, out, errOut)
	}
	return out, errOut
}

// submit starts a recorded turn, detached.
func (p *place) submit(action, recording string) {
	p.t.Helper()
	p.ends(0, "submit", "cap:hermes_agent:demo:chat_stream", "--action-id", action, "--detach", "--input", input(recording))
}

func input(recording string) string {
	return fmt.Sprintf(`{"prompt":"a private prompt","session_id":"s","recording":%q,"max_events":100000}`, recording)
}

// shown are the chunks of JSON lines, in the order of the lines. A last line
// that was cut off counts for nothing.
func shown(text string) (sequences []int) {
	for line := range strings.Lines(text) {
		var v struct {
			Type     string
			Sequence int
		}
		if json.Unmarshal([]byte(line), &v) == nil && v.Type == "chunk" && strings.HasSuffix(line, "\n") {
			sequences = append(sequences, v.Sequence)
		}
	}
	return sequences
}

// sound fails unless the journal is.
func (p *place) sound() {
	p.t.Helper()
	p.ends(0, "journal", "check")
}

// killed runs a command and kills it after a time. It returns what the command
// had written by then.
func killed(t *testing.T, cmd *exec.Cmd, after time.Duration) string {
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return ""
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) // it may have ended by itself
	_ = cmd.Wait()
	timer.Stop()
	return out.String()
}

// Two consoles on one journal are killed again and again, wherever they are:
// what any of them showed is in the history, once.
func TestKilledAtAnyMomentNothingShownIsLost(t *testing.T) {
	t.Parallel()
	random := turntest.Rand(t)
	p := newPlace(t, startDaemon(t, aipd.Options{Speed: 4}))
	p.submit("act_killed", "chat_length")
	seen := map[int]bool{}
	var mu sync.Mutex
	for range 6 {
		var consoles sync.WaitGroup
		for range 2 {
			after := time.Duration(random.IntN(400)) * time.Millisecond
			consoles.Go(func() {
				got := shown(killed(t, p.command("watch", "act_killed", "--output", "json"), after))
				if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
					t.Errorf("a run showed %v", got)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, n := range got {
					seen[n] = true
				}
			})
		}
		consoles.Wait()
		p.sound()
	}
	t.Logf("%d chunks were shown before the kills", len(seen))
	out, _ := p.ends(11, "watch", "act_killed", "--output", "json")
	if err := eachOnce(out, 69); err != nil {
		t.Fatal(err)
	}
	all, err := jsonLines(out)
	if err != nil {
		t.Fatal(err)
	}
	if v := all[len(all)-1]; v["verdict"] != "partial" || v["chunks"] != 69.0 {
		t.Errorf("verdict line: %v", v)
	}
	if most := slices.Max(append(slices.Collect(maps.Keys(seen)), 0)); most > 68 {
		t.Errorf("chunk %d was shown", most)
	}
	p.sound()
}

// A submission that is killed wherever it is, and made again under its ID, has
// reached the daemon once at most.
func TestASubmissionThatIsKilledIsNeverSentTwice(t *testing.T) {
	t.Parallel()
	random := turntest.Rand(t)
	var mu sync.Mutex
	posts := map[string]int{}
	count := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				b, err := io.ReadAll(r.Body)
				if err != nil {
					return // the client was killed in mid-request
				}
				r.Body = io.NopCloser(bytes.NewReader(b))
				mu.Lock()
				for id := range posts {
					if bytes.Contains(b, []byte(`"`+id+`"`)) {
						posts[id]++
					}
				}
				mu.Unlock()
			}
			h.ServeHTTP(w, r)
		})
	}
	p := newPlace(t, startDaemonBehind(t, aipd.Options{Speed: 20}, count))
	for n := range 8 {
		id := fmt.Sprintf("act_%d", n)
		mu.Lock()
		posts[id] = 0
		mu.Unlock()
		args := []string{"submit", "cap:hermes_agent:demo:chat_stream", "--action-id", id, "--output", "json", "--input", input("chat_ok")}
		before := shown(killed(t, p.command(args...), time.Duration(20+random.IntN(180))*time.Millisecond))
		mu.Lock()
		sent := posts[id]
		mu.Unlock()
		if sent == 0 { // else it ends by itself
			args = append(args, "--timeout", "1s")
		}
		code, out, errOut := outcome(t, p.command(args...))
		late := sent == 0
		mu.Lock()
		sent = posts[id]
		mu.Unlock()
		switch {
		case sent > 1:
			t.Errorf("%s was sent %d times", id, sent)
		case sent == 0 && code != 124:
			t.Errorf("%s was claimed and not sent; exit code %d\n%s", id, code, errOut)
		case late && sent == 1 && code == 124: // what was killed arrived when the next had looked
		case sent == 1 && code != 0:
			t.Errorf("%s was sent; exit code %d\n%s%s", id, code, out, errOut)
		case sent == 1:
			if err := eachOnce(out, 14); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
		t.Logf("%s: sent %d times, %d chunks shown before the kill, exit code %d", id, sent, len(before), code)
	}
	p.sound()
}

// begun starts a watch of a slow turn, and returns when it has printed chunks.
func begun(t *testing.T, cmd *exec.Cmd, lines int) (rest *bufio.Reader, errOut *bytes.Buffer) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errOut = &bytes.Buffer{}
	cmd.Stderr = errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	rest = bufio.NewReader(out)
	for lines > 0 {
		line, err := rest.ReadString('\n')
		if err != nil {
			t.Fatalf("it ended: %v\n%s", cmd.Wait(), errOut)
		}
		if strings.Contains(line, `"type":"chunk"`) {
			lines--
		}
	}
	return rest, errOut
}

func exitCode(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	err := cmd.Wait()
	exit := new(exec.ExitError)
	if err != nil && !asExit(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

func TestASignalEndsAWatchInOrder(t *testing.T) {
	t.Parallel()
	p := newPlace(t, startDaemon(t, aipd.Options{Speed: 1}))
	p.submit("act_slow", "chat_large")
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		cmd := p.command("watch", "act_slow", "--output", "json")
		rest, errOut := begun(t, cmd, 3)
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(rest)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(b)), "\n")
		if last := lines[len(lines)-1]; !strings.Contains(last, `"verdict":"pending"`) {
			t.Errorf("%v: the last line is %s", signal, last)
		}
		if code := exitCode(t, cmd); code != 130 {
			t.Errorf("%v: exit code %d\n%s", signal, code, errOut)
		}
		p.sound()
	}
	// nohup's way: the signal stays ignored.
	cmd := p.limited(`trap "" HUP`, "watch", "act_slow", "--output", "json")
	rest, _ := begun(t, cmd, 1)
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if _, err := rest.ReadString('\n'); err != nil {
			t.Fatalf("the watch ended: %v", cmd.Wait())
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, rest)
	if code := exitCode(t, cmd); code != 130 {
		t.Errorf("exit code %d", code)
	}
}

func TestAReaderThatLeavesEndsAWatchQuietly(t *testing.T) {
	t.Parallel()
	p := newPlace(t, startDaemon(t, aipd.Options{Speed: 1}))
	p.submit("act_slow", "chat_large")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := p.command("watch", "act_slow", "--output", "json")
	var errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := io.ReadFull(r, make([]byte, 2000)); err != nil {
		t.Fatal(err)
	}
	r.Close()
	if code := exitCode(t, cmd); code != 130 || errOut.Len() > 0 {
		t.Errorf("exit code %d\n%s", code, &errOut)
	}
	p.sound()

	// A standard output that was closed from the start must not become the journal's file.
	code, _, msg := outcome(t, p.limited(`exec >&-`, "watch", "act_slow", "--output", "json", "--timeout", "1s"))
	if code != 124 {
		t.Errorf("exit code %d\n%s", code, msg)
	}
	p.sound()
	if full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0); err == nil {
		defer full.Close()
		cmd := p.command("watch", "act_slow", "--output", "json")
		var msg bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &msg
		if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(msg.String(), "no space left") {
			t.Errorf("on a full disk: %v\n%s", err, &msg)
		}
		p.sound()
	}
}

// The limit of a file's size stands for a disk without room: it works for
// everybody, everywhere.
func TestAWatchOnAFullDiskSaysSoAndGoesOnLater(t *testing.T) {
	t.Parallel()
	p := newPlace(t, startDaemon(t, aipd.Options{}))
	p.submit("act_big", "chat_large")
	code, out, msg := outcome(t, p.limited(`ulimit -f 6000`, "watch", "act_big", "--output", "json"))
	if code != 1 || !strings.Contains(msg, "journal") || !strings.Contains(msg, "disk") {
		t.Fatalf("exit code %d\n%s", code, msg)
	}
	before := shown(out)
	if len(before) == 0 {
		t.Fatal("nothing was shown before the disk was full")
	}
	p.sound()
	out, _ = p.ends(0, "watch", "act_big", "--output", "json")
	after := shown(out)
	if !slices.Equal(after[:len(before)], before) {
		t.Errorf("shown before: %d chunks, not the first of the %d now", len(before), len(after))
	}
	if err := eachOnce(out, len(after)); err != nil {
		t.Error(err)
	}
	p.sound()
}

func TestAJournalThatCannotBeUsedIsNamed(t *testing.T) {
	t.Parallel()
	p := newPlace(t, startDaemon(t, aipd.Options{}))
	p.submit("act_ok", "chat_ok")
	db, err := sql.Open("sqlite", filepath.Join(p.journal(), "journal.db")+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	code, _, msg := outcome(t, p.command("watch", "act_ok"))
	if code != 1 || !strings.Contains(msg, "another process holds the journal") {
		t.Errorf("locked: exit code %d\n%s", code, msg)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	p.ends(0, "watch", "act_ok")

	var version int
	if err := db.QueryRow(`PRAGMA user_version`).Scan(&version); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`PRAGMA user_version = 99`); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"watch", "act_ok"}, {"journal", "check"}, {"actions"}} {
		code, _, msg := outcome(t, p.command(command...))
		if code != 1 || !strings.Contains(msg, "made by a newer aipscope") {
			t.Errorf("%v of a newer one: exit code %d\n%s", command, code, msg)
		}
	}
	if _, err := db.Exec(fmt.Sprintf(`PRAGMA user_version = %d; PRAGMA wal_checkpoint(truncate)`, version)); err != nil {
		t.Fatal(err)
	}
	db.Close()
	file := filepath.Join(p.journal(), "journal.db")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range b[8192:] {
		b[8192+i] ^= 0x5a
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, msg := outcome(t, p.command("journal", "check"))
	if code != 1 || !strings.Contains(strings.ToLower(out+msg), "damaged") {
		t.Errorf("a damaged one: exit code %d\n%s%s", code, out, msg)
	}
}

// files are the contents of all files below a directory, by their path in it.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		found[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// What leaves nothing on disk leaves nothing when it is killed, either.
func TestDemoAndEphemeralLeaveNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t, startDaemon(t, aipd.Options{Speed: 8}))
	was := files(t, p.dir)
	killed(t, p.run(p.exe, "demo", "--output", "json"), 300*time.Millisecond)
	p.run(p.exe, "demo", "--output", "json", "--speed", "0").Run()
	killed(t, p.command("submit", "cap:hermes_agent:demo:chat_stream", "--ephemeral", "--output", "json", "--input", input("chat_tools")), 300*time.Millisecond)
	p.ends(10, "submit", "cap:hermes_agent:demo:chat_stream", "--ephemeral", "--input", input("chat_tools"))
	if now := files(t, p.dir); !maps.Equal(now, was) {
		t.Errorf("%q is left", slices.Sorted(maps.Keys(now)))
	}
	if entries, err := os.ReadDir(filepath.Join(p.dir, "tmp")); err != nil || len(entries) > 0 {
		t.Errorf("%v is left, %v", entries, err)
	}
}
