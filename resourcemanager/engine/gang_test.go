package engine

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// checkGangs: gangs hold what is withheld and nothing else, not longer than they may; those that are away hold and ask for nothing.
func (r *rig) checkGangs() string {
	held := map[*container]*gang{}
	gathers := map[*gang]int64{}
	for _, a := range r.e.apps {
		for _, t := range a.attempts {
			for p, g := range t.said().gangs {
				if bad := r.checkGang(g); bad != "" {
					return fmt.Sprintf("gang of priority %d of %s: %s", p, t.id, bad)
				}
				for _, c := range g.held {
					held[c] = g
				}
				if since, was := r.gathers[g]; len(g.held) > 0 && !g.complete() {
					gathers[g] = r.now.Mono
					if was {
						gathers[g] = since
					}
				}
			}
			for i, c := range t.said().grants {
				if c != nil && (c.withheld || int(c.grant) != i) {
					return fmt.Sprintf("%s is withheld: %t, and granted as number %d of %d", c.id, c.withheld, i, c.grant)
				}
			}
		}
	}
	r.gathers = gathers
	at, due := r.e.NextDue()
	for g, since := range gathers {
		if r.now.Mono-since > g.time() && (!due || at > r.now.Mono) {
			return fmt.Sprintf("%s has gathered for %d ms", g.attempt.id, r.now.Mono-since)
		}
	}
	for _, c := range r.e.byID {
		if c.withheld && !c.state.Final() && held[c] == nil && c.attempt.said().gangs != nil || held[c] != nil && (!c.withheld || c.state != yarn.ContainerAllocated) {
			return fmt.Sprintf("%s is %s and withheld: %t; a gang has it: %t", c.id, c.state, c.withheld, held[c] != nil)
		}
	}
	if g := &r.e.gangs; g.turn == nil && len(g.line) > 0 || g.turn != nil && (g.turn.stale() || g.turn.state != gangGathers) {
		return fmt.Sprintf("%d gangs stand in line, and the turn is that of %+v", len(g.line), g.turn)
	}
	return ""
}

func (r *rig) checkGang(g *gang) string {
	inLine := 0
	for _, o := range r.e.gangs.line {
		if o == g {
			inLine++
		}
	}
	asked := len(r.e.outstanding(g))
	switch {
	case inLine > 1 || (inLine == 1) != (g.state == gangInLine):
		return fmt.Sprintf("state %d, and %d times in line", g.state, inLine)
	case g.away() && (len(g.held) > 0 || asked > 0):
		return fmt.Sprintf("it is away, has %d containers, and asks for %d rows", len(g.held), asked)
	case g.state == gangOver && len(g.held) > 0:
		return "it is over and has containers"
	case g.due == 0 && (g.state == gangRests || g.state == gangGathers && len(g.held) > 0 && !g.complete()):
		return fmt.Sprintf("nobody ends its state %d", g.state)
	case g.due != 0 && !slices.ContainsFunc(r.e.gangs.due, func(d deadline[*gang]) bool { return d.of == g && d.at == g.due }):
		return fmt.Sprintf("nobody knows that it is due at %d", g.due)
	case g.away() != (len(g.aside) > 0):
		return fmt.Sprintf("state %d, and %d calls are set aside", g.state, len(g.aside))
	}
	return ""
}

// gangPlay is what random play does with gangs.
type gangPlay struct {
	often int // one of so many applications has the tag; 0: none has
	size  int // of all gangs; 0: any
	least int // containers of an ask
	began map[gangID]bool
}

// gangID is the gang of one priority of an attempt.
type gangID struct {
	attempt  yarn.AttemptID
	priority int32
}

func (w *world) gangTags() []string {
	if w.gangs.often == 0 || !w.chance(w.gangs.often, "gang") {
		return nil
	}
	n := w.gangs.size
	if n == 0 {
		n = 1 + w.draw(5, "gang size")
	}
	return []string{fmt.Sprintf("heddle.gang=%d,timeout=%d", n, 1+w.draw(8, "timeout"))}
}

// hearGangs: what a master is granted first of a priority is a gang, or all that it asks for.
func (w *world) hearGangs(m *randomMaster, v *AllocateReply) {
	t := w.e.findAttempt(m.id)
	if t == nil || t.app.gang.size <= 1 {
		return
	}
	granted := map[int32]int{}
	for _, g := range v.Granted {
		if g.Execution == yarn.Guaranteed {
			granted[g.Priority]++
		}
	}
	for p, n := range granted {
		id := gangID{m.id, p}
		if w.gangs.began[id] {
			continue
		}
		if w.gangs.began == nil {
			w.gangs.began = map[gangID]bool{}
		}
		w.gangs.began[id] = true
		if g := t.said().gangs[p]; g != nil && n < g.enough && !(t.app.sub.KeepContainers && m.id.Attempt > 1) {
			w.fatal("%s is granted %d of %d containers of its gang of priority %d", m.id, n, g.enough, p)
		}
		if w.gangs.size > 0 && n < w.gangs.size && !(t.app.sub.KeepContainers && m.id.Attempt > 1) {
			w.fatal("%s is granted %d containers of priority %d first; it always asks for %d at least", m.id, n, p, w.gangs.least)
		}
	}
}

// TestGangs plays at random with masters that always ask for a whole gang at least: they never see less of it first.
func TestGangs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := settings()
		set.Sweeps = rapid.Bool().Draw(t, "sweeps")
		set.Correct = rapid.Bool().Draw(t, "correct")
		set.Slice = rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "slice")
		w := &world{t: t, rig: newRig(t, set), configs: []*config.Config{queues(t)}, submitted: map[Ticket]yarn.ApplicationID{}, ending: map[Ticket]yarn.ApplicationID{}, types: map[yarn.ContainerID]yarn.ExecutionType{}}
		w.hold, w.set = true, set
		w.gangs = gangPlay{often: 1, size: 2 + w.draw(3, "size")}
		w.gangs.least = w.gangs.size
		w.begin(3)
		actions := []func(){w.beat, w.beat, w.allocate, w.time, w.startContainers, w.confirmSome}
		for range rapid.IntRange(50, 250).Draw(t, "steps") {
			if w.chance(12, "anything") {
				w.step()
			} else {
				actions[w.draw(len(actions), "action")]()
			}
		}
		w.goHome()
	})
}

// begin has nodes, and so many applications with masters outside of the cluster.
func (w *world) begin(apps int) {
	for range 3 {
		w.register()
	}
	for range apps {
		w.apps++
		w.send(Submit{Ticket: w.next(), Application: Submission{ID: appID(w.apps), User: "ann", Queue: []string{"default", "other"}[w.draw(2, "queue")], Unmanaged: true, Tags: w.gangTags()}})
	}
	w.settleStore()
	w.master() // which brings them all in
	for _, m := range w.masters {
		w.send(RegisterMaster{Ticket: w.next(), Attempt: m.id, Host: "h", RPCPort: 1})
		m.registered = true
	}
}

// gangRig has nodes with room for so many containers of 1024 MB each, under one of the policies.
func gangRig(t *rapid.T, policy string, sweeps bool, nodes []int) *rig {
	set := settings()
	set.Sweeps, set.MasterExpiry, set.AllocationExpiry, set.NodeExpiry = sweeps, 0, 0, 0
	var r *rig
	if policy == "capacity" {
		r = newRig(t, set)
	} else {
		in := config.Cluster{Policy: config.FifoPolicy, MinAllocation: yarn.NewResource(256, 1), MaxAllocation: yarn.NewResource(8192, 8)}
		if policy == "fair" {
			in.Policy = config.FairPolicy
			in.Allocations = &config.AllocationFile{Name: "fair-scheduler.xml", Text: `<allocations><queue name="default"/><queue name="other"/></allocations>`}
			set.Fair = true
		}
		cfg, _, err := config.Parse(nil, in)
		if err != nil {
			t.Fatal(err)
		}
		r = rigOf(t, set, cfg)
	}
	for i, slots := range nodes {
		r.do(RegisterNode{Ticket: r.next(), Node: nodeID(fmt.Sprintf("h%d", i+1)), HTTPPort: 1, Total: yarn.NewResource(int64(1024*slots), int64(slots)), Health: Health{Healthy: true}})
	}
	return r
}

// TestGangsEnd: whatever gangs meet, as long as each fits an empty cluster, all of them come together one after the other.
func TestGangsEnd(t *testing.T) {
	for _, policy := range []string{"capacity", "fair", "fifo"} {
		t.Run(policy, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				nodes := rapid.SliceOfN(rapid.IntRange(2, 6), 2, 4).Draw(t, "nodes")
				room := 0
				for _, n := range nodes {
					room += n
				}
				r := gangRig(t, policy, rapid.Bool().Draw(t, "sweeps"), nodes)
				m := gangMeeting{t: t, r: r, nodes: len(nodes), response: make([]int32, len(nodes)), masters: map[int32]*gangMaster{}}
				count := int32(rapid.IntRange(2, 4).Draw(t, "gangs"))
				longest := 0
				for n := range count {
					size := rapid.IntRange(2, room).Draw(t, "size")
					timeout := rapid.IntRange(size+2, size+10).Draw(t, "timeout") // the FairScheduler places one container for each heartbeat
					longest = max(longest, timeout)
					m.submit(n+1, size, timeout, policy)
				}
				for range 10 * longest * int(count) {
					if m.second(); len(m.masters) == 0 {
						break
					}
				}
				if len(m.masters) > 0 {
					t.Fatalf("%d gangs did not come together", len(m.masters))
				}
				root := r.sched.RootQueue()
				if used := root.Default.Used; !used.IsZero() || !root.Default.Pending.IsZero() || len(r.e.byID) > 0 || len(r.e.gangs.line) > 0 || r.e.gangs.turn != nil {
					t.Fatalf("%s used, %s asked for; %d containers", used, root.Default.Pending, len(r.e.byID))
				}
			})
		})
	}
}

// gangMeeting is applications that each ask for one gang and end when they have it.
type gangMeeting struct {
	t        *rapid.T
	r        *rig
	nodes    int
	response []int32
	masters  map[int32]*gangMaster
}

type gangMaster struct {
	size       int
	response   int32
	registered bool
	asks       int // at so many seconds from now
	leaves     bool
}

func (m *gangMeeting) submit(n int32, size, timeout int, policy string) {
	queue := []string{"default", "other"}[rapid.IntRange(0, 1).Draw(m.t, "queue")]
	if policy == "fifo" {
		queue = "default"
	}
	m.masters[n] = &gangMaster{size: size, asks: rapid.IntRange(0, 3).Draw(m.t, "asks")}
	m.r.do(Submit{Ticket: m.r.next(), Application: Submission{ID: appID(n), User: []string{"ann", "bob"}[n%2], Queue: queue, Unmanaged: true,
		Tags: []string{fmt.Sprintf("heddle.gang=%d,timeout=%d", size, timeout)}}})
}

// second lets every node and every master call once.
func (m *gangMeeting) second() {
	r := m.r
	r.now.Wall, r.now.Mono = r.now.Wall+1000, r.now.Mono+1000
	for n := 0; n < 1000; n++ {
		if at, ok := r.e.NextDue(); !ok || at > r.now.Mono {
			break
		}
		m.do(Tick{})
	}
	if r.e.set.Fair {
		m.do(UpdateShares{})
	}
	for i := range m.nodes {
		id := r.next()
		m.do(&Heartbeat{Ticket: id, Node: nodeID(fmt.Sprintf("h%d", i+1)), ResponseID: m.response[i], Health: Health{Healthy: true}})
		x, _ := r.reply(id)
		m.response[i] = x.Value.(*HeartbeatReply).ResponseID
	}
	for n, x := range m.inOrder() {
		t := r.e.apps[appID(n)].current()
		switch {
		case x.leaves:
			m.do(FinishMaster{Ticket: r.next(), Attempt: t.id, FinalStatus: yarn.FinalSucceeded})
			delete(m.masters, n)
		case !x.registered:
			m.do(RegisterMaster{Ticket: r.next(), Attempt: t.id, Host: "h"})
			x.registered = true
		default:
			m.call(t, x)
		}
	}
}

func (m *gangMeeting) inOrder() func(func(int32, *gangMaster) bool) {
	return func(yield func(int32, *gangMaster) bool) {
		for _, n := range slices.Sorted(maps.Keys(m.masters)) {
			if !yield(n, m.masters[n]) {
				return
			}
		}
	}
}

func (m *gangMeeting) call(t *attempt, x *gangMaster) {
	c := &Allocate{Ticket: m.r.next(), Attempt: t.id, ResponseID: x.response}
	if x.asks--; x.asks == 0 || x.asks == -1 && x.response == 0 {
		c.Asks = []yarn.Ask{{Priority: 5, Where: yarn.AnyHost, RelaxLocality: true, Capability: yarn.NewResource(1024, 1), Count: int32(x.size)}}
		x.asks = 0
	}
	m.do(c)
	answer, _ := m.r.reply(c.Ticket)
	v := answer.Value.(*AllocateReply)
	x.response = v.ResponseID
	switch n := len(v.Granted); n {
	case 0:
	case x.size:
		x.leaves = true
	default:
		m.t.Fatalf("%s is granted %d of %d containers", t.id, n, x.size)
	}
}

// do carries a command out and looks at everything after it.
func (m *gangMeeting) do(c Command) {
	m.r.do(c)
	for _, check := range []func() string{m.r.sched.Check, m.r.checkBooks, m.r.checkGangs} {
		if bad := check(); bad != "" {
			m.t.Fatal(bad)
		}
	}
}

// TestGangTags: what is read of tags.
func TestGangTags(t *testing.T) {
	for _, c := range []struct {
		tags []string
		want gangTag
	}{
		{nil, gangTag{}},
		{[]string{"a", "timeout=soon"}, gangTag{}},
		{[]string{"heddle.gang=8"}, gangTag{8, 60_000}},
		{[]string{"a", "heddle.gang=8,timeout=90"}, gangTag{8, 90_000}},
		{[]string{"heddle.gang=2000,timeout=1h"}, gangTag{2000, 3_600_000}},
		{[]string{"heddle.gang=8", "timeout=1m30s"}, gangTag{8, 90_000}},
	} {
		if got, err := gangOfTags(c.tags); err != nil || got != c.want {
			t.Errorf("%q: %v, %v, want %v", c.tags, got, err, c.want)
		}
	}
	for _, tags := range [][]string{{"heddle.gang"}, {"heddle.gang="}, {"heddle.gang=-1"}, {"heddle.gang=8,"}, {"heddle.gang=8,timeout=999999999999999999"},
		{"heddle.gang=8,timeout=90 s"}, {"heddle.gang=8,timeout=900ms"}, {"heddle.gang=8,timeout="}, {"heddle.gang=99999999999999999999"}, {"heddle."}} {
		if got, err := gangOfTags(tags); err == nil {
			t.Errorf("%q: %v, want a refusal", tags, got)
		}
	}
}

// TestGangBounds: a call with more priorities than there may be gangs is refused, and so are more asks than may wait for a turn.
func TestGangBounds(t *testing.T) {
	r := newRig(t, settings())
	r.do(Submit{Ticket: r.next(), Application: Submission{ID: appID(1), User: "ann", Queue: "default", Unmanaged: true, Tags: []string{"heddle.gang=2"}}})
	r.do(RegisterMaster{Ticket: r.next(), Attempt: yarn.AttemptID{Application: appID(1), Attempt: 1}})
	call := func(asks []yarn.Ask) *Error {
		a := &Allocate{Ticket: r.next(), Attempt: yarn.AttemptID{Application: appID(1), Attempt: 1}, ResponseID: r.e.apps[appID(1)].current().responseID, Asks: asks}
		r.do(a)
		x, _ := r.reply(a.Ticket)
		return x.Err
	}
	asks := func(priorities, requests int) (out []yarn.Ask) {
		for p := range priorities {
			for i := range requests {
				out = append(out, yarn.Ask{Priority: int32(p), AllocationRequestID: int64(i), Where: yarn.AnyHost, RelaxLocality: true, Capability: yarn.NewResource(256, 1), Count: 1})
			}
		}
		return out
	}
	if err := call(asks(MaxGangs+1, 1)); err == nil || err.Kind != InvalidRequest {
		t.Errorf("%d priorities: %v", MaxGangs+1, err)
	}
	if err := call(asks(MaxGangs, 1)); err != nil {
		t.Error(err)
	}
	g := r.e.apps[appID(1)].current().gangs[0]
	r.e.rest(g)
	for _, c := range []struct {
		rows    int
		refused bool
	}{{MaxAsksWaiting / 2, false}, {MaxAsksWaiting, true}, {MaxAsksWaiting/2 - 1, false}, {1, true}} {
		if err := call(asks(1, c.rows)); (err != nil) != c.refused {
			t.Errorf("%d more rows: %v", c.rows, err)
		}
	}
	if bad := r.check(); bad != "" {
		t.Error(bad)
	}
}

// TestGangsCostNothing: without a gang nothing is kept.
func TestGangsCostNothing(t *testing.T) {
	r := newRig(t, settings())
	r.do(Submit{Ticket: r.next(), Application: Submission{ID: appID(1), User: "ann", Queue: "default", Unmanaged: true, Tags: []string{"heddle.gang=1", "other"}}})
	at := yarn.AttemptID{Application: appID(1), Attempt: 1}
	r.do(RegisterMaster{Ticket: r.next(), Attempt: at})
	r.do(RegisterNode{Ticket: r.next(), Node: nodeID("h1"), HTTPPort: 1, Total: yarn.NewResource(8192, 8), Health: Health{Healthy: true}})
	r.do(&Allocate{Ticket: r.next(), Attempt: at, Asks: []yarn.Ask{{Priority: 1, Where: yarn.AnyHost, RelaxLocality: true, Capability: yarn.NewResource(256, 1), Count: 3}}})
	r.do(&Heartbeat{Ticket: r.next(), Node: nodeID("h1"), Health: Health{Healthy: true}})
	k := r.next()
	r.do(&Allocate{Ticket: k, Attempt: at, ResponseID: 1})
	x, _ := r.reply(k)
	if n := len(x.Value.(*AllocateReply).Granted); n != 3 || r.e.apps[appID(1)].current().gangs != nil || len(r.e.gangs.due) > 0 {
		t.Errorf("%d granted; %+v", n, r.e.gangs)
	}
	if r.sched.Container(scheduler.ContainerRef(0)).Priority != 1 {
		t.Error("the container has another priority")
	}
}
