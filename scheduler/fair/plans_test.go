package fair

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

func fairConfig(t interface{ Fatal(...any) }, file string) *config.Config {
	cfg, _, err := config.Parse([]config.Property{{Name: "yarn.scheduler.increment-allocation-mb", Value: "256"}}, config.Cluster{Policy: config.FairPolicy,
		MinAllocation: yarn.NewResource(256, 1), MaxAllocation: yarn.NewResource(8192, 8), Allocations: &config.AllocationFile{Name: "f.xml", Text: "<allocations>" + file + "</allocations>"}})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

const drf = "<defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>"

// planScheduler is a scheduler with 8 GiB and 16 vcores.
func planScheduler(t *testing.T, file string) *Scheduler {
	s := New(fairConfig(t, file).Fair)
	s.AddNode(cluster.Node{ID: yarn.NodeID{Host: "h", Port: 1}, Rack: "/r", Total: yarn.NewResource(8192, 16)})
	return s
}

// submitted adds an application with a running attempt that asks for its master.
func (s *Scheduler) submitted(n int32, path, reservation string, recovering bool) (cluster.AppRef, yarn.Reason) {
	id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: n}
	in := demand.Application{ID: id, User: "ann", AM: yarn.NewResource(512, 1), Reservation: reservation, Recovering: recovering, Placed: true}
	ref, why := s.AddApplication(in, path)
	if why.OK() {
		s.AddAttempt(ref, demand.Attempt{ID: yarn.AttemptID{Application: id, Attempt: 1}, AM: in.AM})
		s.Ask(ref, []yarn.Ask{{Where: yarn.AnyHost, Capability: in.AM, Count: 1, RelaxLocality: true}})
	}
	return ref, why
}

func reserved(name string, mb, vcores int64) core.Promise {
	return core.Promise{Name: name, Resource: yarn.NewResource(mb, vcores)}
}

// weights lists the queues below one with their weights and steady shares.
func (s *Scheduler) weights(path string) (out []string) {
	info, _ := s.Queue(path)
	for _, c := range info.Children {
		i, _ := s.Queue(c)
		out = append(out, fmt.Sprintf("%s %.3g %d/%d", i.Name, i.Fair.Weight, i.Fair.SteadyShare.MemoryMB(), i.Fair.SteadyShare.VCoreCount()))
	}
	return out
}

func (s *Scheduler) expect(t *testing.T, what string, want ...string) {
	t.Helper()
	if got := s.weights("root.p"); !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
	if bad := s.Check(); bad != "" {
		t.Errorf("%s: %s", what, bad)
	}
}

// TestPlanCapacity: a plan has its steady share, and of types that the policy above does not divide the same part.
func TestPlanCapacity(t *testing.T) {
	for _, c := range []struct{ file, path, want string }{
		{`<queue name="a"/><queue name="p"><reservation/></queue>`, "root.p", "<memory:4096, vCores:8>"},
		{`<queue name="a"/><queue name="p"><weight>3</weight><reservation/></queue>`, "root.p", "<memory:6144, vCores:12>"},
		{drf + `<queue name="a"/><queue name="p"><reservation/></queue>`, "root.p", "<memory:4096, vCores:8>"},
		{drf + `<queue name="a"/><queue name="b"><schedulingPolicy>fair</schedulingPolicy><queue name="c"><schedulingPolicy>fair</schedulingPolicy></queue>` +
			`<queue name="p"><schedulingPolicy>fair</schedulingPolicy><reservation/></queue></queue>`, "root.b.p", "<memory:2048, vCores:4>"},
	} {
		s := planScheduler(t, c.file)
		got := s.Plans(nil)
		if len(got) != 1 || got[0].Path != c.path || got[0].Capacity.String() != c.want {
			t.Errorf("%s: %v, want %s", c.file, got, c.want)
		}
	}
}

// TestFollow: queues come, are weighed, go, and stay as they are told whatever else happens.
func TestFollow(t *testing.T) {
	const file = `<queue name="a"/><queue name="p"><reservation/></queue>`
	s := planScheduler(t, file)
	follow := func(want string, due ...core.Promise) {
		t.Helper()
		over, refused := s.Follow("root.p", due)
		if got := strings.Join(over, " "); got != want || len(refused) > 0 {
			t.Errorf("over %s, want %s; refused %v", got, want, refused)
		}
	}
	follow("")
	s.expect(t, "nothing is due", "p-default 1 4096/0")
	follow("", reserved("r1", 2048, 4), reserved("r2", 1024, 1))
	s.expect(t, "two are due", "p-default 0.25 1024/0", "r2 0.25 1024/0", "r1 0.5 2048/0")
	follow("", reserved("r1", 3072, 4), reserved("r2", 1024, 1))
	s.expect(t, "all is reserved", "p-default 0 0/0", "r2 0.25 1024/0", "r1 0.75 3072/0")
	s.RunDynamicQueues(true, yarn.Now{Wall: 20_000, Mono: 20_000})
	s.expect(t, "swept", "p-default 0 0/0", "r2 0.25 1024/0", "r1 0.75 3072/0")
	if why := s.DeleteQueue("p.r1"); why.Code != fit.KeptPlan {
		t.Errorf("deleted: %v", why)
	}
	if err := s.Refresh(fairConfig(t, `<queue name="a"><weight>3</weight></queue><queue name="p"><maxRunningApps>20</maxRunningApps><reservation/></queue>`), nil); err != nil {
		t.Fatal(err)
	}
	s.expect(t, "another file", "p-default 0 0/0", "r2 0.25 512/0", "r1 0.75 1536/0")
	if got := s.Plans(nil); got[0].Capacity != yarn.NewResource(2048, 4) {
		t.Errorf("capacity %v", got[0].Capacity)
	}

	in := map[string]cluster.AppRef{}
	for n, c := range []struct {
		queue, reservation string
		back               bool
		want               string
	}{
		{"root.p", "r1", false, "root.p.r1"},
		{"p", "", false, "root.p.p-default"},
		{"root.p.r2", "", false, "root.p.r2"},
		{"root.p.ann", "", false, "root.p.p-default"},
		{"root.p.ann.daily", "r1", false, "root.p.p-default"},
		{"root.p", "r9", false, ""},
		{"root.p", "r9", true, "root.p.p-default"},
		{"root.p.r9", "r9", true, "root.p.p-default"},
		{"root.p.r1", "r1", true, "root.p.r1"},
		{"root.a", "r1", false, "root.a"},
	} {
		ref, why := s.submitted(int32(n+1), c.queue, c.reservation, c.back)
		switch {
		case c.want == "":
			if why.Code != fit.ReservationOver || why.Subject != "root.p" || why.Detail != c.reservation {
				t.Errorf("%+v: %v", c, why)
			}
		case !why.OK() || s.QueueOf(ref) != c.want:
			t.Errorf("%+v: %v", c, why)
		default:
			in[c.queue+c.reservation] = ref
		}
	}
	if why := s.MoveApplication(in["root.ar1"], "p"); !why.OK() || s.QueueOf(in["root.ar1"]) != "root.p.p-default" {
		t.Errorf("moved to %s: %v", s.QueueOf(in["root.ar1"]), why)
	}

	follow("root.p.r1", reserved("r2", 1024, 1))
	s.RemovePlanQueues("root.p", []string{"root.p.r1", "root.p.r2", "root.p.p-default", "root.a", "root.p"})
	s.expect(t, "it has applications", "p-default 0.5 1024/0", "r2 0.5 1024/0", "r1 0 0/0")
	if got := s.Members([]string{"root.p.r2", "root.p.r1"}); len(got[0]) != 1 || len(got[1]) != 2 || s.App(got[1][0]).ID.Sequence != 1 || s.App(got[1][1]).ID.Sequence != 9 {
		t.Errorf("members %v", got)
	}
	for _, ref := range []cluster.AppRef{in["root.pr1"], in["root.p.r1r1"]} {
		if why := s.MoveApplication(ref, "root.p"); !why.OK() {
			t.Error(why)
		}
	}
	s.RemovePlanQueues("root.p", []string{"root.p.r1"})
	s.expect(t, "it is empty", "p-default 0.5 1024/0", "r2 0.5 1024/0")

	// No plan any more: what was reserved are queues that nobody names.
	if err := s.Refresh(fairConfig(t, `<queue name="a"/><queue name="p" type="parent"/>`), nil); err != nil {
		t.Fatal(err)
	}
	s.expect(t, "no plan", "p-default 1 2048/0", "r2 1 2048/0")
	if over, refused := s.Follow("root.p", nil); over != nil || len(refused) != 1 || refused[0].Code != fit.NotAPlan {
		t.Errorf("%v, %v", over, refused)
	}
	if got := s.Plans(nil); len(got) != 0 {
		t.Errorf("plans: %v", got)
	}
	if err := s.Refresh(fairConfig(t, file), nil); err != nil {
		t.Fatal(err)
	}
	follow("root.p.r2", reserved("r3", 4096, 1))
	s.expect(t, "a plan again", "p-default 0 0/0", "r2 0 0/0", "r3 1 4096/0")
}

// TestUsersBecomeReservations: below a queue that becomes a plan are queues that nobody reserved, and go.
func TestUsersBecomeReservations(t *testing.T) {
	s := planScheduler(t, `<queue name="p" type="parent"/>`)
	ref, _ := s.submitted(1, "root.p.ann", "", false)
	deep, _ := s.submitted(2, "root.p.bob.daily", "", false)
	if err := s.Refresh(fairConfig(t, `<queue name="p"><reservation/></queue>`), nil); err != nil {
		t.Fatal(err)
	}
	over, _ := s.Follow("root.p", nil)
	if !slices.Equal(over, []string{"root.p.ann"}) {
		t.Fatal(over)
	}
	if why := s.MoveApplication(ref, "root.p"); !why.OK() {
		t.Fatal(why)
	}
	s.RemovePlanQueues("root.p", over)
	s.RemoveApplication(deep)
	s.RunDynamicQueues(true, yarn.Now{Wall: 1, Mono: 1})
	s.RunDynamicQueues(true, yarn.Now{Wall: 2, Mono: 2})
	s.expect(t, "a plan", "p-default 1 8192/0")
}

// planPlay plays calls about a plan, root.p, on two schedulers of which one looks at everybody.
type planPlay struct {
	t      *rapid.T
	both   [2]*Scheduler
	nodes  []cluster.NodeRef
	apps   map[cluster.AppRef]string // the reservation that it came with
	due    []core.Promise
	clock  int64
	serial int32
	policy string // of all queues but leaves
	inside *int   // how often a queue of a reservation was seen in use
}

func (p *planPlay) config() *config.Config {
	pick := func(what string, from ...string) string { return rapid.SampledFrom(from).Draw(p.t, what) }
	return fairConfig(p.t, fmt.Sprintf(`<queueMaxAMShareDefault>%s</queueMaxAMShareDefault><defaultQueueSchedulingPolicy>%s</defaultQueueSchedulingPolicy><queue name="a"/>`+
		`<queue name="p"><weight>%s</weight>%s<reservation/></queue>`, pick("masters", "-1", "0.5"), p.policy, pick("weight", "1", "0.5", "3"),
		pick("most", "", "", "<maxRunningApps>3</maxRunningApps>", "<maxResources>6000 mb, 9 vcores</maxResources>")))
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
	n := cluster.Node{ID: yarn.NodeID{Host: fmt.Sprint("h", p.serial), Port: 1}, Rack: "/r",
		Total: yarn.NewResource(rapid.Int64Range(1, 16).Draw(p.t, "size")*1024, rapid.Int64Range(1, 16).Draw(p.t, "cores"))}
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
			p.due = append(p.due, reserved(fmt.Sprint("r", i), rapid.Int64Range(0, 12).Draw(p.t, "memory")*1024, rapid.Int64Range(0, 12).Draw(p.t, "vcores")))
		}
	}
	var over [2][]string
	for i, s := range p.both {
		var refused []yarn.Reason
		if over[i], refused = s.Follow("root.p", p.due); len(refused) > 0 {
			p.t.Fatal(refused)
		}
		for _, ref := range slices.Concat(s.Members(over[i])...) {
			s.MoveApplication(ref, "root.p") // a limit may keep it
		}
		s.RemovePlanQueues("root.p", over[i])
	}
	if !slices.Equal(over[0], over[1]) {
		p.t.Fatalf("over %v", over)
	}
}

func (p *planPlay) submit() {
	if len(p.apps) == 12 {
		return
	}
	p.serial++
	path := rapid.SampledFrom([]string{"root.a", "root.p", "root.p", "root.p.x"}).Draw(p.t, "queue")
	reservation, back := "", rapid.IntRange(0, 4).Draw(p.t, "back") == 0
	switch rapid.IntRange(0, 4).Draw(p.t, "reserved") {
	case 0:
		reservation = fmt.Sprint("r", rapid.IntRange(0, 5).Draw(p.t, "which"))
	case 1, 2:
		if len(p.due) > 0 {
			reservation = rapid.SampledFrom(p.due).Draw(p.t, "due").Name
		}
	}
	var refs [2]cluster.AppRef
	var whys [2]yarn.Reason
	for i, s := range p.both {
		there := s.find("root.p."+reservation) != nil
		refs[i], whys[i] = s.submitted(p.serial, path, reservation, back)
		if whys[i].OK() != (path != "root.p" || reservation == "" || back || there) {
			p.t.Fatalf("submitted to %s with %q: %v", path, reservation, whys[i])
		}
	}
	if refs[0] != refs[1] || whys[0] != whys[1] {
		p.t.Fatalf("submitted: %v, %v", whys[0], whys[1])
	}
	if whys[0].OK() {
		p.apps[refs[0]] = reservation
	}
}

func (p *planPlay) ask() {
	for _, ref := range slices.Sorted(maps.Keys(p.apps)) {
		if n := rapid.Int32Range(0, 6).Draw(p.t, "count"); n > 0 {
			size := yarn.NewResource(rapid.Int64Range(1, 4).Draw(p.t, "each")*512, 1)
			p.each(func(s *Scheduler) {
				s.Ask(ref, []yarn.Ask{{Priority: 1, Where: yarn.AnyHost, Capability: size, Count: n, RelaxLocality: true}})
			})
		}
	}
}

func (p *planPlay) offer() {
	p.each(func(s *Scheduler) { s.Recompute(s.Now) })
	for _, n := range p.nodes {
		var placed [2]string
		for i, s := range p.both {
			for _, d := range s.Offer(n, yarn.Now{Wall: p.clock, Mono: p.clock}, nil) {
				placed[i] += fmt.Sprintf("%v %v;", d, s.Books.Container(d.Container).ID)
				if !s.Books.Container(d.Container).Reserved {
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
	for _, ref := range slices.Sorted(maps.Keys(p.apps)) {
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
	cfg := p.config()
	p.each(func(s *Scheduler) {
		if err := s.Refresh(cfg, nil); err != nil {
			p.t.Fatal(err)
		}
	})
}

func (p *planPlay) sweep() {
	p.each(func(s *Scheduler) { s.RunDynamicQueues(true, s.Now) })
}

// sound sees that books agree, that what is promised is there, and that applications are where they belong.
func (p *planPlay) sound() {
	for _, s := range p.both {
		if bad := s.Check(); bad != "" {
			p.t.Fatal(bad)
		}
		plan := s.plan("root.p")
		if s.find(plan.defaultPath()) == nil {
			p.t.Fatal("there is no default queue")
		}
		for _, due := range p.due {
			if q := s.find("root.p." + due.Name); q == nil || !q.planned() {
				p.t.Fatalf("%s is due, and has no queue", due.Name)
			}
		}
		for _, c := range plan.children {
			if c.weight < 0 || !c.planned() || c.policy != allocation.Fair && p.policy == "fair" {
				p.t.Fatalf("%s has the weight %v", c.Path, c.weight)
			}
			if used := s.used(c); c.Path != plan.defaultPath() && !used.IsZero() {
				*p.inside++
			}
		}
		for ref, reservation := range p.apps {
			if q := s.app(ref).queue; q.up == plan && q.Path != plan.defaultPath() && q.Name != reservation || s.find(q.Path) != q {
				p.t.Fatalf("an application with reservation %q is in %s", reservation, q.Path)
			}
		}
	}
	if a, b := p.both[0].weights("root.p"), p.both[1].weights("root.p"); !slices.Equal(a, b) {
		p.t.Fatalf("%q, %q", a, b)
	}
}

// TestPlans plays reservations that come and go, with applications in and beside them, changes of nodes and of the file.
func TestPlans(t *testing.T) {
	inside := 0
	rapid.Check(t, func(t *rapid.T) {
		p := &planPlay{t: t, apps: map[cluster.AppRef]string{}, inside: &inside, policy: rapid.SampledFrom([]string{"fair", "drf"}).Draw(t, "policy")}
		cfg := p.config()
		for i := range p.both {
			p.both[i] = New(cfg.Fair)
			p.both[i].exhaustive = i == 1
		}
		p.addNode()
		p.addNode()
		p.follow()
		steps := []func(){p.offer, p.submit, p.ask, p.offer, p.follow, p.submit, p.ask, p.end, p.addNode, p.removeNode, p.refresh, p.sweep}
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
