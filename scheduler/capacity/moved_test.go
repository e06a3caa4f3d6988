package capacity

import (
	"math"
	"testing"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/yarn"
)

// held is a cluster of three nodes of 4 GB with 1 GB free on each. b, which comes first, has the first one and holds it for 2 GB more; a has the others.
type held struct {
	*small
	nodes [3]NodeRef
	b     AppRef
	ref   ContainerRef // the reservation
}

func newHeld(t *testing.T, relax bool, label string) *held {
	t.Helper()
	x := &held{small: newSmall(t, map[string]string{"root.ordering-policy": "priority-utilization", "root.a.priority": "1", "root.b.priority": "10",
		"per-node-heartbeat.maximum-offswitch-assignments": "3", "ordering-policy.priority-utilization.underutilized-preemption.enabled": "true",
		"ordering-policy.priority-utilization.underutilized-preemption.allow-move-reservation": "true"})}
	if !x.Scheduler.cfg.Preemption.MoveReserved {
		t.Fatal("the setting is not read")
	}
	x.b = x.submit(2, "b")
	one := yarn.NewResource(1024, 1)
	for i, host := range []string{"h1", "h2", "h3"} {
		in := ""
		if i == 1 {
			in = label
		}
		x.nodes[i] = x.node(host, 1, 4096, 8, in)
		app := x.app
		if i == 0 {
			app = x.b
		}
		ask := yarn.Ask{Priority: 1, Where: yarn.AnyHost, Capability: one, Count: 3, RelaxLocality: true, Label: in, LabelSet: in != ""}
		x.Ask(app, []yarn.Ask{ask})
		if got := x.offer(x.nodes[i]); len(got) != 3 {
			t.Fatalf("%s has %+v", host, got)
		}
	}
	two := yarn.NewResource(2048, 1)
	asks := []yarn.Ask{{Priority: 2, Where: yarn.AnyHost, Capability: two, Count: 1, RelaxLocality: relax}}
	if !relax {
		asks = append(asks, yarn.Ask{Priority: 2, Where: "h1", Capability: two, Count: 1, RelaxLocality: true},
			yarn.Ask{Priority: 2, Where: cluster.DefaultRack, Capability: two, Count: 1})
	}
	x.Ask(x.b, asks)
	if got := x.offer(x.nodes[0]); len(got) != 1 || got[0].Kind != cluster.Reserved {
		t.Fatalf("h1 is not held: %+v", got)
	}
	x.ref = x.Books.Node(x.nodes[0]).Reserved
	x.Scheduler.cfg.Preemption = config.Preemption{ByQueuePriority: true, MoveReserved: true, PerRound: 1, Wait: 1000}
	return x
}

func (x *held) round() *core.Preemption {
	x.T.Helper()
	_, over := x.Monitor(yarn.Now{Wall: x.Now.Wall + 10, Mono: x.Now.Mono + 10}, math.MaxInt)
	if over == nil {
		x.Fatal("the round is not over")
	}
	return over
}

func TestMovedReservation(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(x *held)
		strict bool
		label  string // of h2
		to     string // "": the reservation stays
	}{
		{what: "the first node", to: "h2"},
		{what: "a node that takes nothing", change: func(x *held) { x.SetNodeAccepting(x.nodes[1], false) }, to: "h3"},
		{what: "a node that b avoids", change: func(x *held) { x.Blacklist(x.b, []string{"h2"}, nil) }, to: "h3"},
		{what: "a node of another partition", label: "x", to: "h3"},
		{what: "nowhere else will do", strict: true},
		// 10 % of 12288 MB are 1228, what lacks on h2 and h3 are 1024; 5 % are 614.
		{what: "enough may be taken", change: func(x *held) { x.Scheduler.cfg.Preemption.PerRound = 0.1 }, to: "h2"},
		{what: "not enough may be taken", change: func(x *held) { x.Scheduler.cfg.Preemption.PerRound = 0.05 }},
		{what: "too early", change: func(x *held) { x.Scheduler.cfg.Preemption.ReservedDelay = 1000 }},
		{what: "not allowed", change: func(x *held) { x.Scheduler.cfg.Preemption.MoveReserved = false }},
		{what: "only observed", change: func(x *held) { x.Scheduler.cfg.Preemption.ObserveOnly = true }},
		// b has 3072 MB without what is reserved.
		{what: "b has its guarantee", change: func(x *held) { x.tree.ByPath("root.b").Shares[0].EffMin = yarn.NewResource(3072, 1) }},
	} {
		t.Run(c.what, func(t *testing.T) {
			x := newHeld(t, !c.strict, c.label)
			if c.change != nil {
				c.change(x)
			}
			var to string
			for _, m := range x.round().Moved {
				if m.Ref != x.ref || to != "" || m.Rule != "queue-priority" || m.ForQueue != "root.b" || m.ForApp != x.Core.App(x.b).ID {
					t.Errorf("moves %+v", m)
				}
				to = m.Node.Host
			}
			if to != c.to {
				t.Errorf("moves to %q, not to %q", to, c.to)
			}
			if x.Books.Node(x.nodes[0]).Reserved != x.ref {
				t.Error("a round that only decides has moved it")
			}
			x.sound()
		})
	}
}

// TestMovedBooks: a reservation that moves keeps its age and its usage, room is made on its new node in the next round, and it may move once more.
func TestMovedBooks(t *testing.T) {
	x := newHeld(t, true, "")
	shares, ledger, created := x.Core.App(x.b).Shares[0], x.tree.ByPath("root.b").Ledger[0], x.Container(x.ref).CreatedWall
	if got := x.round(); len(got.Moved) != 1 || !x.MoveReservation(&got.Moved[0]) {
		t.Fatalf("decided %+v", got)
	}
	if a, b := x.Books.Node(x.nodes[0]).Reserved, x.Books.Node(x.nodes[1]).Reserved; a != cluster.NoContainer || b != x.ref || x.Container(x.ref).Node != x.nodes[1] {
		t.Fatalf("h1 is held for %d, h2 for %d, not for %d", a, b, x.ref)
	}
	if s, l := x.Core.App(x.b).Shares[0], x.tree.ByPath("root.b").Ledger[0]; s != shares || l != ledger || x.Container(x.ref).CreatedWall != created {
		t.Errorf("the books had %+v %+v, and have %+v %+v", shares, ledger, s, l)
	}
	x.sound()
	got := x.round()
	if len(got.Noticed) != 1 || len(got.Moved) != 0 || x.Container(got.Noticed[0].Ref).Node != x.nodes[1] || got.Noticed[0].Rule != "queue-priority" {
		t.Fatalf("then %+v", got)
	}
	x.node("h4", 1, 4096, 8, "") // nothing has to go there
	x.Scheduler.cfg.Preemption.PerRound = 0.01
	if got = x.round(); len(got.Moved) != 1 || got.Moved[0].Node.Host != "h4" || !x.MoveReservation(&got.Moved[0]) {
		t.Fatalf("then %+v", got)
	}
	x.sound()
	if out := x.offer(got.Moved[0].To); len(out) != 1 || out[0].Kind != cluster.AllocatedFromReserved || out[0].Container != x.ref {
		t.Errorf("h4 gives %+v", out)
	}
	x.sound()
}

// TestMoveTooLate: what has changed since the round is left alone.
func TestMoveTooLate(t *testing.T) {
	for what, change := range map[string]func(x *held){
		"the reservation is gone":          func(x *held) { x.Unreserve(x.nodes[0]) },
		"the node is gone":                 func(x *held) { x.RemoveNode(x.nodes[1]) },
		"another node has its number":      func(x *held) { x.RemoveNode(x.nodes[1]); x.node("h5", 1, 4096, 8, "") },
		"the node takes nothing":           func(x *held) { x.SetNodeAccepting(x.nodes[1], false) },
		"the node has come to a partition": func(x *held) { x.SetNodeLabel(x.nodes[1], "x") },
		"the node is held": func(x *held) {
			x.node("h5", 1, 4096, 8, "") // for a's share
			x.Ask(x.app, []yarn.Ask{{Priority: 3, Where: yarn.AnyHost, Capability: yarn.NewResource(2048, 1), Count: 1, RelaxLocality: true}})
			if out := x.offer(x.nodes[1]); len(out) != 1 || out[0].Kind != cluster.Reserved {
				x.Fatalf("h2 gives %+v", out)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			x := newHeld(t, true, "")
			m := x.round().Moved[0]
			change(x)
			if x.MoveReservation(&m) {
				t.Error("it has moved")
			}
			x.sound()
		})
	}
}
