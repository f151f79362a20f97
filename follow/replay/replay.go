// Package replay plays recordings of provider streams, byte for byte, at the
// pace at which a model and its tools would have made them.
//
// A recording is a .sse file with the body of one streaming request; replies of
// requests that do not stream are .json files beside it, their status lines in
// .headers.txt. The file's name says which operation it answers.
package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"regexp"
	"slices"
	"strings"

	"aipscope/model/hermes"
)

// Scenario is a recorded stream.
type Scenario struct {
	Name      string // the file's, without its end
	Path      string // in the library's file system
	Operation hermes.Operation
	Size      int64 // bytes
}

// Library is a set of recordings. It is safe for use by several goroutines.
type Library struct {
	files     fs.FS
	scenarios []Scenario
	replies   map[string]string // path by name
}

// ErrUnknown is why a recording cannot be played: the library has none of that
// name.
var ErrUnknown = errors.New("no such recording")

// Open lists the recordings of a file system, those of its folders included.
// When two have one name, the first folder's wins. A .sse file whose name tells
// no operation is taken for a chat stream.
func Open(files fs.FS) (*Library, error) {
	l := &Library{files: files, replies: map[string]string{}}
	seen := map[string]bool{}
	err := fs.WalkDir(files, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		base := path.Base(p)
		if name, ok := strings.CutSuffix(base, ".sse"); ok && !seen[name] {
			info, err := d.Info()
			if err != nil {
				return err
			}
			seen[name] = true
			l.scenarios = append(l.scenarios, Scenario{Name: name, Path: p, Operation: OperationOf(name), Size: info.Size()})
			return nil
		}
		if name, ok := strings.CutSuffix(base, ".json"); ok && !strings.HasSuffix(name, ".request") {
			if _, ok := l.replies[name]; !ok {
				l.replies[name] = p
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list recordings: %w", err)
	}
	slices.SortFunc(l.scenarios, func(a, b Scenario) int { return strings.Compare(a.Name, b.Name) })
	return l, nil
}

// OperationOf guesses from a recording's name which operation streams so.
func OperationOf(name string) hermes.Operation {
	switch {
	case strings.HasPrefix(name, "responses_"):
		return hermes.OpResponsesStream
	case strings.HasPrefix(name, "session_stream_"):
		return hermes.OpSessionChatStream
	case strings.HasPrefix(name, "runs_"):
		return hermes.OpRunEvents
	}
	return hermes.OpChatStream
}

// Scenarios are all recorded streams by name.
func (l *Library) Scenarios() []Scenario { return l.scenarios }

// Scenario finds a recorded stream by name.
func (l *Library) Scenario(name string) (Scenario, bool) {
	i, ok := slices.BinarySearchFunc(l.scenarios, name, func(s Scenario, name string) int { return strings.Compare(s.Name, name) })
	if !ok {
		return Scenario{}, false
	}
	return l.scenarios[i], true
}

// usual are the recordings that show most of their family.
var usual = map[hermes.Operation]string{
	hermes.OpChatStream:        "chat_tools",
	hermes.OpResponsesStream:   "responses_tools",
	hermes.OpSessionChatStream: "session_stream_tools",
	hermes.OpRunEvents:         "runs_tools_events",
}

// Default is the recording that an operation plays when none is named.
func (l *Library) Default(op hermes.Operation) (Scenario, bool) {
	if s, ok := l.Scenario(usual[op]); ok {
		return s, true
	}
	for _, s := range l.scenarios {
		if s.Operation == op {
			return s, true
		}
	}
	return Scenario{}, false
}

// About finds the first recorded stream of an operation that names an object,
// such as a run, by its ID.
func (l *Library) About(op hermes.Operation, id string) (Scenario, bool) {
	quoted, err := json.Marshal(id)
	if err != nil || id == "" {
		return Scenario{}, false
	}
	named := regexp.MustCompile(`_id": ?` + regexp.QuoteMeta(string(quoted)))
	for _, s := range l.scenarios {
		if s.Operation != op {
			continue
		}
		if raw, err := fs.ReadFile(l.files, s.Path); err == nil && named.Match(raw) {
			return s, true
		}
	}
	return Scenario{}, false
}

// Recorded is the body of a recorded stream.
func (l *Library) Recorded(name string) ([]byte, error) {
	s, ok := l.Scenario(name)
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrUnknown, name)
	}
	raw, err := fs.ReadFile(l.files, s.Path)
	if err != nil {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	return raw, nil
}

// Stream plays a recorded stream.
func (l *Library) Stream(name string, pace Pace) (Stream, error) {
	raw, err := l.Recorded(name)
	if err != nil {
		return nil, err
	}
	return Play(raw, pace), nil
}

// Replies are the names of the recorded replies that begin with prefix, in
// order.
func (l *Library) Replies(prefix string) []string {
	var names []string
	for name := range l.replies {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Reply is a recorded reply of a request that does not stream, and its HTTP
// status; 200 where none was recorded.
func (l *Library) Reply(name string) (status int, body []byte, err error) {
	p, ok := l.replies[name]
	if !ok {
		return 0, nil, fmt.Errorf("%w: %s", ErrUnknown, name)
	}
	body, err = fs.ReadFile(l.files, p)
	if err != nil {
		return 0, nil, fmt.Errorf("read recording: %w", err)
	}
	status = 200
	head, err := fs.ReadFile(l.files, strings.TrimSuffix(p, ".json")+".headers.txt")
	if err != nil {
		return status, body, nil
	}
	line, _ := bufio.NewReader(bytes.NewReader(head)).ReadString('\n')
	if _, err := fmt.Sscanf(line, "HTTP/1.1 %d", &status); err != nil {
		return 0, nil, fmt.Errorf("read recording %s: no status in %q", name, line)
	}
	return status, body, nil
}

// Records reads a provider's stream to its end, past its terminal event. It
// stops after an error: hermes.ErrInvalidStream, or the reader's own.
func Records(r io.Reader, limits hermes.Limits) iter.Seq2[hermes.Record, error] {
	return func(yield func(hermes.Record, error) bool) {
		p := hermes.NewParser(limits)
		buf := make([]byte, 64<<10)
		for {
			n, readErr := r.Read(buf)
			if err := p.Feed(buf[:n]); err != nil {
				yield(hermes.Record{}, err)
				return
			}
			for {
				rec, ok, err := p.Next()
				if err != nil {
					yield(hermes.Record{}, err)
					return
				}
				if !ok {
					break
				}
				if !yield(rec, nil) {
					return
				}
			}
			if errors.Is(readErr, io.EOF) {
				break
			}
			if readErr != nil {
				yield(hermes.Record{}, readErr)
				return
			}
		}
		if rec, ok, err := p.Close(); ok || err != nil {
			yield(rec, err)
		}
	}
}
