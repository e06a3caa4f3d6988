package capacity

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
)

// Lazy preemption: a leaf below its guarantee gets room on a node by the end of killable containers there.

// withoutKillable is what a parent uses, but for what its leaves would give up for each other.
func (r *round) withoutKillable(q *Queue) *resource {
	var used resource
	r.s.Calc.Sub(&used, &q.Ledger[r.part].Used, &q.Ledger[r.part].Killable)
	return &used
}

// mayTake tells whether a leaf has less than it is guaranteed, so that killable containers are ended for it.
func (s *Scheduler) mayTake(q *Queue, p part) bool {
	sh := &q.Shares[p]
	if !none(sh.EffMin) {
		return s.Calc.Less(&s.Books.Total, &q.Ledger[p].Used, &sh.EffMin)
	}
	return sh.AbsoluteUsed < sh.Absolute
}

// makesRoom finds killable containers of the node, the youngest first, without which there is room for a container of the leaf's.
//
// compat: Apache also counts those that have ended and hold their room still, whose choice the last checks refuse, and those of the leaf itself,
// which it then does not end, so that the node has more than it can hold. So does this in heartbeat mode, in which decisions are compared with
// Apache's, but not where nodes are offered asynchronously. And nothing is ended where a node has given away that much already.
func (r *round) makesRoom(q *Queue, size *resource) bool {
	if r.book.Killable == 0 || r.overdrawn(size) || !r.s.mayTake(q, r.part) {
		return false
	}
	s, room := r.s, r.free
	for _, c := range s.Books.KillableOn(r.node, nil) {
		container := s.Books.Container(c)
		if s.cfg.Asynchronous && (!container.Live || s.app(container.App).queue == q) {
			continue
		}
		r.taken = append(r.taken, c)
		s.Calc.Increase(&room, &container.Resource)
		if s.Calc.FitsIn(size, &room) {
			return true
		}
	}
	r.taken = r.taken[:0]
	return false
}

// overdrawn tells whether the node lacks at least a container of that size already.
func (r *round) overdrawn(size *resource) bool {
	types := 1
	if r.s.Calc.Dominant {
		types = r.s.Calc.Types
	}
	for t := range types {
		if size[t] > 0 && r.free[t] <= -size[t] {
			return true
		}
	}
	return false
}

// sumTaken is how much the containers have that have to go for what is proposed.
func (r *round) sumTaken() (sum resource) {
	for _, c := range r.taken {
		sum.Increase(&r.s.Books.Container(c).Resource)
	}
	return sum
}

// anyEnded tells whether one of them has ended already.
func (r *round) anyEnded() bool {
	return slices.ContainsFunc(r.taken, func(c ContainerRef) bool { return !r.s.Books.Container(c).Live })
}

// take ends the containers that have to go for what is proposed.
func (s *Scheduler) take(r *round, o *outcome, out []cluster.Decision) []cluster.Decision {
	for _, c := range r.taken {
		if s.app(s.Books.Container(c).App).queue != o.app.queue { // see makesRoom
			out = s.takeOne(c, o, out)
		}
	}
	return out
}

func (s *Scheduler) takeOne(c ContainerRef, o *outcome, out []cluster.Decision) []cluster.Decision {
	out = decide(out, cluster.Taken, c, s.Books.Container(c))
	out[len(out)-1].For = o.app.Ref
	s.Take(c)
	return out
}

// enforceMaxima ends killable containers below the parents of the leaf that has just got something, until none of these has more than its maximum.
// A walk lets a parent have as much more as is killable below it, and the container may have got its room elsewhere.
//
// compat: by the containers' ids.
func (s *Scheduler) enforceMaxima(r *round, o *outcome, out []cluster.Decision) []cluster.Decision {
	for q := o.app.queue.Up; q != nil && len(s.Killable) > 0; q = q.Up {
		has, sh := &q.Ledger[r.part], &q.Shares[r.part]
		over := s.Calc.Less(&s.Books.Total, &sh.EffMax, &has.Used)
		if none(sh.EffMax) {
			over = sh.AbsoluteMax < sh.AbsoluteUsed
		}
		if !over || none(has.Killable) {
			continue
		}
		above := func() bool { return s.Calc.More(&s.Books.Partition(r.part).Total, &has.Used, &sh.EffMax) }
		if !above() {
			continue
		}
		s.EachKillable(&q.Queue, r.part, func(c ContainerRef) bool {
			out = s.takeOne(c, o, out)
			return above()
		})
	}
	return out
}
