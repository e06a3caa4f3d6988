package tidy

import (
	"path"
	"slices"
	"strings"
)

// What the root holds: its listing is what people see first. `docs/architecture.md` says what each folder is.
var (
	rootFiles = []string{".gitignore", ".golangci.yml", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "go.mod", "go.sum"}
	rootDirs  = []string{".ci", "bench", "cli", "client", "cmd", "conf", "deploy", "docs", "internal", "logserver", "minicluster", "nodemanager",
		"resourcemanager", "scheduler", "sim", "test", "ui", "wire", "yarn"}
	// What Go's tools leave where they are called; git ignores it, too.
	leftByTools = []string{"*.test", "*.prof"}
)

// RootFiles refuses files and folders in the root that are none of those above: what is there by mistake is seen by nobody
// else. A folder is named once.
func RootFiles(t *Tree) []Finding {
	var out []Finding
	said := ""
	for _, name := range t.Files {
		dir, _, below := strings.Cut(name, "/")
		switch {
		case below && (slices.Contains(rootDirs, dir) || dir == said):
		case below:
			said = dir
			out = append(out, Finding{dir, 0, "is no folder of the root (internal/tidy/root.go)"})
		case !slices.Contains(rootFiles, name) && !slices.ContainsFunc(leftByTools, func(p string) bool { ok, _ := path.Match(p, name); return ok }):
			out = append(out, Finding{name, 0, "is no file of the root (internal/tidy/root.go)"})
		}
	}
	return out
}
