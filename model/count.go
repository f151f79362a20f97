package model

import "strconv"

// Count says how many there are of a thing: 1 chunk, 2 chunks.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
