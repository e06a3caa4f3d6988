package capacity

// A walk in a large cluster meets a leaf, an application and a user that it has not
// met for long, and each of the forty cache lines that it reads of them is far away.
// To ask for all of them at once takes hardly longer than to wait for one: what is
// read here is of no use but to be near when it is wanted.

// fetchLeaf brings near what a walk reads of a leaf, and of who is first in it.
func (s *Scheduler) fetchLeaf(q *Queue, p part) {
	sh, l := &q.shares[p], q.leaf
	n := sh.used[0] | sh.pending[0] | sh.effMax[0] | sh.measured[0] | sh.effMin[0]
	n |= int64(q.marks[respect].skip) | int64(q.marks[respect].change) | int64(len(q.conf.UserWeights)) |
		l.version | int64(len(l.limits[respect])) | int64(len(l.activeUsed)) | int64(len(l.ordered)) | l.visitLimit[0] | l.queueLimit[0] | l.own.activeUsed[0][0] |
		l.own.limits[respect][0].version | int64(q.conf.Ordering)
	if i := l.active.next(0); i >= 0 {
		n |= s.fetchApp(l.active.apps[i])
	}
	s.fetched = n
}

func (s *Scheduler) fetchApp(a *app) (n int64) {
	n = a.newest.Number | a.wants.Fetch() | int64(a.attempt.ID.Attempt) | s.books.FetchOwned(&a.live)
	if u := a.user; u != nil {
		n |= int64(u.asking.count) | int64(len(u.blocked[ignore])) | u.own.shares[0].used[0] | u.own.blocked[respect][0].version
	}
	return n
}
