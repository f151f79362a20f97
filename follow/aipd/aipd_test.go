package aipd

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aipscope/follow/followtest"
)

func TestEveryRecordingGivesItsChunksAndResult(t *testing.T) {
	c := serve(t, Options{})
	tables, _ := filepath.Glob("../../testdata/recordings/*/verdicts.tsv")
	rows := 0
	for _, table := range tables {
		f, err := os.Open(table)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			row := strings.Split(lines.Text(), "\t")
			if row[0] == "recording" {
				continue
			}
			rows++
			name := strings.TrimSuffix(row[0], ".sse")
			id := newID("act_")
			// chat_large has more frames than the connector takes by default.
			result := c.result(act{id: id, op: row[1], mode: "streaming", input: fmt.Sprintf(`{"recording":%q,"max_events":9000}`, name)})
			code := "-"
			if result.Error != nil {
				code = strings.TrimPrefix(result.Error.Code, "connector.hermes_agent.")
			}
			if string(result.Status) != row[3] || code != row[4] || result.ActionID != id {
				t.Errorf("%s: %s %s, want %s %s", name, result.Status, code, row[3], row[4])
			}
			var chunks []string
			cursor := ""
			for {
				var page struct {
					ActionEvents struct {
						Chunks []struct{ Sequence int }
						Events []struct{ ID string }
						Cursor string
					} `json:"action_events"`
				}
				c.get("/aip/v1/actions/"+id+"/events?include_chunks=true&limit=1000&kinds=none&cursor="+cursor, &page)
				if len(page.ActionEvents.Chunks) == 0 {
					break
				}
				for _, chunk := range page.ActionEvents.Chunks {
					if chunk.Sequence != len(chunks) {
						t.Fatalf("%s: chunk %d has sequence %d", name, len(chunks), chunk.Sequence)
					}
					chunks = append(chunks, "")
				}
				cursor = page.ActionEvents.Cursor
			}
			if fmt.Sprint(len(chunks)) != row[2] {
				t.Errorf("%s: %d chunks, want %s", name, len(chunks), row[2])
			}
		}
	}
	if rows != len(followtest.Library(t).Scenarios()) {
		t.Errorf("%d rows for %d recordings", rows, len(followtest.Library(t).Scenarios()))
	}
}
