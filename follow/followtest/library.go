package followtest

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"aipscope/follow/replay"
)

var library = sync.OnceValues(func() (*replay.Library, error) {
	_, file, _, _ := runtime.Caller(0)
	return replay.Open(os.DirFS(filepath.Join(filepath.Dir(file), "..", "..", "testdata", "recordings")))
})

// Library are the recordings for an embedded daemon, whichever package asks.
func Library(t testing.TB) *replay.Library {
	t.Helper()
	l, err := library()
	if err != nil {
		t.Fatal(err)
	}
	return l
}
