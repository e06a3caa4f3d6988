package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRemoveTree(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(dir, "outside")
	tree := filepath.Join(dir, "tree")
	for _, name := range []string{outside, tree, filepath.Join(tree, "a", "b"), filepath.Join(tree, "empty")} {
		if err := os.MkdirAll(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{filepath.Join(outside, "precious"), filepath.Join(tree, "a", "b", "file"), filepath.Join(tree, "-rf *\n")} {
		if err := os.WriteFile(name, nil, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"link": outside, "dangling": "/no/where", "a/up": "../..", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(tree, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(tree, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 3 * removePart {
		if err := os.WriteFile(filepath.Join(tree, "empty", fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := RemoveTree(tree + "/"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(tree); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
	if !exists(filepath.Join(outside, "precious")) {
		t.Error("a link was followed")
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{link, tree, filepath.Join(dir, "no", "such", "thing")} {
		if err := RemoveTree(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if exists(link) || !exists(filepath.Join(outside, "precious")) {
		t.Error("the link is there, or what it led to is not")
	}
}

// The check alone is tested: what it let through would be gone.
func TestRemovableNames(t *testing.T) {
	for _, name := range []string{"", ".", "/", "..", "//", "/..", "/.", "a", "a/b", "./a", "/a/..", "/a/../b", "/a/b/..", "/a/..//b"} {
		if err := removable(name); err == nil {
			t.Errorf("%q would be removed", name)
		}
	}
	for _, name := range []string{"/a", "/a/b", "/a/b/", "/a/..b/c..", "/a//b/./c"} {
		if err := removable(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A container has gone deeper than any path and than there are file descriptors.
func TestRemoveADeepTree(t *testing.T) {
	top := filepath.Join(t.TempDir(), "top")
	if err := os.Mkdir(top, 0o755); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(top, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 15 * maxDepth {
		if err := unix.Mkdirat(fd, "deep", 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(fd, "deep", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		unix.Close(fd)
		if err != nil {
			t.Fatal(err)
		}
		fd = next
	}
	unix.Close(fd)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	low := limit
	low.Cur = 4*maxDepth + 100
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
	if err := RemoveTree(top); err != nil {
		t.Fatal(err)
	}
	if exists(top) {
		t.Error("still there")
	}
}

// A file system that is mounted within is neither emptied nor a reason to leave the rest. Where the test may not mount, a
// process of its own does so in a space of its own.
func TestRemoveLeavesMounts(t *testing.T) {
	dir := t.TempDir()
	tree, other := filepath.Join(dir, "tree"), filepath.Join(dir, "other")
	for _, name := range []string{filepath.Join(tree, "mount"), other} {
		if err := os.MkdirAll(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{filepath.Join(other, "precious"), filepath.Join(tree, "file")} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := removeElsewhere(t, tree, func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, "MOUNT="+other)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
	})
	if !strings.Contains(out, "a file system is mounted there") || !exists(filepath.Join(other, "precious")) || exists(filepath.Join(tree, "file")) {
		t.Errorf("got %q", out)
	}
}

// Directories that deny their owner everything. The superuser is denied nothing, so another user tries.
func TestRemoveOpensUp(t *testing.T) {
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	tree := filepath.Join(dir, "tree")
	closed := []string{filepath.Join(tree, "a", "b"), filepath.Join(tree, "a"), tree}
	if err := os.MkdirAll(closed[0], 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(closed[0], "file"), nil, 0o400); err != nil {
		t.Fatal(err)
	}
	user := os.Getuid()
	if user == 0 {
		user = 65534
		for _, name := range append(closed, dir) {
			if err := os.Chown(name, user, user); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, mode := range []fs.FileMode{0o500, 0, 0o100} {
		if err := os.Chmod(closed[i], mode); err != nil {
			t.Fatal(err)
		}
	}
	out := removeElsewhere(t, tree, func(cmd *exec.Cmd) {
		if user != os.Getuid() {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}}
		}
	})
	if exists(tree) {
		t.Errorf("still there: %s", out)
	}
}

// removeElsewhere calls RemoveTree in another process and returns its error.
func removeElsewhere(t *testing.T, tree string, prepare func(*exec.Cmd)) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	// The test binary may lie where another user cannot read it.
	binary, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "test"), binary, 0o755)
	}
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, "test"))
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), helperRemove+"="+tree)
	prepare(cmd)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// removeHere is what that process does.
func removeHere(tree string) {
	if other := os.Getenv("MOUNT"); other != "" {
		if err := syscall.Mount(other, filepath.Join(tree, "mount"), "", syscall.MS_BIND, ""); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	if err := RemoveTree(tree); err != nil {
		fmt.Println(err)
	}
}
