package fairtwin

import (
	"math"
	"slices"

	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// Offer is one heartbeat of the node.
func (w *World) Offer(n *Node) []Decision {
	if n.Closed {
		return nil
	}
	out := w.heartbeat(n)
	w.noteFree()
	for _, d := range out {
		for _, a := range w.Apps {
			if d.AM && a.Attempt == d.ID.Attempt {
				w.AllocateDone(a)
			}
		}
	}
	return out
}

func (w *World) heartbeat(n *Node) []Decision {
	var out []Decision
	if c := w.ReservationOn(n); c != nil {
		a := c.App
		if w.eligible(a, c.key, n) && !w.mastersFull(a) {
			if c.Size.FitsIn(w.Free(n)) {
				if near, ok := w.place(c.key, n); ok {
					if d := w.take(a, c.key, n, near, c); d != nil {
						out = append(out, *d)
					}
				}
			}
			return out
		}
		w.drop(c)
		out = append(out, Decision{Kind: Unreserved, Node: n.Name, Size: c.Size})
	}
	half := w.Free(n)
	for i := range half {
		half[i] = javanum.Scale(half[i], 0.5)
	}
	var assigned resource
	for count := int32(1); w.ReservationOn(n) == nil; count++ {
		d := w.walk(w.Root, n)
		if d == nil {
			break
		}
		out = append(out, *d)
		if d.Kind != Reserved {
			assigned = assigned.Add(d.Size)
		}
		cfg := w.Config
		switch {
		case !cfg.Multiple:
			return out
		case cfg.HalfOfNode && !assigned.FitsIn(half):
			return out
		case !cfg.HalfOfNode && cfg.MaxAssign > 0 && count >= cfg.MaxAssign:
			return out
		}
	}
	return out
}

// walk offers the node to the queue and those below; nil: nobody takes it.
func (w *World) walk(q *Queue, n *Node) *Decision {
	if w.ReservationOn(n) != nil || !w.Used(q).FitsIn(w.MaxShare(q)) {
		return nil
	}
	for _, m := range w.members(q) {
		var d *Decision
		switch {
		case m.queue != nil:
			d = w.walk(m.queue, n)
		case !w.Avoids(m.app, n):
			d = w.serve(m.app, n)
		}
		if d != nil {
			return d
		}
	}
	return nil
}

// Avoids tells whether the application's blacklist names the node.
func (w *World) Avoids(a *App, n *Node) bool {
	set := a.Avoid
	if !a.Mastered {
		set = a.AvoidAM
	}
	return set[n.Name] || set[n.Rack]
}

// serve offers the node to an application.
func (w *World) serve(a *App, n *Node) *Decision {
	if w.mastersFull(a) {
		return nil
	}
	for _, k := range a.asking() {
		if !w.eligible(a, k, n) {
			continue
		}
		if near, ok := w.place(k, n); ok {
			return w.take(a, k, n, near, nil) // whatever comes of it: later keys do not get the node
		}
	}
	return nil
}

// mastersFull tells whether the application waits for a master that the leaf has no room for.
func (w *World) mastersFull(a *App) bool {
	if a.Mastered || len(a.asking()) == 0 {
		return false
	}
	q := a.Queue
	share := q.Conf.MaxAMShare
	if math.Abs(float64(share)+1) < 0.0001 {
		return false
	}
	limit := q.FairShare
	most := w.MaxShare(q)
	for i := range w.types() {
		if limit[i] == 0 {
			limit[i] = min(w.free[i], most[i])
		}
		limit[i] = javanum.Ceil(float64(limit[i]) * float64(share))
	}
	return !w.AMUsed(q).Add(a.asking()[0].size()).FitsIn(limit)
}

// eligible tells whether the key could have a container on the node, if there were room.
func (w *World) eligible(a *App, k *Key, n *Node) bool {
	any, rack, host := k.count(yarn.AnyHost), k.count(n.Rack), k.count(n.Name)
	if any <= 0 || !k.relaxed(yarn.AnyHost) && rack <= 0 || rack > 0 && !k.relaxed(n.Rack) && host <= 0 || !k.size().FitsIn(n.Total) {
		return false
	}
	for q := a.Queue; q != nil; q = q.Parent {
		if !w.Used(q).Add(k.size()).FitsIn(w.MaxShare(q)) {
			return false
		}
	}
	return true
}

// place counts the node as seen and finds how near it is to what the key asks for; false: not near enough yet.
func (w *World) place(k *Key, n *Node) (Locality, bool) {
	k.seen++
	level := w.level(k)
	any, rack, host := k.count(yarn.AnyHost), k.count(n.Rack), k.count(n.Name)
	switch {
	case rack > 0 && host > 0:
		return NodeLocal, true
	case rack > 0 && k.relaxed(n.Rack) && level >= RackLocal:
		return RackLocal, true
	case any > 0 && k.relaxed(yarn.AnyHost) && (len(k.Rows) == 1 || level == OffSwitch):
		return OffSwitch, true
	}
	return OffSwitch, false
}

// level is how far from where it was asked for a container may be, by the number of nodes seen.
func (w *World) level(k *Key) Locality {
	cfg := w.Config
	if cfg.NodeThreshold < 0 || cfg.RackThreshold < 0 {
		return OffSwitch
	}
	if !k.known {
		k.known, k.level = true, NodeLocal
		return NodeLocal
	}
	if k.level == OffSwitch {
		return OffSwitch
	}
	threshold := min(cfg.NodeThreshold, 1)
	if k.level == RackLocal {
		threshold = min(cfg.RackThreshold, 1)
	}
	if float64(k.seen) > float64(len(w.Nodes))*threshold {
		k.level, k.seen = k.level+1, 0
	}
	return k.level
}

// take gives a container of the key on the node, into which a reservation may turn, or reserves the node for one.
func (w *World) take(a *App, k *Key, n *Node, near Locality, from *Container) *Decision {
	size := k.row([]string{n.Name, n.Rack, yarn.AnyHost}[near]).Size
	if !size.FitsIn(w.Free(n)) {
		if from != nil {
			return nil
		}
		return w.reserve(a, k, n, near, size)
	}
	d := Decision{Kind: Allocated, Node: n.Name, Size: size, Locality: near}
	c := from
	if c != nil {
		d.Kind, d.Size = AllocatedFromReserved, c.Size
		c.Reserved = false
	} else {
		c = w.container(a, k, n, size)
	}
	c.Live, c.Held = true, true
	if !a.Mastered && !a.Unmanaged {
		c.AM, a.AM, a.Mastered = true, c.Size, true
	}
	if k.known && near < k.level {
		k.level = near
	}
	k.served(n, near)
	d.ID, d.AM = c.ID, c.AM
	return &d
}

func (w *World) container(a *App, k *Key, n *Node, size resource) *Container {
	a.Number++
	c := &Container{ID: yarn.ContainerID{Attempt: a.Attempt, Number: a.Number}, App: a, Node: n, Size: size, key: k}
	w.Containers = append(w.Containers, c)
	return c
}

// served has the key ask for one container less.
func (k *Key) served(n *Node, near Locality) {
	places := []string{yarn.AnyHost, n.Rack, n.Name}[:3-near]
	for _, r := range k.Rows {
		if slices.Contains(places, r.Where) {
			r.Count--
		}
	}
	k.Rows = slices.DeleteFunc(k.Rows, func(r *Row) bool { return r.Count == 0 && slices.Contains(places, r.Where) })
}

// reserve reserves the node for a container of the key, if the application starves, the container is large, and the application has not reserved too
// many nodes.
func (w *World) reserve(a *App, k *Key, n *Node, near Locality, size resource) *Decision {
	if !w.starved(a) || w.compare(a.Queue, size, w.Config.Threshold) < 0 {
		return nil
	}
	if near != NodeLocal {
		nodes, held := 0, 0
		for _, o := range w.Nodes {
			if near == RackLocal && o.Rack != n.Rack {
				continue
			}
			nodes++
			if c := w.ReservationOn(o); c != nil && c.App == a {
				held++
			}
		}
		if held >= int(math.Ceil(float64(float32(nodes)*w.Config.Reservable))) {
			return nil
		}
	}
	c := w.container(a, k, n, size)
	c.Reserved = true
	return &Decision{Kind: Reserved, ID: c.ID, Node: n.Name, Size: c.Size}
}

// starved tells whether the application has less than its fair share, or a part in what its leaf lacks of its minimum.
func (w *World) starved(a *App) bool {
	return w.Less(a.Queue, w.Usage(a), a.FairShare) || !none(a.MinStarved)
}
