package model

import (
	"math/rand/v2"
	"testing"
)

// Whatever the order in which events and chunks come, a chunk has the time that its
// event told last, and once.
func TestTimesThatCameEarlyAreTakenOnce(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		var e early
		want := map[uint64]int64{}
		next := uint64(rnd.IntN(3))
		for at := range int64(400) {
			sequence := next
			switch rnd.IntN(20) {
			case 0:
				sequence = rnd.Uint64N(next + 3)
			case 1:
				next += rnd.Uint64N(3)
			case 2:
				sequence = -sequence
			default:
				next++
			}
			if rnd.IntN(int(1+seed%4)) == 0 {
				e.keep(sequence, at)
				want[sequence] = at
			}
			if rnd.IntN(2) == 0 {
				sequence -= rnd.Uint64N(5)
			}
			was, has := want[sequence]
			if got, ok := e.take(sequence); ok != has || got != was {
				t.Fatalf("seed %d: %d is %d, %v; want %d, %v", seed, sequence, got, ok, was, has)
			}
			delete(want, sequence)
		}
		for sequence, was := range want {
			if got, ok := e.take(sequence); !ok || got != was {
				t.Fatalf("seed %d: at last %d is %d, %v; want %d", seed, sequence, got, ok, was)
			}
		}
	}
}
