package schedtest

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// TestQueuesThatGoLeaveNothing makes 10,000 queues by submissions, some deep, and removes them again, several times: each time the tree and the
// memory in use are as before.
func TestQueuesThatGoLeaveNothing(t *testing.T) {
	const queues = 10_000
	cl := config.Cluster{Policy: config.FairPolicy, MaxAllocation: yarn.NewResource(8192, 8),
		Allocations: &config.AllocationFile{Name: "fair-scheduler.xml", Text: `<allocations><queue name="team" type="parent"/></allocations>`}}
	cfg, _, err := config.Parse(nil, cl)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scheduler.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	n := s.AddNode(scheduler.Node{ID: yarn.NodeID{Host: "h1", Port: 1}, Total: yarn.NewResource(1<<20, 1024)})
	size, sequence, clock := yarn.NewResource(1024, 1), int32(0), int64(0)
	now := func() yarn.Now { clock += 1000; return yarn.Now{Wall: clock, Mono: clock} }
	round := func() {
		var apps []scheduler.AppRef
		for i := range queues {
			path := fmt.Sprintf("root.team.u%d", sequence)
			if i%10 == 0 {
				path += ".jobs.daily"
			}
			sequence++
			id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: sequence}
			a, why := s.AddApplication(scheduler.Application{ID: id, User: fmt.Sprintf("u%d", sequence), AM: size, Placed: true}, path)
			if !why.OK() {
				t.Fatal(why)
			}
			s.AddAttempt(a, scheduler.Attempt{ID: yarn.AttemptID{Application: id, Attempt: 1}, AM: size, StartWall: clock})
			s.Ask(a, []yarn.Ask{{Where: yarn.AnyHost, Capability: size, Count: 1, RelaxLocality: true}})
			apps = append(apps, a)
		}
		s.Recompute(now())
		for range 20 {
			s.Offer(n, now(), nil)
		}
		if have := len(s.Queues().Queues); have != queues*12/10+2 {
			t.Fatalf("there are %d queues", have)
		}
		for _, a := range apps {
			for _, e := range s.EndAttempt(a, false) {
				if !e.Vacated {
					s.Vacate(e.Ref)
				}
			}
			s.RemoveApplication(a)
		}
		s.RunDynamicQueues(true, now())
		if have := s.Queues().Queues; len(have) != 2 {
			t.Fatalf("%d queues are left", len(have)-2)
		}
		s.Recompute(now())
		if bad := s.Check(); bad != "" {
			t.Fatal(bad)
		}
	}
	inUse := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	round() // slots are kept for those to come
	before := inUse()
	round()
	round()
	if after := inUse(); after > before+before/10+1<<20 {
		t.Errorf("after two more times %d bytes are in use, %d before", after, before)
	}
	t.Logf("%d bytes for %d queues that are gone", before, queues)
}
