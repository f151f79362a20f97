// Package target names the systems that aipscope is released for.
package target

// Target is an operating system and a processor, as Go names them.
type Target struct{ OS, Arch string }

// All are the targets of a release.
var All = []Target{
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"linux", "amd64"}, {"linux", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

func (t Target) String() string { return t.OS + "/" + t.Arch }

// Env is the environment in which the go command builds for the target. There is
// no C in the program, so that one file is all of it.
func (t Target) Env() []string {
	return []string{"GOOS=" + t.OS, "GOARCH=" + t.Arch, "CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0"}
}
