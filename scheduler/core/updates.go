package core

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// The reasons of refused updates, as masters are told (RMServerUtils).
const (
	updateUnknown     = "INVALID_CONTAINER_ID"
	updateOldVersion  = "INCORRECT_CONTAINER_VERSION_ERROR"
	updateOutstanding = "UPDATE_OUTSTANDING_ERROR"
	updateOutOfRange  = "RESOURCE_OUTSIDE_ALLOWED_RANGE"
	updateExecution   = "EXECUTION_TYPE_UPDATE_NOT_SUPPORTED"
)

// updates are the changes of running containers that an attempt waits for. An
// increase is an ask of its own for the difference, on the container's node;
// the container that serves it is merged into the other one when the master
// fetches the change. A promotion is an ask for all that the container has, which is
// charged to nobody so far. Decreases and demotions are ready at once.
type updates struct {
	increases map[yarn.ContainerID]*increase
	decreases map[yarn.ContainerID]resource // the sizes to come; of demotions the present ones
	grown     []growth
	shrunk    []named
	promoted  []growth
	demoted   []named
	useless   []growth // served, but not wanted any more

	// What is given back when the master's call is over.
	ending    []named
	shrinking []shrinkage
	demoting  []named
}

// updating are the changes of an attempt that may ask for some.
func (a *App) updating() *updates {
	if a.updates == nil {
		a.updates = &updates{}
	}
	return a.updates
}

// named is a container by its index and name: the slot may be another's by now.
type named struct {
	ref ContainerRef
	id  yarn.ContainerID
}

// increase is what was asked for to enlarge or promote a container, for as long as something of it is outstanding.
type increase struct {
	of      named
	key     demand.Key // of the ask
	node    NodeRef
	extras  []resource // the differences, the newest last: one that was reserved for may be older than the ask
	promote bool       // rather than enlarge: of the last ask
	placed  []int      // where in updates.grown it is
}

// maxExtras is how many differences are remembered of one container. What is placed for one before these is of no use, and asked for anew.
const maxExtras = 8

func (in *increase) add(extra resource) {
	in.extras = slices.DeleteFunc(in.extras, func(r resource) bool { return r == extra })
	if len(in.extras) == maxExtras {
		in.extras = slices.Delete(in.extras, 0, 1)
	}
	in.extras = append(in.extras, extra)
}

type shrinkage struct {
	container named
	size      resource
}

// growth is a container and the one that was placed to enlarge or promote it.
type growth struct{ container, extra named }

// still tells whether the attempt still has the container.
func (s *Core) still(a *App, n named) bool {
	if !s.Books.IsOpen(n.ref) {
		return false
	}
	container := s.Books.Container(n.ref)
	return container.ID == n.id && container.App == a.Ref && container.Live
}

// Update starts changes; see the facade.
func (s *Core) Update(ref AppRef, list []yarn.ContainerUpdate) []UpdateError {
	a := s.App(ref)
	if !a.Running || len(list) == 0 {
		return nil
	}
	mine := s.find(a, list)
	accepted, errors := s.checkUpdates(a, list, mine)
	s.openUpdates(a, accepted, mine)
	for _, t := range [...]yarn.UpdateType{yarn.PromoteExecutionType, yarn.IncreaseResource, yarn.DemoteExecutionType, yarn.DecreaseResource} {
		for _, u := range accepted {
			if u.Type == t && !s.startUpdate(a, u, mine[u.Container]) {
				errors = append(errors, s.updateError(mine[u.Container], u, updateOutstanding))
			}
		}
	}
	a.Wants.Close()
	s.asked(a)
	return errors
}

// CheckUpdates says which changes would be refused; see the facade.
func (s *Core) CheckUpdates(ref AppRef, list []yarn.ContainerUpdate) []UpdateError {
	a := s.App(ref)
	if !a.Running || len(list) == 0 {
		return nil
	}
	_, errors := s.checkUpdates(a, list, s.find(a, list))
	return errors
}

// checkUpdates parts the changes that may start, in sizes that are rounded, from
// those that are refused at once.
func (s *Core) checkUpdates(a *App, list []yarn.ContainerUpdate, mine map[yarn.ContainerID]*target) (accepted []yarn.ContainerUpdate, errors []UpdateError) {
	most := s.MaximumFor(a.Leaf)
	for _, u := range list {
		t := mine[u.Container]
		why := s.checkUpdate(t, &u, most)
		switch {
		case why != "":
			errors = append(errors, s.updateError(t, u, why))
		case executionUpdate(&u):
			if from := s.Books.Container(t.ref).Execution; u.ExecutionType == from {
				continue // nothing is to change
			} else if from == yarn.Opportunistic {
				u.Type = yarn.PromoteExecutionType
			} else {
				u.Type = yarn.DemoteExecutionType
			}
			fallthrough
		default:
			t.accepted = true
			accepted = append(accepted, u)
		}
	}
	return accepted, errors
}

// executionUpdate tells whether the update changes the execution type rather than the size.
func executionUpdate(u *yarn.ContainerUpdate) bool {
	return u.Type == yarn.PromoteExecutionType || u.Type == yarn.DemoteExecutionType
}

// target is a container that a call wants to change.
type target struct {
	ref      ContainerRef // or NoContainer
	accepted bool         // the call changes it
	want     *demand.Want // of an increase or a promotion, or nil
}

// find looks for the containers of updates among those of the attempt.
func (s *Core) find(a *App, list []yarn.ContainerUpdate) map[yarn.ContainerID]*target {
	out := make(map[yarn.ContainerID]*target, len(list))
	targets := make([]target, len(list))
	for i := range list {
		if out[list[i].Container] == nil {
			targets[i].ref = cluster.NoContainer
			out[list[i].Container] = &targets[i]
		}
	}
	for _, c := range s.Books.OfOwner(&a.Live, nil) {
		if container := s.Books.Container(c); container.Update.IsZero() {
			if t := out[container.ID]; t != nil {
				t.ref = c
			}
		}
	}
	return out
}

// openUpdates opens what the attempt wants for the containers, or is going to.
func (s *Core) openUpdates(a *App, list []yarn.ContainerUpdate, mine map[yarn.ContainerID]*target) {
	var keys []demand.Key
	var of []*target
	for i := range list {
		t := mine[list[i].Container]
		k := increaseKey(s.Books.Container(t.ref))
		if list[i].Type == yarn.IncreaseResource || list[i].Type == yarn.PromoteExecutionType || a.Wants.Find(k) != nil {
			keys, of = append(keys, k), append(of, t)
		}
	}
	for i, w := range a.Own().Open(keys, nil) {
		of[i].want = w
	}
}

func (s *Core) updateError(t *target, u yarn.ContainerUpdate, why string) UpdateError {
	e := UpdateError{Update: u, Reason: why}
	if t.ref >= 0 {
		e.Version = s.Books.Container(t.ref).Version
	}
	return e
}

// checkUpdate says why the update is refused, and rounds its size.
func (s *Core) checkUpdate(t *target, u *yarn.ContainerUpdate, most resource) string {
	if t.ref < 0 {
		return updateUnknown
	}
	container := s.Books.Container(t.ref)
	if u.Version != container.Version {
		return updateOldVersion
	}
	if t.accepted {
		return updateOutstanding
	}
	if executionUpdate(u) {
		if u.ExecutionType != container.Execution && !s.cluster.Opportunistic {
			return updateExecution
		}
		return ""
	}
	for i := yarn.Memory; i <= yarn.VCores; i++ {
		if u.Capability[i] < 0 || u.Capability[i] > most[i] {
			return updateOutOfRange
		}
	}
	u.Capability = s.Calc.Normalize(u.Capability, s.Min, most, s.Step)
	return ""
}

func (s *Core) startUpdate(a *App, u yarn.ContainerUpdate, t *target) bool {
	container := s.Books.Container(t.ref)
	w, name := a.updating(), named{t.ref, u.Container}
	_, shrinking := w.decreases[u.Container]
	if shrinking {
		return false
	}
	if u.Type == yarn.DecreaseResource || u.Type == yarn.DemoteExecutionType {
		if w.decreases == nil {
			w.decreases = map[yarn.ContainerID]resource{}
		}
		if u.Type == yarn.DemoteExecutionType {
			w.decreases[u.Container] = container.Resource
			w.demoted = append(w.demoted, name)
		} else {
			s.cancelIncrease(a, container, t.want)
			w.decreases[u.Container] = u.Capability
			if !slices.Contains(w.shrunk, name) { // see getsStuck
				w.shrunk = append(w.shrunk, name)
			}
		}
		a.Newest++ // compat: Apache makes a container for the difference
		return true
	}
	if w.increases == nil {
		w.increases = map[yarn.ContainerID]*increase{}
	}
	promote := u.Type == yarn.PromoteExecutionType
	in := w.increases[u.Container]
	switch {
	case in == nil:
		in = &increase{of: name, key: increaseKey(container), node: container.Node}
		w.increases[u.Container] = in
	case promote:
		return false
	default:
		s.cancelIncrease(a, container, t.want)
	}
	extra := container.Resource
	if !promote {
		extra = measure.Most(u.Capability, container.Resource).Sub(container.Resource)
	}
	in.promote = promote
	in.add(extra)
	if none(extra) {
		s.settle(a, u.Container)
	} else {
		s.askIncrease(a, container, t.want, extra)
	}
	return true
}

func increaseKey(container *cluster.Container) demand.Key {
	return demand.Key{Priority: container.Priority, RequestID: container.AllocationRequestID, Update: container.ID}
}

// askIncrease asks for more on the container's node, and only there.
func (s *Core) askIncrease(a *App, container *cluster.Container, w *demand.Want, extra resource) {
	n := s.Books.Node(container.Node)
	for _, where := range [...]string{n.ID.Host, n.Rack, yarn.AnyHost} {
		s.put(a, w, &yarn.Ask{Priority: container.Priority, AllocationRequestID: container.AllocationRequestID,
			Where: where, Capability: extra, Count: 1, Label: container.Label, LabelSet: true})
	}
}

// cancelIncrease withdraws what is outstanding for the container.
//
// compat: the rows of the host and the rack stay behind.
func (s *Core) cancelIncrease(a *App, container *cluster.Container, w *demand.Want) {
	if w == nil || w.Left() <= 0 {
		return
	}
	a.Wants.Take(s.Calc, &s.Books.Places, w, cluster.OffSwitch, s.Books.Node(container.Node))
	s.lessPending(a.Leaf, w)
	s.policy.Asked(a, false)
}

// matchUpdate finds out which container a new one enlarges, whose ask named one. An
// ask names a host; the container may be on another of its NodeManagers.
func (s *Core) matchUpdate(a *App, want *demand.Want, c ContainerRef) {
	container, w := s.Books.Container(c), a.updating()
	in := w.increases[want.Update]
	extra := named{c, container.ID}
	useless := func() { w.useless = append(w.useless, growth{in.of, extra}) }
	switch {
	case in == nil:
		// compat: it becomes a container like any other.
		container.Update = yarn.ContainerID{}
	case !slices.Contains(in.extras, container.Resource):
		s.askAgain(a, want, container)
		useless()
	case !s.still(a, in.of):
		useless()
	case container.Node != in.node:
		s.askAgain(a, want, container)
		useless()
	case in.promote:
		w.promoted = append(w.promoted, growth{in.of, extra})
	default:
		in.placed = append(in.placed, len(w.grown))
		w.grown = append(w.grown, growth{in.of, extra})
	}
}

// askAgain puts the ask back that a container of the wrong size has served.
func (s *Core) askAgain(a *App, want *demand.Want, container *cluster.Container) {
	n := s.Books.Node(container.Node)
	for _, where := range [...]string{n.ID.Host, n.Rack, yarn.AnyHost} {
		count := int32(1)
		if r := s.rowOf(want, where); r != nil {
			count = r.Count + 1
		}
		s.put(a, a.Wants.OpenOne(want.Key), &yarn.Ask{Priority: want.Priority, AllocationRequestID: want.RequestID,
			Where: where, Capability: container.Resource, Count: count, Label: want.Label, LabelSet: true})
	}
}

// Updated applies the changes that have become possible; see the facade.
func (s *Core) Updated(ref AppRef, out []Changed) []Changed {
	a := s.App(ref)
	w := a.updates
	if w == nil {
		return out
	}
	s.GiveBackFreed(a)
	if !a.Running || len(w.grown)+len(w.shrunk)+len(w.promoted)+len(w.demoted)+len(w.useless) == 0 {
		return out
	}
	grown, shrunk, promoted, demoted, useless := w.grown, w.shrunk, w.promoted, w.demoted, w.useless
	w.grown, w.shrunk, w.promoted, w.demoted, w.useless = nil, nil, nil, nil, nil
	for _, g := range grown {
		s.settle(a, g.container.id)
		if !s.still(a, g.extra) {
			continue
		}
		if s.still(a, g.container) {
			out = append(out, s.grow(a, g.container.ref, g.extra.ref))
			s.forgetDecrease(w, g.container.id)
		}
		w.ending = append(w.ending, g.extra)
	}
	for i, n := range shrunk {
		size, ok := w.decreases[n.id]
		if s.getsStuck(a, n, ok) {
			w.shrunk, w.promoted, w.demoted = slices.Clone(shrunk[i:]), promoted, demoted
			promoted, demoted = nil, nil
			break
		}
		delete(w.decreases, n.id)
		if ok && s.still(a, n) {
			out = append(out, s.shrink(a, n.ref, size))
			s.settle(a, n.id)
		}
	}
	for _, g := range promoted {
		s.settle(a, g.container.id)
		if !s.still(a, g.extra) {
			continue
		}
		if s.still(a, g.container) {
			if change, ok := s.promote(a, g.container.ref, g.extra.ref); ok {
				out = append(out, change)
			}
		}
		w.ending = append(w.ending, g.extra)
	}
	for _, n := range demoted {
		delete(w.decreases, n.id)
		if s.still(a, n) {
			out = append(out, s.demote(a, n))
		}
	}
	for _, g := range useless {
		s.settle(a, g.container.id)
		w.ending = append(w.ending, g.extra)
	}
	return out
}

// GiveBackFreed gives back what the changes of an allocate call freed.
func (s *Core) GiveBackFreed(a *App) {
	w := a.updates
	if w == nil || len(w.ending)+len(w.shrinking)+len(w.demoting) == 0 {
		return
	}
	ending, shrinking, demoting := w.ending, w.shrinking, w.demoting
	w.ending, w.shrinking, w.demoting = nil, nil, nil
	for _, n := range ending {
		if s.still(a, n) {
			s.End(n.ref, cluster.Reshaped)
		}
	}
	for _, sh := range shrinking {
		if s.still(a, sh.container) {
			s.giveBack(a, sh.container.ref, sh.size)
		}
	}
	for _, n := range demoting {
		if s.still(a, n) {
			s.uncharge(a, n.ref)
		}
	}
}

// grow merges the container that was placed for an increase into the other.
func (s *Core) grow(a *App, c, extra ContainerRef) Changed {
	container, more := s.Books.Container(c), s.Books.Container(extra)
	change := Changed{Container: c, Type: yarn.IncreaseResource, Before: container.Resource, Execution: container.Execution}
	size := container.Resource.Add(more.Resource)
	if container.Execution != yarn.Guaranteed { // what it has is charged to nobody
		s.charge(a, container, resource{}.Sub(more.Resource))
	}
	s.Books.Resize(extra, resource{})
	s.Books.Resize(c, size)
	if container.Killable && container.Live {
		s.addKillable(a, s.Books.Node(container.Node).Part, more.Resource)
	}
	s.freed(container.Node)
	nextVersion(container)
	change.After, change.Version = size, container.Version
	return change
}

// nextVersion is given to every change of a container.
func nextVersion(container *cluster.Container) {
	container.Version = max(container.Version, container.Floor) + 1
}

// Rollback takes an increase back; see the facade.
func (s *Core) Rollback(ref ContainerRef, size resource) Changed {
	container := s.Books.Container(ref)
	a := s.App(container.App)
	w := a.updating()
	s.GiveBackFreed(a)
	if in := w.increases[container.ID]; in != nil {
		for _, i := range in.placed {
			w.ending = append(w.ending, w.grown[i].extra)
			w.grown[i] = growth{}
		}
		in.placed = nil
	}
	if want := a.Wants.Find(increaseKey(container)); want != nil {
		s.cancelIncrease(a, container, want)
		s.asked(a)
	}
	a.Newest++ // compat: as for any decrease
	change := s.shrink(a, ref, size)
	s.settle(a, container.ID)
	s.GiveBackFreed(a)
	return change
}

// settle forgets what was asked for to enlarge or promote a container once nothing of it is outstanding.
//
// compat: Apache remembers most increases for good, and never promotes such a container after that.
func (s *Core) settle(a *App, id yarn.ContainerID) {
	w := a.updating()
	in := w.increases[id]
	if in == nil {
		return
	}
	if len(w.grown) == 0 {
		in.placed = nil
	}
	if want := a.Wants.Find(in.key); len(in.placed) == 0 && (want == nil || want.Left() <= 0 && len(want.Reservations) == 0) {
		delete(w.increases, id)
	}
}

// shrink announces that a container becomes smaller.
func (s *Core) shrink(a *App, c ContainerRef, size resource) Changed {
	container := s.Books.Container(c)
	nextVersion(container)
	w := a.updating()
	w.shrinking = append(w.shrinking, shrinkage{named{c, container.ID}, size})
	return Changed{Container: c, Type: yarn.DecreaseResource, Before: container.Resource, After: size, Version: container.Version, Execution: container.Execution}
}

// promote makes a container guaranteed: the room that was placed for it becomes its own. It is refused where that is less than the container has
// by now.
func (s *Core) promote(a *App, c, extra ContainerRef) (Changed, bool) {
	container, more := s.Books.Container(c), s.Books.Container(extra)
	if container.Execution == yarn.Guaranteed || !container.Resource.FitsIn(more.Resource) {
		return Changed{}, false
	}
	p := s.Books.Node(container.Node).Part
	rest := container.Resource.Sub(more.Resource)
	s.Books.Resize(extra, resource{})
	s.Books.SetExecution(c, yarn.Guaranteed)
	a.Shares[p].Used = a.Shares[p].Used.Add(rest)
	s.use(a.Leaf, a, p, &rest, 1, false)
	s.freed(container.Node)
	nextVersion(container)
	return Changed{Container: c, Type: yarn.PromoteExecutionType, Before: container.Resource, After: container.Resource, Version: container.Version,
		Execution: yarn.Guaranteed}, true
}

// demote announces that a container is charged to nobody any more.
func (s *Core) demote(a *App, n named) Changed {
	container := s.Books.Container(n.ref)
	nextVersion(container)
	w := a.updating()
	w.demoting = append(w.demoting, n)
	return Changed{Container: n.ref, Type: yarn.DemoteExecutionType, Before: container.Resource, After: container.Resource, Version: container.Version,
		Execution: yarn.Opportunistic}
}

// uncharge makes a container opportunistic.
func (s *Core) uncharge(a *App, c ContainerRef) {
	container := s.Books.Container(c)
	if container.Execution != yarn.Guaranteed {
		return
	}
	p := s.Books.Node(container.Node).Part
	if container.Killable { // what it has is charged to nobody: there is nothing to take
		s.Books.SetKillable(c, false)
		s.spared(a, container, p)
	}
	s.Books.SetExecution(c, yarn.Opportunistic)
	a.Shares[p].Used = a.Shares[p].Used.Sub(container.Resource)
	s.returnUsage(a, container, p)
	s.freed(container.Node)
}

// giveBack makes a container smaller.
func (s *Core) giveBack(a *App, c ContainerRef, size resource) {
	container := s.Books.Container(c)
	less := size.Sub(container.Resource)
	s.Books.Resize(c, size)
	if container.Killable && container.Live {
		s.addKillable(a, s.Books.Node(container.Node).Part, less)
	}
	if container.Execution == yarn.Guaranteed {
		s.charge(a, container, less)
	}
	s.freed(container.Node)
}

// charge changes what the attempt is charged with for a container.
func (s *Core) charge(a *App, container *cluster.Container, by resource) {
	p := s.Books.Node(container.Node).Part
	a.Shares[p].Used = a.Shares[p].Used.Add(by)
	s.use(a.Leaf, a, p, &by, 0, false)
}
