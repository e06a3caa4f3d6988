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

// preempted fails if a container is preempted without notice, or before its notice has run out.
func (t *term) preempted(e engine.ContainerEvent) {
	c := t.c
	if e.Born || e.Exit != yarn.ExitPreempted {
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

// notices notes when each container first got notice.
func (t *term) notices(fx *engine.Effects) {
	for _, id := range fx.Notices {
		t.c.Done["notices of preemption"]++
		if _, known := t.noticed[id]; !known {
			t.noticed[id] = t.c.now.Mono
		}
	}
}
