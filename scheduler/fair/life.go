package fair

import (
	"slices"
	"strings"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Queues are created because the allocation file names them, or for the first application that is placed into them. The latter are dynamic, as
// are those that the file no longer names: they are deleted when they are empty.

// maxDepth bounds how deep queues may be nested, and maxQueues how many the file does not name.
const (
	maxDepth  = config.MaxDepth
	maxQueues = 200_000
)

// leafFor is the leaf of that name, created if need be.
func (s *Scheduler) leafFor(path string) (*Queue, yarn.Reason) {
	q := s.find(path)
	if q == nil {
		var why yarn.Reason
		if q, why = s.create(path, true); !why.OK() {
			return nil, why
		}
		s.steadyDue = true
	}
	if !q.Leaf {
		return nil, yarn.Reason{Code: fit.NotALeaf, Subject: path}
	}
	return q, yarn.Reason{}
}

// create makes a queue and all missing ones above it. If it says why it cannot, it has made none.
func (s *Scheduler) create(path string, leaf bool) (*Queue, yarn.Reason) {
	path = rooted(path)
	if strings.Count(path, ".") >= maxDepth {
		return nil, yarn.Reason{Code: fit.TooDeep, Subject: path, Max: maxDepth}
	}
	if len(s.tree.All) >= maxQueues+len(s.cfg.Allocation.All()) && s.tree.Free() == 0 {
		return nil, yarn.Reason{Code: fit.TooManyQueues, Subject: path, Max: maxQueues}
	}
	up, missing := path, []string(nil)
	for s.find(up) == nil {
		if name := queue.Short(up); name == "" || name != allocation.TrimName(name) {
			return nil, yarn.Reason{Code: fit.BadQueueName, Subject: path}
		}
		missing = append(missing, up)
		up = queue.ParentPath(up)
	}
	slices.Reverse(missing)
	parent := s.find(up)
	if parent.Leaf {
		return nil, yarn.Reason{Code: fit.NotALeaf, Subject: path, Detail: parent.Path}
	}
	confs := make([]*allocation.Queue, len(missing))
	above := parent.conf
	for i, name := range missing {
		last := i == len(missing)-1
		confs[i] = s.confOf(name, above, last && leaf)
		policy := parent.policy
		if i > 0 {
			policy = above.Policy
		}
		if !allows(policy, confs[i].Policy) || confs[i].Policy == allocation.FIFO && confs[i].Kind != allocation.Leaf {
			return nil, yarn.Reason{Code: fit.PolicyNotAllowed, Subject: name, Detail: confs[i].Policy.String()}
		}
		above = confs[i]
	}
	for _, conf := range confs {
		parent = s.add(parent, conf)
	}
	return parent, yarn.Reason{}
}

// allows tells whether a queue with that policy may have a child with the other.
func allows(parent, child allocation.Policy) bool {
	return parent == allocation.DRF || parent == allocation.Fair && child != allocation.DRF
}

// confOf is the settings of a queue: those of the file, or the defaults.
func (s *Scheduler) confOf(path string, above *allocation.Queue, leaf bool) *allocation.Queue {
	kind := allocation.Parent
	if leaf {
		kind = allocation.Leaf
	}
	named := s.cfg.Queue(path)
	if named != nil && (named.Kind == allocation.Leaf) == leaf {
		return named
	}
	conf := s.cfg.Unnamed(path, above)
	if named != nil { // as the other kind, until it can be replaced
		*conf = *named
		conf.Children = nil
	}
	conf.Kind = kind
	return conf
}

// empty tells whether there is no application in the queue and below it.
func (q *Queue) empty() bool {
	if q.Leaf {
		return q.members == 0
	}
	for _, c := range q.children {
		if !c.empty() {
			return false
		}
	}
	return true
}

// remove takes a queue out, with all below it.
func (s *Scheduler) remove(q *Queue) {
	s.updateSteadyShares()
	s.forget(q)
	q.up.dropGone()
	s.dropLeaves()
}

// forget takes a queue and all below it out of the tree and the lineups. remove and sweep clear the other lists.
func (s *Scheduler) forget(q *Queue) {
	for _, c := range q.children {
		s.forget(c)
	}
	q.gone = true
	if q.in {
		q.up.asking.remove(&q.candidate, s.numbers(q.up.policy))
		s.lineUpQueue(q.up)
	}
	s.tree.Remove(&q.Queue)
}

// dropLeaves takes removed leaves off the list.
func (s *Scheduler) dropLeaves() {
	s.leaves = thinned(slices.DeleteFunc(s.leaves, func(q *Queue) bool { return q.gone }))
}

// thinned is a list of queues, in an array of its own if it fills only a little of the one it has: tens of thousands of queues may come and go.
func thinned[T any](list []T) []T {
	if cap(list) > 1000 && len(list) < cap(list)/8 {
		return slices.Clone(list)
	}
	return list
}

// RunDynamicQueues removes empty dynamic queues, and creates queues of the file that others were in the way of; see the facade.
func (s *Scheduler) RunDynamicQueues(deleting bool, now yarn.Now) {
	s.Advance(now)
	if !deleting {
		return
	}
	s.updateSteadyShares()
	before := s.tree.Changes
	s.sweep(s.root)
	s.dropLeaves()
	switch {
	case s.AsApache:
		s.unblock()
	case s.unsettled:
		s.settle()
		s.rebuildLineups(s.root)
	}
	if s.tree.Changes != before && !s.AsApache { // Apache's steady shares count removed queues until something else changes
		s.steadyDue = true
	}
}

// DeleteQueue removes a queue with all below it, or says why it stays; see the facade.
func (s *Scheduler) DeleteQueue(name string) yarn.Reason {
	q := s.find(name)
	if q == nil {
		return yarn.Reason{Code: fit.UnknownQueue, Subject: name}
	}
	if why := s.whyKept(q); !why.OK() {
		return why
	}
	s.remove(q)
	s.steadyDue = true
	return yarn.Reason{}
}

// sweep removes empty dynamic queues, leaves first. It tells whether it has removed any of q's children.
//
// compat: where Apache's sweep removes a child, the parent's other children go with it, also those that a refresh which ended half-way has left static.
func (s *Scheduler) sweep(q *Queue) (going bool) {
	for _, c := range q.children {
		last := s.sweep(c) && s.AsApache || len(c.children) == 0
		if last && c.dynamic && !c.planned() && c.empty() {
			s.forget(c)
			going = true
		}
	}
	if going {
		q.dropGone()
	}
	return going
}

// settle creates the queues that the file names, except those that others are in the way of.
func (s *Scheduler) settle() {
	s.unsettled = false
	for _, conf := range s.inOrder() {
		if !s.makeWay(conf) {
			s.unsettled = true
			s.blocked(conf)
			continue
		}
		q := s.find(conf.Path)
		if q == nil {
			q, _ = s.create(conf.Path, conf.Kind == allocation.Leaf)
		}
		if q != nil {
			q.dynamic = false
		}
	}
}

// inOrder are the queues that the file names, leaves first.
//
// compat: each kind is in the order of Apache's hash table, into which children go before their parents. Queues are listed, and searched for
// starvation, in order of creation.
func (s *Scheduler) inOrder() (out []*allocation.Queue) {
	all := postOrder(s.cfg.Root, nil)
	for _, leaves := range []bool{true, false} {
		var list []*allocation.Queue
		var names []string
		for _, conf := range all {
			if (conf.Kind == allocation.Leaf) == leaves && conf.Line > 0 {
				list, names = append(list, conf), append(names, conf.Path)
			}
		}
		for _, i := range javanum.HashOrder(names) {
			out = append(out, list[i])
		}
	}
	return out
}

func postOrder(q *allocation.Queue, out []*allocation.Queue) []*allocation.Queue {
	for _, c := range q.Children {
		out = postOrder(c, out)
	}
	return append(out, q)
}

// makeWay removes the queue that is in the way of one that the file names. It is false if the queue in the way is not empty.
func (s *Scheduler) makeWay(conf *allocation.Queue) bool {
	wrong := s.inTheWay(conf)
	if wrong == nil {
		return true
	}
	if !wrong.empty() {
		return false
	}
	s.remove(wrong)
	return true
}

// inTheWay is the queue that keeps one that the file names from being created: one of that name but of the other kind, or a leaf above; or nil.
//
// compat: nothing is in the way of what is below root.default.
func (s *Scheduler) inTheWay(conf *allocation.Queue) *Queue {
	if conf.Path == queue.Root || strings.HasPrefix(conf.Path, queue.Root+".default.") {
		return nil
	}
	if q := s.find(conf.Path); q != nil {
		if q.Leaf != (conf.Kind == allocation.Leaf) {
			return q
		}
		return nil
	}
	for up := queue.ParentPath(conf.Path); up != ""; up = queue.ParentPath(up) {
		if q := s.find(up); q != nil && q.Leaf {
			return q
		}
	}
	return nil
}

// Refresh replaces the configuration; see the facade.
func (s *Scheduler) Refresh(cfg *config.Config, _ core.Prepared) error {
	if cfg == nil {
		return nil
	}
	before := s.inOrder()
	s.cfg = cfg.Fair
	s.Adopt(&s.cfg.Cluster, &s.tree)
	s.SetSizes(s.cfg.Cluster.MinAllocation, s.cfg.Cluster.MaxAllocation)
	s.Step = s.cfg.Increment
	s.setPolicies(s.root)
	s.settle()
	s.reconfigure(s.root)
	s.steadyDue = true
	s.rebuildLineups(s.root)
	if s.dropped(before) {
		s.promoteAll()
	} else {
		s.root.each(s.forgetMaxChild)
	}
	return nil
}

// setPolicies gives queues their new policies, leaves first. It stops, and is false, at a queue whose new policy does not allow a child's.
func (s *Scheduler) setPolicies(q *Queue) bool {
	conf := s.confOf(q.Path, q.conf, q.Leaf)
	for _, c := range q.children {
		if !allows(conf.Policy, s.confOf(c.Path, conf, c.Leaf).Policy) || !s.setPolicies(c) {
			return false
		}
	}
	q.policy, q.redivide = conf.Policy, true
	return true
}

// reconfigure gives a queue and all below it their settings.
func (s *Scheduler) reconfigure(q *Queue) {
	if q.up == nil {
		s.configure(q, s.cfg.Root)
	} else {
		s.configure(q, s.confOf(q.Path, q.up.conf, q.Leaf))
	}
	for _, c := range q.children {
		s.reconfigure(c)
	}
}

// Validate accepts whatever could be parsed.
func (s *Scheduler) Validate(*config.Config) error { return nil }

// Basis prepares nothing.
func (s *Scheduler) Basis() core.Basis { return basis{} }

type basis struct{}

func (basis) Prepare(*config.Config) core.Prepared { return nil }
