package tidy

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// Methods of the scheduler that let things go wrong as in Apache's, for replays of recorded decisions.
var forReplays = []string{"LikeApache", "CountUsers", "Unanswered"}

// Replays refuses calls of these outside of the scheduler and the simulator: a daemon that made one would do what is known to be wrong.
func Replays(t *Tree) []Finding {
	var out []Finding
	for _, p := range t.Packages {
		if top, _, _ := strings.Cut(p.Dir, "/"); top == "scheduler" || top == "sim" {
			continue
		}
		for _, f := range p.Files {
			ast.Inspect(f.AST, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(forReplays, s.Sel.Name) {
					out = append(out, Finding{f.Name, t.line(s.Sel.Pos()), fmt.Sprintf("%s is for replays of recorded decisions (sim/replay): no daemon may do wrong what Apache does wrong", s.Sel.Name)})
				}
				return true
			})
		}
	}
	return out
}
