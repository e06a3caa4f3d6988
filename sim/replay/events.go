package replay

import (
	"fmt"

	"github.com/heddle-project/heddle/sim/trace"
)

// Apply plays one event and returns what it showed. An error is an event that
// cannot be played, because the scenario makes no sense or the model lacks
// something; the world is of no use after it.
func (w *World) Apply(e *trace.Event) (trace.Saw, error) {
	w.now.Wall++
	w.now.Mono++
	w.begin()
	saw := trace.Saw{}
	if err := w.play(e, saw); err != nil {
		return nil, err
	}
	w.observe(saw, e.Do == "beat")
	if e.Do == "preempt-round" {
		w.marked(saw)
	}
	switch e.Do { // what can be told only now
	case "beat":
		return saw, w.reserved(e, saw)
	case "submit":
		w.submitted(e, saw)
	}
	return saw, nil
}

func (w *World) play(e *trace.Event, saw trace.Saw) error {
	switch e.Do {
	case "node-add":
		return w.nodeAdd(e, saw)
	case "node-remove":
		return w.nodeRemove(e)
	case "node-resource":
		return w.nodeResource(e, saw)
	case "node-label":
		return w.nodeLabel(e, saw)
	case "beat":
		return w.beat(e)
	case "submit":
		return w.submit(e, saw)
	case "am-register":
		return w.amRegister(e, saw)
	case "am-finish":
		return w.amFinish(e, saw)
	case "app-kill":
		return w.appKill(e, saw)
	case "app-move":
		return w.appMove(e, saw)
	case "app-priority":
		return w.appPriority(e, saw)
	case "ask":
		return w.ask(e, saw)
	case "refresh-queues":
		return w.refreshQueues(e, saw)
	case "queue-round":
		return w.queueRound(e)
	case "queues":
		saw["queues"] = w.snapshot()
		return nil
	case "preempt-round":
		return w.preemptRound(e, saw)
	case "fair-update", "fair-check":
		return w.fairRound(e)
	}
	return fmt.Errorf("no such event is known")
}

// advance moves the clock by more than the tick of every event.
func (w *World) advance(e *trace.Event) error {
	const day = 24 * 60 * 60 * 1000
	if e.AdvanceMS < 0 || e.AdvanceMS > 1000*day {
		return fmt.Errorf("advance-ms is %d; it must not be negative nor above a thousand days", e.AdvanceMS)
	}
	w.now.Wall += e.AdvanceMS
	w.now.Mono += e.AdvanceMS
	return nil
}

// find is the application with that name.
func (w *World) find(name string) (*app, error) {
	if a := w.apps[name]; a != nil {
		return a, nil
	}
	return nil, fmt.Errorf("no such application: %q", name)
}

// ok notes whether a call succeeded.
func ok(saw trace.Saw, err error) { saw["ok"] = err == nil }
