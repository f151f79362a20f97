package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"aipscope/model"
	"aipscope/model/safe"

	"github.com/itchyny/gojq"
)

// query is what a search or a filter asks of a chunk: words, all of them;
// kind:, event: and tool: with a pattern; a word behind a minus must not fit. Or one
// jq expression, whose truth decides.
type query struct {
	source string
	terms  []clause
	code   *gojq.Code
	marks  *regexp.Regexp // what is set apart where it was found, or nil
}

type clause struct {
	field string // kind, event, tool; "" for a word anywhere
	glob  string
	word  *regexp.Regexp
	not   bool
}

// expressionTime is how long an expression may take over one chunk.
const expressionTime = 100 * time.Millisecond

var errSlow = errors.New("the expression takes too long")

// parseQuery reads what was typed. What begins like jq is an expression: with a
// dot, a bracket, or select( and its like.
func parseQuery(s string) (*query, error) {
	q := &query{source: strings.TrimSpace(s)}
	if isExpression(q.source) {
		parsed, err := gojq.Parse(q.source)
		if err != nil {
			return nil, fmt.Errorf("not a jq expression: %w", err)
		}
		// Without an environment: the console's is nobody's business.
		if q.code, err = gojq.Compile(parsed, gojq.WithEnvironLoader(func() []string { return nil })); err != nil {
			return nil, fmt.Errorf("not a jq expression: %w", err)
		}
		return q, nil
	}
	var marks []string
	for _, w := range strings.Fields(q.source) {
		var t clause
		if rest, ok := strings.CutPrefix(w, "-"); ok && rest != "" {
			t.not, w = true, rest
		}
		if field, glob, ok := strings.Cut(w, ":"); ok && glob != "" && slices.Contains([]string{"kind", "event", "tool"}, field) {
			t.field, t.glob = field, strings.ToLower(glob)
			if _, err := path.Match(t.glob, ""); err != nil {
				return nil, fmt.Errorf("%s: the pattern has an open bracket", w)
			}
			q.terms = append(q.terms, t)
			continue
		}
		// Capitals in a word are meant.
		pattern := regexp.QuoteMeta(w)
		if !strings.ContainsFunc(w, unicode.IsUpper) {
			pattern = "(?i:" + pattern + ")"
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, errors.New("the word cannot be searched for: it is not text")
		}
		t.word = re
		q.terms = append(q.terms, t)
		if !t.not {
			marks = append(marks, pattern)
		}
	}
	if len(marks) > 0 {
		q.marks = regexp.MustCompile(strings.Join(marks, "|"))
	}
	return q, nil
}

func isExpression(s string) bool {
	for _, begin := range []string{".", "(", "[", "select(", "any(", "all(", "not ", "test("} {
		if strings.HasPrefix(s, begin) {
			return true
		}
	}
	return strings.Contains(s, " | ")
}

// reads reports whether the content of chunks must be read.
func (q *query) reads() bool {
	return q.code != nil || slices.ContainsFunc(q.terms, func(t clause) bool { return t.word != nil })
}

// candidate is a chunk as a query sees it: what the list shows of it, and its
// content, masked or not.
type candidate struct {
	entry   model.Entry
	did     string
	tool    string // name
	content json.RawMessage
}

// fits reports whether the chunk is one of those asked for.
func (q *query) fits(ctx context.Context, c *candidate) (bool, error) {
	if q.code != nil {
		return q.evaluate(ctx, c)
	}
	text := ""
	for _, t := range q.terms {
		var ok bool
		switch t.field {
		case "kind":
			ok = t.any(kindsOf(c)...)
		case "event":
			ok = t.any(frameName(&c.entry), eventName(&c.entry))
		case "tool":
			ok = t.any(c.tool, c.entry.Tool)
		default:
			if text == "" {
				text = c.text()
			}
			ok = t.word.MatchString(text)
		}
		if ok == t.not {
			return false, nil
		}
	}
	return true, nil
}

func (t clause) any(names ...string) bool {
	for _, n := range names {
		if ok, _ := path.Match(t.glob, strings.ToLower(n)); ok && n != "" {
			return true
		}
	}
	return false
}

// eventName is the provider's event name where it may be shown.
func eventName(e *model.Entry) string {
	if plainName(e.Event) {
		return e.Event
	}
	return ""
}

// kindsOf are the names that kind: knows a chunk by: AIP's kind, the second half
// of its frame's name, and tool for all that changed one.
func kindsOf(c *candidate) []string {
	kinds := []string{string(c.entry.Kind), kindName(c.entry.Kind)}
	if _, short, ok := strings.Cut(c.entry.Frame, "."); ok {
		kinds = append(kinds, short)
	}
	if c.entry.Tool != "" {
		kinds = append(kinds, "tool")
	}
	switch {
	case c.entry.Recovered:
		kinds = append(kinds, "recovered")
	case c.entry.Conflict:
		kinds = append(kinds, "conflict")
	}
	if c.entry.Text() != "" {
		kinds = append(kinds, "text")
	}
	return kinds
}

// text is all that is shown of the chunk: its line, and the leaves of its tree.
func (c *candidate) text() string {
	var b strings.Builder
	b.WriteString(sequence(c.entry.Sequence) + " " + string(c.entry.Kind) + " " + frameName(&c.entry) + " " + c.did + "\n")
	nodes, err := parseTree(c.content)
	if err != nil {
		b.WriteString(safe.Text(string(c.content)))
		return b.String()
	}
	skip := -1
	for i := range nodes {
		n := &nodes[i]
		if i < skip {
			continue
		}
		if n.key == "raw_data" {
			skip = n.end // it says the same as data
			continue
		}
		b.WriteString(n.key + " " + n.value + "\n")
	}
	return b.String()
}

// evaluate runs the expression over the chunk.
func (q *query) evaluate(ctx context.Context, c *candidate) (bool, error) {
	var chunk any
	if err := json.Unmarshal(c.content, &chunk); err != nil {
		return false, fmt.Errorf("read the chunk: %w", err)
	}
	e := &c.entry
	in := map[string]any{
		"sequence": float64(e.Sequence), "kind": string(e.Kind), "frame": safe.Line(e.Frame), "event": eventName(e), "size": e.Size,
		"did": c.did, "tool": e.Tool, "data": providerData(chunk), "chunk": chunk,
	}
	ctx, cancel := context.WithTimeout(ctx, expressionTime)
	defer cancel()
	run := q.code.RunWithContext(ctx, in)
	for {
		v, ok := run.Next()
		if !ok {
			return false, nil
		}
		if err, ok := v.(error); ok {
			if ctx.Err() != nil {
				return false, errSlow
			}
			return false, err
		}
		if v != nil && v != false {
			return true, nil
		}
	}
}

// providerData is the provider's data inside a chunk or a recovered record.
func providerData(v any) any {
	for _, keys := range [][]string{{"data", "hermes_sse", "data"}, {"record", "data"}, {"data"}} {
		at, ok := v, true
		for _, k := range keys {
			var m map[string]any
			if m, ok = at.(map[string]any); !ok {
				break
			}
			if at, ok = m[k]; !ok {
				break
			}
		}
		if ok {
			return at
		}
	}
	return nil
}

// marked sets apart what the query found in a line; the rest is in the given ink.
func (s *styles) marked(line string, k ink, marks *regexp.Regexp) string {
	if marks == nil {
		return k.in(line)
	}
	var b strings.Builder
	at := 0
	for _, m := range marks.FindAllStringIndex(line, 32) {
		if m[0] < at {
			continue
		}
		end := clusterEnd(line, m[1])
		b.WriteString(k.in(line[at:m[0]]) + s.match.in(line[m[0]:end]))
		at = end
	}
	b.WriteString(k.in(line[at:]))
	return b.String()
}

// clusterEnd moves the end of a match behind the marks that belong to its last
// letter: a colour between them would part them on some terminals.
func clusterEnd(line string, end int) int {
	for end < len(line) {
		r, n := utf8.DecodeRuneInString(line[end:])
		if !unicode.Is(unicode.M, r) {
			break
		}
		end += n
	}
	return end
}
