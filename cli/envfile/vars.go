// Package envfile reads scripts of settings, such as hadoop-env.sh, for the variables that they set. It runs no program: it
// evaluates only assignments whose values follow from the text, and conditions that compare such values. It reports every
// statement that it does not read.
package envfile

import (
	"errors"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
)

// variable is one that a script, or its caller, has set or taken away.
type variable struct {
	value    string
	set      bool
	exported bool
}

// Vars are a shell's variables: those of the environment, and what scripts have changed.
type Vars struct {
	Answers map[string]string // what programs would print that need not be run for it: "hostname"
	base    func(string) (string, bool)
	changed map[string]variable
	unread  map[string]string // name → who gives it a value that is not known: a line of a script, or a shell
}

// ofShell are variables that a shell gives values to by itself.
var ofShell = strings.Fields("0 1 2 3 4 5 6 7 8 9 @ * # ? - $ ! _ UID EUID GROUPS PPID RANDOM SRANDOM SECONDS EPOCHSECONDS EPOCHREALTIME LINENO SHLVL " +
	"BASH BASHPID BASHOPTS BASH_SOURCE BASH_VERSION BASH_VERSINFO FUNCNAME HOSTTYPE MACHTYPE OSTYPE SHELLOPTS")

// New begins with an environment, all of which is exported.
func New(base func(string) (string, bool)) *Vars {
	v := &Vars{base: base, changed: map[string]variable{}, unread: map[string]string{}}
	for _, name := range ofShell {
		v.unread[name] = "a shell"
	}
	return v
}

// Lookup is a variable's value and whether it is set, exported or not.
func (v *Vars) Lookup(name string) (string, bool) {
	x := v.get(name)
	return x.value, x.set
}

// Exported is Lookup as a program sees it that the shell starts.
func (v *Vars) Exported(name string) (string, bool) {
	if x := v.get(name); x.exported && x.set {
		return x.value, true
	}
	return "", false
}

// Value is a variable's value, "" if it is not set.
func (v *Vars) Value(name string) string { return v.get(name).value }

func (v *Vars) get(name string) variable {
	if x, ok := v.changed[name]; ok {
		return x
	}
	value, ok := v.base(name)
	return variable{value, ok, ok}
}

// Set gives a variable a value; one that is exported stays so.
func (v *Vars) Set(name, value string) {
	v.changed[name] = variable{value, true, v.get(name).exported}
	delete(v.unread, name)
}

// Default gives a variable a value that has none or an empty one.
func (v *Vars) Default(name, value string) {
	if v.Value(name) == "" {
		v.Set(name, value)
	}
}

// Export shows a variable to programs.
func (v *Vars) Export(name string) {
	x := v.get(name)
	x.exported = true
	v.changed[name] = x
}

func (v *Vars) unset(name string) {
	v.changed[name] = variable{}
	delete(v.unread, name)
}

// Environ is what programs see: base, the environment as a list, with what has changed.
func (v *Vars) Environ(base []string) []string {
	out := slices.DeleteFunc(slices.Clone(base), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		_, ok := v.changed[name]
		return ok
	})
	var more []string
	for name, x := range v.changed {
		if x.set && x.exported {
			more = append(more, name+"="+x.value)
		}
	}
	slices.Sort(more)
	return append(out, more...)
}

// unknown and unknownEnd enclose, within a value, the name of something whose value is not known: a variable, or a program's
// output. Only expansion shows which parts of a word matter.
const unknown, unknownEnd = "\x01", "\x02"

// shell is what expansions see.
type shell struct{ *Vars }

// Get implements expand.Environ.
func (s shell) Get(name string) expand.Variable {
	if _, ok := s.unread[name]; ok {
		return expand.Variable{Set: true, Kind: expand.String, Str: unknown + name + unknownEnd}
	}
	x := s.get(name)
	if !x.set {
		return expand.Variable{}
	}
	return expand.Variable{Set: true, Exported: x.exported, Kind: expand.String, Str: x.value}
}

// Each implements expand.Environ; nothing that is read here asks for all names.
func (shell) Each(func(string, expand.Variable) bool) {}

// Set implements expand.WriteEnviron, for ${A:=b}.
func (s shell) Set(name string, x expand.Variable) error {
	switch {
	case x.Kind != expand.String || len(x.Str) > MaxValue:
		return errors.New("not a value that is read")
	case strings.Contains(x.Str, unknown):
		s.unread[name] = "a default"
	default:
		s.Vars.Set(name, x.Str)
	}
	return nil
}
