//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"

	"github.com/charmbracelet/x/term"
)

// keepCommand runs a keeper. It is for consoles, and no command of the user's.
const keepCommand = "keep-terminal"

// keeper is a process of its own beside a console. It gives the terminal back when
// the console's process ends without doing so: killed, or broken down where none of
// our code runs, as in a goroutine of a library's. What the process says on standard
// error meanwhile goes to the keeper, because a panic's value may be content.
type keeper struct {
	mu      sync.Mutex
	control *os.File // to the keeper; nil when it was let go
	stderr  int      // the descriptor that standard error was
}

// kept is what a keeper is told first.
type kept struct {
	State json.RawMessage // of the terminal before the console had it
	Ends  string          // what ends all that a console turns on
}

// startKeeper starts a keeper for the screen. A console does without one where
// there is none.
func startKeeper(s *screen, spawn func(func())) (*keeper, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	state, err := json.Marshal(s.before.Termios)
	if err != nil {
		return nil, err
	}
	told, control, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer told.Close()
	heard, said, err := os.Pipe()
	if err != nil {
		control.Close()
		return nil, err
	}
	defer heard.Close()
	defer said.Close()
	cmd := &exec.Cmd{
		Path: exe, Args: []string{os.Args[0], keepCommand}, Env: []string{}, Stdin: s.in, Stdout: s.out, Stderr: os.Stderr,
		ExtraFiles: []*os.File{told, heard},
		// In a session of its own no signal of the terminal's reaches it, and it may
		// set the terminal back from the background.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	k := &keeper{control: control}
	if k.stderr, err = syscall.Dup(2); err != nil {
		control.Close()
		return nil, err
	}
	syscall.CloseOnExec(k.stderr)
	if err = cmd.Start(); err == nil {
		spawn(func() { _ = cmd.Wait() }) // how it ends is not asked
		if err = json.NewEncoder(control).Encode(kept{state, s.ends()}); err == nil {
			err = moveDescriptor(int(said.Fd()), 2)
		}
	}
	if err != nil {
		k.tell(terminalDone)
		control.Close()
		syscall.Close(k.stderr)
		return nil, err
	}
	return k, nil
}

// tell says whose the terminal is.
func (k *keeper) tell(whose byte) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.control != nil {
		k.control.Write([]byte{whose}) // without a keeper there is nobody to tell
	}
}

// letGo ends the keeper: the terminal is given back, and standard error is what
// it was.
func (k *keeper) letGo() {
	if k == nil {
		return
	}
	k.tell(terminalDone)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.control == nil {
		return
	}
	k.control.Close()
	k.control = nil
	moveDescriptor(k.stderr, 2)
	syscall.Close(k.stderr)
}

// keepTerminal is the keeper's life: it waits for the console's end.
func keepTerminal() int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGTTOU)
	control, text := bufio.NewReader(os.NewFile(3, "control")), os.NewFile(4, "text")
	var k kept
	line, err := control.ReadBytes('\n')
	var before term.State
	if err = errors.Join(err, json.Unmarshal(line, &k)); err == nil {
		err = json.Unmarshal(k.State, &before.Termios)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "aipscope:", keepCommand, "is for the console's own use")
		return exitUsage
	}
	stack := make(chan []byte, 1)
	go func() { stack <- stackIn(text) }()
	whose := byte(terminalOurs)
	for {
		b, err := control.ReadByte()
		if err != nil {
			break
		}
		whose = b
	}
	if whose != terminalOurs {
		return exitOK
	}
	_ = term.Restore(0, &before)
	io.WriteString(os.Stdout, k.Ends)
	if s := <-stack; len(s) > 0 {
		fmt.Fprintf(os.Stderr, "aipscope: %s\n\n%s", (&fault{}).Error(), s)
	}
	return exitOK
}

// stackIn reads what a dying process says, to its end, and returns the stacks in
// it: what stands before them may be a panic's value.
func stackIn(r io.Reader) []byte {
	b, _ := io.ReadAll(io.LimitReader(r, 256<<10)) // what came counts
	_, _ = io.Copy(io.Discard, r)
	if bytes.HasPrefix(b, []byte("goroutine ")) {
		return b
	}
	if _, stacks, ok := bytes.Cut(b, []byte("\ngoroutine ")); ok {
		return append([]byte("goroutine "), stacks...)
	}
	return nil
}
