package tidy

import (
	"go/ast"
	"go/token"
	"go/types"
)

// variables notices what could change a variable of a package: a value that is written to it, or its address in other
// hands. What it points to is not followed.
func (c *purity) variables(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			c.keep(n.Lhs...)
		}
	case *ast.IncDecStmt:
		c.keep(n.X)
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			c.keep(n.Key, n.Value)
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			c.keep(n.X)
		}
	case *ast.SliceExpr:
		if t := c.info.Types[n.X].Type; t != nil && isArray(t) {
			c.keep(n.X)
		}
	case *ast.CallExpr:
		c.changedBy(n)
	}
}

// changedBy notices calls of what changes its argument, and of methods that get the address of their receiver.
func (c *purity) changedBy(call *ast.CallExpr) {
	switch fn := call.Fun.(type) {
	case *ast.Ident:
		if _, ok := c.info.Uses[fn].(*types.Builtin); ok && (fn.Name == "delete" || fn.Name == "clear" || fn.Name == "copy") {
			c.keep(call.Args[0])
		}
	case *ast.SelectorExpr:
		if s := c.info.Selections[fn]; s != nil && s.Kind() == types.MethodVal && !isPointer(s.Recv()) && isPointer(s.Obj().(*types.Func).Signature().Recv().Type()) {
			c.keep(fn.X)
		}
	}
}

// keep reports those of the places that lie in a variable of a package.
func (c *purity) keep(places ...ast.Expr) {
	for _, x := range places {
		if id := c.within(x); id != nil {
			c.find(x.Pos(), "a pure package keeps its variables as they are, so that a decision depends on nothing but its inputs; %s could change", id.Name)
		}
	}
}

// within is the variable of a package that the place is a part of, or nil.
func (c *purity) within(x ast.Expr) *ast.Ident {
	switch x := x.(type) {
	case *ast.Ident:
		if v, ok := c.info.Uses[x].(*types.Var); ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
			return x
		}
	case *ast.SelectorExpr:
		if v := c.within(x.Sel); v != nil { // of another package
			return v
		}
		return c.within(x.X)
	case *ast.IndexExpr:
		return c.within(x.X)
	case *ast.ParenExpr:
		return c.within(x.X)
	}
	return nil
}

func isPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

func isArray(t types.Type) bool {
	_, ok := t.Underlying().(*types.Array)
	return ok
}
