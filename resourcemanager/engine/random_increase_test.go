package engine

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/yarn"
)

// TestRandomIncreases plays one master that changes the sizes of its containers, uses some of the tokens that it gets for that, early, late or
// never, nodes that do what they are told, and restarts of the ResourceManager. In the end every container has the size that its node has.
func TestRandomIncreases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := settings()
		set.Sweeps = rapid.Bool().Draw(t, "sweeps")
		set.AutoUpdate = rapid.IntRange(0, 4).Draw(t, "auto-update") == 0
		set.Slice = rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "slice")
		w := &grower{t: t, set: set, rig: newRig(t, set), has: map[yarn.ContainerID]*grown{}, beats: map[yarn.NodeID]int32{},
			updates: map[yarn.NodeID][]UpdatedContainer{}, given: map[yarn.ContainerID]int32{}}
		w.start()
		for range rapid.IntRange(10, 80).Draw(t, "steps") {
			w.step()
		}
		w.settle()
	})
}

// grower is the world of TestRandomIncreases.
type grower struct {
	*rig
	t     *rapid.T
	set   Settings
	sub   Submission
	id    yarn.AttemptID
	calls int32 // the master's response id

	ids     []yarn.ContainerID // the master's own first
	has     map[yarn.ContainerID]*grown
	nodes   []yarn.NodeID
	beats   map[yarn.NodeID]int32
	updates map[yarn.NodeID][]UpdatedContainer // that the node has still to carry out
	given   map[yarn.ContainerID]int32         // the newest version that anybody was told
}

// grown is a container as its node has it.
type grown struct {
	node    yarn.NodeID
	size    yarn.Resource
	version int32
	grew    bool    // the ResourceManager has not heard of it
	tokens  []Grant // that the master has for larger sizes, older ones too
	stale   bool    // made smaller by a token from before a restart, which nodes do not report
}

func (w *grower) draw(n int, what string) int { return rapid.IntRange(0, n-1).Draw(w.t, what) }

func (w *grower) send(c Command) {
	w.do(c)
	for _, r := range w.fx.Replies {
		if r.Err != nil {
			w.t.Fatalf("%T is refused: %s", c, r.Err.Text)
		}
		switch v := r.Value.(type) {
		case *AllocateReply:
			w.hear(v)
		case *HeartbeatReply:
			n := c.(*Heartbeat).Node
			w.beats[n] = v.ResponseID
			w.updates[n] = append(w.updates[n], v.Updates...)
			if len(v.CleanupContainers) > 0 || v.Action != NodeNormal {
				w.t.Fatalf("%s is told %+v", n, v)
			}
		}
	}
	if bad := w.check(); bad != "" {
		w.t.Fatal(bad)
	}
}

// hear: versions never go back, also not over a restart.
func (w *grower) hear(v *AllocateReply) {
	w.calls = v.ResponseID
	for _, u := range v.Updated {
		id := u.Grant.ID
		if u.Grant.Version <= w.given[id] {
			w.t.Fatalf("%s gets version %d (%d), and has had version %d", id, u.Grant.Version, u.Type, w.given[id])
		}
		w.given[id] = u.Grant.Version
		if u.Type == yarn.IncreaseResource && !w.set.AutoUpdate {
			w.has[id].tokens = append(w.has[id].tokens, u.Grant)
		}
	}
	for _, g := range v.Granted {
		w.ids = append(w.ids, g.ID)
		w.has[g.ID] = &grown{node: g.Node, size: g.Resource}
	}
}

func (w *grower) start() {
	for i := range 2 {
		w.nodes = append(w.nodes, nodeID(fmt.Sprintf("h%d", i+1)))
		w.register(w.nodes[i])
	}
	w.sub = Submission{ID: appID(1), User: "ann", Queue: "default", Name: "x", MaxAttempts: 1,
		AMAsks: []yarn.Ask{{Where: yarn.AnyHost, Capability: yarn.NewResource(512, 1), Count: 1, RelaxLocality: true, AllocationRequestID: -1}}}
	w.send(Submit{Ticket: w.next(), Application: copied(w.sub)})
	w.beatAll()
	w.id = yarn.AttemptID{Application: w.sub.ID, Attempt: 1}
	t := w.e.findAttempt(w.id)
	w.ids = append(w.ids, t.masterID)
	w.has[t.masterID] = &grown{node: t.masterNode.id, size: yarn.NewResource(512, 1)}
	w.send(Launched{Attempt: w.id})
	w.send(RegisterMaster{Ticket: w.next(), Attempt: w.id})
	w.call(&Allocate{Asks: []yarn.Ask{{Priority: 1, Where: yarn.AnyHost, RelaxLocality: true, AllocationRequestID: -1, Capability: yarn.NewResource(1024, 1), Count: 3}}})
	w.beatAll()
	w.call(&Allocate{})
	w.beatAll()
}

func (w *grower) register(n yarn.NodeID) {
	c := RegisterNode{Ticket: w.next(), Node: n, HTTPPort: 8042, Rack: "/r", Total: yarn.NewResource(8192, 8), Health: Health{Healthy: true}}
	for _, id := range w.ids {
		if x := w.has[id]; x.node == n {
			c.Containers = append(c.Containers, RecoveredContainer{ContainerStatus: ContainerStatus{ID: id}, Resource: x.size, Version: x.version})
			c.Applications = []yarn.ApplicationID{w.sub.ID}
		}
	}
	w.send(c)
	w.beats[n] = 0
	w.ticks() // it has joined when all that it has is known
}

func (w *grower) call(c *Allocate) {
	c.Ticket, c.Attempt, c.ResponseID = w.next(), w.id, w.calls
	w.send(c)
}

func (w *grower) beatAll() {
	for _, n := range w.nodes {
		w.beat(n)
	}
}

func (w *grower) beat(n yarn.NodeID) {
	h := &Heartbeat{Ticket: w.next(), Node: n, ResponseID: w.beats[n], Health: Health{Healthy: true}}
	for _, id := range w.ids {
		x := w.has[id]
		if x.node != n {
			continue
		}
		h.Containers = append(h.Containers, ContainerStatus{ID: id})
		if x.grew {
			h.Increased = append(h.Increased, Increased{Container: id, Resource: x.size})
			x.grew = false
		}
	}
	w.send(h)
}

// resize has a node take a token, its master's or one that came with a heartbeat.
func (w *grower) resize(g Grant) {
	x := w.has[g.ID]
	if g.Version <= x.version {
		return
	}
	x.stale = g.Version <= w.e.versionFloor() && !x.size.FitsIn(g.Resource)
	x.grew = x.grew && x.size == g.Resource || x.size != g.Resource && x.size.FitsIn(g.Resource)
	x.size, x.version = g.Resource, g.Version
}

func (w *grower) obey(n yarn.NodeID) {
	for _, u := range w.updates[n] {
		w.resize(u.Grant)
	}
	w.updates[n] = nil
}

func (w *grower) step() {
	n := w.nodes[w.draw(len(w.nodes), "node")]
	switch w.draw(12, "step") {
	case 0, 1, 2:
		w.change()
	case 3:
		w.call(&Allocate{})
	case 4, 5:
		w.useToken()
	case 6, 7:
		w.beat(n)
	case 8:
		w.obey(n)
	case 9:
		if w.draw(3, "restarts") == 0 {
			w.restarts()
		} else if w.draw(4, "the node restarts") == 0 {
			w.obey(n)
			w.register(n)
		}
	default:
		w.pass(int64(w.draw(3000, "ms")))
	}
}

func (w *grower) change() {
	id := w.ids[1+w.draw(len(w.ids)-1, "container")]
	x := w.e.byID[id]
	if x == nil {
		return
	}
	book := w.sched.Container(x.ref)
	u := yarn.ContainerUpdate{Container: id, Type: yarn.IncreaseResource, Version: book.Version, Capability: book.Resource.Add(yarn.NewResource(256*int64(1+w.draw(4, "more")), 0))}
	if w.draw(3, "smaller") == 0 {
		u.Type, u.Capability = yarn.DecreaseResource, measured(book.Resource, 256*int64(1+w.draw(4, "to")))
	}
	w.call(&Allocate{Updates: []yarn.ContainerUpdate{u}})
	if w.draw(4, "placed later") > 0 {
		w.beat(x.node.id)
	}
	if w.draw(4, "fetched later") > 0 {
		w.call(&Allocate{})
	}
}

// measured is a size of so much memory, or less.
func measured(r yarn.Resource, memory int64) yarn.Resource {
	r[yarn.Memory] = min(r[yarn.Memory], memory)
	return r
}

// useToken has the master go to a node, mostly with the last token.
func (w *grower) useToken() {
	x := w.has[w.ids[1+w.draw(len(w.ids)-1, "container")]]
	if n := len(x.tokens); n > 0 {
		w.resize(x.tokens[n-1-min(w.draw(4, "token")/3, n-1)])
	}
}

// pass lets time pass, in which nodes and the master call.
func (w *grower) pass(ms int64) {
	w.now.Wall, w.now.Mono = w.now.Wall+ms, w.now.Mono+ms
	w.beatAll()
	if w.draw(2, "calls") == 0 {
		w.call(&Allocate{})
	} else if t := w.e.findAttempt(w.id); w.now.Mono-t.lease.since > w.set.MasterExpiry/2 {
		w.call(&Allocate{})
	}
	w.ticks()
	for _, c := range w.e.byID {
		if c.confirmed != nil && w.now.Mono-c.lease.since >= w.set.AllocationExpiry {
			w.t.Fatalf("%s was enlarged %d ms ago, and its node has not confirmed it", c.id, w.now.Mono-c.lease.since)
		}
	}
}

func (w *grower) ticks() {
	for {
		w.send(Tick{})
		if at, ok := w.e.NextDue(); !w.e.Working() && (!ok || at > w.now.Mono) {
			return
		}
	}
}

// restarts: the ResourceManager is killed and comes back. What it told nobody is lost.
func (w *grower) restarts() {
	w.set.Epoch++
	w.rig = w.restart(w.t, w.set, map[yarn.ApplicationID]Submission{w.sub.ID: copied(w.sub)})
	for _, n := range w.nodes {
		if w.draw(2, "in time") == 0 {
			w.obey(n)
		}
		w.updates[n] = nil
		w.register(n)
	}
	w.calls = 0
	w.send(RegisterMaster{Ticket: w.next(), Attempt: w.id})
	w.beatAll()
}

// settle lets everything come to rest, and compares.
func (w *grower) settle() {
	for range 12 { // what is taken back may make room for what waits
		w.pass(w.set.AllocationExpiry/2 + 1)
		for _, n := range w.nodes {
			w.obey(n)
		}
		w.call(&Allocate{})
	}
	if len(w.e.byID) != len(w.ids) {
		w.t.Fatalf("%d containers of %d are left", len(w.e.byID), len(w.ids))
	}
	for _, id := range w.ids {
		c, x := w.e.byID[id], w.has[id]
		book := w.sched.Container(c.ref)
		switch {
		case c.confirmed != nil:
			w.t.Fatalf("%s has %s, of which %s is confirmed", id, book.Resource, *c.confirmed)
		case x.stale:
			if !x.size.FitsIn(book.Resource) {
				w.t.Fatalf("%s has %s on its node, and only %s in the books", id, x.size, book.Resource)
			}
		case x.size != book.Resource || x.version > book.Version:
			w.t.Fatalf("%s has %s in version %d on its node, and %s in version %d in the books", id, x.size, x.version, book.Resource, book.Version)
		}
	}
}
