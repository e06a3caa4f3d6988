package capacity

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/internal/seeded"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

// TestRemediesHelp makes, on random clusters, the change that is named for the reason of somebody who waits. Then that reason must be gone.
func TestRemediesHelp(t *testing.T) {
	helped := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := newPlay(t)
		p.begin()
		for range rapid.IntRange(10, 40).Draw(t, "steps") {
			p.step([]func(){p.ask, p.submit, p.offer, p.ask, p.offer, p.submit, p.finish, p.offer, p.vacate, p.avoid, p.relabel, p.drain})
		}
		from, gate := rapid.IntRange(0, max(0, len(p.apps)-1)).Draw(t, "first app"), rapid.IntRange(0, 5).Draw(t, "first gate")
		for i := range p.apps {
			if ref := p.apps[(from+i)%len(p.apps)]; p.remedied(ref, gate, helped) {
				return
			}
		}
	})
	t.Log(helped)
	for _, what := range []string{string(fit.Headroom) + " settings", string(fit.NodeFull) + " free", string(fit.AMLimit) + " settings", string(fit.UserLimit) + " settings", string(fit.NodeUnavailable) + " " + string(core.UseNode)} {
		if helped[what] == 0 && !t.Failed() && seeded.Full() {
			t.Errorf("the plays were too tame: nobody was helped by %s", what)
		}
	}
}

// remedied makes the change for one of the reasons for which an application waits, if there is one that can be made here.
func (p *play) remedied(ref AppRef, from int, helped map[string]int) bool {
	a := p.quick.app(ref)
	reasons := p.quick.Explain(ref, len(p.nodes))
	for i := range reasons {
		why := reasons[(i+from)%len(reasons)]
		remedy := p.quick.Remedy(ref, why)
		how := p.follow(ref, why, &remedy)
		if how == "" {
			continue
		}
		helped[string(why.Code)+" "+how]++
		for _, still := range p.quick.Explain(ref, len(p.nodes)) {
			if still.Code == why.Code && still.Subject == why.Subject && still.Key == why.Key && still.Detail == why.Detail {
				p.t.Fatalf("%v waits because of %+v; after %+v it still does, because of %+v", a.ID, why, remedy, still)
			}
		}
		return true
	}
	return false
}

// follow carries out a remedy, and says what it did; "" is nothing.
func (p *play) follow(ref AppRef, why yarn.Reason, r *core.Remedy) string {
	if len(r.Settings) > 0 {
		p.set(r.Settings)
		return "settings"
	}
	node := func() (NodeRef, bool) {
		at := slices.IndexFunc(p.nodes, func(n NodeRef) bool { return p.quick.Books.Node(n).ID.String() == r.Act.Subject })
		if at < 0 {
			return 0, false
		}
		return p.nodes[at], true
	}
	switch r.Act.Do {
	case core.UseNode:
		if n, ok := node(); ok {
			p.both(func(s *Scheduler) { s.SetNodeAccepting(n, true) })
			return string(r.Act.Do)
		}
	case core.ResizeNode:
		if n, ok := node(); ok {
			p.both(func(s *Scheduler) { s.SetNodeTotal(n, r.Act.Size) })
			return string(r.Act.Do)
		}
	case core.EndApp:
		for _, o := range p.apps {
			if p.quick.app(o).ID.String() == r.Act.Subject {
				p.drop(o)
				return string(r.Act.Do)
			}
		}
	case core.RaiseApp:
		p.both(func(s *Scheduler) { s.SetPriority(ref, int32(r.Act.Count)) })
		return string(r.Act.Do)
	case "":
		switch why.Code {
		case fit.NodeFull, fit.QueueLimit, fit.ParentLimit:
			return p.free(ref, r)
		}
	}
	return ""
}

// set changes the configuration.
func (p *play) set(list []core.Setting) {
	changed := *p.sc.drawn
	changed.set = maps.Clone(changed.set)
	for _, x := range list {
		changed.set[strings.TrimPrefix(x.Name, config.Prefix)] = x.Value
	}
	cfg, _, err := config.Parse(changed.properties(), changed.cluster())
	if err == nil {
		err = same(p, func(s *Scheduler) error { return s.Refresh(cfg, nil) })
	}
	if err != nil {
		p.t.Fatalf("%v: %v", list, err)
	}
}

// drop ends an application, and has nodes report that its containers are gone.
func (p *play) drop(ref AppRef) {
	p.apps = slices.DeleteFunc(p.apps, func(o AppRef) bool { return o == ref })
	p.both(func(s *Scheduler) {
		for _, e := range s.EndAttempt(ref, false) {
			if !e.Vacated {
				s.Vacate(e.Ref)
			}
		}
		s.RemoveApplication(ref)
	})
}

// free ends those who have what has to become free, but for the application itself, until that is enough.
func (p *play) free(ref AppRef, r *core.Remedy) string {
	var sum resource
	for _, h := range r.Holders {
		if o := refOf(p.quick, h.App); o != cluster.NoApp && o != ref {
			sum = sum.Add(h.Has)
		}
	}
	if !r.Room || !r.Free.FitsIn(sum) {
		return ""
	}
	for _, h := range r.Holders {
		if o := refOf(p.quick, h.App); o != cluster.NoApp && o != ref {
			p.drop(o)
		}
	}
	return "free"
}

// remedies are the reasons why the application waits, and what is said to help.
func (x *small) remedies() (codes []yarn.Code, settings map[string]string, never bool) {
	settings = map[string]string{}
	for _, why := range x.Explain(x.app, 10) {
		r := x.Remedy(x.app, why)
		codes = append(codes, why.Code)
		never = never || r.Never
		for _, s := range r.Settings {
			settings[strings.TrimPrefix(s.Name, config.Prefix)] = s.Value
		}
	}
	return codes, settings, never
}

// TestRemedyByRemedy has an application wait at one gate after the other. Each time the change is made that is named, and it starts.
func TestRemedyByRemedy(t *testing.T) {
	for _, c := range []struct {
		name string
		set  map[string]string
		want map[string]string
	}{
		{"maximum of the leaf", map[string]string{"root.a.maximum-capacity": "50"}, map[string]string{"root.a.maximum-capacity": "75"}},
		{"maximum of a parent and of the leaf", map[string]string{"root.a.queues": "x", "root.a.x.capacity": "100", "root.a.x.user-limit-factor": "10", "root.a.maximum-capacity": "60",
			"root.a.accessible-node-labels.x.capacity": "50", "root.a.x.accessible-node-labels.x.capacity": "100", "root.a.x.maximum-capacity": "90"},
			map[string]string{"root.a.maximum-capacity": "75", "root.a.x.maximum-capacity": "100"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := func(set map[string]string) (*small, NodeRef, resource) {
				x := newSmallIn(t, set, leafIn(set))
				n := x.node("h", 1, 4096, 8, "")
				x.ask(4, yarn.NewResource(1024, 1))
				for range 4 {
					x.offer(n)
				}
				return x, n, x.AppUsage(x.app).Used
			}
			x, _, used := start(c.set)
			if used.MemoryMB() != 2048 {
				t.Fatalf("it has %v", used)
			}
			codes, settings, _ := x.remedies()
			if !maps.Equal(settings, c.want) {
				t.Fatalf("%v: %v, want %v", codes, settings, c.want)
			}
			set := maps.Clone(c.set)
			maps.Copy(set, settings)
			if _, _, used := start(set); used.MemoryMB() != 3072 {
				t.Errorf("with %v it has %v", settings, used)
			}
		})
	}
}

func leafIn(set map[string]string) string {
	if set["root.a.queues"] != "" {
		return "root.a.x"
	}
	return "root.a"
}

// TestNeverIsSaidAtOnce: no node is as large as what is asked for.
func TestNeverIsSaidAtOnce(t *testing.T) {
	x := newSmall(t, map[string]string{"root.a.maximum-capacity": "100"})
	x.node("h", 1, 2048, 8, "")
	x.node("i", 1, 2048, 8, "")
	x.ask(1, yarn.NewResource(3072, 1))
	if codes, settings, never := x.remedies(); !never || len(settings) > 0 || codes[0] != fit.NodeTooSmall {
		t.Errorf("%v %v %v", codes, settings, never)
	}
	x.AddNode(cluster.Node{ID: yarn.NodeID{Host: "j", Port: 1}, Total: yarn.NewResource(4096, 4)})
	if _, _, never := x.remedies(); never {
		t.Error("there is a node that is large enough")
	}
}

// TestLeastParallelIsOnePass: how many applications would have to be allowed at once is found by looking once at those who come before, and it is the place
// in line behind those who run.
func TestLeastParallelIsOnePass(t *testing.T) {
	const running, waiting = 3, 3000
	for name, byUser := range map[string]bool{"root.a.max-parallel-apps": false, "user.max-parallel-apps": true} {
		cfg, _, err := config.Parse([]config.Property{{Name: config.Prefix + "root.queues", Value: "a"}, {Name: config.Prefix + "root.a.capacity", Value: "100"},
			{Name: config.Prefix + name, Value: strconv.Itoa(running)}}, config.Cluster{MinAllocation: yarn.NewResource(512, 1), MaxAllocation: yarn.NewResource(8192, 8)})
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(cfg.Capacity)
		if err != nil {
			t.Fatal(err)
		}
		var refs []AppRef
		for i := range running + waiting {
			id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: int32(i + 1)}
			ref, why := s.AddApplication(demand.Application{ID: id, User: "ann", Unmanaged: true}, "root.a")
			if !why.OK() {
				t.Fatal(why)
			}
			s.AddAttempt(ref, demand.Attempt{ID: yarn.AttemptID{Application: id, Attempt: 1}, StartWall: int64(i)})
			refs = append(refs, ref)
		}
		for _, n := range []int{1, 2, waiting / 2, waiting} {
			a := s.app(refs[running+n-1])
			limit, looks := s.leastParallel(a, a.queue, byUser)
			if limit != int64(running+n) || looks != n {
				t.Errorf("%s: number %d in line needs a limit of %d, found by %d looks", name, n, limit, looks)
			}
			r := s.Remedy(a.Ref, s.parallelReason(a))
			if len(r.Settings) != 1 || r.Settings[0].Value != strconv.Itoa(running+n) {
				t.Errorf("%s: number %d in line is told %+v", name, n, r.Settings)
			}
		}
	}
}
