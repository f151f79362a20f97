package turntest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Rand makes what a test chooses at random the same each time;
// AIPSCOPE_TEST_SEED chooses otherwise.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	seed := uint64(20300102)
	if s := os.Getenv("AIPSCOPE_TEST_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	t.Logf("AIPSCOPE_TEST_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, seed))
}
