package setup

import (
	"slices"
	"strings"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/lint"
)

// Lint is the input of the linter: all properties of the queue file and of the site's
// files, with line and column, and the warnings from reading the files.
func Lint(file string, all *conf.Properties, cluster config.Cluster) lint.Input {
	in := lint.Input{Cluster: cluster, File: file, Elsewhere: elsewhere()}
	for _, p := range all.Warnings() {
		in.Notes = append(in.Notes, LintNote(lint.Warning, p))
	}
	for _, v := range all.Explicit() {
		in.Properties = append(in.Properties, config.Property{Name: v.Name, Value: v.Value, Origin: v.Origin.Position()})
	}
	return in
}

// LintNote makes a finding of a problem with a file.
func LintNote(s lint.Severity, p conf.Problem) lint.Finding {
	return lint.Finding{Severity: s, Code: "file", Origin: p.Origin.Position(), Key: p.Name, Value: p.Value, Set: p.Name != "", What: p.Text, Fix: fileAdvice(p.Text)}
}

// fileAdvice is what to do about a problem with a file, by the problem's text.
func fileAdvice(text string) string {
	for _, a := range []struct{ says, fix string }{
		{"deprecated", "rename it"},
		{"replaces", "write each property once"},
		{"an empty value", "write a value, or remove the property"},
		{"is final", "change it there, or remove it here"},
		{"set it in yarn-site.xml", "move it"},
	} {
		if strings.Contains(text, a.says) {
			return a.fix
		}
	}
	return "correct the file"
}

// elsewhere tells whether a name is a property of YARN outside the queue file, and if
// not, which such name is nearest.
func elsewhere() func(string) (bool, string) {
	names := conf.KnownNames()
	slices.Sort(names)
	return func(name string) (bool, string) {
		if _, known := slices.BinarySearch(names, name); known {
			return true, ""
		}
		return false, conf.Nearest(name)
	}
}
