package hermes

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// chat checks the input of chat and chat_stream (seed 001, "Submit a chat
// request").
func (c *checker) chat(o map[string]any) {
	branches := 0
	for _, field := range []string{"prompt", "query", "messages"} {
		if has(o, field) {
			branches++
		}
	}
	if branches != 1 {
		c.refuse("messages", "give exactly one of prompt, query and messages")
	}
	for _, field := range []string{"prompt", "query"} {
		if !has(o, field) {
			continue
		}
		if s, ok := o[field].(string); !ok || strings.TrimSpace(s) == "" {
			c.refuse(field, "must be a string that is not blank")
		}
	}
	earlier := false
	if has(o, "messages") {
		earlier = c.messages(o["messages"])
	}
	if has(o, "body") {
		c.refuse("body", "would replace the whole request of a chat")
	}
	c.typed("", o)
	c.stream("", o)
	session := c.continuity(o, "session_id")
	switch {
	case !has(o, "session_id"):
		c.warn("session_id", "is not given: the provider makes one that is not shown, and the turn cannot be continued or looked up by it")
	case !safeID(session):
		c.refuse("session_id", pathLike)
	case earlier:
		c.warn("messages", "those before the last are not used where the transcript of session_id is loaded")
	}
}

// messages checks a chat's messages; it reports whether there are some of the
// conversation before the last.
func (c *checker) messages(v any) (earlier bool) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		c.refuse("messages", "must be an array with at least one message")
		return false
	}
	for i, item := range list {
		at := fmt.Sprintf("messages[%d]", i)
		m, ok := c.message(at, item)
		role, _ := m["role"].(string)
		last := i == len(list)-1
		switch {
		case !ok:
		case last && (role != "user" || !visible(m["content"])):
			c.refuse(at, "the last message must be the user's, with text or an image to see")
		case !last && (role == "user" || role == "assistant"):
			earlier = true
		}
	}
	return earlier
}

// message checks that an entry has a role and content. An assistant that called
// tools may have said nothing.
func (c *checker) message(at string, v any) (m map[string]any, ok bool) {
	m, ok = v.(map[string]any)
	if !ok {
		c.refuse(at, "must be an object with role and content")
		return nil, false
	}
	before := len(c.errs)
	role, _ := m["role"].(string)
	if strings.TrimSpace(role) == "" {
		c.refuse(at+".role", "is required")
	}
	if m["content"] == nil && (role != "assistant" || m["tool_calls"] == nil) {
		c.refuse(at+".content", "is required")
	} else {
		c.content(at+".content", m["content"], false)
	}
	return m, len(c.errs) == before
}

// content checks what a message says: text, or a list of text and image parts.
// A session turn's is limited in length (seed 002, "Continue a session with
// chat").
func (c *checker) content(at string, v any, limited bool) {
	tooLong := func(s string) bool { return limited && utf8.RuneCountInString(s) > maxText }
	switch x := v.(type) {
	case nil:
	case string:
		if tooLong(x) {
			c.refuse(at, fmt.Sprintf("is longer than %d characters", maxText))
		}
	case []any:
		if limited && len(x) > maxParts {
			c.refuse(at, fmt.Sprintf("has more than %d parts", maxParts))
		}
		for i, part := range x {
			at := fmt.Sprintf("%s[%d]", at, i)
			if s, ok := part.(string); ok {
				if tooLong(s) {
					c.refuse(at, fmt.Sprintf("is longer than %d characters", maxText))
				}
				continue
			}
			p, _ := part.(map[string]any)
			kind, _ := p["type"].(string)
			switch kind {
			case "text", "input_text", "output_text":
				if s, ok := p["text"].(string); !ok {
					c.refuse(at+".text", "must be a string")
				} else if tooLong(s) {
					c.refuse(at+".text", fmt.Sprintf("is longer than %d characters", maxText))
				}
			case "image_url", "input_image":
				if !imageURL(p["image_url"]) {
					c.refuse(at+".image_url", "must be an http, https or data:image URL")
				}
			default:
				c.refuse(at+".type", "only text and images are taken")
			}
		}
	default:
		c.refuse(at, "must be a string or a list of text and image parts")
	}
}

// imageURL reads both forms of an image part: the URL, or an object with it.
func imageURL(v any) bool {
	if o, ok := v.(map[string]any); ok {
		v = o["url"]
	}
	s, _ := v.(string)
	s = strings.ToLower(strings.TrimSpace(s))
	for _, scheme := range []string{"http://", "https://", "data:image/"} {
		if strings.HasPrefix(s, scheme) && len(s) > len(scheme) {
			return true
		}
	}
	return false
}

// visible reports whether content holds text that is not blank, or an image.
func visible(v any) bool {
	switch x := v.(type) {
	case string:
		return strings.TrimSpace(x) != ""
	case []any:
		for _, part := range x {
			if s, ok := part.(string); ok && strings.TrimSpace(s) != "" {
				return true
			}
			p, _ := part.(map[string]any)
			if s, _ := p["text"].(string); strings.TrimSpace(s) != "" || p["image_url"] != nil {
				return true
			}
		}
	}
	return false
}

// typed checks the fields of a model turn that have a type.
func (c *checker) typed(path string, o map[string]any) {
	c.filled(o, path, "model")
	c.text(o, path, "user")
	for _, field := range []string{"temperature", "top_p"} {
		if v := o[field]; v != nil && !isNumber(v) {
			c.refuse(join(path, field), "must be a number")
		}
	}
	if v := o["max_tokens"]; v != nil {
		if n, ok := integer(v); !ok || n < 0 {
			c.refuse(join(path, "max_tokens"), "must be an integer that is not negative")
		}
	}
	switch stop := o["stop"].(type) {
	case nil, string:
	case []any:
		for i, s := range stop {
			if _, ok := s.(string); !ok {
				c.refuse(join(path, fmt.Sprintf("stop[%d]", i)), "must be a string")
			}
		}
	default:
		c.refuse(join(path, "stop"), "must be a string or an array of strings")
	}
	switch tools := o["tools"].(type) {
	case nil:
	case []any:
		for i, t := range tools {
			if _, ok := t.(map[string]any); !ok {
				c.refuse(join(path, fmt.Sprintf("tools[%d]", i)), "must be an object")
			}
		}
	default:
		c.refuse(join(path, "tools"), "must be an array of objects")
	}
	switch o["tool_choice"].(type) {
	case nil, string, map[string]any:
	default:
		c.refuse(join(path, "tool_choice"), "must be a string or an object")
	}
	for _, field := range []string{"response_format", "metadata"} {
		switch o[field].(type) {
		case nil, map[string]any:
		default:
			c.refuse(join(path, field), "must be an object")
		}
	}
}

// stream warns where a request asks for what its operation decides.
func (c *checker) stream(path string, o map[string]any) {
	if v, ok := o["stream"]; ok && v != any(c.spec.Streams()) {
		c.warn(join(path, "stream"), "is set by the operation")
	}
}

// responses checks the input of responses and responses_stream (seed 001,
// "Submit a Responses request").
func (c *checker) responses(o map[string]any) {
	path, body := "", o
	if v, ok := o["body"]; ok {
		if body, ok = v.(map[string]any); !ok {
			c.refuse("body", "must be an object")
			return
		}
		path = "body"
		if has(body, "session_id") {
			c.refuse("body.session_id", "belongs beside body, not in it")
		}
		for _, field := range sortedKeys(o) {
			switch field {
			case "body", "max_events", "session_key", "session_id", "idempotency_key", "_aip":
			default:
				c.warn(field, "is not sent where there is a body")
			}
		}
	} else {
		for _, field := range []string{"max_events", "session_key", "session_id", "idempotency_key"} {
			if has(o, field) {
				c.warn(field, "reaches the provider as a part of the request: put the provider's fields in body")
			}
		}
	}
	c.continuity(o, "session_id")
	c.responsesInput(join(path, "input"), body)
	c.filled(body, path, "conversation")
	c.filled(body, path, "previous_response_id")
	c.text(body, path, "instructions")
	c.text(body, path, "truncation")
	c.typed(path, body)
	c.stream(path, body)
	if body["conversation"] != nil && body["previous_response_id"] != nil {
		c.refuse(join(path, "previous_response_id"), "cannot stand together with conversation")
	}
	if v, ok := body["conversation_history"]; ok {
		c.history(join(path, "conversation_history"), v)
		if body["previous_response_id"] != nil {
			c.warn(join(path, "conversation_history"), "is used instead of previous_response_id")
		}
	}
	switch store := body["store"].(type) {
	case nil:
	case bool:
		if !store {
			c.warn(join(path, "store"), "is false: there will be nothing to look the turn up by")
		}
	default:
		c.refuse(join(path, "store"), "must be true or false")
	}
}

// responsesInput checks the one field that a Responses request must have. Its
// last item is what the agent is asked.
func (c *checker) responsesInput(at string, body map[string]any) {
	switch in := body["input"].(type) {
	case nil:
		c.refuse(at, "is required")
	case string:
		if strings.TrimSpace(in) == "" {
			c.refuse(at, "must not be blank")
		}
	case []any:
		if len(in) == 0 {
			c.refuse(at, "must not be empty")
		}
		for i, item := range in {
			at := fmt.Sprintf("%s[%d]", at, i)
			m, ok := item.(map[string]any)
			if s, isString := item.(string); isString {
				m = map[string]any{"role": "user", "content": s}
			} else if !ok {
				c.refuse(at, "must be a string or a message object")
				continue
			}
			c.content(at+".content", m["content"], false)
			if i == len(in)-1 && (m["role"] != any("user") || !visible(m["content"])) {
				c.refuse(at, "the last item must be the user's, with text or an image to see")
			}
		}
	default:
		c.refuse(at, "must be a string or an array of strings and message objects")
	}
}

func (c *checker) history(at string, v any) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		c.refuse(at, "must be an array with at least one entry")
		return
	}
	for i, item := range list {
		c.message(fmt.Sprintf("%s[%d]", at, i), item)
	}
}
