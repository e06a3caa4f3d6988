package allocation

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/yarn"
)

var update = flag.Bool("update", false, "rewrite what is said of the files in testdata")

var (
	basic   = yarn.BasicResourceTypes()
	withGPU = append(yarn.BasicResourceTypes(), yarn.ResourceType{Name: "yarn.io/gpu"})
)

// sample is one allocation file of testdata, and what is said of it.
type sample struct{ name, text, said string }

// samples reads a file of "=== NAME", the text, "---" and what is said.
func samples(t testing.TB, file string) []sample {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var out []sample
	for part := range strings.SplitSeq(strings.TrimPrefix(string(data), "=== "), "\n=== ") {
		name, rest, _ := strings.Cut(part, "\n")
		text, said, ok := strings.Cut("\n"+rest, "\n---")
		if !ok {
			t.Fatalf("%s: %s has no ---", file, name)
		}
		out = append(out, sample{name, strings.TrimPrefix(text, "\n"), strings.Trim(said, "\n")})
	}
	return out
}

func typesOf(name string) yarn.ResourceTypes {
	if strings.Contains(name, "gpu") {
		return withGPU
	}
	return basic
}

// said is everything about a file, and whether it is refused.
func said(name, text string) (string, bool) {
	a, findings, err := Parse([]byte(text), typesOf(name))
	var errs Errors
	if refused := errors.As(err, &errs); refused == (a != nil) || refused && len(errs) == 0 {
		return fmt.Sprintf("an allocation %v and the error %v", a, err), refused
	}
	var lines []string
	for _, f := range inOrder(append(errs, findings...)) {
		lines = append(lines, fmt.Sprintf("%s [%s] %s", f.Severity, f.Code, f))
	}
	return strings.Join(lines, "\n"), err != nil
}

// TestCorpus holds each file to exactly what is said of it: files that are refused, and odd ones that are not.
func TestCorpus(t *testing.T) {
	for _, file := range []struct {
		name    string
		refused bool
		least   int
	}{{"bad.txt", true, 80}, {"odd.txt", false, 35}} {
		all := samples(t, file.name)
		if len(all) < file.least {
			t.Errorf("%s: %d files", file.name, len(all))
		}
		var b strings.Builder
		for _, s := range all {
			got, refused := said(s.name, s.text)
			fmt.Fprintf(&b, "=== %s\n%s\n---\n%s\n", s.name, s.text, got)
			if refused != file.refused || got == "" {
				t.Errorf("%s: refused: %v\n%s", s.name, refused, got)
			}
			if got != s.said && !*update {
				t.Errorf("%s: got\n%s\nwant\n%s", s.name, got, s.said)
			}
		}
		if *update {
			if err := os.WriteFile(filepath.Join("testdata", file.name), []byte(b.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}
