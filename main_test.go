package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"aipscope/follow/aipd"
	"aipscope/follow/replay"
	"aipscope/model/aip"
	"aipscope/model/hermes"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"aipscope": main})
}

const token = "a-token-for-tests-0123456789"

// startDaemon runs an embedded daemon until the test ends.
func startDaemon(tb interface {
	Fatal(...any)
	Cleanup(func())
}, opt aipd.Options) (url string) {
	return startDaemonBehind(tb, opt, func(h http.Handler) http.Handler { return h })
}

// startDaemonBehind is startDaemon with a handler before the daemon's.
func startDaemonBehind(tb interface {
	Fatal(...any)
	Cleanup(func())
}, opt aipd.Options, wrap func(http.Handler) http.Handler) (url string) {
	lib, err := replay.Open(os.DirFS(filepath.Join("testdata", "recordings")))
	if err != nil {
		tb.Fatal(err)
	}
	opt.Recordings, opt.Token = lib, token
	d := aipd.New(opt)
	srv := httptest.NewServer(wrap(d))
	tb.Cleanup(func() {
		d.Close()
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "scripts"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			for _, dir := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "HOME"} {
				env.Setenv(dir, filepath.Join(env.WorkDir, "home"))
			}
			recordings, err := filepath.Abs(filepath.Join("testdata", "recordings"))
			if err != nil {
				return err
			}
			env.Setenv("RECORDINGS", recordings)
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			env.Values[seenKey{}] = map[string]bool{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"daemon": scriptDaemon,
			"code":   scriptCode,
			"token":  scriptToken,
			"same":   scriptSame,
			"once":   scriptOnce,
			"keep":   scriptKeep,
			"fits":   scriptFits,

			"untilchunks": scriptUntilChunks,
			"untilin":     scriptUntilIn,
		},
	})
}

// scriptDaemon starts a daemon, and points the environment at it:
//
//	daemon [SPEED] [approve=auto|deny|TIME] [runs=N] [compress=N] [unstored] [fail=OPERATION:CODE[:STATUS[:TIMES]]]
func scriptDaemon(ts *testscript.TestScript, _ bool, args []string) {
	var opt aipd.Options
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		var err error
		switch name {
		case "approve":
			opt.Approve = aipd.Approval{Decides: true, Grants: value != "deny"}
			if value != "deny" && value != "auto" {
				opt.Approve.After, err = time.ParseDuration(value)
			}
		case "runs":
			opt.MaxRuns, err = strconv.Atoi(value)
		case "compress":
			opt.CompressAfter, err = strconv.Atoi(value)
		case "unstored":
			opt.Unstored = true
		case "fail":
			opt.Fail = failing(ts, value)
		case "fault":
			opt.Faults, err = aipd.ParseFaults(value)
		default:
			opt.Speed, err = strconv.ParseFloat(arg, 64)
		}
		ts.Check(err)
	}
	ts.Setenv("AIP_URL", startDaemon(scriptTB{ts}, opt))
	file := ts.MkAbs("token")
	ts.Check(os.WriteFile(file, []byte(token+"\n"), 0o600))
	ts.Setenv("AIP_TOKEN_FILE", file)
}

// failing makes an operation fail in the connector, the first few times or
// always.
func failing(ts *testscript.TestScript, how string) func(aipd.Request) *aip.Error {
	part := append(strings.Split(how, ":"), "", "", "")
	status, times := number(ts, part[2]), number(ts, part[3])
	var seen atomic.Int32
	return func(r aipd.Request) *aip.Error {
		if r.Operation != hermes.Operation(part[0]) || times > 0 && int(seen.Add(1)) > times {
			return nil
		}
		return hermes.Failure(r.Operation, hermes.FailureCode(part[1]), status, "made to fail")
	}
}

type scriptTB struct{ *testscript.TestScript }

func (s scriptTB) Fatal(args ...any) { s.Fatalf("%s", fmt.Sprint(args...)) }
func (s scriptTB) Cleanup(f func())  { s.Defer(f) }

// scriptToken writes a token file: token FILE MODE CONTENT
func scriptToken(ts *testscript.TestScript, _ bool, args []string) {
	mode, err := strconv.ParseUint(args[1], 8, 32)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(args[2]), 0o600))
	ts.Check(os.Chmod(ts.MkAbs(args[0]), os.FileMode(mode)))
}

// scriptCode runs a command and checks its exit code, and each line of JSON output against
// the schema: code N aipscope …
func scriptCode(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case err == nil:
	case asExit(err, &exit):
		got = exit.ExitCode()
	default:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
	ts.Setenv("OUT", ts.ReadFile("stdout"))
	if i := slices.Index(args, "--output"); i >= 0 && args[i+1] == "json" {
		scriptFits(ts, false, nil)
	}
}

func asExit(err error, target **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError)
	*target = e
	return ok
}

// scriptKeep puts what the last command printed to a variable: keep NAME REGEXP
func scriptKeep(ts *testscript.TestScript, _ bool, args []string) {
	m := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout") + ts.ReadFile("stderr"))
	if m == nil {
		ts.Fatalf("no match for %s", args[1])
	}
	ts.Setenv(args[0], m[len(m)-1])
}

// scriptUntilChunks watches an action until the journal holds some of its
// chunks: untilchunks ACTION N
func scriptUntilChunks(ts *testscript.TestScript, _ bool, args []string) {
	for range 100 {
		_ = ts.Exec("aipscope", "watch", args[0], "--output", "json", "--timeout", "300ms") // it has no verdict yet
		if strings.Count(ts.ReadFile("stdout"), `"type":"chunk"`) >= number(ts, args[1]) {
			return
		}
	}
	ts.Fatalf("%s has no %s chunks", args[0], args[1])
}

// scriptUntilIn stays until a file holds a text: untilin FILE TEXT
func scriptUntilIn(ts *testscript.TestScript, _ bool, args []string) {
	for range 600 {
		if b, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && strings.Contains(string(b), args[1]) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	ts.Fatalf("%s does not hold %q", args[0], args[1])
}

func number(ts *testscript.TestScript, s string) int {
	if s == "" {
		return 0
	}
	n, err := strconv.Atoi(s)
	ts.Check(err)
	return n
}

// jsonLines decodes JSON lines.
func jsonLines(text string) ([]map[string]any, error) {
	var all []map[string]any
	for line := range strings.Lines(text) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		all = append(all, v)
	}
	return all, nil
}

// scriptSame checks that the verdict lines of two files of JSON lines agree:
// same FILE FILE [MEMBER…]
func scriptSame(ts *testscript.TestScript, _ bool, args []string) {
	var lines [2]map[string]any
	for i, file := range args[:2] {
		all, err := jsonLines(ts.ReadFile(file))
		ts.Check(err)
		lines[i] = all[len(all)-1]
	}
	for _, member := range args[2:] {
		a, err := json.Marshal(lines[0][member])
		ts.Check(err)
		b, err := json.Marshal(lines[1][member])
		ts.Check(err)
		if lines[0][member] == nil && member != "finish_reason" || !bytes.Equal(a, b) {
			ts.Fatalf("%s: %s and %s", member, a, b)
		}
	}
}

// scriptOnce checks that every chunk stands once in a file of JSON lines, from
// 0 to N-1: once FILE N
func scriptOnce(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(eachOnce(ts.ReadFile(args[0]), n))
}

func eachOnce(text string, n int) error {
	all, err := jsonLines(text)
	if err != nil {
		return err
	}
	var got []int
	for _, line := range all {
		if line["type"] == "chunk" {
			got = append(got, int(line["sequence"].(float64)))
		}
	}
	if len(got) != n || !slices.IsSorted(got) || got[0] != 0 || got[n-1] != n-1 {
		return fmt.Errorf("%d chunks, want 0 to %d, each once: %v", len(got), n-1, got)
	}
	return nil
}
