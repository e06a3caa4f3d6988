package capacity

import (
	"fmt"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/schedtest/twin"
	"github.com/heddle-project/heddle/yarn"
)

// sound sees that what the scheduler shows is what there is, that reservations
// have somebody to be for and that orders are orders. It comes after entitled.
func (v *snapshot) sound() string {
	for _, check := range []func() string{v.clusterSound, v.sharesSound, v.nodesSound, v.appsSound, v.queuesSound, v.parallelSound, v.ordersSound} {
		if bad := check(); bad != "" {
			return bad
		}
	}
	return ""
}

func (v *snapshot) clusterSound() string {
	s, w := v.s, v.world
	if s.Books.Total != w.Cluster() || s.Books.Count != len(w.Nodes) {
		return fmt.Sprintf("the cluster has %v of %d nodes, the nodes have %v", s.Books.Total, s.Books.Count, w.Cluster())
	}
	for p, l := range w.Labels {
		if have, want := s.Books.Partition(part(p)).Total, w.Partition(l.Name); have != want {
			return fmt.Sprintf("partition %q has %v, its nodes have %v", l.Name, have, want)
		}
	}
	return ""
}

// sharesSound sees that children get what their parent has and no more. Amounts
// are scaled in the order of the calculator only, and what Apache remembers of
// weights is on top.
func (v *snapshot) sharesSound() string {
	cfg := v.s.cfg
	for _, q := range v.world.Queues() {
		for label, s := range q.Shares {
			var sum resource
			var absolute float32
			byAmount := false
			for _, c := range q.Children {
				sum = sum.Add(c.Shares[label].Min)
				absolute += c.Shares[label].Absolute
				byAmount = byAmount || cfg.Legacy && c.Conf.Amount("").Absolute
			}
			over := sum.Sub(s.Min)
			if len(q.Children) == 0 || v.reloaded || byAmount {
				continue
			}
			for i := range cfg.Cluster.Types {
				if over[i] > 0 && (!cfg.Legacy || over[i] > 1) {
					return fmt.Sprintf("the children of %s are promised %v in %q, it has %v", q.Path, sum, label, s.Min)
				}
			}
			if d := absolute - s.Absolute; cfg.Legacy && absolute != 0 && (d > 1e-4 || d < -1e-4) {
				return fmt.Sprintf("the children of %s have %v of %q, it has %v", q.Path, absolute, label, s.Absolute)
			}
		}
	}
	return ""
}

func (v *snapshot) nodesSound() string {
	for ref, n := range v.nodes {
		u := v.s.NodeUsage(ref)
		if free := v.world.Free(n); u.Available != free || u.Used.Add(u.Available) != n.Total {
			return fmt.Sprintf("%v: %v used and %v free of %v, containers leave %v", n.ID, u.Used, u.Available, n.Total, free)
		}
		var held []*twin.Container
		for _, c := range v.world.Containers {
			if c.Node == n && c.Reserved {
				held = append(held, c)
			}
		}
		switch {
		case len(held) > 1:
			return fmt.Sprintf("%v has %d reservations", n.ID, len(held))
		case len(held) == 1 != (u.Reserved >= 0):
			return fmt.Sprintf("%v shows the reservation %d, but has %d", n.ID, u.Reserved, len(held))
		case len(held) == 1 && !held[0].App.Running:
			return fmt.Sprintf("%v is held for %v, which has ended", n.ID, held[0].App.Attempt)
		}
	}
	for _, c := range v.world.Containers {
		if c.Node == nil || c.App == nil {
			return fmt.Sprintf("the node or application of %v is gone", c.ID)
		}
	}
	return ""
}

func (v *snapshot) appsSound() string {
	for _, ref := range sortedRefs(v.apps) {
		a, u := v.apps[ref], v.s.AppUsage(ref)
		var used, reserved, pending resource
		for _, c := range v.world.Containers {
			switch {
			case c.App == a && c.Reserved:
				reserved = reserved.Add(c.Resource)
			case c.App == a && c.Live:
				used = used.Add(c.Resource)
			}
		}
		for _, l := range v.world.Labels {
			pending = pending.Add(a.PendingOf(l.Name))
		}
		if u.Used != used || u.Reserved != reserved || u.Pending != pending {
			return fmt.Sprintf("%v shows %v, %v reserved and %v pending, but has %v, %v and %v", a.ID, u.Used, u.Reserved, u.Pending, used, reserved, pending)
		}
	}
	return ""
}

// queuesSound compares the gauges of queues and users with a recount.
func (v *snapshot) queuesSound() string {
	shown := v.s.Queues()
	for q, to := range v.queues {
		info, ok := shown.ByPath(q.Path)
		if !ok {
			return q.Path + " is not shown"
		}
		var allocated, reserved int32
		var waiting int64
		for _, c := range v.world.Containers {
			if c.Node.Label != "" || !below(c.App.Queue, to) {
				continue
			}
			if c.Reserved {
				reserved++
			} else if c.Live {
				allocated++
			}
		}
		for _, a := range v.world.Apps {
			for _, k := range a.Keys {
				if a.Running && below(a.Queue, to) && k.Any != nil && k.Label == "" {
					waiting += int64(k.Any.Count)
				}
			}
		}
		d := info.Default
		if d.AllocatedContainers != allocated || d.ReservedContainers != reserved || int64(d.PendingContainers) != waiting {
			return fmt.Sprintf("%s shows %d containers, %d reserved, %d pending, but has %d, %d, %d", q.Path,
				d.AllocatedContainers, d.ReservedContainers, d.PendingContainers, allocated, reserved, waiting)
		}
		if d.Reserved != v.world.Reserved(to, "") {
			return fmt.Sprintf("%s shows %v reserved, it has %v", q.Path, d.Reserved, v.world.Reserved(to, ""))
		}
		if d.Used != v.world.Used(to, "") || d.Pending != v.world.Pending(to, "") || negative(d.Used) || negative(d.Pending) {
			return fmt.Sprintf("%s shows %v used and %v pending", q.Path, d.Used, d.Pending)
		}
		if bad := v.usersSound(q, to); bad != "" {
			return bad
		}
	}
	return ""
}

// usersSound sees that the users of a leaf add up to the leaf.
func (v *snapshot) usersSound(q *Queue, to *twin.Queue) string {
	if !q.Leaf {
		return ""
	}
	for _, l := range v.world.Labels {
		var sum resource
		var ratios float32
		for _, u := range to.Users {
			used := v.world.UsedBy(to, u, l.Name)
			sum = sum.Add(used)
			ratios += u.Ratio[l.Name]
			if u.Forgotten[l.Name] != (resource{}) || negative(used) {
				return fmt.Sprintf("%s: user %s uses %v in %q, but has %v more", q.Path, u.Name, used, l.Name, resource{}.Sub(u.Forgotten[l.Name]))
			}
		}
		if to.Forgotten[l.Name] != (resource{}) || sum != v.world.Used(to, l.Name) {
			return fmt.Sprintf("%s: users have %v in %q, the leaf has %v", q.Path, sum, l.Name, v.world.Used(to, l.Name))
		}
		if d := ratios - to.UsageRatio[l.Name]; d > 1e-4 || d < -1e-4 {
			return fmt.Sprintf("%s: shares of users in %q are %v, kept is %v", q.Path, l.Name, ratios, to.UsageRatio[l.Name])
		}
	}
	return ""
}

// refOf returns the application with the id, or NoApp.
func refOf(s *Scheduler, id yarn.ApplicationID) AppRef {
	for ref, a := range s.Apps {
		if a != nil && !a.Gone && a.ID == id {
			return AppRef(ref)
		}
	}
	return cluster.NoApp
}

// parallelSound counts the applications that limits on parallel ones let run.
func (v *snapshot) parallelSound() string {
	users := map[string]int32{}
	runs := map[*twin.Queue]int32{}
	for _, a := range v.world.Apps {
		if !a.Running || !a.Runnable {
			if a.Running && (a.Active || a.Waits) {
				return fmt.Sprintf("%v is held back and active or pending", a.ID)
			}
			if a.Running && v.s.mayRun(v.s.app(refOf(v.s, a.ID))) {
				return fmt.Sprintf("%v is held back and nothing is in the way", a.ID)
			}
			continue
		}
		if a.Active == a.Waits {
			return fmt.Sprintf("%v is active: %v, pending: %v", a.ID, a.Active, a.Waits)
		}
		users[a.User]++
		for q := a.Queue; q != nil; q = q.Parent {
			runs[q]++
		}
	}
	for q, to := range v.queues {
		if runnableApps(q) != runs[to] {
			return fmt.Sprintf("%s lets %d applications run, there are %d", q.Path, runnableApps(q), runs[to])
		}
	}
	for _, user := range []string{"ann", "bob", "cid"} {
		if v.s.userRunnable[user] != users[user] {
			return fmt.Sprintf("%s has %d applications that run, there are %d", user, v.s.userRunnable[user], users[user])
		}
	}
	return ""
}

// mayRun tells whether limits on parallel applications have room for one more
// attempt of the application.
func (p *play) mayRun(ref AppRef) bool {
	w, cfg := p.snapshot(p.quick), p.quick.cfg
	me := w.apps[ref]
	running := func(of func(a *twin.App) bool) (n int32) {
		for _, a := range w.world.Apps {
			if a.Running && a.Runnable && of(a) {
				n++
			}
		}
		return n
	}
	if running(func(a *twin.App) bool { return a.User == me.User }) >= cfg.UserParallel(me.User) {
		return false
	}
	for q := me.Queue; q != nil; q = q.Parent {
		if running(func(a *twin.App) bool { return below(a.Queue, q) }) >= q.Conf.MaxParallel {
			return false
		}
	}
	return true
}

// ordersSound sees that no order contradicts itself.
func (v *snapshot) ordersSound() string {
	for q := range v.queues {
		if q.Leaf && (!isOrder(leafOf(q).active.apps, policyOf(q)) || !isOrder(inOrder(&leafOf(q).pending), comparePending)) {
			return fmt.Sprintf("the order of applications of %s contradicts itself", q.Path)
		}
	}
	return ""
}

// isOrder tells whether the comparison is a strict weak order of the list.
func isOrder[T any](list []T, compare func(a, b T) int) bool {
	for _, a := range list {
		for _, b := range list {
			if sign(compare(a, b)) != -sign(compare(b, a)) {
				return false
			}
			for _, c := range list {
				x, y, z := sign(compare(a, b)), sign(compare(b, c)), sign(compare(a, c))
				if x == y && z != x || x == 0 && z != y {
					return false
				}
			}
		}
	}
	return true
}

func sign(n int) int { return min(max(n, -1), 1) }

func negative(r resource) bool { return r != r.Sub(resource{}) || !(resource{}).FitsIn(r) }

func below(q, top *twin.Queue) bool {
	for ; q != nil; q = q.Parent {
		if q == top {
			return true
		}
	}
	return false
}

// lawful judges the decisions of an offer by themselves: nothing was given to
// whom it may not be given, on a node that takes nothing, or above a limit.
// facts is what was known before.
func (p *play) lawful(n NodeRef, out []cluster.Decision, facts *snapshot) {
	s, w, node := p.quick, facts.world, facts.nodes[n]
	fail := func(format string, args ...any) { p.t.Fatalf("unlawful: "+format, args...) }
	lent, grown, gaveUp := false, false, false
	granted := map[*twin.Key]int32{}
	for i, d := range out {
		if d.Kind == cluster.Unreserved {
			gaveUp = true
			continue
		}
		container, a := s.Container(d.Container), facts.apps[d.App]
		k := keyOfTwin(a, container)
		here := container.Label == "" && node.Label != ""
		lent = lent || here
		switch {
		case !node.Accepting:
			fail("%v on a node that takes nothing", d)
		case k == nil || k.Any == nil:
			fail("%v, which nobody asked for", d)
		case here && w.Labels[p.partOf(node.Label)].Exclusive || !here && container.Label != node.Label:
			fail("%v, label %q, on a node of %q", d, container.Label, node.Label)
		case !here && !a.Queue.Conf.MayUse(node.Label) && (d.Kind == cluster.Allocated || d.Kind == cluster.Reserved):
			fail("%v for %s, which may not use %q", d, a.Queue.Path, node.Label)
		case a.Mastered && (a.Avoid[node.Name] || a.Avoid[node.Rack]) || !a.Mastered && (a.AvoidForMaster[node.Name] || a.AvoidForMaster[node.Rack]):
			fail("%v on a node that the application avoids", d)
		}
		p.placeAndSize(d, container, k, node)
		if d.Kind == cluster.Allocated || d.Kind == cluster.AllocatedFromReserved {
			granted[k]++
		}
		if d.Kind == cluster.Allocated || d.Kind == cluster.Reserved {
			grown = true
			if i == 0 && !gaveUp {
				u := a.Queue.User(a.User)
				total, used, limit := w.Cluster(), w.UsedBy(a.Queue, u, node.Label), w.UserLimit(a.Queue, a.User, node.Label, here)
				if s.Calc.More(&total, &used, &limit) {
					fail("%v for %s, who has %v of %v", d, a.User, used, limit)
				}
			}
		}
	}
	for k, n := range granted {
		if n > k.Any.Count {
			fail("%d containers where %d were asked for", n, k.Any.Count)
		}
	}
	if c := s.cfg.MaxAssignments; int(c) >= 0 && len(granted) > 0 && len(out) > 2*int(max(c, 1)) {
		fail("%d decisions with at most %d assignments", len(out), c)
	}
	if after := s.Books.Node(n); grown && negative(after.Free()) && s.cfg.Dominant {
		fail("%v is left on %v", after.Free(), node.ID)
	}
	if !lent {
		p.belowMaximum(facts, node)
	}
	if after := s.Books.Node(n).Reserved; after >= 0 {
		container := s.Container(after)
		if want := s.app(container.App).Wants.Find(core.KeyOf(container)); want == nil || want.Left() <= 0 {
			fail("%v is still held for an ask that is gone", node.ID)
		}
	}
}

func (p *play) partOf(label string) part { return p.quick.Part(label) }

func keyOfTwin(a *twin.App, container *cluster.Container) *twin.Key {
	for _, k := range a.Keys {
		if k.Priority == container.Priority && k.RequestID == container.AllocationRequestID {
			return k
		}
	}
	return nil
}

// placeAndSize judges how near a container is, and how large.
func (p *play) placeAndSize(d cluster.Decision, container *cluster.Container, k *twin.Key, node *twin.Node) {
	rows := map[string]*twin.Row{}
	for i := range k.Rows {
		rows[k.Rows[i].Name] = &k.Rows[i]
	}
	if d.Kind == cluster.Allocated || d.Kind == cluster.AllocatedFromReserved {
		at, rack := rows[node.Name], rows[node.Rack]
		switch container.Locality {
		case cluster.NodeLocal:
			if at == nil || rack == nil || at.Count <= 0 {
				p.t.Fatalf("unlawful: %v at a node that was not asked for", d)
			}
		case cluster.RackLocal:
			if rack == nil || rack.Count <= 0 || !rack.Relax {
				p.t.Fatalf("unlawful: %v at a rack that was not asked for", d)
			}
		case cluster.OffSwitch:
			if !k.Any.Relax {
				p.t.Fatalf("unlawful: %v anywhere, against the wish of the ask", d)
			}
		}
	}
	least, most := p.quick.Min, p.quick.cfg.Cluster.MaxAllocation
	for i := range p.quick.cfg.Cluster.Types {
		if !p.quick.cfg.Dominant && i > 0 {
			break
		}
		if n := d.Resource[i]; n < least[i] || n > most[i] || least[i] > 0 && n%least[i] != 0 {
			p.t.Fatalf("unlawful: %v is not from %v to %v in steps", d, least, most)
		}
	}
}

// belowMaximum sees that no queue has got more than its maximum.
func (p *play) belowMaximum(facts *snapshot, node *twin.Node) {
	at := p.partOf(node.Label)
	for _, q := range p.quick.tree.Queues {
		if q == nil {
			continue
		}
		was, is := facts.world.Used(facts.queues[q], node.Label), q.Ledger[at].Used
		if !p.quick.Calc.FitsIn(&is, &was) && !p.quick.Calc.FitsIn(&is, &q.Shares[at].EffMax) {
			p.t.Fatalf("unlawful: %s came from %v to %v, its maximum is %v", q.Path, was, is, q.Shares[at].EffMax)
		}
	}
}

// settled lets nodes come by until nothing more happens. Those who still want
// something then know why they get nothing.
func (p *play) settled() {
	for idle, rounds := 0, 0; idle <= len(p.nodes)+1 && rounds < 200; rounds++ {
		idle++
		for _, n := range p.nodes {
			out := same(p, func(s *Scheduler) []cluster.Decision { return s.Offer(n, p.clocked(), nil) })
			p.note(out)
			if len(out) > 0 && out[0].Kind != cluster.Rereserved {
				idle = 0
			}
		}
		if rounds == 199 {
			p.t.Fatalf("the cluster never comes to rest")
		}
	}
	p.check()
	for _, ref := range p.apps {
		if a := p.now.apps[ref]; a.Running && p.quick.AppUsage(ref).PendingCount > 0 {
			p.done["waits"]++
			if len(p.quick.Explain(ref, len(p.nodes))) == 0 {
				p.t.Fatalf("%v waits for no reason", a.ID)
			}
		}
	}
}

// forgotten sees that a leaf does not remember a user whose last application has
// gone, if it never counted one in another way.
func (p *play) forgotten(q *Queue, user string) {
	if leafOf(q).LostActive || leafOf(q).Named(user) == nil {
		return
	}
	for _, a := range p.quick.Apps {
		if a != nil && a.Leaf == &q.Queue && a.User == user {
			return
		}
	}
	if u := leafOf(q).Named(user); u.Active != 0 || u.IsActive || !none(u.Shares[0].Used) {
		p.t.Fatalf("%s remembers %s with %d applications and %v", q.Path, user, u.Active, u.Shares[0].Used)
	}
}

// submitted judges the answer to a submission by the numbers of applications.
func (p *play) submitted(path, user string, why yarn.Reason) {
	w := p.now.world
	var q *twin.Queue
	for _, leaf := range w.Leaves() {
		if leaf.Path == path {
			q = leaf
		}
	}
	all, each := w.MaxApps(q)
	there, mine, cluster := int32(0), int32(0), int32(0)
	for _, a := range w.Apps {
		if p.slot(a) >= 0 {
			cluster++
		}
		if a.Running && a.Queue == q {
			there++
		}
	}
	if u := q.User(user); u != nil {
		mine = int32(u.Active + u.Pending)
	}
	if full := cluster >= p.quick.cfg.MaxSystemApps || there >= all || mine >= each; full == why.OK() {
		p.t.Fatalf("a submission of %s to %s with %d of %d applications, %d of %d, %d of %d got %v", user, path,
			cluster, p.quick.cfg.MaxSystemApps, there, all, mine, each, why)
	}
}

// slot is the place of an application that has not been removed, or -1.
func (p *play) slot(a *twin.App) int {
	for i, ref := range p.apps {
		if p.now.apps[ref] == a {
			return i
		}
	}
	return -1
}

// admissions repeats the admission of applications to one leaf or, with "", to
// all, from the state that a call has left behind: users is how many users the share of masters was
// divided among, was who was active before.
func (p *play) admissions(only string, users map[string]int, was map[AppRef]bool) {
	if p.lazy {
		return
	}
	v := p.snapshot(p.quick)
	v.world.Entitle()
	for _, q := range v.world.Leaves() {
		// A user who was forgotten with active applications left its masters behind.
		if only != "" && q.Path != only || leafOf(p.quick.tree.ByPath(q.Path)).LostActive {
			continue
		}
		have := ""
		for _, ref := range sortedRefs(v.apps) {
			if a := v.apps[ref]; a.Queue == q && a.Active && !was[ref] {
				have += fmt.Sprint(a.ID.Sequence, " ")
				a.Active, a.Waits = false, true
			}
		}
		want := ""
		fresh := map[yarn.ApplicationID]bool{}
		for _, a := range v.world.Admit(q, users[q.Path]) {
			fresh[a.ID] = true
		}
		for _, ref := range sortedRefs(v.apps) {
			if a := v.apps[ref]; fresh[a.ID] {
				want += fmt.Sprint(a.ID.Sequence, " ")
			}
		}
		if have != want {
			p.t.Fatalf("%s admitted %q, the twin %q", q.Path, have, want)
		}
	}
}

// recalculated compares what follows from new entitlements for masters and
// headrooms.
func (p *play) recalculated() {
	v := p.snapshot(p.quick)
	v.world.Entitle()
	limits := v.world.QueueLimits()
	for q, to := range v.queues {
		if !q.Leaf {
			continue
		}
		if leafOf(q).queueLimit != limits[q.Path] {
			p.t.Fatalf("%s goes by the limit %v, the twin by %v", q.Path, leafOf(q).queueLimit, limits[q.Path])
		}
		for at := range q.Shares {
			if have, want := q.Shares[at].AMLimit, v.world.MasterLimit(to, v.label(part(at))); p.quick.hasMasterLimit(q, part(at)) && have != want {
				p.t.Fatalf("%s limits masters in %q to %v, the twin to %v", q.Path, v.label(part(at)), have, want)
			}
		}
	}
}

// askers is what admissions needs from before a call.
func (p *play) askers() (users map[string]int, active map[AppRef]bool) {
	users, active = map[string]int{}, map[AppRef]bool{}
	for _, q := range p.quick.tree.Queues {
		if q != nil && q.Leaf {
			users[q.Path] = int(leafOf(q).ActiveUsers())
		}
	}
	for _, a := range p.quick.Apps {
		if a != nil && appOf(a).active {
			active[a.Ref] = true
		}
	}
	return users, active
}
