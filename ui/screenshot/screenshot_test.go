package screenshot

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"testing"

	"github.com/charmbracelet/x/vt"
)

var (
	white = color.RGBA{0xee, 0xee, 0xee, 0xff}
	black = color.RGBA{0x11, 0x11, 0x11, 0xff}
)

// paint writes text to a terminal and paints it.
func paint(t *testing.T, w, h int, text string) (image.Image, []byte) {
	t.Helper()
	term := vt.NewEmulator(w, h)
	term.Write([]byte(text))
	var b bytes.Buffer
	if err := Paint(&b, term, Colors{Foreground: white, Background: black}); err != nil {
		t.Fatal(err)
	}
	raw := bytes.Clone(b.Bytes())
	m, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	return m, raw
}

// ink counts the pixels of a cell that have a colour.
func ink(m image.Image, x, y int, c color.Color) (n int) {
	r, g, b, _ := c.RGBA()
	for py := range cellHeight {
		for px := range cellWidth {
			if ar, ag, ab, _ := m.At(margin+x*cellWidth+px, margin+y*cellHeight+py).RGBA(); ar == r && ag == g && ab == b {
				n++
			}
		}
	}
	return n
}

const cell = cellWidth * cellHeight

func TestCellsArePaintedInTheirColours(t *testing.T) {
	red, blue := color.RGBA{0xff, 0, 0, 0xff}, color.RGBA{0, 0, 0xff, 0xff}
	m, _ := paint(t, 6, 2, "\x1b[38;2;255;0;0mM\x1b[0m \x1b[48;2;0;0;255m \x1b[0m\x1b[7mx\x1b[0m█\x1b[1;31;42m▌")
	if size := m.Bounds().Size(); size != (image.Point{6*cellWidth + 2*margin, 2*cellHeight + 2*margin}) {
		t.Errorf("the picture is %v", size)
	}
	for _, want := range []struct {
		what        string
		x           int
		c           color.Color
		least, most int
	}{
		{"a red letter", 0, red, 30, cell / 2},
		{"what is around it", 0, black, cell / 2, cell - 30},
		{"a space", 1, black, cell, cell},
		{"a blue background", 2, blue, cell, cell},
		{"a reversed background", 3, white, cell / 2, cell - 20},
		{"a full block", 4, white, cell, cell},
		{"half of a block", 5, color.RGBA{0x80, 0, 0, 0xff}, cell / 2, cell / 2},
		{"the other half", 5, color.RGBA{0, 0x80, 0, 0xff}, cell / 2, cell / 2},
	} {
		if n := ink(m, want.x, 0, want.c); n < want.least || n > want.most {
			t.Errorf("%s: %d pixels", want.what, n)
		}
	}
	if _, _, _, a := m.At(0, 0).RGBA(); a != 0 {
		t.Error("the corner is not round")
	}
}

func TestWideCharactersTakeTwoCells(t *testing.T) {
	m, _ := paint(t, 8, 1, "漢한🐢\x1b[7m語")
	for x := range 6 {
		if n := ink(m, x, 0, black); n > cell-20 || n < 20 {
			t.Errorf("cell %d of 漢한🐢: %d pixels have no ink", x, n)
		}
	}
	for x := 6; x < 8; x++ {
		if n := ink(m, x, 0, white); n < cell/3 {
			t.Errorf("cell %d of 語: %d pixels are reversed", x, n)
		}
	}
}

// Where two cells meet, lines do.
func TestLinesJoin(t *testing.T) {
	m, _ := paint(t, 3, 3, "╭─╮\r\n│ │\r\n╰─╯")
	solid := func(x, y int) bool { r, _, _, _ := m.At(x, y).RGBA(); return r>>8 == 0xee }
	for x := margin + cellWidth; x < margin+2*cellWidth; x++ {
		for _, y := range []int{margin + cellHeight/2 - 1, margin + cellHeight/2, margin + 2*cellHeight + cellHeight/2} {
			if !solid(x, y) {
				t.Fatalf("the line is broken at %d,%d", x, y)
			}
		}
	}
	for y := margin + cellHeight - 2; y < margin+2*cellHeight+2; y++ {
		for _, x := range []int{margin + cellWidth/2 - 1, margin + cellWidth/2, margin + 2*cellWidth + cellWidth/2} {
			if !solid(x, y) {
				t.Fatalf("the side is broken at %d,%d", x, y)
			}
		}
	}
	if n := ink(m, 1, 1, white); n != 0 {
		t.Errorf("%d pixels of ink inside", n)
	}
	if a, b := ink(m, 0, 0, white), ink(m, 2, 2, white); a == 0 || a != b {
		t.Errorf("corners of %d and %d pixels", a, b)
	}
}

func TestStylesAndMarksChangeALetter(t *testing.T) {
	seen := map[string]string{}
	for name, text := range map[string]string{
		"plain": "e", "bold": "\x1b[1me", "italic": "\x1b[3me", "underlined": "\x1b[4me", "struck": "\x1b[9me", "faint": "\x1b[2me",
		"accent": "e\u0301", "unknown": "\U000e1234",
	} {
		_, raw := paint(t, 1, 1, text)
		if other := seen[string(raw)]; other != "" {
			t.Errorf("%s looks like %s", name, other)
		}
		seen[string(raw)] = name
	}
}

func TestTheSameCellsGiveTheSameBytes(t *testing.T) {
	var text bytes.Buffer
	for i := range 200 { // more colours than a palette holds
		text.WriteString("\x1b[38;2;" + string('0'+rune(i%10)) + ";90;200m\x1b[48;5;" + string('1'+rune(i%8)) + "mW")
	}
	_, first := paint(t, 40, 5, text.String())
	for range 3 {
		if _, again := paint(t, 40, 5, text.String()); !bytes.Equal(first, again) {
			t.Fatal("the bytes differ")
		}
	}
}
