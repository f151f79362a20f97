package ui

import (
	"sync"

	"github.com/charmbracelet/x/term"
)

// Mode 2026: a terminal that knows it shows everything between the two at once;
// others ignore it.
const (
	syncBegin = "\x1b[?2026h"
	syncEnd   = "\x1b[?2026l"
)

// SyncOutput is a terminal on which every write appears at once. The renderer
// writes a frame with one call, so no half-drawn frame is ever seen.
type SyncOutput struct {
	term.File
	mu  sync.Mutex
	buf []byte
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
	o.buf = append(o.buf, p...)
	o.buf = append(o.buf, syncEnd...)
	n, err := o.File.Write(o.buf)
	return max(0, min(n-len(syncBegin), len(p))), err
}
