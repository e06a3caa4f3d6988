package cluster

import (
	"cmp"
	"slices"

	"github.com/heddle-project/heddle/yarn"
)

// NodeBook is what is known of one node. What every offer reads stands together.
type NodeBook struct {
	Part      Part
	Reserved  ContainerRef
	Accepting bool
	Labelled  bool          // somebody has set its partition, if only to the default one
	Member    bool          // false: the slot is free
	NodePlace Place         // of its name in asks
	RackPlace Place         // of its rack
	Killable  int32         // how many of its containers are killable, those included that have ended and hold their room still
	list      refList       // containers in the order of their grants
	Used      yarn.Resource // held by guaranteed containers, ended ones that still run included
	Node
	Hash    uint32 // java.util hash of the node's id, for orders that depend on it
	Arrival uint64 // nodes that came later have a larger one

	_ [16]byte // makes it four cache lines long, so that what stands together lies in two
}

// Free is what is not held on the node; below zero when the node shrank.
func (n *NodeBook) Free() yarn.Resource { return n.Total.Sub(n.Used) }

// Containers is how many containers hold room on the node.
func (n *NodeBook) Containers() int { return int(n.list.count) }

// Owned are the live containers of one application, in the order of their
// grants. The zero value must be made with NewOwned.
type Owned struct{ list refList }

// NewOwned is empty.
func NewOwned() Owned { return Owned{refList{NoContainer, NoContainer, 0}} }

// Len is how many there are.
func (o *Owned) Len() int { return int(o.list.count) }

// refList heads a list of containers that runs through their slots.
type refList struct {
	first, last ContainerRef
	count       int32
}

// How many containers and nodes lie in a row. Rows of more than 32 KB start where a
// cache line does.
const (
	chunk     = 1024
	nodeChunk = 256
)

// Books are the nodes and containers of a cluster.
type Books struct {
	Parts
	Places  Places
	Total   yarn.Resource // of all nodes
	Largest yarn.Resource // what the largest nodes have, type by type
	Count   int           // of nodes

	nodes     []*[nodeChunk]NodeBook
	nodeSlots int // of these that were ever used
	freeNodes []NodeRef
	byID      map[yarn.NodeID]NodeRef
	slabs     []*slab
	used      int32 // slots of slabs that were ever used
	freeSlots []ContainerRef
	portNames bool
	sizes     [yarn.MaxResourceTypes]sizes // of nodes
	shrunk    map[NodeRef]yarn.Resource    // of nodes that offer less for the time being: their sizes
	arrivals  uint64                       // of nodes, so far
}

// NewBooks are empty books. portNames: nodes are asked for as host:port.
func NewBooks(portNames bool) *Books {
	b := &Books{Parts: newParts(), byID: map[yarn.NodeID]NodeRef{}, shrunk: map[NodeRef]yarn.Resource{}, portNames: portNames}
	b.Places.init()
	return b
}

// AddNode enters a node.
func (b *Books) AddNode(n Node) NodeRef {
	if n.Rack == "" {
		n.Rack = DefaultRack
	}
	ref := NodeRef(b.nodeSlots)
	if k := len(b.freeNodes); k > 0 {
		ref, b.freeNodes = b.freeNodes[k-1], b.freeNodes[:k-1]
	} else {
		if b.nodeSlots == nodeChunk*len(b.nodes) {
			b.nodes = append(b.nodes, new([nodeChunk]NodeBook))
		}
		b.nodeSlots++
	}
	name := n.ID.Host
	if b.portNames {
		name = n.ID.String()
	}
	book := b.Node(ref)
	*book = NodeBook{Node: n, Part: b.PartOf(n.Label), Reserved: NoContainer, Accepting: true, Member: true,
		NodePlace: b.Places.Take(name), RackPlace: b.Places.Take(n.Rack), Hash: hashOf(n.ID), list: refList{NoContainer, NoContainer, 0}}
	b.byID[n.ID] = ref
	b.arrive(book)
	b.Total = b.Total.Add(n.Total)
	b.measure(n.Total, 1)
	b.Count++
	b.Join(book.Part, book, 1)
	return ref
}

// RemoveNode forgets a node that holds nothing any more and has left its
// partition (Join with -1).
func (b *Books) RemoveNode(ref NodeRef) {
	n := b.Node(ref)
	n.Member = false
	b.Total = b.Total.Sub(n.Total)
	b.measure(b.Size(ref), -1)
	delete(b.shrunk, ref)
	b.Count--
	b.Places.Drop(n.NodePlace)
	b.Places.Drop(n.RackPlace)
	delete(b.byID, n.ID)
	b.freeNodes = append(b.freeNodes, ref)
}

// Join adds the node's resources to a partition, or takes them out with sign -1.
func (b *Books) Join(part Part, n *NodeBook, sign int64) {
	p := b.Partition(part)
	for i := range n.Total {
		p.Total[i] += sign * n.Total[i]
	}
	p.Nodes += int(sign)
}

// arrive makes a node the last of those that have come.
func (b *Books) arrive(n *NodeBook) {
	b.arrivals++
	n.Arrival = b.arrivals
}

// ByArrival are the nodes in the order in which they came.
func (b *Books) ByArrival() []NodeRef {
	out := make([]NodeRef, 0, b.Count)
	for i := range b.nodeSlots {
		if ref := NodeRef(i); b.Node(ref).Member {
			out = append(out, ref)
		}
	}
	slices.SortFunc(out, b.CompareArrival)
	return out
}

// CompareArrival is negative if node x came before node y.
func (b *Books) CompareArrival(x, y NodeRef) int {
	return cmp.Compare(b.Node(x).Arrival, b.Node(y).Arrival)
}

// SetTotal changes what a node has.
//
// compat: Apache takes a node whose size changes out of its lists and enters it again, so that it comes after all others.
func (b *Books) SetTotal(ref NodeRef, total yarn.Resource) {
	n := b.Node(ref)
	if n.Total != total {
		b.arrive(n)
	}
	b.Join(n.Part, n, -1)
	b.Total = b.Total.Sub(n.Total).Add(total)
	b.measure(total, 1)
	b.measure(b.Size(ref), -1)
	delete(b.shrunk, ref)
	n.Total = total
	b.Join(n.Part, n, 1)
}

// Shrink changes what a node offers for the time being: its size counts as before for the largest container.
func (b *Books) Shrink(ref NodeRef, total yarn.Resource) {
	n := b.Node(ref)
	b.shrunk[ref] = b.Size(ref)
	b.Join(n.Part, n, -1)
	b.Total = b.Total.Sub(n.Total).Add(total)
	n.Total = total
	b.Join(n.Part, n, 1)
}

// Size is what a node has, also while it offers less.
func (b *Books) Size(ref NodeRef) yarn.Resource {
	if size, ok := b.shrunk[ref]; ok {
		return size
	}
	return b.Node(ref).Total
}

// Node is the book of a node, whose address stays the same.
func (b *Books) Node(ref NodeRef) *NodeBook {
	return &b.nodes[uint32(ref)/nodeChunk][uint32(ref)%nodeChunk]
}

// NodeSlots is the number of node indexes in use or free.
func (b *Books) NodeSlots() int { return b.nodeSlots }

// FindNode is the node with that name.
func (b *Books) FindNode(id yarn.NodeID) (NodeRef, bool) {
	ref, ok := b.byID[id]
	return ref, ok
}

// hashOf is NodeId.hashCode, spread as java.util.HashMap spreads it.
func hashOf(id yarn.NodeID) uint32 {
	const prime = 493217
	h := uint32(8501)
	h = prime*h + hashText(id.Host)
	h = prime*h + uint32(id.Port)
	return h ^ h>>16
}
