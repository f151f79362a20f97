package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// untilSignal returns a context that ends with the first signal that asks to
// leave, with a fault, or with a terminal or a reader that is gone. A second SIGINT or
// SIGTERM, or patience after the first or after a terminal was left that takes no more,
// does not wait for the work to end, which what is printed last may hold up: the journal is
// sound at any moment.
func (a *app) untilSignal(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	a.end, a.stuck = cancel, make(chan struct{}, 1)
	// A write to a reader that is gone, or beyond a limit of the file's size, fails
	// like any other; it is no reason to die in mid-work.
	if len(writeSignals) > 0 { // none would mean all
		signal.Ignore(writeSignals...)
	}
	// What was ignored when we were started, by nohup for one, stays so.
	var asked []os.Signal
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			asked = append(asked, s)
		}
	}
	came := make(chan os.Signal, 4)
	if len(asked) > 0 {
		signal.Notify(came, asked...)
	}
	done := make(chan struct{})
	a.spawn(func() {
		var late <-chan time.Time
		for count := 0; ; {
			select {
			case <-late:
				a.leaveNow()
			case <-a.stuck:
				late = time.After(patience)
			case s := <-came:
				// A terminal that closes may send SIGHUP more than once.
				if s != syscall.SIGHUP || count == 0 {
					count++
				}
				if count > 1 {
					a.leaveNow()
				}
				late = time.After(patience)
				leaveBackground()
				cancel(nil)
			case <-done:
				return
			}
		}
	})
	return ctx, func() {
		signal.Stop(came)
		close(done)
		cancel(nil)
	}
}

// patience is how long a run may take to end.
const patience = 10 * time.Second

// leaveNow ends the process. A console's terminal is given back first.
func (a *app) leaveNow() {
	if s := a.screen.Load(); s != nil {
		s.rescue()
	}
	os.Exit(exitInterrupted)
}
