package core

import (
	"math"

	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Headroom is what a queue could still get in one partition if nobody else asked for anything.
type Headroom struct {
	Label   string
	Largest yarn.Resource // the largest container that could be placed now; zero: none
	Count   int64         // how many containers of that size
	Stop    yarn.Reason   // what is in the way of the next one
}

// Ceiling is one limit on what may be used.
type Ceiling struct {
	Used, Limit yarn.Resource
	Beyond      bool        // the last container may exceed it
	Why         yarn.Reason // which limit it is; amounts are filled in later
}

// Free is what nodes have free for new containers, by partition, as it was when it was gathered. Nodes with the same amount are one row, and what was found
// out for one size of container is kept, so that the next queue with room for that size does not look at the rows again.
type Free struct {
	parts []freePart
	looks int // at nodes, and at rows
}

type freePart struct {
	nodes   int // of the partition, whether they take containers or not
	rows    []freeRow
	largest map[resource]resource // by what a queue has left
	fits    map[resource]fits     // by the size of a container
}

type freeRow struct {
	amount resource
	nodes  int64
}

// fits is how many containers of a size fit on the nodes, and the largest amount that one of them has left then.
type fits struct {
	count int64
	left  resource
}

// Free gathers what nodes have free: one look at each.
func (s *Core) Free() *Free {
	f := &Free{parts: make([]freePart, s.Books.Partitions())}
	at := make([]map[resource]int, len(f.parts))
	for p := range f.parts {
		f.parts[p] = freePart{nodes: s.Books.Partition(part(p)).Nodes, largest: map[resource]resource{}, fits: map[resource]fits{}}
		at[p] = map[resource]int{}
	}
	for i := range s.Books.NodeSlots() {
		f.looks++
		n := s.Books.Node(NodeRef(i))
		if !n.Member || !n.Accepting || n.Reserved >= 0 {
			continue
		}
		in, amount := &f.parts[n.Part], n.Free()
		row, ok := at[n.Part][amount]
		if !ok {
			row = len(in.rows)
			in.rows, at[n.Part][amount] = append(in.rows, freeRow{amount: amount}), row
		}
		in.rows[row].nodes++
	}
	return f
}

// Looks counts the nodes and rows that have been looked at, as a measure of the work.
func (f *Free) Looks() int { return f.looks }

// Rooms are what a queue could still get, by partition; see the facade.
func (s *Core) Rooms(f *Free, q *queue.Queue, ceilings func(part) []Ceiling) (out []Headroom) {
	most := s.MaximumFor(q)
	for p := range f.parts {
		if name := s.Books.Partition(part(p)).Name; f.parts[p].nodes > 0 && q.MayUse(name) {
			r := s.room(f, part(p), most, ceilings(part(p)))
			r.Label = name
			out = append(out, r)
		}
	}
	return out
}

// room finds the largest container within the ceilings and on the nodes of a partition, and how many there may be.
func (s *Core) room(f *Free, p part, most resource, ceilings []Ceiling) (r Headroom) {
	left := most
	for i := range ceilings {
		c := &ceilings[i]
		for t := range s.cluster.Types {
			over := c.Limit[t] - c.Used[t]
			if c.Beyond && over >= 0 {
				continue
			}
			left[t] = min(left[t], max(over, 0))
		}
	}
	r.Largest = s.largestIn(f, p, left)
	size := r.Largest
	if size.IsZero() {
		size = s.Min
	}
	r.Count = math.MaxInt64
	for i := range ceilings {
		c := &ceilings[i]
		if n := s.timesBelow(c, &size); n < r.Count {
			r.Count, r.Stop = n, c.Why
			r.Stop.Limit = c.Limit
			if r.Stop.Needed = c.Used; !c.Beyond || n == 0 {
				r.Stop.Needed = c.Used.Add(size)
			}
		}
	}
	if on := s.fitsIn(f, p, size); on.count <= r.Count {
		r.Count = on.count
		r.Stop = yarn.Reason{Code: fit.NothingFree, Subject: s.Books.Partition(p).Name, Needed: size, Limit: on.left}
	}
	if r.Largest.IsZero() {
		r.Count = 0
	}
	return r
}

// largestIn is the largest container that fits on a node of the partition and into left, what a queue has left; zero if there is none.
func (s *Core) largestIn(f *Free, p part, left resource) (most resource) {
	in := &f.parts[p]
	if !s.asContainer(&left) { // rounded down to steps, so that more queues share what is known
		return most
	}
	if known, ok := in.largest[left]; ok {
		return known
	}
	for i := range in.rows {
		f.looks++
		room := in.rows[i].amount
		for t := range s.cluster.Types {
			room[t] = min(room[t], left[t])
		}
		if s.asContainer(&room) && (most.IsZero() || s.Calc.More(&s.Books.Total, &room, &most)) {
			most = room
		}
	}
	in.largest[left] = most
	return most
}

// fitsIn is how many containers of that size fit on the nodes of the partition.
func (s *Core) fitsIn(f *Free, p part, size resource) (on fits) {
	in := &f.parts[p]
	if known, ok := in.fits[size]; ok {
		return known
	}
	for i := range in.rows {
		f.looks++
		rest := in.rows[i].amount
		n := s.timesIn(&rest, &size)
		on.count += n * in.rows[i].nodes
		for t := range size { // what is left there
			rest[t] -= n * size[t]
		}
		if i == 0 || s.Calc.More(&s.Books.Total, &rest, &on.left) {
			on.left = rest
		}
	}
	in.fits[size] = on
	return on
}

// asContainer rounds an amount down to the size of a container; false where that is smaller than the minimum.
func (s *Core) asContainer(r *resource) bool {
	if !s.Calc.Dominant {
		r[yarn.VCores] = s.Min[yarn.VCores]
		for t := 2; t < len(r); t++ {
			r[t] = 0
		}
	}
	for t := range s.cluster.Types {
		if step := s.Step[t]; step > 0 {
			r[t] -= r[t] % step
		}
		if r[t] < s.Min[t] || r[t] < 0 {
			return false
		}
	}
	return !r.IsZero()
}

// counts tells whether a type of resource counts in limits.
func (s *Core) counts(t int) bool { return s.Calc.Dominant || t == yarn.Memory }

// timesIn is how often a size fits into an amount.
func (s *Core) timesIn(room, size *resource) int64 {
	n := int64(math.MaxInt64)
	for t := range s.cluster.Types {
		if s.counts(t) && size[t] > 0 {
			n = min(n, max(room[t], 0)/size[t])
		}
	}
	return n
}

// timesBelow is how many containers a ceiling lets through.
func (s *Core) timesBelow(c *Ceiling, size *resource) int64 {
	left := c.Limit.Sub(c.Used)
	if !c.Beyond {
		return s.timesIn(&left, size)
	}
	n, used := int64(0), c.Used
	for !s.Calc.More(&s.Books.Total, &used, &c.Limit) && n < 1<<20 {
		// What is used may be more than the limit only after the last one: the comparison is not one by types.
		step := max(s.leastTimes(&used, &c.Limit, size), 1)
		for t := range used {
			used[t] += step * size[t]
		}
		n += step
	}
	return n
}

// leastTimes is how many containers certainly stay within the limit.
func (s *Core) leastTimes(used, limit, size *resource) int64 {
	left := limit.Sub(*used)
	return s.timesIn(&left, size)
}
