//go:build unix

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"aipscope/follow/aipd"
)

// documents are what a reader follows.
func documents(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("there are no documents")
	}
	return append(files, "README.md", "CONTRIBUTING.md")
}

// command is one command of a document, and the output that is shown behind it.
type command struct {
	line   int // in the document
	text   string
	output []string
}

// commands reads the blocks of a document that are marked sh or console. In a
// console block a command begins with "$ ", and what follows it is its output.
func commands(text string) []command {
	var all []command
	block, open := "", false // open: the last command goes on behind a backslash
	for n, line := range strings.Split(text, "\n") {
		if fence, ok := strings.CutPrefix(strings.TrimSpace(line), "```"); ok {
			if block == "" {
				block = cmp.Or(fence, "text")
			} else {
				block = ""
			}
			open = false
			continue
		}
		typed, isCommand := line, block == "sh" && strings.TrimSpace(line) != ""
		if block == "console" {
			typed, isCommand = strings.CutPrefix(line, "$ ")
		}
		switch {
		case open:
			all[len(all)-1].text += "\n" + line
		case isCommand:
			all = append(all, command{line: n + 1, text: typed})
		case block == "console" && len(all) > 0:
			last := &all[len(all)-1]
			last.output = append(last.output, line)
		}
		open = (open || isCommand) && strings.HasSuffix(line, `\`)
	}
	return all
}

// pattern matches what a document shows: … stands for any part of a line, and
// alone on a line for any lines.
func pattern(output []string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`(?m)\A`)
	for _, line := range output {
		if strings.TrimSpace(line) == "…" {
			b.WriteString(`(?:.*\n)*?`)
			continue
		}
		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(strings.TrimRight(line, " ")), "…", ".*?") + ` *\n`)
	}
	b.WriteString(`\z`)
	return regexp.MustCompile(b.String())
}

// What the documents say stands for what is there while they are tested.
const (
	exampleURL    = "https://aip.example.org" // a daemon of the reader's
	exampleAction = "act_0198b0d2c41e7f3a9d5e6b7c8d9e0f10"
	serveAddress  = "127.0.0.1:18080" // the embedded daemon, unless --listen says otherwise
)

// TestDocuments runs every command that the documents show, and compares what
// it prints with what they show.
func TestDocuments(t *testing.T) {
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all := commands(string(text))
		if len(all) == 0 {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			r := newReader(t, strings.Contains(string(text), exampleURL))
			for i, c := range all {
				r.follow(file, c, i+1 < len(all) && all[i+1].text == "echo $?")
			}
		})
	}
}

// reader follows one document, in one shell.
type reader struct {
	t       *testing.T
	place   *place
	in      io.Writer
	out     *bufio.Reader
	code    int      // of the last command
	stands  []string // pairs: what the document says, what stands for it
	targets string
}

func newReader(t *testing.T, daemon bool) *reader {
	p := newPlace(t, "")
	r := &reader{t: t, place: p}
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	r.targets = string(makefile)
	sh := p.run("sh")
	sh.Env = append(sh.Env, "PATH="+p.dir+":"+os.Getenv("PATH"), "AIP_URL=", "AIP_TOKEN_FILE=", "NO_COLOR=1")
	sh.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // with what it leaves in the background
	sh.Cancel = func() error { return syscall.Kill(-sh.Process.Pid, syscall.SIGKILL) }
	sh.WaitDelay = 10 * time.Second
	in, err := sh.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := sh.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sh.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-sh.Process.Pid, syscall.SIGKILL)
		_ = sh.Wait() // it was killed
	})
	r.in, r.out = in, bufio.NewReader(out)
	if daemon {
		// The reader's own daemon, which holds the action of the examples.
		url := startDaemon(t, aipd.Options{Endpoint: "prod"})
		r.stands = append(r.stands, exampleURL, url)
		p.write("home/.aip-token", token)
		if said, code := r.run("aipscope submit cap:hermes_agent:prod:chat_stream --detach --action-id " + exampleAction +
			` --input '{"prompt":"hi","session_id":"s"}' --ephemeral --url ` + url + ` --token-file "$HOME/.aip-token"`); code != 0 {
			t.Fatalf("submit: exit code %d\n%s", code, said)
		}
	}
	return r
}

// run has the shell run a command, and returns what it said on both outputs and
// its exit code.
func (r *reader) run(text string) (said string, code int) {
	r.t.Helper()
	const mark = "@@the command ended with "
	fmt.Fprintf(r.in, "(exit %d)\n{ %s\n} 2>&1 </dev/null; printf '%s%%d\\n' $?\n", r.code, text, mark)
	var b strings.Builder
	for {
		line, err := r.out.ReadString('\n')
		if at := strings.Index(line, mark); at >= 0 {
			if _, err := fmt.Sscanf(line[at+len(mark):], "%d", &code); err != nil {
				r.t.Fatal(err)
			}
			r.code = code
			return b.String() + line[:at], code
		}
		b.WriteString(line)
		if err != nil {
			r.t.Fatalf("%s: %v\n%s", text, err, b.String())
		}
	}
}

// follow does what a document says in one command. exitShown: the next command
// shows the exit code, so any may come.
func (r *reader) follow(file string, c command, exitShown bool) {
	r.t.Helper()
	text := strings.NewReplacer(r.stands...).Replace(c.text)
	fail := func(format string, args ...any) {
		r.t.Helper()
		r.t.Fatalf("%s:%d: %s\n%s", file, c.line, c.text, fmt.Sprintf(format, args...))
	}
	word, rest, _ := strings.Cut(c.text, " ")
	switch {
	case word == "make":
		target, _, _ := strings.Cut(rest, " ")
		if !strings.Contains(r.targets, "\n"+target+": ") {
			fail("the Makefile has no such target")
		}
		return
	case word == "go" || word == "git": // of a developer
		return
	case strings.HasPrefix(c.text, "aipscope serve") && !strings.Contains(c.text, "--fault help"):
		r.serve(text, fail)
		return
	}
	said, code := r.run(text)
	for i := 0; i < len(r.stands); i += 2 {
		said = strings.ReplaceAll(said, r.stands[i+1], r.stands[i])
	}
	// Anything but a verdict is worth a word.
	if asked := strings.Contains(text, "aipscope") && !strings.Contains(text, "|"); asked && !exitShown && (code == 1 || code == 2 || code > 124) {
		fail("exit code %d\n%s", code, said)
	}
	if len(c.output) > 0 && !pattern(c.output).MatchString(ended(said)) {
		fail("it says\n%s\nand not\n%s", said, strings.Join(c.output, "\n"))
	}
}

// ended is text whose last line has an end.
func ended(s string) string {
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return s
}

// serve starts an embedded daemon in the background, as a reader does in another
// terminal, at a port of its own.
func (r *reader) serve(text string, fail func(string, ...any)) {
	r.t.Helper()
	log := filepath.Join(r.t.TempDir(), "serve.log")
	r.run("kill $SERVES 2>/dev/null; " + strings.TrimSuffix(text, " &") + " --listen 127.0.0.1:0 >" + log + " 2>&1 & SERVES=$!")
	at := regexp.MustCompile(`serving at http://(127\.0\.0\.1:\d+)`)
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		said, err := os.ReadFile(log)
		if m := at.FindSubmatch(said); err == nil && m != nil {
			// It is at the same address as one before, for a reader.
			if i := slices.Index(r.stands, serveAddress); i >= 0 {
				r.run(fmt.Sprintf(`if [ "$AIP_URL" = http://%s ]; then AIP_URL=http://%s; fi`, r.stands[i+1], m[1]))
				r.stands = slices.Delete(r.stands, i, i+2)
			}
			r.stands = append(r.stands, serveAddress, string(m[1]))
			return
		}
		if time.Now().After(end) {
			fail("it does not serve: %s", said)
		}
	}
}

// TestDocumentsLinkToWhatIsThere checks that each relative link of a document
// leads to a file, and to a heading of it.
func TestDocumentsLinkToWhatIsThere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllSubmatch(text, -1) {
			to := string(m[1])
			if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
				continue
			}
			name, anchor, _ := strings.Cut(to, "#")
			target := file
			if name != "" {
				target = filepath.Join(filepath.Dir(file), name)
			}
			linked, err := os.ReadFile(target)
			if err != nil {
				if info, e := os.Stat(target); e != nil || !info.IsDir() {
					t.Errorf("%s links to %s: %v", file, to, err)
				}
				continue
			}
			if anchor != "" && !slices.Contains(anchors(linked), anchor) {
				t.Errorf("%s links to %s: %s has no such heading", file, to, target)
			}
		}
	}
}

// anchors are the names by which a document's headings are linked to.
func anchors(text []byte) []string {
	var all []string
	for line := range bytes.Lines(text) {
		if title, ok := bytes.CutPrefix(line, []byte("#")); ok {
			name := strings.ToLower(strings.TrimSpace(strings.TrimLeft(string(title), "#")))
			name = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(name, "")
			all = append(all, strings.ReplaceAll(name, " ", "-"))
		}
	}
	return all
}
