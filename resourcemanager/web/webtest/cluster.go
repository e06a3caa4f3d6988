package webtest

import (
	"sync"

	"github.com/heddle-project/heddle/resourcemanager/events"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Started is the cluster timestamp, that of the recorded answers.
const Started = 1795305251364

// Moment is the time of the cluster's state, in milliseconds.
const Moment = 1795305439052

// App is the id of an application of the cluster.
func App(n int32) yarn.ApplicationID {
	return yarn.ApplicationID{ClusterTimestamp: Started, Sequence: n}
}

// The two nodes.
var (
	nodeA = yarn.NodeID{Host: "localhost", Port: 22717}
	nodeB = yarn.NodeID{Host: "localhost", Port: 26839}
)

var httpOf = map[yarn.NodeID]string{nodeA: "localhost:11475", nodeB: "localhost:18576"}

// New is a source with the cluster and its queues.
func New() *Source {
	nothing := events.New(Started)
	nothing.Close()
	return &Source{
		Changing: new(sync.Mutex),
		Happens:  nothing,
		Picture:  Cluster(),
		Live:     map[yarn.ApplicationID]*view.AppContainers{App(6): live()},
		Tree:     Queues(),
		Waiting:  map[yarn.ApplicationID]string{App(8): "the masters of root.dev may take <memory:768, vCores:1> and take <memory:512, vCores:1>; this one needs <memory:512, vCores:1>"},
		Self: access.Daemon{StartedAt: Started, State: "STARTED", HAState: "ACTIVE", LoginUser: "yarn", Scheduler: access.Capacity,
			Store:      "org.apache.hadoop.yarn.server.resourcemanager.recovery.NullRMStateStore",
			Connection: "Could not find leader elector. Verify both HA and automatic failover are enabled."},
	}
}

// Cluster is the state of the recorded cluster at Moment.
func Cluster() *view.Cluster {
	c := &view.Cluster{
		StartedAt:      Started,
		ResourceTypes:  yarn.BasicResourceTypes(),
		MinAllocation:  yarn.NewResource(256, 1),
		MaxAllocation:  yarn.NewResource(4096, 4),
		MaxAppPriority: 10,
		Labels:         &view.Labels{},
		Applications:   []*view.Application{finished(), failed(), killed(), running(), pending(), rejected()},
		Nodes: []*view.Node{
			node(nodeA, yarn.NewResource(1024, 3), 3),
			node(nodeB, yarn.NewResource(1792, 5), 5),
		},
	}
	m := &c.Metrics
	m.Submitted, m.Completed, m.Pending, m.Running, m.Failed, m.Killed = 8, 2, 1, 3, 1, 1
	m.ContainersAllocated, m.ContainersPending = 8, 1
	m.Total, m.Allocated, m.Available = yarn.NewResource(8192, 8), yarn.NewResource(2816, 8), yarn.NewResource(5376, 0)
	m.PendingResource = yarn.NewResource(512, 1)
	m.Default = m.Amounts
	m.NodesByState[yarn.NodeRunning] = 2
	return c
}

func node(id yarn.NodeID, used yarn.Resource, containers int) *view.Node {
	total := yarn.NewResource(4096, 4)
	return &view.Node{ID: id, HTTPAddress: httpOf[id], Rack: "/default-rack", State: yarn.NodeRunning, Version: "3.5.0",
		LastHealth: 1795305336654, Total: total, Used: used, Available: total.Sub(used), Physical: yarn.NewResource(24105, 2),
		Containers: containers, NodeUse: view.Utilization{PhysicalMemoryMB: 4961, VirtualMemoryMB: 4961, CPU: 1.5},
		ContainersUse: view.Utilization{PhysicalMemoryMB: 115, VirtualMemoryMB: 3062, CPU: 0.25}}
}

// app fills in what all applications here have in common.
func app(n int32, a view.Application) *view.Application {
	a.ID = App(n)
	if a.Usage == nil {
		a.Usage = &view.Usage{}
	}
	if a.Asks == nil {
		a.Asks = &view.Asks{}
	}
	a.LogAggregation, a.LabelSet = true, a.Type == "REST"
	a.SubmitTime = a.StartTime
	for _, t := range a.Attempts {
		t.ID.Application = a.ID
		t.Host, t.RPCPort = "N/A", -1
		if t.Node != (yarn.NodeID{}) {
			t.NodeHTTPAddress = httpOf[t.Node]
			t.MasterContainer = yarn.ContainerID{Attempt: t.ID, Number: 1}
		}
	}
	return &a
}

func attempt(n int32, state yarn.AttemptState, at yarn.NodeID, start, finish int64) *view.Attempt {
	return &view.Attempt{ID: yarn.AttemptID{Attempt: n}, State: state, PublicState: state, Master: &view.Master{Node: at}, StartTime: start, FinishTime: finish}
}

func finished() *view.Application {
	return app(1, view.Application{Common: &view.Common{User: "alice", Type: "YARN"}, Name: "finished", Queue: "root.prod.etl.fast", State: yarn.AppFinished,
		PublicState: yarn.PublicFinished, FinalStatus: yarn.FinalSucceeded, Progress: 1,
		StartTime: 1795305298467, LaunchTime: 1795305308073, FinishTime: 1795305342488,
		Usage:    &view.Usage{ResourceSeconds: yarn.NewResource(24416, 51)},
		Attempts: []*view.Attempt{attempt(1, yarn.AttemptFinished, nodeB, 1795305298580, 1795305342459)}})
}

func failed() *view.Application {
	return app(3, view.Application{Common: &view.Common{User: "bob", Type: "REST"}, Name: "rest", Queue: "root.prod.adhoc", State: yarn.AppFailed,
		PublicState: yarn.PublicFailed, FinalStatus: yarn.FinalFailed, Priority: 1, Diagnostics: "Application failed 2 times",
		StartTime: 1795305363454, LaunchTime: 1795305363651, FinishTime: 1795305365920,
		Usage: &view.Usage{ResourceSeconds: yarn.NewResource(1215, 1)},
		Attempts: []*view.Attempt{attempt(1, yarn.AttemptFailed, nodeB, 1795305363460, 1795305364000),
			attempt(2, yarn.AttemptFailed, nodeB, 1795305364010, 1795305365900)}})
}

func killed() *view.Application {
	return app(4, view.Application{Common: &view.Common{User: "carol", Type: "REST"}, Name: "rest", Queue: "root.prod.adhoc", State: yarn.AppKilled,
		PublicState: yarn.PublicKilled, FinalStatus: yarn.FinalKilled, Priority: 1, Progress: 1,
		Diagnostics: "Application application_1795305251364_0004 was killed by user root at 127.0.0.1",
		StartTime:   1795305366201, LaunchTime: 1795305366248, FinishTime: 1795305369667,
		Usage:    &view.Usage{ResourceSeconds: yarn.NewResource(1772, 3)},
		Attempts: []*view.Attempt{attempt(1, yarn.AttemptKilled, nodeA, 1795305366210, 1795305369600)}})
}

// staleSeconds is the difference between the recorded answer and what the running
// containers had used: Hadoop computes that only once in 3 s.
var staleSeconds = yarn.NewResource(39599-58311, 107-180)

func running() *view.Application {
	var amount, seconds yarn.Resource
	for _, c := range live().List {
		for i := range amount {
			amount[i] += c.Resource[i]
			seconds[i] += c.Resource[i] * (Moment - c.CreatedAt) / 1000
		}
	}
	return app(6, view.Application{Common: &view.Common{User: "alice", Type: "YARN"}, Name: "running2", Queue: "root.prod.adhoc", State: yarn.AppRunning,
		PublicState: yarn.PublicRunning, Priority: 4, StartTime: 1795305393483, LaunchTime: 1795305393583,
		Usage: &view.Usage{Containers: 4, Used: yarn.NewResource(1280, 4), AMUsed: yarn.NewResource(512, 1),
			LiveAmount: amount, LiveSeconds: seconds, LiveAt: Moment, ResourceSeconds: staleSeconds, QueuePercent: 55.822067, ClusterPercent: 15.625},
		Attempts: []*view.Attempt{attempt(1, yarn.AttemptRunning, nodeA, 1795305393485, 0)}})
}

// live are the containers of the running application.
func live() *view.AppContainers {
	out := &view.AppContainers{Application: App(6), Attempt: yarn.AttemptID{Application: App(6), Attempt: 1}}
	for i, at := range []yarn.NodeID{nodeA, nodeA, nodeB, nodeA} {
		size := yarn.NewResource(256, 1)
		if i == 0 {
			size = yarn.NewResource(512, 1)
		}
		out.List = append(out.List, &view.Container{ID: yarn.ContainerID{Attempt: out.Attempt, Number: int64(i + 1)}, Node: at,
			NodeHTTPAddress: httpOf[at], Resource: size, CreatedAt: 1795305393494, User: "alice", Master: i == 0})
	}
	return out
}

func pending() *view.Application {
	return app(8, view.Application{Common: &view.Common{User: "bob", Type: "REST"}, Name: "rest", Queue: "root.dev", State: yarn.AppAccepted,
		PublicState: yarn.PublicAccepted, Priority: 1, Tags: []string{"loom", "weft"}, StartTime: 1795305416971,
		Diagnostics: "Application is added to the scheduler and is not yet activated.",
		Usage:       &view.Usage{Pending: yarn.NewResource(512, 1), AMUsed: yarn.NewResource(512, 1)},
		Asks: &view.Asks{Wanted: []view.Wanted{{Size: yarn.NewResource(512, 1), Count: 1}},
			Requests: []view.Request{{AllocationRequestID: -1, Where: yarn.AnyHost, Capability: yarn.NewResource(512, 1), Count: 1, RelaxLocality: true}}},
		Attempts: []*view.Attempt{attempt(1, yarn.AttemptScheduled, yarn.NodeID{}, 1795305416982, 0)}})
}

func rejected() *view.Application {
	return app(9, view.Application{Common: &view.Common{User: "bob", Type: "REST"}, Name: "rest", Queue: "root.closed", State: yarn.AppFailed,
		PublicState: yarn.PublicFailed, FinalStatus: yarn.FinalFailed, Priority: 1,
		Diagnostics: "org.apache.hadoop.security.AccessControlException: Queue root.closed is STOPPED. Cannot accept submission of application: application_1795305251364_0009",
		StartTime:   1795305417653, FinishTime: 1795305417729})
}

// percent is a capacity of so much of everything.
func percent(of float32) (v queue.Vector) {
	for i := range yarn.BasicResourceTypes() {
		v.Value[i], v.Unit[i] = float64(of*100), queue.Percent
	}
	return v
}

// Queues is the tree of the recorded cluster, with what the pages need.
func Queues() *queue.Snapshot {
	share := func(abs, max, used float32) queue.CapacityShare {
		return queue.CapacityShare{Capacity: abs, AbsoluteCapacity: abs, MaxCapacity: max, AbsoluteMax: max, AbsoluteUsed: used, UsedCapacity: used / abs,
			Weight: -1, AMLimit: yarn.NewResource(768, 1), MaxAMShare: 0.1, Known: true, Vector: percent(abs)}
	}
	info := func(path, name, parent string, c queue.Capacity) queue.Info {
		c.Mode, c.MaxParallelApps = "percentage", 2147483647
		return queue.Info{Path: path, Name: name, Parent: parent, Default: queue.Share{Accessible: true, Used: yarn.NewResource(int64(c.Default.AbsoluteUsed*8192), 1)},
			Labels: []string{"*"}, MaxAllocation: yarn.NewResource(4096, 4), Capacity: &c}
	}
	leaf := func(path, name, parent string, s queue.CapacityShare) queue.Info {
		q := info(path, name, parent, queue.Capacity{Default: s, OrderingPolicy: "fifo", UserLimitPercent: 100, UserLimitFactor: 1, MaxApps: 2000, MaxAppsPerUser: 2000})
		q.Leaf, q.MaxLifetime, q.DefaultLifetime = true, -1, -1
		return q
	}
	parent := func(path, name, above string, s queue.CapacityShare, children ...string) queue.Info {
		q := info(path, name, above, queue.Capacity{Default: s, OrderingPolicy: "utilization"})
		q.Children = children
		return q
	}
	dev := leaf("root.dev", "dev", "root", share(0.2, 1, 0.0625))
	dev.ActiveApps, dev.PendingApps, dev.ActiveUsers = 1, 1, 1
	dev.Capacity.Users = []queue.UserUsage{{Name: "bob", Used: yarn.NewResource(512, 1), AMUsed: yarn.NewResource(512, 1), AMLimit: yarn.NewResource(512, 1),
		Limit: yarn.NewResource(1792, 1), ActiveApps: 1, PendingApps: 1, Weight: 1}}
	closed := leaf("root.closed", "closed", "root", share(0.1, 1, 0))
	closed.State = queue.Stopped
	return queue.NewSnapshot([]queue.Info{
		parent("root", "root", "", share(1, 1, 0.34), "root.prod", "root.dev", "root.closed"),
		parent("root.prod", "prod", "root", share(0.7, 0.95, 0.28), "root.prod.adhoc", "root.prod.etl"),
		leaf("root.prod.adhoc", "adhoc", "root.prod", share(0.1, 0.76, 0.156)),
		parent("root.prod.etl", "etl", "root.prod", share(0.42, 0.9, 0.125), "root.prod.etl.fast", "root.prod.etl.slow"),
		leaf("root.prod.etl.fast", "fast", "root.prod.etl", share(0.2, 0.9, 0.1)),
		leaf("root.prod.etl.slow", "slow", "root.prod.etl", share(0.22, 0.9, 0.025)),
		dev, closed,
	})
}
