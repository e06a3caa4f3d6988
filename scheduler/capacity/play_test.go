package capacity

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/internal/seeded"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/schedtest/twin"
	"github.com/heddle-project/heddle/yarn"
)

// play is random calls to two schedulers, as an engine would make them. One of
// them leaves walks out that would end as before, the other, plain, walks
// everything. After every call both are compared, the first with its twin too.
type play struct {
	t            *rapid.T
	sc           *scene
	quick, plain *Scheduler
	heard        *heard                             // of the quick one
	memory       map[string]map[string]*twin.Memory // what the twin remembers
	outdated     map[*leaf]int64                    // see snapshot.kept
	asking       map[*leaf][]*user                  // after the last step, of both
	notices      twin.Notices                       // of preemption

	clock      int64
	basis      core.Basis // of the quick one, of now or before
	nodes      []NodeRef
	apps       []AppRef
	attempt    map[AppRef]int32
	kept       map[AppRef]bool // the attempt that ended left its containers
	containers []ContainerRef  // live ones
	ended      []ContainerRef  // whose node has not reported it
	hosts      int
	lazy       bool     // there may be killable containers, of which the twin does not know
	paths      []string // leaves to submit to
	crowd      int      // as many applications more than usual, of more users
	seq        int32

	now   *snapshot // after the last step
	done  map[string]int
	asked []string // the queries that quick is asked between calls
}

func newPlay(t *rapid.T) *play { return newPlayIn(t, drawScene(t)) }

func newPlayIn(t *rapid.T, sc *scene) *play {
	p := &play{t: t, sc: sc, paths: leafPaths, memory: map[string]map[string]*twin.Memory{}, attempt: map[AppRef]int32{}, kept: map[AppRef]bool{}, done: map[string]int{},
		outdated: map[*leaf]int64{}, asking: map[*leaf][]*user{},
		notices: twin.Notices{Noticed: map[yarn.ContainerID]int64{}, Observed: map[yarn.ContainerID]int64{}}}
	cfg := drawConfig(t, p.sc)
	var err error
	if p.quick, err = New(cfg.Capacity); err != nil {
		t.Fatalf("%v", err)
	}
	p.plain, _ = newScheduler(cfg.Capacity, false)
	p.plain.pass = lookAtEverybody(p.plain)
	p.sc.refresh, p.heard = true, listen(p.quick)
	p.snapshot(p.quick).world.Reload()
	p.check()
	return p
}

func (p *play) snapshot(s *Scheduler) *snapshot { return takeSnapshot(s, p.memory, p.outdated) }

// left notes which leaves were left by users who wanted something.
func (p *play) left(s *Scheduler) {
	for _, q := range s.tree.Queues {
		if q == nil || !q.Leaf {
			continue
		}
		for _, u := range p.asking[leafOf(q)] {
			if u.Replaced() {
				p.outdated[leafOf(q)] = leafOf(q).Version
			}
		}
		p.asking[leafOf(q)] = nil
		for _, u := range leafOf(q).All {
			if u.IsActive {
				p.asking[leafOf(q)] = append(p.asking[leafOf(q)], u)
			}
		}
	}
}

func (p *play) both(do func(s *Scheduler)) {
	p.query()
	do(p.quick)
	do(p.plain)
}

// same makes a call to both, which must answer the same.
func same[T any](p *play, call func(s *Scheduler) T) T {
	p.query()
	a, b := call(p.quick), call(p.plain)
	if x, y := fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b); x != y {
		p.t.Fatalf("to leave walks out is noticed:\n%s\n%s", x, y)
	}
	return a
}

func (p *play) clocked() yarn.Now { return yarn.Now{Wall: p.clock, Mono: p.clock} }

func pickFrom[T any](p *play, what string, from []T) (v T, ok bool) {
	if len(from) == 0 {
		return v, false
	}
	return rapid.SampledFrom(from).Draw(p.t, what), true
}

func (p *play) size(what string, steps ...int64) resource {
	r := yarn.NewResource(rapid.SampledFrom(steps).Draw(p.t, what)*512-rapid.SampledFrom([]int64{0, 100}).Draw(p.t, "odd"), rapid.Int64Range(1, 6).Draw(p.t, what+"'s vcores"))
	if p.sc.third && rapid.IntRange(0, 3).Draw(p.t, "with gpu") == 0 {
		r[2] = 1
	}
	return r
}

func (p *play) aLabel() string {
	if !p.sc.labels {
		return ""
	}
	return rapid.SampledFrom([]string{"", "", "x", "y"}).Draw(p.t, "label")
}

func (p *play) nodeSize() resource {
	sizes := []int64{12, 5, 24, 3}
	if p.sc.crowded {
		sizes = []int64{8, 9, 12, 20}
	}
	n := rapid.SampledFrom(sizes).Draw(p.t, "size")
	r := yarn.NewResource(n*1024, rapid.SampledFrom([]int64{n, 2 * n, 4}).Draw(p.t, "vcores"))
	if p.sc.third {
		r[2] = rapid.Int64Range(0, 3).Draw(p.t, "gpu")
	}
	return r
}

func (p *play) addNode() {
	if len(p.nodes) >= 6 {
		return
	}
	p.hosts++
	n := cluster.Node{ID: yarn.NodeID{Host: fmt.Sprintf("h%d", p.hosts%5), Port: int32(p.hosts)}, Rack: fmt.Sprintf("/r%d", p.hosts%2), Label: p.aLabel(), Total: p.nodeSize()}
	users, active := p.askers()
	p.nodes = append(p.nodes, same(p, func(s *Scheduler) NodeRef { return s.AddNode(n) }))
	p.recalculated()
	p.admissions("", users, active)
}

func (p *play) removeNode() {
	if n, ok := pickFrom(p, "node", p.nodes); ok && len(p.nodes) > 1 {
		p.nodes = slices.DeleteFunc(p.nodes, func(o NodeRef) bool { return o == n })
		p.ended = slices.DeleteFunc(p.ended, func(c ContainerRef) bool { return p.quick.Container(c).Node == n })
		p.forget(same(p, func(s *Scheduler) []cluster.Ended { return s.RemoveNode(n) }))
		p.recalculated()
	}
}

func (p *play) resize() {
	if n, ok := pickFrom(p, "node", p.nodes); ok {
		total, held := p.nodeSize(), p.quick.Books.Node(n).Reserved >= 0
		users, active := p.askers()
		p.both(func(s *Scheduler) { s.SetNodeTotal(n, total) })
		p.recalculated()
		if !held {
			p.admissions("", users, active)
		}
	}
}

func (p *play) relabel() {
	if n, ok := pickFrom(p, "node", p.nodes); ok && p.sc.labels {
		label := p.aLabel()
		p.forget(same(p, func(s *Scheduler) []cluster.Ended { return s.SetNodeLabel(n, label) }))
	}
}

func (p *play) drain() {
	if n, ok := pickFrom(p, "node", p.nodes); ok {
		accepting := rapid.IntRange(0, 3).Draw(p.t, "accepting") > 0
		p.both(func(s *Scheduler) { s.SetNodeAccepting(n, accepting) })
	}
}

func (p *play) user() string {
	users := []string{"ann", "bob", "cid"}
	if p.crowd > 0 {
		users = append(users, "dan", "eve", "fay")
	}
	return rapid.SampledFrom(users).Draw(p.t, "user")
}

func (p *play) submit() {
	if len(p.apps) > 14+p.crowd {
		return
	}
	p.seq++
	in := demand.Application{ID: yarn.ApplicationID{ClusterTimestamp: 1, Sequence: p.seq}, User: p.user(),
		Priority: rapid.Int32Range(0, 3).Draw(p.t, "priority"), PrioritySet: true, Unmanaged: rapid.IntRange(0, 2).Draw(p.t, "unmanaged") == 0}
	if p.crowd > 0 {
		in.Recovering = rapid.IntRange(0, 7).Draw(p.t, "recovering") == 7
	}
	if p.sc.labels && rapid.Bool().Draw(p.t, "for a label") {
		in.Label, in.LabelSet = p.aLabel(), true
	}
	path := rapid.SampledFrom(p.paths).Draw(p.t, "queue")
	type answer struct {
		ref AppRef
		why yarn.Reason
	}
	p.now = p.snapshot(p.quick)
	p.now.world.Entitle()
	a := same(p, func(s *Scheduler) answer {
		ref, why := s.AddApplication(in, path)
		return answer{ref, why}
	})
	if !in.Recovering {
		p.submitted(path, in.User, a.why)
	}
	if !a.why.OK() {
		p.done["refused"]++
		return
	}
	p.apps = append(p.apps, a.ref)
	p.attempt[a.ref] = 0
	if rapid.IntRange(0, 9).Draw(p.t, "at once") > 0 {
		p.start(a.ref, false)
	}
}

func (p *play) start(ref AppRef, keep bool) {
	p.attempt[ref]++
	id := p.quick.app(ref).ID
	am := []yarn.Ask{{Where: yarn.AnyHost, Capability: p.size("master", 1, 2, 4), Count: 1, RelaxLocality: true}}
	path := p.quick.app(ref).queue.Path
	if p.sc.labels && !rapid.Bool().Draw(p.t, "anywhere") {
		am[0].Label, am[0].LabelSet = p.aLabel(), true
	}
	if !same(p, func(s *Scheduler) yarn.Reason {
		mine := slices.Clone(am)
		return s.NormalizeAM(path, mine, "", false)
	}).OK() {
		am[0].Label, am[0].LabelSet, am[0].Capability = "", true, p.quick.Min
	}
	p.quick.NormalizeAM(path, am, "", false)
	at := demand.Attempt{ID: yarn.AttemptID{Application: id, Attempt: p.attempt[ref]}, AM: am[0].Capability, AMLabel: am[0].Label,
		StartWall: p.clock, KeepContainers: keep}
	users, active := p.askers()
	runs := p.mayRun(ref)
	p.both(func(s *Scheduler) { s.AddAttempt(ref, at) })
	if a := p.quick.app(ref); a.runnable != runs {
		p.t.Fatalf("%v runs: %v, limits on parallel applications say %v", at.ID, a.runnable, runs)
	}
	if runs { // one that may not run yet has nobody else looked at
		p.admissions(path, users, active)
	}
	if p.quick.app(ref).Unmanaged {
		return
	}
	p.both(func(s *Scheduler) { s.Ask(ref, am) })
	if rapid.IntRange(0, 3).Draw(p.t, "choosy master") == 1 {
		hosts := []string{rapid.SampledFrom([]string{"h1", "/r1", "h2"}).Draw(p.t, "not here")}
		p.both(func(s *Scheduler) { s.BlacklistAM(ref, hosts) })
	}
}

func (p *play) ask() {
	ref, ok := pickFrom(p, "app", p.apps)
	if !ok || p.attempt[ref] == 0 {
		return
	}
	steps := []int64{3, 12, 1, 16, 7}
	if p.sc.crowded {
		steps = []int64{12, 7, 16, 10, 5}
	}
	a := yarn.Ask{Priority: rapid.Int32Range(1, 3).Draw(p.t, "priority"), Where: yarn.AnyHost, RelaxLocality: rapid.IntRange(0, 4).Draw(p.t, "relax") > 0,
		Capability: p.size("memory", steps...), Count: rapid.SampledFrom([]int32{3, 6, 1, 0}).Draw(p.t, "count"), AllocationRequestID: rapid.Int64Range(0, 1).Draw(p.t, "request")}
	asks := []yarn.Ask{a}
	if p.sc.labels && rapid.Bool().Draw(p.t, "labelled") {
		asks[0].Label, asks[0].LabelSet = p.aLabel(), true
	}
	if rapid.Bool().Draw(p.t, "local") {
		near := a
		near.Where = rapid.SampledFrom([]string{"/r0", "/r1"}).Draw(p.t, "rack")
		near.RelaxLocality = rapid.IntRange(0, 3).Draw(p.t, "or elsewhere") > 0
		asks = append(asks, near)
		near.Where = fmt.Sprintf("h%d", rapid.IntRange(1, 4).Draw(p.t, "host"))
		near.Count = rapid.Int32Range(0, 7).Draw(p.t, "there")
		asks = append(asks, near)
	}
	if same(p, func(s *Scheduler) yarn.Reason {
		mine := slices.Clone(asks)
		return s.Normalize(ref, mine)
	}).OK() {
		p.quick.Normalize(ref, asks)
		p.both(func(s *Scheduler) { s.Ask(ref, asks) })
	}
	same(p, func(s *Scheduler) resource { return s.AllocateDone(ref) })
}

func (p *play) avoid() {
	ref, ok := pickFrom(p, "app", p.apps)
	if !ok {
		return
	}
	place := []string{rapid.SampledFrom([]string{"h1", "h2", "/r0", "nowhere"}).Draw(p.t, "place")}
	switch rapid.IntRange(0, 2).Draw(p.t, "way") {
	case 0:
		p.both(func(s *Scheduler) { s.Blacklist(ref, place, nil) })
	case 1:
		p.both(func(s *Scheduler) { s.Blacklist(ref, nil, place) })
	case 2:
		p.both(func(s *Scheduler) { s.BlacklistAM(ref, place) })
	}
}

func (p *play) offer() {
	n, ok := pickFrom(p, "node", p.nodes)
	if !ok {
		return
	}
	for _, c := range p.containers {
		if p.quick.Container(c).Node == n && rapid.Bool().Draw(p.t, "launched") {
			p.both(func(s *Scheduler) { s.Launched(c) })
		}
	}
	before := p.snapshot(p.quick)
	before.world.Entitle()
	facts := p.snapshot(p.quick)
	facts.world.Entitle()
	out := same(p, func(s *Scheduler) []cluster.Decision { return s.Offer(n, p.clocked(), nil) })
	p.note(out)
	p.judge(n, out, before, facts)
}

// judge compares the decisions of an offer with those of the twin, and what they
// leave behind.
func (p *play) judge(n NodeRef, out []cluster.Decision, before, facts *snapshot) {
	w := before.world
	node := before.nodes[n]
	want := w.Offer(node)
	var have []twin.Decision
	for _, d := range out {
		id := yarn.ContainerID{}
		if d.Kind != cluster.Unreserved {
			id = p.quick.Container(d.Container).ID
		}
		have = append(have, twin.Decision{Kind: twin.Kind(d.Kind) + 1, ID: id, Node: p.quick.Books.Node(d.Node).ID, Resource: d.Resource})
		p.done[d.Kind.String()]++
	}
	for i := range want {
		if want[i].Kind == twin.Unreserved {
			want[i].ID = yarn.ContainerID{}
		}
	}
	if !slices.Equal(have, want) {
		p.t.Fatalf("an offer of %v in %q did\n%v\nthe twin does\n%v", node.ID, node.Label, have, want)
	}
	if d := twin.Difference(w, p.snapshot(p.quick).world); d != "" {
		p.t.Fatalf("after an offer that did %v\n%s", have, d)
	}
	p.lawful(n, out, facts)
}

func (p *play) note(out []cluster.Decision) {
	for _, d := range out {
		if d.Kind == cluster.Allocated || d.Kind == cluster.AllocatedFromReserved {
			p.containers = append(p.containers, d.Container)
		}
		if d.Kind == cluster.Taken {
			p.taken(d)
		}
	}
}

// taken follows the end of a killable container, as an engine does.
func (p *play) taken(d cluster.Decision) {
	c := p.quick.Container(d.Container)
	if c.Live || !c.Killable || c.App != d.App {
		p.t.Fatalf("%+v was taken: %+v", d, c)
	}
	p.done["taken"]++
	p.containers = slices.DeleteFunc(p.containers, func(o ContainerRef) bool { return o == d.Container })
	if c.Launched {
		p.ended = append(p.ended, d.Container)
		return
	}
	p.both(func(s *Scheduler) { s.Vacate(d.Container) })
}

func (p *play) finish() {
	c, ok := pickFrom(p, "container", p.containers)
	if !ok {
		return
	}
	p.containers = slices.DeleteFunc(p.containers, func(o ContainerRef) bool { return o == c })
	if rapid.IntRange(0, 5).Draw(p.t, "restore") == 0 {
		p.both(func(s *Scheduler) { s.RestoreAsk(c) })
	}
	if !same(p, func(s *Scheduler) bool { return s.Finish(c, cluster.ReleasedByAM) }) {
		p.ended = append(p.ended, c)
	}
}

func (p *play) vacate() {
	if c, ok := pickFrom(p, "container", p.ended); ok {
		p.ended = slices.DeleteFunc(p.ended, func(o ContainerRef) bool { return o == c })
		p.both(func(s *Scheduler) { s.Vacate(c) })
	}
}

func (p *play) forget(list []cluster.Ended) {
	for _, e := range list {
		p.containers = slices.DeleteFunc(p.containers, func(o ContainerRef) bool { return o == e.Ref })
		if !e.Vacated {
			p.ended = append(p.ended, e.Ref)
		}
	}
}

func (p *play) endAttempt() {
	ref, ok := pickFrom(p, "app", p.apps)
	if !ok {
		return
	}
	keep := p.kept[ref]
	if p.quick.app(ref).Running {
		keep = rapid.Bool().Draw(p.t, "keep")
		p.kept[ref] = keep
	}
	p.forget(same(p, func(s *Scheduler) []cluster.Ended { return s.EndAttempt(ref, keep) }))
	if rapid.IntRange(0, 3).Draw(p.t, "again") > 0 {
		p.start(ref, keep)
	}
}

func (p *play) remove() {
	if ref, ok := pickFrom(p, "app", p.apps); ok {
		p.apps = slices.DeleteFunc(p.apps, func(o AppRef) bool { return o == ref })
		q, user := p.quick.app(ref).queue, p.quick.app(ref).User
		p.forget(same(p, func(s *Scheduler) []cluster.Ended { return s.EndAttempt(ref, false) }))
		p.both(func(s *Scheduler) { s.RemoveApplication(ref) })
		p.forgotten(q, user)
	}
}

func (p *play) move() {
	if ref, ok := pickFrom(p, "app", p.apps); ok {
		to := rapid.SampledFrom(leafPaths).Draw(p.t, "to")
		same(p, func(s *Scheduler) yarn.Reason { return s.MoveApplication(ref, to) })
		p.done["moved"]++
	}
}

func (p *play) priority() {
	if ref, ok := pickFrom(p, "app", p.apps); ok {
		to := rapid.Int32Range(0, 7).Draw(p.t, "to")
		p.both(func(s *Scheduler) { s.SetPriority(ref, to) })
	}
}

func (p *play) reconfigure() {
	if rapid.IntRange(0, 3).Draw(p.t, "really") > 0 {
		return
	}
	p.sc.large = p.sc.large || rapid.IntRange(0, 3).Draw(p.t, "one more") == 0
	if p.sc.form != vectors {
		p.sc.form = form(rapid.IntRange(0, int(vectors)-1).Draw(p.t, "form"))
	}
	cfg := drawConfig(p.t, p.sc)
	was := p.quick.tree
	defer func() {
		if p.quick.tree != was {
			p.snapshot(p.quick).world.Reload()
			p.recalculated()
		}
	}()
	if rapid.IntRange(0, 5).Draw(p.t, "in vain") == 0 {
		cfg = nil
	}
	if p.basis == nil || rapid.IntRange(0, 3).Draw(p.t, "on an old basis") > 0 {
		p.basis = p.quick.Basis()
	}
	err := same(p, func(s *Scheduler) error {
		if s == p.quick {
			return s.Refresh(cfg, p.basis.Prepare(cfg))
		}
		return s.Refresh(cfg, nil)
	})
	switch {
	case cfg == nil:
	case err != nil:
		p.done["kept its configuration"]++
	default:
		p.done["reconfigured"]++
	}
}

// sweep lets both place what they can, until there is no more to do: then no
// node brings anything, even to those who leave no walk out.
func (p *play) sweep() {
	for more, i := true, 0; more && i < 1000; i++ {
		type answer struct {
			out  []cluster.Decision
			more bool
		}
		a := same(p, func(s *Scheduler) answer {
			out, more := s.Sweep(3, 1<<20, p.clocked(), nil)
			return answer{out, more}
		})
		p.note(a.out)
		more = a.more
	}
	// Proposals that are refused again and again, and reservations, count on.
	w := p.quick.SweepState()
	counting := w.Refused || p.quick.ReservedNodes > 0
	if !counting && w.Idle > w.Patience {
		p.t.Fatalf("a sweep ended after %d visits", w.Idle)
	}
	for range p.nodes { // what counts nodes that pass by comes to its end
		for _, n := range p.nodes {
			if out := same(p, func(s *Scheduler) []cluster.Decision { return s.Visit(n, 1<<20, nil) }); len(out) > 0 && !counting {
				p.t.Fatalf("a sweep left out %v", out)
			} else {
				p.note(out)
			}
		}
	}
}

// check compares everything after a step.
func (p *play) check() {
	for _, s := range []*Scheduler{p.quick, p.plain} {
		if bad := s.Check(); bad != "" {
			p.t.Fatal(bad)
		}
	}
	if what := p.heard.missed(); what != "" {
		p.t.Fatal(what)
	}
	p.both(p.left)
	p.now = p.snapshot(p.quick)
	p.now.reloaded = p.done["reconfigured"] > 0
	if bad := p.now.entitled(); bad != "" {
		p.t.Fatal(bad)
	}
	if bad := p.now.limited(); bad != "" {
		p.t.Fatal(bad)
	}
	if d := twin.Difference(p.snapshot(p.plain).world, p.now.world); d != "" {
		p.t.Fatalf("to leave walks out is noticed: %s", d)
	}
	for i, q := range p.quick.tree.Queues {
		if o := p.plain.tree.Queues[i]; q != nil && q.Leaf && leafOf(q).ActiveUsers() != leafOf(o).ActiveUsers() {
			p.t.Fatalf("to leave walks out is noticed: %s has %d active users, not %d", q.Path, leafOf(q).ActiveUsers(), leafOf(o).ActiveUsers())
		}
	}
	if bad := p.now.sound(); bad != "" {
		p.t.Fatal(bad)
	}
}

// step plays one call.
func (p *play) step(steps []func()) {
	p.clock += 1000
	p.both(func(s *Scheduler) { s.Advance(p.clocked()) })
	steps[rapid.IntRange(0, len(steps)-1).Draw(p.t, "step")]()
	p.check()
}

// begin brings some nodes and applications.
func (p *play) begin() {
	for range 3 {
		p.addNode()
	}
	for range 5 {
		p.submit()
		p.ask()
		p.ask()
	}
	p.check()
}

// steps are all calls. Draws prefer what comes first.
func (p *play) steps() []func() {
	return []func(){p.offer, p.offer, p.ask, p.offer, p.submit, p.ask, p.offer, p.finish, p.offer, p.ask, p.endAttempt, p.offer, p.vacate, p.move,
		p.offer, p.reconfigure, p.relabel, p.submit, p.finish, p.offer, p.resize, p.ask, p.sweep, p.priority, p.avoid, p.remove, p.addNode, p.drain, p.removeNode}
}

// TestTwin plays random calls on the scheduler and on its twins.
func TestTwin(t *testing.T) {
	done := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := newPlay(t)
		p.begin()
		for range rapid.IntRange(30, 90).Draw(t, "steps") {
			p.step(p.steps())
		}
		p.settled()
		for what, n := range p.done {
			done[what] += n
		}
	})
	t.Log(done)
	for _, what := range []string{"allocated", "allocated-from-reserved", "reserved", "re-reserved", "unreserved", "reconfigured", "refused", "waits"} {
		if done[what] == 0 && !t.Failed() && seeded.Full() {
			t.Errorf("the plays were too tame: nothing was %s", what)
		}
	}
}
