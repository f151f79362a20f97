package follow_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aipscope/follow"
	"aipscope/follow/aipd"
	"aipscope/follow/client"
	"aipscope/follow/followtest"
	"aipscope/follow/replay"
	"aipscope/model"
)

// Every recording is submitted to the embedded daemon and watched while it
// plays: all of its chunks come, the result agrees with them, and the verdict is
// the one that the recording is known for.
func TestRecordingsAreWatchedToTheirVerdict(t *testing.T) {
	library := followtest.Library(t)
	tables, err := filepath.Glob("../testdata/recordings/*/verdicts.tsv")
	if err != nil || len(tables) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, table := range tables {
		raw, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n")[1:] {
			row := strings.Split(line, "\t")
			bubble(t, row[0], func(t *testing.T) { watchRecording(t, library, row) })
		}
	}
}

func watchRecording(t *testing.T, library *replay.Library, row []string) {
	name, operation, chunks, status, code, verdict := strings.TrimSuffix(row[0], ".sse"), row[1], row[2], row[3], row[4], row[5]
	daemon := aipd.New(aipd.Options{Recordings: library, Token: "s3cret", Speed: 8})
	c, err := client.New(client.Config{URL: "http://aipd.test", DialContext: followtest.Serve(t, daemon), Token: func() ([]byte, error) { return []byte("s3cret"), nil }})
	if err != nil {
		t.Fatal(err)
	}
	id, err := client.NewActionID()
	if err != nil {
		t.Fatal(err)
	}
	log := &followtest.Log{}
	w := follow.Start(t.Context(), follow.Config{Source: follow.Source{URL: c.URL(), Action: id, Route: client.Route(id)}, Log: log, Client: c})
	answered := make(chan error, 1)
	defer func() {
		w.Close()
		<-answered
		daemon.Close()
		c.Close()
	}()
	go func() {
		message, err := client.NewMessageID()
		if err == nil {
			_, err = c.Submit(t.Context(), client.Envelope{MessageID: message, SentAt: time.Now(), Action: client.Action{
				ID: id, CapabilityID: "cap:hermes_agent:demo:" + operation, Mode: "streaming",
				Input: json.RawMessage(fmt.Sprintf(`{"recording":%q,"max_events":9000}`, name)),
			}}, nil)
		}
		answered <- err
	}()
	s := collect(t, w)
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	answered <- nil
	if s.last.Err != nil {
		t.Fatalf("ended with %v after %s", s.last.Err, s.states())
	}
	if n := fmt.Sprint(s.kinds()[model.RowChunk]); n != chunks {
		t.Errorf("%s chunks, want %s", n, chunks)
	}
	results := s.find(model.RowResult)
	if len(results) != 1 {
		t.Fatalf("rows %v", s.kinds())
	}
	r := results[0].Result
	got := "-"
	if r.Error != nil {
		got = strings.TrimPrefix(r.Error.Code, "connector.hermes_agent.")
	}
	if string(r.Status) != status || got != code {
		t.Errorf("result %s %s, want %s %s", r.Status, got, status, code)
	}
	if m := r.Aggregate; m == nil || m.Missing != 0 || m.Unlike != nil || m.Matched != m.Events {
		t.Errorf("match %+v", m)
	}
	turn := model.NewTurn(id)
	turn.Apply(s.rows)
	if v := turn.Verdict(); string(v.Word) != verdict {
		t.Errorf("verdict %s (%s), want %s", v.Word, v.Reason, verdict)
	}
	synctest.Wait()
}
