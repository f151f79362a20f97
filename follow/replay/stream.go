package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"strings"
	"time"

	"aipscope/model/hermes"
)

// Stream is the body of a provider's streaming reply.
type Stream interface {
	// Next waits for the next bytes and returns them; they are good until the
	// next call. It fails with io.EOF where the provider closed, with the
	// context's error as soon as that ends, and with any other error for a
	// broken connection.
	Next(ctx context.Context) ([]byte, error)
}

// Refusal is a provider's answer that is not a stream.
type Refusal struct {
	Status int
	Body   []byte
}

func (r *Refusal) Error() string { return fmt.Sprintf("the provider answered %d", r.Status) }

// Pace says how fast a stream is played. The zero Pace does not wait.
type Pace struct {
	Speed float64 // 1 is natural, 2 twice as fast; 0 does not wait
	// Now and Sleep are the clock; nil is the machine's.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

// Wait waits for a natural duration, scaled.
func (p Pace) Wait(ctx context.Context, natural time.Duration) error {
	if p.Speed <= 0 {
		return ctx.Err()
	}
	return p.sleep(ctx, time.Duration(float64(natural)/p.Speed))
}

func (p Pace) sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	if p.Sleep != nil {
		return p.Sleep(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p Pace) now() time.Time {
	if p.Now != nil {
		return p.Now()
	}
	return time.Now()
}

// Play is a stream of the bytes of raw, one provider frame at a time.
func Play(raw []byte, pace Pace) Stream { return &player{raw: raw, pace: pace} }

type player struct {
	raw  []byte
	pace Pace
	due  time.Time // when the next frame is to come, by the sum of all waits
}

// maxLag is how far a stream may fall behind and still catch up. Beyond it, what
// was late stays late.
const maxLag = time.Second

func (p *player) Next(ctx context.Context) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(p.raw) == 0 {
		return nil, io.EOF
	}
	end, next := hermes.FrameEnd(p.raw, 0)
	if next < 0 {
		next = len(p.raw)
	}
	if p.pace.Speed > 0 {
		// Waiting for a moment rather than for a while keeps the rate where a
		// machine's timers are too coarse for single frames.
		now := p.pace.now()
		if p.due.IsZero() || now.Sub(p.due) > maxLag {
			p.due = now
		}
		p.due = p.due.Add(time.Duration(float64(Delay(p.raw[:end])) / p.pace.Speed))
		if err := p.pace.sleep(ctx, p.due.Sub(now)); err != nil {
			return nil, err
		}
	}
	frame := p.raw[:next]
	p.raw = p.raw[next:]
	return frame, nil
}

// Delay is how long a provider takes before it sends a frame: the same for the
// same frame, and of the order that recorded servers showed. The silences that
// keepalives and people fill are made short.
func Delay(frame []byte) time.Duration {
	h := fnv.New32a()
	h.Write(frame)
	between := func(low, high time.Duration) time.Duration {
		return low + time.Duration(h.Sum32()%1000)*(high-low)/1000
	}
	p := hermes.NewParser(hermes.Limits{})
	_ = p.Feed(frame)
	rec, ok, err := p.Close()
	if !ok || err != nil {
		return between(time.Second, 2*time.Second)
	}
	var data struct {
		Status string `json:"status"`
		Item   struct {
			Type string `json:"type"`
		} `json:"item"`
	}
	_ = json.Unmarshal(rec.Data, &data) // a frame of another shape has neither
	name, _ := rec.Name()
	switch {
	case strings.HasSuffix(name, ".responded"):
		return between(1500*time.Millisecond, 2500*time.Millisecond)
	case name == "tool.completed", name == "tool.failed",
		name == "hermes.tool.progress" && data.Status == "completed",
		name == "response.output_item.done" && data.Item.Type == "function_call":
		return between(300*time.Millisecond, 900*time.Millisecond)
	case name == "run.started", name == "response.created":
		return between(80*time.Millisecond, 200*time.Millisecond)
	case rec.Terminal:
		return between(0, 5*time.Millisecond)
	}
	return between(15*time.Millisecond, 40*time.Millisecond)
}
