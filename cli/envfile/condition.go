package envfile

import (
	"os"
	"regexp"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"
)

// branch reads an if-statement whose conditions can be told without running a program.
func (r *reader) branch(s *syntax.Stmt, c *syntax.IfClause) {
	for part := c; part != nil; part = part.Else {
		if len(part.Cond) > 0 {
			if len(part.Cond) != 1 {
				r.pass(s, "an if-block whose condition is not run", false)
				return
			}
			yes, ok := r.holds(part.Cond[0])
			if !ok {
				r.pass(s, "an if-block whose condition is not run", false)
				return
			}
			if !yes {
				continue
			}
		}
		r.statements(part.Then)
		return
	}
}

// choose reads a case-statement.
func (r *reader) choose(s *syntax.Stmt, c *syntax.CaseClause) {
	word, why := r.expand(c.Word)
	if why != "" {
		r.pass(s, why, false)
		return
	}
	for _, item := range c.Items {
		for _, w := range item.Patterns {
			yes, ok := r.fits(word, w)
			if !ok || item.Op != syntax.Break && yes {
				r.pass(s, "a case-block whose patterns are not read", false)
				return
			}
			if yes {
				r.statements(item.Stmts)
				return
			}
		}
	}
}

// fits tells whether a pattern fits a word, and whether that can be told.
func (r *reader) fits(word string, w *syntax.Word) (yes, ok bool) {
	if r.examines(w) != "" {
		return false, false
	}
	p, err := safely(func() (string, error) { return expand.Pattern(r.config, w) })
	if err != nil || strings.Contains(p, unknown) {
		return false, false
	}
	text, err := pattern.Regexp(p, pattern.EntireString)
	if err != nil {
		return false, false
	}
	re, err := regexp.Compile(text)
	return err == nil && re.MatchString(word), err == nil
}

// holds tells whether a condition is true, and whether that can be told: tests of strings and of files, with "and", "or" and "not".
func (r *reader) holds(s *syntax.Stmt) (yes, ok bool) {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		yes, ok = r.test(c)
	case *syntax.TestClause:
		yes, ok = r.double(c.X)
	case *syntax.BinaryCmd:
		if c.Op != syntax.AndStmt && c.Op != syntax.OrStmt {
			return false, false
		}
		if yes, ok = r.holds(c.X); ok && yes == (c.Op == syntax.AndStmt) {
			yes, ok = r.holds(c.Y)
		}
	}
	return yes != s.Negated, ok
}

// test does [ … ], whose words are few.
func (r *reader) test(c *syntax.CallExpr) (yes, ok bool) {
	if len(c.Args) == 0 || len(c.Assigns) > 0 {
		return false, false
	}
	var words []string
	for _, w := range c.Args {
		value, why := r.expand(w)
		if why != "" {
			return false, false
		}
		if value != "" || quoted(w) { // an empty word that is not quoted is none
			words = append(words, value)
		}
	}
	if len(words) == 0 {
		return false, false
	}
	switch words[0] {
	case "true", ":":
		return true, true
	case "false":
		return false, true
	case "[":
		if len(words) < 2 || words[len(words)-1] != "]" {
			return false, false
		}
		words = words[1 : len(words)-1]
	case "test":
		words = words[1:]
	default:
		return false, false
	}
	not := false
	if len(words) > 1 && words[0] == "!" {
		not, words = true, words[1:]
	}
	switch len(words) {
	case 0:
		yes, ok = false, true
	case 1:
		yes, ok = words[0] != "", true
	case 2:
		yes, ok = unary(words[0], words[1])
	case 3:
		switch words[1] {
		case "=", "==":
			yes, ok = words[0] == words[2], true
		case "!=":
			yes, ok = words[0] != words[2], true
		}
	}
	return yes != not, ok
}

func quoted(w *syntax.Word) bool {
	for _, p := range w.Parts {
		switch p.(type) {
		case *syntax.DblQuoted, *syntax.SglQuoted:
			return true
		}
	}
	return false
}

func unary(operator, word string) (yes, ok bool) {
	switch operator {
	case "-z":
		return word == "", true
	case "-n":
		return word != "", true
	case "-e", "-f", "-d", "-s":
		info, err := os.Stat(word)
		yes = err == nil && (operator != "-f" || info.Mode().IsRegular()) && (operator != "-d" || info.IsDir()) && (operator != "-s" || info.Size() > 0)
		return yes, true
	case "-r", "-w", "-x": // access(2) counts them so
		return syscall.Access(word, map[string]uint32{"-r": 4, "-w": 2, "-x": 1}[operator]) == nil, true
	}
	return false, false
}

// double does [[ … ]].
func (r *reader) double(x syntax.TestExpr) (yes, ok bool) {
	switch x := x.(type) {
	case *syntax.Word:
		value, why := r.expand(x)
		return value != "", why == ""
	case *syntax.ParenTest:
		return r.double(x.X)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsNot {
			yes, ok = r.double(x.X)
			return !yes, ok
		}
		w, plain := x.X.(*syntax.Word)
		if !plain {
			return false, false
		}
		value, why := r.expand(w)
		yes, ok = unary(x.Op.String(), value)
		return yes, ok && why == ""
	case *syntax.BinaryTest:
		return r.compare(x)
	}
	return false, false
}

func (r *reader) compare(x *syntax.BinaryTest) (yes, ok bool) {
	switch x.Op {
	case syntax.AndTest, syntax.OrTest:
		if yes, ok = r.double(x.X); ok && yes == (x.Op == syntax.AndTest) {
			yes, ok = r.double(x.Y)
		}
		return yes, ok
	case syntax.TsMatch, syntax.TsMatchShort, syntax.TsNoMatch:
		left, plain := x.X.(*syntax.Word)
		right, also := x.Y.(*syntax.Word)
		if !plain || !also {
			return false, false
		}
		value, why := r.expand(left)
		yes, ok = r.fits(value, right)
		return yes != (x.Op == syntax.TsNoMatch), ok && why == ""
	}
	return false, false
}
