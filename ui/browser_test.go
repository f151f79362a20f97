package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"aipscope/follow/act"
	"aipscope/follow/aipd"
	"aipscope/model/aip"
	"aipscope/model/hermes"
	"aipscope/model/turntest"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/golden"
)

func TestSessionsAreListedReadAndContinued(t *testing.T) {
	for _, size := range bothSizes() {
		t.Run(number(size[0]), func(t *testing.T) {
			var list, tree, messages string
			atWork(t, size[0], size[1], aipd.Options{}, nil, func(b *bench) {
				b.press("S")
				b.pass(time.Second)
				b.shows("sessions", "read", "masked, r reveals")
				b.hides("demo-second", "Arithmetic")
				list = b.seen()
				b.press("r")
				b.shows("demo-second", "user_closed", "Arithmetic")
				b.press("t")
				b.pass(time.Second)
				b.shows("└ demo-fork-1")
				tree = b.seen()
				b.press("/")
				b.write("demo-tools")
				b.press("enter", "enter")
				b.pass(time.Second)
				b.shows("Messages of demo-tools", "7 returned of 7", "calls read_file", "answered", "assistant")
				messages = b.seen()
				b.press("m")
				b.pass(time.Second)
				b.shows("session_chat_stream", "demo-tools", "proves neither", "message")
				b.write("And now?")
				b.press("ctrl+s")
				b.pass(time.Second)
				b.shows(`"message": "And now?"`, `"session_id": "demo-tools"`)
				b.press("enter")
				b.pass(20 * time.Second)
				b.shows("session_chat_stream", "UNCONFIRMED")
				if b.posts != 1 {
					t.Errorf("%d posts", b.posts)
				}
				b.press("M") // the messages show what is there
				b.pass(time.Second)
				b.shows("Messages of ", "14 returned of 14", "masked, r reveals")
				b.hides("Three things are left")
				b.press("esc", "esc", "esc")
				b.shows("UNCONFIRMED")
				b.press("S")
				b.hides("demo-tools") // masked again, once it was left
			})
			golden.RequireEqual(t, []byte(list+tree+messages))
		})
	}
}

// pages are sessions in two pages, the second of which repeats one.
func pages() func(input json.RawMessage) string {
	return func(input json.RawMessage) string {
		var in struct{ Offset, Limit int }
		_ = json.Unmarshal(input, &in)
		var rows []string
		if in.Offset > 0 {
			rows = append(rows, `{"id":"s-0"}`) // it moved
		}
		for i := in.Offset; i < min(in.Offset+in.Limit, 70); i++ {
			rows = append(rows, fmt.Sprintf(`{"id":"s-%d","title":"Title %d","source":"cli","message_count":%d}`, i, i, i))
		}
		return `{"object":"list","data":[` + strings.Join(rows, ",") + `]}`
	}
}

func TestPagesAreReadOneByOneAndEachSessionIsShownOnce(t *testing.T) {
	served := &canned{list: pages()}
	atWork(t, 120, 30, aipd.Options{}, served, func(b *bench) {
		served.Service = b.client
		b.press("S")
		b.pass(time.Second)
		b.shows("50 sessions or more", "n next page", "the last page was full")
		b.press("G", "n", "n")
		b.pass(time.Second)
		b.shows("70 sessions", "1 row came again, shown once")
		b.hides("n next page", "or more")
		b.press("r", "/")
		b.write("title 69")
		b.shows("1 of 70 sessions", "s-69")
		b.press("esc", "/")
		b.write("source:cron")
		b.press("enter")
		b.pass(time.Second)
		if !slices.ContainsFunc(served.asked, func(s string) bool { return strings.Contains(s, `"source":"cron"`) }) {
			t.Errorf("the provider was not asked for the source: %v", served.asked)
		}
	})
}

func TestAForkShowsSourceAndChildWhateverItAnswers(t *testing.T) {
	atWork(t, 110, 34, aipd.Options{}, nil, func(b *bench) {
		b.press("S")
		b.pass(time.Second)
		b.press("r", "/")
		b.write("demo-keep")
		b.press("enter", "f")
		b.shows("A fork is not atomic")
		b.write("../x")
		b.press("enter")
		b.shows("body.id: must hold no ..", "../x")
		for range "../x" {
			b.press("backspace")
		}
		b.write("keep-b")
		b.press("tab")
		b.write("Second") // taken
		b.press("enter")
		b.pass(2 * time.Second)
		b.shows("session_fork failed", "source", "ended: branched", "child", "open", "Something may have been written all the same")
		b.press("esc", "esc", "R")
		b.pass(time.Second)
		b.shows("keep-b")
		if b.calls()[hermes.OpSessionFork] != 1 {
			t.Error(b.calls())
		}
	})
}

func TestSessionsAreMadeChangedAndDeletedOnceApproved(t *testing.T) {
	atWork(t, 110, 34, aipd.Options{Approve: aipd.Approval{Decides: true, Grants: true, After: time.Minute}}, nil, func(b *bench) {
		b.press("S")
		b.pass(time.Second)
		b.press("r", "N")
		b.write("case-1")
		b.press("tab")
		b.write("First")
		b.press("enter")
		b.pass(time.Second)
		b.shows("Make a session", "accepted", "key aipscope-")
		b.press("esc")
		b.shows("▸ case-1", "First")
		b.press("p")
		for range len("First") {
			b.press("backspace")
		}
		b.press("enter")
		b.shows("nothing would change")
		b.write("Renamed")
		b.press("tab")
		b.write("client_closed")
		b.press("enter")
		b.pass(time.Second)
		b.press("esc")
		b.shows("▸ case-1", "Renamed", "client_closed")
		b.press("m")
		b.pass(time.Second)
		b.shows("The session has ended, and takes turns all the same.")
		b.press("esc", "D", "enter")
		b.pass(10 * time.Second)
		b.shows("an approval is pending", "esc stops waiting; what was asked for goes on")
		b.press("esc")
		b.shows("case-1")
		b.pass(2 * time.Minute)
		b.press("D", "enter") // asked before: its result is read
		b.pass(2 * time.Second)
		b.shows("deleted", "asked before")
		if n := b.calls()[hermes.OpSessionDelete]; n != 1 {
			t.Errorf("%d deletes", n)
		}
		b.press("esc")
		b.hides("case-1")
	})
}

func TestWhatCannotBeReadOfSessionsSaysWhy(t *testing.T) {
	down := &canned{failed: map[hermes.Operation]*aip.Error{
		hermes.OpSessionsList:    {Code: "connector.hermes_agent.remote_temporary", Retryable: true},
		hermes.OpSessionMessages: {Code: "connector.hermes_agent.remote_rejected", Details: json.RawMessage(`{"http_status":404}`)},
	}}
	atWork(t, 110, 30, aipd.Options{}, down, func(b *bench) {
		down.Service = b.client
		b.press("S")
		b.pass(10 * time.Second)
		b.shows("sessions_list failed with connector.hermes_agent.remote_temporary", "nothing was read")
		b.press("R")
		b.pass(100 * time.Millisecond)
		b.press("R") // asks anew, and waits for no answer to the first
		b.pass(10 * time.Second)
		b.shows("sessions_list failed")
	})
}

// Nothing of a session drives the terminal or breaks the screen, masked or revealed.
func TestSessionsFromOutsideAreData(t *testing.T) {
	evil := turntest.Hostile()["everything"]
	q := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	row := func(id, parent string) map[string]any {
		return map[string]any{"id": id, "title": evil, "source": evil, "preview": evil, "model": evil, "end_reason": evil, "parent_session_id": parent,
			"_lineage_root_id": evil, "message_count": -5, "last_active": 1e300, "ended_at": "soon"}
	}
	served := &canned{output: map[hermes.Operation]string{
		hermes.OpSessionsList: q(map[string]any{"data": []any{row(evil, "b"), row("b", evil), row("c", "c"), row("", "")}}),
		hermes.OpSessionGet:   q(map[string]any{"session": row(evil, evil)}),
		hermes.OpSessionFork:  q(map[string]any{"session": row(evil, evil)}),
		hermes.OpSessionPatch: q(map[string]any{"session": row(evil, evil)}),
		hermes.OpSessionMessages: q(map[string]any{"session_id": evil, "data": []any{
			map[string]any{"role": evil, "content": evil, "finish_reason": evil, "timestamp": 1},
			map[string]any{"role": "tool", "content": strings.Repeat(evil+"\n", 30), "tool_name": evil},
			map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{"id": evil, "function": map[string]any{"name": evil, "arguments": evil}}}},
			7,
		}}),
	}}
	atWork(t, 120, 40, aipd.Options{}, served, func(b *bench) {
		served.Service = b.client
		for _, size := range [][2]int{{120, 40}, {80, 24}, {41, 13}} {
			if turntest.Racing && size[0] > 80 {
				continue
			}
			b.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			for _, keys := range [][]string{
				{"S"}, {"r"}, {"j"}, {"t"}, {"/", "x"}, {"esc"}, {"enter"}, {"G"}, {"r"}, {"g"}, {"f"}, {"tab"}, {"enter"}, {"r"}, {"G"}, {"esc"}, {"p"}, {"z"},
				{"enter"}, {"r"}, {"esc"}, {"D"}, {"esc"}, {"m"}, {"tab", "tab"}, {"ctrl+s"}, {"esc"}, {"?"}, {"esc"}, {":"}, {"esc"}, {"esc"}, {"esc"},
			} {
				b.press(keys...)
				b.pass(3 * time.Second)
				harmless(t, b.m.View())
				fits(t, b.m.View(), size[0], size[1])
				unambiguous(t, b.desk.shown)
			}
			for b.desk.shown != b.desk.home {
				b.press("esc")
			}
		}
	})
}

func TestATreeHasEachSessionOnceWhateverTheParentsSay(t *testing.T) {
	for _, test := range []struct{ parents, want string }{
		{"a: b:a c:b d:", "a0 b1 c2 d0"},
		{"c:b b:a a:", "a0 b1 c2"},
		{"a:b b:a", "a0 b1"},
		{"a:a b:missing", "a0 b0"},
		{"a: a2:a a3:a2 b:a", "a0 a21 a32 b1"},
	} {
		b := browser{tree: true}
		for _, p := range strings.Fields(test.parents) {
			id, parent, _ := strings.Cut(p, ":")
			b.rows = append(b.rows, sessionRow{is: hermes.Session{ID: id, Parent: parent}})
		}
		var got []string
		for _, l := range b.ordered() {
			got = append(got, fmt.Sprintf("%s%d", b.rows[l.row].is.ID, l.depth))
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("%s: %s, want %s", test.parents, s, test.want)
		}
	}
}

func TestScreensOfWhatIsDoneToSessions(t *testing.T) {
	for _, size := range bothSizes() {
		t.Run(number(size[0]), func(t *testing.T) {
			var screens string
			atWork(t, size[0], size[1], aipd.Options{Approve: aipd.Approval{Decides: true, After: time.Minute}}, nil, func(b *bench) {
				inner := b.desk.cfg.Office.Offers
				b.desk.cfg.Office.Offers = func(ctx context.Context) ([]act.Offer, error) {
					found, err := inner(ctx)
					other := act.Offer{Endpoint: "prod-b", Operation: hermes.OpSessionsList}
					other.ID = other.Operation.Capability("prod-b")
					return append(found, other), err
				}
				b.press("S")
				b.pass(time.Second)
				b.shows("prod-b")
				screens += b.seen()
				b.press("enter")
				b.pass(time.Second)
				for _, keys := range [][]string{{"r", "f"}, {"esc", "p"}, {"esc", "N"}, {"esc", "D"}, {"enter"}, {"?"}} {
					b.press(keys...)
					b.pass(time.Second)
					screens += b.seen()
				}
				b.press("esc")
				b.pass(2 * time.Minute) // it is denied
				b.shows("session_delete failed with policy.approval_denied", "the approval was denied")
				screens += b.seen()
			})
			golden.RequireEqual(t, []byte(screens))
		})
	}
}
