package store

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"aipscope/model"
)

// A test that needs another process runs this binary again as a child, which
// does the job named in this variable on the journal named in the next.
const (
	childJob = "AIPSCOPE_STORE_TEST_JOB"
	childDir = "AIPSCOPE_STORE_TEST_DIR"
)

func startChild(t *testing.T, job, dir string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childJob+"="+job, childDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	return cmd, lines
}

func runChild(job string) int {
	err := func() error {
		ctx := context.Background()
		j, err := Open(ctx, os.Getenv(childDir))
		if err != nil {
			return err
		}
		defer j.Close()
		l, err := j.Log(ctx, testSource("act_a"))
		if err != nil {
			return err
		}
		switch job {
		case "stream":
			return streamForEver(ctx, l)
		case "hold":
			return holdForEver(ctx, l)
		case "share":
			return shareStream(ctx, j, l)
		}
		return fmt.Errorf("no job %q", job)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func plainChunk(n int) (model.Row, error) {
	return model.DecodeRow(model.RowChunk, noon, fmt.Appendf(nil, `{"sequence":%d,"kind":"data","data":%q}`, n, strings.Repeat("x", n%700)))
}

// streamForEver follows a stream of chunks from the journal's cursor, and says
// after each commit which chunk is on disk.
func streamForEver(ctx context.Context, l *Log) error {
	cursor, err := l.Cursor(ctx)
	if err != nil {
		return err
	}
	next, _ := strconv.Atoi(cursor)
	for {
		var rows []model.Row
		for range 1 + next%50 {
			r, err := plainChunk(next)
			if err != nil {
				return err
			}
			rows = append(rows, r)
			next++
		}
		if _, err := l.Commit(ctx, -1, rows, strconv.Itoa(next)); err != nil {
			return err
		}
		fmt.Println(next)
	}
}

// holdForEver holds the action until the process is killed.
func holdForEver(ctx context.Context, l *Log) error {
	if _, err := l.Hold(); err != nil {
		return err
	}
	r, err := plainChunk(0)
	if err != nil {
		return err
	}
	if _, err := l.Commit(ctx, -1, []model.Row{r}, ""); err != nil {
		return err
	}
	fmt.Println("held")
	select {}
}

func TestWhatWasCommittedSurvivesAKill(t *testing.T) {
	dir := privateDir(t)
	for round := range 6 {
		child, said := startChild(t, "stream", dir)
		told := 0
		for range 3 + 11*round {
			if !said.Scan() {
				t.Fatalf("the child ended: %v", child.Wait())
			}
			told, _ = strconv.Atoi(said.Text())
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for said.Scan() { // what it said before it died
			told, _ = strconv.Atoi(said.Text())
		}
		child.Wait()

		j, err := Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		l := openLog(t, j, testSource("act_a"))
		cursor, err := l.Cursor(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		at, _ := strconv.Atoi(cursor)
		rows := allRows(t, l)
		if len(rows) < told || at < told {
			t.Fatalf("%d chunks were said to be on disk; %d are, cursor %d", told, len(rows), at)
		}
		if at != len(rows) {
			t.Fatalf("the cursor is at %d after %d chunks", at, len(rows))
		}
		for n, r := range rows {
			if want, _ := plainChunk(n); r.Kind != model.RowChunk || !reflect.DeepEqual(r.Raw, want.Raw) {
				t.Fatalf("row %d is %s %s", r.Number, r.Kind, r.Raw)
			}
		}
		a, err := l.Action(t.Context())
		if err != nil || a.Chunks != len(rows) || a.Revision != rows[len(rows)-1].Number {
			t.Fatalf("the list of actions says %+v, %v", a, err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

const sharedChunks = 600

type sighting struct {
	Tag  string
	Rows []int64
	Seen []uint64
}

// shareStream follows one stream in small batches, and at its end says what it saw.
func shareStream(ctx context.Context, j *Journal, l *Log) error {
	s := sighting{Tag: j.Tag([]byte("a credential"))}
	var after int64
	for n := 0; n < sharedChunks; {
		var rows []model.Row
		for len(rows) < 3 && n < sharedChunks {
			r, err := plainChunk(n)
			if err != nil {
				return err
			}
			rows = append(rows, r)
			n++
		}
		c, err := l.Commit(ctx, after, rows, strconv.Itoa(n))
		if err != nil {
			return err
		}
		for _, r := range c.Rows {
			s.Rows, s.Seen = append(s.Rows, r.Number), append(s.Seen, r.Chunk.Sequence)
			after = r.Number
		}
	}
	return json.NewEncoder(os.Stdout).Encode(s)
}

func TestConsolesShareAJournal(t *testing.T) {
	dir := privateDir(t) // the children race to make it, too
	var saw []sighting
	type running struct {
		cmd *exec.Cmd
		out *bufio.Scanner
	}
	var children []running
	for range 3 {
		cmd, out := startChild(t, "share", dir)
		children = append(children, running{cmd, out})
	}
	for _, c := range children {
		var s sighting
		if !c.out.Scan() {
			t.Fatalf("a console ended: %v", c.cmd.Wait())
		}
		if err := json.Unmarshal(c.out.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		if err := c.cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		saw = append(saw, s)
	}
	j := openDisk(t, dir)
	stored := sighting{Tag: j.Tag([]byte("a credential"))}
	for _, r := range allRows(t, openLog(t, j, testSource("act_a"))) {
		stored.Rows, stored.Seen = append(stored.Rows, r.Number), append(stored.Seen, r.Chunk.Sequence)
	}
	if len(stored.Rows) != sharedChunks {
		t.Fatalf("%d rows for %d chunks", len(stored.Rows), sharedChunks)
	}
	for i, s := range saw {
		if !reflect.DeepEqual(s, stored) {
			t.Errorf("console %d saw %d rows that are not those stored, or made another key", i, len(s.Rows))
		}
	}
}
