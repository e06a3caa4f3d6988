package fair_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/internal/seeded"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/scheduler/schedtest/fairtwin"
	"github.com/heddle-project/heddle/yarn"
)

// play is random calls, as an engine would make them, to a scheduler and to its twin, which are compared after each.
type play struct {
	t     *rapid.T
	sc    *scene
	s     *scheduler.Scheduler
	twin  *fairtwin.World
	clock int64

	nodes      []*node
	apps       []*app
	containers []*container // that the application has, or that the node has not reported as ended
	hosts      int
	seq        int32
	done       map[string]int
	log        []string
}

type node struct {
	ref  scheduler.NodeRef
	twin *fairtwin.Node
}

type app struct {
	ref     scheduler.AppRef
	twin    *fairtwin.App
	attempt int32
	kept    bool // the attempt that ended left its containers
}

type container struct {
	ref  scheduler.ContainerRef
	twin *fairtwin.Container
}

func newPlay(t *rapid.T) *play { return playOf(t, drawScene(t)) }

func playOf(t *rapid.T, sc *scene) *play {
	p := &play{t: t, sc: sc, done: map[string]int{}}
	cfg := p.sc.draw(t)
	var err error
	if p.s, err = scheduler.New(cfg); err != nil {
		t.Fatalf("%v", err)
	}
	p.twin = fairtwin.New(cfg.Fair)
	p.note("%v\n%s", p.sc.props, cfg.Fair.Cluster.Allocations.Text)
	p.check()
	return p
}

// note remembers what was done, for whoever reads a failure.
func (p *play) note(format string, args ...any) {
	p.log = append(p.log, fmt.Sprintf("%6d ", p.clock)+fmt.Sprintf(format, args...))
}

func (p *play) fail(format string, args ...any) {
	p.t.Helper()
	for _, line := range p.log {
		p.t.Log(line)
	}
	p.t.Fatalf(format, args...)
}

func (p *play) now() yarn.Now { return yarn.Now{Wall: p.clock, Mono: p.clock} }

func pickFrom[T any](p *play, what string, from []T) (v T, ok bool) {
	if len(from) == 0 {
		return v, false
	}
	return rapid.SampledFrom(from).Draw(p.t, what), true
}

func (p *play) nodeSize() yarn.Resource {
	n := rapid.SampledFrom([]int64{8, 5, 12, 3}).Draw(p.t, "size")
	r := yarn.NewResource(n*1024, rapid.SampledFrom([]int64{n, 2 * n, 4}).Draw(p.t, "vcores"))
	if len(p.sc.types) > 2 {
		r[2] = rapid.Int64Range(1, 4).Draw(p.t, "gpus")
	}
	return r
}

func (p *play) addNode() {
	if len(p.nodes) >= 5 {
		return
	}
	p.hosts++
	id := yarn.NodeID{Host: fmt.Sprintf("h%d", p.hosts%6), Port: int32(p.hosts)}
	n := scheduler.Node{ID: id, Rack: fmt.Sprintf("/r%d", p.hosts%2), Total: p.nodeSize()}
	p.note("node %s %s %v", id.Host, n.Rack, n.Total)
	to := &fairtwin.Node{ID: id, Name: id.Host, Rack: n.Rack, Total: n.Total}
	p.nodes = append(p.nodes, &node{p.s.AddNode(n), to})
	p.twin.AddNode(to)
}

func (p *play) removeNode() {
	if n, ok := pickFrom(p, "node", p.nodes); ok && len(p.nodes) > 1 {
		p.note("lose %s", n.twin.Name)
		p.nodes = slices.DeleteFunc(p.nodes, func(o *node) bool { return o == n })
		p.containers = slices.DeleteFunc(p.containers, func(c *container) bool { return c.twin.Node == n.twin })
		p.s.RemoveNode(n.ref)
		p.twin.RemoveNode(n.twin)
	}
}

func (p *play) resize() {
	if n, ok := pickFrom(p, "node", p.nodes); ok {
		total := p.nodeSize()
		p.note("resize %s %v", n.twin.Name, total)
		p.s.SetNodeTotal(n.ref, total)
		p.twin.Resize(n.twin, total)
	}
}

func (p *play) drain() {
	if n, ok := pickFrom(p, "node", p.nodes); ok {
		n.twin.Closed = rapid.IntRange(0, 1).Draw(p.t, "closed") == 1
		p.note("%s takes containers: %v", n.twin.Name, !n.twin.Closed)
		p.s.SetNodeAccepting(n.ref, !n.twin.Closed)
	}
}

// paths are where applications go: named by most files, by some, by none.
var paths = []string{"root.a", "root.b", "root.c", "root.a.a", "root.b.x", "root.a.b.c", "root.c.y.z", "root.u", "root.b.b", "root.c.c", "root.a.a.b"}

func (p *play) submit() {
	if len(p.apps) > 12 {
		return
	}
	p.seq++
	in := scheduler.Application{ID: yarn.ApplicationID{ClusterTimestamp: 1, Sequence: p.seq},
		User: rapid.SampledFrom([]string{"ann", "bob", "cid"}).Draw(p.t, "user"), Unmanaged: rapid.IntRange(0, 3).Draw(p.t, "unmanaged") == 3}
	in.AM, in.Placed = p.size("master", 1, 2, 3), true
	path := rapid.SampledFrom(paths).Draw(p.t, "queue")
	ref, why := p.s.AddApplication(in, path)
	to := p.twin.Submit(in.ID, in.User, path, in.Unmanaged, in.AM)
	p.note("submit %d of %s to %s, unmanaged %v: %v", p.seq, in.User, path, in.Unmanaged, why.Code)
	if why.OK() != (to != nil) {
		p.fail("an application in %s: %+v, the twin takes it: %v", path, why, to != nil)
	}
	if !why.OK() {
		p.done["refused"]++
		return
	}
	a := &app{ref: ref, twin: to}
	p.apps = append(p.apps, a)
	if rapid.IntRange(0, 9).Draw(p.t, "at once") > 0 {
		p.start(a, in.AM, false)
	}
}

func (p *play) start(a *app, am yarn.Resource, keep bool) {
	a.attempt++
	asks := []yarn.Ask{{Where: yarn.AnyHost, Capability: am, Count: 1, RelaxLocality: true}}
	want := p.twin.Normalize(a.twin.Queue, am)
	if why := p.s.NormalizeAM(a.twin.Queue.Path, asks, "", false); !why.OK() {
		p.note("the master is refused: %v", why)
		return
	} else if asks[0].Capability != want {
		p.fail("%v becomes %v, the twin finds %v", am, asks[0].Capability, want)
	}
	id := yarn.AttemptID{Application: a.twin.ID, Attempt: a.attempt}
	p.s.AddAttempt(a.ref, scheduler.Attempt{ID: id, AM: want, StartWall: p.clock, KeepContainers: keep})
	p.twin.StartAttempt(a.twin, id, keep)
	p.note("attempt of %d, master %v", a.twin.ID.Sequence, want)
	if !a.twin.Unmanaged {
		p.s.Ask(a.ref, asks)
		p.twin.Ask(a.twin, asks)
	}
}

func (p *play) size(what string, steps ...int64) yarn.Resource {
	r := yarn.NewResource(rapid.SampledFrom(steps).Draw(p.t, what)*512-rapid.SampledFrom([]int64{0, 100}).Draw(p.t, "odd"), rapid.Int64Range(1, 4).Draw(p.t, "vcores"))
	if len(p.sc.types) > 2 && rapid.IntRange(0, 3).Draw(p.t, "with gpu") == 3 {
		r[2] = 1
	}
	return r
}

func (p *play) ask() {
	a, ok := pickFrom(p, "app", p.apps)
	if !ok || !a.twin.Mastered || !a.twin.Running {
		return
	}
	any := yarn.Ask{Priority: rapid.Int32Range(1, 3).Draw(p.t, "priority"), Where: yarn.AnyHost, RelaxLocality: rapid.IntRange(0, 4).Draw(p.t, "strict") < 4,
		Capability: p.size("memory", 3, 1, 8, 12, 5), Count: rapid.SampledFrom([]int32{3, 6, 1, 0}).Draw(p.t, "count"),
		AllocationRequestID: rapid.Int64Range(0, 1).Draw(p.t, "request")}
	asks := []yarn.Ask{any}
	if rapid.Bool().Draw(p.t, "local") {
		rack, host := any, any
		rack.RelaxLocality = rapid.IntRange(0, 3).Draw(p.t, "or elsewhere") < 3
		rack.Where, host.Where = rapid.SampledFrom([]string{"/r0", "/r1"}).Draw(p.t, "rack"), fmt.Sprintf("h%d", rapid.IntRange(0, 5).Draw(p.t, "host"))
		rack.Count, host.Count, host.RelaxLocality = max(1, any.Count), rapid.Int32Range(1, 4).Draw(p.t, "there"), true
		asks = append(asks, rack, host)
	}
	want := p.twin.Normalize(a.twin.Queue, any.Capability)
	if why := p.s.Normalize(a.ref, asks); !why.OK() {
		p.note("%d's ask for %v is refused: %v", a.twin.ID.Sequence, any.Capability, why)
		return
	} else if asks[0].Capability != want {
		p.fail("%v becomes %v, the twin finds %v", any.Capability, asks[0].Capability, want)
	}
	p.note("%d asks %+v", a.twin.ID.Sequence, asks)
	p.s.Ask(a.ref, asks)
	p.twin.Ask(a.twin, asks)
	p.allocateDone(a)
}

func (p *play) allocateDone(a *app) {
	p.s.AllocateDone(a.ref)
	p.twin.AllocateDone(a.twin)
}

func (p *play) avoid() {
	a, ok := pickFrom(p, "app", p.apps)
	if !ok || !a.twin.Running {
		return
	}
	defer p.allocateDone(a)
	place := []string{rapid.SampledFrom([]string{"h1", "h2", "/r0", "nowhere"}).Draw(p.t, "place")}
	if rapid.IntRange(0, 2).Draw(p.t, "no more") == 2 {
		p.note("%d takes %v again", a.twin.ID.Sequence, place)
		p.s.Blacklist(a.ref, nil, place)
		p.twin.Blacklist(a.twin, nil, place)
		return
	}
	p.note("%d avoids %v", a.twin.ID.Sequence, place)
	p.s.Blacklist(a.ref, place, nil)
	p.twin.Blacklist(a.twin, place, nil)
}

func (p *play) offer() {
	if n, ok := pickFrom(p, "node", p.nodes); ok {
		p.offerTo(n)
	}
}

// offerTo is one heartbeat of the node.
func (p *play) offerTo(n *node) []fairtwin.Decision {
	for _, c := range p.containers {
		if c.twin.Node == n.twin && !c.twin.Launched && rapid.Bool().Draw(p.t, "launched") {
			p.s.Launched(c.ref)
			c.twin.Launched = true
		}
	}
	out := p.s.Offer(n.ref, p.now(), nil)
	want := p.twin.Offer(n.twin)
	var have []fairtwin.Decision
	for _, d := range out {
		one := fairtwin.Decision{Node: p.s.NodeUsage(d.Node).ID.Host, Size: d.Resource, Locality: fairtwin.OffSwitch}
		p.done[d.Kind.String()]++
		switch d.Kind {
		case cluster.Unreserved:
			one.Kind, one.Locality = fairtwin.Unreserved, 0
		case cluster.Reserved:
			one.Kind, one.Locality, one.ID = fairtwin.Reserved, 0, p.s.Container(d.Container).ID
		default:
			c := p.s.Container(d.Container)
			one.Kind, one.ID, one.AM, one.Locality = fairtwin.Kind(d.Kind), c.ID, c.AM, fairtwin.Locality(c.Locality)
		}
		have = append(have, one)
	}
	p.note("offer %s: %v", n.twin.Name, have)
	if !slices.Equal(have, want) {
		p.fail("an offer of %s does\n%+v\nthe twin does\n%+v", n.twin.Name, have, want)
	}
	for _, d := range out {
		if d.Kind == cluster.Allocated || d.Kind == cluster.AllocatedFromReserved {
			p.containers = append(p.containers, &container{d.Container, p.twinOf(p.s.Container(d.Container).ID)})
		}
	}
	return have
}

func (p *play) twinOf(id yarn.ContainerID) *fairtwin.Container {
	for _, c := range p.twin.Containers {
		if c.ID == id {
			return c
		}
	}
	p.fail("the twin has no container %v", id)
	return nil
}

func (p *play) finish() {
	c, ok := pickFrom(p, "container", p.containers)
	if !ok || !c.twin.Live {
		return
	}
	p.note("finish %v", c.twin.ID)
	p.end(c, cluster.ReleasedByAM)
}

func (p *play) end(c *container, cause scheduler.Cause) {
	p.twin.Finish(c.twin)
	if p.s.Finish(c.ref, cause) == c.twin.Launched {
		p.fail("%v, launched %v, holds room on its node: %v", c.twin.ID, c.twin.Launched, c.twin.Launched)
	}
	if !c.twin.Launched {
		p.containers = slices.DeleteFunc(p.containers, func(o *container) bool { return o == c })
	}
}

func (p *play) vacate() {
	c, ok := pickFrom(p, "container", p.containers)
	if !ok {
		return
	}
	p.note("vacate %v", c.twin.ID)
	p.containers = slices.DeleteFunc(p.containers, func(o *container) bool { return o == c })
	p.s.Vacate(c.ref)
	p.twin.Vacate(c.twin)
}

// over drops the containers that are gone from the twin.
func (p *play) over() {
	p.containers = slices.DeleteFunc(p.containers, func(c *container) bool { return !slices.Contains(p.twin.Containers, c.twin) })
}

func (p *play) endAttempt() {
	a, ok := pickFrom(p, "app", p.apps)
	if !ok {
		return
	}
	if a.twin.Running {
		a.kept = rapid.IntRange(0, 2).Draw(p.t, "keep") == 2
	}
	p.note("end attempt of %d, keep containers %v", a.twin.ID.Sequence, a.kept)
	p.s.EndAttempt(a.ref, a.kept)
	p.twin.EndAttempt(a.twin, a.kept)
	p.over()
	if rapid.IntRange(0, 3).Draw(p.t, "not again") < 3 {
		p.start(a, p.size("master", 1, 2, 3), a.kept)
	}
}

func (p *play) remove() {
	if a, ok := pickFrom(p, "app", p.apps); ok {
		p.drop(a)
	}
}

func (p *play) drop(a *app) {
	p.note("remove %d", a.twin.ID.Sequence)
	p.apps = slices.DeleteFunc(p.apps, func(o *app) bool { return o == a })
	for _, e := range p.s.EndAttempt(a.ref, false) {
		if !e.Vacated && rapid.Bool().Draw(p.t, "over") {
			p.s.Vacate(e.Ref)
			p.twin.Vacate(p.twinOf(e.Container.ID))
		}
	}
	p.s.RemoveApplication(a.ref)
	p.twin.Remove(a.twin)
	p.over()
}

func (p *play) move() {
	a, ok := pickFrom(p, "app", p.apps)
	if !ok {
		return
	}
	to := rapid.SampledFrom(paths).Draw(p.t, "to")
	may := p.s.MayMove(a.ref, to)
	why := p.s.MoveApplication(a.ref, to)
	p.note("move %d to %s: %v", a.twin.ID.Sequence, to, why.Code)
	if moved := p.twin.Move(a.twin, to); moved != why.OK() || may.OK() != why.OK() {
		p.fail("a move of %v to %s may be made: %v, is made: %v, by the twin: %v", a.twin.ID, to, may, why, moved)
	}
	p.done["moved"]++
}

func (p *play) update() {
	p.note("update")
	p.s.Recompute(p.now())
	p.twin.Update()
}

func (p *play) sweep() {
	p.note("sweep")
	p.s.RunDynamicQueues(true, p.now())
	p.twin.Sweep()
}

func (p *play) reconfigure() {
	if rapid.IntRange(0, 2).Draw(p.t, "really") < 2 {
		return
	}
	cfg := p.sc.draw(p.t)
	p.note("refresh\n%s", cfg.Fair.Cluster.Allocations.Text)
	var prepared scheduler.Prepared
	if rapid.Bool().Draw(p.t, "prepared") {
		prepared = scheduler.Prepare(cfg, p.s.Basis())
	}
	if err := p.s.Refresh(cfg, prepared); err != nil {
		p.note("refused: %v", err)
		return
	}
	p.twin.Refresh(cfg.Fair)
	p.done["reconfigured"]++
}

// check compares everything after a step.
func (p *play) check() {
	if bad := p.s.Check(); bad != "" {
		p.fail("%s", bad)
	}
	have, want := map[string]bool{}, p.twin.Queues()
	all := p.s.Queues()
	for _, q := range all.Queues {
		have[q.Path] = true
	}
	for _, q := range want {
		i, ok := all.ByPath(q.Path)
		if !ok {
			p.fail("%s is missing", q.Path)
		}
		delete(have, q.Path)
		p.compare(q, i)
	}
	for path := range have {
		p.fail("the twin has no %s", path)
	}
	for _, a := range p.apps {
		if h, w := p.s.Admission(a.ref).Runnable, a.twin.Runnable; a.twin.Running && h != w {
			p.fail("%v runs: %v, the twin's: %v", a.twin.ID, h, w)
		}
		if h, w := p.s.QueueOf(a.ref), a.twin.Queue.Path; h != w {
			p.fail("%v is in %s, the twin's in %s", a.twin.ID, h, w)
		}
		if h, w := p.s.Headroom(a.ref), p.twin.Headroom(a.twin); a.twin.Running && h != w {
			p.fail("headroom of %v is %v, the twin's %v", a.twin.ID, h, w)
		}
	}
}

// compare compares a queue's picture.
func (p *play) compare(q *fairtwin.Queue, i *queue.Info) {
	w, f := p.twin, i.Fair
	wrong := func(what string, have, want any) {
		if have != want {
			p.fail("%s: %s is %v, the twin finds %v", q.Path, what, have, want)
		}
	}
	wrong("leaf", i.Leaf, q.Leaf)
	wrong("dynamic", i.Dynamic, q.Dynamic)
	wrong("used", i.Default.Used.Sub(i.Default.Reserved), w.Used(q))
	reserved, shown := w.ReservedBy(q), i.Default.Reserved
	clear(shown[yarn.VCores+1:]) // other types are not shown
	wrong("reserved", shown, yarn.NewResource(reserved[0], reserved[1]))
	wrong("demand", f.Demand, q.Demand)
	wrong("fair share", f.FairShare, q.FairShare)
	wrong("steady share", f.SteadyShare, q.SteadyShare)
	wrong("maximum", f.MaxShare, w.MaxShare(q))
	wrong("runnable", f.Runnable, w.Runnable(q))
	if q.Leaf {
		wrong("held back", f.NonRunnable, w.Waiting(q))
		wrong("masters' use", f.AMUsed, w.AMUsed(q))
	}
}

func (p *play) step(steps []func()) {
	p.clock += rapid.SampledFrom([]int64{1000, 1000, 0, 3000}).Draw(p.t, "later")
	p.s.Advance(p.now())
	p.twin.Now = p.clock
	steps[rapid.IntRange(0, len(steps)-1).Draw(p.t, "step")]()
	p.check()
}

func (p *play) begin() {
	for range 3 {
		p.addNode()
	}
	for range 5 {
		p.submit()
		p.update()
		p.offer()
		p.ask()
	}
	p.check()
}

// steps are all calls. Draws prefer what comes first.
func (p *play) steps() []func() {
	return []func(){p.offer, p.update, p.ask, p.offer, p.submit, p.update, p.ask, p.offer, p.finish, p.offer, p.ask, p.endAttempt, p.offer, p.vacate,
		p.move, p.update, p.offer, p.reconfigure, p.submit, p.finish, p.sweep, p.offer, p.resize, p.ask, p.avoid, p.remove, p.addNode, p.drain, p.removeNode}
}

// TestTwin plays random calls on the scheduler and on its twin.
func TestTwin(t *testing.T) {
	done := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := newPlay(t)
		p.begin()
		for range rapid.IntRange(30, 90).Draw(t, "steps") {
			p.step(p.steps())
		}
		for what, n := range p.done {
			done[what] += n
		}
	})
	t.Log(done)
	for _, what := range []string{"allocated", "allocated-from-reserved", "reserved", "unreserved", "reconfigured", "refused", "moved"} {
		if done[what] == 0 && !t.Failed() && seeded.Full() {
			t.Errorf("the plays were too tame: nothing was %s", what)
		}
	}
}
