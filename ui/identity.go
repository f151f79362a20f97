package ui

import (
	"cmp"
	"encoding/json"
	"strings"

	"aipscope/model"
)

// identifier is one of the names that a turn goes by. They are kept apart, with
// whoever gives them and what they are for (seed 001, "Keep continuity identifiers
// separate").
type identifier struct {
	name, value string
	field       string // whose rule masks the value; "" shows it
	owner, use  string
	asked       bool // it comes from the request
}

// identifiers are those of the turn, in the order of the table.
func (c *Console) identifiers() []identifier {
	var q model.Request
	if r := c.turn.Request(); r != nil {
		q = *r
	}
	in := model.ContinuityOf(q.Input)
	out := []identifier{
		{"action ID", c.turn.Action(), "", "AIP application and runtime", "one governed invocation and its durable result", false},
		{"idempotency key", q.IdempotencyKey, "", "AIP application", "gives the first result of this capability again; repeats nothing safely", true},
		{"AIP session", q.AIPSession, "", "AIP envelope and runtime", "groups messages and actions; it is not the Hermes session", true},
		{"session_id", cmp.Or(in.SessionID, c.turn.SessionID()), "session_id", "chat input and Hermes session database", "continues a chat transcript", true},
	}
	if is := c.turn.SessionID(); in.SessionID != "" && is != "" && is != in.SessionID {
		out = append(out, identifier{"session_id now", is, "session_id", "Hermes session database", "the transcript that Hermes says it wrote: not the one asked for", false})
	}
	return append(out,
		identifier{"session_key", in.SessionKey, "session_key", "application and Hermes memory layer", "scopes long-term memory across transcripts", true},
		identifier{"response_id", c.turn.ResponseID(), "response_id", "Hermes Responses store", "retrieves or chains one stored Responses object", false},
		identifier{"previous response", in.PreviousResponseID, "previous_response_id", "Hermes Responses store", "the stored response that this turn continues", true},
		identifier{"conversation", in.Conversation, "conversation", "application and Hermes Responses store", "names the latest stored response in one chain", true},
	)
}

// shown is an identifier's value as it may be seen now.
func (c *Console) shownID(id identifier) string {
	if id.field == "" {
		return brief(id.value)
	}
	return c.private(id.field, id.value, c.identityRevealed)
}

// private is the value of a field as it may be seen: what the field's rule makes of
// it, until it is revealed.
func (c *Console) private(field, value string, revealed bool) string {
	if revealed || value == "" {
		return brief(value)
	}
	raw, err := json.Marshal(map[string]string{field: value})
	if err != nil {
		return ""
	}
	var masked map[string]any
	if json.Unmarshal(c.mask(raw), &masked) == nil {
		if s, ok := masked[field].(string); ok && s != value {
			return brief(s)
		}
	}
	return "‹" + counted(len([]rune(value)), "char", "chars") + "›"
}

// identityLines are the identifiers with their owners and uses.
func (c *Console) identityLines(w int) []string {
	st := &c.styles
	out := []string{""}
	const name = 19
	for _, id := range c.identifiers() {
		head := "   " + st.title.in(fill(id.name, name))
		switch {
		case id.value != "":
			out = append(out, hang(head, st.text, c.shownID(id), w)...)
		case id.asked && c.turn.Request() == nil:
			out = append(out, hang(head, st.dim, "not known here: the request was not made with this journal", w)...)
		case id.asked:
			out = append(out, hang(head, st.dim, "not given", w)...)
		default:
			out = append(out, hang(head, st.dim, "none seen", w)...)
		}
		out = append(out, hang(strings.Repeat(" ", name+3), st.dim, id.owner+": "+id.use, w)...)
		out = append(out, "")
	}
	return out
}

func (c *Console) identityMasked() bool { return !c.identityRevealed }
func (c *Console) identityOpen() bool   { return c.identityRevealed }
