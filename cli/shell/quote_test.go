package shell

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// node runs a launch command as a node does: texts replaced, then pasted
// between double quotes.
func node(t *testing.T, dir, line string) (stdout string, code int) {
	t.Helper()
	line = strings.NewReplacer("<LOG_DIR>", dir, "<CPS>", ":", "<ADD_OPENS>", "--add-opens=x").Replace(line)
	line = strings.NewReplacer("{{", "$", "}}", "").Replace(line)
	script := filepath.Join(dir, "launch_container.sh")
	if err := os.WriteFile(script, []byte("#!/bin/bash\nset -o pipefail -e\nexec /bin/bash -c \""+line+"\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("/bin/bash", script)
	c.Env = []string{"PATH=/usr/bin:/bin", "HOME=/nowhere"}
	c.Dir = dir
	out, err := c.CombinedOutput()
	if len(out) > 0 {
		t.Errorf("%q printed %q outside of its logs", line, out)
	}
	if err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b), c.ProcessState.ExitCode()
}

var nasty = []string{"", " ", "a b", "'", `"`, `\`, `\\`, "$HOME", "${HOME}", "`id`", "$(id)", "{{HOME}}", "{{", "}}", "{", "}", "<LOG_DIR>", "<CPS>",
	"<ADD_OPENS>", "<", ">", "!x", "*", "~", "#", "&", ";", "|", "\n", "a\nb\n", "\t", "-n", "--", "=", "ü", "\xff", "%s", "it's"}

// words runs printf with arguments, and gives them back as it got them.
func words(t *testing.T, dir string, argv []string) {
	t.Helper()
	line := Line([]string{"A=" + strings.Join(argv, ""), "B_1="}, append([]string{"/usr/bin/env", "printf", `%s\0`}, argv...))
	got, code := node(t, dir, line)
	if want := strings.Join(argv, "\x00") + "\x00"; got != want || code != 0 {
		t.Errorf("exit code %d of %q:\n got %q\nwant %q", code, line, got, want)
	}
}

func TestWordsArriveUnchanged(t *testing.T) {
	dir := t.TempDir()
	words(t, dir, nasty)
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var argv []string
		for range 1 + r.IntN(8) {
			word := ""
			for range r.IntN(6) {
				word += nasty[r.IntN(len(nasty))]
			}
			argv = append(argv, word)
		}
		words(t, dir, argv)
	}
}

func TestVariablesAndExitCodesArrive(t *testing.T) {
	dir := t.TempDir()
	value := strings.Join(nasty, "")
	got, code := node(t, dir, Line([]string{"A=" + value, "B="}, []string{"/bin/bash", "-c", `printf '%s|%s|' "$A" "${B-unset}"; echo oops >&2; exit 37`}))
	if got != value+"||" || code != 37 {
		t.Errorf("%d %q", code, got)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "stderr")); err != nil || !bytes.Equal(b, []byte("oops\n")) {
		t.Error(err, string(b))
	}
	if _, code := node(t, dir, Line(nil, []string{"no-such-program"})); code != 127 {
		t.Error(code)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "stderr")); !bytes.Contains(b, []byte("not found")) {
		t.Errorf("%q", b)
	}
}

func TestALineHoldsNothingThatNodesReplace(t *testing.T) {
	line := Line([]string{"A={{<CPS>}}"}, slices.Concat(nasty, []string{"{{{{}}}}", "<LOG_DIR><LOG_DIR>"}))
	line = strings.ReplaceAll(line, `\"<LOG_DIR>/std`, "") // ours
	for _, text := range []string{"{{", "}}", "<LOG_DIR>", "<CPS>", "<ADD_OPENS>"} {
		if strings.Contains(line, text) {
			t.Errorf("%s is in %s", text, line)
		}
	}
}
