package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"aipscope/follow"
	"aipscope/model"
	"aipscope/model/aip"
)

// In these tests a row is written "kind raw".
func parseRow(t testing.TB, s string) model.Row {
	t.Helper()
	kind, raw, _ := strings.Cut(s, " ")
	return row(t, model.RowKind(kind), noon, raw)
}

func TestCommitKeepsWhatIsNewOnce(t *testing.T) {
	const chunk0 = `chunk {"action_id":"act_a","sequence":0,"kind":"data","data":{"x":[1,{"y":"é"}],"n":10}}`
	const result = `result {"action_id":"act_a","status":"completed","output":{"a":1}`
	tests := []struct {
		name       string
		first      []string
		again      string
		stored     model.RowKind // of again, "" for nothing
		duplicates int
	}{
		{"a chunk again", []string{chunk0}, chunk0, "", 1},
		{"a chunk in another order of members, spacing and spelling", []string{chunk0},
			`chunk {"kind":"data", "part":null, "data":{"n":1.0e1, "x":[1, {"y":"\u00e9"}]}, "sequence":0, "action_id":"act_a"}`, "", 1},
		{"a chunk with fields that nobody reads", []string{chunk0},
			`chunk {"action_id":"act_a","sequence":0,"kind":"data","data":{"x":[1,{"y":"é"}],"n":10},"seen":true}`, "", 1},
		{"other data under a sequence", []string{chunk0}, `chunk {"action_id":"act_a","sequence":0,"kind":"data","data":{"x":[]}}`, model.RowConflict, 0},
		{"another kind under a sequence", []string{chunk0},
			`chunk {"action_id":"act_a","sequence":0,"kind":"done","data":{"x":[1,{"y":"é"}],"n":10}}`, model.RowConflict, 0},
		{"another part under a sequence", []string{chunk0},
			`chunk {"action_id":"act_a","sequence":0,"kind":"data","data":{"x":[1,{"y":"é"}],"n":10},"part":{"type":"text","text":"x"}}`, model.RowConflict, 0},
		{"another order in an array", []string{chunk0}, `chunk {"action_id":"act_a","sequence":0,"kind":"data","data":{"x":[{"y":"é"},1],"n":10}}`, model.RowConflict, 0},
		{"another lone surrogate", []string{`chunk {"sequence":0,"kind":"data","data":"\ud800"}`}, `chunk {"sequence":0,"kind":"data","data":"\ud801"}`, model.RowConflict, 0},
		{"the same conflict again", []string{chunk0, `chunk {"sequence":0,"kind":"data","data":1}`}, `chunk {"sequence":0,"kind":"data", "data":1.0}`, "", 1},
		{"a third content", []string{chunk0, `chunk {"sequence":0,"kind":"data","data":1}`}, `chunk {"sequence":0,"kind":"data","data":2}`, model.RowConflict, 0},
		{"the first content after a conflict", []string{chunk0, `chunk {"sequence":0,"kind":"data","data":1}`}, chunk0, "", 1},
		{"the content of another sequence", []string{chunk0}, strings.Replace(chunk0, `"sequence":0`, `"sequence":1`, 1), model.RowChunk, 0},
		{"the greatest sequence", []string{`chunk {"sequence":18446744073709551615,"kind":"data","data":1}`}, `chunk {"sequence":18446744073709551615,"kind":"data","data":2}`, model.RowConflict, 0},
		{"a lower sequence", []string{`chunk {"sequence":5,"kind":"data"}`}, `chunk {"sequence":3,"kind":"data"}`, model.RowChunk, 0},

		{"an event again", []string{`event {"id":"evt_1","kind":"aip.x"}`}, `event {"id":"evt_1","kind":"aip.x"}`, "", 1},
		{"another event", []string{`event {"id":"evt_1","kind":"aip.x"}`}, `event {"id":"evt_2","kind":"aip.x"}`, model.RowEvent, 0},
		{"the event of a chunk again", []string{`event {"id":"evt_1","kind":"aip.stream.chunk","data":{"sequence":3}}`},
			`event {"kind":"aip.stream.chunk","id":"evt_1","data":{"sequence":3}}`, "", 1},
		{"an event without an ID again", []string{`event {"id":"","kind":"aip.x","data":{"a":1,"b":2}}`}, `event {"kind":"aip.x","data":{"b":2,"a":1},"id":""}`, "", 1},
		{"another event without an ID", []string{`event {"id":"","kind":"aip.x"}`}, `event {"id":"","kind":"aip.y"}`, model.RowEvent, 0},
		{"an event with a very long ID again", []string{`event {"id":"` + strings.Repeat("x", 9000) + `","kind":"aip.x"}`}, `event {"id":"` + strings.Repeat("x", 9000) + `","kind":"aip.x"}`, "", 1},

		{"a result again", []string{result + `}`}, strings.Replace(result, `":{"a":1}`, `": {"a" : 1}`, 1) + `}`, "", 1},
		{"another result", []string{result + `}`}, `result {"action_id":"act_a","status":"failed"}`, model.RowResult, 0},
		{"a result compared after one that was not", []string{result + `}`}, result + `,"aggregate":{"events":2,"matched":2,"missing":0}}`, model.RowResult, 0},
		{"a result not compared after one that was", []string{result + `,"aggregate":{"events":2,"matched":2,"missing":0}}`}, result + `}`, "", 1},
		{"a result compared in the same way", []string{result + `,"aggregate":{"events":2,"matched":2,"missing":0}}`}, result + `,"aggregate":{"missing":0,"events":2,"matched":2}}`, "", 1},
		{"a replay again", []string{`replay {"action_id":"act_b","status":"completed"}`}, `replay {"action_id":"act_b","status":"completed"}`, "", 1},
		{"a replay like a result", []string{`result {"action_id":"act_b","status":"completed"}`}, `replay {"action_id":"act_b","status":"completed"}`, model.RowReplay, 0},

		{"a status as the last", []string{`status {"action_id":"act_a","state":"running"}`}, `status {"state":"running","action_id":"act_a"}`, "", 0},
		{"a status that came back", []string{`status {"state":"running"}`, `status {"state":"pending_approval"}`}, `status {"state":"running"}`, model.RowStatus, 0},
		{"a settled row as the last", []string{`settled {"state":"completed","waited_ms":5000}`}, `settled {"state":"completed","waited_ms":5000}`, "", 0},
		{"a recovered event again", []string{`recovered {"first":true,"after":0,"index":3,"record":{"event":null,"id":null,"data":{},"raw_data":"{}","terminal":false}}`},
			`recovered {"after":0,"first":true,"index":3,"record":{"event":null,"id":null,"data":{ },"raw_data":"{}","terminal":false}}`, "", 0},
		{"a recovered event of another index", []string{`recovered {"after":0,"index":3,"record":{"data":{},"raw_data":"{}"}}`},
			`recovered {"after":0,"index":4,"record":{"data":{},"raw_data":"{}"}}`, model.RowRecovered, 0},

		{"an error again", []string{`error {"code":"storage.unavailable"}`}, `error {"code":"storage.unavailable"}`, model.RowError, 0},
		{"a confirmation again", []string{`confirm {"answer":true,"through":4}`}, `confirm {"answer":true,"through":4}`, model.RowConfirm, 0},
		{"a cancellation again", []string{`cancel {"step":"asked"}`}, `cancel {"step":"asked"}`, model.RowCancel, 0},
		{"a kind of a newer console", []string{`annotation "x"`}, `annotation "x"`, "annotation", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := openLog(t, openMemory(t), testSource("act_a"))
			for _, s := range tt.first {
				commit(t, l, 0, "", parseRow(t, s))
			}
			before := allRows(t, l)
			if len(before) != len(tt.first) {
				t.Fatalf("%d of %d first rows were stored", len(before), len(tt.first))
			}
			again := parseRow(t, tt.again)
			c := commit(t, l, before[len(before)-1].Number, "", again)
			if c.Duplicates != tt.duplicates {
				t.Errorf("%d duplicates, want %d", c.Duplicates, tt.duplicates)
			}
			want := before
			if tt.stored != "" {
				wantRows(t, c.Rows, as(tt.stored, again))
				want = append(want, c.Rows...)
			} else {
				wantRows(t, c.Rows)
			}
			wantRows(t, allRows(t, l), want...)
		})
	}
}

func TestCommitFindsDuplicatesInsideABatch(t *testing.T) {
	l := openLog(t, openMemory(t), testSource("act_a"))
	a, b := parseRow(t, `chunk {"sequence":0,"kind":"data","data":1}`), parseRow(t, `chunk {"sequence":0,"kind":"data","data":2}`)
	c := commit(t, l, 0, "", a, a, b, b, a)
	wantRows(t, c.Rows, a, as(model.RowConflict, b))
	if c.Duplicates != 3 {
		t.Errorf("%d duplicates, want 3", c.Duplicates)
	}
}

func TestCommitRefusesARowThatCannotBeReadBack(t *testing.T) {
	l := openLog(t, openMemory(t), testSource("act_a"))
	good := parseRow(t, `chunk {"sequence":0,"kind":"data"}`)
	for _, bad := range []model.Row{{}, {Kind: model.RowChunk}, {Raw: []byte(`{}`)}, {Kind: model.RowChunk, Raw: []byte(`[]`)}, {Kind: model.RowResult, Raw: []byte(`{`)}} {
		if _, err := l.Commit(t.Context(), 0, []model.Row{good, bad}, "c"); err == nil {
			t.Errorf("%+v was stored", bad)
		}
	}
	wantRows(t, allRows(t, l))
	if c, err := l.Cursor(t.Context()); c != "" || err != nil {
		t.Errorf("cursor %q, %v", c, err)
	}
	// A row that came as bytes alone is decoded first.
	c := commit(t, l, 0, "", model.Row{Kind: model.RowChunk, Raw: []byte(`{"sequence":7,"kind":"data"}`)})
	if c.Rows[0].Chunk == nil || c.Rows[0].Chunk.Sequence != 7 {
		t.Errorf("stored as %+v", c.Rows[0])
	}
}

func TestCommitReturnsWhatTheCallerHasNotSeen(t *testing.T) {
	j := openMemory(t)
	mine, theirs := openLog(t, j, testSource("act_a")), openLog(t, j, testSource("act_a"))
	one, two, three := parseRow(t, `chunk {"sequence":1,"kind":"data"}`), parseRow(t, `chunk {"sequence":2,"kind":"data"}`), parseRow(t, `chunk {"sequence":3,"kind":"data"}`)
	c := commit(t, mine, 0, "", one)
	wantRows(t, c.Rows, one)
	seen := c.Rows[0].Number
	commit(t, theirs, 0, "", two)
	wantRows(t, commit(t, mine, seen, "", one, two, three).Rows, two, three)
	wantRows(t, commit(t, mine, -1, "", one, three).Rows)
	wantRows(t, commit(t, mine, 0, "").Rows, one, two, three)
	wantRows(t, commit(t, mine, seen, "cursor").Rows, two, three)
	own := parseRow(t, `cancel {"step":"asked"}`)
	wantRows(t, commit(t, mine, -1, "", own).Rows, own)
}

func TestRowsPagesInOrder(t *testing.T) {
	l := openLog(t, openDisk(t, privateDir(t)), testSource("act_a"))
	var want []model.Row
	for n := range 10 {
		want = append(want, parseRow(t, fmt.Sprintf(`chunk {"sequence":%d,"kind":"data"}`, n)))
	}
	other := openLog(t, l.j, testSource("act_b"))
	commit(t, other, 0, "", want...)
	commit(t, l, 0, "", want...)
	commit(t, other, 0, "", parseRow(t, `chunk {"sequence":77,"kind":"data"}`))
	var got []model.Row
	for after := int64(0); ; {
		rows, err := l.Rows(t.Context(), after, 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) == 0 {
			break
		}
		got = append(got, rows...)
		after = rows[len(rows)-1].Number
	}
	wantRows(t, got, want...)
	r, err := l.Row(t.Context(), got[4].Number)
	if err != nil || !reflect.DeepEqual(r, got[4]) {
		t.Errorf("row %d is %+v, %v", got[4].Number, r, err)
	}
	for _, n := range []int64{-1, 0, 11, 1 << 41} {
		if _, err := l.Row(t.Context(), n); !errors.Is(err, ErrNoRow) {
			t.Errorf("row %d: %v", n, err)
		}
	}
}

func TestLogWritesNothingBeforeTheFirstCommit(t *testing.T) {
	j := openMemory(t)
	l := openLog(t, j, testSource("act_a"))
	wantRows(t, commit(t, l, 0, "").Rows)
	if err := l.DropCursor(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a, err := j.Actions(t.Context()); len(a) != 0 || err != nil {
		t.Errorf("%v, %v", a, err)
	}
	for _, src := range []follow.Source{{URL: "http://x"}, {Action: "act_a"}} {
		if _, err := j.Log(t.Context(), src); err == nil {
			t.Errorf("a log of %+v", src)
		}
	}
}

func TestCursorHoldsForItsURLRouteAndCredentialOnly(t *testing.T) {
	j := openMemory(t)
	src := testSource("act_a")
	l := openLog(t, j, src)
	commit(t, l, 0, "one", parseRow(t, `chunk {"sequence":0,"kind":"data"}`))
	commit(t, l, 0, "two")
	others := map[string]follow.Source{}
	for name, change := range map[string]func(*follow.Source){
		"url":        func(s *follow.Source) { s.URL = "http://127.0.0.1:8081" },
		"action":     func(s *follow.Source) { s.Action = "act_b" },
		"route":      func(s *follow.Source) { s.Route += "?kinds=x" },
		"credential": func(s *follow.Source) { s.Credential = "" },
	} {
		other := src
		change(&other)
		others[name] = other
	}
	want := func(src follow.Source, cursor string) {
		t.Helper()
		if got, err := openLog(t, j, src).Cursor(t.Context()); got != cursor || err != nil {
			t.Errorf("cursor %q, %v; want %q", got, err, cursor)
		}
	}
	want(src, "two")
	for name, other := range others {
		want(other, "")
		commit(t, openLog(t, j, other), 0, name)
	}
	if err := l.DropCursor(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(src, "")
	for name, other := range others {
		want(other, name)
	}
	// The rows are the action's, whoever asks for them.
	if rows := allRows(t, openLog(t, j, others["route"])); len(rows) != 1 {
		t.Errorf("%d rows under another route", len(rows))
	}
	if rows := allRows(t, openLog(t, j, others["url"])); len(rows) != 0 {
		t.Errorf("%d rows under another URL", len(rows))
	}
}

func TestClaimIsGivenOnce(t *testing.T) {
	dir := privateDir(t)
	request := newRow(t, model.RowRequest, &model.Request{Capability: "cap:x"})
	const consoles = 4
	claimed := make(chan bool, consoles)
	var group sync.WaitGroup
	for range consoles {
		l := openLog(t, openDisk(t, dir), testSource("act_a"))
		group.Go(func() {
			ok, err := l.Claim(t.Context(), request)
			if err != nil {
				t.Error(err)
			}
			claimed <- ok
		})
	}
	group.Wait()
	close(claimed)
	n := 0
	for ok := range claimed {
		if ok {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d consoles claimed the action", n)
	}
	j := openDisk(t, dir)
	wantRows(t, allRows(t, openLog(t, j, testSource("act_a"))), request)

	watched := openLog(t, j, testSource("act_b"))
	commit(t, watched, 0, "", parseRow(t, `status {"state":"running"}`))
	if ok, err := watched.Claim(t.Context(), request); ok || err != nil {
		t.Errorf("a watched action was claimed: %t, %v", ok, err)
	}
	if _, err := openLog(t, j, testSource("act_c")).Claim(t.Context(), parseRow(t, `cancel {"step":"asked"}`)); err == nil {
		t.Error("a cancellation claimed an action")
	}
}

func TestCommitEndsWithItsContext(t *testing.T) {
	dir := privateDir(t)
	holder := openDisk(t, dir)
	waiter, err := open(t.Context(), dir, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { waiter.Close() })
	l := openLog(t, waiter, testSource("act_a"))
	chunk := parseRow(t, `chunk {"sequence":0,"kind":"data"}`)

	tx, err := holder.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	if _, err := l.Commit(ctx, 0, []model.Row{chunk}, "c"); !errors.Is(err, context.Canceled) {
		t.Errorf("commit under another's lock: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	wantRows(t, commit(t, l, 0, "", chunk).Rows, chunk)
}

func TestCommitSaysThatAnotherHoldsTheJournal(t *testing.T) {
	dir := privateDir(t)
	holder := openDisk(t, dir)
	waiter, err := open(t.Context(), dir, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { waiter.Close() })
	tx, err := holder.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	l := openLog(t, waiter, testSource("act_a"))
	if _, err := l.Commit(t.Context(), 0, nil, "c"); !errors.Is(err, ErrLocked) {
		t.Errorf("commit under another's lock: %v", err)
	}
	// Reading goes on meanwhile.
	wantRows(t, allRows(t, l))
}

func TestACommitThatFailsLeavesNothing(t *testing.T) {
	j := openDisk(t, privateDir(t))
	j.db.SetMaxOpenConns(1) // the limit below is the connection's
	l := openLog(t, j, testSource("act_a"))
	commit(t, l, 0, "start", parseRow(t, `chunk {"sequence":0,"kind":"data"}`))
	limit := func(pages int) {
		t.Helper()
		if _, err := j.db.ExecContext(t.Context(), fmt.Sprintf(`PRAGMA max_page_count = %d`, pages)); err != nil {
			t.Fatal(err)
		}
	}
	limit(40)
	var rows []model.Row
	for n := range 40 {
		rows = append(rows, parseRow(t, fmt.Sprintf(`chunk {"sequence":%d,"kind":"data","data":%q}`, n+1, strings.Repeat("x", 9000))))
	}
	if _, err := l.Commit(t.Context(), 0, rows, "end"); !errors.Is(err, ErrFull) {
		t.Fatalf("commit on a full disk: %v", err)
	}
	if got := allRows(t, l); len(got) != 1 {
		t.Errorf("%d rows are left of a failed commit", len(got)-1)
	}
	if c, err := l.Cursor(t.Context()); c != "start" || err != nil {
		t.Errorf("cursor %q, %v", c, err)
	}
	limit(10_000)
	if c := commit(t, l, 1, "end", rows...); len(c.Rows) != len(rows) {
		t.Errorf("%d rows stored once there was room", len(c.Rows))
	}
}

func TestNumbersAscendForAFollowerOfAForgottenAction(t *testing.T) {
	l := openLog(t, openMemory(t), testSource("act_a"))
	c := commit(t, l, 500, "", parseRow(t, `chunk {"sequence":0,"kind":"data"}`))
	if len(c.Rows) != 1 || c.Rows[0].Number <= 500 {
		t.Errorf("%+v", c.Rows)
	}
}

func TestRecordingsComeBackAsTheyWere(t *testing.T) {
	j := openDisk(t, privateDir(t))
	for name, rows := range recordings(t) {
		l := openLog(t, j, testSource("act_"+name))
		var after int64
		for from := 0; from < len(rows); from += 7 {
			c := commit(t, l, after, "", rows[from:min(from+7, len(rows))]...)
			wantRows(t, c.Rows, rows[from:min(from+7, len(rows))]...)
			after = c.Rows[len(c.Rows)-1].Number
		}
		wantRows(t, allRows(t, l), rows...)
		c := commit(t, l, after, "", rows[1:]...)
		if len(c.Rows) != 0 || c.Duplicates != len(rows)-1 {
			t.Errorf("%s delivered again: %d rows new, %d of %d duplicates", name, len(c.Rows), c.Duplicates, len(rows)-1)
		}
	}
}

// item is a row of the property test with the identity that its making gives it.
type item struct {
	kind    model.RowKind
	id      string // what a duplicate shares
	content string // what a chunk of the same id may differ in
	raw     string
}

func pickItem(r *rand.Rand) item {
	n, v := r.IntN(12), r.IntN(3)
	space := strings.Repeat(" ", r.IntN(2))
	switch r.IntN(8) {
	case 0, 1, 2, 3:
		return item{model.RowChunk, fmt.Sprint(n), fmt.Sprint(v), fmt.Sprintf(`{"sequence":%d,%s"kind":"data","data":{"v":%d}}`, n, space, v)}
	case 4:
		return item{model.RowEvent, fmt.Sprint(n), "", fmt.Sprintf(`{"id":"evt_%d",%s"kind":"x"}`, n, space)}
	case 5:
		return item{model.RowStatus, fmt.Sprint(v), "", fmt.Sprintf(`{"state":"s%d"%s}`, v, space)}
	case 6:
		return item{model.RowResult, fmt.Sprint(v), "", fmt.Sprintf(`{"status":"completed","output":%d%s}`, v, space)}
	default:
		return item{model.RowError, "", "", fmt.Sprintf(`{"code":"e%d"}`, v)}
	}
}

// pickRun is what comes when a daemon has many ready: chunks, or the events about
// chunks, in the order of their sequences, some of them left out.
func pickRun(r *rand.Rand) (run []item) {
	events, content, name := r.IntN(2) == 0, r.IntN(3), r.IntN(2)
	for n, end := r.IntN(30), r.IntN(50); n < end; n += 1 + r.IntN(2)*r.IntN(3) {
		i := item{model.RowChunk, fmt.Sprint(n), fmt.Sprint(content), fmt.Sprintf(`{"sequence":%d,"kind":"data","data":{"v":%d}}`, n, content)}
		if events {
			id := fmt.Sprintf("evt_stream_%d_%d", name, n)
			i = item{model.RowEvent, id, "", fmt.Sprintf(`{"id":%q,"kind":"aip.stream.chunk","data":{"sequence":%d}%s}`, id, n, strings.Repeat(" ", r.IntN(2)))}
		}
		run = append(run, i)
	}
	return run
}

// oracle is the rule of a commit, in its simplest form.
type oracle struct {
	rows  []item
	known map[string]bool
	first map[string]string // content of the chunk that came first
	state string
}

func (o *oracle) add(i item) (duplicate bool) {
	stored := i
	switch i.kind {
	case model.RowChunk:
		if first, ok := o.first[i.id]; ok {
			conflict := "conflict" + i.id + "/" + i.content
			if first == i.content || o.known[conflict] {
				return true
			}
			o.known[conflict] = true
			stored.kind = model.RowConflict
		} else {
			o.first[i.id] = i.content
		}
	case model.RowEvent, model.RowResult:
		if o.known[string(i.kind)+i.id] {
			return true
		}
		o.known[string(i.kind)+i.id] = true
	case model.RowStatus:
		if o.state == i.id {
			return false
		}
		o.state = i.id
	}
	o.rows = append(o.rows, stored)
	return false
}

func TestFollowersOfOneJournalSeeTheSameRowsInOrder(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			dir := privateDir(t)
			type follower struct {
				log   *Log
				after int64
				seen  []model.Row
			}
			followers := make([]*follower, 3)
			for i := range followers {
				followers[i] = &follower{log: openLog(t, openDisk(t, dir), testSource("act_a"))}
			}
			o := oracle{known: map[string]bool{}, first: map[string]string{}}
			read := func(f *follower, c follow.Committed) {
				for _, row := range c.Rows {
					if row.Number <= f.after {
						t.Fatalf("row %d after %d", row.Number, f.after)
					}
					f.after = row.Number
				}
				f.seen = append(f.seen, c.Rows...)
			}
			for range 40 {
				f := followers[r.IntN(len(followers))]
				var rows []model.Row
				duplicates := 0
				var items []item
				for range r.IntN(9) {
					items = append(items, pickItem(r))
				}
				if r.IntN(2) == 0 {
					items = append(items, pickRun(r)...)
				}
				for _, i := range items {
					rows = append(rows, row(t, i.kind, noon, i.raw))
					if o.add(i) {
						duplicates++
					}
				}
				c := commit(t, f.log, f.after, "", rows...)
				if c.Duplicates != duplicates {
					t.Fatalf("%d duplicates, want %d", c.Duplicates, duplicates)
				}
				read(f, c)
			}
			stored := allRows(t, followers[0].log)
			if len(stored) != len(o.rows) {
				t.Fatalf("%d rows are stored, want %d", len(stored), len(o.rows))
			}
			for i, row := range stored {
				if row.Kind != o.rows[i].kind || string(row.Raw) != o.rows[i].raw {
					t.Fatalf("row %d is %s %s, want %+v", i, row.Kind, row.Raw, o.rows[i])
				}
				if alone, err := followers[0].log.Row(t.Context(), row.Number); err != nil || !reflect.DeepEqual(alone, row) {
					t.Fatalf("row %d by itself is %+v, %v", row.Number, alone, err)
				}
			}
			if h, err := followers[0].log.j.Check(t.Context()); err != nil || len(h.Faults) > 0 || h.Rows != len(stored) {
				t.Fatalf("%+v, %v", h, err)
			}
			for i, f := range followers {
				read(f, commit(t, f.log, f.after, ""))
				if !reflect.DeepEqual(f.seen, stored) {
					t.Fatalf("follower %d saw other rows than are stored", i)
				}
			}
		})
	}
}

func TestFrequentQueriesUseAnIndex(t *testing.T) {
	j := openMemory(t)
	for query, args := range map[string]int{
		selectAction: 2, selectRows: 3, selectBriefs: 4, selectBody: 1, selectChunk: 2, selectRare + ` ORDER BY id DESC LIMIT 1`: 2,
		chunkStretch.top: 1, chunkStretch.find: 2, chunkStretch.between: 3, eventStretch.top: 1, eventStretch.find: 2, eventStretch.between: 3,
	} {
		found, err := j.db.QueryContext(t.Context(), `EXPLAIN QUERY PLAN `+query, make([]any, args)...)
		if err != nil {
			t.Fatal(err)
		}
		for found.Next() {
			var id, parent, unused int
			var step string
			if err := found.Scan(&id, &parent, &unused, &step); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(step, "SCAN ") && step != "SCAN CONSTANT ROW" || strings.Contains(step, "TEMP B-TREE") {
				t.Errorf("%s\n%s", query, step)
			}
		}
		if err := errors.Join(found.Err(), found.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStateOfAnActionIsTheLastWord(t *testing.T) {
	l := openLog(t, openMemory(t), testSource("act_a"))
	for _, step := range []struct {
		row  string
		want aip.State
	}{
		{`chunk {"sequence":0,"kind":"data"}`, ""},
		{`status {"state":"running","capability_id":"cap:a"}`, aip.StateRunning},
		{`status {"state":""}`, aip.StateRunning},
		{`replay {"action_id":"act_b","status":"completed"}`, aip.StateRunning},
		{`result {"status":"pending_approval"}`, aip.StatePendingApproval},
		{`result {"status":"failed"}`, aip.StateFailed},
		{`settled {"state":"expired"}`, aip.StateExpired},
	} {
		commit(t, l, 0, "", parseRow(t, step.row))
		a, err := l.Action(t.Context())
		if err != nil || a.State != step.want {
			t.Errorf("after %s the state is %q (%v), want %q", step.row, a.State, err, step.want)
		}
	}
}
