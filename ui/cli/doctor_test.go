package cli

import (
	"bytes"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"aipscope/follow/client"
)

// tried runs a command line that no environment plays into, with an empty config file and a
// new journal before all that it gives.
func tried(t *testing.T, args ...string) (code int, out, msg string) {
	t.Helper()
	var b, e bytes.Buffer
	a := &app{recordings: fstest.MapFS{}, in: strings.NewReader(""), out: &b, err: &e, getenv: noEnvironment, now: time.Now}
	config := filepath.Join(t.TempDir(), "none.toml")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	at := 0
	if args[0] == "__complete" {
		at = 1
	}
	code = a.run(t.Context(), slices.Insert(slices.Clone(args), at, "--config="+config, "--journal="+filepath.Join(t.TempDir(), "journal")))
	return code, b.String(), e.String()
}

func TestTheDoctorLooksAtTheCertificate(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, map[string]string{
			"/aip/v1/health":   `{"status":"ok","protocol":"AIP","version":"1.0","service":"a daemon"}`,
			"/aip/v1/actions":  `{"action_list":{"actions":[],"total_size":0}}`,
			"/aip/v1/manifest": `{"capabilities":[{"id":"cap:other:echo"}]}`,
		}[r.URL.Path])
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer srv.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, _ := tried(t, "doctor", "--url", srv.URL, "--ca-file", ca)
	for _, want := range []string{"ok       tls           TLS 1.3, certificate good until 20", "1 offered, none of Hermes", "do: actions can be watched"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	code, out, _ = tried(t, "doctor", "--url", srv.URL)
	if code != 1 || !strings.Contains(out, "do: name the authority that the daemon's certificate is from with --ca-file") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	code, out, _ = tried(t, "doctor", "--ca-file", ca, "--url", strings.Replace(srv.URL, "127.0.0.1", "localhost", 1))
	if code != 1 || !strings.Contains(out, "the certificate is another host's; check --url") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

func TestTheDoctorComparesTheClocks(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		date   time.Time
		state  string
		detail string
	}{
		{now, checkOK, "as the daemon's"},
		{now.Add(-4 * time.Second), checkOK, "as the daemon's"},
		{now.Add(-20 * time.Second), checkOK, "20s ahead of the daemon's"},
		{now.Add(-40 * time.Second), checkWarning, "40s ahead of the daemon's: it refuses what is submitted"},
		{now.Add(100 * time.Second), checkOK, "1m41s behind the daemon's"},
		{now.Add(time.Hour), checkWarning, "1h0m1s behind the daemon's: it refuses what is submitted"},
		{time.Time{}, checkSkipped, "the daemon does not say its time"},
	} {
		d := &doctor{app: &app{}}
		d.clock(client.Health{Date: c.date}, now)
		got := d.found[0]
		if got.State != c.state || got.Detail != c.detail || got.State == checkWarning && got.Advice == nil {
			t.Errorf("%v: %+v", c.date, got)
		}
	}
}

func TestTheDoctorSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, mode os.FileMode, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file := write("file", 0o600, "")
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "failed daemon no daemon is named do: give --url, or set AIP_URL"},
		{[]string{"--url", "http://127.0.0.1:1"}, "failed daemon no daemon answers at 127.0.0.1:1"},
		{[]string{"--url", "http://127.0.0.1:1"}, "do: check --url, or start one: aipscope serve"},
		{[]string{"--url", "ftp://x"}, "should be http:// or https://"},
		{[]string{"--token-file", write("loose", 0o644, "secret-word")}, `others can read or change it (mode 0644) do: run: chmod 600`},
		{[]string{"--token-file", filepath.Join(dir, "none")}, "there is no such file do: put it alone into a file of mode 0600"},
		{[]string{"--config", write("broken.toml", 0o600, "url = \"x\"\nurl =")}, "broken.toml: line 2: "},
		{[]string{"--journal", file}, "do: choose another place with --journal"},
		{[]string{"--journal", filepath.Join(file, "below")}, "failed journal "},
		{[]string{"--journal", filepath.Join(dir, "not", "there")}, "ok journal " + filepath.Join(dir, "not", "there") + " is made by the first watch"},
		{[]string{"--ephemeral"}, "ok journal in memory only"},
		{[]string{"--theme", "drak"}, `failed theme theme "drak": there is none; there are `},
	} {
		code, out, msg := tried(t, append([]string{"doctor"}, c.args...)...)
		said := strings.Join(strings.Fields(out), " ")
		if code != 1 || !strings.Contains(said, c.want) || strings.Contains(out+msg, "secret-word") {
			t.Errorf("%q: exit code %d, no %q in\n%s%s", c.args, code, c.want, out, msg)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("it left something: %v, %v", entries, err)
	}
}
