package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version and revision (a commit) are set by the linker in make's builds. Without them, the
// toolchain's own notes of what it built are used.
var version, revision string

// release is the version's name.
func release() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

// commit is the commit that it was built from, or "". One with changes that were
// not committed has -dirty behind it.
func commit() string {
	if revision != "" {
		return revision
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var of, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			of = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if of == "" {
		return ""
	}
	return of + dirty
}

// builtFrom is what --version says behind the name.
func builtFrom() string {
	about := fmt.Sprintf("%s, %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if c := commit(); c != "" {
		about = "commit " + c + ", " + about
	}
	return fmt.Sprintf("%s (%s)", release(), about)
}

func userAgent() string { return "aipscope/" + release() }
