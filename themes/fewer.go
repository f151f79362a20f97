package themes

import (
	"math"
	"strconv"
	"strings"
)

// Sixteen is the theme for a terminal of sixteen colours. The nearest of those would
// often be another hue, for the terminal has them as strong as they get: so a colour
// becomes the one of its hue, bright on a dark background, and a grey the terminal's
// own. Backgrounds have none, which reverses what they set apart.
func (t Theme) Sixteen() Theme {
	few := t.each(func(c Color) Color { return c.sixteen(t.Dark) })
	if colors := few.tables["colors"]; colors != nil {
		colors[string(Selection)], colors[string(Match)] = "", ""
		if colors[string(Accent)] == "12" {
			colors[string(Accent)] = "14" // keys are small, and bright blue is dark on many terminals
		}
	}
	return few
}

// Fixed is the theme for a terminal of 256 colours, of which all but the first
// sixteen look the same everywhere.
func (t Theme) Fixed() Theme { return t.each(Color.fixed) }

// each is the theme with other colours for its own.
func (t Theme) each(other func(Color) Color) Theme {
	few := Theme{Name: t.Name, Dark: t.Dark, tables: make(map[string]map[string]Color)}
	for table, colors := range t.tables {
		few.tables[table] = make(map[string]Color)
		for key, c := range colors {
			few.tables[table][key] = other(c)
		}
	}
	return few
}

// hues are the terminal's six, from red on, 60 degrees apart.
var hues = [6]int{1, 3, 2, 6, 4, 5}

// sixteen is the colour among sixteen; one that a theme names by its number is left
// as it is.
func (c Color) sixteen(dark bool) Color {
	r, g, b, ok := c.rgb()
	if !ok {
		return c
	}
	most, least := max(r, g, b), min(r, g, b)
	if most == 0 || (most-least)/most < 0.25 {
		return ""
	}
	var hue float64 // in sixths of the circle
	switch d := most - least; most {
	case r:
		hue = (g - b) / d
	case g:
		hue = 2 + (b-r)/d
	default:
		hue = 4 + (r-g)/d
	}
	if hue > 3.25 && hue < 4 {
		hue = 4 // what is bluer than cyan is called blue
	}
	n := hues[(int(math.Round(hue))+6)%6]
	if dark {
		n += 8
	}
	return Color(strconv.Itoa(n))
}

// fixed is the nearest colour of the cube of six steps and the ramp of greys.
func (c Color) fixed() Color {
	r, g, b, ok := c.rgb()
	if !ok {
		return c
	}
	far := func(x, y, z float64) float64 { return (r-x)*(r-x) + (g-y)*(g-y) + (b-z)*(b-z) }
	steps := []float64{0, 95, 135, 175, 215, 255}
	best, least := 0, math.Inf(1)
	take := func(n int, d float64) {
		if d < least {
			best, least = n, d
		}
	}
	for n := range 216 {
		take(16+n, far(steps[n/36], steps[n/6%6], steps[n%6]))
	}
	for n := range 24 {
		v := float64(8 + 10*n)
		take(232+n, far(v, v, v))
	}
	return Color(strconv.Itoa(best))
}

// rgb are the parts of a colour, 0 to 255, and false where it names none.
func (c Color) rgb() (r, g, b float64, ok bool) {
	hex, ok := strings.CutPrefix(string(c), "#")
	if !ok {
		return 0, 0, 0, false
	}
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	n, err := strconv.ParseUint(hex, 16, 32)
	return float64(n >> 16), float64(n >> 8 & 0xff), float64(n & 0xff), err == nil
}
