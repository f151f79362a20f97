package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"aipscope/model"
)

var header = Header{Action: "act_a", URL: "http://127.0.0.1:8080", Made: noon, Masked: true}

func sequence(rows []model.Row) iter.Seq2[model.Row, error] {
	return func(yield func(model.Row, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func numbered(rows ...model.Row) []model.Row {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Number = int64(2*i + 1)
	}
	return rows
}

func export(t testing.TB, rows []model.Row) string {
	t.Helper()
	var b strings.Builder
	if err := Export(&b, header, sequence(rows), nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// imported reads a whole export: its rows up to the first error.
func imported(r io.Reader) (Header, []model.Row, error) {
	h, found, err := Import(r)
	if err != nil {
		return h, nil, err
	}
	var rows []model.Row
	for row, err := range found {
		if err != nil {
			return h, rows, err
		}
		rows = append(rows, row)
	}
	return h, rows, nil
}

func TestAnExportComesBackAsItWas(t *testing.T) {
	hostile := []string{
		`{"sequence":0,"kind":"data","data":"plain <b> & text"}`,
		`{ "sequence" : 0 , "kind" : "data" }`,
		"{\"sequence\":0,\r\n\"kind\":\"data\"}",
		` {"sequence":0,"kind":"data"} `,
		"{\"sequence\":0,\"kind\":\"data\",\"data\":\"\u202eevil\u009b31m\u2028\u200b\u007f\"}",
		`{"sequence":0,"kind":"data","data":"\u001b]0;title\u0007"}`,
		`{"sequence":0,"kind":"data","data":"\ud800 alone"}`,
		"{\"sequence\":0,\"kind\":\"data\",\"data\":\"\xff\xc3\"}",
	}
	var rows []model.Row
	for _, raw := range hostile {
		rows = append(rows, row(t, model.RowChunk, noon, raw))
	}
	rows = append(rows,
		model.Row{Kind: "annotation", At: noon, Raw: []byte("not json\x1b[31m\n")},
		model.Row{Kind: "annotation\u202e", Raw: []byte(`null`)},
		model.Row{Kind: "annotation", At: noon, Raw: []byte(`"text"`)},
	)
	all := map[string][]model.Row{"hostile": rows, "empty": nil}
	for name, rows := range recordings(t) {
		all[name] = rows
	}
	for name, rows := range all {
		rows = numbered(rows...)
		text := export(t, rows)
		if i := strings.IndexFunc(text, func(r rune) bool {
			return r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar && name == "hostile")
		}); i >= 0 {
			t.Errorf("%s: the export holds %q", name, text[i:min(i+12, len(text))])
		}
		for line := range strings.Lines(text) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%s: a line is not JSON: %q", name, line)
			}
		}
		h, got, err := imported(strings.NewReader(text))
		if err != nil || h != header {
			t.Fatalf("%s: %+v, %v", name, h, err)
		}
		if len(got) != len(rows) {
			t.Fatalf("%s: %d rows of %d", name, len(got), len(rows))
		}
		for i := range rows {
			if !reflect.DeepEqual(got[i], rows[i]) {
				t.Fatalf("%s: row %d is\n%+v\nwant\n%+v", name, i, got[i], rows[i])
			}
		}
	}
}

func TestAJournalExportsAndImportsItsRows(t *testing.T) {
	j := openMemory(t)
	l := openLog(t, j, testSource("act_a"))
	c := commit(t, l, 0, "", recordings(t)["chat_tools_hostile"]...)
	var b bytes.Buffer
	if err := Export(&b, header, l.All(t.Context()), nil); err != nil {
		t.Fatal(err)
	}
	_, rows, err := imported(&b)
	if err != nil || !reflect.DeepEqual(rows, c.Rows) {
		t.Errorf("%d rows of %d, %v", len(rows), len(c.Rows), err)
	}
}

func TestExportWritesWhatTheTransformReturnsAndNothingElse(t *testing.T) {
	secret := row(t, model.RowChunk, noon, "{\"sequence\":4,\"kind\":\"data\",\n\"data\":\"secret \u202e\"}")
	var b strings.Builder
	err := Export(&b, header, sequence(numbered(secret)), func(r model.Row) (model.Row, error) {
		masked, err := model.DecodeRow(r.Kind, r.At, []byte(`{"sequence":4,"kind":"data","data":"‹8 chars›"}`))
		masked.Number = r.Number
		return masked, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"n":1,"kind":"chunk","at":"2030-01-02T12:00:00.123456789Z","body":{"sequence":4,"kind":"data","data":"‹8 chars›"}}`; !strings.Contains(b.String(), want+"\n") {
		t.Errorf("%s\nlacks\n%s", b.String(), want)
	}
	failed := errors.New("cannot be masked")
	err = Export(io.Discard, header, sequence(numbered(secret)), func(model.Row) (model.Row, error) { return model.Row{}, failed })
	if !errors.Is(err, failed) || !strings.Contains(err.Error(), "row 1") {
		t.Errorf("%v", err)
	}
	err = Export(io.Discard, header, func(yield func(model.Row, error) bool) { yield(model.Row{}, failed) }, nil)
	if !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
	reader, writer := io.Pipe()
	reader.CloseWithError(failed)
	if err := Export(writer, header, sequence(numbered(secret)), nil); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
}

func TestAnExportThatIsCutOffSaysSo(t *testing.T) {
	rows := numbered(recordings(t)["chat_ok"]...)
	rows = rows[:min(len(rows), 6)]
	whole := export(t, rows)
	for n := range len(whole) {
		_, got, err := imported(strings.NewReader(whole[:n]))
		if err == nil {
			t.Fatalf("%d of %d bytes were taken for a whole export", n, len(whole))
		}
		if inRows := strings.Contains(whole[:n], "\n"); inRows && (!errors.Is(err, ErrTruncated) || !strings.Contains(err.Error(), "line ")) {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if len(got) > len(rows) || len(got) > 0 && !reflect.DeepEqual(got, rows[:len(got)]) {
			t.Fatalf("cut at %d: other rows came back", n)
		}
	}
}

func TestImportRefusesWhatIsNoExport(t *testing.T) {
	const head = `{"format":"aipscope-journal","version":1,"action_id":"act_a"}` + "\n"
	const first = `{"n":3,"kind":"chunk","body":{"sequence":0,"kind":"data"}}` + "\n"
	for _, tt := range []struct {
		name, text string
		want       error
		says       string
	}{
		{"nothing", "", ErrNotExport, "empty"},
		{"a provider capture", "data: {\"choices\":[]}\n\ndata: [DONE]\n\n", ErrNotExport, "header"},
		{"other JSON lines", `{"type":"link","state":"connecting"}` + "\n", ErrNotExport, "header"},
		{"a line for ever", strings.Repeat("x", maxHeader+2), ErrNotExport, "header"},
		{"a newer version", `{"format":"aipscope-journal","version":2}` + "\n", ErrNewer, "version 2"},
		{"garbage between rows", head + first + "garbage\n", nil, "line 3"},
		{"an empty line", head + first + "\n", nil, "line 3"},
		{"a row before the last", head + first + first, nil, "line 3: row number 3"},
		{"a row without a number", head + `{"kind":"chunk","body":{}}` + "\n", nil, "line 2: row number 0"},
		{"a row without a kind", head + `{"n":1,"body":{}}` + "\n", nil, "line 2: the row has no kind"},
		{"a row without a body", head + `{"n":1,"kind":"chunk"}` + "\n", nil, "line 2: the row has no body"},
		{"a row with an empty body", head + `{"n":1,"kind":"x","raw":""}` + "\n", nil, "line 2: the row has no body"},
		{"a row that is not of its kind", head + `{"n":1,"kind":"chunk","body":{"sequence":"x"}}` + "\n", nil, "line 2: decode chunk row"},
		{"fewer rows than the end says", head + first + `{"end":true,"rows":2}` + "\n", ErrTruncated, "line 3"},
		{"more rows than the end says", head + first + `{"end":true,"rows":0}` + "\n", ErrTruncated, "line 3"},
		{"something after the end", head + first + `{"end":true,"rows":1}` + "\n" + first, nil, "follows the end"},
	} {
		_, _, err := imported(strings.NewReader(tt.text))
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if _, rows, err := imported(strings.NewReader(strings.ReplaceAll(head+first+`{"end":true,"rows":1}`+"\n", "\n", "\r\n"))); err != nil || len(rows) != 1 {
		t.Errorf("with CR LF: %d rows, %v", len(rows), err)
	}
}

func TestImportReadsLinesUpToItsLimit(t *testing.T) {
	in := &lineReader{in: bufio.NewReaderSize(strings.NewReader("12345678\n\n123456789\n"), 16), limit: 9}
	for _, want := range []string{"12345678", ""} {
		if line, err := in.next(); string(line) != want || err != nil {
			t.Errorf("%q, %v", line, err)
		}
	}
	if _, err := in.next(); !errors.Is(err, errTooLong) || in.line != 3 {
		t.Errorf("line %d: %v", in.line, err)
	}
}

func TestImportPassesOnWhatReadingFailsWith(t *testing.T) {
	whole := export(t, numbered(row(t, model.RowChunk, noon, `{"sequence":0,"kind":"data"}`)))
	failed := errors.New("the disk is gone")
	for _, n := range []int{0, 10, len(whole) - 30} {
		_, _, err := imported(io.MultiReader(strings.NewReader(whole[:n]), brokenReader{failed}))
		if !errors.Is(err, failed) {
			t.Errorf("broken after %d bytes: %v", n, err)
		}
	}
}

type brokenReader struct{ err error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.err }

// FuzzImport checks that any file is refused or read, and that what is read is
// exported to the same rows again.
func FuzzImport(f *testing.F) {
	f.Add([]byte(export(f, numbered(row(f, model.RowChunk, noon, "{\"sequence\":0,\r\n\"kind\":\"data\",\"data\":\"\u202e\"}"), model.Row{Kind: "x", Raw: []byte("y")}))))
	f.Add([]byte(`{"format":"aipscope-journal","version":1}` + "\n" + `{"end":true}` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, rows, err := imported(bytes.NewReader(b))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := Export(&again, h, sequence(rows), nil); err != nil {
			return // a year beyond 9999, which no JSON time can hold
		}
		if _, got, err := imported(&again); err != nil || !reflect.DeepEqual(got, rows) {
			t.Fatalf("%v\n%+v\n%+v", err, got, rows)
		}
	})
}
