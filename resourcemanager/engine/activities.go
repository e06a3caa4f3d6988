package engine

import (
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

// refusals are Hadoop's words (ActivityDiagnosticConstant) for reasons; other reasons have our own alone.
var refusals = map[yarn.Code]struct {
	short  string
	ofNode bool
}{
	fit.NothingAsked:       {"Application does not need more resource", false},
	fit.QueueLimit:         {"Queue hits max-capacity limit", false},
	fit.ParentLimit:        {"Queue hits max-capacity limit", false},
	fit.UserLimit:          {"Queue hits user max-capacity limit", false},
	fit.UserUnknown:        {"Queue hits user max-capacity limit", false},
	fit.Headroom:           {"Queue does not have enough headroom for inner highest-priority request", false},
	fit.PartitionDenied:    {"Queue is not able to access partition", false},
	fit.NodeFull:           {"Node does not have sufficient resource for request", true},
	fit.NodeTooSmall:       {"Node's total resource is insufficient for request", true},
	fit.NodeReserved:       {"Node has been reserved", true},
	fit.Blacklisted:        {"Node is blacklisted", true},
	fit.OtherPartition:     {"Node does not match partition or placement constraints", true},
	fit.LocalityDelay:      {"Node skipped because of off-switch delay", true},
	fit.StrictLocality:     {"Node skipped because relax locality is not allowed", true},
	fit.ShareDelay:         {"Request skipped because non-partitioned resource request should be scheduled to non-partitioned partition first", false},
	fit.ReservationsEnough: {"Request skipped based on reservation algo", false},
}

// queueWantsNothing is Hadoop's for a queue below which nothing is asked for; initialNode for a node without room for the smallest container.
const (
	queueWantsNothing = "Queue does not need more resource"
	initialNode       = "Initial check: node resource is insufficient for minimum allocation"
)

// NodeActivities are what an offer of the node would do now, one entry for each walk; none if the scheduler does not know the node, or does not tell.
func (e *Engine) NodeActivities(id yarn.NodeID) []view.NodeActivities {
	n := e.nodes[id]
	if n == nil || n.ref == scheduler.NoNode {
		return nil
	}
	return e.activities(nil, e.sched.Activities(n.ref))
}

// AppActivities are what offers of at most so many nodes would do for the application; none for one that the scheduler does not have.
func (e *Engine) AppActivities(id yarn.ApplicationID, most int) []view.NodeActivities {
	a := e.apps[id]
	if a == nil || a.ref == scheduler.NoApp {
		return nil
	}
	return e.activities(a, e.sched.AppActivities(a.ref, most))
}

func (e *Engine) activities(a *application, list []scheduler.NodeActivity) (out []view.NodeActivities) {
	for i := range list {
		x, leaf := &list[i], ""
		if a != nil {
			leaf = e.sched.LeafOf(a.ref)
		}
		v := view.NodeActivities{Node: x.Node, Label: x.Label, State: outcome(x.Outcome), Why: e.refusal(a, leaf, x.Why, core.AtApp), Root: e.activity(a, leaf, x.Root),
			Queue: leaf, Cut: x.Cut}
		if a == nil && x.Why.Code == fit.NodeFull && len(x.Root.Below) == 0 {
			v.Root.Why.Short = initialNode
		}
		out = append(out, v)
	}
	return out
}

func outcome(o core.Outcome) string {
	switch o {
	case core.Allocated:
		return "ALLOCATED"
	case core.Reserved:
		return "RESERVED"
	}
	return "SKIPPED"
}

// activity is what was done in a queue, as it is shown.
func (e *Engine) activity(a *application, in string, x *scheduler.Activity) *view.Activity {
	if x.Level == core.AtQueue {
		in = x.Name
	}
	v := &view.Activity{Name: x.Name, App: x.Level == core.AtApp, Request: x.Level == core.AtRequest, Priority: x.Priority, RequestID: x.RequestID,
		State: outcome(x.Outcome), Why: e.refusal(a, in, x.Why, x.Level)}
	if x.Outcome != core.Nothing && x.Level != core.AtRequest {
		v.State = "ACCEPTED"
	}
	if a != nil && v.App && x.Outcome != core.Nothing {
		v.State = outcome(x.Outcome)
	}
	for _, b := range x.Below {
		v.Below = append(v.Below, e.activity(a, in, b))
	}
	return v
}

func (e *Engine) refusal(a *application, in string, why yarn.Reason, at core.Level) view.Refusal {
	if why.OK() {
		return view.Refusal{}
	}
	w := waiting{Reason: why, amount: e.amount, queue: in}
	if a != nil {
		w.master = e.sched.Admission(a.ref).AM
	}
	r := refusals[why.Code]
	out := view.Refusal{Code: why.Code, Short: r.short, Text: w.text(), OfNode: r.ofNode}
	if why.Code == fit.NothingAsked {
		out.Text = ""
	}
	if why.Code == fit.NothingAsked && at == core.AtQueue {
		out.Short = queueWantsNothing
	}
	if out.Short == "" {
		out.Short, out.Text = out.Text, ""
	}
	return out
}
