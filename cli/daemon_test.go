package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// beDaemon makes the test binary stand in for the yarn program.
const beDaemon = "HEDDLE_TEST_STAND_IN"

// standIn runs the command line with a ResourceManager that only waits.
func standIn() int {
	wait := func(ctx context.Context, s Start) error {
		if os.Getenv(beDaemon) == "fail" {
			return errors.New("cannot bind")
		}
		if os.Getenv(beDaemon) == "stubborn" {
			signal.Ignore(syscall.SIGTERM)
			ctx = context.Background()
		}
		fmt.Fprintf(s.Stdout, "logs to %s, args %v, dir %s, level %s\n", s.LogFile, s.Args, s.ConfDir, s.LogLevel)
		<-ctx.Done()
		return ctx.Err()
	}
	return Main(Daemons{ResourceManager: wait})
}

// background is a world whose program is this test binary.
func background(t *testing.T, mode string, vars ...string) (*world, string) {
	t.Helper()
	dir := t.TempDir()
	w := newWorld(append(vars, "HADOOP_PID_DIR="+dir+"/pids", "HADOOP_LOG_DIR="+dir+"/logs", "HADOOP_IDENT_STRING=ops")...)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w.Program = program
	w.MustLive = time.Millisecond
	w.Daemons.ResourceManager = func(context.Context, Start) error { return errors.New("not in this process") }
	w.Environ = func() []string { return append(os.Environ(), beDaemon+"="+mode) }
	t.Cleanup(func() {
		if pid, _ := readPID(dir + "/pids/hadoop-ops-resourcemanager.pid"); pid > 1 {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return w, dir
}

// written waits until a file has a line that begins with these words.
func written(t *testing.T, path, words string) string {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if b, err := os.ReadFile(path); err == nil && strings.Contains("\n"+string(b), "\n"+words) && strings.HasSuffix(string(b), "\n") {
			return string(b)
		}
	}
	t.Fatalf("%q is not in %s", words, path)
	return ""
}

func TestDaemonStartStatusStop(t *testing.T) {
	w, dir := background(t, "wait")
	conf := t.TempDir()
	daemon := func(action string) result {
		return w.run("--config", conf, "--loglevel", "WARN", "--daemon", action, "resourcemanager", "-D", "a=b")
	}
	if got := daemon("status"); got.code != 3 {
		t.Fatalf("status before start: %+v", got)
	}
	if got := daemon("stop"); got.code != 0 {
		t.Fatalf("stop of nothing: %+v", got)
	}
	lock, err := syscall.Open(conf, syscall.O_RDONLY, 0) // as a script's flock has it: not closed by itself
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(lock)
	if got := daemon("start"); got != (result{"", "", 0}) {
		t.Fatalf("start: %+v", got)
	}
	pidFile := filepath.Join(dir, "pids", "hadoop-ops-resourcemanager.pid")
	pid, err := readPID(pidFile)
	if err != nil || !alive(pid) {
		t.Fatal(pid, err)
	}
	host, _ := os.Hostname()
	base := filepath.Join(dir, "logs", "hadoop-ops-resourcemanager-"+host)
	out := written(t, base+".out", "logs to ")
	want := fmt.Sprintf("logs to %s.log, args [], dir %s, level WARN\n", base, conf)
	if out != want {
		t.Errorf("%q, want %q", out, want)
	}
	open, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(open) < 3 {
		t.Errorf("the daemon has %v open: %v", open, err)
	}
	for _, f := range open {
		if to, _ := os.Readlink(f); to == conf {
			t.Errorf("the daemon has a descriptor of who started it: %s", to)
		}
	}
	if got := daemon("status"); got.code != 0 {
		t.Errorf("status: %+v", got)
	}
	if got := daemon("start"); got.code != 1 || !strings.Contains(got.err, "resourcemanager is running as process "+strconv.Itoa(pid)+".  Stop it first") {
		t.Errorf("second start: %+v", got)
	}
	if got := daemon("stop"); got != (result{"", "", 0}) || alive(pid) {
		t.Errorf("stop: %+v", got)
	}
	if _, err := os.Stat(pidFile); !errors.Is(err, os.ErrNotExist) {
		t.Error("pid file left behind", err)
	}
}

func TestDaemonThatDoesNotListenIsKilled(t *testing.T) {
	w, dir := background(t, "stubborn", "HADOOP_STOP_TIMEOUT=0")
	if got := w.run("--config", dir, "--daemon", "start", "resourcemanager"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	host, _ := os.Hostname()
	written(t, filepath.Join(dir, "logs", "hadoop-ops-resourcemanager-"+host+".out"), "logs to ") // deaf from here on
	if got := w.run("--config", dir, "--daemon", "stop", "resourcemanager"); got.code != 0 || !strings.Contains(got.err, "kill -9") {
		t.Fatalf("%+v", got)
	}
}

func TestDaemonThatEndsAtOnce(t *testing.T) {
	w, dir := background(t, "fail")
	w.MustLive = time.Minute
	got := w.run("--config", dir, "--daemon", "start", "resourcemanager")
	if got.code != 1 || !strings.Contains(got.err, "ended at once (exit status 1)") || !strings.Contains(got.err, ".out") {
		t.Fatalf("%+v", got)
	}
	if got := w.run("--config", dir, "--daemon", "status", "resourcemanager"); got.code != 3 {
		t.Errorf("%+v", got)
	}
}

func TestStatusOfADeadDaemon(t *testing.T) {
	w, dir := background(t, "wait")
	pids := filepath.Join(dir, "pids")
	if err := os.MkdirAll(pids, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(pids, "hadoop-ops-resourcemanager.pid")
	for _, content := range []string{"2147483646\n", "-1", "1", "x"} {
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := w.run("--config", dir, "--daemon", "status", "resourcemanager"); got.code != 1 {
			t.Errorf("%q: %+v", content, got)
		}
	}
	// A file that names no sensible process is never acted upon.
	if got := w.run("--config", dir, "--daemon", "stop", "resourcemanager"); got.code != 1 || !strings.Contains(got.err, "not a process id") {
		t.Errorf("%+v", got)
	}
}

func TestForeground(t *testing.T) {
	w := newWorld("HADOOP_OPTS=-Dx.y=z -Xmx1g", "YARN_CONF_DIR="+t.TempDir(), "HADOOP_ROOT_LOGGER=ERROR,console")
	var got Start
	w.Daemons.ResourceManager = func(_ context.Context, s Start) error { got = s; return Exit(7) }
	r := w.run("resourcemanager", "-D", "a=b")
	if r.code != 7 || got.ConfDir != w.vars["YARN_CONF_DIR"] || got.System["x.y"] != "z" || got.Overrides[0].Value != "b" ||
		len(got.Args) != 0 || got.LogLevel != "ERROR" || !strings.Contains(r.err, "YARN_CONF_DIR has been replaced by HADOOP_CONF_DIR") {
		t.Errorf("%+v %+v", r, got)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	w.Daemons.ResourceManager = func(ctx context.Context, s Start) error { return ctx.Err() }
	if code := w.Run(ended, []string{"resourcemanager"}); code != 0 {
		t.Errorf("exit code %d after being asked to stop", code)
	}
}
