package core

import (
	"math"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// Recovered is a container that a node reported after a restart.
type Recovered struct {
	ID                  yarn.ContainerID
	App                 cluster.AppRef
	Node                cluster.NodeRef
	Resource            yarn.Resource
	Priority            int32
	AllocationRequestID int64
	Label               string
	Version             int32
	Floor               int32 // the next version is a higher one
	Execution           yarn.ExecutionType
	AM                  bool
	CreatedWall         int64
}

// Changed is a container whose update is in force now. One that shrinks has its
// new size in the books only after AllocateDone, and one that is demoted its execution type.
type Changed struct {
	Container     cluster.ContainerRef
	Type          yarn.UpdateType
	Before, After yarn.Resource
	Version       int32 // its new version
	Execution     yarn.ExecutionType
}

// UpdateError is a change that was refused. Reason is the text that
// UpdateContainerErrorProto carries.
type UpdateError struct {
	Update  yarn.ContainerUpdate
	Reason  string
	Version int32 // the container's current version
}

// Opportunistic is an opportunistic container that is to be placed.
type Opportunistic struct {
	Resource            yarn.Resource
	Priority            int32
	AllocationRequestID int64
	Locality            cluster.Locality
}

// AppUsage is what an application has and wants.
type AppUsage struct {
	Queue                   string // full path
	Used, Reserved, Pending yarn.Resource
	Live, ReservedCount     int32
	PendingCount            int64
	Priority                int32
	UsedByLabel             map[string]yarn.Resource // the part of Used in partitions other than the default; nil: nothing
}

// LiveUse is what an application's live containers have, opportunistic ones included.
type LiveUse struct {
	Amount  yarn.Resource
	Seconds yarn.Resource // amount × seconds of each, rounded down, added up; one that has changed counts as if it had always had its present size
}

// Admission is how far an application has come in its queue. Who decides on that is
// the policy: without limits on what runs, every application is runnable and active.
type Admission struct {
	Runnable bool          // the limits on numbers of running applications do not hold it back
	Active   bool          // its master's share is granted, and it is served
	AM       yarn.Resource // what its master is counted as
	Why      yarn.Reason   // what holds its master back on all nodes; of the FairScheduler alone, as the next one
	Share    yarn.Resource // what its queue is entitled to
}

// NodeUsage is what is taken and free on a node.
type NodeUsage struct {
	ID                     yarn.NodeID
	Rack, Label            string
	Total, Used, Available yarn.Resource
	Reserved               cluster.ContainerRef // or NoContainer
	Containers             []cluster.ContainerRef
	Accepting              bool
}

// AppUsage is what the application has and wants; see the facade.
func (s *Core) AppUsage(ref AppRef) AppUsage {
	a := s.App(ref)
	u := AppUsage{Queue: s.QueueOf(ref), Live: int32(a.Live.Len()), ReservedCount: a.Held, PendingCount: a.Wants.PendingContainers(), Priority: a.Priority}
	for p := range a.Shares {
		sh, pending := &a.Shares[p], a.Wants.Pending(part(p))
		u.Used, u.Reserved, u.Pending = u.Used.Add(sh.Used), u.Reserved.Add(sh.Reserved), u.Pending.Add(pending)
		if p > 0 && !sh.Used.IsZero() {
			if u.UsedByLabel == nil {
				u.UsedByLabel = map[string]yarn.Resource{}
			}
			u.UsedByLabel[s.Books.Partition(part(p)).Name] = sh.Used
		}
	}
	return u
}

// LiveUse is what the application's live containers have and have used so far; see the facade.
func (s *Core) LiveUse(ref AppRef, wall int64) (u LiveUse) {
	a := s.App(ref)
	for c := range s.Books.Each(&a.Live) {
		container := s.Books.Container(c)
		if !container.Update.IsZero() {
			continue // it only holds room for another to grow or to be promoted
		}
		age := max(wall-container.CreatedWall, 0)
		for i := range s.Calc.Types {
			u.Amount[i] += container.Resource[i]
			u.Seconds[i] += container.Resource[i] * age / 1000
		}
	}
	return u
}

// Wanted is a kind of container that an application waits for.
type Wanted struct {
	Priority int32
	Size     yarn.Resource
	Count    int32
	Label    string // of the partition that was asked for; empty: the default one
}

// Wanted are the kinds of containers that the application waits for; see the facade.
func (s *Core) Wanted(ref AppRef, most int, out []Wanted) []Wanted {
	keys := s.App(ref).Wants.Keys()
	for _, w := range keys[:min(most, len(keys))] {
		out = append(out, Wanted{Priority: w.Priority, Size: w.Any.Size, Count: w.Any.Count, Label: s.Books.Partition(w.Part).Name})
	}
	return out
}

// NodeUsage is what is taken and free on the node; see the facade.
func (s *Core) NodeUsage(ref NodeRef) NodeUsage {
	n := s.Books.Node(ref)
	return NodeUsage{ID: n.ID, Rack: n.Rack, Label: n.Label, Total: n.Total, Used: n.Used, Available: n.Free(),
		Reserved: n.Reserved, Containers: s.Books.OnNode(ref, math.MaxInt), Accepting: n.Accepting}
}

// ContainersOn are the first so many containers that hold room on the node.
func (s *Core) ContainersOn(ref NodeRef, most int) []ContainerRef {
	return s.Books.OnNode(ref, most)
}

// OpportunisticOn is how many opportunistic containers a node has, and what all its containers use; see the facade.
func (s *Core) OpportunisticOn(ref NodeRef) (int32, resource) {
	count, sum := s.Books.Opportunistic(ref)
	return count, sum.Add(s.Books.Node(ref).Used)
}

// Avoids tells whether the application does not want the node; see the facade.
func (s *Core) Avoids(ref AppRef, node NodeRef) bool {
	return s.App(ref).Avoids(s.Books.Node(node))
}

// ClusterTotal is the sum of all nodes.
func (s *Core) ClusterTotal() resource { return s.Books.Total }

// DefaultTotal is the sum of the nodes of the default partition.
func (s *Core) DefaultTotal() resource { return s.Books.Partition(0).Total }

// Load is what the default partition has to do, and the vcores to do it with; see the facade.
//
// compat: free vcores count as long as the calculator sees anything free, and those of
// reservations never do.
func (s *Core) Load() (pending, cores int64) {
	has, total := &s.Tree.Root().Ledger[0], &s.Books.Partition(0).Total
	cores = has.Used.Sub(has.Promised).VCoreCount()
	if s.Calc.More(&s.Books.Total, total, &has.Used) {
		cores += max(total.Sub(has.Used).VCoreCount(), 0)
	}
	return has.Waiting, cores
}

// InContainers is how many of the least containers are as much; see the facade.
func (s *Core) InContainers(amount resource) (int32, resource) {
	times := javanum.Ceil(float64(s.Calc.Divide(&s.Books.Total, &amount, &s.Min)))
	return int32(min(max(times, 0), math.MaxInt32)), s.Min
}

// MinimumAllocation is the smallest container.
func (s *Core) MinimumAllocation() resource { return s.Min }
