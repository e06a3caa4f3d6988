package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	if os.Getenv(beDaemon) == "asleep" { // whatever the command line
		fmt.Println()
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	}
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
	if got := w.run("--config", dir, "--daemon", "stop", "resourcemanager"); got.code != 0 || !strings.Contains(got.err, "after 1 seconds: Trying to kill with kill -9") {
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
		{self + "\n", "", "", "process " + self + ", which " + file + " names, is not a resourcemanager; leaving it alone and removing the file", 0, false},
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

// pidFile writes the pid file of the ResourceManager of background.
func pidFile(t *testing.T, dir string, pid int) string {
	t.Helper()
	path := filepath.Join(dir, "pids", "hadoop-ops-resourcemanager.pid")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(strconv.Itoa(pid)+"\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	return path
}

// asleep starts a process with these words as its command line, which waits to be ended.
func asleep(t *testing.T, words ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: program, Args: words, Env: append(os.Environ(), beDaemon+"=asleep")}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, err = out.Read(make([]byte, 1)) // until then the command line may be empty
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }() // at once, lest it be a zombie
	t.Cleanup(func() { in.Close(); cmd.Process.Kill(); <-ended })
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}

// A process is the daemon if its program and its command line are; one that only has the daemon's name among its words is not.
func TestProcessesOfPIDFiles(t *testing.T) {
	for line, want := range map[string]Exit{
		"yarn resourcemanager": statusRunning,
		"/elsewhere/yarn --config /c --loglevel WARN resourcemanager -Dx=y": statusRunning,
		"java -Dproc_resourcemanager -Xmx1g":                                statusRunning,
		"java -Xmx1g -Dproc_resourcemanager":                                statusRunning,
		"java -Dproc_nodemanager org.example.Main resourcemanager":          statusDead,
		"java -Dproc_resourcemanager2":                                      statusDead,
		"yarn":                                                              statusDead,
		"yarn nodemanager":                                                  statusDead,
		"yarn logs -am resourcemanager":                                     statusDead,
		"yarn --daemon stop resourcemanager":                                statusDead,
		"yarn --daemon start resourcemanager":                               statusDead,
		"yarn --unknown resourcemanager":                                    statusDead,
		"sudo yarn --daemon stop resourcemanager":                           statusDead,
		"bash /bin/yarn resourcemanager":                                    statusDead,
		"journalctl -fu resourcemanager":                                    statusDead,
		"vi resourcemanager":                                                statusDead,
		"/elsewhere/link --config c resourcemanager":                        statusDead,
	} {
		w, dir := background(t, "wait")
		test := w.Program
		w.Program = "/opt/heddle/bin/yarn" // this test's binary is another program
		cmd := asleep(t, strings.Fields(line)...)
		pidFile(t, dir, cmd.Process.Pid)
		status := func() Exit { return Exit(w.run("--config", dir, "--daemon", "status", "resourcemanager").code) }
		if got := status(); got != want {
			t.Errorf("%s: status %d, want %d", line, got, want)
		}
		if strings.HasPrefix(line, "/elsewhere/link") { // called by another name, it is the same program
			if w.Program = test; status() != statusRunning {
				t.Errorf("%s, of the same program: status %d", line, status())
			}
		}
	}
}

// The command line is empty while a process exits, and for threads of the kernel.
func TestProcessWithoutACommandLine(t *testing.T) {
	c := &call{Env: &newWorld().Env, command: lookUp("resourcemanager")}
	for stat, want := range map[string]bool{"": true, "R 1 7 7 0 -1 4194564 0": true, "S 2 0 0 0 -1 2129984 0": false} {
		if got := c.isDaemon(nil, "", strings.Fields(stat)); got != want {
			t.Errorf("%q: %v", stat, got)
		}
	}
	if fields := stat(os.Getpid()); len(fields) < 7 || fields[1] != strconv.Itoa(os.Getppid()) || ofKernel(fields) {
		t.Errorf("%q", fields)
	}
}

// In a container that starts again pids repeat, so a kept pid file may name the very process that reads it.
func TestPIDFileWithItsReader(t *testing.T) {
	w, dir := background(t, "wait")
	path := pidFile(t, dir, 1)
	reader := func(action string) (string, int) {
		cmd := exec.Command("sh", "-c", `echo $$ >"$0"; exec "$@"`, path, w.Program, "--config", dir, "--daemon", action, "resourcemanager")
		cmd.Env = append(w.Environ(), "HADOOP_PID_DIR="+dir+"/pids", "HADOOP_LOG_DIR="+dir+"/logs", "HADOOP_IDENT_STRING=ops", "HADOOP_STOP_TIMEOUT=1")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := reader("status"); out != "resourcemanager is stopped.\n" || code != int(statusDead) {
		t.Errorf("status: %s, exit code %d", out, code)
	}
	if out, code := reader("stop"); !strings.Contains(out, "is not a resourcemanager; leaving it alone and removing the file") || code != 0 {
		t.Errorf("stop: %s, exit code %d", out, code)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("the pid file is still there", err)
	}
	if out, code := reader("start"); out != "WARNING: "+dir+"/logs does not exist. Creating.\n" || code != 0 {
		t.Errorf("start: %s, exit code %d", out, code)
	}
}

// Nothing is known of a daemon whose pid file cannot be read, and nothing is done to it.
func TestUnreadablePIDFile(t *testing.T) {
	w, dir := background(t, "wait")
	path := filepath.Join(dir, "pids", "hadoop-ops-resourcemanager.pid")
	if err := os.MkdirAll(path, 0o755); err != nil { // cannot be read, even by root
		t.Fatal(err)
	}
	daemon := func(action string) result { return w.run("--config", dir, "--daemon", action, "resourcemanager") }
	why := "cannot read the pid file: read " + path + ": is a directory (HADOOP_PID_DIR)\n"
	if got := daemon("status"); got != (result{"The status of resourcemanager is unknown.\n", "WARNING: " + why, 4}) {
		t.Errorf("status: %+v", got)
	}
	for _, action := range []string{"start", "stop"} {
		if got := daemon(action); got != (result{"", "yarn resourcemanager: " + why, 1}) {
			t.Errorf("%s: %+v", action, got)
		}
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// A daemon of Apache's is not joined by a second one, and is stopped like ours; it is not mistaken for a daemon of another kind.
func TestDaemonOfApaches(t *testing.T) {
	w, dir := background(t, "wait", "HADOOP_STOP_TIMEOUT=20")
	w.Daemons.NodeManager = waits
	daemon := func(action, kind string) result { return w.run("--config", dir, "--daemon", action, kind) }
	pid := asleep(t, "/usr/lib/jvm/bin/java", "-Dproc_resourcemanager", "-Xmx1g").Process.Pid
	path := pidFile(t, dir, pid)
	other := filepath.Join(dir, "pids", "hadoop-ops-nodemanager.pid")
	if err := os.WriteFile(other, []byte(strconv.Itoa(pid)), 0o644); err != nil {
		t.Fatal(err)
	}
	running := "resourcemanager is running as process " + strconv.Itoa(pid) + "."
	if got := daemon("status", "resourcemanager"); got != (result{running + "\n", "", 0}) {
		t.Errorf("status: %+v", got)
	}
	if got := daemon("start", "resourcemanager"); got != (result{"", running + "  Stop it first and ensure " + path + " file is empty before retry.\n", 1}) {
		t.Errorf("start: %+v", got)
	}
	if got := daemon("status", "nodemanager"); got != (result{"nodemanager is stopped.\n", "", int(statusDead)}) {
		t.Errorf("status of another: %+v", got)
	}
	if got := daemon("stop", "nodemanager"); got.code != 0 || !strings.Contains(got.err, "is not a nodemanager; leaving it alone") || !alive(pid) {
		t.Errorf("stop of another: %+v", got)
	}
	if got := daemon("stop", "resourcemanager"); got != (result{}) || alive(pid) {
		t.Errorf("stop: %+v", got)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("the pid file is still there", err)
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
	for set, want := range map[string]int{"19.6": 20, "0": 1, "0.4": 1, "0.5": 1, "1.5": 2, "2.5": 2, "7": 7, "x": defaultStopTimeout, "-1": defaultStopTimeout, "NaN": defaultStopTimeout, "1e99": defaultStopTimeout} {
		w := newWorld("HADOOP_STOP_TIMEOUT=" + set)
		if got := (&call{Env: &w.Env}).stopTimeout(); got != want || (w.err.Len() > 0) != (want == defaultStopTimeout) {
			t.Errorf("%s: %d %s", set, got, w.err.String())
		}
	}
	for _, name := range []string{"HADOOP_PID_DIR", "HADOOP_LOG_DIR"} {
		was := w.vars[name]
		w.vars[name] = "/proc/none/x"
		if got := daemon("start"); got.code != 1 || !strings.Contains(got.err, "cannot create /proc/none/x ("+name+"): ") {
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
