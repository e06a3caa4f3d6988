package fair

import (
	"fmt"
	"math"
	"slices"
)

// checkLineups sees that those who want something stand in their places.
func (s *Scheduler) checkLineups() (bad string) {
	s.root.each(func(q *Queue) {
		if bad == "" {
			bad = s.checkLineup(q)
		}
	})
	return bad
}

func (s *Scheduler) checkLineup(q *Queue) (bad string) {
	n, standing := s.numbers(q.policy), 0
	for _, l := range [2]*lineup{&q.wanting, &q.masterless} {
		standing += len(l.list)
		for i := 1; i < len(l.list); i++ {
			if l.list[i-1].before(&l.list[i], n) > 0 {
				return fmt.Sprintf("%s: %s stands before %s", q.Path, l.list[i-1].name, l.list[i].name)
			}
		}
		for i := range l.list {
			p := l.list[i].place
			if (l == &q.masterless) != (p.app != nil && !p.app.hasAM) || l.list[i] != p.slot(n) {
				return fmt.Sprintf("%s: %s stands in the wrong lineup, or as somebody else", q.Path, p.name)
			}
		}
	}
	var k key // as it should be
	in := 0
	see := func(p *place, wants bool) {
		if p.in {
			in++
		}
		if p.in != wants || wants && !p.key.same(&k, n) && !slices.ContainsFunc(k.numbers[:], math.IsNaN) {
			bad = fmt.Sprintf("%s: %s wants something: %v, in the lineup: %v; its key is %v, should be %v", q.Path, p.name, wants, p.in, p.key, k)
		}
	}
	for _, a := range q.running {
		used := s.appUsed(a)
		k.setApp(s, a, &used)
		see(&a.place, len(a.Wants.Keys()) > 0 && a.demand != used)
	}
	for _, c := range q.children {
		used := s.used(c)
		k.set(s, q.policy, &used, &c.demand, &c.least, c.weight)
		see(&c.place, c.wants())
	}
	if in != standing {
		bad = fmt.Sprintf("%s: %d want something, its lineups have %d", q.Path, in, standing)
	}
	return bad
}

// checkBounds sees that bounds leave nobody out.
func (s *Scheduler) checkBounds() (bad string) {
	s.root.each(func(q *Queue) {
		holders := int32(0)
		for _, a := range q.running {
			if a.holds {
				holders++
			}
			if a.holds != (a.in && s.mayHold(a)) {
				bad = fmt.Sprintf("%v is a holder: %v", a.ID, a.holds)
			}
			for up := q; a.in && up != nil; up = up.up {
				if !s.fits(&up.smallest, &a.bounds.least) {
					bad = fmt.Sprintf("%v may ask for less than %v, as %s has it", a.ID, up.smallest, up.Path)
				}
			}
			for _, w := range a.Wants.Keys() {
				for t := range s.types() {
					if size := w.Any.Size[t]; size < a.bounds.least[t] || size > a.bounds.most[t] || a.in && !a.hasAM && size < q.masterless.least[t] {
						bad = fmt.Sprintf("%v asks for %v, its bounds are %v and %v", a.ID, w.Any.Size, a.bounds.least, a.bounds.most)
					}
				}
			}
		}
		for _, c := range q.children {
			holders += c.holders
		}
		if holders != q.holders {
			bad = fmt.Sprintf("%s has %d holders, counted %d", q.Path, q.holders, holders)
		}
	})
	return bad
}
