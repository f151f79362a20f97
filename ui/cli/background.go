package cli

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	_ "aipscope/ui/quiet" // nobody else asks

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/term"
	"github.com/muesli/cancelreader"
)

// How long a terminal may take to answer. Nearly all do at once: only one that cannot, or
// is far away, is waited for so long.
const (
	answerTime    = 200 * time.Millisecond
	answerTimeFar = 600 * time.Millisecond
)

// askBackground asks for the background's colour (OSC 11), and behind it for what every
// terminal knows (DA1), so that the second answer is the end of both.
const askBackground = "\x1b]11;?\x1b\\\x1b[c"

var (
	backgroundAnswer = regexp.MustCompile(`\x1b\]11;rgba?:([0-9a-fA-F]+)/([0-9a-fA-F]+)/([0-9a-fA-F]+)`)
	lastAnswer       = regexp.MustCompile(`\x1b\[\?[0-9;]*c`)
)

// darkBackground reports whether the terminal's background is dark, or true where
// that cannot be told. What is typed while it asks is lost, but for ctrl+c.
func (a *app) darkBackground() bool {
	in := terminal(a.in)
	if in == nil || a.tty == nil || a.getenv("TERM") == "dumb" || runtime.GOOS == "windows" || !foreground(in) {
		return darkByEnvironment(a.getenv)
	}
	wait := answerTime
	if a.getenv("SSH_CONNECTION") != "" {
		wait = answerTimeFar
	}
	got, whole := ask(in, a.tty, wait)
	a.late.Store(!whole)
	if bytes.IndexByte(got, 0x03) >= 0 && a.end != nil {
		a.end(nil)
	}
	if m := backgroundAnswer.FindSubmatch(got); m != nil {
		return luminance(m[1], m[2], m[3]) < 0.5
	}
	return darkByEnvironment(a.getenv)
}

// ask writes the question, and reads until both answers are there or the time is
// over.
func ask(in *os.File, out io.Writer, wait time.Duration) (got []byte, whole bool) {
	r, err := cancelreader.NewReader(in)
	if err != nil {
		return nil, true // nothing was asked
	}
	defer r.Close()
	before, err := term.MakeRaw(in.Fd()) // the answers are not to be echoed, nor to wait for a line's end
	if err != nil {
		return nil, true
	}
	defer term.Restore(in.Fd(), before)
	if _, err := io.WriteString(out, askBackground); err != nil {
		return nil, true
	}
	over := time.AfterFunc(wait, func() { r.Cancel() })
	defer over.Stop()
	for p := make([]byte, 256); len(got) < 4096; {
		n, err := r.Read(p)
		got = append(got, p[:n]...)
		if lastAnswer.Match(got) {
			return got, true
		}
		if err != nil {
			return got, false
		}
	}
	return got, false
}

// luminance is a colour's, from 0 to 1, of hexadecimal numbers of any width.
func luminance(red, green, blue []byte) float64 {
	part := func(hex []byte) float64 {
		n, err := strconv.ParseUint(string(hex), 16, 64)
		if err != nil || len(hex) > 15 {
			return 0
		}
		return float64(n) / float64(uint64(1)<<(4*len(hex))-1)
	}
	return 0.299*part(red) + 0.587*part(green) + 0.114*part(blue)
}

// darkByEnvironment goes by COLORFGBG, in which some terminals say their colours
// as "foreground;background" of sixteen.
func darkByEnvironment(getenv func(string) string) bool {
	parts := strings.Split(getenv("COLORFGBG"), ";")
	last := parts[len(parts)-1]
	return last != "7" && last != "15"
}

// lateAnswer drops a terminal's answer that comes when nobody waits for it any more:
// bubbletea would take it for keys.
type lateAnswer struct {
	due     *atomic.Bool // it was asked, and has not answered
	within  bool
	dropped int
}

// maxAnswer is more than an answer has characters.
const maxAnswer = 40

func (l *lateAnswer) filter(msg tea.Msg) tea.Msg {
	key, ok := msg.(tea.KeyMsg)
	if !ok || !l.due.Load() {
		return msg
	}
	if !l.within {
		if key.Alt && string(key.Runes) == "]" { // ESC ]
			l.within = true
			return nil
		}
		return msg
	}
	if end := key.Type == tea.KeyCtrlG || key.Alt && string(key.Runes) == `\`; end { // BEL, or ESC \
		l.due.Store(false)
		return nil
	}
	l.dropped += len(key.Runes)
	if key.Type != tea.KeyRunes || strings.Trim(string(key.Runes), "0123456789abcdefABCDEFrg:;/") != "" || l.dropped > maxAnswer {
		l.due.Store(false)
		return msg
	}
	return nil
}
