package aipd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aipscope/follow/replay"
	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// script is a provider stream that a test feeds.
type script chan []byte

func (s script) Next(ctx context.Context) ([]byte, error) {
	select {
	case b, ok := <-s:
		if !ok {
			return nil, io.EOF
		}
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// scripted serves streams that a test feeds.
func scripted(t testing.TB, opt Options) (*console, script) {
	feed := make(script, 1000)
	opt.Play = func(context.Context, Request) (replay.Stream, error) { return feed, nil }
	return serve(t, opt), feed
}

func names(frames []frame) (out []string) {
	for _, f := range frames {
		name := f.event
		if strings.HasPrefix(f.data, `{"chunk"`) {
			name = f.id
		}
		if f.comment != "" {
			name = ": " + f.comment
		}
		out = append(out, name)
	}
	return out
}

const chatInput = `{"prompt":"hi"}`

func TestAFollowStreamDeliversAnActionAsItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, feed := scripted(t, Options{})
		f := c.follow("/aip/v1/actions/act_1/events?follow=true&include_chunks=true")
		var answer answered
		posted := make(chan struct{})
		go func() {
			defer close(posted)
			answer = c.submit(act{id: "act_1", op: "chat_stream", mode: "streaming", input: chatInput})
		}()
		go func() {
			feed <- []byte("data: {\"choices\":[{\"delta\":{\"content\":\"Hi <b>\"}}]}\n\n")
			time.Sleep(time.Minute + 100*time.Millisecond) // between two polls
			feed <- []byte("data: [DONE]\n\n")
		}()
		began := time.Now()
		frames := f.all()
		<-posted
		want := []string{"aip.stream.chunk", "chunk:0", "aip.stream.cursor", ": keep-alive", ": keep-alive", ": keep-alive",
			"aip.stream.chunk", "aip.action.result", "chunk:1", "aip.stream.cursor", "aip.stream.terminal"}
		if got := names(frames); !slices.Equal(got, want) {
			t.Errorf("frames %q", got)
		}
		if d := time.Since(began); d < time.Minute || d > time.Minute+time.Second {
			t.Errorf("took %v", d)
		}
		last := frames[len(frames)-1]
		if last.data != `{"terminal":true,"action_id":"act_1"}` || last.id != frames[len(frames)-2].id || last.id != "aev_cursor_3_1" {
			t.Errorf("terminal %+v", last)
		}
		if frames[2].data != `{"next_cursor":"aev_cursor_1_0"}` || frames[2].id != "aev_cursor_1_0" {
			t.Errorf("cursor %+v", frames[2])
		}
		chunk, ok := chunkOf(t, frames[1])
		rec, isRecord := hermes.RecordOf(chunk.Data)
		if !ok || !isRecord || chunk.ActionID != "act_1" || !strings.Contains(string(rec.Data), "Hi <b>") {
			t.Errorf("chunk %+v", chunk)
		}
		var event struct{ Event aip.Event }
		if err := json.Unmarshal([]byte(frames[0].data), &event); err != nil {
			t.Fatal(err)
		}
		if n, ok := event.Event.ChunkSequence(); !ok || n != 0 || event.Event.ID != frames[0].id || !strings.HasPrefix(event.Event.ID, "evt_stream_") ||
			event.Event.SessionID != "sess_1" || event.Event.CorrelationID != "corr_1" || !event.Event.OccurredAt.Equal(began) {
			t.Errorf("event %+v", event.Event)
		}
		if r := answer.Body.ActionResult; r == nil || r.Status != aip.ResultCompleted || answer.CorrelationID != "corr_1" || answer.InResponseTo == "" {
			t.Errorf("answer %+v", answer)
		}
	})
}

func TestAnEmptyFollowStreamIsPolledTwiceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, feed := scripted(t, Options{})
		posted := make(chan struct{})
		go func() {
			defer close(posted)
			c.submit(act{id: "act_1", op: "chat_stream", mode: "streaming", input: chatInput})
		}()
		f := c.follow("/aip/v1/actions/act_1/events?follow=true&include_chunks=true")
		synctest.Wait()
		time.Sleep(100 * time.Millisecond)
		began := time.Now()
		feed <- []byte("data: 1\n\n")
		if fr, _ := f.next(); fr.event != aip.EventChunk {
			t.Errorf("frame %+v", fr)
		}
		if d := time.Since(began); d != 400*time.Millisecond {
			t.Errorf("delivered after %v", d)
		}
		close(feed)
		f.all()
		<-posted
	})
}

func TestTerminalComesWithABacklogUnread(t *testing.T) {
	for _, drain := range []bool{false, true} {
		c := serve(t, Options{DrainFirst: drain})
		c.result(act{id: "act_1", op: "chat_stream", mode: "streaming", input: `{"recording":"chat_tools"}`})
		frames := c.follow("/aip/v1/actions/act_1/events?follow=true&include_chunks=true&limit=50").all()
		chunks := 0
		for _, fr := range frames {
			if _, ok := chunkOf(t, fr); ok {
				chunks++
			}
		}
		if frames[len(frames)-1].event != aip.FrameTerminal {
			t.Fatalf("ends with %+v", frames[len(frames)-1])
		}
		if want := map[bool]int{false: 0, true: 79}[drain]; chunks != want {
			t.Errorf("drain first %v: %d chunks, want %d", drain, chunks, want)
		}
		// What is left is read with plain pages from the last cursor.
		cursor := frames[len(frames)-1].id
		for {
			p := c.page("act_1", "include_chunks=true&limit=50&cursor="+cursor)
			if len(p.Events)+len(p.Chunks) == 0 {
				break
			}
			chunks += len(p.Chunks)
			cursor = p.Cursor
		}
		if chunks != 79 {
			t.Errorf("%d chunks after draining", chunks)
		}
	}
}

type pageBody struct {
	ActionID string `json:"action_id"`
	Events   []aip.Event
	Chunks   []aip.Chunk
	Cursor   string
	Terminal bool
}

func (c *console) page(id, query string) pageBody {
	c.t.Helper()
	var got struct {
		ActionEvents pageBody `json:"action_events"`
	}
	c.get("/aip/v1/actions/"+id+"/events?"+query, &got)
	return got.ActionEvents
}

func TestPagesShareTheirLimitEventsFirst(t *testing.T) {
	c := serve(t, Options{})
	c.result(act{id: "act_1", op: "chat_stream", mode: "streaming", input: `{"recording":"chat_ok"}`}) // 14 chunks, 15 events
	c.result(act{id: "act_2", op: "chat_stream", mode: "streaming", input: `{"recording":"chat_empty"}`})
	for _, q := range []struct {
		query          string
		events, chunks int
		cursor         string
	}{
		{"", 15, 0, "aev_cursor_19_none"},
		{"include_chunks=true", 15, 14, "aev_cursor_19_13"},
		{"include_chunks=true&limit=20", 15, 5, "aev_cursor_19_4"},
		{"include_chunks=true&limit=10", 10, 0, "aev_cursor_10_none"},
		{"include_chunks=true&limit=0", 1, 0, "aev_cursor_1_none"},
		{"include_chunks=true&limit=5000", 15, 14, "aev_cursor_19_13"},
		{"include_chunks=true&kinds=aip.action.result", 1, 14, "aev_cursor_19_13"},
		{"include_chunks=true&kinds=none,%20aip.action.result&limit=3", 1, 2, "aev_cursor_19_1"},
		{"kind=aip.action.cancelled", 0, 0, "aev_cursor_19_none"},
		{"include_chunks=true&cursor=aev_cursor_14_11", 1, 2, "aev_cursor_19_13"},
		{"include_chunks=true&cursor=evt_cursor_15", 0, 14, "aev_cursor_19_13"},
		{"include_chunks=true&cursor=aev_cursor_19_13", 0, 0, "aev_cursor_19_13"},
		{"cursor=aev_cursor_3_none&limit=2", 2, 0, "aev_cursor_5_none"},
	} {
		p := c.page("act_1", q.query)
		if len(p.Events) != q.events || len(p.Chunks) != q.chunks || p.Cursor != q.cursor || !p.Terminal || p.ActionID != "act_1" {
			t.Errorf("%s: %d events, %d chunks, %s", q.query, len(p.Events), len(p.Chunks), p.Cursor)
		}
	}
	var got struct {
		ActionEvents pageBody `json:"action_events"`
	}
	c.get("/aip/v1/actions/act_2/chunks", &got)
	if p := got.ActionEvents; len(p.Events) != 3 || len(p.Chunks) != 3 || p.Events[0].Kind != aip.EventChunk {
		t.Errorf("chunks route: %+v", p)
	}
	if p := c.page("act_unknown", "include_chunks=true"); len(p.Events) != 0 || p.Events == nil || p.Terminal || p.Cursor != "aev_cursor_19_none" {
		t.Errorf("unknown action: %+v", p)
	}
}

func TestAnyPageSizeDeliversEverythingOnce(t *testing.T) {
	c := serve(t, Options{})
	c.result(act{id: "act_0", op: "chat_stream", mode: "streaming", input: `{"recording":"chat_empty"}`})
	c.result(act{id: "act_1", op: "chat_stream", mode: "streaming", input: `{"recording":"chat_ok"}`})
	whole := c.page("act_1", "include_chunks=true&limit=1000")
	for limit := 1; limit < 32; limit++ {
		var events []aip.Event
		var chunks []aip.Chunk
		cursor := ""
		for {
			p := c.page("act_1", fmt.Sprintf("include_chunks=true&limit=%d&cursor=%s", limit, cursor))
			if len(p.Events)+len(p.Chunks) > limit {
				t.Fatalf("limit %d: %d and %d", limit, len(p.Events), len(p.Chunks))
			}
			if len(p.Events)+len(p.Chunks) == 0 {
				break
			}
			events, chunks, cursor = append(events, p.Events...), append(chunks, p.Chunks...), p.Cursor
		}
		if !slices.EqualFunc(events, whole.Events, func(a, b aip.Event) bool { return a.ID == b.ID }) ||
			!slices.EqualFunc(chunks, whole.Chunks, func(a, b aip.Chunk) bool { return a.Sequence == b.Sequence }) {
			t.Errorf("limit %d: %d events, %d chunks", limit, len(events), len(chunks))
		}
	}
}

func TestBadCursorsAreRefusedOnPagesAndAfterSuccessOnStreams(t *testing.T) {
	c := serve(t, Options{})
	c.result(act{id: "act_1", op: "chat_stream", mode: "streaming", input: `{"recording":"chat_empty"}`})
	for cursor, code := range map[string]string{
		"evt_0198": "query.invalid_cursor", "chunk:3": "query.invalid_cursor", "aev_cursor_1": "query.invalid_cursor",
		"aev_cursor_x_1": "query.invalid_cursor", "aev_cursor_1_x": "query.invalid_cursor", "aev_cursor_-1_none": "query.invalid_cursor",
		"aev_cursor_99999999999_none": "query.invalid_cursor", "offset:1": "query.invalid_cursor",
		"aev_cursor_5_none": "stream.cursor_expired", "evt_cursor_99": "stream.cursor_expired",
	} {
		status, err := c.refused("GET", "/aip/v1/actions/act_1/events?cursor="+cursor, "", "")
		if status != 400 || err.Code != code || err.Category != "permanent" {
			t.Errorf("%s: %d %+v", cursor, status, err)
		}
		frames := c.follow("/aip/v1/actions/act_1/events?follow=true&cursor=" + cursor).all()
		if len(frames) != 1 || frames[0].event != aip.FrameError || frames[0].id != "" || !strings.HasPrefix(frames[0].data, `{"error":{"code":"`+code) {
			t.Errorf("%s: frames %+v", cursor, frames)
		}
	}
	if _, err := c.refused("GET", "/aip/v1/actions/act_1/events?cursor=aev_cursor_5_none", "", ""); string(err.Details) != `{"cursor":"aev_cursor_5_none","available_events":4}` {
		t.Errorf("details %s", err.Details)
	}
	frames := c.follow("/aip/v1/actions/act_1/events?follow=true", "Last-Event-ID", " evt_x ").all()
	if len(frames) != 1 || frames[0].event != aip.FrameError {
		t.Errorf("Last-Event-ID of an event: %+v", frames)
	}
	frames = c.follow("/aip/v1/actions/act_1/events?follow=true", "Last-Event-ID", "aev_cursor_3_none").all()
	if got := names(frames); !slices.Equal(got, []string{"aip.action.result", "aip.stream.cursor", "aip.stream.terminal"}) {
		t.Errorf("Last-Event-ID of a cursor: %q", got)
	}
}

func TestAFollowStreamOfAnUnknownActionOnlyKeepsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, Options{})
		f := c.follow("/aip/v1/actions/act_never/events?follow=true")
		began := time.Now()
		for range 5 {
			if fr, ok := f.next(); !ok || fr.comment != "keep-alive" {
				t.Fatalf("frame %+v", fr)
			}
		}
		if d := time.Since(began); d != 75*time.Second {
			t.Errorf("five comments in %v", d)
		}
		f.body.Close()
	})
}

func TestClosingTheServerCutsFollowStreamsAndStopsActions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, feed := scripted(t, Options{})
		if got := c.submit(act{id: "act_1", op: "chat_stream", mode: "async", input: chatInput}); got.Body.Ack == nil || got.Body.Ack.Status != "queued" || got.Type != "aip.core.v1.ack" {
			t.Fatalf("ack %+v", got)
		}
		feed <- []byte("data: 1\n\n")
		synctest.Wait()
		f := c.follow("/aip/v1/actions/act_1/events?follow=true&include_chunks=true")
		c.server.Close()
		if got := names(f.all()); !slices.Equal(got, []string{"aip.stream.chunk", "chunk:0", "aip.stream.cursor"}) {
			t.Errorf("frames %q", got)
		}
		if got := c.state("act_1", ""); got != aip.StateRunning {
			t.Errorf("state %s", got)
		}
	})
}

// endless is a provider that never stops.
type endless struct{ left int }

func (e *endless) Next(ctx context.Context) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if e.left--; e.left < 0 {
		return []byte("data: [DONE]\n\n"), nil
	}
	return []byte("data: {\"id\": \"chatcmpl-ca06c8f7e98f4a419354d255e90e4\", \"object\": \"chat.completion.chunk\", \"choices\": [{\"index\": 0, \"delta\": {\"content\": \" word\"}, \"finish_reason\": null}]}\n\n"), nil
}

func TestAnActionMayHaveMoreEventsThanTheConnectorAllows(t *testing.T) {
	const n = hermes.DefaultMaxEvents + 1000
	c := serve(t, Options{Unlimited: true, DrainFirst: true, Play: func(context.Context, Request) (replay.Stream, error) { return &endless{left: n}, nil }})
	if got := c.submit(act{id: "act_1", op: "chat_stream", mode: "async", input: chatInput}); got.Body.Ack == nil {
		t.Fatalf("ack %+v", got)
	}
	f := c.follow("/aip/v1/actions/act_1/events?follow=true&include_chunks=true&kinds=aip.action.result&limit=1000")
	next := 0
	for {
		fr, ok := f.next()
		if !ok {
			break
		}
		if want := fmt.Sprint("chunk:", next); fr.id == want {
			next++
		} else if strings.HasPrefix(fr.id, "chunk:") {
			t.Fatalf("got %s, want %s", fr.id, want)
		}
	}
	if next != n+1 {
		t.Errorf("%d chunks", next)
	}
	f.body.Close()
}

func TestABrokenProviderMakesNoClosingChunk(t *testing.T) {
	for name, p := range map[string]struct {
		err  error
		code string
	}{
		"broken":  {errors.New("connection reset"), "connector.hermes_agent.transport"},
		"refused": {&replay.Refusal{Status: 429}, "connector.hermes_agent.remote_temporary"},
	} {
		c := serve(t, Options{Play: func(context.Context, Request) (replay.Stream, error) { return &broken{err: p.err}, nil }})
		r := c.result(act{id: "act_1", op: "chat_stream", mode: "streaming", input: chatInput})
		if r.Status != aip.ResultFailed || r.Error.Code != p.code || !r.Error.Uncertain() || r.Output != nil {
			t.Errorf("%s: %+v", name, r)
		}
		if got := len(c.page("act_1", "include_chunks=true").Chunks); got != 1 {
			t.Errorf("%s: %d chunks", name, got)
		}
	}
}

type broken struct {
	sent bool
	err  error
}

func (b *broken) Next(context.Context) ([]byte, error) {
	if b.sent {
		return nil, b.err
	}
	b.sent = true
	return []byte("data: 1\n\ndata: half"), nil
}
