package fair

import (
	"slices"
	"strings"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/scheduler/queue"
)

// Queue is one queue, with what this policy knows of it. The fields that every walk reads come first, so that they are close in memory.
type Queue struct {
	candidate        // among its parent's children
	asking    lineup // children that ask for something, or such applications of a leaf; see leaf.awaitingAM
	policy    allocation.Policy
	reservers int32   // applications in the lineups of the queue and below that might reserve nodes
	weight    float32 // of conf, but see planned
	up        *Queue
	max       resource // never below least
	smallest  resource // no application in the lineups of the queue and below asks for less of any type
	queue.Queue
	demand resource // as of the last Recompute, at most max
	least  resource // of conf: the minimum share

	conf     *allocation.Queue
	children []*Queue // in order of creation
	byName   []*Queue // the same queues by name
	dynamic  bool     // the file does not name it: it is deleted when it is empty
	promised bool     // Follow has given it its weight; see planned
	gone     bool     // it was removed from the tree
	share    resource
	steady   resource
	runnable int32 // applications that may run, those of queues below included
	outdated bool  // its demand may have changed; then all queues above are outdated too

	leaf
}

// leaf is what only leaves have.
type leaf struct {
	awaitingAM   lineup // applications that ask for their masters; all others that ask are in asking
	members      int32  // applications, those without an attempt included
	runnableApps []*app // those that may run, in the order in which they were let run
	waiting      []*app // those that wait until they may, by arrival
	ams          struct {
		used, limit resource // what masters use and may use; limit is as of the last test
	}
	changed   []*app   // those whose demand is out of date
	demandSum resource // the sum of the demands below, not limited by max
	lastShare resource // the fair share that was last divided among its applications
	redivide  bool     // its applications or their weights have changed since
	atMinimum int64    // when it last had its minimum share, or did not ask for it; monotonic, milliseconds
}

func queueOf(q *queue.Queue) *Queue { return q.Outer.(*Queue) }

// used is what containers of the queue use; reservations are not among them.
func (s *Scheduler) used(q *Queue) (sum resource) {
	for p := range q.Ledger {
		has := &q.Ledger[p]
		s.Calc.Increase(&sum, &has.Used)
		if s.ReservedNodes > 0 { // otherwise Promised is zero
			s.Calc.Decrease(&sum, &has.Promised)
		}
	}
	return sum
}

// each visits the queue and all below it, parents first.
func (q *Queue) each(visit func(*Queue)) {
	visit(q)
	for _, c := range q.children {
		c.each(visit)
	}
}

// setMax works out what the queue may have in the present cluster.
func (s *Scheduler) setMax(q *Queue) {
	q.max = measure.Most(q.conf.Max.Of(s.Books.Total), q.conf.Min)
	q.outdate()
}

// find is the queue of that name, with or without "root.", or nil.
func (s *Scheduler) find(name string) *Queue {
	if q := s.tree.Find(name); q != nil {
		return queueOf(q)
	}
	return nil
}

// add makes a queue, below a parent or as the root.
func (s *Scheduler) add(up *Queue, conf *allocation.Queue) *Queue {
	q := &Queue{up: up, conf: conf, policy: conf.Policy, dynamic: true, smallest: narrowest.least}
	q.awaitingAM.least = narrowest.least
	q.Queue = queue.Queue{Leaf: conf.Kind == allocation.Leaf, Creates: conf.Kind != allocation.Leaf, Path: conf.Path, Name: conf.Name,
		Counts: &queue.AppCounts{}, Outer: q}
	q.Grow(s.Books.Partitions())
	q.candidate.name, q.candidate.queue = q.Path, q
	q.atMinimum = s.Now.Mono
	s.configure(q, conf)
	if up != nil {
		q.Parent = &up.Queue
		up.rank(q)
		up.children = append(up.children, q)
	}
	s.tree.Add(&q.Queue)
	if q.Leaf {
		s.leaves = append(s.leaves, q)
	}
	return q
}

// rankGap is the first distance between the orders of neighbours, so that later ones fit in between.
const rankGap = 1 << 32

// rank gives a new child its order among the others, by name. If none is left between its neighbours, all children get new orders.
func (q *Queue) rank(child *Queue) {
	i, _ := slices.BinarySearchFunc(q.byName, child, func(a, b *Queue) int { return strings.Compare(a.Path, b.Path) })
	q.byName = slices.Insert(q.byName, i, child)
	var low, high int64
	if i > 0 {
		low = q.byName[i-1].order
	}
	if high = low + 2*rankGap; i+1 < len(q.byName) {
		high = q.byName[i+1].order
	}
	if child.order = low + (high-low)/2; child.order == low {
		for i, c := range q.byName {
			c.order = int64(i+1) * rankGap
		}
		q.asking.refreshOrders()
	}
}

// dropGone removes children that are gone from the lists of the queue.
func (q *Queue) dropGone() {
	gone := func(c *Queue) bool { return c.gone }
	q.children, q.byName = thinned(slices.DeleteFunc(q.children, gone)), thinned(slices.DeleteFunc(q.byName, gone))
	q.asking.list = thinned(q.asking.list)
	q.outdate()
}

// outdate marks the queue and all above it: their demands may have changed.
func (q *Queue) outdate() {
	for ; q != nil && !q.outdated; q = q.up {
		q.outdated = true
	}
}

// configure gives a queue its settings.
func (s *Scheduler) configure(q *Queue, conf *allocation.Queue) {
	q.conf, q.Settings = conf, s.cfg.Settings(conf)
	q.least = conf.Min
	if !q.planned() {
		q.weight, q.promised = conf.Weight, false
	}
	s.setMax(q)
}

// Fit gives the books of queues a row for each partition.
func (s *Scheduler) Fit(parts int) {
	if s.root != nil {
		s.root.each(func(q *Queue) { q.Grow(parts) })
	}
}

// overMax is the first queue, from q upwards, whose maximum would be passed if it used so much more; nil: none.
func (s *Scheduler) overMax(q *Queue, more *resource) *Queue {
	for ; q != nil; q = q.up {
		if used := s.used(q); !s.sumFits(&used, more, &q.max) {
			return q
		}
	}
	return nil
}

// appUsed is what an application's containers use.
func (s *Scheduler) appUsed(a *app) (sum resource) {
	for p := range a.Shares {
		s.Calc.Increase(&sum, &a.Shares[p].Used)
	}
	return sum
}
