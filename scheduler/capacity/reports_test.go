package capacity

import (
	"testing"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/yarn"
)

// Sweeps end when nothing can be done until something changes. What follows are changes
// after which something can be done again, each without any other.

// sweepAll is how many decisions the sweeps make until they are at their end.
func (x *small) sweepAll(t *testing.T) (placed int) {
	t.Helper()
	for more := true; more; {
		var out []cluster.Decision
		out, more = x.Sweep(10, 10, x.Now, nil)
		placed += len(out)
	}
	return placed
}

func TestASweepTriesAgainWhereAHostIsNoLongerAvoided(t *testing.T) {
	x := newSmall(t, nil)
	x.node("h1", 1, 8192, 8, "")
	x.Blacklist(x.app, []string{"h1"}, nil)
	x.ask(1, yarn.NewResource(1024, 1))
	if n := x.sweepAll(t); n != 0 {
		t.Fatalf("%d decisions on a host that is avoided", n)
	}
	x.Blacklist(x.app, nil, []string{"h1"})
	if n := x.sweepAll(t); n != 1 {
		t.Errorf("%d decisions once the host is not avoided", n)
	}
}

func TestASweepTriesAgainWhereAHostIsNoLongerAvoidedByMasters(t *testing.T) {
	x := newSmall(t, nil)
	x.node("h1", 1, 8192, 8, "")
	id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 2}
	app, why := x.AddApplication(demand.Application{ID: id, User: "ann"}, "a")
	if !why.OK() {
		t.Fatal(why)
	}
	x.AddAttempt(app, demand.Attempt{ID: yarn.AttemptID{Application: id, Attempt: 1}, AM: yarn.NewResource(1024, 1)})
	x.BlacklistAM(app, []string{"h1"})
	x.Ask(app, []yarn.Ask{{Where: yarn.AnyHost, Capability: yarn.NewResource(1024, 1), Count: 1, RelaxLocality: true}})
	if n := x.sweepAll(t); n != 0 {
		t.Fatalf("%d decisions on a host that masters avoid", n)
	}
	x.BlacklistAM(app, nil)
	if n := x.sweepAll(t); n != 1 {
		t.Errorf("%d decisions once the host is not avoided", n)
	}
}

func TestASweepTriesAgainWhereAPartitionLendsItsRoom(t *testing.T) {
	x := newSmall(t, nil)
	x.SetLabels([]config.Label{{Name: "x", Exclusive: true}})
	x.node("h1", 1, 8192, 8, "x")
	x.ask(1, yarn.NewResource(1024, 1))
	if n := x.sweepAll(t); n != 0 {
		t.Fatalf("%d decisions in a partition that lends nothing", n)
	}
	x.SetLabels([]config.Label{{Name: "x"}})
	if n := x.sweepAll(t); n != 1 {
		t.Errorf("%d decisions in a partition that lends its room", n)
	}
}

func TestSweepsDoNotVisitANodeThatIsFullOfRecoveredContainers(t *testing.T) {
	x := newSmall(t, nil)
	n := x.node("h1", 1, 8192, 8, "")
	x.sweepAll(t)
	x.RecoverContainer(core.Recovered{ID: yarn.ContainerID{Attempt: x.Apps[x.app].AttemptID(), Number: 1}, App: x.app, Node: n, Resource: yarn.NewResource(8192, 8)})
	x.sound()
}
