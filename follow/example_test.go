package follow_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"aipscope/follow"
	"aipscope/follow/act"
	"aipscope/follow/aipd"
	"aipscope/follow/client"
	"aipscope/follow/replay"
	"aipscope/model"
	"aipscope/store"
)

// A watch is pulled until it is done. What a batch holds is on disk already.
func Example() {
	fmt.Println(watch("chat_ok"))
	fmt.Println(watch("chat_disconnect"))
	// Output:
	// 14 chunks, accepted <nil>
	// 95 chunks, incomplete <nil>
}

// watch submits a turn that plays a recording, and follows it to its verdict.
func watch(recording string) (string, error) {
	ctx := context.Background()
	lib, err := replay.Open(os.DirFS("../testdata/recordings"))
	if err != nil {
		return "", err
	}
	daemon := aipd.New(aipd.Options{Recordings: lib})
	srv := httptest.NewServer(http.Handler(daemon))
	defer srv.Close()
	defer daemon.Close()
	c, err := client.New(client.Config{URL: srv.URL})
	if err != nil {
		return "", err
	}
	defer c.Close()
	j, err := store.OpenMemory(ctx)
	if err != nil {
		return "", err
	}
	defer j.Close()
	action, err := client.NewActionID()
	if err != nil {
		return "", err
	}
	src := follow.Source{URL: c.URL(), Action: action}
	log, err := j.Log(ctx, src)
	if err != nil {
		return "", err
	}
	actor := act.Actor{Daemon: c, Log: log, Action: action, Now: time.Now}
	req := model.Request{
		Capability: "cap:hermes_agent:demo:chat_stream", Mode: "streaming",
		Input: fmt.Appendf(nil, `{"prompt":"Hello.","session_id":"s","recording":%q}`, recording),
	}
	if err := actor.Prepare(ctx, req, true); err != nil {
		return "", err
	}
	posted := make(chan error, 1)
	go func() { posted <- actor.Post(ctx, req) }() // its answer is the stream's end

	w := follow.Start(ctx, follow.Config{Source: src, Log: log, Client: c})
	defer w.Close()
	turn := model.NewTurn(action)
	for {
		batch, err := w.Next(ctx)
		if err != nil {
			return "", err
		}
		turn.Apply(batch.Rows)
		if batch.Done {
			return fmt.Sprintf("%d chunks, %s", turn.Chunks(), turn.Verdict().Word), errors.Join(batch.Err, <-posted)
		}
	}
}
