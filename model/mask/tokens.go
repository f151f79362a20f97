package mask

import (
	"hash/maphash"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// prefixes are the heads of IDs that say what they identify: AIP's own, then
// those of Hermes. A pseudonym keeps them.
var prefixes = strings.Fields("act_ sess_ corr_ appr_ dlg_ evt_ rcpt_ txn_ conv_ msg_ resp_ fc_ fco_ call_ run_ approval_ api_ chatcmpl-")

func prefixOf(id string) string {
	for _, p := range prefixes {
		if strings.HasPrefix(id, p) {
			return p
		}
	}
	return "id_"
}

var (
	pseudonymShape = regexp.MustCompile(`^[a-z]{2,8}[_-]masked-[0-9]{1,7}$`)
	lengthShape    = regexp.MustCompile(`^‹([0-9]{1,9} chars(, [0-9]{1,7})?|number)›$`)
)

// pseudonyms are given to outside names: the same for the same name, another
// for another, numbered in the order of their coming.
type pseudonyms struct {
	given map[[2]string]string // by what it names, and the name
	taken map[string]bool
	next  map[string]int
}

func newPseudonyms() pseudonyms {
	return pseudonyms{given: map[[2]string]string{}, taken: map[string]bool{}, next: map[string]int{}}
}

// of returns the pseudonym of s, prefix and a number. What already is a
// pseudonym that nothing else holds stays, so that masking twice is masking
// once.
func (p *pseudonyms) of(what, prefix, s string) string {
	at := [2]string{what, s}
	if got, ok := p.given[at]; ok {
		return got
	}
	got := s
	for !pseudonymShape.MatchString(got) || p.taken[got] {
		p.next[prefix]++
		got = prefix + "masked-" + strconv.Itoa(p.next[prefix])
	}
	p.given[at], p.taken[got] = got, true
	return got
}

// lengths gives private strings their length. Where it counts, other strings of
// one length get a number as well, so that what differed differs.
type lengths struct {
	seed  maphash.Seed
	given map[[2]uint64]int // by length and hash
	next  map[uint64]int
}

func newLengths() lengths {
	return lengths{seed: maphash.MakeSeed(), given: map[[2]uint64]int{}, next: map[uint64]int{}}
}

func (l *lengths) of(s string, tell bool) string {
	if s == "" || lengthShape.MatchString(s) {
		return s
	}
	n := utf8.RuneCountInString(s)
	if !tell {
		return lengthOf(n)
	}
	at := [2]uint64{uint64(n), maphash.String(l.seed, s)}
	k, ok := l.given[at]
	if !ok {
		l.next[at[0]]++
		k = l.next[at[0]]
		l.given[at] = k
	}
	if k == 1 {
		return lengthOf(n)
	}
	return "‹" + strconv.Itoa(n) + " chars, " + strconv.Itoa(k) + "›"
}

func lengthOf(n int) string { return "‹" + strconv.Itoa(n) + " chars›" }
