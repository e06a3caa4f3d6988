package cluster

import "github.com/heddle-project/heddle/scheduler/javanum"

func hashText(s string) uint32 { return javanum.StringHash(s) }

// Container is the container at that index. The address stays the same for the
// life of the container.
func (b *Books) Container(ref ContainerRef) *Container { return &b.slabs[ref/chunk][ref%chunk] }

// Open finds a slot and puts the container there.
func (b *Books) Open(c *Container) ContainerRef {
	var ref ContainerRef
	if k := len(b.freeSlots); k > 0 {
		ref, b.freeSlots = b.freeSlots[k-1], b.freeSlots[:k-1]
	} else {
		if int(b.used) == len(b.slabs)*chunk {
			b.slabs = append(b.slabs, new([chunk]Container))
		}
		ref = ContainerRef(b.used)
		b.used++
	}
	slot := b.Container(ref)
	*slot = *c
	slot.nextOnNode, slot.prevOnNode = NoContainer, NoContainer
	slot.open = true
	b.live++
	return ref
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
	c.prevOnNode, c.nextOnNode = n.list.last, NoContainer
	if n.list.last >= 0 {
		b.Container(n.list.last).nextOnNode = ref
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
	if c.prevOnNode >= 0 {
		b.Container(c.prevOnNode).nextOnNode = c.nextOnNode
	} else {
		n.list.first = c.nextOnNode
	}
	if c.nextOnNode >= 0 {
		b.Container(c.nextOnNode).prevOnNode = c.prevOnNode
	} else {
		n.list.last = c.prevOnNode
	}
	c.nextOnNode, c.prevOnNode = NoContainer, NoContainer
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
	c := b.Container(ref)
	c.prevOfApp, c.nextOfApp = o.list.last, NoContainer
	if o.list.last >= 0 {
		b.Container(o.list.last).nextOfApp = ref
	} else {
		o.list.first = ref
	}
	o.list.last = ref
	o.list.count++
}

// Disown takes it out again.
func (b *Books) Disown(o *Owned, ref ContainerRef) {
	c := b.Container(ref)
	if c.prevOfApp >= 0 {
		b.Container(c.prevOfApp).nextOfApp = c.nextOfApp
	} else {
		o.list.first = c.nextOfApp
	}
	if c.nextOfApp >= 0 {
		b.Container(c.nextOfApp).prevOfApp = c.prevOfApp
	} else {
		o.list.last = c.prevOfApp
	}
	o.list.count--
}

// OfOwner appends the owner's containers to out.
func (b *Books) OfOwner(o *Owned, out []ContainerRef) []ContainerRef {
	for ref := o.list.first; ref >= 0; ref = b.Container(ref).nextOfApp {
		out = append(out, ref)
	}
	return out
}

// Held tells whether the container holds room on its node.
func (c *Container) Held() bool { return c.held }

// OnNode appends the containers that hold room on the node, in the order of
// their grants.
func (b *Books) OnNode(node NodeRef, out []ContainerRef) []ContainerRef {
	for ref := b.nodes[node].list.first; ref >= 0; ref = b.Container(ref).nextOnNode {
		out = append(out, ref)
	}
	return out
}

// CountOnNode is how many containers hold room on the node.
func (b *Books) CountOnNode(node NodeRef) int { return int(b.nodes[node].list.count) }
