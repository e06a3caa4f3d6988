package storetest

import (
	"fmt"
	"math/rand/v2"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// Started is the cluster timestamp of the records made here.
const Started = 1700000000000

// Types are the resource types of the records made here.
func Types() yarn.ResourceTypes {
	return append(yarn.BasicResourceTypes(), yarn.ResourceType{Name: "yarn.io/gpu"})
}

// AppID is the n-th application.
func AppID(n int) yarn.ApplicationID {
	return yarn.ApplicationID{ClusterTimestamp: Started, Sequence: int32(n)}
}

// Application is the n-th application, with a submission context of size bytes.
func Application(n, size int) state.Application {
	return state.Application{ID: AppID(n), Context: bytesOf(n, size), User: "alice", RealUser: "oozie", Queue: "root.dev.batch", PlanQueue: "root.dev.batch.batch-default",
		CallerContext: "spark", CallerSignature: []byte{1, 2}, Priority: -3, SubmitTime: Started + 1, StartTime: Started + 2,
		Timeouts: []state.Timeout{{Type: 1, ExpireAt: Started + 60000}, {Type: 2, ExpireAt: 7}}}
}

// Ended is the application after its end.
func Ended(n, size int) state.Application {
	a := Application(n, size)
	a.LaunchTime, a.FinishTime = Started+3, Started+4
	a.Final, a.FinalStatus, a.Diagnostics = yarn.AppFailed, yarn.FinalFailed, "the master said no"
	return a
}

// Attempt is the k-th attempt of the n-th application.
func Attempt(n, k int) state.Attempt {
	id := yarn.AttemptID{Application: AppID(n), Attempt: int32(k)}
	return state.Attempt{ID: id, MasterContainer: yarn.ContainerID{Attempt: id, Number: 3<<yarn.EpochShift | 1},
		MasterNode: yarn.NodeID{Host: "node7", Port: 8041}, MasterHTTP: "node7:8042",
		MasterResource: yarn.Resource{2048, 1, 1}, MasterPriority: 1, Host: "node7", RPCPort: 40000,
		TrackingURL: "http://node7:4040", StartTime: Started + 3, FinishTime: Started + 4,
		Final: yarn.AttemptFinished, FinalStatus: yarn.FinalSucceeded, ExitStatus: yarn.ExitInvalid, Diagnostics: "done",
		UsageSeconds: yarn.Resource{1 << 40, 99, 3}, PreemptedUsage: yarn.Resource{5, 6}, TotalContainers: 12}
}

// Everything is one record or more of each table.
func Everything() []state.Record {
	return []state.Record{
		Application(1, 300), Ended(2, 0), Attempt(1, 1), Attempt(1, 2), Attempt(2, 1),
		state.MasterKeys{Current: state.MasterKey{ID: -5, Bytes: []byte("secret")}, Next: state.MasterKey{ID: 6, Bytes: []byte{0}}},
		state.DelegationKey{ID: 3, ExpireAt: Started + 5, Bytes: []byte("key")},
		state.DelegationKey{ID: 12, ExpireAt: Started + 6, Bytes: []byte("more")},
		state.DelegationToken{Sequence: 9, Identifier: []byte("id"), RenewBy: Started + 7},
		state.DelegationToken{Sequence: 10, RenewBy: Started + 8},
		state.DelegationSequence{Last: 11},
		state.NodeDeadline{Node: yarn.NodeID{Host: "node1", Port: 8041}, Deadline: Started + 9, RequestedAt: Started,
			RequestedBy: "root", Reason: "disk swap", Source: "cli", Capacity: yarn.NewResource(8192, 8)},
		state.NodeDeadline{Node: yarn.NodeID{Host: "node2"}},
		state.ConfigVersion{Version: 4, Blob: []byte("<configuration/>"), ChangedAt: Started, ChangedBy: "bob"},
		state.Reservation{ID: yarn.ReservationID{ClusterTimestamp: Started, Number: 4}, Plan: "root.plan", User: "ann", Start: Started + 10, End: Started + 90,
			Accepted: Started + 1, Gangs: true, Intervals: []state.ReservedInterval{{Start: Started + 20, End: Started + 40, Resource: yarn.NewResource(2048, 2)}, {End: 7}},
			Definition: yarn.ReservationDefinition{Arrival: Started + 10, Deadline: Started + 90, Name: "nightly", Priority: 3, Recurrence: "86400000",
				Interpreter: yarn.Ordered, Stages: []yarn.ReservationStage{{Capability: yarn.Resource{1024, 1, 1}, Containers: 2, Concurrency: 1, Duration: 20}, {}}}},
		state.Reservation{ID: yarn.ReservationID{ClusterTimestamp: Started, Number: 12}, Plan: "root.a.b"},
		state.Labels{Known: []state.NodeLabel{{Name: "gpu", Exclusive: true}, {Name: "ssd"}},
			Nodes: []state.LabelledNode{{Node: yarn.NodeID{Host: "node1"}, Label: "gpu"}, {Node: yarn.NodeID{Host: "node1", Port: 8041}}}},
	}
}

// Puts are the ops that store the records.
func Puts(records ...state.Record) []state.Op {
	ops := make([]state.Op, len(records))
	for i, r := range records {
		ops[i] = state.Put(r)
	}
	return ops
}

// Model is a simple store to compare others with.
type Model map[state.Key]state.Record

// Apply does the ops.
func (m Model) Apply(ops []state.Op) {
	for _, op := range ops {
		if op.Kind == state.OpPut {
			m[op.Record.Key()] = op.Record
			continue
		}
		delete(m, op.Record.Key())
		app, ok := op.Record.(state.Application)
		for key, r := range m {
			if a, is := r.(state.Attempt); ok && is && a.ID.Application == app.ID {
				delete(m, key)
			}
		}
	}
}

// Snapshot is what Load must return.
func (m Model) Snapshot(epoch int64) *state.Snapshot {
	s := &state.Snapshot{Epoch: epoch}
	for _, r := range m {
		s.Add(r)
	}
	s.Finish()
	return s
}

// RandomOps are random changes of few records, so that many are of the same one.
func RandomOps(rng *rand.Rand) []state.Op {
	ops := make([]state.Op, rng.IntN(12))
	for i := range ops {
		n, k := 1+rng.IntN(12), 1+rng.IntN(3)
		choices := []state.Op{
			state.Put(Application(n, rng.IntN(200))), state.Put(Ended(n, 10)), state.Put(Attempt(n, k)),
			state.RemoveApplication(AppID(n)), state.RemoveAttempt(Attempt(n, k).ID),
			state.Put(state.DelegationToken{Sequence: int32(n), RenewBy: int64(k)}),
			state.Remove(state.DelegationToken{Sequence: int32(n)}),
			state.Put(state.DelegationSequence{Last: int32(n)}),
			state.Put(state.NodeDeadline{Node: yarn.NodeID{Host: fmt.Sprint("node", n)}, Deadline: int64(k)}),
			state.Put(state.Labels{Known: []state.NodeLabel{{Name: fmt.Sprint("label", n), Exclusive: k == 1}},
				Nodes: []state.LabelledNode{{Node: yarn.NodeID{Host: fmt.Sprint("node", n)}, Label: fmt.Sprint("label", k)}}}),
		}
		ops[i] = choices[rng.IntN(len(choices))]
	}
	return ops
}

func bytesOf(seed, size int) []byte {
	if size == 0 {
		return nil
	}
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(seed*31 + i*7)
	}
	return b
}
