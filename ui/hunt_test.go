package ui

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/turntest"
)

// typed presses the letters of a text one by one.
func (d *driver) typed(s string) {
	for _, r := range s {
		if r == ' ' {
			d.press(" ")
			continue
		}
		d.press(string(r))
	}
}

func TestAFilterSaysWhatItHides(t *testing.T) {
	for _, c := range []struct {
		filter string
		shown  func(model.Entry) bool
	}{
		{"kind:tool", func(e model.Entry) bool { return e.Tool != "" }},
		{"event:response.output_item.*", func(e model.Entry) bool { return strings.HasPrefix(e.Event, "response.output_item.") }},
		{"kind:tool -event:*.added", func(e model.Entry) bool { return e.Tool != "" && !strings.HasSuffix(e.Event, ".added") }},
		{"tool:read_file", func(e model.Entry) bool { return e.Tool != "" && e.Event == "response.output_item.added" }},
		{".sequence < 3", func(e model.Entry) bool { return e.Sequence < 3 }},
		{`select(.kind == "done")`, func(e model.Entry) bool { return e.Kind == aip.KindDone }},
		{".data.item.type", func(e model.Entry) bool { return strings.HasPrefix(e.Event, "response.output_item.") }},
	} {
		bubble(t, "responses_tools", 120, 40, nil, func(d *driver, rows []model.Row) {
			d.finish(rows)
			d.press("f")
			d.typed(c.filter)
			d.press("enter")
			p := &d.c.chunks
			want := 0
			for _, e := range p.entries.All() {
				if c.shown(e) && !strings.HasPrefix(c.filter, "tool:") {
					want++
				}
			}
			if strings.HasPrefix(c.filter, "tool:") {
				for _, i := range p.hunt.filter.hits {
					if tool := d.c.turn.Tool(p.entries.Entry(i).Tool); tool == nil || tool.Name != "read_file" {
						t.Errorf("%s lets chunk %d through", c.filter, i)
					}
				}
				want = p.len()
			}
			if p.len() != want || want == 0 || want == p.entries.Len() {
				t.Errorf("%s shows %d of %d, want %d", c.filter, p.len(), p.entries.Len(), want)
			}
			hidden := number(p.entries.Len()-want) + " hidden by "
			if !strings.Contains(p.note(), hidden+c.filter) {
				t.Errorf("the border says %q", p.note())
			}
			d.shows(hidden)
			d.press("esc")
			d.hides("hidden by")
			if p.len() != p.entries.Len() {
				t.Error("the filter stays")
			}
		})
	}
}

func TestAFilterGoesOnWithWhatComes(t *testing.T) {
	bubble(t, "responses_tools", 120, 40, nil, func(d *driver, rows []model.Row) {
		d.play(rows[:12])
		d.press("f")
		d.typed("kind:tool")
		d.press("enter")
		d.finish(rows[12:])
		p := &d.c.chunks
		want := 0
		for _, e := range p.entries.All() {
			if e.Tool != "" {
				want++
			}
		}
		if p.len() != want {
			t.Errorf("%d shown, want %d", p.len(), want)
		}
		if p.list.selected != p.len()-1 {
			t.Error("does not follow")
		}
		// An open chunk steps among those that are shown, and a jump to one that
		// is hidden lifts the filter.
		d.press("g", "enter")
		first := d.c.chunks.selected().Sequence
		d.press("]")
		if e := d.c.chunks.selected(); e.Tool == "" || e.Sequence == first {
			t.Errorf("stepped to chunk %d", e.Sequence)
		}
		d.press("esc", "f")
		for range "kind:tool" {
			d.press("backspace")
		}
		d.typed("kind:done")
		d.press("enter", "2", "enter", "enter")
		d.shows("Chunk " + sequence(d.c.turn.Tools()[0].Started) + ",")
		if p.hunt.filtering() {
			t.Error("the filter still hides the chunk that is open")
		}
	})
}

func TestASearchSeesWhatIsShownAndNoMore(t *testing.T) {
	bubble(t, "responses_tools", 120, 40, nil, func(d *driver, rows []model.Row) {
		d.finish(rows)
		const secret = "fc_1293a792e17343b28fb492e3"
		d.press("3", "/")
		d.typed(secret)
		d.press("enter")
		d.shows("Not found: "+secret, "what is masked is not searched")
		d.press("3", "g", "enter", "/", "up", "enter")
		d.shows("not found")
		d.press("r")
		d.shows("found")
		hits := len(d.c.chunks.hunt.search.hits)
		if hits == 0 {
			t.Fatal("nothing found while revealed")
		}
		d.press("n")
		d.shows(secret, "1 of "+number(hits))
		if !strings.Contains(d.c.View(), d.c.styles.match.on+secret) {
			t.Error("what was found is not set apart")
		}
		d.press("esc")
		d.hides(secret + "  1 of")
		if n := len(d.c.chunks.hunt.search.hits); n != 0 {
			t.Errorf("%d hits in masked chunks", n)
		}
	})
}

func TestASearchGoesAround(t *testing.T) {
	bubble(t, "chat_tools", 120, 40, nil, func(d *driver, rows []model.Row) {
		d.finish(rows)
		d.press("3", "/")
		d.typed("read_file")
		d.press("enter")
		hits := d.c.chunks.hunt.search.hits
		if len(hits) < 3 {
			t.Fatalf("hits %v", hits)
		}
		at := func() int { return d.c.chunks.selectedEntry() }
		if at() != hits[0] {
			t.Errorf("at %d, want %d: from the end it begins at the top", at(), hits[0])
		}
		d.shows("/read_file  1 of " + number(len(hits)))
		d.press("n")
		if at() != hits[1] {
			t.Errorf("at %d, want %d", at(), hits[1])
		}
		d.press("N", "N")
		if at() != hits[len(hits)-1] {
			t.Errorf("at %d, want the last", at())
		}
		d.shows("Around the end.")
		d.press("esc")
		d.hides("/read_file")
	})
}

func TestAPromptSaysWhatIsWrong(t *testing.T) {
	bubble(t, "chat_ok", 120, 40, nil, func(d *driver, rows []model.Row) {
		d.finish(rows)
		d.press("f")
		d.typed(".data |")
		d.press("enter")
		d.shows("not a jq expression")
		d.press("esc")
		d.hides("not a jq expression")
		d.press("3", "/")
		d.typed("event:[")
		d.press("enter")
		d.shows("open bracket")
	})
}

// A search stays quick to stop, and shows what it found so far.
func TestALongSearchShowsPartsAndStops(t *testing.T) {
	rows := big(t, 5000)
	synctest.Test(t, func(t *testing.T) {
		slow := make(chan struct{})
		reads := 0
		d := drive(t, 120, 40, func(c *Config) {
			read := c.Row
			c.Row = func(ctx context.Context, n int64) (model.Row, error) {
				if reads++; reads > 2*scanPiece {
					select {
					case <-slow:
					case <-ctx.Done():
						return model.Row{}, ctx.Err()
					}
				}
				return read(ctx, n)
			}
		})
		d.play(rows)
		d.press("3", "/")
		d.typed("delta")
		d.press("enter")
		d.shows("found so far")
		if n := len(d.c.chunks.hunt.search.hits); n != 2*scanPiece {
			t.Errorf("%d found so far", n)
		}
		d.press("esc")
		d.hides("so far")
		close(slow)
		d.drain()
		if n := len(d.c.chunks.hunt.search.hits); n != 0 {
			t.Errorf("%d found by a search that has ended", n)
		}
	})
}

func TestAnExpressionHasADeadlineAndNoEnvironment(t *testing.T) {
	t.Setenv("AIPSCOPE_SECRET", "hidden")
	for _, c := range []struct {
		source string
		want   bool
		slow   bool
	}{
		{".kind == \"data\"", true, false},
		{".data.a == 1", true, false},
		{".chunk.data.hermes_sse.data.a", true, false},
		{".data.b", false, false},
		{".data | has(\"a\")", true, false},
		{"(env | length) > 0", false, false},
		{"(env.AIPSCOPE_SECRET // $ENV.AIPSCOPE_SECRET) != null", false, false},
		{"[range(1e12)] | length", false, true},
	} {
		q, err := parseQuery(c.source)
		if err != nil {
			t.Fatalf("%s: %v", c.source, err)
		}
		one := candidate{entry: model.Entry{Kind: aip.KindData}, content: []byte(`{"data":{"hermes_sse":{"data":{"a":1}}}}`)}
		begin := time.Now()
		got, err := q.fits(t.Context(), &one)
		if got != c.want || (err == errSlow) != c.slow {
			t.Errorf("%s: %v, %v after %v", c.source, got, err, time.Since(begin))
		}
	}
}

func TestWordsAreFoundWhateverTheirCase(t *testing.T) {
	one := candidate{content: []byte(`{"text":"The Canary passed","raw_data":"only here"}`)}
	for source, want := range map[string]bool{
		"canary": true, "CANARY": false, "Canary": true, "canary passed": true, "canary failed": false, "-failed": true, "-canary": false,
		"only": false, "a.b": false, "text": true, "": true,
	} {
		q, err := parseQuery(source)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := q.fits(t.Context(), &one); got != want || err != nil {
			t.Errorf("%q: %v, %v", source, got, err)
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	rows := turntest.Named(b, "chat_large").Rows(b)
	turn := model.NewTurn(turntest.Action)
	turn.Apply(rows)
	byNumber := map[int64]model.Row{}
	for _, r := range rows {
		byNumber[r.Number] = r
	}
	q, _ := parseQuery("needle")
	entries := turn.Entries()
	for b.Loop() {
		for i := range entries.Len() {
			one := candidate{entry: entries.Entry(i), content: byNumber[entries.Row(i)].Raw}
			q.fits(b.Context(), &one)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*entries.Len()), "ns/chunk")
}
