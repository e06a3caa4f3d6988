package capacity

import (
	"fmt"
	"maps"
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/schedtest/twin"
	"github.com/heddle-project/heddle/yarn"
)

// snapshot is what the scheduler knows for certain, for its twin. Sums and
// orders stay behind: the twin finds its own. memory is what is remembered of
// queues, by path and label; kept are leaves and their versions, see
// snapshot.kept.
type snapshot struct {
	s          *Scheduler
	world      *twin.World
	queues     map[*Queue]*twin.Queue
	nodes      map[NodeRef]*twin.Node
	apps       map[AppRef]*twin.App
	containers map[ContainerRef]*twin.Container

	reloaded bool // there was another configuration: weights may be remembered
}

func takeSnapshot(s *Scheduler, memory map[string]map[string]*twin.Memory, kept map[*leaf]int64) *snapshot {
	v := &snapshot{s: s, world: &twin.World{Config: s.cfg}, queues: map[*Queue]*twin.Queue{}, nodes: map[NodeRef]*twin.Node{},
		apps: map[AppRef]*twin.App{}, containers: map[ContainerRef]*twin.Container{}}
	for p := range s.Books.Partitions() {
		v.world.Labels = append(v.world.Labels, twin.Label{Name: v.label(part(p)), Exclusive: s.Books.Partition(part(p)).Exclusive,
			Gone: !s.Books.Partition(part(p)).Known})
	}
	for i := range s.Books.NodeSlots() {
		if n := s.Books.Node(NodeRef(i)); n.Member {
			v.nodes[NodeRef(i)] = &twin.Node{ID: n.ID, Name: n.ID.Host, Rack: n.Rack, Label: n.Label, Total: n.Total, Accepting: n.Accepting}
			v.world.Nodes = append(v.world.Nodes, v.nodes[NodeRef(i)])
		}
	}
	v.world.Root = v.queue(s.tree.Root, nil, memory)
	for _, a := range s.Apps {
		if a != nil {
			v.app(appOf(a))
		}
	}
	for i := range s.Books.Slots() {
		if ref := ContainerRef(i); s.Books.IsOpen(ref) {
			v.container(ref)
		}
	}
	for _, a := range s.Apps {
		if a != nil {
			v.keys(appOf(a))
		}
	}
	for q, to := range v.queues {
		if q.Leaf {
			v.users(q, to)
			v.ofAll(leafOf(q), to)
			v.kept(q, to, kept)
			v.refused(leafOf(q), to)
		}
	}
	return v
}

func (v *snapshot) label(p part) string { return v.s.Books.Partition(p).Name }

func (v *snapshot) queue(q *Queue, parent *twin.Queue, memory map[string]map[string]*twin.Memory) *twin.Queue {
	if memory[q.Path] == nil {
		memory[q.Path] = map[string]*twin.Memory{}
	}
	to := &twin.Queue{Path: q.Path, Conf: q.Conf, Parent: parent, Dynamic: q.Dynamic, IsLeaf: q.Leaf, Memory: memory[q.Path],
		Killable: q.Ledger[0].Killable}
	v.queues[q] = to
	if q.Leaf {
		l := leafOf(q)
		to.VisitLimit, to.QueueLimit, to.UsageRatio = l.visitLimit, l.queueLimit, map[string]float32{}
		for p := range l.Shares {
			to.UsageRatio[v.label(part(p))] = l.Shares[p].UsageRatio
		}
		to.OldMasters = map[string]yarn.Resource{}
		for p := range q.Shares {
			if label := v.label(part(p)); !q.MayUse(label) {
				to.OldMasters[label] = q.Shares[p].AMLimit
			}
		}
	}
	for _, c := range q.Children {
		to.Children = append(to.Children, v.queue(c, to, memory))
	}
	return to
}

func (v *snapshot) app(a *app) {
	to := &twin.App{ID: a.ID, Attempt: a.AttemptID(), User: a.User, Queue: v.queues[a.queue], Priority: a.Priority, Start: a.StartWall,
		Label: a.Label, Unmanaged: a.Unmanaged, Recovering: a.Recovering, Running: a.Running, Runnable: a.runnable, Active: a.active,
		Waits: a.waits, Mastered: a.Mastered, Asking: a.member.Asking, AM: a.wait.Size, AMLabel: v.label(a.wait.Part), Counter: a.Newest,
		Avoid: v.places(a.Avoid), AvoidForMaster: v.places(a.AvoidAM), FairUsed: a.orderUsed, FairPending: a.orderPending, Stale: a.stale}
	if a.headLeaf != nil {
		to.Head = v.queues[a.headLeaf]
	}
	for p, asked := range a.Wants.Asked() {
		if asked {
			to.Asked = append(to.Asked, v.label(part(p)))
		}
	}
	v.apps[a.Ref] = to
	v.world.Apps = append(v.world.Apps, to)
}

func (v *snapshot) places(set map[cluster.Place]bool) map[string]bool {
	out := map[string]bool{}
	for p := range set {
		out[v.s.Books.Places.Name(p)] = true
	}
	return out
}

func (v *snapshot) container(ref ContainerRef) {
	container := v.s.Books.Container(ref)
	to := &twin.Container{ID: container.ID, App: v.apps[container.App], Node: v.nodes[container.Node], Resource: container.Resource, Priority: container.Priority,
		RequestID: container.AllocationRequestID, Label: container.Label, Locality: twin.Locality(container.Locality), AM: container.AM,
		Reserved: container.Reserved, Live: container.Live, Held: container.Held(), Uncounted: container.Execution != yarn.Guaranteed, Killable: container.Killable,
		Created: container.CreatedWall}
	v.containers[ref] = to
	v.world.Containers = append(v.world.Containers, to)
}

func (v *snapshot) keys(a *app) {
	row := func(r demand.Row) twin.Row {
		return twin.Row{Name: v.s.Books.Places.Name(r.Place), Count: r.Count, Size: r.Size, Relax: r.Relax}
	}
	for _, w := range a.Wants.All() {
		to := &twin.Key{Priority: w.Priority, RequestID: w.RequestID, Label: w.Label, Opportunities: w.Opportunities, Missed: w.Missed, Rereserved: w.Rereserved}
		if w.HasAny {
			r := row(w.Any)
			to.Any = &r
		}
		for _, r := range w.Rows {
			to.Rows = append(to.Rows, row(r))
		}
		for _, c := range w.Reservations {
			to.Reservations = append(to.Reservations, v.containers[c])
		}
		v.apps[a.Ref].Keys = append(v.apps[a.Ref].Keys, to)
	}
}

func (v *snapshot) users(q *Queue, to *twin.Queue) {
	for _, u := range leafOf(q).All {
		tu := &twin.User{Name: u.Name, Asking: u.IsActive, Active: int(u.Active), Pending: int(u.Pending), Ratio: map[string]float32{}, Forgotten: map[string]resource{}}
		for p := range u.Shares {
			tu.Ratio[v.label(part(p))] = u.Shares[p].Ratio
			if f := u.Shares[p].Used.Sub(v.world.UsedBy(to, tu, v.label(part(p)))); !none(f) {
				tu.Forgotten[v.label(part(p))] = f
			}
		}
		to.Users = append(to.Users, tu)
	}
	to.Forgotten = map[string]resource{}
	for p := range leafOf(q).Shares {
		sum := leafOf(q).Shares[p].ActiveUsed
		for _, u := range to.Users {
			if u.Asking {
				sum = sum.Sub(v.world.UsedBy(to, u, v.label(part(p))))
			}
		}
		to.Forgotten[v.label(part(p))] = sum
	}
}

// kept are the cached limits of a leaf that a user has left who wanted
// something: they need not be what they would be if worked out now.
func (v *snapshot) kept(q *Queue, to *twin.Queue, kept map[*leaf]int64) {
	l := leafOf(q)
	if version, ok := kept[l]; !ok || version != l.Version {
		return
	}
	to.Kept = map[twin.Kept]resource{}
	for p := range l.Shares {
		for m, c := range l.Shares[p].Limits {
			if c.Version == l.Version {
				to.Kept[twin.Kept{Label: v.label(part(p)), Lent: mode(m) == ignore}] = c.Value
			}
		}
	}
}

// ofAll are the limits of all users that stand until something happens.
func (v *snapshot) ofAll(l *leaf, to *twin.Queue) {
	to.KeptOfAll = map[string]resource{}
	for p := range l.Shares {
		if c := l.Shares[p].OfAll; c.Version == l.Version {
			to.KeptOfAll[v.label(part(p))] = c.Value
		}
	}
}

// refused are refusals that were found for users who had left the leaf, and who may have come back since.
func (v *snapshot) refused(l *leaf, to *twin.Queue) {
	if l.GoneVersion != l.Version {
		return
	}
	to.Refused = map[twin.Refused]resource{}
	for name, u := range l.Gone {
		for p := range u.Shares {
			for m, b := range u.Shares[p].Blocks {
				if b.Refused == l.Version {
					to.Refused[twin.Refused{User: name, Kept: twin.Kept{Label: v.label(part(p)), Lent: mode(m) == ignore}}] = b.Reserved
				}
			}
		}
	}
}

// entitled compares what queues are entitled to, what they use and what they
// want, and who is served first, with what the twin finds.
func (v *snapshot) entitled() string {
	w := v.world
	w.Entitle()
	var bad string
	wrong := func(q *Queue, what string, have, want any) {
		if have == want {
			return
		}
		if h, n := fmt.Sprint(have), fmt.Sprint(want); h != n && bad == "" { // not a number is the same twice
			bad = fmt.Sprintf("%s: %s is %s, the twin finds %s", q.Path, what, h, n)
		}
	}
	v.s.tree.Root.Each(func(q *Queue) {
		to := v.queues[q]
		for p := range q.Shares {
			label := v.label(part(p))
			have, want := &q.Shares[p], to.Shares[label]
			on := func(what string) string { return fmt.Sprintf("%s in %q", what, label) }
			wrong(q, on("minimum"), have.EffMin, want.Min)
			wrong(q, on("maximum"), have.EffMax, want.Max)
			wrong(q, on("usage"), q.Ledger[p].Used, w.Used(to, label))
			wrong(q, on("demand"), q.Ledger[p].Pending, w.Pending(to, label))
			if !none(w.Partition(label)) {
				wrong(q, on("absolute capacity"), have.Absolute, want.Absolute)
				wrong(q, on("absolute maximum"), have.AbsoluteMax, want.AbsoluteMax)
				ofOwn, ofAll := w.UsedCapacity(to, label)
				wrong(q, on("used capacity"), have.UsedCapacity, ofOwn)
				wrong(q, on("used share"), have.AbsoluteUsed, ofAll)
			}
		}
		if q.Leaf {
			all, each := w.MaxApps(to)
			wrong(q, "number of applications", q.MaxApps, all)
			wrong(q, "number of applications of a user", q.MaxAppsPerUser, each)
		}
	})
	return bad
}

// limited compares limits of users, headrooms and orders with what the twin
// finds. It comes after entitled.
func (v *snapshot) limited() string {
	w, s := v.world, v.s
	for _, q := range s.tree.Queues {
		if q == nil || !q.Leaf {
			continue
		}
		to := v.queues[q]
		for p := range q.Shares {
			for _, u := range leafOf(q).All {
				for _, m := range []mode{respect, ignore} {
					have := leafOf(q).LimitNow(q, part(p), m, u.Weight)
					if want := w.UserLimit(to, u.Name, v.label(part(p)), m == ignore); have != want {
						return fmt.Sprintf("%s: limit of %s in %q, lent %v, is %v, the twin finds %v", q.Path, u.Name, v.label(part(p)), m == ignore, have, want)
					}
				}
			}
		}
		if have, want := names(leafOf(q).active.apps), twinNames(w.Active(to)); have != want {
			return fmt.Sprintf("%s: serves %s, the twin %s", q.Path, have, want)
		}
	}
	for q, to := range v.queues {
		if !q.Leaf {
			continue
		}
		if have, want := names(inOrder(&leafOf(q).pending)), twinNames(w.PendingApps(to)); have != want {
			return fmt.Sprintf("%s: waits for admission %s, the twin finds %s", q.Path, have, want)
		}
	}
	for ref, a := range v.apps {
		if have := s.app(ref); have.headUser == nil || !have.headUser.Replaced() {
			if h, want := s.Headroom(ref), w.Headroom(a); h != want {
				return fmt.Sprintf("%v: headroom is %v, the twin finds %v", a.ID, h, want)
			}
		}
	}
	return ""
}

func names(apps []*app) (out string) {
	for _, a := range apps {
		out += fmt.Sprint(a.ID.Sequence, " ")
	}
	return out
}

func twinNames(apps []*twin.App) (out string) {
	for _, a := range apps {
		out += fmt.Sprint(a.ID.Sequence, " ")
	}
	return out
}

// sortedRefs are the keys of a map of applications in their order.
func sortedRefs[T any](m map[AppRef]T) []AppRef { return slices.Sorted(maps.Keys(m)) }
