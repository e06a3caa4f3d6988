package scheduler

import (
	"errors"

	"github.com/heddle-project/heddle/scheduler/capacity"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fair"
	"github.com/heddle-project/heddle/scheduler/fifo"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// The vocabulary of the facade. See the packages for the fields.
type (
	NodeRef      = cluster.NodeRef
	AppRef       = cluster.AppRef
	ContainerRef = cluster.ContainerRef
	Node         = cluster.Node
	Container    = cluster.Container
	Cause        = cluster.Cause
	Ended        = cluster.Ended
	Decision     = cluster.Decision
	Application  = demand.Application
	Attempt      = demand.Attempt
	Recovered    = core.Recovered
	Changed      = core.Changed
	UpdateError  = core.UpdateError
	AppUsage     = core.AppUsage
	LiveUse      = core.LiveUse
	NodeActivity = core.NodeActivity
	Remedy       = core.Remedy
	Setting      = core.Setting
	Act          = core.Act
	Deed         = core.Deed
	Holder       = core.Holder
	Line         = core.Line
	Headroom     = core.Headroom
	Free         = core.Free
	Impossible   = core.Impossible
	Activity     = core.Activity
	Wanted       = core.Wanted
	Admission    = core.Admission
	NodeUsage    = core.NodeUsage
	QueueTree    = queue.Snapshot
	Picture      = core.Picture
	Basis        = core.Basis
	Prepared     = core.Prepared
	Preemption   = core.Preemption
	Taking       = core.Taking
	Move         = core.Move
	Plan         = core.Plan
	Promise      = core.Promise
	Label        = config.Label
	Locality     = cluster.Locality

	Opportunistic = core.Opportunistic
)

// No node, application or container.
const (
	NoNode      = cluster.NoNode
	NoApp       = cluster.NoApp
	NoContainer = cluster.NoContainer

	NodeLocal = cluster.NodeLocal
	RackLocal = cluster.RackLocal
	OffSwitch = cluster.OffSwitch
)

// Scheduler decides who gets what. It is a value of one goroutine.
type Scheduler struct {
	core   *core.Core
	policy policy
}

// New is a scheduler without nodes and applications. The configuration may be
// refused only for rules that depend on the labels it names.
func New(cfg *config.Config) (*Scheduler, error) {
	switch {
	case cfg.Capacity != nil:
		s, err := capacity.New(cfg.Capacity)
		if err != nil {
			return nil, err
		}
		return &Scheduler{&s.Core, s}, nil
	case cfg.Fifo != nil:
		s := fifo.New(cfg.Fifo)
		return &Scheduler{&s.Core, s}, nil
	case cfg.Fair != nil:
		s := fair.New(cfg.Fair)
		return &Scheduler{&s.Core, s}, nil
	}
	return nil, errors.New("scheduler: a configuration of no policy that there is")
}

// Reconfigure replaces the configuration under running applications: all of it
// or, with an error (*config.Error), nothing.
func (s *Scheduler) Reconfigure(cfg *config.Config) error { return s.policy.Refresh(cfg, nil) }

// Reapply applies the configuration in use once more. Whoever refuses a new one
// before Reconfigure sees it, because it cannot be parsed, must call it: Apache
// does, and children of equal rank change their order by it.
func (s *Scheduler) Reapply() { _ = s.policy.Refresh(nil, nil) }

// Refresh is Reconfigure, or Reapply where cfg is nil, and spares what was prepared.
// What was prepared on a basis that holds no longer, or nil, spares nothing; it comes
// to the same.
func (s *Scheduler) Refresh(cfg *config.Config, p Prepared) error { return s.policy.Refresh(cfg, p) }

// Basis is what Prepare has to know of the scheduler.
func (s *Scheduler) Basis() Basis { return s.policy.Basis() }

// Prepare does what can be done of a Refresh beforehand. It reads its arguments alone,
// so that it can go on beside the scheduler; what it returns is good for one Refresh.
func Prepare(cfg *config.Config, b Basis) Prepared { return b.Prepare(cfg) }

// LikeApache lets things go wrong from now on that go wrong in Apache: what refusals of
// Reconfigure leave behind, what a change of legacy-queue-mode.enabled does not reach,
// what is counted for applications and masters that move, asks that nobody made, new
// priorities of applications that are held back, who gets into a fair order. It is for
// replays of recorded decisions, at their beginning; nobody else should want it.
func (s *Scheduler) LikeApache() { s.policy.LikeApache() }

// CountUsers brings up to date what the limits of users and masters are computed from.
// A look at the limits of users does so in Apache. It is for replays of decisions that
// were recorded with such looks; nobody else should want it.
func (s *Scheduler) CountUsers() { s.policy.CountUsers() }

// Unanswered tells, once, whether Apache's last allocate call would have ended with a NullPointerException instead of an answer:
// a master has asked for a decrease before it fetched an increase of the same container. It is for replays of recorded decisions; nobody else should want it.
func (s *Scheduler) Unanswered() bool { return s.core.Unanswered() }

// Validate tells whether Reconfigure would take the configuration now. It changes nothing.
func (s *Scheduler) Validate(cfg *config.Config) error { return s.policy.Validate(cfg) }

// Advance tells the time, which must not go back. Every call that follows happens then.
func (s *Scheduler) Advance(now yarn.Now) { s.core.Advance(now) }

// SetLabels replaces the partitions of the cluster.
func (s *Scheduler) SetLabels(labels []Label) { s.core.SetLabels(labels) }

// AddNode lets a node join. Its name must not be in use.
func (s *Scheduler) AddNode(n Node) NodeRef { return s.core.AddNode(n) }

// RemoveNode takes a node out. Its live containers end at once and its
// reservation is dropped; all are vacated. The index may be reused.
func (s *Scheduler) RemoveNode(n NodeRef) []Ended { return s.core.RemoveNode(n) }

// Together carries several changes of nodes out as one: what queues are entitled
// to follows once, at the end.
func (s *Scheduler) Together(changes func()) { s.core.Together(changes) }

// SetNodeTotal changes what the node has. What is free there may become negative.
// A reservation on the node ends.
func (s *Scheduler) SetNodeTotal(n NodeRef, total yarn.Resource) { s.core.SetNodeTotal(n, total) }

// SetMaxPriority changes what the priorities of applications are cut to from now on.
func (s *Scheduler) SetMaxPriority(most int32) { s.core.SetMaxPriority(most) }

// Overcommitted returns the containers that have to end before the node holds no more than it has, of the resources that the policy compares. Masters come
// last, and newer containers before older ones. Containers that have ended but still hold room count as gone. The list is empty if the node has enough.
func (s *Scheduler) Overcommitted(n NodeRef) []ContainerRef { return s.core.Overcommitted(n) }

// ShrinkNode changes what a node offers until SetNodeTotal, as while it drains. Its size still counts for the largest container that may be asked
// for: the node may be taken back, and a master that asks in the meantime would get less than it needs.
func (s *Scheduler) ShrinkNode(n NodeRef, total yarn.Resource) { s.core.ShrinkNode(n, total) }

// SetNodeLabel moves the node to another partition, with the containers that
// run there; a reservation ends and is returned.
func (s *Scheduler) SetNodeLabel(n NodeRef, label string) []Ended {
	return s.core.SetNodeLabel(n, label)
}

// Unreserve gives up what is reserved on the node.
func (s *Scheduler) Unreserve(n NodeRef) { s.core.Unreserve(n) }

// SetNodeAccepting tells whether anything new may be committed on the node;
// false is for DECOMMISSIONING.
func (s *Scheduler) SetNodeAccepting(n NodeRef, accepting bool) {
	s.core.SetNodeAccepting(n, accepting)
}

// FindNode is the index of the node with that name.
func (s *Scheduler) FindNode(id yarn.NodeID) (NodeRef, bool) { return s.core.FindNode(id) }

// Place says which queue the submission goes to, by the mapping rules. With
// none of them it is the queue that was asked for, or "default".
func (s *Scheduler) Place(a *Application) (path string, why yarn.Reason) { return s.policy.Place(a) }

// MaySubmit checks the ACLs of the queue and of all above it. It says yes when
// ACLs are off.
func (s *Scheduler) MaySubmit(path, user, realUser string, groups []string) yarn.Reason {
	return s.core.MaySubmit(path, user, realUser, groups)
}

// MayAdminister is MaySubmit for the right to administer the queue.
func (s *Scheduler) MayAdminister(path, user, realUser string, groups []string) yarn.Reason {
	return s.core.MayAdminister(path, user, realUser, groups)
}

// Expect is told how many applications will be added, before the first one.
func (s *Scheduler) Expect(apps int) { s.core.Expect(apps) }

// AddApplication enters an application into the queue that Place named, which
// is created where that is allowed. Refusals: the queue's state and its limits
// on numbers of applications.
func (s *Scheduler) AddApplication(a Application, path string) (AppRef, yarn.Reason) {
	return s.core.AddApplication(a, path)
}

// AddAttempt starts an attempt of the application: from here on it waits for
// its activation, and its asks are served afterwards. The ask for the master's
// container comes by Ask, like any other.
func (s *Scheduler) AddAttempt(a AppRef, at Attempt) { s.core.AddAttempt(a, at) }

// EndAttempt ends the running attempt: its asks vanish, its reservations are
// dropped and its containers end. With keepContainers those that were launched
// stay for the next attempt.
func (s *Scheduler) EndAttempt(a AppRef, keepContainers bool) []Ended {
	return s.core.EndAttempt(a, keepContainers)
}

// EndContainers ends at most so many of the containers that EndAttempt would end,
// for whoever cannot wait for all of them at once; more tells that some are left.
// Of an attempt that has no more than those it ends nothing. Otherwise the
// attempt's asks vanish with the first.
func (s *Scheduler) EndContainers(a AppRef, keepContainers bool, most int) (ended []Ended, more bool) {
	return s.core.EndContainers(a, keepContainers, most)
}

// CountEnd counts how an application ended, in its queue and in those above it. It comes before RemoveApplication.
func (s *Scheduler) CountEnd(a AppRef, end yarn.ApplicationState) { s.core.CountEnd(a, end) }

// RemoveApplication forgets the application, whose attempt must have ended. The
// index may be reused once its last container is vacated.
func (s *Scheduler) RemoveApplication(a AppRef) { s.core.RemoveApplication(a) }

// PrepareMove is the first half of a move, which refuses what MoveApplication would
// refuse now.
//
// compat: it is a command, because Apache's check of a move leaves something behind even
// where it refuses. MayMove is the query.
func (s *Scheduler) PrepareMove(a AppRef, queue string) yarn.Reason {
	return s.core.PrepareMove(a, queue)
}

// MoveApplication moves the application and all that it has to another leaf.
func (s *Scheduler) MoveApplication(a AppRef, queue string) yarn.Reason {
	return s.core.MoveApplication(a, queue)
}

// MayMove tells whether MoveApplication would move the application now.
func (s *Scheduler) MayMove(a AppRef, queue string) yarn.Reason { return s.core.MayMove(a, queue) }

// CheckPriority is the priority that a submission gets: what it asked for, or
// the queue's default, at most the cluster's maximum, or refused by the ACL.
func (s *Scheduler) CheckPriority(a *Application, path string) (int32, yarn.Reason) {
	return s.policy.CheckPriority(a, path)
}

// SetPriority gives the application a priority that CheckPriority returned.
func (s *Scheduler) SetPriority(a AppRef, priority int32) { s.policy.SetPriority(a, priority) }

// Lifetime is how many seconds an application of the queue may last when it
// asked for so many (0 or less: it did not ask). The answer 0 is no limit.
func (s *Scheduler) Lifetime(path string, asked int64) int64 { return s.core.Lifetime(path, asked) }

// Normalize checks the asks of one call, fills in their labels and rounds their
// sizes in place. A refusal leaves all of them as they were.
func (s *Scheduler) Normalize(a AppRef, asks []yarn.Ask) yarn.Reason {
	return s.policy.Normalize(a, asks)
}

// NormalizeAM does the same for the ask for a master's container, before the
// scheduler knows the application. label is that of the submission.
func (s *Scheduler) NormalizeAM(path string, asks []yarn.Ask, label string, labelSet bool) yarn.Reason {
	return s.core.NormalizeAM(path, asks, label, labelSet)
}

// LabelAM has the asks for a master's container name the default label of the application's queue where they name none. If that changes one it returns a
// changed copy; what was given stays as it is. The first attempt must call it before it asks: its queue may have come to be after NormalizeAM.
func (s *Scheduler) LabelAM(a AppRef, asks []yarn.Ask) []yarn.Ask { return s.core.LabelAM(a, asks) }

// RefitAM rounds the asks for a master's container again, which an attempt must
// do after it was entered and before it asks. If a size changes it returns a changed copy; what was given stays as it is.
func (s *Scheduler) RefitAM(asks []yarn.Ask) []yarn.Ask { return s.core.RefitAM(asks) }

// Ask enters asks that were normalized. Counts replace those of before.
func (s *Scheduler) Ask(a AppRef, asks []yarn.Ask) { s.policy.Ask(a, asks) }

// MaxRows bounds the rows of asks that one application may keep; Normalize
// refuses more.
const MaxRows = core.MaxRows

// Blacklist changes the hosts and racks that the application does not want.
func (s *Scheduler) Blacklist(a AppRef, add, remove []string) { s.policy.Blacklist(a, add, remove) }

// BlacklistAM replaces the hosts on which no master of the application is placed.
func (s *Scheduler) BlacklistAM(a AppRef, hosts []string) { s.core.BlacklistAM(a, hosts) }

// Update starts changes of running containers and returns those that are refused.
func (s *Scheduler) Update(a AppRef, updates []yarn.ContainerUpdate) []UpdateError {
	return s.policy.Update(a, updates)
}

// CheckUpdates returns those of the changes that would be refused at once, and starts none.
func (s *Scheduler) CheckUpdates(a AppRef, updates []yarn.ContainerUpdate) []UpdateError {
	return s.policy.CheckUpdates(a, updates)
}

// PlaceOpportunistic puts an opportunistic container of the application on the node, in a size that is rounded up and cut to what the cluster
// allows. It is charged to nobody, and takes no room on the node.
func (s *Scheduler) PlaceOpportunistic(a AppRef, n NodeRef, o Opportunistic) ContainerRef {
	return s.core.PlaceOpportunistic(a, n, o)
}

// OpportunisticOn is how many opportunistic containers a node has, ended ones included that it has yet to report, and what all its containers
// use, guaranteed ones included.
func (s *Scheduler) OpportunisticOn(n NodeRef) (count int32, used yarn.Resource) {
	return s.core.OpportunisticOn(n)
}

// Avoids tells whether the application does not want the node.
func (s *Scheduler) Avoids(a AppRef, n NodeRef) bool { return s.core.Avoids(a, n) }

// Updated applies the changes that have become possible, when the master comes
// to fetch them, and appends them to out.
func (s *Scheduler) Updated(a AppRef, out []Changed) []Changed { return s.core.Updated(a, out) }

// Rollback makes a running container smaller at once because its node has not confirmed that it has become larger, and withdraws what
// its master asked for on top of that. With its present size only the version is a new one.
func (s *Scheduler) Rollback(c ContainerRef, size yarn.Resource) Changed {
	return s.core.Rollback(c, size)
}

// AllocateDone ends an allocate call and returns the headroom that the master is told.
// Then what the call's updates freed is given back: Apache does so after it has
// answered, so that the headroom of the same answer does not show it. The order of a
// call is Update, Finish for what is released, Ask, Blacklist, Updated, AllocateDone.
//
// compat: limits of users and the number of those who only wait, by which masters are
// admitted, are brought up to date by it, and not by Headroom.
func (s *Scheduler) AllocateDone(a AppRef) yarn.Resource { return s.policy.AllocateDone(a) }

// Headroom is what the application could still get, as its master would be told now.
func (s *Scheduler) Headroom(a AppRef) yarn.Resource { return s.policy.Headroom(a) }

// Container is the container at that index. Others than the scheduler only read it.
func (s *Scheduler) Container(c ContainerRef) *Container { return s.core.Container(c) }

// Launched notes that the container's node reported it as running.
func (s *Scheduler) Launched(c ContainerRef) { s.core.Launched(c) }

// Finish ends a container or a reservation. It leaves the books of queue, user
// and application at once. One that was never launched leaves its node's, too,
// and its slot is free: then Finish returns true. Otherwise Vacate is due.
func (s *Scheduler) Finish(c ContainerRef, cause Cause) (vacated bool) {
	return s.core.Finish(c, cause)
}

// Vacate gives the container's room on its node back, because the node reported
// its end or is gone; a live one is finished first. The slot may be reused.
func (s *Scheduler) Vacate(c ContainerRef) { s.core.Vacate(c) }

// RestoreAsk puts back the ask of a container that its master never came to
// know, such as one whose node was lost first. It must be called before Finish.
func (s *Scheduler) RestoreAsk(c ContainerRef) { s.policy.RestoreAsk(c) }

// RecoverContainer counts a container that a node reported after a restart,
// whatever the limits.
func (s *Scheduler) RecoverContainer(r Recovered) ContainerRef { return s.core.RecoverContainer(r) }

// Containers appends the containers and reservations of the application's
// running attempt to out, in the order of their ids.
func (s *Scheduler) Containers(a AppRef, out []ContainerRef) []ContainerRef {
	return s.core.Containers(a, out)
}

// Offer gives the node's free room away: the opportunity of one heartbeat, with
// the limits on containers per heartbeat. Decisions are committed and appended to out.
func (s *Scheduler) Offer(n NodeRef, now yarn.Now, out []Decision) []Decision {
	return s.core.Offer(n, now, out)
}

// Sweep offers nodes in a fixed rotating order, without the limits of a
// heartbeat, until it has visited so many nodes or placed so many containers.
// more tells that it stopped early. It costs next to nothing when nothing has
// changed since it found nothing.
func (s *Scheduler) Sweep(nodes, containers int, now yarn.Now, out []Decision) (_ []Decision, more bool) {
	return s.core.Sweep(nodes, containers, now, out)
}

// Explain says why the application waits, by the walk that an offer takes, for
// at most max nodes. It changes nothing.
func (s *Scheduler) Explain(a AppRef, max int) []yarn.Reason { return s.policy.Explain(a, max) }

// ExplainAsk is Explain for one kind of what the application asks for, by its place in the order of Wanted, as if it asked for nothing else.
func (s *Scheduler) ExplainAsk(a AppRef, at, max int) []yarn.Reason {
	return s.policy.ExplainAsk(a, at, max)
}

// Remedy is the smallest change that would do away with a reason of Explain, by itself: other limits may hold the application then.
func (s *Scheduler) Remedy(a AppRef, why yarn.Reason) Remedy { return s.policy.Remedy(a, why) }

// Line is the application's place in line, in its queue.
func (s *Scheduler) Line(a AppRef) Line { return s.policy.Line(a) }

// Impossible are the application's asks that no node could ever meet, whoever ends.
func (s *Scheduler) Impossible(a AppRef) []Impossible { return s.core.Impossible(a) }

// Waits tells whether the application asks for something that it has not got.
func (s *Scheduler) Waits(a AppRef) bool { return s.core.Waits(a) }

// Free is what nodes have free now. Whoever asks for the rooms of many leaves gathers it once.
func (s *Scheduler) Free() *Free { return s.core.Free() }

// Rooms is what the leaf could still get on nodes that have so much free, by partition, as if nobody else asked for anything; with a user, what the user
// could get there. False: there is no leaf with that path.
func (s *Scheduler) Rooms(free *Free, path, user string) ([]Headroom, bool) {
	q := s.core.Tree.Find(path)
	if q == nil || !q.Leaf {
		return nil, false
	}
	return s.policy.Rooms(free, q, user), true
}

// MayEnter is why AddApplication would refuse the application now by the states of queues and their limits on numbers of applications. It changes nothing.
func (s *Scheduler) MayEnter(a *Application, path string) yarn.Reason {
	return s.policy.MayEnter(a, path)
}

// RemedyOfRefusal is the smallest change that would do away with a reason of MayEnter.
func (s *Scheduler) RemedyOfRefusal(a *Application, path string, why yarn.Reason) Remedy {
	return s.policy.RemedyOfRefusal(a, path, why)
}

// Activities is what an offer of the node would do now, one entry for each walk that it would take. It changes nothing. Only the
// CapacityScheduler tells.
func (s *Scheduler) Activities(n NodeRef) []NodeActivity { return s.policy.Activities(n) }

// AppActivities is what offers of at most so many nodes would do for the application now, if it were alone. It changes nothing. Only the
// CapacityScheduler tells.
func (s *Scheduler) AppActivities(a AppRef, most int) []NodeActivity {
	return s.policy.AppActivities(a, most)
}

// Queues is an immutable picture of all queues.
func (s *Scheduler) Queues() *QueueTree { return s.core.Queues() }

// Queue is a picture of the queue with that full path.
func (s *Scheduler) Queue(path string) (queue.Info, bool) { return s.core.Queue(path) }

// RootQueue is a picture of the queue above all others, or of the only one.
func (s *Scheduler) RootQueue() queue.Info { return s.core.RootQueue() }

// Picture begins a picture of all queues that is drawn in slices; see Picture.Draw.
func (s *Scheduler) Picture() *Picture { return s.core.Picture() }

// Resolve is the full path of the queue with that full or short name.
func (s *Scheduler) Resolve(name string) (path string, why yarn.Reason) { return s.core.Resolve(name) }

// QueueOf is the path of the queue that the application is in, as everybody sees it: of a plan rather than of the queue below it.
func (s *Scheduler) QueueOf(a AppRef) string { return s.core.QueueOf(a) }

// LeafOf is the path of the leaf that the application is in.
func (s *Scheduler) LeafOf(a AppRef) string { return s.core.LeafOf(a) }

// Plans appends the queues whose capacity can be reserved.
func (s *Scheduler) Plans(out []Plan) []Plan { return s.policy.Plans(out) }

// Follow gives the queues below a plan what the reservations that are due are to have; see core.PlanFollower.
func (s *Scheduler) Follow(plan string, due []Promise) (over []string, refused []yarn.Reason) {
	return s.policy.Follow(plan, due)
}

// RemovePlanQueues removes those of the queues below a plan that are empty and whose reservation is over.
func (s *Scheduler) RemovePlanQueues(plan string, paths []string) {
	s.policy.RemovePlanQueues(plan, paths)
}

// Members are the applications of each of the leaves.
func (s *Scheduler) Members(paths []string) [][]AppRef { return s.core.Members(paths) }

// AppUsage is what the application has and wants.
func (s *Scheduler) AppUsage(a AppRef) AppUsage { return s.core.AppUsage(a) }

// LiveUse is what the application's live containers have, and what they have used until a time, in milliseconds since 1970.
func (s *Scheduler) LiveUse(a AppRef, wall int64) LiveUse { return s.core.LiveUse(a, wall) }

// Wanted appends the kinds of containers that the application waits for, up to a limit, in the order in which they are served.
func (s *Scheduler) Wanted(a AppRef, most int, out []Wanted) []Wanted {
	return s.core.Wanted(a, most, out)
}

// Outstanding is what the application asks for at a priority, places included. The same rows can be passed to Ask.
func (s *Scheduler) Outstanding(a AppRef, priority int32) []yarn.Ask {
	return s.core.Outstanding(a, priority)
}

// Admission is how far the application has come in its queue.
func (s *Scheduler) Admission(a AppRef) Admission { return s.policy.Admission(a) }

// NodeUsage is what is taken and free on the node.
func (s *Scheduler) NodeUsage(n NodeRef) NodeUsage { return s.core.NodeUsage(n) }

// ContainersOn are the first so many containers that hold room on the node, in the
// order of their grants.
func (s *Scheduler) ContainersOn(n NodeRef, most int) []ContainerRef {
	return s.core.ContainersOn(n, most)
}

// ClusterTotal is the sum of all nodes.
func (s *Scheduler) ClusterTotal() yarn.Resource { return s.core.ClusterTotal() }

// DefaultTotal is the sum of the nodes of the default partition.
func (s *Scheduler) DefaultTotal() yarn.Resource { return s.core.DefaultTotal() }

// Load is how many containers are asked for and not granted in the default partition,
// and how many vcores its containers have and may still get.
func (s *Scheduler) Load() (pending, cores int64) { return s.core.Load() }

// MaximumAllocation is the largest ask that the queue takes; path "" is for the cluster.
func (s *Scheduler) MaximumAllocation(path string) yarn.Resource {
	return s.core.MaximumAllocation(path)
}

// MinimumAllocation is the smallest container, and the step of sizes.
func (s *Scheduler) MinimumAllocation() yarn.Resource { return s.core.MinimumAllocation() }

// RunDynamicQueues looks after queues that were created on demand. With deleting it removes
// those that two runs have found empty; otherwise it shares out the guarantees below legacy
// managed parents.
func (s *Scheduler) RunDynamicQueues(deleting bool, now yarn.Now) {
	s.policy.RunDynamicQueues(deleting, now)
}

// DeleteQueue removes a queue that was created on demand, by its full path or its path below the root, with all below it. Otherwise it says
// why the queue stays: what Fair.Kept of its picture says, or that there is none of that name. Only the FairScheduler does so.
func (s *Scheduler) DeleteQueue(name string) yarn.Reason { return s.policy.DeleteQueue(name) }

// Recompute finds out anew what applications and queues are entitled to, as the FairScheduler does twice in a second; whom it serves in
// between follows from what it has found. Other policies do so with each change.
func (s *Scheduler) Recompute(now yarn.Now) { s.policy.Recompute(now) }

// Due appends the containers whose time under notice is over, which the caller must Finish as Preempted.
func (s *Scheduler) Due(now yarn.Now, out []Taking) []Taking {
	return s.policy.Due(now, out)
}

// Preempt is Recompute, and then gives notice to containers on behalf of applications that starve; it appends them. Call Due before.
func (s *Scheduler) Preempt(now yarn.Now, out []Taking) []Taking {
	return s.policy.Preempt(now, out)
}

// CountPreempted counts a container that was taken from the application, and what it had used, amount × seconds, among what its queue and those
// above it have lost.
func (s *Scheduler) CountPreempted(a AppRef, seconds yarn.Resource) {
	s.core.CountPreempted(a, seconds)
}

// Monitor begins a round of the CapacityScheduler's preemption, or goes on with the running one, until it has looked at about so many containers
// and applications. It returns how many it has looked at and, if the round is over, what it has decided. The caller then moves and
// gives up reservations, and ends the containers whose notice has run out as Preempted.
func (s *Scheduler) Monitor(now yarn.Now, budget int) (used int, over *Preemption) {
	return s.policy.Monitor(now, budget)
}

// MarkKillable makes a container, whose notice has run out, one that is ended as soon as somebody who is entitled to its room needs that. It tells
// whether it has: reservations, opportunistic containers and what is placed for an increase cannot be killable, and others may be already. How it
// ends is told by a decision (Taken).
func (s *Scheduler) MarkKillable(c ContainerRef) bool { return s.core.MarkKillable(c) }

// Stands tells whether what is to be taken is still there. It may have ended, and hold its room still.
func (s *Scheduler) Stands(t *Taking) bool { return s.core.Stands(t) }

// MoveReservation has a reservation hold the node that a round of Monitor has found, and tells whether it does now. Nothing happens if the
// reservation is gone, or the node is, is held for another one, takes nothing any more or has come to another partition. What the application and
// the queue have stays as it is, and so does the age of the reservation.
func (s *Scheduler) MoveReservation(m *Move) bool { return s.core.MoveReservation(m) }

// Marked appends the containers to which Monitor has given notice, by their ids; some may have ended.
func (s *Scheduler) Marked(out []yarn.ContainerID) []yarn.ContainerID { return s.policy.Marked(out) }

// InContainers is how many of the least containers are as much as that, rounded up, and how large they are.
func (s *Scheduler) InContainers(amount yarn.Resource) (count int32, size yarn.Resource) {
	return s.core.InContainers(amount)
}

// UnderNotice appends the application's containers that are under notice, or those of all with NoApp.
func (s *Scheduler) UnderNotice(a AppRef, out []ContainerRef) []ContainerRef {
	return s.policy.UnderNotice(a, out)
}

// Check recounts all books and describes the first that is wrong; "" is none.
func (s *Scheduler) Check() string { return s.policy.Check() }
