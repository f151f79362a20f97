package screenshot

import (
	"embed"
	"fmt"
	"image"
	"sync"
	"unicode"

	uv "github.com/charmbracelet/ultraviolet"
	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

//go:embed fonts
var files embed.FS

// style is what changes a cell's mask.
type style struct{ bold, italic, underlined, struck bool }

func styleOf(s uv.Style) style {
	return style{
		bold: s.Attrs&uv.AttrBold != 0, italic: s.Attrs&uv.AttrItalic != 0,
		underlined: s.Underline != uv.UnderlineNone, struck: s.Attrs&uv.AttrStrikethrough != 0,
	}
}

// glyph is what a mask shows: a cluster in a style.
type glyph struct {
	text  string
	cells int
	style style
}

// face is a font at its size.
type face struct {
	*sfnt.Font
	em     fixed.Int26_6 // pixels
	bold   bool
	italic bool
}

// loadFonts reads the fonts in the order in which they are asked for a character.
var loadFonts = sync.OnceValues(func() ([]face, error) {
	var all []face
	for _, f := range []struct {
		name string
		em   float64
		face
	}{
		{"JetBrainsMono-Bold.ttf", cellWidth / 0.6, face{bold: true}},
		{"JetBrainsMono-Italic.ttf", cellWidth / 0.6, face{italic: true}},
		{"JetBrainsMono-Regular.ttf", cellWidth / 0.6, face{}},
		{"DejaVuSansMono.ttf", cellWidth / 0.602, face{}},
		{"NotoSansMonoCJK.otf", 1.8 * cellWidth, face{}},
		{"NotoEmoji.ttf", 1.5 * cellWidth, face{}},
	} {
		data, err := files.ReadFile("fonts/" + f.name)
		if err != nil {
			return nil, err
		}
		if f.face.Font, err = sfnt.Parse(data); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		f.face.em = fixed.Int26_6(f.em*64 + 0.5)
		all = append(all, f.face)
	}
	return all, nil
})

// mask is where a cluster's ink is.
func (p *painter) mask(g glyph) (*image.Alpha, error) {
	if m, ok := p.masks[g]; ok {
		return m, nil
	}
	m := image.NewAlpha(image.Rect(0, 0, g.cells*cellWidth, cellHeight))
	runes := []rune(g.text)
	if len(runes) != 1 || !drawLine(m, runes[0]) {
		if err := p.write(m, runes, g); err != nil {
			return nil, err
		}
	}
	if g.style.underlined {
		bar(m, image.Rect(0, baseline+3, m.Rect.Dx(), baseline+3+stroke), 255)
	}
	if g.style.struck {
		bar(m, image.Rect(0, baseline-8, m.Rect.Dx(), baseline-8+stroke), 255)
	}
	p.masks[g] = m
	return m, nil
}

// write draws the first character of a cluster, the marks upon it, and the second
// half of a flag. What is joined to an emoji is left out.
func (p *painter) write(m *image.Alpha, runes []rune, g glyph) error {
	room := m.Rect.Dx()
	for i, r := range runes {
		at := 0
		switch mark := unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r); {
		case r == ' ' || r == 0xfe0e || r == 0xfe0f:
			continue
		case r == 0x200d:
			return nil
		case i == 0 && len(runes) == 2 && regional(r) && regional(runes[1]):
			room /= 2
		case i == 1 && regional(r) && regional(runes[0]):
			at = room
		case i > 0 && !mark:
			continue
		}
		if err := p.rune(m, r, at, room, g.style); err != nil {
			return err
		}
	}
	return nil
}

func regional(r rune) bool { return 0x1f1e6 <= r && r <= 0x1f1ff }

// rune draws one character into the pixels from column at on, as wide as room, in
// its middle, and smaller if it would be too wide.
func (p *painter) rune(m *image.Alpha, r rune, at, room int, s style) error {
	var buf sfnt.Buffer
	for _, f := range p.fonts {
		if f.bold && !s.bold || f.italic && !s.italic {
			continue
		}
		i, err := f.GlyphIndex(&buf, r)
		if err != nil {
			return err
		}
		if i == 0 {
			continue
		}
		em := f.em
		bounds, advance, err := f.GlyphBounds(&buf, i, em, font.HintingNone)
		if err != nil {
			return fmt.Errorf("character %U: %w", r, err)
		}
		if wide := fixed.I(room); advance > wide {
			em = em * wide / advance
			if bounds, advance, err = f.GlyphBounds(&buf, i, em, font.HintingNone); err != nil {
				return fmt.Errorf("character %U: %w", r, err)
			}
		}
		x := (fixed.I(room) - advance) / 2
		if unicode.Is(unicode.Mn, r) { // fonts differ over where a mark stands
			x = (fixed.I(room) - bounds.Min.X - bounds.Max.X) / 2
		}
		outline, err := f.LoadGlyph(&buf, i, em, nil)
		if err != nil {
			return fmt.Errorf("character %U: %w", r, err)
		}
		fillOutline(m, outline, fixed.I(at)+x)
		return nil
	}
	box := image.Rect(at+2, 6, at+room-2, baseline)
	bar(m, box, 255)
	bar(m, box.Inset(stroke), 0)
	return nil
}

// fillOutline fills an outline that begins x to the right of the mask's edge.
func fillOutline(m *image.Alpha, outline sfnt.Segments, x fixed.Int26_6) {
	z := vector.NewRasterizer(m.Rect.Dx(), m.Rect.Dy())
	pt := func(p fixed.Point26_6) (float32, float32) {
		return float32(p.X+x) / 64, float32(p.Y)/64 + baseline
	}
	for _, s := range outline {
		ax, ay := pt(s.Args[0])
		bx, by := pt(s.Args[1])
		cx, cy := pt(s.Args[2])
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			z.ClosePath()
			z.MoveTo(ax, ay)
		case sfnt.SegmentOpLineTo:
			z.LineTo(ax, ay)
		case sfnt.SegmentOpQuadTo:
			z.QuadTo(ax, ay, bx, by)
		case sfnt.SegmentOpCubeTo:
			z.CubeTo(ax, ay, bx, by, cx, cy)
		}
	}
	z.ClosePath()
	z.Draw(m, m.Rect, image.Opaque, image.Point{})
}
