// Package fifo decides as Apache's FifoScheduler does. There is one queue, "default".
// Its applications are served in the order of their ids, each until it wants no more or
// the node has no room, and memory is all that counts. It has no limits, no
// reservations, no partitions and no priorities of applications.
package fifo

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Scheduler is the whole state.
type Scheduler struct {
	core.Core
	core.NoFacts
	core.NoPlans
	core.NoRounds
	tree  queue.Tree
	line  []*app // those with a running attempt, by id
	walks uint64 // over the line
	room  yarn.Resource
}

// app is one application, with what this policy keeps of it.
type app struct {
	core.App
	walks  uint64        // how many there had been when the attempt began
	master yarn.Resource // what was asked for its master
}

// appOf is the application, as this policy has it.
func appOf(a *core.App) *app { return a.Outer.(*app) }

// New is a scheduler without nodes and applications.
func New(cfg *config.Fifo) *Scheduler {
	s := &Scheduler{tree: queue.NewTree(1)}
	s.tree.Add(&queue.Queue{Path: cfg.Queue.Path, Name: cfg.Queue.Name, Leaf: true, Settings: &cfg.Queue,
		Counts: &queue.AppCounts{}, Ledger: make([]queue.Ledger, 1)})
	s.Core = core.New(&cfg.Cluster, measure.Calculator{Types: len(cfg.Cluster.Types)}, s)
	s.Adopt(&cfg.Cluster, &s.tree)
	s.SetLabels(cfg.Cluster.Labels)
	return s
}

// Try places all that finds room on the node. Whether the next key of an application is
// looked at depends on what was placed of the key before, so that a Try for each container
// would decide otherwise.
func (s *Scheduler) Try(ref cluster.NodeRef, out []cluster.Decision) (core.Try, []cluster.Decision) {
	n, before := s.Books.Node(ref), len(out)
	if !n.Accepting || !s.HasRoom(n) {
		return core.Try{}, out
	}
	for i := 0; i < len(s.line) && s.HasRoom(n); i++ {
		if a := s.line[i]; !a.Avoids(n) {
			out = s.serve(a, ref, n, out)
		}
	}
	s.walks++
	s.room = s.headroom()
	if len(out) == before {
		return core.Try{}, out
	}
	return core.Try{Outcome: core.Allocated}, out
}

// serve places what the application wants on the node, key by key. A key of which
// nothing finds room ends it.
func (s *Scheduler) serve(a *app, ref cluster.NodeRef, n *cluster.NodeBook, out []cluster.Decision) []cluster.Decision {
	for i := 0; i < len(a.Wants.Keys()); {
		w, before := a.Wants.Keys()[i], len(out)
		for row, l := s.next(w, n); row != nil; row, l = s.next(w, n) {
			c, container := s.Allocate(ref, n, &core.Placement{App: &a.App, Want: w, Row: row, Locality: l, From: cluster.NoContainer, Excess: cluster.NoContainer})
			out = append(out, cluster.Decision{Kind: cluster.Allocated, Container: c, App: a.Ref, Node: ref, Priority: container.Priority, Resource: container.Resource})
		}
		if len(out) == before {
			break
		}
		if w.Left() > 0 { // else the key has left the list
			i++
		}
	}
	return out
}

// next is what is placed on the node of what the key wants: an ask for the node, its rack
// or any node, the nearest that finds room.
//
// compat: whether the ask relaxes locality does not matter, and nobody waits for a
// nearer node.
func (s *Scheduler) next(w *demand.Want, n *cluster.NodeBook) (*demand.Row, cluster.Locality) {
	if w.Left() <= 0 {
		return nil, cluster.OffSwitch
	}
	free := n.Free()
	fits := func(row *demand.Row) bool {
		return row != nil && row.Count > 0 && s.Calc.HasRoom(&free, &row.Size)
	}
	rack, host := w.At(n.RackPlace), w.At(n.NodePlace)
	switch {
	case rack != nil && rack.Count > 0 && fits(host):
		return host, cluster.NodeLocal
	case fits(rack):
		return rack, cluster.RackLocal
	case fits(&w.Any):
		return &w.Any, cluster.OffSwitch
	}
	return nil, cluster.OffSwitch
}

// used is what all containers have.
func (s *Scheduler) used() (sum yarn.Resource) {
	for p := range s.tree.Root().Ledger {
		sum.Increase(&s.tree.Root().Ledger[p].Used)
	}
	return s.lessEndedTwice(sum)
}

// headroom is what the cluster has and nobody uses.
func (s *Scheduler) headroom() yarn.Resource {
	return measure.Most(s.Books.Total.Sub(s.used()), yarn.Resource{})
}

// Headroom is what was free in the cluster after the last walk.
//
// compat: an attempt that no walk has seen has none, unless containers of it were found
// on nodes after a restart.
func (s *Scheduler) Headroom(ref cluster.AppRef) yarn.Resource {
	a := appOf(s.App(ref))
	switch {
	case a.walks != s.walks:
		return s.room
	case a.Live.Len() > 0:
		return s.headroom()
	}
	return yarn.Resource{}
}

// AllocateDone ends an allocate call; see the facade.
func (s *Scheduler) AllocateDone(ref cluster.AppRef) yarn.Resource { return s.Headroom(ref) }

// Started lines the attempt up.
func (s *Scheduler) Started(of *core.App, at *demand.Attempt) {
	a := appOf(of)
	a.master = at.AM
	if !at.KeepContainers {
		a.walks = s.walks
	}
	if i, found := slices.BinarySearchFunc(s.line, a, byID); !found {
		s.line = slices.Insert(s.line, i, a)
	}
}

// Stopped takes the attempt out of the line.
func (s *Scheduler) Stopped(of *core.App) {
	if i, found := slices.BinarySearchFunc(s.line, appOf(of), byID); found {
		s.line = slices.Delete(s.line, i, i+1)
	}
}

func byID(a, b *app) int { return a.ID.Compare(b.ID) }
