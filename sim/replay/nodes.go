package replay

import (
	"fmt"
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/sim/trace"
	"github.com/heddle-project/heddle/yarn"
)

func (w *World) nodeAdd(e *trace.Event, saw trace.Saw) error {
	id, err := yarn.ParseNodeID(e.Node)
	if err != nil {
		return err
	}
	total, err := w.amounts(e.Resource)
	if err != nil {
		return err
	}
	if e.Label != "" {
		if _, known := w.header.Labels[e.Label]; !known {
			return fmt.Errorf("partition %q is not in the header's node-labels", e.Label)
		}
		w.labels[e.Node] = e.Label
	}
	rack := e.Rack
	if rack == "" {
		rack = "/default-rack"
	}
	t := w.next()
	v, err := w.call(t, engine.RegisterNode{Ticket: t, Node: id, HTTPPort: 8042, Rack: rack, Total: total,
		Physical: total, Label: w.labels[e.Node], Health: engine.Health{Healthy: true}})
	if err != nil {
		return err
	}
	good := v.(engine.RegisterNodeReply).Action == engine.NodeNormal
	if good {
		w.nodes[e.Node] = &machine{id: id}
	}
	saw["ok"] = good
	return nil
}

// machine is the node of the event.
func (w *World) machine(e *trace.Event) (*machine, error) {
	if m := w.nodes[e.Node]; m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("no such node: %q", e.Node)
}

func (w *World) nodeRemove(e *trace.Event) error {
	m, err := w.machine(e)
	if err != nil {
		return err
	}
	delete(w.nodes, e.Node)
	delete(w.live, e.Node)
	w.command(engine.ExpireNode{Node: m.id})
	return nil
}

func (w *World) nodeResource(e *trace.Event, saw trace.Saw) error {
	m, err := w.machine(e)
	if err != nil {
		return err
	}
	total, err := w.amounts(e.Resource)
	if err != nil {
		return err
	}
	t := w.next()
	_, err = w.call(t, engine.SetNodeResource{Ticket: t, Node: m.id, Total: total})
	ok(saw, err)
	return nil
}

func (w *World) nodeLabel(e *trace.Event, saw trace.Saw) error {
	m, err := w.machine(e)
	if err != nil {
		return err
	}
	if _, known := w.header.Labels[e.Label]; !known && e.Label != "" {
		saw["ok"] = false // refused before the nodes hear of it
		return nil
	}
	w.labels[e.Node] = e.Label
	t := w.next()
	_, err = w.call(t, engine.SetNodeLabel{Ticket: t, Node: m.id, Label: e.Label})
	ok(saw, err)
	return nil
}

// beat reports all containers that their masters have fetched and that are
// alive, as running or as completed.
func (w *World) beat(e *trace.Event) error {
	m, err := w.machine(e)
	if err != nil {
		return err
	}
	h := &engine.Heartbeat{Ticket: w.next(), Node: m.id, ResponseID: m.responseID, Health: engine.Health{Healthy: true, At: w.now.Wall}}
	w.live[e.Node] = slices.DeleteFunc(w.live[e.Node], func(b *box) bool { return !b.live })
	for _, b := range w.live[e.Node] {
		if b.acquired {
			h.Containers = append(h.Containers, engine.ContainerStatus{ID: b.id, Complete: slices.Contains(e.Completed, b.name)})
		}
	}
	v, err := w.call(h.Ticket, h)
	if err != nil {
		return err
	}
	r := v.(*engine.HeartbeatReply)
	if r.Action != engine.NodeNormal || r.Duplicate {
		return fmt.Errorf("defect: the heartbeat was answered with action %d, duplicate %t: %s", r.Action, r.Duplicate, r.Diagnostics)
	}
	m.responseID = r.ResponseID
	return nil
}

// reserved tells for whom the node is held after its heartbeat.
func (w *World) reserved(e *trace.Event, saw trace.Saw) error {
	saw["reserved"] = nil
	ref, found := w.sched.FindNode(w.nodes[e.Node].id)
	if !found {
		return nil
	}
	held := w.sched.NodeUsage(ref).Reserved
	if held == scheduler.NoContainer {
		return nil
	}
	c := w.sched.Container(held)
	owner := w.byID[c.ID.Attempt.Application]
	if owner == nil {
		return fmt.Errorf("defect: the reservation on %s belongs to nobody known: %s", e.Node, c.ID)
	}
	saw["reserved"] = map[string]any{"app": owner.name, "priority": c.Priority, "resource": w.resource(c.Resource)}
	return nil
}
