package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/heddle-project/heddle/yarn"
)

// hierarchy is the property that says where the tree is.
const hierarchy = "yarn.nodemanager.linux-container-executor.cgroups.hierarchy"

// Config says where the groups are and what is limited. Without Memory and CPU there are groups, but no limits.
type Config struct {
	Mount     string // yarn.nodemanager.linux-container-executor.cgroups.v2.mount-path; "": as /proc/mounts says
	Hierarchy string // yarn.nodemanager.linux-container-executor.cgroups.hierarchy, below Mount

	Memory      bool    // yarn.nodemanager.resource.memory.enabled
	Enforced    bool    // yarn.nodemanager.resource.memory.enforced: without it memory is not limited
	SoftPercent float64 // yarn.nodemanager.resource.memory.cgroups.soft-limit-percentage

	CPU        bool    // yarn.nodemanager.resource.cpu.enabled
	Strict     bool    // yarn.nodemanager.linux-container-executor.cgroups.strict-resource-usage: no more than its share, even if others are idle
	NodeVCores int64   // all that the node offers
	Cores      float64 // processors behind NodeVCores
	Capped     bool    // all containers together get no more than Cores

	DeleteDelay   time.Duration // yarn.nodemanager.linux-container-executor.cgroups.delete-delay-ms: between two tries
	DeleteTimeout time.Duration // yarn.nodemanager.linux-container-executor.cgroups.delete-timeout-ms
}

func (c *Config) controllers() []string {
	var out []string
	if c.Memory {
		out = append(out, "memory")
	}
	if c.CPU {
		out = append(out, "cpu")
	}
	return out
}

// Tree is the group that the groups of a node's containers are in. It is safe for concurrent use.
type Tree struct {
	cfg  Config
	k    kernel
	dir  string
	lock *os.File
}

// Open makes the tree, unless it is there, and takes it for this daemon. The error tells what the machine lacks.
func Open(cfg Config) (*Tree, error) { return open(cfg, linux) }

func open(cfg Config, k kernel) (*Tree, error) {
	t := &Tree{cfg: cfg, k: k}
	err := t.prepare()
	if err != nil {
		_ = t.Close()
		return nil, fmt.Errorf("cannot have the kernel limit containers: %w", err)
	}
	return t, nil
}

func (t *Tree) prepare() (err error) {
	mount := t.cfg.Mount
	if mount == "" {
		if mount, err = t.k.findMount(t.cfg.controllers()); err != nil {
			return err
		}
	}
	if err := t.makeBelow(mount); err != nil {
		return err
	}
	if err := t.own(); err != nil {
		return err
	}
	if err := t.handOn(t.dir); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(t.dir, killFile)); err != nil {
		return fmt.Errorf("containers could not be ended safely: %w; use Linux 5.14 or newer", err)
	}
	return t.cap()
}

// makeBelow makes the tree's group and those above it.
func (t *Tree) makeBelow(mount string) error {
	path := filepath.Clean("/" + t.cfg.Hierarchy)
	if path == "/" {
		return fmt.Errorf("%s is %q; name a group of the NodeManager's own, such as /hadoop-yarn", hierarchy, t.cfg.Hierarchy)
	}
	if _, err := os.Stat(filepath.Join(mount, controllersFile)); err != nil {
		return fmt.Errorf("no hierarchy of cgroup version 2 is mounted there: %w; correct "+
			"yarn.nodemanager.linux-container-executor.cgroups.v2.mount-path or leave it out", err)
	}
	t.dir = mount
	for name := range strings.SplitSeq(path[1:], "/") {
		if err := t.handOn(t.dir); err != nil {
			return err
		}
		t.dir = filepath.Join(t.dir, name)
		if err := t.k.mkdir(t.dir); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("cannot make the control group of the containers: %w; let the daemon write there, or set %s "+
				"to a group that it may make", err, hierarchy)
		}
	}
	return nil
}

// handOn enables the controllers for the child groups of dir.
func (t *Tree) handOn(dir string) error {
	there, err := words(dir, subtreeFile)
	if err != nil {
		return err
	}
	missing := lacking(t.cfg.controllers(), there)
	if len(missing) == 0 {
		return nil
	}
	offered, err := words(dir, controllersFile)
	if err != nil {
		return err
	}
	if no := lacking(missing, offered); len(no) > 0 {
		return fmt.Errorf("the control group %s has not got the controllers %q: enable them in %s of the group above, or %s",
			dir, strings.Join(no, " "), subtreeFile, switchOff)
	}
	if err := write(dir, subtreeFile, "+"+strings.Join(missing, " +")); err != nil {
		return fmt.Errorf("cannot enable the controllers %q for groups in %s: %w; the daemon must be allowed to, and no "+
			"process may be directly in that group (%s says where the tree is)", strings.Join(missing, " "), dir, err, hierarchy)
	}
	return nil
}

// own locks out other daemons until Close or the end of this process.
func (t *Tree) own() (err error) {
	if t.lock, err = os.Open(t.dir); err != nil {
		return err
	}
	if err = syscall.Flock(int(t.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("cannot take the control group %s: %w; another NodeManager on this machine has it: give each one "+
			"its own %s", t.dir, err, hierarchy)
	}
	return nil
}

// cap limits the processors that all containers use together.
func (t *Tree) cap() error {
	if !t.cfg.CPU {
		return nil
	}
	value := unlimited
	if t.cfg.Capped {
		value = share(t.cfg.Cores)
	}
	if err := write(t.dir, cpuMax, value); err != nil {
		return fmt.Errorf("cannot limit the processors of all containers to %q: %w", value, err)
	}
	return nil
}

// Close lets another daemon have the tree. The groups stay.
func (t *Tree) Close() error {
	if t.lock == nil {
		return nil
	}
	return t.lock.Close()
}

// Sweep ends what still runs in groups of containers that are not known, and removes these groups. It tells whose they
// were, the ones included that the error is about.
func (t *Tree) Sweep(known func(yarn.ContainerID) bool) ([]yarn.ContainerID, error) {
	entries, err := os.ReadDir(t.dir)
	if err != nil {
		return nil, fmt.Errorf("cannot look for control groups of an earlier life: %w", err)
	}
	var swept []yarn.ContainerID
	var errs []error
	for _, e := range entries {
		id, err := yarn.ParseContainerID(e.Name())
		if err != nil || id.String() != e.Name() || !e.IsDir() || known(id) {
			continue
		}
		swept = append(swept, id)
		errs = append(errs, t.group(id).Remove())
	}
	return swept, errors.Join(errs...)
}
