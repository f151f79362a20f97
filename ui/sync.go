package ui

import (
	"fmt"
	"strings"
	"sync"

	"github.com/charmbracelet/x/term"
)

// Mode 2026: a terminal that knows it shows everything between the two at once;
// others ignore it. Mode 7 off: a line that a terminal finds wider than the
// console did (they differ over clusters of some scripts) stops at the edge,
// where it would go on in the next line and push the whole frame up.
const (
	syncBegin = "\x1b[?2026h\x1b[?7l"
	syncEnd   = "\x1b[?7h\x1b[?2026l"
)

// SyncOutput is a terminal on which every write appears at once. The renderer
// writes a frame with one call, so no half-drawn frame is ever seen.
type SyncOutput struct {
	term.File
	mu      sync.Mutex
	buf     []byte
	squeeze squeezer
}

// NewSyncOutput wraps the terminal; give it to tea.WithOutput.
func NewSyncOutput(f term.File) *SyncOutput { return &SyncOutput{File: f} }

// Write writes p between the sequences, in one call to the terminal.
func (o *SyncOutput) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf = append(o.buf[:0], syncBegin...)
	o.buf = o.squeeze.blanks(o.buf, p)
	o.buf = append(o.buf, syncEnd...)
	if _, err := o.File.Write(o.buf); err != nil {
		return 0, err
	}
	return len(p), nil
}

// blankRun is the number of spaces from which on erasing them is shorter than
// writing them.
const blankRun = 12

// blanks appends p to dst, with runs of spaces erased and jumped over instead:
// nearly half of a frame is nothing. The renderer cannot do it, since it counts the
// cells of what it writes.
func (q *squeezer) blanks(dst, p []byte) []byte {
	state := ""
	for i := 0; i < len(p); {
		switch p[i] {
		case '\x1b':
			seq, ok := cutSGR(string(p[i:min(len(p), i+64)]))
			if !ok {
				dst = append(dst, p[i])
				i++
				continue
			}
			if seq == reset || seq == "\x1b[m" {
				state = ""
			} else if strings.HasPrefix(seq, "\x1b[0;") {
				state = seq
			} else {
				state += seq
			}
			dst = append(dst, seq...)
			i += len(seq)
		case ' ':
			n := 1
			for i+n < len(p) && p[i+n] == ' ' {
				n++
			}
			if n >= blankRun && !q.shows(state) {
				dst = fmt.Appendf(dst, "\x1b[%dX\x1b[%dC", n, n)
			} else {
				dst = append(dst, p[i:i+n]...)
			}
			i += n
		default:
			dst = append(dst, p[i])
			i++
		}
	}
	return dst
}
