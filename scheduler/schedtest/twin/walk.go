package twin

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// Kind is what a decision does.
type Kind int

// The kinds of decisions.
const (
	Nothing Kind = iota
	Allocated
	AllocatedFromReserved
	Reserved
	Rereserved
	Unreserved
)

// Decision is one thing that an offer did.
type Decision struct {
	Kind     Kind
	ID       yarn.ContainerID
	Node     yarn.NodeID
	Resource yarn.Resource
}

// why tells what a walk that brought nothing means for what comes after it.
type why int

const (
	goOn    why = iota
	nextApp     // another application may get something
	nextKey     // another key of the application may
	atLimit     // the queue's limit is in the way
)

// proposal is what a walk comes back with.
type proposal struct {
	kind   Kind
	why    why
	app    *App
	key    *Key
	size   resource
	near   Locality
	served *Container // the reservation that the walk is for
	excess *Container // a reservation to be given up
}

// walk is one way from the root to an application.
type walk struct {
	w     *World
	node  *Node
	lent  bool     // room of a partition goes to asks without a label
	limit resource // of the queue that is looked at
	room  resource // what is left of it
	owed  resource // what the application must give back before it gets more
}

// maxRefused bounds how often an offer is refused its proposal, where nothing else
// does.
const maxRefused = 100

// Offer is one heartbeat of a node.
func (w *World) Offer(n *Node) (out []Decision) {
	offSwitch, assigned, refused := int32(0), int32(0), 0
	for {
		p, done := w.try(n, &out)
		if p.kind == Nothing {
			break
		}
		assigned++
		if p.near == OffSwitch {
			offSwitch++
		}
		if !done {
			refused++
		}
		c := w.Config
		if p.kind == Reserved || offSwitch >= c.MaxOffSwitch || !c.MultipleAssignments ||
			c.MaxAssignments != -1 && assigned >= c.MaxAssignments || refused >= maxRefused {
			break
		}
	}
	for _, c := range w.Containers {
		if c.AM && c.Live {
			c.App.Mastered = true
		}
	}
	return out
}

// try places at most one thing on the node. Nothing more can come of the offer
// if it returns no proposal; done tells that one was carried out.
func (w *World) try(n *Node, out *[]Decision) (p proposal, done bool) {
	if held := w.ReservationOn(n); held != nil {
		v := &walk{w: w, node: n, limit: w.Partition("")}
		v.room = v.limit
		p = v.leaf(held.App.Queue)
		w.commit(v, p, out)
		return proposal{}, false
	}
	if w.holds(w.Free(n), w.least()) <= 0 {
		return proposal{}, false
	}
	v := &walk{w: w, node: n, limit: w.Partition(n.Label)}
	if p = v.parent(w.Root, &resource{}); p.kind != Nothing {
		return p, w.commit(v, p, out)
	}
	w.commit(v, p, out)
	if n.Label == "" || w.exclusive(n.Label) {
		return proposal{}, false
	}
	v = &walk{w: w, node: n, lent: true, limit: w.Partition("")}
	p = v.parent(w.Root, &resource{})
	return p, w.commit(v, p, out)
}

// served is the label that asks must have for the walk.
func (v *walk) served() string {
	if v.lent {
		return ""
	}
	return v.node.Label
}

func (v *walk) wants(q *Queue) bool {
	return v.w.more(v.w.Cluster(), v.w.Pending(q, v.served()), resource{})
}

// mayGetMore compares what a queue uses with its limit. What could be given back
// counts as free.
func (v *walk) mayGetMore(q *Queue, reserved resource) bool {
	w, label := v.w, v.node.Label
	limit := w.Partition(label)
	if !v.lent {
		limit = w.smaller(w.Cluster(), q.Shares[label].Max, v.limit)
	}
	used := w.Used(q, label)
	v.room = limit.Sub(used)
	return w.less(w.Cluster(), used, limit) ||
		w.Config.ContinueLooking && w.more(w.Cluster(), reserved, resource{}) && w.less(w.Cluster(), used.Sub(reserved), limit)
}

// parent tries the children one after the other. blocked is the room that is
// kept for those that wait at their limit.
func (v *walk) parent(q *Queue, blocked *resource) proposal {
	w, label := v.w, v.node.Label
	if !v.lent && !q.Conf.MayUse(label) || !v.wants(q) || !w.fits(w.least(), w.Free(v.node)) {
		return proposal{}
	}
	reserved := w.Reserved(q, "")
	if !v.mayGetMore(q, resource{reserved[0], reserved[1]}) {
		return proposal{}
	}
	limit, end := v.limit, proposal{}
	for _, c := range w.Children(q, label) {
		if !v.wants(c) {
			continue
		}
		limit = w.smaller(w.Cluster(), limit, q.Shares[label].Max)
		below := &walk{w: w, node: v.node, lent: v.lent}
		below.limit = w.roundDown(limit.Sub(*blocked).Sub(w.Used(q, label)).Add(w.Used(c, label)))
		below.room = below.limit
		var inner resource
		var p proposal
		if c.IsLeaf {
			p = below.leaf(c)
			inner = below.room
		} else {
			p = below.parent(c, &inner)
		}
		if p.kind != Nothing || p.excess != nil {
			return p
		}
		if p.why == atLimit {
			end = p
			*blocked = blocked.Add(w.larger(w.Cluster(), inner, resource{}))
		}
	}
	return end
}

// leaf tries the applications one after the other.
func (v *walk) leaf(q *Queue) proposal {
	w, label := v.w, v.node.Label
	q.VisitLimit = w.smaller(w.Cluster(), w.roundDown(q.Shares[""].Max), v.limit)
	if held := w.ReservationOn(v.node); held != nil && held.App.Queue == q && held.App.Running {
		return v.reserved(held)
	}
	if !v.lent && !q.Conf.MayUse(label) || !v.wants(q) {
		return proposal{}
	}
	w.ReorderStale(q)
	check := true
	for _, a := range w.Active(q) {
		if q.Conf.Ordering == config.FifoWithPartitions && q.listOf(a.Label) != q.listOf(label) {
			continue
		}
		reserved := w.ReservedBy(a, "")
		if check {
			if !v.mayGetMore(q, reserved) {
				return proposal{}
			}
			check = w.Config.ContinueLooking && !none(reserved)
		}
		if !v.userMay(q, a, reserved) {
			continue
		}
		p := v.application(a)
		if p.kind != Nothing || p.why == atLimit {
			return p
		}
	}
	return proposal{}
}

// listOf is the list of applications that serves nodes of the partition.
func (q *Queue) listOf(label string) string {
	if slices.Contains(q.Conf.Enforced, label) {
		return label
	}
	return ""
}

// userMay checks the limit of the application's user.
func (v *walk) userMay(q *Queue, a *App, reserved resource) bool {
	w, label := v.w, v.node.Label
	u := q.User(a.User)
	if u == nil {
		return false
	}
	q.QueueLimit = q.VisitLimit
	a.Head = q
	if most, ok := q.Refused[Refused{a.User, Kept{label, v.lent}}]; ok && w.fits(reserved, most) {
		return false
	}
	v.owed = resource{}
	limit, used := w.UserLimit(q, a.User, label, v.lent), w.UsedBy(q, u, label)
	if !w.more(w.Cluster(), used, limit) {
		return true
	}
	if w.Config.ContinueLooking && !w.more(w.Cluster(), w.UsedBy(q, u, "").Sub(reserved), limit) {
		v.owed = used.Sub(limit)
		return true
	}
	return false
}

// reserved tries to serve the reservation that the node is held for.
func (v *walk) reserved(c *Container) proposal {
	k := c.App.find(c.Priority, c.RequestID)
	if k == nil || k.Any == nil || k.Any.Count == 0 {
		return proposal{app: c.App, excess: c}
	}
	if c.App.avoids(v.node) {
		return proposal{}
	}
	k.Opportunities++
	return v.places(c.App, k, c)
}

func (a *App) find(priority int32, request int64) *Key {
	for _, k := range a.Keys {
		if k.Priority == priority && k.RequestID == request {
			return k
		}
	}
	return nil
}

func (a *App) avoids(n *Node) bool {
	if a.Mastered {
		return a.Avoid[n.Name] || a.Avoid[n.Rack]
	}
	return a.AvoidForMaster[n.Name] || a.AvoidForMaster[n.Rack]
}

// application tries the keys in their order, until one of them has an end that
// is not its own alone.
func (v *walk) application(a *App) proposal {
	if wanted := a.PendingOf(v.served()); none(wanted) {
		return proposal{why: nextApp}
	}
	keys := slices.Clone(a.Keys)
	slices.SortStableFunc(keys, func(x, y *Key) int {
		if x.Priority != y.Priority {
			return int(x.Priority) - int(y.Priority)
		}
		return int(x.RequestID) - int(y.RequestID)
	})
	for _, k := range keys {
		if k.Any == nil || k.Any.Count <= 0 {
			continue
		}
		if p := v.key(a, k); p.why != nextKey {
			return p
		}
	}
	return proposal{why: nextApp}
}

func (v *walk) key(a *App, k *Key) proposal {
	w, look := v.w, v.w.Config.ContinueLooking
	if v.lent && !a.Mastered && !w.Config.Cluster.AMSharing {
		return proposal{why: nextApp}
	}
	if !look && !w.worthMore(a, k, k.Any.Size) {
		return proposal{why: nextKey}
	}
	room := v.room
	if look {
		room = room.Add(w.ReservedBy(a, v.node.Label))
	}
	if !w.fits(k.Any.Size, room) {
		return proposal{why: atLimit}
	}
	if k.Label == "" {
		k.Missed++
	}
	if v.lent && (k.Label != "" || int(k.Missed) < len(w.Nodes)) {
		return proposal{why: nextApp}
	}
	if k.Label != v.served() {
		return proposal{why: nextKey}
	}
	if a.avoids(v.node) {
		return proposal{why: nextApp}
	}
	k.Opportunities++
	p := v.places(a, k, nil)
	if p.why == nextKey {
		k.Opportunities--
	}
	return p
}

// places tries the node by its name, by its rack and as any node.
func (v *walk) places(a *App, k *Key, served *Container) proposal {
	w, c := v.w, v.w.Config
	nodes := int32(len(w.Nodes))
	atNode, atRack := k.row(v.node.Name), k.row(v.node.Rack)
	if atNode != nil && atNode.Count > 0 && atRack != nil && atRack.Count > 0 {
		if p := v.fit(a, k, atNode, NodeLocal, served); p.kind != Nothing {
			return p
		}
	}
	if atRack != nil && atRack.Count > 0 {
		if !atRack.Relax {
			return proposal{why: nextKey}
		}
		if min(nodes, c.NodeDelay) < k.Opportunities {
			if p := v.fit(a, k, atRack, RackLocal, served); p.kind != Nothing {
				return p
			}
		}
	}
	if k.Any == nil || k.Any.Count <= 0 || !k.Any.Relax {
		return proposal{why: nextKey}
	}
	if served == nil && !w.anyNodeWillDo(k) {
		return proposal{why: nextApp}
	}
	p := v.fit(a, k, k.Any, OffSwitch, served)
	if p.kind == Nothing {
		p.why = nextApp
	}
	return p
}

func (w *World) anyNodeWillDo(k *Key) bool {
	nodes, names := int32(len(w.Nodes)), len(k.Rows)+1
	switch extra := w.Config.RackExtraDelay; {
	case nodes == 0:
		return false
	case names == 1:
		return true
	case extra > -1:
		return k.Opportunities > min(nodes, w.Config.NodeDelay+extra)
	}
	part := min(javanum.Div(float32(names-1), float32(nodes)), 1)
	return min(float32(nodes), javanum.Mul(float32(k.Any.Count), part)) < float32(k.Opportunities)
}

// worthMore tells whether a key may have one more container or reservation.
func (w *World) worthMore(a *App, k *Key, size resource) bool {
	held, starving := int32(len(k.Reservations)), int32(0)
	if held > 0 {
		most := a.Queue.Conf.MaxAllocation
		part := min(w.ratio(size, most), w.ratio(most.Sub(w.least()), most))
		starving = javanum.Int(javanum.Mul(javanum.Div(float32(k.Rereserved), float32(held)), javanum.Add(1, -part)))
	}
	wanted := int32(0)
	if k.Any != nil {
		wanted = k.Any.Count
	}
	return starving+wanted-held > 0
}

// fit sees whether a container fits on the node now, or whether the node is to
// be held for it.
func (v *walk) fit(a *App, k *Key, r *Row, near Locality, served *Container) proposal {
	w := v.w
	if !w.fits(r.Size, v.node.Total) {
		return proposal{}
	}
	p := proposal{app: a, key: k, size: r.Size, near: near, served: served}
	look := w.Config.ContinueLooking && served == nil
	more := w.worthMore(a, k, r.Size)
	need := w.larger(w.Cluster(), r.Size.Sub(v.room), v.owed)
	give := w.anything(need)
	switch {
	case w.holds(w.Free(v.node), r.Size) > 0:
		if look && (!more || give) {
			if !give {
				need = r.Size
			}
			if p.excess = w.toGiveUp(k, need); p.excess == nil {
				return proposal{}
			}
		}
		p.kind = Allocated
	case (more || served != nil) && !(look && give):
		p.kind = Reserved
	default:
		return proposal{}
	}
	if served == nil {
		if near == NodeLocal || near == RackLocal && w.Config.RackFullReset {
			k.Opportunities = 0
		}
		if v.node.Label == "" {
			k.Missed = 0
		}
	}
	return p
}

// toGiveUp is the reservation of the key that makes room for so much, the first
// in the order of a Java table of nodes.
func (w *World) toGiveUp(k *Key, need resource) *Container {
	size := uint32(16)
	for 4*len(k.Reservations) > 3*int(size) {
		size *= 2
	}
	place := func(n *Node) uint32 {
		h := (8501*uint32(493217)+javanum.StringHash(n.ID.Host))*493217 + uint32(n.ID.Port)
		return (h ^ h>>16) % size
	}
	byTable := slices.Clone(k.Reservations)
	slices.SortStableFunc(byTable, func(a, b *Container) int { return int(place(a.Node)) - int(place(b.Node)) })
	for _, c := range byTable {
		if w.fits(need, c.Resource) {
			return c
		}
	}
	return nil
}
