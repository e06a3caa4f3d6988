package tidy

import (
	"fmt"
	"go/ast"
	"go/types"
	"path"
	"slices"
)

// Settings finds the fields of the structure `name` in package dir, and of the structures of that package that it holds,
// which no code reads, tests left out: a property that is read and has no effect is worse than one that is warned about
// as unknown. It needs the go command, as Purity does.
func Settings(t *Tree, dir, name string) ([]Finding, error) {
	owner := path.Join(t.Module, dir)
	var readers []Package
	var dirs []string
	for _, p := range t.Packages {
		if len(p.Files) > 0 && (p.Dir == dir || imports(p, owner)) {
			readers = append(readers, p)
			dirs = append(dirs, "./"+p.Dir)
		}
	}
	imp, err := newImporter(t, dirs)
	if err != nil {
		return nil, err
	}
	read := map[string]bool{} // fields by the place of their declaration
	var fields []*types.Var
	for _, p := range readers {
		info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
		pkg, err := typesOf(t, p, imp, info)
		if err != nil {
			return nil, err
		}
		if p.Dir == dir {
			obj := pkg.Scope().Lookup(name)
			if obj == nil {
				return nil, fmt.Errorf("tidy: %s has no %s", owner, name)
			}
			fields = settings(pkg, obj.Type(), nil)
		}
		written := map[ast.Expr]bool{}
		for _, f := range p.Files {
			ast.Inspect(f.AST, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					for _, left := range n.Lhs {
						written[left] = true
					}
				case *ast.SelectorExpr:
					if s := info.Selections[n]; s != nil && !written[n] {
						for _, v := range passed(s) {
							read[place(t, v)] = true
						}
					}
				}
				return true
			})
		}
	}
	var out []Finding
	for _, v := range fields {
		if !read[place(t, v)] {
			pos := t.Fset.Position(v.Pos())
			out = append(out, Finding{path.Join(dir, path.Base(pos.Filename)), pos.Line,
				fmt.Sprintf("nothing reads the setting %s: give it an effect, or do not read its property", v.Name())})
		}
	}
	return out, nil
}

// settings lists the fields of a structure of pkg, with those of the structures of pkg that they hold, also in slices.
func settings(pkg *types.Package, typ types.Type, seen []types.Type) []*types.Var {
	for {
		s, ok := typ.(*types.Slice)
		if !ok {
			break
		}
		typ = s.Elem()
	}
	named, ok := typ.(*types.Named)
	if !ok || named.Obj().Pkg() != pkg || slices.Contains(seen, typ) {
		return nil
	}
	str, ok := named.Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	var out []*types.Var
	for v := range str.Fields() {
		if v.Exported() {
			out = append(out, v)
			out = append(out, settings(pkg, v.Type(), append(seen, typ))...)
		}
	}
	return out
}

// passed lists the fields on the way of a selection, the embedded ones among them; the last is the one that is named.
func passed(s *types.Selection) []*types.Var {
	var out []*types.Var
	typ := s.Recv()
	for _, i := range s.Index() {
		if p, ok := typ.Underlying().(*types.Pointer); ok {
			typ = p.Elem()
		}
		str, ok := typ.Underlying().(*types.Struct)
		if !ok || i >= str.NumFields() {
			break
		}
		out = append(out, str.Field(i))
		typ = str.Field(i).Type()
	}
	if s.Kind() != types.FieldVal && len(out) == len(s.Index()) { // the last index is a method's
		out = out[:len(out)-1]
	}
	return out
}

// place names a field in the same way whether its package was read from source or compiled.
func place(t *Tree, v *types.Var) string {
	pos := t.Fset.Position(v.Pos())
	return fmt.Sprintf("%s:%d:%s", path.Base(pos.Filename), pos.Line, v.Name())
}

func imports(p Package, name string) bool {
	for _, f := range p.Files {
		for _, spec := range f.AST.Imports {
			if spec.Path.Value == `"`+name+`"` {
				return true
			}
		}
	}
	return false
}
