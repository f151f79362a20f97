package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aipscope/follow"
	"aipscope/follow/replay"
	"aipscope/model"
	"aipscope/model/hermes"
	"aipscope/model/mask"
	"aipscope/store"

	"github.com/spf13/cobra"
)

func (a *app) openCommand() *cobra.Command {
	var opt watchOptions
	cmd := &cobra.Command{
		Use:   "open FILE, - or ACTION",
		Short: "Open a journaled action, an export or a raw .sse capture, offline",
		Example: `  aipscope open act_0198b0d2c41e7f3a9d5e6b7c8d9e0f10
  aipscope open incident.jsonl
  aipscope open capture.sse --output json
  zcat capture.sse.gz | aipscope open -`,
		Args: maxOneArg("file or action"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if len(args) > 0 && !isAction(args[0]) {
				f, err := a.openFile(ctx, args[0])
				if err != nil {
					return err
				}
				f.options = opt
				_, err = f.show(ctx)
				return err
			}
			action, err := a.actionArg(args)
			if err != nil {
				return err
			}
			j, log, url, err := a.held(ctx, action)
			if err != nil {
				return err
			}
			f := &face{desk: &desk{app: a, journal: j}, action: action, at: url, log: log, batches: fromLog(opt.read(log)), options: opt}
			_, err = f.show(ctx)
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVar(&opt.reveal, "reveal", false, "json: print raw data, labels, arguments and results, too")
	return cmd
}

// isAction tells an action ID from a file's name: a file of that name wins.
func isAction(arg string) bool {
	if !strings.HasPrefix(arg, "act_") {
		return false
	}
	_, err := os.Stat(arg)
	return err != nil
}

// held is the journal of an action that some daemon ran, and that daemon's URL.
func (a *app) held(ctx context.Context, action string) (_ *store.Journal, _ *store.Log, url string, err error) {
	j, err := a.openJournal(ctx)
	if err != nil {
		return nil, nil, "", err
	}
	src, err := a.heldAt(ctx, j, action)
	if err != nil {
		return nil, nil, "", err
	}
	log, err := j.Log(ctx, src)
	if err != nil {
		return nil, nil, "", err
	}
	// It must not be forgotten while it is read.
	release, err := log.Hold()
	if err != nil {
		return nil, nil, "", err
	}
	a.closers = append(a.closers, func() error { release(); return nil })
	return j, log, src.URL, nil
}

// heldAt is the daemon of an action that the journal holds; --url chooses among
// several.
func (a *app) heldAt(ctx context.Context, j *store.Journal, action string) (follow.Source, error) {
	none := follow.Source{}
	sources, err := j.Find(ctx, action)
	if err != nil {
		return none, fmt.Errorf("read journal: %w", err)
	}
	var fitting []follow.Source
	for _, s := range sources {
		if a.set.URL == "" || s.URL == strings.TrimRight(a.set.URL, "/") {
			fitting = append(fitting, s)
		}
	}
	switch {
	case len(sources) == 0:
		return none, notHeld(ctx, j, action)
	case len(fitting) == 0:
		return none, fmt.Errorf("%s at %s: %w; it knows it at %s", action, a.set.URL, store.ErrNoAction, sources[0].URL)
	case len(fitting) > 1:
		return none, usage(fmt.Errorf("%s is known at %s and at %s; choose with --url", action, fitting[0].URL, fitting[1].URL))
	}
	return fitting[0], nil
}

// notHeld says why the journal has nothing of an action.
func notHeld(ctx context.Context, j *store.Journal, action string) error {
	at, ok, err := j.Forgotten(ctx, action)
	switch {
	case err != nil:
		return err
	case ok:
		return fmt.Errorf("%s was forgotten on %s: the journal keeps its ID alone", action, at.Local().Format(time.DateTime))
	}
	return fmt.Errorf("%s: %w", action, store.ErrNoAction)
}

// whole is a log that tells nothing in brief, for who prints the data of chunks.
type whole struct{ *store.Log }

func (w whole) Brief(ctx context.Context, after int64, limit int) ([]model.Row, error) {
	return w.Rows(ctx, after, limit)
}

// read is the log as the options need it.
func (o *watchOptions) read(log *store.Log) follow.Log {
	if o.reveal {
		return whole{log}
	}
	return log
}

// fromLog serves what a journal holds of an action, and is done.
func fromLog(log follow.Log) func(context.Context) (follow.Batch, error) {
	const page = 4096
	after := int64(0)
	return func(ctx context.Context) (follow.Batch, error) {
		rows, err := log.Brief(ctx, after, page)
		if err != nil {
			return follow.Batch{}, fmt.Errorf("read journal: %w", err)
		}
		if len(rows) > 0 {
			after = rows[len(rows)-1].Number
		}
		return follow.Batch{Rows: rows, History: true, Done: len(rows) < page}, nil
	}
}

// firstLine is more than the first line of an export has, in bytes.
const firstLine = 128 << 10

// openFile opens an export, or a provider's stream as it was captured. "-" is standard
// input.
func (a *app) openFile(ctx context.Context, path string) (*face, error) {
	f, size := a.in, int64(0)
	if path == "-" {
		path = "standard input"
	} else {
		named, err := os.Open(path)
		if err != nil {
			return nil, usage(err)
		}
		defer named.Close()
		if info, err := named.Stat(); err == nil {
			size = info.Size()
		}
		f = named
	}
	far := a.begin("reading " + path)
	defer far.end()
	// Its first line says what kind of file it is, and is read twice.
	in := bufio.NewReaderSize(far.through(ctx, f, size), firstLine)
	first, err := in.Peek(firstLine)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, a.unread(ctx, path, err)
	}
	var action string
	var rows []model.Row
	if _, _, err = store.Import(bytes.NewReader(first)); !errors.Is(err, store.ErrNotExport) {
		action, rows, err = readExport(in)
	} else {
		action = filepath.Base(path)
		rows, err = a.readCapture(in)
		if err == nil && len(rows) == 0 {
			err = errors.New("it is neither an export nor a provider's event stream")
		}
	}
	if err != nil {
		return nil, a.unread(ctx, path, err)
	}
	done := false
	return &face{
		desk: &desk{app: a}, action: action,
		batches: func(context.Context) (follow.Batch, error) {
			b := follow.Batch{History: true, Done: true}
			if !done {
				b.Rows, done = rows, true
			}
			return b, nil
		},
		row: func(_ context.Context, number int64) (model.Row, error) {
			if number < 1 || number > int64(len(rows)) {
				return model.Row{}, store.ErrNoRow
			}
			return rows[number-1], nil
		},
	}, nil
}

// unread is why a file was not read to its end.
func (a *app) unread(ctx context.Context, path string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return usage(fmt.Errorf("open %s: %w", path, err))
}

// readExport reads an export's rows, numbered as they stand.
func readExport(r io.Reader) (action string, rows []model.Row, err error) {
	head, all, err := store.Import(r)
	if err != nil {
		return "", nil, err
	}
	for row, err := range all {
		if err != nil {
			return "", nil, err
		}
		row.Number = int64(len(rows) + 1)
		rows = append(rows, row)
	}
	return head.Action, rows, nil
}

// readCapture makes chunks of a provider's stream. There is no result in it, so
// nothing settles it.
func (a *app) readCapture(r io.Reader) ([]model.Row, error) {
	var rows []model.Row
	for rec, err := range replay.Records(r, hermes.Limits{}) {
		if err != nil {
			return nil, err
		}
		chunk := hermes.ChunkOf("", uint64(len(rows)), rec)
		row, err := model.NewRow(model.RowChunk, a.now(), &chunk)
		if err != nil {
			return nil, err
		}
		row.Number = int64(len(rows) + 1)
		rows = append(rows, row)
	}
	return rows, nil
}

func (a *app) exportCommand() *cobra.Command {
	var reveal bool
	var file string
	cmd := &cobra.Command{
		Use:   "export ACTION",
		Short: "Write the journal of an action as JSON lines, masked",
		Long: `Write the journal of an action as JSON lines. Content is masked, the assistant's
text too, unless --reveal is given; a masked export opens to the same verdict,
tools and counts.`,
		Example: `  aipscope export act_0198b0d2c41e7f3a9d5e6b7c8d9e0f10 --file incident.jsonl`,
		Args:    maxOneArg("action"),
		RunE: func(cmd *cobra.Command, args []string) error {
			action, err := a.actionArg(args)
			if err != nil {
				return err
			}
			_, log, _, err := a.held(cmd.Context(), action)
			if err != nil {
				return err
			}
			if file == "" || file == "-" {
				far := a.beginBeside("exporting")
				defer far.end()
				return a.export(cmd.Context(), a.out, log, action, reveal, far)
			}
			far := a.begin("exporting")
			defer far.end()
			write := func(w io.Writer) error { return a.export(cmd.Context(), w, log, action, reveal, far) }
			if err := store.WritePrivate(file, write); err != nil {
				return fileError{err}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&reveal, "reveal", false, "leave content as it is")
	f.StringVar(&file, "file", "", "write to `file` (mode 0600) instead of standard output (-)")
	return cmd
}

func (a *app) export(ctx context.Context, w io.Writer, log *store.Log, action string, reveal bool, far *progress) error {
	held, err := log.Action(ctx)
	if err != nil {
		return fmt.Errorf("read journal: %w", err)
	}
	all := func(doing string) iter.Seq2[model.Row, error] {
		far.now(doing)
		return func(yield func(model.Row, error) bool) {
			n := int64(0)
			for row, err := range log.All(ctx) {
				n++
				far.at(n, held.Revision, "rows")
				if !yield(row, err) {
					return
				}
			}
		}
	}
	head := store.Header{Action: action, URL: held.URL, Made: a.now().UTC(), Masked: !reveal}
	if reveal {
		return store.Export(w, head, all("exporting"), nil)
	}
	m := mask.New(action)
	for row, err := range all("learning what to mask") {
		if err != nil {
			return fmt.Errorf("read journal: %w", err)
		}
		m.Learn(row)
	}
	return store.Export(w, head, all("exporting"), m.Row)
}
