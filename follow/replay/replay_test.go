package replay

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"testing/iotest"
	"testing/synctest"
	"time"

	"aipscope/model/hermes"
)

func library(t testing.TB) *Library {
	t.Helper()
	l, err := Open(os.DirFS("../../testdata/recordings"))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestEveryRecordingIsAScenario(t *testing.T) {
	l := library(t)
	files, _ := filepath.Glob("../../testdata/recordings/*/*.sse")
	if len(l.Scenarios()) != len(files) {
		t.Fatalf("%d scenarios for %d files", len(l.Scenarios()), len(files))
	}
	for name, op := range map[string]hermes.Operation{
		"chat_tools": hermes.OpChatStream, "responses_cut": hermes.OpResponsesStream,
		"session_stream_ok": hermes.OpSessionChatStream, "runs_approval_newer": hermes.OpRunEvents,
	} {
		s, ok := l.Scenario(name)
		if !ok || s.Operation != op || s.Size == 0 {
			t.Errorf("%s: %+v", name, s)
		}
		if d, ok := l.Default(op); !ok || d.Operation != op {
			t.Errorf("default of %s: %+v", op, d)
		}
	}
	if _, err := l.Stream("nothing", Pace{}); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if s, ok := l.About(hermes.OpRunEvents, "run_cadadc18182b46e5b19276a045a47f9d"); !ok || s.Name != "runs_stopped_events" {
		t.Errorf("about a run: %+v", s)
	}
	for _, id := range []string{"", "run_none"} {
		if s, ok := l.About(hermes.OpRunEvents, id); ok {
			t.Errorf("about %q: %+v", id, s)
		}
	}
	if _, ok := l.Default(hermes.OpChat); ok {
		t.Error("chat does not stream")
	}
}

func TestPlayedBytesAreTheRecordedBytes(t *testing.T) {
	l := library(t)
	for _, s := range l.Scenarios() {
		want, err := os.ReadFile(filepath.Join("../../testdata/recordings", s.Path))
		if err != nil {
			t.Fatal(err)
		}
		stream, err := l.Stream(s.Name, Pace{})
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		for {
			b, err := stream.Next(t.Context())
			if err == io.EOF {
				break
			}
			if err != nil || len(b) == 0 {
				t.Fatalf("%s: %d bytes, %v", s.Name, len(b), err)
			}
			got = append(got, b...)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, want %d", s.Name, len(got), len(want))
		}
	}
}

func drain(ctx context.Context, s Stream) error {
	for {
		if _, err := s.Next(ctx); err != nil {
			return err
		}
	}
}

func TestSpeedScalesTheWholeStream(t *testing.T) {
	l := library(t)
	took := func(speed float64) (d time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			s, err := l.Stream("chat_tools", Pace{Speed: speed})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if err := drain(t.Context(), s); err != io.EOF {
				t.Fatal(err)
			}
			d = time.Since(began)
		})
		return d
	}
	natural := took(1)
	if natural < 2*time.Second || natural > 10*time.Second {
		t.Errorf("chat_tools takes %v", natural)
	}
	if again := took(1); again != natural {
		t.Errorf("and then %v", again)
	}
	if fast := took(10); (fast - natural/10).Abs() > time.Millisecond {
		t.Errorf("ten times faster it takes %v of %v", fast, natural)
	}
	if none := took(0); none != 0 {
		t.Errorf("without waiting it takes %v", none)
	}
}

func TestALateStreamCatchesUpALittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Play([]byte("data: 1\n\ndata: 2\n\ndata: 3\n\n"), Pace{Speed: 1})
		next := func() time.Duration {
			began := time.Now()
			if _, err := s.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
			return time.Since(began)
		}
		next()
		time.Sleep(500 * time.Millisecond)
		if d := next(); d != 0 {
			t.Errorf("waited %v although it was late", d)
		}
		time.Sleep(time.Hour)
		if d := next(); d == 0 {
			t.Error("an hour is caught up in a burst")
		}
	})
}

func TestCancellationStopsAWaitAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := Play([]byte(": keepalive\n\ndata: 1\n\n"), Pace{Speed: 0.001})
		time.AfterFunc(time.Minute, cancel)
		began := time.Now()
		if err := drain(ctx, s); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if d := time.Since(began); d != time.Minute {
			t.Errorf("stopped after %v", d)
		}
		if _, err := Play([]byte("data: 1\n\n"), Pace{}).Next(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled stream without waits: %v", err)
		}
		if err := (Pace{}).Wait(ctx, time.Hour); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestDelaysFollowWhatAFrameIs(t *testing.T) {
	for frame, bounds := range map[string][2]time.Duration{
		`data: {"choices":[{"delta":{"content":"tool.completed"}}]}`:                      {15, 40},
		"event: hermes.tool.progress\ndata: {\"status\":\"running\"}":                     {15, 40},
		"event: hermes.tool.progress\ndata: {\"status\":\"completed\"}":                   {300, 900},
		`data: {"event":"tool.completed"}`:                                                {300, 900},
		"event: response.output_item.done\ndata: {\"item\":{\"type\":\"function_call\"}}": {300, 900},
		"event: response.output_item.done\ndata: {\"item\":{\"type\":\"message\"}}":       {15, 40},
		": keepalive":    {1000, 2000},
		"data: [DONE]":   {0, 5},
		"data: \xff\xfe": {1000, 2000},
	} {
		if d := Delay([]byte(frame)); d < bounds[0]*time.Millisecond || d > bounds[1]*time.Millisecond {
			t.Errorf("%q waits %v", frame, d)
		}
	}
}

func TestRepliesCarryTheirStatus(t *testing.T) {
	l := library(t)
	for name, want := range map[string]int{"chat_nonstream": 200, "session_create": 201, "chat_429": 429, "runs_failed_status": 200} {
		status, body, err := l.Reply(name)
		if err != nil || status != want || len(body) == 0 {
			t.Errorf("%s: %d, %d bytes, %v", name, status, len(body), err)
		}
	}
	if _, _, err := l.Reply("nothing"); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if names := l.Replies("responses_get_"); len(names) != 9 || names[0] != "responses_get_404" {
		t.Errorf("%q", names)
	}
	for _, name := range l.Replies("") {
		if _, _, err := l.Reply(name); err != nil {
			t.Error(err)
		}
	}
	bad, err := Open(fstest.MapFS{"x.json": {Data: []byte("{}")}, "x.headers.txt": {Data: []byte("nonsense\n")}, "y.json": {Data: []byte("{}")}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := bad.Reply("x"); err == nil {
		t.Error("a status line that is none is read")
	}
	if status, _, err := bad.Reply("y"); err != nil || status != 200 {
		t.Error(status, err)
	}
}

func TestRecordsReadPastTheTerminalEvent(t *testing.T) {
	const raw = "data: [DONE]\n\n: c\n\nevent: done\n\ndata: left"
	var got []string
	for rec, err := range Records(iotest.OneByteReader(bytes.NewReader([]byte(raw))), hermes.DefaultLimits) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(rec.Data))
	}
	if len(got) != 3 || got[2] != `"left"` {
		t.Errorf("%q", got)
	}
	for name, r := range map[string]io.Reader{
		"bad bytes":   bytes.NewReader([]byte("data: \xff\n\n")),
		"bad rest":    bytes.NewReader([]byte("data: \xff")),
		"broken file": io.MultiReader(bytes.NewReader([]byte("data: 1\n\n")), iotest.ErrReader(io.ErrClosedPipe)),
		"too large":   io.MultiReader(bytes.NewReader(make([]byte, 100))),
	} {
		var last error
		for _, err := range Records(r, hermes.Limits{Frame: 10, Stream: 50}) {
			last = err
		}
		if last == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
