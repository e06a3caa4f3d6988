package webtest

import (
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// Drains is New, with its first node draining for application 6, and one that has gone.
func Drains() *Source {
	s := New()
	n := *s.Picture.Nodes[0]
	n.State = yarn.NodeDecommissioning
	n.Drain = &view.Drain{RequestedAt: Moment - 60_000, RequestedBy: "carol", Reason: "bad <disk>", Source: "cli", Deadline: Moment + 90_500,
		Containers: 3, WaitsFor: []yarn.ApplicationID{App(6)}, Applications: 1}
	n.Applications = []yarn.ApplicationID{App(6)}
	for _, x := range s.Live[App(6)].List {
		if x.Node == n.ID {
			n.RunningOn = append(n.RunningOn, x)
		}
	}
	gone := &view.Node{ID: yarn.NodeID{Host: "old", Port: 1}, State: yarn.NodeDecommissioned, CutShort: true, LostReason: "Its decommissioning has come to its deadline",
		Drain: &view.Drain{RequestedAt: Moment - 70_000, RequestedBy: "carol", Source: "api"}}
	s.Picture.Nodes = []*view.Node{&n, s.Picture.Nodes[1], gone}
	s.Picture.Metrics.NodesByState[yarn.NodeRunning] = 1
	s.Picture.Metrics.NodesByState[yarn.NodeDecommissioning], s.Picture.Metrics.NodesByState[yarn.NodeDecommissioned] = 1, 1
	return s
}
