package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-project/heddle/cli"
	"github.com/heddle-project/heddle/internal/descriptors"
	"github.com/heddle-project/heddle/internal/freeport"
)

// beYarn makes the test's own binary the command.
const beYarn = "HEDDLE_TEST_BE_YARN"

// waitFor makes a ResourceManager wait in its start until whoever writes to this pipe closes it.
const waitFor = "HEDDLE_TEST_WAIT_FOR"

// listDescriptors makes it tell which descriptors its children have, before and after descriptors.CloseOnExec.
const listDescriptors = "HEDDLE_TEST_LIST_DESCRIPTORS"

func TestMain(m *testing.M) {
	if os.Getenv(beYarn) != "" {
		if pipe := os.Getenv(waitFor); pipe != "" {
			starting = func() { _, _ = os.ReadFile(pipe) }
		}
		main()
	}
	if os.Getenv(listDescriptors) != "" {
		os.Exit(tellDescriptors())
	}
	os.Exit(m.Run())
}

func tellDescriptors() int {
	child := func() {
		out, err := exec.Command("sh", "-c", "for i in 3 4; do [ -e /proc/self/fd/$i ] && echo $i; done; true").Output()
		if err != nil {
			fmt.Println(err)
		}
		fmt.Print(string(out))
	}
	fmt.Println("before")
	child()
	if err := descriptors.CloseOnExec(); err != nil {
		fmt.Println(err)
	}
	fmt.Println("after")
	child()
	return 0
}

// A daemon that hangs, or is ending, obeys too.
func TestSignalsAtBadTimes(t *testing.T) {
	r := &running{t: t, log: filepath.Join(t.TempDir(), "log")}
	j, err := openLog(cli.Start{LogFile: r.log}, "daemon")
	if err != nil {
		t.Fatal(err)
	}
	defer j.close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	reading, hangs := make(chan bool), make(chan bool)
	j.attend(ctx, func(context.Context) { reading <- true; <-hangs })
	self := func(s syscall.Signal) {
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
	}
	self(syscall.SIGHUP)
	<-reading
	self(syscall.SIGQUIT)
	r.says("these were the stacks")
	cancel()
	close(hangs)
	if err := os.Rename(r.log, r.log+".moved"); err != nil {
		t.Fatal(err)
	}
	self(syscall.SIGHUP)
	r.says("reopened")
}

// A minicluster whose terminal is closed takes its daemons and containers with it.
func TestHangUpEndsMinicluster(t *testing.T) {
	r := &running{t: t, log: filepath.Join(t.TempDir(), "out")}
	out, err := os.Create(r.log)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(os.Args[0], "minicluster", "-dir", t.TempDir())
	cmd.Env = append(os.Environ(), beYarn+"=1")
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	r.says("Ctrl-C ends it")
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// running is a daemon in a process of its own.
type running struct {
	t    *testing.T
	cmd  *exec.Cmd
	dir  string
	log  string
	done chan error
}

// launch starts a daemon with a log file and waits until it says that it is up.
func launch(t *testing.T, kind string) *running {
	t.Helper()
	r := begin(t, kind, "")
	r.says(" is up ")
	return r
}

// begin starts a daemon with a log file, and more properties than it needs.
func begin(t *testing.T, kind, more string) *running {
	t.Helper()
	r := &running{t: t, dir: t.TempDir(), done: make(chan error, 1)}
	r.log = filepath.Join(r.dir, "daemon.log")
	site := ""
	ports := freePorts(t, 8)
	for i, p := range []string{"resourcemanager.address", "resourcemanager.scheduler.address", "resourcemanager.resource-tracker.address",
		"resourcemanager.admin.address", "resourcemanager.webapp.address", "nodemanager.address", "nodemanager.localizer.address", "nodemanager.webapp.address"} {
		site += property("yarn."+p, ports[i])
	}
	for _, d := range []string{"local-dirs", "log-dirs", "recovery.dir"} {
		site += property("yarn.nodemanager."+d, filepath.Join(r.dir, d))
	}
	r.write("yarn-site.xml", site+more)
	r.queues("default")
	r.cmd = exec.Command(os.Args[0], "--config", r.dir, kind)
	r.cmd.Env = append(os.Environ(), beYarn+"=1", "HEDDLE_DAEMON_LOG="+r.log)
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { r.done <- r.cmd.Wait() }()
	t.Cleanup(func() { r.cmd.Process.Kill() })
	return r
}

// startsSlowly starts a ResourceManager that waits in its start until goOn is called, for a pipe to be closed.
func startsSlowly(t *testing.T) (r *running, goOn func()) {
	t.Helper()
	wait := filepath.Join(t.TempDir(), "wait")
	if err := syscall.Mkfifo(wait, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(waitFor, wait)
	r = begin(t, "resourcemanager", "")
	pipe, err := os.OpenFile(wait, os.O_WRONLY, 0) // waits for the reader
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pipe.Close() })
	return r, func() { pipe.Close() }
}

// What is asked for while a ResourceManager starts is done when it is up.
func TestHangUpWhileStarting(t *testing.T) {
	r, goOn := startsSlowly(t)
	r.signal(syscall.SIGHUP)
	r.says("reopened")
	goOn()
	audits := *r
	audits.log = filepath.Join(r.dir, "rm-audit.log")
	if got := audits.says("OPERATION=refreshAdminAcls"); !strings.Contains(got, "OPERATION=refreshQueues") || strings.Contains(got, "FAILURE") {
		t.Errorf("not everything was read anew:\n%s", got)
	}
}

// A ResourceManager that is told to end while it starts does so, as one that was asked to.
func TestTermWhileStarting(t *testing.T) {
	r, goOn := startsSlowly(t)
	r.signal(syscall.SIGTERM)
	goOn()
	select {
	case err := <-r.done:
		if err != nil {
			t.Errorf("ended by TERM: %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("TERM did not end it")
	}
}

// Why a daemon ends stands in its log.
func TestLogTellsWhyItEnds(t *testing.T) {
	for kind, bad := range map[string]string{"resourcemanager": "yarn.resourcemanager.am.max-attempts", "nodemanager": "yarn.nodemanager.resource.memory-mb"} {
		r := begin(t, kind, property(bad, "many"))
		if got := r.says("the daemon ends"); !strings.Contains(got, bad) {
			t.Errorf("%s: the log does not say what is wrong:\n%s", kind, got)
		}
		if err := <-r.done; err == nil {
			t.Errorf("%s: it ended as if nothing were wrong", kind)
		}
	}
}

func property(name, value string) string {
	return "<property><name>" + name + "</name><value>" + value + "</value></property>"
}

// freePorts are so many different addresses on which nobody listens.
func freePorts(t *testing.T, count int) (out []string) {
	ports, err := freeport.Loopback(count)
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range ports {
		out = append(out, fmt.Sprintf("127.0.0.1:%d", port))
	}
	return out
}

func (r *running) write(name, properties string) {
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte("<configuration>"+properties+"</configuration>"), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// queues writes a scheduler's configuration with these below the root.
func (r *running) queues(names ...string) {
	p := property("yarn.scheduler.capacity.root.queues", strings.Join(names, ","))
	for _, n := range names {
		p += property("yarn.scheduler.capacity.root."+n+".capacity", fmt.Sprint(100/len(names)))
	}
	r.write("capacity-scheduler.xml", p)
}

func (r *running) signal(s syscall.Signal) {
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}

// says waits until the log, the file of that name at the moment, holds a text.
func (r *running) says(text string) string {
	r.t.Helper()
	var b []byte
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if b, _ = os.ReadFile(r.log); strings.Contains(string(b), text) {
			return string(b)
		}
	}
	r.t.Fatalf("the log never said %q:\n%s", text, b)
	return ""
}

// HUP and QUIT do not end a daemon; TERM does.
func TestSignals(t *testing.T) {
	for kind, what := range map[string]string{"resourcemanager": "resourcemanager.(*Daemon).Wait", "nodemanager": "nodemanager.(*Daemon).Wait"} {
		t.Run(kind, func(t *testing.T) {
			r := launch(t, kind)
			r.signal(syscall.SIGQUIT)
			if got := r.says("these were the stacks"); !strings.Contains(got, what) {
				t.Errorf("the stacks of all goroutines lack %s:\n%s", what, got)
			}
			if err := os.Rename(r.log, r.log+".moved"); err != nil {
				t.Fatal(err)
			}
			r.queues("default", "another")
			r.signal(syscall.SIGHUP)
			r.says("reopened")
			if kind == "resourcemanager" {
				audits := *r
				audits.log = filepath.Join(r.dir, "rm-audit.log")
				got := audits.says("OPERATION=refreshAdminAcls")
				if !strings.Contains(got, "OPERATION=refreshQueues") || strings.Contains(got, "FAILURE") {
					t.Errorf("not everything was read anew:\n%s", got)
				}
				// What cannot be read leaves everything as it was, and the log says so.
				r.queues("default", "default")
				if err := os.Rename(audits.log, audits.log+".moved"); err != nil {
					t.Fatal(err)
				}
				r.signal(syscall.SIGHUP)
				audits.says("OPERATION=refreshQueues\tTARGET=AdminService\tRESULT=FAILURE")
				r.says("an administrator's call has failed")
			}
			r.signal(syscall.SIGTERM)
			select {
			case err := <-r.done:
				if err != nil {
					t.Errorf("ended by TERM: %v", err)
				}
			case <-time.After(30 * time.Second):
				t.Error("TERM did not end it")
			}
		})
	}
}
