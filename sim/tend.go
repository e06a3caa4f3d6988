package sim

import (
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// Periods of the scheduler's own work, in steps.
const (
	tendSteps   = 10
	removeSteps = 200 // empty queues that were made on demand
)

// noticeTime is how long a container has notice before it is preempted, in milliseconds.
const noticeTime = 2_000

// preempting are the settings of either scheduler's preemption.
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

// tend does what the daemon does from time to time.
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

// sized is what was last said of a node's size, by an administrator or by the node.
type sized struct {
	total yarn.Resource
	ends  bool  // what it has no room for
	due   int64 // then
}

// resized follows the sizes of nodes. Who says the one that is known changes nothing.
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

// preempted sees that no container is preempted that had no notice in time, unless its node has no room for it and somebody wants it to end then.
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

// notices enters who has had notice. Who gets it again has had it withdrawn in between, unless its node gets smaller: that is another notice, and the
// earlier one stands.
func (t *term) notices(fx *engine.Effects) {
	for _, id := range fx.Notices {
		t.c.Done["notices of preemption"]++
		if _, known := t.noticed[id]; !known || !t.sizes[t.live[id]].ends {
			t.noticed[id] = t.c.now.Mono
		}
	}
}
