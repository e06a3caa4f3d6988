package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestEveryCommandIsKnown(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range mismatches(parse(string(text))) {
		t.Error(err)
	}
}

func TestParse(t *testing.T) {
	got := parse("# Title\n\n    make demo     # a cluster\n  a list's second line\n\n    bin/yarn shell -- 'echo #1'\n    \n")
	if want := []command{{3, "make demo"}, {6, "bin/yarn shell -- 'echo #1'"}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestMismatches(t *testing.T) {
	var all []command
	for i, w := range table {
		all = append(all, command{i + 1, w.command})
	}
	if got := mismatches(all); got != nil {
		t.Errorf("of the table itself: %v", got)
	}
	got := mismatches(append(all[1:], command{99, "bin/yarn dance"}))
	if len(got) != 2 || !strings.Contains(got[0].Error(), `README.md:99: no row of test/readme/table.go tells how to run "bin/yarn dance"`) ||
		!strings.Contains(got[1].Error(), `does not have the command "make demo"`) {
		t.Errorf("%v", got)
	}
}
