package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-project/heddle/yarn"
)

// fake is a kernel of plain files. A group in which "runs" is a file is busy until it is killed as often as that says.
type fake struct {
	t        *testing.T
	mount    string
	stubborn bool // killing does not help
}

func newFake(t *testing.T, controllers string) *fake {
	f := &fake{t: t, mount: filepath.Join(t.TempDir(), "cgroup")}
	must(t, f.mkdir(f.mount))
	must(t, os.Remove(filepath.Join(f.mount, killFile)))
	f.put(f.mount, controllersFile, controllers)
	return f
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (f *fake) put(dir, name, value string) {
	f.t.Helper()
	must(f.t, os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600))
}

func (f *fake) get(parts ...string) string {
	f.t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{f.mount}, parts...)...))
	must(f.t, err)
	return string(text)
}

// mkdir makes a group: it has the controllers that the group above hands on.
func (f *fake) mkdir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	handed, _ := os.ReadFile(filepath.Join(filepath.Dir(dir), subtreeFile))
	f.put(dir, controllersFile, strings.ReplaceAll(string(handed), "+", ""))
	for _, name := range []string{subtreeFile, killFile, eventsFile, memoryMax, memoryLow, swapMax, cpuWeight, cpuMax} {
		f.put(dir, name, "")
	}
	return nil
}

func (f *fake) rmdir(dir string) error {
	_, err := os.Stat(filepath.Join(dir, "runs"))
	killed, _ := os.ReadFile(filepath.Join(dir, killFile))
	if err == nil && (f.stubborn || string(killed) != "1") {
		return syscall.EBUSY
	}
	if list, _ := filepath.Glob(filepath.Join(dir, "*", controllersFile)); len(list) > 0 {
		return syscall.EBUSY
	}
	return os.RemoveAll(dir)
}

func (f *fake) kernel(mounts string) kernel {
	file := filepath.Join(f.t.TempDir(), "mounts")
	must(f.t, os.WriteFile(file, []byte(mounts), 0o600))
	return kernel{mounts: file, mkdir: f.mkdir, rmdir: f.rmdir}
}

func (f *fake) open(cfg Config) *Tree {
	f.t.Helper()
	t, err := open(cfg, f.kernel("cgroup2 "+f.mount+" cgroup2 rw 0 0\n"))
	must(f.t, err)
	f.t.Cleanup(func() { t.Close() })
	return t
}

// all limits everything.
func all() Config {
	return Config{Hierarchy: "/hadoop-yarn", Memory: true, Enforced: true, SoftPercent: 90, CPU: true, Strict: true, NodeVCores: 8, Cores: 4,
		DeleteDelay: time.Millisecond, DeleteTimeout: 50 * time.Millisecond}
}

func containerID(n int64) yarn.ContainerID {
	return yarn.ContainerID{Attempt: yarn.AttemptID{Application: yarn.ApplicationID{ClusterTimestamp: time.Now().UnixMilli(), Sequence: 1}, Attempt: 1}, Number: n}
}

func TestLimits(t *testing.T) {
	const free = "max 100000"
	for _, c := range []struct {
		name   string
		change func(*Config)
		limits Limits
		want   [5]string // memory.max, memory.low, memory.swap.max, cpu.weight, cpu.max
	}{
		{"all", func(*Config) {}, Limits{1000, 2, false}, [5]string{"1048576000", "943718400", "0", "200", "100000 100000"}},
		{"a share of a processor", func(*Config) {}, Limits{1, 1, false}, [5]string{"1048576", "0", "0", "100", "50000 100000"}},
		{"the whole node", func(*Config) {}, Limits{1000, 8, false}, [5]string{"1048576000", "943718400", "0", "800", free}},
		{"opportunistic", func(*Config) {}, Limits{1000, 2, true}, [5]string{"1048576000", "0", "0", "1", "100000 100000"}},
		{"without bounds", func(c *Config) { c.NodeVCores = 1 << 40 }, Limits{1 << 60, 1000, false}, [5]string{"max", "max", "0", "10000", "1000 100000"}},
		{"nothing", func(*Config) {}, Limits{}, [5]string{"0", "0", "0", "100", "1000 100000"}},
		{"not strict", func(c *Config) { c.Strict = false }, Limits{1, 1, false}, [5]string{"1048576", "0", "0", "100", ""}},
		{"not enforced", func(c *Config) { c.Enforced = false }, Limits{1, 1, false}, [5]string{"", "", "", "100", "50000 100000"}},
		{"memory alone", func(c *Config) { c.CPU = false }, Limits{10, 1, false}, [5]string{"10485760", "9437184", "0", "", ""}},
		{"processors alone", func(c *Config) { c.Memory = false }, Limits{10, 1, false}, [5]string{"", "", "", "100", "50000 100000"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, id := all(), containerID(1)
			c.change(&cfg)
			f := newFake(t, "cpuset cpu io memory")
			g, err := f.open(cfg).Create(id, Limits{7, 7, false})
			must(t, err)
			must(t, g.Update(c.limits))
			for i, name := range []string{memoryMax, memoryLow, swapMax, cpuWeight, cpuMax} {
				if got := f.get("hadoop-yarn", id.String(), name); got != c.want[i] {
					t.Errorf("%s is %q, want %q", name, got, c.want[i])
				}
			}
		})
	}
}

func TestTree(t *testing.T) {
	f := newFake(t, "cpu memory")
	cfg := all()
	cfg.Hierarchy, cfg.Capped, cfg.Cores = "a/b/", true, 1.5
	tree := f.open(cfg)
	for _, dir := range []string{"", "a", "a/b"} {
		if got := f.get(dir, subtreeFile); got != "+memory +cpu" {
			t.Errorf("%q hands on %q", dir, got)
		}
	}
	if got := f.get("a/b", cpuMax); got != "150000 100000" {
		t.Errorf("all containers get %q", got)
	}
	_, err := open(cfg, f.kernel("cgroup2 "+f.mount+" cgroup2 rw 0 0\n"))
	complains(t, err, "another NodeManager", hierarchy)
	must(t, tree.Close())
	for _, dir := range []string{"", "a", "a/b"} { // as the kernel shows them; nothing is written again
		f.put(filepath.Join(f.mount, dir), subtreeFile, "cpu memory\n")
	}
	cfg.Capped = false
	f.open(cfg)
	if got := f.get("a", subtreeFile); got != "cpu memory\n" {
		t.Errorf("written again: %q", got)
	}
	if got := f.get("a/b", cpuMax); got != unlimited {
		t.Errorf("still capped: %q", got)
	}
}

func complains(t *testing.T, err error, about ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, what := range about {
		if !strings.Contains(err.Error(), what) {
			t.Errorf("%q says nothing of %q", err, what)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	f := newFake(t, "cpu io")
	for _, c := range []struct {
		name, mounts string
		change       func(*Config)
		about        []string
	}{
		{"version 1", "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n", func(*Config) {}, []string{"none is mounted", "unified_cgroup_hierarchy", "resource.memory.enabled"}},
		{"without memory", "x " + f.mount + " cgroup2 rw 0 0\n", func(*Config) {}, []string{f.mount + ` has "cpu io"`, `"memory cpu"`}},
		{"without memory, configured", "", func(c *Config) { c.Mount = f.mount }, []string{f.mount, `controllers "memory"`, subtreeFile}},
		{"wrong mount", "", func(c *Config) { c.Mount = filepath.Join(f.mount, "none") }, []string{"v2.mount-path"}},
		{"the mount itself", "", func(c *Config) { c.Mount, c.Hierarchy = f.mount, "/a/../../" }, []string{hierarchy, "/hadoop-yarn"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := all()
			c.change(&cfg)
			_, err := open(cfg, f.kernel(c.mounts))
			complains(t, err, append(c.about, "cannot have the kernel limit containers")...)
		})
	}
	if _, err := os.Stat(filepath.Join(f.mount, "hadoop-yarn")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a group was made: %v", err)
	}
}

func TestOldKernel(t *testing.T) {
	f := newFake(t, "cpu memory")
	k := f.kernel("cgroup2 " + f.mount + " cgroup2 rw 0 0\n")
	k.mkdir = func(dir string) error { return errors.Join(f.mkdir(dir), os.Remove(filepath.Join(dir, killFile))) }
	_, err := open(all(), k)
	complains(t, err, "Linux 5.14")
}

func TestMountWithSpaces(t *testing.T) {
	f := newFake(t, "memory")
	dir := filepath.Join(f.mount, "with space")
	must(t, f.mkdir(dir))
	f.put(dir, controllersFile, "cpu memory pids")
	got, err := f.kernel("x " + f.mount + " cgroup2 rw 0 0\nx " + f.mount + `/with\040space cgroup2 rw 0 0` + "\n").findMount([]string{"cpu", "memory"})
	if err != nil || got != dir {
		t.Errorf("%q %v", got, err)
	}
}

func TestCreate(t *testing.T) {
	f := newFake(t, "cpu memory")
	tree, id := f.open(all()), containerID(1)
	if tree.Find(id) != nil {
		t.Error("found before it is there")
	}
	dir := filepath.Join(tree.dir, id.String())
	must(t, f.mkdir(dir)) // of an earlier try, with a process
	f.put(dir, "runs", "")
	f.put(dir, eventsFile, "oom 1\noom_kill 1\n")
	g, err := tree.Create(id, Limits{10, 1, false})
	must(t, err)
	if g.OOMKilled() || tree.Find(id) == nil {
		t.Error("the old group is still there, or the new one is not")
	}
	must(t, os.Remove(filepath.Join(dir, swapMax))) // a kernel without swap
	must(t, g.Update(Limits{10, 1, false}))
	must(t, os.Remove(filepath.Join(dir, memoryLow)))
	complains(t, g.Update(Limits{10, 1, false}), "memory to 10 MB", memoryLow)

	must(t, g.Remove())
	must(t, g.Remove()) // it is gone: fine
	broken := f.kernel("")
	broken.mkdir = func(string) error { return syscall.EACCES }
	tree.k = broken
	_, err = tree.Create(id, Limits{})
	complains(t, err, id.String(), "permission denied")
}

func TestOOMKilled(t *testing.T) {
	f := newFake(t, "cpu memory")
	g, err := f.open(all()).Create(containerID(1), Limits{10, 1, false})
	must(t, err)
	for events, want := range map[string]bool{
		"": false, "low 0\nhigh 0\nmax 12\noom 2\noom_kill 1\noom_group_kill 0\n": true,
		"low 0\nmax 0\noom 0\noom_kill 1\n": false, // the machine had no more
		"max 3\noom 1\noom_kill 0\n":        false,
	} {
		f.put(g.dir, eventsFile, events)
		if got := g.OOMKilled(); got != want {
			t.Errorf("%q: %v", events, got)
		}
	}
	must(t, g.Remove())
	if g.OOMKilled() {
		t.Error("of a group that is gone")
	}
}

func TestRemove(t *testing.T) {
	f := newFake(t, "cpu memory")
	tree := f.open(all())
	g, err := tree.Create(containerID(1), Limits{10, 1, false})
	must(t, err)
	must(t, f.mkdir(filepath.Join(g.dir, "inner")))
	must(t, f.mkdir(filepath.Join(g.dir, "inner", "most")))
	f.put(g.dir, "runs", "")
	f.stubborn = true
	complains(t, g.Remove(), "delete-timeout-ms", "busy", g.dir)
	f.stubborn = false
	must(t, g.Remove())
	if _, err := os.Stat(g.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestSweep(t *testing.T) {
	f := newFake(t, "cpu memory")
	tree := f.open(all())
	ids := []yarn.ContainerID{containerID(1), containerID(2), containerID(3)}
	for _, id := range ids {
		_, err := tree.Create(id, Limits{10, 1, false})
		must(t, err)
	}
	must(t, f.mkdir(filepath.Join(tree.dir, "somebody-else")))
	f.put(filepath.Join(tree.dir, ids[2].String()), "runs", "")
	swept, err := tree.Sweep(func(id yarn.ContainerID) bool { return id == ids[1] })
	if err != nil || !slices.Equal(swept, []yarn.ContainerID{ids[0], ids[2]}) {
		t.Errorf("%v %v", swept, err)
	}
	if tree.Find(ids[0]) != nil || tree.Find(ids[1]) == nil || tree.Find(ids[2]) != nil {
		t.Error("the wrong ones are gone")
	}
	f.get("hadoop-yarn", "somebody-else", killFile)
}
