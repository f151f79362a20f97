package themes

import (
	"github.com/charmbracelet/lipgloss"

	"aipscope/follow"
	"aipscope/model"
)

// Glyphs are the signs that states have besides their word and colour. Each is one
// cell wide.
type Glyphs struct {
	Verdicts map[model.Word]string
	Marks    map[model.Mark]string
	Tools    map[model.ToolStatus]string
	Links    map[follow.LinkState]string

	Border   lipgloss.Border
	Rule     string // a horizontal line, repeated
	Bar      string // the left edge of a quote
	Ran      string // where a tool ran, in the text
	Cursor   string // where text will come
	Chosen   string // before the chosen row
	Below    string // there is more below
	Above    string // there is more above
	Open     string // what is unfolded
	Ellipsis string // what was cut off
	Bullet   string
	Full     string // of a bar that measures
	Empty    string
	Ticked   string
	Unticked string
}

// Unicode is the usual set.
func Unicode() Glyphs {
	return Glyphs{
		Verdicts: map[model.Word]string{
			model.Pending: "◌", model.AwaitingApproval: "⏸", model.Accepted: "✓", model.Unconfirmed: "◐", model.Partial: "◑",
			model.Failed: "✗", model.Cancelled: "⊘", model.Incomplete: "?", model.Contradicted: "≠",
		},
		Marks: map[model.Mark]string{
			model.Pass: "✓", model.Fail: "✗", model.MarkPending: "·", model.NotApplicable: "–", model.Unknown: "◐",
		},
		Tools: map[model.ToolStatus]string{
			model.ToolRunning: "●", model.ToolCompleted: "✓", model.ToolFailed: "✗", model.ToolUnended: "?", model.ToolOrphan: "≠",
		},
		Links: map[follow.LinkState]string{
			follow.Connecting: "◌", follow.Live: "●", follow.Retrying: "↻", follow.Draining: "▾", follow.Settled: "■", follow.Refused: "✗",
		},
		Border: lipgloss.RoundedBorder(), Rule: "─", Bar: "│", Ran: "┄", Cursor: "▌", Chosen: "▸", Below: "▾", Above: "▴", Open: "▾",
		Ellipsis: "…", Bullet: "•", Full: "━", Empty: "─", Ticked: "✓", Unticked: " ",
	}
}

// ASCII is for terminals and fonts that have no more.
func ASCII() Glyphs {
	return Glyphs{
		Verdicts: map[model.Word]string{
			model.Pending: ".", model.AwaitingApproval: "=", model.Accepted: "+", model.Unconfirmed: "~", model.Partial: "%",
			model.Failed: "x", model.Cancelled: "o", model.Incomplete: "?", model.Contradicted: "!",
		},
		Marks: map[model.Mark]string{
			model.Pass: "+", model.Fail: "x", model.MarkPending: ".", model.NotApplicable: "-", model.Unknown: "~",
		},
		Tools: map[model.ToolStatus]string{
			model.ToolRunning: "*", model.ToolCompleted: "+", model.ToolFailed: "x", model.ToolUnended: "?", model.ToolOrphan: "!",
		},
		Links: map[follow.LinkState]string{
			follow.Connecting: ".", follow.Live: "*", follow.Retrying: "~", follow.Draining: "v", follow.Settled: "#", follow.Refused: "x",
		},
		Border: lipgloss.ASCIIBorder(), Rule: "-", Bar: "|", Ran: "-", Cursor: "_", Chosen: ">", Below: "v", Above: "^", Open: "v",
		Ellipsis: "~", Bullet: "-", Full: "#", Empty: ".", Ticked: "x", Unticked: " ",
	}
}
