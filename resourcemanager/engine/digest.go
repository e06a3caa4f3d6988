package engine

import (
	"maps"
	"slices"

	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Digest is a hash of the state: two engines in the same state have the same one. It
// is for comparing a run with its repetition. Like a publication of views it may fill
// caches of the engine, so the repetition must call it at the same points. Its cost
// grows with everything that the engine holds.
func (e *Engine) Digest() uint64 {
	var d digest
	d.ints(int64(e.nextApp), int64(len(e.order)), int64(len(e.ended)), int64(len(e.nodes)), int64(len(e.byID)),
		int64(e.saves.first), int64(len(e.saves.entries())), int64(len(e.jobs)))
	d.flags(e.sweepDue, e.coming)
	for _, a := range e.order {
		d.application(e, a)
	}
	for _, id := range slices.SortedFunc(maps.Keys(e.nodes), yarn.NodeID.Compare) {
		d.node(e, e.nodes[id])
	}
	for _, c := range e.containers {
		if c != nil {
			d.container(c)
		}
	}
	for _, q := range e.sched.Queues().Queues {
		d.queue(&q)
	}
	for _, p := range e.plans.list {
		d.plan(p)
	}
	return uint64(d)
}

// digest is the hash of everything written to it so far.
type digest uint64

func (d *digest) int(x uint64) {
	h := (uint64(*d) ^ x) * 0x9E3779B97F4A7C15
	*d = digest(h ^ h>>29)
}

func (d *digest) ints(list ...int64) {
	for _, x := range list {
		d.int(uint64(x))
	}
}

func (d *digest) flags(list ...bool) {
	x := uint64(1)
	for _, b := range list {
		if x <<= 1; b {
			x++
		}
	}
	d.int(x)
}

func (d *digest) text(s string) {
	d.int(uint64(len(s)))
	for i := 0; i < len(s); i += 8 {
		var x uint64
		for _, b := range []byte(s[i:min(i+8, len(s))]) {
			x = x<<8 | uint64(b)
		}
		d.int(x)
	}
}

func (d *digest) resource(list ...yarn.Resource) {
	for _, r := range list {
		d.ints(r[:]...)
	}
}

func (d *digest) app(id yarn.ApplicationID) { d.ints(id.ClusterTimestamp, int64(id.Sequence)) }

func (d *digest) application(e *Engine, a *application) {
	nodes, waiting, atEnd := 0, 0, 0
	if a.onNodes != nil {
		nodes = len(a.ranOn)
	}
	if a.callers != nil {
		waiting, atEnd = len(a.waiting), len(a.atEnd)
	}
	d.app(a.sub.ID)
	d.text(a.queue)
	d.text(a.sub.User)
	d.ints(int64(a.state), int64(a.before), int64(a.target), int64(a.priority), a.expireAt, a.submitTime, a.launchTime, a.finishTime,
		int64(a.final), int64(len(a.diagnostics)), int64(waiting), int64(atEnd), int64(nodes), int64(a.updateNodes))
	d.flags(a.granted, a.endStored, a.placed)
	d.resource(a.used().seconds)
	for _, t := range a.attempts {
		x := t.said()
		d.ints(int64(t.id.Attempt), int64(t.state), t.masterID.Number, int64(t.exitStatus), int64(t.responseID), int64(len(x.grants)),
			int64(len(x.finished)), int64(len(x.told)), int64(len(x.asks)), int64(x.rolledBack.len()), t.containers, t.startTime, t.finishTime, x.lease.since, int64(len(t.diagnostics)))
		d.flags(t.registered, t.gone, x.releasing, t.dissolving, x.lease.held)
		d.text(t.trackingURL)
		for _, p := range slices.Sorted(maps.Keys(x.gangs)) {
			g := x.gangs[p]
			d.ints(int64(p), int64(g.state), int64(len(g.held)), g.due, int64(len(g.aside)))
		}
	}
	if a.ref == scheduler.NoApp {
		return
	}
	u := e.sched.AppUsage(a.ref)
	d.text(u.Queue)
	d.resource(u.Used, u.Reserved, u.Pending)
	d.ints(int64(u.Live), int64(u.ReservedCount), u.PendingCount)
	got := e.sched.Admission(a.ref)
	d.flags(got.Active, got.Runnable)
}

func (d *digest) plan(p *plan) {
	d.text(p.path)
	d.flags(p.there, p.emptying)
	d.resource(p.Capacity())
	for _, r := range p.All() {
		d.ints(r.ID.ClusterTimestamp, r.ID.Number, r.Start, r.End, r.Accepted)
		for _, i := range r.Intervals {
			d.ints(i.Start, i.End)
			d.resource(i.Resource)
		}
	}
}

func (d *digest) node(e *Engine, n *node) {
	d.text(n.id.Host)
	d.text(n.label)
	d.ints(int64(n.id.Port), int64(n.state), int64(n.responseID), n.lastHeartbeat, n.lease.since, int64(n.held), int64(n.launched),
		int64(len(n.apps)), int64(len(n.cleanup)), int64(len(n.cleanApps)), int64(len(n.remove)), int64(len(n.signals)), int64(n.updates.len()))
	d.flags(n.leaving, n.resized, n.lease.held, n.health.Healthy, n.notAdmitted, n.untracked)
	d.flags(n.removal.held)
	d.ints(n.removal.since)
	d.resource(n.total)
	d.flags(n.overcommit.ends)
	d.ints(n.overcommit.at)
	if n.drain != nil {
		d.ints(n.drain.requestedAt, n.drain.deadline)
		d.flags(n.drain.ordered)
		d.resource(n.drain.capacity)
		if o := n.drain.overcommit; o != nil {
			d.flags(o.Ends)
			d.ints(o.After)
		}
	}
	if n.ref == scheduler.NoNode {
		return
	}
	u := e.sched.NodeUsage(n.ref)
	d.resource(u.Total, u.Used, u.Available)
	d.int(uint64(u.Reserved))
	for _, ref := range u.Containers {
		d.int(uint64(ref))
	}
}

func (d *digest) container(c *container) {
	d.app(c.id.Attempt.Application)
	d.ints(int64(c.id.Attempt.Attempt), c.id.Number, int64(c.ref), int64(c.state), c.created, c.lease.since)
	d.flags(c.launched, c.released, c.reported, c.lease.held)
	if c.confirmed != nil {
		d.resource(*c.confirmed)
	}
}

func (d *digest) queue(q *queue.Info) {
	d.text(q.Path)
	d.ints(int64(q.State), int64(q.SubmittedApps), int64(q.ActiveApps), int64(q.PendingApps), int64(q.WaitingApps))
	d.share(q, "")
	for _, label := range slices.Sorted(maps.Keys(q.Partitions)) {
		d.text(label)
		d.share(q, label)
	}
}

func (d *digest) share(q *queue.Info, label string) {
	s := q.In(label)
	d.resource(s.Used, s.Pending, s.Reserved)
	if q.Capacity != nil {
		d.resource(q.Capacity.In(label).AMUsed)
	}
	if q.Fair != nil {
		d.resource(q.Fair.AMUsed, q.Fair.Demand, q.Fair.FairShare)
	}
	d.ints(int64(s.AllocatedContainers), int64(s.ReservedContainers), int64(s.PendingContainers))
}
