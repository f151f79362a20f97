package ui

import (
	"fmt"
	"strings"
	"time"

	"aipscope/follow"
	"aipscope/model"

	"github.com/charmbracelet/x/ansi"
)

// part is one thing that the header says. Where the line is too short for all,
// the part of the highest rank goes first.
type part struct {
	text  string
	ink   ink
	rank  int
	right bool
}

// header is the first line: which action, and how it is being followed.
func (c *Console) header(now time.Time) string {
	st, w := &c.styles, c.width
	op, endpoint := c.operation()
	if endpoint != "" && w >= 100 {
		op += " @ " + endpoint
	}
	long, short := c.linkText(now)
	chunks := counted(c.turn.Chunks(), "chunk", "chunks")
	if w < 100 {
		chunks = number(c.turn.Chunks())
	}
	parts := []part{
		{text: "aipscope", ink: st.accent, rank: 6},
		{text: middle(brief(c.turn.Action()), max(16, min(24, w/4))), ink: st.title, rank: 1},
		{text: op, ink: st.dim, rank: 5},
		{text: long, ink: st.link(c.link.State), rank: 0, right: true},
		{text: chunks, ink: st.text, rank: 4, right: true},
		{text: c.lagText(), ink: st.dim, rank: 7, right: true},
		{text: c.elapsedText(now), ink: st.text, rank: 3, right: true},
	}
	if w < 100 {
		parts[0].text = ""
	}
	if s := c.waitText(); s != "" {
		parts = append(parts, part{text: s, ink: st.word(model.AwaitingApproval), rank: 1, right: true})
	}
	if c.frozen {
		parts = append(parts, part{text: c.heldText(), ink: st.aside, rank: 2, right: true})
	}
	if c.past != nil {
		parts = append(parts, part{text: c.pastText(), ink: st.aside, rank: 2, right: true})
	}
	gap := "  "
	if w >= 100 {
		gap = "   "
	}
	for {
		left, right := joined(parts, gap)
		if ansi.StringWidth(left.plain)+ansi.StringWidth(right.plain)+4 <= w {
			return columns(" "+left.styled, right.styled+" ", w)
		}
		// The reason of a lost link is worth more than what is said elsewhere.
		if parts[3].text != short && !dropOne(parts, 5) {
			parts[3].text = short
			continue
		}
		if parts[3].text == short && !dropOne(parts, 2) {
			return columns(" "+left.styled, right.styled+" ", w)
		}
	}
}

// waitText says that the turn waits for somebody, wherever the eye is.
func (c *Console) waitText() string {
	wait := c.turn.Waiting()
	if wait == nil || c.over() {
		return ""
	}
	what := "waits for an approval"
	if wait.Kind == "clarify" {
		what = "asks a question"
	}
	return prefix(c.styles.wordGlyph(model.AwaitingApproval)) + what
}

type run struct{ plain, styled string }

func joined(parts []part, gap string) (left, right run) {
	for _, p := range parts {
		if p.text == "" {
			continue
		}
		side := &left
		if p.right {
			side = &right
		}
		if side.plain != "" {
			side.plain += gap
			side.styled += gap
		}
		side.plain += p.text
		side.styled += p.ink.in(p.text)
	}
	return left, right
}

// dropOne empties the part of the highest rank, from the given one on.
func dropOne(parts []part, from int) bool {
	at := -1
	for i, p := range parts {
		if p.text != "" && p.rank >= from && (at < 0 || p.rank > parts[at].rank) {
			at = i
		}
	}
	if at < 0 {
		return false
	}
	parts[at].text = ""
	return true
}

// linkText says how the follow connection stands, at length and in short.
func (c *Console) linkText(now time.Time) (long, short string) {
	g, l := prefix(c.styles.linkGlyph(c.link.State)), c.link
	reason := brief(l.Reason)
	if reason != "" {
		reason = cut(reason, 48)
	}
	switch l.State {
	case "":
		if c.done {
			g = prefix(c.styles.linkGlyph(follow.Settled)) // nobody is followed
			return g + "from the journal", g + "journal"
		}
		if c.history {
			return g + "reading the journal", g + "journal"
		}
		return g + "starting", g + "starting"
	case follow.Connecting:
		if l.Attempt > 1 {
			return g + "connecting, attempt " + number(l.Attempt), g + "connecting"
		}
		return g + "connecting", g + "connecting"
	case follow.Live:
		long = g + "live"
		if c.reconnects > 0 {
			long += ", resumed"
			if c.reconnects > 1 {
				long += " " + number(c.reconnects) + " times"
			}
			if c.duplicates > 0 {
				long += ", " + number(c.duplicates) + " repeated"
			}
		}
		if reason != "" {
			long += " (" + reason + ")"
		}
		return long, g + "live"
	case follow.Retrying:
		short = g + "reconnecting"
		if left := c.linkAt.Add(l.Wait).Sub(now); left > 0 && !c.styles.plain {
			short += " in " + number(int((left+time.Second-1)/time.Second)) + " s"
		}
		why := "attempt " + number(max(l.Attempt, 1))
		if reason != "" {
			why += ", " + reason
		}
		return short + " (" + why + ")", short
	case follow.Draining:
		if reason != "" { // it is tried again
			return g + "reading what is left (" + reason + ")", g + "draining"
		}
		return g + "reading what is left", g + "draining"
	case follow.Settled:
		return g + "settled", g + "settled"
	case follow.Refused:
		if reason != "" {
			return g + "refused: " + reason, g + "refused"
		}
		return g + "refused", g + "refused"
	}
	s := g + brief(string(l.State))
	return s, s
}

// elapsedText is the time that the turn takes. A plain screen tells it at the end
// only: a line that changes by itself would be read aloud again and again.
func (c *Console) elapsedText(now time.Time) string {
	if c.styles.plain && !c.over() {
		return ""
	}
	return clock(c.elapsed(now))
}

// lagText says how far the screen is behind the journal, while something comes
// in.
func (c *Console) lagText() string {
	if c.styles.plain || c.done || c.lag <= 0 || c.link.State != follow.Live {
		return ""
	}
	if c.lag >= time.Minute {
		return "lag " + clock(c.lag)
	}
	return fmt.Sprintf("lag %.1f s", c.lag.Seconds())
}

// elapsed is the time since the turn began, or that it took.
func (c *Console) elapsed(now time.Time) time.Duration {
	first, last := c.turn.Span()
	if first.IsZero() {
		return 0
	}
	if c.done || c.turn.Settled() {
		return last.Sub(first)
	}
	return now.Sub(first)
}

// heldText says what a frozen screen does not show.
func (c *Console) heldText() string {
	s := "frozen, " + number(c.held.chunks) + " held"
	if c.held.outcome {
		s += " with the outcome"
	}
	return s
}

// operation names what runs, and where.
func (c *Console) operation() (op, endpoint string) {
	capability := c.turn.Capability()
	if capability == "" {
		capability = c.cfg.Capability
	}
	op = string(c.turn.Operation())
	if op == "" {
		op = capability[strings.LastIndexByte(capability, ':')+1:]
	}
	endpoint = c.turn.Endpoint()
	if endpoint == "" {
		endpoint = c.cfg.Endpoint
	}
	return brief(op), brief(endpoint)
}
