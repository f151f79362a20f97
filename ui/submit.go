package ui

import (
	"context"
	"errors"

	"aipscope/follow/act"
	"aipscope/model"

	tea "github.com/charmbracelet/bubbletea"
)

// submit sends what a form holds, once, and watches it.
func (d *Desk) submit(c *Console, f *form) tea.Cmd {
	office, action, req := c.cfg.Office, f.action, *f.ready
	c.notice("submitting "+shortID(action)+"…", c.styles.text)
	_, cmd := c.begin(func(ctx context.Context, _ func(act.Notice)) func() tea.Cmd {
		cfg, err := office.Submit(ctx, action, req)
		return func() tea.Cmd {
			known := errors.Is(err, act.ErrKnown)
			if err != nil && !known {
				if errors.Is(err, context.Canceled) {
					return nil
				}
				c.notice("Nothing was sent: "+office.explain(err), c.styles.word(model.Failed))
				if c.window == nil {
					c.window = f // as it was
				}
				return nil
			}
			c.notice("", ink{})
			d.draft = nil
			cmd := d.opened(openedMsg{which: Listed{Action: action, URL: cfg.URL}, cfg: cfg})
			if known {
				d.shown.notice("It is known already: it is watched, and nothing was sent.", d.shown.styles.word(model.Unconfirmed))
			}
			return cmd
		}
	})
	return cmd
}

// postedMsg is how the daemon took a submission.
type postedMsg struct{ err error }

// awaitPosted waits for the answer to the submission that the console watches.
func (c *Console) awaitPosted() tea.Cmd {
	if c.cfg.Posted == nil {
		return nil
	}
	ctx, posted := c.ctx, c.cfg.Posted
	return func() tea.Msg { return postedMsg{posted(ctx)} }
}

func (c *Console) posted(m postedMsg) {
	if m.err == nil || errors.Is(m.err, context.Canceled) {
		return
	}
	c.dirty = true
	say := "It was not taken: "
	if errors.Is(m.err, act.ErrNotSent) {
		say = "Nothing was sent: "
	}
	c.notice(say+brief(m.err.Error()), c.styles.word(model.Failed))
}
