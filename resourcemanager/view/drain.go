package view

import (
	"cmp"
	"math"
	"slices"

	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Drain is a node's graceful decommission: under way, or by an order that keeps away a node that has left.
type Drain struct {
	RequestedAt int64  // milliseconds since 1970, of the first request
	RequestedBy string // the user who made it
	Reason      string
	Source      string // file: the lists of nodes; cli or api: an order, which holds until it is taken back
	Deadline    int64  // milliseconds since 1970; 0: none
	Containers  int    // on the node, those included that it has not reported yet

	// WaitsFor are the first MaxWaitsFor, by id, of the applications that had containers on the node and have not ended. Applications is
	// how many there are.
	WaitsFor     []yarn.ApplicationID
	Applications int
}

// MaxWaitsFor bounds Drain.WaitsFor.
const MaxWaitsFor = 100

// Phase is where a graceful decommission stands, by the names of Apache's DecommissioningNodesWatcher.
type Phase string

// The phases.
const (
	DrainNone           Phase = "NONE"           // the node does not drain
	DrainWaitContainer  Phase = "WAIT_CONTAINER" // it has containers
	DrainWaitApp        Phase = "WAIT_APP"       // it has none, but applications that had some may still want their output
	DrainTimeout        Phase = "TIMEOUT"        // the deadline has passed, and something is left
	DrainReady          Phase = "READY"          // nothing needs the node any more
	DrainDecommissioned Phase = "DECOMMISSIONED" // it has left
)

// Phase is where the node's graceful decommission stands at now, in milliseconds since 1970.
func (n *Node) Phase(now int64) Phase {
	d := n.Drain
	switch {
	case n.State == yarn.NodeDecommissioned:
		return DrainDecommissioned
	case d == nil || n.State != yarn.NodeDecommissioning:
		return DrainNone
	case d.Containers == 0 && d.Applications == 0:
		return DrainReady
	case d.Deadline > 0 && d.Deadline <= now:
		return DrainTimeout
	case d.Containers > 0:
		return DrainWaitContainer
	}
	return DrainWaitApp
}

// Holder is an application that a node waits for, or would wait for.
type Holder struct {
	ID         yarn.ApplicationID
	App        *Application // nil: it is no longer known
	Containers int          // live ones on the node
	Master     bool         // its ApplicationMaster is one of them
}

// Unknown is an estimate that cannot be made.
const Unknown = -1

// Holders are the applications that the node waits for, by id; if it does not drain, those for which it would wait, as far as that is
// known: the ones with containers there.
func (c *Cluster) Holders(n *Node) []Holder {
	ids := n.Applications
	if n.Drain != nil {
		ids = append(slices.Clone(n.Drain.WaitsFor), n.Applications...)
	}
	ids = slices.Clone(ids)
	slices.SortFunc(ids, yarn.ApplicationID.Compare)
	out := make([]Holder, 0, len(ids))
	for _, id := range slices.Compact(ids) {
		h := Holder{ID: id, App: c.application(id)}
		for _, x := range n.RunningOn {
			if x.ID.Attempt.Application == id {
				h.Containers++
				h.Master = h.Master || x.Master
			}
		}
		out = append(out, h)
	}
	return out
}

func (c *Cluster) application(id yarn.ApplicationID) *Application {
	if i, ok := slices.BinarySearchFunc(c.Applications, id, func(a *Application, id yarn.ApplicationID) int { return a.ID.Compare(id) }); ok {
		return c.Applications[i]
	}
	return nil
}

// EndsIn estimates in how many seconds the last of these applications ends, if each goes on as fast as so far. It is Unknown if one has
// reported no progress, or so little that the estimate is above math.MaxInt32.
func EndsIn(holders []Holder, now int64) int64 {
	most := int64(0)
	for _, h := range holders {
		a := h.App
		if a == nil || a.Progress <= 0 || a.StartTime <= 0 {
			return Unknown
		}
		begun := cmp.Or(a.LaunchTime, a.StartTime)
		left := float64(now-begun) / 1000 * (1 - min(float64(a.Progress), 1)) / float64(a.Progress)
		if left > math.MaxInt32 {
			return Unknown
		}
		most = max(most, int64(left+0.5))
	}
	return most
}

// LeavesIn estimates in how many seconds a draining node leaves: when its holders end, or at its deadline if that is earlier. It is Unknown
// if there is no deadline and no estimate for the holders.
func (n *Node) LeavesIn(holders []Holder, now int64) int64 {
	estimate := EndsIn(holders, now)
	if d := n.Drain; d != nil && d.Deadline > 0 {
		if left := max(d.Deadline-now, 0) / 1000; estimate == Unknown || left < estimate {
			return left
		}
	}
	return estimate
}

// WorkLost is the work that is lost if the node leaves now: what its live containers have used, in MB-seconds.
func (n *Node) WorkLost(now int64) int64 {
	sum := int64(0)
	for _, x := range n.RunningOn {
		sum += x.Resource.MemoryMB() * max(now-x.CreatedAt, 0) / 1000
	}
	return sum
}

// SoonestFree are the count RUNNING nodes, or fewer if there are fewer, that are best decommissioned first: ordered by when their
// applications are likely to end (idle nodes first), then by the work that would be lost, then by id.
func (c *Cluster) SoonestFree(count int, now int64) []*Node {
	type candidate struct {
		*Node
		ends, lost int64
	}
	var all []candidate
	for _, n := range c.Nodes {
		if n.State == yarn.NodeRunning {
			x := candidate{n, EndsIn(c.Holders(n), now), n.WorkLost(now)}
			if x.ends == Unknown {
				x.ends = math.MaxInt64
			}
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.ends, b.ends), cmp.Compare(a.lost, b.lost), a.ID.Compare(b.ID))
	})
	var out []*Node
	for _, x := range all[:min(count, len(all))] {
		out = append(out, x.Node)
	}
	return out
}

// Shortage is something that the cluster lacks once some nodes have left.
type Shortage struct {
	Queue                   string        // a leaf queue that uses and asks for more of its guarantee than is left; "": an ask
	App                     *Application  // whose ask fits on no node that stays; nil: a queue
	Label                   string        // of the partition
	Guarantee, Then, Wanted yarn.Resource // of the queue: its guarantee now and afterwards, and what it uses and asks for
	Ask                     yarn.Resource // size of one container
}

// MaxShortages bounds what Shortages returns.
const MaxShortages = 100

// Shortages are what the cluster lacks without those nodes: first queues, then asks. A guarantee is assumed to shrink with its partition.
func (c *Cluster) Shortages(leaving []*Node) []Shortage {
	gone := make(map[yarn.NodeID]bool, len(leaving))
	for _, n := range leaving {
		gone[n.ID] = true
	}
	before, after := map[string]yarn.Resource{}, map[string]yarn.Resource{}
	largest, largestNow := map[string][]yarn.Resource{}, map[string][]yarn.Resource{} // of the nodes that stay, and of all
	for _, n := range c.Nodes {
		if n.State != yarn.NodeRunning {
			continue
		}
		label := ""
		if len(n.Labels) > 0 {
			label = n.Labels[0]
		}
		before[label] = before[label].Add(n.Total)
		largestNow[label] = addLargest(largestNow[label], n.Total)
		if !gone[n.ID] {
			after[label] = after[label].Add(n.Total)
			largest[label] = addLargest(largest[label], n.Total)
		}
	}
	out := c.queuesShort(before, after)
	return append(out, c.asksShort(largestNow, largest, MaxShortages-len(out))...)
}

// addLargest adds r to sizes, of which none fits into another.
func addLargest(sizes []yarn.Resource, r yarn.Resource) []yarn.Resource {
	for _, x := range sizes {
		if r.FitsIn(x) {
			return sizes
		}
	}
	return append(slices.DeleteFunc(sizes, func(x yarn.Resource) bool { return x.FitsIn(r) }), r)
}

// queuesShort are the leaf queues that are short. before and after are the sizes of partitions.
func (c *Cluster) queuesShort(before, after map[string]yarn.Resource) (out []Shortage) {
	if c.Queues == nil {
		return nil
	}
	labels := make([]string, 0, len(before))
	for label := range before {
		labels = append(labels, label)
	}
	slices.Sort(labels)
	for i := range c.Queues.Queues {
		q := &c.Queues.Queues[i]
		if !q.Leaf {
			continue
		}
		for _, label := range labels {
			if s, short := shortOf(q, q.In(label), before[label], after[label]); short && len(out) < MaxShortages {
				s.Label = label
				out = append(out, s)
			}
		}
	}
	return out
}

// shortOf tells whether a queue uses and asks for more of its guarantee than is left once the partition has shrunk from before to after.
func shortOf(q *queue.Info, s queue.Share, before, after yarn.Resource) (Shortage, bool) {
	x := Shortage{Queue: q.Path, Guarantee: s.EffectiveMin, Wanted: s.Used.Add(s.Pending)}
	short := false
	for i := range before {
		if before[i] > 0 {
			x.Then[i] = int64(float64(s.EffectiveMin[i]) * (float64(after[i]) / float64(before[i])))
		}
		short = short || min(x.Wanted[i], x.Guarantee[i]) > x.Then[i]
	}
	return x, short
}

// asksShort are asks that fit on a node now and on none that stays: one for each application, at most most of them. The largest nodes are
// by partition.
func (c *Cluster) asksShort(now, later map[string][]yarn.Resource, most int) (out []Shortage) {
	for _, a := range c.Applications {
		for _, w := range a.Wanted {
			if len(out) == most {
				return out
			}
			fits := w.Size.FitsIn
			if w.Count > 0 && slices.ContainsFunc(now[w.Label], fits) && !slices.ContainsFunc(later[w.Label], fits) {
				out = append(out, Shortage{App: a, Label: w.Label, Ask: w.Size})
				break
			}
		}
	}
	return out
}
