package tidy

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rule is one check, as the tests below apply it to a tree.
type rule struct {
	name   string
	sample string // the folder of testdata that breaks it; the files' `want` comments say where
	check  func(*Tree) ([]Finding, error)
}

func plain(f func(*Tree) []Finding) func(*Tree) ([]Finding, error) {
	return func(t *Tree) ([]Finding, error) { return f(t), nil }
}

var rules = []rule{
	{"imports", "imports", plain(func(t *Tree) []Finding { return Imports(t, Table) })},
	{"purity", "purity", func(t *Tree) ([]Finding, error) { return Purity(t, IsPure) }},
	{"replays", "replays", plain(Replays)},
	{"package names", "names", plain(PackageNames)},
	{"package comments", "comments", plain(PackageComments)},
	{"settings", "settings", func(t *Tree) ([]Finding, error) { return Settings(t, "conf", "ResourceManager") }},
	{"settings of nodes", "", func(t *Tree) ([]Finding, error) { return Settings(t, "conf", "NodeManager") }},
	{"root", "", plain(RootFiles)},
	{"sizes", "", Sizes},
	{"postponed", "", Postponed},
	{"places", "", Places},
}

func TestTheHouseIsTidy(t *testing.T) {
	tree, err := Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) { report(t, r.check, tree) })
	}
}

func TestDocuments(t *testing.T) {
	tree, err := Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("links", func(t *testing.T) { report(t, Links, tree) })
	t.Run("features", func(t *testing.T) {
		report(t, func(tree *Tree) ([]Finding, error) { return Features(tree, "docs/features.md", "docs/parity.md") }, tree)
	})
}

func report(t *testing.T, check func(*Tree) ([]Finding, error), tree *Tree) {
	found, err := check(tree)
	if err != nil {
		t.Error(err)
	}
	for _, f := range found {
		t.Error(f)
	}
}

var want = regexp.MustCompile(`// want "([^"]*)"`)

// Every sample is found fault with where it says so, and nowhere else.
func TestRulesFindTheirSamples(t *testing.T) {
	for _, r := range rules {
		if r.sample == "" {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			tree, err := Load(filepath.Join("testdata", r.sample))
			if err != nil {
				t.Fatal(err)
			}
			found, err := r.check(tree)
			if err != nil {
				t.Fatal(err)
			}
			expected := 0
			for _, name := range tree.Files {
				lines, err := tree.text(name)
				if err != nil {
					t.Fatal(err)
				}
				for i, line := range lines {
					m := want.FindStringSubmatch(line)
					if m == nil {
						continue
					}
					expected++
					at := slices.IndexFunc(found, func(f Finding) bool {
						return (f.File == name && f.Line == i+1 || f.File == filepath.Dir(name) && f.Line == 0) && strings.Contains(f.Text, m[1])
					})
					if at < 0 {
						t.Errorf("%s:%d: %q was not found", name, i+1, m[1])
						continue
					}
					found = slices.Delete(found, at, at+1)
				}
			}
			for _, f := range found {
				t.Errorf("not wanted: %v", f)
			}
			if expected < 2 {
				t.Errorf("the sample expects only %d findings", expected)
			}
		})
	}
}

// Samples that would break the rules of this very tree are written when the test runs.
func TestTextRules(t *testing.T) {
	write := func(t *testing.T, name, content string) *Tree {
		root := t.TempDir()
		for file, text := range map[string]string{"go.mod": "module sample\n", name: content} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		tree, err := Load(root)
		if err != nil {
			t.Fatal(err)
		}
		return tree
	}
	long := "package a\n" + strings.Repeat("// a\n", MaxLines-1)
	for _, c := range []struct {
		check   func(*Tree) ([]Finding, error)
		file    string
		content string
		line    int // 0: nothing is wrong; -1: the whole file is
	}{
		{Sizes, "a.go", long, 0},
		{Sizes, "a.go", long + "// b\n", -1},
		{Sizes, "a.pb.go", long + "// b\n", 0},
		{Sizes, "testdata/a.go", long + "// b\n", 0},
		{Sizes, "a.txt", long + "// b\n", 0},
		{Sizes, "script", "#!/bin/sh\n" + strings.Repeat(":\n", MaxLines), -1},
		{Postponed, "a.go", "package a\n\n// TO" + "DO: later\n", 3},
		{Postponed, "a.sh", "# FIX" + "ME\n", 1},
		{Postponed, "a_test.go", "package a\n\nfunc a(t T) { t.Ski" + "p() }\n", 3},
		{Postponed, "a_test.go", "package a\n\nfunc a(d D) { d.Skip() }\n", 0},
		{Postponed, "a.md", "a TO" + "DO list\n", 0},
		{Places, "a.md", "see /wo" + "rk/main\n", 1},
		{Places, "a.md", "see `/ro" + "ot/.cache`\n", 1},
		{Places, "a.go", "package a\n\nconst p = \"/ro" + "ot/x\"\n", 3},
		{Places, "a.go", "package a\n\nconst p = \"/ws/v1/cluster/queues/root/access\"\n", 0},
		{Places, "a.md", "see ../sha" + "red/x\n", 1},
		{Places, "ui/package-lock.json", "{\"resolved\": \"https://registry.npm" + "js.org/a\"}\n", 1},
		{Places, "a.md", "see https://hadoop.apache.org/docs\n", 0},
		{plain(RootFiles), "0", "", -1},
		{plain(RootFiles), "a.go", "package a\n", -1},
		{plain(RootFiles), "attic/a.go", "package a\n", -1},
		{plain(RootFiles), "README.md", "", 0},
		{plain(RootFiles), "capacity.test", "", 0},
		{plain(RootFiles), "yarn/a.go", "package a\n", 0},
	} {
		t.Run(fmt.Sprintf("%s/%d", c.file, c.line), func(t *testing.T) {
			found, err := c.check(write(t, c.file, c.content))
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case c.line == 0 && len(found) > 0:
				t.Errorf("found %v", found)
			case c.line != 0 && (len(found) != 1 || found[0].Line != max(c.line, 0)):
				t.Errorf("found %v, want line %d", found, c.line)
			}
		})
	}
}

func TestDocumentRules(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"go.mod":       "module sample\n",
		"README.md":    "[a](docs/a.md) [b](docs/gone.md) [c](https://example.org/x) [d](#here)\n",
		"docs/a.md":    "| Q1 | a |\n| Q2 | b |\n| Q3 | c |\n| Q4 | d |\n",
		"docs/list.md": "| Q1 | a | there | a test | |\n| Q2 | b | there | – | |\n| Q3 | c | soon | | |\n| Q9 | x | missing | | |\n",
	} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	found, err := Links(tree)
	if err != nil || len(found) != 1 || !strings.Contains(found[0].Text, "gone.md") {
		t.Errorf("links: %v, %v", found, err)
	}
	found, err = Features(tree, "docs/a.md", "docs/list.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"Q2: is there, but names no test", `Q3: state "soon"`, "Q4 has no row", "Q9 is no row"} {
		if !slices.ContainsFunc(found, func(f Finding) bool { return strings.Contains(f.Text, text) }) {
			t.Errorf("%q not found in %v", text, found)
		}
	}
	if len(found) != 4 {
		t.Errorf("%d findings, want 4: %v", len(found), found)
	}
}
