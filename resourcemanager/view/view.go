// Package view has what readers see of the ResourceManager: immutable values that the
// engine builds and the loop publishes. REST, pages, calls of clients and metrics read
// these and nothing else, so that no reader can delay or disturb a decision.
//
// A view may be kept for any time and must not be changed. Times are milliseconds since
// 1970; 0 means "not yet". A view shows only what is stored, but for the saving states
// themselves.
package view

import (
	"slices"
	"strings"

	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Part is a part of what readers see; parts can be or-ed.
type Part uint8

// The parts. A reader of one does not wait for the others.
const (
	Applications Part = 1 << iota
	Nodes             // with the labels
	Queues
	Counts     // of the whole cluster
	Containers // live ones, by application
	Everything = Applications | Nodes | Queues | Counts | Containers
)

// Application is everything that is shown of one application but its live containers, which are AppContainers.
type Application struct {
	ID            yarn.ApplicationID
	Version       uint64 // differs from that of every other view that this ResourceManager made since it became active; 0: unknown
	*Common              // never nil
	Name          string
	Tags          []string // lower case, sorted
	Queue         string   // full path, or what was asked for if no queue was found
	Priority      int32
	State         yarn.ApplicationState // inside the ResourceManager, as /state shows it
	PublicState   yarn.PublicState      // what every list and report shows
	FinalStatus   yarn.FinalStatus
	Diagnostics   string
	Progress      float32 // 0 to 1
	Unmanaged     bool
	Gang          bool // one of its gangs waits
	Opportunistic bool // so do opportunistic containers
	CallerContext string
	Logs          LogStatus
	LogNodes      int // nodes that have logs of it; 0 once all have succeeded
	SubmitTime    int64
	StartTime     int64
	LaunchTime    int64
	FinishTime    int64
	Timeouts      []Timeout
	Attempts      []*Attempt               // oldest first; at least the current one once accepted
	*Asks                                  // never nil; applications may share them
	Usage         *Usage                   // likewise
	UsedByLabel   map[string]yarn.Resource // the part of Usage.Used in partitions other than the default; nil: nothing. Not in Usage, which must be comparable
}

// Common is what many applications of one user have in common; they may share it.
type Common struct {
	User           string
	RealUser       string
	Type           string
	KeepContainers bool
	MaxAttempts    int32
	Label          string // node label expression of the application
	LabelSet       bool   // it has one, be it empty
	AMLabel        string // node label expression of its master's container
	LogAggregation bool   // whether the cluster aggregates logs
	LogPatience    int64  // milliseconds after the end until the aggregation has timed out
	ViewACL        string // empty: owner and administrators only
	ModifyACL      string
}

// Asks is what an application asks for.
type Asks struct {
	Wanted   []Wanted  // kinds of containers that the scheduler has not given yet, the first MaxWanted in the order in which they are served
	Requests []Request // asks for the master's container, until that is allocated
}

// Current is the newest attempt, or nil before there is one.
func (a *Application) Current() *Attempt {
	if len(a.Attempts) == 0 {
		return nil
	}
	return a.Attempts[len(a.Attempts)-1]
}

// InQueue tells whether the application is one of its queue's, and whether it runs there.
//
// compat: it runs once its master has a container. One without an attempt does not count.
func (a *Application) InQueue() (counts, runs bool) {
	t := a.Current()
	if a.State.Final() || t == nil {
		return false, false
	}
	return true, a.PublicState == yarn.PublicRunning || !t.MasterContainer.IsZero()
}

// LiveApps are how many applications a queue has, those of queues below it included: whose masters wait for a container, and that run.
type LiveApps struct{ Pending, Running int64 }

// LiveByQueue counts applications by the paths of queues.
func LiveByQueue(apps []*Application) map[string]LiveApps {
	out := map[string]LiveApps{}
	for _, a := range apps {
		counts, runs := a.InQueue()
		if !counts {
			continue
		}
		for path := a.Queue; path != ""; path = queue.ParentPath(path) {
			n := out[path]
			if runs {
				n.Running++
			} else {
				n.Pending++
			}
			out[path] = n
		}
	}
	return out
}

// Waits tells whether the master waits for a container, or one of its gangs or opportunistic containers do.
func (a *Application) Waits() bool {
	t := a.Current()
	return t != nil && (t.State == yarn.AttemptScheduled || a.Gang || a.Opportunistic) && !a.State.Final()
}

// SecondsAt is amount × seconds over all attempts up to a time (milliseconds since
// 1970), live containers included.
func (a *Application) SecondsAt(now int64) yarn.Resource {
	u := a.Usage
	sum := u.ResourceSeconds
	for i, amount := range u.LiveAmount {
		sum[i] += u.LiveSeconds[i] + amount*(max(now-u.LiveAt, 0)/1000) // in whole seconds: of the same containers, a view made after now has no less
	}
	return sum
}

// Wanted is a kind of container that an application waits for.
type Wanted struct {
	Size  yarn.Resource
	Count int32
	Label string // of the partition; empty: the default one
}

// MaxWanted bounds Application.Wanted.
const MaxWanted = 16

// Timeout is a deadline of an application. The only type is LIFETIME.
type Timeout struct {
	Type     string
	ExpireAt int64 // milliseconds since 1970; 0 means unlimited
}

// Usage is what an application has and has had.
type Usage struct {
	Containers         int // live, the master's included
	ReservedContainers int
	Used               yarn.Resource
	Reserved           yarn.Resource
	Pending            yarn.Resource
	AMUsed             yarn.Resource
	LiveAmount         yarn.Resource // what all live containers have; Used is without opportunistic ones
	LiveSeconds        yarn.Resource // amount × seconds of each of them until LiveAt, each rounded down, added up
	LiveAt             int64         // when these were added up; 0: nothing is live
	ResourceSeconds    yarn.Resource // amount × seconds over all attempts, of containers that have ended
	PreemptedSeconds   yarn.Resource
	Preempted          yarn.Resource
	PreemptedAM        int
	PreemptedNonAM     int
	QueuePercent       float32 // of the queue's guaranteed share, or of its fair share
	ClusterPercent     float32
}

// Request is one row of asks that has not been served.
type Request struct {
	Priority            int32
	AllocationRequestID int64
	Where               string
	Capability          yarn.Resource
	Count               int32
	RelaxLocality       bool
	Label               string
	ExecutionType       yarn.ExecutionType
	EnforceExecution    bool
}

// Attempt is everything that is shown of one attempt but its live containers.
type Attempt struct {
	ID          yarn.AttemptID
	State       yarn.AttemptState
	PublicState yarn.AttemptState // as reports show it: during FINAL_SAVING, the state before that
	FinalStatus yarn.FinalStatus
	*Master     // never nil; attempts whose masters have no container yet share one
	Diagnostics string
	StartTime   int64
	FinishTime  int64
}

// Master is what is shown of an attempt's master.
type Master struct {
	MasterContainer     yarn.ContainerID // zero before it is allocated, and for unmanaged masters
	Node                yarn.NodeID
	NodeHTTPAddress     string
	Host                string // where the master listens, "N/A" before it registers
	RPCPort             int32  // -1 before it registers
	OriginalTrackingURL string // as the master gave it; "N/A" or empty when it gave none
	Blacklisted         []string
}

// AppContainers are the live containers of an application.
type AppContainers struct {
	Application yarn.ApplicationID
	Attempt     yarn.AttemptID // the current one, which has them; zero: there are none
	List        []*Container   // by id
}

// Of returns the containers if that attempt has them, else nil.
func (c *AppContainers) Of(id yarn.AttemptID) []*Container {
	if c == nil || c.Attempt != id {
		return nil
	}
	return c.List
}

// Container is a live container.
type Container struct {
	ID                  yarn.ContainerID
	Node                yarn.NodeID
	NodeHTTPAddress     string
	Resource            yarn.Resource
	Priority            int32
	AllocationRequestID int64
	ExecutionType       yarn.ExecutionType
	CreatedAt           int64
	User                string
	Master              bool
	Label               string
}

// PublicState is the state in lists and reports.
//
// compat: it is RUNNING even before the node has started the container. One that has ended has no view.
func (*Container) PublicState() string { return "RUNNING" }

// Node is everything that is shown of one node.
type Node struct {
	ID            yarn.NodeID
	HTTPAddress   string // host:port
	Rack          string
	State         yarn.NodeState
	Labels        []string
	Version       string
	HealthReport  string
	LastHealth    int64
	LastHeartbeat int64
	Total         yarn.Resource
	Used          yarn.Resource
	Available     yarn.Resource
	Reserved      yarn.Resource
	Physical      yarn.Resource // what the machine has; zero if the node did not report it
	Containers    int           // guaranteed ones
	ContainersUse Utilization
	NodeUse       Utilization
	Opportunistic Opportunistic
	Applications  []yarn.ApplicationID
	RunningOn     []*Container // live containers on the node, by id
	LostReason    string
	DrainTimeout  *int32 // of its last graceful decommission, seconds; negative: none; nil: it had none
	Placeholder   bool   // it has not registered since the ResourceManager started; it is shown for the lists or an order
	CutShort      bool   // it left while it drained, before all had ended that it waited for
	Drain         *Drain // its graceful decommission, if one goes on or keeps it away
}

// Utilization is measured use: memory in MiB, cpu in cores.
type Utilization struct {
	PhysicalMemoryMB int32
	VirtualMemoryMB  int32
	CPU              float32
}

// Opportunistic counts a node's opportunistic containers.
type Opportunistic struct {
	Running, Queued int32
	MemoryMB        int64
	VCores          int32
}

// Labels are the labels of the cluster and of its nodes.
type Labels struct {
	Known []Label // by name
	// Nodes are hosts and nodes that were given a label, by id; port 0 is for the
	// nodes of the host that have no entry of their own. A node in this list may never
	// have registered. One with an empty label is in the default partition.
	Nodes []LabelledNode
}

// Label is a node label, the name of a partition. Free resources of a partition that is
// not exclusive may be used by asks without a label.
type Label struct {
	Name      string
	Exclusive bool
}

// LabelledNode is a node, or with port 0 a host, with its label.
type LabelledNode struct {
	Node  yarn.NodeID
	Label string
}

// NodeLabels are the labels that a node, or with port 0 every node of a host, is
// to have: one or none.
type NodeLabels struct {
	Node   yarn.NodeID
	Labels []string
}

// Find is the label with that name.
func (l *Labels) Find(name string) (Label, bool) {
	i, ok := slices.BinarySearchFunc(l.Known, name, func(x Label, name string) int { return strings.Compare(x.Name, name) })
	if !ok {
		return Label{}, false
	}
	return l.Known[i], true
}

// Of is the label that the node has, or will have once it registers.
func (l *Labels) Of(id yarn.NodeID) string {
	for _, id := range []yarn.NodeID{id, {Host: id.Host}} {
		i, ok := slices.BinarySearchFunc(l.Nodes, id, func(x LabelledNode, id yarn.NodeID) int { return x.Node.Compare(id) })
		if ok {
			return l.Nodes[i].Label
		}
	}
	return ""
}

// Labelled are all hosts and nodes with a label, by id: those that were given one, and
// those of the nodes in use that have their host's.
func (l *Labels) Labelled(nodes []*Node) []LabelledNode {
	var out []LabelledNode
	listed := make(map[yarn.NodeID]bool, len(l.Nodes))
	for _, n := range l.Nodes {
		listed[n.Node] = true
		if n.Label != "" {
			out = append(out, n)
		}
	}
	for _, n := range nodes {
		if !listed[n.ID] && len(n.Labels) > 0 && (n.State.Usable() || n.State == yarn.NodeUnhealthy) {
			out = append(out, LabelledNode{n.ID, n.Labels[0]})
		}
	}
	slices.SortFunc(out, func(a, b LabelledNode) int { return a.Node.Compare(b.Node) })
	return out
}

// Metrics are the counts of the whole cluster.
type Metrics struct {
	Submitted, Pending, Running, Completed, Failed, Killed int64
	Amounts                                                                           // in all partitions
	Default                                                Amounts                    // in the default partition
	NodesByState                                           [yarn.NodeShutdown + 1]int // indexed by yarn.NodeState; RUNNING counts active nodes
	GrantsTotal                                            int64                      // guaranteed containers ever allocated
	Opportunistic                                          *Opportunistics            // nil: none are allocated
}

// Opportunistics counts opportunistic containers since the ResourceManager started.
type Opportunistics struct {
	Allocated, Released             int64 // by promotions and demotions, too
	NodeLocal, RackLocal, OffSwitch int64
}

// Amounts are totals of resources and containers.
type Amounts struct {
	ContainersAllocated, ContainersReserved, ContainersPending int64
	Total, Allocated, Available, Reserved, PendingResource     yarn.Resource
}

// Cluster is the parts of the views that a reader asked for, at one moment. Readers
// share them and must not change them.
type Cluster struct {
	At             yarn.Now
	StartedAt      int64 // the cluster timestamp that is in every application's id
	Applications   []*Application
	Nodes          []*Node // active first, by id, then inactive
	Metrics        Metrics
	Labels         *Labels
	Queues         *queue.Snapshot
	ResourceTypes  yarn.ResourceTypes
	MinAllocation  yarn.Resource
	MaxAllocation  yarn.Resource // of the cluster, as in the answer to getNewApplication
	MaxAppPriority int32
	// QueueACLs returns the texts of a queue's own ACLs; nil if they are not known.
	QueueACLs func(path string) (submit, administer string)
}
