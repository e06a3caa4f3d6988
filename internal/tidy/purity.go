package tidy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Unordered marks a range over a map, on its line or the line above, whose order cannot reach a result; the rest of the
// comment says why.
const Unordered = "//tidy:unordered "

// What a pure package may import from outside the module. Whatever is not here needs a reason first.
var pureImports = []string{
	"bytes", "cmp", "container/heap", "encoding/binary", "encoding/json", "encoding/xml", "errors", "fmt", "hash/crc32", "hash/fnv",
	"io", "iter", "maps", "math", "math/big", "math/bits", "regexp", "slices", "sort", "strconv", "strings", "time", "unicode",
	"unicode/utf8",
}

// What of those is not pure after all: it reads a clock, waits, or talks to a terminal.
var impure = map[string][]string{
	"time": {"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Sleep", "Local", "LoadLocation"},
	"fmt":  {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
}

// Functions of package maps that hand out a map's order.
var mapOrder = []string{"All", "Keys", "Values"}

// IsPure says which packages must be: the scheduler and the engines. The scenario language reads files for tests.
func IsPure(dir string) bool {
	if dir == "scheduler/schedtest" || strings.HasPrefix(dir, "scheduler/schedtest/") {
		return false
	}
	return dir == "scheduler" || strings.HasPrefix(dir, "scheduler/") || slices.Contains(strings.Split(dir, "/"), "engine")
}

// Purity checks every pure package: imports, clocks, goroutines, channels, variables of the package, and the order of maps. It needs the go
// command, for the types of what the packages import. A package that does not compile is an error beside the findings in
// the others.
func Purity(t *Tree, pure func(dir string) bool) ([]Finding, error) {
	var dirs []string
	for _, p := range t.Packages {
		if pure(p.Dir) && len(p.Files) > 0 {
			dirs = append(dirs, "./"+p.Dir)
		}
	}
	if len(dirs) == 0 {
		return nil, nil
	}
	imp, err := newImporter(t, dirs)
	if err != nil {
		return nil, err
	}
	var out []Finding
	var broken []error
	for _, p := range t.Packages {
		if !pure(p.Dir) || len(p.Files) == 0 {
			continue
		}
		found, err := checkPure(t, p, imp)
		out = append(out, found...)
		broken = append(broken, err)
	}
	return out, errors.Join(broken...)
}

// newImporter reads the compiled form of whatever the packages in dirs ("./a/b") import.
func newImporter(t *Tree, dirs []string) (types.Importer, error) {
	exports, err := exportData(t.Root, dirs)
	if err != nil {
		return nil, err
	}
	return importer.ForCompiler(t.Fset, "gc", func(pkg string) (io.ReadCloser, error) {
		if exports[pkg] == "" {
			return nil, fmt.Errorf("no export data of %s", pkg)
		}
		return os.Open(exports[pkg])
	}), nil
}

// exportData asks the go command where the compiled form of every dependency is.
func exportData(root string, dirs []string) (map[string]string, error) {
	cmd := exec.Command("go", append([]string{"list", "-e", "-export", "-deps", "-json=ImportPath,Export"}, dirs...)...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	data, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("tidy: go list in %s: %w: %s", root, err, strings.TrimSpace(stderr.String()))
	}
	out := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(data)); ; {
		var p struct{ ImportPath, Export string }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("tidy: go list's answer: %w", err)
		}
		out[p.ImportPath] = p.Export
	}
}

type purity struct {
	t     *Tree
	file  File
	info  *types.Info
	marks map[int]string // line of an Unordered comment → its reason
	calls map[ast.Expr]string
	out   []Finding
}

func checkPure(t *Tree, p Package, imp types.Importer) ([]Finding, error) {
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	if _, err := typesOf(t, p, imp, info); err != nil {
		return nil, err
	}
	var out []Finding
	for _, f := range p.Files {
		c := &purity{t: t, file: f, info: info, marks: map[int]string{}, calls: map[ast.Expr]string{}}
		c.comments()
		c.imports()
		ast.Inspect(f.AST, c.visit)
		out = append(out, c.out...)
	}
	return out, nil
}

// typesOf fills info with what it asks about a package's files, tests left out.
func typesOf(t *Tree, p Package, imp types.Importer, info *types.Info) (*types.Package, error) {
	var files []*ast.File
	for _, f := range p.Files {
		files = append(files, f.AST)
	}
	cfg := types.Config{Importer: imp}
	pkg, err := cfg.Check(path.Join(t.Module, p.Dir), t.Fset, files, info)
	if err != nil {
		return nil, fmt.Errorf("tidy: types of %s: %w", p.Dir, err)
	}
	return pkg, nil
}

func (c *purity) find(pos token.Pos, format string, args ...any) {
	c.out = append(c.out, Finding{c.file.Name, c.t.line(pos), fmt.Sprintf(format, args...)})
}

func (c *purity) comments() {
	for _, group := range c.file.AST.Comments {
		for _, line := range group.List {
			if reason, ok := strings.CutPrefix(line.Text, strings.TrimSpace(Unordered)); ok {
				c.marks[c.t.line(line.Pos())] = strings.TrimSpace(reason)
				if len(strings.TrimSpace(reason)) < 8 {
					c.find(line.Pos(), "%sneeds a reason", Unordered)
				}
			}
		}
	}
}

func (c *purity) imports() {
	for _, spec := range c.file.AST.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		ours := name == c.t.Module || strings.HasPrefix(name, c.t.Module+"/")
		if !ours && !slices.Contains(pureImports, name) {
			c.find(spec.Pos(), "a pure package must not import %s: values in, values out, and nothing else", name)
		}
	}
}

func (c *purity) visit(n ast.Node) bool {
	c.variables(n)
	switch n := n.(type) {
	case *ast.GoStmt:
		c.find(n.Pos(), "a pure package starts no goroutine")
	case *ast.ChanType, *ast.SendStmt, *ast.SelectStmt:
		c.find(n.Pos(), "a pure package has no channels")
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			c.find(n.Pos(), "a pure package has no channels")
		}
	case *ast.Ident:
		c.use(n)
	case *ast.CallExpr:
		c.call(n)
	case *ast.RangeStmt:
		c.ranges(n)
	}
	return true
}

func (c *purity) use(id *ast.Ident) {
	obj := c.info.Uses[id]
	if obj == nil || obj.Pkg() == nil || obj.Parent() != obj.Pkg().Scope() {
		return
	}
	if slices.Contains(impure[obj.Pkg().Path()], obj.Name()) {
		c.find(id.Pos(), "a pure package must not use %s.%s: time arrives as an argument, text leaves as a result", obj.Pkg().Path(), obj.Name())
	}
}

// call notices maps.Keys and its like, unless the result is sorted on the spot. Inspect visits a call before its arguments.
func (c *purity) call(call *ast.CallExpr) {
	pkg, name := c.callee(call)
	if pkg == "slices" && strings.HasPrefix(name, "Sorted") && len(call.Args) > 0 {
		c.calls[call.Args[0]] = name
	}
	if pkg == "maps" && slices.Contains(mapOrder, name) && c.calls[call] == "" && !c.marked(call.Pos()) {
		c.find(call.Pos(), "maps.%s hands out a map's order: sort it (slices.Sorted), or say %s<reason>", name, Unordered)
	}
}

func (c *purity) callee(call *ast.CallExpr) (pkg, name string) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	if fn, ok := c.info.Uses[sel.Sel].(*types.Func); ok && fn.Pkg() != nil {
		return fn.Pkg().Path(), fn.Name()
	}
	return "", ""
}

func (c *purity) ranges(r *ast.RangeStmt) {
	typ := c.info.Types[r.X].Type
	if typ == nil {
		return
	}
	if isMap(typ) && !c.marked(r.Pos()) {
		c.find(r.Pos(), "ranges over a map: its order must not reach a result; sort the keys, or say %s<reason>", Unordered)
	}
}

func (c *purity) marked(pos token.Pos) bool {
	line := c.t.line(pos)
	return c.marks[line] != "" || c.marks[line-1] != ""
}

// isMap sees through names and type parameters.
func isMap(t types.Type) bool {
	if p, ok := t.(*types.TypeParam); ok {
		iface, ok := p.Constraint().Underlying().(*types.Interface)
		for i := 0; ok && i < iface.NumEmbeddeds(); i++ {
			if embedsMap(iface.EmbeddedType(i)) {
				return true
			}
		}
		return false
	}
	_, ok := t.Underlying().(*types.Map)
	return ok
}

func embedsMap(t types.Type) bool {
	u, ok := t.(*types.Union)
	if !ok {
		return isMap(t)
	}
	for i := range u.Len() {
		if isMap(u.Term(i).Type()) {
			return true
		}
	}
	return false
}
