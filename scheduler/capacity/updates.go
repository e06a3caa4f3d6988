package capacity

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
// fetches the change. A decrease is ready at once.
type updates struct {
	increases map[yarn.ContainerID][]resource // the differences that were asked for
	decreases map[yarn.ContainerID]resource   // the sizes to come
	grown     []growth
	shrunk    []yarn.ContainerID
	useless   []ContainerRef // served, but not wanted any more

	// What is given back when the master's call is over.
	ending    []ContainerRef
	shrinking []shrinkage
}

type shrinkage struct {
	container yarn.ContainerID
	size      resource
}

type growth struct {
	container yarn.ContainerID
	extra     ContainerRef
}

// drop forgets a container that was placed for an increase and has ended.
func (w *updates) drop(c ContainerRef) {
	w.grown = slices.DeleteFunc(w.grown, func(g growth) bool { return g.extra == c })
	w.useless = slices.DeleteFunc(w.useless, func(x ContainerRef) bool { return x == c })
	w.ending = slices.DeleteFunc(w.ending, func(x ContainerRef) bool { return x == c })
}

// Update starts changes; see the facade.
func (s *Scheduler) Update(ref AppRef, list []yarn.ContainerUpdate) []UpdateError {
	a := s.app(ref)
	if !a.running {
		return nil
	}
	var errors []UpdateError
	var accepted []yarn.ContainerUpdate
	most := s.maximumFor(a.queue)
	for _, u := range list {
		c := s.ownContainer(a, u.Container)
		why := s.checkUpdate(c, &u, accepted, most)
		switch {
		case why != "":
			errors = append(errors, s.updateError(c, u, why))
		case u.Type == yarn.IncreaseResource || u.Type == yarn.DecreaseResource:
			accepted = append(accepted, u)
		}
	}
	for _, t := range [...]yarn.UpdateType{yarn.IncreaseResource, yarn.DecreaseResource} {
		for _, u := range accepted {
			if u.Type == t && !s.startUpdate(a, u) {
				errors = append(errors, s.updateError(s.ownContainer(a, u.Container), u, updateOutstanding))
			}
		}
	}
	a.queue.touch()
	return errors
}

func (s *Scheduler) updateError(c ContainerRef, u yarn.ContainerUpdate, why string) UpdateError {
	e := UpdateError{Update: u, Reason: why}
	if c >= 0 {
		e.Version = s.books.Container(c).Version
	}
	return e
}

// ownContainer is the attempt's live container of that name.
func (s *Scheduler) ownContainer(a *app, id yarn.ContainerID) ContainerRef {
	for _, c := range s.books.OfOwner(&a.live, nil) {
		if box := s.books.Container(c); box.ID == id && box.Update.IsZero() {
			return c
		}
	}
	return cluster.NoContainer
}

// checkUpdate says why the update is refused, and rounds its size.
func (s *Scheduler) checkUpdate(c ContainerRef, u *yarn.ContainerUpdate, accepted []yarn.ContainerUpdate, most resource) string {
	if c < 0 {
		return updateUnknown
	}
	box := s.books.Container(c)
	if u.Version != box.Version {
		return updateOldVersion
	}
	if slices.ContainsFunc(accepted, func(o yarn.ContainerUpdate) bool { return o.Container == u.Container }) {
		return updateOutstanding
	}
	if u.Type == yarn.PromoteExecutionType || u.Type == yarn.DemoteExecutionType {
		if u.ExecutionType == box.Execution {
			return ""
		}
		return updateExecution
	}
	for i := yarn.Memory; i <= yarn.VCores; i++ {
		if u.Capability[i] < 0 || u.Capability[i] > most[i] {
			return updateOutOfRange
		}
	}
	u.Capability = s.calc.Normalize(u.Capability, s.min, most, s.min)
	return ""
}

func (s *Scheduler) startUpdate(a *app, u yarn.ContainerUpdate) bool {
	c := s.ownContainer(a, u.Container)
	box := s.books.Container(c)
	w := &a.updates
	_, shrinking := w.decreases[u.Container]
	if u.Type == yarn.DecreaseResource {
		if shrinking {
			return false
		}
		s.cancelIncrease(a, box)
		if w.decreases == nil {
			w.decreases = map[yarn.ContainerID]resource{}
		}
		w.decreases[u.Container] = u.Capability
		w.shrunk = append(w.shrunk, u.Container)
		a.newest.Number++ // compat: Apache makes a container for the difference
		return true
	}
	if w.increases == nil {
		w.increases = map[yarn.ContainerID][]resource{}
	}
	if _, again := w.increases[u.Container]; again {
		s.cancelIncrease(a, box)
	}
	extra := measure.Most(u.Capability, box.Resource).Sub(box.Resource)
	if !slices.Contains(w.increases[u.Container], extra) {
		w.increases[u.Container] = append(w.increases[u.Container], extra)
	}
	if shrinking {
		return false
	}
	if !none(extra) {
		s.askIncrease(a, box, extra)
	}
	return true
}

func increaseKey(box *cluster.Container) demand.Key {
	return demand.Key{Priority: box.Priority, RequestID: box.AllocationRequestID, Update: box.ID}
}

// askIncrease asks for more on the container's node, and only there.
func (s *Scheduler) askIncrease(a *app, box *cluster.Container, extra resource) {
	n := s.books.Node(box.Node)
	for _, where := range [...]string{n.ID.Host, n.Rack, yarn.AnyHost} {
		s.put(a, a.wants.OpenOne(increaseKey(box)), &yarn.Ask{Priority: box.Priority, AllocationRequestID: box.AllocationRequestID,
			Where: where, Capability: extra, Count: 1, Label: box.Label, LabelSet: true})
	}
}

// cancelIncrease withdraws what is outstanding for the container.
//
// compat: the rows of the host and the rack stay behind.
func (s *Scheduler) cancelIncrease(a *app, box *cluster.Container) {
	w := a.wants.Find(increaseKey(box))
	if w == nil || w.Left() <= 0 {
		return
	}
	a.wants.Take(s.calc, &s.books.Places, w, cluster.OffSwitch, s.books.Node(box.Node))
	s.lessPending(a.queue, w)
	if len(a.wants.Keys()) == 0 {
		s.unwant(a.queue, a)
	}
}

// matchUpdate finds out which container a new one enlarges, whose ask named one.
func (s *Scheduler) matchUpdate(a *app, want *demand.Want, c ContainerRef) {
	box, w := s.books.Container(c), &a.updates
	extras, known := w.increases[want.Update]
	switch {
	case !known:
		// compat: it becomes a container like any other.
		box.Update = yarn.ContainerID{}
	case !slices.Contains(extras, box.Resource):
		s.askAgain(a, want, box)
		w.useless = append(w.useless, c)
	case s.ownContainer(a, want.Update) < 0:
		w.useless = append(w.useless, c)
	default:
		w.grown = append(w.grown, growth{want.Update, c})
	}
}

// askAgain puts the ask back that a container of the wrong size has served.
func (s *Scheduler) askAgain(a *app, want *demand.Want, box *cluster.Container) {
	n := s.books.Node(box.Node)
	for _, where := range [...]string{n.ID.Host, n.Rack, yarn.AnyHost} {
		count := int32(1)
		if r := s.rowOf(want, where); r != nil {
			count = r.Count + 1
		}
		s.put(a, a.wants.OpenOne(want.Key), &yarn.Ask{Priority: want.Priority, AllocationRequestID: want.RequestID,
			Where: where, Capability: box.Resource, Count: count, Label: want.Label, LabelSet: true})
	}
}

// Updated applies the changes that have become possible; see the facade.
func (s *Scheduler) Updated(ref AppRef, out []Changed) []Changed {
	a := s.app(ref)
	w := &a.updates
	s.AllocateDone(ref)
	if !a.running || len(w.grown)+len(w.shrunk)+len(w.useless) == 0 {
		return out
	}
	grown, shrunk, useless := w.grown, w.shrunk, w.useless
	w.grown, w.shrunk, w.useless = nil, nil, nil
	for _, g := range grown {
		if c := s.ownContainer(a, g.container); c >= 0 {
			out = append(out, s.grow(a, c, g.extra))
		}
		w.ending = append(w.ending, g.extra)
	}
	for _, id := range shrunk {
		size, ok := w.decreases[id]
		delete(w.decreases, id)
		if c := s.ownContainer(a, id); c >= 0 && ok {
			out = append(out, s.shrink(a, c, size))
		}
	}
	w.ending = append(w.ending, useless...)
	return out
}

// AllocateDone gives back what the changes of this call freed; see the facade.
func (s *Scheduler) AllocateDone(ref AppRef) {
	a := s.app(ref)
	w := &a.updates
	if len(w.ending)+len(w.shrinking) == 0 {
		return
	}
	ending, shrinking := w.ending, w.shrinking
	w.ending, w.shrinking = nil, nil
	for _, c := range ending {
		if s.books.IsOpen(c) && s.books.Container(c).App == ref && s.books.Container(c).Live {
			s.end(c, cluster.Reshaped)
		}
	}
	for _, sh := range shrinking {
		if c := s.ownContainer(a, sh.container); c >= 0 {
			s.giveBack(a, c, sh.size)
		}
	}
	a.queue.touch()
}

// grow merges the container that was placed for an increase into the other.
func (s *Scheduler) grow(a *app, c, extra ContainerRef) Changed {
	box, more := s.books.Container(c), s.books.Container(extra)
	change := Changed{Container: c, Type: yarn.IncreaseResource, Before: box.Resource}
	size := box.Resource.Add(more.Resource)
	s.books.Resize(extra, resource{})
	s.books.Resize(c, size)
	box.Version++
	change.After, change.Version = size, box.Version
	a.updates.forget(box.ID, size)
	return change
}

// forget ends the memory of an increase.
//
// compat: Apache looks for the new size among the differences, so that most of
// them are remembered for good.
func (w *updates) forget(id yarn.ContainerID, size resource) {
	left := slices.DeleteFunc(w.increases[id], func(r resource) bool { return r == size })
	if w.increases[id] = left; len(left) == 0 {
		delete(w.increases, id)
	}
	delete(w.decreases, id)
}

// shrink announces that a container becomes smaller.
func (s *Scheduler) shrink(a *app, c ContainerRef, size resource) Changed {
	box := s.books.Container(c)
	box.Version++
	a.updates.shrinking = append(a.updates.shrinking, shrinkage{box.ID, size})
	return Changed{Container: c, Type: yarn.DecreaseResource, Before: box.Resource, After: size, Version: box.Version}
}

// giveBack makes a container smaller.
func (s *Scheduler) giveBack(a *app, c ContainerRef, size resource) {
	box := s.books.Container(c)
	n := s.books.Node(box.Node)
	less := size.Sub(box.Resource)
	s.books.Resize(c, size)
	a.shares[n.Part].used = a.shares[n.Part].used.Add(less)
	s.use(a.queue, a, n.Part, &less, 0, nil)
	a.queue.unsettle(a)
	s.freed(box.Node, n)
}
