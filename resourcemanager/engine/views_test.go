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
