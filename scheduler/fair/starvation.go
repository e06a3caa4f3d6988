package fair

import (
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// starvation is what an attempt lacks.
type starvation struct {
	of            *app
	fairShareLack resource // of the threshold of its fair share, for longer than the timeout
	minShareLack  resource // its part of what its leaf lacks of its minimum share
	atShare       int64    // when it last had the threshold of its fair share; monotonic, milliseconds
	nextLook      int64    // when starvation is looked for again, likewise
	amToo         bool     // its master may be preempted
	queued        bool     // in preemption.starved
	victims       []victim // of its own containers
}

// starves tells whether the application is below its fair share, or lacks a part of its leaf's minimum share.
func (s *Scheduler) starves(a *app) bool {
	used := s.appUsed(a)
	return s.below(a.queue.policy, &used, &a.share) || !a.minShareLack.IsZero()
}

// lack is all that the attempt lacks.
func (a *starvation) lack() resource { return a.fairShareLack.Add(a.minShareLack) }

// findStarved looks for attempts that starve, if preemption is on and enough of the cluster is in use.
func (s *Scheduler) findStarved() {
	used, total := s.used(s.root), s.Books.Total
	if !s.cfg.Preemption || s.cfg.Utilization >= max(javanum.Ratio(used[yarn.Memory], total[yarn.Memory]), javanum.Ratio(used[yarn.VCores], total[yarn.VCores])) {
		return
	}
	for _, q := range s.leaves {
		s.findStarvedIn(q)
	}
}

func (s *Scheduler) findStarvedIn(q *Queue) {
	var asking []*app
	line := merged{q: q, numbers: s.numbers(q.policy)}
	for p := line.next(); p != nil; p = line.next() {
		if s.Now.Mono >= p.app.nextLook {
			asking = append(asking, p.app)
		}
	}
	var sum resource
	for _, a := range asking {
		s.findFairShareLack(a)
		if a.fairShareLack.IsZero() {
			break // compat: those behind it keep what they lacked
		}
		s.lineUpStarved(a.starvation)
		sum.Increase(&a.fairShareLack)
	}
	left := less(s.findMinShareLack(q), sum)
	for _, a := range asking {
		s.assignMinShareLack(a, &left)
		s.noteReserver(a)
	}
}

// assignMinShareLack attributes a part of left, which is what the leaf still lacks of its minimum share, to an application.
func (s *Scheduler) assignMinShareLack(a *app, left *resource) {
	if left.IsZero() {
		a.minShareLack = resource{}
		return
	}
	part := less(a.demand.Sub(s.appUsed(a)), a.fairShareLack)
	if s.compare(a.queue.policy, &part, left) > 0 {
		part, *left = less(part, *left), resource{} // compat: the application is charged the excess over the rest, not the rest
	} else {
		*left = less(*left, part)
	}
	a.minShareLack = part
	s.lineUpStarved(a.starvation)
}

// findFairShareLack computes what an application lacks of the threshold of its fair share.
func (s *Scheduler) findFairShareLack(a *app) {
	q, used := a.queue, s.appUsed(a)
	target := a.demand
	for t := range s.types() {
		target[t] = min(target[t], int64(float64(a.share[t])*float64(q.conf.FairShareThreshold)))
	}
	starved := s.below(q.policy, &used, &target)
	if !starved {
		a.atShare = s.Now.Mono
	}
	a.fairShareLack = resource{}
	if starved && s.Now.Mono-a.atShare >= q.conf.FairShareTimeout {
		a.fairShareLack = less(target, used)
	}
}

// findMinShareLack is what a leaf lacks of its minimum share, if it has done so for longer than the timeout. It keeps atMinimum up to date.
func (s *Scheduler) findMinShareLack(q *Queue) resource {
	lack := q.conf.Min
	for t := range lack {
		lack[t] = min(lack[t], q.demand[t])
	}
	if lack = less(lack, s.used(q)); lack.IsZero() {
		q.atMinimum = s.Now.Mono
	}
	if s.Now.Mono-q.atMinimum < q.conf.MinShareTimeout {
		return resource{}
	}
	return lack
}

// compareStarved is negative if a is served before b, and positive otherwise.
//
// compat: it is not an order, so that the heap's result depends on the order of arrival, as in Apache's queue.
func (s *Scheduler) compareStarved(a, b *starvation) int {
	if x, y := a.lack(), b.lack(); s.fits(&x, &y) {
		return -1
	}
	return 1
}

// lineUpStarved puts an attempt into the heap.
func (s *Scheduler) lineUpStarved(a *starvation) {
	if a.queued {
		return
	}
	a.queued = true
	heap := append(s.preemption.starved, a)
	i := len(heap) - 1
	for i > 0 && s.compareStarved(a, heap[(i-1)/2]) < 0 {
		heap[i] = heap[(i-1)/2]
		i = (i - 1) / 2
	}
	heap[i] = a
	s.preemption.starved = heap
}

// nextStarved takes the first out of the heap.
func (s *Scheduler) nextStarved() *starvation {
	heap := s.preemption.starved
	n := len(heap) - 1
	first, last := heap[0], heap[n]
	heap[n] = nil
	heap = heap[:n]
	s.preemption.starved = heap
	first.queued = false
	if n == 0 {
		return first
	}
	i := 0
	for 2*i+1 < n {
		child := 2*i + 1
		if right := child + 1; right < n && s.compareStarved(heap[child], heap[right]) > 0 {
			child = right
		}
		if s.compareStarved(last, heap[child]) <= 0 {
			break
		}
		heap[i] = heap[child]
		i = child
	}
	heap[i] = last
	return first
}
