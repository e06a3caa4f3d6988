package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
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
	if got := daemon("status"); got != (result{"resourcemanager is stopped.\n", "", 3}) {
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
	if got := daemon("start"); got != (result{"", "WARNING: " + dir + "/pids does not exist. Creating.\nWARNING: " + dir + "/logs does not exist. Creating.\n", 0}) {
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
	if got := daemon("status"); got != (result{"resourcemanager is running as process " + strconv.Itoa(pid) + ".\n", "", 0}) {
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

// What a pid file says is not believed: the daemon may have died, and its number may be another process's by now.
func TestPIDFilesOfDeadDaemons(t *testing.T) {
	w, dir := background(t, "wait", "HADOOP_STOP_TIMEOUT=20")
	pids := filepath.Join(dir, "pids")
	if err := errors.Join(os.MkdirAll(pids, 0o755), os.Mkdir(filepath.Join(dir, "logs"), 0o755)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(pids, "hadoop-ops-resourcemanager.pid")
	daemon := func(action string) result { return w.run("--config", dir, "--daemon", action, "resourcemanager") }
	self := strconv.Itoa(os.Getpid())
	const noPID = "not a process id"
	for _, x := range []struct {
		content             string
		status, start, stop string // what they say on standard error; stop is for the content, not for what start makes of it
		stopCode            int
		kept                bool // by stop
	}{
		{"2147483646\n", "", "", "", 0, false},
		{self + "\n", "", "", "process " + self + ", which " + file + " names, is no resourcemanager: it is left alone, and the file removed", 0, false},
		{"", "", "", "", 0, true},
		{"-1", noPID, noPID, noPID, 1, true},
		{"1", noPID, noPID, noPID, 1, true},
		{"x", noPID, noPID, noPID, 1, true},
	} {
		write := func() {
			t.Helper()
			if err := os.WriteFile(file, []byte(x.content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		says := func(got, want string) bool {
			return want == "" && got == "" || want != "" && strings.Contains(got, want)
		}
		write()
		if got := daemon("status"); got.code != 1 || got.out != "resourcemanager is stopped.\n" || !says(got.err, x.status) {
			t.Errorf("%q: status: %+v", x.content, got)
		}
		got := daemon("stop")
		if _, err := os.Stat(file); got.code != x.stopCode || !says(got.err, x.stop) || (err == nil) != x.kept {
			t.Errorf("%q: stop: %+v, %v", x.content, got, err)
		}
		write()
		if got := daemon("start"); got.code != 0 || !says(got.err, x.start) {
			t.Errorf("%q: start: %+v", x.content, got)
		}
		if got := daemon("stop"); got != (result{"", "", 0}) {
			t.Errorf("%q: stop of what was started: %+v", x.content, got)
		}
	}
}

// A daemon of Apache's counts as the daemon that its pid file names, and others do not.
func TestDaemonOfApaches(t *testing.T) {
	w, dir := background(t, "wait")
	pids := filepath.Join(dir, "pids")
	if err := os.MkdirAll(pids, 0o755); err != nil {
		t.Fatal(err)
	}
	w.Daemons.NodeManager = waits
	java := exec.Command("sh", "-c", "echo; read line", "java", "-Dproc_resourcemanager", "-Xmx1g")
	in, err := java.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := java.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); java.Wait() }()
	for daemon, want := range map[string]Exit{"resourcemanager": statusRunning, "nodemanager": statusDead} {
		file := filepath.Join(pids, "hadoop-ops-"+daemon+".pid")
		if err := os.WriteFile(file, []byte(strconv.Itoa(java.Process.Pid)), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := w.run("--config", dir, "--daemon", "status", daemon); got.code != int(want) {
			t.Errorf("%s: %+v", daemon, got)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

// What the environment says of a daemon's files and process is taken, or named when it cannot be.
func TestEnvironmentOfADaemon(t *testing.T) {
	w, dir := background(t, "wait", "USER=bob", "HADOOP_NICENESS=high", "HADOOP_STOP_TIMEOUT=19.6", "HADOOP_RESOURCEMANAGER_OPTS=-Da=b")
	delete(w.vars, "HADOOP_IDENT_STRING")
	daemon := func(action string) result { return w.run("--config", dir, "--daemon", action, "resourcemanager") }
	if got := daemon("start"); got.code != 0 || !strings.Contains(got.err, "HADOOP_NICENESS=high cannot be applied") ||
		!strings.Contains(got.err, "WARNING: HADOOP_RESOURCEMANAGER_OPTS has been replaced by YARN_RESOURCEMANAGER_OPTS.") {
		t.Errorf("%+v", got)
	}
	pid, err := readPID(filepath.Join(dir, "pids", "hadoop-bob-resourcemanager.pid"))
	if err != nil || !alive(pid) {
		t.Error(pid, err)
	}
	if got := daemon("stop"); got.code != 0 || strings.Contains(got.err, "HADOOP_STOP_TIMEOUT") || alive(pid) {
		t.Errorf("%+v", got)
	}
	for set, want := range map[string]int{"19.6": 20, "0": 0, "7": 7, "x": defaultStopTimeout, "-1": defaultStopTimeout, "NaN": defaultStopTimeout, "1e99": defaultStopTimeout} {
		w := newWorld("HADOOP_STOP_TIMEOUT=" + set)
		if got := (&call{Env: &w.Env}).stopTimeout(); got != want || (w.err.Len() > 0) != (want == defaultStopTimeout) {
			t.Errorf("%s: %d %s", set, got, w.err.String())
		}
	}
	for _, name := range []string{"HADOOP_PID_DIR", "HADOOP_LOG_DIR"} {
		was := w.vars[name]
		w.vars[name] = "/proc/none/x"
		if got := daemon("start"); got.code != 1 || !strings.Contains(got.err, "/proc/none/x cannot be made ("+name+"): ") {
			t.Errorf("%+v", got)
		}
		w.vars[name] = was
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
