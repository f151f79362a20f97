package aipd

import (
	"context"
	"io"
	"testing"
	"time"

	"aipscope/follow/replay"
)

// BenchmarkFollow runs an action of 100,000 chunks and follows it to its end.
func BenchmarkFollow(b *testing.B) {
	const chunks = 100_000
	for b.Loop() {
		c := serve(b, Options{Unlimited: true, DrainFirst: true, Poll: 5 * time.Millisecond, Play: func(context.Context, Request) (replay.Stream, error) {
			return &endless{left: chunks - 1}, nil
		}})
		c.submit(act{id: "act_1", op: "chat_stream", mode: "async", input: chatInput})
		f := c.follow("/aip/v1/actions/act_1/events?follow=true&include_chunks=true&limit=1000")
		n, err := io.Copy(io.Discard, f.in)
		if err != nil || n < chunks*500 {
			b.Fatal(n, err)
		}
		b.SetBytes(n)
		f.body.Close()
		c.server.Close()
	}
}

// BenchmarkFollowFinished follows an action whose chunks are all there.
func BenchmarkFollowFinished(b *testing.B) {
	const chunks = 100_000
	c := serve(b, Options{Unlimited: true, DrainFirst: true, Play: func(context.Context, Request) (replay.Stream, error) {
		return &endless{left: chunks - 1}, nil
	}})
	c.result(act{id: "act_1", op: "chat_stream", mode: "sync", input: chatInput})
	for b.Loop() {
		f := c.follow("/aip/v1/actions/act_1/events?follow=true&include_chunks=true&limit=1000")
		n, err := io.Copy(io.Discard, f.in)
		if err != nil || n < chunks*500 {
			b.Fatal(n, err)
		}
		b.SetBytes(n)
		f.body.Close()
	}
}
