package envfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Bounds of what is read.
const (
	MaxFile  = 1 << 20   // bytes of a script
	MaxValue = 128 << 10 // bytes of a value: the kernel passes no longer ones to programs
	maxText  = 60        // bytes of a statement in a message
)

// Unread is a statement of a script that was passed over.
type Unread struct {
	File  string
	Line  int
	Text  string   // how it begins
	Why   string   // in words
	Names []string // the variables that it would set; none: a program that it would run, or what is no shell at all
}

// String is FILE:LINE: why: text.
func (u Unread) String() string {
	s := fmt.Sprintf("%s:%d: %s: %s", u.File, u.Line, u.Why, u.Text)
	if len(u.Names) > 0 {
		s += fmt.Sprintf(" (%s: left as it was)", strings.Join(u.Names, ", "))
	}
	return s
}

// File reads a script, if it is there. To a shell, a file in a directory that may not be searched is not there either.
func (v *Vars) File(path string) ([]Unread, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, os.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // a pipe would not even open
		return nil, fmt.Errorf("%s is no plain file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > MaxFile {
		return nil, fmt.Errorf("%s has more than %d bytes: it is not read", path, MaxFile)
	}
	return v.Read(path, string(text)), nil
}

// Read applies a script's text, as far as that is possible without running a program, and returns the statements that it passed
// over.
func (v *Vars) Read(file, text string) []Unread {
	r := &reader{vars: v, file: file, text: text}
	r.config = &expand.Config{Env: shell{v}, CmdSubst: func(w io.Writer, c *syntax.CmdSubst) error {
		answer, ok := v.Answers[words(c)]
		if !ok {
			answer = unknown + unknownEnd
		}
		_, err := io.WriteString(w, answer)
		return err
	}, ProcSubst: func(*syntax.ProcSubst) (string, error) { return unknown + unknownEnd, nil }}
	var broken error
	for stmt, err := range syntax.NewParser(syntax.Variant(syntax.LangBash)).StmtsSeq(strings.NewReader(text)) { // it is not to be left early
		if broken = cmp.Or(broken, err); broken == nil {
			r.statements([]*syntax.Stmt{stmt})
		}
	}
	if broken != nil && !r.over {
		r.broken(broken)
	}
	return r.unread
}

// words are those of a program that is called with plain ones alone.
func words(c *syntax.CmdSubst) string {
	if len(c.Stmts) != 1 || c.Stmts[0].Negated {
		return ""
	}
	call, ok := c.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 {
		return ""
	}
	var out []string
	for _, w := range call.Args {
		out = append(out, w.Lit())
	}
	return strings.Join(out, " ")
}

type reader struct {
	vars   *Vars
	config *expand.Config
	file   string
	text   string
	unread []Unread
	over   bool // the script has returned
}

func (r *reader) broken(err error) {
	line := 1
	var p syntax.ParseError
	if errors.As(err, &p) {
		line = int(p.Pos.Line())
		err = errors.New(p.Text)
	}
	lines := strings.SplitN(r.text, "\n", line+1)
	r.unread = append(r.unread, Unread{File: r.file, Line: line, Why: fmt.Sprintf("not a shell's syntax (%v); nothing is read from here on", err), Text: shorten(lines[min(line, len(lines))-1])})
}

// pass names a statement that is not read. What it sets is not known from here on; what a part sets that may not be reached keeps a value
// that it has.
func (r *reader) pass(n syntax.Node, why string, certain bool) {
	var names []string
	note := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.FuncDecl, *syntax.Subshell: // what they set is gone with them
			return false
		case *syntax.CallExpr:
			return len(n.Args) == 0 // what stands before a program is that program's
		case *syntax.Assign:
			if n.Name != nil && !n.Naked {
				note(n.Name.Value)
			}
		case *syntax.ForClause:
			if loop, ok := n.Loop.(*syntax.WordIter); ok {
				note(loop.Name.Value)
			}
		}
		return true
	})
	line := int(n.Pos().Line())
	for _, name := range names {
		if !certain && r.vars.Value(name) != "" {
			continue
		}
		r.vars.unread[name] = fmt.Sprintf("%s:%d", filepath.Base(r.file), line)
	}
	r.unread = append(r.unread, Unread{File: r.file, Line: line, Text: shorten(r.text[n.Pos().Offset():n.End().Offset()]), Why: why, Names: names})
}

// secret is where something begins that is no message's: messages come to files that more people read than scripts.
var secret = regexp.MustCompile(`(?i)(passw(?:or)?d|secret|token|credential|access\.?key).*`)

func shorten(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = secret.ReplaceAllString(line, "$1…")
	if len(line) > maxText {
		line = strings.ToValidUTF8(line[:maxText], "") + "…"
	}
	return line
}

const notPlain = "not an assignment of a plain value; it is not run"

func (r *reader) statements(list []*syntax.Stmt) {
	for _, s := range list {
		if !r.over {
			r.statement(s)
		}
	}
}

func (r *reader) statement(s *syntax.Stmt) {
	if s.Background || s.Coprocess {
		r.pass(s, notPlain, true)
		return
	}
	switch c := s.Cmd.(type) {
	case nil, *syntax.FuncDecl: // a function that is called is named there
	case *syntax.CallExpr:
		r.call(s, c)
	case *syntax.DeclClause:
		r.declare(s, c)
	case *syntax.Block:
		r.statements(c.Stmts)
	case *syntax.IfClause:
		r.branch(s, c)
	case *syntax.CaseClause:
		r.choose(s, c)
	case *syntax.BinaryCmd:
		first, ok := r.holds(c.X)
		if !ok || c.Op != syntax.AndStmt && c.Op != syntax.OrStmt {
			r.pass(s, notPlain, false)
		} else if first == (c.Op == syntax.AndStmt) {
			r.statement(c.Y)
		}
	case *syntax.TestClause: // of no consequence
	default:
		r.pass(s, fmt.Sprintf("the block to line %d is not run", s.End().Line()), false)
	}
}

// silent are commands that set nothing and change nothing of the process.
var silent = []string{"true", "echo", "printf", "[", "test"}

func (r *reader) call(s *syntax.Stmt, c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		r.assign(c.Assigns, false)
		return
	}
	name := c.Args[0].Lit()
	switch {
	case slices.Contains(silent, name):
	case name == ":": // its words may give defaults
		for _, w := range c.Args[1:] {
			if _, why := r.expand(w); why != "" {
				r.pass(w, why, true)
			}
		}
	case name == "return":
		r.over = true
	case name == "unset" && len(c.Args) > 1 && c.Args[1].Lit() == "-f": // functions
	case name == "unset":
		for _, w := range c.Args[1:] {
			if n := w.Lit(); syntax.ValidName(n) {
				r.vars.unset(n)
			}
		}
	default:
		r.pass(s, notPlain, true)
	}
}

// declare does export, declare, typeset and readonly.
func (r *reader) declare(s *syntax.Stmt, c *syntax.DeclClause) {
	export := c.Variant.Value == "export"
	var list []*syntax.Assign
	for _, a := range c.Args {
		switch {
		case a.Name == nil && a.Value != nil && (a.Value.Lit() == "-x" || a.Value.Lit() == "-rx"):
			export = true
		case a.Name == nil && a.Value != nil && strings.HasPrefix(a.Value.Lit(), "-") && c.Variant.Value != "export":
		case a.Name == nil:
			r.pass(s, notPlain, true)
			return
		default:
			list = append(list, a)
		}
	}
	r.assign(list, export)
}

func (r *reader) assign(list []*syntax.Assign, export bool) {
	for _, a := range list {
		if export {
			r.vars.Export(a.Name.Value)
		}
		if a.Naked {
			continue
		}
		if value, why := r.value(a); why != "" {
			r.pass(a, why, true)
		} else {
			r.vars.Set(a.Name.Value, value)
		}
	}
}

// value is what an assignment gives, or why it cannot be told.
func (r *reader) value(a *syntax.Assign) (value, why string) {
	if a.Index != nil || a.Array != nil {
		return "", "an array; it is not read"
	}
	if value, why = r.expand(a.Value); why != "" {
		return "", why
	}
	if a.Append {
		if _, ok := r.vars.unread[a.Name.Value]; ok {
			return "", r.uses(a.Name.Value)
		}
		value = r.vars.Value(a.Name.Value) + value
	}
	if len(value) > MaxValue {
		return "", fmt.Sprintf("longer than %d bytes", MaxValue)
	}
	return value, ""
}

// expand is a word's value, or why it cannot be told.
func (r *reader) expand(w *syntax.Word) (value, why string) {
	if w == nil {
		return "", ""
	}
	if name := r.examines(w); name != "" {
		return "", r.uses(name)
	}
	value, err := safely(func() (string, error) { return expand.Literal(r.config, w) })
	if err != nil {
		return "", fmt.Sprintf("its value cannot be told (%v)", err)
	}
	return r.known(value)
}

// safely expands: what the library has not thought of is not read either.
func safely(f func() (string, error)) (value string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return f()
}

// known finds in a value what stands there for something unknown.
func (r *reader) known(value string) (_, why string) {
	_, after, found := strings.Cut(value, unknown)
	if !found {
		return value, ""
	}
	if name, _, _ := strings.Cut(after, unknownEnd); name != "" {
		return "", r.uses(name)
	}
	return "", "its value is a program's output; none is run"
}

// examines is a variable without a known value whose value decides what a word becomes.
func (r *reader) examines(w *syntax.Word) (name string) {
	syntax.Walk(w, func(n syntax.Node) bool {
		p, ok := n.(*syntax.ParamExp)
		if ok && p.Param != nil && (p.Length || p.Slice != nil || p.Repl != nil || p.Index != nil || p.Exp != nil) {
			if _, not := r.vars.unread[p.Param.Value]; not {
				name = p.Param.Value
			}
		}
		return true
	})
	return name
}

func (r *reader) uses(name string) string {
	return fmt.Sprintf("it uses %s, which %s sets in a way that is not read", name, r.vars.unread[name])
}
