package compare

import (
	"fmt"
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/blackbox"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/yarn"
)

// extractor makes a workload of commands and their effects. It is a replay.Watcher.
type extractor struct {
	work     *Workload
	begun    bool
	now      int64 // since the first event
	nodes    map[yarn.NodeID]int32
	racks    map[string]string // of hosts
	apps     map[yarn.ApplicationID]*life
	attempts map[yarn.AttemptID]*attempt
	runs     map[yarn.ContainerID]*run
	calls    map[engine.Ticket]func(value any, failed bool)
	called   map[yarn.NodeID]int64
	beating  yarn.NodeID // whose call the command is; zero: it is none
	before   int64       // that node's call before
	left     counts
	err      error
}

// counts are how much of a recording is left out.
type counts struct{ recovered, refreshes, updates, unfinished, unknown int }

// life is an application while its workload is made.
type life struct {
	app    *App
	index  int32 // of Workload.Apps
	last   *attempt
	killed bool
}

func newExtractor(name string) *extractor {
	return &extractor{work: &Workload{Name: name}, nodes: map[yarn.NodeID]int32{}, racks: map[string]string{}, apps: map[yarn.ApplicationID]*life{},
		attempts: map[yarn.AttemptID]*attempt{}, runs: map[yarn.ContainerID]*run{}, called: map[yarn.NodeID]int64{}, calls: map[engine.Ticket]func(any, bool){}}
}

// Begin takes what the engine begins with.
func (x *extractor) Begin(h blackbox.Header) { x.work.Begun = h }

// Command takes a command, and then its effects.
func (x *extractor) Command(now yarn.Now, c engine.Command) func(*engine.Effects) {
	if !x.begun {
		x.begun, x.work.Start = true, now
	}
	x.now = max(now.Mono-x.work.Start.Mono, x.now)
	x.beating = yarn.NodeID{}
	x.command(c)
	return x.effects
}

func (x *extractor) add(e Event) {
	e.At = x.now
	if len(x.work.Events) >= MaxEvents {
		x.fail("more than %d events", MaxEvents)
		return
	}
	x.work.Events = append(x.work.Events, e)
}

func (x *extractor) fail(format string, args ...any) {
	if x.err == nil {
		x.err = fmt.Errorf("%s: "+format, append([]any{x.work.Name}, args...)...)
	}
}

// node is the index of a node.
func (x *extractor) node(id yarn.NodeID) int32 {
	i, known := x.nodes[id]
	if !known {
		if len(x.work.Nodes) >= MaxNodes {
			x.fail("more than %d nodes", MaxNodes)
			return 0
		}
		i = int32(len(x.work.Nodes))
		x.nodes[id] = i
		x.work.Nodes = append(x.work.Nodes, id)
	}
	return i
}

func (x *extractor) command(c engine.Command) {
	switch c := c.(type) {
	case *engine.Heartbeat:
		x.beating, x.before, x.called[c.Node] = c.Node, x.called[c.Node], x.now
		e := Event{Kind: Beat, Index: x.node(c.Node), Sick: !c.Health.Healthy}
		if c.Labels != nil {
			e.Command = &engine.Heartbeat{Labels: c.Labels}
		}
		x.add(e)
	case engine.RegisterNode:
		x.racks[c.Node.Host], x.called[c.Node] = c.Rack, x.now
		keeps := len(c.Containers) > 0 || len(c.Applications) > 0
		c.Ticket, c.Logs, c.Applications = 0, nil, nil
		if c.Containers = nil; keeps {
			c.Containers = []engine.RecoveredContainer{}
		}
		x.add(Event{Kind: Join, Index: x.node(c.Node), Command: c})
	case *engine.Allocate:
		x.allocate(c)
	case engine.Submit:
		x.submit(c.Application)
	case engine.RegisterMaster:
		x.calls[c.Ticket] = func(_ any, failed bool) {
			if t := x.attempts[c.Attempt]; t != nil && !failed {
				t.register(x.now)
			}
		}
	case engine.FinishMaster:
		x.calls[c.Ticket] = func(_ any, failed bool) {
			if t := x.attempts[c.Attempt]; t != nil && !failed {
				t.step(x.now, Step{Finish: true, Final: c.FinalStatus})
			}
		}
	default:
		x.other(c)
	}
}

// other takes what clients and administrators do.
func (x *extractor) other(c engine.Command) {
	change := func(id yarn.ApplicationID, c engine.Command) {
		if l := x.apps[id]; l != nil {
			x.add(Event{Kind: Change, Index: l.index, Command: c})
		}
	}
	switch c := c.(type) {
	case engine.Kill:
		if l := x.apps[c.Application]; l != nil {
			l.killed = true
		}
		change(c.Application, c)
	case engine.Move:
		change(c.Application, c)
	case engine.SetPriority:
		change(c.Application, c)
	case engine.SetLifetime:
		change(c.Application, c)
	case engine.UnregisterNode, engine.RefreshNodes, engine.ExcludedHosts, engine.DrainNodes, engine.UndrainNodes, engine.SetNodeResource,
		engine.SetNodeLabel, engine.AddLabels, engine.RemoveLabels, engine.ReplaceLabels, engine.ExpireNode, engine.TendQueues,
		engine.NewReservation, engine.SubmitReservation, engine.UpdateReservation, engine.DeleteReservation, engine.FollowPlans:
		x.add(Event{Kind: Literal, Command: c})
	case engine.UpdateShares:
		if x.work.Trace { // in a recording its own clock says when
			x.work.Updates = true
			x.add(Event{Kind: Literal, Command: c})
		}
	case engine.MonitorQueues:
		if x.work.Trace { // likewise
			x.add(Event{Kind: Literal, Command: c})
		}
	case engine.RefreshQueues:
		if !c.DryRun {
			x.left.refreshes++
		}
	case engine.Recover:
		x.add(Event{Kind: Literal, Command: engine.Recover{Labels: c.Labels, Drains: c.Drains, Reservations: c.Reservations}})
		x.recover(c.Applications)
	case engine.RecoverApplications:
		x.recover(c.Applications)
	}
}

// recover submits those that had not ended.
func (x *extractor) recover(apps []engine.RecoveredApplication) {
	for i := range apps {
		if a := &apps[i]; a.Record.Final == yarn.AppNew {
			x.left.recovered++
			x.submit(*a.Submission)
		}
	}
}

// submit takes a submission, whether the ResourceManager that was recorded took it or not.
func (x *extractor) submit(s engine.Submission) {
	if x.apps[s.ID] != nil {
		return // submitted again
	}
	if len(x.work.Apps) >= MaxApplications {
		x.fail("more than %d applications", MaxApplications)
		return
	}
	s.AMAsks, s.Tags, s.Groups = slices.Clone(s.AMAsks), slices.Clone(s.Tags), slices.Clone(s.Groups)
	a := &App{Name: s.ID.String(), At: x.now, Sub: s, Began: Never}
	if x.work.Trace {
		a.Name = s.Name
	}
	index := int32(len(x.work.Apps))
	x.apps[s.ID] = &life{app: a, index: index}
	x.add(Event{Kind: Submit, Index: index})
	x.work.Apps = append(x.work.Apps, a)
}

// effects takes what a command has set off.
func (x *extractor) effects(fx *engine.Effects) {
	for i := range fx.Replies {
		r := &fx.Replies[i]
		if f := x.calls[r.Ticket]; f != nil {
			delete(x.calls, r.Ticket)
			f(r.Value, r.Err != nil)
		}
	}
	for i := range fx.Transitions {
		if t := &fx.Transitions[i]; t.Node != (yarn.NodeID{}) && t.To == yarn.NodeLost.String() {
			x.lost(t.Node)
		}
	}
	for i := range fx.Logins {
		if l := fx.Logins[i]; l.Open {
			x.begin(l.Attempt)
		}
	}
	for i := range fx.Containers {
		if c := &fx.Containers[i]; c.Born && c.Master {
			if l := x.apps[c.Container.Attempt.Application]; l != nil && l.app.Began == Never {
				l.app.Began = x.now - l.app.At
			}
		}
	}
	for _, masters := range []bool{true, false} { // what ends with its master does not end by itself
		for i := range fx.Containers {
			if c := &fx.Containers[i]; c.Master == masters && !c.Born {
				x.container(c)
			}
		}
	}
}

// lost notes a node whose time ran out, unless it was declared lost by a command.
func (x *extractor) lost(id yarn.NodeID) {
	if n := len(x.work.Events); n > 0 {
		if c, ok := x.work.Events[n-1].Command.(engine.ExpireNode); ok && c.Node == id {
			return
		}
	}
	x.add(Event{Kind: Literal, Command: engine.ExpireNode{Node: id}})
}

// begin notes an attempt whose master may call from now on.
func (x *extractor) begin(id yarn.AttemptID) {
	l := x.apps[id.Application]
	if l == nil || x.attempts[id] != nil {
		return
	}
	t := &attempt{bornAt: x.now, plan: &Plan{}, rows: map[place]int32{}, lost: map[Kin]int32{}, before: l.last}
	x.attempts[id], l.last = t, t
}

// finish completes the workload.
func (x *extractor) finish() (*Workload, error) {
	w := x.work
	if x.err == nil && len(w.Events) == 0 {
		x.err = fmt.Errorf("%s: nothing was recorded", w.Name)
	}
	if x.err != nil {
		return nil, x.err
	}
	w.Length = x.now
	for _, a := range w.Apps {
		l := x.apps[a.Sub.ID]
		for t := l.last; t != nil; t = t.before {
			if t.registered && (len(a.Plans) == 0 || !t.cut) {
				a.Plans = append(a.Plans, t.finish(w.Trace))
			}
		}
		slices.Reverse(a.Plans)
		switch {
		case len(a.Plans) == 0:
			x.left.unknown++
		case !l.killed && !l.last.ending:
			x.left.unfinished++
		}
	}
	x.notes()
	return w, nil
}

func (x *extractor) notes() {
	for _, n := range []struct {
		count int
		text  string
	}{
		{x.left.recovered, "%d applications began before the recording: they are submitted at its beginning, without the containers that they had"},
		{x.left.unknown, "%d applications had no master that registered: what they would have asked for is not known"},
		{x.left.unfinished, "%d applications had not ended when the recording did: they stay until the end"},
		{x.left.updates, "%d changes of containers' sizes are left out"},
		{x.left.refreshes, "%d refreshes of the queues are left out: each configuration stays in force throughout"},
	} {
		if n.count > 0 {
			x.work.Notes = append(x.work.Notes, fmt.Sprintf(n.text, n.count))
		}
	}
}
