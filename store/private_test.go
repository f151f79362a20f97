package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestWritePrivateWritesAWholePrivateFileOrNothing(t *testing.T) {
	old := syscall.Umask(0)
	t.Cleanup(func() { syscall.Umask(old) })
	dir := t.TempDir()
	path := filepath.Join(dir, "export.jsonl")
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := fmt.Fprint(w, s)
			return err
		}
	}
	want := func(content string) {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil || string(b) != content || mode(t, path) != 0o600 {
			t.Errorf("the file is %04o %q, %v", mode(t, path), b, err)
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 1 {
			t.Errorf("the directory holds %v", entries)
		}
	}
	if err := WritePrivate(path, text("one")); err != nil {
		t.Fatal(err)
	}
	want("one")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WritePrivate(path, text("two")); err != nil {
		t.Fatal(err)
	}
	want("two")
	failed := errors.New("half way")
	if err := WritePrivate(path, func(w io.Writer) error {
		fmt.Fprint(w, "thr")
		return failed
	}); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
	want("two")
}

func TestWritePrivateFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.WriteFile(target, []byte("theirs"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("target", link); err != nil {
		t.Fatal(err)
	}
	none := func(io.Writer) error { t.Error("something was written"); return nil }
	for _, path := range []string{link, dir} {
		if err := WritePrivate(path, none); !errors.Is(err, ErrUnsafe) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := WritePrivate(filepath.Join(dir, "nowhere", "x"), none); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if b, err := os.ReadFile(target); err != nil || string(b) != "theirs" {
		t.Errorf("the target is %q, %v", b, err)
	}
}

func TestAppendPrivateClosesTheFileToOthers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	for range 2 {
		f, err := AppendPrivate(path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(f, "a line")
		f.Close()
		if m := mode(t, path); m != 0o600 {
			t.Errorf("mode %04o", m)
		}
		if err := os.Chmod(path, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(path); string(b) != "a line\na line\n" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

func TestAppendPrivateRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "elsewhere"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("elsewhere", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "pipe", "."} {
		f, err := AppendPrivate(filepath.Join(dir, name))
		if !errors.Is(err, ErrUnsafe) || f != nil {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	if m := mode(t, filepath.Join(dir, "elsewhere")); m != 0o644 {
		t.Errorf("what the link leads to is %04o", m)
	}
}
