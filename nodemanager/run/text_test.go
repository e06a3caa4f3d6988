package run

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMentions(t *testing.T) {
	for value, want := range map[string][]string{
		"":                      nil,
		"plain":                 nil,
		"$A:$B_2":               {"A", "B_2"},
		"${A}x${B:-$C}${#D}":    {"A", "B", "C", "D"},
		"$(cmd $A)`$B`":         {"A", "B"},
		`\$A \\$B`:              {"B"},
		"'$A'":                  {"A"}, // single quotes within double quotes are text
		`"'$A'"$B`:              {"B"},
		`"'a\'$A'"$B'$C'`:       {"B", "C"},
		`"'never closed $A`:     nil,
		"$$A $1 $# $- ${} $é $": nil,
		`x\`:                    nil,
		"$AÄ":                   {"A"},
	} {
		if got := mentions(value); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
}

func TestOrder(t *testing.T) {
	e := newEnvironment([]Variable{{"A", "$B $X"}, {"P", "1"}, {"B", "${C}"}, {"C", "2"}, {"Q", "3"}, {"R", "$S"}, {"S", "$R$S"}, {"A", "$B"}})
	if got := e.ordered(); !slices.Equal(got, []string{"C", "B", "A", "P", "Q", "S", "R"}) {
		t.Errorf("got %v", got)
	}
	var chain []Variable
	for i := range 20_000 {
		chain = append(chain, Variable{fmt.Sprintf("V%d", i), fmt.Sprintf("$V%d", i+1)})
	}
	if got := newEnvironment(chain).ordered(); len(got) != len(chain) || got[0] != "V19999" {
		t.Errorf("a long chain: %d, begins with %s", len(got), got[0])
	}
}

func TestAdministratorsVariables(t *testing.T) {
	cfg := testConfig()
	cfg.Environ = append(cfg.Environ, "DAEMON=d")
	cfg.AdminEnv = []Variable{{"A", "$DAEMON-$MINE-$NONE-{{MINE}}"}, {"MINE", "more"}, {"TOKENS", "${DAEMON}"}}
	cfg.ForcePath = "/forced"
	l := New(cfg)
	e, _ := l.environment(&Container{Env: []Variable{{"MINE", "m"}, {"DAEMON2", "x"}}})
	for name, want := range map[string]string{"A": "d-m--$MINE", "MINE": "m:more", "TOKENS": "${DAEMON}", "PATH": "/forced:$PATH"} {
		if got := e.values[name]; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	e, _ = l.environment(&Container{Env: []Variable{{"PATH", "/mine"}}})
	if got := e.values["PATH"]; got != "/forced:/mine" {
		t.Errorf("PATH: got %q", got)
	}
}

func TestExpansion(t *testing.T) {
	dir := t.TempDir()
	home := func(name, release string) string {
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Join(path, "bin"), 0o755)
		if release != "" {
			os.WriteFile(filepath.Join(path, "release"), []byte(release), 0o644)
		}
		return path
	}
	program := func(home, script string) string {
		os.WriteFile(filepath.Join(home, "bin", "java"), []byte("#!/bin/sh\n"+script+"\n"), 0o755)
		return home
	}
	java8 := home("java8", "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"1.8.0_402\"\n")
	java21 := home("java21", "JAVA_VERSION=\"21.0.1\"\r\n")
	mute := home("mute", "JAVA_VERSION=\"\"\n")
	pipe := home("pipe", "")
	if err := syscall.Mkfifo(filepath.Join(pipe, "release"), 0o644); err != nil {
		t.Fatal(err)
	}
	asked8 := program(home("asked8", ""), "echo 'Unrecognized option: --version' >&2; exit 1")
	asked17 := program(home("asked17", ""), "echo 'openjdk 17.0.12 2024-07-16'")
	broken := program(home("broken", ""), "echo 'no libjvm.so' >&2; exit 1")
	if err := os.Symlink(filepath.Join(asked8, "bin", "java"), filepath.Join(dir, "java")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, node, path, container string
		modern                      bool
	}{
		{"nobody knows", "", "", "", true},
		{"the node's is old", java8, "", "", false},
		{"the node's is new", java21, "", "", true},
		{"the container's is old", java21, "", java8, false},
		{"the container's is new", java8, "", java21, true},
		{"the script knows the container's", java8, "", "$JAVA_HOME", false},
		{"the container's does not say", java8, "", mute, false},
		{"the container's holds the reader up", java8, "", pipe, false},
		{"the container's is not run", java8, "", asked17, false},
		{"the old one is asked", asked8, "", "", false},
		{"the new one is asked", asked17, "", "", true},
		{"the broken one is asked", broken, "", "", true},
		{"on the path", "", "relative:" + filepath.Join(dir, "none") + ":" + dir, "", false},
	} {
		cfg := testConfig()
		cfg.Environ = []string{"JAVA_HOME=" + c.node, "PATH=" + c.path}
		container := &Container{LogDir: "/logs", Env: []Variable{{"JAVA_HOME", c.container}, {"X", "<ADD_OPENS>|<LOG_DIR><CPS>{{A}}<LOG_DIR>"}}}
		e, _ := New(cfg).environment(container)
		want := "|/logs:$A/logs"
		if c.modern {
			want = addOpens + want
		}
		if got := e.values["X"]; got != want {
			t.Errorf("%s: got %q, want %q", c.name, got, want)
		}
	}
}

func TestUnknownJavaIsTold(t *testing.T) {
	var log bytes.Buffer
	cfg := testConfig()
	cfg.Environ, cfg.Log = nil, slog.New(slog.NewTextHandler(&log, nil))
	l := New(cfg)
	for range 3 {
		if !l.modernJava("") {
			t.Error("taken for an old one")
		}
	}
	if n := strings.Count(log.String(), "JAVA_HOME"); n != 1 {
		t.Errorf("said %d times: %s", n, log.String())
	}
}

func TestAlternatives(t *testing.T) {
	for pattern, want := range map[string][]string{
		"{*stderr*,*STDERR*}": {"*stderr*", "*STDERR*"},
		"a{b,c{d,e}}f{g}":     {"abfg", "acdfg", "acefg"},
		"plain":               {"plain"},
		"{a":                  {"{a"},
		"a}b":                 {"a}b"},
		"{}x":                 {"x"},
		"a{b}c{":              {"abc{"},
	} {
		if got := alternatives(pattern); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", pattern, got, want)
		}
	}
	if n := len(alternatives(strings.Repeat("{a,b}", 100))); n > 2*maxPatterns {
		t.Errorf("%d patterns", n)
	}
}

// What a container leaves in its log directory neither holds the daemon up nor makes it read what is not the container's.
func TestComplaintsOfAHostileContainer(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	write := func(name, text string, age time.Duration) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		when := time.Now().Add(-age)
		if err := os.Chtimes(name, when, when); err != nil {
			t.Fatal(err)
		}
	}
	write(secret, "the daemon's", 0)
	logs := filepath.Join(dir, "logs")
	os.Mkdir(logs, 0o755)
	os.Symlink(secret, filepath.Join(logs, "0stderr"))
	os.Symlink(secret, filepath.Join(logs, prelaunchErr))
	os.Mkdir(filepath.Join(logs, "1stderr"), 0o755)
	if err := syscall.Mkfifo(filepath.Join(logs, "2stderr"), 0o644); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(logs, "other"), "other", 0)
	write(filepath.Join(logs, "an.STDERR.txt"), strings.Repeat("x", 5000)+"old", time.Hour)
	write(filepath.Join(logs, "stderr"), strings.Repeat("y", 10_000)+"\xffError: Could not find or load main class org.apache.hadoop.mapreduce.v2.app.MRAppMaster", 0)
	p := New(testConfig()).process(&Container{ID: containerIn(dir).ID, PrivateDir: dir, LogDir: logs})
	text := p.explain(1).Text
	if strings.Contains(text, "daemon's") || !strings.HasPrefix(text, "Container exited with a non-zero exit code 1. Error files: an.STDERR.txt, stderr.\nLast 4096 bytes of stderr :\nyyy") ||
		!strings.Contains(text, "y\uFFFDError:") || !strings.Contains(text, "HADOOP_MAPRED_HOME") || len(text) > 5000 {
		t.Errorf("got %q", text)
	}
	for i := range 2 * maxNamed {
		write(filepath.Join(logs, fmt.Sprintf("stderr.%d", i)), "", time.Hour)
	}
	if text := p.explain(1).Text; strings.Count(text, ", ") > maxNamed || !strings.Contains(text, "of stderr :") {
		t.Errorf("got %d bytes: %.500q", len(text), text)
	}
}

func FuzzTexts(f *testing.F) {
	f.Add("${A:-'$B'}\"\\", "{*a,b{c,d}}")
	f.Fuzz(func(t *testing.T, value, pattern string) {
		for _, name := range mentions(value) {
			if !strings.Contains(value, name) || leadingName(name) != name {
				t.Fatalf("%q mentions %q", value, name)
			}
		}
		for _, plain := range alternatives(pattern) {
			if len(plain) > len(pattern) {
				t.Fatalf("%q stands for %q", pattern, plain)
			}
		}
		if _, err := linkName(Link{"/" + pattern, value}); err == nil && (value == "" || value[0] == '/') {
			t.Fatalf("%q is taken for relative", value)
		}
	})
}
