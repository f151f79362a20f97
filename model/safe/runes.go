package safe

import (
	"unicode"
	"unicode/utf8"
)

// class is what a code point may do on a terminal, before its neighbours are
// looked at.
type class uint8

const (
	plain     class = iota // shows as itself
	forbidden              // always becomes its visible form
	mark                   // combines with what stands before it
	joiner                 // ZWJ: passes between two pictographs
	nonJoiner              // ZWNJ: passes inside a word of a script that uses it
	selector               // VS15, VS16: pass after a pictograph or in a keycap
)

const (
	zwnj      = '\u200C'
	zwj       = '\u200D'
	vs15      = '\uFE0E'
	vs16      = '\uFE0F'
	keycapTop = '\u20E3'
)

// classify is the one table of what is dangerous: whatever has no ink of its
// own, or moves the ink of others.
func classify(r rune) class {
	switch {
	case r < 0x20 || r >= 0x7F && r < 0xA0:
		return forbidden
	case r < 0x300:
		if r == 0xAD {
			return forbidden
		}
		return plain
	case r == zwj:
		return joiner
	case r == zwnj:
		return nonJoiner
	case r == vs15 || r == vs16:
		return selector
	case r >= 0x3040 && r <= 0x9FFF && (r < 0x3099 || r > 0x309A) && r != 0x3164 || r >= 0xAC00 && r <= 0xD7A3: // the bulk of CJK, early
		return plain
	case r == 0x2028 || r == 0x2029:
		return forbidden
	case noncharacter(r) || !utf8.ValidRune(r):
		return forbidden
	case unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
		return forbidden
	case unicode.Is(unicode.Cf, r):
		// These few are format characters by category and have ink all the same
		// (the Arabic number signs and their like).
		if unicode.Is(unicode.Prepended_Concatenation_Mark, r) {
			return plain
		}
		return forbidden
	case unicode.Is(unicode.M, r), modifier(r), extendingLetter(r):
		return mark
	}
	return plain
}

// extendingLetter reports letters that share a cell with what stands before
// them: conjoining vowels and finals of Hangul, and a few of Thai, Lao and kana.
func extendingLetter(r rune) bool {
	return r >= 0x1160 && r <= 0x11FF || r >= 0xD7B0 && r <= 0xD7FF || r == 0xE33 || r == 0xEB3 || r == 0xFF9E || r == 0xFF9F
}

// chains reports whether the base that follows r shares r's cell: after the
// conjoining initials of Hangul, the viramas that build conjuncts (Unicode,
// Indic_Conjunct_Break=Linker), and the number signs that are written before
// their digits.
func chains(r rune) bool {
	switch {
	case r < 0x600:
		return false
	case r >= 0x1100 && r <= 0x115E, r >= 0xA960 && r <= 0xA97C:
		return true
	}
	return unicode.Is(viramas, r) || unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

var viramas = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x094D, 0x094D, 1}, {0x09CD, 0x09CD, 1}, {0x0ACD, 0x0ACD, 1}, {0x0B4D, 0x0B4D, 1}, {0x0C4D, 0x0C4D, 1},
		{0x0D4D, 0x0D4D, 1}, {0x1039, 0x1039, 1}, {0x17D2, 0x17D2, 1}, {0x1A60, 0x1A60, 1}, {0x1B44, 0x1B44, 1},
		{0x1BAB, 0x1BAB, 1}, {0xA9C0, 0xA9C0, 1}, {0xAAF6, 0xAAF6, 1},
	},
	R32: []unicode.Range32{
		{0x10A3F, 0x10A3F, 1}, {0x11133, 0x11133, 1}, {0x113D0, 0x113D0, 1}, {0x1193E, 0x1193E, 1}, {0x11A47, 0x11A47, 1},
		{0x11A99, 0x11A99, 1}, {0x11F42, 0x11F42, 1},
	},
}

func noncharacter(r rune) bool {
	return r >= 0xFDD0 && r <= 0xFDEF || r&0xFFFE == 0xFFFE
}

// hidden reports whether r is to be written as an escape where escapes exist:
// all that is forbidden, and what passes only in company.
func hidden(r rune) bool {
	switch classify(r) {
	case forbidden, joiner, nonJoiner, selector:
		return true
	}
	return false
}

func modifier(r rune) bool { return r >= 0x1F3FB && r <= 0x1F3FF }

func keycapBase(r rune) bool { return r >= '0' && r <= '9' || r == '#' || r == '*' }

// wordOfScript reports whether r is part of a word in a script whose spelling
// uses ZWNJ. In other scripts it is only a way to hide something in a word.
func wordOfScript(r rune) bool {
	return r >= 0x600 && unicode.In(r, joiningScripts...) && unicode.In(r, unicode.L, unicode.M)
}

var joiningScripts = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mandaic, unicode.Nko, unicode.Mongolian, unicode.Inherited,
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil,
	unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
}

func pictograph(r rune) bool {
	return (r < 0x3300 || r >= 0x1F000) && r >= 0xA9 && unicode.Is(pictographs, r)
}

// pictographs are the code points with the property Extended_Pictographic
// (Unicode, emoji-data.txt), which the standard library has no table of.
var pictographs = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x00A9, 0x00A9, 1}, {0x00AE, 0x00AE, 1}, {0x203C, 0x203C, 1}, {0x2049, 0x2049, 1}, {0x2122, 0x2122, 1},
		{0x2139, 0x2139, 1}, {0x2194, 0x2199, 1}, {0x21A9, 0x21AA, 1}, {0x231A, 0x231B, 1}, {0x2328, 0x2328, 1},
		{0x2388, 0x2388, 1}, {0x23CF, 0x23CF, 1}, {0x23E9, 0x23F3, 1}, {0x23F8, 0x23FA, 1}, {0x24C2, 0x24C2, 1},
		{0x25AA, 0x25AB, 1}, {0x25B6, 0x25B6, 1}, {0x25C0, 0x25C0, 1}, {0x25FB, 0x25FE, 1}, {0x2600, 0x2605, 1},
		{0x2607, 0x2612, 1}, {0x2614, 0x2685, 1}, {0x2690, 0x2705, 1}, {0x2708, 0x2712, 1}, {0x2714, 0x2714, 1},
		{0x2716, 0x2716, 1}, {0x271D, 0x271D, 1}, {0x2721, 0x2721, 1}, {0x2728, 0x2728, 1}, {0x2733, 0x2734, 1},
		{0x2744, 0x2744, 1}, {0x2747, 0x2747, 1}, {0x274C, 0x274C, 1}, {0x274E, 0x274E, 1}, {0x2753, 0x2755, 1},
		{0x2757, 0x2757, 1}, {0x2763, 0x2767, 1}, {0x2795, 0x2797, 1}, {0x27A1, 0x27A1, 1}, {0x27B0, 0x27B0, 1},
		{0x27BF, 0x27BF, 1}, {0x2934, 0x2935, 1}, {0x2B05, 0x2B07, 1}, {0x2B1B, 0x2B1C, 1}, {0x2B50, 0x2B50, 1},
		{0x2B55, 0x2B55, 1}, {0x3030, 0x3030, 1}, {0x303D, 0x303D, 1}, {0x3297, 0x3297, 1}, {0x3299, 0x3299, 1},
	},
	R32: []unicode.Range32{
		{0x1F000, 0x1F0FF, 1}, {0x1F10D, 0x1F10F, 1}, {0x1F12F, 0x1F12F, 1}, {0x1F16C, 0x1F171, 1}, {0x1F17E, 0x1F17F, 1},
		{0x1F18E, 0x1F18E, 1}, {0x1F191, 0x1F19A, 1}, {0x1F1AD, 0x1F1E5, 1}, {0x1F201, 0x1F20F, 1}, {0x1F21A, 0x1F21A, 1},
		{0x1F22F, 0x1F22F, 1}, {0x1F232, 0x1F23A, 1}, {0x1F23C, 0x1F23F, 1}, {0x1F249, 0x1F3FA, 1}, {0x1F400, 0x1F53D, 1},
		{0x1F546, 0x1F64F, 1}, {0x1F680, 0x1F6FF, 1}, {0x1F774, 0x1F77F, 1}, {0x1F7D5, 0x1F7FF, 1}, {0x1F80C, 0x1F80F, 1},
		{0x1F848, 0x1F84F, 1}, {0x1F85A, 0x1F85F, 1}, {0x1F888, 0x1F88F, 1}, {0x1F8AE, 0x1F8FF, 1}, {0x1F90C, 0x1F93A, 1},
		{0x1F93C, 0x1F945, 1}, {0x1F947, 0x1FAFF, 1}, {0x1FC00, 0x1FFFD, 1},
	},
	LatinOffset: 2,
}
