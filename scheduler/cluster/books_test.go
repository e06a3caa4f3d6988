package cluster

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

func TestSlotsAndListsOfContainers(t *testing.T) {
	b := NewBooks(false)
	node := b.AddNode(Node{ID: yarn.NodeID{Host: "h", Port: 1}, Total: yarn.NewResource(8192, 8)})
	owner := NewOwned()
	var refs []ContainerRef
	for i := range 3 {
		c := b.Open(&Container{ID: yarn.ContainerID{Number: int64(i)}, Node: node, Resource: yarn.NewResource(1024, 1)})
		b.Enter(measure.Calculator{Types: 2}, &owner, b.Node(node), c, b.Container(c))
		refs = append(refs, c)
	}
	if free := b.Node(node).Free(); free != yarn.NewResource(5120, 5) || b.CountOnNode(node) != 3 || owner.Len() != 3 {
		t.Fatalf("free %v", free)
	}
	b.Resize(refs[2], yarn.NewResource(2048, 1))
	b.Disown(&owner, refs[1])
	b.Release(refs[1])
	b.Close(refs[1])
	if on := b.OnNode(node, math.MaxInt); len(on) != 2 || on[0] != refs[0] || on[1] != refs[2] {
		t.Fatalf("on the node: %v", on)
	}
	if own := b.OfOwner(&owner, nil); len(own) != 2 || own[1] != refs[2] {
		t.Fatalf("owned: %v", own)
	}
	if b.IsOpen(refs[1]) || b.Open(&Container{Node: node}) != refs[1] {
		t.Error("the slot is not used again")
	}
}

func TestPartitionsFollowNodes(t *testing.T) {
	b := NewBooks(false)
	ref := b.AddNode(Node{ID: yarn.NodeID{Host: "h", Port: 1}, Label: "x", Total: yarn.NewResource(4096, 4)})
	x, _ := b.FindPart("x")
	if b.Partition(x).Total != yarn.NewResource(4096, 4) || !b.Partition(0).Total.IsZero() || b.Total != yarn.NewResource(4096, 4) {
		t.Fatal("the node counts in its partition and in the cluster")
	}
	b.SetTotal(ref, yarn.NewResource(1024, 1))
	b.Join(x, b.Node(ref), -1)
	b.RemoveNode(ref)
	if !b.Partition(x).Total.IsZero() || !b.Total.IsZero() || b.Count != 0 {
		t.Error("nothing is left of it")
	}
	if again := b.AddNode(Node{ID: yarn.NodeID{Host: "h", Port: 1}}); again != ref {
		t.Error("the index is not used again")
	}
}

// TestTheLargestNodes are those of all that are there, whoever joins, leaves and changes.
func TestTheLargestNodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	b := NewBooks(false)
	var members []NodeRef
	size := func() yarn.Resource { return yarn.NewResource(rng.Int64N(6)*1024, rng.Int64N(4)) }
	for i := range 3000 {
		switch k := rng.IntN(5); {
		case k < 2 && len(members) < 12:
			members = append(members, b.AddNode(Node{ID: yarn.NodeID{Host: "h", Port: int32(i)}, Total: size()}))
		case k < 4 && len(members) > 0:
			at := rng.IntN(len(members))
			b.RemoveNode(members[at])
			members = slices.Delete(members, at, at+1)
		case len(members) > 0:
			b.SetTotal(members[rng.IntN(len(members))], size())
		}
		var largest yarn.Resource
		for _, ref := range members {
			largest = measure.Most(largest, b.Node(ref).Total)
		}
		if b.Largest != largest {
			t.Fatalf("after %d changes %v, %d nodes have %v", i+1, b.Largest, len(members), largest)
		}
	}
}
