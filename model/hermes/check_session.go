package hermes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const pathLike = "must hold no .., slash, backslash or drive prefix"

// safeID reports whether an ID holds nothing of a path (seed 002, "Create a
// session"; recorded for the chat header too).
func safeID(s string) bool {
	s = strings.TrimSpace(s)
	drive := len(s) > 1 && s[1] == ':' && (s[0]|0x20) >= 'a' && (s[0]|0x20) <= 'z'
	return !strings.Contains(s, "..") && !strings.ContainsAny(s, `/\`) && !drive
}

// body returns the provider's part of an input, and the path to it: the member
// body, else the input itself.
func (c *checker) body(o map[string]any) (string, map[string]any) {
	v, ok := o["body"]
	if !ok {
		return "", o
	}
	body, ok := v.(map[string]any)
	if !ok {
		c.refuse("body", "must be an object")
	}
	return "body", body
}

// newID checks an ID that a session is to have. An empty one lets the provider
// choose. The provider takes more in a fork; the same rules serve both.
func (c *checker) newID(path string, o map[string]any, field string) (chosen bool) {
	s := c.text(o, path, field)
	at := join(path, field)
	switch {
	case s == "":
		return false
	case strings.TrimSpace(s) == "":
		c.refuse(at, "must not be blank")
	case utf8.RuneCountInString(s) > maxContinuity:
		c.refuse(at, fmt.Sprintf("is longer than %d characters", maxContinuity))
	case hasControl(s):
		c.refuse(at, "must not hold control characters")
	case !safeID(s):
		c.refuse(at, pathLike)
	}
	return true
}

// title checks a title as the provider counts it: without control characters,
// white space collapsed.
func (c *checker) title(path string, o map[string]any) {
	kept := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, c.text(o, path, "title"))
	if utf8.RuneCountInString(strings.Join(strings.Fields(kept), " ")) > maxTitle {
		c.refuse(join(path, "title"), fmt.Sprintf("is longer than %d characters", maxTitle))
	}
}

// sessionsList checks paging and filters, at the top or in query (seed 002,
// "List sessions").
func (c *checker) sessionsList(o map[string]any) {
	c.listFields("", o)
	v, ok := o["query"]
	if !ok {
		return
	}
	query, ok := v.(map[string]any)
	if !ok {
		c.refuse("query", "must be an object")
		return
	}
	for _, field := range sortedKeys(query) {
		at := "query." + field
		switch field {
		case "limit", "offset", "source", "include_children":
		default:
			c.refuse(at, "is not one of limit, offset, source and include_children")
			continue
		}
		switch x := query[field].(type) {
		case string:
			if len(x) > maxQuery || hasControl(x) {
				c.refuse(at, fmt.Sprintf("must be at most %d bytes without control characters", maxQuery))
			}
		case bool, json.Number:
		default:
			c.refuse(at, "must be a string, a number, true or false")
		}
		switch top, both := o[field]; {
		case both && fmt.Sprint(top) != fmt.Sprint(query[field]):
			c.refuse(at, "differs from the same field beside query")
		case both:
			c.warn(at, "is sent twice: it stands beside query too")
		}
	}
	c.listFields("query", query)
}

func (c *checker) listFields(path string, o map[string]any) {
	number := func(field string, most int64) {
		v, ok := o[field]
		if !ok {
			return
		}
		if s, isString := v.(string); isString && path != "" {
			v = json.Number(strings.TrimSpace(s)) // a query value may be written as text
		}
		n, ok := integer(v)
		switch {
		case !ok || n < 0 || n > most:
			c.refuse(join(path, field), fmt.Sprintf("must be an integer from 0 to %d", most))
		case field == "limit" && n == 0:
			c.warn(join(path, field), "is 0: the list will be empty and still say that there is more")
		}
	}
	number("limit", maxListLimit)
	number("offset", maxListOffset)
	source := c.text(o, path, "source")
	if len(source) > maxQuery || hasControl(source) {
		c.refuse(join(path, "source"), fmt.Sprintf("must be at most %d bytes without control characters", maxQuery))
	}
	if v, ok := o["include_children"]; ok && path == "" {
		if _, isBool := v.(bool); !isBool {
			c.refuse("include_children", "must be true or false")
		}
	}
}

func (c *checker) sessionCreate(o map[string]any) {
	path, body := c.body(o)
	if !c.newID(path, body, "id") {
		c.newID(path, body, "session_id")
	}
	c.title(path, body)
	c.text(body, path, "system_prompt")
	c.text(body, path, "model")
}

func (c *checker) sessionPatch(o map[string]any) {
	c.pathID(o, "session_id")
	path, body := c.body(o)
	for _, field := range sortedKeys(body) {
		switch field {
		case "title", "end_reason", "session_id", "session_key", "idempotency_key":
		default:
			c.refuse(join(path, field), "cannot be patched: only title and end_reason can")
		}
	}
	c.title(path, body)
	c.text(body, path, "end_reason")
}

func (c *checker) sessionFork(o map[string]any) {
	c.pathID(o, "session_id")
	path, body := c.body(o)
	c.newID(path, body, "id")
	c.title(path, body)
}

// efforts are the provider's words for how hard a session turn may think.
var efforts = []string{"minimal", "low", "medium", "high", "xhigh", "max", "ultra", "none"}

// sessionChat checks a turn of a stored session (seed 002, "Continue a session
// with chat").
func (c *checker) sessionChat(o map[string]any) {
	c.pathID(o, "session_id")
	path, body := c.body(o)
	said := ""
	for _, field := range []string{"message", "input"} {
		if body[field] != nil {
			said = field
			break
		}
	}
	if said == "" {
		for _, field := range []string{"prompt", "query"} {
			if c.text(body, path, field) != "" {
				said = field
				break
			}
		}
	}
	switch {
	case said == "":
		c.refuse(join(path, "message"), "is required")
	default:
		before := len(c.errs)
		c.content(join(path, said), body[said], true)
		if len(c.errs) == before && !visible(body[said]) {
			c.refuse(join(path, said), "must hold text or an image to see")
		}
	}
	c.text(body, path, "system_message")
	c.text(body, path, "instructions")
	c.filled(body, path, "model")
	if v := body["reasoning_effort"]; v != nil {
		if s, ok := v.(string); !ok || !slices.Contains(efforts, s) {
			c.refuse(join(path, "reasoning_effort"), "must be one of "+strings.Join(efforts, ", "))
		}
	}
}

// runStart checks that a run is asked something.
func (c *checker) runStart(o map[string]any) {
	path, body := c.body(o)
	switch in := body["input"].(type) {
	case nil:
		c.refuse(join(path, "input"), "is required")
	case string:
		if strings.TrimSpace(in) == "" {
			c.refuse(join(path, "input"), "must not be blank")
		}
	}
}

// runApproval checks an answer to a run's question (wire/hermes.md A.4).
func (c *checker) runApproval(o map[string]any) {
	c.pathID(o, "run_id")
	path, body := c.body(o)
	choice := body["choice"]
	if choice == nil {
		path, choice = "", o["choice"]
	}
	c.choice(join(path, "choice"), choice, "once", "session", "always", "deny", "approve", "allow")
	for _, field := range []string{"all", "resolve_all"} {
		if v := body[field]; v != nil {
			if _, ok := v.(bool); !ok {
				c.refuse(join(path, field), "must be true or false")
			}
		}
	}
}

func (c *checker) choice(at string, v any, allowed ...string) {
	if s, ok := v.(string); !ok || !slices.Contains(allowed, s) {
		c.refuse(at, "must be one of "+strings.Join(allowed, ", "))
	}
}

// operator checks the input of a governed run (wire/hermes.md A.10).
func (c *checker) operator(o map[string]any) {
	for _, field := range sortedKeys(o) {
		switch field {
		case "objective", "resume", "context", "candidate_capabilities", "constraints", "idempotency_key":
		default:
			c.refuse(field, "is not a field of operator")
		}
	}
	if has(o, "objective") == has(o, "resume") {
		c.refuse("objective", "give exactly one of objective and resume")
	}
	if has(o, "objective") {
		if s, ok := o["objective"].(string); !ok || strings.TrimSpace(s) == "" {
			c.refuse("objective", "must be a string that is not blank")
		}
	}
	if v, ok := o["resume"]; ok {
		r, _ := v.(map[string]any)
		if s, _ := r["source_action_id"].(string); !strings.HasPrefix(s, "act_") {
			c.refuse("resume.source_action_id", "must be the ID of an action")
		}
		c.choice("resume.choice", r["choice"], "once", "session", "always", "deny")
	}
	if v := o["candidate_capabilities"]; v != nil {
		if list, ok := v.([]any); !ok || len(list) > 256 {
			c.refuse("candidate_capabilities", "must be an array of at most 256")
		}
	}
}

func isNumber(v any) bool { _, ok := v.(json.Number); return ok }
