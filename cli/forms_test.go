package cli

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/client/clienttest"
)

// TestFormsOfCommandLines: command lines with options that are repeated, missing, unknown, or written with one dash, two or "=", and with too many words end as
// with Hadoop 3.5's own commands. testdata/forms.tsv has what those did: the exit code and the first lines of standard output and standard error. No line needs
// an answer of the ResourceManager. A line with a reason in the last column must end differently.
func TestFormsOfCommandLines(t *testing.T) {
	f, err := os.Open("testdata/forms.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	conf := clienttest.Start(t, nil).ConfDir(t)
	lines := bufio.NewScanner(f)
	n := 0
	for lines.Scan() {
		if n++; n == 1 {
			continue // the heading
		}
		row := strings.Split(lines.Text(), "\t")
		if len(row) != 5 {
			t.Fatalf("line %d has %d columns", n, len(row))
		}
		got := newWorld().run(append([]string{"--config", conf}, quotedFields(row[0])...)...)
		have := strings.Join([]string{strconv.Itoa(got.code), firstOf(got.out), firstOf(got.err)}, "\t")
		want := strings.Join(row[1:4], "\t")
		switch {
		case row[4] == "" && have != want:
			t.Errorf("yarn %s:\n got %q\nwant %q", row[0], have, want)
		case row[4] != "" && have == want:
			t.Errorf("yarn %s is as Hadoop's, but counts as different: %s", row[0], row[4])
		}
	}
	if err := lines.Err(); err != nil || n < 250 {
		t.Errorf("%d lines, %v", n, err)
	}
}

// firstOf is the first line.
func firstOf(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimRight(line, " ")
}

// quotedFields splits a line at spaces outside of double quotes, as a shell does.
func quotedFields(line string) (out []string) {
	word, some, quoted := "", false, false
	for _, r := range line {
		switch {
		case r == '"':
			quoted, some = !quoted, true
		case r == ' ' && !quoted:
			if some {
				out = append(out, word)
			}
			word, some = "", false
		default:
			word, some = word+string(r), true
		}
	}
	if some {
		out = append(out, word)
	}
	return out
}
