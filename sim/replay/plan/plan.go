// Package plan plays recorded scenarios of a plan of reservations. Nothing is around the
// plan: the checks of the input in front of it are made here, as the protocol makes them.
package plan

import (
	"errors"
	"fmt"

	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/scheduler/reserve"
	"github.com/heddle-project/heddle/scheduler/reserve/timeline"
	"github.com/heddle-project/heddle/sim/trace"
	"github.com/heddle-project/heddle/yarn"
)

// queue is the plan's queue in every trace.
const queue = "root.plan"

// World is a plan and what its clients know of it.
type World struct {
	plan  *reserve.Plan
	known map[int64]bool // ids that were ever accepted: their queue is never forgotten
}

// New is the plan that a header describes. What goes wrong in Apache goes wrong in it.
func New(h *trace.PlanHeader) (*World, error) {
	w, err := create(h)
	if err == nil {
		w.plan.LikeApache()
	}
	return w, err
}

func create(h *trace.PlanHeader) (*World, error) {
	s := reserve.Settings{Early: h.FavorEarly, Smoothness: h.Smoothness, Window: h.Window, Average: h.Average, Peak: h.Peak,
		Enforcement: h.Enforcement, Step: h.Step, MaxPeriod: h.MaxPeriodicity, Calc: measure.Calculator{Types: 2}}
	switch h.Calculator {
	case "default":
	case "dominant":
		s.Calc.Dominant = true
	default:
		return nil, fmt.Errorf("no calculator is called %q; there are default and dominant", h.Calculator)
	}
	switch h.Agent {
	case "aligned":
	case "greedy":
		s.Agent = reserve.Greedy
	default:
		return nil, fmt.Errorf("no agent is called %q; there are aligned and greedy", h.Agent)
	}
	switch h.Policy {
	case "capacity-over-time":
	case "no-over-commit":
		s.Sharing = reserve.NoOverCommit
	default:
		return nil, fmt.Errorf("no policy is called %q; there are capacity-over-time and no-over-commit", h.Policy)
	}
	var err error
	if s.Max, err = resource(h.Max); err != nil {
		return nil, err
	}
	size, err := resource(h.Resource)
	if err != nil {
		return nil, err
	}
	return &World{reserve.NewPlan(s, size), map[int64]bool{}}, nil
}

// Apply plays one event and returns what there is to be seen of it. An error means that
// the event cannot be played.
func (w *World) Apply(e *trace.PlanEvent) (trace.Saw, error) {
	switch e.Do {
	case "submit", "update":
		return w.change(e)
	case "delete":
		return saw(w.remove(e), trace.Saw{})
	case "capacity":
		size, err := resource(e.Resource)
		if err != nil {
			return nil, err
		}
		w.plan.SetCapacity(size)
		return trace.Saw{"ok": true}, nil
	case "replan":
		gone, err := w.plan.Replan(e.Now)
		return w.gone(gone), err
	case "archive":
		return w.gone(w.plan.Archive(e.Now)), nil
	case "list":
		return w.list(e)
	case "query":
		return w.query(e)
	}
	return nil, errors.New("no such event is known")
}

// saw is an answer, or the refusal in its place.
func saw(err error, s trace.Saw) (trace.Saw, error) {
	if err == nil {
		s["ok"] = true
		return s, nil
	}
	var r *reserve.Refusal
	if !errors.As(err, &r) {
		return nil, err
	}
	return trace.Saw{"ok": false, "error": string(r.Kind), "message": r.Message}, nil
}

func invalid(format string, args ...any) error {
	return &reserve.Refusal{Kind: reserve.Invalid, Message: fmt.Sprintf(format, args...)}
}

// change is a submission or an update.
func (w *World) change(e *trace.PlanEvent) (trace.Saw, error) {
	d, err := definition(e)
	if err != nil {
		return nil, err
	}
	update := e.Do == "update"
	same := !update && e.ID != nil && w.plan.Reservation(id(e.ID)) != nil
	err = w.tryChange(e, d, update)
	out := trace.Saw{}
	if err == nil {
		w.known[*e.ID] = true
		out = shape(w.plan.Reservation(id(e.ID)))
		if same {
			out["same"] = true
		}
	}
	if out, err = saw(err, out); err == nil && update && e.ID != nil && out["ok"] == false {
		out["still"] = w.plan.Reservation(id(e.ID)) != nil
	}
	return out, err
}

func (w *World) tryChange(e *trace.PlanEvent, d *yarn.ReservationDefinition, update bool) error {
	switch {
	case e.ID == nil:
		return invalid("Missing reservation id. Please try again by specifying a reservation id.")
	case update && !w.known[*e.ID]:
		return unknown(*e.ID)
	case !update:
		if err := ours(e.Queue); err != nil {
			return err
		}
	}
	if err := w.plan.Check(e.Now, d); err != nil {
		return err
	}
	if update {
		return w.plan.Update(e.Now, id(e.ID), e.User, *d)
	}
	return w.plan.Submit(e.Now, id(e.ID), e.User, *d)
}

func unknown(n int64) error {
	return invalid("The specified reservation with ID: %d is unknown. Please try again with a valid reservation.", n)
}

// ours refuses a queue that is not the plan's. Without one it is.
func ours(name *string) error {
	switch {
	case name == nil || *name == queue:
		return nil
	case *name == "":
		return invalid("The queue is not specified. Please try again with a valid reservable queue.")
	}
	return invalid("The specified queue: %s is not managed by reservation system. Please try again with a valid reservable queue.", *name)
}

func (w *World) remove(e *trace.PlanEvent) error {
	switch {
	case e.ID == nil:
		return invalid("Missing reservation id. Please try again by specifying a reservation id.")
	case !w.known[*e.ID]:
		return unknown(*e.ID)
	}
	return w.plan.Delete(id(e.ID))
}

func (w *World) list(e *trace.PlanEvent) (trace.Saw, error) {
	start, end := int64(0), int64(-1)
	if e.Start != nil {
		start = *e.Start
	}
	if e.End != nil {
		end = *e.End
	}
	if end <= -1 {
		end = timeline.End
	}
	if end < start {
		return saw(invalid("The specified end time must be greater than the specified start time."), nil)
	}
	if err := ours(e.Queue); err != nil {
		return saw(err, nil)
	}
	found := w.plan.List(max(start, 0), end)
	if e.ID != nil {
		found = nil
		if r := w.plan.Reservation(id(e.ID)); r != nil {
			found = append(found, r)
		}
	}
	return trace.Saw{"ok": true, "ids": numbers(found)}, nil
}
