package sim

import (
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// Periods of the scheduler's periodic work, in steps.
const (
	tendSteps   = 10
	removeSteps = 200 // removes empty queues that were created on demand
)

// noticeTime is the time between a container's notice and its preemption, in milliseconds.
const noticeTime = 2_000

// preempting has the settings of both schedulers' preemption.
var preempting = []config.Property{
	{Name: config.PreemptionPrefix + "max_wait_before_kill", Value: "2000"},
	{Name: config.PreemptionPrefix + "monitoring_interval", Value: "1000"},
	{Name: config.PreemptionPrefix + "total_preemption_per_round", Value: "0.5"},
	{Name: config.PreemptionPrefix + "natural_termination_factor", Value: "1"},
	{Name: config.PreemptionPrefix + "intra-queue-preemption.enabled", Value: "true"},
	{Name: config.PreemptionPrefix + "intra-queue-preemption.preemption-order-policy", Value: "priority_first"},
	{Name: config.FairPrefix + "preemption", Value: "true"},
	{Name: config.FairPrefix + "preemption.cluster-utilization-threshold", Value: "0.2"},
	{Name: config.FairPrefix + "waitTimeBeforeKill", Value: "2000"},
	{Name: config.FairPrefix + "waitTimeBeforeNextStarvationCheck", Value: "1000"},
}

// tend does what the daemon does periodically.
func (t *term) tend() {
	c := t.c
	if c.script != nil {
		return
	}
	post := func(every int, cmd engine.Command) {
		if !t.over && (c.Steps-t.began)%every == 0 {
			t.post(posted{cmd: cmd})
		}
	}
	if c.opt.Reserving {
		post(tendSteps, engine.FollowPlans{})
	}
	switch {
	case t.inForce.Fair != nil:
		post(tendSteps, engine.UpdateShares{Preempting: c.opt.Preempting})
		post(removeSteps, engine.TendQueues{Deleting: true})
	case c.opt.Preempting:
		post(tendSteps, engine.MonitorQueues{})
	}
}

// sized is the size of a node as an administrator or the node set it last.
type sized struct {
	total yarn.Resource
	ends  bool  // containers end for which there is no room
	due   int64 // when they end
}

// resized notes the sizes of nodes. To set the known size again changes nothing.
func (t *term) resized(cmd engine.Command, fx *engine.Effects) {
	for _, x := range fx.Transitions {
		switch x.To {
		case yarn.NodeLost.String(), yarn.NodeRebooted.String(), yarn.NodeDecommissioned.String(), yarn.NodeShutdown.String():
			delete(t.sizes, x.Node)
		}
	}
	for _, r := range fx.Replies {
		switch cmd := cmd.(type) {
		case engine.SetNodeResource:
			if r.Ticket == cmd.Ticket && r.Err == nil && t.sizes[cmd.Node].total != cmd.Total {
				t.sizes[cmd.Node] = sized{cmd.Total, cmd.Overcommit.Ends, t.c.now.Mono + cmd.Overcommit.After}
			}
		case engine.RegisterNode:
			if v, ok := r.Value.(engine.RegisterNodeReply); ok && v.Action == engine.NodeNormal && t.sizes[cmd.Node].total != cmd.Total {
				t.sizes[cmd.Node] = sized{total: cmd.Total}
			}
		}
	}
}

// preempted fails if a container is preempted without notice, or before its notice has run out, unless its node has no room for it and an overcommit timeout ends it.
func (t *term) preempted(e engine.ContainerEvent, fx *engine.Effects) {
	c := t.c
	if e.Born || e.Exit != yarn.ExitPreempted {
		return
	}
	if s := t.sizes[e.Node]; s.ends && s.due <= c.now.Mono && t.tooSmall(e.Node, fx) {
		c.Done["ended because nodes got smaller"]++
		return
	}
	c.Done["preempted"]++
	if e.Master {
		c.Done["masters preempted"]++
	}
	if at, noticed := t.noticed[e.Container]; !noticed || c.now.Mono-at < noticeTime {
		c.fail("%s: container %s was preempted %d ms after it had notice: %t", t, e.Container, c.now.Mono-at, noticed)
	}
}

// tooSmall tells whether a node had no room for all of its containers before a command that ended some.
func (t *term) tooSmall(id yarn.NodeID, fx *engine.Effects) bool {
	ref, there := t.sched.FindNode(id)
	if !there {
		return false
	}
	u := t.sched.NodeUsage(ref)
	used, still := u.Used, map[yarn.ContainerID]bool{}
	for _, ref := range u.Containers {
		still[t.sched.Container(ref).ID] = true
	}
	for _, e := range fx.Containers {
		if !e.Born && e.Node == id && !still[e.Container] {
			used = used.Add(e.Resource)
		}
	}
	return !used.FitsIn(u.Total)
}

// notices notes when each container got notice. A second notice means that the first was withdrawn, unless the node was made smaller: then the
// first one stands.
func (t *term) notices(fx *engine.Effects) {
	for _, id := range fx.Notices {
		t.c.Done["notices of preemption"]++
		if _, known := t.noticed[id]; !known || !t.sizes[t.live[id]].ends {
			t.noticed[id] = t.c.now.Mono
		}
	}
}
