package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/heddle-project/heddle/yarn"
)

// Limits is what a container may use.
type Limits struct {
	MemoryMB      int64
	VCores        int64
	Opportunistic bool // it gets what other containers leave
}

// Group is the control group of one container. It is safe for concurrent use.
type Group struct {
	t   *Tree
	dir string
}

func (t *Tree) group(id yarn.ContainerID) *Group {
	return &Group{t, filepath.Join(t.dir, id.String())}
}

// Create makes a container's group. One that an earlier try of the container has left ends first, with all that is in it.
func (t *Tree) Create(id yarn.ContainerID, l Limits) (*Group, error) {
	g := t.group(id)
	err := t.k.mkdir(g.dir)
	if errors.Is(err, fs.ErrExist) {
		if err = g.Remove(); err == nil {
			err = t.k.mkdir(g.dir)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot make the control group of %s: %w", id, err)
	}
	if err := g.Update(l); err != nil {
		return nil, errors.Join(err, g.Remove())
	}
	return g, nil
}

// Find is the group of a container that was started by an earlier life; nil if it has none.
func (t *Tree) Find(id yarn.ContainerID) *Group {
	g := t.group(id)
	if info, err := os.Stat(g.dir); err != nil || !info.IsDir() {
		return nil
	}
	return g
}

// Open is the group as the kernel wants it to start a process in (syscall.SysProcAttr.CgroupFD). The caller closes it.
func (g *Group) Open() (*os.File, error) { return os.Open(g.dir) }

// Update sets the limits. A container that uses more memory than it is left with is ended by the kernel.
func (g *Group) Update(l Limits) error {
	if g.t.cfg.Memory && g.t.cfg.Enforced {
		if err := g.limitMemory(l); err != nil {
			return fmt.Errorf("cannot limit memory to %d MB: %w", l.MemoryMB, err)
		}
	}
	if g.t.cfg.CPU {
		if err := g.limitCPU(l); err != nil {
			return fmt.Errorf("cannot limit processors to %d vcores: %w", l.VCores, err)
		}
	}
	return nil
}

func (g *Group) limitMemory(l Limits) error {
	soft := int64(float64(l.MemoryMB) * g.t.cfg.SoftPercent / 100)
	if l.Opportunistic {
		soft = 0
	}
	if err := write(g.dir, memoryMax, megabytes(l.MemoryMB)); err != nil {
		return err
	}
	if err := write(g.dir, memoryLow, megabytes(soft)); err != nil {
		return err
	}
	if err := write(g.dir, swapMax, "0"); !errors.Is(err, fs.ErrNotExist) { // kernels without swap have no such file
		return err
	}
	return nil
}

// megabytes are bytes as the kernel reads them.
func megabytes(n int64) string {
	if n > math.MaxInt64>>20 {
		return "max"
	}
	return strconv.FormatInt(max(n, 0)<<20, 10)
}

func (g *Group) limitCPU(l Limits) error {
	if err := write(g.dir, cpuWeight, strconv.FormatInt(weight(l), 10)); err != nil {
		return err
	}
	if !g.t.cfg.Strict {
		return nil
	}
	value := unlimited
	if all := g.t.cfg.NodeVCores; l.VCores < all {
		value = share(float64(l.VCores) * g.t.cfg.Cores / float64(all))
	}
	return write(g.dir, cpuMax, value)
}

// weight is the container's against others' when all want processors.
// compat: Apache's numbers: 100 for a vcore, the kernel's least for opportunistic containers.
func weight(l Limits) int64 {
	if l.Opportunistic {
		return 1
	}
	return 100 * min(max(l.VCores, 1), 100)
}

// The period in which processor time is counted, and the least of it that the kernel lets a group have, in microseconds.
const (
	period    = 100_000
	leastTime = 1_000
)

// unlimited is cpu.max of a group without limit.
const unlimited = "max 100000"

// share is cpu.max for so many processors.
func share(cores float64) string {
	return fmt.Sprintf("%d %d", max(int64(cores*period), leastTime), period)
}

// OOMKilled tells whether the kernel has ended a process because the container came to its limit of memory. If it did so
// because the machine had no more, that is not meant.
func (g *Group) OOMKilled() bool {
	list, err := words(g.dir, eventsFile)
	if err != nil {
		return false
	}
	count := map[string]string{}
	for i := 0; i+1 < len(list); i += 2 {
		count[list[i]] = list[i+1]
	}
	happened := func(name string) bool { return count[name] != "" && count[name] != "0" }
	return happened("oom") && happened("oom_kill")
}

// Remove ends what still runs in the group and removes it, with the groups that the container may have made in it. One that
// is gone is no error.
func (g *Group) Remove() error {
	for end := time.Now().Add(g.t.cfg.DeleteTimeout); ; time.Sleep(max(g.t.cfg.DeleteDelay, time.Millisecond)) {
		err := g.t.k.removeAll(g.dir)
		if err == nil {
			return nil
		}
		if err := write(g.dir, killFile, "1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot end what runs in the control group of a container: %w", err)
		}
		if time.Now().After(end) {
			return fmt.Errorf("cannot remove the control group of a container within %v "+
				"(yarn.nodemanager.linux-container-executor.cgroups.delete-timeout-ms): %w; what runs in it is in its file cgroup.procs",
				g.t.cfg.DeleteTimeout, err)
		}
	}
}

// removeAll removes a group after the groups in it.
func (k kernel) removeAll(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if err := k.removeAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	if err == nil {
		err = k.rmdir(dir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "remove", Path: dir, Err: err}
	}
	return nil
}
