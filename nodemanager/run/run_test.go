package run

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-project/heddle/nodemanager/process"
	"github.com/heddle-project/heddle/yarn"
)

// The test binary is also the daemon that is killed while its container runs, and somebody else who deletes.
const (
	helperDir    = "HEDDLE_RUN_TEST_DIR"
	helperRemove = "HEDDLE_RUN_TEST_REMOVE"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperDir); dir != "" {
		os.Exit(daemon(dir, os.Args[1], os.Args[2]))
	}
	if tree := os.Getenv(helperRemove); tree != "" {
		removeHere(tree)
		return
	}
	os.Exit(m.Run())
}

// daemon starts a container, tells its process id and waits for its own end.
func daemon(dir, id, command string) int {
	l := New(testConfig())
	cid, err := yarn.ParseContainerID(id)
	c := containerAs(cid, dir, command)
	if err == nil {
		err = l.Prepare(c)
	}
	if err == nil {
		var p *Process
		if p, err = l.Start(c); err == nil {
			p.awaitPID(context.Background())
			fmt.Println(p.PID())
			select {}
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// killedDaemon has started the container, which has come so far as to write the file ready, and was killed. It returns the
// container's process id.
func killedDaemon(t *testing.T, dir string, c *Container) int {
	t.Helper()
	cmd := exec.Command(os.Args[0], c.ID.String(), c.Command[0])
	cmd.Env = append(os.Environ(), helperDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line := make([]byte, 32)
	n, err := out.Read(line)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	if err != nil || pid == 0 {
		t.Fatalf("the daemon said %q, %v", line[:n], err)
	}
	awaitFile(t, filepath.Join(c.WorkDir, "ready"))
	cmd.Process.Kill()
	cmd.Wait()
	return pid
}

func testConfig() Config {
	return Config{
		Host: "node1", Port: 45454, HTTPPort: 8042,
		Environ:   []string{"PATH=/usr/local/bin:/usr/bin:/bin", "JAVA_HOME=/no/java", "SECRET=daemon's", "LANG=C.UTF-8"},
		Whitelist: []string{"JAVA_HOME", "HADOOP_HOME", "PATH", "LANG", "TZ"},
		AdminEnv:  []Variable{{"MALLOC_ARENA_MAX", "$MALLOC_ARENA_MAX"}},
		Home:      "/home/", Debug: false, Umask: 0o022, LogDirMode: 0o710,
		KillDelay: 150 * time.Millisecond, PIDWait: 5 * time.Second, ExitFileWait: 10 * time.Second,
		StderrPattern: "{*stderr*,*STDERR*}", StderrTail: 4096,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// impatient does not wait for exit codes that will not come.
func impatient() *Launcher {
	cfg := testConfig()
	cfg.ExitFileWait = 50 * time.Millisecond
	return New(cfg)
}

// Ids that no other test has, as containers are known by them.
var (
	testApp = yarn.ApplicationID{ClusterTimestamp: time.Now().UnixMilli()<<16 | int64(os.Getpid()&0xffff), Sequence: 7}
	lastID  atomic.Int64
)

// containerIn has two local and two log directories in dir, the second of each chosen.
func containerIn(dir string, command ...string) *Container {
	return containerAs(yarn.ContainerID{Attempt: yarn.AttemptID{Application: testApp, Attempt: 1}, Number: lastID.Add(1)}, dir, command...)
}

func containerAs(cid yarn.ContainerID, dir string, command ...string) *Container {
	c := &Container{ID: cid, User: "alice", Command: command}
	app, id := cid.Attempt.Application.String(), cid.String()
	for _, disk := range []string{"disk1", "disk2"} {
		local, logs := filepath.Join(dir, disk, "local"), filepath.Join(dir, disk, "logs")
		user := filepath.Join(local, "usercache", "alice")
		c.UserDirs = append(c.UserDirs, user)
		c.AppDirs = append(c.AppDirs, filepath.Join(user, "appcache", app))
		c.WorkDirs = append(c.WorkDirs, filepath.Join(user, "appcache", app, id))
		c.LogDirs = append(c.LogDirs, filepath.Join(logs, app, id))
		c.PrivateDir = filepath.Join(local, "nmPrivate", app, id)
	}
	c.WorkDir, c.LogDir = c.WorkDirs[1], c.LogDirs[1]
	return c
}

// start runs a container and sees to it that nothing of it outlives the test.
func start(t *testing.T, l *Launcher, c *Container) *Process {
	t.Helper()
	if err := l.Prepare(c); err != nil {
		t.Fatal(err)
	}
	p, err := l.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(context.Background()); err != nil {
			t.Error(err)
		}
		none(t, c.ID)
	})
	return p
}

// none checks that no process bears the container's mark.
func none(t *testing.T, id yarn.ContainerID) {
	t.Helper()
	table, err := process.Linux.Table()
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range table.All() {
		if value, _ := process.Linux.Variable(info.PID, mark); value == id.String() {
			t.Errorf("left behind: %+v %q", info, process.Linux.CommandLine(info.PID))
		}
	}
}

// await waits for what must come.
func await(t *testing.T, what string, come func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !come(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not come", what)
		}
	}
}

func awaitExit(t *testing.T, p *Process) Exit {
	t.Helper()
	await(t, "the exit", p.ended)
	return p.Exit()
}

func awaitFile(t *testing.T, name string) string {
	t.Helper()
	var text []byte
	await(t, name, func() bool {
		var err error
		text, err = os.ReadFile(name)
		return err == nil && bytes.HasSuffix(text, []byte("\n"))
	})
	return strings.TrimSuffix(string(text), "\n")
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAContainer(t *testing.T) {
	c := containerIn(t.TempDir(), "{{MINE}}", "a b;", "env -0 1><LOG_DIR>/env;", "echo said; echo bad >&2; pwd -P 1>where<CPS>1")
	c.Env = []Variable{{"MINE", "echo"}, {"SELF", "$SELF:x"}, {"LATER", "${MINE}-$NODE"}, {"NODE", "{{NM_HOST}}"}, {"USER", "mallory"}, {"MALLOC_ARENA_MAX", "4"}}
	c.Aux = []Aux{{"mapreduce_shuffle", []byte{0, 0, 0x34, 0xfa}}}
	c.Counters = [5]int64{1, 2, 3, 4, 5}
	p := start(t, New(testConfig()), c)
	if exit := awaitExit(t, p); exit != (Exit{}) {
		t.Fatalf("got %+v; %s", exit, read(t, filepath.Join(c.LogDir, prelaunchErr)))
	}
	if p.PID() == 0 || p.ID() != c.ID {
		t.Errorf("process %d of %s", p.PID(), p.ID())
	}
	got := map[string]string{}
	for entry := range strings.SplitSeq(strings.TrimSuffix(read(t, filepath.Join(c.LogDir, "env")), "\x00"), "\x00") {
		name, value, _ := strings.Cut(entry, "=")
		got[name] = value
	}
	want := map[string]string{
		"MINE": "echo", "NODE": "node1", "LATER": "echo-node1",
		"SELF":             "$SELF:x:x", // the unexpanded value was there before
		"MALLOC_ARENA_MAX": "4:4",
		"CONTAINER_ID":     c.ID.String(), "NM_HOST": "node1", "NM_PORT": "45454", "NM_HTTP_PORT": "8042",
		"HADOOP_TOKEN_FILE_LOCATION": c.WorkDir + "/container_tokens",
		"LOCAL_DIRS":                 strings.Join(c.AppDirs, ","), "LOCAL_USER_DIRS": c.UserDirs[0] + "/," + c.UserDirs[1] + "/",
		"LOG_DIRS": strings.Join(c.LogDirs, ","), "USER": "alice", "LOGNAME": "alice", "HOME": "/home/", "PWD": c.WorkDir,
		"LOCALIZATION_COUNTERS": "1,2,3,4,5", "JVM_PID": strconv.Itoa(p.PID()),
		"NM_AUX_SERVICE_mapreduce_shuffle": "AAA0+gAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
		"JAVA_HOME":                        "/no/java", "LANG": "C.UTF-8",
		"PRELAUNCH_OUT": c.LogDir + "/prelaunch.out", "PRELAUNCH_ERR": c.LogDir + "/prelaunch.err",
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s: got %q, want %q", name, got[name], value)
		}
		delete(got, name)
	}
	for name := range got {
		if name != "PATH" && name != "SHLVL" && name != "_" && name != "OLDPWD" {
			t.Errorf("%s=%s has come from nowhere", name, got[name])
		}
	}
	// bash has a PATH of its own, which is not replaced by the daemon's.
	if path := got["PATH"]; path == "" || path == testConfig().Environ[0][len("PATH="):] {
		t.Errorf("PATH is %q", path)
	}
	if out := read(t, filepath.Join(c.LogDir, prelaunchOut)); !strings.HasSuffix(out, "Launching container\na b\nsaid\n") {
		t.Errorf("prelaunch.out: %q", out)
	}
	if out := read(t, filepath.Join(c.LogDir, prelaunchErr)); out != "bad\n" {
		t.Errorf("prelaunch.err: %q", out)
	}
	if where := read(t, filepath.Join(c.WorkDir, "where:1")); where != c.WorkDir+"\n" {
		t.Errorf("it ran in %q", where)
	}
	if read(t, c.pidFile()) != fmt.Sprintln(p.PID()) || read(t, c.pidFile()+exitSuffix) != "0\n" {
		t.Error("the files of the process are wrong")
	}
}

func TestExits(t *testing.T) {
	const exception = "Exception from container-launch.\nContainer id: ID\nExit code: "
	for _, c := range []struct {
		name, command string
		want          Exit
	}{
		{"stderr", "echo one 1>&2; echo two 2><LOG_DIR>/stderr 1>&2; exit 3", Exit{3, exception + "3\n",
			"Container exited with a non-zero exit code 3. Error file: prelaunch.err.\nLast 4096 bytes of prelaunch.err :\none\n" +
				"Last 4096 bytes of stderr :\ntwo\n\n"}},
		{"no stderr", "exit 255", Exit{255, exception + "255\n",
			"Container exited with a non-zero exit code 255. Error file: prelaunch.err.\nLast 4096 bytes of prelaunch.err :\n"}},
		{"terminated", "kill -TERM $$", Exit{143, "Container killed on request. Exit code is 143", "Container exited with a non-zero exit code 143. "}},
		{"killed", "kill -KILL $$", Exit{137, "Container killed on request. Exit code is 137", "Container exited with a non-zero exit code 137. "}},
		{"segmentation fault", "kill -SEGV $$", Exit{139, exception + "139\nException message: ", ""}},
		{"not there", "exec /no/such/program", Exit{127, exception + "127\n", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			container := containerIn(t.TempDir(), c.command)
			got := awaitExit(t, start(t, New(testConfig()), container))
			got.Note = strings.Replace(got.Note, container.ID.String(), "ID", 1)
			if c.want.Text == "" {
				c.want.Text = got.Text
			}
			if strings.HasSuffix(c.want.Note, "message: ") { // what bash says of its child
				got.Note = got.Note[:min(len(got.Note), len(c.want.Note))]
			}
			if got != c.want {
				t.Errorf("got %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// The scripts fail before they could redirect what they write.
func TestScriptsFail(t *testing.T) {
	l := New(testConfig())
	c := containerIn(t.TempDir(), "true")
	if _, err := l.Start(c); err == nil {
		t.Error("what was not prepared is started")
	}
	if err := l.Prepare(c); err != nil {
		t.Fatal(err)
	}
	if err := RemoveTree(c.LogDir); err != nil {
		t.Fatal(err)
	}
	p, err := l.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	exit := awaitExit(t, p)
	if exit.Code != 1 || !strings.Contains(exit.Note, "Exception message: ") || !strings.Contains(exit.Note, "prelaunch.out: No such file or directory") {
		t.Errorf("got %+v", exit)
	}
	if err := l.Prepare(c); err != nil {
		t.Fatal(err)
	}
	if err := RemoveTree(c.WorkDir); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Start(c); err == nil {
		t.Error("no working directory is no error")
	}
}

func TestNice(t *testing.T) {
	cfg := testConfig()
	cfg.Nice = 3
	c := containerIn(t.TempDir(), "nice 1><LOG_DIR>/nice")
	if exit := awaitExit(t, start(t, New(cfg), c)); exit.Code != 0 {
		t.Fatalf("got %+v", exit)
	}
	before, err := exec.Command("nice").Output()
	if err != nil {
		t.Fatal(err)
	}
	was, _ := strconv.Atoi(strings.TrimSpace(string(before)))
	if got := read(t, filepath.Join(c.LogDir, "nice")); got != fmt.Sprintln(min(was+3, 19)) {
		t.Errorf("got %q after %d", got, was)
	}
}

// A second try finds neither the first one's exit code nor its links in the way.
func TestASecondTry(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "archive")
	for _, name := range []string{target, filepath.Join(target, ".hidden")} {
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l := New(testConfig())
	c := containerIn(dir, "exit 5")
	c.Links = []Link{{target, "lib//deep/"}, {target, "all/*"}, {target, "again"}}
	if exit := awaitExit(t, start(t, l, c)); exit.Code != 5 {
		t.Fatalf("first: %+v", exit)
	}
	c.Command = []string{"exit 6"}
	if exit := awaitExit(t, start(t, l, c)); exit.Code != 6 {
		t.Fatalf("second: %+v", exit)
	}
	for _, name := range []string{"lib/deep", "again"} {
		if to, err := os.Readlink(filepath.Join(c.WorkDir, name)); err != nil || to != target {
			t.Errorf("%s leads to %q, %v", name, to, err)
		}
	}
	if to, err := os.Readlink(filepath.Join(c.WorkDir, ".hidden")); err != nil || to != filepath.Join(target, ".hidden") {
		t.Errorf("the entry leads to %q, %v", to, err)
	}
	if names, _ := entries(target); len(names) != 1 {
		t.Errorf("ln has put links into the target: %v", names)
	}
}

func TestHugeCommandsAndEnvironments(t *testing.T) {
	many := make([]Variable, 100)
	for i := range many {
		many[i] = Variable{fmt.Sprintf("V%d", i), strings.Repeat("x", 10_000)}
	}
	for _, c := range []struct {
		name string
		make func(c *Container)
		code int32
		says string
	}{
		{"command of 1 MB", func(c *Container) { c.Command = []string{"true", strings.Repeat("x", 1<<20)} }, 126, "Argument list too long"},
		{"value of 1 MB", func(c *Container) { c.Env = []Variable{{"BIG", strings.Repeat("x", 1<<20)}} }, 126, "Argument list too long"},
		{"1 MB in 100 variables", func(c *Container) { c.Env = many }, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			container := containerIn(t.TempDir(), "true")
			c.make(container)
			exit := awaitExit(t, start(t, New(testConfig()), container))
			if exit.Code != c.code || !strings.Contains(exit.Text, c.says) || len(exit.Text) > 10_000 {
				t.Errorf("got %d %.500q", exit.Code, exit.Text)
			}
		})
	}
}

func TestPrepareRefuses(t *testing.T) {
	for name, spoil := range map[string]func(c *Container){
		"user with a slash":     func(c *Container) { c.User = "../alice" },
		"no user":               func(c *Container) { c.User = "" },
		"relative directory":    func(c *Container) { c.LogDir = "logs" },
		"variable without name": func(c *Container) { c.Env = []Variable{{"", "x"}} },
		"name with =":           func(c *Container) { c.Env = []Variable{{"A=B", "x"}} },
		"value with NUL":        func(c *Container) { c.Env = []Variable{{"A", "x\x00y"}} },
		"absolute link":         func(c *Container) { c.Links = []Link{{"/bin", "/bin2"}} },
		"link without name":     func(c *Container) { c.Links = []Link{{"/bin", "//"}} },
		"relative target":       func(c *Container) { c.Links = []Link{{"bin", "bin"}} },
		"wildcard of a file":    func(c *Container) { c.Links = []Link{{"/bin/bash", "*"}} },
		"file in the way": func(c *Container) {
			os.MkdirAll(filepath.Dir(c.WorkDir), 0o755)
			os.WriteFile(c.WorkDir, nil, 0o644)
		},
		"link in the way": func(c *Container) {
			os.MkdirAll(filepath.Dir(c.LogDir), 0o755)
			os.Symlink(os.TempDir(), c.LogDir)
		},
	} {
		c := containerIn(t.TempDir(), "true")
		spoil(c)
		if err := New(testConfig()).Prepare(c); err == nil || !strings.Contains(err.Error(), c.ID.String()) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A disk that was not chosen may be broken.
func TestPrepareWithABrokenDisk(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "disk1"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	l := New(testConfig())
	if err := l.Prepare(containerIn(dir, "true")); err != nil {
		t.Error(err)
	}
	c := containerIn(dir, "true")
	c.WorkDir = c.WorkDirs[0]
	if err := l.Prepare(c); err == nil {
		t.Error("the chosen disk is broken, which is no error")
	}
}

// What a container has put in place of its scripts is replaced, not written to.
func TestPrepareReplaces(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "precious")
	c := containerIn(dir, "true")
	if err := os.MkdirAll(filepath.Join(c.WorkDir, tokensFile, "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(precious, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(precious, filepath.Join(c.WorkDir, launchScript)); err != nil {
		t.Fatal(err)
	}
	l := New(testConfig())
	if err := l.Prepare(c); err != nil {
		t.Fatal(err)
	}
	if read(t, precious) != "mine" || read(t, filepath.Join(c.WorkDir, tokensFile)) != string(noTokens) {
		t.Error("a link was followed, or the directory left")
	}
	if err := l.Cleanup(c); err != nil {
		t.Fatal(err)
	}
	for name, there := range map[string]bool{launchScript: false, tokensFile: false, wrapperScript: true, sessionScript: true, "tmp": true} {
		if exists(filepath.Join(c.WorkDir, name)) != there {
			t.Errorf("after the cleanup %s: %v", name, !there)
		}
	}
	if exists(c.PrivateDir) || !exists(c.LogDir) {
		t.Error("the private directory is there, or the logs are not")
	}
}

// What the daemon and its scripts cost for a container that does nothing.
func BenchmarkContainer(b *testing.B) {
	dir := b.TempDir()
	l := New(testConfig())
	for b.Loop() {
		c := containerIn(dir, "true")
		err := l.Prepare(c)
		if err != nil {
			b.Fatal(err)
		}
		p, err := l.Start(c)
		if err != nil {
			b.Fatal(err)
		}
		<-p.Done()
		if err := p.Kill(context.Background()); err != nil {
			b.Fatal(err)
		}
		if err := l.Cleanup(c); err != nil {
			b.Fatal(err)
		}
	}
}

// What is no control group cannot be started in: the error says so.
func TestStartOutsideOfGroups(t *testing.T) {
	t.Parallel()
	c := containerIn(t.TempDir(), "exit 0")
	l := New(testConfig())
	if err := l.Prepare(c); err != nil {
		t.Fatal(err)
	}
	var err error
	if c.Cgroup, err = os.Open(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	defer c.Cgroup.Close()
	if _, err := l.Start(c); err == nil || !strings.Contains(err.Error(), c.ID.String()) {
		t.Errorf("got %v", err)
	}
}
