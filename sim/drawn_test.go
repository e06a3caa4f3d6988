package sim

import (
	"math/rand/v2"
	"slices"

	"github.com/heddle-project/heddle/scheduler/config"
)

// drawn returns the cluster of a seed. Of eight, six have the CapacityScheduler: three plain, one with preemption, one with reservations, one with both. Two have the FairScheduler:
// one plain, one with preemption, half of the time with reservations, too.
func drawn(seed uint64, applications int) Options {
	o := Options{Seed: seed, Daemons: 1 + int(seed%2), Nodes: 3 + int(seed%5), Applications: applications, Events: seed%4 > 1, Dominant: seed%3 == 0}
	rng := rand.New(rand.NewPCG(seed, 2))
	kind := rng.IntN(8)
	o.Preempting = slices.Contains([]int{3, 5, 7}, kind)
	o.Reserving = slices.Contains([]int{4, 5}, kind) || kind == 7 && rng.IntN(2) == 0
	if kind < 6 {
		var more []config.Property
		if o.Reserving {
			more = plan
		}
		o.Queues, o.Others = queues(more...), others(more...)
		return o
	}
	o.Queues, o.Others = fair(o.Reserving)
	return o
}

// plan has the settings of a queue that can be reserved.
var plan = []config.Property{{Name: config.Prefix + "root.queues", Value: "a,b,c,plan"}, {Name: config.Prefix + "root.a.capacity", Value: "20"},
	{Name: config.Prefix + "root.plan.capacity", Value: "30"}, {Name: config.Prefix + "root.plan.reservable", Value: "true"},
	{Name: config.Prefix + "root.plan.reservation-window", Value: "5000"}}

// fair returns queues of the FairScheduler, and the configurations to which refreshes may change; one of these is refused, and one lacks a queue.
func fair(reserving bool) (*Queues, []*Queues) {
	reserved := ""
	if reserving {
		reserved = `<queue name="plan"><reservation/></queue>`
	}
	file := func(text string) *Queues {
		return &Queues{Allocations: "<allocations>" + text + reserved + "</allocations>"}
	}
	const (
		a = `<queue name="a"><weight>2</weight><minResources>4096 mb, 2 vcores</minResources><minSharePreemptionTimeout>2</minSharePreemptionTimeout></queue>`
		b = `<queue name="b"><maxRunningApps>6</maxRunningApps><fairSharePreemptionTimeout>3</fairSharePreemptionTimeout><fairSharePreemptionThreshold>0.8</fairSharePreemptionThreshold></queue>`
		c = `<queue name="c"><maxResources>60%</maxResources><maxAMShare>0.6</maxAMShare></queue>`
	)
	return file(a + b + c + "<userMaxAppsDefault>8</userMaxAppsDefault>"), []*Queues{
		file(a + `<queue name="b"><weight>3</weight><allowPreemptionFrom>false</allowPreemptionFrom></queue>` + c + "<defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>"),
		file(a + `<queue name="b"><schedulingPolicy>fifo</schedulingPolicy></queue><queue name="c"><maxRunningApps>2</maxRunningApps></queue>`),
		file(a + b),
		file(`<queue name="a"><weight>heavy</weight></queue>`),
	}
}
