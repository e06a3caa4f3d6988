package capacity

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// planPlay plays calls about a plan, root.p, on two schedulers of which one walks all its way.
type planPlay struct {
	t      *rapid.T
	both   [2]*Scheduler
	nodes  []cluster.NodeRef
	apps   map[AppRef]string // the reservation that it came with
	due    []core.Promise
	clock  int64
	serial int32
	inside *int // how often a queue of a reservation was seen in use
}

func planConfig(t *rapid.T) *config.Capacity {
	share := rapid.SampledFrom([]int{20, 50, 80}).Draw(t, "plan")
	p := []config.Property{{Name: "root.queues", Value: "a,p"}, {Name: "root.a.capacity", Value: fmt.Sprint(100 - share)}, {Name: "root.p.capacity", Value: fmt.Sprint(share)},
		{Name: "root.p.reservable", Value: "true"}, {Name: "root.p.user-limit-factor", Value: rapid.SampledFrom([]string{"1", "4"}).Draw(t, "factor")},
		{Name: "root.p.maximum-capacity", Value: rapid.SampledFrom([]string{fmt.Sprint(share), "100"}).Draw(t, "most")},
		{Name: "legacy-queue-mode.enabled", Value: rapid.SampledFrom([]string{"true", "true", "false"}).Draw(t, "legacy")}}
	for i := range p {
		p[i].Name = config.Prefix + p[i].Name
	}
	cfg, _, err := config.Parse(p, config.Cluster{MinAllocation: yarn.NewResource(256, 1), MaxAllocation: yarn.NewResource(8192, 8), MaxPriority: 10})
	if err != nil {
		t.Fatal(err)
	}
	return cfg.Capacity
}

func (p *planPlay) each(do func(*Scheduler)) {
	for _, s := range p.both {
		s.Advance(yarn.Now{Wall: p.clock, Mono: p.clock})
		do(s)
	}
}

func (p *planPlay) addNode() {
	if len(p.nodes) == 6 {
		return
	}
	p.serial++
	n := cluster.Node{ID: yarn.NodeID{Host: fmt.Sprint("h", p.serial), Port: 1}, Total: yarn.NewResource(rapid.Int64Range(1, 16).Draw(p.t, "size")*1024, rapid.Int64Range(1, 16).Draw(p.t, "cores"))}
	var ref cluster.NodeRef
	p.each(func(s *Scheduler) { ref = s.AddNode(n) })
	p.nodes = append(p.nodes, ref)
}

func (p *planPlay) removeNode() {
	if len(p.nodes) < 2 {
		return
	}
	i := rapid.IntRange(0, len(p.nodes)-1).Draw(p.t, "node")
	p.each(func(s *Scheduler) { s.RemoveNode(p.nodes[i]) })
	p.nodes = slices.Delete(p.nodes, i, i+1)
}

// follow changes what is promised, also to more than there is, and has the queues follow.
func (p *planPlay) follow() {
	p.due = nil
	for i := range rapid.IntRange(0, 5).Draw(p.t, "due") {
		if rapid.Bool().Draw(p.t, "is due") {
			p.due = append(p.due, core.Promise{Name: fmt.Sprint("r", i), Gangs: rapid.IntRange(0, 4).Draw(p.t, "gangs") == 0,
				Resource: yarn.NewResource(rapid.Int64Range(0, 12).Draw(p.t, "memory")*1024, rapid.Int64Range(0, 12).Draw(p.t, "vcores"))})
		}
	}
	var over, refused [2][]string
	for i, s := range p.both {
		gone, not := s.Follow("root.p", p.due)
		over[i] = gone
		for _, why := range not {
			refused[i] = append(refused[i], fmt.Sprint(why))
		}
		for _, ref := range slices.Concat(s.Members(gone)...) {
			if why := s.MoveApplication(ref, "root.p"); !why.OK() {
				p.t.Fatalf("%v stays in %s: %v", s.app(ref).ID, s.LeafOf(ref), why)
			}
		}
		s.RemovePlanQueues("root.p", gone)
	}
	if !slices.Equal(over[0], over[1]) || !slices.Equal(refused[0], refused[1]) {
		p.t.Fatalf("over %v, refused %v", over, refused)
	}
}

func (p *planPlay) submit() {
	if len(p.apps) == 12 {
		return
	}
	p.serial++
	id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: p.serial}
	in := demand.Application{ID: id, User: rapid.SampledFrom([]string{"ann", "bob"}).Draw(p.t, "user"), AM: yarn.NewResource(512, 1), Recovering: rapid.IntRange(0, 4).Draw(p.t, "back") == 0}
	path := rapid.SampledFrom([]string{"root.a", "root.p", "root.p"}).Draw(p.t, "queue")
	switch rapid.IntRange(0, 4).Draw(p.t, "reserved") {
	case 0:
		in.Reservation = fmt.Sprint("r", rapid.IntRange(0, 5).Draw(p.t, "which"))
	case 1, 2:
		if len(p.due) > 0 {
			in.Reservation = rapid.SampledFrom(p.due).Draw(p.t, "due").Name
		}
	}
	var refs [2]AppRef
	var whys [2]yarn.Reason
	for i, s := range p.both {
		if refs[i], whys[i] = s.AddApplication(in, path); whys[i].OK() {
			s.AddAttempt(refs[i], demand.Attempt{ID: yarn.AttemptID{Application: id, Attempt: 1}, AM: in.AM})
			s.Ask(refs[i], []yarn.Ask{{Where: yarn.AnyHost, Capability: in.AM, Count: 1, RelaxLocality: true}})
		}
	}
	active := path != "root.p" || in.Reservation == "" || in.Recovering || slices.ContainsFunc(p.due, func(d core.Promise) bool { return d.Name == in.Reservation })
	if whys[0] != whys[1] || whys[0].OK() != active && whys[0].Code != "too-many-applications-of-user" && whys[0].Code != "too-many-applications-in-queue" {
		p.t.Fatalf("submitted %+v to %s, due %v: %v, %v", in, path, p.due, whys[0], whys[1])
	}
	if whys[0].OK() {
		p.apps[refs[0]] = in.Reservation
		if q := p.both[0].QueueOf(refs[0]); q != path {
			p.t.Fatalf("submitted to %s, and seen in %s", path, q)
		}
	}
}

func (p *planPlay) ask() {
	for _, ref := range sortedRefs(p.apps) {
		if n := rapid.Int32Range(0, 6).Draw(p.t, "count"); n > 0 {
			size := yarn.NewResource(rapid.Int64Range(1, 4).Draw(p.t, "each")*512, 1)
			p.each(func(s *Scheduler) {
				s.Ask(ref, []yarn.Ask{{Priority: 1, Where: yarn.AnyHost, Capability: size, Count: n, RelaxLocality: true}})
			})
		}
	}
}

func (p *planPlay) offer() {
	for _, n := range p.nodes {
		var placed [2]string
		for i, s := range p.both {
			for _, d := range s.Offer(n, yarn.Now{Wall: p.clock, Mono: p.clock}, nil) {
				placed[i] += fmt.Sprintf("%v %v;", d, s.Container(d.Container).ID)
				if !s.Container(d.Container).Reserved {
					s.Launched(d.Container)
				}
			}
		}
		if placed[0] != placed[1] {
			p.t.Fatalf("with shortcuts %s\nand without %s", placed[0], placed[1])
		}
	}
}

func (p *planPlay) end() {
	for _, ref := range sortedRefs(p.apps) {
		if rapid.IntRange(0, 2).Draw(p.t, "ends") > 0 {
			continue
		}
		p.each(func(s *Scheduler) {
			for _, e := range s.EndAttempt(ref, false) {
				if !e.Vacated {
					s.Vacate(e.Ref)
				}
			}
			s.RemoveApplication(ref)
		})
		delete(p.apps, ref)
	}
}

func (p *planPlay) refresh() {
	cfg := planConfig(p.t)
	var errs [2]error
	for i, s := range p.both {
		before := s.cfg.Legacy
		if cfg.Legacy == before {
			errs[i] = s.Refresh(&config.Config{Capacity: cfg}, nil)
		}
	}
	if errs[0] != nil || errs[1] != nil {
		p.t.Fatal(errs)
	}
}

// sound sees that books agree, that promises are kept as far as there is room, and that applications are where they belong.
func (p *planPlay) sound() {
	for _, s := range p.both {
		if bad := s.Check(); bad != "" {
			p.t.Fatal(bad)
		}
		plan := s.plan("root.p")
		var sum float32
		for _, c := range plan.Children {
			sh := &c.Shares[0]
			sum += sh.Capacity
			if c != plan.Default() && !c.Ledger[0].Used.IsZero() {
				*p.inside++
			}
			if sh.Capacity < 0 || sh.Capacity > 1 {
				p.t.Fatalf("%s has %v of the plan", c.Path, sh.Capacity)
			}
			if want := measure.Scale(s.Books.Total, float64(sh.Absolute)); s.cfg.Legacy && sh.EffMin != want {
				p.t.Fatalf("%s is entitled to %v, its share is %v", c.Path, sh.EffMin, want)
			}
		}
		if sum > 1.001 || s.plan("root.p").Default() == nil {
			p.t.Fatalf("all of the plan's queues have %v of it", sum)
		}
		for ref, reservation := range p.apps {
			if q := s.app(ref).queue; q.PlanLeaf() && q != plan.Default() && q.Name != reservation || s.tree.ByPath(q.Path) != q {
				p.t.Fatalf("an application with reservation %q is in %s", reservation, q.Path)
			}
		}
	}
}

// TestPlans plays reservations that come and go, with applications in and beside them, changes of nodes and of the configuration.
func TestPlans(t *testing.T) {
	inside := 0
	rapid.Check(t, func(t *rapid.T) {
		p := &planPlay{t: t, apps: map[AppRef]string{}, inside: &inside}
		cfg := planConfig(t)
		for i := range p.both {
			s, err := newScheduler(cfg, i == 0)
			if err != nil {
				t.Fatal(err)
			}
			p.both[i] = s
		}
		p.addNode()
		p.addNode()
		p.follow()
		steps := []func(){p.offer, p.submit, p.ask, p.offer, p.follow, p.submit, p.ask, p.end, p.addNode, p.removeNode, p.refresh}
		for range rapid.IntRange(20, 80).Draw(t, "steps") {
			p.clock += 1000
			steps[rapid.IntRange(0, len(steps)-1).Draw(t, "step")]()
			p.sound()
		}
	})
	if !t.Failed() && inside == 0 {
		t.Error("the plays were too tame: no reservation was used")
	}
}
