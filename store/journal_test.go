package store

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"aipscope/follow"
	"aipscope/model"
)

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestOpenMakesAPrivateJournal(t *testing.T) {
	old := syscall.Umask(0)
	t.Cleanup(func() { syscall.Umask(old) })
	dir := filepath.Join(t.TempDir(), "deep", "a?b#c%20d é")
	j := openDisk(t, dir)
	commit(t, openLog(t, j, testSource("act_a")), 0, "", parseRow(t, `status {"state":"running"}`))
	if j.Path() != filepath.Join(dir, FileName) {
		t.Errorf("path %s", j.Path())
	}
	if m := mode(t, dir); m != 0o700 {
		t.Errorf("the directory is %04o", m)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		if want := map[bool]fs.FileMode{false: 0o600, true: 0o700}[e.IsDir()]; mode(t, filepath.Join(dir, e.Name())) != want {
			m := mode(t, filepath.Join(dir, e.Name()))
			t.Errorf("%s is %04o", e.Name(), m)
		}
	}
	if want := []string{"journal.db", "journal.db-shm", "journal.db-wal", "open"}; !slices.Equal(names, want) {
		t.Errorf("files %q, want %q", names, want)
	}
}

func TestOpenClosesAJournalThatOthersCouldRead(t *testing.T) {
	dir := privateDir(t)
	j := openDisk(t, dir) // stays open, so that -wal and -shm are there
	commit(t, openLog(t, j, testSource("act_a")), 0, "", parseRow(t, `status {"state":"running"}`))
	names := []string{dir, filepath.Join(dir, "journal.db"), filepath.Join(dir, "journal.db-wal"), filepath.Join(dir, "journal.db-shm"), filepath.Join(dir, "open")}
	for _, name := range names {
		if err := os.Chmod(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	again := openDisk(t, dir)
	for _, name := range names {
		if m := mode(t, name); m&0o077 != 0 {
			t.Errorf("%s is %04o", name, m)
		}
	}
	if rows := allRows(t, openLog(t, again, testSource("act_a"))); len(rows) != 1 {
		t.Errorf("%d rows", len(rows))
	}

	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	openDisk(t, empty)
	if m := mode(t, empty); m != 0o700 {
		t.Errorf("an empty directory became %04o", m)
	}
}

func TestOpenRefusesWhatIsNoPlaceForAJournal(t *testing.T) {
	write := func(t *testing.T, path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	makeJournal := func(t *testing.T, dir string) {
		t.Helper()
		j, err := Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	exec := func(t *testing.T, path, query string) {
		t.Helper()
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name string
		// place prepares dir, which is there, and returns what to open.
		place func(t *testing.T, dir string) string
		want  error
		says  string
	}{
		{"a file for a directory", func(t *testing.T, dir string) string {
			write(t, dir+"/x", "")
			return dir + "/x"
		}, ErrNotDirectory, "not a directory"},
		{"a file above the directory", func(t *testing.T, dir string) string {
			write(t, dir+"/x", "")
			return dir + "/x/y/z"
		}, ErrNotDirectory, "not a directory"},
		{"a directory of other things, open to others", func(t *testing.T, dir string) string {
			write(t, dir+"/notes", "mine")
			return dir
		}, ErrUnsafe, "chmod 700"},
		{"a directory that everyone writes to", func(t *testing.T, dir string) string {
			if err := os.Chmod(dir, 0o777|fs.ModeSticky); err != nil {
				t.Fatal(err)
			}
			return dir
		}, ErrUnsafe, "others may enter"},
		{"a link for a journal", func(t *testing.T, dir string) string {
			write(t, dir+"/elsewhere", "")
			if err := os.Symlink("elsewhere", dir+"/journal.db"); err != nil {
				t.Fatal(err)
			}
			return dir
		}, ErrUnsafe, "not a regular file"},
		{"a link for the write-ahead log", func(t *testing.T, dir string) string {
			makeJournal(t, dir)
			if err := os.Symlink("elsewhere", dir+"/journal.db-wal"); err != nil {
				t.Fatal(err)
			}
			return dir
		}, ErrUnsafe, "journal.db-wal"},
		{"a directory for a journal", func(t *testing.T, dir string) string {
			if err := os.Mkdir(dir+"/journal.db", 0o700); err != nil {
				t.Fatal(err)
			}
			return dir
		}, ErrUnsafe, "not a regular file"},
		{"a file that is no database", func(t *testing.T, dir string) string {
			write(t, dir+"/journal.db", strings.Repeat("this is no database. ", 500))
			return dir
		}, ErrNotJournal, "journal.db"},
		{"another program's database", func(t *testing.T, dir string) string {
			exec(t, dir+"/journal.db", `CREATE TABLE theirs (a)`)
			return dir
		}, ErrNotJournal, "another program"},
		{"another program's marked database", func(t *testing.T, dir string) string {
			exec(t, dir+"/journal.db", `PRAGMA application_id = 7; CREATE TABLE theirs (a)`)
			return dir
		}, ErrNotJournal, "another program"},
		{"a newer journal", func(t *testing.T, dir string) string {
			makeJournal(t, dir)
			exec(t, dir+"/journal.db", `PRAGMA user_version = 99`)
			return dir
		}, ErrNewer, "version 99"},
		{"a damaged journal", func(t *testing.T, dir string) string {
			makeJournal(t, dir)
			b, err := os.ReadFile(dir + "/journal.db")
			if err != nil {
				t.Fatal(err)
			}
			for i := range b[100:] { // the header stays
				b[100+i] = 0xff
			}
			write(t, dir+"/journal.db", string(b))
			return dir
		}, ErrDamaged, "damaged"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := tt.place(t, t.TempDir())
			before, _ := os.ReadFile(filepath.Join(dir, FileName))
			j, err := Open(t.Context(), dir)
			if err == nil {
				j.Close()
				t.Fatal("it was opened")
			}
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), dir) {
				t.Errorf("%v", err)
			}
			if after, _ := os.ReadFile(filepath.Join(dir, FileName)); string(after) != string(before) {
				t.Error("the file was changed")
			}
		})
	}
}

// Who runs the tests decides which refusal can be seen: root may enter
// everything, and nobody else may give a file away.
func TestOpenRefusesWhatIsAnotherUsers(t *testing.T) {
	parent := t.TempDir()
	if os.Geteuid() != 0 {
		if err := os.Chmod(parent, 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(parent, 0o700) })
		if _, err := Open(t.Context(), filepath.Join(parent, "j")); !errors.Is(err, ErrPermission) {
			t.Errorf("%v", err)
		}
		return
	}
	dir := filepath.Join(parent, "j")
	openDisk(t, dir)
	for _, name := range []string{filepath.Join(dir, FileName), dir} {
		if err := os.Chown(name, 1, 1); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), dir); !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), "another user") {
			t.Errorf("%v", err)
		}
		if err := os.Chown(name, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenMigratesAnOlderJournalAndRefusesANewerOne(t *testing.T) {
	dir := privateDir(t)
	j, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	chunk := parseRow(t, `chunk {"sequence":0,"kind":"data"}`)
	commit(t, openLog(t, j, testSource("act_a")), 0, "c", chunk)
	tag := j.Tag([]byte("token"))
	j.Close()

	released := migrations
	t.Cleanup(func() { migrations = released })
	migrations = append(slices.Clone(released), `ALTER TABLE actions ADD COLUMN note TEXT; CREATE TABLE notes (n)`)
	j, err = Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, allRows(t, openLog(t, j, testSource("act_a"))), chunk)
	if j.Tag([]byte("token")) != tag {
		t.Error("the tag key changed")
	}
	if _, err := j.db.ExecContext(t.Context(), `INSERT INTO notes SELECT note FROM actions`); err != nil {
		t.Error(err)
	}
	j.Close()

	migrations = append(slices.Clone(migrations), `CREATE TABLE broken (`)
	if j, err := Open(t.Context(), dir); err == nil {
		j.Close()
		t.Error("a migration that fails was taken")
	}
	migrations = released
	if _, err := Open(t.Context(), dir); !errors.Is(err, ErrNewer) {
		t.Errorf("%v", err)
	}
}

func TestOpenByManyAtOnceMakesOneJournal(t *testing.T) {
	dir := privateDir(t)
	const consoles = 8
	tags := make(chan string, consoles)
	var group sync.WaitGroup
	for range consoles {
		group.Go(func() {
			j, err := Open(t.Context(), dir)
			if err != nil {
				t.Error(err)
				return
			}
			defer j.Close()
			tags <- j.Tag([]byte("token"))
		})
	}
	group.Wait()
	close(tags)
	first := <-tags
	for tag := range tags {
		if tag != first {
			t.Error("two consoles have different keys")
		}
	}
}

func TestTagNamesACredentialWithoutGivingItAway(t *testing.T) {
	a, b := openMemory(t), openMemory(t)
	secret := []byte("a secret token")
	switch tag := a.Tag(secret); {
	case tag == "" || tag != a.Tag([]byte("a secret token")):
		t.Errorf("tag %q is not stable", tag)
	case strings.Contains(tag, string(secret)):
		t.Error("the tag holds the credential")
	case tag == a.Tag([]byte("another token")):
		t.Error("two credentials have one tag")
	case tag == b.Tag(secret):
		t.Error("two journals have one key")
	}
	if tag := a.Tag(nil); tag != "" {
		t.Errorf("no credential has tag %q", tag)
	}
}

func TestAMemoryJournalIsItsOwnAndNowhereElse(t *testing.T) {
	t.Chdir(t.TempDir())
	a, b := openMemory(t), openMemory(t)
	commit(t, openLog(t, a, testSource("act_a")), 0, "", parseRow(t, `status {"state":"running"}`))
	if rows := allRows(t, openLog(t, b, testSource("act_a"))); len(rows) != 0 || a.Path() != "" {
		t.Errorf("%d rows in another journal, path %q", len(rows), a.Path())
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 0 {
		t.Errorf("files %v, %v", entries, err)
	}
	// Readers and writers of its one connection take turns.
	var group sync.WaitGroup
	for n := range 4 {
		l := openLog(t, a, testSource("act_b"))
		group.Go(func() {
			for i := range 20 {
				r, _ := plainChunk(20*n + i)
				if _, err := l.Commit(t.Context(), 0, []model.Row{r}, "c"); err != nil {
					t.Error(err)
				}
				if _, err := l.Rows(t.Context(), 0, 100); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if rows := allRows(t, openLog(t, a, testSource("act_b"))); len(rows) != 80 {
		t.Errorf("%d rows of 80", len(rows))
	}
}

func TestActionsListsWhatRowsSay(t *testing.T) {
	j := openMemory(t)
	at := noon
	add := func(src follow.Source, s string) {
		r := parseRow(t, s)
		at = at.Add(1)
		r.At = at
		commit(t, openLog(t, j, src), 0, "", r)
	}
	chat, responses, other := testSource("act_chat"), testSource("act_responses"), testSource("act_chat")
	other.URL = "https://other.example"
	add(chat, `request {"capability":"cap:hermes_agent:lab:chat_stream","mode":"streaming","idempotency_key":"k1","aip_session":"sess","tenant":"t","principal":"p",
		"input":{"messages":[],"session_id":"s1","session_key":"sk","conversation":null}}`)
	add(responses, `request {"capability":"cap:hermes_agent:lab:responses_stream","input":{"body":{"input":"x","previous_response_id":"resp_1","conversation":{"id": "conv_1"}},"session_key":"sk2"}}`)
	add(other, `request {"capability":"cap:x","input":"a text","idempotency_key":""}`)
	add(other, `status {"state":"failed","capability_id":"cap:y"}`)
	add(chat, `chunk {"sequence":0,"kind":"data"}`)
	add(chat, `chunk {"sequence":1,"kind":"data"}`)
	add(chat, `chunk {"sequence":1,"kind":"done"}`)
	add(chat, `result {"status":"completed"}`)

	got, err := j.Actions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []Action{
		{URL: chat.URL, ID: "act_chat", Capability: "cap:hermes_agent:lab:chat_stream", State: "completed", Chunks: 2, First: noon.Add(1), Last: at, Revision: 5,
			Submitted: true, Mode: "streaming", IdempotencyKey: "k1", AIPSession: "sess", Tenant: "t", Principal: "p",
			Continuity: model.Continuity{SessionID: "s1", SessionKey: "sk"}},
		{URL: other.URL, ID: "act_chat", Capability: "cap:y", State: "failed", First: noon.Add(3), Last: noon.Add(4), Revision: 2, Submitted: true},
		{URL: chat.URL, ID: "act_responses", Capability: "cap:hermes_agent:lab:responses_stream", First: noon.Add(2), Last: noon.Add(2), Revision: 1, Submitted: true,
			Continuity: model.Continuity{SessionKey: "sk2", PreviousResponseID: "resp_1", Conversation: `{"id":"conv_1"}`}},
	}
	if !slices.Equal(got, want) {
		t.Errorf("actions\n%+v\nwant\n%+v", got, want)
	}

	found, err := j.Find(t.Context(), "act_chat")
	if wantFound := []follow.Source{{URL: chat.URL, Action: "act_chat"}, {URL: other.URL, Action: "act_chat"}}; err != nil || !slices.Equal(found, wantFound) {
		t.Errorf("found %+v, %v", found, err)
	}
	if found, err := j.Find(t.Context(), "act_nobody"); len(found) != 0 || err != nil {
		t.Errorf("found %+v, %v", found, err)
	}
	if _, err := openLog(t, j, testSource("act_nobody")).Action(t.Context()); !errors.Is(err, ErrNoAction) {
		t.Errorf("%v", err)
	}
}

func TestSetVerdictKeepsTheNewest(t *testing.T) {
	l := openLog(t, openMemory(t), testSource("act_a"))
	commit(t, l, 0, "", parseRow(t, `status {"state":"running"}`))
	for _, step := range []struct {
		word     model.Word
		revision int64
		rules    int
		kept     model.Word
	}{
		{model.Pending, 3, 1, model.Pending},
		{model.Accepted, 9, 1, model.Accepted},
		{model.Pending, 4, 1, model.Accepted},
		{model.Partial, 9, 1, model.Partial},
		{model.Contradicted, 5, 2, model.Contradicted},
		{model.Accepted, 20, 1, model.Contradicted},
	} {
		if err := l.SetVerdict(t.Context(), step.word, step.revision, step.rules); err != nil {
			t.Fatal(err)
		}
		a, err := l.Action(t.Context())
		if err != nil || a.Verdict != step.kept {
			t.Errorf("after %+v: %q, %v", step, a.Verdict, err)
		}
		if a.Verdict == step.word && (a.VerdictRevision != step.revision || a.VerdictRules != step.rules) {
			t.Errorf("after %+v: %+v", step, a)
		}
	}
}

func TestOpenTakesAnOlderJournalOn(t *testing.T) {
	dir := privateDir(t)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(migrations[0] + fmt.Sprintf(`; PRAGMA application_id = %d; PRAGMA user_version = 1; INSERT INTO secret VALUES (1, x'00')`, applicationID))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	j := openDisk(t, dir)
	l := openLog(t, j, testSource("act_a"))
	commit(t, l, -1, "", parseRow(t, `status {"state":"running"}`))
	if err := j.Forget(t.Context(), l.src, noon); err != nil {
		t.Fatal(err)
	}
	if h, err := j.Check(t.Context()); err != nil || h.Schema != len(migrations) || h.Forgotten != 1 {
		t.Errorf("%+v, %v", h, err)
	}
}
