package hermes

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a request.
const (
	MaxRequestBytes = 10_000_000 // of the provider's body (seed 001, "Respect data and execution limits")
	MaxEvents       = 100_000    // the most that max_events may be (wire/hermes.md A.1)
	LowMaxEvents    = 256        // below it, max_events is likely to cut a usual turn

	maxContinuity = 256   // characters of session_id and session_key (seed 001, "Submit a chat request")
	maxPathID     = 512   // bytes of an ID in a path (wire/hermes.md A.4)
	maxQuery      = 4096  // bytes of a query value (wire/hermes.md A.4)
	maxHeader     = 16384 // bytes of a header (wire/hermes.md A.1)
	maxTitle      = 100   // characters (seed 002, "Create a session")
	maxText       = 65536 // characters of a session turn's text part (seed 002, "Continue a session with chat")
	maxParts      = 1000  // of a session turn (likewise)
	maxListLimit  = 200   // (seed 002, "List sessions")
	maxListOffset = 1_000_000
)

// Finding is one thing about a request: where, and which rule it breaks or
// touches. It repeats nothing of the request but names of fields, which are
// unsafe for a terminal where the request made them up.
type Finding struct {
	Field string // such as messages[0].content; mode and idempotency_key are the action's
	Rule  string
}

func (f Finding) String() string { return f.Field + ": " + f.Rule }

// CheckOptions is what an action carries beside its input.
type CheckOptions struct {
	Capability     string // tells another connector's capability from an operation that is not known
	IdempotencyKey string
	Mode           string // sync, async or streaming; "" is sync
}

// Check looks at a request before anything of it is sent. Errors are what the
// connector or the provider would refuse, or what must not be sent; warnings are
// what would be taken, but has consequences that are easy to miss. The rules are
// those of the seeds and of wire/hermes.md A.2 and A.4. Of capabilities that are
// not the connector's only size and form are known.
func Check(op Operation, input json.RawMessage, opts CheckOptions) (errs, warns []Finding) {
	c := &checker{op: op}
	c.spec, c.known = op.Spec()
	_, _, ours := ParseCapability(opts.Capability)
	var in any
	dec := json.NewDecoder(bytes.NewReader(input))
	dec.UseNumber()
	switch {
	case !json.Valid(input):
		c.refuse("input", "must be JSON")
	case dec.Decode(&in) != nil || in == nil:
		c.refuse("input", "must not be null")
	}
	if size := encodedSize(input); size > MaxRequestBytes {
		c.refuse("input", fmt.Sprintf("is %d bytes, at most %d are taken", size, MaxRequestBytes))
	}
	c.action(opts)
	if len(c.errs) == 0 && (c.known || ours) {
		c.fields(in)
	}
	return c.errs, c.warns
}

// encodedSize is the size of JSON without white space between its tokens.
func encodedSize(raw json.RawMessage) int {
	if len(raw) <= MaxRequestBytes {
		return len(raw)
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return len(raw)
	}
	return b.Len()
}

// checker gathers findings.
type checker struct {
	op    Operation
	spec  Spec
	known bool
	key   string // the action's idempotency key
	errs  []Finding
	warns []Finding
}

func (c *checker) refuse(field, rule string) { c.errs = append(c.errs, Finding{field, rule}) }
func (c *checker) warn(field, rule string)   { c.warns = append(c.warns, Finding{field, rule}) }

// action checks what the action carries beside its input.
func (c *checker) action(opts CheckOptions) {
	switch mode := cmp.Or(opts.Mode, "sync"); {
	case !slices.Contains([]string{"sync", "async", "streaming"}, mode):
		c.refuse("mode", "must be sync, async or streaming")
	case c.known && !c.spec.Allows(mode):
		c.refuse("mode", fmt.Sprintf("%s does not run in mode %s", c.op, mode))
	}
	switch key := opts.IdempotencyKey; {
	case key == "" && c.spec.NeedsKey:
		c.refuse("idempotency_key", fmt.Sprintf("%s requires one", c.op))
	case key == "":
	case strings.TrimSpace(key) == "", hasControl(key), len(key) > maxHeader:
		c.refuse("idempotency_key", "must be a header's value: not blank, without control characters")
	}
	c.key = opts.IdempotencyKey
}

// fields checks the input of one of the connector's operations.
func (c *checker) fields(in any) {
	o, ok := in.(map[string]any)
	if !ok {
		c.refuse("input", "must be an object")
		return
	}
	if !c.known {
		c.warn("capability", "its operation is unknown: the request is checked for credentials only")
	}
	c.credentials("", o)
	c.identity(o)
	c.controls(o)
	switch c.op {
	case OpChat, OpChatStream:
		c.chat(o)
	case OpResponses, OpResponsesStream:
		c.responses(o)
	case OpResponseGet, OpResponseDelete:
		c.pathID(o, "response_id")
	case OpSessionsList:
		c.sessionsList(o)
	case OpSessionCreate:
		c.sessionCreate(o)
	case OpSessionGet, OpSessionDelete, OpSessionMessages:
		c.pathID(o, "session_id")
	case OpSessionPatch:
		c.sessionPatch(o)
	case OpSessionFork:
		c.sessionFork(o)
	case OpSessionChat, OpSessionChatStream:
		c.sessionChat(o)
	case OpRunStart:
		c.runStart(o)
	case OpRunStatus, OpRunEvents, OpRunStop:
		c.pathID(o, "run_id")
	case OpRunApproval:
		c.runApproval(o)
	case OpOperator:
		c.operator(o)
	}
}

// credentialWords are parts of names that say that a value is a credential.
var credentialWords = []string{"secret", "password", "passwd", "apikey", "accesskey", "privatekey", "authorization", "bearer", "cookie", "credential"}

// credentials refuses fields that are named like credentials and hold a value.
// What a message says is a value and is not looked into; a schema's property of
// such a name holds an object.
func (c *checker) credentials(path string, v any) {
	switch x := v.(type) {
	case map[string]any:
		for _, field := range sortedKeys(x) {
			at := join(path, field)
			switch value := x[field].(type) {
			case string:
				if value != "" && credentialName(field) {
					c.refuse(at, "looks like a credential: none may be sent in an input")
				}
			case json.Number:
				if credentialName(field) {
					c.refuse(at, "looks like a credential: none may be sent in an input")
				}
			default:
				c.credentials(at, value)
			}
		}
	case []any:
		for i, item := range x {
			c.credentials(fmt.Sprintf("%s[%d]", path, i), item)
		}
	}
}

func credentialName(field string) bool {
	name := strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(field))
	if name == "auth" || strings.HasSuffix(name, "token") {
		return true
	}
	return slices.ContainsFunc(credentialWords, func(w string) bool { return strings.Contains(name, w) })
}

// identityFields claim who asks. Only the daemon's own context says that.
var identityFields = []string{"_aip", "tenant", "tenant_id", "principal", "principal_id", "user_id", "actor", "identity", "on_behalf_of", "delegation_chain"}

func (c *checker) identity(o map[string]any) {
	for _, inside := range []string{"", "body", "metadata"} {
		at := o
		if inside != "" {
			at, _ = o[inside].(map[string]any)
		}
		for _, field := range identityFields {
			if has(at, field) {
				c.warn(join(inside, field), "claims an identity: the connector's is the trusted one")
			}
		}
	}
}

// controls checks the fields that the connector takes for itself.
func (c *checker) controls(o map[string]any) {
	c.continuity(o, "session_key")
	if has(o, "idempotency_key") {
		if s := c.text(o, "", "idempotency_key"); s != "" && c.key != "" && s != c.key {
			c.warn("idempotency_key", "is not the action's own, which is the one that is sent")
		}
	}
	if has(o, "max_events") {
		n, ok := integer(o["max_events"])
		switch {
		case !c.takesMaxEvents():
			c.refuse("max_events", fmt.Sprintf("%s takes none", c.op))
		case !ok || n < 1 || n > MaxEvents:
			c.refuse("max_events", fmt.Sprintf("must be an integer from 1 to %d", MaxEvents))
		case n < LowMaxEvents && c.spec.Streams():
			c.warn("max_events", fmt.Sprintf("is low: a turn of more than %d frames fails as truncated, and is not to be sent again", n))
		}
	}
	body, _ := o["body"].(map[string]any)
	for _, field := range []string{"max_events", "session_key", "idempotency_key"} {
		if has(body, field) {
			c.refuse("body."+field, "belongs beside body, not in it")
		}
	}
}

// takesMaxEvents reports whether the operation's schema has max_events.
func (c *checker) takesMaxEvents() bool {
	switch c.op {
	case OpChatStream, OpResponsesStream, OpResponseGet, OpResponseDelete, OpSessionGet, OpSessionDelete, OpSessionMessages,
		OpSessionChat, OpSessionChatStream, OpRunEvents, OpRunStatus, OpRunStop:
		return true
	}
	return !c.known
}

// continuity checks a field that becomes a header and selects what is
// continued; it returns its value.
func (c *checker) continuity(o map[string]any, field string) string {
	if !has(o, field) {
		return ""
	}
	s, ok := o[field].(string)
	switch {
	case !ok || strings.TrimSpace(s) == "":
		c.refuse(field, "must be a string that is not blank")
	case utf8.RuneCountInString(s) > maxContinuity:
		c.refuse(field, fmt.Sprintf("is longer than %d characters", maxContinuity))
	case hasControl(s):
		c.refuse(field, "must not hold control characters")
	}
	return s
}

// pathID checks an ID that becomes a part of the provider's path. It may stand
// in body, too.
func (c *checker) pathID(o map[string]any, field string) {
	v, ok := o[field]
	if body, isObject := o["body"].(map[string]any); !ok && isObject {
		v, ok = body[field]
	}
	s, isString := v.(string)
	switch {
	case !ok:
		c.refuse(field, "is required")
	case !isString || strings.TrimSpace(s) == "":
		c.refuse(field, "must be a string that is not blank")
	case len(s) > maxPathID:
		c.refuse(field, fmt.Sprintf("is longer than %d bytes", maxPathID))
	case hasControl(s):
		c.refuse(field, "must not hold control characters")
	case strings.Contains(s, " "):
		c.warn(field, "holds a space, which reaches the provider as +")
	}
}

// text checks that a field, where it is given, is a string, and returns it.
func (c *checker) text(o map[string]any, path, field string) string {
	v, ok := o[field]
	s, isString := v.(string)
	if ok && v != nil && !isString {
		c.refuse(join(path, field), "must be a string")
	}
	return s
}

// filled checks that a field, where it is given, is a string that is not blank.
func (c *checker) filled(o map[string]any, path, field string) string {
	s := c.text(o, path, field)
	if _, isString := o[field].(string); isString && strings.TrimSpace(s) == "" {
		c.refuse(join(path, field), "must not be blank")
	}
	return s
}

func has(o map[string]any, field string) bool { _, ok := o[field]; return ok }

func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

func sortedKeys(o map[string]any) []string { return slices.Sorted(maps.Keys(o)) }

func hasControl(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }

// integer reads a whole number that fits, written as one.
func integer(v any) (int64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := n.Int64()
	return i, err == nil
}
