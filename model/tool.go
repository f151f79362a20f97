package model

import (
	"cmp"
	"fmt"
	"time"

	"aipscope/model/hermes"
)

// ToolStatus is where a tool stands.
type ToolStatus string

const (
	ToolRunning   ToolStatus = "running"
	ToolCompleted ToolStatus = "completed" // ended; on chat and session streams a failed tool ends so too
	ToolFailed    ToolStatus = "failed"
	ToolUnended   ToolStatus = "unended" // the turn ended, the tool never did
	ToolOrphan    ToolStatus = "orphan"  // an end without a start
)

// Tool is one call, keyed by its correlation ID, or by name#n where the stream
// has none: then calls of one name are paired first in, first out. A correlation
// ID that comes again, after the end of its call, is another call's: id#n.
type Tool struct {
	Key        string
	Correlated bool // Key is the provider's own
	Name       string
	Label      string
	Status     ToolStatus
	Arguments  string // JSON or text, as sent; private
	Result     string // private
	Started    uint64 // sequence of the start, when HasStart
	Ended      uint64 // sequence of the end, when HasEnd
	HasStart   bool
	HasEnd     bool
	StartedAt  time.Time     // when the daemon recorded the start; zero if unknown
	EndedAt    time.Time     // likewise
	Duration   time.Duration // as the provider reported it, else between those times; 0 if unknown
	Row        int64         // journal row of its last change

	reported bool    // Duration is the provider's
	marked   bool    // a segment shows where it began
	segment  int     // that one
	lost     [2]bool // the chunk of its start or end never came: it is a recovered event's
}

// tool folds one change of one tool.
func (t *Turn) tool(e *Entry, c hermes.ToolChange) {
	if c.Phase == hermes.ToolPiece {
		if len(t.tools) > 0 {
			return
		}
		c.Name = "unknown" // its beginning never came
	}
	tool := t.toolOf(c)
	var before ToolStatus
	if tool != nil {
		before = tool.Status
	} else {
		tool = t.newTool(c)
		if c.Phase == hermes.ToolEnd {
			tool.Status = ToolOrphan
		}
	}
	e.Tool = tool.Key
	tool.Row = max(tool.Row, e.Row)
	keepText(&tool.Name, c.Name)
	keepText(&tool.Label, c.Label)
	keepText(&tool.Arguments, c.Arguments)
	keepText(&tool.Result, c.Result)
	if c.Duration > 0 {
		tool.Duration, tool.reported = c.Duration, true
	}
	switch {
	case c.Phase == hermes.ToolStart && !tool.HasStart:
		tool.HasStart, tool.Started, tool.lost[0] = true, e.Sequence, e.Recovered
		if tool.Status == ToolOrphan {
			tool.Status = ToolCompleted // the start came late
		}
	case c.Phase == hermes.ToolEnd && !tool.HasEnd:
		tool.HasEnd, tool.Ended, tool.lost[1] = true, e.Sequence, e.Recovered
		t.waiting = nil
		if tool.Status != ToolOrphan {
			tool.Status = ToolCompleted
		}
	}
	if c.Phase == hermes.ToolEnd && c.Failed {
		tool.Status = ToolFailed
	}
	tool.time(e)
	t.toolMark(e, tool)
	if tool.Status != before {
		t.setStatus(tool, tool.Status, e.Sequence)
	}
}

// ToolStep is one change of a tool's state.
type ToolStep struct {
	Key, Name string
	Status    ToolStatus
	Sequence  uint64 // of the chunk that changed it; of its start where the end of the turn did

	Label, Arguments, Result string // as far as they were known then
}

func (t *Turn) setStatus(tool *Tool, s ToolStatus, sequence uint64) {
	tool.Status = s
	t.steps = append(t.steps, ToolStep{tool.Key, tool.Name, s, sequence, tool.Label, tool.Arguments, tool.Result})
}

// toolOf finds the tool that a change is about.
func (t *Turn) toolOf(c hermes.ToolChange) *Tool {
	for _, id := range []string{c.Item, c.Key} {
		tool := t.byKey[cmp.Or(t.keyOf[id], id)]
		switch {
		case tool == nil || !tool.Correlated:
		case id != c.Item && c.Phase == hermes.ToolStart && tool.HasStart && tool.HasEnd:
			return nil // another call under the ID of one that is over
		default:
			return tool
		}
	}
	if c.Key != "" || c.Item != "" {
		return nil
	}
	if c.Phase == hermes.ToolStart {
		return nil
	}
	queue := t.running[c.Name]
	if len(queue) == 0 {
		return nil
	}
	if c.Phase == hermes.ToolEnd {
		t.running[c.Name] = queue[1:]
	}
	return t.byKey[queue[0]]
}

func (t *Turn) newTool(c hermes.ToolChange) *Tool {
	id := cmp.Or(c.Key, c.Item)
	tool := &Tool{Key: id, Correlated: id != "", Name: c.Name, Status: ToolRunning}
	name := cmp.Or(id, c.Name)
	if id != "" && t.byKey[id] != nil {
		t.ordinal[name] = max(t.ordinal[name], 1) // that one is the first
	}
	for tool.Key == "" || t.byKey[tool.Key] != nil {
		t.ordinal[name]++
		tool.Key = fmt.Sprintf("%s#%d", name, t.ordinal[name])
	}
	for _, id := range []string{c.Key, c.Item} {
		if id != "" && (id != tool.Key || t.keyOf[id] != "") {
			t.keyOf[id] = tool.Key
		}
	}
	if !tool.Correlated && c.Phase == hermes.ToolStart {
		t.running[c.Name] = append(t.running[c.Name], tool.Key)
	}
	t.tools = append(t.tools, tool)
	t.byKey[tool.Key] = tool
	return tool
}

// toolMark notes in the text where a tool started.
func (t *Turn) toolMark(e *Entry, tool *Tool) {
	if tool.marked {
		e.Segment = tool.segment
		return
	}
	s := t.segment(e, SegmentTools, "")
	s.Tools = append(s.Tools, tool.Key)
	tool.marked, tool.segment = true, e.Segment
}

// rowTools takes from the messages that end a session turn the tools that no
// event told of. Rows have IDs where events have none, so calls of one name are
// matched in order.
func (t *Turn) rowTools(e *Entry, rows []hermes.ToolChange) {
	seen := map[string][]*Tool{}
	for _, tool := range t.tools {
		if !tool.Correlated {
			seen[tool.Name] = append(seen[tool.Name], tool)
		}
	}
	known := map[string]*Tool{} // by the rows' own IDs: a call has a row that asks for it and one that answers
	for _, c := range rows {
		tool := t.byKey[c.Key]
		if tool == nil {
			tool = known[c.Key]
		}
		if tool == nil && len(seen[c.Name]) > 0 {
			tool, seen[c.Name] = seen[c.Name][0], seen[c.Name][1:]
		}
		if tool == nil {
			c.Phase = hermes.ToolEnd
			t.tool(e, c)
			if tool = t.byKey[e.Tool]; tool.Status == ToolOrphan {
				t.setStatus(tool, ToolCompleted, e.Sequence) // its row is proof enough
			}
		}
		if c.Key != "" {
			known[c.Key] = tool
		}
		keepText(&tool.Arguments, c.Arguments)
		keepText(&tool.Result, c.Result)
	}
}

// time sets the times that the entry of the tool's start or end tells.
func (tool *Tool) time(e *Entry) {
	if !e.Timed {
		return
	}
	if tool.HasStart && tool.Started == e.Sequence && !tool.lost[0] {
		tool.StartedAt = e.At
	}
	if tool.HasEnd && tool.Ended == e.Sequence && !tool.lost[1] {
		tool.EndedAt = e.At
	}
	if !tool.reported && !tool.StartedAt.IsZero() && !tool.EndedAt.IsZero() {
		tool.Duration = max(0, tool.EndedAt.Sub(tool.StartedAt))
	}
}

func keepText(dst *string, s string) {
	if s != "" {
		*dst = s
	}
}
