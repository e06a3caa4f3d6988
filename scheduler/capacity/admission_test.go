package capacity

import (
	"slices"
	"testing"

	"github.com/heddle-project/heddle/scheduler/fit"
	"pgregory.net/rapid"
)

// inOrder is who waits for admission, from first to last.
func inOrder(w *pendings) []*app {
	list := w.appendTo(nil)
	slices.SortFunc(list, comparePending)
	return list
}

// lookAtEverybody is the twin of admitPending: it asks for each application that
// waits, one after the other, whether it fits.
func lookAtEverybody(s *Scheduler) func(q *Queue) {
	return func(q *Queue) {
		for _, a := range inOrder(&q.leaf.pending) {
			if s.admits(q, a) == fits {
				s.admit(q, a)
			}
		}
	}
}

// TestAdmissionLooksAtEnough plays calls on two schedulers with many applications
// that wait for admission, of which one looks at all of them whenever one comes
// or goes. Both admit the same ones, and say the same about the others.
func TestAdmissionLooksAtEnough(t *testing.T) {
	waited, limits := 0, map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := newPlay(t)
		p.crowd = 30
		p.begin()
		for range rapid.IntRange(0, 25).Draw(t, "crowd") {
			p.submit()
		}
		for range rapid.IntRange(10, 40).Draw(t, "steps") {
			p.step([]func(){p.submit, p.remove, p.endAttempt, p.submit, p.offer, p.ask, p.priority, p.move, p.finish, p.reconfigure, p.resize, p.relabel, p.addNode, p.removeNode})
			for _, ref := range p.apps {
				a := p.quick.app(ref)
				if !a.waits {
					continue
				}
				waited++
				why := same(p, func(s *Scheduler) string {
					r := s.masterRefusal(s.app(ref))
					return string(r.Code) + r.Needed.String() + r.Limit.String()
				})
				limits[string(p.quick.masterRefusal(a).Code)]++
				if !refused(p.quick, a) {
					t.Fatalf("%v waits for %q, and fits", a.ID, why)
				}
			}
		}
	})
	t.Log(waited, limits)
	if limits[string(fit.AMLimit)] == 0 || limits[string(fit.UserAMLimit)] == 0 {
		t.Errorf("the plays were too tame: of %d that waited, %v", waited, limits)
	}
}

// refused tells whether the reason that is given to an application that waits is
// true: what it needs is what is used with it, and not within what limits it.
func refused(s *Scheduler, a *app) bool {
	why := s.masterRefusal(a)
	sh := &a.queue.shares[a.amPart]
	switch why.Code {
	case fit.AMLimit:
		return why.Subject == a.queue.Path && why.Needed == a.amSize.Add(sh.amUsed) && why.Limit == sh.amLimit && !s.Calc.FitsIn(&why.Needed, &why.Limit)
	case fit.UserAMLimit:
		u := a.queue.leaf.users[a.User]
		return why.Subject == a.queue.Path && why.Detail == a.User && why.Needed == a.amSize.Add(u.shares[a.amPart].amUsed) && !s.Calc.FitsIn(&why.Needed, &why.Limit)
	}
	return !s.Calc.Positive(&a.queue.leaf.lastCluster, &a.queue.leaf.lastCluster) // nobody is admitted to an empty cluster
}
