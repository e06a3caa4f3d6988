package plan

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/heddle-project/heddle/scheduler/reserve"
	"github.com/heddle-project/heddle/scheduler/reserve/timeline"
	"github.com/heddle-project/heddle/sim/trace"
	"github.com/heddle-project/heddle/yarn"
)

// id is a reservation's identifier, the zero one without a number.
func id(n *int64) yarn.ReservationID {
	if n == nil {
		return yarn.ReservationID{}
	}
	return yarn.ReservationID{ClusterTimestamp: 1, Number: *n}
}

func resource(a trace.Amounts) (yarn.Resource, error) {
	var out yarn.Resource
	for name, n := range a {
		i := yarn.BasicResourceTypes().Index(name)
		if i < 0 {
			return out, fmt.Errorf("a plan has memory-mb and vcores, not %s", name)
		}
		out[i] = n
	}
	return out, nil
}

// definition is what the server reads from the message that carries it. In the message
// an arrival that is not above 0 is left out, and the recurrence has a default.
func definition(e *trace.PlanEvent) (*yarn.ReservationDefinition, error) {
	if e.NoDefinition {
		return nil, nil
	}
	d := &yarn.ReservationDefinition{Arrival: max(e.Arrival, 0), Deadline: max(e.Deadline, 0), Recurrence: "0"}
	if e.Recurrence != nil {
		d.Recurrence = *e.Recurrence
	}
	if e.Requests == nil {
		return d, nil
	}
	var err error
	if d.Interpreter, err = interpreter(e.Interpreter); err != nil {
		return nil, err
	}
	d.Stages = []yarn.ReservationStage{}
	for _, r := range *e.Requests {
		size, err := resource(r.Resource)
		if err != nil {
			return nil, err
		}
		d.Stages = append(d.Stages, yarn.ReservationStage{Capability: size, Containers: r.Count, Concurrency: r.Concurrency, Duration: r.Duration})
	}
	return d, nil
}

func interpreter(name string) (yarn.Interpreter, error) {
	for i := yarn.AnyStage; i <= yarn.OrderedNoGap; i++ {
		if i.String() == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("no interpreter is called %q", name)
}

// shape is what a reservation gets.
func shape(r *reserve.Reservation) trace.Saw {
	if r == nil {
		return trace.Saw{"absent": true}
	}
	pieces := []any{}
	for _, i := range inOrder(inOrder(r.Intervals)) {
		pieces = append(pieces, []any{i.Start, i.End, amounts(i.Resource)})
	}
	return trace.Saw{"start": r.Start, "end": r.End, "allocation": points(r.Line()), "intervals": pieces}
}

// inOrder puts intervals into the order of a sorted map of Apache's that takes them up one after the other. It compares by differences,
// which overflow where an interval is as long as half of all time; then the order of arrival counts.
func inOrder(in []reserve.Interval) []reserve.Interval {
	type node struct{ left, right *node }
	nodes := make([]node, len(in))
	index := map[*node]int{}
	for i := range in {
		index[&nodes[i]] = i
		for at := &nodes[0]; i > 0; {
			a, b := in[i], in[index[at]]
			d := a.Start - b.Start
			if d == 0 {
				d = a.End - b.End
			}
			side := &at.right
			if d < 0 {
				side = &at.left
			}
			if *side == nil {
				*side = &nodes[i]
				break
			}
			at = *side
		}
	}
	var out []reserve.Interval
	var walk func(*node)
	walk = func(n *node) {
		if n != nil {
			walk(n.left)
			out = append(out, in[index[n]])
			walk(n.right)
		}
	}
	if len(in) > 0 {
		walk(&nodes[0])
	}
	return out
}

func amounts(r yarn.Resource) map[string]int64 {
	return map[string]int64{"memory-mb": r[yarn.Memory], "vcores": r[yarn.VCores]}
}

func points(l timeline.Line) []any {
	out := []any{}
	for _, p := range l {
		if p.Known {
			out = append(out, []any{p.At, amounts(p.Amount)})
		} else {
			out = append(out, []any{p.At, nil})
		}
	}
	return out
}

func numbers(rs []*reserve.Reservation) []int64 {
	out := []int64{}
	for _, r := range rs {
		out = append(out, r.ID.Number)
	}
	slices.Sort(out)
	return out
}

// gone is what left the plan, and what is left in it.
func (w *World) gone(ids []yarn.ReservationID) trace.Saw {
	removed := []int64{}
	for _, one := range ids {
		removed = append(removed, one.Number)
	}
	slices.Sort(removed)
	return trace.Saw{"ok": true, "removed": removed, "left": numbers(w.plan.All())}
}

// query looks into the plan.
func (w *World) query(e *trace.PlanEvent) (trace.Saw, error) {
	start := e.Now
	if e.Start != nil {
		start = *e.Start
	}
	end := start
	if e.End != nil {
		end = *e.End
	}
	committed, err := w.plan.Committed(start, end)
	user, err2 := w.plan.Consumed(e.User, start, end)
	count, err3 := w.plan.Counted(e.User, start, end)
	if err := errors.Join(err, err2, err3); err != nil {
		return saw(err, nil)
	}
	out := trace.Saw{"capacity": amounts(w.plan.Capacity()), "last-end": w.plan.LastEnd(), "committed-at": amounts(w.plan.CommittedAt(start)),
		"committed": points(committed), "user": points(user), "count": counts(count), "overlapping": numbers(w.plan.List(start, end))}
	free, err := w.plan.Available(e.User, id(e.ID), start, end, e.Period)
	var r *reserve.Refusal
	switch {
	case errors.As(err, &r):
		out["available-error"] = string(r.Kind)
	case err != nil:
		return nil, err
	default:
		out["available"] = points(free)
	}
	active := w.plan.Active(start)
	at := map[string]any{}
	for _, r := range active {
		at[strconv.FormatInt(r.ID.Number, 10)] = amounts(atFirst(r, start))
	}
	out["active"], out["at"] = numbers(active), at
	return out, nil
}

// atFirst is what Apache says that a reservation has: nothing after its first instance.
func atFirst(r *reserve.Reservation, t int64) yarn.Resource {
	if t >= r.End {
		return yarn.Resource{}
	}
	return r.At(t)
}

// counts are points of which the memory alone means something.
func counts(l timeline.Line) []any {
	out := []any{}
	for _, p := range l {
		if p.Known {
			out = append(out, []any{p.At, p.Amount[yarn.Memory]})
		} else {
			out = append(out, []any{p.At, nil})
		}
	}
	return out
}
