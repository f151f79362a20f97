package follow_test

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"testing"
	"testing/synctest"

	"aipscope/follow/followtest"
	"aipscope/model/turntest"
)

// A small recording of each family is followed through cuts at every byte of its
// follow stream, and at twice as many, and so on: ended softly and by a reset, as
// long as only the stream can tell the end, and with plain pages behind it. The
// same is done to the plain answers. Whatever was delivered when, it adds up to
// what the whole stream does.
//
// AIPSCOPE_SWEEP=1 takes every offset, which takes minutes; else each run takes
// some, and begins with another one.
func TestCutsAtEveryByte(t *testing.T) {
	type sweep struct {
		recording string
		step      int
	}
	sweeps := []sweep{{"chat_tool_orphan", 31}, {"responses_exception_first", 31}, {"session_stream_failing", 31}, {"runs_approval_newer", 31},
		{"chat_tools", 911}, {"responses_ok", 409}, {"session_stream_ok", 613}, {"runs_tools_events", 787}}
	if os.Getenv("AIPSCOPE_SWEEP") != "" {
		for i := range sweeps {
			sweeps[i].step = 1
		}
	} else if turntest.Racing {
		for i := range sweeps {
			sweeps[i].step *= 5
		}
	}
	for _, w := range sweeps {
		t.Run(w.recording, func(t *testing.T) {
			t.Parallel()
			var want clean
			var whole int
			synctest.Test(t, func(t *testing.T) {
				d := misbehave(t, "", "streaming", 0)
				d.submit(t, w.recording)
				synctest.Wait()
				body, err := d.client.Follow(t.Context(), d.action, "")
				if err != nil {
					t.Fatal(err)
				}
				raw, err := io.ReadAll(body)
				if err != nil {
					t.Fatal(err)
				}
				body.Close()
				whole = len(raw)
				want = summary(turnOf(d, collect(t, d.watch(t, &followtest.Log{}))))
			})
			runs := 0
			r := turntest.Rand(t)
			for n := 1 + r.IntN(w.step); n <= whole; n += w.step {
				// Soft and hard ends, with and without a state that tells of the end,
				// take turns; each offset has a stream and a page.
				faults := fmt.Sprintf("cut=%d", n)
				if n%2 == 0 {
					faults = fmt.Sprintf("reset=%d", n)
				}
				if n%3 != 0 {
					faults += ",unknown"
				}
				faults += ",cut-answers=" + strconv.Itoa(1+n%whole)
				runs++
				synctest.Test(t, func(t *testing.T) {
					d := misbehave(t, faults, "streaming", 0)
					d.submit(t, w.recording)
					synctest.Wait()
					s := collect(t, d.watch(t, &followtest.Log{}))
					if got := summary(turnOf(d, s)); got != want || s.last.Err != nil {
						t.Fatalf("%s: %+v, %v\nwant %+v\nafter %s", faults, got, s.last.Err, want, s.states())
					}
				})
			}
			t.Logf("%d offsets of %d bytes", runs, whole)
		})
	}
}
