// Package safe says what outside text becomes before it may reach a terminal.
//
// A model can write anything: escape sequences that move the cursor or set the
// clipboard, controls that turn the reading direction around, characters that
// take no room and hide a word in another. None of it is dropped, for an
// operator must be able to see that it was there: whatever has no ink of its
// own becomes a visible form such as ‹U+001B›. What remains is text that a
// terminal can only print.
//
// Text and Line are for whole strings, Stream for text that arrives in pieces
// cut anywhere, JSON for output that must keep the exact text and yet be safe
// as bytes, and Filter for what was rendered with colours.
//
// The package is pure and knows no terminal.
package safe

import (
	"math/bits"
	"strings"
	"unicode/utf8"
)

const (
	// maxMarks bounds the combining marks on one character. Written languages
	// stay below it; floods that run over the lines above, or that a terminal
	// counts as one cell and draws as many, do not.
	maxMarks = 8
	// maxJoins bounds the bases joined into one cell.
	maxJoins = 8
)

// Text returns s fit for printing over several lines: newlines and tabs stay, CR LF counts
// as a newline, and everything that could drive a terminal, hide or reorder text
// takes its visible form: ‹U+001B› for a code point, ‹0x9B› for a byte that is no
// UTF-8. ZWJ and emoji variation selectors stay inside an emoji cluster, ZWNJ inside a word of a
// script that is spelled with it. A clean s is returned as it is.
func Text(s string) string {
	var c cleaner
	out, _ := c.clean(s, true)
	return out
}

// Line is Text for one line: a newline becomes ↵ and a tab a space.
func Line(s string) string {
	c := cleaner{line: true}
	out, _ := c.clean(s, true)
	return out
}

// Stream is Text for a string that arrives in pieces: joined, what Write and
// Flush return is Text of the joined pieces, wherever they were cut. The zero
// Stream is ready.
type Stream struct {
	c    cleaner
	held string
}

// Write returns what may be printed now. It holds back a few bytes at most,
// where the next piece decides what they are.
func (s *Stream) Write(piece string) string {
	if piece == "" {
		return ""
	}
	if s.held != "" {
		piece = s.held + piece
	}
	out, rest := s.c.clean(piece, false)
	s.held = strings.Clone(rest)
	return out
}

// Flush ends the text: it returns what was held back and makes the stream ready
// for another text.
func (s *Stream) Flush() string {
	out, _ := s.c.clean(s.held, true)
	*s = Stream{}
	return out
}

// cleaner is the state between two code points.
type cleaner struct {
	line   bool // newlines and tabs do not stay
	styled bool // colours and hyperlinks stay

	last  rune // the last base, selector or joiner that passed, 0 at the start of a line and after a visible form
	tail  rune // the last code point that passed
	marks int  // combining marks since the last base
	emoji bool // the last code points are a pictograph that may be joined to another
	joins int  // bases joined into the last cell
}

// clean returns s made safe, and the end of s that cannot be judged before more
// of the text is known. With final nothing is left over.
func (c *cleaner) clean(s string, final bool) (out, rest string) {
	var buf []byte
	from := 0 // s[from:i] has passed and is not in buf yet
	i := 0
	replace := func(size int, with ...string) {
		if buf == nil {
			buf = make([]byte, 0, len(s)+32)
		}
		buf = append(buf, s[from:i]...)
		for _, w := range with {
			buf = append(buf, w...)
		}
		i += size
		from = i
	}
	done := func() (string, string) {
		if buf == nil {
			return s[from:i], s[i:]
		}
		return string(append(buf, s[from:i]...)), s[i:]
	}

	for i < len(s) {
		b := s[i]
		if b >= 0x20 && b < 0x7F {
			c.pass(rune(b))
			i++
			continue
		}
		if b < utf8.RuneSelf {
			switch {
			case b == '\n' || b == '\t':
				c.start()
				if !c.line {
					i++
				} else if b == '\n' {
					replace(1, "↵")
				} else {
					replace(1, " ")
				}
				continue
			case b == '\r' && i+1 == len(s) && !final:
				return done()
			case b == '\r' && i+1 < len(s) && s[i+1] == '\n':
				replace(1)
				continue
			case b == 0x1B && c.styled:
				if n := sequence(s[i:]); n > 0 {
					i += n
					continue
				}
			}
			c.start()
			replace(1, visible(rune(b)))
			continue
		}

		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			if !final && !utf8.FullRuneInString(s[i:]) {
				return done()
			}
			c.start()
			if sur, ok := surrogate(s[i:]); ok {
				replace(3, visible(sur))
			} else if !final && unfinishedSurrogate(s[i:]) {
				return done()
			} else {
				replace(1, visibleByte(b))
			}
			continue
		}
		switch c.judge(r, s[i+size:], final) {
		case pass:
			i += size
		case wait:
			return done()
		case show:
			c.start()
			replace(size, visible(r))
		}
	}
	return done()
}

type judgement int

const (
	pass judgement = iota
	show
	wait
)

// judge says what becomes of r, with rest behind it.
func (c *cleaner) judge(r rune, rest string, final bool) judgement {
	switch classify(r) {
	case forbidden:
		return show
	case mark:
		// A mark without a base would combine with whatever stands to the left on
		// the screen, such as the border of a pane.
		if c.last == 0 && modifier(r) {
			break // it has ink of its own
		}
		if c.last == 0 || c.marks >= maxMarks {
			return show
		}
		c.marks++
		c.emoji = c.emoji && c.marks == 1 && modifier(r)
		c.tail = r
		return pass
	case selector:
		if c.emoji && pictograph(c.last) && c.marks == 0 {
			c.last, c.tail = r, r
			return pass
		}
		if r == vs16 && keycapBase(c.last) && c.marks == 0 {
			next, ok := peek(rest, final)
			if !ok {
				return wait
			}
			if next == keycapTop {
				c.last, c.tail = r, r
				return pass
			}
		}
		return show
	case joiner:
		if !c.emoji || c.joins >= maxJoins {
			return show
		}
		next, ok := peek(rest, final)
		if !ok {
			return wait
		}
		if !pictograph(next) {
			return show
		}
		c.joins++
		c.last, c.tail = r, r
		return pass
	case nonJoiner:
		if !wordOfScript(c.tail) {
			return show
		}
		next, ok := peek(rest, final)
		if !ok {
			return wait
		}
		if !wordOfScript(next) {
			return show
		}
		c.tail = r
		return pass
	}
	if chains(c.tail) && r != '‹' { // with which a visible form begins, and joins nothing
		if c.joins >= maxJoins {
			return show
		}
		c.joins++
	} else if c.last != zwj {
		c.joins = 0
	}
	c.pass(r)
	return pass
}

// pass notes a code point that stays and that may bear marks.
func (c *cleaner) pass(r rune) {
	c.emoji = pictograph(r)
	c.last, c.tail, c.marks = r, r, 0
}

// start forgets what came before: nothing can be joined to it.
func (c *cleaner) start() { c.last, c.tail, c.marks, c.emoji, c.joins = 0, 0, 0, false, 0 }

// peek is the next code point, 0 where the text ends or is no UTF-8; not ok if it
// is not known yet.
func peek(s string, final bool) (r rune, ok bool) {
	if !final && !utf8.FullRuneInString(s) {
		return 0, false
	}
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size < 2 {
		return 0, true
	}
	return r, true
}

// surrogate decodes a UTF-16 surrogate that was written as if it were a code
// point.
func surrogate(s string) (rune, bool) {
	if len(s) < 3 || s[0] != 0xED || s[1] < 0xA0 || s[1] > 0xBF || s[2] < 0x80 || s[2] > 0xBF {
		return 0, false
	}
	return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), true
}

func unfinishedSurrogate(s string) bool {
	return len(s) == 2 && s[0] == 0xED && s[1] >= 0xA0 && s[1] <= 0xBF
}

const hexDigits = "0123456789ABCDEF"

func visible(r rune) string {
	b := []byte("‹U+")
	for shift := max(12, (bits.Len32(uint32(r))-1)/4*4); shift >= 0; shift -= 4 {
		b = append(b, hexDigits[r>>shift&0xF])
	}
	return string(append(b, "›"...))
}

func visibleByte(b byte) string {
	return "‹0x" + string(hexDigits[b>>4]) + string(hexDigits[b&0xF]) + "›"
}
