package tidy

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// MaxLines is how many lines a file written by hand may have; a longer one has to be split.
const MaxLines = 700

// Names that say nothing about what a package is for.
var emptyNames = []string{"util", "utils", "common", "manager", "helper", "helpers", "impl"}

// PackageNames refuses packages named for no purpose.
func PackageNames(t *Tree) []Finding {
	var out []Finding
	for _, p := range t.Packages {
		if slices.Contains(emptyNames, p.Name) || slices.Contains(emptyNames, path.Base(p.Dir)) {
			out = append(out, Finding{p.Dir, 0, fmt.Sprintf("package %s: the name says nothing about what it is for", path.Base(p.Dir))})
		}
	}
	return out
}

// PackageComments wants every package to say what it is.
func PackageComments(t *Tree) []Finding {
	var out []Finding
	for _, p := range t.Packages {
		if len(p.Files) == 0 {
			continue
		}
		said := slices.ContainsFunc(p.Files, func(f File) bool { return f.AST.Doc != nil && len(strings.TrimSpace(f.AST.Doc.Text())) >= 20 })
		if !said {
			out = append(out, Finding{p.Dir, 0, fmt.Sprintf("package %s has no package comment: what is it for, and what is it not?", p.Name)})
		}
	}
	return out
}

// Sizes refuses files of more than MaxLines lines.
func Sizes(t *Tree) ([]Finding, error) {
	return t.eachText(func(name string, lines []string) []Finding {
		if !isCode(name, lines) || len(lines) <= MaxLines {
			return nil
		}
		return []Finding{{name, 0, fmt.Sprintf("%d lines, more than %d: it is two rooms", len(lines), MaxLines)}}
	})
}

// The words whose parts are joined here must be in no file, this one included.
var (
	postponed = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b|\b[tbf]\.Skip(f|Now)?\(`)
	// The name of a machine's folder counts at the beginning of a path, not in its middle.
	machines = regexp.MustCompile(`(^|[^\w.}>*/-])/(wo` + `rk|ro` + `ot)/|\.\./sha` + `red\b`)
	registry = regexp.MustCompile(`\b(registry\.npm` + `js\.org|registry\.yarn` + `pkg\.com|proxy\.gol` + `ang\.org|sum\.gol` + `ang\.org|` +
		`repo1?\.ma` + `ven\.(apache\.)?org|py` + `pi\.org|files\.python` + `hosted\.org|crates\.` + `io)\b`)
)

// Postponed refuses code that puts work or a test off.
func Postponed(t *Tree) ([]Finding, error) {
	return t.eachText(func(name string, lines []string) []Finding {
		if !isCode(name, lines) {
			return nil
		}
		return grep(name, lines, postponed, "puts off what should be done, or said in docs/parity.md")
	})
}

// Places refuses texts that name a folder of some machine, or a package registry's host.
func Places(t *Tree) ([]Finding, error) {
	return t.eachText(func(name string, lines []string) []Finding {
		return append(grep(name, lines, machines, "names a folder that only one machine has"),
			grep(name, lines, registry, "names a registry's host; that is the user's choice")...)
	})
}

func grep(name string, lines []string, re *regexp.Regexp, text string) []Finding {
	var out []Finding
	for i, line := range lines {
		if m := re.FindString(line); m != "" {
			out = append(out, Finding{name, i + 1, fmt.Sprintf("%q %s", strings.TrimSpace(m), text)})
		}
	}
	return out
}

func (t *Tree) eachText(rule func(name string, lines []string) []Finding) ([]Finding, error) {
	var out []Finding
	for _, name := range t.Files {
		lines, err := t.text(name)
		if err != nil {
			return nil, err
		}
		out = append(out, rule(name, lines)...)
	}
	return out, nil
}
