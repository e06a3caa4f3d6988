package nodemanager

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/nodemanager/loop"
	"github.com/heddle-project/heddle/nodemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// counters count what has happened since the start.
type counters struct {
	launched, completed, failed, killed atomic.Int64

	missBytes, hitBytes, missFiles, hitFiles atomic.Int64 // resources of containers
	localization, launch                     durations
	sizeBefore, public, private              atomic.Int64 // bytes in the caches at the last look, and taken away
}

// durations sum up how long something took.
type durations struct{ count, nanos atomic.Int64 }

func (d *durations) add(x time.Duration) {
	d.count.Add(1)
	d.nanos.Add(int64(x))
}

func (d *durations) rate() view.Rate {
	r := view.Rate{Count: d.count.Load()}
	if r.Count > 0 {
		r.Average = float64(d.nanos.Load()) / float64(r.Count) / float64(time.Millisecond)
	}
	return r
}

// localized counts what the localization of a container found and took (engine.Launch.Counters).
func (c *counters) localized(n [5]int64) {
	c.missBytes.Add(n[0])
	c.hitBytes.Add(n[1])
	c.missFiles.Add(n[2])
	c.hitFiles.Add(n[3])
	c.localization.add(time.Duration(n[4]) * time.Millisecond)
}

func (c *counters) swept(x engine.Swept) {
	c.sizeBefore.Store(x.Before)
	c.public.Add(x.Public)
	c.private.Add(x.Private)
}

// ended counts a container's end by its exit code.
func (c *counters) ended(code int32) {
	switch code {
	case 0:
		c.completed.Add(1)
	case 137, 143:
		c.killed.Add(1)
	default:
		c.failed.Add(1)
	}
}

// Node implements web.Source.
func (d *Daemon) Node() view.Node {
	s := d.condition()
	total := *d.total.Load()
	m := &d.settings.Monitor
	n := view.Node{ID: d.node, Started: d.started, Healthy: s.Healthy, Report: s.Report, Checked: s.At, Offered: total, Types: d.settings.Resources.Types,
		VirtualMB: int64(float64(total.MemoryMB()) * m.VirtualRatio), PhysicalCheck: m.PhysicalCheck, VirtualCheck: m.VirtualCheck}
	if r := &d.settings.Recovery; r.Enabled {
		n.Recovery = r.Dir
	}
	return n
}

// Applications implements web.Source: applications with containers on this node, and ended ones whose logs are still on it.
func (d *Daemon) Applications() []view.Application {
	live := d.loop.Applications()
	for _, a := range d.logs.applications() { // asked for last: an application that ends meanwhile is in at least one of the two lists
		if at, found := slices.BinarySearchFunc(live, a.ID, func(x loop.Application, id yarn.ApplicationID) int { return x.ID.Compare(id) }); !found {
			live = slices.Insert(live, at, a)
		}
	}
	containers := d.loop.Containers()
	var out []view.Application
	for _, a := range live {
		out = append(out, application(a, containers))
	}
	return out
}

// Application implements web.Source.
func (d *Daemon) Application(id yarn.ApplicationID) (view.Application, bool) {
	a, ok := d.application(id)
	return application(a, d.loop.Containers()), ok
}

// application returns an application with containers on this node, or with logs that are kept.
func (d *Daemon) application(id yarn.ApplicationID) (loop.Application, bool) {
	if a, ok := d.loop.Application(id); ok {
		return a, true
	}
	return d.logs.application(id)
}

// application gathers an application's containers out of all, which are sorted.
func application(a loop.Application, all []*engine.View) view.Application {
	out := view.Application{ID: a.ID, User: a.User, State: a.State}
	first, _ := slices.BinarySearchFunc(all, a.ID, func(v *engine.View, id yarn.ApplicationID) int { return v.ID.Attempt.Application.Compare(id) })
	for _, v := range all[first:] {
		if v.ID.Attempt.Application != a.ID {
			break
		}
		out.Containers = append(out.Containers, v.ID)
	}
	return out
}

// Containers implements web.Source.
func (d *Daemon) Containers() []view.Container {
	var out []view.Container
	for _, v := range d.loop.Containers() {
		out = append(out, shown(v))
	}
	return out
}

// Container implements web.Source.
func (d *Daemon) Container(id yarn.ContainerID) (view.Container, bool) {
	v := d.loop.Container(id)
	if v == nil {
		return view.Container{}, false
	}
	return shown(v), true
}

func shown(v *engine.View) view.Container {
	return view.Container{ID: v.ID, User: v.User, State: v.State, Exit: v.Exit, Diagnostics: v.Text, Resource: v.Resource, Execution: v.Execution}
}

// Metrics implements web.Source.
func (d *Daemon) Metrics() view.Metrics {
	c := &d.counters
	m := view.Metrics{Launched: c.launched.Load(), Completed: c.completed.Load(), Failed: c.failed.Load(), Killed: c.killed.Load()}
	m.CacheMissBytes, m.CacheHitBytes, m.CacheMissFiles, m.CacheHitFiles = c.missBytes.Load(), c.hitBytes.Load(), c.missFiles.Load(), c.hitFiles.Load()
	m.CacheSizeBeforeClean, m.PublicDeleted, m.PrivateDeleted = c.sizeBefore.Load(), c.public.Load(), c.private.Load()
	m.LocalizationTime, m.LaunchTime = c.localization.rate(), c.launch.rate()
	for _, a := range d.loop.Applications() {
		if a.State == "RUNNING" {
			m.Applications++
		}
	}
	views := d.loop.Containers()
	x := engine.Divide(views)
	m.QueuedGuaranteed, m.QueuedOpportunistic, m.Paused = int64(x.QueuedGuaranteed), int64(x.QueuedOpportunistic), int64(x.Paused)
	m.Opportunistic, m.OpportunisticMB, m.OpportunisticVCores = int64(x.Running), x.RunningMB, x.RunningVCores
	for _, v := range views {
		if v.Done() {
			continue
		}
		m.Allocated++
		m.AllocatedMB += v.Resource.MemoryMB()
		m.AllocatedVCores += v.Resource.VCoreCount()
		switch {
		case v.Sub == engine.SubRunning, v.Sub == engine.SubPaused:
			m.Running++
		case !v.Waits:
			m.Initializing++
		}
	}
	total := *d.total.Load()
	m.AvailableMB, m.AvailableVCores = total.MemoryMB()-m.AllocatedMB, total.VCoreCount()-m.AllocatedVCores
	d.measured(&m)
	return m
}

// measured adds what the parts measure.
func (d *Daemon) measured(m *view.Metrics) {
	containers, node := d.monitor.usage()
	m.ContainersMB, m.ContainersVMB, m.ContainersCPU = containers.PhysicalMB, containers.VirtualMB, float64(containers.CPU)
	m.NodeMB, m.NodeVMB, m.NodeCPU = node.PhysicalMB, node.VirtualMB, float64(node.CPU)
	h := d.health.State()
	m.BadLocalDirs, m.BadLogDirs = len(h.Local.Bad)+len(h.Local.Full), len(h.Log.Bad)+len(h.Log.Full)
	m.LocalDirsPercent, m.LogPercent = h.Local.Percent, h.Log.Percent
	if s := d.services.shuffle; s != nil {
		x := s.Stats()
		m.ShuffleBytes, m.ShuffleOK, m.ShuffleFailed, m.ShuffleConnections = int64(x.Bytes), int64(x.OK), int64(x.Failed), x.Connections
	}
}
