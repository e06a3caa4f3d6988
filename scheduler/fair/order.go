package fair

import (
	"cmp"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/yarn"
)

// key says how soon somebody is served: the least first, class by class, then by the numbers, the start and the name.
type key struct {
	class   uint8
	numbers [yarn.MaxResourceTypes]float64
}

// same tells whether two keys are the same.
func (k *key) same(o *key, numbers int) bool {
	for i := range numbers {
		if k.numbers[i] != o.numbers[i] {
			return false
		}
	}
	return k.class == o.class
}

// The classes of keys.
const (
	needy      uint8 = iota // below the minimum
	satisfied               // at the minimum
	weightless              // likewise under fair, without a weight
	last                    // added under fair for those who wanted nothing when demands were last looked at
)

// place is where somebody stands in a lineup: a queue or an application.
type place struct {
	queue *Queue // or
	app   *app
	in    bool
	order int64 // among those with the same key: when the attempt started in milliseconds, or the rank of the queue's name among its siblings
	name  string
	key   key
}

// before is negative, zero or positive as one is served before, with or after the other.
//
// compat: numbers that cannot be compared count as equal, as those of queues without weight may be.
func (p *place) before(o *place, numbers int) int {
	if p.key.class != o.key.class {
		return int(p.key.class) - int(o.key.class)
	}
	for i := range numbers {
		switch a, b := p.key.numbers[i], o.key.numbers[i]; {
		case a < b:
			return -1
		case a > b:
			return 1
		}
	}
	if p.order != o.order {
		return cmp.Compare(p.order, o.order)
	}
	return strings.Compare(p.name, o.name)
}

// lineup has those that want something in the order in which they are served.
type lineup struct {
	list  []slot
	least resource // of masterless: nobody asks for less of any type; see bounds.go
	loose bool     // bounds may be wider than need be
}

// slot is a place of a lineup with what nearly always tells it from others, so that the places themselves need not be looked at: that saves a
// third of a decision among many queues.
type slot struct {
	*place
	class         uint8
	enough        bool // no further number of the key counts
	first, second float64
	order         int64
}

func (p *place) slot(numbers int) slot {
	return slot{p, p.key.class, numbers <= 2 || p.key.class == satisfied && numbers == fairNumbers, p.key.numbers[0], p.key.numbers[1], p.order}
}

func (s *slot) before(o *slot, numbers int) int {
	switch {
	case s.class != o.class:
		return int(s.class) - int(o.class)
	case s.first < o.first:
		return -1
	case s.first > o.first:
		return 1
	case s.second < o.second:
		return -1
	case s.second > o.second:
		return 1
	case s.enough && s.order < o.order:
		return -1
	case s.enough && s.order > o.order:
		return 1
	}
	return s.place.before(o.place, numbers)
}

// find is where a place stands, or should.
func (l *lineup) find(x *slot, numbers int) int {
	low, high := 0, len(l.list)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if l.list[middle].before(x, numbers) < 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// at is where a place stands that is in the lineup.
func (l *lineup) at(p *place, numbers int) int {
	if len(l.list) > 0 && l.list[0].place == p { // who is served is nearly always the first
		return 0
	}
	x := p.slot(numbers)
	if i := l.find(&x, numbers); i < len(l.list) && l.list[i].place == p {
		return i
	}
	return slices.IndexFunc(l.list, func(o slot) bool { return o.place == p }) // numbers that cannot be compared have no order
}

// remove takes a place out.
func (l *lineup) remove(p *place, numbers int) {
	i := l.at(p, numbers)
	l.list = slices.Delete(l.list, i, i+1)
	p.in, l.loose = false, true
}

// put gives a place its key, and lines it up if it wants something.
func (l *lineup) put(p *place, k *key, wants bool, numbers int) {
	switch {
	case p.in && wants && k.same(&p.key, numbers):
		return
	case p.in && wants:
		l.move(p, k, numbers)
		return
	case p.in:
		l.remove(p, numbers)
	}
	p.key = *k
	if wants {
		x := p.slot(numbers)
		l.list = slices.Insert(l.list, l.find(&x, numbers), x)
		p.in = true
	}
}

// move gives a place in the lineup another key.
func (l *lineup) move(p *place, k *key, numbers int) {
	i := l.at(p, numbers)
	p.key = *k
	x := p.slot(numbers)
	if (i == 0 || l.list[i-1].before(&x, numbers) < 0) && (i+1 == len(l.list) || x.before(&l.list[i+1], numbers) < 0) {
		l.list[i] = x
		return
	}
	to := l.find(&x, numbers)
	if to > i {
		to--
		copy(l.list[i:to], l.list[i+1:])
	} else {
		copy(l.list[to+1:i+1], l.list[to:])
	}
	l.list[to] = x
}

// numbers is how many numbers of keys count under a policy.
func (s *Scheduler) numbers(p allocation.Policy) int {
	switch {
	case p == allocation.FIFO:
		return 0
	case p == allocation.Fair:
		return fairNumbers
	}
	return max(s.types(), 2)
}

// set has the key say how soon somebody is served under a policy who uses, wants, has a right to, and weighs so much. Keys are large: they are
// set in place.
//
// compat: a process of Apache's compares two types or all by what its first cluster had. Traces were recorded one after the other by a process
// that began with two.
func (k *key) set(s *Scheduler, p allocation.Policy, used, demand, least *resource, weight float32) {
	*k = key{}
	switch {
	case p == allocation.FIFO:
	case p == allocation.Fair:
		k.byMemory(used[yarn.Memory], demand[yarn.Memory], least[yarn.Memory], float64(weight))
	case s.types() == 2, s.AsApache:
		k.byDominant(&s.Books.Total, used, least, float64(weight))
	default:
		k.byDominantOfMany(&s.Books.Total, s.types(), used, least, weight)
	}
}

// setApp has the key be that of an application in its leaf. None has a minimum.
func (k *key) setApp(s *Scheduler, a *app, used *resource) {
	var least resource
	k.set(s, a.queue.policy, used, &a.demand, &least, s.weight(a))
}

// fairNumbers is how many numbers a key has under the policy fair. Keys of drf have two, or as many as there are types.
const fairNumbers = 4

// byMemory sets a key of the policy fair: how much there is of the minimum, as long as it is not all; then how much for a weight of 1. Who has no
// weight comes later.
func (k *key) byMemory(used, demand, least int64, weight float64) {
	switch least = min(least, demand); {
	case used < least:
		k.class, k.numbers[0] = needy, float64(used)
		if least > 1 {
			k.numbers[0] /= float64(least)
		}
		if weight > 0 {
			k.numbers[2] = float64(used) / weight
		} else {
			k.numbers[1], k.numbers[2], k.numbers[3] = 1, -weight, float64(used)
		}
	case weight > 0:
		k.class, k.numbers[0] = satisfied, float64(used)/weight
	default:
		k.class, k.numbers[0], k.numbers[1] = weightless, -weight, float64(used)
	}
	if demand == 0 {
		k.class += last
	}
}

// byDominant sets a key of the policy drf where there are memory and vcores: the larger fraction of the cluster, then the other one.
func (k *key) byDominant(total, used, least *resource, weight float64) {
	memory, vcores := float64(used[yarn.Memory])/float64(total[yarn.Memory]), float64(used[yarn.VCores])/float64(total[yarn.VCores])
	first, second := yarn.Memory, yarn.VCores
	if vcores > memory {
		first, second = second, first
	}
	if used[first] < least[first] {
		k.class, k.numbers[0], k.numbers[1] = needy, float64(used[first])/float64(least[first]), float64(used[second])/float64(least[second])
		return
	}
	k.class, k.numbers[0], k.numbers[1] = satisfied, memory/weight, vcores/weight
	if first == yarn.VCores {
		k.numbers[0], k.numbers[1] = k.numbers[1], k.numbers[0]
	}
}

// byDominantOfMany is byDominant where there are n types.
//
// compat: in single precision there.
func (k *key) byDominantOfMany(total *resource, n int, used, least *resource, weight float32) {
	type fraction struct{ ofCluster, number float32 }
	var list [yarn.MaxResourceTypes]fraction
	first := 0
	for i := range n {
		list[i].ofCluster = float32(used[i]) / float32(total[i])
		if list[i].ofCluster > list[first].ofCluster {
			first = i
		}
		list[i].number = list[i].ofCluster / weight
	}
	k.class = satisfied
	if used[first] < least[first] {
		k.class = needy
		for i := range n {
			list[i].number = float32(used[i]) / float32(least[i])
		}
	}
	slices.SortStableFunc(list[:n], func(a, b fraction) int {
		switch {
		case a.ofCluster > b.ofCluster:
			return -1
		case a.ofCluster < b.ofCluster:
			return 1
		}
		return 0
	})
	for i := range n {
		k.numbers[i] = float64(list[i].number)
	}
}

// lineUp brings an application's place up to date, and those of all queues above it.
func (s *Scheduler) lineUp(a *app) {
	s.lineUpApp(a)
	s.lineUpQueue(a.queue)
}

func (s *Scheduler) lineUpApp(a *app) {
	q := a.queue
	used := s.appUsed(a)
	wants := a.runnable && a.Running && len(a.Wants.Keys()) > 0 && a.demand != used
	in := a.in
	var k key
	k.setApp(s, a, &used)
	q.lineupOf(a).put(&a.place, &k, wants, s.numbers(q.policy))
	if wants && !in {
		s.lowerBounds(a)
	}
	s.noteHolder(a)
}

// lineupOf is where an application stands that wants something.
func (q *Queue) lineupOf(a *app) *lineup {
	if a.hasAM {
		return &q.wanting
	}
	return &q.masterless
}

// merged goes through both lineups of a queue as if they were one.
type merged struct {
	q       *Queue
	numbers int
	i, j    int
}

// next is the next place, or nil.
func (m *merged) next() *place {
	a, b := m.q.wanting.list, m.q.masterless.list
	switch {
	case m.j < len(b) && (m.i == len(a) || b[m.j].before(&a[m.i], m.numbers) < 0):
		m.j++
		return b[m.j-1].place
	case m.i < len(a):
		m.i++
		return a[m.i-1].place
	}
	return nil
}

// lineUpQueue brings a queue's place up to date, and those of all above it.
func (s *Scheduler) lineUpQueue(q *Queue) {
	for ; q.up != nil; q = q.up {
		s.lineUpOne(q)
	}
}

func (s *Scheduler) lineUpOne(q *Queue) {
	used := s.used(q)
	var k key
	k.set(s, q.up.policy, &used, &q.demand, &q.least, q.weight)
	q.up.wanting.put(&q.place, &k, q.wants(), s.numbers(q.up.policy))
}

// reorder lines up everybody below a queue anew.
func (s *Scheduler) reorder(q *Queue) {
	for _, c := range q.children {
		s.reorder(c)
	}
	n := s.numbers(q.policy)
	q.wanting.clear()
	q.masterless.clear()
	for _, a := range q.running {
		used := s.appUsed(a)
		a.key.setApp(s, a, &used)
		q.lineupOf(a).join(&a.place, n, len(a.Wants.Keys()) > 0 && a.demand != used)
		s.noteHolder(a)
	}
	for _, c := range q.children {
		used := s.used(c)
		c.key.set(s, q.policy, &used, &c.demand, &c.least, c.weight)
		q.wanting.join(&c.place, n, c.wants())
	}
	q.wanting.sort(n)
	q.masterless.sort(n)
	s.tighten(q)
}

// takeOrders takes over new orders of places that stand as they stood.
func (l *lineup) takeOrders() {
	for i := range l.list {
		l.list[i].order = l.list[i].place.order
	}
}

// clear takes everybody out.
func (l *lineup) clear() {
	for _, p := range l.list {
		p.in = false
	}
	clear(l.list)
	l.list, l.loose = l.list[:0], true
}

// join puts somebody who wants something at the end; sort puts all into order.
func (l *lineup) join(p *place, numbers int, wants bool) {
	if p.in = wants; wants {
		l.list = append(l.list, p.slot(numbers))
	}
}

func (l *lineup) sort(numbers int) {
	slices.SortStableFunc(l.list, func(a, b slot) int { return a.before(&b, numbers) })
}
