package store

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aipscope/follow"
	"aipscope/model"
)

// interleave commits chunks of two actions in turns, so that their rows share
// pages and move between them.
func interleave(t *testing.T, j *Journal, a, b string) {
	t.Helper()
	for n := range 300 {
		for _, word := range []string{a, b} {
			r := chunkRow(t, n, word+strings.Repeat("x", n*37%900))
			commit(t, openLog(t, j, testSource("act_"+strings.ToLower(word))), -1, "cursor_"+word, r)
		}
	}
}

func chunkRow(t *testing.T, n int, data string) model.Row {
	t.Helper()
	return newRow(t, model.RowChunk, map[string]any{"sequence": n, "kind": "data", "data": data})
}

// holding counts a word in every file below a directory.
func holding(t *testing.T, dir, word string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(word)) {
			found = append(found, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestForgetLeavesNoByteBehind(t *testing.T) {
	dir := privateDir(t)
	j := openDisk(t, dir)
	other := openDisk(t, dir) // another console has the journal open, not the action
	interleave(t, j, "FORGETME", "KEEPTHIS")
	commit(t, openLog(t, j, testSource("act_forgetme")), -1, "", deltas(t, 300, "FORGETME")...) // and in brief
	allRows(t, openLog(t, other, testSource("act_keepthis")))
	if len(holding(t, dir, "FORGETME")) == 0 {
		t.Fatal("the test's word is in no file")
	}
	if err := j.Forget(t.Context(), testSource("act_forgetme"), noon); err != nil {
		t.Fatal(err)
	}
	if found := holding(t, dir, "FORGETME"); found != nil {
		t.Errorf("content is still in %q", found)
	}
	if rows := allRows(t, openLog(t, j, testSource("act_keepthis"))); len(rows) != 300 {
		t.Errorf("the other action has %d rows", len(rows))
	}
	h, err := other.Check(t.Context())
	if err != nil || len(h.Faults) > 0 || h.Unwiped || h.Actions != 1 || h.Forgotten != 1 || h.Chunks != 300 {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestForgottenActionsAreNeverClaimedAgain(t *testing.T) {
	for name, j := range map[string]*Journal{"disk": openDisk(t, privateDir(t)), "memory": openMemory(t)} {
		l := openLog(t, j, testSource("act_a"))
		request := newRow(t, model.RowRequest, &model.Request{Capability: "cap:x", Input: []byte(`{}`)})
		if mine, err := l.Claim(t.Context(), request); !mine || err != nil {
			t.Fatalf("%s: %v, %v", name, mine, err)
		}
		if err := j.Forget(t.Context(), l.src, noon); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if mine, err := l.Claim(t.Context(), request); mine || err != nil {
			t.Errorf("%s: claimed again: %v, %v", name, mine, err)
		}
		if at, ok, err := l.Forgotten(t.Context()); !at.Equal(noon) || !ok || err != nil {
			t.Errorf("%s: forgotten at %v, %v, %v", name, at, ok, err)
		}
		if at, ok, err := j.Forgotten(t.Context(), "act_a"); !at.Equal(noon) || !ok || err != nil {
			t.Errorf("%s: forgotten at %v, %v, %v", name, at, ok, err)
		}
		if _, ok, err := j.Forgotten(t.Context(), "act_b"); ok || err != nil {
			t.Errorf("%s: another action is forgotten, too: %v", name, err)
		}
		if mine, err := openLog(t, j, testSource("act_b")).Claim(t.Context(), request); !mine || err != nil {
			t.Errorf("%s: another action: %v, %v", name, mine, err)
		}
		if err := j.Forget(t.Context(), l.src, noon); !errors.Is(err, ErrNoAction) {
			t.Errorf("%s: forgotten twice: %v", name, err)
		}
		// It may be watched again, from a first row.
		if c := commit(t, l, -1, "", chunkRow(t, 0, "again")); len(c.Rows) != 1 {
			t.Errorf("%s: %v", name, c)
		}
	}
}

func TestNobodyForgetsWhatAConsoleHolds(t *testing.T) {
	dir := privateDir(t)
	j, other := openDisk(t, dir), openDisk(t, dir)
	l := openLog(t, j, testSource("act_a"))
	commit(t, l, -1, "", chunkRow(t, 0, "x"))
	hold := func(j *Journal) func() {
		t.Helper()
		release, err := openLog(t, j, testSource("act_a")).Hold()
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	first, second := hold(j), hold(other) // several may hold it
	for range 2 {
		if err := other.Forget(t.Context(), l.src, noon); !errors.Is(err, ErrInUse) {
			t.Fatalf("forgotten while held: %v", err)
		}
		first()
		first = func() {}
	}
	second()
	if err := other.Forget(t.Context(), l.src, noon); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(filepath.Join(dir, leaseDir)); err != nil || len(entries) != 0 {
		t.Errorf("locks are left: %v, %v", entries, err)
	}

	alone, err := l.lease(true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Hold(); !errors.Is(err, ErrInUse) {
		t.Errorf("held while it is removed: %v", err)
	}
	alone()
}

func TestAKilledConsoleHoldsNothing(t *testing.T) {
	dir := privateDir(t)
	child, said := startChild(t, "hold", dir)
	if !said.Scan() {
		t.Fatalf("the child ended: %v", child.Wait())
	}
	j := openDisk(t, dir)
	if err := j.Forget(t.Context(), testSource("act_a"), noon); !errors.Is(err, ErrInUse) {
		t.Fatalf("forgotten while another process holds it: %v", err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	child.Wait()
	if err := j.Forget(t.Context(), testSource("act_a"), noon); err != nil {
		t.Fatal(err)
	}
}

func TestPruneForgetsTheOldAndUnheld(t *testing.T) {
	dir := privateDir(t)
	j := openDisk(t, dir)
	for id, age := range map[string]time.Duration{"act_old": 40 * 24 * time.Hour, "act_held": 31 * 24 * time.Hour, "act_new": 29 * 24 * time.Hour} {
		r := chunkRow(t, 0, "CONTENT_"+id)
		r.At = noon.Add(-age)
		commit(t, openLog(t, j, testSource(id)), -1, "", r)
	}
	release, err := openLog(t, j, testSource("act_held")).Hold()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	done, err := j.Prune(t.Context(), noon.Add(-30*24*time.Hour), noon)
	if err != nil {
		t.Fatal(err)
	}
	want := Pruned{Removed: []follow.Source{{URL: testSource("").URL, Action: "act_old"}}, InUse: []follow.Source{{URL: testSource("").URL, Action: "act_held"}}}
	if !slices.Equal(done.Removed, want.Removed) || !slices.Equal(done.InUse, want.InUse) {
		t.Errorf("%+v", done)
	}
	for id, there := range map[string]bool{"act_old": false, "act_held": true, "act_new": true} {
		if found := holding(t, dir, "CONTENT_"+id); there != (found != nil) {
			t.Errorf("%s is in %q", id, found)
		}
	}
}

// Content that a reader kept in the files is removed by the next prune, and
// until then check says so.
func TestPruneFinishesWhatForgetCouldNot(t *testing.T) {
	dir := privateDir(t)
	j, err := open(t.Context(), dir, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	interleave(t, j, "FORGETME", "KEEPTHIS")
	reader := openDisk(t, dir)
	rows, err := reader.db.QueryContext(t.Context(), `SELECT body FROM rows`)
	if err != nil || !rows.Next() {
		t.Fatal(err)
	}
	if err := j.Forget(t.Context(), testSource("act_forgetme"), noon); !errors.Is(err, ErrUnwiped) || !errors.Is(err, ErrLocked) {
		t.Fatalf("%v", err)
	}
	if rows := allRows(t, openLog(t, j, testSource("act_forgetme"))); len(rows) > 0 {
		t.Errorf("%d rows are left", len(rows))
	}
	if h, err := j.Check(t.Context()); !h.Unwiped || err != nil {
		t.Errorf("%+v, %v", h, err)
	}
	rows.Close()
	if done, err := j.Prune(t.Context(), time.Time{}, noon); err != nil || len(done.Removed) > 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	if found := holding(t, dir, "FORGETME"); found != nil {
		t.Errorf("content is still in %q", found)
	}
	if h, err := j.Check(t.Context()); h.Unwiped || err != nil {
		t.Errorf("%+v, %v", h, err)
	}
}
