package nodemanager

import (
	"fmt"
	"sync"

	"github.com/heddle-project/heddle/nodemanager/cgroup"
	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/nodemanager/run"
	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// openGroups has the kernel limit containers, if that is configured. A machine that cannot do it is an error: limits are
// safety.
func (d *Daemon) openGroups() (err error) {
	c, r := &d.settings.Cgroups, &d.settings.Resources
	if !c.Memory && !c.CPU {
		return nil
	}
	d.groups, err = cgroup.Open(cgroup.Config{Mount: c.Mount, Hierarchy: c.Hierarchy, Memory: c.Memory, Enforced: c.Enforced, SoftPercent: c.SoftPercent,
		CPU: c.CPU, Strict: c.Strict, NodeVCores: d.total.Load()[yarn.VCores], Cores: r.ContainerCores(d.machine), Capped: r.CPUPercent < 100,
		DeleteDelay: c.DeleteDelay, DeleteTimeout: c.DeleteTimeout})
	return err
}

// sweepGroups ends what runs in groups of containers that nobody follows.
func (d *Daemon) sweepGroups(kept []state.Container) {
	if d.groups == nil {
		return
	}
	known := map[yarn.ContainerID]bool{}
	for _, c := range kept {
		known[c.ID] = !c.Done
	}
	swept, err := d.groups.Sweep(func(id yarn.ContainerID) bool { return known[id] })
	if len(swept) > 0 {
		d.Log.Warn("control groups of an earlier life are removed", "containers", swept)
	}
	if err != nil {
		d.Log.Error("cannot remove a control group of an earlier life", "error", err)
	}
}

// confinement is the group of a container, and the limits that it is to have.
type confinement struct {
	mu     sync.Mutex // for as long as the group changes
	group  *cgroup.Group
	wanted cgroup.Limits // guarded by processes.mu
}

func limitsOf(s *engine.Spec) cgroup.Limits {
	return cgroup.Limits{MemoryMB: s.Resource.MemoryMB(), VCores: s.Resource[yarn.VCores], Opportunistic: s.Execution == yarn.Opportunistic}
}

// confine creates the control group that a container is to start in, if containers are limited. The caller closes c.Cgroup.
func (p *processes) confine(c *run.Container) error {
	if p.d.groups == nil {
		return nil
	}
	r, wanted := p.wanted(c.ID)
	group, err := p.d.groups.Create(c.ID, wanted)
	if err != nil {
		return err
	}
	p.adopt(r, group)
	if err := p.limit(c.ID); err != nil { // they may have changed meanwhile
		return err
	}
	if c.Cgroup, err = group.Open(); err != nil {
		return fmt.Errorf("cannot open the control group of %s: %w", c.ID, err)
	}
	return nil
}

// reconfine finds the group of a container of the last life.
func (p *processes) reconfine(id yarn.ContainerID) {
	if p.d.groups == nil {
		return
	}
	group := p.d.groups.Find(id)
	if group == nil {
		p.d.Log.Warn("a container was started without limits and goes on without them", "container", id)
		return
	}
	r, _ := p.wanted(id)
	p.adopt(r, group)
	if err := p.limit(id); err != nil {
		p.d.Log.Warn("cannot limit a container of an earlier life anew", "container", id, "error", err)
	}
}

func (p *processes) adopt(r *running, group *cgroup.Group) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.group = group
}

// wanted is a container between its Launch and its end, nil outside of that, and the limits that it is to have now.
func (p *processes) wanted(id yarn.ContainerID) (*running, cgroup.Limits) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.running[id]
	if r == nil {
		return nil, cgroup.Limits{}
	}
	return r, r.wanted
}

// resize changes a container's limits in the background.
func (p *processes) resize(s *engine.Spec) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.running[s.ID]
	if r == nil || p.d.groups == nil {
		return
	}
	r.wanted = limitsOf(s)
	p.work.Go(func() {
		if err := p.limit(s.ID); err != nil {
			p.d.Log.Warn("cannot change the limits of a container", "container", s.ID, "error", err)
		}
	})
}

// limit brings the limits that a container is to have now into its group, if it has one. Whoever comes last sets the latest.
func (p *processes) limit(id yarn.ContainerID) error {
	r, _ := p.wanted(id)
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, wanted := p.wanted(id)
	if r.group == nil {
		return nil
	}
	return r.group.Update(wanted)
}

// release removes the group of a container that has ended, and tells whether the kernel has ended a process of it for the
// container's limit of memory.
func (p *processes) release(id yarn.ContainerID, r *running) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.group == nil {
		return false
	}
	killed := r.group.OOMKilled()
	if err := r.group.Remove(); err != nil {
		p.d.Log.Warn("cannot remove the control group of a container; the next start tries again", "container", id, "error", err)
	}
	r.group = nil
	return killed
}

// outOfMemory is the command that tells the engine that the kernel has killed a process of a container for its memory limit. If
// the container itself ended by SIGKILL, it counts as killed for exceeding its physical memory; otherwise a note is added to
// its diagnostics.
func outOfMemory(id yarn.ContainerID, mb int64, exit int32) engine.Command {
	what := fmt.Sprintf("Container [containerID=%s] is running beyond the 'PHYSICAL' memory limit: the kernel has ended a process of it for exceeding "+
		"%d MB (yarn.nodemanager.resource.memory.enforced).", id, mb)
	if exit != exitKilled {
		return engine.Noted{ID: id, Text: what}
	}
	return engine.Overrun{ID: id, Exit: yarn.ExitKilledExceededPMem, Why: what}
}

// exitKilled is the exit status of what a SIGKILL has ended.
const exitKilled = 137
