package fairtwin

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// AddNode lets a node join. Fair shares change with the next Update, which the caller may make at once.
func (w *World) AddNode(n *Node) {
	w.Nodes = append(w.Nodes, n)
	w.steady()
	w.noteFree()
}

// RemoveNode takes a node out, and all containers on it.
func (w *World) RemoveNode(n *Node) {
	w.Containers = slices.DeleteFunc(w.Containers, func(c *Container) bool { return c.Node == n })
	w.Nodes = slices.DeleteFunc(w.Nodes, func(o *Node) bool { return o == n })
	w.steady()
	w.noteFree()
}

// Resize changes what the node has. A reservation there stays.
func (w *World) Resize(n *Node, total yarn.Resource) {
	if n.Total == total {
		return
	}
	n.Total = total
	w.steady()
	w.noteFree()
}

func (w *World) drop(c *Container) {
	w.Containers = slices.DeleteFunc(w.Containers, func(o *Container) bool { return o == c })
}

// Submit puts an application into the queue with that path, which is created if that is possible; nil: it is refused.
func (w *World) Submit(id yarn.ApplicationID, user, path string, unmanaged bool, am yarn.Resource) *App {
	q := w.leaf(path)
	if q == nil {
		return nil
	}
	if !unmanaged && w.denies(q, am) {
		return nil
	}
	a := &App{ID: id, User: user, Queue: q, Unmanaged: unmanaged}
	w.Apps = append(w.Apps, a)
	return a
}

// denies tells whether the queue may have nothing at all of a type that is needed.
func (w *World) denies(q *Queue, need resource) bool {
	most := w.MaxShare(q)
	for i := range w.types() {
		if need[i] > 0 && most[i] == 0 {
			return true
		}
	}
	return false
}

// Normalize is the size that an ask is given.
func (w *World) Normalize(q *Queue, size yarn.Resource) yarn.Resource {
	c, most := w.Config, w.largest(q)
	for i := range w.types() {
		size[i] = max(size[i], c.Cluster.MinAllocation[i])
		if c.Increment[i] > 0 {
			size[i] = javanum.RoundUp(size[i], c.Increment[i])
		}
		size[i] = min(size[i], most[i])
	}
	return size
}

// largest is the largest container that the queue takes.
func (w *World) largest(q *Queue) resource {
	most := w.Config.Cluster.MaxAllocation
	for i := range w.types() {
		var node int64
		for _, n := range w.Nodes {
			node = max(node, n.Total[i])
		}
		if len(w.Nodes) > 0 {
			most[i] = min(most[i], node)
		}
		most[i] = min(most[i], q.Conf.MaxContainer[i])
	}
	return most
}

// StartAttempt begins an attempt. One that keeps the containers of the one before also avoids what that one did.
func (w *World) StartAttempt(a *App, id yarn.AttemptID, keep bool) {
	before := *a
	*a = App{ID: a.ID, User: a.User, Queue: a.Queue, Unmanaged: a.Unmanaged, Running: true, Start: w.Now, Attempt: id, Mastered: a.Unmanaged,
		lastAtFair: w.Now, Avoid: map[string]bool{}, AvoidAM: map[string]bool{}}
	if keep {
		a.Avoid, a.avoided, a.avoidsOthers = before.Avoid, before.avoided, before.avoidsOthers
	}
	a.Runnable = w.mayRun(a, a.Queue)
	w.enter(a)
}

// enter puts the application last among those of its leaf.
func (w *World) enter(a *App) {
	last := 0
	for _, o := range w.Apps {
		last = max(last, o.entered)
	}
	a.entered = last + 1
}

// EndAttempt ends the attempt, and with it all of its containers; those that were launched still occupy their nodes. With keep those that were
// launched stay, but for the master's.
func (w *World) EndAttempt(a *App, keep bool) {
	if !a.Running {
		return
	}
	for _, c := range slices.Clone(w.Containers) {
		if c.App == a && (c.Live || c.Reserved) && !(keep && c.Launched && !c.AM && !c.Reserved) {
			w.Finish(c)
		}
	}
	a.Running, a.Keys = false, nil
	if a.Runnable {
		w.left(a.Queue, a.User)
	}
	a.Runnable, a.AM, a.Demand, a.FairShare = false, resource{}, resource{}, resource{}
}

// Remove forgets the application.
func (w *World) Remove(a *App) {
	w.EndAttempt(a, false)
	w.Apps = slices.DeleteFunc(w.Apps, func(o *App) bool { return o == a })
}

// Finish ends a container or a reservation.
func (w *World) Finish(c *Container) {
	c.Live = false
	if !c.Launched || c.Reserved {
		w.drop(c)
	}
	w.noteFree()
}

// Vacate frees what a container occupied on its node.
func (w *World) Vacate(c *Container) {
	w.drop(c)
	w.noteFree()
}

// Ask enters asks, whose sizes are normal. Counts replace those of before; none for any host ends all that the key asks for.
func (w *World) Ask(a *App, asks []yarn.Ask) {
	if !a.Running {
		return
	}
	for _, any := range []bool{false, true} {
		for _, ask := range asks {
			if (ask.Where == yarn.AnyHost) != any {
				continue
			}
			k := a.key(ask.Priority, ask.AllocationRequestID)
			r := k.row(ask.Where)
			if r == nil {
				r = &Row{Where: ask.Where}
				k.Rows = append(k.Rows, r)
			}
			r.Count, r.Relax, r.Size = ask.Count, ask.RelaxLocality, ask.Capability
			if any && ask.Count <= 0 {
				k.Rows = nil
			}
		}
	}
}

// Blacklist changes which hosts and racks the application avoids. Until its master is placed, it changes the blacklist for the
// master's container.
func (w *World) Blacklist(a *App, add, remove []string) {
	if !a.Running {
		return
	}
	set := a.Avoid
	if !a.Mastered {
		set = a.AvoidAM
	}
	for _, place := range add {
		set[place] = true
	}
	for _, place := range remove {
		delete(set, place)
	}
	a.avoidsOthers = true
}

// AllocateDone ends a call of the application's master: from now on its headroom leaves out the nodes that it avoids now.
func (w *World) AllocateDone(a *App) {
	if !a.avoidsOthers {
		return
	}
	a.avoidsOthers, a.avoided = false, nil
	for _, n := range w.Nodes {
		if w.Avoids(a, n) {
			a.avoided = append(a.avoided, n)
		}
	}
	slices.SortFunc(a.avoided, func(x, y *Node) int { return x.ID.Compare(y.ID) })
}

// Headroom is what the application could still get: what is free on nodes that it does not avoid, limited by its leaf's maximum and, of the types
// that the leaf's policy divides, by its fair share.
func (w *World) Headroom(a *App) (out yarn.Resource) {
	q := a.Queue
	free := w.Cluster().Sub(w.Used(w.Root))
	for _, n := range a.avoided {
		if slices.Contains(w.Nodes, n) {
			free = max0(free.Sub(w.Free(n)))
		}
	}
	most, used := w.MaxShare(q), w.Used(q)
	for i := range 2 {
		out[i] = min(free[i], most[i]-used[i])
	}
	out[0] = min(out[0], max(q.FairShare[0]-used[0], 0))
	if q.Policy == drf {
		out[1] = min(out[1], max(q.FairShare[1]-used[1], 0))
	}
	return out
}

// max0 is r with memory and vcores raised to zero.
func max0(r resource) resource {
	r[0], r[1] = max(r[0], 0), max(r[1], 0)
	return r
}

func times(r resource, n int64) resource {
	for i := range r {
		r[i] *= n
	}
	return r
}

func least(a, b resource) resource {
	for i := range a {
		a[i] = min(a[i], b[i])
	}
	return a
}

func none(r resource) bool { return r == resource{} }
