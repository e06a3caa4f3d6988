package cluster

// Place is the dense index of a name that can stand in an ask: a host, a rack
// or * for any host, which is AnyPlace.
type Place int32

// AnyPlace is the index of "*".
const AnyPlace Place = 0

// Places gives names of places their indexes while somebody uses them.
type Places struct {
	names []string
	uses  []int32
	free  []Place
	index map[string]Place
}

func (p *Places) init() {
	p.index = map[string]Place{"*": AnyPlace}
	p.names, p.uses = []string{"*"}, []int32{1}
}

// Take is the index of the name, counted as one more use.
func (p *Places) Take(name string) Place {
	i, ok := p.index[name]
	if !ok {
		if k := len(p.free); k > 0 {
			i, p.free = p.free[k-1], p.free[:k-1]
			p.names[i], p.uses[i] = name, 0
		} else {
			i = Place(len(p.names))
			p.names, p.uses = append(p.names, name), append(p.uses, 0)
		}
		p.index[name] = i
	}
	p.uses[i]++
	return i
}

// Drop ends one use of the index.
func (p *Places) Drop(i Place) {
	p.uses[i]--
	if p.uses[i] == 0 {
		delete(p.index, p.names[i])
		p.free = append(p.free, i)
	}
}

// Name is the name at that index.
func (p *Places) Name(i Place) string { return p.names[i] }

// Find is the index of the name if it is in use.
func (p *Places) Find(name string) (Place, bool) {
	i, ok := p.index[name]
	return i, ok
}
