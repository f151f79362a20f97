package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"aipscope/follow"
	"aipscope/model"
	"aipscope/model/aip"
	"aipscope/model/hermes"
	"aipscope/model/safe"
)

// printer writes a turn as it grows, without a terminal: as text or as JSON
// lines. It prints only what batches bring, and so only what is on disk.
type printer interface {
	// batch applies and prints one batch.
	batch(follow.Batch) error
	// verdict prints the last word.
	verdict(model.Verdict, follow.Batch) error
}

// textPrinter writes the assistant's text as it grows, and the verdict to
// standard error. What it wrote is never taken back.
type textPrinter struct {
	out, err io.Writer
	turn     *model.Turn
	veil     veil // over what an action that is no turn answered with
	safe     safe.Stream
	printed  string // of the turn's text, before escaping
	restarts int
	unlike   bool // the turn's text is no longer what was printed

	waits  bool  // that the action waits for an approval was said
	asking int64 // sequence of the turn's own question that was told of last, from 1
}

func (p *textPrinter) batch(b follow.Batch) error {
	p.turn.Apply(b.Rows)
	text := p.turn.Text()
	if n := p.turn.Restarts(); n != p.restarts {
		p.restarts = n
		p.unlike = !strings.HasPrefix(text, p.printed)
	}
	if !p.unlike && len(text) > len(p.printed) {
		if _, err := io.WriteString(p.out, p.safe.Write(text[len(p.printed):])); err != nil {
			return err
		}
		p.printed = text
	}
	p.waiting(b)
	for _, l := range b.Links {
		if l.Reason != "" {
			fmt.Fprintf(p.err, "aipscope: %s: %s\n", l.State, safe.Line(l.Reason))
		}
	}
	return nil
}

// waiting tells that somebody must decide before anything goes on.
func (p *textPrinter) waiting(b follow.Batch) {
	word := func(k model.RowKind) bool { return k == model.RowStatus || k == model.RowResult }
	if slices.ContainsFunc(b.Rows, func(r model.Row) bool { return word(r.Kind) }) {
		waits := p.turn.Verdict().Word == model.AwaitingApproval
		if waits && !p.waits {
			fmt.Fprintf(p.err, "aipscope: %s waits for an approval; nothing runs until somebody decides\n", safe.Line(p.turn.Action()))
		}
		p.waits = waits
	}
	if w := p.turn.Waiting(); w != nil && p.asking != int64(w.Since)+1 {
		p.asking = int64(w.Since) + 1
		fmt.Fprintf(p.err, "aipscope: the turn waits: %s asked in chunk %d\n", map[bool]string{true: "a question was", false: "an approval was"}[w.Kind == "clarify"], w.Since)
	}
}

func (p *textPrinter) verdict(v model.Verdict, b follow.Batch) error {
	tail := p.safe.Flush()
	if p.printed != "" && !strings.HasSuffix(p.printed, "\n") {
		tail += "\n"
	}
	if _, err := io.WriteString(p.out, tail); err != nil {
		return err
	}
	if err := p.object(); err != nil {
		return err
	}
	if p.unlike {
		fmt.Fprintln(p.err, "aipscope: a chunk came late: the text above is not the whole answer in its order; open the action to read it")
	}
	_, err := fmt.Fprintf(p.err, "%s %s: %s\n", safe.Line(p.turn.Action()), strings.ReplaceAll(string(v.Word), "_", " "), v.Reason)
	return err
}

// object prints what an action that is no turn answered with. Whoever started a
// run needs its ID.
func (p *textPrinter) object() error {
	raw := p.turn.Object()
	if len(raw) == 0 {
		return nil
	}
	if id := hermes.Field(raw, "run_id"); id != "" && p.turn.Operation() == hermes.OpRunStart {
		fmt.Fprintf(p.err, "aipscope: run %s; its events are those of %s\n", safe.Line(id), safe.Line(hermes.OpRunEvents.Capability(p.turn.Endpoint())))
	}
	return writeIndented(p.out, p.veil.json(raw))
}

// jsonPrinter writes one object a line, in the order of life.
type jsonPrinter struct {
	out      *bufio.Writer // flushed behind each batch
	turn     *model.Turn
	newOnly  bool // pass over what the journal held at the start
	reveal   bool // print labels, arguments and raw data
	veil     veil // over what an action that is no turn answered with
	restarts int
	steps    int
	shown    map[string]model.ToolStatus
}

// versioned ends each line: the version of the format that output.schema.json describes.
// It is raised when a member is removed or changes its meaning.
const versioned = `,"version":1}` + "\n"

// writeJSON writes one object as a line in which nothing can move a cursor.
func writeJSON(w io.Writer, object any) error {
	line, err := safe.JSON(nil, object)
	if err != nil {
		return fmt.Errorf("encode output: %w", err)
	}
	_, err = w.Write(append(line[:len(line)-1], versioned...))
	return err
}

type linkLine struct {
	Type    string           `json:"type"`
	State   follow.LinkState `json:"state"`
	Attempt int              `json:"attempt"`
	Cursor  *string          `json:"cursor"`
	Reason  string           `json:"reason,omitempty"`
	WaitMS  int64            `json:"wait_ms,omitempty"`
}

type eventLine struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Kind string `json:"kind"`
	At   string `json:"at"`
}

type conflictLine struct {
	Type     string `json:"type"`
	Sequence uint64 `json:"sequence"`
}

type chunkLine struct {
	Type     string          `json:"type"`
	Sequence uint64          `json:"sequence"`
	Kind     aip.ChunkKind   `json:"kind"`
	Frame    string          `json:"frame"`
	At       string          `json:"at"`
	Text     string          `json:"text,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"` // with --reveal
}

type toolLine struct {
	Type      string           `json:"type,omitempty"`
	Key       string           `json:"key"`
	Name      string           `json:"name"`
	Status    model.ToolStatus `json:"status"`
	Sequence  *uint64          `json:"sequence,omitempty"`
	Label     string           `json:"label,omitempty"` // with --reveal, as the two below
	Arguments string           `json:"arguments,omitempty"`
	Result    string           `json:"result,omitempty"`
}

func (p *jsonPrinter) batch(b follow.Batch) error {
	p.turn.Apply(b.Rows)
	steps := p.newSteps()
	if !b.History || !p.newOnly {
		for i := range b.Rows {
			if err := p.row(&b.Rows[i], steps); err != nil {
				return err
			}
		}
		// What no chunk of this batch changed: tools that only the result or
		// the end of the turn told of.
		for _, line := range steps.lines {
			if line == nil {
				continue
			}
			if err := writeJSON(p.out, line); err != nil {
				return err
			}
		}
	}
	for _, l := range b.Links {
		line := linkLine{Type: "link", State: l.State, Attempt: l.Attempt, Reason: l.Reason, WaitMS: l.Wait.Milliseconds()}
		if l.Cursor != "" {
			line.Cursor = &l.Cursor
		}
		if err := writeJSON(p.out, line); err != nil {
			return err
		}
	}
	return p.out.Flush()
}

func (p *jsonPrinter) row(r *model.Row, steps *stepLines) error {
	switch {
	case r.Kind == model.RowConflict && r.Chunk != nil:
		return writeJSON(p.out, conflictLine{"conflict", r.Chunk.Sequence})
	case r.Chunk != nil:
		e, _ := p.turn.Find(r.Chunk.Sequence)
		if err := p.chunk(r.Chunk, e); err != nil {
			return err
		}
		for _, line := range steps.at(r.Chunk.Sequence) {
			if err := writeJSON(p.out, line); err != nil {
				return err
			}
		}
	case r.Event != nil:
		if _, metadata := r.Announces(); metadata {
			return nil
		}
		return writeJSON(p.out, eventLine{"event", r.Event.ID, r.Event.Kind, stamp(r.Event.OccurredAt.Time)})
	}
	return nil
}

// chunk prints what chunkLine says. There are more of these lines than of all others:
// without data of the provider's own, they are put together here.
func (p *jsonPrinter) chunk(c *aip.Chunk, e model.Entry) error {
	if p.reveal {
		return writeJSON(p.out, chunkLine{"chunk", c.Sequence, c.Kind, e.Frame, stamp(e.At), e.Text(), c.Data})
	}
	line := append(p.out.AvailableBuffer(), `{"type":"chunk","sequence":`...)
	line = strconv.AppendUint(line, c.Sequence, 10)
	line = safe.AppendString(append(line, `,"kind":`...), string(c.Kind))
	line = safe.AppendString(append(line, `,"frame":`...), e.Frame)
	line = append(line, `,"at":"`...)
	if !e.At.IsZero() {
		line = e.At.UTC().AppendFormat(line, time.RFC3339Nano)
	}
	line = append(line, '"')
	if text := e.Text(); text != "" {
		line = safe.AppendString(append(line, `,"text":`...), text)
	}
	_, err := p.out.Write(append(line, versioned...))
	return err
}

// stepLines are the tool lines of a batch, and which of them each chunk made.
type stepLines struct {
	lines []*toolLine // nil once printed
	by    map[uint64][]int
}

// newSteps collects what changed of the tools since the last call. After a
// restart of the fold, steps that were printed already are passed over.
func (p *jsonPrinter) newSteps() *stepLines {
	if n := p.turn.Restarts(); n != p.restarts {
		p.restarts, p.steps = n, 0
	}
	all := p.turn.ToolSteps()
	s := &stepLines{by: map[uint64][]int{}}
	for _, step := range all[min(p.steps, len(all)):] {
		id := step.Key + "\x00" + string(step.Status)
		if p.shown[id] != "" {
			continue
		}
		p.shown[id] = step.Status
		if step.Status != model.ToolUnended { // the end of the turn made that one
			s.by[step.Sequence] = append(s.by[step.Sequence], len(s.lines))
		}
		s.lines = append(s.lines, p.tool(step))
	}
	p.steps = len(all)
	return s
}

func (p *jsonPrinter) tool(step model.ToolStep) *toolLine {
	line := &toolLine{Type: "tool", Key: step.Key, Name: step.Name, Status: step.Status, Sequence: &step.Sequence}
	if p.reveal {
		line.Label, line.Arguments, line.Result = step.Label, step.Arguments, step.Result
	}
	return line
}

// at takes the lines that belong to a chunk.
func (s *stepLines) at(sequence uint64) []*toolLine {
	var out []*toolLine
	for _, i := range s.by[sequence] {
		out = append(out, s.lines[i])
		s.lines[i] = nil
	}
	delete(s.by, sequence)
	return out
}

type verdictLine struct {
	Type         string          `json:"type"`
	ActionID     string          `json:"action_id"`
	Capability   *string         `json:"capability"`
	Verdict      model.Word      `json:"verdict"`
	Reason       string          `json:"reason"`
	Conditions   conditionsJSON  `json:"conditions"`
	Advice       []string        `json:"advice"`
	Text         string          `json:"text"`
	FinishReason *string         `json:"finish_reason"`
	ResponseID   *string         `json:"response_id"`
	SessionID    *string         `json:"session_id"`
	Usage        json.RawMessage `json:"usage"`
	Tools        []toolLine      `json:"tools"`
	Chunks       int             `json:"chunks"`
	Gaps         [][2]uint64     `json:"gaps"` // first and last sequence that is missing
	Duplicates   int             `json:"duplicates"`
	Conflicts    []uint64        `json:"conflicts"`
	Reconnects   int             `json:"reconnects"`
	Object       json.RawMessage `json:"object,omitempty"` // of an action that is no turn; masked without --reveal
}

// conditionsJSON keeps the conditions in their order.
type conditionsJSON []model.Condition

func (c conditionsJSON) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, x := range c {
		if i > 0 {
			b.WriteByte(',')
		}
		body, err := json.Marshal(struct {
			State  model.Mark `json:"state"`
			Detail string     `json:"detail"`
			Chunk  *uint64    `json:"chunk,omitempty"`
		}{x.Mark, x.Detail, chunkOf(x)})
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", x.Name, body)
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

func chunkOf(c model.Condition) *uint64 {
	if !c.HasChunk {
		return nil
	}
	return &c.Chunk
}

func (p *jsonPrinter) verdict(v model.Verdict, b follow.Batch) error {
	t := p.turn
	line := verdictLine{
		Type: "verdict", ActionID: t.Action(), Capability: orNull(t.Capability()), Verdict: v.Word, Reason: v.Reason,
		Conditions: v.Conditions, Advice: append([]string{}, v.Advice...), Text: t.Text(),
		FinishReason: orNull(t.FinishReason()), ResponseID: orNull(t.ResponseID()), SessionID: orNull(t.SessionID()),
		Usage: t.Usage().Raw, Tools: []toolLine{}, Chunks: t.Chunks(), Gaps: [][2]uint64{},
		Duplicates: b.Duplicates, Conflicts: append([]uint64{}, t.Conflicts()...), Reconnects: b.Reconnects, Object: p.veil.json(t.Object()),
	}
	for _, tool := range t.Tools() {
		l := toolLine{Key: tool.Key, Name: tool.Name, Status: tool.Status}
		if p.reveal {
			l.Label, l.Arguments, l.Result = tool.Label, tool.Arguments, tool.Result
		}
		line.Tools = append(line.Tools, l)
	}
	for _, g := range t.Gaps() {
		line.Gaps = append(line.Gaps, [2]uint64{g.First, g.Last})
	}
	return errors.Join(writeJSON(p.out, line), p.out.Flush())
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
