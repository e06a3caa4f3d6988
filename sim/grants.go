package sim

import (
	"math"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// granted holds a new container against what may be granted: no node gets anything that does not run, that an order has drain, or that has no
// room.
func (t *term) granted(e engine.ContainerEvent) {
	c := t.c
	if s := t.nodes[e.Node]; s != yarn.NodeRunning.String() {
		c.fail("%s: container %s was granted on %s, which is %s", t, e.Container, e.Node, s)
	}
	if c.owner == t && (c.draining[e.Node] || c.draining[yarn.NodeID{Host: e.Node.Host}]) {
		c.fail("%s: container %s was granted on %s, which is ordered to drain", t, e.Container, e.Node)
	}
	if len(c.draining) > 0 {
		c.Done["granted while an order to drain was in force"]++
	}
	ref, there := t.sched.FindNode(e.Node)
	if !there {
		return // it left by the same command
	}
	n, held, guaranteed, changed := t.sched.NodeUsage(ref), yarn.Resource{}, false, false
	for _, at := range t.sched.ContainersOn(ref, math.MaxInt) {
		x := t.sched.Container(at)
		if x.Execution != yarn.Guaranteed {
			continue
		}
		// compat: a master can make a container larger by what it calls a decrease, and nobody looks for room.
		changed = changed || x.Version > 0
		held = held.Add(measure.Least(x.Resource, c.born[x.ID].size))
		if x.ID != e.Container {
			continue
		}
		if guaranteed = true; !least.FitsIn(x.Resource) || !x.Resource.FitsIn(largest) || x.Resource.MemoryMB()%least.MemoryMB() != 0 {
			c.fail("%s: container %s of %v was granted, which is not from %v to %v in steps", t, e.Container, x.Resource, least, largest)
		}
	}
	if guaranteed && !changed && (held.MemoryMB() > n.Total.MemoryMB() || c.opt.Dominant && !held.FitsIn(n.Total)) {
		c.fail("%s: container %s was granted on %s, which has %v, and holds %v", t, e.Container, e.Node, n.Total, held)
	}
}

// least and largest are the sizes of what may be granted.
var (
	least   = yarn.NewResource(512, 1)
	largest = nodeSize
)

// silent sees that a node that has not called for too long counts as lost.
func (t *term) silent() {
	for id, at := range t.heard { //tidy:unordered one message of several
		switch t.nodes[id] {
		case yarn.NodeRunning.String(), yarn.NodeUnhealthy.String(), yarn.NodeDecommissioning.String():
			if since := t.c.now.Mono - at; since >= nodeExpiry-2*step {
				t.c.Done["node about to be lost"]++
			}
			if since := t.c.now.Mono - at; since >= nodeExpiry && !t.over {
				t.c.fail("%s: node %s has not called for %d ms, and is %s", t, id, since, t.nodes[id])
			}
		}
	}
}

// late sees that a draining node leaves when its deadline has passed, by the clock of who leads.
func (t *term) late(id yarn.NodeID, n *view.Node) {
	if n.State != yarn.NodeDecommissioning || n.Drain == nil || n.Drain.Deadline == 0 || t.now().Wall < n.Drain.Deadline {
		delete(t.overdue, id)
		return
	}
	since, known := t.overdue[id]
	if !known {
		t.overdue[id], since = t.c.now.Mono, t.c.now.Mono
	}
	t.c.Done["deadline of a draining node passed"]++
	if t.c.now.Mono-since > mostLate {
		t.c.fail("%s: node %s still drains %d ms after its deadline", t, id, t.now().Wall-n.Drain.Deadline)
	}
}

// mostLate is how late a ResourceManager may notice that a deadline has passed, in milliseconds; machines pause.
const mostLate = 15_000

// ordered enters that an order to drain is in force, unless somebody has begun to take one back meanwhile.
func (t *term) ordered(cmd engine.DrainNodes, seq uint64) {
	for _, name := range cmd.Nodes {
		if seq > t.undrained {
			t.c.draining[name] = true
		}
	}
}

// takenBack enters that orders to drain are being taken back.
func (t *term) takenBack(cmd engine.UndrainNodes, seq uint64) {
	t.undrained = seq
	for _, name := range cmd.Nodes {
		for id := range t.c.draining { //tidy:unordered each on its own
			if id == name || name.Port == 0 && id.Host == name.Host {
				delete(t.c.draining, id)
			}
		}
	}
}

// forgets sees that a node is not told to forget a container of whose end a master that runs has yet to hear. Who leads has to know of the container:
// what a node reports that is unhealthy when it registers is lost.
func (n *node) forgets(p *process) {
	m, t := n.c.masters[p.id.Attempt], n.c.owner
	if m == nil || m.dead || m.leaving || !m.registered || t.attempts[m.id] != yarn.AttemptRunning.String() || !t.came[p.id] {
		return
	}
	n.c.Done["told to forget a container of a live master"]++
	if _, open := m.open[p.id]; open {
		n.c.Done["told to forget a container of a live master, which it holds"]++
	}
	if _, open := m.open[p.id]; open && !m.told[p.id] {
		n.c.fail("node %s is told to forget %s, of whose end its master has not heard", n.id, p.id)
	}
}
