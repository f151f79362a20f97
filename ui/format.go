package ui

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"aipscope/model"
	"aipscope/model/safe"

	"github.com/charmbracelet/x/ansi"
)

// briefBytes is more than a line of the screen shows of any text.
const briefBytes = 2 << 10

// brief makes outside text fit for one line of the screen. Of a long one, which
// may be megabytes, only the beginning is looked at.
func brief(s string) string {
	if len(s) <= briefBytes {
		return safe.Line(s)
	}
	n := briefBytes
	for n > briefBytes-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return safe.Line(s[:n]) + "…"
}

// truncate is ansi.Truncate that keeps to w cells. That takes one too many where a wide
// cluster begins with a character of ASCII, as a keycap does.
func truncate(s string, w int, tail string) string {
	out := ansi.Truncate(s, w, tail)
	for n := w - 1; n >= 0 && ansi.StringWidth(out) > w; n-- {
		out = ansi.Truncate(s, n, tail)
	}
	return out
}

// cut shortens s to at most w cells, with an ellipsis in the last.
func cut(s string, w int) string {
	if w <= 0 {
		return ""
	}
	if ansi.StringWidth(s) <= w {
		return s
	}
	return truncate(s, w, "…")
}

// fill makes s exactly w cells wide.
func fill(s string, w int) string {
	if w <= 0 {
		return ""
	}
	n := ansi.StringWidth(s)
	if n > w {
		s = truncate(s, w, "…")
		n = ansi.StringWidth(s)
	}
	return s + strings.Repeat(" ", w-n)
}

// fillLeft makes s exactly w cells wide, flush right.
func fillLeft(s string, w int) string {
	s = cut(s, w)
	return strings.Repeat(" ", max(0, w-ansi.StringWidth(s))) + s
}

// middle shortens s to at most w cells by leaving out its middle, and keeps its
// last four: IDs of one kind begin alike.
func middle(s string, w int) string {
	n := ansi.StringWidth(s)
	if n <= w || w < 8 {
		return cut(s, w)
	}
	return truncate(s, w-5, "") + "…" + ending(s, n-4)
}

// ending is s without its first n cells. A wide character that stands across the
// cut is left out whole.
func ending(s string, n int) string {
	out := ansi.TruncateLeft(s, n, "")
	for left := ansi.StringWidth(s) - n; left >= 0 && ansi.StringWidth(out) > left; {
		n++
		out = ansi.TruncateLeft(s, n, "")
	}
	return out
}

// number writes n with thousands apart.
func number[T int | int64](n T) string { return model.Number(int64(n)) }

// counted writes n and its noun.
func counted(n int, one, many string) string { return model.Count(n, one, many) }

// size writes a number of bytes.
func size(n int) string {
	switch {
	case n < 1000:
		return strconv.Itoa(n) + " B"
	case n < 99_950:
		return fmt.Sprintf("%.1f KB", float64(n)/1e3)
	case n < 999_500:
		return fmt.Sprintf("%.0f KB", float64(n)/1e3)
	default:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
}

// clock writes a duration as minutes and seconds, or hours before them.
func clock(d time.Duration) string {
	s := int(max(d, 0) / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// seconds writes how long something took.
func seconds(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	default:
		return clock(d)
	}
}

// columns sets left and right at the two ends of a line of w cells. The left
// gives way.
func columns(left, right string, w int) string {
	r := ansi.StringWidth(right)
	if r == 0 {
		return fill(left, w)
	}
	if r >= w {
		return fill(right, w)
	}
	return fill(left, w-r) + right
}
