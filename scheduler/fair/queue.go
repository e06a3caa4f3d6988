package fair

import (
	"slices"
	"strings"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/scheduler/queue"
)

// Queue is one queue, with what this policy keeps of it. What every walk reads stands together, before the rest.
type Queue struct {
	place           // among its parent's children
	wanting  lineup // children, or applications of a leaf, that want something
	policy   allocation.Policy
	holders  int32   // applications in the lineups of the queue and below that nodes might be held for
	weight   float32 // of conf
	up       *Queue
	max      resource // at least least
	smallest resource // at most what anybody in the lineups of the queue and below asks for, type by type
	queue.Queue
	demand resource // see queue.Fair, as all that follow
	least  resource // of conf

	conf     *allocation.Queue
	children []*Queue // by their creation
	byName   []*Queue // likewise, by name
	dynamic  bool     // the file does not name it: it goes when it is empty
	gone     bool     // removed
	share    resource
	steady   resource
	runnable int32 // applications that may run, those of queues below included
	outdated bool  // its demand is to be looked at, and so are those of the queues above

	leaf
}

// leaf is what leaves have.
type leaf struct {
	masterless lineup // applications that want their masters; all others are in wanting
	members    int32  // applications, also those that have no attempt
	running    []*app // attempts that may run, in the order in which they became so
	waiting    []*app // those that may not yet, by arrival
	masters    struct {
		used, limit resource // limit is that of the last look
	}
	changed   []*app   // whose demand is out of date
	wanted    resource // the sum of demands, also of queues below
	shared    resource // what was last shared among its applications
	reshare   bool     // others share it now, or by other weights
	atMinimum int64    // when it last had its minimum, or did not want it; milliseconds
}

func queueOf(q *queue.Queue) *Queue { return q.Outer.(*Queue) }

// used is what containers of the queue use; reservations are not among them.
func (s *Scheduler) used(q *Queue) (sum resource) {
	for p := range q.Ledger {
		has := &q.Ledger[p]
		s.Calc.Increase(&sum, &has.Used)
		if s.ReservedNodes > 0 { // otherwise nothing is promised
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
	q.masterless.least = narrowest.least
	q.Queue = queue.Queue{Leaf: conf.Kind == allocation.Leaf, Creates: conf.Kind != allocation.Leaf, Path: conf.Path, Name: conf.Name,
		Counts: &queue.AppCounts{}, Outer: q}
	q.Grow(s.Books.Partitions())
	q.place.name, q.place.queue = q.Path, q
	q.atMinimum = s.Now.Wall
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

// rankGap is how far apart the ranks of neighbours are at first, so that others find room between them.
const rankGap = 1 << 32

// rank gives a new child its rank among the others by name. Only if there is no room between its neighbours do all get new ones.
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
		q.wanting.takeOrders()
	}
}

// dropGone takes children that are gone off the queue's lists.
func (q *Queue) dropGone() {
	gone := func(c *Queue) bool { return c.gone }
	q.children, q.byName = slices.DeleteFunc(q.children, gone), slices.DeleteFunc(q.byName, gone)
	q.outdate()
}

// outdate notes that the demand of the queue may have changed, and so that of those above it.
func (q *Queue) outdate() {
	for ; q != nil && !q.outdated; q = q.up {
		q.outdated = true
	}
}

// configure gives a queue its settings.
func (s *Scheduler) configure(q *Queue, conf *allocation.Queue) {
	q.conf, q.Settings = conf, s.cfg.Settings(conf)
	q.least, q.weight = conf.Min, conf.Weight
	s.setMax(q)
}

// Fit makes the books of queues as long as there are partitions.
func (s *Scheduler) Fit(parts int) {
	if s.root != nil {
		s.root.each(func(q *Queue) { q.Grow(parts) })
	}
}

// mayHave tells whether the queue and all above it may use so much more, or which of them may not.
func (s *Scheduler) mayHave(q *Queue, more *resource) *Queue {
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
