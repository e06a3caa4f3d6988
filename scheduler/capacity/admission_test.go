package capacity

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/scheduler/capacity/waiting"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

// inOrder is who waits for admission, from first to last.
func inOrder(w *waiting.Apps) (list []*app) {
	w.Each(func(a *core.App) { list = append(list, appOf(a)) })
	slices.SortFunc(list, comparePending)
	return list
}

// lookAtEverybody is the twin of admitPending: it asks for each application that
// waits, one after the other, whether it fits.
func lookAtEverybody(s *Scheduler) func(q *Queue) {
	return func(q *Queue) {
		for _, a := range inOrder(&leafOf(q).pending) {
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
	sh := &a.queue.Shares[a.wait.Part]
	switch why.Code {
	case fit.AMLimit:
		return why.Subject == a.queue.Path && why.Needed == a.wait.Size.Add(sh.AMUsed) && why.Limit == sh.AMLimit && !s.Calc.FitsIn(&why.Needed, &why.Limit)
	case fit.UserAMLimit:
		u := leafOf(a.queue).Named(a.User)
		return why.Subject == a.queue.Path && why.Detail == a.User && why.Needed == a.wait.Size.Add(u.Shares[a.wait.Part].AMUsed) && !s.Calc.FitsIn(&why.Needed, &why.Limit)
	}
	return !s.Calc.Positive(&leafOf(a.queue).lastCluster, &leafOf(a.queue).lastCluster) // nobody is admitted to an empty cluster
}

// When the first of three users has ended, the second is admitted while the share of
// masters is still divided among more of them. The third is when nodes go, also when
// several go at once.
func TestNodesThatGoHaveAdmissionLookAgain(t *testing.T) {
	cfg, _, err := config.Parse([]config.Property{{Name: config.Prefix + "root.queues", Value: "a,b"}, {Name: config.Prefix + "root.a.capacity", Value: "80"},
		{Name: config.Prefix + "root.b.capacity", Value: "20"}, {Name: config.Prefix + "root.b.maximum-capacity", Value: "100"},
		{Name: config.Prefix + "root.b.minimum-user-limit-percent", Value: "25"}, {Name: config.Prefix + "maximum-am-resource-percent", Value: "0.2"}},
		config.Cluster{MinAllocation: yarn.NewResource(256, 1), MaxAllocation: yarn.NewResource(8192, 8)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(cfg.Capacity)
	if err != nil {
		t.Fatal(err)
	}
	node := func(host string, mb int64) NodeRef {
		return s.AddNode(cluster.Node{ID: yarn.NodeID{Host: host, Port: 1}, Total: yarn.NewResource(mb, 8)})
	}
	submit := func(n int32, user string, mb int64) AppRef {
		id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: n}
		ref, why := s.AddApplication(demand.Application{ID: id, User: user}, "b")
		if !why.OK() {
			t.Fatal(why)
		}
		s.AddAttempt(ref, demand.Attempt{ID: yarn.AttemptID{Application: id, Attempt: 1}, AM: yarn.NewResource(mb, 1)})
		return ref
	}
	node("h1", 40960)
	small := node("h2", 256)
	bob, ann, dan := submit(1, "bob", 8192), submit(2, "ann", 1024), submit(3, "dan", 1792)
	smaller := node("h3", 256)
	s.RemoveApplication(bob)
	if s.app(ann).waits || !s.app(dan).waits {
		t.Fatalf("ann waits: %v, dan waits: %v", s.app(ann).waits, s.app(dan).waits)
	}
	s.Together(func() {
		s.RemoveNode(small)
		s.RemoveNode(smaller)
	})
	if s.app(dan).waits {
		t.Errorf("dan waits for %+v", s.masterRefusal(s.app(dan)))
	}
}
