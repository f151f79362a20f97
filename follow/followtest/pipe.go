// Package followtest holds what tests of the follower and of its users share: a
// daemon's handler behind in-memory connections, and a journal in memory. Both
// work inside a synctest bubble, where a real socket would not.
package followtest

import (
	"context"
	"net"
	"net/http"
	"testing"
)

// Serve runs handler on in-memory connections until the test ends, and returns
// how to dial it.
func Serve(t testing.TB, handler http.Handler) func(ctx context.Context, network, address string) (net.Conn, error) {
	l := &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: handler}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l) // always ends with ErrServerClosed
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		near, far := net.Pipe()
		select {
		case l.conns <- far:
			return near, nil
		case <-l.closed:
			return nil, net.ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

type listener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

func (l *listener) Addr() net.Addr { return address{} }

type address struct{}

func (address) Network() string { return "pipe" }
func (address) String() string  { return "pipe" }
