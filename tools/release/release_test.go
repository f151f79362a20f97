package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// example is an archive of two files that lie in a new folder, written now.
func example(t *testing.T, mode fs.FileMode) archive {
	t.Helper()
	dir := t.TempDir()
	a := archive{base: "aipscope_1.0.0_linux_amd64", time: time.Unix(1_760_000_000, 0).UTC()}
	for _, f := range []packed{{name: "aipscope", mode: 0o755}, {name: "docs/watching.md", mode: 0o644}} {
		f.path = filepath.Join(dir, filepath.Base(f.name))
		if err := os.WriteFile(f.path, []byte("the text of "+f.name), mode); err != nil {
			t.Fatal(err)
		}
		a.files = append(a.files, f)
	}
	return a
}

func TestArchivesAreTheSameBytesWheneverTheyArePacked(t *testing.T) {
	for name, pack := range map[string]func(archive, io.Writer) error{"tar.gz": archive.tarGz, "zip": archive.zip} {
		var first, second bytes.Buffer
		if err := pack(example(t, 0o600), &first); err != nil {
			t.Fatal(err)
		}
		later := example(t, 0o644)
		for _, f := range later.files {
			if err := os.Chtimes(f.path, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		}
		if err := pack(later, &second); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: two packings of the same files differ", name)
		}
	}
}

// entry is a file as it stands in an archive.
type entry struct {
	name, text string
	mode       fs.FileMode
	time       int64
}

func TestArchivesHoldTheProgramAndWhatBelongsToIt(t *testing.T) {
	a := example(t, 0o600)
	want := []entry{
		{a.base + "/aipscope", "the text of aipscope", 0o755, a.time.Unix()},
		{a.base + "/docs/watching.md", "the text of docs/watching.md", 0o644, a.time.Unix()},
	}
	var packed bytes.Buffer
	if err := a.tarGz(&packed); err != nil {
		t.Fatal(err)
	}
	gz, err := gzip.NewReader(&packed)
	if err != nil {
		t.Fatal(err)
	}
	var got []entry
	for in := tar.NewReader(gz); ; {
		h, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if h.Uname != "" || h.Uid != 0 {
			t.Errorf("%s tells who packed it: %q %d", h.Name, h.Uname, h.Uid)
		}
		got = append(got, entry{h.Name, string(text), h.FileInfo().Mode().Perm(), h.ModTime.Unix()})
	}
	if !slices.Equal(got, want) {
		t.Errorf("tar.gz holds %v, want %v", got, want)
	}

	packed.Reset()
	if err := a.zip(&packed); err != nil {
		t.Fatal(err)
	}
	in, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil {
		t.Fatal(err)
	}
	got = nil
	for _, f := range in.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, entry{f.Name, string(text), f.Mode().Perm(), f.Modified.Unix()})
	}
	if !slices.Equal(got, want) {
		t.Errorf("zip holds %v, want %v", got, want)
	}
}

func TestSumsAreInOrderOfTheirNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b", "a"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := sums(dir, []string{"b", "a"}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7  a\n" +
		"0263829989b6fd954f72baaf2fc64bc2e2f01d692d4de72986ea808f6e99813f  b\n"
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTargetsAreChosenByName(t *testing.T) {
	all, err := choose("")
	if err != nil || len(all) != 6 {
		t.Errorf("choose all: %v, %v", all, err)
	}
	one, err := choose("darwin/arm64")
	if err != nil || len(one) != 1 || one[0].String() != "darwin/arm64" {
		t.Errorf("choose one: %v, %v", one, err)
	}
	if _, err := choose("plan9/amd64"); err == nil {
		t.Error("an unknown target was taken")
	}
}

// TestLinksOfPackedDocumentsLeadToPackedFiles: who unpacks a release reads its
// documents with their pictures.
func TestLinksOfPackedDocumentsLeadToPackedFiles(t *testing.T) {
	files, err := pack("../..")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, f := range files {
		there[f.name] = true
	}
	link := regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)
	links := 0
	for _, f := range files {
		// What the index of the recordings leads to stays with the source.
		if path.Ext(f.name) != ".md" || path.Base(f.name) == "INDEX.md" {
			continue
		}
		text, err := os.ReadFile(f.path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			if to := path.Join(path.Dir(f.name), m[1]); !there[to] {
				t.Errorf("%s leads to %s, which no archive holds", f.name, to)
			}
		}
	}
	if links == 0 {
		t.Error("there are no links")
	}
}
