package cluster

import (
	"iter"

	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

func hashText(s string) uint32 { return javanum.StringHash(s) }

// slab holds a row of containers and, apart from them, their links in lists. Whoever enters
// or leaves a list changes the links of its neighbours without a look at the neighbours
// themselves, and the links of all containers fit in the caches.
type slab struct {
	containers [chunk]Container
	links      [chunk][lists]link
}

// Container is the container at that index. The address stays the same for the
// life of the container.
func (b *Books) Container(ref ContainerRef) *Container {
	return &b.slabs[uint32(ref)/chunk].containers[uint32(ref)%chunk]
}

func (b *Books) links(ref ContainerRef) *[lists]link {
	return &b.slabs[uint32(ref)/chunk].links[uint32(ref)%chunk]
}

func (b *Books) link(ref ContainerRef, of int) *link { return &b.links(ref)[of] }

// Open finds a slot and puts the container there.
func (b *Books) Open(c *Container) ContainerRef {
	ref, slot := b.OpenEmpty()
	*slot = *c
	slot.open = true
	return ref
}

// OpenEmpty finds a slot in which there is nothing yet, for the caller to fill in.
func (b *Books) OpenEmpty() (ContainerRef, *Container) {
	if len(b.freeSlots) == 0 {
		b.addSlot()
	}
	k := len(b.freeSlots) - 1
	ref := b.freeSlots[k]
	b.freeSlots = b.freeSlots[:k]
	slot := b.Container(ref)
	slot.open = true
	return ref, slot
}

//go:noinline
func (b *Books) addSlot() {
	if int(b.used) == len(b.slabs)*chunk {
		b.slabs = append(b.slabs, new(slab))
	}
	b.freeSlots = append(b.freeSlots, ContainerRef(b.used))
	b.used++
}

// Close frees the slot of a container that holds nothing.
func (b *Books) Close(ref ContainerRef) {
	*b.Container(ref) = Container{}
	b.freeSlots = append(b.freeSlots, ref)
}

// IsOpen tells whether the slot is in use.
func (b *Books) IsOpen(ref ContainerRef) bool {
	return ref >= 0 && int32(ref) < b.used && b.Container(ref).open
}

// Is tells whether a container is open that has the id: the slot may have passed to another one.
func (b *Books) Is(ref ContainerRef, id yarn.ContainerID) bool {
	return b.IsOpen(ref) && b.Container(ref).ID == id
}

// Slots is how many container slots were ever used.
func (b *Books) Slots() int { return int(b.used) }

// Enter takes the container's room on its node, and enters it among the owner's.
func (b *Books) Enter(calc measure.Calculator, o *Owned, n *NodeBook, ref ContainerRef, c *Container) {
	if c.Execution == yarn.Guaranteed {
		calc.Increase(&n.Used, &c.Resource)
	}
	c.held = true
	at := b.links(ref)
	b.enter(&n.list, at, onNode, ref)
	b.enter(&o.list, at, ofApp, ref)
}

// Release gives the container's room back.
func (b *Books) Release(ref ContainerRef) {
	c := b.Container(ref)
	if !c.held {
		return
	}
	n := b.Node(c.Node)
	if c.Execution == yarn.Guaranteed {
		n.Used.Decrease(&c.Resource)
	}
	if c.Killable {
		n.Killable--
	}
	c.held = false
	b.leave(&n.list, onNode, ref)
}

// Resize changes the size of a container and what it holds.
func (b *Books) Resize(ref ContainerRef, size [8]int64) {
	c := b.Container(ref)
	if c.held && c.Execution == yarn.Guaranteed {
		n := b.Node(c.Node)
		n.Used = n.Used.Sub(c.Resource)
		c.Resource = size
		n.Used = n.Used.Add(c.Resource)
		return
	}
	c.Resource = size
}

// SetExecution promotes or demotes a container: an opportunistic one takes no room on its node.
func (b *Books) SetExecution(ref ContainerRef, to yarn.ExecutionType) {
	c := b.Container(ref)
	if c.Execution == to {
		return
	}
	c.Execution = to
	switch n := b.Node(c.Node); {
	case !c.held:
	case to == yarn.Guaranteed:
		n.Used.Increase(&c.Resource)
	default:
		n.Used.Decrease(&c.Resource)
	}
}

// SetKillable makes a container killable, or not any more.
func (b *Books) SetKillable(ref ContainerRef, on bool) {
	c := b.Container(ref)
	if c.Killable == on {
		return
	}
	if c.Killable = on; !c.held {
		return
	}
	if on {
		b.Node(c.Node).Killable++
	} else {
		b.Node(c.Node).Killable--
	}
}

// KillableOn appends the killable containers that hold room on the node, the youngest first.
func (b *Books) KillableOn(node NodeRef, out []ContainerRef) []ContainerRef {
	n := b.Node(node)
	left := n.Killable
	for ref := n.list.last; ref >= 0 && left > 0; ref = b.link(ref, onNode).prev {
		if b.Container(ref).Killable {
			out = append(out, ref)
			left--
		}
	}
	return out
}

// RoomByKilling is what the node would have free without its killable containers.
func (b *Books) RoomByKilling(node NodeRef) yarn.Resource {
	n := b.Node(node)
	room, left := n.Free(), n.Killable
	for ref := n.list.last; ref >= 0 && left > 0; ref = b.link(ref, onNode).prev {
		if c := b.Container(ref); c.Killable {
			room.Increase(&c.Resource)
			left--
		}
	}
	return room
}

// Opportunistic are how many opportunistic containers a node has, and what they are given together.
func (b *Books) Opportunistic(node NodeRef) (count int32, sum yarn.Resource) {
	for ref := b.Node(node).list.first; ref >= 0; ref = b.link(ref, onNode).next {
		if c := b.Container(ref); c.Execution == yarn.Opportunistic {
			count++
			sum.Increase(&c.Resource)
		}
	}
	return count, sum
}

// Disown takes the container out of the owner's.
func (b *Books) Disown(o *Owned, ref ContainerRef) { b.leave(&o.list, ofApp, ref) }

// enter puts a container, whose links are at, at the end of a list.
func (b *Books) enter(l *refList, at *[lists]link, of int, ref ContainerRef) {
	at[of] = link{prev: l.last, next: NoContainer}
	if l.last >= 0 {
		b.link(l.last, of).next = ref
	} else {
		l.first = ref
	}
	l.last = ref
	l.count++
}

// leave takes it out, wherever it is.
func (b *Books) leave(l *refList, of int, ref ContainerRef) {
	at := b.link(ref, of)
	if at.prev >= 0 {
		b.link(at.prev, of).next = at.next
	} else {
		l.first = at.next
	}
	if at.next >= 0 {
		b.link(at.next, of).prev = at.prev
	} else {
		l.last = at.prev
	}
	l.count--
}

// OfOwner appends the owner's containers to out.
func (b *Books) OfOwner(o *Owned, out []ContainerRef) []ContainerRef {
	for ref := range b.Each(o) {
		out = append(out, ref)
	}
	return out
}

// Each walks the owner's containers in the order in which they were entered.
func (b *Books) Each(o *Owned) iter.Seq[ContainerRef] {
	return func(yield func(ContainerRef) bool) {
		for ref := o.list.first; ref >= 0 && yield(ref); ref = b.link(ref, ofApp).next {
		}
	}
}

// Held tells whether the container holds room on its node.
func (c *Container) Held() bool { return c.held }

// OnNode are the first so many containers that hold room on the node, in the order
// of their grants.
func (b *Books) OnNode(node NodeRef, most int) []ContainerRef {
	n := b.Node(node)
	out := make([]ContainerRef, 0, min(most, int(n.list.count)))
	for ref := n.list.first; ref >= 0 && len(out) < most; ref = b.link(ref, onNode).next {
		out = append(out, ref)
	}
	return out
}

// CountOnNode is how many containers hold room on the node.
func (b *Books) CountOnNode(node NodeRef) int { return int(b.Node(node).list.count) }
