package cluster

import "github.com/heddle-project/heddle/scheduler/javanum"

func hashText(s string) uint32 { return javanum.StringHash(s) }

// Container is the container at that index. The address stays the same for the
// life of the container.
func (b *Books) Container(ref ContainerRef) *Container { return &b.slabs[ref/chunk][ref%chunk] }

func (b *Books) links(ref ContainerRef) *links { return &b.chains[ref/chunk][ref%chunk] }

// Open finds a slot and puts the container there.
func (b *Books) Open(c *Container) ContainerRef {
	ref, slot := b.OpenEmpty()
	*slot = *c
	slot.open = true
	return ref
}

// OpenEmpty finds a slot, for the caller to fill in.
func (b *Books) OpenEmpty() (ContainerRef, *Container) {
	var ref ContainerRef
	if k := len(b.freeSlots); k > 0 {
		ref, b.freeSlots = b.freeSlots[k-1], b.freeSlots[:k-1]
	} else {
		if int(b.used) == len(b.slabs)*chunk {
			b.slabs = append(b.slabs, new([chunk]Container))
			b.chains = append(b.chains, new([chunk]links))
		}
		ref = ContainerRef(b.used)
		b.used++
	}
	slot := b.Container(ref)
	*slot = Container{open: true}
	at := b.links(ref)
	at.nextOnNode, at.prevOnNode = NoContainer, NoContainer
	b.live++
	return ref, slot
}

// Close frees the slot of a container that holds nothing.
func (b *Books) Close(ref ContainerRef) {
	c := b.Container(ref)
	c.open = false
	b.freeSlots = append(b.freeSlots, ref)
	b.live--
}

// IsOpen tells whether the slot is in use.
func (b *Books) IsOpen(ref ContainerRef) bool {
	return ref >= 0 && int32(ref) < b.used && b.Container(ref).open
}

// OpenContainers is how many slots are in use.
func (b *Books) OpenContainers() int { return b.live }

// Slots is how many container slots were ever used.
func (b *Books) Slots() int { return int(b.used) }

// Hold takes the container's room on its node.
func (b *Books) Hold(ref ContainerRef) {
	c := b.Container(ref)
	n := b.nodes[c.Node]
	n.Used.Increase(&c.Resource)
	c.held = true
	at := b.links(ref)
	at.prevOnNode, at.nextOnNode = n.list.last, NoContainer
	if n.list.last >= 0 {
		b.links(n.list.last).nextOnNode = ref
	} else {
		n.list.first = ref
	}
	n.list.last = ref
	n.list.count++
}

// Release gives the container's room back.
func (b *Books) Release(ref ContainerRef) {
	c := b.Container(ref)
	if !c.held {
		return
	}
	n := b.nodes[c.Node]
	n.Used.Decrease(&c.Resource)
	c.held = false
	at := b.links(ref)
	if at.prevOnNode >= 0 {
		b.links(at.prevOnNode).nextOnNode = at.nextOnNode
	} else {
		n.list.first = at.nextOnNode
	}
	if at.nextOnNode >= 0 {
		b.links(at.nextOnNode).prevOnNode = at.prevOnNode
	} else {
		n.list.last = at.prevOnNode
	}
	at.nextOnNode, at.prevOnNode = NoContainer, NoContainer
	n.list.count--
}

// Resize changes the size of a container and what it holds.
func (b *Books) Resize(ref ContainerRef, size [8]int64) {
	c := b.Container(ref)
	if c.held {
		n := b.nodes[c.Node]
		n.Used = n.Used.Sub(c.Resource)
		c.Resource = size
		n.Used = n.Used.Add(c.Resource)
		return
	}
	c.Resource = size
}

// Own enters a container among the owner's.
func (b *Books) Own(o *Owned, ref ContainerRef) {
	at := b.links(ref)
	at.prevOfApp, at.nextOfApp = o.list.last, NoContainer
	if o.list.last >= 0 {
		b.links(o.list.last).nextOfApp = ref
	} else {
		o.list.first = ref
	}
	o.list.last = ref
	o.list.count++
}

// Disown takes it out again.
func (b *Books) Disown(o *Owned, ref ContainerRef) {
	at := b.links(ref)
	if at.prevOfApp >= 0 {
		b.links(at.prevOfApp).nextOfApp = at.nextOfApp
	} else {
		o.list.first = at.nextOfApp
	}
	if at.nextOfApp >= 0 {
		b.links(at.nextOfApp).prevOfApp = at.prevOfApp
	} else {
		o.list.last = at.prevOfApp
	}
	o.list.count--
}

// OfOwner appends the owner's containers to out.
func (b *Books) OfOwner(o *Owned, out []ContainerRef) []ContainerRef {
	for ref := o.list.first; ref >= 0; ref = b.links(ref).nextOfApp {
		out = append(out, ref)
	}
	return out
}

// Held tells whether the container holds room on its node.
func (c *Container) Held() bool { return c.held }

// OnNode appends the containers that hold room on the node, in the order of
// their grants.
func (b *Books) OnNode(node NodeRef, out []ContainerRef) []ContainerRef {
	for ref := b.nodes[node].list.first; ref >= 0; ref = b.links(ref).nextOnNode {
		out = append(out, ref)
	}
	return out
}

// CountOnNode is how many containers hold room on the node.
func (b *Books) CountOnNode(node NodeRef) int { return int(b.nodes[node].list.count) }

// FetchOwned brings near what is written when a container is entered among these.
func (b *Books) FetchOwned(o *Owned) int64 {
	if o.list.last < 0 {
		return 0
	}
	return int64(b.links(o.list.last).nextOfApp)
}

// Fetch brings near what a decision reads and writes of a node and of the container
// that comes next.
func (b *Books) Fetch(n *NodeBook) int64 {
	x := n.Used[0] | n.Total[0]
	if n.list.last >= 0 {
		x |= int64(b.links(n.list.last).nextOnNode)
	}
	if k := len(b.freeSlots); k > 0 {
		ref := b.freeSlots[k-1]
		c := b.Container(ref)
		x |= int64(c.App) | c.Resource[3] | int64(c.Version) | int64(b.links(ref).nextOnNode)
	}
	return x
}
