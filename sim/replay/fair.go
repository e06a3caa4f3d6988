package replay

import (
	"fmt"
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/sim/trace"
	"github.com/heddle-project/heddle/yarn"
)

// fair tells whether the scenario is one of the FairScheduler.
func (w *World) fair() bool { return w.header.Scheduler == "fair" }

// allocations is an allocation file of the scenario.
func allocations(text string) *config.AllocationFile {
	return &config.AllocationFile{Name: "fair-scheduler.xml", Text: text}
}

// fairRound has the FairScheduler remove dynamic queues (fair-check) or update shares.
func (w *World) fairRound(e *trace.Event) error {
	switch {
	case !w.fair():
		return fmt.Errorf("an event of the FairScheduler in a scenario of another")
	case e.Do == "fair-check":
		w.command(engine.TendQueues{Deleting: true})
	default:
		w.command(engine.UpdateShares{})
	}
	return nil
}

// preemptRound moves the clock and has the scheduler preempt.
func (w *World) preemptRound(e *trace.Event, saw trace.Saw) error {
	if err := w.advance(e); err != nil {
		return err
	}
	if w.fair() {
		w.command(engine.UpdateShares{Preempting: true})
	} else {
		w.command(engine.MonitorQueues{})
	}
	return nil
}

// warned is containers that one round of preemption has given notice. They are shown until due, even if they have ended.
type warned struct {
	due   int64
	names []string
}

// marked records which containers are under notice after a round of preemption, and which it has killed.
func (w *World) marked(saw trace.Saw) {
	saw["killed"] = []string{}
	if gone, ok := saw["finished"]; ok {
		saw["killed"] = gone
		delete(saw, "finished")
	}
	if !w.fair() {
		saw["marked"] = w.names(w.sched.Marked(nil))
		return
	}
	w.warned = slices.DeleteFunc(w.warned, func(x warned) bool { return x.due <= w.now.Wall })
	round := warned{due: w.now.Wall + w.killWait}
	for _, id := range w.fx.Notices {
		round.names = append(round.names, w.nameOf(id))
	}
	w.warned = append(w.warned, round)
	names := []string{}
	for _, x := range w.warned {
		names = append(names, x.names...)
	}
	slices.Sort(names)
	saw["marked"] = names
}

// names is containers by name, in order. One that nobody has seen has none.
func (w *World) names(ids []yarn.ContainerID) []string {
	names := []string{}
	for _, id := range ids {
		if b := w.boxOf[id]; b != nil {
			names = append(names, b.name)
		}
	}
	slices.Sort(names)
	return names
}

// demanded is what a master is told of its containers under notice, by name.
func (w *World) demanded(ids []yarn.ContainerID) map[string]any {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = w.nameOf(id)
	}
	slices.Sort(names)
	return map[string]any{"strict": names, "contract": []string{}}
}

// fairQueue is a queue of the FairScheduler.
func (w *World) fairQueue(q *queue.Info) map[string]any {
	f, reserved := q.Fair, q.Default.Reserved
	clear(reserved[yarn.VCores+1:]) // compat: other types are not shown
	m := map[string]any{"used": w.resource(q.Default.Used.Sub(q.Default.Reserved)), "demand": w.resource(f.Demand), "reserved": w.resource(reserved),
		"fair-share": w.resource(f.FairShare), "steady-share": w.resource(f.SteadyShare), "min-share": w.resource(f.MinShare),
		"max-share": w.resource(f.MaxShare), "weight": fraction(f.Weight), "policy": f.Policy, "dynamic": q.Dynamic, "leaf": q.Leaf,
		"apps-runnable": f.Runnable}
	if q.Leaf {
		m["apps-active"], m["apps-pending"] = q.ActiveApps, q.PendingApps
	}
	return m
}
