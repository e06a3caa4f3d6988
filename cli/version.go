package cli

import (
	"fmt"
	"runtime"

	"github.com/heddle-project/heddle/internal/release"
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
	own := release.Own()
	if c.json {
		return c.writeDocument("version", document{{"hadoop", release.Hadoop}, {"heddle", release.Version},
			{"revision", own.Commit}, {"built", own.Date}, {"platform", runtime.GOOS + "-" + runtime.GOARCH}, {"go", runtime.Version()}})
	}
	fmt.Fprintf(c.Stdout, "Hadoop %s\nHeddle %s\nSource code repository https://github.com/heddle-project/heddle -r %s\n"+
		"Compiled on %s\nCompiled on platform %s-%s\nCompiled with %s\nThis command was run using %s\n",
		release.Hadoop, release.Version, own.Commit, own.Date, runtime.GOOS, runtime.GOARCH, runtime.Version(), c.Program)
	return nil
}
