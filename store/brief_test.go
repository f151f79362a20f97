package store

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"aipscope/model"
)

// turnOf is what the rows add up to, for a comparison.
func turnOf(rows []model.Row) []any {
	t := model.NewTurn("act_a")
	t.Apply(rows)
	var entries []model.Entry
	for _, e := range t.Entries().All() {
		entries = append(entries, e)
	}
	return []any{t.Verdict(), t.Text(), t.Tools(), t.Usage(), t.Gaps(), t.Conflicts(), entries}
}

// sameInBrief fails unless the log tells the same in brief, whatever the page.
func sameInBrief(t *testing.T, l *Log) {
	t.Helper()
	whole := allRows(t, l)
	want := turnOf(whole)
	for _, page := range []int{1 << 20, 300, 7} {
		var rows []model.Row
		for after := int64(0); ; after = rows[len(rows)-1].Number {
			some, err := l.Brief(t.Context(), after, page)
			if err != nil {
				t.Fatal(err)
			}
			if rows = append(rows, some...); len(some) < page {
				break
			}
		}
		if !slices.EqualFunc(rows, whole, func(a, b model.Row) bool {
			return a.Number == b.Number && a.Kind == b.Kind && a.At.Equal(b.At) && a.Size() == b.Size()
		}) {
			t.Fatalf("in pages of %d: %d rows, want %d, or others", page, len(rows), len(whole))
		}
		if got := turnOf(rows); !reflect.DeepEqual(got, want) {
			t.Fatalf("in pages of %d: another turn", page)
		}
	}
}

func TestAnActionReadInBriefIsTheSameTurn(t *testing.T) {
	j := openMemory(t)
	for name, rows := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			l := openLog(t, j, testSource("act_"+name))
			half := len(rows) / 2 // the second half is committed row by row
			commit(t, l, -1, "", rows[:half]...)
			for _, r := range rows[half:] {
				commit(t, l, -1, "", r)
			}
			sameInBrief(t, l)
		})
	}
}

// deltas are rows of one commit that make stretches of words, with a frame in them
// that is told whole.
func deltas(t *testing.T, from int, word string) []model.Row {
	t.Helper()
	var rows []model.Row
	for n := range 300 {
		frame := fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":" %s %d"},"finish_reason":null}]}`, word, n)
		if n == 150 {
			frame = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
		}
		rows = append(rows, row(t, model.RowChunk, noon, fmt.Sprintf(`{"sequence":%d,"kind":"data","data":{"hermes_sse":{"event":null,"id":null,"data":%s,"raw_data":%q,"terminal":false}}}`, from+n, frame, frame)))
	}
	return rows
}

// What is kept in brief is passed over where it is lost, of other rules or damaged.
func TestABriefThatIsOfNoUseIsPassedOver(t *testing.T) {
	for name, query := range map[string]string{
		"there is one":         `SELECT 1`,
		"an older journal":     `DELETE FROM briefs`,
		"other rules":          `UPDATE briefs SET body = x'7f' || substr(body, 2)`,
		"cut":                  `UPDATE briefs SET body = substr(body, 1, length(body) - 1)`,
		"more than it says":    `UPDATE briefs SET body = body || x'00'`,
		"of one row of nobody": `UPDATE briefs SET body = x'0201000000'`,
		"empty":                `UPDATE briefs SET body = x''`,
		"of other words":       `UPDATE briefs SET body = CAST(replace(CAST(body AS TEXT), 'word 2', 'WORD 2') AS BLOB)`,
		"of another stretch":   `UPDATE briefs SET body = (SELECT o.body FROM briefs o WHERE o.id != briefs.id)`,
	} {
		t.Run(name, func(t *testing.T) {
			j := openMemory(t)
			l := openLog(t, j, testSource("act_a"))
			commit(t, l, -1, "", deltas(t, 0, "word")...)
			r, err := j.db.Exec(query)
			if err != nil {
				t.Fatal(err)
			}
			if n, _ := r.RowsAffected(); n != 2 && name != "there is one" {
				t.Fatalf("%d briefs", n)
			}
			sameInBrief(t, l)
			brief, err := l.Brief(t.Context(), 0, 300)
			if err != nil {
				t.Fatal(err)
			}
			if got := brief[0].Raw == nil; got != (name == "there is one") {
				t.Errorf("it was told in brief: %v", got)
			}
			if len(brief[150].Raw) == 0 {
				t.Error("a finish was told in brief")
			}
		})
	}
}

// However little the briefs are of use, a page costs what is on it.
func TestAPageInBriefDecodesNoMoreThanIsOnIt(t *testing.T) {
	for name, query := range map[string]string{
		"other rules": `UPDATE briefs SET body = x'7f' || substr(body, 2)`,
		"cut":         `UPDATE briefs SET body = substr(body, 1, length(body) - 1)`,
	} {
		t.Run(name, func(t *testing.T) {
			j := openMemory(t)
			l := openLog(t, j, testSource("act_a"))
			commit(t, l, -1, "", deltas(t, 0, "word")...)
			// What cannot be decoded shows whether it is.
			for _, q := range []string{query, `UPDATE rows SET body = x'00' WHERE id = (SELECT max(id) FROM rows)`} {
				if _, err := j.db.Exec(q); err != nil {
					t.Fatal(err)
				}
			}
			if rows, err := l.Brief(t.Context(), 0, 100); err != nil || len(rows) != 100 {
				t.Errorf("%d rows, %v", len(rows), err)
			}
			if _, err := l.Brief(t.Context(), 0, 300); err == nil {
				t.Error("a body that cannot be read is passed over")
			}
		})
	}
}

func TestCheckFindsABriefThatSaysSomethingElse(t *testing.T) {
	j := openMemory(t)
	l := openLog(t, j, testSource("act_a"))
	commit(t, l, -1, "", deltas(t, 0, "word")...)
	if h, err := j.Check(t.Context()); err != nil || len(h.Faults) > 0 {
		t.Fatalf("%q, %v", h.Faults, err)
	}
	var id int64
	var body []byte
	if err := j.db.QueryRow(`SELECT id, body FROM briefs ORDER BY id LIMIT 1`).Scan(&id, &body); err != nil {
		t.Fatal(err)
	}
	if _, err := j.db.Exec(`UPDATE briefs SET body = ? WHERE id = ?`, bytes.Replace(body, []byte("word 20"), []byte("WORD 20"), 1), id); err != nil {
		t.Fatal(err)
	}
	h, err := j.Check(t.Context())
	if err != nil || !strings.Contains(strings.Join(h.Faults, "\n"), fmt.Sprintf("row %d of act_a is not what is kept of it in brief", id&maxNumber)) {
		t.Errorf("%q, %v", h.Faults, err)
	}
}

// A console that was started before the journal was migrated forgets without knowing
// of briefs.
func TestBriefsGoWithTheirStretch(t *testing.T) {
	j := openMemory(t)
	l := openLog(t, j, testSource("act_a"))
	commit(t, l, -1, "", deltas(t, 0, "word")...)
	if _, err := j.db.Exec(`DELETE FROM rows`); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := j.db.QueryRow(`SELECT count(*) FROM briefs`).Scan(&n); err != nil || n != 0 {
		t.Errorf("%d briefs are left (%v)", n, err)
	}
}

func FuzzBriefs(f *testing.F) {
	for _, rows := range recordings(f) {
		var chunks []model.Row
		var sequences []int64
		for _, r := range rows {
			if r.Kind == model.RowChunk && len(chunks) < 9 {
				chunks, sequences = append(chunks, r), append(sequences, int64(r.Chunk.Sequence))
			}
		}
		if len(chunks) > 0 {
			f.Add(packBriefs(nil, chunks, sequences), true)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, events bool) {
		kind := model.RowChunk
		if events {
			kind = model.RowEvent
		}
		rows, err := unpackBriefs(kind, 900, 5, body)
		for i, r := range rows {
			if err != nil || r.Number != int64(900-len(rows)+1+i) || r.Size() < 0 {
				t.Fatalf("%+v, %v", r, err)
			}
		}
	})
}
