package fair

import (
	"math"
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// preemption is who starves, and what is taken from others for them.
type preemption struct {
	starved  []*starving                     // a heap, see starvedFirst
	notices  []notice                        // by the time that they were given
	noticed  map[cluster.ContainerRef]bool   // all containers of notices that are still there
	looks    int                             // of the running round
	promises map[cluster.NodeRef]*nodePledge // rooms that containers under notice will leave
}

// notice is given to containers that will be ended for somebody who starves.
type notice struct {
	due  int64 // milliseconds
	list []victim
}

// victim is a container under notice. Its slot may serve another one by now.
type victim struct {
	ref cluster.ContainerRef
	id  yarn.ContainerID
}

// nodePledge is the room of a node that is promised to applications, by age.
type nodePledge struct{ list []pledge }

type pledge struct {
	app  *app
	room resource
}

// starving is what an attempt lacks.
type starving struct {
	of         *app
	fair       resource // of its fair share, for longer than the timeout
	least      resource // of its leaf's minimum
	atShare    int64    // when it last had its fair share; milliseconds
	nextLook   int64    // not before then
	mastersToo bool     // its master may be preempted
	waits      bool     // in preemption.starved
	victims    []victim // of its own containers
}

// starves tells whether the application has less than its fair share, or its part of the minimum.
func (s *Scheduler) starves(a *app) bool {
	used := s.appUsed(a)
	return s.below(a.queue.policy, &used, &a.share) || !a.least.IsZero()
}

// lacks is all that the attempt lacks.
func (a *starving) lacks() resource { return a.fair.Add(a.least) }

// findStarved finds out who starves, if so much of the cluster is in use.
func (s *Scheduler) findStarved() {
	used, total := s.used(s.root), s.Books.Total
	if !s.cfg.Preemption || s.cfg.Utilization >= max(javanum.Ratio(used[yarn.Memory], total[yarn.Memory]), javanum.Ratio(used[yarn.VCores], total[yarn.VCores])) {
		return
	}
	for _, q := range s.leaves {
		s.findStarvedIn(q)
	}
}

func (s *Scheduler) findStarvedIn(q *Queue) {
	var asking []*app
	for _, p := range q.wanting.list {
		if s.Now.Wall >= p.app.nextLook {
			asking = append(asking, p.app)
		}
	}
	var sum resource
	for _, a := range asking {
		s.lacksFairShare(a)
		if a.fair.IsZero() {
			break // compat: those behind it keep what they lacked
		}
		s.lineUpStarved(a.starving)
		sum.Increase(&a.fair)
	}
	left := less(s.lacksMinimum(q), sum)
	for _, a := range asking {
		if left.IsZero() {
			a.least = resource{}
			continue
		}
		part := less(a.demand.Sub(s.appUsed(a)), a.fair)
		if s.compare(q.policy, &part, &left) > 0 {
			part, left = less(part, left), resource{} // compat: what is beyond the rest counts, and not the rest
		} else {
			left = less(left, part)
		}
		a.least = part
		s.lineUpStarved(a.starving)
	}
}

// lacksFairShare finds out what an application lacks of the threshold of its fair share.
func (s *Scheduler) lacksFairShare(a *app) {
	q, used := a.queue, s.appUsed(a)
	target := a.demand
	for t := range s.types() {
		target[t] = min(target[t], int64(float64(a.share[t])*float64(q.conf.FairShareThreshold)))
	}
	starved := s.below(q.policy, &used, &target)
	if !starved {
		a.atShare = s.Now.Wall
	}
	a.fair = resource{}
	if starved && s.Now.Wall-a.atShare >= q.conf.FairShareTimeout {
		a.fair = less(target, used)
	}
}

// lacksMinimum is what a leaf lacks of its minimum, if it does so for longer than the timeout.
func (s *Scheduler) lacksMinimum(q *Queue) resource {
	lack := q.conf.Min
	for t := range lack {
		lack[t] = min(lack[t], q.demand[t])
	}
	if lack = less(lack, s.used(q)); lack.IsZero() {
		q.atMinimum = s.Now.Wall
	}
	if s.Now.Wall-q.atMinimum < q.conf.MinShareTimeout {
		return resource{}
	}
	return lack
}

// starvedFirst is negative if the one who starves is served before the other, and positive otherwise.
//
// compat: it is no order, so that who comes first depends on who came when, as in Apache's queue.
func (s *Scheduler) starvedFirst(a, b *starving) int {
	if x, y := a.lacks(), b.lacks(); s.fits(&x, &y) {
		return -1
	}
	return 1
}

// lineUpStarved puts somebody who starves into the heap.
func (s *Scheduler) lineUpStarved(a *starving) {
	if a.waits {
		return
	}
	a.waits = true
	heap := append(s.preemption.starved, a)
	i := len(heap) - 1
	for i > 0 && s.starvedFirst(a, heap[(i-1)/2]) < 0 {
		heap[i] = heap[(i-1)/2]
		i = (i - 1) / 2
	}
	heap[i] = a
	s.preemption.starved = heap
}

// nextStarved takes the first out of the heap.
func (s *Scheduler) nextStarved() *starving {
	heap := s.preemption.starved
	n := len(heap) - 1
	first, last := heap[0], heap[n]
	heap[n] = nil
	heap = heap[:n]
	s.preemption.starved = heap
	first.waits = false
	if n == 0 {
		return first
	}
	i := 0
	for 2*i+1 < n {
		child := 2*i + 1
		if right := child + 1; right < n && s.starvedFirst(heap[child], heap[right]) > 0 {
			child = right
		}
		if s.starvedFirst(last, heap[child]) <= 0 {
			break
		}
		heap[i] = heap[child]
		i = child
	}
	heap[i] = last
	return first
}

// Due are the containers whose time under notice is over; see the facade.
func (s *Scheduler) Due(now yarn.Now, out []cluster.ContainerRef) []cluster.ContainerRef {
	s.Advance(now)
	p := &s.preemption
	p.notices = slices.DeleteFunc(p.notices, func(n notice) bool {
		if n.due > now.Wall {
			return false
		}
		for _, v := range n.list {
			if s.stands(v) {
				out = append(out, v.ref)
			}
		}
		return true
	})
	return out
}

// stands tells whether a container under notice still runs.
func (s *Scheduler) stands(v victim) bool {
	if !s.Books.IsOpen(v.ref) {
		return false
	}
	c := s.Books.Container(v.ref)
	return c.ID == v.id && c.Live
}

// maxLooks is how many nodes and containers a round looks at before it leaves the rest to the next one, so that it does not hold up heartbeats.
const maxLooks = 50_000

// Preempt gives notice to containers on behalf of those who starve; see the facade.
func (s *Scheduler) Preempt(now yarn.Now, out []cluster.ContainerRef) []cluster.ContainerRef {
	s.Recompute(now)
	s.forgetEnded()
	s.preemption.looks = 0
	for len(s.preemption.starved) > 0 && (s.preemption.looks < maxLooks || s.AsApache) {
		x := s.nextStarved()
		a := x.of
		if a.starving != x || !a.Running {
			continue // it has ended meanwhile
		}
		list := s.victimsFor(a)
		for _, v := range list {
			out = append(out, v.ref)
		}
		if len(list) > 0 {
			s.preemption.notices = append(s.preemption.notices, notice{now.Wall + s.cfg.KillWait, list})
		}
		a.nextLook = now.Wall + s.cfg.KillWait + s.cfg.StarvationWait
	}
	return out
}

// forgetEnded drops what is known of containers that have ended.
func (s *Scheduler) forgetEnded() {
	p := &s.preemption
	p.noticed = map[cluster.ContainerRef]bool{}
	for i := range p.notices {
		for _, v := range p.notices[i].list {
			if s.stands(v) {
				p.noticed[v.ref] = true
			}
		}
	}
}

// UnderNotice are an application's containers that will be ended, or all; see the facade.
func (s *Scheduler) UnderNotice(ref cluster.AppRef, out []cluster.ContainerRef) []cluster.ContainerRef {
	if ref == cluster.NoApp {
		for _, a := range s.Apps {
			if a != nil {
				out = s.UnderNotice(a.Ref, out)
			}
		}
		return out
	}
	a := s.app(ref)
	a.victims = slices.DeleteFunc(a.victims, func(v victim) bool { return !s.stands(v) })
	for _, v := range a.victims {
		out = append(out, v.ref)
	}
	return out
}

// wish is so many containers of one size that somebody who starves asks for at a place.
type wish struct {
	place cluster.Place
	size  resource
	count int32
	relax bool
}

// wishes are what an application asks for, up to what it lacks.
func (s *Scheduler) wishes(a *app) (out []wish) {
	lack := a.lacks()
	seen := map[wishKey]*seenPlaces{}
	for _, w := range hashedKeys(a.Wants.Keys()) {
		rows := append([]demand.Row{w.Any}, w.Rows...)
		for _, row := range s.hashed(rows) {
			if lack.IsZero() {
				return out
			}
			k := wishKey{w.Priority, row.Size}
			if seen[k] == nil {
				seen[k] = &seenPlaces{}
			}
			if !s.firstAt(seen[k], row.Place) {
				continue
			}
			n := int32(javanum.Ratio(lack[yarn.Memory], row.Size[yarn.Memory]))
			if n == 0 {
				continue
			}
			o := wish{row.Place, row.Size, row.Count, row.Relax}
			if n < o.count {
				o.count, o.relax = n, true
			}
			out = append(out, o)
			total := row.Size
			for t := range total {
				total[t] *= int64(o.count)
			}
			lack = less(lack, total)
		}
	}
	return out
}

// hashedKeys are keys in the order of Apache's table of them.
func hashedKeys(keys []*demand.Want) []*demand.Want {
	const priorityHash uint32 = 517861 * 9511 & math.MaxUint32
	hashes := make([]uint32, len(keys))
	for i, w := range keys {
		id := uint64(w.RequestID)
		hashes[i] = ((priorityHash+uint32(w.Priority))*31 + uint32(id^id>>32)) * 31
	}
	out := make([]*demand.Want, len(keys))
	for i, at := range javanum.OrderOfHashes(hashes) {
		out[i] = keys[at]
	}
	return out
}

// hashed are rows in the order of Apache's table of them.
func (s *Scheduler) hashed(rows []demand.Row) []demand.Row {
	if len(rows) == 1 {
		return rows
	}
	names := make([]string, len(rows))
	for i := range rows {
		if names[i] = yarn.AnyHost; rows[i].Place != cluster.AnyPlace {
			names[i] = s.Books.Places.Name(rows[i].Place)
		}
	}
	out := make([]demand.Row, len(rows))
	for i, at := range javanum.HashOrder(names) {
		out[i] = rows[at]
	}
	return out
}

type wishKey struct {
	priority int32
	size     resource
}

// seenPlaces are those of wishes of one priority and size, so that none is counted at its host, its rack and anywhere.
type seenPlaces struct {
	any          bool
	racks, hosts []cluster.Place // hosts by their racks
}

// firstAt tells whether a wish at that place is not one that was counted already.
func (s *Scheduler) firstAt(seen *seenPlaces, p cluster.Place) bool {
	if p == cluster.AnyPlace {
		seen.any = seen.any || len(seen.racks)+len(seen.hosts) == 0
		return seen.any
	}
	nodes := s.nodesAt(p)
	if len(nodes) == 0 || seen.any {
		return false
	}
	if n := s.Books.Node(nodes[0]); len(nodes) == 1 && n.NodePlace == p {
		if slices.Contains(seen.racks, n.RackPlace) {
			return false
		}
		seen.hosts = append(seen.hosts, n.RackPlace)
		return true
	}
	if slices.Contains(seen.hosts, p) {
		return false
	}
	seen.racks = append(seen.racks, p)
	return true
}

// nodesAt are the nodes of a host, of a rack, or all, by their arrival.
func (s *Scheduler) nodesAt(p cluster.Place) (out []cluster.NodeRef) {
	for i := range s.Books.NodeSlots() {
		if n := s.Books.Node(cluster.NodeRef(i)); n.Member && (p == cluster.AnyPlace || n.NodePlace == p || n.RackPlace == p) {
			out = append(out, cluster.NodeRef(i))
		}
	}
	return out
}

// victimsFor gives notice to containers whose room serves the wishes of an application.
func (s *Scheduler) victimsFor(a *app) (out []victim) {
	for _, w := range s.wishes(a) {
		near := s.nodesAt(w.place)
		for range w.count {
			best, node := s.search(near, &w.size, nil)
			if best == nil {
				break // another look would find nothing either
			}
			if w.relax && w.place != cluster.AnyPlace && best.masters > 0 {
				var far []cluster.NodeRef
				for _, n := range s.nodesAt(cluster.AnyPlace) {
					if !slices.Contains(near, n) {
						far = append(far, n)
					}
				}
				if other, at := s.search(far, &w.size, nil); other != nil && other.masters < best.masters {
					best, node = other, at
				}
			}
			if len(best.list) == 0 {
				break
			}
			s.pledge(node, a, best)
			out = append(out, best.list...)
		}
	}
	return out
}

// catch is what would have to go from a node for one container.
type catch struct {
	list    []victim
	masters int
}

// search finds the node where the fewest masters would have to go; without any, the first one.
func (s *Scheduler) search(nodes []cluster.NodeRef, size *resource, best *catch) (*catch, cluster.NodeRef) {
	at, most := cluster.NoNode, int(^uint(0)>>1)
	for _, ref := range nodes {
		if c := s.searchNode(ref, size, most); c != nil {
			best, at, most = c, ref, c.masters
			if most == 0 {
				break
			}
		}
	}
	return best, at
}

// searchNode finds containers on the node whose room, with what is free, serves the size, with fewer masters than most.
func (s *Scheduler) searchNode(ref cluster.NodeRef, size *resource, most int) *catch {
	n := s.Books.Node(ref)
	s.preemption.looks += 1 + n.Containers()
	room := less(n.Free(), s.pledged(ref, n))
	c := &catch{}
	taken := map[*app]resource{}
	for _, container := range s.newestFirst(ref) {
		book := s.Books.Container(container)
		a := s.app(book.App)
		if a.Gone || s.preemption.noticed[container] {
			continue
		}
		if sum := taken[a]; s.mayTake(a, book, &sum) {
			if book.AM {
				if c.masters++; c.masters >= most {
					return nil
				}
			}
			c.list = append(c.list, victim{container, book.ID})
			taken[a] = sum.Add(book.Resource)
			room.Increase(&book.Resource)
		}
		if s.fits(size, &room) {
			return c
		}
	}
	return nil
}

// newestFirst are the containers of a node, the latest first and masters last.
func (s *Scheduler) newestFirst(ref cluster.NodeRef) (out []cluster.ContainerRef) {
	var masters []cluster.ContainerRef
	for _, c := range s.Books.OnNode(ref, int(^uint(0)>>1)) {
		if s.Books.Container(c).AM {
			masters = append(masters, c)
		} else {
			out = append(out, c)
		}
	}
	slices.Reverse(out)
	return append(out, masters...)
}

// mayTake tells whether a container may go: its owner keeps its fair share without it, without what is under notice and without what else is
// considered.
func (s *Scheduler) mayTake(a *app, book *cluster.Container, taken *resource) bool {
	if !a.queue.conf.Preemptable || book.AM && !a.mastersToo || !book.Live {
		return false
	}
	left := s.appUsed(a).Sub(book.Resource).Sub(*taken)
	for _, v := range a.victims {
		if s.stands(v) {
			left = left.Sub(s.Books.Container(v.ref).Resource)
		}
	}
	return !s.below(a.queue.policy, &left, &a.share)
}

// pledge gives notice to containers, and promises their room to the application.
func (s *Scheduler) pledge(node cluster.NodeRef, a *app, c *catch) {
	p := &s.preemption
	if p.promises == nil {
		p.promises = map[cluster.NodeRef]*nodePledge{}
	}
	room := resource{}
	for _, v := range c.list {
		p.noticed[v.ref] = true
		book := s.Books.Container(v.ref)
		room.Increase(&book.Resource)
		owner := s.app(book.App)
		owner.victims = append(owner.victims, v)
	}
	of := p.promises[node]
	if of == nil {
		of = &nodePledge{}
		p.promises[node] = of
	}
	i := slices.IndexFunc(of.list, func(x pledge) bool { return x.app == a })
	if i < 0 {
		i = len(of.list)
		of.list = append(of.list, pledge{app: a})
	}
	of.list[i].room.Increase(&room)
}

// pledged is the room of a node that is promised, and held for a reservation.
func (s *Scheduler) pledged(ref cluster.NodeRef, n *cluster.NodeBook) (sum resource) {
	if n.Reserved >= 0 {
		sum = s.Books.Container(n.Reserved).Resource
	}
	if of := s.preemption.promises[ref]; of != nil {
		for i := range of.list {
			sum.Increase(&of.list[i].room)
		}
	}
	return sum
}

// promisedTo tells whether room of the node is promised to the application.
func (s *Scheduler) promisedTo(ref cluster.NodeRef, a *app) bool {
	of := s.preemption.promises[ref]
	return of != nil && slices.ContainsFunc(of.list, func(x pledge) bool { return x.app == a })
}

// promised takes what the application got on the node off what it was promised there.
func (s *Scheduler) promised(ref cluster.NodeRef, a *app, got *resource) {
	of := s.preemption.promises[ref]
	if of == nil {
		return
	}
	i := slices.IndexFunc(of.list, func(x pledge) bool { return x.app == a })
	if i < 0 {
		return
	}
	room := &of.list[i].room
	for t := range room {
		room[t] -= min(room[t], got[t])
	}
	if room.IsZero() {
		s.dropPromise(ref, i)
	}
}

func (s *Scheduler) dropPromise(ref cluster.NodeRef, i int) {
	of := s.preemption.promises[ref]
	if of.list = slices.Delete(of.list, i, i+1); len(of.list) == 0 {
		delete(s.preemption.promises, ref)
	}
}

// forgetPromises drops what an application was promised that has ended.
func (s *Scheduler) forgetPromises(a *app) {
	for ref, of := range s.preemption.promises { //tidy:unordered each node by itself
		if i := slices.IndexFunc(of.list, func(x pledge) bool { return x.app == a }); i >= 0 {
			s.dropPromise(ref, i)
		}
	}
}

// keepPromises places what was promised on the node.
func (r *round) keepPromises() {
	of := r.s.preemption.promises[r.ref]
	if of == nil {
		return
	}
	for i := 0; i < len(of.list); i++ {
		if a := of.list[i].app; !r.s.starves(a) || a.fair.IsZero() && a.least.IsZero() {
			r.s.dropPromise(r.ref, i)
			i--
		}
	}
	for _, p := range slices.Clone(of.list) {
		for left := p.room; p.app.Running && !left.IsZero(); {
			o := r.app(p.app)
			if o.Outcome != core.Allocated {
				break
			}
			left = less(left, o.size)
		}
	}
}
