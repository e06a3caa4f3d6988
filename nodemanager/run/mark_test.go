package run

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/nodemanager/process"
)

// becomesDaemon is the text of a program that does what daemons do to be on their own: it has a parent no more, a session, an
// environment and a directory of its own, and none of the container's files. Its last process is in the file away.
const becomesDaemon = `( setsid env -i /bin/bash -c '
	( cd /; trap "" TERM; exec <&- >&- 2>&-; setsid env -i /bin/bash -c "
		trap : HUP; echo \$\$ > '"$PWD"'/away.tmp; mv '"$PWD"'/away.tmp '"$PWD"'/away; exec sleep 1000" & ) & ' & )
until [ -e away ]; do sleep 0.01; done; `

// daemonIn is a container that becomes a daemon and goes on with the rest of the program.
func daemonIn(t *testing.T, dir, rest string) *Container {
	t.Helper()
	program := filepath.Join(dir, "program.sh")
	if err := os.WriteFile(program, []byte(becomesDaemon+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	return containerIn(dir, "exec /bin/bash "+program)
}

// away is the process that a container of daemonIn has left.
func away(t *testing.T, c *Container) process.Info {
	t.Helper()
	awaitFile(t, filepath.Join(c.WorkDir, "away"))
	info, err := process.Linux.Stat(readNumber(filepath.Join(c.WorkDir, "away")))
	if err != nil || info.Dead() {
		t.Fatalf("there is none: %+v %v", info, err)
	}
	if environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(info.PID), "environ")); err != nil || strings.Contains(string(environ), mark) {
		t.Fatalf("it still bears the mark: %q %v", environ, err)
	}
	t.Cleanup(func() {
		if p, err := os.FindProcess(info.PID); err == nil && isThere(info) {
			_ = p.Kill()
		}
	})
	return info
}

func isThere(of process.Info) bool {
	info, err := process.Linux.Stat(of.PID)
	return err == nil && info.Start == of.Start && !info.Dead()
}

// A daemon that a container has become ends with it, however the container ends and whoever finds it.
func TestKillDaemons(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, dir string) process.Info{
		"it is killed": func(t *testing.T, dir string) process.Info {
			c := daemonIn(t, dir, "exec sleep 1000")
			p := start(t, New(testConfig()), c)
			left := away(t, c)
			if err := p.Kill(context.Background()); err != nil {
				t.Error(err)
			}
			return left
		},
		"it ends": func(t *testing.T, dir string) process.Info {
			c := daemonIn(t, dir, "exit 4")
			p := start(t, New(testConfig()), c)
			if exit := awaitExit(t, p); exit.Code != 4 {
				t.Errorf("got %+v", exit)
			}
			left := away(t, c)
			if err := p.Kill(context.Background()); err != nil {
				t.Error(err)
			}
			return left
		},
		"it is a leftover": func(t *testing.T, dir string) process.Info {
			c := daemonIn(t, dir, "echo 1>ready; exec sleep 1000")
			pid := killedDaemon(t, dir, c)
			left := away(t, c)
			p, err := os.FindProcess(pid)
			if err != nil || p.Kill() != nil {
				t.Fatal("it cannot be killed")
			}
			awaitFile(t, c.pidFile()+exitSuffix) // nobody is left but the daemon
			l := New(testConfig())
			found, err := l.Leftovers([]string{filepath.Dir(filepath.Dir(filepath.Dir(c.PrivateDir)))})
			if err != nil || len(found) != 1 || found[0].ID != c.ID {
				t.Fatalf("found %+v, %v", found, err)
			}
			if err := l.Attach(context.Background(), found[0]).Kill(context.Background()); err != nil {
				t.Error(err)
			}
			return left
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if left := end(t, t.TempDir()); isThere(left) {
				t.Errorf("%+v is still there", left)
			}
		})
	}
}

// What another container has left, and a stranger who works in the container's directory and writes to its logs, live on.
func TestKillNoStrangers(t *testing.T) {
	t.Parallel()
	l := New(testConfig())
	one, other := daemonIn(t, t.TempDir(), "exec sleep 1000"), daemonIn(t, t.TempDir(), "exec sleep 1000")
	p, _ := start(t, l, one), start(t, l, other)
	left, kept := away(t, one), away(t, other)
	stranger := exec.Command("/bin/bash", "-c", `setsid env -i /bin/bash -c 'echo $$ > stranger; exec sleep 1000' >> "$0" 2>&1 &`, filepath.Join(one.LogDir, "stdout"))
	stranger.Dir = one.WorkDir
	if out, err := stranger.CombinedOutput(); err != nil {
		t.Fatalf("%s %v", out, err)
	}
	await(t, "the stranger", func() bool { return readNumber(filepath.Join(one.WorkDir, "stranger")) > 1 })
	info, err := process.Linux.Stat(readNumber(filepath.Join(one.WorkDir, "stranger")))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(context.Background()); err != nil {
		t.Error(err)
	}
	if isThere(left) || !isThere(kept) || !isThere(info) {
		t.Errorf("its own is there: %v, another's: %v, a stranger: %v", isThere(left), isThere(kept), isThere(info))
	}
	if p, err := os.FindProcess(info.PID); err != nil || p.Kill() != nil {
		t.Error("the stranger cannot be ended")
	}
}

func TestBrands(t *testing.T) {
	t.Parallel()
	one, other := brandOf("/a/nmPrivate/application_1_0001/container_1_0001_01_000001"), brandOf("/b/nmPrivate/application_1_0001/container_1_0001_01_000001")
	if one == other || one < brandBase || one >= 2*brandBase || one != brandOf("/a/nmPrivate/application_1_0001/container_1_0001_01_000001") {
		t.Errorf("got %d and %d", one, other)
	}
	l := &Launcher{brander: func() string { return "" }}
	if got := l.branded(one, []string{"a"}); len(got) != 1 {
		t.Errorf("without a program: %q", got)
	}
}
