// Package core holds what every policy shares: the lives of applications, of
// what they ask for, of containers and of nodes, and the books of who has what.
//
// A policy decides who gets what. It keeps facts of its own beside those of the
// core, by the same indexes, and hears of every change that it must know of
// through the methods of Policy. It calls Allocate and Reserve to carry out what it
// has decided.
package core

import (
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Short names of what the books of the cluster define.
type (
	NodeRef      = cluster.NodeRef
	AppRef       = cluster.AppRef
	ContainerRef = cluster.ContainerRef
	part         = cluster.Part
	resource     = yarn.Resource
)

// Core is the state that does not depend on a policy.
type Core struct {
	Calc  measure.Calculator
	Min   yarn.Resource // the least container
	Step  yarn.Resource // sizes are multiples of it
	Most  yarn.Resource // the largest container
	Books *cluster.Books
	Tree  *queue.Tree

	Apps  []*App // nil where an index is free
	Known int32  // applications that were added and not removed

	Now           yarn.Now
	ReservedNodes int
	KeepReserved  bool           // a node's reservation survives a change of its size
	ParentsLimit  bool           // a parent's largest container is that of submissions to it
	Killable      []ContainerRef // the killable containers that are in queues, by their ids

	Journal *Journal // of a query that is running, or nil

	replay

	cluster  *config.Cluster
	policy   Policy
	freeApps []AppRef
	started  int64 // monotonic milliseconds

	amount yarn.Resource // by which the usage of a queue changes
	deltas []demand.Delta
	alike  alike          // the latest first ask of an attempt that waits
	none   demand.Demand  // shared by attempts that have not asked for anything
	zero   []AppShare     // shared by applications that share their demand; by partition
	keys   []demand.Key   // of the running call
	wants  []*demand.Want // what is known under them

	entering demand.Application // of the running call: the policy gets a reference, which it does not keep
	starting demand.Attempt     // likewise

	servedRows map[ContainerRef]servedRows // where they do not follow from the container

	mastered []*App // whose master was placed by the running offer
	sweep    sweep
	open     *openings // nil before the first sweep
	watchers []Watcher
	changes  uint64 // that were reported

	together         bool // several changes of nodes are carried out as one
	recalculationDue bool // when they all are
}

// New is a core without nodes, queues and applications. Adopt gives it its queues.
func New(settings *config.Cluster, calc measure.Calculator, policy Policy) Core {
	s := Core{Calc: calc, Min: settings.MinAllocation, Step: settings.MinAllocation, Most: settings.MaxAllocation, Books: cluster.NewBooks(settings.PortInName),
		cluster: settings, policy: policy}
	s.none.Share()
	return s
}

// SetMaxPriority changes what priorities are cut to; see the facade.
func (s *Core) SetMaxPriority(most int32) {
	settings := *s.cluster // others read it
	settings.MaxPriority = most
	s.cluster = &settings
}

// MaxPriority is what priorities are cut to.
func (s *Core) MaxPriority() int32 { return s.cluster.MaxPriority }

// Adopt lets another tree of queues, and other settings of the cluster, be in force.
func (s *Core) Adopt(settings *config.Cluster, t *queue.Tree) { s.cluster, s.Tree = settings, t }

// SetSizes changes the least and the largest container.
func (s *Core) SetSizes(least, largest yarn.Resource) {
	changed := s.Min != least
	if s.Step == s.Min {
		s.Step = least
	}
	if s.Min, s.Most = least, largest; changed && s.open != nil {
		s.open.lookAround()
	}
}

// App is the application at that index.
func (s *Core) App(ref AppRef) *App { return s.Apps[ref] }

// Advance tells the time. It must not go back.
func (s *Core) Advance(now yarn.Now) {
	if s.Now.Wall|s.Now.Mono == 0 {
		s.started = now.Mono
	}
	s.Now = now
}

// Part is the index of a partition; every book has room for it afterwards.
func (s *Core) Part(label string) cluster.Part {
	if label == "" {
		return 0
	}
	before := s.Books.Partitions()
	p := s.Books.PartOf(label)
	if n := s.Books.Partitions(); n > before {
		s.policy.Fit(n)
		for _, a := range s.Apps {
			if a != nil {
				s.fit(a)
			}
		}
	}
	return p
}

// SetLabels replaces the partitions of the cluster; see the facade.
func (s *Core) SetLabels(labels []config.Label) {
	for p := 1; p < s.Books.Partitions(); p++ {
		s.Books.Partition(part(p)).Known = false
	}
	for _, l := range labels {
		p := s.Books.Partition(s.Part(l.Name))
		p.Known, p.Exclusive = true, l.Exclusive
	}
	if s.Tree != nil {
		s.Report(Change{What: Shares, Queue: s.Tree.Root()})
	}
}

// Recalculate has the policy find out what queues are entitled to, at once or when
// all changes are carried out that belong together.
func (s *Core) Recalculate() {
	if s.together {
		s.recalculationDue = true
		return
	}
	s.policy.Entitle(false)
}

// nodesChanged is Recalculate after nodes came, went or changed their size.
func (s *Core) nodesChanged() {
	if s.together {
		s.recalculationDue = true
		return
	}
	s.policy.Entitle(true)
}
