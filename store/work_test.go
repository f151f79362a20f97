package store

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"aipscope/model"
)

// interruptedAt ends a context when the journal says for the nth time that it does
// something.
func interruptedAt(t *testing.T, j *Journal, doing string, nth int) context.Context {
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	j.Tell(func(w Work) {
		if w.Doing == doing {
			if nth--; nth == 0 {
				stop()
			}
		}
	})
	return ctx
}

func sound(t *testing.T, j *Journal) Health {
	t.Helper()
	j.Tell(nil)
	h, err := j.Check(t.Context())
	if err != nil || len(h.Faults) > 0 {
		t.Fatalf("%v %v", h.Faults, err)
	}
	return h
}

func TestLongWorkThatIsInterruptedLeavesASoundJournal(t *testing.T) {
	j := openDisk(t, privateDir(t))
	for _, name := range []string{"one", "two", "three", "four"} {
		var rows []model.Row
		for n := range 300 {
			rows = append(rows, chunkRow(t, n, strings.Repeat("x", n*37%900)))
		}
		commit(t, openLog(t, j, testSource("act_"+name)), -1, "cursor", rows...)
	}
	future := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

	if _, err := j.Check(interruptedAt(t, j, "reading the journal", 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("check: %v", err)
	}
	sound(t, j)

	done, err := j.Prune(interruptedAt(t, j, "removing actions", 2), future, future)
	if !errors.Is(err, context.Canceled) || len(done.Removed) != 1 {
		t.Errorf("prune: %d removed, %v", len(done.Removed), err)
	}
	if h := sound(t, j); h.Actions != 3 || h.Forgotten != 1 || !h.Unwiped {
		t.Errorf("%+v", h)
	}

	src := testSource("act_two")
	err = j.Forget(interruptedAt(t, j, "writing the journal's files anew", 1), src, future)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, ErrUnwiped) {
		t.Errorf("forget: %v", err)
	}
	if h := sound(t, j); h.Actions != 2 || h.Forgotten != 2 || !h.Unwiped {
		t.Errorf("%+v", h)
	}

	// What was left is done by the next one.
	if done, err = j.Prune(t.Context(), future, future); err != nil || len(done.Removed) != 2 {
		t.Errorf("%d removed, %v", len(done.Removed), err)
	}
	if h := sound(t, j); h.Actions != 0 || h.Rows != 0 || h.Unwiped {
		t.Errorf("%+v", h)
	}
}
