package cli

import (
	"errors"
	"net/http"
	"runtime/debug"
	"sync/atomic"

	"aipscope/follow"
	"aipscope/ui"

	tea "github.com/charmbracelet/bubbletea"
)

// fault is a panic of ours. It keeps where it happened and not its value, which
// might be content.
type fault struct{ stack []byte }

func (f *fault) Error() string {
	return "aipscope broke down (a fault of its own, not of the action); what was shown is in the journal, start again to go on"
}

// stackOf is the stack of a fault inside err, or nil.
func stackOf(err error) []byte {
	var own *fault
	var followers *follow.PanicError
	switch {
	case errors.As(err, &own):
		return own.stack
	case errors.As(err, &followers):
		return followers.Stack
	}
	return nil
}

// broke ends the run with a fault.
func (a *app) broke(stack []byte) { a.end(&fault{stack}) }

// guarded runs fn, and makes an error of a panic in it.
func guarded(fn func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = &fault{debug.Stack()}
		}
	}()
	return fn()
}

// spawn runs fn in a goroutine; a fault in it ends the run. Every goroutine of
// this package starts here.
func (a *app) spawn(fn func()) {
	go func() {
		defer func() {
			if recover() != nil {
				a.broke(debug.Stack())
			}
		}()
		fn()
	}()
}

// guardedHandler ends the run at a fault in h. Left alone, net/http would print
// the panic's value.
func (a *app) guardedHandler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch recover() {
			case nil:
				return
			case http.ErrAbortHandler: // the handler's own way to cut the connection
			default:
				a.broke(debug.Stack())
			}
			panic(http.ErrAbortHandler)
		}()
		h.ServeHTTP(w, r)
	})
}

// guardedModel makes sure that no panic of a model or of its commands gets into
// bubbletea, which would print its value or leave the terminal raw. The first one
// ends the run. Its frames go to the screen.
type guardedModel struct {
	inner  tea.Model
	broke  func(stack []byte)
	broken atomic.Bool // the model's own state is not to be trusted
	screen *screen
	frame  frame
}

func (m *guardedModel) Init() (cmd tea.Cmd) {
	defer m.recover()
	return tea.Batch(m.screen.size, m.guard(m.inner.Init()))
}

func (m *guardedModel) Update(msg tea.Msg) (self tea.Model, cmd tea.Cmd) {
	self = m // also after a panic
	if size, ok := msg.(tea.WindowSizeMsg); ok {
		m.frame = frame{width: size.Width, height: size.Height, anew: true}
	}
	if m.broken.Load() {
		if _, ok := msg.(ui.LeaveMsg); ok {
			return m, tea.Quit
		}
		return m, nil
	}
	defer m.recover()
	var next tea.Model
	next, cmd = m.inner.Update(msg)
	m.inner = next
	return m, m.guard(cmd)
}

// View shows the frame, and gives bubbletea nothing to draw.
func (m *guardedModel) View() string {
	m.frame.text = m.view()
	if m.screen.painter != nil {
		m.screen.painter.show(m.frame)
	}
	m.frame.anew = false
	return ""
}

// view of a broken model is empty, which clears the screen.
func (m *guardedModel) view() string {
	if m.broken.Load() {
		return ""
	}
	defer m.recover()
	return m.inner.View()
}

func (m *guardedModel) recover() {
	if recover() != nil {
		m.broken.Store(true)
		m.broke(debug.Stack())
	}
}

// guard wraps a command, and those that it brings.
func (m *guardedModel) guard(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		defer func() {
			if recover() != nil {
				m.broke(debug.Stack())
			}
		}()
		msg = cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i, c := range batch {
				batch[i] = m.guard(c)
			}
		}
		return msg
	}
}
