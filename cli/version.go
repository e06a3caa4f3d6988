package cli

import (
	"fmt"
	"github.com/heddle-project/heddle/internal/release"
	"runtime"
	"runtime/debug"
)

// What this build is; set by the linker (-X).
var (
	VERSION  = "0.1.0-dev"
	REVISION = "" // of the source, if the build knows it
	BUILT    = "" // when and by whom
)

// version prints in the layout of Hadoop's own command. Its first line keeps
// the form "Hadoop X" because scripts cut the version out of it.
func version(c *call) error {
	if helps(c.args) {
		c.usage()
		return nil
	}
	if len(c.args) > 0 {
		return c.refuse("%s: unknown argument", c.args[0])
	}
	revision, built := REVISION, BUILT
	if info, ok := debug.ReadBuildInfo(); ok && revision == "" {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				revision = s.Value
			case "vcs.time":
				built = s.Value
			}
		}
	}
	if revision == "" {
		revision = "unknown"
	}
	if built == "" {
		built = "unknown"
	}
	if c.json {
		return writeDocument(c.Stdout, "version", document{{"hadoop", release.Hadoop}, {"heddle", VERSION},
			{"revision", revision}, {"built", built}, {"platform", runtime.GOOS + "-" + runtime.GOARCH}, {"go", runtime.Version()}})
	}
	fmt.Fprintf(c.Stdout, "Hadoop %s\nHeddle %s\nSource code repository https://github.com/heddle-project/heddle -r %s\n"+
		"Compiled on %s\nCompiled on platform %s-%s\nCompiled with %s\nThis command was run using %s\n",
		release.Hadoop, VERSION, revision, built, runtime.GOOS, runtime.GOARCH, runtime.Version(), c.Program)
	return nil
}
