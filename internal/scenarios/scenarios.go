// Package scenarios runs tests that are written down in text files: commands, each with the result that is expected of it. See docs/testing.md.
package scenarios

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the scenarios of testdata show into them")

// Test plays each testdata/*.txt in a subtest. play runs the commands in text and returns the same text with the results that they
// have now. The first line that differs fails the subtest; with -update the returned text is written to the file instead.
func Test(t *testing.T, play func(t *testing.T, text string) string) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios in testdata", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			compare(t, file, got, string(text))
		})
	}
}

func compare(t *testing.T, file, got, want string) {
	t.Helper()
	shown, lines := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(shown), len(lines)) {
		if g, w := line(shown, i), line(lines, i); g != w {
			t.Fatalf("%s:%d:\n got %s\nwant %s\n(-update writes what is shown now)", file, i+1, g, w)
		}
	}
}

// line is line i, or "(the end)" if there are fewer.
func line(of []string, i int) string {
	if i >= len(of) {
		return "(the end)"
	}
	return of[i]
}
