package schedtest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the expected output of scenarios")

func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			steps, err := Parse(string(text))
			if err != nil {
				t.Fatal(err)
			}
			got := Run(steps)
			if *update {
				if err := os.WriteFile(file, []byte(Format(got)), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			for i := range steps {
				if got[i].Output != steps[i].Output {
					t.Fatalf("%s:%d: %s\nwant:\n%s\ngot:\n%s", file, steps[i].Line, steps[i].Command, steps[i].Output, got[i].Output)
				}
			}
		})
	}
}
