package cgroup

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-project/heddle/yarn"
)

// TestLinux runs processes in groups of the machine's own, if it lets us make any. The tree is a new one and goes again.
func TestLinux(t *testing.T) {
	cfg := Config{Hierarchy: fmt.Sprintf("/heddle-test-%d-%d", os.Getpid(), time.Now().UnixNano()), DeleteDelay: 20 * time.Millisecond, DeleteTimeout: 10 * time.Second}
	tree, err := Open(cfg)
	if err != nil {
		complains(t, err, "cannot have the kernel limit containers")
		t.Log("not run:", err)
		return
	}
	t.Cleanup(func() {
		tree.Close()
		if err := syscall.Rmdir(tree.dir); err != nil {
			t.Error(err)
		}
	})
	if _, err := Open(cfg); err == nil {
		t.Error("two daemons have the tree")
	}
	one, id := startIn(t, tree, 1, "sleep 1000 & wait")
	two, _ := startIn(t, tree, 2, "setsid sleep 1000 & wait")
	swept, err := tree.Sweep(func(other yarn.ContainerID) bool { return other == id })
	if err != nil || len(swept) != 1 {
		t.Errorf("%v %v", swept, err)
	}
	if err := two.Wait(); two.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("what was swept away ended by %v", err)
	}
	g := tree.Find(id)
	if g == nil {
		t.Fatal("the group of a known container is gone")
	}
	must(t, os.Mkdir(filepath.Join(g.dir, "inner"), 0o755))
	must(t, g.Remove())
	if err := one.Wait(); err == nil {
		t.Error("the group is gone, but not what ran in it")
	}
}

// startIn starts a process in a group of its own.
func startIn(t *testing.T, tree *Tree, n int64, command string) (*exec.Cmd, yarn.ContainerID) {
	t.Helper()
	id := containerID(n)
	g, err := tree.Create(id, Limits{})
	must(t, err)
	t.Cleanup(func() { g.Remove() })
	dir, err := g.Open()
	must(t, err)
	defer dir.Close()
	cmd := exec.Command("/bin/bash", "-c", "cat /proc/self/cgroup; echo; "+command)
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	var said bytes.Buffer
	for line := make([]byte, 512); !strings.Contains(said.String(), "\n\n"); {
		n, err := out.Read(line)
		must(t, err)
		said.Write(line[:n])
	}
	if !strings.Contains(said.String(), "/"+id.String()+"\n") {
		t.Errorf("it runs in %q", said.String())
	}
	return cmd, id
}

// TestLinuxLimits has the real limits set, where version 2 has the controllers; elsewhere the error says what is there instead.
func TestLinuxLimits(t *testing.T) {
	cfg := all()
	cfg.Hierarchy = fmt.Sprintf("/heddle-test-%d-%d", os.Getpid(), time.Now().UnixNano())
	tree, err := Open(cfg)
	if err != nil {
		complains(t, err, "cannot have the kernel limit containers")
		t.Log("not run:", err)
		return
	}
	defer func() { tree.Close(); must(t, syscall.Rmdir(tree.dir)) }()
	g, err := tree.Create(containerID(3), Limits{64, 2, false})
	must(t, err)
	defer func() { must(t, g.Remove()) }()
	for name, want := range map[string]string{memoryMax: "67108864", cpuWeight: "200", cpuMax: "100000 100000"} {
		got, err := words(g.dir, name)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
}
