package ui

import (
	"strings"

	"aipscope/model"
	"aipscope/model/safe"

	"github.com/charmbracelet/x/ansi"
)

// conditionWords are the conditions' names on the screen.
var conditionWords = map[model.ConditionName]string{
	model.CondNotTruncated: "not truncated",
	model.CondNoError:      "no error",
}

func conditionWord(n model.ConditionName) string {
	if w, ok := conditionWords[n]; ok {
		return w
	}
	return string(n)
}

// wordText is the verdict's word as it is shown.
func wordText(w model.Word) string {
	if w == "" {
		w = model.Pending
	}
	return strings.ToUpper(strings.ReplaceAll(string(w), "_", " "))
}

// wordTag is the verdict's glyph and word.
func (s *styles) wordTag(w model.Word) string {
	return s.word(w).in(prefix(s.wordGlyph(w)) + wordText(w))
}

// conditionMark is how a condition is marked: what is still open once the
// action has its outcome stays open until somebody settles it.
func (c *Console) conditionMark(cond model.Condition) model.Mark {
	if cond.Mark == model.MarkPending && c.turn.Settled() {
		return model.Unknown
	}
	return cond.Mark
}

// verdictBar is the line that the eye lands on: the word, and what it rests on.
func (c *Console) verdictBar() string {
	st, v, w := &c.styles, c.verdict, c.width
	tag := " " + st.wordTag(v.Word)
	tagWidth := ansi.StringWidth(tag)
	pad := strings.Repeat(" ", max(2, 15-tagWidth))

	var marks strings.Builder
	width := tagWidth + len(pad)
	for i, cond := range v.Conditions {
		if i > 0 {
			marks.WriteString("  ")
			width += 2
		}
		mark := c.conditionMark(cond)
		name, glyph := conditionWord(cond.Name), st.markGlyph(mark)
		marks.WriteString(st.markName(mark).in(name) + " " + st.mark(mark).in(glyph))
		width += ansi.StringWidth(name) + 1 + ansi.StringWidth(glyph)
	}
	if len(v.Conditions) > 0 && width <= w {
		return fill(tag+pad+marks.String(), w)
	}
	why := ""
	if w-tagWidth > 36 {
		why = "  " + st.accent.in("v") + st.dim.in(" why ")
	}
	return columns(tag+"   "+st.text.in(cut(c.because(), max(0, w-tagWidth-4-ansi.StringWidth(why)))), why, w)
}

// because is the one thing that stands between the turn and acceptance, or the
// verdict's own sentence.
func (c *Console) because() string {
	v := c.verdict
	var first *model.Condition
	for i := range v.Conditions {
		cond := &v.Conditions[i]
		if cond.Name == v.Because {
			first = cond
			break
		}
		if first == nil && cond.Mark != model.Pass && cond.Mark != model.NotApplicable {
			first = cond
		}
	}
	if first == nil || first.Detail == "" {
		return safe.Line(v.Reason)
	}
	return conditionWord(first.Name) + ": " + safe.Line(first.Detail)
}

// verdictLines is the verdict at length: its conditions, then what to do next.
// Where keys work, it names the one that confirms.
func (c *Console) verdictLines(w int, keys bool) []string {
	st, v := &c.styles, c.verdict
	out := []string{"", " " + st.wordTag(v.Word)}
	if v.Reason != "" {
		out = append(out, hang("   ", st.text, safe.Line(v.Reason), w)...)
	}
	out = append(out, "")
	for _, cond := range v.Conditions {
		detail := safe.Line(cond.Detail)
		if detail == "" {
			detail = string(cond.Mark)
		}
		if cond.HasChunk {
			detail += ", in chunk " + sequence(cond.Chunk)
		}
		body, mark := st.text, c.conditionMark(cond)
		if mark == model.NotApplicable || mark == model.MarkPending {
			body = st.dim
		}
		head := "   " + st.mark(mark).in(fill(st.markGlyph(mark), st.markWidth)) + " " + st.markName(mark).in(fill(conditionWord(cond.Name), 15))
		out = append(out, hang(head, body, detail, w)...)
		if cond.Name == model.CondEffects {
			out = append(out, c.effectLines(cond, w, keys)...)
		}
	}
	if len(v.Advice) > 0 {
		out = append(out, "")
		for _, line := range v.Advice {
			out = append(out, hang("   "+st.accent.in(st.glyphs.Chosen)+" ", st.text, safe.Line(line), w)...)
		}
	}
	if keys && c.shouldReconcile() {
		out = append(out, hang("   "+st.accent.in(st.glyphs.Chosen)+" ", st.dim, "R reads the action and its stored provider state again, and sends nothing", w)...)
	}
	if other, why := c.turn.Successor(); other != "" {
		out = append(out, "")
		out = append(out, hang("   "+st.accent.in(st.glyphs.Chosen)+" ", st.text, "judge "+brief(other)+" instead: "+safe.Line(why), w)...)
	}
	return append(out, "")
}

// mostNames is how many names of tools the verdict holds; the tools' pane has all.
const mostNames = 100

// effectLines names the tools whose effects nobody has confirmed.
func (c *Console) effectLines(cond model.Condition, w int, keys bool) []string {
	if cond.Mark == model.Pass || cond.Mark == model.NotApplicable || len(c.turn.Tools()) == 0 {
		return nil
	}
	indent := strings.Repeat(" ", 19+c.styles.markWidth)
	var names []string
	seen := map[string]int{}
	for _, t := range c.turn.Tools() {
		n := toolName(t) + toolOdd(t.Status)
		if seen[n]++; seen[n] == 1 {
			names = append(names, n)
		}
	}
	for i, n := range names {
		if seen[n] > 1 {
			names[i] = n + " " + c.styles.signs.times + number(seen[n])
		}
	}
	if more := len(names) - mostNames; more > 0 {
		names = append(names[:mostNames:mostNames], "and "+number(more)+" more")
	}
	out := hang(indent, c.styles.dim, strings.Join(names, ", "), w)
	if keys && c.mayConfirm() {
		out = append(out, hang(indent, c.styles.dim, "check what they changed, then confirm with e", w)...)
	}
	return out
}

// hang writes text behind head, and its further lines below its start.
func hang(head string, k ink, text string, w int) []string {
	n := ansi.StringWidth(head)
	var out []string
	for i, line := range strings.Split(ansi.Wrap(text, max(8, w-n-1), ""), "\n") {
		if i > 0 {
			head = strings.Repeat(" ", n)
		}
		out = append(out, head+k.in(line))
	}
	return out
}
