package nodemanager

import (
	"context"
	"sync"
	"time"

	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/nodemanager/heartbeat"
	"github.com/heddle-project/heddle/nodemanager/process"
	"github.com/heddle-project/heddle/yarn"
)

// mib is a mebibyte.
const mib = 1 << 20

// monitor measures what containers and the machine use, and asks for the end of containers that use too much.
type monitor struct {
	d      *Daemon
	began  time.Time
	meters map[yarn.ContainerID]*meter
	cpu    process.CPU
	at     time.Time

	mu         sync.Mutex
	containers heartbeat.Usage
	node       heartbeat.Usage
}

// meter follows one life of a container's process.
type meter struct {
	*process.Meter
	pid  int32
	told bool // the engine was told that it exceeds a limit
}

func newMonitor(d *Daemon) *monitor {
	return &monitor{d: d, began: time.Now(), meters: map[yarn.ContainerID]*meter{}}
}

// run measures until ctx ends.
func (m *monitor) run(ctx context.Context) {
	s := &m.d.settings.Monitor
	m.warn()
	ticker := time.NewTicker(max(s.Interval, 100*time.Millisecond))
	defer ticker.Stop()
	for {
		m.measureNode()
		if s.Enabled {
			m.measureContainers()
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// usage is the last measurement.
func (m *monitor) usage() (containers, node heartbeat.Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.containers, m.node
}

func (m *monitor) measureNode() {
	mem, err := process.Linux.Memory()
	if err != nil {
		m.d.Log.Warn("cannot measure the machine's memory", "error", err)
		return
	}
	cpu, err := process.Linux.CPU()
	if err != nil {
		m.d.Log.Warn("cannot measure the machine's processors", "error", err)
		return
	}
	now := time.Now()
	use := heartbeat.Usage{PhysicalMB: (mem.Physical - mem.Available) / mib, VirtualMB: (mem.Virtual - mem.AvailableVirtual) / mib}
	if !m.at.IsZero() {
		use.CPU = float32(cpu.Cores(m.cpu, now.Sub(m.at)))
	}
	m.cpu, m.at = cpu, now
	m.mu.Lock()
	m.node = use
	m.mu.Unlock()
}

func (m *monitor) measureContainers() {
	views := m.d.loop.Containers()
	table, err := process.Linux.Table()
	if err != nil {
		m.d.Log.Warn("cannot read the table of processes", "error", err)
		return
	}
	var sum heartbeat.Usage
	seen := map[yarn.ContainerID]bool{}
	for _, v := range views {
		if v.PID <= 0 || v.Done() {
			continue
		}
		seen[v.ID] = true
		x := m.meters[v.ID]
		if x == nil || x.pid != v.PID {
			x = &meter{Meter: process.NewMeter(int(v.PID)), pid: v.PID}
			m.meters[v.ID] = x
		}
		u, ok := x.Sample(table, time.Since(m.began))
		if !ok {
			continue
		}
		sum.PhysicalMB += u.Physical / mib
		sum.VirtualMB += u.Virtual / mib
		sum.CPU += float32(u.Cores)
		m.check(v, x, u)
	}
	for id := range m.meters {
		if !seen[id] {
			delete(m.meters, id)
		}
	}
	m.mu.Lock()
	m.containers = sum
	m.mu.Unlock()
}

// check asks for the end of a container that uses more than it may.
//
// compat: with yarn.nodemanager.resource.memory.enforced, which is the default, Apache's monitor measures and ends nobody, be
// there control groups or not (docs/decisions/0004-memory-limits-as-apache-keeps-them.md).
func (m *monitor) check(v *engine.View, x *meter, u process.Usage) {
	s, kernel := &m.d.settings.Monitor, &m.d.settings.Cgroups
	if kernel.Enforced && (kernel.Memory || x.told) {
		return
	}
	physical := v.Resource.MemoryMB() * mib
	limits := process.Limits{Physical: physical, Virtual: int64(float64(physical) * s.VirtualRatio), CheckPhysical: s.PhysicalCheck, CheckVirtual: s.VirtualCheck}
	over, yes := limits.Over(u)
	if !yes {
		return
	}
	x.told = true
	m.d.Log.Warn("a container uses more than it may", "container", v.ID, "exit", over.Exit, "used", u.Physical, "virtual", u.Virtual, "ends", !kernel.Enforced)
	if !kernel.Enforced {
		m.d.loop.Post(engine.Overrun{ID: v.ID, Exit: over.Exit, Why: limits.Explain(over, u, v.ID, process.Linux)})
	}
}

// warn logs at start which configured limits are not enforced although they
// seem to be.
func (m *monitor) warn() {
	s, kernel := &m.d.settings.Monitor, &m.d.settings.Cgroups
	if s.Enabled && (s.PhysicalCheck || s.VirtualCheck) && kernel.Enforced && !kernel.Memory {
		m.d.Log.Warn("containers that use more memory than they may go on, as with Apache's NodeManager: yarn.nodemanager.resource.memory.enforced is true, " +
			"so only the kernel would end them, and yarn.nodemanager.resource.memory.enabled is false; with enforced=false the NodeManager ends them")
	}
}
