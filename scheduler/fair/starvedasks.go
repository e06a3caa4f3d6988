package fair

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// starvedAsk is containers of one size that an application asks for at a place, as many as what it lacks is worth.
type starvedAsk struct {
	place cluster.Place
	size  resource
	count int32
	relax bool
}

// starvedAsks are what an application asks for, up to what it lacks.
func (s *Scheduler) starvedAsks(a *app) (out []starvedAsk) {
	lack := a.lack()
	seen := map[askKey]*countedPlaces{}
	for _, w := range demand.Hashed(a.Wants.Keys()) {
		rows := append([]demand.Row{w.Any}, w.Rows...)
		for _, row := range s.hashed(rows) {
			if lack.IsZero() {
				return out
			}
			k := askKey{w.Priority, row.Size}
			if seen[k] == nil {
				seen[k] = &countedPlaces{}
			}
			if !s.firstAt(seen[k], row.Place) {
				continue
			}
			n := int32(javanum.Ratio(lack[yarn.Memory], row.Size[yarn.Memory]))
			if n == 0 {
				continue
			}
			o := starvedAsk{row.Place, row.Size, row.Count, row.Relax}
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

type askKey struct {
	priority int32
	size     resource
}

// countedPlaces are the places of asks of one priority and size that were counted, so that no ask is counted at its host, its rack and anywhere.
type countedPlaces struct {
	any          bool
	racks, hosts []cluster.Place // hosts by their racks
}

// firstAt tells whether an ask at that place was not counted already, and notes the place.
func (s *Scheduler) firstAt(seen *countedPlaces, p cluster.Place) bool {
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
	slices.SortFunc(out, s.Books.CompareArrival)
	return out
}
