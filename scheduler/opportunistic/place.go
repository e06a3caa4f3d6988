package opportunistic

import "github.com/heddle-project/heddle/yarn"

// Locality is how near to what was asked for a container is placed.
type Locality uint8

// The localities.
const (
	NodeLocal Locality = iota
	RackLocal
	OffSwitch
)

// placing is one call of Place.
type placing struct {
	*Loads
	suits func(*Node) bool
	place func(*Node, *Want, Locality)
	left  int // containers
	looks int
	full  map[searched]bool
}

// searched is where nothing was found, which the rest of the call need not search again.
type searched struct {
	at   Locality
	name string
	size yarn.Resource // where it matters
}

// Place finds nodes for what is asked for, calls place for each container, and takes it off the asks. On each node that is taken suits has said
// yes. What finds no node goes on being asked for.
func (l *Loads) Place(a *Asks, now int64, suits func(*Node) bool, place func(*Node, *Want, Locality)) {
	if len(a.wants) == 0 || len(l.all.nodes) == 0 {
		return
	}
	l.order(now)
	p := &placing{Loads: l, suits: suits, place: place, left: l.perCall(), looks: MaxLooks, full: map[searched]bool{}}
	a.sort()
	start := a.start
	a.start = 0
	for i := range a.list {
		at := (start + i) % len(a.list)
		if w := a.list[at]; w.count > 0 {
			p.serve(w)
			if w.count <= 0 {
				a.drop(w)
			}
		}
		if p.looks <= 0 { // the next call goes on with the next want
			a.start = at + 1
			break
		}
		if p.left <= 0 {
			break
		}
	}
}

// perCall is how many containers one call gets.
func (l *Loads) perCall() int {
	if l.set.PerCall > 0 {
		return min(MaxPerCall, int(l.set.PerCall))
	}
	return MaxPerCall
}

// looksAnywhere are kept for nodes that were not named, when a want names a great many.
const looksAnywhere = MaxLooks / 4

// serve places containers of one kind: on the hosts that were named, then in the racks, then anywhere.
func (p *placing) serve(w *Want) {
	p.looks--
	p.named(w, NodeLocal, &w.hosts, p.hosts)
	p.named(w, RackLocal, &w.racks, p.racks)
	for p.more(w) && p.one(w, OffSwitch, "", &p.least) {
	}
}

func (p *placing) more(w *Want) bool { return w.count > 0 && p.left > 0 && p.looks > 0 }

// named places containers at the places that were named, in their order. If these are too many for one call, the next one goes on with the rest.
func (p *placing) named(w *Want, at Locality, where *places, rings map[string]*ring) {
	n, start := len(where.list), where.start
	where.start = 0
	for i := range n {
		k := (start + i) % n
		if !p.more(w) {
			return
		}
		if p.looks <= looksAnywhere {
			where.start = k
			return
		}
		p.at(w, at, &where.list[k], rings)
	}
}

// at places as many containers as are wanted at one place.
func (p *placing) at(w *Want, at Locality, where *place, rings map[string]*ring) {
	if p.looks--; where.count <= 0 {
		return
	}
	nodes := rings[where.name]
	if nodes == nil {
		return
	}
	for left := where.count; left > 0 && p.more(w) && p.one(w, at, where.name, nodes); left-- {
		where.count--
	}
}

// one places one container on the next node of the ring that takes it.
func (p *placing) one(w *Want, at Locality, name string, nodes *ring) bool {
	what := searched{at: at, name: name}
	if p.set.Comparator == QueueLengthThenResources {
		what.size = w.Size
	}
	if p.full[what] {
		return false
	}
	for range nodes.nodes {
		if p.looks <= 0 {
			return false
		}
		p.looks--
		nodes.next %= len(nodes.nodes)
		n := nodes.nodes[nodes.next]
		nodes.next++
		if n.index[inAll] >= 0 && p.suits(n) && p.take(n, &w.Size) {
			p.left--
			w.count--
			p.place(n, w, at)
			return true
		}
	}
	p.full[what] = true
	return false
}
