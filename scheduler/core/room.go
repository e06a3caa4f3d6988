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
	Beyond      bool        // the last container may pass it
	Why         yarn.Reason // what it is; its amounts are filled in
}

// Rooms are what a queue could still get, by partition; see the facade.
func (s *Core) Rooms(q *queue.Queue, ceilings func(part) []Ceiling) (out []Headroom) {
	most := s.MaximumFor(q)
	for p := range s.Books.Partitions() {
		if at := s.Books.Partition(part(p)); at.Nodes > 0 && q.MayUse(at.Name) {
			r := s.room(part(p), most, ceilings(part(p)))
			r.Label = at.Name
			out = append(out, r)
		}
	}
	return out
}

// room finds the largest container within the ceilings and on the nodes of a partition, and how many there may be.
func (s *Core) room(p part, most resource, ceilings []Ceiling) (r Headroom) {
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
	var free []resource
	for i := range s.Books.NodeSlots() {
		n := s.Books.Node(NodeRef(i))
		if !n.Member || !n.Accepting || n.Part != p || n.Reserved >= 0 {
			continue
		}
		room := n.Free()
		free = append(free, room)
		for t := range s.cluster.Types {
			room[t] = min(room[t], left[t])
		}
		s.asContainer(&room)
		if !room.IsZero() && (r.Largest.IsZero() || s.Calc.More(&s.Books.Total, &room, &r.Largest)) {
			r.Largest = room
		}
	}
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
	onNodes, largest := int64(0), resource{}
	for i := range free {
		n := s.timesIn(&free[i], &size)
		onNodes += n
		for t := range size { // what is left there
			free[i][t] -= n * size[t]
		}
		if i == 0 || s.Calc.More(&s.Books.Total, &free[i], &largest) {
			largest = free[i]
		}
	}
	if onNodes <= r.Count {
		r.Count = onNodes
		r.Stop = yarn.Reason{Code: fit.NothingFree, Subject: s.Books.Partition(p).Name, Needed: size, Limit: largest}
	}
	if r.Largest.IsZero() {
		r.Count = 0
	}
	return r
}

// asContainer makes an amount the size of a container that is no larger; zero where it is less than the least one.
func (s *Core) asContainer(r *resource) {
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
			*r = resource{}
			return
		}
	}
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
