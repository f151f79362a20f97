package ui

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"aipscope/follow/act"
	"aipscope/follow/aipd"
	"aipscope/follow/client"
	"aipscope/model"
	"aipscope/model/hermes"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/golden"
)

// choose opens the form of a capability from the list.
func (b *bench) choose(operation string) {
	b.t.Helper()
	b.press("s")
	b.pass(time.Second)
	b.write(operation)
	b.press("enter")
}

func TestARequestIsWrittenLookedAtAndSubmittedOnce(t *testing.T) {
	for _, size := range bothSizes() {
		t.Run(number(size[0]), func(t *testing.T) {
			var offers, form, review string
			atWork(t, size[0], size[1], aipd.Options{}, nil, func(b *bench) {
				b.ready = func(action string) error {
					rows, err := b.log(action).Rows(context.Background(), 0, 10)
					if err != nil || len(rows) != 1 || rows[0].Request == nil || b.posts != 0 {
						t.Errorf("before anything is sent the journal holds %v, %v", rows, err)
					}
					return nil
				}
				b.press("s")
				b.pass(time.Second)
				offers = b.seen()
				b.write("chat_stream")
				b.shows("risk medium, approval not needed, key optional, modes sync")
				b.press("enter", "ctrl+s")
				b.shows("give exactly one of prompt", "1 error")
				b.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("What is left?\nSay it in short."), Paste: true})
				b.press("tab")
				b.write("../x")
				b.shows("must hold no ..")
				form = b.seen()
				for range 4 {
					b.press("backspace")
				}
				b.write("incident-214")
				b.press("tab", "tab", "tab", "tab")
				b.write(`{"recording": "chat_tools"}`)
				b.press("ctrl+s")
				b.pass(time.Second)
				b.shows(`"prompt": "What is left?\nSay it in short."`, `"session_id": "incident-214"`, "streaming", "enter submit")
				review = b.seen()
				b.press("enter", "enter")
				b.pass(10 * time.Second)
				b.shows("UNCONFIRMED", "search_files")
				if b.posts != 1 || b.calls()[hermes.OpChatStream] != 1 {
					t.Errorf("%d posts, %v", b.posts, b.calls())
				}
				in := b.desk.Watched()[0].Turn().Request()
				if in == nil || string(in.Input) != `{"prompt":"What is left?\nSay it in short.","recording":"chat_tools","session_id":"incident-214"}` || in.Mode != "streaming" {
					t.Errorf("%+v", in)
				}
			})
			golden.RequireEqual(t, []byte(offers+form+review))
		})
	}
}

func TestAFormThatIsLeftIsThereAgain(t *testing.T) {
	atWork(t, 100, 30, aipd.Options{}, nil, func(b *bench) {
		b.choose("session_create")
		b.shows("idempotency_key", "aipscope-")
		b.write("case-1")
		b.press("esc")
		b.shows("neither journal nor daemon")
		b.choose("session_create")
		b.shows("case-1")
		b.press("esc")
		b.choose("chat_stream")
		b.hides("case-1")
		if b.posts != 0 || len(b.calls()) != 0 {
			t.Errorf("%d posts, %v", b.posts, b.calls())
		}
	})
}

func TestAFileIsTheWholeInput(t *testing.T) {
	atWork(t, 110, 36, aipd.Options{}, nil, func(b *bench) {
		b.file = `{"prompt":"from a file","max_events":"many","session_id":"s"}`
		b.choose("chat_stream")
		b.press("shift+tab") // not beyond the first
		b.press("tab", "tab", "tab", "tab", "tab", "tab")
		b.write("nothing.json")
		b.press("ctrl+s")
		b.pass(time.Second)
		b.shows("no file nothing.json‹U+001B›[2J")
		for range "nothing.json" {
			b.press("backspace")
		}
		b.write("request.json")
		b.press("ctrl+s")
		b.pass(time.Second)
		b.shows("must be an integer from 1 to 100000")
		b.file = strings.Replace(b.file, `"many"`, `10`, 1)
		b.press("ctrl+s")
		b.pass(time.Second)
		b.shows(`"prompt": "from a file"`, "warning: max_events: is low")
		b.press("esc")
		b.shows("request.json")
	})
}

func TestAKeyOfAnotherRequestIsSaidBeforeItIsSent(t *testing.T) {
	atWork(t, 110, 36, aipd.Options{}, nil, func(b *bench) {
		for i := range 2 {
			b.press("s")
			b.pass(time.Second)
			b.write("session_create")
			b.press("enter")
			f := b.desk.shown.window.(*form)
			for f.focused().path != "idempotency_key" {
				b.press("tab")
			}
			for range len(f.focused().value()) {
				b.press("backspace")
			}
			b.write("mine")
			b.press("ctrl+s")
			b.pass(time.Second)
			if i > 0 {
				b.shows("the key was used by act_")
			}
			b.press("enter")
			b.pass(5 * time.Second)
		}
		// The second answer is the first one's result: its action is watched.
		if b.posts != 2 || len(b.desk.Watched()) != 2 || b.desk.shown != b.desk.Watched()[0] {
			t.Errorf("%d posts, %d watched:\n%s", b.posts, len(b.desk.Watched()), b.seen())
		}
	})
}

func TestASubmissionThatIsNotTakenSaysSo(t *testing.T) {
	skewed := aipd.Options{Clock: func() time.Time { return time.Now().Add(time.Hour) }}
	atWork(t, 120, 30, skewed, nil, func(b *bench) {
		b.choose("chat_stream")
		b.write("hi")
		b.press("ctrl+s")
		b.pass(time.Second)
		b.press("enter")
		b.pass(5 * time.Second)
		b.shows("It was not taken: ", "replay.message_id", "PENDING")
		if b.posts != 1 {
			t.Errorf("%d posts", b.posts)
		}
	})
}

func TestAJournalThatFailsSendsNothing(t *testing.T) {
	atWork(t, 120, 30, aipd.Options{}, nil, func(b *bench) {
		b.ready = func(string) error { return errors.New("disk full\x1b[2J") }
		b.choose("chat_stream")
		b.write("hi")
		b.press("ctrl+s")
		b.pass(time.Second)
		b.press("enter")
		b.pass(time.Second)
		b.shows("Nothing was sent: disk full‹U+001B›[2J", `"prompt": "hi"`)
		if b.posts != 0 || len(b.desk.Watched()) != 0 {
			t.Errorf("%d posts, %d watched", b.posts, len(b.desk.Watched()))
		}
	})
}

// What a form writes passes the checks of a submission, for every operation, with
// every field filled.
func TestEveryFieldOfEveryFormIsOneThatTheChecksKnow(t *testing.T) {
	sample := map[string]string{
		"max_events": "500", "limit": "50", "offset": "0", "body.store": "true", "include_children": "false", "resolve_all": "true", "choice": "once",
		"more": `{"metadata":{"team":"a"}}`, "input": `{"a":1}`, "file": "", "body.conversation": "", "body.id": "child-1", "body.title": "A title",
	}
	for _, spec := range hermes.Specs() {
		var typed []given
		fields := fieldsOf(spec.Operation)
		for _, f := range fields {
			value, ok := sample[f.path]
			if !ok {
				value = "some words"
				if strings.HasSuffix(f.path, "_id") || f.path == "source" {
					value = "an-id"
				}
			}
			if f.kind == fieldMore && spec.Operation != hermes.OpChat && spec.Operation != hermes.OpChatStream {
				value = ""
			}
			typed = append(typed, given{f, value})
		}
		input, bad := composed(typed)
		errs, _ := hermes.Check(spec.Operation, input, hermes.CheckOptions{Capability: spec.Operation.Capability("prod"), IdempotencyKey: "k", Mode: "sync"})
		for _, n := range append(bad, errs...) {
			t.Errorf("%s: %s of %s", spec.Operation, n, input)
		}
		// And each finding of an empty form belongs to a field.
		errs, warns := hermes.Check(spec.Operation, json.RawMessage(`{}`), hermes.CheckOptions{Capability: spec.Operation.Capability("prod"), IdempotencyKey: "k", Mode: "sync"})
		f := newForm(new(styles), act.Offer{Operation: spec.Operation}, "act_1", "k", nil)
		f.tried, f.errs = true, append(errs, warns...)
		switch spec.Operation {
		case hermes.OpResponses, hermes.OpResponsesStream, hermes.OpRunStart:
			// They are about the top, the form writes a body.
		default:
			for _, n := range f.loose() {
				t.Errorf("%s: %s stands at no field", spec.Operation, n)
			}
		}
	}
}

func TestWhatIsTypedBecomesAnInput(t *testing.T) {
	for _, test := range []struct {
		fields []given
		want   string
		bad    string
	}{
		{[]given{{promptField, "a\nb\x1b "}, {sessionIDField, " s "}, {eventsField, "12"}}, `{"max_events":12,"prompt":"a\nb\u001b ","session_id":"s"}`, ""},
		{[]given{{eventsField, "1e2"}}, `{"max_events":1e2}`, ""},
		{[]given{{eventsField, "many"}}, ``, "max_events: must be a number"},
		{[]given{{eventsField, `"12"`}}, ``, "max_events: must be a number"},
		{[]given{{eventsField, `null`}}, ``, "max_events: must be a number"},
		{[]given{{field{path: "body.input", kind: fieldLong}, "x"}, {moreField, `{"body":{"store":false},"session_key":"k"}`}}, `{"body":{"input":"x","store":false},"session_key":"k"}`, ""},
		{[]given{{promptField, "x"}, {moreField, `[1]`}}, ``, "more: must be a JSON object"},
		{[]given{{promptField, "x"}, {moreField, `null`}}, ``, "more: must be a JSON object"},
		{[]given{{inputField, ` [1, 2] `}}, `[1,2]`, ""},
		{[]given{{inputField, `{"a":`}}, ``, "input: must be JSON"},
		{[]given{{field{path: "body.store", kind: fieldFlag}, "false"}, {field{path: "source"}, "  "}}, `{"body":{"store":false}}`, ""},
		{nil, `{}`, ""},
	} {
		got, bad := composed(test.fields)
		said := ""
		for _, n := range bad {
			said += n.String()
		}
		if string(got) != test.want || said != test.bad {
			t.Errorf("%s %s, want %s %s", got, said, test.want, test.bad)
		}
	}
}

func TestAnApprovalThatARunAsksForIsSeenInEveryPaneAndAnswered(t *testing.T) {
	for _, size := range bothSizes() {
		t.Run(number(size[0]), func(t *testing.T) {
			var screen string
			atWork(t, size[0], size[1], aipd.Options{Speed: 0.01}, nil, func(b *bench) {
				id, err := client.NewActionID()
				if err != nil {
					t.Fatal(err)
				}
				a := act.Actor{Daemon: b.client, Log: b.log(id), Action: id, Now: time.Now}
				req := model.Request{Capability: hermes.OpRunEvents.Capability("demo"), Mode: "async", Input: json.RawMessage(`{"run_id":"run_1","recording":"runs_approval_events"}`)}
				if err := a.Prepare(context.Background(), req, true); err != nil {
					t.Fatal(err)
				}
				if err := a.Post(context.Background(), req); err != nil {
					t.Fatal(err)
				}
				b.run(b.desk.open(Listed{Action: id, URL: "http://daemon"}))
				c := func() *Console { return b.desk.shown }
				for range 600 {
					if c().own() && c().Turn().Waiting() != nil {
						break
					}
					b.pass(time.Second)
				}
				b.press("3")
				b.shows("waits for an approval", "A answer the approval")
				screen = b.seen()
				b.press("A")
				b.pass(time.Second)
				b.shows("run_approval", "run_1", "risk medium, approval needed, key required", "aipscope-", "choice")
				b.press("tab", " ", "ctrl+s")
				b.pass(time.Second)
				b.shows(`"choice": "once"`, `"run_id": "run_1"`, "It waits for an approval before anything runs.")
				b.press("enter")
				b.pass(time.Second)
				b.shows("AWAITING APPROVAL")
			})
			golden.RequireEqual(t, []byte(screen))
		})
	}
}

func TestACapabilityCanBeNamedWhereNoManifestIsRead(t *testing.T) {
	atWork(t, 110, 36, aipd.Options{}, nil, func(b *bench) {
		b.desk.cfg.Office.Offers = func(context.Context) ([]act.Offer, error) { return nil, errors.New("no manifest") }
		b.choose("cap:hermes_agent:demo:session_create")
		b.shows("risk not said, approval not said", "aipscope-") // its key is required all the same
		b.write("case-7")
		b.press("ctrl+s")
		b.pass(time.Second)
		b.press("enter")
		b.pass(5 * time.Second)
		b.shows("ACCEPTED")
		b.press("a", "s")
		b.pass(time.Second)
		b.shows("no manifest; a capability's whole ID can be named")
		b.write("nothing")
		b.press("enter")
		b.shows("nothing")
	})
}

func TestAnActionThatIsKnownIsWatchedAndNotSent(t *testing.T) {
	atWork(t, 110, 36, aipd.Options{}, nil, func(b *bench) {
		id := b.watches(hermes.OpChatStream, `{"prompt":"hi","session_id":"s"}`)
		b.desk.cfg.Office.NewAction = func() (string, error) { return id, nil }
		b.choose("chat_stream")
		b.write("something else")
		b.press("ctrl+s")
		b.pass(time.Second)
		b.press("enter")
		b.pass(5 * time.Second)
		b.shows("It is known already: it is watched, and nothing was sent.")
		if b.posts != 0 || len(b.desk.Watched()) != 1 {
			t.Errorf("%d posts, %d watched", b.posts, len(b.desk.Watched()))
		}
	})
}
