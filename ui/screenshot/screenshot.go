// Package screenshot paints the cells of a terminal as PNG pictures: what the
// console looks like, from the same cells that its tests compare.
//
// The same cells always give the same bytes. Lines and blocks are drawn, so that
// they join as they do on a terminal; all else comes from the fonts in the folder
// fonts, cut down to the characters that pictures show (their licences lie beside
// them). A character that no font has becomes a hollow box.
package screenshot

import (
	"image"
	"image/color"
	"image/png"
	"io"
	"math"

	uv "github.com/charmbracelet/ultraviolet"
)

// The measures of a picture in pixels: at half its size it is as large as a
// terminal's window.
const (
	cellWidth  = 14
	cellHeight = 30
	baseline   = 23 // below the top of a cell
	stroke     = 2  // of a light line
	margin     = 24 // around the cells
	corner     = 16 // the radius of the window's corners
)

// Cells is a terminal's screen, as vt.Emulator has it.
type Cells interface {
	Width() int
	Height() int
	CellAt(x, y int) *uv.Cell
}

// Colors are the terminal's own, where a cell names none.
type Colors struct{ Foreground, Background color.Color }

// Paint writes the screen as a PNG with a palette. Where there are more colours
// than a palette holds, edges have fewer shades.
func Paint(w io.Writer, cells Cells, own Colors) error {
	p := painter{masks: map[glyph]*image.Alpha{}}
	var err error
	if p.fonts, err = loadFonts(); err != nil {
		return err
	}
	for p.shades = 15; ; p.shades /= 2 {
		p.palette, p.index = nil, map[color.NRGBA]uint8{}
		p.window(cells.Width(), cells.Height(), plain(own.Background))
		for y := range cells.Height() {
			for x := 0; x < cells.Width(); {
				n := 1
				if c := cells.CellAt(x, y); c != nil {
					n = max(n, c.Width)
					if err := p.cell(x, y, c, own); err != nil {
						return err
					}
				}
				x += n
			}
		}
		if len(p.palette) <= 256 || p.shades == 1 {
			break
		}
	}
	p.picture.Palette = p.palette
	enc := png.Encoder{CompressionLevel: png.BestCompression}
	return enc.Encode(w, p.picture)
}

// painter is a picture in the making.
type painter struct {
	fonts   []face
	masks   map[glyph]*image.Alpha
	shades  int // between a cell's background and its foreground
	picture *image.Paletted
	palette color.Palette
	index   map[color.NRGBA]uint8
}

// of returns a colour's place in the palette. Places above 255 do not fit: the
// picture is painted again.
func (p *painter) of(c color.NRGBA) uint8 {
	if i, ok := p.index[c]; ok {
		return i
	}
	i := uint8(min(len(p.palette), 255))
	p.palette = append(p.palette, c)
	p.index[c] = i
	return i
}

// window makes an empty picture with rounded corners.
func (p *painter) window(columns, rows int, background color.NRGBA) {
	r := image.Rect(0, 0, columns*cellWidth+2*margin, rows*cellHeight+2*margin)
	p.picture = image.NewPaletted(r, nil)
	within := func(v, size int) float64 { // how far a pixel is into a corner
		return max(0, float64(corner)-float64(v)-0.5, float64(v)+0.5-float64(size-corner))
	}
	for y := range r.Dy() {
		for x := range r.Dx() {
			d := math.Hypot(within(x, r.Dx()), within(y, r.Dy()))
			c := background
			c.A = uint8(math.Round(min(1, max(0, corner+0.5-d))*15) * 17)
			if c.A == 0 {
				c = color.NRGBA{}
			}
			p.picture.SetColorIndex(x, y, p.of(c))
		}
	}
}

// cell paints one cell, or the two of a wide character.
func (p *painter) cell(x, y int, c *uv.Cell, own Colors) error {
	fg, bg := own.Foreground, own.Background
	if c.Style.Fg != nil {
		fg = c.Style.Fg
	}
	if c.Style.Bg != nil {
		bg = c.Style.Bg
	}
	ink, paper := plain(fg), plain(bg)
	if c.Style.Attrs&uv.AttrReverse != 0 {
		ink, paper = paper, ink
	}
	if c.Style.Attrs&uv.AttrFaint != 0 {
		ink = blend(paper, ink, 0.6)
	}
	mask, err := p.mask(glyph{text: c.Content, cells: max(1, c.Width), style: styleOf(c.Style)})
	if err != nil {
		return err
	}
	shades := make([]uint8, p.shades+1)
	for i := range shades {
		shades[i] = p.of(blend(paper, ink, float64(i)/float64(p.shades)))
	}
	left, top := margin+x*cellWidth, margin+y*cellHeight
	for py := range cellHeight {
		for px := range mask.Rect.Dx() {
			a := (int(mask.AlphaAt(px, py).A)*p.shades + 127) / 255
			p.picture.SetColorIndex(left+px, top+py, shades[a])
		}
	}
	return nil
}

func plain(c color.Color) color.NRGBA {
	r, g, b, _ := c.RGBA()
	return color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 255}
}

// blend goes from a to b, as far as t of 0 to 1 says.
func blend(a, b color.NRGBA, t float64) color.NRGBA {
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + (float64(b)-float64(a))*t)) }
	return color.NRGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255}
}
