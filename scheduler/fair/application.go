package fair

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// app is one application, with what this policy knows of it.
type app struct {
	candidate // among the applications of its leaf
	queue     *Queue
	runnable  bool // no limit on running applications holds it back
	hasAM     bool // its master has a container, or it is unmanaged
	changed   bool // demand is out of date
	reserver  bool // counted in its queues' reservers
	bounds
	demand resource // what it used and asked for at the last Recompute

	core.App

	share       resource      // its fair share
	am          resource      // what its master uses
	asked       resource      // what was asked for its master
	avoided     []avoidedNode // what its blacklist names, as of the last allocate call that changed it
	avoidsOther bool          // its blacklist has changed since

	*starvation // of the attempt
}

// avoidedNode is a node by its index and name, since the index may have passed to another node.
type avoidedNode struct {
	ref cluster.NodeRef
	id  yarn.NodeID
}

// appOf is this policy's side of an application.
func appOf(a *core.App) *app { return a.Outer.(*app) }

func (s *Scheduler) app(ref cluster.AppRef) *app { return appOf(s.Apps[ref]) }

// Admit puts an application into its leaf, which is created if need be.
func (s *Scheduler) Admit(in *demand.Application, path string) (*core.App, yarn.Reason) {
	q, why := s.destination(in, path)
	if !why.OK() {
		return nil, why
	}
	a := &app{App: core.App{Kept: in.Kept()}, queue: q, starvation: &starvation{}}
	a.Outer, a.Leaf, a.candidate.app = a, &q.Queue, a
	a.candidate.name = in.ID.String()
	q.members++
	return &a.App, yarn.Reason{}
}

// destination is the leaf of a new or a recovered application.
func (s *Scheduler) destination(in *demand.Application, path string) (*Queue, yarn.Reason) {
	if !in.Recovering && !in.Placed {
		return nil, notPlaced(in)
	}
	path, why := s.withinPlan(in, path)
	if !why.OK() {
		return nil, why
	}
	if s.find(path) == nil && !in.Recovering && !s.AsApache { // Apache creates the queue first, and refuses then
		if why := s.mayCreate(in, path); !why.OK() {
			return nil, why
		}
	}
	q, why := s.leafFor(path)
	switch {
	case in.Recovering && !why.OK():
		return s.leafFor(recoveryQueue)
	case in.Recovering || !why.OK():
		return q, why
	}
	if why := s.admits(in, q); !why.OK() || in.Unmanaged {
		return q, why
	}
	return q, s.possible(q, []yarn.Ask{{Capability: in.AM}})
}

// recoveryQueue takes recovered applications whose queue can no longer be created.
const recoveryQueue = "root.recovery"

// admits tells whether the application's user may submit to q.
func (s *Scheduler) admits(in *demand.Application, q *Queue) yarn.Reason {
	if !s.maySubmit(q, in) {
		return yarn.Reason{Code: fit.SubmitDenied, Subject: q.Path, Detail: in.User}
	}
	return yarn.Reason{}
}

// maySubmit tells whether an ACL of the queue or of one above lets the user submit.
//
// compat: whether ACLs are enabled does not matter.
func (s *Scheduler) maySubmit(q *Queue, in *demand.Application) bool {
	for ; q != nil; q = q.up {
		if q.Settings.Submit.Allows(in.User, "", in.Groups) || q.Settings.Admin.Allows(in.User, "", in.Groups) {
			return true
		}
	}
	return false
}

// mayCreate tells whether the application's user may submit to a queue that does not exist yet: the nearest one above decides.
func (s *Scheduler) mayCreate(in *demand.Application, path string) yarn.Reason {
	up := rooted(path)
	for s.find(up) == nil {
		up = queue.ParentPath(up)
	}
	return s.admits(in, s.find(up))
}

// rooted is the full path of a queue.
func rooted(name string) string {
	if name == queue.Root || len(name) > len(queue.Root) && name[:len(queue.Root)+1] == queue.Root+"." {
		return name
	}
	return queue.Root + "." + name
}

// Started puts an attempt among those that run, or among those that wait until they may.
func (s *Scheduler) Started(of *core.App, at *demand.Attempt) {
	a := appOf(of)
	a.candidate.order, a.asked = at.StartWall, at.AM
	a.hasAM, a.am, a.demand, a.share, a.bounds = a.Unmanaged, resource{}, resource{}, resource{}, narrowest
	a.starvation = &starvation{of: a, atShare: s.Now.Mono, amToo: s.cfg.PreemptMasters(a.queue.Path)}
	if !at.KeepContainers {
		a.avoided, a.avoidsOther = nil, false
	}
	if a.runnable = s.mayRun(a.queue, a.User, nil).OK(); a.runnable {
		s.addRunnable(a)
	} else {
		s.addWaiting(a)
	}
}

// Stopped takes an attempt out of its leaf, and lets others run in its place.
func (s *Scheduler) Stopped(of *core.App) {
	a := appOf(of)
	s.forgetPromises(a)
	if !a.runnable {
		s.removeWaiting(a)
		return
	}
	s.removeRunnable(a)
	s.promote(a.queue, a.User)
}

// Removed counts the application off its leaf.
func (s *Scheduler) Removed(of *core.App) { appOf(of).queue.members-- }

// Moved has an application enter another leaf.
func (s *Scheduler) Moved(of *core.App, from, to *queue.Queue) {
	if from == to {
		return
	}
	a, old := appOf(of), queueOf(from)
	runnable := s.mayRun(queueOf(to), a.User, a).OK()
	s.MoveDemand(of, from, to)
	wasRunnable := a.runnable
	if a.Running {
		switch {
		case wasRunnable:
			s.removeRunnable(a)
		case runnable:
			s.removeWaiting(a)
		default:
			s.leaveWaiting(a)
		}
	}
	a.queue, a.Leaf = queueOf(to), to
	old.members--
	a.queue.members++
	if !a.Running {
		return
	}
	if a.runnable = runnable; runnable {
		s.addRunnable(a)
		if a.hasAM && s.AsApache {
			s.chargeAM(a, -1)
		}
	} else if wasRunnable {
		s.addWaiting(a)
	} else {
		s.waitIn(a)
	}
	s.lineUpQueue(old)
	if wasRunnable {
		s.promote(old, a.User)
	}
}

// Prioritize does nothing: CheckPriority and SetPriority change none.
func (s *Scheduler) Prioritize(*core.App, int32) {}

// CheckPriority is 0, whatever was asked for.
func (s *Scheduler) CheckPriority(*demand.Application, string) (int32, yarn.Reason) {
	return 0, yarn.Reason{}
}

// SetPriority does nothing: applications have no priorities here.
func (s *Scheduler) SetPriority(cluster.AppRef, int32) {}

// MoveTarget is the leaf to move to. If the application runs, limits there must allow it; see mayMove.
func (s *Scheduler) MoveTarget(of *core.App, target string, _ bool) (*queue.Queue, yarn.Reason) {
	a, q := appOf(of), s.find(target)
	if q != nil && q.isPlan() {
		q = s.find(q.defaultPath())
	}
	switch {
	case q == nil:
		return nil, yarn.Reason{Code: fit.UnknownQueue, Subject: target}
	case !q.Leaf:
		return nil, yarn.Reason{Code: fit.NotALeaf, Subject: target}
	case q == a.queue || !a.runnable || !a.Running:
		return &q.Queue, yarn.Reason{}
	}
	return &q.Queue, s.mayMove(a, q)
}

// mayMove tells whether limits of the leaf and of the queues above it let a running application move there.
func (s *Scheduler) mayMove(a *app, to *Queue) yarn.Reason {
	size := s.appUsed(a)
	for q := to; q != nil && !above(q, a.queue); q = q.up {
		if q.runnable == q.conf.MaxApps {
			return yarn.Reason{Code: fit.RunningApps, Subject: q.Path, Count: int64(q.runnable), Max: int64(q.conf.MaxApps), Key: keyMaxApps}
		}
		if used := s.used(q); !s.sumFits(&used, &size, &q.max) {
			return yarn.Reason{Code: limitCode(q), Subject: q.Path, Needed: used.Add(size), Limit: q.max, Key: keyMax}
		}
	}
	if s.AsApache {
		return s.mayRun(to, a.User, nil)
	}
	return s.mayRun(to, a.User, a)
}

// above tells whether the one queue is the other, or above it.
func above(q, other *Queue) bool {
	for ; other != nil; other = other.up {
		if other == q {
			return true
		}
	}
	return false
}

// Used notes what has become free, and updates the places in the lineups.
func (s *Scheduler) Used(leaf *queue.Queue, of *core.App, _ cluster.Part, amount *yarn.Resource, moved bool) {
	if !moved && (amount[yarn.Memory] < 0 || amount[yarn.VCores] < 0) {
		s.noteFree()
	}
	a := appOf(of)
	if a.Mastered && !a.hasAM { // recovered
		s.noteAM(a, amount)
	}
	if a.Running && a.queue == queueOf(leaf) {
		a.change()
	}
	if !moved && a.queue == queueOf(leaf) && a.runnable && a.Running {
		s.lineUp(a)
	} else {
		s.lineUpQueue(queueOf(leaf))
	}
}

// Asked updates the application's place in its lineup.
func (s *Scheduler) Asked(of *core.App, _ bool) {
	a := appOf(of)
	if a.Running {
		a.change()
	}
	if a.runnable && a.Running && !s.placing {
		s.lineUp(a)
	}
}

// Blacklist changes the places that the application avoids; see the facade.
func (s *Scheduler) Blacklist(ref cluster.AppRef, add, remove []string) {
	s.Core.Blacklist(ref, add, remove)
	if len(add)+len(remove) > 0 {
		s.app(ref).avoidsOther = true
	}
}

// Normalize refuses asks for a type of which the leaf's maximum is zero, and completes the others; see the facade.
// An ask that every policy refuses gets that reason first.
func (s *Scheduler) Normalize(ref cluster.AppRef, asks []yarn.Ask) yarn.Reason {
	impossible := s.possible(s.app(ref).queue, asks) // as they were asked for, not as they are rounded
	if why := s.Core.Normalize(ref, asks); !why.OK() {
		return why
	}
	return impossible
}

// possible tells whether the leaf's maximum is above zero for each type that is asked for.
func (s *Scheduler) possible(q *Queue, asks []yarn.Ask) yarn.Reason {
	for i := range asks {
		for t := range s.types() {
			if asks[i].Capability[t] > 0 && q.max[t] == 0 {
				return yarn.Reason{Code: fit.NothingOfType, Subject: q.Path, Detail: s.cfg.Cluster.Types[t].Name, Needed: asks[i].Capability, Limit: q.max, Key: keyMax}
			}
		}
	}
	return yarn.Reason{}
}

// AllocateDone ends an allocate call with the headroom.
func (s *Scheduler) AllocateDone(ref cluster.AppRef) yarn.Resource {
	a := s.app(ref)
	if a.avoidsOther {
		a.avoidsOther, a.avoided = false, s.avoidedNodes(a)
	}
	h := s.Headroom(ref)
	s.GiveBackFreed(&a.App)
	return h
}

// avoidedNodes are the nodes that the application's blacklist names, in order of name. The order counts: free amounts may be negative, and
// each subtraction stops at zero.
func (s *Scheduler) avoidedNodes(a *app) (out []avoidedNode) {
	for i := range s.Books.NodeSlots() {
		if n := s.Books.Node(cluster.NodeRef(i)); n.Member && a.Avoids(n) {
			out = append(out, avoidedNode{cluster.NodeRef(i), n.ID})
		}
	}
	slices.SortFunc(out, func(x, y avoidedNode) int { return x.id.Compare(y.id) })
	return out
}

// Headroom is what is free in the cluster, without nodes that the application avoids, limited by the maximum and the fair share of its leaf.
//
// compat: limits of queues above do not count, and neither do vcores of the fair share unless the policy is drf.
func (s *Scheduler) Headroom(ref cluster.AppRef) (r yarn.Resource) {
	a := s.app(ref)
	q := a.queue
	free := s.Books.Total.Sub(s.used(s.root))
	for _, node := range a.avoided {
		if n := s.Books.Node(node.ref); n.Member && n.ID == node.id {
			free = less(free, n.Free())
		}
	}
	used := s.used(q)
	for t := range 2 {
		r[t] = min(free[t], q.max[t]-used[t])
		if t == yarn.Memory || q.policy == allocation.DRF {
			r[t] = min(r[t], max(q.share[t]-used[t], 0))
		}
	}
	return r
}

// less is a without b.
//
// compat: memory and vcores do not go below zero.
func less(a, b resource) resource {
	r := a.Sub(b)
	r[yarn.Memory], r[yarn.VCores] = max(r[yarn.Memory], 0), max(r[yarn.VCores], 0)
	return r
}

// Admission is how far the application has come.
func (s *Scheduler) Admission(ref cluster.AppRef) core.Admission {
	a := s.app(ref)
	got := core.Admission{Runnable: a.runnable, Active: a.runnable && a.Running && a.hasAM, AM: a.asked, Share: a.queue.share}
	if a.Running && !a.hasAM {
		got.Why = s.onAllNodes(a)
	}
	return got
}

// Names of limits in the allocation file.
const (
	keyMax     = "maxResources"
	keyMaxApps = "maxRunningApps"
	keyAMShare = "maxAMShare"
	keyUserMax = "user/maxRunningApps"
	keyPolicy  = "schedulingPolicy"

	keyLocality = config.FairPrefix + "locality.threshold.node and " + config.FairPrefix + "locality.threshold.rack"
)

// limitCode is the code for the maximum of a queue.
func limitCode(q *Queue) yarn.Code {
	if q.Leaf {
		return fit.QueueLimit
	}
	return fit.ParentLimit
}

// drop takes an application out of a list.
func drop(list []*app, a *app) []*app {
	switch i := slices.Index(list, a); {
	case i < 0:
		return list
	case i == 0: // as usual where many wait
		list[0] = nil
		return list[1:]
	default:
		return slices.Delete(list, i, i+1)
	}
}
