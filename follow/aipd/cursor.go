package aipd

import (
	"fmt"
	"strconv"
	"strings"

	"aipscope/model/aip"
)

// cursor is a place in an action's events and chunks (wire/aip.md 4.1). It is
// bound to no action.
type cursor struct {
	event    int // offset into the list of all events
	chunk    uint64
	hasChunk bool // chunks above chunk are to come; all of them otherwise
}

func (c cursor) String() string {
	if !c.hasChunk {
		return fmt.Sprintf("aev_cursor_%d_none", c.event)
	}
	return fmt.Sprintf("aev_cursor_%d_%d", c.event, c.chunk)
}

// parseCursor reads aev_cursor_N_M, aev_cursor_N_none and evt_cursor_N; "" is
// the beginning.
func parseCursor(s string) (cursor, *aip.Error) {
	var c cursor
	if s == "" {
		return c, nil
	}
	bad := failure("query.invalid_cursor", permanent, "the cursor is malformed")
	offset, chunk := "", "none"
	if rest, ok := strings.CutPrefix(s, "evt_cursor_"); ok {
		offset = rest
	} else if rest, ok := strings.CutPrefix(s, "aev_cursor_"); ok {
		if offset, chunk, ok = strings.Cut(rest, "_"); !ok {
			return c, bad
		}
	} else {
		return c, bad
	}
	n, err := strconv.ParseUint(offset, 10, 31)
	if err != nil {
		return c, bad
	}
	c.event = int(n)
	if chunk != "none" {
		if c.chunk, err = strconv.ParseUint(chunk, 10, 64); err != nil {
			return c, bad
		}
		c.hasChunk = true
	}
	return c, nil
}
