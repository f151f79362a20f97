package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aipscope/follow"
	"aipscope/follow/aipd"
	"aipscope/follow/followtest"
	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/safe"
	"aipscope/model/turntest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// harmless fails if output holds anything that a terminal would not just print.
func harmless(t testing.TB, what string, out []byte) {
	t.Helper()
	if shown := safe.Text(string(out)); shown != string(out) {
		at := 0
		for at < len(shown) && shown[at] == out[at] {
			at++
		}
		t.Errorf("%s: %+q", what, out[max(0, at-80):min(len(out), at+80)])
	}
}

// jsonLines fails if a line of JSON holds a character that only passes in company.
func jsonLines(t testing.TB, what string, out []byte) {
	t.Helper()
	for line := range bytes.Lines(out) {
		if !json.Valid(line) {
			t.Errorf("%s: no JSON: %.200q", what, line)
		}
		if !bytes.Equal(safe.EscapeJSON(line), line) {
			t.Errorf("%s: unescaped: %.200q", what, line)
		}
	}
}

func TestHostileTurnsPrintAsText(t *testing.T) {
	all := turntest.Hostile()
	for n, name := range slices.Sorted(maps.Keys(all)) {
		hostile := all[name]
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(n), 5))
			for _, recording := range []string{"chat_tools", "chat_error_partial", "responses_tools", "session_stream_tools", "runs_approval_events"} {
				rows := turntest.Poison(t, turntest.Named(t, recording).Rows(t), hostile, r)
				half := len(rows) / 2
				batches := []follow.Batch{
					{Rows: rows[:half], Links: []follow.Link{{State: follow.Retrying, Reason: hostile, Cursor: hostile}}},
					{Rows: rows[half:], Links: []follow.Link{{State: follow.LinkState("odd"), Reason: hostile}}, Done: true},
				}
				var out, err, plain bytes.Buffer
				turn := func() *model.Turn { return model.NewTurn(hostile) }
				lines := bufio.NewWriter(&out)
				for _, p := range []printer{
					&jsonPrinter{out: lines, turn: turn(), reveal: true, shown: map[string]model.ToolStatus{}},
					&jsonPrinter{out: lines, turn: turn(), shown: map[string]model.ToolStatus{}},
					&textPrinter{out: &plain, err: &err, turn: turn()},
				} {
					var turn *model.Turn
					switch p := p.(type) {
					case *jsonPrinter:
						turn = p.turn
					case *textPrinter:
						turn = p.turn
					}
					for _, b := range batches {
						if err := p.batch(b); err != nil {
							t.Fatal(err)
						}
					}
					if err := p.verdict(turn.Verdict(), batches[1]); err != nil {
						t.Fatal(err)
					}
				}
				lines.Flush()
				jsonLines(t, recording, out.Bytes())
				harmless(t, recording, plain.Bytes())
				harmless(t, recording, err.Bytes())
			}
		})
	}
}

// The lines of chunks, which are put together by hand, are what the encoder makes.
func TestChunkLinesAreWhatTheEncoderMakes(t *testing.T) {
	all := turntest.Hostile()
	all["none"] = "plain"
	for n, name := range slices.Sorted(maps.Keys(all)) {
		r := rand.New(rand.NewPCG(uint64(n), 6))
		for _, recording := range []string{"chat_tools", "responses_tools", "session_stream_tools", "runs_approval_events"} {
			rows := turntest.Named(t, recording).Rows(t)
			if name != "none" {
				rows = turntest.Poison(t, rows, all[name], r)
			}
			turn := model.NewTurn("act_1")
			turn.Apply(rows)
			for _, e := range turn.Entries().All() {
				if name != "none" && r.IntN(2) == 0 {
					e.Kind, e.Frame, e.At = aip.ChunkKind(all[name]), all[name], time.Time{}
				}
				var got, want bytes.Buffer
				p := jsonPrinter{out: bufio.NewWriter(&got)}
				err := p.chunk(&aip.Chunk{Sequence: e.Sequence, Kind: e.Kind}, e)
				p.out.Flush()
				line := chunkLine{Type: "chunk", Sequence: e.Sequence, Kind: e.Kind, Frame: e.Frame, At: stamp(e.At), Text: e.Text()}
				if err := errors.Join(err, writeJSON(&want, line)); err != nil || got.String() != want.String() {
					t.Fatalf("%s, %s: %v\n got %s\nwant %s", name, recording, err, &got, &want)
				}
			}
		}
	}
}

// poisoned is a daemon whose every answer holds the hostile string wherever
// strings may stand.
type poisoned struct {
	http.Handler
	hostile string
}

func (p poisoned) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r := rand.New(rand.NewPCG(uint64(len(req.URL.Path)), 3))
	if req.URL.Query().Get("follow") != "" {
		p.Handler.ServeHTTP(&poisonedStream{ResponseWriter: w, p: p, r: r}, req)
		return
	}
	rec := httptest.NewRecorder()
	p.Handler.ServeHTTP(rec, req)
	maps.Copy(w.Header(), rec.Header())
	w.Header().Del("Content-Length")
	w.WriteHeader(rec.Code)
	if body, ok := turntest.PoisonJSON(rec.Body.Bytes(), p.hostile, r); ok {
		w.Write(body)
		return
	}
	w.Write(rec.Body.Bytes())
}

type poisonedStream struct {
	http.ResponseWriter
	p poisoned
	r *rand.Rand
}

func (s *poisonedStream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *poisonedStream) Write(b []byte) (int, error) {
	var out []byte
	for line := range bytes.Lines(b) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			if changed, ok := turntest.PoisonJSON(data, s.p.hostile, s.r); ok {
				line = append(append([]byte("data: "), changed...), '\n')
			}
		}
		out = append(out, line...)
	}
	_, err := s.ResponseWriter.Write(out)
	return len(b), err
}

// raw answers everything with bytes of its own.
func rawDaemon(t *testing.T, answer string) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(conn, answer)
		conn.Close()
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// asksNobody are the commands that call no daemon.
var asksNobody = map[string]bool{"open": true, "export": true, "journal": true, "demo": true, "serve": true, "help": true}

// runs runs one command line as main does, for a while.
func runs(t *testing.T, home string, args ...string) (code int, out, errOut []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var o, e bytes.Buffer
	a := &app{
		recordings: os.DirFS("../../testdata/recordings"), in: strings.NewReader("{}"), out: &o, err: &e, now: time.Now, end: end,
		getenv: func(string) string { return "" }, log: slog.New(slog.DiscardHandler),
	}
	code = a.run(ctx, append([]string{"--journal", home, "--config", filepath.Join(home, "none.toml")}, args...))
	return code, o.Bytes(), e.Bytes()
}

func TestHostileDaemonsAndArgumentsPrintAsText(t *testing.T) {
	all := turntest.Hostile()
	for _, name := range []string{"everything", "raw c1", "references"} {
		hostile := all[name]
		t.Run(name, func(t *testing.T) {
			daemon := aipd.New(aipd.Options{Recordings: followtest.Library(t)})
			t.Cleanup(daemon.Close)
			srv := httptest.NewServer(poisoned{daemon, hostile})
			t.Cleanup(srv.Close)
			home := t.TempDir()
			if err := os.Chmod(home, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(home, "none.toml"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			odd := filepath.Join(home, "x\x1b]0;t\x07\u202e.sse")
			if err := os.WriteFile(odd, []byte("data: {\"choices\":[{\"delta\":{\"content\":\"\x1b[2J\"}}]}\n\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			reason := rawDaemon(t, "HTTP/1.1 418 "+hostile+"\r\nContent-Type: text/"+hostile+"\r\nContent-Length: 2\r\n\r\nno")
			refused, _ := json.Marshal(map[string]any{"error": map[string]any{"code": hostile, "message": hostile, "category": hostile, "details": map[string]any{hostile: hostile}}})
			refusal := rawDaemon(t, fmt.Sprintf("HTTP/1.1 400 no\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(refused), refused))
			action := "act_0198b0d2c41e7000a000000000000009"
			commands := [][]string{
				{"submit", "cap:hermes_agent:demo:chat_stream", "--input", `{"prompt":"hi","recording":"chat_tools"}`, "--timeout", "300ms", "--action-id", action},
				{"submit", "cap:hermes_agent:demo:chat_stream", "--input", `{"` + "\x1b[2J" + `":"hi"}`},
				{"watch", action, "--timeout", "300ms"}, {"status", action}, {"actions"}, {"cancel", action, "--reason", hostile}, {"reconcile", action},
				{"capabilities"}, {"session", "list"}, {"session", "get", "demo"}, {"session", "messages", "demo"}, {"session", "create", "--title", "x"},
				{"session", "fork", "demo"}, {"session", "patch", "demo", "--title", "x"}, {"session", "delete", "demo"}, {"session", "chat", "demo", "--message", "x"},
				{"response", "get", "resp_1"}, {"response", "delete", "resp_1"}, {"doctor"},
				{"open", action}, {"open", odd}, {"open", hostile}, {"export", action}, {"journal", "check"}, {"journal", "forget", action}, {"journal", "prune", "--older-than", hostile},
				{hostile}, {"watch", hostile}, {"watch", "act_" + hostile}, {"--" + hostile}, {"status", action, hostile}, {"--output", hostile, "actions"}, {"demo", hostile}, {"serve", "--recordings", hostile},
				{"--token-file", hostile, "status", action}, {"--url", hostile, "status", action}, {"--url", "http://" + hostile, "status", action}, {"--config", odd, "actions"}, {"--journal", odd, "actions"},
				{"--log-file", filepath.Join(home, "no", hostile), "actions"}, {"--ca-file", odd, "status", action}, {"submit", hostile, "--input", "@" + odd}, {"help", hostile}, {"demo", "--list"},
			}
			for _, args := range commands {
				for _, form := range []string{"text", "json"} {
					for _, url := range []string{srv.URL, reason, refusal} {
						if url != srv.URL && (form == "json" || asksNobody[args[0]] || strings.HasPrefix(args[0], "--")) {
							continue
						}
						all := append([]string{"--url", url, "--output", form}, args...)
						_, out, errOut := runs(t, home, all...)
						what := fmt.Sprintf("%+q", all)
						harmless(t, what, errOut)
						if harmless(t, what, out); form == "json" && !slices.Contains(args, "help") && !slices.Contains(args, "--output") && !slices.Contains(args, "--list") {
							jsonLines(t, what, out)
						}
					}
				}
			}
		})
	}
}
