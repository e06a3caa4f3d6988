package engine

import (
	"fmt"
	"testing"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// largePlan is an engine with a plan of 80 TiB that has that many reservations of a container each, which are due from the second minute on.
func largePlan(b *testing.B, n int) *rig {
	set := settings()
	set.Reservations = reserving()
	r := newRig(b, set, config.Property{Name: "root.queues", Value: "default,other,plan"}, config.Property{Name: "root.default.capacity", Value: "10"},
		config.Property{Name: "root.other.capacity", Value: "10"}, config.Property{Name: "root.plan.capacity", Value: "80"}, config.Property{Name: "root.plan.reservable", Value: "true"})
	r.do(RegisterNode{Ticket: r.next(), Node: nodeID("h1"), Rack: "/r", Total: yarn.NewResource(100<<20, 100_000), Version: "3.5.0", Health: Health{Healthy: true}})
	for i := range n {
		r.do(r.reserve(i, 60_000+int64(i%7)*1000, 3600_000))
	}
	return r
}

// reserve asks for a container between two times from now, in milliseconds.
func (r *rig) reserve(i int, from, until int64) SubmitReservation {
	return SubmitReservation{Ticket: r.next(), Caller: Caller{User: fmt.Sprint("u", i%20)}, ID: yarn.ReservationID{ClusterTimestamp: clusterTimestamp, Number: int64(i + 1)}, Queue: "root.plan",
		Definition: &yarn.ReservationDefinition{Arrival: r.now.Wall + from, Deadline: r.now.Wall + until, Recurrence: "0", Interpreter: yarn.AllStages,
			Stages: []yarn.ReservationStage{{Capability: yarn.NewResource(4096, 1), Containers: int32(1 + i%5), Concurrency: 1, Duration: 1800_000}}}}
}

// BenchmarkSubmitReservation adds one to a plan with 1,000 and takes it away again.
func BenchmarkSubmitReservation(b *testing.B) {
	r := largePlan(b, 1000)
	for b.Loop() {
		r.do(r.reserve(1000, 90_000, 3600_000))
		if x := r.fx.Replies[0]; x.Err != nil {
			b.Fatal(x.Err)
		}
		r.do(DeleteReservation{Ticket: r.next(), Caller: Caller{User: "u0"}, ID: yarn.ReservationID{ClusterTimestamp: clusterTimestamp, Number: 1001}})
	}
}

// BenchmarkFollowPlans is a step at which 1,000 reservations become due, and one at which all are over.
func BenchmarkFollowPlans(b *testing.B) {
	r := largePlan(b, 1000)
	begun := r.now
	for _, at := range []struct {
		name string
		wall int64
	}{{"all begin", 120_000}, {"nothing changes", 121_000}, {"all end", 3700_000}} {
		b.Run(at.name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				r.now = begun
				if at.wall != 120_000 {
					r.now.Wall = begun.Wall + 120_000
				}
				r.do(FollowPlans{})
				r.now.Wall = begun.Wall + at.wall
				b.StartTimer()
				r.do(FollowPlans{})
			}
		})
	}
}
