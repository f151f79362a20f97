package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aipscope/model"
)

func TestCheckCountsASoundJournal(t *testing.T) {
	j := openDisk(t, privateDir(t))
	for name, rows := range recordings(t) {
		commit(t, openLog(t, j, testSource("act_"+name)), -1, "c", rows...)
	}
	h, err := j.Check(t.Context())
	if err != nil || len(h.Faults) > 0 {
		t.Fatalf("%v, %v", h.Faults, err)
	}
	chunks := 0
	for _, rows := range recordings(t) {
		for _, r := range rows {
			if r.Kind == model.RowChunk {
				chunks++
			}
		}
	}
	if h.Actions != len(recordings(t)) || h.Chunks != chunks || h.Schema != len(migrations) || h.Bytes == 0 || h.WAL == 0 || h.SQLite == "" {
		t.Errorf("%+v, want %d chunks", h, chunks)
	}
}

func TestCheckFindsWhatIsWrong(t *testing.T) {
	for _, tt := range []struct{ name, query, says string }{
		{"a lost row", `DELETE FROM rows WHERE id = (SELECT max(id) FROM rows)`, "there are 2 up to row 2"},
		{"all rows lost", `DELETE FROM rows`, "none of its 3 rows"},
		{"rows of nobody", `DELETE FROM actions`, "3 rows belong to no action"},
		{"a row under another action", `UPDATE rows SET action = 7 WHERE sequence = 1`, "filed under another action"},
		{"a broken row", `UPDATE rows SET body = x'7b' WHERE sequence = 1`, "row 2 of act_a cannot be read"},
		{"a broken stretch", `UPDATE rows SET kind = 'chunks', body = x'0401' WHERE sequence = 2`, "act_a: row 3: a stretch of rows cannot be read"},
	} {
		j := openMemory(t)
		l := openLog(t, j, testSource("act_a"))
		commit(t, l, -1, "", chunkRow(t, 0, "x"), chunkRow(t, 1, "y"), chunkRow(t, 2, "z"))
		if _, err := j.db.Exec(tt.query); err != nil {
			t.Fatal(err)
		}
		h, err := j.Check(t.Context())
		if err != nil || !strings.Contains(strings.Join(h.Faults, "\n"), tt.says) {
			t.Errorf("%s: %q, %v", tt.name, h.Faults, err)
		}
	}
}

// A file that lost its end or holds garbage is called damaged, when it is opened
// or by the check, and never read as if it were whole.
func TestADamagedFileIsFound(t *testing.T) {
	whole := filepath.Join(t.TempDir(), FileName)
	{
		dir := privateDir(t)
		j, err := Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		interleave(t, j, "ONE", "TWO")
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, FileName), whole); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	garble := func(from, n int) []byte {
		c := bytes.Clone(b)
		for i := range n {
			c[from+i] ^= 0xa5
		}
		return c
	}
	for name, damaged := range map[string][]byte{
		"cut in half":          b[:len(b)/2],
		"cut in a page":        b[:len(b)-1000],
		"garbage in a page":    garble(len(b)/2, 4096),
		"garbage over a third": garble(len(b)/3, len(b)/3),
	} {
		dir := privateDir(t)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, FileName), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := Open(t.Context(), dir)
		if err == nil {
			var h Health
			h, err = j.Check(t.Context())
			j.Close()
			if err == nil && len(h.Faults) > 0 {
				continue
			}
		}
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A write-ahead log that lost its end, or holds garbage, gives back a beginning of
// what was committed, whole commits only; following again completes it.
func TestADamagedWriteAheadLogLosesItsEndAlone(t *testing.T) {
	const seed = 7731
	random := rand.New(rand.NewPCG(seed, seed))
	// The files as a killed console leaves them: copied while it runs.
	from := privateDir(t)
	j := openDisk(t, from)
	l := openLog(t, j, testSource("act_a"))
	const chunks = 400
	for n := range chunks {
		commit(t, l, -1, fmt.Sprint(n+1), chunkRow(t, n, strings.Repeat("x", n)))
	}
	db, err := os.ReadFile(filepath.Join(from, FileName))
	if err != nil {
		t.Fatal(err)
	}
	wal, err := os.ReadFile(filepath.Join(from, FileName+"-wal"))
	if err != nil {
		t.Fatal(err)
	}
	garbage := make([]byte, 8192)
	for i := range garbage {
		garbage[i] = byte(random.Uint32())
	}
	cases := map[string][]byte{"all": wal, "none": nil, "garbage": garbage, "garbage behind": append(bytes.Clone(wal), garbage...)}
	for range 20 {
		at := random.IntN(len(wal))
		cases[fmt.Sprintf("cut at %d", at)] = wal[:at]
		at = random.IntN(len(wal) - 100)
		broken := bytes.Clone(wal)
		copy(broken[at:at+100], garbage)
		cases[fmt.Sprintf("garbage at %d", at)] = broken
	}
	for name, wal := range cases {
		dir := privateDir(t)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for file, b := range map[string][]byte{FileName: db, FileName + "-wal": wal} {
			if err := os.WriteFile(filepath.Join(dir, file), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		have, err := restored(t.Context(), t, dir)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.HasPrefix(name, "all") || name == "garbage behind" {
			if have != chunks {
				t.Errorf("%s: %d chunks", name, have)
			}
		}
	}
}

// restored opens a journal, checks that it holds a beginning of the chunks with
// the cursor of its end, and follows the rest.
func restored(ctx context.Context, t *testing.T, dir string) (have int, err error) {
	j, err := Open(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer j.Close()
	l := openLog(t, j, testSource("act_a"))
	rows := allRows(t, l)
	for n, r := range rows {
		if int(r.Chunk.Sequence) != n {
			return 0, fmt.Errorf("chunk %d in place %d", r.Chunk.Sequence, n)
		}
	}
	cursor, err := l.Cursor(ctx)
	if err != nil {
		return 0, err
	}
	if want := fmt.Sprint(len(rows)); cursor != want && (cursor != "" || len(rows) > 0) {
		return 0, fmt.Errorf("cursor %q behind %d chunks", cursor, len(rows))
	}
	for n := len(rows); n < 400; n++ {
		commit(t, l, -1, fmt.Sprint(n+1), chunkRow(t, n, strings.Repeat("x", n)))
	}
	h, err := j.Check(ctx)
	if err == nil && (len(h.Faults) > 0 || h.Chunks != 400) {
		err = fmt.Errorf("%d chunks, %q", h.Chunks, h.Faults)
	}
	return len(rows), err
}

func TestAFullDiskIsNamedAndLosesNothing(t *testing.T) {
	dir := privateDir(t)
	j := openDisk(t, dir)
	l := openLog(t, j, testSource("act_a"))
	commit(t, l, -1, "1", chunkRow(t, 0, "x"))
	var pages int
	if err := j.db.QueryRow(`PRAGMA page_count`).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	limit := func(n int) {
		j.db.SetMaxOpenConns(1) // the limit is a connection's
		if err := j.db.QueryRow(fmt.Sprintf(`PRAGMA max_page_count = %d`, n)).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	limit(pages + 20)
	n := 1
	var err error
	for ; err == nil && n < 1000; n++ {
		_, err = l.Commit(t.Context(), -1, []model.Row{chunkRow(t, n, strings.Repeat("x", 700))}, fmt.Sprint(n+1))
	}
	if !errors.Is(err, ErrFull) {
		t.Fatalf("after %d chunks: %v", n, err)
	}
	n-- // this one failed
	if cursor, err := l.Cursor(t.Context()); cursor != fmt.Sprint(n) || err != nil {
		t.Errorf("cursor %q behind %d chunks, %v", cursor, n, err)
	}
	limit(1 << 30)
	commit(t, l, -1, fmt.Sprint(n+1), chunkRow(t, n, "y"))
	if h, err := j.Check(t.Context()); err != nil || len(h.Faults) > 0 || h.Chunks != n+1 {
		t.Errorf("%+v, %v", h, err)
	}
}
