package tidy

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	featureID = regexp.MustCompile(`^\| ([A-Z]{1,2}\d+) \|`)
)

// States that a row of docs/parity.md may be in.
var states = []string{"there", "partly", "missing"}

// Links checks every relative link of every Markdown file: what it points to must be in the tree.
func Links(t *Tree) ([]Finding, error) {
	return t.eachText(func(name string, lines []string) []Finding {
		if path.Ext(name) != ".md" {
			return nil
		}
		var out []Finding
		for i, line := range lines {
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				u, err := url.Parse(m[1])
				if err == nil && (u.Scheme != "" || u.Host != "" || u.Path == "") {
					continue
				}
				if err == nil {
					_, err = os.Stat(filepath.Join(t.Root, path.Dir(name), u.Path))
				}
				if err != nil {
					out = append(out, Finding{name, i + 1, fmt.Sprintf("the link %q leads nowhere", m[1])})
				}
			}
		}
		return out
	})
}

// Features checks that the parity table has exactly one row for each row of the feature table, each in a known state,
// and one that is there or partly there naming the test that shows it.
func Features(t *Tree, features, parity string) ([]Finding, error) {
	want, err := t.text(features)
	if err != nil {
		return nil, err
	}
	got, err := t.text(parity)
	if err != nil {
		return nil, err
	}
	var out []Finding
	rows := map[string]int{}
	for i, line := range got {
		m := featureID.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if rows[m[1]] != 0 {
			out = append(out, Finding{parity, i + 1, "a second row for " + m[1]})
		}
		rows[m[1]] = i + 1
		if text := stateOf(line); text != "" {
			out = append(out, Finding{parity, i + 1, m[1] + ": " + text})
		}
	}
	for i, line := range want {
		if m := featureID.FindStringSubmatch(line); m != nil {
			if rows[m[1]] == 0 {
				out = append(out, Finding{features, i + 1, m[1] + " has no row in " + parity})
			}
			delete(rows, m[1])
		}
	}
	for id, line := range rows {
		out = append(out, Finding{parity, line, id + " is no row of " + features})
	}
	return out, nil
}

// stateOf says what is wrong with a row `| id | feature | state | shown by | note |`.
func stateOf(line string) string {
	cell := strings.Split(strings.ReplaceAll(line, `\|`, ""), "|")
	if len(cell) != 7 {
		return "the columns are id, feature, state, shown by, note"
	}
	state, shown := strings.TrimSpace(cell[3]), strings.TrimSpace(cell[4])
	for _, s := range states {
		if state != s {
			continue
		}
		if s != "missing" && (shown == "" || shown == "–") {
			return "is " + s + ", but names no test that shows it"
		}
		return ""
	}
	return fmt.Sprintf("state %q is none of %s", state, strings.Join(states, ", "))
}
