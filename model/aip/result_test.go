package aip

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

const aggregate = `{"endpoint_id":"e","events":[{"event":null,"data":{"a":1},"raw_data":"{\"a\":1}"}, {"data":"[DONE]","terminal":true}],` +
	`"http_status":200,"text":"h\u00e9\ud800 <b>","n":1.50e+3,"terminal":true,"truncated":false}`

const stripped = `{"endpoint_id":"e","http_status":200,"text":"h\u00e9\ud800 <b>","n":1.50e+3,"terminal":true,"truncated":false}`

var resultBody = `{"action_id":"act_a","status":"completed","output":` + aggregate +
	`,"message":[{"type":"text","text":"hé"},{"type":"json","data":` + aggregate + `}],"memory_update":[[1]],"usage":{"tokens":12},"receipt":null}`

func readAll(t *testing.T, r io.Reader) (Result, []string, error) {
	t.Helper()
	var events []string
	res, err := ReadResult(r, func(i int, raw json.RawMessage) error {
		if i != len(events) {
			t.Errorf("event %d came as number %d", i, len(events))
		}
		events = append(events, string(raw))
		return nil
	})
	return res, events, err
}

func TestReadResultFindsTheResultBareAndInAnEnvelope(t *testing.T) {
	for name, body := range map[string]string{
		"bare":     `{"action_result":` + resultBody + `}`,
		"blanks":   " \r\n{ \"x\" : [ { } ] , \"action_result\" :\t" + resultBody + " } \n",
		"envelope": `{"aip_version":"1.0","body":{"action_result":` + resultBody + `},"trace":{"body":{"action_result":7}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(body), iotest.OneByteReader(strings.NewReader(body))} {
				res, events, err := readAll(t, r)
				if err != nil {
					t.Fatal(err)
				}
				want := Result{
					ActionID: "act_a", Status: ResultCompleted,
					Output:  json.RawMessage(stripped),
					Message: json.RawMessage(`[{"type":"text","text":"hé"},{"type":"json","data":` + stripped + `}]`),
					Usage:   json.RawMessage(`{"tokens":12}`), Receipt: json.RawMessage(`null`),
				}
				if !reflect.DeepEqual(res, want) {
					t.Errorf("got  %s\nwant %s", dump(res), dump(want))
				}
				if len(events) != 2 || events[0] != `{"event":null,"data":{"a":1},"raw_data":"{\"a\":1}"}` || events[1] != `{"data":"[DONE]","terminal":true}` {
					t.Errorf("events %q", events)
				}
			}
		})
	}
}

func dump(r Result) string {
	return fmt.Sprintf("%s %s output=%s message=%s usage=%s receipt=%s error=%v", r.ActionID, r.Status, r.Output, r.Message, r.Usage, r.Receipt, r.Error)
}

// A long text stands in the output and twice in the message. The message's are passed
// over where they are the output's, byte for byte, and kept where anything differs.
func TestReadResultHoldsALongTextOnce(t *testing.T) {
	long := `"` + strings.Repeat(`words\n `, minRepeat/8) + `end"`
	for _, c := range []struct{ output, message, kept string }{
		{`{"n":1,"text":` + long + `}`, `[{"type":"text","text":` + long + `},{"data":{"text":` + long + `,"n":1}}]`, `[{"type":"text"},{"data":{"n":1}}]`},
		{`{"text":"short"}`, `[{"text":"short"},{"data":{"text":"short"}}]`, ""},
		{`{"text":` + long + `}`, `[{"text":` + strings.Replace(long, "end", "END", 1) + `}]`, ""},
		{`{"text":` + long + `}`, `[{"text":` + strings.Replace(long, "end", "end.", 1) + `,"n":[1]}]`, ""},
		{`{"text":` + long + `}`, `[{"text":` + strings.Replace(long, "words", "Words", 1) + `}]`, ""},
		{`{"text":` + long + `}`, `[{"text":` + strings.Replace(long, "end", "", 1) + `},{"text":null}]`, ""},
		{`{"text":` + long + `}`, `[{"other":` + long + `,"text":[` + long + `]}]`, ""},
		{`{"text":[` + long + `]}`, `[{"text":` + long + `}]`, ""},
		{`[` + long + `]`, `[{"text":` + long + `}]`, ""},
	} {
		body := `{"action_result":{"action_id":"act_a","status":"completed","output":` + c.output + `,"message":` + c.message + `}}`
		if c.kept == "" {
			c.kept = c.message
		}
		for _, r := range []io.Reader{strings.NewReader(body), iotest.OneByteReader(strings.NewReader(body))} {
			res, _, err := readAll(t, r)
			if err != nil || string(res.Output) != c.output || string(res.Message) != c.kept {
				t.Errorf("%.40s, %.60s: output of %d bytes, message of %d: %.60s, %v", c.output, c.message, len(res.Output), len(res.Message), res.Message, err)
			}
		}
	}
}

func TestReadResultKeepsOutputsOfOtherShapes(t *testing.T) {
	for _, output := range []string{`null`, `"text"`, `[1,{"events":[2]}]`, `{}`, `{"events":{"redacted":true}}`, `{"a":{"events":[1]}}`, `12`} {
		body := `{"action_result":{"action_id":"act_a","status":"failed","output":` + output + `,"message":` + output + `,"error":{"code":"x.y","message":"m","category":"connector","details":{"uncertain_outcome":true}}}}`
		res, events, err := readAll(t, strings.NewReader(body))
		if err != nil {
			t.Errorf("%s: %v", output, err)
			continue
		}
		if string(res.Output) != output || len(events) != 0 {
			t.Errorf("output %s became %s with %d events", output, res.Output, len(events))
		}
		if res.Error == nil || res.Error.Code != "x.y" || !res.Error.Uncertain() {
			t.Errorf("error lost: %+v", res.Error)
		}
	}
}

// Of a name that comes twice, no one can say which its sender meant.
func TestAResultThatSaysTwoThingsIsRefused(t *testing.T) {
	for _, body := range []string{
		`{"action_result":{"action_id":"a","status":"failed","status":"completed"}}`,
		`{"action_result":{"action_id":"a","status":"failed","stat\u0075s":"completed"}}`,
		`{"action_result":{"status":"failed"},"action_result":{"status":"completed"}}`,
		`{"action_result":{"status":"completed","output":{"terminal":false,"terminal":true}}}`,
	} {
		if res, err := ReadResult(strings.NewReader(body), nil); !errors.Is(err, ErrTwice) || !errors.Is(err, ErrSyntax) {
			t.Errorf("%s: %+v, %v", body, res, err)
		}
	}
	res, err := ReadResult(strings.NewReader(`{"action_result":{"Status":"completed","action_id":"a","STATUS":"completed"}}`), nil)
	if err != nil || res.Status != "" {
		t.Errorf("a name written otherwise: %+v, %v", res, err)
	}
}

func TestReadResultDropsEventsWhereverTheyStandAmongTheMembers(t *testing.T) {
	for in, want := range map[string]string{
		`{"events":[1]}`:                      `{}`,
		`{"events":[1],"a":1}`:                `{"a":1}`,
		`{"a":1,"events":[]}`:                 `{"a":1}`,
		`{"a":1,"events":[1,2],"b":{"c":[]}}`: `{"a":1,"b":{"c":[]}}`,
		`{"events":[1,"{}"],"a":"\"}]"}`:      `{"a":"\"}]"}`,
	} {
		res, err := ReadResult(strings.NewReader(`{"action_result":{"action_id":"act_a","status":"completed","output":`+in+`}}`), nil)
		if err != nil || string(res.Output) != want {
			t.Errorf("%s became %s (%v), want %s", in, res.Output, err, want)
		}
	}
}

func TestReadResultReturnsErrorBodies(t *testing.T) {
	for _, body := range []string{
		`{"error":{"error":{"code":"action.result_not_ready","message":"m","category":"temporary","details":{"state":"running"}}}}`,
		`{"error":{"code":"action.result_not_ready","message":{"redacted":true},"category":"temporary","details":{"state":"running"}}}`,
		`{"aip_version":"1.0","body":{"error":{"error":{"code":"action.result_not_ready","category":"temporary","message":"m","details":{"state":"running"}}}}}`,
	} {
		_, err := ReadResult(strings.NewReader(body), nil)
		var e *Error
		if !errors.As(err, &e) || e.Code != "action.result_not_ready" || e.Category != "temporary" || e.Detail("state") != "running" {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestReadResultEndsWithTheCallbacksError(t *testing.T) {
	mine := errors.New("mine")
	_, err := ReadResult(strings.NewReader(`{"action_result":`+resultBody+`}`), func(int, json.RawMessage) error { return mine })
	if err != mine {
		t.Errorf("got %v", err)
	}
}

func TestReadResultRefusesEveryTruncation(t *testing.T) {
	body := `{"action_result":` + resultBody + `}`
	for n := range len(body) {
		if _, err := ReadResult(strings.NewReader(body[:n]), func(int, json.RawMessage) error { return nil }); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
}

func TestReadResultRefusesGarbage(t *testing.T) {
	for _, body := range []string{
		``, `null`, `7`, `[]`, `<html></html>`, `{}`, `{"action_status":{}}`, `{"action_result":null}`, `{"action_result":[]}`,
		`{"action_result":{"output":{"events":[{"a":}]}}}`, `{"action_result":{"output":{"a":tru}}}`, `{"action_result":{"status":"completed"}} x`,
		`{"action_result":{"output":{"a" 1}}}`, `{"action_result":{"status":"a",}}`, `{"action_result":{"message":[{"data":{"a":01}}]}}`, `{action_result:{}}`,
	} {
		if res, err := ReadResult(strings.NewReader(body), func(int, json.RawMessage) error { return nil }); err == nil {
			t.Errorf("%s was read as %s", body, dump(res))
		}
	}
}

func TestReadAnswerReadsAcks(t *testing.T) {
	a, err := ReadAnswer(strings.NewReader(`{"message_id":"msg_1","body":{"ack":{"action_id":"act_a","status":"queued","queue":{"scheduler":"s"}}}}`), nil)
	if err != nil || a.Ack == nil || a.Ack.ActionID != "act_a" || a.Ack.Status != "queued" || a.Result != nil {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestReadPage(t *testing.T) {
	body := `{"action_events":{"action_id":"act_a","events":[{"id":"e1"},{"id":"e2"}],"chunks":[{"sequence":0}],"cursor":"c1","terminal":true}}`
	var got []string
	p, err := ReadPage(iotest.HalfReader(strings.NewReader(body)),
		func(raw json.RawMessage) error { got = append(got, "event "+string(raw)); return nil },
		func(raw json.RawMessage) error { got = append(got, "chunk "+string(raw)); return nil })
	if err != nil || p != (Page{"act_a", "c1", true}) {
		t.Errorf("%+v, %v", p, err)
	}
	if want := []string{`event {"id":"e1"}`, `event {"id":"e2"}`, `chunk {"sequence":0}`}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
	if _, err := ReadPage(strings.NewReader(`{"other":1}`), nil, nil); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("nothing asked for: %v", err)
	}
	if p, err := ReadPage(strings.NewReader(`{"action_events":{"events":null,"cursor":null}}`), nil, nil); err != nil || p.Cursor != "" {
		t.Errorf("nulls: %+v, %v", p, err)
	}
}

// FuzzReadResult holds the scanner against encoding/json: what one takes the
// other takes, and they agree on what is left.
func FuzzReadResult(f *testing.F) {
	f.Add([]byte(aggregate))
	f.Add([]byte(`{"events":[1,[2,{"events":[3]}]],"b":"\\\""}`))
	f.Add([]byte(`[{"data":{"events":[1]}}]`))
	f.Fuzz(func(t *testing.T, output []byte) {
		body := append(append([]byte(`{"action_result":{"action_id":"a","status":"s","output":`), output...), `}}`...)
		events := 0
		res, err := ReadResult(iotest.HalfReader(bytes.NewReader(body)), func(_ int, raw json.RawMessage) error {
			events++
			if !json.Valid(raw) {
				t.Errorf("an event that is not JSON: %q", raw)
			}
			return nil
		})
		if !json.Valid(body) {
			return // laxer about what it skips, so an error is not promised
		}
		var top map[string]json.RawMessage
		if json.Unmarshal(output, &top) != nil {
			if err == nil && !bytes.Equal(bytes.TrimSpace(output), res.Output) && json.Valid(output) {
				t.Fatalf("%q became %q", output, res.Output)
			}
			return
		}
		if !json.Valid(output) || errors.Is(err, ErrTwice) {
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal(res.Output, &got); err != nil && string(res.Output) != "null" {
			t.Fatalf("%q became %q", output, res.Output)
		}
		var list []json.RawMessage
		if json.Unmarshal(top["events"], &list) == nil && list != nil {
			delete(top, "events")
		}
		delete(got, "events")
		delete(top, "events")
		if len(got) != len(top) {
			t.Fatalf("%q became %q", output, res.Output)
		}
		for k, v := range top {
			if !bytes.Equal(v, got[k]) {
				t.Fatalf("member %q: %q became %q", k, v, got[k])
			}
		}
	})
}
