package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aipscope/follow/act"
	"aipscope/follow/client"
	"aipscope/model"
	"aipscope/store"
	"aipscope/themes"

	"github.com/spf13/cobra"
)

func (a *app) doctorCommand() *cobra.Command {
	return unprepared(&cobra.Command{
		Use:   "doctor",
		Short: "Look at settings, daemon, journal and terminal, and say what to do",
		Long: `Look at all that a watch needs: the config file, the token file, the daemon with its
certificate and clock, what the token may do, what is offered, the journal, and the
terminal. Nothing is changed: a cancel is tried on an action ID that nobody has.

Exit code 1 when something fails without which nothing can be watched.`,
		Example: `  aipscope doctor
  aipscope doctor --output json | jq -r 'select(.state == "failed").advice'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := &doctor{app: a}
			if err := d.examine(cmd.Context()); err != nil {
				return err
			}
			return d.print()
		},
	})
}

// How a check went. Only a failed one keeps a watch from working.
const (
	checkOK      = "ok"
	checkWarning = "warning"
	checkFailed  = "failed"
	checkSkipped = "skipped"
)

// checkLine is one check. Advice is what to do, null where there is nothing.
type checkLine struct {
	Type   string  `json:"type"`
	Name   string  `json:"name"`
	State  string  `json:"state"`
	Detail string  `json:"detail"`
	Advice *string `json:"advice"`
}

// doctorLine ends the checks.
type doctorLine struct {
	Type     string `json:"type"`
	Watching bool   `json:"watching"` // it can work
	Failed   int    `json:"failed"`
	Warnings int    `json:"warnings"`
}

// checkTime is how long a daemon may take for each question.
const checkTime = 10 * time.Second

// doctor looks at everything, one after the other, and keeps what it finds.
type doctor struct {
	*app
	found []checkLine
}

func (d *doctor) say(name, state, detail, advice string) {
	d.found = append(d.found, checkLine{"check", name, state, oneLine(detail), orNull(oneLine(advice))})
}

// fault says what an error is, in the words that every command has for it.
func (d *doctor) fault(name, state string, err error) {
	what, do := explained(err)
	if errors.Is(err, context.DeadlineExceeded) {
		what, do = fmt.Sprintf("no answer within %s", checkTime), "try again, or look at the network between here and the daemon"
	}
	d.say(name, state, what, do)
}

func (d *doctor) examine(ctx context.Context) error {
	far := d.begin("looking at the settings")
	defer far.end()
	d.settings()
	far.now("asking the daemon")
	token := d.token()
	d.daemon(ctx, token)
	far.now("looking at the journal")
	d.journal(ctx, far)
	d.terminal()
	return ctx.Err()
}

// settings reads them, and goes on without the config file where that cannot be
// used.
func (d *doctor) settings() {
	set, err := d.loadSettings()
	d.set = set
	if d.set.Output == "" {
		d.set.Output = "text"
	}
	file, _ := d.configPath()
	switch _, statErr := os.Stat(file); {
	case err != nil:
		d.say("config", checkFailed, err.Error(), "mend it, or name another file with --config; aipscope config init --config FILE writes one to begin with")
	case statErr != nil:
		d.say("config", checkOK, "no config file at "+file, "")
	default:
		n := 0
		for _, from := range set.from {
			if from == "config file" {
				n++
			}
		}
		d.say("config", checkOK, fmt.Sprintf("%s, %d set", file, n+len(set.keys)), "")
	}
	if err := d.openLog(); err != nil {
		d.fault("log", checkFailed, err)
	}
}

// token looks at the token's file, and says whether it can be used.
func (d *doctor) token() bool {
	if d.set.TokenFile == "" {
		d.say("token", checkWarning, "no token file is named: the daemon is asked without credentials", "put it alone into a file of mode 0600, named by --token-file or AIP_TOKEN_FILE")
		return true
	}
	_, err := client.ReadTokenFile(d.set.TokenFile)
	var bad *client.TokenError
	if errors.As(err, &bad) {
		what, do, _ := strings.Cut(bad.Why, "; ")
		if do == "" {
			do = "put it alone into a file of mode 0600, named by --token-file or AIP_TOKEN_FILE"
		}
		d.say("token", checkFailed, d.set.TokenFile+": "+what, do)
		return false
	}
	detail := d.set.TokenFile
	if info, err := os.Stat(d.set.TokenFile); err == nil {
		detail += fmt.Sprintf(", mode %04o", info.Mode().Perm())
	}
	d.say("token", checkOK, detail, "")
	return true
}

// daemon asks the daemon: whether it is there, what the token may do, what it
// offers.
func (d *doctor) daemon(ctx context.Context, token bool) {
	skipped := func(why string, names ...string) {
		for _, name := range names {
			d.say(name, checkSkipped, why, "")
		}
	}
	rest := []string{"tls", "clock", "read", "cancel", "capabilities"}
	if d.set.URL == "" {
		d.say("daemon", checkFailed, "no daemon is named", "give --url, or set AIP_URL; aipscope demo needs none")
		skipped("no daemon", rest...)
		return
	}
	if !token {
		d.say("daemon", checkSkipped, d.set.URL+" is not asked without its token", "")
		skipped("no token", rest...)
		return
	}
	c, _, err := d.connect()
	if err != nil {
		d.say("daemon", checkFailed, err.Error(), "check --url and --ca-file")
		skipped("no daemon", rest...)
		return
	}
	var h client.Health
	begun := d.now()
	if err := d.ask(ctx, func(ctx context.Context) (err error) { h, err = c.Health(ctx); return err }); err != nil {
		d.fault("daemon", checkFailed, err)
		skipped("no answer", rest...)
		return
	}
	took := d.now().Sub(begun)
	detail := fmt.Sprintf("%s answers in %d ms", c.URL(), took.Milliseconds())
	if h.Protocol != "" {
		detail += fmt.Sprintf(" (%s, %s %s)", h.Service, h.Protocol, h.Version)
	}
	if h.Status != "ok" {
		d.say("daemon", checkWarning, detail+", and says that it is "+h.Status, "ask its owner whether it is ready")
	} else {
		d.say("daemon", checkOK, detail, "")
	}
	d.tls(h)
	d.clock(h, begun.Add(took/2))
	d.mayRead(ctx, c)
	d.mayCancel(ctx, c)
	d.offers(ctx, c)
}

func (d *doctor) ask(ctx context.Context, question func(context.Context) error) error {
	ctx, stop := context.WithTimeout(ctx, checkTime)
	defer stop()
	return question(ctx)
}

// renewal is how long before its end a certificate is worth a warning.
const renewal = 14 * 24 * time.Hour

func (d *doctor) tls(h client.Health) {
	switch {
	case h.TLS != nil && len(h.TLS.PeerCertificates) > 0:
		end := h.TLS.PeerCertificates[0].NotAfter
		left := end.Sub(d.now())
		detail := fmt.Sprintf("%s, certificate good until %s", tls.VersionName(h.TLS.Version), end.UTC().Format(time.DateOnly))
		if left < renewal {
			d.say("tls", checkWarning, detail, "its owner should renew it")
			return
		}
		d.say("tls", checkOK, detail, "")
	case d.set.InsecureHTTP && d.set.TokenFile != "":
		d.say("tls", checkWarning, "plain HTTP, which --insecure-http allows: others may read the token", "use https where there is any network between")
	default:
		d.say("tls", checkOK, "plain HTTP, and no token leaves this machine", "")
	}
}

// The daemon refuses what is sent too far from its own time (wire/aip.md 2.4). An HTTP
// date has seconds only.
const (
	clockFine   = 5 * time.Second
	clockAhead  = 30 * time.Second
	clockBehind = 300 * time.Second
)

func (d *doctor) clock(h client.Health, at time.Time) {
	if h.Date.IsZero() {
		d.say("clock", checkSkipped, "the daemon does not say its time", "")
		return
	}
	ahead := at.Sub(h.Date.Add(500 * time.Millisecond)).Round(time.Second)
	side := "ahead of"
	if ahead < 0 {
		side = "behind"
	}
	detail := fmt.Sprintf("%s %s the daemon's", ahead.Abs(), side)
	switch {
	case ahead.Abs() <= clockFine:
		d.say("clock", checkOK, "as the daemon's", "")
	case ahead < clockAhead && ahead > -clockBehind:
		d.say("clock", checkOK, detail, "")
	default:
		d.say("clock", checkWarning, detail+": it refuses what is submitted", "set this machine's clock, or have the daemon's set")
	}
}

// mayRead asks for what a watch reads. A daemon may have no list; an action that nobody
// has needs the same scope.
func (d *doctor) mayRead(ctx context.Context, c *client.Client) {
	total := 0
	err := d.ask(ctx, func(ctx context.Context) error {
		l, err := c.Actions(ctx, client.Filter{Limit: 1})
		total = max(l.Total, len(l.Actions))
		return err
	})
	if err == nil {
		d.say("read", checkOK, fmt.Sprintf("the token may read actions (%d there)", total), "")
		return
	}
	if kind := client.KindOf(err); kind == client.NotFound || kind == client.Unexpected || kind == client.BadRequest {
		id, idErr := client.NewActionID()
		if idErr == nil && d.ask(ctx, func(ctx context.Context) error { _, _, err := c.Status(ctx, id); return err }) == nil {
			d.say("read", checkOK, "the token may read actions; the daemon lists none", "")
			return
		}
	}
	d.fault("read", checkFailed, err)
}

// mayCancel asks to cancel an action that nobody has. The daemon looks at who asks
// before it looks for the action, and at the scope only behind that (wire/aip.md 9).
func (d *doctor) mayCancel(ctx context.Context, c *client.Client) {
	id, err := client.NewActionID()
	if err == nil {
		err = d.ask(ctx, func(ctx context.Context) error {
			_, err := c.Cancel(ctx, id, "aipscope doctor asks whether a cancel would be heard")
			return err
		})
	}
	switch {
	case err == nil, client.KindOf(err) == client.NotFound && isRefusal(err):
		d.say("cancel", checkOK, "cancels are heard; only cancelling a real action shows whether the token has the scope action:write", "")
	default:
		d.fault("cancel", checkWarning, err)
	}
}

func isRefusal(err error) bool {
	var refused *client.Error
	return errors.As(err, &refused)
}

func (d *doctor) offers(ctx context.Context, c *client.Client) {
	var offers []act.Offer
	if err := d.ask(ctx, func(ctx context.Context) (err error) { offers, err = act.Offers(ctx, c); return err }); err != nil {
		d.fault("capabilities", checkWarning, err)
		return
	}
	var hermes []string
	for _, endpoint := range act.Endpoints(offers) {
		n := 0
		for _, o := range offers {
			if o.Endpoint == endpoint {
				n++
			}
		}
		hermes = append(hermes, fmt.Sprintf("%d of Hermes at %s", n, endpoint))
	}
	detail := fmt.Sprintf("%d offered", len(offers))
	if len(hermes) == 0 {
		d.say("capabilities", checkWarning, detail+", none of Hermes", "actions can be watched; to submit, the daemon's owner must admit a Hermes endpoint")
		return
	}
	d.say("capabilities", checkOK, detail+": "+strings.Join(hermes, ", "), "")
}

func (d *doctor) journal(ctx context.Context, far *progress) {
	if d.set.Ephemeral {
		d.say("journal", checkOK, "in memory only (--ephemeral)", "")
		return
	}
	j, err := d.existingJournal(ctx)
	if errors.Is(err, errNoJournal) {
		d.newJournal()
		return
	}
	if err != nil {
		d.fault("journal", checkFailed, err)
		return
	}
	far.store(j)
	h, err := j.Check(ctx)
	detail := fmt.Sprintf("%s, %.1f MB, %s, %s", h.Path, float64(h.Bytes)/1e6, model.Count(h.Actions, "action", "actions"), model.Count(h.Chunks, "chunk", "chunks"))
	switch {
	case err != nil:
		d.fault("journal", checkFailed, err)
	case len(h.Faults) > 0:
		what, do := explained(store.ErrDamaged)
		d.say("journal", checkFailed, fmt.Sprintf("%s: %s: %s", h.Path, what, h.Faults[0]), do)
	case h.Unwiped:
		d.say("journal", checkWarning, detail+"; bytes of what was removed may still be in its files", "aipscope journal prune finishes it")
	default:
		d.say("journal", checkOK, detail+", sound", "")
	}
}

// newJournal looks whether a journal can be made, and makes none.
func (d *doctor) newJournal() {
	at := d.set.Journal
	for {
		info, err := os.Stat(at)
		if err == nil && !info.IsDir() {
			err = store.ErrNotDirectory
		}
		if err == nil {
			break
		}
		up := filepath.Dir(at)
		if !errors.Is(err, fs.ErrNotExist) || up == at {
			d.fault("journal", checkFailed, fmt.Errorf("journal directory %s: %w", at, err))
			return
		}
		at = up
	}
	probe, err := os.MkdirTemp(at, ".aipscope-doctor-*")
	if err != nil {
		d.say("journal", checkFailed, fmt.Sprintf("nothing can be written in %s", at), "choose another place with --journal, or run with --ephemeral")
		return
	}
	_ = os.Remove(probe) // it is empty
	d.say("journal", checkOK, d.set.Journal+" is made by the first watch", "")
}

// print says what was found, and sets the exit code.
func (d *doctor) print() error {
	sum := doctorLine{Type: "doctor", Watching: true}
	for _, c := range d.found {
		switch c.State {
		case checkFailed:
			sum.Failed++
			sum.Watching = false
		case checkWarning:
			sum.Warnings++
		}
	}
	if !sum.Watching {
		d.code = exitFailed
	}
	if d.set.Output == "json" {
		for _, c := range d.found {
			if err := writeJSON(d.out, c); err != nil {
				return err
			}
		}
		return writeJSON(d.out, sum)
	}
	return d.printText(sum)
}

func (d *doctor) printText(sum doctorLine) error {
	glyphs := themes.Unicode()
	if !unicodeLocale(d.getenv) {
		glyphs = themes.ASCII()
	}
	marks := map[string]string{
		checkOK: glyphs.Marks[model.Pass], checkWarning: glyphs.Marks[model.Unknown], checkFailed: glyphs.Marks[model.Fail], checkSkipped: glyphs.Marks[model.NotApplicable],
	}
	width := 0
	for _, c := range d.found {
		width = max(width, len(c.Name))
	}
	var b strings.Builder
	for _, c := range d.found {
		fmt.Fprintf(&b, "%s %-7s  %-*s  %s\n", marks[c.State], c.State, width, c.Name, c.Detail)
		if c.Advice != nil {
			fmt.Fprintf(&b, "%*s  do: %s\n", width+11, "", *c.Advice)
		}
	}
	failed := []string{}
	for _, c := range d.found {
		if c.State == checkFailed {
			failed = append(failed, c.Name)
		}
	}
	slices.Sort(failed)
	switch {
	case len(failed) > 0:
		fmt.Fprintf(&b, "\nnothing can be watched until this is mended: %s\n", strings.Join(slices.Compact(failed), ", "))
	case sum.Warnings == 1:
		b.WriteString("\nwatching works, with one warning\n")
	case sum.Warnings > 1:
		fmt.Fprintf(&b, "\nwatching works, with %d warnings\n", sum.Warnings)
	default:
		b.WriteString("\nwatching works\n")
	}
	_, err := d.out.Write([]byte(b.String()))
	return err
}
