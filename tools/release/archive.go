package main

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// archive is what goes into one. Nothing of the machine that packs it does: not
// its users, nor the times and rights of its files.
type archive struct {
	base  string // the folder in it
	time  time.Time
	files []packed // in this order
}

type packed struct {
	path string // on this machine
	name string // in the archive's folder, with slashes
	mode fs.FileMode
}

func (a archive) tarGz(w io.Writer) error {
	gz, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	out := tar.NewWriter(gz)
	for _, f := range a.files {
		text, err := os.ReadFile(f.path)
		if err != nil {
			return err
		}
		head := tar.Header{Name: a.base + "/" + f.name, Mode: int64(f.mode), Size: int64(len(text)), ModTime: a.time, Format: tar.FormatUSTAR}
		if err := out.WriteHeader(&head); err != nil {
			return err
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return gz.Close()
}

func (a archive) zip(w io.Writer) error {
	out := zip.NewWriter(w)
	for _, f := range a.files {
		text, err := os.ReadFile(f.path)
		if err != nil {
			return err
		}
		head := zip.FileHeader{Name: a.base + "/" + f.name, Method: zip.Deflate, Modified: a.time}
		head.SetMode(f.mode)
		part, err := out.CreateHeader(&head)
		if err != nil {
			return err
		}
		if _, err := part.Write(text); err != nil {
			return err
		}
	}
	return out.Close()
}

// sums writes SHA256SUMS of the named files, as sha256sum -c reads it.
func sums(dir string, names []string) error {
	var list bytes.Buffer
	for _, name := range slices.Sorted(slices.Values(names)) {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(text), name)
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), list.Bytes(), 0o644)
}

// writeFile writes a file through a buffer. An error of closing it counts.
func writeFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	out := bufio.NewWriter(f)
	if err := write(out); err != nil {
		return err
	}
	return out.Flush()
}
