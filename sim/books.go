package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// reader keeps the published views, as readers see them.
type reader struct {
	apps    map[yarn.ApplicationID]*view.Application
	live    map[yarn.ApplicationID]*view.AppContainers
	nodes   map[yarn.NodeID]*view.Node
	metrics view.Metrics
	queues  *queue.Snapshot
	labels  *view.Labels
}

func (r *reader) Application(v *view.Application)  { r.apps[v.ID] = v }
func (r *reader) Containers(v *view.AppContainers) { r.live[v.Application] = v }
func (r *reader) Node(v *view.Node)                { r.nodes[v.ID] = v }
func (r *reader) ForgetNode(id yarn.NodeID)        { delete(r.nodes, id) }
func (r *reader) Labels(v *view.Labels)            { r.labels = v }
func (r *reader) Counts(m view.Metrics)            { r.metrics = m }
func (r *reader) Queues(all *queue.Snapshot)       { r.queues = all }

func (r *reader) ForgetApplication(id yarn.ApplicationID) {
	delete(r.apps, id)
	delete(r.live, id)
}

// inconsistent names an application that is shown with another usage than its containers have, or with a container that its node is not shown
// with; empty: there is none.
func (r *reader) inconsistent() string {
	on := map[*view.Container]yarn.NodeID{}
	for id, n := range r.nodes { //tidy:unordered they only make a map
		for _, c := range n.RunningOn {
			on[c] = id
		}
	}
	for id, a := range r.apps { //tidy:unordered one message of several
		t := a.Current()
		if t == nil {
			continue
		}
		live := r.live[id].Of(t.ID)
		var has, labelled yarn.Resource
		by := map[string]yarn.Resource{}
		for _, c := range live {
			if on[c] != c.Node {
				return fmt.Sprintf("%s is shown on %s, and that does not show it", c.ID, c.Node)
			}
			has = has.Add(c.Resource)
			if c.ExecutionType == yarn.Guaranteed && c.Label != "" {
				by[c.Label] = by[c.Label].Add(c.Resource)
			}
		}
		for label, x := range by { //tidy:unordered one message of several
			if !x.FitsIn(a.UsedByLabel[label]) { // which has what containers are about to grow by, too
				return fmt.Sprintf("%s has %v in %s, and its containers %v", id, a.UsedByLabel[label], label, x)
			}
		}
		for _, x := range a.UsedByLabel { //tidy:unordered they are only added up
			labelled = labelled.Add(x)
		}
		if !labelled.FitsIn(a.Usage.Used) {
			return fmt.Sprintf("%s has %v, of which %v with labels", id, a.Usage.Used, a.UsedByLabel)
		}
		if ends := len(live) == 0 && (t.State == yarn.AttemptFinalSaving || t.State.Final()); has != a.Usage.LiveAmount && !ends {
			return fmt.Sprintf("%s has %v, and its %d containers %v: %v", id, a.Usage.LiveAmount, len(live), has, t.State)
		}
	}
	return ""
}

func newReader() *reader {
	return &reader{apps: map[yarn.ApplicationID]*view.Application{}, live: map[yarn.ApplicationID]*view.AppContainers{}, nodes: map[yarn.NodeID]*view.Node{}}
}

// shown publishes what readers see, and names what of it contradicts itself, or is empty.
func (t *term) shown() string {
	r := t.reader
	t.engine.Publish(t.now(), r)
	var states [yarn.NodeShutdown + 1]int
	var total yarn.Resource
	for _, n := range r.nodes {
		if states[n.State]++; n.State == yarn.NodeRunning {
			total = total.Add(n.Total)
		}
	}
	for id, n := range r.nodes { //tidy:unordered one message of several
		t.late(id, n)
	}
	m := &r.metrics
	switch {
	case states != m.NodesByState:
		return fmt.Sprintf("%v nodes are shown by state, and %v are counted", states, m.NodesByState)
	case total != m.Total && states[yarn.NodeDecommissioning] == 0: // of which one that is unhealthy counts nowhere
		return fmt.Sprintf("the nodes have %v, and the cluster shows %v", total, m.Total)
	case m.Pending < 0 || m.Running < 0:
		return fmt.Sprintf("%d applications are shown as pending, %d as running", m.Pending, m.Running)
	}
	return r.inconsistent()
}

// leftOver names something that readers still see when everything has ended, or is
// empty.
func (c *Cluster) leftOver() string {
	if t := c.owner; t.inForce.Fair != nil { // the FairScheduler may have computed what is wanted up to a second ago
		t.post(posted{cmd: engine.UpdateShares{}})
	}
	if wrong := c.owner.shown(); wrong != "" {
		return wrong
	}
	r := c.owner.reader
	m := &r.metrics
	if m.Total != m.Default.Total {
		return fmt.Sprintf("no node has a label, and of %v the default partition has %v", m.Total, m.Default.Total)
	}
	for what, a := range map[string]*view.Amounts{"the cluster": &m.Amounts, "the default partition": &m.Default} {
		if !a.Allocated.IsZero() || !a.Reserved.IsZero() || !a.PendingResource.IsZero() || a.ContainersAllocated|a.ContainersReserved|a.ContainersPending != 0 || a.Available != a.Total {
			return fmt.Sprintf("nothing runs, and %s shows %+v", what, *a)
		}
	}
	if m.Pending != 0 || m.Running != 0 {
		return fmt.Sprintf("nothing runs, and %d applications are pending, %d running", m.Pending, m.Running)
	}
	for id, n := range r.nodes {
		if n.State.Usable() && (!n.Used.IsZero() || !n.Reserved.IsZero() || n.Containers != 0 || len(n.RunningOn) != 0) {
			return fmt.Sprintf("nothing runs, and %s shows %v used, %v reserved, %d containers", id, n.Used, n.Reserved, n.Containers)
		}
	}
	for id, a := range r.apps {
		if u := a.Usage; !u.Used.IsZero() || !u.Reserved.IsZero() || !u.Pending.IsZero() || u.Containers > 0 || u.ReservedContainers > 0 {
			return fmt.Sprintf("%s has ended and shows %+v", id, *u)
		}
	}
	for i := range r.queues.Queues {
		if left := leftIn(&r.queues.Queues[i]); left != "" {
			return "nothing runs, and " + left
		}
	}
	return ""
}

// leftIn names what a queue without applications has.
func leftIn(q *queue.Info) string {
	for _, label := range append(slices.Sorted(maps.Keys(q.Partitions)), "") {
		s := q.In(label)
		if !s.Used.IsZero() || !s.Pending.IsZero() || !s.Reserved.IsZero() || s.AllocatedContainers|s.ReservedContainers|s.PendingContainers != 0 || q.Parent == "" && !s.ReservedUsage.IsZero() {
			return fmt.Sprintf("%s shows in partition %q %+v", q.Path, label, s)
		}
		if q.Capacity == nil {
			continue
		}
		if c := q.Capacity.In(label); !c.AMUsed.IsZero() || c.UsedCapacity != 0 || c.AbsoluteUsed != 0 {
			return fmt.Sprintf("%s shows in partition %q %+v", q.Path, label, c)
		}
	}
	if q.SubmittedApps|q.ActiveApps|q.PendingApps|q.WaitingApps != 0 {
		return fmt.Sprintf("%s has %d applications", q.Path, q.SubmittedApps)
	}
	if f := q.Fair; f != nil && (!f.Demand.IsZero() || !f.AMUsed.IsZero() || f.Runnable|f.NonRunnable != 0) {
		return fmt.Sprintf("%s has %+v", q.Path, *f)
	}
	if q.Capacity == nil {
		return ""
	}
	for _, u := range q.Capacity.Users {
		if !u.Used.IsZero() || !u.AMUsed.IsZero() || u.ActiveApps != 0 || u.PendingApps > 0 { // compat: who was held back is taken off what is pending, and was never there
			return fmt.Sprintf("%s: user %s has %+v", q.Path, u.Name, u)
		}
		for label, s := range u.Partitions {
			if !s.Used.IsZero() || !s.AMUsed.IsZero() {
				return fmt.Sprintf("%s: user %s has in partition %q %+v", q.Path, u.Name, label, s)
			}
		}
	}
	return ""
}
