package store

import (
	"fmt"
	"testing"

	"aipscope/model"
)

// What comes by the hundred is stored in few records, and read back row by row.
func TestManyRowsAtOnceAreFewRecords(t *testing.T) {
	j := openMemory(t)
	l := openLog(t, j, testSource("act_a"))
	var rows []model.Row
	for n := range 300 {
		rows = append(rows, row(t, model.RowEvent, noon, fmt.Sprintf(`{"id":"evt_%d","kind":"aip.stream.chunk","data":{"sequence":%d}}`, n, n)))
	}
	for n := range 300 {
		rows = append(rows, chunkRow(t, n, "x"))
	}
	commit(t, l, -1, "c", rows...)
	var records int
	if err := j.db.QueryRow(`SELECT count(*) FROM rows`).Scan(&records); err != nil || records != 4 {
		t.Errorf("%d records (%v)", records, err)
	}
	again := commit(t, l, 600, "c", rows...)
	if again.Duplicates != 600 || len(again.Rows) != 0 {
		t.Errorf("again: %d duplicates, %d rows", again.Duplicates, len(again.Rows))
	}
	for _, page := range []struct {
		after int64
		limit int
	}{{0, 600}, {254, 4}, {299, 2}, {599, 9}, {600, 9}} {
		got, err := l.Rows(t.Context(), page.after, page.limit)
		if want := min(page.limit, 600-int(page.after)); err != nil || len(got) != want {
			t.Fatalf("%+v: %d rows, want %d (%v)", page, len(got), want, err)
		}
		for i, r := range got {
			n := int(page.after) + i
			if r.Number != int64(n+1) || string(r.Raw) != string(rows[n].Raw) || !r.At.Equal(rows[n].At) {
				t.Fatalf("row %d is %+v", n+1, r)
			}
		}
	}
}

func TestAStretchThatCannotBeReadIsAFault(t *testing.T) {
	whole := pack(nil, []model.Row{{Raw: []byte("a")}, {Raw: []byte("bc")}}, []int64{7, 9})
	if got, err := unpack(12, 0, whole); err != nil || len(got) != 2 || got[0].number != 11 || got[1].sequence != 9 || string(got[1].body) != "bc" {
		t.Fatalf("%+v, %v", got, err)
	}
	for n := range whole {
		if _, err := unpack(12, 0, whole[:n]); err == nil {
			t.Errorf("%d bytes of %d were read", n, len(whole))
		}
	}
	for name, body := range map[string][]byte{"more": append(whole[:len(whole):len(whole)], 'x'), "none": {0}, "too many": {0xff, 0xff, 3}} {
		if _, err := unpack(12, 0, body); err == nil {
			t.Errorf("%s was read", name)
		}
	}
	if _, err := unpack(1, 0, whole); err == nil {
		t.Error("numbers below 1 were given")
	}
}
