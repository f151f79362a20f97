//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"aipscope/follow/aipd"
	"aipscope/follow/client"
	"aipscope/follow/replay"
)

// provider sends chat frames without waiting, and ends; with a pace it does not end,
// and sends one more at each tick.
type provider struct {
	at, of int
	big    int // bytes of the first frame's words
	tools  int // that begin behind it, all at once, and end
	pace   *time.Ticker
}

func (p *provider) Next(ctx context.Context) ([]byte, error) {
	p.at++
	switch {
	case p.at > p.of && p.pace != nil:
		select {
		case <-p.pace.C:
		case <-ctx.Done():
		}
	case p.pace != nil:
	case p.at == p.of-1:
		return p.frame(`{}`, `"stop"`), ctx.Err()
	case p.at >= p.of:
		return []byte("data: [DONE]\n\n"), ctx.Err()
	case p.at == 1 && p.big > 0:
		return p.frame(`{"content": "`+strings.Repeat("word ", p.big/5)+`"}`, "null"), ctx.Err()
	case p.at >= 2 && p.at-2 < 2*p.tools:
		status := "running"
		n := p.at - 2
		if n >= p.tools {
			status, n = "completed", n-p.tools
		}
		return fmt.Appendf(nil, "event: hermes.tool.progress\ndata: {\"tool\": \"terminal\", \"label\": \"step %d\", \"toolCallId\": \"call_%d\", \"status\": %q}\n\n", n, n, status), ctx.Err()
	}
	words := fmt.Sprintf(`{"content": " word %d"}`, p.at)
	if p.at%13 == 0 {
		words = fmt.Sprintf(`{"content": " word %d.\n\nA paragraph begins"}`, p.at)
	}
	return p.frame(words, "null"), ctx.Err()
}

func (p *provider) frame(delta, finish string) []byte {
	return fmt.Appendf(nil, "data: {\"id\": \"chatcmpl-ca06c8f7e98f4a419354d255e90e4\", \"object\": \"chat.completion.chunk\", \"created\": 1893553445, \"model\": \"hermes-agent\", "+
		"\"choices\": [{\"index\": 0, \"delta\": %s, \"finish_reason\": %s}]}\n\n", delta, finish)
}

const action = "act_bench"

// daemon runs the action on a daemon of its own, to its end unless it is paced.
type daemon struct {
	url    string
	server *http.Server
	aipd   *aipd.Server
}

func (d *daemon) close() {
	d.server.Close()
	d.aipd.Close()
}

// follow is where the whole stream is read, as the console does.
func (d *daemon) follow() string {
	return d.url + "/aip/v1/actions/" + action + "/events?follow=true&include_chunks=true&limit=1000"
}

func serve(ctx context.Context, p *provider) (*daemon, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := aipd.New(aipd.Options{
		Unlimited: true, DrainFirst: true, Poll: 20 * time.Millisecond,
		Play: func(context.Context, aipd.Request) (replay.Stream, error) { return p, nil },
	})
	d := &daemon{"http://" + l.Addr().String(), &http.Server{Handler: s}, s}
	go d.server.Serve(l)
	c, err := client.New(client.Config{URL: d.url})
	if err != nil {
		d.close()
		return nil, err
	}
	defer c.Close()
	mode := "sync"
	if p.pace != nil {
		mode = "async"
	}
	_, err = c.Submit(ctx, client.Envelope{MessageID: "msg_bench", SentAt: time.Now(), Action: client.Action{
		ID: action, CapabilityID: "cap:hermes_agent:demo:chat_stream", Mode: mode, Input: json.RawMessage(`{"prompt":"words"}`),
	}}, nil)
	if err != nil {
		d.close()
		return nil, fmt.Errorf("submit: %w", err)
	}
	return d, nil
}
