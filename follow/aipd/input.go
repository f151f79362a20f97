package aipd

import (
	"encoding/json"
	"strconv"

	"aipscope/model/aip"
	"aipscope/model/hermes"
)

// checkInput looks at an input by the capability's schema (wire/hermes.md A.4),
// as far as it matters here. An input that names a recording needs no more.
func (s *Server) checkInput(a *action) *aip.Error {
	bad := func(field, problem string) *aip.Error {
		return with(failure("action.input_schema_invalid", permanent, "the input does not fit the capability's schema"),
			"violations", []any{object("path", "/"+field, "message", problem)})
	}
	var in map[string]json.RawMessage
	if json.Unmarshal(a.request.Input, &in) != nil || in == nil {
		return bad("", "an object is needed")
	}
	if _, err := s.maxEvents(a, in); err != nil {
		return bad("max_events", "an integer from 1 to "+strconv.Itoa(hermes.MaxMaxEvents)+" is needed")
	}
	if text(in["recording"]) != "" {
		return nil
	}
	switch a.request.Operation {
	case hermes.OpChat, hermes.OpChatStream:
		branches := 0
		for _, name := range []string{"prompt", "query"} {
			if v, ok := in[name]; ok {
				branches++
				if text(v) == "" {
					return bad(name, "text is needed")
				}
			}
		}
		if v, ok := in["messages"]; ok {
			branches++
			var list []json.RawMessage
			if json.Unmarshal(v, &list) != nil || len(list) == 0 {
				return bad("messages", "a list of messages is needed")
			}
		}
		if branches != 1 {
			return bad("", "exactly one of prompt, query and messages is needed")
		}
	default:
		if name := a.request.Operation.TargetField(); name != "" && text(in[name]) == "" {
			return bad(name, "text is needed")
		}
	}
	return nil
}

// maxEvents is the limit of a stream's events, 0 for none.
func (s *Server) maxEvents(a *action, in map[string]json.RawMessage) (int, error) {
	raw, ok := in["max_events"]
	switch {
	case !a.spec.Streams() || !ok && s.opt.Unlimited:
		return 0, nil
	case !ok:
		return hermes.DefaultMaxEvents, nil
	}
	n, err := strconv.ParseUint(string(raw), 10, 31)
	if err != nil || n == 0 || n > hermes.MaxMaxEvents && !s.opt.Unlimited {
		return 0, strconv.ErrRange
	}
	return int(n), nil
}

// text is a JSON string's value, or "" for what is none.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
