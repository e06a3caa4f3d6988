package resourcemanager

import (
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/yarn"
)

// TestBecomes: what a refresh of the lists would make of nodes, as engine.admit does it.
func TestBecomes(t *testing.T) {
	byList, ordered := &view.Drain{Source: "file"}, &view.Drain{Source: "cli"}
	for _, c := range []struct {
		name                         string
		node                         view.Node
		excluded, untracked, drained bool // drained: it asks for a graceful refresh
		want                         yarn.NodeState
	}{
		{"admitted", view.Node{State: yarn.NodeRunning}, false, false, false, yarn.NodeRunning},
		{"excluded", view.Node{State: yarn.NodeRunning}, true, false, false, yarn.NodeDecommissioned},
		{"excluded gracefully", view.Node{State: yarn.NodeRunning}, true, false, true, yarn.NodeDecommissioning},
		{"in no list", view.Node{State: yarn.NodeRunning}, true, true, false, yarn.NodeShutdown},
		{"unhealthy", view.Node{State: yarn.NodeUnhealthy}, true, false, false, yarn.NodeDecommissioned},
		{"lost", view.Node{State: yarn.NodeLost}, true, false, false, yarn.NodeLost},
		{"taken back", view.Node{State: yarn.NodeDecommissioning, Drain: byList}, false, false, false, yarn.NodeRunning},
		{"drains, and no longer waited for", view.Node{State: yarn.NodeDecommissioning, Drain: byList}, true, false, false, yarn.NodeDecommissioned},
		{"drains by an order", view.Node{State: yarn.NodeDecommissioning, Drain: ordered}, false, false, false, yarn.NodeDecommissioning},
		{"drains by an order and is excluded", view.Node{State: yarn.NodeDecommissioning, Drain: ordered}, true, false, true, yarn.NodeDecommissioning},
		{"gone, admitted again", view.Node{State: yarn.NodeDecommissioned}, false, false, false, yarn.NodeRunning},
		{"gone by an order", view.Node{State: yarn.NodeDecommissioned, Drain: ordered}, false, false, false, yarn.NodeDecommissioned},
	} {
		if got := becomes(&c.node, engine.Exclusion{Untracked: c.untracked}, c.excluded, c.drained); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestGoverns(t *testing.T) {
	for rest, want := range map[string]bool{"root.a.b.capacity": true, "root.a.capacity": true, "root.queues": true, "root.a.b.c.capacity": false, "root.x.capacity": false, "root.a.bb.capacity": false,
		"root.a.b.intra-queue-preemption.disable_preemption": true, "root.a.accessible-node-labels.gpu.capacity": true} {
		if got := governs(rest, "root.a.b"); got != want {
			t.Errorf("%s: %v", rest, got)
		}
	}
}

// TestPast: a day of minutes is kept, the oldest first.
func TestPast(t *testing.T) {
	var p past
	for i := range int64(mostSamples + 3) {
		p.add(access.Sample{At: i})
	}
	all := p.all()
	if len(all) != mostSamples || all[0].At != 3 || all[len(all)-1].At != mostSamples+2 {
		t.Errorf("%d from %d to %d", len(all), all[0].At, all[len(all)-1].At)
	}
}
