package engine

import (
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

// holds are the reasons why an application gets nothing now of what it asks for, be it for its master or for other containers: those of its gangs, those
// of its opportunistic containers, then those of the scheduler in the order in which an offer comes to them, and a preemption that makes room for it
// by the notices that were gathered last. There are none where it asks for nothing.
func (e *Engine) holds(a *application) (out []yarn.Reason) {
	t := a.current()
	if t == nil || t.ending() {
		return nil
	}
	if t.said().gangs != nil {
		out = e.gangReasons(t)
	}
	if why, ok := e.whyLent(t); ok {
		out = append(out, why)
	}
	if !e.sched.Waits(a.ref) {
		return out
	}
	reasons := e.sched.Explain(a.ref, explainNodes)
	out = append(out, reasons...)
	if why := e.preemptionFor(a); !why.OK() && !(len(reasons) == 1 && reasons[0].Code == fit.ComesNext) {
		out = append(out, why)
	}
	return out
}

// noticesFor are the containers under notice, by the one who gets their room: an application or, where none is named, a leaf. They are gathered once for
// a round of ObserveWaits, and for a call of Gates.
type noticesFor struct {
	apps   map[yarn.ApplicationID]*noticed
	leaves map[string]*noticed
}

// noticed are containers under notice, and what they have in all.
type noticed struct {
	ids []yarn.ContainerID
	sum yarn.Resource
}

// gatherNotices finds out for whom containers have had notice: one pass over the log of preemption, as far back as the latest events of these containers
// are, and none where nothing is under notice.
func (e *Engine) gatherNotices() {
	e.notices = noticesFor{}
	ids := e.sched.Marked(nil)
	e.preempted = e.sched.UnderNotice(scheduler.NoApp, e.preempted[:0])
	for _, ref := range e.preempted {
		ids = append(ids, e.sched.Container(ref).ID)
	}
	ids = slices.DeleteFunc(ids, func(id yarn.ContainerID) bool {
		c := e.byID[id]
		return c == nil || c.state.Final()
	})
	if len(ids) == 0 {
		return
	}
	latest := make(map[yarn.ContainerID]*view.Preemption, len(ids)) // nil: not found yet
	for _, id := range ids {
		latest[id] = nil
	}
	left := len(latest)
	e.preemptionLog.walk(func(p *view.Preemption) bool {
		if last, ok := latest[p.Container]; ok && last == nil {
			latest[p.Container] = p
			left--
		}
		return left > 0
	})
	n := &e.notices
	n.apps, n.leaves = map[yarn.ApplicationID]*noticed{}, map[string]*noticed{}
	for _, id := range ids {
		switch p := latest[id]; {
		case p == nil || p.Event != view.Noticed:
		case p.ForApp.Sequence != 0:
			addNotice(n.apps, p.ForApp, p)
		default:
			addNotice(n.leaves, p.ForQueue, p)
		}
	}
}

func addNotice[K comparable](to map[K]*noticed, key K, p *view.Preemption) {
	of := to[key]
	if of == nil {
		of = &noticed{}
		to[key] = of
	}
	of.ids = append(of.ids, p.Container)
	of.sum.Increase(&p.Resource)
}

// of are those under notice for the application, and for its leaf.
func (n *noticesFor) of(app yarn.ApplicationID, leaf string) (out []*noticed) {
	if of := n.apps[app]; of != nil {
		out = append(out, of)
	}
	if of := n.leaves[leaf]; of != nil {
		out = append(out, of)
	}
	return out
}

// preemptionFor tells of containers that have had notice so that the application, or its queue, gets their room.
func (e *Engine) preemptionFor(a *application) (why yarn.Reason) {
	leaf := e.sched.LeafOf(a.ref)
	for _, of := range e.notices.of(a.sub.ID, leaf) {
		why.Code, why.Subject = fit.PreemptionWaits, leaf
		why.Needed = why.Needed.Add(of.sum)
		why.Count += int64(len(of.ids))
	}
	return why
}

// Gates are the reasons why the application gets nothing now, with what would help, its place in line and what it can never get.
func (e *Engine) Gates(now yarn.Now, id yarn.ApplicationID) (out view.Gates) {
	e.now = now
	a := e.apps[id]
	switch {
	case a == nil:
		return out
	case a.ref == scheduler.NoApp:
		return e.refusedGates(a)
	}
	e.gatherNotices()
	defer func() { e.notices = noticesFor{} }()
	reasons := e.holds(a)
	if len(reasons) == 0 {
		return out
	}
	e.see(a, reasons)
	known := knownGates{e: e}
	for _, why := range reasons {
		g := known.of(a, why)
		g.Since = e.since(a, why.Code)
		out.List = append(out.List, g)
	}
	if l := e.sched.Line(a.ref); l.Place > 0 {
		out.Line = view.Line(l)
	}
	out.Impossible, out.Asks = e.impossible(a), e.askGates(a, &known)
	return out
}

// Bounds of what is told of each kind of what an application asks for.
const (
	explainAsks = 8 // kinds
	askNodes    = 4 // that are looked at for each
)

// knownGates are the gates of an application that a call has found, so that the same reason is not looked into again for each kind of what it asks for.
type knownGates struct {
	e     *Engine
	whys  []yarn.Reason
	gates []view.Gate
}

func (k *knownGates) of(a *application, why yarn.Reason) view.Gate {
	if i := slices.Index(k.whys, why); i >= 0 {
		g := k.gates[i]
		g.Change, g.Holders = slices.Clone(g.Change), slices.Clone(g.Holders)
		return g
	}
	r := k.e.remedy(a, why)
	k.whys, k.gates = append(k.whys, why), append(k.gates, k.e.gate(a, why, &r))
	return k.gates[len(k.gates)-1]
}

// askGates are what holds each kind of what the application asks for, as if it asked for nothing else.
func (e *Engine) askGates(a *application, known *knownGates) (out []view.Ask) {
	for i, x := range e.sched.Wanted(a.ref, explainAsks, nil) {
		reasons := e.sched.ExplainAsk(a.ref, i, askNodes)
		if x.Count <= 0 || len(reasons) == 0 {
			continue
		}
		out = append(out, view.Ask{Priority: x.Priority, Size: x.Size, Count: x.Count, Label: x.Label, Gate: known.of(a, reasons[0])})
	}
	return out
}

// refusedGates are what keeps an application now that its queue has refused; none if the queue would take it.
func (e *Engine) refusedGates(a *application) (out view.Gates) {
	if a.state != yarn.AppFailed || len(a.attempts) > 0 {
		return out
	}
	out.Refused = true
	sa := schedulerApp(a.sub)
	why := e.sched.MayEnter(&sa, a.queue)
	if why.OK() {
		return out
	}
	r := e.sched.RemedyOfRefusal(&sa, a.queue, why)
	g := e.gate(a, why, &r)
	g.Since = e.now.Wall
	out.List = append(out.List, g)
	return out
}

// gate is a reason with what would help, as it is told.
func (e *Engine) gate(a *application, why yarn.Reason, r *scheduler.Remedy) view.Gate {
	w := e.told(a, why)
	g := view.Gate{Code: why.Code, Text: w.sentence(), Setting: w.key(), Needed: why.Needed, Limit: why.Limit, Free: r.Free, Room: r.Room, Never: r.Never, TooLarge: r.TooLarge}
	for _, s := range r.Settings {
		g.Change = append(g.Change, view.Setting(s))
	}
	for _, h := range r.Holders {
		g.Holders = append(g.Holders, view.GateHolder{App: h.App, User: h.User, Queue: h.Queue, Has: h.Has, Count: h.Count})
	}
	if r.Act.Do != "" {
		g.Act = e.act(a, r.Act)
	}
	return g
}

// told is a reason with what its sentence needs.
func (e *Engine) told(a *application, why yarn.Reason) *waiting {
	w := &waiting{Reason: why, amount: e.amount, queue: a.queue}
	if a.ref != scheduler.NoApp {
		w.queue, w.master = e.sched.LeafOf(a.ref), e.sched.Admission(a.ref).AM
	}
	if len(a.sub.AMAsks) > 0 {
		w.label = a.sub.AMAsks[0].Label
	}
	return w
}

// impossible are the application's asks that are never met.
func (e *Engine) impossible(a *application) (out []view.Impossible) {
	for _, x := range e.sched.Impossible(a.ref) {
		out = append(out, view.Impossible{Priority: x.Priority, Size: x.Size, Count: x.Count, Label: x.Label, Code: x.Why.Code, Text: e.never(a, &x)})
	}
	return out
}

// never says why an ask is never met.
func (e *Engine) never(a *application, x *scheduler.Impossible) string {
	text := plural(int64(x.Count), "container", "containers") + " of " + e.amount(x.Size) + " can never be had: "
	switch x.Why.Code {
	case fit.NodeTooSmall:
		return text + "the largest node there, " + x.Why.Subject + ", has " + e.amount(x.Why.Limit) + " in all"
	case fit.OtherPartition:
		return text + partition(x.Label) + " has no nodes"
	case fit.StrictLocality:
		return text + "none of the hosts and racks that are asked for has a node, and others are not wanted"
	case fit.Blacklisted:
		return text + "the application avoids every node that is large enough, such as " + x.Why.Subject
	}
	return text + e.told(a, x.Why).sentence()
}

// FreeRoom is what nodes have free now, for Rooms.
func (e *Engine) FreeRoom() *scheduler.Free { return e.sched.Free() }

// Rooms is what the leaf could still get where so much is free, by partition, or one of its users; none if there is no such leaf.
func (e *Engine) Rooms(now yarn.Now, free *scheduler.Free, path, user string) (out []view.Room) {
	e.now = now
	list, _ := e.sched.Rooms(free, path, user)
	for _, r := range list {
		w := &waiting{Reason: r.Stop, amount: e.amount, queue: path}
		out = append(out, view.Room{Queue: path, Label: r.Label, Largest: r.Largest, Count: r.Count,
			Stop: view.Gate{Code: r.Stop.Code, Text: w.sentence(), Setting: w.key(), Needed: r.Stop.Needed, Limit: r.Stop.Limit}})
	}
	return out
}
