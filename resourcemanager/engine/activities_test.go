package engine

import "testing"

// TestIdleActivities: where nothing is asked for, the root stands for all queues; else those that want nothing are named.
func TestIdleActivities(t *testing.T) {
	r := newRig(t, settings())
	r.join("h1", 4096)
	root := r.e.NodeActivities(nodeID("h1"))[0].Root
	if root.Why.Short != queueWantsNothing || len(root.Below) > 0 {
		t.Errorf("%+v", root)
	}
	r.submitFor(1, "ann", "default", 4096)
	root = r.e.NodeActivities(nodeID("h1"))[0].Root
	if root.Why.Short == queueWantsNothing || len(root.Below) == 0 {
		t.Errorf("%+v", root)
	}
}
