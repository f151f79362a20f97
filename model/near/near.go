// Package near finds the name that was probably meant, for whoever typed one
// that is not there.
package near

import "strings"

// Name is the one of names that was probably meant by a wrong one: that with the
// fewest slips, if they are one or at most a third of its bytes, or else the shortest
// that begins with it. It is "" where none is near.
func Name(wrong string, names ...string) string {
	if len(wrong) < 2 {
		return ""
	}
	best, least := "", max(1, len(wrong)/3)+1
	for _, name := range names {
		if n := slips(wrong, name); n < least {
			best, least = name, n
		}
	}
	if best != "" {
		return best
	}
	for _, name := range names {
		if strings.HasPrefix(name, wrong) && (best == "" || len(name) < len(best)) {
			best = name
		}
	}
	return best
}

// slips is how many bytes were changed, added, dropped or swapped with the next
// between two texts.
func slips(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			changed := last[j]
			if a[i] != b[j] {
				changed++
			}
			row[j+1] = min(changed, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
