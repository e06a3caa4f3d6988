package fair

import (
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// starving is what an attempt lacks.
type starving struct {
	of         *app
	fairShare  resource // of it, for longer than the timeout
	minimum    resource // of its leaf's
	atShare    int64    // when it last had its fair share; milliseconds
	nextLook   int64    // not before then
	mastersToo bool     // its master may be preempted
	waits      bool     // in preemption.starved
	victims    []victim // of its own containers
}

// starves tells whether the application has less than its fair share, or its part of the minimum.
func (s *Scheduler) starves(a *app) bool {
	used := s.appUsed(a)
	return s.below(a.queue.policy, &used, &a.share) || !a.minimum.IsZero()
}

// lacks is all that the attempt lacks.
func (a *starving) lacks() resource { return a.fairShare.Add(a.minimum) }

// findStarved finds out who starves, if so much of the cluster is in use.
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
		if s.Now.Wall >= p.app.nextLook {
			asking = append(asking, p.app)
		}
	}
	var sum resource
	for _, a := range asking {
		s.lacksFairShare(a)
		if a.fairShare.IsZero() {
			break // compat: those behind it keep what they lacked
		}
		s.lineUpStarved(a.starving)
		sum.Increase(&a.fairShare)
	}
	left := less(s.lacksMinimum(q), sum)
	for _, a := range asking {
		s.shareMinimum(a, &left)
		s.noteHolder(a)
	}
}

// shareMinimum has an application lack its part of what is left of what its leaf lacks.
func (s *Scheduler) shareMinimum(a *app, left *resource) {
	if left.IsZero() {
		a.minimum = resource{}
		return
	}
	part := less(a.demand.Sub(s.appUsed(a)), a.fairShare)
	if s.compare(a.queue.policy, &part, left) > 0 {
		part, *left = less(part, *left), resource{} // compat: what is beyond the rest counts, and not the rest
	} else {
		*left = less(*left, part)
	}
	a.minimum = part
	s.lineUpStarved(a.starving)
}

// lacksFairShare finds out what an application lacks of the threshold of its fair share.
func (s *Scheduler) lacksFairShare(a *app) {
	q, used := a.queue, s.appUsed(a)
	target := a.demand
	for t := range s.types() {
		target[t] = min(target[t], int64(float64(a.share[t])*float64(q.conf.FairShareThreshold)))
	}
	starved := s.below(q.policy, &used, &target)
	if !starved {
		a.atShare = s.Now.Wall
	}
	a.fairShare = resource{}
	if starved && s.Now.Wall-a.atShare >= q.conf.FairShareTimeout {
		a.fairShare = less(target, used)
	}
}

// lacksMinimum is what a leaf lacks of its minimum, if it does so for longer than the timeout.
func (s *Scheduler) lacksMinimum(q *Queue) resource {
	lack := q.conf.Min
	for t := range lack {
		lack[t] = min(lack[t], q.demand[t])
	}
	if lack = less(lack, s.used(q)); lack.IsZero() {
		q.atMinimum = s.Now.Wall
	}
	if s.Now.Wall-q.atMinimum < q.conf.MinShareTimeout {
		return resource{}
	}
	return lack
}

// starvedFirst is negative if the one who starves is served before the other, and positive otherwise.
//
// compat: it is no order, so that who comes first depends on who came when, as in Apache's queue.
func (s *Scheduler) starvedFirst(a, b *starving) int {
	if x, y := a.lacks(), b.lacks(); s.fits(&x, &y) {
		return -1
	}
	return 1
}

// lineUpStarved puts somebody who starves into the heap.
func (s *Scheduler) lineUpStarved(a *starving) {
	if a.waits {
		return
	}
	a.waits = true
	heap := append(s.preemption.starved, a)
	i := len(heap) - 1
	for i > 0 && s.starvedFirst(a, heap[(i-1)/2]) < 0 {
		heap[i] = heap[(i-1)/2]
		i = (i - 1) / 2
	}
	heap[i] = a
	s.preemption.starved = heap
}

// nextStarved takes the first out of the heap.
func (s *Scheduler) nextStarved() *starving {
	heap := s.preemption.starved
	n := len(heap) - 1
	first, last := heap[0], heap[n]
	heap[n] = nil
	heap = heap[:n]
	s.preemption.starved = heap
	first.waits = false
	if n == 0 {
		return first
	}
	i := 0
	for 2*i+1 < n {
		child := 2*i + 1
		if right := child + 1; right < n && s.starvedFirst(heap[child], heap[right]) > 0 {
			child = right
		}
		if s.starvedFirst(last, heap[child]) <= 0 {
			break
		}
		heap[i] = heap[child]
		i = child
	}
	heap[i] = last
	return first
}
