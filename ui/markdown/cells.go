package markdown

import (
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/charmbracelet/glamour/ansi"
	xansi "github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"aipscope/model/safe"
)

// attr is a set of text attributes.
type attr uint8

const (
	bold attr = 1 << iota
	faint
	italic
	underline
	blink
	reverse
	strike
	overline
)

var attrCodes = [...]string{"1", "2", "3", "4", "5", "7", "9", "53"}

// pen is how a stretch of text is drawn. The colours are SGR parameters.
type pen struct {
	fg, bg string
	attr   attr
	link   string
}

func (p pen) plain() bool { return p.fg == "" && p.bg == "" && p.attr == 0 }

// inks reports whether a space drawn with p can be seen.
func (p pen) inks() bool {
	return p.bg != "" || p.attr&(reverse|underline|strike|overline) != 0 || p.link != ""
}

// over lays p over what lies below it.
func (p pen) over(below pen) pen {
	if p.fg == "" {
		p.fg = below.fg
	}
	if p.bg == "" {
		p.bg = below.bg
	}
	p.attr |= below.attr
	return p
}

// penOf is the pen of a glamour style in a colour profile.
func penOf(s ansi.StylePrimitive, profile termenv.Profile) pen {
	var p pen
	color := func(c *string, bg bool) string {
		if c == nil || *c == "" {
			return ""
		}
		if col := profile.Color(*c); col != nil {
			return col.Sequence(bg)
		}
		return ""
	}
	p.fg, p.bg = color(s.Color, false), color(s.BackgroundColor, true)
	for _, a := range []struct {
		on  *bool
		bit attr
	}{{s.Bold, bold}, {s.Faint, faint}, {s.Italic, italic}, {s.Underline, underline}, {s.Blink, blink}, {s.Inverse, reverse}, {s.CrossedOut, strike}, {s.Overlined, overline}} {
		if a.on != nil && *a.on {
			p.attr |= a.bit
		}
	}
	return p
}

// apply folds the parameters of one SGR sequence in; base is what a reset
// returns to. Concealed text is not an attribute here: nothing hides.
func (p pen) apply(params string, base pen) pen {
	for more := true; more; {
		var code string
		code, params, more = strings.Cut(params, ";")
		n, _ := strconv.Atoi(code)
		switch {
		case n == 0:
			p = base
		case n == 1:
			p.attr |= bold
		case n == 2:
			p.attr |= faint
		case n == 3:
			p.attr |= italic
		case n == 4:
			p.attr |= underline
		case n == 5:
			p.attr |= blink
		case n == 7:
			p.attr |= reverse
		case n == 9:
			p.attr |= strike
		case n == 53:
			p.attr |= overline
		case n == 22:
			p.attr &^= bold | faint
		case n == 23:
			p.attr &^= italic
		case n == 24:
			p.attr &^= underline
		case n == 27:
			p.attr &^= reverse
		case n == 29:
			p.attr &^= strike
		case n >= 30 && n <= 37 || n >= 90 && n <= 97:
			p.fg = code
		case n == 39:
			p.fg = base.fg
		case n >= 40 && n <= 47 || n >= 100 && n <= 107:
			p.bg = code
		case n == 49:
			p.bg = base.bg
		case n == 38 || n == 48:
			parts := 2 // 38;5;N
			if strings.HasPrefix(params, "2;") {
				parts = 4 // 38;2;R;G;B
			}
			color := code
			for range parts {
				code, params, more = strings.Cut(params, ";")
				color += ";" + code
			}
			if n == 38 {
				p.fg = color
			} else {
				p.bg = color
			}
		}
	}
	return p
}

// run is text of one pen, without newlines and tabs.
type run struct {
	text string
	pen  pen
}

// runsOf reads rendered text, which safe.Filter has passed, into lines of runs.
func runsOf(s string, base pen) [][]run {
	var lines [][]run
	var line []run
	p := base
	for s != "" {
		i := strings.IndexAny(s, "\x1b\n\t")
		if i < 0 {
			i = len(s)
		}
		if i > 0 {
			line = append(line, run{s[:i], p})
		}
		if i == len(s) {
			break
		}
		switch s[i] {
		case '\n':
			lines = append(lines, line)
			line = nil
			i++
		case '\t':
			line = append(line, run{" ", p})
			i++
		default:
			end := strings.IndexByte(s[i:], 'm')
			if !strings.HasPrefix(s[i:], "\x1b[") || end < 0 {
				i++ // no renderer of ours writes another sequence
				break
			}
			p = p.apply(s[i+2:i+end], base)
			i += end + 1
		}
		s = s[i:]
	}
	return append(lines, line)
}

// trimBlank drops the blank lines at both ends.
func trimBlank(lines [][]run) [][]run {
	for len(lines) > 0 && blank(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && blank(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func blank(line []run) bool {
	for _, r := range line {
		if r.pen.inks() || strings.Trim(r.text, " ") != "" {
			return false
		}
	}
	return true
}

// linked makes the next occurrence of each address a hyperlink to it.
func linked(lines [][]run, addresses []string) {
	for l := 0; l < len(lines) && len(addresses) > 0; l++ {
		for i := 0; i < len(lines[l]) && len(addresses) > 0; i++ {
			r := lines[l][i]
			at := strings.Index(r.text, addresses[0])
			if at < 0 {
				continue
			}
			end := at + len(addresses[0])
			var parts []run
			if at > 0 {
				parts = append(parts, run{r.text[:at], r.pen})
			}
			link := r.pen
			link.link = addresses[0]
			parts = append(parts, run{r.text[at:end], link})
			if end < len(r.text) {
				parts = append(parts, run{r.text[end:], r.pen})
			}
			lines[l] = append(lines[l][:i:i], append(parts, lines[l][i+1:]...)...)
			if at == 0 {
				i--
			}
			i++
			addresses = addresses[1:]
		}
	}
}

// wrapMode says where a line may be broken.
type wrapMode int

const (
	words wrapMode = iota // between words, and beside wide characters
	hard                  // anywhere: what is written in columns keeps them
)

// noStart may not begin a line where the characters stand without spaces.
const noStart = "、。，．・：；？！）」』】〉》〕］｝ー々…"

// wrap appends line to dst, broken into lines of at most width cells.
func wrap(dst []string, line []run, width int, mode wrapMode) []string {
	width = max(width, 1)
	var text string
	if len(line) == 1 {
		text = line[0].text
	} else {
		n := 0
		for _, r := range line {
			n += len(r.text)
		}
		b := make([]byte, 0, n)
		for _, r := range line {
			b = append(b, r.text...)
		}
		text = string(b)
	}
	if !ascii(text) {
		line = snapped(line, text)
	} else if len(text) <= width {
		return append(dst, paint(line, 0, len(text)))
	}

	start, col := 0, 0        // of the line that is being filled
	breakAt, breakCol := 0, 0 // where it may be broken, and its width up to there
	wideBefore := false
	for i := 0; i < len(text); {
		size, w := cluster(text[i:])
		if w > width {
			// A wide character in a single column: something must be seen there.
			return wrap(dst, narrowed(line, width), width, mode)
		}
		if mode == words {
			wide := w > 1
			switch {
			case text[i] == ' ':
				if col >= width {
					dst = append(dst, paint(line, start, i))
					for i < len(text) && text[i] == ' ' {
						i++
					}
					start, col, breakAt, wideBefore = i, 0, i, false
					continue
				}
				breakAt, breakCol = i+1, col+1
			case (wide || wideBefore) && i > start && text[i-1] != ' ' && !strings.Contains(noStart, text[i:i+size]):
				breakAt, breakCol = i, col
			}
			wideBefore = wide
		}
		if col+w > width {
			if breakAt > start && fits(text[breakAt:], width) {
				dst = append(dst, paint(line, start, breakAt))
				start, col = breakAt, col-breakCol
			} else {
				dst = append(dst, paint(line, start, i))
				start, col = i, 0
			}
			breakAt = start
			continue
		}
		col += w
		i += size
	}
	if start < len(text) || len(text) == 0 {
		dst = append(dst, paint(line, start, len(text)))
	}
	return dst
}

// snapped moves the changes of pen to where a grapheme cluster ends: an escape
// inside one would take it apart.
func snapped(line []run, text string) []run {
	if len(line) < 2 {
		return line
	}
	out := make([]run, 0, len(line))
	start, end, at := 0, 0, 0
	for _, r := range line {
		end += len(r.text)
		for at < end {
			size, _ := cluster(text[at:])
			at += size
		}
		if at > start {
			out = append(out, run{text[start:at], r.pen})
			start = at
		}
	}
	return out
}

// fits reports whether the word that s begins with fits on a line of its own. One
// that does not is broken where it stands.
func fits(s string, width int) bool {
	for s != "" && s[0] != ' ' {
		size, w := cluster(s)
		if width -= w; width < 0 {
			return false
		}
		if w > 1 {
			return true
		}
		s = s[size:]
	}
	return true
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// cluster is the length of the grapheme cluster that s starts with, and its
// width in cells.
func cluster(s string) (size, width int) {
	if s[0] < 0x80 && (len(s) == 1 || s[1] < 0x80) {
		return 1, 1
	}
	c, w := xansi.FirstGraphemeCluster(s, xansi.GraphemeWidth)
	return len(c), w
}

func narrowed(line []run, width int) []run {
	out := make([]run, len(line))
	for i, r := range line {
		var b strings.Builder
		for s := r.text; s != ""; {
			size, w := cluster(s)
			if w > width {
				b.WriteString("…")
			} else {
				b.WriteString(s[:size])
			}
			s = s[size:]
		}
		out[i] = run{b.String(), r.pen}
	}
	return out
}

// paint writes the bytes from start to end of a line as one line that needs
// nothing from its neighbours and leaves nothing to them, without spaces that nobody
// sees at its end.
func paint(line []run, start, end int) string {
	// The end is trimmed run by run: a space counts only if its pen inks it.
	for pos, i := 0, 0; i < len(line); i++ {
		pos += len(line[i].text)
		if pos < end && i < len(line)-1 {
			continue
		}
		for ; i >= 0 && end > start; i-- {
			from := pos - len(line[i].text)
			if line[i].pen.inks() {
				break
			}
			part := line[i].text[max(start-from, 0) : end-from]
			end -= len(part) - len(strings.TrimRight(part, " "))
			if strings.Trim(part, " ") != "" {
				break
			}
			pos = from
		}
		break
	}

	if len(line) == 1 && line[0].pen.plain() && line[0].pen.link == "" {
		return line[0].text[start:end]
	}
	b := make([]byte, 0, end-start+32)
	var cur pen
	pos := 0
	for _, r := range line {
		from, to := max(start-pos, 0), min(end-pos, len(r.text))
		pos += len(r.text)
		if from >= to {
			if pos >= end {
				break
			}
			continue
		}
		b = change(b, cur, r.pen)
		cur = r.pen
		b = append(b, r.text[from:to]...)
	}
	return string(change(b, cur, pen{}))
}

// change appends what turns one pen into another.
func change(b []byte, from, to pen) []byte {
	if from.link != to.link {
		if from.link != "" {
			b = append(b, "\x1b]8;;\x1b\\"...)
		}
		if safe.Linkable(to.link) {
			h := fnv.New32a()
			h.Write([]byte(to.link))
			b = append(b, "\x1b]8;id="...)
			b = strconv.AppendUint(b, uint64(h.Sum32()), 36)
			b = append(append(append(b, ';'), to.link...), "\x1b\\"...)
		}
	}
	from.link, to.link = "", ""
	if from == to {
		return b
	}
	b = append(b, "\x1b["...)
	if !from.plain() && !to.plain() {
		b = append(b, "0;"...)
	}
	if to.plain() {
		return append(b, 'm')
	}
	for i, code := range attrCodes {
		if to.attr&(1<<i) != 0 {
			b = append(append(b, code...), ';')
		}
	}
	if to.fg != "" {
		b = append(append(b, to.fg...), ';')
	}
	if to.bg != "" {
		b = append(append(b, to.bg...), ';')
	}
	b[len(b)-1] = 'm'
	return b
}
