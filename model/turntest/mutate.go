package turntest

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// Readable reports whether the connector reads a provider stream to its end, so
// that Rows can.
func Readable(body []byte) bool {
	p := hermes.NewParser(hermes.DefaultLimits)
	if p.Feed(body) != nil {
		return false
	}
	for {
		_, ok, err := p.Next()
		if err != nil {
			return false
		}
		if !ok {
			_, _, err := p.Close()
			return err == nil
		}
	}
}

// Mutate returns a journal that some daemon might have brought about: rows are
// lost, repeated under their sequence with other content, and changed in their
// values, and there is another result, several, or none. It is numbered as a journal is.
func Mutate(tb testing.TB, rows []model.Row, r *rand.Rand) []model.Row {
	tb.Helper()
	var out []model.Row
	known := map[uint64]string{}
	add := func(row model.Row) {
		if row.Kind == model.RowChunk || row.Kind == model.RowConflict {
			raw, seen := known[row.Chunk.Sequence]
			if seen && raw == string(row.Raw) {
				return
			}
			row.Kind = model.RowChunk
			if seen {
				row.Kind = model.RowConflict
			} else {
				known[row.Chunk.Sequence] = string(row.Raw)
			}
		}
		row.Number = int64(len(out) + 1)
		out = append(out, row)
	}
	harm := r.IntN(30)
	for _, row := range rows {
		if harm > 0 && r.IntN(40) < harm/6 {
			switch r.IntN(4) {
			case 0:
				continue
			case 1:
				add(row)
			}
			if changed, err := model.DecodeRow(row.Kind, row.At, alter(row.Raw, r)); err == nil && aChunkIsOne(changed) {
				row = changed
			}
		}
		add(row)
	}
	last := rows[len(rows)-1]
	switch r.IntN(6) {
	case 0:
		add(last)
	case 1:
		out = slices.DeleteFunc(out, func(row model.Row) bool { return row.Kind == model.RowResult })
	case 2:
		if forced := forcedResult(tb, last, r); forced.Kind != "" {
			out = slices.DeleteFunc(out, func(row model.Row) bool { return row.Kind == model.RowResult })
			add(forced)
		}
	case 3:
		add(forcedResult(tb, last, r))
	case 4:
		b := Builder{TB: tb, Rows: out}
		b.Add(model.RowSettled, &model.Settled{State: []aip.State{aip.StateCompleted, aip.StateFailed, aip.StateCancelled, "odd"}[r.IntN(4)]})
		out = b.Rows
	}
	for i := range out {
		out[i].Number = int64(i + 1)
	}
	return out
}

func aChunkIsOne(r model.Row) bool { return r.Kind != model.RowChunk || r.Chunk.Kind != "" }

// forcedResult is a result that says completed whatever the stream said, or
// something else altogether.
func forcedResult(tb testing.TB, last model.Row, r *rand.Rand) model.Row {
	tb.Helper()
	if last.Result == nil {
		return last
	}
	res := *last.Result
	res.Status = []aip.ResultStatus{"completed", "completed", "failed", "cancelled", "pending_approval", "odd"}[r.IntN(6)]
	if r.IntN(2) == 0 {
		res.Error = nil
	}
	if r.IntN(2) == 0 {
		out := strings.NewReplacer(`"terminal":false`, `"terminal":true`, `"truncated":true`, `"truncated":false`).Replace(string(res.Output))
		res.Output = json.RawMessage(out)
	}
	row, err := model.NewRow(model.RowResult, last.At, &res)
	if err != nil {
		tb.Fatal(err)
	}
	return row
}

// alter changes some values of JSON, or their names.
func alter(raw []byte, r *rand.Rand) []byte {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return raw
	}
	out, err := json.Marshal(alterValue(v, r))
	if err != nil {
		return raw
	}
	return out
}

func alterValue(v any, r *rand.Rand) any {
	if r.IntN(12) == 0 {
		return []any{nil, true, false, 0, -1, 1.5, "", "stop", "completed", "error", []any{}, map[string]any{}, map[string]any{"redacted": true}, strings.Repeat("x", 20)}[r.IntN(14)]
	}
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = alterValue(v[i], r)
		}
		if len(v) > 0 && r.IntN(8) == 0 {
			v = append(v, v[0])
		}
		return v
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			v[k] = alterValue(v[k], r)
			switch r.IntN(40) {
			case 0:
				delete(v, k)
			case 1:
				v[strings.ToUpper(k)] = v[k]
			}
		}
	}
	return v
}
