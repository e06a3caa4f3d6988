package fair

import (
	"cmp"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/yarn"
)

// sortKey says how soon a candidate is served: the smallest first, by class, then by the numbers. See candidate.compare for ties.
type sortKey struct {
	class   uint8
	numbers [yarn.MaxResourceTypes]float64
}

// same tells whether two keys are equal in as many numbers.
func (k *sortKey) same(o *sortKey, numbers int) bool {
	for i := range numbers {
		if k.numbers[i] != o.numbers[i] {
			return false
		}
	}
	return k.class == o.class
}

// The classes of keys.
const (
	needy      uint8 = iota // below the minimum share
	satisfied               // not below it
	weightless              // not below it and without a weight, under fair and below plans
	last                    // added under fair if the last known demand is zero
)

// candidate is a queue or an application that may be served, as its lineup sees it.
type candidate struct {
	queue *Queue // or
	app   *app
	in    bool  // it is in a lineup
	order int64 // among equal keys: the start of the attempt in milliseconds, or the rank of the queue's name among its siblings
	name  string
	key   sortKey
}

// compare is negative if p is served before o, positive if after, and zero if they are the same.
//
// compat: numbers that cannot be compared count as equal, as those of queues without weight may be.
func (p *candidate) compare(o *candidate, numbers int) int {
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

// lineup is the candidates that ask for something, in the order in which they are served.
type lineup struct {
	list  []entry
	least resource // of awaitingAM: nobody asks for less of any type; see bounds.go
	loose bool     // bounds may be wider than need be
}

// entry is a candidate in a lineup, with copies of those parts of its key that nearly always decide, so that comparing seldom has to load the
// candidates. Among many queues that saves a third of the time of a decision.
type entry struct {
	*candidate
	class         uint8
	enough        bool // no further number of the key counts
	first, second float64
	order         int64
}

func (p *candidate) entry(numbers int) entry {
	return entry{p, p.key.class, numbers <= 2 || p.key.class == satisfied && numbers == fairNumbers, p.key.numbers[0], p.key.numbers[1], p.order}
}

func (s *entry) compare(o *entry, numbers int) int {
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
	return s.candidate.compare(o.candidate, numbers)
}

// find is the index at which an entry is, or would have to be inserted.
func (l *lineup) find(x *entry, numbers int) int {
	low, high := 0, len(l.list)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if l.list[middle].compare(x, numbers) < 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// index is the index of a candidate that is in the lineup.
func (l *lineup) index(p *candidate, numbers int) int {
	if len(l.list) > 0 && l.list[0].candidate == p { // the candidate that was served is nearly always the first
		return 0
	}
	x := p.entry(numbers)
	if i := l.find(&x, numbers); i < len(l.list) && l.list[i].candidate == p {
		return i
	}
	return slices.IndexFunc(l.list, func(o entry) bool { return o.candidate == p }) // numbers that cannot be compared have no order
}

// remove takes a candidate out.
func (l *lineup) remove(p *candidate, numbers int) {
	i := l.index(p, numbers)
	l.list = slices.Delete(l.list, i, i+1)
	p.in, l.loose = false, true
}

// put gives a candidate its key, and has it in the lineup if and only if it asks for something.
func (l *lineup) put(p *candidate, k *sortKey, asks bool, numbers int) {
	switch {
	case p.in && asks && k.same(&p.key, numbers):
		return
	case p.in && asks:
		l.move(p, k, numbers)
		return
	case p.in:
		l.remove(p, numbers)
	}
	p.key = *k
	if asks {
		x := p.entry(numbers)
		l.list = slices.Insert(l.list, l.find(&x, numbers), x)
		p.in = true
	}
}

// move gives a candidate in the lineup another key.
func (l *lineup) move(p *candidate, k *sortKey, numbers int) {
	i := l.index(p, numbers)
	p.key = *k
	x := p.entry(numbers)
	if (i == 0 || l.list[i-1].compare(&x, numbers) < 0) && (i+1 == len(l.list) || x.compare(&l.list[i+1], numbers) < 0) {
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

// numbers is how many numbers of its keys a policy compares.
func (s *Scheduler) numbers(p allocation.Policy) int {
	switch {
	case p == allocation.FIFO:
		return 0
	case p == allocation.Fair:
		return fairNumbers
	}
	return max(s.types(), 2)
}

// set has the key say how soon somebody is served under a policy who uses, asks, has a right to, and weighs so much. Keys are large: they are
// set in place.
//
// compat: a process of Apache's compares two types or all by what its first cluster had. Traces were recorded one after the other by a process
// that began with two.
func (k *sortKey) set(s *Scheduler, p allocation.Policy, used, demand, least *resource, weight float32) {
	*k = sortKey{}
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

// setApp makes the key that of an application in its leaf. Applications have no minimum share.
func (k *sortKey) setApp(s *Scheduler, a *app, used *resource) {
	var least resource
	k.set(s, a.queue.policy, used, &a.demand, &least, s.weight(a))
}

// setQueue makes the key that of a queue among its parent's. One below a plan that is entitled to nothing comes after all that are entitled to
// something, under drf, too: what it uses cannot be divided by nothing.
func (k *sortKey) setQueue(s *Scheduler, q *Queue, used *resource) {
	if q.weight > 0 || q.up.policy != allocation.DRF || !q.planned() {
		k.set(s, q.up.policy, used, &q.demand, &q.least, q.weight)
		return
	}
	*k = sortKey{class: weightless}
	k.numbers[0], k.numbers[1] = float64(used[yarn.Memory]), float64(used[yarn.VCores])
}

// fairNumbers is how many numbers a key has under the policy fair. Keys of drf have two, or as many as there are types.
const fairNumbers = 4

// byMemory sets the key under fair: the used part of the minimum share while usage is below it; then usage by weight. Candidates without a weight
// come later.
func (k *sortKey) byMemory(used, demand, least int64, weight float64) {
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

// byDominant sets the key under drf if there are only memory and vcores: the larger fraction of the cluster, then the other one.
func (k *sortKey) byDominant(total, used, least *resource, weight float64) {
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

// byDominantOfMany is byDominant for n types.
//
// compat: it computes in single precision.
func (k *sortKey) byDominantOfMany(total *resource, n int, used, least *resource, weight float32) {
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

// lineUp updates the places of an application and of all queues above it in their lineups.
func (s *Scheduler) lineUp(a *app) {
	s.lineUpApp(a)
	s.lineUpQueue(a.queue)
}

func (s *Scheduler) lineUpApp(a *app) {
	q := a.queue
	used := s.appUsed(a)
	asks := a.runnable && a.Running && a.Wants.Wanting() && a.demand != used
	in := a.in
	var k sortKey
	k.setApp(s, a, &used)
	q.lineupOf(a).put(&a.candidate, &k, asks, s.numbers(q.policy))
	if asks && !in {
		s.lowerBounds(a)
	}
	s.noteReserver(a)
}

// lineupOf is the lineup for an application that asks for something.
func (q *Queue) lineupOf(a *app) *lineup {
	if a.hasAM {
		return &q.asking
	}
	return &q.awaitingAM
}

// merged goes through both lineups of a queue as if they were one.
type merged struct {
	q       *Queue
	numbers int
	i, j    int
}

// next is the next candidate, or nil.
func (m *merged) next() *candidate {
	a, b := m.q.asking.list, m.q.awaitingAM.list
	switch {
	case m.j < len(b) && (m.i == len(a) || b[m.j].compare(&a[m.i], m.numbers) < 0):
		m.j++
		return b[m.j-1].candidate
	case m.i < len(a):
		m.i++
		return a[m.i-1].candidate
	}
	return nil
}

// lineUpQueue updates the places of a queue and of all above it in their lineups.
func (s *Scheduler) lineUpQueue(q *Queue) {
	for ; q.up != nil; q = q.up {
		s.lineUpOne(q)
	}
}

func (s *Scheduler) lineUpOne(q *Queue) {
	used := s.used(q)
	var k sortKey
	k.setQueue(s, q, &used)
	q.up.asking.put(&q.candidate, &k, q.asks(), s.numbers(q.up.policy))
}

// rebuildLineups makes the lineups of a queue and of all below it anew.
func (s *Scheduler) rebuildLineups(q *Queue) {
	for _, c := range q.children {
		s.rebuildLineups(c)
	}
	n := s.numbers(q.policy)
	q.asking.clear()
	q.awaitingAM.clear()
	for _, a := range q.runnableApps {
		used := s.appUsed(a)
		a.key.setApp(s, a, &used)
		q.lineupOf(a).join(&a.candidate, n, len(a.Wants.Keys()) > 0 && a.demand != used)
		s.noteReserver(a)
	}
	for _, c := range q.children {
		used := s.used(c)
		c.key.setQueue(s, c, &used)
		q.asking.join(&c.candidate, n, c.asks())
	}
	q.asking.sort(n)
	q.awaitingAM.sort(n)
	s.tighten(q)
}

// refreshOrders copies the new orders of candidates to their entries, which stay where they are.
func (l *lineup) refreshOrders() {
	for i := range l.list {
		l.list[i].order = l.list[i].candidate.order
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

// join puts a candidate at the end if it asks for something; sort has to follow.
func (l *lineup) join(p *candidate, numbers int, asks bool) {
	if p.in = asks; asks {
		l.list = append(l.list, p.entry(numbers))
	}
}

func (l *lineup) sort(numbers int) {
	slices.SortStableFunc(l.list, func(a, b entry) int { return a.compare(&b, numbers) })
}
