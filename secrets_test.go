package main

import (
	"bytes"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"aipscope/follow/aipd"
)

// The token stands in its file and nowhere else, and content in the journal and
// where it was asked for.
func TestTokenAndContentStayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	p := newPlace(t, startDaemon(t, aipd.Options{}))
	log := filepath.Join(p.dir, "log")
	var said strings.Builder
	do := func(args ...string) string {
		t.Helper()
		_, out, errOut := outcome(t, p.command(append(args, "--log-file", log)...))
		said.WriteString(errOut)
		return out
	}
	const prompt, answer = "a private prompt", "Three things are left"
	public := []string{
		do("submit", "cap:hermes_agent:demo:chat_stream", "--action-id", "act_one", "--idempotency-key", "key-1", "--output", "json", "--input", input("chat_tools")),
		do("status", "act_one"), do("status", "act_one", "--output", "json"),
		do("actions"), do("actions", "--output", "json"),
		do("export", "act_one"), do("journal", "check"),
		do("cancel", "act_one", "--reason", "none"),
		do("submit", "cap:hermes_agent:demo:chat_stream", "--input", `{"prompt":"a private prompt","query":"both"}`),
		do("submit", "cap:nothing:echo", "--input", input("chat_ok")),
	}
	p.write("wrong", "another-secret-word")
	for _, command := range [][]string{{"watch", "act_x"}, {"status", "act_one"}, {"cancel", "act_one", "--reason", "none"}} {
		code, out, errOut := outcome(t, p.run(p.exe, append(p.args(command...), "--token-file", "wrong", "--log-file", log)...))
		if code != 17 {
			t.Errorf("%v with a wrong token: exit code %d\n%s", command, code, errOut)
		}
		public = append(public, out)
		said.WriteString(errOut)
	}
	do("export", "act_one", "--file", filepath.Join(p.dir, "masked.jsonl"))
	whole := do("export", "act_one", "--reveal")
	do("export", "act_one", "--reveal", "--file", filepath.Join(p.dir, "whole.jsonl"))
	if !strings.Contains(whole, prompt) || !strings.Contains(whole, "things") {
		t.Error("the whole export holds no content")
	}
	now := files(t, p.dir)
	for name, text := range now {
		if name != "token" && strings.Contains(text, token) || name != "wrong" && strings.Contains(text, "another-secret-word") {
			t.Errorf("a token is in %s", name)
		}
		if where := filepath.Dir(name); where != "journal" && name != "whole.jsonl" && name != "token" && name != "wrong" && strings.Contains(text, prompt) {
			t.Errorf("the prompt is in %s", name)
		}
	}
	for _, text := range append(public, whole, said.String()) {
		if strings.Contains(text, token) || strings.Contains(text, "another-secret-word") {
			t.Errorf("a token was printed:\n%s", text)
		}
	}
	for _, text := range append(public, said.String(), now["log"], now["masked.jsonl"]) {
		if strings.Contains(text, prompt) {
			t.Errorf("the prompt was printed:\n%s", text)
		}
	}
	for _, word := range []string{answer, "incident.md", "chatcmpl-", `"s"`} {
		if strings.Contains(now["log"], word) || strings.Contains(said.String(), word) {
			t.Errorf("%q is in the log or on standard error:\n%s%s", word, now["log"], said.String())
		}
	}
	for _, word := range []string{"act_one", "key-1", "unconfirmed", "chat_stream"} {
		if !strings.Contains(now["log"], word) {
			t.Errorf("%q is not in the log:\n%s", word, now["log"])
		}
	}
	for name := range now {
		if name == "token" || name == "wrong" {
			continue
		}
		if info, err := os.Stat(filepath.Join(p.dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v, %v", name, info.Mode(), err)
		}
	}
	if info, err := os.Stat(p.journal()); err != nil || info.Mode() != fs.ModeDir|0o700 {
		t.Errorf("the journal's directory has the mode %v, %v", info.Mode(), err)
	}
}

func TestForgottenContentIsInNoFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t, startDaemon(t, aipd.Options{}))
	for _, id := range []string{"act_one", "act_two"} {
		p.ends(10, "submit", "cap:hermes_agent:demo:chat_stream", "--action-id", id, "--input",
			`{"prompt":"the prompt of `+id+`","session_id":"session-of-`+id+`","recording":"chat_tools"}`)
	}
	in := func(word string) (found []string) {
		for name, text := range files(t, p.journal()) {
			if strings.Contains(text, word) {
				found = append(found, name)
			}
		}
		return found
	}
	if in("the prompt of act_one") == nil || in("the prompt of act_two") == nil || in("chatcmpl-") == nil {
		t.Fatal("the journal holds no content")
	}
	out, _ := p.ends(0, "journal", "forget", "act_one")
	if !strings.Contains(out, "act_one") {
		t.Errorf("it says %q", out)
	}
	if found := append(in("the prompt of act_one"), in("session-of-act_one")...); found != nil {
		t.Errorf("content is in %q", found)
	}
	if in("the prompt of act_two") == nil {
		t.Error("another action is gone")
	}
	_, msg := p.ends(1, "open", "act_one")
	if !strings.Contains(msg, "was forgotten on") {
		t.Errorf("open says %s", msg)
	}
	_, msg = p.ends(10, "submit", "cap:hermes_agent:demo:chat_stream", "--action-id", "act_one", "--input", input("chat_tools"))
	if !strings.Contains(msg, "nothing is sent") || !strings.Contains(msg, "was forgotten on") {
		t.Errorf("submit says %s", msg)
	}
	p.ends(0, "journal", "prune", "--older-than", "0s")
	if found := append(in("the prompt of"), in("chatcmpl-")...); found != nil {
		t.Errorf("content is in %q", found)
	}
	if in("act_two") == nil {
		t.Error("nothing remembers that act_two was used")
	}
	p.sound()
}

func TestForgettingIsRefusedWhileAConsoleFollows(t *testing.T) {
	t.Parallel()
	p := newPlace(t, startDaemon(t, aipd.Options{Speed: 1}))
	p.submit("act_slow", "chat_large")
	cmd := p.command("watch", "act_slow", "--output", "json")
	begun(t, cmd, 2)
	_, msg := p.ends(1, "journal", "forget", "act_slow")
	if !strings.Contains(msg, "another console has this action open") {
		t.Errorf("it says %s", msg)
	}
	if out, _ := p.ends(0, "journal", "prune", "--older-than", "0s"); !strings.Contains(out, "0 actions forgotten") {
		t.Errorf("prune says %s", out)
	}
	if err := cmd.Process.Kill(); err != nil { // the lock dies with it
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	p.ends(0, "journal", "forget", "act_slow")
}

// recorded is a server that tells whether anything, and the token, came to it.
func recorded(t *testing.T, ln net.Listener, h http.HandlerFunc) (srv *httptest.Server, requests, tokens *atomic.Int32) {
	requests, tokens = &atomic.Int32{}, &atomic.Int32{}
	srv = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		var head bytes.Buffer
		if err := r.Header.Write(&head); err != nil || strings.Contains(head.String(), token) {
			tokens.Add(1)
		}
		h(w, r)
	}))
	if ln != nil {
		srv.Listener.Close()
		srv.Listener = ln
	}
	srv.Start()
	t.Cleanup(srv.Close)
	return srv, requests, tokens
}

func TestTheTokenGoesNoFurtherThanTheDaemon(t *testing.T) {
	t.Parallel()
	none := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }
	commands := [][]string{
		{"status", "act_x"}, {"watch", "act_x", "--timeout", "1s"}, {"cancel", "act_x", "--reason", "x"},
		{"submit", "cap:hermes_agent:demo:chat_stream", "--input", input("chat_ok"), "--timeout", "1s"},
	}
	t.Run("redirect", func(t *testing.T) {
		away, requests, _ := recorded(t, nil, none)
		srv, asked, _ := recorded(t, nil, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, away.URL+r.URL.Path, http.StatusTemporaryRedirect)
		})
		p := newPlace(t, srv.URL)
		for _, c := range commands {
			if code, _, msg := outcome(t, p.command(c...)); code == 0 {
				t.Errorf("%v: %s", c, msg)
			}
		}
		if asked.Load() == 0 || requests.Load() > 0 {
			t.Errorf("%d requests, %d of them followed", asked.Load(), requests.Load())
		}
	})
	t.Run("proxy", func(t *testing.T) {
		proxy, requests, _ := recorded(t, nil, none)
		for _, url := range []string{"http://aipscope.invalid", "https://aipscope.invalid"} {
			p := newPlace(t, url)
			for _, c := range commands {
				cmd := p.command(c...)
				for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
					cmd.Env = append(cmd.Env, name+"="+proxy.URL, strings.ToLower(name)+"="+proxy.URL)
				}
				if code, _, msg := outcome(t, cmd); code == 0 {
					t.Errorf("%v: %s", c, msg)
				}
			}
		}
		if n := requests.Load(); n > 0 {
			t.Errorf("%d requests went to the proxy", n)
		}
	})
	t.Run("plain HTTP elsewhere", func(t *testing.T) {
		ln := listenElsewhere(t)
		srv, requests, tokens := recorded(t, ln, none)
		p := newPlace(t, srv.URL)
		for _, c := range commands {
			code, _, msg := outcome(t, p.command(c...))
			if code == 0 || code == 130 || !strings.Contains(msg, "plain HTTP") {
				t.Errorf("%v: exit code %d\n%s", c, code, msg)
			}
		}
		if n := requests.Load(); n > 0 {
			t.Errorf("%d requests were sent", n)
		}
		outcome(t, p.command("status", "act_x", "--insecure-http"))
		if tokens.Load() == 0 {
			t.Error("--insecure-http does not send the token")
		}
	})
}

// listenElsewhere listens at an address of this machine that is not loopback.
func listenElsewhere(t *testing.T) net.Listener {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		ip, ok := a.(*net.IPNet)
		if !ok || ip.IP.IsLoopback() || ip.IP.To4() == nil {
			continue
		}
		if ln, err := net.Listen("tcp", net.JoinHostPort(ip.IP.String(), "0")); err == nil {
			return ln
		}
	}
	t.Skip("THIS MACHINE HAS NO ADDRESS BUT LOOPBACK: plain HTTP to elsewhere is not tested here")
	return nil
}

func TestServeOffLoopbackNeedsAToken(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "http://127.0.0.1:1")
	for _, address := range []string{"0.0.0.0:0", "[::]:0", ":0"} {
		code, _, msg := outcome(t, p.run(p.exe, "serve", "--listen", address))
		if code != 2 || !strings.Contains(msg, "give --token-file") && !strings.Contains(msg, "listen at") {
			t.Errorf("%s: exit code %d\n%s", address, code, msg)
		}
	}
}
