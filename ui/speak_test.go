package ui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aipscope/follow"
	"aipscope/follow/act"
	"aipscope/model"
	"aipscope/model/safe"
	"aipscope/model/turntest"

	"github.com/charmbracelet/x/exp/golden"
)

// heard is all that a plain screen printed.
type heard struct {
	mu   sync.Mutex
	text strings.Builder
}

func (h *heard) print(s string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text.WriteString(s)
	return nil
}

func (h *heard) all() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// plain makes the console's screen a plain one that prints into h.
func (h *heard) plain(c *Config) {
	c.Look.PlainScreen, c.Printer = true, NewPrinter(h.print)
}

func TestAPlainScreenPrintsWhatHappensOnce(t *testing.T) {
	h := &heard{}
	bubble(t, "chat_tools", 80, 24, func(c *Config) { h.plain(c); c.Confirm = noConfirm }, func(d *driver, rows []model.Row) {
		for rest := rows; len(rest) > 30; rest = rest[30:] {
			d.play(rest[:30])
		}
		d.finish(rows)
		d.press("2", "j", "3", "k", "k", "enter", "tab", "j", "esc", "[", "[", "esc", "/")
		d.typed("data")
		d.press("enter", "n", "esc", "1", "/")
		d.typed("the canary")
		d.press("enter", "n", "esc", "esc", "v", "esc", "e", " ", "esc", "i", "esc", "?", "esc", ":")
		d.typed("verd")
		d.press("enter", "esc", "q")
	})
	golden.RequireEqual(t, []byte(h.all()))
}

func TestNothingIsPrintedByItselfOnAPlainScreen(t *testing.T) {
	h := &heard{}
	bubble(t, "chat_tools", 80, 24, h.plain, func(d *driver, rows []model.Row) {
		d.play(rows[:40])
		d.pass(2 * time.Second)
		before, said := d.updates, h.all()
		d.pass(time.Minute)
		if d.updates != before || h.all() != said {
			t.Errorf("%d updates, or more was printed: %q", d.updates-before, strings.TrimPrefix(h.all(), said))
		}
	})
}

// All of the text is printed, once and in its order, however it comes; and only text.
func TestAPlainScreenPrintsTheWholeText(t *testing.T) {
	for _, r := range turntest.Recordings(t) {
		h := &heard{}
		bubble(t, r.Name, 40+len(r.Name), 24, h.plain, func(d *driver, rows []model.Row) {
			if turntest.Racing && len(rows) > 200 {
				return
			}
			for n := len(rows)/5 + 1; len(rows) > n; rows = rows[n:] {
				d.play(rows[:n])
				d.pass(plainTime)
			}
			d.finish(rows)
			said, all := "", h.all()
			for line := range strings.Lines(all) {
				if !strings.HasPrefix(line, "link: ") && !strings.HasPrefix(line, "tool ") {
					said += line
				}
			}
			got := strings.Join(strings.Fields(said), "")
			for _, s := range d.c.turn.Segments() {
				if s.Kind != model.SegmentText {
					continue
				}
				_, rest, ok := strings.Cut(got, strings.Join(strings.Fields(safe.Text(s.Text())), ""))
				if !ok {
					t.Errorf("%s: not all of the text was printed", r.Name)
					break
				}
				got = rest
			}
			for _, tool := range d.c.turn.Tools() {
				if !strings.Contains(all, "tool "+toolName(tool)+": ") {
					t.Errorf("%s: nothing of %s", r.Name, tool.Name)
				}
			}
			if n := strings.Count(said, "\n "+wordText(d.c.verdict.Word)+"\n"); n != 1 {
				t.Errorf("%s: the verdict was said %d times", r.Name, n)
			}
			for _, c := range all {
				if c < ' ' && c != '\n' || c >= 0x7f && c < 0xa0 {
					t.Errorf("%s: %q was printed", r.Name, c)
					break
				}
			}
		})
	}
}

func TestALateChunkIsToldOnAPlainScreen(t *testing.T) {
	h := &heard{}
	rows := big(t, 30)
	bubble(t, "chat_ok", 80, 24, h.plain, func(d *driver, _ []model.Row) {
		d.play(slices.Delete(slices.Clone(rows), 20, 22))
		late := slices.Clone(rows[20:22])
		for i := range late {
			late[i].Number = int64(1000 + i)
		}
		d.pass(plainTime)
		d.play(late)
		all := h.all()
		if at := strings.Index(all, "A chunk came late"); at < 0 || strings.Count(all[at:], "w0 ") != 1 || strings.Count(all[:at], "w0 ") != 1 {
			t.Errorf("%q", all)
		}
	})
}

// What is typed is echoed as it comes, and said again when something came between.
func TestAPlainScreenEchoesWhatIsTyped(t *testing.T) {
	h := &heard{}
	asked := ""
	bubble(t, "chat_tools", 80, 24, func(c *Config) {
		h.plain(c)
		c.Cancel = func(_ context.Context, reason string) (act.Cancelled, error) {
			asked = reason
			return act.Cancelled{End: act.EndRefused, Code: "scope"}, nil
		}
	}, func(d *driver, rows []model.Row) {
		d.play(rows[:60])
		d.press("c")
		d.typed("no lon")
		d.play(rows[60:100])
		d.pass(2 * plainTime)
		d.typed("ger")
		d.press("enter")
		d.pass(plainTime)
	})
	all := h.all()
	from := strings.Index(all, "\nCancel\n")
	if from < 0 {
		t.Fatalf("%q", all)
	}
	for _, want := range []string{"What its tools did already is not undone.\n", "\nreason no lon\n", "\nreason no longer\n", "the cancellation was refused: scope\n"} {
		i := strings.Index(all[from:], want)
		if i < 0 {
			t.Fatalf("no %q behind %q", want, all[from:])
		}
		from += i + len(want) - 1
	}
	if asked != "no longer" {
		t.Errorf("asked with %q", asked)
	}
}

// It would stay on the screen.
func TestAPlainScreenRevealsNothing(t *testing.T) {
	h := &heard{}
	bubble(t, "chat_tools", 100, 30, h.plain, func(d *driver, rows []model.Row) {
		d.finish(rows)
		d.press("3", "enter", "r", "b", "esc", "2", "enter", "r", "esc", "i", "r", "esc", "?")
	})
	if all := h.all(); strings.Contains(all, "hermes-agent") || strings.Contains(all, "reveal") || strings.Contains(all, "REVEALED") {
		t.Errorf("it offers to reveal, or did:\n%s", all)
	}
}

func TestAPlainListSaysTheActionThatTheCursorIsOn(t *testing.T) {
	h := &heard{}
	onDeskAs(t, 80, 24, false, func(c *DeskConfig) { c.Look.PlainScreen, c.Printer = true, NewPrinter(h.print) }, func(d *driver, _ *Desk, rows []model.Row, other chan follow.Batch) {
		d.pass(plainTime)
		d.press("j")
		d.pass(3 * relist)
		d.press("k", "enter")
		other <- follow.Batch{Rows: rows[:60], Links: []follow.Link{{State: follow.Live}}}
		d.pass(plainTime)
		d.press("a")
		other <- follow.Batch{Rows: rows[60:], Links: []follow.Link{{State: follow.Settled}}, Done: true}
		d.pass(2 * plainTime)
		d.press("a")
	})
	golden.RequireEqual(t, []byte(h.all()))
}

// A write that began before the end and comes behind it must not take the verdict
// along.
func TestWhatWasNotWrittenIsAmongTheLastWords(t *testing.T) {
	ended := errors.New("no console has the terminal")
	p := NewPrinter(func(string) error { return ended })
	p.line("the text")
	late := p.flush()
	p.line("PENDING")
	if _, leaves := late().(LeaveMsg); !leaves {
		t.Error("nobody was told")
	}
	p.line("and why")
	if rest := p.Rest(); rest != "the text\nPENDING\nand why\n" {
		t.Errorf("the rest is %q", rest)
	}
}
