package health

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/heddle-project/heddle/conf"
)

// rig is a checker with two local directories and one for logs.
type rig struct {
	*Checker
	a, b, log string
	free      atomic.Int64 // percent of a's disk
	found     chan State
}

func start(t *testing.T, change func(*Config)) (*rig, State) {
	t.Helper()
	root := t.TempDir()
	r := &rig{a: filepath.Join(root, "a"), b: filepath.Join(root, "b"), log: filepath.Join(root, "log"), found: make(chan State, 1000)}
	r.free.Store(50)
	c := Config{
		Dirs:   conf.NodeDirs{Local: []string{r.a, r.b}, Log: []string{r.log}},
		Health: conf.NodeHealth{Disks: rules},
		Space: func(dir string) (int64, int64, error) {
			if dir == r.a {
				return 100, r.free.Load(), nil
			}
			return 100, 50, nil
		},
		Found: func(s State) {
			select {
			case r.found <- s:
			default:
			}
		},
		Now: func() time.Time { return time.UnixMilli(1_700_000_000_000) },
	}
	if change != nil {
		change(&c)
	}
	r.Checker = New(c)
	t.Cleanup(r.Close)
	return r, r.Start()
}

// wait takes what is found until it is as wanted.
func (r *rig) wait(t *testing.T, what string, ok func(State) bool) State {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		select {
		case s := <-r.found:
			if ok(s) {
				return s
			}
		case <-deadline:
			t.Fatalf("never found: %s; last %+v", what, r.State())
		}
	}
}

func TestRotation(t *testing.T) {
	r, first := start(t, nil)
	if !first.Healthy || first.Report != "" || len(first.Local.Good) != 2 || len(first.Log.Good) != 1 || first.At != 1_700_000_000_000 {
		t.Fatalf("%+v", first)
	}
	r.free.Store(1)
	s := r.wait(t, "a full directory", func(s State) bool { return len(s.Local.Full) == 1 })
	if !s.Healthy || s.Local.Good[0] != r.b || !strings.HasPrefix(s.Report, "1/2 local-dirs usable space") {
		t.Errorf("%+v", s)
	}
	file := r.log + ".file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// At once: a directory that is missing for a moment is made anew.
	if err := unix.Renameat2(unix.AT_FDCWD, file, unix.AT_FDCWD, r.log, unix.RENAME_EXCHANGE); err != nil {
		t.Fatal(err)
	}
	// A check that was under way may have found it out otherwise.
	s = r.wait(t, "no log directory", func(s State) bool { return !s.Healthy && strings.Contains(s.Report, "Not a directory") })
	if len(s.Log.Bad) != 1 || !strings.Contains(s.Report, "; 1/1 log-dirs have errors:  [ "+r.log+" : Not a directory: "+r.log+" ] ") {
		t.Errorf("%+v", s)
	}
	if err := os.Remove(r.log); err != nil {
		t.Fatal(err)
	}
	r.free.Store(50)
	r.wait(t, "everything well again", func(s State) bool { return s.Healthy && s.Report == "" && len(s.Local.Good) == 2 })
}

// TestSuspect: a look need not wait for the interval.
func TestSuspect(t *testing.T) {
	r, _ := start(t, func(c *Config) { c.Health.Disks.Interval = time.Hour })
	r.free.Store(0)
	for range 3 {
		r.Suspect()
	}
	r.wait(t, "a full directory", func(s State) bool { return len(s.Local.Full) == 1 })
}

func TestEnough(t *testing.T) {
	for _, c := range []struct {
		good, full, bad int
		share           float64
		want            bool
	}{{1, 1, 2, 0.25, true}, {1, 2, 2, 0.25, false}, {0, 0, 1, 0, true}, {0, 0, 0, 1, true}, {3, 0, 0, 1, true}, {1, 0, 2, 1.0 / 3, true}} {
		d := Dirs{Good: make([]string, c.good), Full: make([]string, c.full), Bad: make([]string, c.bad)}
		if got := enough(d, c.share); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestDisksOff: without the checker directories are looked at once, and the node
// is well whatever came of it.
func TestDisksOff(t *testing.T) {
	r, first := start(t, func(c *Config) {
		c.Health.Disks.Enabled = false
		c.Dirs.Local = []string{"/proc/does/not/exist"}
	})
	if !first.Healthy || first.Report != "" || len(first.Local.Bad) != 1 {
		t.Errorf("%+v", first)
	}
	if len(r.found) != 1 {
		t.Errorf("%d results", len(r.found))
	}
}

// program writes a shell script.
func program(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "check.sh")
	// No other test may fork meanwhile: its child would have the file open for writing, and such a file cannot be run.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestScripts(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
		fails      bool
	}{
		"silent":           {"", "", false},
		"well":             {"echo all is well; echo 'no ERROR here'", "", false},
		"error":            {"echo first; echo 'ERROR disk <gone>'; echo more", "first\nERROR disk <gone>\nmore\n", false},
		"error word":       {"printf ERRORS", "ERRORS", false},
		"on stderr":        {"echo ERROR >&2", "", false},
		"exit code":        {"exit 3", "", true},
		"error and code":   {"echo ERROR; exit 3", "", true},
		"signal":           {"kill -SEGV $$", "", true},
		"leaves a child":   {"echo ERROR left; sleep 60 & exit 0", "ERROR left\n", false},
		"too much":         {"while :; do echo yes yes yes yes yes yes yes; done", "The health script check cannot be run: run ", true},
		"not UTF-8":        {`printf 'ERROR \377'`, "ERROR \ufffd", false},
		"takes too long":   {"echo ERROR; sleep 60", "Node health script timed out", true},
		"arguments passed": {`[ "$1" = "a b" ] && echo ERROR "$1" "$2"`, "ERROR a b -c\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := script{HealthScript: conf.HealthScript{Name: "check", Path: program(t, c.text), Args: []string{"a b", "-c"}, Timeout: time.Minute}}
			if name == "takes too long" {
				s.Timeout = 100 * time.Millisecond
			}
			got, err := s.run(t.Context())
			if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" || (err != nil) != c.fails {
				t.Errorf("%q %v, want %q", got, err, c.want)
			}
		})
	}
}

// TestScriptDecides follows a script that changes its mind, and then disappears.
func TestScriptDecides(t *testing.T) {
	said := filepath.Join(t.TempDir(), "said")
	path := program(t, "cat "+said)
	say := func(text string) {
		if err := os.WriteFile(said, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	say("ERROR at first\n")
	r, first := start(t, func(c *Config) {
		c.Health.RunBefore = true
		c.Health.Scripts = []conf.HealthScript{
			{Name: "missing", Path: "/does/not/exist", Interval: time.Millisecond, Timeout: time.Minute},
			{Name: "check", Path: path, Interval: time.Millisecond, Timeout: time.Minute},
		}
	})
	if first.Healthy || first.Report != "ERROR at first\n" {
		t.Fatalf("%+v", first)
	}
	say("fine")
	r.wait(t, "a healthy node", func(s State) bool { return s.Healthy && s.Report == "" })
	r.free.Store(0)
	say("ERROR again")
	r.wait(t, "both reports", func(s State) bool {
		return !s.Healthy && strings.HasPrefix(s.Report, "1/2 local-dirs") && strings.HasSuffix(s.Report, "] ; ;ERROR again")
	})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	r.wait(t, "a script that is gone", func(s State) bool { return strings.Contains(s.Report, "check cannot be run") })
}

// TestClose: a running script does not hold up the end, and nothing is found
// after it.
func TestClose(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "runs")
	r, first := start(t, func(c *Config) {
		c.Health.Disks.Interval = time.Hour
		c.Health.Scripts = []conf.HealthScript{{Name: "slow", Path: program(t, "echo >"+mark+"; sleep 600"), Interval: time.Hour, Timeout: time.Hour}}
	})
	if !first.Healthy {
		t.Errorf("a script that has not answered counts as well: %+v", first)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(mark); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the script never ran")
		}
	}
	r.Close()
	if n := len(r.found); n != 1 {
		t.Errorf("%d results", n)
	}
	r.Close()
}

func TestBounded(t *testing.T) {
	long := bounded(strings.Repeat("é", MaxReport))
	if len(long) > MaxReport || !utf8.ValidString(long) || !strings.HasSuffix(long, "é…") {
		t.Errorf("%d bytes, ends in %q", len(long), long[len(long)-8:])
	}
	if got := bounded("a\xffb"); got != "a\ufffdb" {
		t.Errorf("%q", got)
	}
}

func ExampleDirs_Readable() {
	fmt.Println(Dirs{Good: []string{"/a"}, Full: []string{"/b"}, Bad: []string{"/c"}}.Readable())
	// Output: [/a /b]
}
