package engine

import (
	"container/heap"
	"slices"
)

// lease is an entry of a list that is ordered by when each began: at a heartbeat, when a master fetched a container or its increase, when a node that has
// left became untracked. All leases of a list last equally long, so the first one is always the next to expire, and renewing one moves it
// to the end of the list.
type lease struct {
	since      int64 // monotonic milliseconds
	prev, next *lease
	held       bool

	node      *node
	attempt   *attempt
	container *container
}

type leases struct{ first, last *lease }

// renew puts the lease at the end, held since now.
func (l *leases) renew(x *lease, now int64) {
	l.drop(x)
	x.since, x.held, x.prev = now, true, l.last
	if l.last != nil {
		l.last.next = x
	} else {
		l.first = x
	}
	l.last = x
}

func (l *leases) drop(x *lease) {
	if !x.held {
		return
	}
	if x.prev != nil {
		x.prev.next = x.next
	} else {
		l.first = x.next
	}
	if x.next != nil {
		x.next.prev = x.prev
	} else {
		l.last = x.prev
	}
	x.prev, x.next, x.held = nil, nil, false
}

// expired is the first lease if it has lasted for the term, in milliseconds, else nil. A term of 0 never ends.
func (l *leases) expired(now, term int64) *lease {
	if term > 0 && l.first != nil && now-l.first.since >= term {
		return l.first
	}
	return nil
}

// due is when the first lease expires; ok is false when none does.
func (l *leases) due(term int64) (at int64, ok bool) {
	if term <= 0 || l.first == nil {
		return 0, false
	}
	return l.first.since + term, true
}

// deadline is the wall-clock time, in milliseconds, at which an application or a drain ends; of gangs it is monotonic. A deadline that has been
// changed stays in its heap and is stale there: only one that is equal to what the application, drain or gang says counts.
type deadline[T ending[T]] struct {
	at int64
	of T
}

// ending is what has deadlines. Of two with the same deadline the lesser ends first.
type ending[T any] interface{ less(T) bool }

func (a *application) less(b *application) bool { return a.sub.ID.Sequence < b.sub.ID.Sequence }
func (n *node) less(o *node) bool               { return n.id.Compare(o.id) < 0 }

// deadlines are a heap, the next one first.
type deadlines[T ending[T]] []deadline[T]

func (d deadlines[T]) Len() int { return len(d) }
func (d deadlines[T]) Less(i, j int) bool {
	return d[i].at < d[j].at || d[i].at == d[j].at && d[i].of.less(d[j].of)
}
func (d deadlines[T]) Swap(i, j int) { d[i], d[j] = d[j], d[i] }
func (d *deadlines[T]) Push(x any)   { *d = append(*d, x.(deadline[T])) }
func (d *deadlines[T]) Pop() any {
	last := (*d)[len(*d)-1]
	(*d)[len(*d)-1] = deadline[T]{}
	*d = (*d)[:len(*d)-1]
	return last
}

// add puts a deadline in. Stale ones are dropped once there are about twice as many deadlines as things that can end (most).
func (d *deadlines[T]) add(at int64, of T, most int, stale func(deadline[T]) bool) {
	if len(*d) > 2*most+fewDirty {
		*d = slices.DeleteFunc(*d, stale)
		heap.Init(d)
	}
	heap.Push(d, deadline[T]{at, of})
}

// NextDue is the monotonic moment at which a Tick should be applied; ok is false when none is needed.
func (e *Engine) NextDue() (at int64, ok bool) {
	if e.coming {
		return 0, false // what a restart comes to must not depend on how long it takes
	}
	if e.Working() {
		return e.now.Mono, true
	}
	for _, l := range [...]struct {
		leases *leases
		term   int64
	}{{&e.nodeLeases, e.set.NodeExpiry}, {&e.masterLeases, e.set.MasterExpiry}, {&e.grantLeases, e.set.AllocationExpiry},
		{&e.removals, e.set.UntrackedTimeout}} {
		if t, found := l.leases.due(l.term); found && (!ok || t < at) {
			at, ok = t, true
		}
	}
	if d := e.gangs.due; len(d) > 0 && (!ok || d[0].at < at) {
		at, ok = d[0].at, true
	}
	if len(e.interruptedDrains) > 0 {
		if t := e.recoveredAt + e.set.NodeExpiry; !ok || t < at {
			at, ok = t, true
		}
	}
	if len(e.drainEnds) > 0 {
		if t := e.now.Mono + e.drainEnds[0].at - e.now.Wall; !ok || t < at {
			at, ok = t, true
		}
	}
	if len(e.lifetimes) > 0 {
		// The wall clock may jump: this holds only if it has not jumped since the last command.
		if t := e.now.Mono + e.lifetimes[0].at - e.now.Wall; !ok || t < at {
			at, ok = t, true
		}
	}
	return at, ok
}

// tick does one slice of what is due and of the jobs that are not done, half of it each
// if there are both: masters can keep jobs coming, and what is due must not wait for
// that. The rest stays due.
func (e *Engine) tick() {
	if e.coming {
		return
	}
	left, now := e.slice(), e.now.Mono
	if e.Working() {
		left = max(left/2, 1)
		e.work(left)
	}
	e.sched.Together(func() {
		for x := e.nodeLeases.expired(now, e.set.NodeExpiry); x != nil && left > 0; x = e.nodeLeases.expired(now, e.set.NodeExpiry) {
			left -= workOfNode + x.node.held
			e.loseNode(x.node, nodeLostState, "no heartbeat for too long")
		}
	})
	left = e.endDrains(left)
	left = e.removeUntracked(left)
	if len(e.interruptedDrains) > 0 && now >= e.recoveredAt+e.set.NodeExpiry {
		e.forgetInterrupted()
	}
	for x := e.masterLeases.expired(now, e.set.MasterExpiry); x != nil && left > 0; x = e.masterLeases.expired(now, e.set.MasterExpiry) {
		e.masterLeases.drop(x)
		e.masterSilent(x.attempt)
		left -= workOfMaster
	}
	for x := e.grantLeases.expired(now, e.set.AllocationExpiry); x != nil && left > 0; x = e.grantLeases.expired(now, e.set.AllocationExpiry) {
		e.grantLeases.drop(x)
		e.grantUnclaimed(x.container)
		e.increaseUnclaimed(x.container)
		left--
	}
	left = e.endGangs(left)
	for ; len(e.lifetimes) > 0 && e.lifetimes[0].at <= e.now.Wall && left > 0; left -= workOfMaster {
		d := heap.Pop(&e.lifetimes).(deadline[*application])
		if d.of.expireAt == d.at {
			e.outlived(d.of)
		}
	}
}

// setDeadline makes the application end at the given wall-clock time; 0 is never.
func (e *Engine) setDeadline(a *application, at int64) {
	a.expireAt = at
	if at > 0 {
		e.lifetimes.add(at, a, len(e.apps), func(d deadline[*application]) bool { return d.of.expireAt != d.at || e.apps[d.of.sub.ID] != d.of })
	}
}
