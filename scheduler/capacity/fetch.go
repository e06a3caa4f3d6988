package capacity

import "github.com/heddle-project/heddle/scheduler/cluster"

// A walk in a large cluster meets a node, a leaf, an application and a user that it has
// not met for long, and each of the thirty cache lines that it reads of them is far
// away. To ask for all at once takes hardly longer than to wait for one: what is read
// here is of no use but to be near when it is wanted. A field stands for its cache line,
// and its value goes to Scheduler.fetched, or else the compiler leaves the read out.

// fetch brings near what a walk for the node is most likely to read: the leaf that comes
// first is mostly the one that is served.
func (s *Scheduler) fetch(n *cluster.NodeBook) {
	x := s.books.Fetch(n)
	q := s.tree.root
	for q.leaf == nil {
		o := q.order(n.Part, respect)
		if o == nil {
			return
		}
		if q = o.first(); q == nil {
			return
		}
	}
	s.fetched = x | s.fetchLeaf(q, n.Part)
}

// fetchLeaf does it for a leaf, for who is first in it and for that application's user.
func (s *Scheduler) fetchLeaf(q *Queue, p part) (x int64) {
	l := q.leaf
	if i := l.active.next(0); i >= 0 {
		a := l.active.apps[i]
		x = a.newest.Number | a.own[0].used[0] | a.wants.Fetch() | s.books.FetchOwned(&a.live)
		if u := a.user; u != nil {
			x |= int64(u.weight) | u.own[0].used[0] | u.own[0].blocked[respect].refused
		}
	}
	sh, m := &q.shares[p], &q.marks[respect]
	return x | int64(m.skip) |
		sh.used[0] | sh.pending[0] | sh.effMax[0] | sh.measured[0] | sh.effMin[0] |
		l.version | int64(len(l.shares)) | l.visitLimit[0] | l.queueLimit[0] |
		l.own[0].activeUsed[0] | l.own[0].limits[respect].version
}
