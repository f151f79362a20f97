package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"aipscope/follow/aipd"
	"aipscope/follow/client"
	"aipscope/follow/replay"
	"aipscope/model/hermes"
	"aipscope/store"

	"github.com/spf13/cobra"
)

func (a *app) serveCommand() *cobra.Command {
	var listen, dir, fault string
	var speed float64
	var unlimited bool
	var approve string
	var runs int
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the embedded daemon, which plays recorded turns",
		Long: `Run the embedded daemon. Each submitted action plays a recorded Hermes turn: the one
that its input names under "recording", else the usual one of its operation.
The bearer token that it asks for comes from --token-file.

With --fault it misbehaves as real daemons and networks do; --fault help lists how.`,
		Example: `  aipscope serve --listen 127.0.0.1:18080
  aipscope serve --fault cut=1500,late-result
  aipscope --url http://127.0.0.1:18080 submit cap:hermes_agent:demo:chat_stream --input '{"prompt":"hi","recording":"chat_tools"}'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if fault == "help" {
				return a.listFaults()
			}
			if speed < 0 {
				return usage(errors.New("--speed is 0 (no waiting) or more"))
			}
			faults, err := parseFaults(fault)
			if err != nil {
				return err
			}
			files := a.recordings
			if dir != "" {
				info, err := os.Stat(dir)
				if err != nil {
					return usage(fmt.Errorf("recordings: %w", err))
				}
				if !info.IsDir() {
					return usage(fmt.Errorf("recordings: %s is not a directory", dir))
				}
				files = os.DirFS(dir)
			}
			lib, err := replay.Open(files)
			if err != nil {
				return fmt.Errorf("recordings: %w", err)
			}
			if len(lib.Scenarios()) == 0 {
				return usage(fmt.Errorf("recordings: %s holds no .sse file", dir))
			}
			opt := aipd.Options{Recordings: lib, Speed: speed, Unlimited: unlimited, MaxRuns: runs, Faults: faults}
			if opt.Approve, err = approval(approve); err != nil {
				return usage(err)
			}
			if a.set.TokenFile != "" {
				token, err := client.ReadTokenFile(a.set.TokenFile)
				if err != nil {
					return usage(err)
				}
				opt.Token = string(token)
			}
			return a.serve(cmd.Context(), listen, opt)
		},
	}
	f := cmd.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:18080", "`address` to listen at; off loopback a token is required")
	f.StringVar(&dir, "recordings", "", "play the .sse files of `directory` instead of the embedded ones")
	f.Float64Var(&speed, "speed", 1, "how many times the natural pace; 0 does not wait")
	faultFlag(cmd, &fault)
	f.BoolVar(&unlimited, "unlimited", false, "lift the connector's limits of size and events")
	f.StringVar(&approve, "approve", "never", "what becomes of actions that need an approval: never (they wait), auto, deny, or a `time` after which they are granted")
	f.IntVar(&runs, "max-runs", 10, "turns at once before the provider answers 429; -1 for no bound")
	return cmd
}

// approval reads how the embedded daemon decides.
func approval(word string) (aipd.Approval, error) {
	switch word {
	case "never":
		return aipd.Approval{}, nil
	case "auto":
		return aipd.Approval{Decides: true, Grants: true}, nil
	case "deny":
		return aipd.Approval{Decides: true}, nil
	}
	after, err := time.ParseDuration(word)
	if err != nil || after < 0 {
		return aipd.Approval{}, fmt.Errorf("--approve %q: it is never, auto, deny or a time such as 5s", word)
	}
	return aipd.Approval{Decides: true, Grants: true, After: after}, nil
}

func (a *app) serve(ctx context.Context, listen string, opt aipd.Options) error {
	ln, err := net.Listen("tcp", listen)
	if err != nil {
		return usage(fmt.Errorf("listen at %s: %w", listen, err))
	}
	if tcp, ok := ln.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() && opt.Token == "" {
		ln.Close()
		return usage(fmt.Errorf("%s is not loopback: others could submit and read; give --token-file", listen))
	}
	d := a.startDaemon(ln, opt)
	fmt.Fprintf(a.err, "aipscope: serving at http://%s, %d recordings; ctrl+c stops it\n", ln.Addr(), len(opt.Recordings.Scenarios()))
	select {
	case <-ctx.Done():
		d.stop()
		return nil
	case err := <-d.failed:
		d.stop()
		return fmt.Errorf("serve: %w", err)
	}
}

// daemon is an embedded daemon that listens.
type daemon struct {
	url    string
	failed chan error
	stop   func()
}

func (a *app) startDaemon(ln net.Listener, opt aipd.Options) daemon {
	opt.Broke = a.broke
	handler := aipd.New(opt)
	srv := &http.Server{
		Handler: a.guardedHandler(handler), ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: log.New(io.Discard, "", 0), // it would write over the console
	}
	d := daemon{url: "http://" + ln.Addr().String(), failed: make(chan error, 1)}
	done := make(chan struct{})
	a.spawn(func() {
		defer close(done)
		if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			d.failed <- err
		}
	})
	d.stop = func() {
		handler.Close()
		srv.Close()
		<-done
	}
	return d
}

// demoScenario is what demo plays when nothing is named.
const demoScenario = "chat_tools"

func (a *app) demoCommand() *cobra.Command {
	var list bool
	var fault string
	var speed float64
	var opt watchOptions
	cmd := &cobra.Command{
		Use:   "demo [SCENARIO]",
		Short: "Watch a recorded turn: no daemon, no set-up",
		Long: `Start the embedded daemon on loopback, submit a recorded Hermes turn to it and watch
it. The journal is temporary, and in memory only.`,
		Example: `  aipscope demo
  aipscope demo session_stream_failing_after_text
  aipscope demo --list`,
		Args: maxOneArg("scenario"),
		RunE: func(cmd *cobra.Command, args []string) error {
			lib, err := replay.Open(a.recordings)
			if err != nil {
				return fmt.Errorf("recordings: %w", err)
			}
			if list {
				return a.listScenarios(lib)
			}
			if fault == "help" {
				return a.listFaults()
			}
			faults, err := parseFaults(fault)
			if err != nil {
				return err
			}
			if speed < 0 {
				return usage(errors.New("--speed is 0 (no waiting) or more"))
			}
			name := demoScenario
			if len(args) > 0 {
				name = args[0]
			}
			scenario, ok := lib.Scenario(name)
			if !ok {
				return usage(fmt.Errorf("%w: %q%s", replay.ErrUnknown, name, meant(name, names(lib)...)))
			}
			return a.demo(cmd.Context(), aipd.Options{Recordings: lib, Speed: speed, Faults: faults}, scenario, opt)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&list, "list", false, "list the scenarios")
	f.Float64Var(&speed, "speed", 1, "how many times the natural pace; 0 does not wait")
	faultFlag(cmd, &fault)
	opt.flags(cmd)
	return cmd
}

func faultFlag(cmd *cobra.Command, fault *string) {
	cmd.Flags().StringVar(fault, "fault", "", "misbehave: `names` with commas between them, NAME=VALUE where they take one; help lists them")
}

func parseFaults(names string) (aipd.Faults, error) {
	faults, err := aipd.ParseFaults(names)
	if err != nil {
		return faults, usage(errors.New(andThen(err.Error(), "--fault help lists them")))
	}
	return faults, nil
}

// faultLine and scenarioLine are rows of the lists as JSON.
type faultLine struct {
	Type  string `json:"type"`
	Name  string `json:"name"`
	Value string `json:"value"`
	About string `json:"about"`
}

type scenarioLine struct {
	Type      string           `json:"type"`
	Name      string           `json:"name"`
	Operation hermes.Operation `json:"operation"`
	Verdict   string           `json:"verdict"`
}

func (a *app) listFaults() error {
	if a.set.Output == "json" {
		for _, f := range aipd.AllFaults() {
			if err := writeJSON(a.out, faultLine{"fault", f.Name, f.Param, f.About}); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FAULT\tVALUE\tWHAT HAPPENS")
	for _, f := range aipd.AllFaults() {
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.Name, f.Param, f.About)
	}
	return w.Flush()
}

func (a *app) listScenarios(lib *replay.Library) error {
	verdicts := map[string]string{}
	for _, name := range []string{"hermes", "generations"} {
		table, err := fs.ReadFile(a.recordings, name+"/verdicts.tsv")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(table)) {
			if c := strings.Split(strings.TrimSpace(line), "\t"); len(c) > 5 {
				verdicts[strings.TrimSuffix(c[0], ".sse")] = c[5]
			}
		}
	}
	if a.set.Output == "json" {
		for _, s := range lib.Scenarios() {
			if err := writeJSON(a.out, scenarioLine{"scenario", s.Name, s.Operation, verdicts[s.Name]}); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SCENARIO\tOPERATION\tVERDICT")
	for _, s := range lib.Scenarios() {
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, s.Operation, verdicts[s.Name])
	}
	return w.Flush()
}

func names(lib *replay.Library) []string {
	var all []string
	for _, s := range lib.Scenarios() {
		all = append(all, s.Name)
	}
	return all
}

// demo runs a daemon of its own, with a journal and a token that nobody needs
// afterwards.
func (a *app) demo(ctx context.Context, opt aipd.Options, scenario replay.Scenario, watch watchOptions) error {
	opt.Token = rand.Text()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen on loopback: %w", err)
	}
	d := a.startDaemon(ln, opt)
	defer d.stop()
	j, err := store.OpenMemory(ctx) // nothing is left of it, however the demo ends
	if err != nil {
		return err
	}
	defer j.Close()
	c, err := client.New(client.Config{URL: d.url, Token: func() ([]byte, error) { return []byte(opt.Token), nil }, UserAgent: userAgent()})
	if err != nil {
		return err
	}
	defer c.Close()
	action, err := client.NewActionID()
	if err != nil {
		return err
	}
	input, err := demoInput(scenario)
	if err != nil {
		return err
	}
	at := &desk{app: a, client: c, journal: j, tag: j.Tag([]byte(opt.Token))}
	s := submission{mode: "streaming", watch: watch}
	req, err := a.checked(scenario.Operation.Capability("demo"), input, &s)
	if err != nil {
		return err
	}
	return at.submit(ctx, action, true, req, s)
}

// demoInput is a request that plays a recording, the longest of Chat whole.
func demoInput(s replay.Scenario) ([]byte, error) {
	fields := map[hermes.Operation]string{
		hermes.OpChatStream:        `"prompt":"Play a recorded turn.","session_id":"demo","max_events":100000`,
		hermes.OpResponsesStream:   `"input":"Play a recorded turn."`,
		hermes.OpSessionChatStream: `"session_id":"demo","message":"Play a recorded turn."`,
		hermes.OpRunEvents:         `"run_id":"demo"`,
	}[s.Operation]
	if fields == "" {
		return nil, fmt.Errorf("recording %s: nothing plays %s", s.Name, s.Operation)
	}
	return fmt.Appendf(nil, `{%s,"recording":%q}`, fields, s.Name), nil
}
