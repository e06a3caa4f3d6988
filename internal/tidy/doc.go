// Package tidy holds the project's rules as checks of the source tree: which package may import which, what a pure
// package may touch, what the root holds, how large a file may be, what no file may contain. Its tests apply every rule to the repository,
// and to a bad sample that the rule must find fault with. `go test ./internal/tidy` is the whole of it.
package tidy

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Finding is one breach of a rule: a file relative to the tree's root, a line counted from 1 (0: the whole file), and
// what is wrong with it and why that matters.
type Finding struct {
	File string
	Line int
	Text string
}

func (f Finding) String() string { return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Text) }

// Package is one folder of Go source.
type Package struct {
	Dir   string // relative to the root, "." for the root itself
	Name  string
	Files []File // without test files
	Tests []File
}

// File is one parsed Go file.
type File struct {
	Name string // relative to the root
	AST  *ast.File
}

// Tree is a module's source as the rules see it.
type Tree struct {
	Root     string
	Module   string // the path in go.mod
	Files    []string
	Packages []Package
	Fset     *token.FileSet
}

// Folders that hold nothing written by hand, and samples that break the rules on purpose.
var ignored = []string{".git", "bin", "out", "node_modules", "unpacked", "__pycache__", "internal/tidy/testdata"}

// Load lists and parses the tree below root. Go files in testdata folders are listed but not parsed.
func Load(root string) (*Tree, error) {
	t := &Tree{Root: root, Fset: token.NewFileSet()}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, fmt.Errorf("tidy: %w", err)
	}
	for line := range strings.Lines(string(mod)) {
		if m, ok := strings.CutPrefix(line, "module "); ok {
			t.Module = strings.TrimSpace(m)
		}
	}
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if slices.Contains(ignored, rel) || slices.Contains(ignored, path.Base(rel)) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.Type().IsRegular() {
			t.Files = append(t.Files, rel)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("tidy: list %s: %w", root, err)
	}
	return t, t.parse()
}

func (t *Tree) parse() error {
	at := map[string]int{}
	for _, name := range t.Files {
		if path.Ext(name) != ".go" || inTestdata(name) {
			continue
		}
		tree, err := parser.ParseFile(t.Fset, filepath.Join(t.Root, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("tidy: %w", err)
		}
		dir := path.Dir(name)
		i, ok := at[dir]
		if !ok {
			i = len(t.Packages)
			at[dir] = i
			t.Packages = append(t.Packages, Package{Dir: dir})
		}
		p, f := &t.Packages[i], File{Name: name, AST: tree}
		if strings.HasSuffix(name, "_test.go") {
			p.Tests = append(p.Tests, f)
			continue
		}
		p.Files = append(p.Files, f)
		p.Name = tree.Name.Name
	}
	return nil
}

func (t *Tree) line(p token.Pos) int { return t.Fset.Position(p).Line }

func inTestdata(name string) bool {
	return slices.Contains(strings.Split(path.Dir(name), "/"), "testdata")
}

// text is a file's lines, or nothing if it is not text.
func (t *Tree) text(name string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(t.Root, name))
	if err != nil {
		return nil, fmt.Errorf("tidy: %w", err)
	}
	if bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 {
		return nil, nil
	}
	var lines []string
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, len(data)+1)
	for sc.Scan() {
		lines = append(lines, sc.Text())
	}
	return lines, sc.Err()
}

// isCode says whether a file is written by hand in some language: by its ending, or a script by its first line.
func isCode(name string, lines []string) bool {
	if strings.HasSuffix(name, ".pb.go") || strings.Contains(path.Base(name), "generated") || inTestdata(name) {
		return false
	}
	switch path.Ext(name) {
	case ".go", ".java", ".py", ".sh", ".ts", ".tsx", ".css":
		return true
	case "":
		return path.Base(name) == "Makefile" || len(lines) > 0 && strings.HasPrefix(lines[0], "#!")
	}
	return false
}
