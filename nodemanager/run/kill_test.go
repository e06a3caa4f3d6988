package run

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-project/heddle/nodemanager/process"
)

// Each container says when it is ready in the file ready; what it leaves running sleeps for 1000 seconds.
func TestKill(t *testing.T) {
	const soon, longer, atLast = 150 * time.Millisecond, 2 * time.Second, time.Minute // how long they have after SIGTERM: none of those that obey takes all of it
	for _, c := range []struct {
		name, command string
		code          int32
		delay         time.Duration
	}{
		{"obedient", "trap 'echo bye 1><LOG_DIR>/bye; exit 7' TERM; echo 1>ready; while :; do sleep 0.01; done", 7, atLast},
		{"ordinary", "echo 1>ready; exec sleep 1000", 143, atLast},
		{"ignores SIGTERM", "trap '' TERM; echo 1>ready; while :; do sleep 1000; done", 137, soon},
		{"stopped", "(until grep -q State:.T /proc/$$/status; do sleep 0.01; done; echo 1>ready) & kill -STOP $$", 137, soon},
		{"own process group", "set -m; (trap '' TERM; sleep 1000) & echo 1>ready; wait", 143, longer},
		{"own session", "setsid bash -c 'trap \\\"\\\" TERM; echo 1>ready; sleep 1000' & wait", 143, longer},
		{"forks away", "(setsid bash -c 'trap \\\"\\\" TERM; (sleep 1000 & sleep 1000 & echo 1>ready) & sleep 1000' &); sleep 1000", 143, longer},
		{"all of it on stderr", "echo 1>ready; yes complaint 2><LOG_DIR>/stderr 1>&2", 143, atLast},
		{"forks on and on", "trap '' TERM; for i in 1 2 3; do (while :; do sleep 0.01 & wait -n; setsid sleep 0.02 & done) & done; echo 1>ready; while :; do wait; done", 137, soon},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := testConfig()
			cfg.KillDelay = c.delay
			container := containerIn(t.TempDir(), c.command)
			p := start(t, New(cfg), container)
			awaitFile(t, filepath.Join(container.WorkDir, "ready"))
			if err := p.Kill(context.Background()); err != nil {
				t.Fatal(err)
			}
			if !p.ended() {
				t.Fatal("Kill has returned before the end")
			}
			if exit := p.Exit(); exit.Code != c.code {
				t.Errorf("got %+v, want %d", exit, c.code)
			}
			none(t, container.ID)
		})
	}
}

// The main process ends, what it has left behind goes with Kill.
func TestKillSweeps(t *testing.T) {
	t.Parallel()
	c := containerIn(t.TempDir(), "sleep 1000 & (setsid sleep 1000 & echo 1>ready); exit 4")
	p := start(t, New(testConfig()), c)
	if exit := awaitExit(t, p); exit.Code != 4 {
		t.Fatalf("got %+v", exit)
	}
	if err := p.Signal(context.Background(), syscall.SIGCONT); err != nil {
		t.Fatalf("nothing is left: %v", err)
	}
	if err := p.Kill(context.Background()); err != nil {
		t.Fatal(err)
	}
	none(t, c.ID)
	if err := p.Signal(context.Background(), syscall.SIGCONT); !errors.Is(err, ErrNotRunning) {
		t.Errorf("somebody is left: %v", err)
	}
	if err := p.Kill(context.Background()); err != nil || p.Exit().Code != 4 {
		t.Errorf("killed again: %+v, %v", p.Exit(), err)
	}
}

func TestSignal(t *testing.T) {
	t.Parallel()
	c := containerIn(t.TempDir(), "trap 'echo 1>got; exit 9' QUIT; echo 1>ready; while :; do sleep 0.01; done")
	p := start(t, New(testConfig()), c)
	awaitFile(t, filepath.Join(c.WorkDir, "ready"))
	if err := p.Signal(context.Background(), syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	awaitFile(t, filepath.Join(c.WorkDir, "got"))
	if exit := awaitExit(t, p); exit.Code != 9 {
		t.Errorf("got %+v", exit)
	}
}

// Whoever asks for a thread dump does not end processes that cannot give one. Of two signals that wait the kernel delivers
// SIGQUIT first.
func TestSignalForAThreadDumpEndsNobody(t *testing.T) {
	t.Parallel()
	c := containerIn(t.TempDir(), "echo 1>ready; exec sleep 1000")
	p := start(t, New(testConfig()), c)
	awaitFile(t, filepath.Join(c.WorkDir, "ready"))
	for _, signal := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGTERM} {
		if err := p.Signal(context.Background(), signal); err != nil {
			t.Fatal(err)
		}
	}
	if exit := awaitExit(t, p); exit.Code != 143 {
		t.Errorf("got %+v", exit)
	}
}

// The container's variables keep the scripts from ever getting to the container.
func TestKillBeforeThereIsAProcessID(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "env.sh")
	if err := os.WriteFile(file, []byte("trap '' TERM\necho > "+dir+"/ready\nsleep 1000\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg := testConfig()
	cfg.PIDWait = 50 * time.Millisecond
	c := containerIn(dir, "true")
	c.Env = []Variable{{"BASH_ENV", file}}
	p := start(t, New(cfg), c)
	awaitFile(t, filepath.Join(dir, "ready"))
	if err := p.Kill(context.Background()); err != nil {
		t.Fatal(err)
	}
	if exit := p.Exit(); exit.Code != 137 || p.PID() != 0 {
		t.Errorf("got %+v of process %d", exit, p.PID())
	}
	none(t, c.ID)
}

// Somebody stops the wrapper, which then cannot report.
func TestKillWithAStoppedWrapper(t *testing.T) {
	t.Parallel()
	c := containerIn(t.TempDir(), "kill -STOP $PPID; echo 1>ready; exec sleep 1000")
	p := start(t, New(testConfig()), c)
	awaitFile(t, filepath.Join(c.WorkDir, "ready"))
	if err := p.Kill(context.Background()); err != nil {
		t.Fatal(err)
	}
	if exit := p.Exit(); exit.Code != 137 {
		t.Errorf("got %+v", exit)
	}
}

func TestKillIsGivenUp(t *testing.T) {
	t.Parallel()
	c := containerIn(t.TempDir(), "trap '' TERM; echo 1>ready; while :; do sleep 1000; done")
	p := start(t, New(testConfig()), c)
	awaitFile(t, filepath.Join(c.WorkDir, "ready"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Kill(ctx); err == nil && !p.ended() {
		t.Error("no error, and no end")
	}
	awaitExit(t, p) // it has had its SIGKILL all the same
}

func TestAttach(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := containerIn(dir, "echo 1>ready; while [ ! -e go ]; do sleep 0.01; done; echo oops 2><LOG_DIR>/stderr 1>&2; exit 42")
	pid := killedDaemon(t, dir, c)
	l := New(testConfig())
	p := l.Attach(context.Background(), c)
	if p.ended() || p.PID() != pid {
		t.Fatalf("attached to %d, which is %d, ended: %v", p.PID(), pid, p.ended())
	}
	if err := os.WriteFile(filepath.Join(c.WorkDir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	exit := awaitExit(t, p)
	if exit.Code != 42 || exit.Note != "" || !strings.HasSuffix(exit.Text, "Last 4096 bytes of stderr :\noops\n\n") {
		t.Errorf("got %+v", exit)
	}
	if err := p.Kill(context.Background()); err != nil {
		t.Error(err)
	}
	if again := l.Attach(context.Background(), c); !again.ended() || again.Exit().Code != 42 {
		t.Error("the second time the exit code is not known at once")
	}
}

func TestAttachAndKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := containerIn(dir, "trap '' TERM; (setsid sleep 1000 & sleep 1000 & echo 1>ready); while :; do sleep 1000; done")
	killedDaemon(t, dir, c)
	l := New(testConfig())
	found, err := l.Leftovers([]string{filepath.Join(dir, "disk1", "local"), filepath.Join(dir, "disk2", "local"), filepath.Join(dir, "none")})
	if err != nil || len(found) != 1 || found[0].ID != c.ID || found[0].PrivateDir != c.PrivateDir {
		t.Fatalf("got %+v, %v", found, err)
	}
	p := l.Attach(context.Background(), found[0])
	if err := p.Kill(context.Background()); err != nil {
		t.Fatal(err)
	}
	if exit := p.Exit(); exit.Code != 137 {
		t.Errorf("got %+v", exit)
	}
	none(t, c.ID)
	if found, err := l.Leftovers([]string{filepath.Join(dir, "disk2", "local")}); err != nil || len(found) != 0 {
		t.Errorf("still there: %+v, %v", found, err)
	}
}

// The wrapper was killed with the daemon, or the machine restarted: nobody has written the exit code.
func TestAttachToNothing(t *testing.T) {
	t.Parallel()
	l := impatient()
	c := containerIn(t.TempDir(), "true")
	exit := awaitExit(t, l.Attach(context.Background(), c))
	if exit.Code != 154 || !strings.HasPrefix(exit.Text, "Container exited with a non-zero exit code 154. ") {
		t.Errorf("got %+v", exit)
	}
}

// The container's process id has been given to another process since.
func TestAttachToAnotherProcess(t *testing.T) {
	t.Parallel()
	another := exec.Command("sleep", "1000")
	another.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := another.Start(); err != nil {
		t.Fatal(err)
	}
	defer another.Wait()
	defer another.Process.Kill()
	l := impatient()
	container := containerIn(t.TempDir(), "echo 1>ready; exec sleep 1000")
	o := start(t, l, container)
	awaitFile(t, filepath.Join(container.WorkDir, "ready"))
	for pid, fileAge := range map[int]time.Duration{
		another.Process.Pid: time.Hour, // it is younger than the file
		o.PID():             0,         // it bears the mark of another container
	} {
		c := containerIn(t.TempDir(), "true")
		if err := l.Prepare(c); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.pidFile(), []byte(strconv.Itoa(pid)+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		written := time.Now().Add(-fileAge)
		if err := os.Chtimes(c.pidFile(), written, written); err != nil {
			t.Fatal(err)
		}
		if found, err := l.Leftovers([]string{filepath.Dir(filepath.Dir(filepath.Dir(c.PrivateDir)))}); err != nil || len(found) != 0 {
			t.Errorf("taken for a leftover: %+v, %v", found, err)
		}
		p := l.Attach(context.Background(), c)
		if err := p.Kill(context.Background()); err != nil {
			t.Fatal(err)
		}
		if exit := p.Exit(); exit.Code != 154 {
			t.Errorf("got %+v", exit)
		}
	}
	if _, ok := o.alive(); !ok || syscall.Kill(another.Process.Pid, 0) != nil {
		t.Error("the wrong one was killed")
	}
}

// A process that has overwritten its environment is known by its age.
func TestAttachToAnUnmarkedProcess(t *testing.T) {
	t.Parallel()
	c := containerIn(t.TempDir(), "echo 1>ready; exec env -i /bin/sleep 1000")
	killedDaemon(t, filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(c.PrivateDir))))), c)
	p := impatient().process(c)
	p.brand = 0
	go (&watch{p: p}).run(t.Context())
	p.killWrapper(context.Background())
	if _, ok := p.alive(); !ok || p.ended() {
		t.Fatal("it is not found")
	}
	if err := p.Kill(context.Background()); err != nil {
		t.Fatal(err)
	}
	if exit := p.Exit(); exit.Code != 154 {
		t.Errorf("got %+v", exit)
	}
	if info, ok := p.alive(); ok {
		t.Errorf("%+v is still there", info)
	}
}

// The container gives the daemon's own id, and init's, for its.
func TestAForgedProcessID(t *testing.T) {
	for _, pid := range []string{"1", "0", "-1", "99999999999", "x", "", strconv.Itoa(os.Getpid())} {
		c := containerIn(t.TempDir(), "true")
		l := New(testConfig())
		if err := l.Prepare(c); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.pidFile(), []byte(pid+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		p := l.process(c)
		table, err := process.Linux.Table()
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range p.members(table) {
			if info.PID == os.Getpid() || info.PID == os.Getppid() || info.PID == 1 {
				t.Errorf("%q: the daemon would signal %+v", pid, info)
			}
		}
	}
}
