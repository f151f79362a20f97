package ui

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"aipscope/follow/act"
	"aipscope/model/hermes"
)

type fieldKind int

const (
	fieldLine   fieldKind = iota // text
	fieldLong                    // text of several lines
	fieldWhole                   // a number
	fieldChoice                  // one of a few words, or none
	fieldFlag                    // true, false or not given
	fieldMore                    // an object whose members are added to the input
	fieldInput                   // the whole input as JSON
	fieldFile                    // a file that holds the whole input
	fieldAction                  // not of the input, but of the action
)

// field is a field of a capability's form. path is where it stands in the input,
// such as body.input; of the action's own, its name.
type field struct {
	path    string
	kind    fieldKind
	hint    string
	choices []string
	also    []string // other fields whose findings belong to it
}

func (f field) label() string { return strings.TrimPrefix(f.path, "body.") }

// owns reports whether a finding is about the field.
func (f field) owns(n hermes.Finding) bool {
	return slices.ContainsFunc(append([]string{f.path}, f.also...), func(p string) bool {
		return n.Field == p || strings.HasPrefix(n.Field, p+".") || strings.HasPrefix(n.Field, p+"[")
	})
}

// Fields that several capabilities have.
var (
	promptField    = field{path: "prompt", kind: fieldLong, hint: "what is asked", also: []string{"query", "messages"}}
	sessionIDField = field{path: "session_id", hint: "the Hermes session"}
	memoryField    = field{path: "session_key", hint: "scope of long-term memory; it selects no transcript"}
	modelField     = field{path: "model", hint: "the endpoint's own when empty"}
	eventsField    = field{path: "max_events", kind: fieldWhole, hint: "provider frames at most; a turn that has more fails as truncated"}
	responseField  = field{path: "response_id", hint: "the stored response"}
	runField       = field{path: "run_id", hint: "the run"}
	jobField       = field{path: "job_id", hint: "the job"}
	titleField     = field{path: "body.title", hint: "unique in the endpoint's database, at most 100 characters"}
	moreField      = field{path: "more", kind: fieldMore, hint: `anything else, as an object: {"temperature": 0.2}`}
	inputField     = field{path: "input", kind: fieldInput, hint: "the whole input, as JSON"}
	fileField      = field{path: "file", kind: fieldFile, hint: "a file with the whole input as JSON, instead of the fields"}
)

// fieldsOf are the input fields of an operation's form (seeds 001 and 002; wire/hermes.md
// A.4). What they do not name can be added as JSON, or comes from a file.
func fieldsOf(op hermes.Operation) []field {
	spec, known := op.Spec()
	var out []field
	switch op {
	case hermes.OpChat, hermes.OpChatStream:
		id := sessionIDField
		id.hint = "transcript to go on with; the provider shows none of its own"
		out = []field{promptField, id, memoryField, modelField}
	case hermes.OpResponses, hermes.OpResponsesStream:
		out = []field{
			{path: "body.input", kind: fieldLong, hint: "what is asked"},
			{path: "body.instructions", kind: fieldLong, hint: "system instructions of this turn"},
			{path: "body.previous_response_id", hint: "the stored response to go on from"},
			{path: "body.conversation", hint: "a named chain of responses; not together with previous_response_id"},
			{path: "body.store", kind: fieldFlag, hint: "false keeps nothing to look the turn up by"},
			memoryField,
		}
	case hermes.OpSessionChat, hermes.OpSessionChatStream:
		out = []field{
			{path: "message", kind: fieldLong, hint: "what is said", also: []string{"input", "prompt", "query"}},
			sessionIDField,
			{path: "system_message", kind: fieldLong, hint: "system message of this turn alone"},
			memoryField,
		}
	case hermes.OpSessionsList:
		out = []field{
			{path: "limit", kind: fieldWhole, hint: "rows of a page, 1 to 200"},
			{path: "offset", kind: fieldWhole, hint: "rows to pass over"},
			{path: "source", hint: "exact, such as api_server"},
			{path: "include_children", kind: fieldFlag, hint: "continuations and delegates' children, too"},
		}
	case hermes.OpSessionCreate:
		out = []field{
			{path: "body.id", hint: "the provider makes one when empty"}, titleField,
			{path: "body.model", hint: "noted beside the transcript; a turn does not follow it"},
			{path: "body.system_prompt", kind: fieldLong, hint: "noted likewise"},
		}
	case hermes.OpSessionPatch:
		out = []field{sessionIDField, titleField, {path: "body.end_reason", hint: "closes an open session; the first reason stays"}}
	case hermes.OpSessionFork:
		out = []field{sessionIDField, {path: "body.id", hint: "of the child: without one it cannot be looked up after a failure"}, titleField}
	case hermes.OpRunStart:
		out = []field{{path: "body.input", kind: fieldLong, hint: "what the run is asked"}}
	case hermes.OpRunApproval:
		out = []field{
			runField,
			{path: "choice", kind: fieldChoice, choices: []string{"once", "session", "always", "deny"}, hint: "the answer to the run's question"},
			{path: "resolve_all", kind: fieldFlag, hint: "all questions that wait"},
		}
	case hermes.OpOperator:
		out = []field{{path: "objective", kind: fieldLong, hint: "what the governed run is to reach"}}
	case hermes.OpJobCreate:
		return []field{inputField, fileField}
	default:
		switch target := op.TargetField(); {
		case !known:
			return []field{inputField, fileField}
		case target == responseField.path:
			out = []field{responseField}
		case target == sessionIDField.path:
			out = []field{sessionIDField}
		case target == runField.path:
			out = []field{runField}
		case target == jobField.path:
			out = []field{jobField}
		}
	}
	if spec.Streams() && op != hermes.OpOperator {
		out = append(out, eventsField)
	}
	return append(out, moreField, fileField)
}

// actionFields are the fields beside the input that an offer has.
func actionFields(o act.Offer) []field {
	modes := o.Modes
	if len(modes) == 0 {
		modes = []string{"sync", "async", "streaming"}
	}
	key := "optional: one key belongs to one exact request"
	if o.Key == "required" {
		key = "required; made for this request"
	}
	return []field{
		{path: "mode", kind: fieldChoice, choices: modes, hint: "how the daemon runs it"},
		{path: "idempotency_key", kind: fieldAction, hint: key},
		{path: "timeout", kind: fieldAction, hint: "after which the daemon is asked to stop it, such as 90s"},
		{path: "aip_session", kind: fieldAction, hint: "groups actions; it is not the Hermes session"},
	}
}

// usualMode is the mode that is chosen where nobody chooses: what streams is
// streamed.
func usualMode(o act.Offer) string {
	for _, mode := range []string{"streaming", "sync"} {
		if slices.Contains(o.Modes, mode) {
			return mode
		}
	}
	if len(o.Modes) > 0 {
		return o.Modes[0]
	}
	if spec, _ := o.Operation.Spec(); spec.Streams() {
		return "streaming"
	}
	return "sync"
}

// given is a field with what was typed into it.
type given struct {
	field
	value string
}

// composed makes the input of what was typed. The findings are of what cannot be
// written as JSON; the rest is for hermes.Check.
func composed(fields []given) (json.RawMessage, []hermes.Finding) {
	in := map[string]any{}
	var bad []hermes.Finding
	for _, f := range fields {
		value := f.value
		if f.kind != fieldLong {
			value = strings.TrimSpace(value)
		}
		if strings.TrimSpace(value) == "" {
			continue
		}
		switch f.kind {
		case fieldLine, fieldLong, fieldChoice:
			put(in, f.path, value)
		case fieldWhole:
			put(in, f.path, json.Number(value))
			if raw := []byte(value); !json.Valid(raw) || strings.ContainsAny(value, `"{[tfn`) {
				bad = append(bad, hermes.Finding{Field: f.path, Rule: "must be a number"})
			}
		case fieldFlag:
			put(in, f.path, value == "true")
		case fieldMore:
			var more map[string]json.RawMessage
			if err := json.Unmarshal([]byte(value), &more); err != nil || more == nil {
				bad = append(bad, hermes.Finding{Field: f.path, Rule: "must be a JSON object"})
				continue
			}
			merge(in, more)
		case fieldInput:
			var b bytes.Buffer
			if err := json.Compact(&b, []byte(value)); err != nil {
				return nil, []hermes.Finding{{Field: f.path, Rule: "must be JSON"}}
			}
			return b.Bytes(), nil
		}
	}
	if len(bad) > 0 {
		return nil, bad
	}
	raw, err := json.Marshal(in)
	if err != nil {
		return nil, []hermes.Finding{{Field: "input", Rule: "must be JSON"}}
	}
	return raw, nil
}

// put puts a value at a path of at most two names.
func put(in map[string]any, path string, value any) {
	outer, inner, nested := strings.Cut(path, ".")
	if !nested {
		in[path] = value
		return
	}
	body, _ := in[outer].(map[string]any)
	if body == nil {
		body = map[string]any{}
		in[outer] = body
	}
	body[inner] = value
}

// merge adds members to an input. A body is added to the one that is there.
func merge(in map[string]any, more map[string]json.RawMessage) {
	for name, raw := range more {
		body, _ := in[name].(map[string]any)
		var members map[string]json.RawMessage
		if body != nil && json.Unmarshal(raw, &members) == nil && members != nil {
			merge(body, members)
			continue
		}
		in[name] = raw
	}
}
