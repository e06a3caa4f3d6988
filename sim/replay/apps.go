package replay

import (
	"errors"
	"fmt"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/sim/trace"
	"github.com/heddle-project/heddle/yarn"
)

func (w *World) submit(e *trace.Event, saw trace.Saw) error {
	if w.apps[e.App] != nil || e.App == "" {
		return fmt.Errorf("an application needs a name of its own, %q is not", e.App)
	}
	am, err := w.amounts(e.AM)
	if err != nil {
		return err
	}
	t := w.next()
	v, err := w.call(t, engine.NewApplication{Ticket: t})
	if err != nil {
		return err
	}
	a := &app{name: e.App, user: e.User, id: v.(engine.NewApplicationReply).ID}
	w.apps[a.name], w.byID[a.id] = a, a
	s := engine.Submission{ID: a.id, User: e.User, Groups: w.header.Groups[e.User], Name: e.App, Queue: e.Queue, Type: "YARN",
		Tags: e.Tags, LifetimeSeconds: e.Lifetime,
		AMAsks: []yarn.Ask{{AllocationRequestID: -1, Where: yarn.AnyHost, Capability: am, Count: 1, RelaxLocality: true}}}
	if e.Priority != nil {
		s.Priority, s.PrioritySet = *e.Priority, true
	}
	if e.AMLabel != nil {
		s.AMAsks[0].Label, s.AMAsks[0].LabelSet = *e.AMLabel, true
	}
	t = w.next()
	if _, err = w.call(t, engine.Submit{Ticket: t, Application: s}); err != nil {
		saw["state"] = "REFUSED"
	}
	return refusalOnly(err)
}

// submitted adds the state that the application has now and its queue.
func (w *World) submitted(e *trace.Event, saw trace.Saw) {
	a := w.apps[e.App]
	saw["queue"] = nil
	if saw["state"] != nil {
		return
	}
	saw["state"] = a.state
	if a.state == yarn.AppAccepted.String() {
		var seen seeker
		w.engine.Publish(w.now, &seen)
		saw["queue"] = seen.queues[a.id]
	}
}

// seeker takes the queues of applications from the views.
type seeker struct{ queues map[yarn.ApplicationID]string }

func (s *seeker) Application(v *view.Application) {
	if s.queues == nil {
		s.queues = map[yarn.ApplicationID]string{}
	}
	s.queues[v.ID] = v.Queue
}

func (*seeker) Containers(*view.AppContainers)       {}
func (*seeker) ForgetApplication(yarn.ApplicationID) {}
func (*seeker) Node(*view.Node)                      {}
func (*seeker) ForgetNode(yarn.NodeID)               {}
func (*seeker) Labels(*view.Labels)                  {}
func (*seeker) Counts(view.Metrics)                  {}
func (*seeker) Queues(*queue.Snapshot)               {}

// refusalOnly drops errors that are refusals of the engine, which are answers, and returns any other.
func refusalOnly(err error) error {
	var refusal *engine.Error
	if errors.As(err, &refusal) {
		return nil
	}
	return err
}

// amRegister has the node start the master's container, and the master make its first
// call.
func (w *World) amRegister(e *trace.Event, saw trace.Saw) error {
	a, err := w.find(e.App)
	if err != nil {
		return err
	}
	w.command(engine.Launched{Attempt: a.attempt})
	t := w.next()
	_, err = w.call(t, engine.RegisterMaster{Ticket: t, Attempt: a.attempt, Host: "h", RPCPort: 1})
	if err == nil {
		a.registered, a.responseID, a.untold = a.attempt, 0, nil
	}
	ok(saw, err)
	return refusalOnly(err)
}

func (w *World) amFinish(e *trace.Event, saw trace.Saw) error {
	a, err := w.find(e.App)
	if err != nil {
		return err
	}
	t := w.next()
	_, err = w.call(t, engine.FinishMaster{Ticket: t, Attempt: a.registered, FinalStatus: yarn.FinalSucceeded})
	ok(saw, err)
	return refusalOnly(err)
}

func (w *World) appKill(e *trace.Event, saw trace.Saw) error {
	a, err := w.find(e.App)
	if err != nil {
		return err
	}
	t := w.next()
	_, err = w.call(t, engine.Kill{Ticket: t, Application: a.id})
	ok(saw, err)
	return refusalOnly(err)
}

func (w *World) appMove(e *trace.Event, saw trace.Saw) error {
	a, err := w.find(e.App)
	if err != nil {
		return err
	}
	t := w.next()
	_, err = w.call(t, engine.Move{Ticket: t, Application: a.id, Queue: e.Queue, User: a.user})
	ok(saw, err)
	return refusalOnly(err)
}

func (w *World) appPriority(e *trace.Event, saw trace.Saw) error {
	a, err := w.find(e.App)
	if err != nil {
		return err
	}
	if e.Priority == nil {
		return errors.New("no priority is given")
	}
	t := w.next()
	v, err := w.call(t, engine.SetPriority{Ticket: t, Application: a.id, Priority: *e.Priority})
	if err == nil {
		saw["priority"] = v.(engine.PriorityReply).Priority
	}
	ok(saw, err)
	return refusalOnly(err)
}
