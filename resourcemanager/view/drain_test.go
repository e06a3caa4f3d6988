package view

import (
	"fmt"
	"testing"

	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

func appID(n int32) yarn.ApplicationID {
	return yarn.ApplicationID{ClusterTimestamp: 1, Sequence: n}
}

func TestPhase(t *testing.T) {
	draining, gone, running := yarn.NodeDecommissioning, yarn.NodeDecommissioned, yarn.NodeRunning
	for _, c := range []struct {
		state yarn.NodeState
		drain *Drain
		want  Phase
	}{
		{running, nil, DrainNone},
		{gone, nil, DrainDecommissioned},
		{gone, &Drain{Containers: 1}, DrainDecommissioned},
		{yarn.NodeLost, &Drain{}, DrainNone},
		{draining, &Drain{Containers: 1, Applications: 1}, DrainWaitContainer},
		{draining, &Drain{Containers: 1, Deadline: 1001}, DrainWaitContainer},
		{draining, &Drain{Containers: 1, Deadline: 1000}, DrainTimeout},
		{draining, &Drain{Applications: 1, Deadline: 1001}, DrainWaitApp},
		{draining, &Drain{Applications: 1, Deadline: 1000}, DrainTimeout},
		{draining, &Drain{Applications: 1}, DrainWaitApp},
		{draining, &Drain{Deadline: 1}, DrainReady},
		{draining, &Drain{}, DrainReady},
	} {
		if got := (&Node{State: c.state, Drain: c.drain}).Phase(1000); got != c.want {
			t.Errorf("%s %+v: %s, want %s", c.state, c.drain, got, c.want)
		}
	}
}

// small is a cluster of five nodes: idle, two of an application half done, one of an application that tells nothing, and one in a partition.
func small() *Cluster {
	c := &Cluster{Applications: []*Application{
		{ID: appID(1), Progress: 0.5, StartTime: 1_000, LaunchTime: 40_000},
		{ID: appID(2), StartTime: 1_000},
	}}
	for i, app := range []int32{2, 1, 0, 1, 0} {
		n := &Node{ID: yarn.NodeID{Host: fmt.Sprint("n", i), Port: 1}, State: yarn.NodeRunning, Total: yarn.NewResource(4096, 4)}
		if app > 0 {
			n.Applications = []yarn.ApplicationID{appID(app)}
			n.RunningOn = []*Container{{ID: yarn.ContainerID{Attempt: yarn.AttemptID{Application: appID(app), Attempt: 1}, Number: int64(i)},
				Resource: yarn.NewResource(1024, 1), CreatedAt: 100_000 - int64(i)*1000}}
		}
		c.Nodes = append(c.Nodes, n)
	}
	c.Nodes[4].Labels, c.Nodes[4].Total = []string{"gpu"}, yarn.NewResource(16384, 16)
	return c
}

func TestLeaves(t *testing.T) {
	c := small()
	half, silent := c.Nodes[1], c.Nodes[0]
	c.Applications = append(c.Applications, &Application{ID: appID(3), Progress: 1e-38, StartTime: 1_000})
	crawling := &Node{Applications: []yarn.ApplicationID{appID(3)}}
	for _, x := range []struct {
		node  *Node
		drain *Drain
		want  int64
	}{
		{half, nil, 60}, // it took 60 s for one half
		{half, &Drain{WaitsFor: []yarn.ApplicationID{appID(1)}, Deadline: 110_900}, 10},
		{half, &Drain{WaitsFor: []yarn.ApplicationID{appID(1), appID(2)}}, Unknown},
		{half, &Drain{WaitsFor: []yarn.ApplicationID{appID(1), appID(9)}, Deadline: 1}, 0},
		{silent, nil, Unknown},
		{crawling, nil, Unknown},
		{c.Nodes[2], nil, 0},
	} {
		x.node.Drain = x.drain
		if got := x.node.LeavesIn(c.Holders(x.node), 100_000); got != x.want {
			t.Errorf("%s %+v: %d, want %d", x.node.ID, x.drain, got, x.want)
		}
	}
}

func TestSoonestFree(t *testing.T) {
	c := small()
	c.Nodes = append(c.Nodes, &Node{ID: yarn.NodeID{Host: "a", Port: 1}, State: yarn.NodeDecommissioning})
	var got string
	for _, n := range c.SoonestFree(9, 100_000) {
		got += " " + n.ID.Host
	}
	if got != " n2 n4 n1 n3 n0" { // n1 is younger than n3
		t.Errorf("in the order%s", got)
	}
	if n := len(c.SoonestFree(2, 100_000)); n != 2 {
		t.Errorf("%d nodes, want 2", n)
	}
}

func TestShortages(t *testing.T) {
	c := small()
	quarter := queue.Share{EffectiveMin: yarn.NewResource(8192, 8), Used: yarn.NewResource(4096, 4), Pending: yarn.NewResource(1024, 1)}
	c.Queues = queue.NewSnapshot([]queue.Info{{Path: "root", Default: quarter}, {Path: "root.a", Leaf: true, Default: quarter},
		{Path: "root.b", Leaf: true, Default: queue.Share{EffectiveMin: yarn.NewResource(8192, 8), Used: yarn.NewResource(4096, 4)}}})
	c.Applications[0].Asks = &Asks{Wanted: []Wanted{{Size: yarn.NewResource(8192, 1), Count: 1}, {Size: yarn.NewResource(4096, 4), Count: 1}}}
	c.Applications[1].Asks = &Asks{Wanted: []Wanted{{Size: yarn.NewResource(16384, 1), Count: 1, Label: "gpu"}, {Size: yarn.NewResource(1, 1), Label: "gpu"}}}
	for _, x := range []struct {
		leaving []*Node
		want    string
	}{
		{nil, ""},
		{c.Nodes[:1], ""}, // 6,144 are left of 8,192, and 5,120 are wanted
		{c.Nodes[:2], "[root.a: <4096 4> of <8192 8>, <5120 5> wanted]"},
		{c.Nodes[:4], "[root.a: <0 0> of <8192 8>, <5120 5> wanted][root.b: <0 0> of <8192 8>, <4096 4> wanted][application_1_0001: <4096 4>]"},
		{c.Nodes[4:], "[application_1_0002 in gpu: <16384 1>]"},
	} {
		got := ""
		for _, s := range c.Shortages(x.leaving) {
			show := func(r yarn.Resource) string { return fmt.Sprintf("<%d %d>", r.MemoryMB(), r.VCoreCount()) }
			if s.Queue != "" {
				got += fmt.Sprintf("[%s: %s of %s, %s wanted]", s.Queue, show(s.Then), show(s.Guarantee), show(s.Wanted))
				continue
			}
			in := ""
			if s.Label != "" {
				in = " in " + s.Label
			}
			got += fmt.Sprintf("[%s%s: %s]", s.App.ID, in, show(s.Ask))
		}
		if got != x.want {
			t.Errorf("without %d nodes:\n got %s\nwant %s", len(x.leaving), got, x.want)
		}
	}
}
