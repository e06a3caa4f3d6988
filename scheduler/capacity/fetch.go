package capacity

import "github.com/heddle-project/heddle/scheduler/cluster"

// A walk in a large cluster meets a node, a leaf, an application and a user that it has
// not met for long, and each of the thirty cache lines that it reads of them is far
// away. To ask for all at once takes hardly longer than to wait for one, where no
// address is found only in another of them: what is read here is of no use but to be
// near when it is wanted. A field stands for its cache line, and its value goes to
// Scheduler.fetched, or else the compiler leaves the read out.

// fetchNode brings near what a walk for the node will read and write of it.
func (s *Scheduler) fetchNode(n *cluster.NodeBook) { s.fetched = s.Books.Fetch(n) }

// fetchNext brings near what the next walk is most likely to read. The leaf that comes
// first is mostly the one that is served, and what changes its place until then brings
// near what it touches. So there is time for it from the end of one decision to the next.
func (s *Scheduler) fetchNext(p part) {
	q, l := s.tree.Root, s.tree.Root.leaf
	for l == nil {
		o := q.order(p, respect)
		if o == nil || o.keys[1] == noKey {
			return
		}
		c := o.champion()
		q, l = c.queue, c.leaf
	}
	s.fetched = s.fetchLeaf(q, l, p)
}

// fetchLeaf does it for a leaf, for who is first in it and for that application's user.
func (s *Scheduler) fetchLeaf(q *Queue, l *leaf, p part) (x int64) {
	if a := l.active.front; a != nil {
		x = a.Fetch(s.Books)
	}
	if u := l.active.frontUser; u != nil {
		x |= int64(u.weight) | u.own[0].used[0] | u.own[0].blocked[respect].refused
	}
	sh, has, m := &q.Shares[p], &q.Ledger[p], &q.marks[respect]
	return x | int64(m.skip) |
		has.Used[0] | has.Pending[0] | sh.EffMax[0] | sh.Measured[0] | sh.EffMin[0] |
		l.version | int64(len(l.shares)) | l.visitLimit[0] | l.queueLimit[0] |
		l.own[0].activeUsed[0] | l.own[0].limits[respect].version
}
