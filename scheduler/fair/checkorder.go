package fair

import (
	"fmt"
	"math"
	"slices"
)

// checkLineups sees that all candidates that ask for something are in the right lineup, in the right order.
func (s *Scheduler) checkLineups() (bad string) {
	s.root.each(func(q *Queue) {
		if bad == "" {
			bad = s.checkLineup(q)
		}
	})
	return bad
}

func (s *Scheduler) checkLineup(q *Queue) (bad string) {
	n, entries := s.numbers(q.policy), 0
	for _, l := range [2]*lineup{&q.asking, &q.awaitingAM} {
		entries += len(l.list)
		for i := 1; i < len(l.list); i++ {
			if l.list[i-1].compare(&l.list[i], n) > 0 {
				return fmt.Sprintf("%s: %s is before %s", q.Path, l.list[i-1].name, l.list[i].name)
			}
		}
		for i := range l.list {
			p := l.list[i].candidate
			if (l == &q.awaitingAM) != (p.app != nil && !p.app.hasAM) || !l.list[i].same(p.entry(n)) {
				return fmt.Sprintf("%s: %s is in the wrong lineup, or its entry is out of date", q.Path, p.name)
			}
		}
	}
	var k sortKey // as it should be
	in := 0
	see := func(p *candidate, asks bool) {
		if p.in {
			in++
		}
		if p.in != asks || asks && !p.key.same(&k, n) && !slices.ContainsFunc(k.numbers[:], math.IsNaN) {
			bad = fmt.Sprintf("%s: %s asks for something: %v, in the lineup: %v; its key is %v, should be %v", q.Path, p.name, asks, p.in, p.key, k)
		}
	}
	for _, a := range q.runnableApps {
		used := s.appUsed(a)
		k.setApp(s, a, &used)
		see(&a.candidate, len(a.Wants.Keys()) > 0 && a.demand != used)
	}
	for _, c := range q.children {
		used := s.used(c)
		k.setQueue(s, c, &used)
		see(&c.candidate, c.asks())
	}
	if in != entries {
		bad = fmt.Sprintf("%s: %d ask for something, its lineups have %d", q.Path, in, entries)
	}
	return bad
}

// same reports whether two entries are equal. Queues without weight, or a cluster without nodes, may make some of their numbers NaN.
func (s *entry) same(o entry) bool {
	number := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
	return s.candidate == o.candidate && s.class == o.class && s.enough == o.enough && s.order == o.order && number(s.first, o.first) && number(s.second, o.second)
}

// checkBounds sees that bounds cover all asks, and that reservers are counted right.
func (s *Scheduler) checkBounds() (bad string) {
	s.root.each(func(q *Queue) {
		reservers := int32(0)
		for _, a := range q.runnableApps {
			if a.reserver {
				reservers++
			}
			if a.reserver != (a.in && s.mayReserveAny(a)) {
				bad = fmt.Sprintf("%v is counted as a reserver: %v", a.ID, a.reserver)
			}
			for up := q; a.in && up != nil; up = up.up {
				if !s.fits(&up.smallest, &a.bounds.least) {
					bad = fmt.Sprintf("%v may ask for less than %v, as %s has it", a.ID, up.smallest, up.Path)
				}
			}
			for _, w := range a.Wants.Keys() {
				for t := range s.types() {
					if size := w.Any.Size[t]; size < a.bounds.least[t] || size > a.bounds.most[t] || a.in && !a.hasAM && size < q.awaitingAM.least[t] {
						bad = fmt.Sprintf("%v asks for %v, its bounds are %v and %v", a.ID, w.Any.Size, a.bounds.least, a.bounds.most)
					}
				}
			}
		}
		for _, c := range q.children {
			reservers += c.reservers
		}
		if reservers != q.reservers {
			bad = fmt.Sprintf("%s has %d reservers, counted %d", q.Path, q.reservers, reservers)
		}
	})
	return bad
}
