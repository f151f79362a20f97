// Aipscope is a terminal console for AIP actions that run Hermes turns: it
// follows one action, shows the assistant's text, each tool and each raw frame,
// and says one thing that is true of it, the verdict.
package main

import (
	"embed"
	"io/fs"
	"os"

	"aipscope/ui/cli"
)

// The demo plays these: streams that a real Hermes server sent.
//
//go:embed testdata/recordings/hermes/*.sse testdata/recordings/hermes/*.json testdata/recordings/hermes/*.headers.txt testdata/recordings/hermes/verdicts.tsv
//go:embed testdata/recordings/generations/*.sse testdata/recordings/generations/verdicts.tsv
var recordings embed.FS

func main() {
	files, err := fs.Sub(recordings, "testdata/recordings")
	if err != nil {
		panic(err) // the directive above names the folder
	}
	os.Exit(cli.Main(files, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
