//go:build !unix

package cli

import (
	"context"
	"os"

	tea "github.com/charmbracelet/bubbletea"
)

// hasJobs says that the system can stop and continue a process.
const hasJobs = false

var writeSignals []os.Signal

func leaveBackground() {}

func foreground(*os.File) bool { return true }

// jobs stands for job control where there is none.
type jobs struct{}

func newJobs(context.Context, *screen) *jobs { return &jobs{} }

func (j *jobs) watch(_ *tea.Program, done <-chan struct{}) { <-done }

func (j *jobs) filter(_ tea.Model, msg tea.Msg) tea.Msg {
	if _, ok := msg.(tea.SuspendMsg); ok {
		return nil
	}
	return msg
}
