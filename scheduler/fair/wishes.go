package fair

import (
	"math"
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

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
