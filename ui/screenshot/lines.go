package screenshot

import (
	"image"
	"image/color"
	"math"
)

// arms are the halves of a line character: 0 for none, 1 for light, 2 for heavy.
type arms struct{ left, right, up, down int }

var lines = map[rune]arms{
	'─': {1, 1, 0, 0}, '│': {0, 0, 1, 1}, '━': {2, 2, 0, 0}, '┃': {0, 0, 2, 2},
	'┌': {0, 1, 0, 1}, '┐': {1, 0, 0, 1}, '└': {0, 1, 1, 0}, '┘': {1, 0, 1, 0},
	'├': {0, 1, 1, 1}, '┤': {1, 0, 1, 1}, '┬': {1, 1, 0, 1}, '┴': {1, 1, 1, 0}, '┼': {1, 1, 1, 1},
	'╴': {1, 0, 0, 0}, '╵': {0, 0, 1, 0}, '╶': {0, 1, 0, 0}, '╷': {0, 0, 0, 1},
}

// rounded corners, by the arms that the curve joins.
var rounded = map[rune]arms{'╭': {0, 1, 0, 1}, '╮': {1, 0, 0, 1}, '╰': {0, 1, 1, 0}, '╯': {1, 0, 1, 0}}

// shaded blocks, by how much of a cell is ink.
var shaded = map[rune]uint8{'█': 255, '▓': 191, '▒': 128, '░': 64}

// drawLine draws a line or block character over its whole cell, or the sign for a
// pause, and reports whether r is one.
func drawLine(m *image.Alpha, r rune) bool {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	if a, ok := lines[r]; ok {
		cross(m, a)
		return true
	}
	if a, ok := rounded[r]; ok {
		curve(m, a)
		return true
	}
	if ink, ok := shaded[r]; ok {
		bar(m, m.Rect, ink)
		return true
	}
	eighths := func(n, of int) int { return (n*of + 4) / 8 }
	switch {
	case '▁' <= r && r < '█': // from below
		bar(m, image.Rect(0, h-eighths(int(r-'▁')+1, h), w, h), 255)
	case '▉' <= r && r <= '▏': // from the left, falling
		bar(m, image.Rect(0, 0, eighths(7-int(r-'▉'), w), h), 255)
	case r == '▀':
		bar(m, image.Rect(0, 0, w, h/2), 255)
	case r == '⏸':
		bar(m, image.Rect(w/2-5, 9, w/2-1, 23), 255)
		bar(m, image.Rect(w/2+1, 9, w/2+5, 23), 255)
	case r == '▐':
		bar(m, image.Rect(w/2, 0, w, h), 255)
	default:
		return false
	}
	return true
}

// bar sets a rectangle to one amount of ink.
func bar(m *image.Alpha, r image.Rectangle, ink uint8) {
	r = r.Intersect(m.Rect)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			m.SetAlpha(x, y, color.Alpha{A: ink})
		}
	}
}

// cross draws straight arms that meet in the middle.
func cross(m *image.Alpha, a arms) {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	for _, arm := range []struct {
		weight int
		from   image.Rectangle // of no width, along the arm
	}{
		{a.left, image.Rect(0, h/2, w/2, h/2)}, {a.right, image.Rect(w/2, h/2, w, h/2)},
		{a.up, image.Rect(w/2, 0, w/2, h/2)}, {a.down, image.Rect(w/2, h/2, w/2, h)},
	} {
		if arm.weight == 0 {
			continue
		}
		half := arm.weight * stroke / 2
		r := arm.from
		r.Min, r.Max = r.Min.Sub(image.Pt(half, half)), r.Max.Add(image.Pt(half, half))
		bar(m, r, 255)
	}
}

// curve draws a quarter of a circle between two arms, and the rest of the longer one.
func curve(m *image.Alpha, a arms) {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	const radius = cellWidth / 2
	cx, cy := float64(w/2-radius), float64(h/2-radius) // the circle's middle
	if a.right > 0 {
		cx = float64(w/2 + radius)
	}
	if a.down > 0 {
		cy = float64(h/2 + radius)
	}
	for y := range h {
		for x := range w {
			dx, dy := float64(x)+0.5-cx, float64(y)+0.5-cy
			d := math.Hypot(dx, dy)
			if past := dy < 0 == (a.up > 0); past { // on the straight piece
				d = math.Abs(dx)
			}
			ink := stroke/2 + 0.5 - math.Abs(d-radius)
			m.SetAlpha(x, y, color.Alpha{A: uint8(min(1, max(0, ink))*255 + 0.5)})
		}
	}
}
