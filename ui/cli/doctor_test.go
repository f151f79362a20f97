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
	"strings"
	"testing"
	"time"

	"aipscope/follow/client"
)

// tried runs a command line that no environment plays into.
func tried(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	var b bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &b, err: io.Discard, getenv: noEnvironment, now: time.Now}
	config := filepath.Join(t.TempDir(), "none.toml")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code = a.run(t.Context(), append(args, "--config", config, "--journal", t.TempDir()))
	return code, b.String()
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
	code, out := tried(t, "doctor", "--url", srv.URL, "--ca-file", ca)
	for _, want := range []string{"ok       tls           TLS 1.3, certificate good until 20", "1 offered, none of Hermes", "do: actions can be watched"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	code, out = tried(t, "doctor", "--url", srv.URL)
	if code != 1 || !strings.Contains(out, "do: name the authority that the daemon's certificate is from with --ca-file") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	code, out = tried(t, "doctor", "--ca-file", ca, "--url", strings.Replace(srv.URL, "127.0.0.1", "localhost", 1))
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
