package engine

import (
	"fmt"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// TestNobodyReads: if nobody reads, what was forgotten does not stay in the lists of
// changes.
func TestNobodyReads(t *testing.T) {
	r := newRig(t, settings())
	join := func(i int) yarn.NodeID {
		id := yarn.NodeID{Host: fmt.Sprintf("h%d", i%7), Port: int32(i)}
		r.apply(RegisterNode{Node: id, Rack: "/r", Total: yarn.NewResource(4096, 4), Health: Health{Healthy: true}})
		return id
	}
	for i := range 3 * fewDirty {
		id := join(i)
		r.apply(UnregisterNode{Node: id})
		r.e.forgetInactive(id)
	}
	if dirty, gone := len(r.e.dirtyNodes), len(r.e.goneNodes); dirty > fewDirty+2 || gone > 0 {
		t.Errorf("%d changes and %d farewells wait for readers, of %d nodes", dirty, gone, len(r.e.nodes))
	}
	seen := join(9)
	r.e.Publish(r.now, &r.reader)
	r.apply(UnregisterNode{Node: seen})
	r.e.forgetInactive(seen)
	r.e.PublishParts(r.now, &r.reader, view.Applications)
	if r.reader.nodes[seen] == nil {
		t.Error("a node was withdrawn from a reader of applications")
	}
	r.e.PublishParts(r.now, &r.reader, view.Nodes)
	if len(r.reader.nodes) != len(r.e.nodes) || r.reader.nodes[seen] != nil {
		t.Errorf("readers see %d nodes of %d", len(r.reader.nodes), len(r.e.nodes))
	}
}

// TestInfoOfQueues: what is known of a queue serves for a while, unless what queues
// are entitled to has changed.
func TestInfoOfQueues(t *testing.T) {
	r := newRig(t, settings())
	const path = "root.default"
	first, _ := r.e.queueInfo(path)
	if again, _ := r.e.queueInfo(path); again != first {
		t.Error("it was looked up twice within the same moment")
	}
	r.apply(RegisterNode{Node: yarn.NodeID{Host: "a", Port: 1}, Rack: "/r", Total: yarn.NewResource(4096, 4), Health: Health{Healthy: true}})
	second, ok := r.e.queueInfo(path)
	if second == first || !ok || second.Default.EffectiveMin.MemoryMB() != 2048 {
		t.Errorf("it is older than the node: %+v", second)
	}
	r.e.now.Mono += infoAge
	if third, _ := r.e.queueInfo(path); third == second {
		t.Error("it serves for ever")
	}
}

// TestContainersApart: who reads applications sees what their containers use, and no views of those are made. Who reads containers sees them all.
func TestContainersApart(t *testing.T) {
	c, at := newCrowd(t)
	list := c.run(at)
	a := c.e.apps[at.Application]
	c.now.Wall += 2500
	c.e.PublishParts(c.now, &c.reader, view.Applications)
	u := c.reader.apps[at.Application].Usage
	if u.LiveAmount != yarn.NewResource(256*crowdContainers, crowdContainers) || u.LiveSeconds != yarn.NewResource(640*crowdContainers, 2*crowdContainers) || u.LiveAt != c.now.Wall {
		t.Errorf("%d containers use %+v", crowdContainers, u)
	}
	for _, x := range c.e.containers {
		if x != nil && x.seen != nil {
			t.Fatalf("a view of %s was made, which nobody reads", x.id)
		}
	}
	if len(c.reader.live) > 0 {
		t.Error("containers were published")
	}
	read := func() []*view.Container {
		c.e.PublishParts(c.now, &c.reader, view.Containers)
		return c.reader.live[at.Application].Of(at)
	}
	seen := read()
	if len(seen) != crowdContainers || c.reader.live[at.Application].Of(yarn.AttemptID{Application: at.Application, Attempt: 2}) != nil {
		t.Fatalf("%d containers are seen", len(seen))
	}
	c.poll(at, func(m *Allocate) { m.Release = []yarn.ContainerID{list[7].ID} })
	c.rest()
	next := read()
	if len(next) != crowdContainers-1 || next[6] != seen[6] || next[7] != seen[8] || len(seen) != crowdContainers {
		t.Errorf("after one has ended %d are seen", len(next))
	}
	c.does(FinishMaster{Ticket: c.next(), Attempt: at, FinalStatus: yarn.FinalSucceeded})
	c.rest()
	c.e.PublishParts(c.now, &c.reader, view.Applications)
	if left := c.reader.live[at.Application]; left == nil || len(left.List) > 0 {
		t.Error("containers that have ended are kept until somebody reads containers")
	}
	if left := read(); len(left) > 0 || c.reader.live[at.Application] == nil {
		t.Errorf("after the end %d are seen", len(left))
	}
	c.e.discard(a)
	c.e.touchContainers(a)
	c.e.Publish(c.now, &c.reader)
	if c.reader.apps[at.Application] != nil || c.reader.live[at.Application] != nil {
		t.Error("a forgotten application is seen")
	}
}
