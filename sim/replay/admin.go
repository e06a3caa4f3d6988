package replay

import (
	"fmt"
	"math"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/sim/trace"
)

func (w *World) refreshQueues(e *trace.Event, saw trace.Saw) error {
	if w.fair() != (e.Fair != "") || e.Capacity == nil && !w.fifo() && !w.fair() {
		return fmt.Errorf("refresh-queues needs the properties of capacity-scheduler, or the text of fair-scheduler, as the header says")
	}
	site, cluster, err := w.reread(e.Capacity)
	if err != nil {
		return err
	}
	c := engine.RefreshQueues{Ticket: w.next()}
	if w.fair() {
		site, cluster.Allocations = w.site, allocations(e.Fair)
	}
	if c.Config, err = queues(e.Capacity, site, cluster); err != nil {
		c.Problem = err.Error()
	}
	_, err = w.call(c.Ticket, c)
	ok(saw, err)
	return nil
}

func (w *World) queueRound(e *trace.Event) error {
	if err := w.advance(e); err != nil {
		return err
	}
	switch e.Policy {
	case "", "delete":
		if !w.tended {
			w.tended = true // the recorder makes the policy for its first run, and a new one looks around at once
			w.command(engine.TendQueues{Deleting: true})
		}
		w.command(engine.TendQueues{Deleting: true})
	case "manage":
		w.command(engine.TendQueues{})
	default:
		return fmt.Errorf("no such policy for automatically created queues: %q", e.Policy)
	}
	return nil
}

// snapshot is the state of every queue.
func (w *World) snapshot() map[string]any {
	if w.header.Recorder < quiet {
		w.sched.CountUsers()
	}
	out := map[string]any{}
	for _, q := range w.sched.Queues().Queues {
		switch {
		case w.fifo():
			out[q.Path] = w.onlyQueue(&q)
		case w.fair():
			out[q.Path] = w.fairQueue(&q)
		default:
			out[q.Path] = w.queue(&q)
		}
	}
	return out
}

// onlyQueue is the queue of the FifoScheduler.
func (w *World) onlyQueue(q *queue.Info) map[string]any {
	return map[string]any{"used": w.resource(q.Default.Used), "capacity": fraction(1), "max-capacity": fraction(1),
		"used-capacity": fraction(q.Fifo.UsedCapacity), "state": q.State.String(), "apps": q.SubmittedApps}
}

func (w *World) queue(q *queue.Info) map[string]any {
	c := q.Capacity
	m := w.share(q.Default, c.Default)
	m["state"], m["dynamic"], m["priority"] = q.State.String(), q.Dynamic, c.Priority
	if q.Leaf {
		m["apps-active"], m["apps-pending"] = q.ActiveApps, q.PendingApps
		m["am-used"], m["am-limit"] = w.resource(c.Default.AMUsed), w.resource(c.Default.AMLimit)
		users := map[string]any{}
		for _, u := range c.Users {
			users[u.Name] = map[string]any{"used": w.resource(u.Used), "am-used": w.resource(u.AMUsed),
				"apps-active": u.ActiveApps, "apps-pending": u.PendingApps, "limit": w.resource(u.Limit)}
		}
		m["users"] = users
	}
	if len(w.header.Labels) > 0 {
		partitions := map[string]any{}
		for label := range w.header.Labels { //tidy:unordered into a map
			own, known := c.Partitions[label]
			if !known {
				own.Weight = -1
			}
			partitions[label] = w.share(q.Partitions[label], own)
		}
		m["partitions"] = partitions
	}
	return m
}

// share holds the fields that a queue has in every partition.
func (w *World) share(s queue.Share, c queue.CapacityShare) map[string]any {
	return map[string]any{
		"used": w.resource(s.Used), "pending": w.resource(s.Pending), "reserved": w.resource(s.ReservedUsage),
		"effective-min": w.resource(s.EffectiveMin), "effective-max": w.resource(s.EffectiveMax),
		"capacity": fraction(c.Capacity), "max-capacity": fraction(c.MaxCapacity),
		"absolute-capacity": fraction(c.AbsoluteCapacity), "absolute-max": fraction(c.AbsoluteMax),
		"used-capacity": fraction(c.UsedCapacity), "absolute-used": fraction(c.AbsoluteUsed), "weight": fraction(c.Weight),
	}
}

// fraction is a number with six decimals; what JSON has no number for is text.
func fraction(f float32) any {
	switch d := float64(f); {
	case math.IsNaN(d):
		return "NaN"
	case math.IsInf(d, 1):
		return "Infinity"
	case math.IsInf(d, -1):
		return "-Infinity"
	default:
		return math.Round(d*1e6) / 1e6
	}
}
